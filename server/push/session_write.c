/* SPDX-License-Identifier: MIT */
/*
 * A session's output.  A frame is written at once, or it waits in the session
 * until the socket takes more.
 *
 * Events and outbox entries never wait here: a session whose socket is full
 * reads them from the store later.  Replies wait, up to OUT_FRAMES and
 * OUT_BYTES, which close a session only if the server counts wrongly.  Whispers
 * are dropped.
 */
#include <string.h>

#include "base/mem.h"
#include "base/thr.h"
#include "push/push_internal.h"

struct buf *
push_frame_begin(struct push *p)
{

	buf_reset(&p->tx);
	if (buf_reserve(&p->tx, LWS_PRE) != NULL)
		p->tx.len = LWS_PRE;
	return (&p->tx);
}

bool
session_writable(const struct session *s)
{

	return (s->tx.nframes == 0 && lws_partial_buffered(s->wsi) == 0);
}

static void
write_now(struct session *s, char *frame, size_t n)
{

	if (lws_write(s->wsi, (unsigned char *)frame, n, LWS_WRITE_TEXT) < 0)
		session_close(s, 1011, "");
}

void
session_write(struct session *s)
{
	struct buf *tx = &s->push->tx;

	thr_assert(THR_PUSH);
	if (!buf_ok(tx)) {
		session_close(s, 1013, "out of memory");
		return;
	}
	write_now(s, tx->data + LWS_PRE, tx->len - LWS_PRE);
}

void
session_reply(struct session *s)
{
	struct buf *tx = &s->push->tx;
	struct out_frame *f;
	size_t n;

	if (session_state_over(s->state))
		return;
	if (session_writable(s)) {
		session_write(s);
		return;
	}
	n = tx->len - LWS_PRE;
	f = NULL;
	if (buf_ok(tx) && s->tx.nframes < OUT_FRAMES &&
	    s->tx.bytes + n <= OUT_BYTES)
		f = mem_alloc(sizeof(*f) + LWS_PRE + n);
	if (f == NULL) {
		session_close(s, 1013, "you read too slowly");
		return;
	}
	f->len = n;
	memcpy(f->data + LWS_PRE, tx->data + LWS_PRE, n);
	STAILQ_INSERT_TAIL(&s->tx.frames, f, entry);
	s->tx.nframes++;
	s->tx.bytes += n;
	(void)lws_callback_on_writable(s->wsi);
}

void
session_write_control(struct session *s, const char *payload, int n)
{
	struct buf *tx;

	if (!session_writable(s)) {
		if (n >= 0) {
			memcpy(s->tx.pong, payload, (size_t)n);
			s->tx.pong_len = n;
		}
		(void)lws_callback_on_writable(s->wsi);
		return;
	}
	tx = push_frame_begin(s->push);
	if (n > 0)
		buf_add(tx, payload, (size_t)n);
	if (!buf_ok(tx) ||
	    lws_write(s->wsi, (unsigned char *)tx->data + LWS_PRE,
		tx->len - LWS_PRE, n < 0 ? LWS_WRITE_PING : LWS_WRITE_PONG) < 0)
		session_close(s, 1011, "");
}

void
session_flush_one(struct session *s)
{
	struct out_frame *f;

	f = STAILQ_FIRST(&s->tx.frames);
	STAILQ_REMOVE_HEAD(&s->tx.frames, entry);
	s->tx.nframes--;
	s->tx.bytes -= f->len;
	write_now(s, f->data + LWS_PRE, f->len);
	mem_free(f);
}

void
session_unblocked(struct session *s)
{

	if (lws_partial_buffered(s->wsi) == 0)
		s->tx.stuck_ms = 0;
	while (s->tx.nframes > 0 && lws_partial_buffered(s->wsi) == 0)
		session_flush_one(s);
	if (!session_writable(s)) {
		(void)lws_callback_on_writable(s->wsi);
		return;
	}
	if (s->tx.pong_len >= 0) {
		session_write_control(s, s->tx.pong, s->tx.pong_len);
		s->tx.pong_len = -1;
	}
	push_rx_resume(s);
	session_resume(s);
	session_show_changes(s);
}
