/* SPDX-License-Identifier: MIT */
/*
 * Outbox frames: they show a session what has happened to its user's outbox
 * entries, each with the entry as it is when a reader thread reads it from the
 * database, some time after the change.  They are a hint, not the truth.  Up to
 * CHANGES_MAX changes of a session wait while an earlier read of entries for it
 * is under way, the readers' queue is full, or the socket takes no more.  One
 * more change drops the oldest.  A change whose entry cannot be read is left
 * out.
 */
#include <string.h>

#include "base/container.h"
#include "base/mem.h"
#include "push/push_internal.h"
#include "store/message.h"
#include "wire/json.h"

struct show_request {
	struct session_request request; /* first */
	struct read_job job;
	struct entry_of of;
	struct entry_change changes[CHANGES_READ];
	int n;
	struct buf frames;
	size_t ends[CHANGES_READ];
	int count;
};

static void
read_entries(struct read_job *job, struct db *db, struct err *err)
{
	struct show_request *r = CONTAINER_OF(job, struct show_request, job);
	struct uuid id;
	size_t start;
	int i;

	for (i = 0; db != NULL && i < r->n; i++) {
		if (store_message_uuid(db, r->changes[i].mid, &id, err) !=
		    RC_OK)
			continue;
		start = r->frames.len;
		buf_adds(&r->frames, "{\"type\":\"outbox\"");
		jw_str(&r->frames, "event",
		    effects_outbox_event_name(r->changes[i].event));
		buf_adds(&r->frames, ",\"entry\":");
		if (entry_get(db, &r->of, &id, entry_append, &r->frames, err) !=
		    RC_OK) {
			r->frames.len = start;
			continue;
		}
		buf_addc(&r->frames, '}');
		r->ends[r->count++] = r->frames.len;
	}
	session_request_back(&r->request);
}

static void
entries_read(struct push *p, struct push_task *task)
{
	struct show_request *r = (struct show_request *)(void *)task;
	struct session *s;
	size_t start;
	int i;

	s = push_session(p, r->request.no);
	if (s != NULL && session_is_open(s)) {
		s->changes.showing = false;
		start = 0;
		for (i = 0; i < r->count && buf_ok(&r->frames); i++) {
			buf_add(push_frame_begin(p), r->frames.data + start,
			    r->ends[i] - start);
			session_reply(s);
			start = r->ends[i];
		}
		session_show_changes(s);
	}
	buf_fini(&r->frames);
	mem_free(r);
}

/* Removes ${n} changes from place ${i} on. */
static void
forget_changes(struct session *s, int i, int n)
{

	s->changes.n -= n;
	memmove(&s->changes.list[i], &s->changes.list[i + n],
	    (size_t)(s->changes.n - i) * sizeof(s->changes.list[0]));
}

void
session_show_changes(struct session *s)
{
	struct show_request *r;

	if (s->changes.showing || s->changes.n == 0 || !session_is_open(s))
		return;
	if (!session_writable(s)) {
		(void)lws_callback_on_writable(s->wsi);
		return;
	}
	r = session_request_new(s, sizeof(*r), entries_read);
	if (r == NULL)
		return;
	buf_init(&r->frames, 0);
	r->of.sender_id = s->member.user_id;
	r->of.max_retries = s->push->options.max_retries;
	r->n = s->changes.n < CHANGES_READ ? s->changes.n : CHANGES_READ;
	memcpy(r->changes, s->changes.list, sizeof(r->changes));
	if (session_read(s, &r->job, read_entries) != RC_OK) {
		mem_free(r);
		return;
	}
	forget_changes(s, 0, r->n);
	s->changes.showing = true;
}

/* If the same event of the same entry waits already, it moves to the end of the
 * list.  Otherwise the change is added at the end, and if the list is full, the
 * oldest change is dropped first. */
void
session_changed(struct session *s, const struct effect_change *change)
{
	int i;

	for (i = 0; i < s->changes.n; i++)
		if (s->changes.list[i].mid == change->mid &&
		    s->changes.list[i].event == change->event)
			break;
	if (i < s->changes.n)
		forget_changes(s, i, 1);
	else if (s->changes.n == CHANGES_MAX)
		forget_changes(s, 0, 1);
	s->changes.list[s->changes.n++] =
	    (struct entry_change){change->mid, change->event};
	session_show_changes(s);
}
