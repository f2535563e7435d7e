/* SPDX-License-Identifier: MIT */
/*
 * What nodes tell one another: LISTEN and NOTIFY, on a connection of their own
 * whose owner waits on its descriptor.
 */
#include <stdio.h>

#include "db/db_postgres_internal.h"

static struct db_postgres *
of(struct db *db)
{

	return ((struct db_postgres *)(void *)db);
}

/* Says on this connection as which node it writes. */
static enum rc
say_node(struct db_postgres *p, struct err *err)
{
	char sql[64];

	(void)snprintf(
	    sql, sizeof(sql), "SET twinbox.node TO '%lld'", (long long)p->node);
	return (db_postgres_exec(p, sql, NULL, err));
}

enum rc
db_postgres_be_node(struct db *db, int64_t node, struct err *err)
{
	struct db_postgres *p = of(db);

	p->node = node;
	/* A connection that is made later says it by itself. */
	return (p->conn != NULL ? say_node(p, err) : RC_OK);
}

enum rc
db_postgres_listen(struct db *db, const char *channel, struct err *err)
{
	struct db_postgres *p = of(db);
	char sql[80];
	enum rc rc;

	rc = db_postgres_connect(p, err);
	(void)snprintf(sql, sizeof(sql), "LISTEN %s", channel);
	if (rc == RC_OK)
		rc = db_postgres_exec(p, sql, NULL, err);
	p->listens = rc == RC_OK;
	return (rc);
}

enum rc
db_postgres_notify(
    struct db *db, const char *channel, const char *text, struct err *err)
{
	const char *const texts[] = {channel, text};
	struct db_postgres *p = of(db);

	if (p->conn == NULL)
		return (err_set(err, RC_AWAY, "the database is away"));
	/* What may be lost need not be on the disk first: each note would be a
	 * sync that commits wait for. */
	return (db_postgres_exec_texts(p,
	    "SELECT set_config('synchronous_commit', 'off', true), "
	    "pg_notify($1, $2)",
	    texts, 2, err));
}

int
db_postgres_fd(const struct db *db)
{
	const struct db_postgres *p =
	    (const struct db_postgres *)(const void *)db;

	return (p->conn != NULL ? PQsocket(p->conn) : -1);
}

enum rc
db_postgres_notes(struct db *db, db_note_fn each, void *arg, struct err *err)
{
	struct db_postgres *p = of(db);
	PGnotify *note;

	if (p->conn == NULL || PQconsumeInput(p->conn) == 0) {
		if (p->conn != NULL)
			db_postgres_drop(p);
		return (err_set(err, RC_AWAY, "the database is away"));
	}
	while ((note = PQnotifies(p->conn)) != NULL) {
		each(arg, note->extra);
		PQfreemem(note);
	}
	return (RC_OK);
}
