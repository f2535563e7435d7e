/* SPDX-License-Identifier: MIT */
/*
 * The oracle of several servers: compares what one server has with what another
 * has sent, acked and read.  See fed.h.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "sim/client.h"
#include "sim/fed_internal.h"
#include "sim/server.h"

/* In the calm people look at least once an hour.  A message that is not acked
 * within a day never will be. */
#define ACKED_MS SIM_DAY_MS

static void
bind_text(sqlite3_stmt *st, int i, const char *text)
{

	(void)sqlite3_bind_text(st, i, text, -1, SQLITE_TRANSIENT);
}

static void
bind_uuid(sqlite3_stmt *st, int i, const struct uuid *id)
{

	(void)sqlite3_bind_blob(st, i, id->b, sizeof(id->b), SQLITE_TRANSIENT);
}

static void
take_text(sqlite3_stmt *st, int i, char *ret, size_t size)
{

	(void)snprintf(
	    ret, size, "%s", (const char *)sqlite3_column_text(st, i));
}

/* Returns false if the column is NULL. */
static bool
take_uuid(sqlite3_stmt *st, int i, struct uuid *ret)
{

	if (sqlite3_column_bytes(st, i) != (int)sizeof(ret->b))
		return (false);
	memcpy(ret->b, sqlite3_column_blob(st, i), sizeof(ret->b));
	return (true);
}

/* ---- people ---- */

/* A person, with the address that other servers use. */
struct person {
	char address[LIMIT_ADDRESS_LEN + 1];
	char name[LIMIT_NAME_LEN + 1];
	struct sim *s; /* NULL: of the hostile peer */
};

/* Returns the person whom ${s} calls ${address}, a name or an address. */
static struct person
person_of(const struct sim *s, const char *address)
{
	const char *at = strchr(address, '@');
	struct person p;

	memset(&p, 0, sizeof(p));
	if (at == NULL) {
		(void)snprintf(
		    p.address, sizeof(p.address), "%s@%s", address, s->domain);
		(void)snprintf(p.name, sizeof(p.name), "%s", address);
	} else {
		(void)snprintf(p.address, sizeof(p.address), "%s", address);
		(void)snprintf(p.name, sizeof(p.name), "%.*s",
		    (int)(at - address), address);
	}
	p.s = fed_named(s->w, strchr(p.address, '@') + 1);
	return (p);
}

/* ---- settled ---- */

static bool
owes_acks(struct sim *s)
{
	sqlite3_stmt *st = server_ask(s,
	    "SELECT 1 FROM outbox o JOIN users u ON u.user_id = o.dest_id JOIN "
	    "destinations d ON d.destination_id = u.destination_id WHERE "
	    "o.kind = 1 AND o.dest_kind = 'server' AND o.state = 'sent' AND "
	    "o.requeues = 0 AND d.name <> '" FED_HOSTILE_DOMAIN "' LIMIT 1");
	bool owes = sqlite3_step(st) == SQLITE_ROW;

	server_asked(st);
	return (owes);
}

bool
fed_settled(struct world *w)
{
	size_t i;

	if (!fed_restore_settled(w))
		return (false);
	if (sim_now(&w->sims[0]) - w->fed->calm_at >= ACKED_MS)
		return (true);
	for (i = 0; i < w->nsims; i++)
		if (owes_acks(&w->sims[i]))
			return (false);
	return (true);
}

/* ---- messages ---- */

/* The whole content of a message. */
#define CONTENT                                                                \
	"m.body || '|' || m.priority || '|' || coalesce(m.content_type, '') "  \
	"|| '|' || coalesce(m.metadata, '') || '|' || "                        \
	"coalesce(m.correlation_id, '') || '|' || coalesce(hex(m.reply_to), "  \
	"'')"
#define CONTENT_SIZE 256

