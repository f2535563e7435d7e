/* SPDX-License-Identifier: MIT */
/*
 * The twins.  Rows are made in SQLite and copied to PostgreSQL.  See twins.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "contract/twins.h"
#include "schema/sql.h"

/* Ids and hashes are id(kind, number) and hash(kind, number): a letter and the
 * number. */

/* Users 1-8 are local (7 is disabled, 3 and 4 have one-time passwords), 9-12
 * are on servers 2 and 3.  Conversation 9 is with user 9, 10 is a group without
 * messages.  Messages 55-60 are scheduled. */
static const char people[] =
    "CREATE TEMP TABLE n AS WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL "
    "SELECT i + 1 FROM c WHERE i < 100) SELECT i FROM c;"
    "INSERT INTO destinations (destination_id, name, breaker, failures, "
    "next_probe_at, last_error, paused_at, paused_by, per_second, "
    "created_at, updated_at) SELECT 1 + i, 's' || i || '.example', CASE i "
    "WHEN 1 THEN 'open' ELSE 'closed' END, i, 900 + i, 'away', CASE i WHEN "
    "3 THEN 7 END, CASE i WHEN 3 THEN 'u1' END, i, 10, 11 FROM n WHERE i <= "
    "4;"
    "INSERT INTO users (user_id, name, display_name, password_hash, admin, "
    "created_at, disabled_at, destination_id, password_once_until) SELECT i, "
    "CASE WHEN i > 8 "
    "THEN 'r' || i || '@s' || (i % 2 + 1) || '.example' ELSE 'u' || i END, "
    "CASE WHEN i % 2 THEN 'Zo\xc3\xab ' || i END, CASE WHEN i < 5 THEN "
    "'hash' END, i = 1, i, CASE i WHEN 7 THEN 70 END, CASE WHEN i > 8 THEN "
    "i % 2 + 2 END, CASE i WHEN 3 THEN 0 WHEN 4 THEN 90 END FROM n WHERE i <= "
    "12;"
    "INSERT INTO inboxes (user_id, trimmed, read_seq) SELECT i, 3 * (i = "
    "8), i % 4 FROM n WHERE i <= 8;"
    "INSERT INTO devices (device_id, public_id, user_id, name, token_hash, "
    "acked_seq, created_at, last_seen_at, revoked_at) SELECT i, id('d', i), "
    "1 + i % 6, 'phone ' || i, hash('t', i), i % 4, i, 20 + i, CASE WHEN i "
    "% 5 = 0 THEN 30 END FROM n WHERE i <= 14;"
    "INSERT INTO conversations (conversation_id, public_id, kind, "
    "direct_key, created_at) SELECT i, id('c', i), CASE WHEN i < 10 THEN "
    "'direct' ELSE 'group' END, CASE WHEN i < 10 THEN 'u' || i || ' u' || "
    "(i + 1) END, 40 + i FROM n WHERE i <= 10;"
    "INSERT INTO participants (conversation_id, user_id, role, "
    "delivered_upto, acked_upto, read_upto, shown_upto, acked_at, shown_at) "
    "SELECT i, 1 + i % 8, 'member', 6, i % 6, i % 3, 1, 50 + i, 60 + i FROM "
    "n WHERE i <= 10;"
    "INSERT INTO participants (conversation_id, user_id, role, "
    "delivered_upto, acked_upto, read_upto, read_at) SELECT i, CASE i WHEN "
    "9 THEN 9 ELSE 1 + (i + 3) % 8 END, 'owner', 5, i % 5, i % 4, 80 + i "
    "FROM n WHERE i <= 10;";

