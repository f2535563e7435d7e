/* SPDX-License-Identifier: MIT */
/*
 * See outage.h.
 */
#include "engine/outage.h"

/* Fills the line and resets the counts. */
static void
take_line(struct outage *o, int64_t now_ms, struct outage_line *ret)
{

	ret->tries = o->tries;
	ret->units = o->units;
	ret->ms = now_ms - o->began_ms;
	o->tries = o->units = 0;
}

bool
outage_failed(struct outage *o, int64_t now_ms, int64_t quiet_ms,
    uint64_t units, struct outage_line *ret)
{

	if (o->began_ms == 0)
		o->began_ms = now_ms;
	o->tries++;
	o->units += units;
	if (o->told_ms != 0 && now_ms - o->told_ms < quiet_ms)
		return (false);
	o->told_ms = now_ms;
	o->told = true;
	take_line(o, now_ms, ret);
	return (true);
}

bool
outage_over(struct outage *o, int64_t now_ms, struct outage_line *ret)
{
	const bool told = o->told;

	if (o->began_ms == 0)
		return (false);
	/* Failures that no line has counted yet belong to the next line. */
	if (told)
		take_line(o, now_ms, ret);
	o->began_ms = 0;
	o->told = false;
	return (told);
}