size_t
fed_has(struct sim *s, const struct message *m)
{
	struct person to = person_of(s, m->to);
	struct person from = person_of(s, client_names[m->client]);
	sqlite3_stmt *st;
	size_t n = 0;

	st = server_ask(to.s,
	    "SELECT count(*) FROM messages m JOIN inbox i ON i.mid = m.mid AND "
	    "i.kind = 1 AND i.own = 0 JOIN users u ON u.user_id = i.user_id "
	    "JOIN users f ON f.user_id = m.sender_id WHERE m.message_id = ?1 "
	    "AND u.name = ?2 AND f.name = ?3 AND m.body = ?4");
	bind_uuid(st, 1, &m->id);
	bind_text(st, 2, to.name);
	bind_text(st, 3, from.address);
	bind_text(st, 4, m->body);
	if (sqlite3_step(st) == SQLITE_ROW)
		n = (size_t)sqlite3_column_int64(st, 0);
	server_asked(st);
	return (n);
}

/* A message in an inbox that came from another server. */
struct received {
	struct uuid message_id, event_id;
	struct person from, to;
	char content[CONTENT_SIZE];
	int64_t delivered_at;
	bool in_order; /* its sender's row is sent and was never requeued */
	int64_t lane_id, lane_seq;
};

static const char sent_sql[] =
    "SELECT o.lane_seq, o.state IN ('sent', 'acked') AND o.requeues = 0, "
    "o.event_id, " CONTENT
    ", o.lane_id FROM messages m JOIN outbox o ON o.mid = m.mid AND o.kind = 1 "
    "AND o.dest_kind = 'server' JOIN users f ON f.user_id = m.sender_id JOIN "
    "users d ON d.user_id = o.dest_id WHERE m.message_id = ?1 AND f.name = ?2 "
    "AND d.name = ?3";

/* Reads with ${st}, a statement of sent_sql, the sender's row of ${r} into
 * ${r}.  Returns false if the sender's server has not sent such a message. */
static bool
read_sent(sqlite3_stmt *st, struct received *r)
{
	struct uuid event_id;
	char content[CONTENT_SIZE];
	bool there;

	bind_uuid(st, 1, &r->message_id);
	bind_text(st, 2, r->from.name);
	bind_text(st, 3, r->to.address);
	there = sqlite3_step(st) == SQLITE_ROW;
	if (there) {
		take_text(st, 3, content, sizeof(content));
		there = take_uuid(st, 2, &event_id) &&
			uuid_equal(&event_id, &r->event_id) &&
			strcmp(content, r->content) == 0;
	}
	if (there) {
		r->lane_seq = sqlite3_column_int64(st, 0);
		r->in_order = sqlite3_column_int(st, 1) != 0;
		r->lane_id = sqlite3_column_int64(st, 4);
	}
	return (there);
}

/* Finds the sender's row of ${r} on the sender's server.  If that server was
 * restored and ${r} came to ${s} before that, the row is in the server's
 * replaced database; then *${ret_past} is true. */
static bool
find_sent(struct sim *s, struct received *r, bool *ret_past)
{
	const struct restore *back = fed_restored(s->w);
	sqlite3_stmt *st = past_ask(r->from.s, sent_sql);
	struct received then = *r;
	bool was, is;

	was = st != NULL && read_sent(st, &then);
	past_asked(st);
	st = server_ask(r->from.s, sent_sql);
	is = read_sent(st, r);
	server_asked(st);
	*ret_past =
	    was && (!is || r->delivered_at < back->back_wall[s->number]);
	if (*ret_past)
		*r = then;
	return (is || was);
}

static void
take_received(struct sim *s, sqlite3_stmt *st, struct received *ret)
{

	memset(ret, 0, sizeof(*ret));
	(void)take_uuid(st, 0, &ret->message_id);
	(void)take_uuid(st, 1, &ret->event_id);
	take_text(st, 2, ret->content, sizeof(ret->content));
	ret->from = person_of(s, (const char *)sqlite3_column_text(st, 3));
	ret->to = person_of(s, (const char *)sqlite3_column_text(st, 4));
	ret->delivered_at = sqlite3_column_int64(st, 5);
}

/* Returns true if ${r}, which ${s} lost and was offered again, may come behind
 * newer messages: because operators did not pause ${s} in time, or because a
 * clock has jumped and an old request was replayed. */