static const char messages[] =
    "INSERT INTO messages (mid, message_id, event_id, conversation_id, "
    "conversation_seq, sender_id, body, content_type, metadata, "
    "correlation_id, reply_to, priority, event_time, created_at, "
    "fingerprint, salt, digest) SELECT i, id('m', i), id('e', i), 1 + i % "
    "9, CASE WHEN i < 55 THEN 1 + (i - 1) / 9 END, 1 + (1 + i % 9 + 3 * (i "
    "% 2)) % 8, 'text \xe2\x82\xac ' || i, CASE WHEN i % 5 = 0 THEN "
    "'text/markdown' END, CASE WHEN i % 4 = 0 THEN '{\"n\":1}' END, CASE "
    "WHEN i % 3 = 0 THEN 'k' || i END, CASE WHEN i % 7 = 0 THEN id('m', i - "
    "1) END, i % 3 - 1, 1000 + i, 2000 + i, id('f', i), id('s', i), CASE "
    "WHEN i < 55 THEN hash('g', i) END FROM n WHERE i <= 60;"
    "INSERT INTO outbox_lanes (lane_id, conversation_id, dest_kind, "
    "dest_id, class, next_seq, last_published_seq, due_at, updated_at) "
    "SELECT i, 1 + i % 9, 'user', 1 + i % 8, i / 9, i, i - 1, CASE WHEN i = "
    "4 THEN 4000 ELSE 0 END, 90 + i FROM n WHERE i <= 10;"
    "INSERT INTO outbox_lanes (lane_id, conversation_id, dest_kind, "
    "dest_id, priority, next_seq, last_published_seq, due_at, lease_owner, "
    "lease_token, lease_until, updated_at, destination_id, state, tail_seq, "
    "replay_seq) SELECT 10 + i, i, 'server', 8 + i, CASE i WHEN 4 THEN 1 ELSE "
    "0 END, 10 + i, 20 - i, 100 + i, CASE i WHEN 3 THEN 'node' END, i, CASE WHEN i IN (3, 6) "
    "THEN 200 + i END, 99, 2 + (i > 4), CASE WHEN i IN (3, 6) THEN 'leased' "
    "WHEN i = 1 THEN 'idle' ELSE 'ready' END, 60, CASE i WHEN 2 THEN 5 END "
    "FROM n WHERE i <= 8;";

/* Outbox rows 1-60 are for the messages, in lanes in turn; rows 61-100 for
 * receipts and bounces. */
static const char outbox[] =
    "INSERT INTO outbox (id, event_id, kind, mid, conversation_id, "
    "conversation_seq, sender_id, lane_id, lane_seq, dest_kind, dest_id, "
    "priority, state, attempts, retry_count, rescue_count, next_retry_at, "
    "deliver_at, expires_at, event_time, created_at, last_attempt_at, "
    "last_status_at, sent_at, acked_at, last_error, ack_deadline, reason, "
    "requeues) SELECT i, id('e', i), CASE WHEN i <= 60 THEN 1 ELSE 2 + i / "
    "8 % 4 END, 1 + (i - 1) % 60, 1 + i % 9, CASE WHEN i < 55 OR i > 60 "
    "THEN 1 + (i - 1) % 60 / 9 END, 1 + i % 6, 1 + i % 18, CASE WHEN i < 55 "
    "OR i > 60 THEN i END, CASE WHEN i % 18 > 9 THEN 'server' ELSE 'user' "
    "END, CASE WHEN i % 18 > 9 THEN 9 + i % 4 ELSE 1 + i % 8 END, i % 3 - "
    "1, st, i % 4, i % 3, i % 2, CASE WHEN i % 6 = 0 THEN 3100 + i END, "
    "CASE WHEN i BETWEEN 55 AND 60 THEN 3000 + i END, 5000 + i, 1000 + i, "
    "2000 + i, CASE WHEN i % 4 > 0 THEN 2500 + i END, 3000 + i, CASE WHEN "
    "st IN ('sent', 'acked') THEN 2600 + i END, CASE st WHEN 'acked' THEN "
    "2700 + i END, CASE WHEN i % 5 = 0 THEN 'no \xe2\x80\xa6' END, CASE "
    "WHEN st = 'sent' AND i % 18 > 9 THEN 4000 + i END, CASE WHEN st IN "
    "('failed', 'expired') THEN 'poison' END, i % 11 = 0 FROM (SELECT i, "
    "CASE WHEN i BETWEEN 55 AND 60 THEN 'pending' ELSE CASE i % 8 WHEN 0 "
    "THEN 'sent' WHEN 1 THEN 'acked' WHEN 2 THEN 'sending' WHEN 3 THEN "
    "'failed' WHEN 4 THEN 'expired' WHEN 5 THEN 'canceled' ELSE 'pending' "
    "END END AS st FROM n);"
    "INSERT INTO outbox_attempts (attempt_id, outbox_id, attempt, "
    "destination_id, owner, started_at, finished_at, outcome, status, "
    "error) SELECT i, CASE i WHEN 30 THEN 109 ELSE 1 + i / 2 END, 1 + i % 2, "
    "2, 'node', 500 + i, CASE WHEN i % 3 THEN 600 + i END, CASE WHEN i % 3 "
    "THEN 'retry' END, 503, 'x\"y' FROM n WHERE i <= 30;"
    "INSERT INTO dead_letter_queue (dead_id, outbox_id, mid, sender_id, "
    "dest_id, destination_id, state, reason, last_error, attempts, "
    "retry_count, event_time, created_at, dead_at, resolution, resolved_at, "
    "resolved_by) SELECT i, 3 + 8 * (i % 5), 3 + i, 1 + i % 6, 9, 2, "
    "'failed', CASE i % 3 WHEN 0 THEN 'poison' WHEN 1 THEN 'rejected' ELSE "
    "'max_retries' END, 'no', i, 1, 1000 + i, 2000 + i, 700 + i, CASE WHEN "
    "i > 5 THEN 'requeued' END, CASE WHEN i > 5 THEN 800 + i END, CASE WHEN "
    "i > 5 THEN 'u1' END FROM n WHERE i <= 12;";

