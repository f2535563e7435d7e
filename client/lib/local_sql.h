/* SPDX-License-Identifier: MIT */
/*
 * All SQL statements of the client's own database, by name.  The server's
 * statements are in schema/; the client does not use the server's store.
 */
#ifndef LIB_LOCAL_SQL_H
#define LIB_LOCAL_SQL_H

/* Settings of a connection, executed before any other statement. */
#define LOCAL_SQL_OPEN                                                         \
	"PRAGMA busy_timeout = 10000;"                                         \
	"PRAGMA journal_mode = WAL;"                                           \
	"PRAGMA synchronous = FULL;"                                           \
	"PRAGMA trusted_schema = OFF;"

#define LOCAL_SQL_VERSION 1

/* Schema version 1.  outbox.ref is the message's id, or "key:" and its
 * idempotency key.  outbox.state is "waiting" (to be submitted), "answered"
 * (the server has the message; the row is kept so that the client can submit it
 * again if the server is restored from a backup) or "refused".  Table event
 * holds shown events; its row numbers grow in the order in which the events
 * were first stored, and event_id is the key that event_key() in local_events.c
 * writes. */
#define LOCAL_SQL_SCHEMA                                                       \
	"CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)"       \
	" STRICT, WITHOUT ROWID;"                                              \
	"CREATE TABLE cursor (name TEXT PRIMARY KEY, epoch TEXT NOT NULL,"     \
	" seq INTEGER NOT NULL CHECK (seq >= 0)) STRICT, WITHOUT ROWID;"       \
	"CREATE TABLE outbox (row INTEGER PRIMARY KEY AUTOINCREMENT,"          \
	" ref TEXT NOT NULL UNIQUE, key TEXT, recipient TEXT NOT NULL,"        \
	" request TEXT NOT NULL, created_at INTEGER NOT NULL,"                 \
	" attempts INTEGER NOT NULL DEFAULT 0, last_error TEXT,"               \
	" state TEXT NOT NULL DEFAULT 'waiting'"                               \
	" CHECK (state IN ('waiting', 'answered', 'refused'))) STRICT;"        \
	"CREATE INDEX outbox_waiting ON outbox (row) WHERE state = 'waiting';" \
	"CREATE TABLE event (row INTEGER PRIMARY KEY AUTOINCREMENT,"           \
	" event_id TEXT NOT NULL UNIQUE, conversation TEXT,"                   \
	" event TEXT NOT NULL) STRICT;"                                        \
	"CREATE INDEX event_conversation ON event (conversation, row);"        \
	"PRAGMA user_version = 1;"

/* X(name, SQL) */
#define LOCAL_SQL_TABLE(X)                                                     \
	X(BEGIN, "BEGIN IMMEDIATE")                                            \
	X(COMMIT, "COMMIT")                                                    \
	X(ROLLBACK, "ROLLBACK")                                                \
	X(VERSION, "PRAGMA user_version")                                      \
	X(SYNCHRONOUS, "PRAGMA synchronous")                                   \
	X(META_GET, "SELECT value FROM meta WHERE name = ?1")                  \
	X(META_SET, "INSERT INTO meta (name, value) VALUES (?1, ?2)"           \
		    " ON CONFLICT (name) DO UPDATE SET value = ?2")            \
	X(CURSOR_GET, "SELECT epoch, seq FROM cursor WHERE name = ?1")         \
	X(CURSOR_SET,                                                          \
	    "INSERT INTO cursor (name, epoch, seq) VALUES (?1, ?2, ?3)"        \
	    " ON CONFLICT (name) DO UPDATE SET epoch = ?2, seq ="              \
	    " CASE WHEN epoch = ?2 THEN max(seq, ?3) ELSE ?3 END")             \
	X(CURSOR_RESET, "DELETE FROM cursor")                                  \
	X(OUTBOX_ADD,                                                          \
	    "INSERT INTO outbox (ref, key, recipient, request, created_at)"    \
	    " VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (ref) DO NOTHING")       \
	X(OUTBOX_FIND,                                                         \
	    "SELECT row, ref, key, recipient, request, created_at, attempts,"  \
	    " last_error, state FROM outbox WHERE ref = ?1")                   \
	X(OUTBOX_NEXT,                                                         \
	    "SELECT row, ref, key, recipient, request, created_at, attempts,"  \
	    " last_error, state FROM outbox"                                   \
	    " WHERE state = 'waiting' AND row > ?1 ORDER BY row LIMIT 1")      \
	X(OUTBOX_TRIED,                                                        \
	    "UPDATE outbox SET attempts = attempts + 1, last_error = ?2"       \
	    " WHERE ref = ?1")                                                 \
	X(OUTBOX_SETTLE,                                                       \
	    "UPDATE outbox SET state = ?2, last_error = ?3 WHERE ref = ?1")    \
	X(OUTBOX_REMOVE, "DELETE FROM outbox WHERE ref = ?1")                  \
	X(OUTBOX_AGAIN,                                                        \
	    "UPDATE outbox SET state = 'waiting' WHERE state = 'answered'")    \
	X(OUTBOX_PURGE, "DELETE FROM outbox WHERE state <> 'waiting'"          \
			" AND created_at < ?1")                                \
	X(EVENT_ADD, "INSERT INTO event (event_id, conversation, event)"       \
		     " VALUES (?1, ?2, ?3) ON CONFLICT (event_id) DO NOTHING") \
	X(EVENT_HAS, "SELECT 1 FROM event WHERE event_id = ?1")                \
	X(EVENT_RECENT, "SELECT event FROM event ORDER BY row DESC")           \
	X(NAMES, "SELECT recipient FROM outbox WHERE state <> 'refused'"       \
		 " UNION SELECT json_extract(event, '$.from') FROM event"      \
		 " WHERE json_valid(event)"                                    \
		 " UNION SELECT json_extract(event, '$.to') FROM event"        \
		 " WHERE json_valid(event)")                                   \
	X(EVENT_PURGE,                                                         \
	    "DELETE FROM event WHERE row <= (SELECT max(row) FROM event) - ?1")

enum local_sql {
#define X(name, sql) LOCAL_##name,
	LOCAL_SQL_TABLE(X)
#undef X
	    LOCAL_SQL_COUNT
};

#endif
