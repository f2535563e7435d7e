/* SPDX-License-Identifier: MIT */
/*
 * The oracle: compares the database with what people, peers and the operator
 * know.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "schema/sql.h"
#include "sim/charges.h"
#include "sim/client.h"
#include "sim/fed.h"
#include "sim/peer.h"
#include "sim/server.h"
#include "upkeep/fsck.h"

/* ---- settled ---- */

/* A row that is not settled yet, as text. */
static const char unsettled[] =
    "SELECT 'outbox row ' || o.id || ' is ' || o.state || ', retries ' ||"
    " o.retry_count || ', rescues ' || o.rescue_count FROM outbox o"
    " WHERE o.state = 'pending' OR o.state = 'sending'"
    " OR o.ack_deadline IS NOT NULL"
    " OR (o.state = 'sent' AND o.kind = 1 AND o.dest_kind = 'user') LIMIT 1";

/* The same, without scheduled messages. */
static const char late[] =
    "SELECT 'outbox row ' || o.id || ' is ' || o.state || ', retries ' ||"
    " o.retry_count || ', rescues ' || o.rescue_count FROM outbox o"
    " WHERE (o.state = 'pending' OR o.state = 'sending'"
    " OR o.ack_deadline IS NOT NULL) AND o.deliver_at IS NULL LIMIT 1";

static int64_t
ask_text(struct sim *s, const char *sql, char *ret, size_t size)
{
	sqlite3_stmt *st = server_ask(s, sql);
	int64_t n = 0;

	ret[0] = '\0';
	if (st != NULL && sqlite3_step(st) == SQLITE_ROW) {
		(void)snprintf(
		    ret, size, "%s", (const char *)sqlite3_column_text(st, 0));
		n = 1;
	}
	server_asked(st);
	return (n);
}

bool
sim_settled(struct sim *s)
{
	char text[200];

	if (!s->server->up || s->server->turning || clients_busy(s) > 0)
		return (false);
	return (ask_text(s, unsettled, text, sizeof(text)) == 0);
}

bool
sim_late(struct sim *s, char *ret, size_t size)
{

	return (s->server->up && ask_text(s, late, ret, size) != 0);
}

void
sim_unsettled(struct sim *s, char *ret, size_t size)
{

	if (!s->server->up)
		(void)snprintf(ret, size, "the server is down");
	else if (ask_text(s, unsettled, ret, size) == 0)
		(void)snprintf(
		    ret, size, "%zu requests are open", clients_busy(s));
}

/* ---- fsck ---- */

static void
found(void *arg, const char *what, const char *place)
{

	sim_bad(arg, "fsck: %s: %s", what, place);
}

static void
judge_file(struct sim *s)
{
	struct db_options o = {0};
	struct fsck_report report;
	struct err err = ERR_INIT;
	struct db *db;
	char url[64];

	(void)snprintf(
	    url, sizeof(url), "sqlite:%s", plvfs_path(server_disk(s)));
	o.url = url;
	o.mode = DB_READER;
	o.schema = &sql_sqlite_schema;
	if (db_open(&o, &db, &err) != RC_OK) {
		sim_bad(s, "fsck: %s", err.text);
		return;
	}
	if (fsck_run(db, found, s, &report, &err) != RC_OK)
		sim_bad(s, "fsck: %s", err.text);
	db_close(db);
}

/* ---- what people know ---- */

struct row {
	int64_t mid, sender, conversation, seq, created_at;
	char body[64];
};

static bool
find(struct sim *s, const struct message *m, struct row *ret)
{
	sqlite3_stmt *st;
	bool there;

	st = server_ask(s,
	    "SELECT mid, sender_id, conversation_id, "
	    "coalesce(conversation_seq, 0), created_at, body FROM messages "
	    "WHERE message_id = ?1");
	(void)sqlite3_bind_blob(st, 1, m->id.b, 16, SQLITE_STATIC);
	there = sqlite3_step(st) == SQLITE_ROW;
	if (there) {
		ret->mid = sqlite3_column_int64(st, 0);
		ret->sender = sqlite3_column_int64(st, 1);
		ret->conversation = sqlite3_column_int64(st, 2);
		ret->seq = sqlite3_column_int64(st, 3);
		ret->created_at = sqlite3_column_int64(st, 4);
		(void)snprintf(ret->body, sizeof(ret->body), "%s",
		    (const char *)sqlite3_column_text(st, 5));
	}
	server_asked(st);
	return (there);
}

