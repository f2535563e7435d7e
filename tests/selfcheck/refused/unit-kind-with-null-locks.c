/* SPDX-License-Identifier: MIT */
/*
 * A kind of unit whose locks are NULL: it would work where one server writes to the
 * database, and be retried for ever where several do.
 */
#include "engine/writer.h"

const struct unit_kind *sample(void);

static enum rc
sample_apply(struct tx *tx, struct unit *unit, struct err *err)
{

	(void)tx;
	(void)unit;
	(void)err;
	return (RC_OK);
}

UNIT_KIND(sample, unit_locks_nothing, .queue = UNIT_CLIENT, .apply_one = sample_apply); /* FINE */
UNIT_KIND(sample, NULL, .queue = UNIT_CLIENT, .apply_one = sample_apply); /* REFUSED */

const struct unit_kind *
sample(void)
{

	return (&sample_kind);
}
