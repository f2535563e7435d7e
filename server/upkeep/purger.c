/* SPDX-License-Identifier: MIT */
/*
 * The purger has a walk (a cursor) for each table, and one unit of work for all
 * of them.
 *
 *	look (reader) -> archive, synced -> unit (writer) -> the cursor moves
 *
 * The cursor moves after the writer has committed the unit, or at once if the
 * list is empty; a unit that failed is submitted again after a pause.  So a
 * failure skips no row.  A walk that has reached rows that are too young, or
 * the end of the table, rests, and then goes on from its cursor.  At longer
 * intervals it starts again from the beginning of the table, for rows that the
 * cursor has passed because they could not be deleted yet.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#include "base/fault.h"
#include "base/mem.h"
#include "base/thr.h"
#include "engine/commits.h"
#include "log/log.h"
#include "upkeep/archive.h"
#include "upkeep/purger.h"

/* A walk that has reached its end (rows that are too young, or the end of the
 * table) rests for retention / REST_PART and then goes on from its cursor.  But
 * it goes on from the beginning of the table if, when it reaches its end, at
 * least retention / ANEW_PART has passed since the cursor was last set to the
 * beginning.  The constants with MIN and MAX limit these two times. */
#define REST_PART 60
#define REST_MIN_MS 1000
#define REST_MAX_MS 60000
#define ANEW_PART 8
#define ANEW_MIN_MS 1000
#define ANEW_MAX_MS (24 * 3600 * INT64_C(1000))
/* The pause after a failure.  A full disk does not recover sooner. */
#define FAIL_MS 5000
/* The least pause between two pieces of a walk. */
#define PIECE_MS 20
/* The pause until the next turn while the unit is with the writer, unless the
 * end of the unit wakes the purger before. */
#define AWAY_MS 1000
/* If between two turns the wall clock gains more than JUMP_MS on the monotonic
 * one, purging waits for BELIEVE_MS, so that an operator can correct the clock:
 * purged rows are gone for good. */
#define JUMP_MS 60000
#define BELIEVE_MS (3600 * INT64_C(1000))

struct walk {
	struct purge_key at;
	int64_t due_ms;  /* monotonic */
	int64_t anew_ms; /* from then on the walk starts again after its end */
};

struct purger {
	struct purger_options options;
	struct walk walks[PURGE_TABLES];
	enum purge_table table; /* the table of the unit's list */
	int64_t next_ms;        /* no piece before this time */
	int64_t ahead_ms; /* wall minus monotonic time, at the last turn */
	struct purge_unit unit;
	bool listed; /* the unit has a list to delete */
	bool away;   /* the unit is with the writer */
	atomic_bool back;
	bool failing; /* a failure was logged */
};

static int64_t
part(int64_t whole, int64_t parts, int64_t min, int64_t max)
{
	int64_t ms = whole / parts;

	return (ms < min ? min : ms > max ? max : ms);
}

/* ---- failures: logged once, until a unit succeeds ---- */

static void
failed(struct purger *p, int64_t now, const struct err *err)
{

	/* After a jump of the wall clock the purger already waits longer. */
	if (p->next_ms < now + FAIL_MS)
		p->next_ms = now + FAIL_MS;
	metrics_add(p->options.metrics, METRIC_PURGE_FAILURES, 1);
	if (!p->failing)
		log_error(LOG_EV_UPKEEP_FAIL, err, "table=%s",
		    purge_rows_name(p->table));
	p->failing = true;
}

static void
succeeded(struct purger *p)
{

	if (p->failing)
		log_event(
		    LOG_EV_UPKEEP_GOES, "table=%s", purge_rows_name(p->table));
	p->failing = false;
}

/* ---- the unit ---- */

/* Moves the cursor: all rows of the list have been handled. */
static void
advance(struct purger *p, int64_t now)
{
	const struct purge_list *list = &p->unit.list;
	struct walk *w = &p->walks[p->table];
	int64_t retention = p->options.retention_ms[p->table];

	p->listed = false;
	w->at = list->last;
	if (!list->end)
		return;
	w->due_ms = now + part(retention, REST_PART, REST_MIN_MS, REST_MAX_MS);
	metrics_set(
	    p->options.metrics, METRIC_PURGE_LAST, (now + p->ahead_ms) / 1000);
	if (now < w->anew_ms)
		return;
	memset(&w->at, 0, sizeof(w->at));
	w->anew_ms = now + part(retention, ANEW_PART, ANEW_MIN_MS, ANEW_MAX_MS);
}

/* Thread: sync or writer. */
static void
unit_finished(struct unit *base)
{
	struct purge_unit *u = CONTAINER_OF(base, struct purge_unit, unit);
	struct purger *p = u->arg;

	atomic_store(&p->back, true);
	if (p->options.wake != NULL)
		p->options.wake(p->options.arg);
}

static void
take_back(struct purger *p, int64_t now)
{
	struct err err = ERR_INIT;
	enum rc rc = p->unit.unit.rc;

	p->away = false;
	atomic_store(&p->back, false);
	if (rc != RC_OK) {
		(void)err_set(&err, rc, "put off: %s", rc_text(rc));
		failed(p, now, &err);
		return;
	}
	succeeded(p);
	metrics_add_by(p->options.metrics, METRIC_BY_PURGED,
	    purge_rows_name(p->table), (int64_t)p->unit.deleted);
	log_event(LOG_EV_UPKEEP_PURGE, "table=%s rows=%" PRId64,
	    purge_rows_name(p->table), p->unit.deleted);
	advance(p, now);
}

