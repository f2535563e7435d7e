/* SPDX-License-Identifier: MIT */
/*
 * See send_request.h.  Nothing in this file waits for the store.
 */
#include "chat/send_request.h"

#include <string.h>

#include "wire/wire.h"

/* Copies the draft's content type, if there is one, to ${r}->content_type with
 * a NUL at its end, and makes the draft point there.  wire_draft_fragment()
 * needs the NUL, and a content type from a request header may have other text
 * behind it. */
static void
end_content_type(struct send_request *r)
{
	struct span *type = &r->draft.content_type;

	if (type->p == NULL)
		return;
	memcpy(r->content_type, type->p, type->n);
	r->content_type[type->n] = '\0';
	type->p = r->content_type;
}

enum rc
send_request_prepare(struct send_request *r, struct send_gate *gate,
    int64_t sender_id, struct refusal *refusal)
{
	struct message_draft *d = &r->draft;

	r->gate = gate;
	r->sender_id = sender_id;
	if (d->key.p != NULL)
		d->id = send_id_of_key(sender_id, d->key.p, d->key.n);
	else if (!d->has_id)
		d->id = send_gate_id(gate);
	d->has_id = true;
	send_unit_init(&r->unit);
	if (!send_unit_ask(
		&r->unit, sender_id, d, send_gate_addressing(gate))) {
		*refusal = r->unit.refusal;
		return (RC_INVALID);
	}
	end_content_type(r);
	if ((r->unit.message = wire_draft_fragment(d)) == NULL) {
		refusal_set(refusal, PROBLEM_BUSY, "", "out of memory");
		return (RC_NO_MEMORY);
	}
	return (RC_OK);
}

/* Returns what the message adds to its sender's usage. */
static struct usage_amount
amount_of(const struct send_request *r)
{
	const struct message_draft *d = &r->draft;

	return ((struct usage_amount){
	    1, (int64_t)d->body.n + (int64_t)d->metadata.n});
}

void
send_request_admit(struct send_request *list, size_t n, struct refusal *no_room)
{
	struct usage_amount sum = {0, 0}, one;
	bool counted;
	size_t i;

	for (i = 0; i < n; i++) {
		one = amount_of(&list[i]);
		sum.messages += one.messages;
		sum.bytes += one.bytes;
	}
	counted = send_gate_take(list->gate, list->sender_id, &sum, no_room);
	for (i = 0; i < n; i++) {
		list[i].counted = counted;
		list[i].unit.refuse_new = counted ? NULL : no_room;
	}
}

void
send_request_done(struct send_request *r)
{
	const struct usage_amount amount = amount_of(r);
	const struct send_unit *u = &r->unit;

	text_unref(r->unit.message);
	r->unit.message = NULL;
	if (r->counted &&
	    (u->unit.rc != RC_OK || u->refusal.problem != PROBLEM_NONE ||
		u->replayed))
		send_gate_return(r->gate, r->sender_id, &amount);
}

bool
send_request_replayed(const struct send_request *r)
{

	return (r->unit.refusal.problem == PROBLEM_NONE && r->unit.replayed);
}

void
send_request_entry(const struct send_request *r, struct buf *b)
{
	struct send_view view;

	send_unit_view(&r->unit, &view);
	wire_entry(b, &view.entry);
}
