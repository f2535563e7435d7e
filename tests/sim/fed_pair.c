/* SPDX-License-Identifier: MIT */
/*
 * The oracle of several servers that uses the product's own check: fsck
 * --with-peer on each pair of databases; and a check that each has the memory
 * that it must keep.  See fed.h.
 */
#include <stdio.h>
#include <string.h>

#include "schema/sql.h"
#include "sim/fed_internal.h"
#include "sim/server.h"
#include "upkeep/pair.h"

/* ---- memory ---- */

void
fed_judge_kept(struct sim *s)
{
	sqlite3_stmt *st = server_ask(s,
	    "SELECT i.user_id, i.seq FROM inbox i WHERE i.origin <> 0 AND NOT "
	    "EXISTS (SELECT 1 FROM processed_messages p WHERE p.event_id = "
	    "i.event_id AND p.origin = i.origin)");

	if (sqlite3_step(st) == SQLITE_ROW)
		sim_bad(s,
		    "event %lld of user %lld on %s came from another server, "
		    "which is not remembered",
		    (long long)sqlite3_column_int64(st, 1),
		    (long long)sqlite3_column_int64(st, 0), s->domain);
	server_asked(st);
}

/* ---- fsck --with-peer, as an operator would run it ---- */

static struct db *
open_reader(struct sim *s)
{
	struct db_options o = {0};
	struct err err = ERR_INIT;
	struct db *db = NULL;
	char url[64];

	(void)snprintf(
	    url, sizeof(url), "sqlite:%s", plvfs_path(server_disk(s)));
	o.url = url;
	o.mode = DB_READER;
	o.schema = &sql_sqlite_schema;
	if (db_open(&o, &db, &err) != RC_OK)
		sim_bad(s, "fsck --with-peer: %s", err.text);
	return (db);
}

/* Acks that are not reported to the sender are left to judge_acked(), which
 * knows when no receipt can report them. */
static void
found(void *arg, const char *what, const char *place)
{
	static const char untold[] = "pair-untold:";
	struct sim *const *sims = arg;

	if (strncmp(what, untold, sizeof(untold) - 1) == 0)
		return;
	if (past_explains(sims[0], sims[1], what, place))
		sims[0]->counts.excused++;
	else
		sim_bad(sims[0], "fsck --with-peer: %s: %s", what, place);
}

void
fed_pair_judge(struct sim *a, struct sim *b)
{
	const struct pair_side sides[2] = {
	    {open_reader(a), a->domain}, {open_reader(b), b->domain}};
	struct sim *sims[2] = {a, b};
	struct pair_report report;
	struct err err = ERR_INIT;
	enum rc rc;

	if (sides[0].db != NULL && sides[1].db != NULL) {
		rc = pair_run(sides, found, sims, &report, &err);
		if (rc == RC_OK)
			a->counts.pairs++;
		/* RC_INVALID: the two may never have met. */
		else if (rc != RC_INVALID)
			sim_bad(a, "fsck --with-peer: %s", err.text);
	}
	db_close(sides[0].db);
	db_close(sides[1].db);
}
