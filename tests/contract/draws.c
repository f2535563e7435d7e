/* SPDX-License-Identifier: MIT */
/*
 * Draws parameters.  See draws.h.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contract/draws.h"
#include "schema/sql.h"

static uint64_t seed;

void
draw_begin(const char *name)
{

	for (seed = 88172645463325252; *name != '\0'; name++)
		seed = (seed ^ (uint8_t)*name) * 1099511628211;
}

uint64_t
draw(uint64_t below)
{

	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (seed % below);
}

/* A statement and the number of its parameter ${param}, counted from 1. */
#define AT(NAME, name, param)                                                  \
	SQL_##NAME, (int)(offsetof(struct sql_##name, param) /                 \
			  sizeof(struct db_val)) +                             \
			1

/* The words from which a parameter is drawn.  The last row is for all other
 * parameters. */
static const struct {
	int stmt, param;
	const char *words;
} vocabulary[] = {
    {AT(CONVERSATION_INSERT, conversation_insert, kind), "direct group"},
    {AT(PARTICIPANT_INSERT, participant_insert, role), "member admin owner"},
    {AT(OUTBOX_INSERT, outbox_insert, dest_kind), "user server push"},
    {AT(OUTBOX_INSERT, outbox_insert, state), "pending sent acked"},
    {AT(LANE_INSERT, lane_insert, dest_kind), "user server"},
    {AT(LANE_INSERT, lane_insert, state), "local ready"},
    {AT(LANE_FIND, lane_find, dest_kind), "user server"},
    {AT(LANE_REMOTE_SET, lane_remote_set, state), "idle ready leased"},
    {AT(DESTINATION_BREAKER_SET, destination_breaker_set, breaker),
	"open half_open closed"},
    {AT(OUTBOX_DEAD, outbox_dead, state), "failed expired"},
    {AT(DEAD_LETTER_INSERT, dead_letter_insert, state), "failed expired"},
    {AT(DEAD_LETTER_RESOLVE, dead_letter_resolve, resolution),
	"requeued discarded"},
    {AT(INSPECT_WALK_ENDED, inspect_walk_ended, state),
	"failed expired canceled"},
    {AT(LOCK_CONVERSATIONS, lock_conversations, name), "u1 u2 u3 u4 u8 x"},
    {AT(CONVERSATION_BY_KEY, conversation_by_key, direct_key),
	"u1_u2 u9_u10 x"},
    {AT(INSPECT_DESTINATION, inspect_destination, name), "s1.example local x"},
    {AT(DESTINATION_BY_NAME, destination_by_name, name), "s1.example * x"},
    {AT(INSPECT_DESTINATIONS, inspect_destinations, after), "s1.example * x"},
    {AT(NODE_END_LEASES, node_end_leases, owner), "node x"},
    {AT(META_GET, meta_get, key), "epoch purge_mark x"},
    {AT(META_LOCK, meta_lock, key), "epoch purge_mark x"},
    {AT(META_MAKE, meta_make, key), "epoch purge_mark x"},
    {AT(NONCE_FIND, nonce_find, key_id), "k1 k2 x"},
    {AT(NONCE_FIND, nonce_find, nonce),
	"a-nonce-of-bytes-1 a-nonce-of-bytes-2 a-nonce-of-bytes-9"},
    {AT(NONCE_INSERT, nonce_insert, key_id), "k1 k2 k3"},
    {AT(ORIGIN_FIND, origin_find, key_id), "k1 k2 k3 x"},
    {AT(DESTINATION_INSERT, destination_insert, name),
	"s1.example z1.example z2.example neu"},
    {AT(NONCE_INSERT, nonce_insert, nonce),
	"a-nonce-of-bytes-1 a-nonce-of-bytes-7 a-nonce-of-bytes-8"},
    {AT(SERVER_KEY_INSERT, server_key_insert, key_id), "k1 k4 k5"},
    {AT(SERVER_KEY_RETIRES_SET, server_key_retires_set, key_id), "k1 k2 x"},
    {AT(SERVER_KEY_RETIRED_SET, server_key_retired_set, key_id), "k1 k2 x"},
    {AT(PEER_BY_NAME, peer_by_name, name), "s1.example s3.example x"},
    {AT(PEER_SET, peer_set, epoch), "e1 e9"},
    {AT(PEER_SET, peer_set, blocked_by), "u1 u2"},
    {AT(PEER_KEY_PUT, peer_key_put, key_id), "k1 k2 k3 k7"},
    {AT(PEER_KEY_PUT, peer_key_put, pinned_by), "u1 u2"},
    {AT(PEER_KEY_RETIRE, peer_key_retire, key_id), "k1 k3 k4 k5 k6"},
    {-1, 0, "u1 u3 u7 r10@s1.example neu poison epoch s1.example"}};

