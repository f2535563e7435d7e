/* SPDX-License-Identifier: MIT */
/*
 * The judge of changed rows.  See rows.h.
 *
 * SQLite's preupdate hook shows each row before and after a change, and needs
 * no statement.  A change that is rolled back later is judged, too: the server
 * must not even try a wrong change.
 */
#define SQLITE_ENABLE_PREUPDATE_HOOK 1
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/outbox.h"
#include "schema/sql.h"
#include "sim/rows.h"
#include "sim/server.h"

/* The most time for a delivery on this server when nothing is in its way.  It
 * is too short for the relay's safety poll (at most once a second) to help. */
#define SOON_MS 600
/* How long a start takes until it has found all pending rows. */
#define START_MS 1000

#define COLUMNS 10

enum { PARTICIPANTS, DEVICES, INBOXES, LANES, OUTBOX, ATTEMPTS, DESTINATIONS };

enum {
	OUTBOX_ATTEMPTS,
	OUTBOX_REQUEUES,
	OUTBOX_STATE,
	OUTBOX_RETRIES,
	OUTBOX_RESCUES,
	OUTBOX_KIND,
	OUTBOX_DEST,
	OUTBOX_CREATED,
	OUTBOX_DELIVER,
	OUTBOX_SENT_AT
};
enum { ATTEMPT_OUTCOME, ATTEMPT_OWNER };
enum { DESTINATION_ID, DESTINATION_PAUSED, DESTINATION_RATE };

/* A table and its columns that are judged.  The first ${forward} of them may
 * only increase. */
static struct table {
	const char *name;
	const char *columns[COLUMNS + 1];
	int forward;
	int at[COLUMNS]; /* their positions in a row */
} tables[] = {
    [PARTICIPANTS] = {"participants",
	{"delivered_upto", "acked_upto", "read_upto", "shown_upto"}, 4, {0}},
    [DEVICES] = {"devices", {"acked_seq"}, 1, {0}},
    [INBOXES] = {"inboxes", {"read_seq", "trimmed"}, 2, {0}},
    [LANES] = {"outbox_lanes",
	{"next_seq", "tail_seq", "last_published_seq", "lease_token"}, 4, {0}},
    [OUTBOX] = {"outbox",
	{"attempts", "requeues", "state", "retry_count", "rescue_count", "kind",
	    "dest_kind", "created_at", "deliver_at", "sent_at"},
	2, {0}},
    [ATTEMPTS] = {"outbox_attempts", {"outcome", "owner"}, 0, {0}},
    [DESTINATIONS] = {"destinations",
	{"destination_id", "paused_at", "per_second"}, 0, {0}},
};

#define TABLES (sizeof(tables) / sizeof(tables[0]))

static struct sim *watching;

/* ---- a row ---- */

/* A column of the changed row. */
struct column {
	sqlite3_value *old, *new;
};

static void
column_get(sqlite3 *db, const struct table *t, int i, struct column *ret)
{

	if (sqlite3_preupdate_old(db, t->at[i], &ret->old) != SQLITE_OK ||
	    sqlite3_preupdate_new(db, t->at[i], &ret->new) != SQLITE_OK)
		abort();
}

static int64_t
number_old(sqlite3 *db, const struct table *t, int i)
{
	struct column c;

	column_get(db, t, i, &c);
	return (sqlite3_value_int64(c.old));
}

static int64_t
number_new(sqlite3 *db, const struct table *t, int i)
{
	struct column c;

	column_get(db, t, i, &c);
	return (sqlite3_value_int64(c.new));
}

static void
judge_forward(
    struct sim *s, sqlite3 *db, const struct table *t, int64_t row, int i)
{
	int64_t old = number_old(db, t, i), new = number_new(db, t, i);

	if (new < old)
		sim_bad(s, "%s of %s row %lld goes back from %lld to %lld",
		    t->columns[i], t->name, (long long)row, (long long)old,
		    (long long)new);
}

/* ---- outbox rows ---- */

/* Checks that a charge adds one, and that only a requeue takes charges back. */
static void
judge_charge(struct sim *s, sqlite3 *db, int64_t row, int i, bool requeued)
{
	const struct table *t = &tables[OUTBOX];
	int64_t old = number_old(db, t, i), new = number_new(db, t, i);

	if (new != old &&new != old + 1 && !(requeued && new == 0))
		sim_bad(s, "%s of outbox row %lld goes from %lld to %lld",
		    t->columns[i], (long long)row, (long long)old,
		    (long long)new);
}

/* Checks a delivery on this server: it must not have waited without a
 * reason. */
static void
judge_wait(struct sim *s, sqlite3 *db, int64_t row)
{
	const struct table *t = &tables[OUTBOX];
	int64_t from = s->quiet_from, at;
	struct column c;

	column_get(db, t, OUTBOX_DEST, &c);
	if (strcmp((const char *)sqlite3_value_text(c.new), "user") != 0 ||
	    s->server->starving || s->paused_here > 0)
		return;
	/* Scheduled messages are found by the safety poll. */
	if (number_new(db, t, OUTBOX_DELIVER) != 0 ||
	    number_new(db, t, OUTBOX_REQUEUES) != 0)
		return;
	at = number_new(db, t, OUTBOX_CREATED);
	from = at > from ? at : from;
	at = number_new(db, t, OUTBOX_SENT_AT);
	s->counts.prompt++;
	if (at - from > SOON_MS)
		sim_bad(s, "outbox row %lld waited %lld ms for nothing",
		    (long long)row, (long long)(at - from));
}