static const char inbox[] =
    "INSERT INTO inbox (user_id, seq, kind, own, event_id, mid, "
    "conversation_id, conversation_seq, actor_id, outbox_id, event_time, "
    "delivered_at, attempt) SELECT u, s, CASE WHEN m % 6 = 0 THEN 2 + m % 4 "
    "ELSE 1 END, m % 5 = 0, id('e', m), m, 1 + m % 9, 1 + (m - 1) / 9, 1 + "
    "(m + 2) % 8, CASE WHEN m % 5 THEN m END, 1000 + m, 3000 + m, 1 FROM "
    "(SELECT i AS m, 1 + i % 7 AS u, 1 + (i - 1) / 7 AS s FROM n WHERE i <= "
    "49);"
    "INSERT INTO processed_messages (origin, event_id, processed_at, "
    "sequence, behind) SELECT 2 + i % 2, id('p', i), 300 + i, CASE WHEN i % 3 "
    "THEN i END, CASE i % 3 WHEN 1 THEN i + 4 END FROM n WHERE i <= 10;"
    "INSERT INTO audit_log (audit_id, at, actor, action, object, detail) "
    "SELECT i, 400 + i, 'u1', CASE i % 2 WHEN 0 THEN 'pause' ELSE "
    "'peer-keys' END, 's1.example', 'why ' || i FROM n "
    "WHERE i <= 8;"
    "INSERT INTO nodes (node_id, name, started_at, beat_at, left_at) SELECT "
    "i, 'node' || i, i, 10 + i, CASE i WHEN 2 THEN 20 END FROM n WHERE i <= "
    "3;"
    "INSERT OR REPLACE INTO meta (key, value) VALUES ('purge_mark', '20'), "
    "('epoch', 'e1');"
    "UPDATE outbox_totals SET pending = 3, sent = 4, acked_total = 5;";

/* Rows about other servers.  No person of servers 6 to 8 is known.  Outbox rows
 * 16 and 32 are sent, and wait for no ack. */