/* Returns the words of parameter ${param} of ${stmt}. */
static const char *
words_of(int stmt, int param)
{
	size_t i;

	for (i = 0; vocabulary[i].stmt >= 0; i++)
		if (vocabulary[i].stmt == stmt && vocabulary[i].param == param)
			break;
	return (vocabulary[i].words);
}

/* Draws one of ${words}.  A '_' in a key of a conversation stands for a
 * space. */
static struct db_val
draw_word(const char *words, char room[40])
{
	uint64_t n, count = 1;
	const char *p;
	size_t len;

	for (p = words; *p != '\0'; p++)
		count += *p == ' ';
	for (n = draw(count), p = words; n > 0; p++)
		n -= *p == ' ';
	len = strcspn(p, " ");
	(void)snprintf(room, 40, "%.*s", (int)len, p);
	if (room[0] == 'u' && strchr(room, '_') != NULL)
		*strchr(room, '_') = ' ';
	return (db_v_text(room, strlen(room)));
}

/* Draws bytes that may be in the database: the uuids and hashes of twins.c. */
static struct db_val
draw_bytes(const char *kinds, size_t n, char room[40])
{

	(void)snprintf(room, 40, "%c%0*d", kinds[draw(strlen(kinds))],
	    (int)n - 1, 1 + (int)draw(strlen(kinds) == 1 ? 20 : 64));
	return (db_v_blob(room, n));
}

/* Returns true if the parameter is a limit.  *${ret_all}: without ORDER BY the
 * order of rows is arbitrary, so the limit must be large enough for all
 * rows. */
static bool
is_limit(int stmt, int param, bool *ret_all)
{
	const char *sql = sql_sqlite[stmt].text;
	char text[24];

	(void)snprintf(text, sizeof(text), "LIMIT $%d", param);
	*ret_all = strstr(sql, "ORDER BY") == NULL ||
		   strncmp(sql_sqlite[stmt].name, "gauges_", 7) == 0;
	if (strstr(sql, "WITH RECURSIVE") != NULL)
		*ret_all = false; /* a walk with an order */
	return (strstr(sql, text) != NULL);
}

static int64_t
draw_number(int stmt, int param)
{
	static const int64_t some[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 16,
	    17, 20, 30, 40, 45, 50, 62, 70, 203, 301, 305, 405, 510, 810, 1000,
	    3030, 3058, 4030, 5040, 6000};
	bool all;

	if (is_limit(stmt, param, &all))
		return (all ? 1000 : 1 + (int64_t)draw(20));
	if (draw(3) == 0)
		return (1 + (int64_t)draw(100));
	return (some[draw(sizeof(some) / sizeof(some[0]))]);
}

/* Parameters whose numbers must fit together, and ids of rows that exist, or
 * that do not exist yet (one higher for each row of a set).  Classes are
 * SMALLINT in PostgreSQL, with a CHECK in both databases.  Marks never go back,
 * and no lane is both late and too early.  The number is drawn from ${count}
 * numbers, from ${first} on. */