static void
judge_outbox(struct sim *s, sqlite3 *db, int64_t row)
{
	const struct table *t = &tables[OUTBOX];
	struct column c;
	bool requeued;
	int from, to;

	column_get(db, t, OUTBOX_STATE, &c);
	from = outbox_state_parse((const char *)sqlite3_value_text(c.old));
	to = outbox_state_parse((const char *)sqlite3_value_text(c.new));
	if (from != to && !outbox_move_allowed(from, to))
		sim_bad(s, "outbox row %lld goes from %s to %s", (long long)row,
		    outbox_state_name(from), outbox_state_name(to));
	requeued = outbox_state_terminal(from) && to == OUTBOX_PENDING;
	judge_charge(s, db, row, OUTBOX_RETRIES, requeued);
	judge_charge(s, db, row, OUTBOX_RESCUES, requeued);
	if (from == OUTBOX_PENDING && to == OUTBOX_SENT &&
	    number_new(db, t, OUTBOX_KIND) == EVENT_MESSAGE)
		judge_wait(s, db, row);
}

/* ---- the others ---- */

/* Checks that a lost lease is charged only to the run that held it: a restart
 * charges nothing. */
static void
judge_attempt(struct sim *s, sqlite3 *db, int64_t row)
{
	const struct table *t = &tables[ATTEMPTS];
	struct column outcome, owner;
	char now[32];

	column_get(db, t, ATTEMPT_OUTCOME, &outcome);
	column_get(db, t, ATTEMPT_OWNER, &owner);
	if (sqlite3_value_type(outcome.new) != SQLITE_TEXT ||
	    strcmp((const char *)sqlite3_value_text(outcome.new),
		"lease_lost") != 0)
		return;
	(void)snprintf(now, sizeof(now), "sim:%llu",
	    (unsigned long long)s->server->incarnation);
	if (strcmp((const char *)sqlite3_value_text(owner.new), now) != 0)
		sim_bad(s,
		    "attempt %lld of an earlier run is charged for a lost "
		    "lease",
		    (long long)row);
}

/* Notes that a destination is paused or resumed, or has another rate. */
static void
note_destination(struct sim *s, sqlite3 *db)
{
	const struct table *t = &tables[DESTINATIONS];
	int64_t id = number_new(db, t, DESTINATION_ID);
	bool paused = number_new(db, t, DESTINATION_PAUSED) != 0;
	bool was = number_old(db, t, DESTINATION_PAUSED) != 0;

	if (paused == was && number_new(db, t, DESTINATION_RATE) ==
				 number_old(db, t, DESTINATION_RATE))
		return;
	sim_disturb(s, 0);
	if (id <= 1 && paused != was)
		s->paused_here += paused ? 1 : -1;
}

/* ---- the hook ---- */

static void
changed(void *arg, sqlite3 *db, int op, const char *schema, const char *name,
    sqlite3_int64 old_row, sqlite3_int64 new_row)
{
	struct sim *s = watching;
	size_t i;
	int k;

	(void)arg;
	(void)schema;
	(void)new_row;
	if (s == NULL || op != SQLITE_UPDATE)
		return;
	for (i = 0; i < TABLES && strcmp(tables[i].name, name) != 0; i++)
		continue;
	if (i == TABLES)
		return;
	for (k = 0; k < tables[i].forward; k++)
		judge_forward(s, db, &tables[i], old_row, k);
	if (i == OUTBOX)
		judge_outbox(s, db, old_row);
	else if (i == ATTEMPTS)
		judge_attempt(s, db, old_row);
	else if (i == DESTINATIONS)
		note_destination(s, db);
}

static int
opened(
    sqlite3 *db, char **ret_error, const struct sqlite3_api_routines *routines)
{

	(void)ret_error;
	(void)routines;
	(void)sqlite3_preupdate_hook(db, changed, NULL);
	return (SQLITE_OK);
}

/* Finds the positions of the columns. */
static void
find_columns(const struct sim *s, struct table *t)
{
	sqlite3_stmt *st =
	    server_ask(s, "SELECT cid FROM pragma_table_info(?1) WHERE name = "
			  "?2");
	int i;

	for (i = 0; t->columns[i] != NULL; i++) {
		(void)sqlite3_bind_text(st, 1, t->name, -1, SQLITE_STATIC);
		(void)sqlite3_bind_text(
		    st, 2, t->columns[i], -1, SQLITE_STATIC);
		if (sqlite3_step(st) != SQLITE_ROW) {
			(void)fprintf(stderr, "sim: %s has no %s\n", t->name,
			    t->columns[i]);
			abort();
		}
		t->at[i] = sqlite3_column_int(st, 0);
		(void)sqlite3_reset(st);
	}
	server_asked(st);
}

void
rows_watch(struct sim *s)
{
	static bool hooked;

	watching = s;
	if (s != NULL && !hooked)
		(void)sqlite3_auto_extension((void (*)(void))opened);
	hooked = hooked || s != NULL;
}

void
rows_server_up(struct sim *s)
{
	static bool known;
	uint64_t doom_at = s->server->doom_at;
	sqlite3_stmt *st;
	size_t i;

	/* The judge's reads are not the server's: they must not trigger the
	 * server's death at a call of the disk. */
	s->server->doom_at = 0;
	for (i = 0; i < TABLES && !known; i++)
		find_columns(s, &tables[i]);
	known = true;
	sim_disturb(s, START_MS);
	s->paused_here = 0;
	st = server_ask(s, "SELECT count(*) FROM destinations WHERE paused_at "
			   "IS NOT NULL AND destination_id <= 1");
	if (st != NULL && sqlite3_step(st) == SQLITE_ROW)
		s->paused_here = sqlite3_column_int(st, 0);
	server_asked(st);
	s->server->doom_at = doom_at;
}