static const char federation[] =
    "INSERT INTO server_keys (key_id, public, seed, created_at, signs_at, "
    "retires_at, retired_at) SELECT 'k' || i, hash('g', i), hash('t', i), i, "
    "10 + i, CASE i WHEN 1 THEN 90 END, CASE i WHEN 3 THEN 95 END FROM n WHERE "
    "i <= 3;"
    "INSERT INTO peers (destination_id, first_seen_at, last_seen_at, epoch, "
    "blocked_at, blocked_by) SELECT 1 + i, i, 20 + i, 'e' || i, CASE i WHEN 3 "
    "THEN 9 END, CASE i WHEN 3 THEN 'u1' END FROM n WHERE i <= 4;"
    "INSERT INTO peer_keys (destination_id, key_id, public, pinned_by, "
    "first_seen_at, last_seen_at, retired_at) SELECT 2 + i % 3, 'k' || i, "
    "hash('g', i), CASE i WHEN 2 THEN 'u1' END, i, 20 + i, CASE i WHEN 5 THEN "
    "30 END FROM n WHERE i <= 6;"
    "INSERT INTO destinations (destination_id, name, created_at, updated_at) "
    "SELECT 5 + i, 'z' || i || '.example', 10, 0 FROM n WHERE i <= 3;"
    "INSERT INTO peers (destination_id, first_seen_at, last_seen_at) "
    "SELECT 5 + i, 1, 21 FROM n WHERE i <= 2;"
    "INSERT INTO peer_keys (destination_id, key_id, public, first_seen_at, "
    "last_seen_at) SELECT 6, 'k8', hash('g', i), 1, 21 FROM n WHERE i = 8;"
    "INSERT INTO federation_nonces (destination_id, key_id, nonce, "
    "keep_until) SELECT 2 + i % 2, 'k' || (1 + i % 2), 'a-nonce-of-bytes-' || "
    "i, 300 + i FROM n WHERE i <= 6;"
    "INSERT INTO federation_lanes (sender_id, recipient_id, class, "
    "last_sequence) SELECT 9 + i % 4, 1 + i % 8, i % 2, 10 + i FROM n WHERE i "
    "<= 8;"
    "UPDATE outbox SET ack_deadline = NULL WHERE id IN (16, 32);";

/* Damage that fsck finds: a message without an outbox row, one that is twice in
 * an inbox and out of order there, gaps, timestamps that contradict the
 * state. */
static const char errors[] =
    "DELETE FROM outbox WHERE id = 30;"
    "INSERT INTO inbox (user_id, seq, kind, own, event_id, mid, "
    "conversation_id, conversation_seq, actor_id, event_time, delivered_at) "
    "SELECT 4, 8, 1, 0, id('x', 1), mid, conversation_id, conversation_seq, "
    "actor_id, 1, 1 FROM inbox WHERE user_id = 4 AND kind = 1 AND seq < 4 "
    "ORDER BY seq LIMIT 1;"
    "UPDATE inbox SET conversation_id = 5, actor_id = 3 WHERE user_id = 4;"
    "INSERT INTO inbox (user_id, seq, kind, own, event_id, mid, "
    "conversation_id, conversation_seq, actor_id, event_time, delivered_at) "
    "VALUES (5, 12, 1, 0, id('x', 2), 1, 1, 1, 1, 1, 1), (5, 13, 3, 0, "
    "id('x', 3), 1, 1, 2, 1, 1, 1), (5, 14, 3, 0, id('x', 4), 1, 1, 1, 1, 1, "
    "1);"
    "UPDATE messages SET conversation_seq = 9 WHERE mid = 54;"
    "UPDATE outbox SET acked_at = 1 WHERE id = 8;";

static const char *const tables[] = {"meta", "destinations", "users", "devices",
    "inboxes", "conversations", "participants", "messages", "outbox_lanes",
    "outbox", "inbox", "processed_messages", "outbox_attempts",
    "dead_letter_queue", "audit_log", "outbox_totals", "nodes", "server_keys",
    "peers", "peer_keys", "federation_nonces", "federation_lanes"};
_Static_assert(sizeof(tables) / sizeof(tables[0]) == TWINS_TABLES, "tables");

/* Sets the counters that PostgreSQL's statements would have kept for the copied
 * rows. */
static const char counters[] =
    "UPDATE conversations c SET last_seq = m.conversation_seq, last_digest = "
    "m.digest FROM (SELECT DISTINCT ON (conversation_id) * FROM messages WHERE "
    "conversation_seq > 0 ORDER BY conversation_id, conversation_seq DESC) m "
    "WHERE m.conversation_id = c.conversation_id;"
    "UPDATE inboxes b SET head = coalesce((SELECT max(seq) FROM inbox i WHERE "
    "i.user_id = b.user_id), b.trimmed), acked = coalesce((SELECT "
    "max(acked_seq) FROM devices d WHERE d.user_id = b.user_id), 0);"
    "UPDATE outbox_lanes l SET tail_seq = coalesce((SELECT max(lane_seq) FROM "
    "outbox o WHERE o.lane_id = l.lane_id), 0) WHERE state = 'local'";