static const struct {
	int stmt, param, first, count;
	bool by_row;
} ranges[] = {
    {AT(NODE_HEARTBEAT, node_heartbeat, node_id), 1, 8, false},
    {AT(NODE_MARK_DEAD, node_mark_dead, node_id), 1, 3, false},
    {AT(NODE_MARK_DEAD, node_mark_dead, beat_at), 11, 3, false},
    {AT(MESSAGE_INSERT, message_insert, mid), 100, 1, true},
    {AT(OUTBOX_INSERT, outbox_insert, id), 200, 1, true},
    {AT(MESSAGE_INSERT, message_insert, conversation_seq), 20, 1, true},
    {AT(INBOX_INSERT, inbox_insert, seq), 30, 1, true},
    {AT(OUTBOX_INSERT, outbox_insert, lane_id), 1, 10, false},
    {AT(OUTBOX_INSERT, outbox_insert, lane_seq), 90, 1, true},
    {AT(DEVICE_ACKED_SET, device_acked_set, acked_seq), 6, 3, false},
    {AT(MESSAGE_INSERT, message_insert, priority), 0, 2, false},
    {AT(USER_INSERT, user_insert, admin), 0, 2, false},
    {AT(USER_PASSWORD_SPEND, user_password_spend, user_id), 1, 5, false},
    {AT(INBOX_INSERT, inbox_insert, own), 0, 2, false},
    {AT(LANE_INSERT, lane_insert, class), 0, 2, false},
    {AT(LANE_FIND, lane_find, class), 0, 2, false},
    {AT(OUTBOX_INSERT, outbox_insert, priority), 0, 2, false},
    {AT(LANES_READY, lanes_ready, priority), 0, 2, false},
    {AT(PARTICIPANT_INSERT, participant_insert, conversation_id), 1, 10, false},
    {AT(PARTICIPANT_GET, participant_get, conversation_id), 1, 10, false},
    {AT(PARTICIPANT_SET, participant_set, conversation_id), 1, 10, false},
    {AT(PARTICIPANT_INSERT, participant_insert, user_id), 1, 9, false},
    {AT(PARTICIPANT_GET, participant_get, user_id), 1, 9, false},
    {AT(PARTICIPANT_SET, participant_set, user_id), 1, 9, false},
    {AT(CONVERSATION_ONE, conversation_one, user_id), 1, 9, false},
    {AT(LOCK_CONVERSATIONS, lock_conversations, user_id), 1, 9, false},
    {AT(LANE_FIND, lane_find, conversation_id), 1, 9, false},
    {AT(INBOX_MESSAGE, inbox_message, user_id), 1, 9, false},
    {AT(MESSAGE_ENTRY, message_entry, sender_id), 1, 9, false},
    {AT(MESSAGE_VISIBLE, message_visible, user_id), 1, 9, false},
    {AT(OUTBOX_SETTLE_READ, outbox_settle_read, conversation_id), 1, 9, false},
    {AT(OUTBOX_SETTLE_READ, outbox_settle_read, user_id), 1, 9, false},
    {AT(DEVICE_REVOKE, device_revoke, user_id), 1, 9, false},
    {AT(DEVICE_RENAME, device_rename, user_id), 1, 9, false},
    {AT(MESSAGE_LAST_OF_OTHERS, message_last_of_others, conversation_id), 1, 9,
	false},
    {AT(MESSAGE_LAST_OF_OTHERS, message_last_of_others, user_id), 1, 9, false},
    {AT(LANE_FIND, lane_find, dest_id), 1, 16, false},
    {AT(MESSAGE_LAST_OF_OTHERS, message_last_of_others, upto), 3, 5, false},
    {AT(MESSAGE_LAST_OF_OTHERS, message_last_of_others, after), 0, 3, false},
    {AT(COUNTER_INSERT, counter_insert, user_id), 1, 12, false},
    {AT(OUTBOX_SETTLE_READ, outbox_settle_read, after), 0, 2, false},
    {AT(OUTBOX_SETTLE_READ, outbox_settle_read, upto), 7, 1, false},
    {AT(OUTBOX_RECEIPT_PENDING, outbox_receipt_pending, lane_id), 7, 2, false},
    {AT(OUTBOX_RECEIPT_PENDING, outbox_receipt_pending, kind), 3, 1, false},
    {AT(OUTBOX_RECEIPT_PENDING, outbox_receipt_pending, sender_id), 1, 3,
	false},
    {AT(PURGE_OUTBOX, purge_outbox, before), 3040, 80, false},
    {AT(PURGE_PEER_KEYS, purge_peer_keys, id), 5, 3, false},
    {AT(PURGE_PEER_KEYS, purge_peer_keys, before), 20, 9, false},
    {AT(PURGE_PEER, purge_peer, id), 6, 2, false},
    {AT(PURGE_PEER, purge_peer, before), 20, 9, false},
    {AT(PURGE_DESTINATION, purge_destination, id), 7, 2, false},
    {AT(PURGE_DESTINATION, purge_destination, before), 9, 9, false},
    {AT(PURGE_NONCE_LOOK, purge_nonce_look, before), 300, 9, false},
    {AT(DESTINATION_USE, destination_use, destination_id), 4, 5, false},
    {AT(ORIGIN_FIND, origin_find, destination_id), 2, 4, false},
    {AT(DESTINATIONS_READY, destinations_ready, after), 0, 4, false},
    {AT(PURGE_DEAD, purge_dead, id), 4, 9, false},
    {AT(PURGE_DEAD, purge_dead, before), 805, 9, false},
    {AT(OUTBOX_RECEIPT_MOVE, outbox_receipt_move, id), 61, 40, false},
    {AT(LANES_READY, lanes_ready, destination_id), 2, 2, false},
    {AT(PURGE_PROCESSED, purge_processed, origin), 2, 2, false},
    {AT(ATTEMPT_END, attempt_end, outbox_id), 1, 15, false},
    {AT(ATTEMPT_END, attempt_end, attempt), 1, 2, false},
    {AT(MESSAGE_RELEASE, message_release, mid), 54, 8, false},
    {AT(MESSAGE_RELEASE, message_release, conversation_seq), 20, 9, false},
    {AT(REMOTE_REPLAY, remote_replay, lane_id), 11, 8, false},
    {AT(INSPECT_LANE_SENT_SINCE, inspect_lane_sent_since, lane_id), 11, 8,
	false},
    {AT(INSPECT_LANE_SENT_SINCE, inspect_lane_sent_since, since), 2600, 20,
	false},
    {AT(REMOTE_REPLAY, remote_replay, from_seq), 0, 3, false},
    {AT(OUTBOX_EXPIRED_LOCAL, outbox_expired_local, after), 0, 3, false},
    {AT(SCRUB_TOTALS, scrub_totals, key), 0, 3, false},
    {AT(REMOTE_REPLAY, remote_replay, upto_seq), 60, 20, false},
    {AT(OUTBOX_EXPIRED_LOCAL, outbox_expired_local, upto), 10, 10, false},
    {AT(OUTBOX_EXPIRED_LOCAL, outbox_expired_local, now), 5000, 90, false},
    {AT(PURGE_ATTEMPTS_OF, purge_attempts_of, outbox_id), 108, 2, false},
    {AT(LANES_STALE, lanes_stale, now), 200, 6, false},
    {AT(LANES_STALE, lanes_stale, beyond), 205, 3, false},
    {AT(LANE_FENCE, lane_fence, lane_id), 13, 4, false},
    {AT(NODE_FORGET, node_forget, node_id), 2, 1, false},
    {AT(NODE_FORGET, node_forget, before), 15, 20, false},
    {AT(LANE_FENCE, lane_fence, lease_token), 3, 4, false},
    {AT(PROCESSED_FIND, processed_find, origin), 2, 2, false},
    {AT(INCOMING_FIND, incoming_find, user_id), 1, 7, false},
    {AT(INCOMING_FIND, incoming_find, origin), 0, 1, false},
    {AT(NONCE_FIND, nonce_find, destination_id), 2, 2, false},
    {AT(NONCE_INSERT, nonce_insert, destination_id), 2, 2, false},
    {AT(NONCE_EXPIRE, nonce_expire, now), 300, 9, false},
    {AT(GAUGES_LANES_KEPT, gauges_lanes_kept, after), 0, 4, false},
    {AT(PEERS_AFTER, peers_after, after), 0, 5, false},
    {AT(PEER_INSERT, peer_insert, destination_id), 0, 3, false},
    {AT(PEER_SET, peer_set, destination_id), 2, 4, false},
    {AT(PEER_SET, peer_set, first_seen_at), 1, 9, false},
    {AT(PEER_SET, peer_set, last_seen_at), 20, 9, false},
    {AT(PEER_DELETE, peer_delete, destination_id), 4, 2, false},
    {AT(PEER_KEYS_OF, peer_keys_of, destination_id), 2, 4, false},
    {AT(PEER_KEY_PUT, peer_key_put, destination_id), 2, 4, false},
    {AT(PEER_KEY_PUT, peer_key_put, now), 30, 9, false},
    {AT(PEER_KEY_RETIRE, peer_key_retire, destination_id), 2, 3, false},
    {AT(PEER_KEYS_TRIM, peer_keys_trim, destination_id), 4, 1, false},
    {AT(PEER_KEYS_TRIM, peer_keys_trim, keep), 0, 2, false},
    {AT(PEER_KEYS_DELETE, peer_keys_delete, destination_id), 2, 4, false},
    {AT(SEQUENCE_GET, sequence_get, sender_id), 9, 4, false},
    {AT(SEQUENCE_GET, sequence_get, recipient_id), 1, 8, false},
    {AT(SEQUENCE_GET, sequence_get, class), 0, 2, false},
    {AT(SEQUENCE_SET, sequence_set, sender_id), 9, 4, false},
    {AT(SEQUENCE_SET, sequence_set, recipient_id), 1, 8, false},
    {AT(SEQUENCE_SET, sequence_set, class), 0, 2, false},
    {AT(PAIR_CONVERSATIONS, pair_conversations, destination_id), 3, 1, false},
    {AT(PAIR_CONVERSATIONS, pair_conversations, user_id), 7, 3, false},
    {AT(PAIR_CONVERSATIONS, pair_conversations, conversation_id), 8, 2, false},
    {AT(PAIR_MESSAGES, pair_messages, conversation_id), 1, 9, false},
    {AT(PAIR_MESSAGES, pair_messages, user_id), 9, 4, false},
    {AT(PAIR_MESSAGES, pair_messages, after), 0, 5, false},
    {AT(PAIR_EVENTS, pair_events, origin), 2, 2, false},
    {AT(RECEIPT_TARGET, receipt_target, dest_id), 9, 2, false},
    {AT(RECEIPT_ROW, receipt_row, dest_id), 9, 1, false},
    {AT(RECEIPT_NOTE, receipt_note, dest_id), 9, 4, false},
    {AT(RECEIPT_ROWS, receipt_rows, lane_id), 11, 6, false},
    {AT(RECEIPT_ROWS, receipt_rows, after), 0, 20, false},
    {AT(RECEIPT_ROWS, receipt_rows, upto), 20, 60, false},
    {AT(PROMISED_FIND, promised_find, origin), 3, 1, false},
};

