/* SPDX-License-Identifier: MIT */
/*
 * Log-linear histogram.  Each time below 128 ns has its own slot.  A longer
 * time has a slot for its power of two and the seven bits after the leading
 * one.
 */
#include "hist.h"

static unsigned
slot_of(uint64_t ns)
{
	unsigned power;

	if (ns < HIST_STEPS)
		return ((unsigned)ns);
	power = 63U - (unsigned)__builtin_clzll(ns) - 7U;
	if (power >= HIST_POWERS - 1)
		return (HIST_POWERS * HIST_STEPS - 1);
	return (
	    (power + 1) * HIST_STEPS + (unsigned)(ns >> power) - HIST_STEPS);
}

/* Returns the upper end of a slot in ns. */
static uint64_t
slot_end(unsigned slot)
{
	unsigned power;

	if (slot < HIST_STEPS)
		return (slot);
	power = slot / HIST_STEPS - 1;
	return (((uint64_t)(slot % HIST_STEPS + HIST_STEPS + 1) << power) - 1);
}

void
hist_add(struct hist *h, int64_t ns)
{

	if (ns < 0)
		ns = 0;
	if (h->count == 0 || ns < h->min_ns)
		h->min_ns = ns;
	if (ns > h->max_ns)
		h->max_ns = ns;
	h->count++;
	h->slot[slot_of((uint64_t)ns)]++;
}

double
hist_us(const struct hist *h, double percent)
{
	uint64_t seen = 0;
	double wanted = (double)h->count * percent / 100.0;

	for (unsigned i = 0; i < HIST_POWERS * HIST_STEPS; i++) {
		seen += h->slot[i];
		if (seen > 0 && (double)seen >= wanted) {
			uint64_t end = slot_end(i);

			if (end > (uint64_t)h->max_ns)
				end = (uint64_t)h->max_ns;
			return ((double)end / 1000.0);
		}
	}
	return (0.0);
}

double
hist_max_us(const struct hist *h)
{

	return ((double)h->max_ns / 1000.0);
}