/* Checks promise 1, and that messages are in the order in which they were
 * accepted. */
static void
judge_sends(struct sim *s)
{
	static struct row rows[SIM_MESSAGES];
	static bool there[SIM_MESSAGES];
	const struct message *a, *b;
	size_t i, k;

	for (i = 0; i < s->nmessages; i++) {
		a = &s->messages[i];
		there[i] = find(s, a, &rows[i]);
		if (!there[i] && a->promised_us != 0) {
			sim_bad(s, "accepted message #%zu is lost", i);
			return;
		}
		if (!there[i])
			continue;
		if (rows[i].sender != s->clients[a->client].user_id ||
		    strcmp(rows[i].body, a->body) != 0 ||
		    (a->mid != 0 && a->mid != rows[i].mid))
			sim_bad(s, "message #%zu has changed", i);
	}
	for (i = 0; i < s->nmessages; i++)
		for (k = 0; k < s->nmessages; k++) {
			a = &s->messages[i];
			b = &s->messages[k];
			if (there[i] && there[k] && a->promised_us != 0 &&
			    a->promised_us < b->asked_us &&
			    a->client == b->client && a->deliver_at == 0 &&
			    b->deliver_at == 0 &&
			    rows[i].conversation == rows[k].conversation &&
			    rows[i].seq >= rows[k].seq)
				sim_bad(s,
				    "message #%zu was accepted before #%zu was "
				    "sent, and comes after it",
				    i, k);
		}
}

/* Checks that events have not changed since they were shown, and that acks are
 * kept. */
static void
judge_shown(struct sim *s, size_t client)
{
	const struct client *c = &s->clients[client];
	const struct seen *e;
	sqlite3_stmt *st;
	int64_t seq;
	size_t k;

	st = server_ask(s,
	    "SELECT seq, event_id, kind, mid FROM inbox WHERE user_id = ?1 "
	    "ORDER BY seq");
	(void)sqlite3_bind_int64(st, 1, c->user_id);
	for (seq = 1; seq <= c->nseen; seq++) {
		e = &c->seen[seq - 1];
		if (sqlite3_step(st) != SQLITE_ROW ||
		    sqlite3_column_int64(st, 0) != seq ||
		    sqlite3_column_bytes(st, 1) != 16 ||
		    memcmp(sqlite3_column_blob(st, 1), e->event_id.b, 16) !=
			0 ||
		    sqlite3_column_int(st, 2) != e->kind ||
		    sqlite3_column_int64(st, 3) != e->mid) {
			sim_bad(s,
			    "event %lld of user %lld was shown and is "
			    "another",
			    (long long)seq, (long long)c->user_id);
			break;
		}
	}
	server_asked(st);
	st =
	    server_ask(s, "SELECT acked_seq FROM devices WHERE device_id = ?1");
	for (k = 0; k < CLIENT_DEVICES; k++) {
		(void)sqlite3_bind_int64(st, 1, c->devices[k]);
		if (sqlite3_step(st) != SQLITE_ROW ||
		    sqlite3_column_int64(st, 0) < c->acked[k])
			sim_bad(s, "an ack of %lld by user %lld is forgotten",
			    (long long)c->acked[k], (long long)c->user_id);
		(void)sqlite3_reset(st);
	}
	server_asked(st);
}

/* ---- the end of each message ---- */

struct end {
	int64_t outbox_id, retry_count, rescue_count, requeues, expires_at;
	char state[16], reason[33];
	struct uuid event_id;
	int inbox;        /* rows in its recipient's inbox here */
	int bounces;      /* bounces in its sender's inbox */
	int deaths;       /* rows in dead_letter_queue */
	int64_t spent;    /* retries charged in all its lives */
	int64_t shown_at; /* its release, in its sender's inbox; 0: not yet */
};

