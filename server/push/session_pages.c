/* SPDX-License-Identifier: MIT */
/*
 * How a session that is behind catches up: it reads pages of its inbox and
 * writes them, as far as its window and its socket allow.
 */
#include <string.h>

#include "base/container.h"
#include "base/mem.h"
#include "base/thr.h"
#include "push/push_internal.h"
#include "store/account.h"
#include "store/inbox.h"
#include "wire/json.h"

/* A job that reads a page: the events of ${user_id} after ${after}, up to
 * ${limit} + 1 of them; the one beyond ${limit} shows that there are more.
 * `frames` holds the JSON of the events one after another, ends[i] the offset
 * behind event i, and seqs[i] its seq. */
struct page_job {
	struct session_request request; /* first */
	struct read_job job;
	enum rc rc;

	int64_t user_id, device_id, after, limit;
	int64_t acked; /* up to which the device has acked */
	struct buf frames;
	size_t ends[PAGE_EVENTS + 1];
	int64_t seqs[PAGE_EVENTS + 1];
	int count;
	bool cut; /* ended at PAGE_BYTES; there are more events */
};

static void
page_free(struct page_job *j)
{

	buf_fini(&j->frames);
	mem_free(j);
}

static enum rc
add_frame(void *arg, const struct event_view *e, struct err *err)
{
	struct page_job *j = arg;

	(void)err;
	if (j->frames.len >= PAGE_BYTES) {
		j->cut = true;
		return (RC_LIMIT);
	}
	wire_event(&j->frames, e, NULL, 0, "event");
	j->seqs[j->count] = e->seq;
	j->ends[j->count] = j->frames.len;
	j->count++;
	return (RC_OK);
}

static void
read_page(struct read_job *job, struct db *db, struct err *err)
{
	struct page_job *j = CONTAINER_OF(job, struct page_job, job);
	struct store_range range;

	j->rc = db == NULL ? err->rc : RC_OK;
	range = (struct store_range){j->after, INT64_MAX, j->limit + 1};
	if (j->rc == RC_OK)
		j->rc =
		    store_inbox_page(db, j->user_id, &range, add_frame, j, err);
	if (j->rc == RC_LIMIT && j->cut)
		j->rc = RC_OK;
	if (j->rc == RC_OK)
		j->rc =
		    store_device_acked_get(db, j->device_id, &j->acked, err);
	if (j->rc == RC_OK && !buf_ok(&j->frames))
		j->rc = RC_NO_MEMORY;
	session_request_back(&j->request);
}

static void
write_page(struct session *s, struct page_job *j)
{
	size_t start;
	int i;

	start = 0;
	for (i = 0; i < j->count && session_is_open(s); i++) {
		if (j->seqs[i] == s->inbox.cursor + 1) {
			if (!session_writable(s) || session_room(s) <= 0)
				return;
			s->inbox.cursor = j->seqs[i];
			metrics_add(
			    s->push->options.metrics, METRIC_WS_EVENTS, 1);
			(void)session_add(s, WS_OP_TEXT, j->frames.data + start,
			    j->ends[i] - start);
		}
		start = j->ends[i];
	}
}

static void
tell_caught_up(struct session *s)
{
	struct buf *b;

	if (s->inbox.told_caught_up)
		return;
	s->inbox.told_caught_up = true;
	b = push_frame_begin(s->push);
	buf_addc(b, '{');
	jw_str(b, "type", "caught_up");
	jw_int(b, "seq", s->inbox.cursor);
	buf_addc(b, '}');
	session_reply(s);
}

/* The device has everything up to ${seq}.  Returns whether that opens the
 * window. */
static bool
move_base(struct session *s, int64_t seq)
{

	if (seq <= s->inbox.base)
		return (false);
	s->inbox.base = seq;
	if (session_room(s) <= 0)
		return (false);
	s->inbox.full_since_ms = 0;
	s->inbox.told_stalled = false;
	return (true);
}

static void
page_read(struct push *p, struct push_task *task)
{
	struct page_job *j = (struct page_job *)(void *)task;
	struct session *s;
	bool last;

	s = push_session(p, j->request.no);
	if (s == NULL || s->state != SESSION_READING) {
		page_free(j);
		return;
	}
	if (j->rc != RC_OK) {
		session_close(s, rc_ws_close(j->rc), rc_text(j->rc));
		page_free(j);
		return;
	}
	/* The reader requested limit + 1 events.  If it got fewer, the page
	 * reached the head of the inbox, unless the page was cut at PAGE_BYTES,
	 * or notices of new events were dropped after the page was requested,
	 * so that the page may be too old. */
	last = j->count <= j->limit && !j->cut && !s->inbox.unsure;
	move_base(s, j->acked);
	write_page(s, j);
	last =
	    last && (j->count == 0 || s->inbox.cursor >= j->seqs[j->count - 1]);
	page_free(j);
	if (!session_is_open(s))
		return;
	if (last && s->inbox.missed <= s->inbox.cursor) {
		session_move(s, SESSION_LIVE);
		tell_caught_up(s);
		return;
	}
	session_move(s, SESSION_BEHIND);
	session_resume(s);
}

static void
window_full(struct session *s)
{

	if (s->inbox.full_since_ms == 0)
		s->inbox.full_since_ms = clk_mono_ms(s->push->options.clk);
}

/*
 * Submits a job that reads the next page, if ${s} is BEHIND and its socket
 * takes more.  When the window is full, does so only if effects (notices of
 * commits, here of events and acks) were dropped since the last such job was
 * submitted.  Then the page has at most one event, which is not written unless
 * the window has room by then; but the job also reads the device's ack
 * watermark, which may have moved and so give the window room.
 */
void
session_resume(struct session *s)
{
	int64_t room = session_room(s);
	struct page_job *j;

	if (s->state != SESSION_BEHIND)
		return;
	if (room <= 0) {
		window_full(s);
		if (!s->inbox.unsure)
			return;
		room = 0;
	}
	if (!session_writable(s)) {
		(void)lws_callback_on_writable(s->wsi);
		return;
	}
	j = session_request_new(s, sizeof(*j), page_read);
	if (j == NULL)
		return;
	buf_init(&j->frames, 0);
	j->user_id = s->member.user_id;
	j->device_id = s->device_id;
	j->after = s->inbox.cursor;
	j->limit = room < PAGE_EVENTS ? room : PAGE_EVENTS;
	/* If the readers' queue is full, the tick tries again. */
	if (session_read(s, &j->job, read_page) != RC_OK) {
		page_free(j);
		return;
	}
	session_move(s, SESSION_READING);
	s->inbox.unsure = false;
}

void
session_acked(struct session *s, int64_t seq)
{

	thr_assert(THR_PUSH);
	if (move_base(s, seq))
		session_resume(s);
}