/* ---- copying ---- */

static bool
is_uuid(const char *column)
{

	return (strcmp(column, "message_id") == 0 ||
		strcmp(column, "event_id") == 0 ||
		strcmp(column, "public_id") == 0 ||
		strcmp(column, "reply_to") == 0);
}

static bool
is_bytes(const char *column)
{

	return (strcmp(column, "token_hash") == 0 ||
		strcmp(column, "fingerprint") == 0 ||
		strcmp(column, "salt") == 0 || strcmp(column, "digest") == 0 ||
		strcmp(column, "public") == 0 || strcmp(column, "seed") == 0);
}

/* Returns the value in column ${col} in PostgreSQL's syntax, with bytes in
 * hexadecimal, in ${room}. */
static const char *
value_of(sqlite3_stmt *st, int col, char *room, size_t size)
{
	const uint8_t *p;
	size_t at = 0;
	int i, n;

	if (sqlite3_column_type(st, col) != SQLITE_BLOB)
		return ((const char *)sqlite3_column_text(st, col));
	p = sqlite3_column_blob(st, col);
	n = sqlite3_column_bytes(st, col);
	if (is_bytes(sqlite3_column_name(st, col)))
		at = (size_t)snprintf(room, size, "\\x");
	for (i = 0; i < n; i++)
		at += (size_t)snprintf(room + at, size - at, "%02x", p[i]);
	return (room);
}

static void
copy_row(struct pg *pg, const char *table, sqlite3_stmt *st)
{
	const char *values[40];
	char rooms[40][80], sql[1200];
	int i, n = sqlite3_column_count(st);
	PGresult *result;
	size_t at;

	assert_true(n <= 40);
	at = (size_t)snprintf(sql, sizeof(sql), "INSERT INTO %s (", table);
	for (i = 0; i < n; i++) {
		values[i] = value_of(st, i, rooms[i], sizeof(rooms[i]));
		at += (size_t)snprintf(sql + at, sizeof(sql) - at, "%s%s",
		    i > 0 ? ", " : "",
		    strcmp(sqlite3_column_name(st, i), "one") == 0
			? "node"
			: sqlite3_column_name(st, i));
	}
	for (i = 0; i < n; i++)
		at += (size_t)snprintf(sql + at, sizeof(sql) - at, "%s$%d",
		    i > 0 ? ", " : ") VALUES (", i + 1);
	(void)snprintf(sql + at, sizeof(sql) - at, ")");
	result = PQexecParams(pg->conn, sql, n, NULL, values, NULL, NULL, 0);
	if (PQresultStatus(result) != PGRES_COMMAND_OK)
		fail_msg("%s: %s", sql, PQresultErrorMessage(result));
	PQclear(result);
}

static void
copy_table(struct twins *t, const char *table)
{
	sqlite3_stmt *st;
	char sql[96];

	(void)snprintf(sql, sizeof(sql),
	    strcmp(table, "destinations") == 0
		? "SELECT * FROM %s WHERE destination_id > 1"
		: "SELECT * FROM %s",
	    table);
	assert_int_equal(
	    sqlite3_prepare_v2(t->rig.look, sql, -1, &st, NULL), SQLITE_OK);
	while (sqlite3_step(st) == SQLITE_ROW)
		copy_row(&t->pg, table, st);
	(void)sqlite3_finalize(st);
}

/* The SQL functions id(kind, number) and hash(kind, number). */
static void
letter_and_number(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	int n = *(const int *)sqlite3_user_data(context);
	char text[40];

	(void)argc;
	(void)snprintf(text, sizeof(text), "%.1s%0*d",
	    (const char *)sqlite3_value_text(argv[0]), n - 1,
	    sqlite3_value_int(argv[1]));
	sqlite3_result_blob(context, text, n, SQLITE_TRANSIENT);
}

