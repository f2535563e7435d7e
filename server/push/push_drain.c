/* SPDX-License-Identifier: MIT */
/*
 * Drain: how sessions end when the server stops.  Each client is asked to
 * reconnect.  A session that is not open yet is then closed at once.  An open
 * one is served until it has no request under way and, since it was asked, no
 * input has come for push_drain_quiet, but for push_drain_most at the longest.
 * So the requests that the client sent before it was asked are answered, unless
 * they take longer.  If push_end() was called before the drain began, an open
 * session is closed at once, too.
 */
#include "push/push_internal.h"

static bool
leaves(const struct session *s, int64_t now)
{
	const struct timing *t = s->push->options.timing;
	const bool busy = s->requests.sends > 0 || s->requests.reads > 0 ||
			  s->requests.acking;

	return (
	    now - s->draining_since_ms >= t->push_drain_most_ms ||
	    (!busy && now - s->draining_since_ms >= t->push_drain_quiet_ms &&
		now - s->rx.heard_ms >= t->push_drain_quiet_ms));
}

void
push_drain_tick(struct push *p, int64_t now)
{
	struct session *s;
	bool drained = p->adopting == 0;

	TAILQ_FOREACH (s, &p->all, all) {
		if (s->draining_since_ms == 0 || session_state_over(s->state))
			continue;
		if (leaves(s, now))
			session_close(s, 1012, "restart");
		else
			drained = false;
	}
	atomic_store(&p->drained, drained);
}

void
push_drain_session(struct session *s)
{
	struct push *p = s->push;
	struct buf *b;

	if (session_state_over(s->state))
		return;
	b = push_frame_begin(p);
	buf_adds(b, "{\"type\":\"reconnect\",\"after_ms\":2000,"
		    "\"reason\":\"restart\"}");
	session_reply(s);
	s->draining_since_ms = clk_mono_ms(p->options.clk);
	if (!session_is_open(s) || atomic_load(&p->stopping))
		session_close(s, 1012, "restart");
}

void
push_drain_begin(struct push *p)
{
	struct session *s;

	TAILQ_FOREACH (s, &p->all, all)
		push_drain_session(s);
}
