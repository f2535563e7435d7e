/* SPDX-License-Identifier: MIT */
/*
 * From draft to unit, and from unit to entry, without the store.
 */
#include <stdio.h>
#include <string.h>

#include "api/send_item.h"

/* Puts ${prefix} in front of the pointer of ${r}. */
static void
prefix_pointer(struct refusal *r, const char *prefix)
{
	char place[2 * REFUSAL_POINTER_SIZE];

	(void)snprintf(place, sizeof(place), "%s%s", prefix, r->pointer);
	(void)snprintf(r->pointer, sizeof(r->pointer), "%.*s",
	    (int)sizeof(r->pointer) - 1, place);
}

/* A view wants texts that end with NUL; a header's part does not. */
static void
end_content_type(struct send_item *item)
{
	struct span *type = &item->draft.content_type;

	if (type->p == NULL)
		return;
	memcpy(item->content_type, type->p, type->n);
	item->content_type[type->n] = '\0';
	type->p = item->content_type;
}

enum rc
send_item_ready(struct send_item *item, struct api *api,
    const struct principal *who, const char *prefix, struct refusal *refusal)
{
	struct message_draft *d = &item->draft;
	struct message_view view;
	struct buf b = BUF_INIT;

	item->api = api;
	item->who = who;
	if (!d->has_id) {
		(void)pthread_mutex_lock(&api->ids_lock);
		d->id = uuid_gen_next(&api->ids);
		(void)pthread_mutex_unlock(&api->ids_lock);
		d->has_id = true;
	}
	send_unit_init(&item->unit);
	if (!send_unit_ask(&item->unit, who->user_id, d, api->o.domain)) {
		*refusal = item->unit.refusal;
		prefix_pointer(refusal, prefix);
		return (RC_INVALID);
	}
	end_content_type(item);
	message_draft_view(d, &view);
	wire_message_fragment(&b, &view);
	item->unit.message = buf_ok(&b) ? text_new(b.data, b.len) : NULL;
	buf_fini(&b);
	if (item->unit.message == NULL) {
		refusal_set(refusal, PROBLEM_BUSY, "", "out of memory");
		return (RC_NO_MEMORY);
	}
	return (RC_OK);
}

struct usage_amount
send_item_amount(const struct send_item *item)
{
	const struct message_draft *d = &item->draft;

	return ((struct usage_amount){
	    1, (int64_t)d->body.n + (int64_t)d->metadata.n});
}

void
send_item_done(struct send_item *item)
{
	const struct send_unit *u = &item->unit;
	const struct usage_amount amount = send_item_amount(item);

	text_unref(item->unit.message);
	item->unit.message = NULL;
	if (item->counted &&
	    (u->unit.rc != RC_OK || u->refusal.problem != PROBLEM_NONE ||
		u->replayed))
		api_send_undone(item->api, item->who->user_id, &amount);
}

void
send_item_render(const struct send_item *item, struct buf *b)
{
	struct send_view view;

	send_unit_view(&item->unit, &view);
	wire_entry(b, &view.entry);
}
