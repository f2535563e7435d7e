/* SPDX-License-Identifier: MIT */
/*
 * A session's output.
 *
 * A frame goes into the session's batch, which is written once, before the loop
 * waits again: a write is a call into the kernel and a packet, and one turn of
 * the loop often has an event, a receipt and an answer for the same session.  A
 * large batch is written earlier.
 *
 * While the socket takes nothing, events do not wait here, and no outbox
 * entries are read: the session reads both from the store later.  Replies, and
 * the outbox entries that were read already, wait here, up to OUT_FRAMES and
 * OUT_BYTES; more would close the session, but the limits are so high that a
 * client cannot reach them (session.h).  Ephemeral frames (typing) are dropped.
 */
#include <string.h>

#include "base/mem.h"
#include "base/thr.h"
#include "push/push_internal.h"

struct buf *
push_frame_begin(struct push *p)
{

	buf_reset(&p->tx);
	return (&p->tx);
}

bool
session_writable(const struct session *s)
{

	return (s->tx.nframes == 0 && lws_partial_buffered(s->wsi) == 0);
}

/* ---- the batch ---- */

void
session_forget_batch(struct session *s)
{
	struct buf *b = &s->tx.batch;

	if (b->len > 0) {
		TAILQ_REMOVE(&s->push->batched, s, batched);
		s->push->batched_bytes -= b->len - LWS_PRE;
	}
	buf_fini(b);
}

/* The frames of the batch have their WebSocket headers already (session_add()).
 * LWS_WRITE_HTTP makes the library write the bytes as they are; the library
 * wants room for LWS_PRE bytes in front of them nevertheless. */
bool
session_flush(struct session *s)
{
	struct buf *b = &s->tx.batch;
	int n;

	thr_assert(THR_PUSH);
	if (b->len == 0)
		return (true);
	n = lws_write(s->wsi, (unsigned char *)b->data + LWS_PRE,
	    b->len - LWS_PRE, LWS_WRITE_HTTP);
	session_forget_batch(s);
	if (n < 0)
		session_close(s, 1011, "");
	return (n >= 0);
}

void
push_flush(struct push *p)
{
	struct session *s;

	while ((s = TAILQ_FIRST(&p->batched)) != NULL)
		(void)session_flush(s);
}

bool
session_add(
    struct session *s, enum ws_opcode opcode, const char *payload, size_t n)
{
	struct buf *b = &s->tx.batch;
	struct push *p = s->push;
	uint8_t head[WS_HEAD_LEN];
	size_t nhead;

	nhead = ws_frame_head(head, opcode, n);
	if (buf_reserve(b, LWS_PRE + nhead + n) == NULL) {
		(void)session_flush(s);
		session_close(s, 1013, "out of memory");
		return (false);
	}
	if (b->len == 0) {
		b->len = LWS_PRE;
		TAILQ_INSERT_TAIL(&p->batched, s, batched);
	}
	buf_add(b, head, nhead);
	buf_add(b, payload, n);
	p->batched_bytes += nhead + n;
	if (b->len - LWS_PRE >= p->batch_bytes ||
	    p->batched_bytes >= BATCHES_BYTES)
		return (session_flush(s));
	return (true);
}

/* ---- frames ---- */

void
session_write(struct session *s)
{
	struct buf *tx = &s->push->tx;

	thr_assert(THR_PUSH);
	if (!buf_ok(tx)) {
		session_close(s, 1013, "out of memory");
		return;
	}
	(void)session_add(s, WS_OP_TEXT, tx->data, tx->len);
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
	n = tx->len;
	f = NULL;
	if (buf_ok(tx) && s->tx.nframes < OUT_FRAMES &&
	    s->tx.bytes + n <= OUT_BYTES)
		f = mem_alloc(sizeof(*f) + n);
	if (f == NULL) {
		session_close(s, 1013, "you read too slowly");
		return;
	}
	f->len = n;
	memcpy(f->data, tx->data, n);
	STAILQ_INSERT_TAIL(&s->tx.frames, f, entry);
	s->tx.nframes++;
	s->tx.bytes += n;
	(void)lws_callback_on_writable(s->wsi);
}

void
session_write_control(struct session *s, const char *payload, int n)
{

	if (!session_writable(s)) {
		if (n >= 0) {
			memcpy(s->tx.pong, payload, (size_t)n);
			s->tx.pong_len = n;
		}
		(void)lws_callback_on_writable(s->wsi);
		return;
	}
	(void)session_add(
	    s, n < 0 ? WS_OP_PING : WS_OP_PONG, payload, n < 0 ? 0 : (size_t)n);
}

void
session_unqueue(struct session *s)
{
	struct out_frame *f;

	while (s->tx.nframes > 0 && lws_partial_buffered(s->wsi) == 0) {
		f = STAILQ_FIRST(&s->tx.frames);
		STAILQ_REMOVE_HEAD(&s->tx.frames, entry);
		s->tx.nframes--;
		s->tx.bytes -= f->len;
		(void)session_add(s, WS_OP_TEXT, f->data, f->len);
		mem_free(f);
	}
}

void
session_unblocked(struct session *s)
{

	if (lws_partial_buffered(s->wsi) == 0)
		s->tx.stuck_ms = 0;
	session_unqueue(s);
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