static void
fill(struct rig *r)
{
	static int sizes[] = {16, 32};
	static const char *const all[] = {
	    people, messages, outbox, inbox, federation, errors};
	char *why = NULL;
	sqlite3 *db;
	size_t i;

	assert_int_equal(sqlite3_open(r->path, &db), SQLITE_OK);
	for (i = 0; i < 2; i++)
		assert_int_equal(
		    sqlite3_create_function(db, i == 0 ? "id" : "hash", 2,
			SQLITE_UTF8, &sizes[i], letter_and_number, NULL, NULL),
		    SQLITE_OK);
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (sqlite3_exec(db, all[i], NULL, NULL, &why) != SQLITE_OK)
			fail_msg("%zu: %s", i, why);
	(void)sqlite3_close(db);
}

/* ---- comparing ---- */

/* Makes the queries that return a row of table ${i} as text, with all columns
 * of SQLite's table. */
static void
make_probe(struct twins *t, size_t i)
{
	char *lite = t->probes[i][0], *post = t->probes[i][1], sql[96];
	const size_t size = sizeof(t->probes[i][0]);
	sqlite3_stmt *st;
	const char *name;
	size_t a, b;
	int k;

	(void)snprintf(sql, sizeof(sql), "SELECT * FROM %s", tables[i]);
	assert_int_equal(
	    sqlite3_prepare_v2(t->rig.look, sql, -1, &st, NULL), SQLITE_OK);
	a = (size_t)snprintf(lite, size, "SELECT ''");
	b = (size_t)snprintf(post, size, "SELECT (''");
	for (k = 0; k < sqlite3_column_count(st); k++) {
		name = sqlite3_column_name(st, k);
		/* SQLite does not keep it for a lane to a local inbox. */
		if (strcmp(name, "tail_seq") == 0)
			continue;
		a += is_uuid(name) || is_bytes(name)
			 ? (size_t)snprintf(lite + a, size - a,
			       "||'|'||lower(iif(%s IS NULL,'-',hex(%s)))",
			       name, name)
			 : (size_t)snprintf(lite + a, size - a,
			       "||'|'||coalesce(%s,'-')", name);
		b += (size_t)snprintf(post + b, size - b,
		    is_uuid(name)    ? "||'|'||coalesce(encode(uuid_send(%s),"
				       "'hex'),'-')"
		    : is_bytes(name) ? "||'|'||coalesce(encode(%s,'hex'),'-')"
				     : "||'|'||coalesce(%s::text,'-')",
		    strcmp(name, "one") == 0 ? "node" : name);
		assert_true(a < size && b < size);
	}
	(void)sqlite3_finalize(st);
	(void)snprintf(lite + a, size - a, " FROM %s ORDER BY 1", tables[i]);
	(void)snprintf(post + b, size - b, ") COLLATE \"C\" FROM %s ORDER BY 1",
	    tables[i]);
	t->lite_text[SQL_STMT_COUNT + i] =
	    (struct sql_text){tables[i], lite, NULL};
	t->post_text[SQL_STMT_COUNT + i] =
	    (struct sql_text){tables[i], post, NULL};
}

struct dump {
	char text[65536];
	size_t n;
};

static enum rc
take_line(void *arg, const struct db_row *row, struct err *err)
{
	struct dump *d = arg;
	const char *p;
	size_t n;

	(void)err;
	p = db_row_text(row, 0, &n);
	assert_true(d->n + n + 2 < sizeof(d->text));
	memcpy(d->text + d->n, p, n);
	d->n += n;
	d->text[d->n++] = '\n';
	d->text[d->n] = '\0';
	return (RC_OK);
}

static void
dump(struct db *db, size_t i, struct dump *ret)
{
	struct err err = ERR_INIT;

	ret->n = 0;
	ret->text[0] = '\0';
	if (db_run(db, (int)(SQL_STMT_COUNT + i), NULL, 0, take_line, ret, NULL,
		&err) != RC_OK)
		fail_msg("%s: %s", tables[i], err.text);
}