static bool
may_be_late(struct sim *s, const struct received *r)
{
	const struct restore *back = fed_restored(s->w);

	if (back == NULL || back->victim != s ||
	    !past_has_message(s, &r->message_id))
		return (false);
	return (!back->told || s->counts.jumps > 0);
}

/* Checks that ${r} may follow ${before} in the inbox of the same person. */
static void
judge_pair(
    struct sim *s, const struct received *before, const struct received *r)
{

	if (strcmp(before->from.address, r->from.address) != 0 ||
	    strcmp(before->to.address, r->to.address) != 0)
		return;
	if (r->lane_seq <= before->lane_seq && may_be_late(s, r))
		s->counts.excused++;
	else if (r->lane_seq <= before->lane_seq)
		sim_bad(s, "%s has number %lld of what %s sent after %lld",
		    r->to.address, (long long)r->lane_seq, r->from.address,
		    (long long)before->lane_seq);
}

/* Checks that each message from another server was sent there by the person who
 * is named as its sender, and that messages have come in order. */
static void
judge_received(struct sim *s)
{
	sqlite3_stmt *st = server_ask(s,
	    "SELECT m.message_id, m.event_id, " CONTENT
	    ", f.name, u.name, i.delivered_at FROM "
	    "inbox i JOIN messages m ON m.mid = i.mid JOIN users f ON "
	    "f.user_id = m.sender_id JOIN users u ON u.user_id = i.user_id "
	    "WHERE i.kind = 1 AND i.own = 0 AND f.destination_id IS NOT NULL "
	    "ORDER BY i.user_id, m.sender_id, i.seq");
	struct received before[2], r;
	bool past;

	memset(before, 0, sizeof(before));
	while (sqlite3_step(st) == SQLITE_ROW && s->w->bad[0] == '\0') {
		take_received(s, st, &r);
		if (r.from.s == NULL)
			continue;
		if (!find_sent(s, &r, &past))
			sim_bad(s, "%s has a message that %s has not sent",
			    r.to.address, r.from.address);
		if (!r.in_order)
			continue;
		judge_pair(s, &before[past], &r);
		before[past] = r;
	}
	server_asked(st);
}

/* ---- marks ---- */

/* How far a person has a conversation, according to that person's server, whose
 * numbers these are. */
struct progress {
	int64_t seq; /* of the message in question */
	int64_t acked_upto, shown_upto;
};

/* Reads with ${st} the progress of the person ${name} with respect to message
 * ${id}. */
static int
read_progress(sqlite3_stmt *st, const char *name, const struct uuid *id,
    struct progress *ret)
{
	int code;

	bind_uuid(st, 1, id);
	bind_text(st, 2, name);
	code = sqlite3_step(st);
	if (code == SQLITE_ROW) {
		ret->seq = sqlite3_column_int64(st, 0);
		ret->acked_upto = sqlite3_column_int64(st, 1);
		ret->shown_upto = sqlite3_column_int64(st, 2);
	}
	return (code);
}

static const char progress_sql[] =
    "SELECT m.conversation_seq, p.acked_upto, p.shown_upto FROM messages m "
    "JOIN participants p ON p.conversation_id = m.conversation_id JOIN users u "
    "ON u.user_id = p.user_id WHERE m.message_id = ?1 AND u.name = ?2";

/* Reads from ${s} how far the person with the local name ${name} has the
 * conversation of message ${id}.  Returns SQLITE_ROW; SQLITE_DONE if that
 * person does not have the message; another code if the database is out of
 * reach. */
static int
find_progress(struct sim *s, const char *name, const struct uuid *id,
    struct progress *ret)
{
	sqlite3_stmt *st = s != NULL ? server_ask(s, progress_sql) : NULL;
	int code;

	if (st == NULL)
		return (SQLITE_CANTOPEN);
	code = read_progress(st, name, id, ret);
	server_asked(st);
	return (code);
}

/* Returns true if ${p} includes the message in question. */
static bool
has_it(const struct progress *p, bool acked)
{

	return ((acked ? p->acked_upto : p->shown_upto) >= p->seq);
}

/* Returns true if ${who} had acked (or else read) message ${id} before the
 * server of ${who} was restored. */
