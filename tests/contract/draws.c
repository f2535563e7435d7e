/* SPDX-License-Identifier: MIT */
/*
 * See draws.h.
 */
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

/* Words that a parameter may be; the others are from the last row. */
static const struct {
	int stmt, param;
	const char *words;
} vocabulary[] = {{SQL_CONVERSATION_INSERT, 2, "direct group"},
    {SQL_PARTICIPANT_INSERT, 3, "member admin owner"},
    {SQL_OUTBOX_INSERT, 10, "user server push"},
    {SQL_OUTBOX_INSERT, 13, "pending sent acked"},
    {SQL_LANE_INSERT, 2, "user server"}, {SQL_LANE_INSERT, 7, "local ready"},
    {SQL_LANE_FIND, 2, "user server"},
    {SQL_LANE_REMOTE_SET, 6, "idle ready leased"},
    {SQL_DESTINATION_BREAKER_SET, 2, "open half_open closed"},
    {SQL_OUTBOX_DEAD, 2, "failed expired"},
    {SQL_DEAD_LETTER_INSERT, 6, "failed expired"},
    {SQL_DEAD_LETTER_RESOLVE, 2, "requeued discarded"},
    {SQL_INSPECT_WALK_ENDED, 3, "failed expired canceled"},
    {SQL_LOCK_CONVERSATIONS, 3, "u1 u2 u3 u4 u8 x"},
    {SQL_CONVERSATION_BY_KEY, 1, "u1_u2 u9_u10 x"},
    {SQL_INSPECT_DESTINATION, 1, "s1.example local x"},
    {SQL_DESTINATION_BY_NAME, 1, "s1.example * x"},
    {SQL_INSPECT_DESTINATIONS, 1, "s1.example * x"},
    {SQL_NODE_END_LEASES, 1, "node x"}, {SQL_META_GET, 1, "epoch purge_mark x"},
    {SQL_META_LOCK, 1, "epoch purge_mark x"},
    {SQL_META_MAKE, 1, "epoch purge_mark x"},
    {-1, 0, "u1 u3 u7 r10@s1.example neu poison epoch s1.example"}};

/* The words of parameter ${param} of ${stmt}. */
static const char *
words_of(int stmt, int param)
{
	size_t i;

	for (i = 0; vocabulary[i].stmt >= 0; i++)
		if (vocabulary[i].stmt == stmt && vocabulary[i].param == param)
			break;
	return (vocabulary[i].words);
}

/* One of ${words}, its '_' between capitals of a key made a space. */
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

/* Bytes that may be there: the uuids and hashes of twins.c. */
static struct db_val
draw_bytes(const char *kinds, size_t n, char room[40])
{

	(void)snprintf(room, 40, "%c%0*d", kinds[draw(strlen(kinds))],
	    (int)n - 1, 1 + (int)draw(strlen(kinds) == 1 ? 20 : 64));
	return (db_v_blob(room, n));
}

/* The parameter is a limit: SQLite's order without ORDER BY is its own, so that
 * all must come. */
