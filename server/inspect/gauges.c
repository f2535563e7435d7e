/* SPDX-License-Identifier: MIT */
/*
 * See gauges.h.
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

/* Reads a number with a statement that examines at most ${limit} rows. */
static enum rc
read_number(
    struct db *db, int stmt, int64_t limit, int64_t *ret, struct err *err)
{
	const struct db_val v = db_v_i64(limit);

	return (db_run(db, stmt, &v, 1, db_take_i64, ret, NULL, err));
}

static enum rc
take_totals(void *arg, const struct db_row *row, struct err *err)
{
	struct gauges_totals *t = arg;

	(void)err;
	t->pending = db_row_i64(row, COL_GAUGES_TOTALS_PENDING);
	t->scheduled = db_row_i64(row, COL_GAUGES_TOTALS_SCHEDULED);
	t->sending = db_row_i64(row, COL_GAUGES_TOTALS_SENDING);
	t->sent = db_row_i64(row, COL_GAUGES_TOTALS_SENT);
	t->failed = db_row_i64(row, COL_GAUGES_TOTALS_FAILED);
	t->expired = db_row_i64(row, COL_GAUGES_TOTALS_EXPIRED);
	t->canceled = db_row_i64(row, COL_GAUGES_TOTALS_CANCELED);
	t->accepted_total = db_row_i64(row, COL_GAUGES_TOTALS_ACCEPTED_TOTAL);
	t->sent_total = db_row_i64(row, COL_GAUGES_TOTALS_SENT_TOTAL);
	t->acked_total = db_row_i64(row, COL_GAUGES_TOTALS_ACKED_TOTAL);
	t->retries_total = db_row_i64(row, COL_GAUGES_TOTALS_RETRIES_TOTAL);
	t->failed_total = db_row_i64(row, COL_GAUGES_TOTALS_FAILED_TOTAL);
	t->expired_total = db_row_i64(row, COL_GAUGES_TOTALS_EXPIRED_TOTAL);
	t->canceled_total = db_row_i64(row, COL_GAUGES_TOTALS_CANCELED_TOTAL);
	t->requeued_total = db_row_i64(row, COL_GAUGES_TOTALS_REQUEUED_TOTAL);
	t->rescues_total = db_row_i64(row, COL_GAUGES_TOTALS_RESCUES_TOTAL);
	t->fenced_total = db_row_i64(row, COL_GAUGES_TOTALS_FENCED_TOTAL);
	return (RC_OK);
}

static enum rc
take_dead(void *arg, const struct db_row *row, struct err *err)
{
	struct gauges_dead *d = arg;

	(void)err;
	d->all = db_row_i64(row, COL_GAUGES_DEAD_OPEN);
	d->max_retries = db_row_i64(row, COL_GAUGES_DEAD_MAX_RETRIES);
	d->rejected = db_row_i64(row, COL_GAUGES_DEAD_REJECTED);
	d->expired = db_row_i64(row, COL_GAUGES_DEAD_EXPIRED);
	d->poison = db_row_i64(row, COL_GAUGES_DEAD_POISON);
	d->too_large = db_row_i64(row, COL_GAUGES_DEAD_TOO_LARGE);
	return (RC_OK);
}

/* ---- destinations ---- */

/* Returns whether ${d} must be in the list.  "*" and "local" always are. */
static bool
has_trouble(const struct gauges_destination *d)
{

	return (d->destination_id <= 1 || d->ready || d->paused ||
		d->breaker != GAUGES_CLOSED);
}

/* Returns where to store destination ${d} in the list: at the end, which makes
 * the list longer, or, if the list is full and ${d} has trouble
 * (has_trouble()), over the last destination without trouble.  NULL: ${d} is
 * left out, because the list is full, and ${d} has no trouble or all
 * destinations in the list have trouble. */
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
	d.destination_id =
	    db_row_i64(row, COL_GAUGES_DESTINATIONS_DESTINATION_ID);
	db_row_copy_text(
	    row, COL_GAUGES_DESTINATIONS_NAME, d.name, sizeof(d.name));
	db_row_copy_text(
	    row, COL_GAUGES_DESTINATIONS_BREAKER, word, sizeof(word));
	for (b = 0; b < (int)GAUGES_BREAKERS; b++)
		if (strcmp(word, breakers[b]) == 0)
			d.breaker = (enum gauges_breaker)b;
	d.paused = db_row_i64(row, COL_GAUGES_DESTINATIONS_PAUSED) != 0;
	d.ready = db_row_i64(row, COL_GAUGES_DESTINATIONS_READY) != 0;
	f->destinations++;
	if ((place = place_for(f, &d)) != NULL)
		*place = d;
	return (RC_OK);
}

static enum rc
take_waiting(void *arg, const struct db_row *row, struct err *err)
{
	struct gauges_destination *d = arg;

	(void)err;
	d->pending_rows = db_row_i64(row, COL_GAUGES_REMOTE_PENDING_ROWS);
	d->oldest_at = db_row_i64(row, COL_GAUGES_REMOTE_OLDEST_AT);
	return (RC_OK);
}

static enum rc
read_waiting(struct db *db, struct gauges_destination *d, struct err *err)
{
	const struct sql_gauges_remote v = {
	    .destination_id = db_v_i64(d->destination_id),
	    .limit = db_v_i64(GAUGES_LANES)};
	enum rc rc;

	if (d->destination_id != 1)
		return (db_run(db, SQL_GAUGES_REMOTE, DB_PARAMS(v),
		    take_waiting, d, NULL, err));
	rc = read_number(
	    db, SQL_GAUGES_LOCAL_ROWS, GAUGES_ROWS, &d->pending_rows, err);
	if (rc == RC_OK)
		rc = read_number(
		    db, SQL_GAUGES_LOCAL, GAUGES_LANES, &d->oldest_at, err);
	return (rc);
}

enum rc
gauges_read(struct db *db, struct gauges *ret, struct err *err)
{
	const struct sql_gauges_dead v = {.limit = db_v_i64(GAUGES_ROWS)};
	enum rc rc;
	size_t i;

	memset(ret, 0, sizeof(*ret));
	rc = db_run(db, SQL_GAUGES_TOTALS, NULL, 0, take_totals, &ret->totals,
	    NULL, err);
	if (rc == RC_OK)
		rc = db_run(db, SQL_GAUGES_DEAD, DB_PARAMS(v), take_dead,
		    &ret->dead, NULL, err);
	if (rc == RC_OK)
		rc = db_run(db, SQL_GAUGES_OLDEST_SENDING, NULL, 0, db_take_i64,
		    &ret->oldest_sending_at, NULL, err);
	if (rc == RC_OK)
		rc = read_number(db, SQL_GAUGES_LANES_READY, GAUGES_ROWS,
		    &ret->lanes_ready, err);
	if (rc == RC_OK)
		rc = db_run(db, SQL_GAUGES_DESTINATIONS, NULL, 0,
		    take_destination, ret, NULL, err);
	for (i = 0; i < ret->n && rc == RC_OK; i++)
		rc = read_waiting(db, &ret->list[i], err);
	return (rc);
}