static bool
had_it(const struct person *who, const struct uuid *id, bool acked)
{
	sqlite3_stmt *st = past_ask(who->s, progress_sql);
	struct progress p = {0};
	bool had;

	if (st == NULL)
		return (false);
	had = read_progress(st, who->name, id, &p) == SQLITE_ROW &&
	      has_it(&p, acked);
	past_asked(st);
	return (had);
}

/* Checks a mark: ${s} says that ${who} has acked (or else read) up to message
 * ${id}. */
static void
judge_mark(
    struct sim *s, const struct person *who, const struct uuid *id, bool acked)
{
	struct progress p = {0};
	const int code = find_progress(who->s, who->name, id, &p);

	/* The database is out of reach, so this proves nothing. */
	if (code != SQLITE_ROW && code != SQLITE_DONE)
		return;
	if (code == SQLITE_ROW && has_it(&p, acked))
		return;
	if (had_it(who, id, acked))
		s->counts.excused++;
	else
		sim_bad(s, "%s is said on %s to have %s what it has not",
		    who->address, s->domain, acked ? "acked" : "read");
}

void
fed_judge_receipt(struct sim *s, const struct envelope *e)
{
	const struct person who = person_of(s, e->from.p);
	uint64_t doom_at;

	if (who.s == NULL) {
		sim_bad(s, "a receipt of %s counts", who.address);
		return;
	}
	if (!who.s->server->up || who.s->server->doomed)
		return;
	/* The judge's reads are not the server's: they must not trigger the
	 * server's death at a call of the disk. */
	doom_at = who.s->server->doom_at;
	who.s->server->doom_at = 0;
	judge_mark(s, &who, &e->upto, e->kind == EVENT_DELIVERED);
	who.s->server->doom_at = doom_at;
}

/* Checks that no server says of a person elsewhere more than that person has
 * acked or read. */
static void
judge_marks(struct sim *s)
{
	sqlite3_stmt *st = server_ask(s,
	    "SELECT u.name, (SELECT m.message_id FROM messages m WHERE "
	    "m.conversation_id = p.conversation_id AND m.conversation_seq = "
	    "p.acked_upto), (SELECT m.message_id FROM messages m WHERE "
	    "m.conversation_id = p.conversation_id AND m.conversation_seq = "
	    "p.shown_upto) FROM participants p JOIN users u ON u.user_id = "
	    "p.user_id WHERE u.destination_id IS NOT NULL AND (p.acked_upto > "
	    "0 OR p.shown_upto > 0)");
	struct person who;
	struct uuid id;

	while (sqlite3_step(st) == SQLITE_ROW && s->w->bad[0] == '\0') {
		who = person_of(s, (const char *)sqlite3_column_text(st, 0));
		if (who.s == NULL) {
			sim_bad(s, "a receipt of %s counts", who.address);
			break;
		}
		if (take_uuid(st, 1, &id)) {
			s->counts.far_acked++;
			judge_mark(s, &who, &id, true);
		}
		if (take_uuid(st, 2, &id)) {
			s->counts.far_read++;
			judge_mark(s, &who, &id, false);
		}
	}
	server_asked(st);
}

/* Returns true if a receipt of ${from}, a user of ${s}, to ${to} was given
 * up. */
static bool
receipt_died(const struct person *from, const struct person *to)
{
	sqlite3_stmt *st = server_ask(from->s,
	    "SELECT 1 FROM outbox o JOIN users f ON f.user_id = o.sender_id "
	    "JOIN users d ON d.user_id = o.dest_id WHERE o.kind <> 1 AND "
	    "o.state IN ('failed', 'expired') AND f.name = ?1 AND d.name = "
	    "?2");
	bool died;

	bind_text(st, 1, from->name);
	bind_text(st, 2, to->address);
	died = sqlite3_step(st) == SQLITE_ROW;
	server_asked(st);
	return (died);
}

/* Returns true if ${a} or ${b} was restored.  Its old messages are offered
 * again at new places, or behind others, and earlier receipts do not cover
 * those places.  So such a message may stay `sent` until the next receipt of
 * its conversation. */
