/* SPDX-License-Identifier: MIT */
/*
 * The past of a restored server.  Its replaced database is kept and queried for
 * everything that may differ from other servers now.  See fed_internal.h.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/fed_internal.h"
#include "sim/server.h"

struct restore *
fed_restored(const struct world *w)
{
	struct restore *r = w->fed != NULL ? &w->fed->restore : NULL;

	return (r != NULL && r->victim != NULL ? r : NULL);
}

void
fed_restore_end(struct fed *f)
{
	struct restore *r = &f->restore;

	(void)sqlite3_close(r->past);
	free(r->clients);
	if (r->backup == NULL)
		return;
	plvfs_clear(r->backup);
	plvfs_clear(r->replaced);
}

sqlite3_stmt *
past_ask(const struct sim *s, const char *sql)
{
	const struct restore *r = fed_restored(s->w);
	sqlite3_stmt *st;

	if (r == NULL || r->past == NULL || r->victim != s)
		return (NULL);
	if (sqlite3_prepare_v2(r->past, sql, -1, &st, NULL) != SQLITE_OK) {
		(void)fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(r->past));
		abort();
	}
	return (st);
}

void
past_asked(sqlite3_stmt *st)
{

	(void)sqlite3_finalize(st);
}

static bool
past_has(const struct sim *s, const char *sql, const struct uuid *id)
{
	sqlite3_stmt *st = past_ask(s, sql);
	bool has;

	if (st == NULL)
		return (false);
	(void)sqlite3_bind_blob(st, 1, id->b, sizeof(id->b), SQLITE_STATIC);
	has = sqlite3_step(st) == SQLITE_ROW;
	past_asked(st);
	return (has);
}

bool
past_has_message(const struct sim *s, const struct uuid *id)
{

	return (
	    past_has(s, "SELECT 1 FROM messages WHERE message_id = ?1", id));
}

static bool
past_has_event(const struct sim *s, const struct uuid *id)
{

	return (past_has(s, "SELECT 1 FROM outbox WHERE event_id = ?1", id));
}

void
past_judge_mended(struct sim *s)
{
	const struct restore *r = fed_restored(s->w);
	sqlite3_stmt *has = server_ask(
	    r->victim, "SELECT 1 FROM messages WHERE message_id = ?1");
	sqlite3_stmt *st = server_ask(s,
	    "SELECT m.message_id, o.id FROM outbox o JOIN messages m ON m.mid "
	    "= o.mid JOIN users d ON d.user_id = o.dest_id JOIN destinations t "
	    "ON t.destination_id = d.destination_id WHERE o.kind = 1 AND "
	    "o.dest_kind = 'server' AND o.state IN ('sent', 'acked') AND "
	    "t.name = ?1");

	(void)sqlite3_bind_text(st, 1, r->victim->domain, -1, SQLITE_STATIC);
	while (sqlite3_step(st) == SQLITE_ROW) {
		(void)sqlite3_bind_blob(has, 1, sqlite3_column_blob(st, 0),
		    sqlite3_column_bytes(st, 0), SQLITE_TRANSIENT);
		if (sqlite3_step(has) != SQLITE_ROW)
			sim_bad(s,
			    "outbox row %lld is sent to %s, which was "
			    "restored, was offered it again and does not have "
			    "it",
			    (long long)sqlite3_column_int64(st, 1),
			    r->victim->domain);
		(void)sqlite3_reset(has);
	}
	server_asked(st);
	server_asked(has);
}

/* Reads the id after the first word of ${place}. */
static bool
read_id(const char *place, struct uuid *ret)
{
	const char *id = strchr(place, ' ');

	return (id != NULL && strlen(id + 1) >= UUID_TEXT_LEN &&
		uuid_parse(id + 1, UUID_TEXT_LEN, ret));
}

bool
past_explains(const struct sim *a, const struct sim *b, const char *what,
    const char *place)
{
	const struct restore *r = fed_restored(a->w);
	struct uuid id;

	if (r == NULL || r->past == NULL || (r->victim != a && r->victim != b))
		return (false);
	/* judge_received() knows better which order is allowed. */
	if (strncmp(what, "pair-order:", 11) == 0)
		return (true);
	if (!read_id(place, &id))
		return (false);
	/* Messages that its people did not offer again, and receipts that it
	 * has lost. */
	if (strncmp(what, "pair-unsent:", 12) == 0)
		return (past_has_message(r->victim, &id));
	return (strncmp(what, "pair-event:", 11) == 0 &&
		past_has_event(r->victim, &id));
}
