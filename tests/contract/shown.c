/* SPDX-License-Identifier: MIT */
/*
 * The text of everything that the API shows.  See shown.h.
 */
#include "contract/shown.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/rc.h"
#include "chat/entry.h"
#include "store/account.h"
#include "store/conversation.h"
#include "store/inbox.h"
#include "store/message.h"
#include "wire/json.h"
#include "wire/wire.h"

struct showing {
	struct db *db;
	struct buf *out;
	int64_t user;
};

static void
add_result(struct showing *s, const char *what, enum rc rc)
{

	buf_addf(s->out, "\n%s: %s\n", what, rc_text(rc));
}

/* ---- inbox ---- */

static enum rc
add_event(void *arg, const struct event_view *e, struct err *err)
{
	struct showing *s = arg;

	(void)err;
	wire_event(s->out, e, NULL, 0, NULL);
	buf_addc(s->out, '\n');
	return (RC_OK);
}

static void
add_device(void *arg, const struct store_device *d)
{
	struct showing *s = arg;
	int64_t acked = -1;
	struct err err = ERR_INIT;

	if (store_device_acked_get(s->db, d->device_id, &acked, &err) != RC_OK)
		acked = -2;
	jw_uuid(s->out, "device", &d->public_id);
	jw_int(s->out, "acked", d->acked_seq);
	jw_int(s->out, "from", acked);
	buf_addc(s->out, '\n');
}

static void
add_unread(
    void *arg, const struct uuid *conversation, int64_t unread, int64_t last)
{
	struct showing *s = arg;

	jw_uuid(s->out, "conversation", conversation);
	jw_int(s->out, "unread", unread);
	jw_int(s->out, "last", last);
	buf_addc(s->out, '\n');
}

static void
add_inbox(struct showing *s)
{
	const struct store_range all = {0, INT64_MAX, 100000};
	struct store_counter counter;
	struct err err = ERR_INIT;
	int64_t unread = 0;
	enum rc rc;

	memset(&counter, 0, sizeof(counter));
	rc = store_counter_get(s->db, s->user, &counter, &err);
	buf_addf(s->out, "head %" PRId64 " oldest %" PRId64 " acked %" PRId64,
	    counter.head, counter.oldest, counter.acked);
	add_result(s, "counter", rc);
	rc = store_inbox_page(s->db, s->user, &all, add_event, s, &err);
	add_result(s, "events", rc);
	rc = store_device_list(s->db, s->user, add_device, s, &err);
	add_result(s, "devices", rc);
	rc = store_unread_total(s->db, s->user, &unread, &err);
	buf_addf(s->out, "unread %" PRId64, unread);
	add_result(s, "unread", rc);
	rc = store_unread_list(s->db, s->user, add_unread, s, &err);
	add_result(s, "unread list", rc);
}

/* ---- conversations ---- */

static enum rc
add_member(void *arg, const struct store_participant *p, struct err *err)
{
	struct showing *s = arg;

	(void)err;
	buf_addf(s->out, " member %s has %" PRId64 " read %" PRId64 "\n",
	    p->name, p->acked_upto, p->shown_upto);
	return (RC_OK);
}

static enum rc
add_message(void *arg, const struct store_history *m, struct err *err)
{
	struct showing *s = arg;

	(void)err;
	buf_addf(s->out, " %" PRId64 " %s%s ", m->conversation_seq, m->sender,
	    m->sender_id == s->user ? " own" : "");
	wire_message_fragment(s->out, &m->message);
	jw_time(s->out, "event_time", m->event_time);
	buf_addc(s->out, '\n');
	return (RC_OK);
}

static enum rc
add_conversation(
    void *arg, const struct store_conversation_item *item, struct err *err)
{
	struct showing *s = arg;
	const struct store_history_query query = {item->conversation_id,
	    s->user, true, INT64_MAX, item->delivered_upto, 100000};

	jw_uuid(s->out, "conversation", &item->public_id);
	buf_addf(s->out, "%s unread %" PRId64 "\n",
	    item->direct ? "direct" : "group", item->unread);
	add_result(s, "members",
	    store_participants(
		s->db, item->conversation_id, add_member, s, err));
	add_result(
	    s, "history", store_history(s->db, &query, add_message, s, err));
	return (RC_OK);
}

/* ---- outbox ---- */

static enum rc
add_entry(void *arg, const struct entry_view *e, int64_t mid, struct err *err)
{
	struct showing *s = arg;

	(void)err;
	buf_addf(s->out, "%" PRId64 " ", mid);
	if (e->ndestinations == 0)
		buf_adds(s->out, "no destination");
	else
		wire_entry(s->out, e);
	buf_addc(s->out, '\n');
	return (RC_OK);
}

void
shown_write(struct db *db, const int64_t *users, size_t n, struct buf *out)
{
	struct showing s = {.db = db, .out = out};
	struct entry_of of = {.max_retries = 7};
	struct err err = ERR_INIT;
	size_t i;

	for (i = 0; i < n; i++) {
		s.user = of.sender_id = users[i];
		buf_addf(out, "user %" PRId64 "\n", users[i]);
		add_inbox(&s);
		add_result(&s, "conversations",
		    store_conversation_list(db, users[i], INT64_MAX, 100000,
			add_conversation, &s, &err));
		add_result(&s, "entries",
		    entry_list(
			db, &of, INT64_MAX, 100000, add_entry, &s, &err));
	}
}