static const char ends[] =
    "SELECT o.id, o.state, coalesce(o.reason, ''), o.retry_count,"
    " o.rescue_count, o.requeues, coalesce(o.expires_at, 0), o.event_id,"
    " (SELECT count(*) FROM inbox i WHERE i.mid = o.mid AND i.kind = 1"
    "  AND i.user_id = o.dest_id),"
    " (SELECT count(*) FROM inbox i WHERE i.mid = o.mid AND i.kind = 5"
    "  AND i.user_id = o.sender_id),"
    " (SELECT count(*) FROM dead_letter_queue d WHERE d.outbox_id = o.id),"
    " o.retry_count + (SELECT coalesce(sum(d.retry_count), 0)"
    "  FROM dead_letter_queue d WHERE d.outbox_id = o.id"
    "  AND d.resolution = 'requeued'),"
    " (SELECT coalesce(min(i.delivered_at), 0) FROM inbox i"
    "  WHERE i.mid = o.mid AND i.kind = 1 AND i.own = 1)"
    " FROM outbox o JOIN messages m ON m.mid = o.mid"
    " WHERE o.kind = 1 AND m.message_id = ?1";

static bool
find_end(struct sim *s, const struct message *m, struct end *ret)
{
	sqlite3_stmt *st = server_ask(s, ends);
	bool there;

	(void)sqlite3_bind_blob(st, 1, m->id.b, 16, SQLITE_STATIC);
	there = sqlite3_step(st) == SQLITE_ROW;
	if (there) {
		ret->outbox_id = sqlite3_column_int64(st, 0);
		(void)snprintf(ret->state, sizeof(ret->state), "%s",
		    (const char *)sqlite3_column_text(st, 1));
		(void)snprintf(ret->reason, sizeof(ret->reason), "%s",
		    (const char *)sqlite3_column_text(st, 2));
		ret->retry_count = sqlite3_column_int64(st, 3);
		ret->rescue_count = sqlite3_column_int64(st, 4);
		ret->requeues = sqlite3_column_int64(st, 5);
		ret->expires_at = sqlite3_column_int64(st, 6);
		memcpy(ret->event_id.b, sqlite3_column_blob(st, 7), 16);
		ret->inbox = sqlite3_column_int(st, 8);
		ret->bounces = sqlite3_column_int(st, 9);
		ret->deaths = sqlite3_column_int(st, 10);
		ret->spent = sqlite3_column_int64(st, 11);
		ret->shown_at = sqlite3_column_int64(st, 12);
	}
	server_asked(st);
	return (there);
}

/* Returns true if ${state} is one of ${states}, which are separated by
 * spaces. */
static bool
is_one_of(const char *state, const char *states)
{
	const char *p = strstr(states, state);

	return (p != NULL && (p == states || p[-1] == ' '));
}

static void
judge_end_here(struct sim *s, size_t i, const struct end *e)
{
	const struct message *m = &s->messages[i];

	if (!is_one_of(e->state, "acked canceled failed expired"))
		sim_bad(s, "message #%zu ends as %s", i, e->state);
	if (strcmp(e->state, "acked") == 0 && e->inbox != 1)
		sim_bad(s, "message #%zu is acked and %d times in the inbox", i,
		    e->inbox);
	if (m->canceled && strcmp(e->state, "canceled") != 0)
		sim_bad(s, "message #%zu was canceled and is %s", i, e->state);
}

static void
judge_end_there(struct sim *s, size_t i, const struct end *e)
{
	const struct message *m = &s->messages[i];
	size_t n = fed_is_real(s, m->peer) ? fed_has(s, m)
					   : peer_has(s, m->peer, &e->event_id);

	if (!is_one_of(e->state, "sent acked canceled failed expired"))
		sim_bad(s, "message #%zu ends as %s", i, e->state);
	if (n > 1)
		sim_bad(s, "peer %d has message #%zu %zu times", m->peer, i, n);
	if (is_one_of(e->state, "sent acked") && n != 1)
		sim_bad(s, "message #%zu is %s, its peer has it %zu times", i,
		    e->state, n);
	if (m->canceled && strcmp(e->state, "canceled") != 0)
		sim_bad(s, "message #%zu was canceled and is %s", i, e->state);
}

