/* SPDX-License-Identifier: MIT */
/*
 * The end of a session: the close frame, and which side ends the connection.
 *
 * session_close() only notes the code, the reason and the deadline, changes the
 * state and wakes the loop.  The connection is ended later, from the loop, and
 * never from within one of the library's callbacks: libwebsockets as Debian
 * builds it with libuv closes a connection twice when a callback returns -1.
 * This file makes the close frame, not the library.  Push makes the library end
 * the connection (push_lws_kill()) when both close frames have been exchanged,
 * the connection is lost, our close frame cannot be written, the deadline has
 * passed, or newcomers_make_room() needs the place of a session whose user is
 * not known yet.
 */
#include <stdio.h>
#include <string.h>

#include "base/thr.h"
#include "push/push_internal.h"

void
session_close(struct session *s, int code, const char *reason)
{

	thr_assert(THR_PUSH);
	if (session_state_over(s->state))
		return;
	s->close.code = code;
	s->close.by_ms = clk_mono_ms(s->push->options.clk) +
			 s->push->options.timing->push_close_ms;
	(void)snprintf(s->close.reason, sizeof(s->close.reason), "%s", reason);
	session_move(s, SESSION_CLOSING);
	(void)uv_async_send(&s->push->async);
}

/* Appends the close frame to the session's batch (the frames that are not
 * written yet), and writes the batch.  With code 1005 the close frame has
 * neither code nor reason (RFC 6455, 7.4.1).  Returns false, without a close
 * frame sent, if memory is short or the connection is lost. */
static bool
write_close(struct session *s)
{
	char payload[2 + sizeof(s->close.reason)];
	size_t n = 0;

	if (s->close.code != 1005) {
		payload[0] = (char)(s->close.code >> 8);
		payload[1] = (char)(s->close.code & 0xff);
		n = 2 + strlen(s->close.reason);
		memcpy(payload + 2, s->close.reason, n - 2);
	}
	return (session_add(s, WS_OP_CLOSE, payload, n) && session_flush(s));
}

/* Writes the frames that were queued before the close, then the close frame,
 * and moves ${s} to CLOSED.  Then ends the connection if the peer's close frame
 * has come or the write failed; otherwise goes on reading, to get the peer's
 * close frame (push_rx_closing()).  While the socket does not take all queued
 * frames, leaves the rest to the next call or, after the deadline, ends the
 * connection without a close frame. */
static void
close_now(struct session *s)
{
	bool writable;

	session_unqueue(s);
	writable = session_writable(s);
	if (!writable && clk_mono_ms(s->push->options.clk) < s->close.by_ms) {
		(void)lws_callback_on_writable(s->wsi);
		return;
	}
	if (!writable) {
		push_lws_kill(s);
		return;
	}
	session_move(s, SESSION_CLOSED);
	if (!write_close(s) || s->rx.peer_closed)
		push_lws_kill(s);
	else
		push_rx_closing(s);
}

void
session_close_pending(struct push *p)
{
	struct session *s, *next;

	for (s = TAILQ_FIRST(&p->closing); s != NULL; s = next) {
		next = TAILQ_NEXT(s, closing);
		close_now(s);
	}
}
