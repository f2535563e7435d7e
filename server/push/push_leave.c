/* SPDX-License-Identifier: MIT */
/*
 * Sessions when the server stops.  A session that is told to reconnect is
 * served until nothing of it is under way and nothing has come for a moment:
 * what its client sent before it was told has its answer.
 */
#include "push/push_internal.h"

static bool
leaves(const struct session *s, int64_t now)
{
	const struct timing *t = s->push->options.timing;
	const bool busy = s->sends > 0 || s->reads > 0 || s->acking;

	return (now - s->leaving_ms >= t->push_leave_most_ms ||
		(!busy && now - s->leaving_ms >= t->push_leave_quiet_ms &&
		    now - s->heard_ms >= t->push_leave_quiet_ms));
}

void
leave_tick(struct push *p, int64_t now)
{
	struct session *s;
	bool left = true;

	TAILQ_FOREACH (s, &p->all, all) {
		if (s->leaving_ms == 0 || s->state == SESSION_CLOSING)
			continue;
		if (leaves(s, now))
			session_close(s, 1012, "restart");
		else
			left = false;
	}
	atomic_store(&p->left, left);
}

void
leave_all(struct push *p)
{
	const int64_t now = clk_mono_ms(p->options.clk);
	struct session *s;
	struct buf *b;

	TAILQ_FOREACH (s, &p->all, all) {
		if (s->state == SESSION_CLOSING)
			continue;
		b = tx_begin(p);
		buf_adds(b, "{\"type\":\"reconnect\",\"after_ms\":2000,"
			    "\"reason\":\"restart\"}");
		session_reply(s);
		s->leaving_ms = now;
		if (s->state != SESSION_OPEN || atomic_load(&p->stopping))
			session_close(s, 1012, "restart");
	}
}