/* Checks that the retries of a message, and its death, agree with the answers
 * of its peer: an outage charges the destination, not the message. */
static void
judge_budget(struct sim *s, size_t i, const struct end *e)
{
	const struct message *m = &s->messages[i];
	const struct refused *r = peer_refused(s, m->peer, &e->event_id);
	int64_t times = r != NULL ? (int64_t)r->times : 0;

	if (e->spent > times)
		sim_bad(s,
		    "message #%zu is charged %lld retries, its peer refused it "
		    "%lld times",
		    i, (long long)e->spent, (long long)times);
	if (strcmp(e->reason, "rejected") == 0 && (r == NULL || !r->rejected))
		sim_bad(
		    s, "message #%zu failed as rejected, which nobody did", i);
	if (strcmp(e->reason, "poison") == 0 && e->rescue_count < 5)
		sim_bad(s, "message #%zu failed as poison after %lld rescues",
		    i, (long long)e->rescue_count);
}

/* Checks that a real server has rejected only messages to unknown addresses. */
static void
judge_rejected(struct sim *s, size_t i, const struct end *e)
{
	const struct message *m = &s->messages[i];

	if (strcmp(e->reason, "rejected") == 0 && !fed_is_nobody(m->to))
		sim_bad(s, "message #%zu to %s was rejected", i, m->to);
}

/* Checks promise 4: a failed message has a reason and a dead letter, and its
 * sender gets a bounce. */
static void
judge_death(struct sim *s, size_t i, const struct end *e)
{
	bool dead = is_one_of(e->state, "failed expired");

	if (dead && e->reason[0] == '\0')
		sim_bad(s, "message #%zu is %s without a reason", i, e->state);
	if (strcmp(e->state, "expired") == 0 && e->expires_at > s->latest_ms)
		sim_bad(s, "message #%zu expired before its time", i);
	if (dead && e->deaths == 0)
		sim_bad(
		    s, "message #%zu is %s and no dead letter", i, e->state);
	if (e->bounces != e->deaths)
		sim_bad(s,
		    "message #%zu died %d times, its sender has %d "
		    "bounces",
		    i, e->deaths, e->bounces);
}

static void
count_end(struct sim *s, const struct end *e)
{
	struct sim_counts *c = &s->counts;

	c->sent += strcmp(e->state, "sent") == 0;
	c->acked += strcmp(e->state, "acked") == 0;
	c->failed += strcmp(e->state, "failed") == 0;
	c->expired += strcmp(e->state, "expired") == 0;
	c->poisoned += strcmp(e->reason, "poison") == 0;
	c->canceled += strcmp(e->state, "canceled") == 0;
	c->bounces += (uint64_t)e->bounces;
	c->retries += (uint64_t)e->retry_count;
}

static void
count_totals(struct sim *s)
{
	sqlite3_stmt *st = server_ask(
	    s, "SELECT rescues_total, fenced_total FROM outbox_totals");

	if (sqlite3_step(st) == SQLITE_ROW) {
		s->counts.rescues += (uint64_t)sqlite3_column_int64(st, 0);
		s->counts.fenced += (uint64_t)sqlite3_column_int64(st, 1);
	}
	server_asked(st);
}

static void
judge_ends(struct sim *s)
{
	struct end e;
	size_t i;

	count_totals(s);

	for (i = 0; i < s->nmessages && s->w->bad[0] == '\0'; i++) {
		if (!find_end(s, &s->messages[i], &e))
			continue;
		count_end(s, &e);
		if (e.shown_at != 0 && e.shown_at < s->messages[i].deliver_at)
			sim_bad(s, "message #%zu was shown before its time", i);
		if (s->messages[i].peer < 0)
			judge_end_here(s, i, &e);
		else
			judge_end_there(s, i, &e);
		if (s->messages[i].peer >= 0 &&
		    !fed_is_real(s, s->messages[i].peer))
			judge_budget(s, i, &e);
		else if (s->messages[i].peer >= 0)
			judge_rejected(s, i, &e);
		judge_death(s, i, &e);
	}
}