static bool
is_restored(const struct sim *a, const struct sim *b)
{
	const struct restore *back = fed_restored(a->w);

	return (back != NULL && back->stage == RESTORE_BACK &&
		(back->victim == a || back->victim == b));
}

/* Checks that what was acked elsewhere is acked here. */
static void
judge_acked(struct sim *s)
{
	sqlite3_stmt *st = server_ask(s,
	    "SELECT m.message_id, d.name, f.name FROM outbox o JOIN messages m "
	    "ON m.mid = o.mid JOIN users f ON f.user_id = o.sender_id JOIN "
	    "users d ON d.user_id = o.dest_id WHERE o.kind = 1 AND o.dest_kind "
	    "= 'server' AND o.state = 'sent'");
	struct person from, to;
	struct progress p;
	struct uuid id;

	while (sqlite3_step(st) == SQLITE_ROW && s->w->bad[0] == '\0') {
		(void)take_uuid(st, 0, &id);
		to = person_of(s, (const char *)sqlite3_column_text(st, 1));
		from = person_of(s, (const char *)sqlite3_column_text(st, 2));
		if (find_progress(to.s, to.name, &id, &p) == SQLITE_ROW &&
		    p.acked_upto >= p.seq && !receipt_died(&to, &from) &&
		    !is_restored(from.s, to.s))
			sim_bad(s,
			    "%s has acked number %lld of its conversation, "
			    "which %s does not learn",
			    to.address, (long long)p.seq, from.address);
	}
	server_asked(st);
}

static bool
in_secret(const struct client *c, int64_t conversation)
{
	size_t i;

	for (i = 0; i < c->ntalks; i++)
		if (c->talks[i].conversation == conversation)
			return (c->talks[i].in_secret);
	return (false);
}

/* Checks that what was read here, not privately, is read on the server of its
 * sender. */
static void
judge_read(struct sim *s)
{
	sqlite3_stmt *st = server_ask(s,
	    "SELECT u.user_id, u.name, f.name, p.conversation_id, (SELECT "
	    "m.message_id FROM messages m WHERE m.conversation_id = "
	    "p.conversation_id AND m.sender_id = f.user_id AND "
	    "m.conversation_seq <= p.shown_upto ORDER BY m.conversation_seq "
	    "DESC LIMIT 1) FROM participants p JOIN users u ON u.user_id = "
	    "p.user_id AND u.destination_id IS NULL JOIN participants q ON "
	    "q.conversation_id = p.conversation_id JOIN users f ON f.user_id = "
	    "q.user_id AND f.destination_id IS NOT NULL WHERE p.shown_upto > "
	    "0");
	struct person by, of;
	struct progress p;
	struct uuid id;
	int code;

	while (sqlite3_step(st) == SQLITE_ROW && s->w->bad[0] == '\0') {
		by = person_of(s, (const char *)sqlite3_column_text(st, 1));
		of = person_of(s, (const char *)sqlite3_column_text(st, 2));
		if (of.s == NULL || !take_uuid(st, 4, &id) ||
		    in_secret(&s->clients[sqlite3_column_int64(st, 0) - 1],
			sqlite3_column_int64(st, 3)))
			continue;
		code = find_progress(of.s, by.address, &id, &p);
		/* The sender's server has lost the message, and with it the
		 * receipts for it. */
		if (code == SQLITE_DONE && past_has_message(of.s, &id))
			of.s->counts.excused++;
		else if ((code != SQLITE_ROW || p.shown_upto < p.seq) &&
			 !receipt_died(&by, &of))
			sim_bad(s,
			    "%s has read a message, which %s does not "
			    "learn",
			    by.address, of.address);
	}
	server_asked(st);
}

void
fed_judge(struct world *w)
{
	size_t i, k;

	for (i = 0; i < w->nsims && w->bad[0] == '\0'; i++) {
		judge_received(&w->sims[i]);
		judge_marks(&w->sims[i]);
		judge_acked(&w->sims[i]);
		judge_read(&w->sims[i]);
	}
	for (i = 0; i < w->nsims; i++)
		for (k = i + 1; k < w->nsims; k++)
			fed_pair_judge(&w->sims[i], &w->sims[k]);
}
