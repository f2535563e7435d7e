/* SPDX-License-Identifier: MIT */
/*
 * Time, dice, and the story.  See sim.h.
 */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/rows.h"
#include "sim/server.h"

struct sim_event {
	struct sim *s;
	int64_t at_ms;
	uint64_t order; /* breaks ties: the event made first comes first */
	sim_event_fn fn;
	void *arg;
	int64_t n;
};

/* ---- time ---- */

static bool
before(const struct sim_event *a, const struct sim_event *b)
{

	return (a->at_ms < b->at_ms ||
		(a->at_ms == b->at_ms && a->order < b->order));
}

static void
swap(struct sim_event *a, struct sim_event *b)
{
	struct sim_event e = *a;

	*a = *b;
	*b = e;
}

int64_t
sim_now(const struct sim *s)
{

	return (s->clk.mono_us / 1000);
}

void
sim_note_time(struct sim *s)
{

	if (s->clk.wall_ms > s->latest_ms)
		s->latest_ms = s->clk.wall_ms;
}

void
sim_after(
    struct sim *s, int64_t after_ms, sim_event_fn fn, void *arg, int64_t n)
{
	struct world *w = s->w;
	struct sim_event *h;
	size_t i;

	if (w->nevents == w->events_cap) {
		w->events_cap = w->events_cap * 2 + 64;
		h = realloc(w->events, w->events_cap * sizeof(*h));
		assert(h != NULL);
		w->events = h;
	}
	h = w->events;
	i = w->nevents++;
	h[i] = (struct sim_event){s, sim_now(s) + (after_ms > 0 ? after_ms : 0),
	    w->order++, fn, arg, n};
	for (; i > 0 && before(&h[i], &h[(i - 1) / 2]); i = (i - 1) / 2)
		swap(&h[i], &h[(i - 1) / 2]);
}

static struct sim_event
pop(struct world *w)
{
	struct sim_event *h = w->events, first = h[0];
	size_t i, k;

	h[0] = h[--w->nevents];
	for (i = 0; (k = 2 * i + 1) < w->nevents; i = k) {
		if (k + 1 < w->nevents && before(&h[k + 1], &h[k]))
			k++;
		if (!before(&h[k], &h[i]))
			break;
		swap(&h[k], &h[i]);
	}
	return (first);
}

bool
sim_step(struct world *w)
{
	struct sim_event e;
	int64_t passes;
	size_t i;

	if (w->nevents == 0)
		return (false);
	e = pop(w);
	passes = e.at_ms - sim_now(e.s);
	assert(passes >= 0);
	for (i = 0; i < w->nsims; i++)
		clk_fake_advance(&w->sims[i].clk, passes);
	w->steps++;
	e.s->counts.events++;
	rows_watch(e.s);
	server_event_begins(e.s);
	e.fn(e.s, e.arg, e.n);
	server_event_ends(e.s);
	return (true);
}

void
sim_events_free(struct world *w)
{

	free(w->events);
	w->events = NULL;
	w->nevents = w->events_cap = 0;
}

void
sim_disturb(struct sim *s, int64_t ms)
{

	if (s->quiet_from < s->clk.wall_ms + ms)
		s->quiet_from = s->clk.wall_ms + ms;
}

bool
sim_undisturbed(const struct sim *s)
{
	const struct sim_counts *c = &s->counts;

	return (c->full_disks + c->starved + c->disk_errors == 0);
}

/* ---- dice ---- */

uint64_t
sim_dice(struct sim *s, uint64_t bound)
{

	return (rnd_below(&s->w->dice.rnd, bound));
}

bool
sim_chance(struct sim *s, unsigned parts)
{

	return (sim_dice(s, 1000) < parts);
}

int64_t
sim_delay(struct sim *s)
{
	uint64_t kind = sim_dice(s, 100);

	if (kind < 50)
		return ((int64_t)sim_dice(s, 3));
	if (kind < 85)
		return ((int64_t)sim_dice(s, 60));
	if (kind < 97)
		return ((int64_t)sim_dice(s, 2000));
	return ((int64_t)sim_dice(s, 20000));
}

/* ---- the story ---- */

static void
mix(struct world *w, const char *text)
{

	for (; *text != '\0'; text++)
		w->hash =
		    (w->hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
}

void
sim_tell(struct sim *s, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	int n;

	n = snprintf(text, sizeof(text), "%lld.%03lld %s%s",
	    (long long)(sim_now(s) / 1000), (long long)(sim_now(s) % 1000),
	    s->domain, s->domain[0] != '\0' ? " " : "");
	va_start(ap, fmt);
	(void)vsnprintf(text + n, sizeof(text) - (size_t)n, fmt, ap);
	va_end(ap);
	mix(s->w, text);
	if (s->w->tracing)
		(void)printf("#   %s\n", text);
}

void
sim_bad(struct sim *s, const char *fmt, ...)
{
	char text[sizeof(s->w->bad)];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (s->w->bad[0] == '\0')
		memcpy(s->w->bad, text, sizeof(text));
	sim_tell(s, "BROKEN: %s", text);
}