static void
hand_over(struct purger *p, int64_t now)
{
	struct err err = ERR_INIT;
	enum rc rc;

	p->away = true;
	rc = p->options.submit(p->options.arg, &p->unit.unit);
	if (rc == RC_OK)
		return;
	p->away = false;
	p->next_ms = now + FAIL_MS;
	/* At a stop the writer ends before the upkeep; this does not fail. */
	if (rc == RC_CLOSED)
		return;
	(void)err_set(&err, rc, "the writer takes no unit");
	failed(p, now, &err);
}

/* ---- reading ---- */

static enum rc
add_line(void *arg, const char *json, size_t n, struct err *err)
{

	return (archive_add(arg, json, n, err));
}

/* Fills the list of the unit and, if there is an archive, adds the lines of the
 * listed rows to it (without writing them), all from one snapshot.  Before it
 * reads, it waits until all commits that the snapshot can show are durable;
 * RC_IO: they never will be. */
static enum rc
read_list(struct purger *p, struct err *err)
{
	struct purge_list *list = &p->unit.list;
	enum rc rc;

	if ((rc = db_begin(p->options.db, err)) != RC_OK)
		return (rc);
	if (p->options.commits != NULL && !commits_wait(p->options.commits))
		rc = err_set(err, RC_IO, "the store cannot be synced");
	if (rc == RC_OK)
		rc = purge_rows_look(p->options.db, list, err);
	if (rc == RC_OK && list->n > 0 && p->options.archive != NULL)
		rc = purge_rows_archive(
		    p->options.db, list, add_line, p->options.archive, err);
	db_rollback(p->options.db);
	return (rc);
}

static void
list_next(struct purger *p, int64_t now)
{
	struct purge_list *list = &p->unit.list;
	struct err err = ERR_INIT;
	int64_t pause;
	enum rc rc;

	memset(list, 0, sizeof(*list));
	list->table = p->table;
	list->after = p->walks[p->table].at;
	list->now_ms = clk_wall_ms(p->options.clk);
	list->before_ms = list->now_ms - p->options.retention_ms[p->table];
	rc = read_list(p, &err);
	if (rc == RC_OK && list->n > 0 && p->options.archive != NULL)
		rc = archive_write(p->options.archive, list->now_ms, &err);
	if (rc == RC_OK && list->n > 0 && FAULT_FAILS("purger.archived"))
		rc = err_set(&err, RC_INTERNAL, "a fault");
	if (rc != RC_OK) {
		if (p->options.archive != NULL)
			archive_forget(p->options.archive);
		failed(p, now, &err);
		return;
	}
	pause = list->examined * 1000 / p->options.rate;
	p->next_ms = now + (pause > PIECE_MS ? pause : PIECE_MS);
	if (list->n == 0) {
		advance(p, now);
		return;
	}
	p->listed = true;
	hand_over(p, now);
}

/* Sets p->table to the next table whose walk is due, and returns 0.  Tries the
 * tables in a circle: first the one after p->table, last p->table itself.  If
 * no walk is due, leaves p->table as it is and returns the (monotonic) time at
 * which the first walk will be due. */
static int64_t
choose(struct purger *p, int64_t now)
{
	int64_t soonest = INT64_MAX;
	int i, table;

	for (i = 1; i <= PURGE_TABLES; i++) {
		table = ((int)p->table + i) % PURGE_TABLES;
		if (p->walks[table].due_ms <= now) {
			p->table = (enum purge_table)table;
			return (0);
		}
		if (p->walks[table].due_ms < soonest)
			soonest = p->walks[table].due_ms;
	}
	return (soonest);
}

/* Postpones purging after a jump of the wall clock. */
static void
watch_clock(struct purger *p, int64_t now)
{
	int64_t ahead = clk_wall_ms(p->options.clk) - now;

	if (ahead > p->ahead_ms + JUMP_MS && p->next_ms < now + BELIEVE_MS)
		p->next_ms = now + BELIEVE_MS;
	p->ahead_ms = ahead;
}

int64_t
purger_turn(struct purger *p)
{
	int64_t now = clk_mono_ms(p->options.clk), later;

	thr_assert(THR_UPKEEP);
	watch_clock(p, now);
	if (p->away && !atomic_load(&p->back))
		return (now + AWAY_MS);
	if (p->away)
		take_back(p, now);
	if (now < p->next_ms)
		return (p->next_ms);
	if (p->listed) {
		hand_over(p, now);
	} else {
		if ((later = choose(p, now)) != 0)
			return (later);
		list_next(p, now);
	}
	return (p->away ? now + AWAY_MS : p->next_ms);
}

/* ---- life ---- */

enum rc
purger_new(
    const struct purger_options *options, struct purger **ret, struct err *err)
{
	struct purger *p;
	int i;

	assert(options->rate > 0);
	if ((p = mem_zalloc(1, sizeof(*p))) == NULL)
		return (err_set(err, RC_NO_MEMORY, "purger"));
	p->options = *options;
	purge_unit_init(&p->unit);
	p->unit.unit.finish = unit_finished;
	p->unit.arg = p;
	p->ahead_ms = clk_wall_ms(options->clk) - clk_mono_ms(options->clk);
	for (i = 0; i < PURGE_TABLES; i++)
		p->walks[i].anew_ms = clk_mono_ms(options->clk) +
				      part(options->retention_ms[i], ANEW_PART,
					  ANEW_MIN_MS, ANEW_MAX_MS);
	*ret = p;
	return (RC_OK);
}

void
purger_free(struct purger *p)
{

	if (p == NULL)
		return;
	assert(!p->away || atomic_load(&p->back));
	mem_free(p);
}