/* Checks that a message which a peer has confirmed is sent, and that its
 * recipient is known to have it. */
static void
judge_confirmed(struct sim *s)
{
	sqlite3_stmt *st;
	size_t i;

	st = server_ask(s,
	    "SELECT 1 FROM outbox o JOIN participants p ON p.conversation_id = "
	    "o.conversation_id AND p.user_id = o.dest_id WHERE o.id = ?1 AND "
	    "o.ack_deadline IS NULL AND (o.state = 'sent' OR o.state = "
	    "'acked') AND (o.kind <> 1 OR p.delivered_upto >= "
	    "o.conversation_seq)");
	for (i = 0; i < s->nconfirmed; i++) {
		(void)sqlite3_bind_int64(st, 1, s->confirmed[i]);
		if (sqlite3_step(st) != SQLITE_ROW)
			sim_bad(s, "outbox row %lld was confirmed to no effect",
			    (long long)s->confirmed[i]);
		(void)sqlite3_reset(st);
	}
	server_asked(st);
}

/* ---- order at the peers ---- */

/* Checks promise 3 at a peer: of the messages that arrived for good and were
 * never requeued, those of one sender in one conversation come in order. */
static void
judge_order(struct sim *s, int peer)
{
	const struct peer *p = &s->peers[peer];
	const struct taken *a, *b;
	sqlite3_stmt *st;
	size_t i, k;
	bool bad;

	st = server_ask(s,
	    "SELECT 1 FROM outbox a JOIN outbox b ON a.lane_id = b.lane_id "
	    "WHERE a.id = ?1 AND b.id = ?2 AND a.requeues = 0 AND "
	    "b.requeues = 0 AND (CASE a.kind WHEN 1 THEN a.conversation_seq > "
	    "b.conversation_seq ELSE a.lane_seq > b.lane_seq END) AND "
	    "(a.state = 'sent' OR a.state = 'acked') AND "
	    "(b.state = 'sent' OR b.state = 'acked')");
	for (i = 0; i < p->ninbox; i++)
		for (k = i + 1; k < p->ninbox; k++) {
			a = &p->inbox[i];
			b = &p->inbox[k];
			if (a->sender_id != b->sender_id)
				continue;
			(void)sqlite3_bind_int64(st, 1, a->outbox_id);
			(void)sqlite3_bind_int64(st, 2, b->outbox_id);
			bad = sqlite3_step(st) == SQLITE_ROW;
			(void)sqlite3_reset(st);
			if (bad)
				sim_bad(s,
				    "peer %d took outbox row %lld before %lld "
				    "of its lane",
				    peer, (long long)a->outbox_id,
				    (long long)b->outbox_id);
		}
	server_asked(st);
}

void
sim_judge_kept(struct sim *s)
{
	uint64_t doom_at = s->server->doom_at;
	size_t i;

	/* The judge's reads are not the server's: they must not trigger the
	 * server's death at a call of the disk. */
	s->server->doom_at = 0;
	mem_fail_at(0);
	judge_file(s);
	judge_sends(s);
	for (i = 0; i < SIM_CLIENTS && s->w->bad[0] == '\0'; i++)
		judge_shown(s, i);
	marks_judge(s);
	if (s->w->fed != NULL)
		fed_judge_kept(s);
	s->server->doom_at = doom_at;
}

void
sim_judge(struct sim *s)
{
	size_t i;
	int k;

	assert(s->server->up);
	sim_note_time(s);
	for (i = 0; i < SIM_CLIENTS; i++)
		client_looks(s, i);
	sim_judge_kept(s);
	marks_judge_told(s);
	charges_judge(s);
	judge_ends(s);
	judge_confirmed(s);
	for (k = 0; k <= SIM_HOSTILE; k++)
		judge_order(s, k);
}
