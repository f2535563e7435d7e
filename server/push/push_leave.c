/* SPDX-License-Identifier: MIT */
/*
 * Sessions when the server stops.  A session that is told to reconnect is
 * served until nothing of it is under way and nothing has come for a moment:
 * what its client sent before it was told has its answer.
 */
#include "push/push_internal.h"

/* Who is told to reconnect has stopped asking by then; who has not is cut. */
#define LEAVE_QUIET_MS 50
#define LEAVE_MOST_MS 1000

static bool
leaves(const struct session *s, int64_t now)
{
	const bool busy = s->sends > 0 || s->reads > 0 || s->acking;

	return (now - s->leaving_ms >= LEAVE_MOST_MS ||
		(!busy && now - s->leaving_ms >= LEAVE_QUIET_MS &&
		    now - s->heard_ms >= LEAVE_QUIET_MS));
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
