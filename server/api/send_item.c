/* SPDX-License-Identifier: MIT */
/*
 * From draft to unit, and from unit to entry, without the store.
 */
#include <stdio.h>
#include <string.h>

#include "api/send_item.h"

static enum rc
refuse(struct refusal *r, enum problem p, const char *prefix, const char *name,
    const char *detail)
{
	char place[REFUSAL_POINTER_SIZE];

	(void)snprintf(place, sizeof(place), "%s%s", prefix, name);
	refusal_set(r, p, place, "%s", detail);
	return (RC_INVALID);
}

/* Finds the local name; other servers are not reached yet. */
static enum rc
resolve(struct send_item *item, struct api *api, const char *prefix,
    struct refusal *r)
{
	struct message_draft *d = &item->draft;
	char domain[LIMIT_DOMAIN_LEN + 1];

	item->unit.to[0] = '\0';
	if (d->to.p == NULL)
		return (RC_OK);
	if (!model_address_parse(
		d->to.p, d->to.n, api->o.domain, item->unit.to, domain))
		return (refuse(r, PROBLEM_BAD_REQUEST, prefix, "/to",
		    "\"to\" is no address"));
	if (domain[0] != '\0')
		return (refuse(r, PROBLEM_UNKNOWN_RECIPIENT, prefix, "/to",
		    "this server does not reach other servers yet"));
	return (RC_OK);
}

/* The draft as readers see it. */
static void
view_message(const struct send_item *item, struct message_view *v)
{
	const struct message_draft *d = &item->draft;

	memset(v, 0, sizeof(*v));
	v->id = d->id;
	v->body = d->body.p;
	v->body_len = d->body.n;
	v->content_type = d->content_type.p != NULL ? item->content_type : NULL;
	v->metadata = d->metadata.p;
	v->metadata_len = d->metadata.n;
	v->correlation_id = d->correlation_id.p;
	v->has_reply_to = d->has_reply_to;
	v->reply_to = d->reply_to;
}

/* The default type is the same as none, so that saying it makes no other
 * message. */
static void
settle_content_type(struct send_item *item)
{
	struct span *type = &item->draft.content_type;

	if (type->p == NULL)
		return;
	if (type->n == strlen(MESSAGE_CONTENT_TYPE_DEFAULT) &&
	    memcmp(type->p, MESSAGE_CONTENT_TYPE_DEFAULT, type->n) == 0) {
		type->p = NULL;
		type->n = 0;
		return;
	}
	memcpy(item->content_type, type->p, type->n);
	item->content_type[type->n] = '\0';
}

static void
fingerprint(struct send_item *item)
{
	struct message_draft *d = &item->draft, copy;

	if (item->relative_ms == 0) {
		send_fingerprint(d, item->unit.to, item->unit.fingerprint);
		return;
	}
	copy = *d;
	copy.deliver_at_ms = -item->relative_ms;
	send_fingerprint(&copy, item->unit.to, item->unit.fingerprint);
}

enum rc
send_item_ready(struct send_item *item, struct api *api,
    const struct principal *who, const char *prefix, struct refusal *refusal)
{
	struct message_draft *d = &item->draft;
	struct message_view view;
	struct buf b = BUF_INIT;
	enum rc rc;

	item->who = who;
	if ((rc = resolve(item, api, prefix, refusal)) != RC_OK)
		return (rc);
	if (!d->has_id) {
		(void)pthread_mutex_lock(&api->ids_lock);
		d->id = uuid_gen_next(&api->ids);
		(void)pthread_mutex_unlock(&api->ids_lock);
		d->has_id = true;
	}
	settle_content_type(item);
	send_unit_init(&item->unit);
	item->unit.sender_id = who->user_id;
	item->unit.draft = d;
	item->unit.unit.bytes = 1024 + d->body.n + d->metadata.n;
	fingerprint(item);
	view_message(item, &view);
	wire_message_fragment(&b, &view);
	item->unit.message = buf_ok(&b) ? text_new(b.data, b.len) : NULL;
	buf_fini(&b);
	if (item->unit.message == NULL)
		return (refuse(refusal, PROBLEM_BUSY, "", "", "out of memory"));
	return (RC_OK);
}

void
send_item_done(struct send_item *item)
{

	text_unref(item->unit.message);
	item->unit.message = NULL;
}

void
send_item_render(const struct send_item *item, struct buf *b)
{
	const struct send_unit *u = &item->unit;
	struct destination_view d;
	struct entry_view e;

	memset(&d, 0, sizeof(d));
	d.address = u->recipient;
	d.state = u->to_self ? OUTBOX_ACKED : OUTBOX_PENDING;
	d.last_status_at = u->created_at;
	if (u->to_self)
		d.sent_at = d.acked_at = u->created_at;
	memset(&e, 0, sizeof(e));
	e.event_type = event_kind_type(EVENT_MESSAGE);
	e.conversation = u->conversation;
	e.conversation_seq = u->conversation_seq;
	e.to = u->recipient;
	e.priority = item->draft.priority;
	e.max_retries = ENTRY_MAX_RETRIES;
	e.event_time = e.created_at = u->created_at;
	e.deliver_at = u->deliver_at;
	e.expires_at = u->expires_at;
	e.destinations = &d;
	e.ndestinations = 1;
	view_message(item, &e.message);
	wire_entry(b, &e);
}
