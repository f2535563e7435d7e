/* SPDX-License-Identifier: MIT */
/*
 * Notifications between nodes (LISTEN and NOTIFY), and db_set_node(), which
 * stores the number of the node in the session.  The thread of cluster/ listens
 * on a connection of its own, not on the writer's, and polls the descriptor of
 * that connection.
 */
#include <stdio.h>

#include "db/db_postgres_internal.h"

/* Sets the node whose own rows this connection writes. */
static enum rc
send_node(struct db_postgres *p, struct err *err)
{
	char sql[64];

	(void)snprintf(
	    sql, sizeof(sql), "SET twinbox.node TO '%lld'", (long long)p->node);
	return (db_postgres_exec(p, sql, NULL, err));
}

enum rc
db_postgres_set_node(struct db *db, int64_t node, struct err *err)
{
	struct db_postgres *p = db_postgres_of(db);

	p->node = node;
	/* A new connection sets the node when it is configured. */
	return (p->conn != NULL ? send_node(p, err) : RC_OK);
}

enum rc
db_postgres_notification_listen(
    struct db *db, const char *channel, struct err *err)
{
	struct db_postgres *p = db_postgres_of(db);
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
db_postgres_notification_send(
    struct db *db, const char *channel, const char *text, struct err *err)
{
	const char *const texts[] = {channel, text};
	struct db_postgres *p = db_postgres_of(db);

	if (p->conn == NULL)
		return (err_set(err, RC_AWAY, "the database is away"));
	/* A notification may be lost anyway, so the commit that sends it needs
	 * no sync.  PostgreSQL commits transactions that notify one after
	 * another, so with a sync the notifications of other nodes would wait
	 * for this one. */
	return (db_postgres_exec_texts(p,
	    "SELECT set_config('synchronous_commit', 'off', true), "
	    "pg_notify($1, $2)",
	    texts, 2, err));
}

int
db_postgres_notification_fd(const struct db *db)
{
	const struct db_postgres *p = db_postgres_of_const(db);

	return (p->conn != NULL ? PQsocket(p->conn) : -1);
}

enum rc
db_postgres_notification_poll(
    struct db *db, db_notification_fn each, void *arg, struct err *err)
{
	struct db_postgres *p = db_postgres_of(db);
	PGnotify *notification;

	if (p->conn == NULL || PQconsumeInput(p->conn) == 0) {
		if (p->conn != NULL)
			db_postgres_drop(p);
		return (err_set(err, RC_AWAY, "the database is away"));
	}
	while ((notification = PQnotifies(p->conn)) != NULL) {
		each(arg, notification->extra);
		PQfreemem(notification);
	}
	return (RC_OK);
}
