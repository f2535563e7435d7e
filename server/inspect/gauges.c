/* SPDX-License-Identifier: MIT */
/*
 * Each statement gives a row of numbers, which stand in the struct in the same
 * order.
 */
#include <string.h>

#include "inspect/gauges.h"
#include "schema/sql.h"

static const char *const breakers[GAUGES_BREAKERS] = {
    "closed", "open", "half_open"};

const char *
gauges_breaker_word(enum gauges_breaker breaker)
{

	return (breakers[breaker]);
}

/* A row of numbers, and where they go. */
struct numbers {
	int64_t *at;
	int n;
};

static enum rc
take_numbers(void *arg, const struct db_row *row, struct err *err)
{
	const struct numbers *numbers = arg;
	int i;

	(void)err;
	for (i = 0; i < numbers->n; i++)
		numbers->at[i] = db_row_i64(row, i);
	return (RC_OK);
}

static enum rc
read_numbers(struct db *db, int stmt, int64_t limit, int64_t *at, size_t n,
    struct err *err)
{
	struct numbers numbers = {.at = at, .n = (int)n};
	struct db_val v = db_v_i64(limit);

	return (db_run(db, stmt, &v, limit > 0 ? 1 : 0, take_numbers, &numbers,
	    NULL, err));
}

static enum rc
read_totals(struct db *db, struct gauges_totals *ret, struct err *err)
{
	int64_t at[sizeof(*ret) / sizeof(int64_t)] = {0};
	enum rc rc;

	_Static_assert(sizeof(at) == sizeof(*ret), "numbers only");
	rc = read_numbers(
	    db, SQL_GAUGES_TOTALS, 0, at, sizeof(at) / sizeof(at[0]), err);
	memcpy(ret, at, sizeof(at));
	return (rc);
}

static enum rc
read_dead(struct db *db, struct gauges_dead *ret, struct err *err)
{
	int64_t at[sizeof(*ret) / sizeof(int64_t)] = {0};
	enum rc rc;

	_Static_assert(sizeof(at) == sizeof(*ret), "numbers only");
	rc = read_numbers(db, SQL_GAUGES_DEAD, GAUGES_ROWS, at,
	    sizeof(at) / sizeof(at[0]), err);
	memcpy(ret, at, sizeof(at));
	return (rc);
}

/* ---- destinations ---- */

/* "*" and "local" are always told of. */
static bool
has_trouble(const struct gauges_destination *d)
{

	return (d->destination_id <= 1 || d->ready || d->paused ||
		d->breaker != GAUGES_CLOSED);
}

/* Where a further one goes: at the end, or in place of the last one that has
 * nothing to tell.  NULL: nowhere. */
static struct gauges_destination *
place_for(struct gauges *f, const struct gauges_destination *d)
{
	size_t i;

	if (f->n < GAUGES_DESTINATIONS)
		return (&f->list[f->n++]);
	if (!has_trouble(d))
		return (NULL);
	for (i = f->n; i > 0; i--)
		if (!has_trouble(&f->list[i - 1]))
			return (&f->list[i - 1]);
	return (NULL);
}

static enum rc
take_destination(void *arg, const struct db_row *row, struct err *err)
{
	struct gauges_destination d, *place;
	struct gauges *f = arg;
	char word[16];
	int b;

	(void)err;
	memset(&d, 0, sizeof(d));
	d.destination_id = db_row_i64(row, 0);
	db_row_copy_text(row, 1, d.name, sizeof(d.name));
	db_row_copy_text(row, 2, word, sizeof(word));
	for (b = 0; b < (int)GAUGES_BREAKERS; b++)
		if (strcmp(word, breakers[b]) == 0)
			d.breaker = (enum gauges_breaker)b;
	d.paused = db_row_i64(row, 3) != 0;
	d.ready = db_row_i64(row, 4) != 0;
	f->destinations++;
	if ((place = place_for(f, &d)) != NULL)
		*place = d;
	return (RC_OK);
}

static enum rc
read_waiting(struct db *db, struct gauges_destination *d, struct err *err)
{
	int64_t at[2] = {0, 0};
	struct numbers numbers = {.at = at, .n = 2};
	struct db_val v[2];
	enum rc rc;

	if (d->destination_id == 1) {
		rc = read_numbers(db, SQL_GAUGES_LOCAL_ROWS, GAUGES_ROWS,
		    &d->pending_rows, 1, err);
		if (rc == RC_OK)
			rc = read_numbers(db, SQL_GAUGES_LOCAL, GAUGES_LANES,
			    &d->oldest_at, 1, err);
		return (rc);
	}
	v[0] = db_v_i64(d->destination_id);
	v[1] = db_v_i64(GAUGES_LANES);
	rc = db_run(
	    db, SQL_GAUGES_REMOTE, v, 2, take_numbers, &numbers, NULL, err);
	d->pending_rows = at[0];
	d->oldest_at = at[1];
	return (rc);
}

enum rc
gauges_read(struct db *db, struct gauges *ret, struct err *err)
{
	enum rc rc;
	size_t i;

	memset(ret, 0, sizeof(*ret));
	rc = read_totals(db, &ret->totals, err);
	if (rc == RC_OK)
		rc = read_dead(db, &ret->dead, err);
	if (rc == RC_OK)
		rc = read_numbers(db, SQL_GAUGES_OLDEST_SENDING, 0,
		    &ret->oldest_sending_at, 1, err);
	if (rc == RC_OK)
		rc = read_numbers(db, SQL_GAUGES_LANES_READY, GAUGES_ROWS,
		    &ret->lanes_ready, 1, err);
	if (rc == RC_OK)
		rc = db_run(db, SQL_GAUGES_DESTINATIONS, NULL, 0,
		    take_destination, ret, NULL, err);
	for (i = 0; i < ret->n && rc == RC_OK; i++)
		rc = read_waiting(db, &ret->list[i], err);
	return (rc);
}