/* Returns a number of its range, or -1 if the parameter has no range. */
static int64_t
in_range(int stmt, int param, int row)
{
	size_t i;

	for (i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (ranges[i].stmt == stmt && ranges[i].param == param)
			return (ranges[i].first +
				(int64_t)draw((uint64_t)ranges[i].count) +
				(ranges[i].by_row ? row : 0));
	return (-1);
}

/* Returns the kinds of uuids that make sense for statement ${name}. */
static const char *
uuids_of(const char *name)
{

	if (strncmp(name, "device", 6) == 0)
		return ("d");
	if (strstr(name, "conversation") != NULL)
		return ("c");
	if (strcmp(name, "inbox_message") == 0 ||
	    strncmp(name, "message_entr", 12) == 0 ||
	    strcmp(name, "message_visible") == 0 ||
	    strcmp(name, "pair_message") == 0)
		return ("m");
	if (strcmp(name, "incoming_find") == 0 ||
	    strcmp(name, "pair_event") == 0)
		return ("e");
	if (strncmp(name, "purge_", 6) == 0 ||
	    strncmp(name, "processed_", 10) == 0 ||
	    strcmp(name, "pair_events") == 0)
		return ("p");
	return ("mecdp");
}

/* Returns true for a hash of half the usual length. */
static bool
is_short(int stmt, int param)
{
	static const struct {
		int stmt, param;
	} some[] = {{AT(MESSAGE_INSERT, message_insert, fingerprint)},
	    {AT(MESSAGE_INSERT, message_insert, salt)}};
	size_t i;

	for (i = 0; i < sizeof(some) / sizeof(some[0]); i++)
		if (some[i].stmt == stmt && some[i].param == param)
			return (true);
	return (false);
}

static struct db_val
draw_value(const struct shape *s, int k, int row, char room[40])
{
	const char *name = sql_sqlite[s->stmt].name;
	int64_t n = in_range(s->stmt, k + 1, row);
	bool all;

	switch (s->params[k]) {
	case 25: /* text */
	case 1009:
		if (draw(12) == 0 && strstr(name, "set") == NULL)
			return (DB_V_NULL);
		return (draw_word(words_of(s->stmt, k + 1), room));
	case 2950: /* uuid */
	case 2951:
		return (draw_bytes(uuids_of(name), 16, room));
	case 17: /* bytea */
	case 1001:
		return (
		    draw_bytes("tg", is_short(s->stmt, k + 1) ? 16 : 32, room));
	default:
		if (n < 0 && draw(15) == 0 && !is_limit(s->stmt, k + 1, &all))
			return (DB_V_NULL);
		return (db_v_i64(n >= 0 ? n : draw_number(s->stmt, k + 1)));
	}
}

/* Keeps one of the keys by which a row of lock_conversations can name a
 * conversation. */
static void
keep_one_key(struct db_val *row)
{
	const struct sql_lock_conversations all =
	    *(struct sql_lock_conversations *)row;
	struct sql_lock_conversations one = {0};

	switch (draw(6)) {
	case 0:
		one.public_id = all.public_id;
		break;
	case 1:
		one.user_id = all.user_id;
		one.name = all.name;
		break;
	case 2:
		one.lane_id = all.lane_id;
		break;
	case 3:
		one.user_id = all.user_id;
		one.acked_upto = all.acked_upto;
		break;
	case 4:
		one.conversation_id = all.conversation_id;
		break;
	default:
		one.user_id = all.user_id;
		one.read_upto = all.read_upto;
	}
	*(struct sql_lock_conversations *)row = one;
}

void
draw_params(const struct shape *s, int nrows, struct db_val *v)
{
	static char rooms[DRAWS_ROWS * DRAWS_PARAMS][40];
	bool set = shape_is_set(s);
	int i, k;

	for (i = 0; i < nrows; i++)
		for (k = 0; k < s->nparams; k++)
			v[i * s->nparams + k] =
			    draw_value(s, k, i, rooms[i * s->nparams + k]);
	for (i = 0; i < nrows && s->stmt == SQL_LOCK_CONVERSATIONS; i++)
		keep_one_key(v + i * s->nparams);
	for (i = 1; i < nrows && set; i++)
		for (k = 0; k < i; k++)
			if (v[i * s->nparams].type == DB_I64 &&
			    v[k * s->nparams].type == DB_I64 &&
			    v[i * s->nparams].u.i64 == v[k * s->nparams].u.i64)
				v[i * s->nparams].u.i64 += 100 + i;
}