static bool
is_limit(int stmt, int param, bool *ret_all)
{
	const char *sql = sql_sqlite[stmt].text;
	char text[24];

	(void)snprintf(text, sizeof(text), "LIMIT $%d", param);
	*ret_all = strstr(sql, "ORDER BY") == NULL ||
		   strncmp(sql_sqlite[stmt].name, "gauges_", 7) == 0;
	if (strstr(sql, "WITH RECURSIVE") != NULL)
		*ret_all = false; /* a walk in order */
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

/* Numbers that mean something only together, of rows that are there or are not
 * yet (one further for each row of a set); SMALLINT in PostgreSQL, with a check
 * in both.  A mark never goes back, and lanes are never both late and too
 * early.  From ${first} on, ${count} of them. */
static const struct {
	int stmt, param, first, count;
	bool by_row;
} ranges[] = {
    {SQL_NODE_HEARTBEAT, 1, 1, 8, false},
    {SQL_NODE_MARK_DEAD, 1, 1, 3, false},
    {SQL_NODE_MARK_DEAD, 3, 11, 3, false},
    {SQL_MESSAGE_INSERT, 1, 100, 1, true},
    {SQL_OUTBOX_INSERT, 1, 200, 1, true},
    {SQL_MESSAGE_INSERT, 5, 20, 1, true},
    {SQL_INBOX_INSERT, 2, 30, 1, true},
    {SQL_OUTBOX_INSERT, 8, 1, 10, false},
    {SQL_OUTBOX_INSERT, 9, 90, 1, true},
    {SQL_DEVICE_ACKED_SET, 2, 6, 3, false},
    {SQL_MESSAGE_INSERT, 12, 0, 2, false},
    {SQL_USER_INSERT, 4, 0, 2, false},
    {SQL_INBOX_INSERT, 4, 0, 2, false},
    {SQL_LANE_INSERT, 4, 0, 2, false},
    {SQL_LANE_FIND, 4, 0, 2, false},
    {SQL_OUTBOX_INSERT, 12, 0, 2, false},
    {SQL_LANES_READY, 2, 0, 2, false},
    {SQL_PARTICIPANT_INSERT, 1, 1, 10, false},
    {SQL_PARTICIPANT_GET, 1, 1, 10, false},
    {SQL_PARTICIPANT_SET, 1, 1, 10, false},
    {SQL_PARTICIPANT_INSERT, 2, 1, 9, false},
    {SQL_PARTICIPANT_GET, 2, 1, 9, false},
    {SQL_PARTICIPANT_SET, 2, 1, 9, false},
    {SQL_CONVERSATION_ONE, 1, 1, 9, false},
    {SQL_LOCK_CONVERSATIONS, 2, 1, 9, false},
    {SQL_LANE_FIND, 1, 1, 9, false},
    {SQL_INBOX_MESSAGE, 2, 1, 9, false},
    {SQL_MESSAGE_ENTRY, 2, 1, 9, false},
    {SQL_MESSAGE_VISIBLE, 2, 1, 9, false},
    {SQL_OUTBOX_SETTLE_READ, 1, 1, 9, false},
    {SQL_OUTBOX_SETTLE_READ, 4, 1, 9, false},
    {SQL_DEVICE_REVOKE, 1, 1, 9, false},
    {SQL_DEVICE_RENAME, 1, 1, 9, false},
    {SQL_MESSAGE_LAST_OF_OTHERS, 1, 1, 9, false},
    {SQL_MESSAGE_LAST_OF_OTHERS, 3, 1, 9, false},
    {SQL_LANE_FIND, 3, 1, 16, false},
    {SQL_MESSAGE_LAST_OF_OTHERS, 2, 3, 5, false},
    {SQL_MESSAGE_LAST_OF_OTHERS, 4, 0, 3, false},
    {SQL_COUNTER_INSERT, 1, 1, 12, false},
    {SQL_OUTBOX_SETTLE_READ, 2, 0, 2, false},
    {SQL_OUTBOX_SETTLE_READ, 3, 7, 1, false},
    {SQL_OUTBOX_RECEIPT_PENDING, 1, 7, 2, false},
    {SQL_OUTBOX_RECEIPT_PENDING, 2, 3, 1, false},
    {SQL_OUTBOX_RECEIPT_PENDING, 3, 1, 3, false},
    {SQL_PURGE_OUTBOX, 2, 3040, 80, false},
    {SQL_PURGE_DEAD, 1, 4, 9, false},
    {SQL_PURGE_DEAD, 2, 805, 9, false},
    {SQL_OUTBOX_RECEIPT_MOVE, 1, 61, 40, false},
    {SQL_LANES_READY, 1, 2, 2, false},
    {SQL_PURGE_PROCESSED, 2, 2, 2, false},
    {SQL_ATTEMPT_END, 1, 1, 15, false},
    {SQL_ATTEMPT_END, 2, 1, 2, false},
    {SQL_MESSAGE_RELEASE, 1, 54, 8, false},
    {SQL_MESSAGE_RELEASE, 2, 20, 9, false},
    {SQL_REMOTE_REPLAY, 1, 11, 8, false},
    {SQL_REMOTE_REPLAY, 2, 0, 3, false},
    {SQL_OUTBOX_EXPIRED_LOCAL, 1, 0, 3, false},
    {SQL_SCRUB_TOTALS, 1, 0, 3, false},
    {SQL_REMOTE_REPLAY, 3, 60, 20, false},
    {SQL_OUTBOX_EXPIRED_LOCAL, 2, 10, 10, false},
    {SQL_OUTBOX_EXPIRED_LOCAL, 3, 5000, 90, false},
    {SQL_PURGE_ATTEMPTS_OF, 1, 108, 2, false},
    {SQL_LANES_STALE, 1, 200, 6, false},
    {SQL_LANES_STALE, 2, 205, 3, false},
    {SQL_LANE_FENCE, 1, 13, 4, false},
    {SQL_NODE_FORGET, 1, 2, 1, false},
    {SQL_NODE_FORGET, 2, 15, 20, false},
    {SQL_LANE_FENCE, 2, 3, 4, false},
};

/* -1: any. */
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

/* The kinds of uuids that statement ${name} may be asked for. */
static const char *
uuids_of(const char *name)
{

	if (strncmp(name, "device", 6) == 0)
		return ("d");
	if (strstr(name, "conversation") != NULL)
		return ("c");
	if (strcmp(name, "inbox_message") == 0 ||
	    strncmp(name, "message_entr", 12) == 0 ||
	    strcmp(name, "message_visible") == 0)
		return ("m");
	if (strncmp(name, "purge_", 6) == 0)
		return ("p");
	return ("mecdp");
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
		return (draw_bytes("tg",
		    s->stmt == SQL_MESSAGE_INSERT && k < 15 ? 16 : 32, room));
	default:
		if (n < 0 && draw(15) == 0 && !is_limit(s->stmt, k + 1, &all))
			return (DB_V_NULL);
		return (db_v_i64(n >= 0 ? n : draw_number(s->stmt, k + 1)));
	}
}

void
draw_params(const struct shape *s, int nrows, struct db_val *v)
{
	static char rooms[DRAWS_ROWS * DRAWS_PARAMS][40];
	/* The parameters that say which conversations. */
	static const char *const keys[] = {"1", "23", "4", "25"};
	bool set = shape_is_set(s);
	int i, k, one;

	for (i = 0; i < nrows; i++)
		for (k = 0; k < s->nparams; k++)
			v[i * s->nparams + k] =
			    draw_value(s, k, i, rooms[i * s->nparams + k]);
	for (i = 0; i < nrows && s->stmt == SQL_LOCK_CONVERSATIONS; i++)
		for (k = 0, one = (int)draw(4); k < 5; k++)
			if (strchr(keys[one], '1' + k) == NULL)
				v[i * 5 + k] = DB_V_NULL;
	for (i = 1; i < nrows && set; i++)
		for (k = 0; k < i; k++)
			if (v[i * s->nparams].type == DB_I64 &&
			    v[k * s->nparams].type == DB_I64 &&
			    v[i * s->nparams].u.i64 == v[k * s->nparams].u.i64)
				v[i * s->nparams].u.i64 += 100 + i;
}