/* Returns true if ${sql} has ${table} as a word. */
static bool
speaks_of(const char *sql, const char *table)
{
	const char *at = sql;
	size_t n = strlen(table);

	while ((at = strstr(at, table)) != NULL) {
		if (at > sql && at[-1] == ' ' && strchr(" \n;(", at[n]) != NULL)
			return (true);
		at += n;
	}
	return (false);
}

void
twins_compare(struct twins *t, const char *sql, const char *what)
{
	static struct dump lite, post;
	size_t i, at;

	for (i = 0; i < TWINS_TABLES; i++) {
		/* PostgreSQL has one row for each node. */
		if (!speaks_of(sql, tables[i]) ||
		    strcmp(tables[i], "outbox_totals") == 0)
			continue;
		dump(t->lite, i, &lite);
		dump(t->post, i, &post);
		for (at = 0;
		     lite.text[at] != '\0' && lite.text[at] == post.text[at];
		     at++)
			;
		if (lite.text[at] == post.text[at])
			continue;
		while (at > 0 && lite.text[at - 1] != '\n')
			at--;
		fail_msg("%s: table %s\nSQLite:     %.*s\nPostgreSQL: %.*s",
		    what, tables[i], (int)strcspn(lite.text + at, "\n"),
		    lite.text + at, (int)strcspn(post.text + at, "\n"),
		    post.text + at);
	}
}

/* ---- opening and closing ---- */

void
twins_open(struct twins *t)
{
	struct db_options options = {.url = t->rig.url, .mode = DB_WRITER};
	struct err err = ERR_INIT;
	size_t i;

	pg_open(&t->pg);
	rig_open(&t->rig);
	fill(&t->rig);
	pg_exec(&t->pg, "BEGIN");
	for (i = 0; i < TWINS_TABLES; i++)
		copy_table(t, tables[i]);
	pg_exec(&t->pg, counters);
	pg_exec(&t->pg, "COMMIT");
	memcpy(
	    t->lite_text, sql_sqlite, SQL_STMT_COUNT * sizeof(sql_sqlite[0]));
	memcpy(
	    t->post_text, sql_postgres, SQL_STMT_COUNT * sizeof(sql_sqlite[0]));
	for (i = 0; i < TWINS_TABLES; i++)
		make_probe(t, i);
	t->lite_schema = sql_sqlite_schema;
	t->lite_schema.statements = t->lite_text;
	t->post_schema = sql_postgres_schema;
	t->post_schema.statements = t->post_text;
	t->lite_schema.nstatements = t->post_schema.nstatements =
	    SQL_STMT_COUNT + TWINS_TABLES;
	options.schema = &t->lite_schema;
	if (db_open(&options, &t->lite, &err) != RC_OK)
		fail_msg("%s", err.text);
	t->post = pg_db_with(&t->pg, &t->post_schema);
}

void
twins_close(struct twins *t)
{

	db_close(t->post);
	db_close(t->lite);
	rig_close(&t->rig);
	pg_close(&t->pg);
}

void
twins_number(struct twins *t)
{
	static const char *const counted[][2] = {{"users", "user_id"},
	    {"devices", "device_id"}, {"conversations", "conversation_id"},
	    {"destinations", "destination_id"}, {"outbox_lanes", "lane_id"},
	    {"outbox_attempts", "attempt_id"}, {"dead_letter_queue", "dead_id"},
	    {"audit_log", "audit_id"}, {"nodes", "node_id"}};
	char sql[2048];
	size_t i, at = 0;

	for (i = 0; i < sizeof(counted) / sizeof(counted[0]); i++)
		at += (size_t)snprintf(sql + at, sizeof(sql) - at,
		    "SELECT setval(pg_get_serial_sequence('%s', '%s'), "
		    "(SELECT max(%s) FROM %s));",
		    counted[i][0], counted[i][1], counted[i][1], counted[i][0]);
	(void)snprintf(sql + at, sizeof(sql) - at,
	    "SELECT setval('message_ids', (SELECT max(mid) FROM messages));"
	    "SELECT setval('outbox_ids', (SELECT max(id) FROM outbox))");
	pg_exec(&t->pg, sql);
}
