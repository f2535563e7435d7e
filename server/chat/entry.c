/* SPDX-License-Identifier: MIT */
/*
 * See entry.h.  Combines a message row and its outbox rows into one view.
 */
#include <string.h>

#include "base/mem.h"
#include "chat/entry.h"
#include "store/outbox.h"
#include "wire/wire.h"

/* Maximum number of destinations that are put into the view of one entry; any
 * more are left out of the view.  A direct message has one. */
#define DESTINATIONS_MAX 8

struct loading {
	struct db *db;
	const struct entry_of *of;
	entry_fn each;
	void *arg;
	struct store_destination *rows; /* DESTINATIONS_MAX */
	int n;
};

static enum rc
on_row_destination(
    void *arg, const struct store_destination *d, struct err *err)
{
	struct loading *l = arg;

	(void)err;
	if (l->n < DESTINATIONS_MAX)
		l->rows[l->n++] = *d;
	return (RC_OK);
}

static void
view_destination(const struct store_destination *row, int64_t seq,
    struct destination_view *v)
{

	memset(v, 0, sizeof(*v));
	v->address = row->name;
	v->state = row->state;
	v->attempts = row->attempts;
	v->retry_count = row->retry_count;
	v->last_attempt_at = row->last_attempt_at;
	v->last_status_at = row->last_status_at;
	v->next_retry_at = row->next_retry_at;
	v->sent_at = row->sent_at;
	v->acked_at = row->acked_at;
	if (seq != 0 && seq <= row->read_upto)
		v->read_at = row->read_at;
	v->last_error = row->last_error[0] != '\0' ? row->last_error : NULL;
}

static enum rc
view_entry(void *arg, const struct store_entry *e, struct err *err)
{
	struct destination_view views[DESTINATIONS_MAX];
	struct loading *l = arg;
	struct entry_view v;
	enum rc rc;
	int i;

	l->n = 0;
	rc =
	    store_destinations(l->db, &e->event_id, on_row_destination, l, err);
	if (rc == RC_OK && l->n == 0)
		rc = store_purged_destinations(
		    l->db, e, l->of->sender_id, on_row_destination, l, err);
	if (rc != RC_OK)
		return (rc);
	memset(&v, 0, sizeof(v));
	v.event_type = event_kind_type(EVENT_MESSAGE);
	v.conversation = e->conversation;
	v.conversation_seq = e->conversation_seq;
	v.priority = e->priority;
	v.max_retries = l->of->max_retries;
	v.event_time = e->event_time;
	v.created_at = e->created_at;
	v.message = e->message;
	for (i = 0; i < l->n; i++)
		view_destination(&l->rows[i], e->conversation_seq, &views[i]);
	if (l->n > 0) {
		v.deliver_at = l->rows[0].deliver_at;
		v.expires_at = l->rows[0].expires_at;
		v.to = e->direct ? l->rows[0].name : NULL;
	}
	v.destinations = views;
	v.ndestinations = l->n;
	return (l->each(l->arg, &v, e->mid, err));
}

static enum rc
load(struct db *db, const struct uuid *id, int64_t before, int64_t limit,
    struct loading *l, struct err *err)
{
	enum rc rc;

	l->db = db;
	l->n = 0;
	l->rows = mem_alloc(DESTINATIONS_MAX * sizeof(*l->rows));
	if (l->rows == NULL)
		return (err_set(err, RC_NO_MEMORY, "entry"));
	if (id != NULL)
		rc = store_entry_get(
		    db, l->of->sender_id, id, view_entry, l, err);
	else
		rc = store_entries(
		    db, l->of->sender_id, before, limit, view_entry, l, err);
	mem_free(l->rows);
	return (rc);
}

enum rc
entry_get(struct db *db, const struct entry_of *of, const struct uuid *id,
    entry_fn each, void *arg, struct err *err)
{
	struct loading l = {.of = of, .each = each, .arg = arg};

	return (load(db, id, 0, 0, &l, err));
}

enum rc
entry_list(struct db *db, const struct entry_of *of, int64_t before,
    int64_t limit, entry_fn each, void *arg, struct err *err)
{
	struct loading l = {.of = of, .each = each, .arg = arg};

	return (load(db, NULL, before, limit, &l, err));
}

enum rc
entry_append(
    void *arg, const struct entry_view *e, int64_t mid, struct err *err)
{

	(void)mid;
	(void)err;
	wire_entry(arg, e);
	return (RC_OK);
}
