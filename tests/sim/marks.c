/* SPDX-License-Identifier: MIT */
/*
 * Marks and receipts.  See marks.h.
 */
#include <assert.h>
#include <string.h>

#include "model/event.h"
#include "sim/client.h"
#include "sim/server.h"

static struct talk *
talk_of(struct client *c, int64_t conversation)
{
	struct talk *t;
	size_t i;

	for (i = 0; i < c->ntalks; i++)
		if (c->talks[i].conversation == conversation)
			return (&c->talks[i]);
	assert(c->ntalks < MARK_TALKS);
	t = &c->talks[c->ntalks++];
	memset(t, 0, sizeof(*t));
	t->conversation = conversation;
	return (t);
}

static void
forward(int64_t *mark, int64_t upto)
{

	if (*mark < upto)
		*mark = upto;
}

/* ---- what people ask for ---- */

/* Called for each conversation that ${m} may reach, with a number in it. */
typedef void reach_fn(struct talk *t, const struct mark *m, int64_t upto);

/* Calls ${fn} for the conversations of ${m}.  ${others}: only messages of
 * others that ${c} was shown count. */
static void
reach(struct client *c, const struct mark *m, bool others, reach_fn *fn)
{
	const struct seen *e;
	int64_t i;

	if (!m->ack && m->form == READ_CONVERSATION && !others) {
		fn(talk_of(c, m->conversation), m, m->upto);
		return;
	}
	if (!m->ack && m->form == READ_IDS) {
		for (i = 0; i < m->upto; i++) {
			e = &c->seen[m->at[i] - 1];
			if (!others || !e->own)
				fn(talk_of(c, e->conversation), m,
				    e->conversation_seq);
		}
		return;
	}
	for (i = 1; i <= m->nseen; i++) {
		e = &c->seen[i - 1];
		if (e->kind != EVENT_MESSAGE || e->own)
			continue;
		if (!m->ack && m->form == READ_CONVERSATION
			? e->conversation == m->conversation &&
			      e->conversation_seq <= m->upto
			: i <= m->upto)
			fn(talk_of(c, e->conversation), m, e->conversation_seq);
	}
}

/* Returns true if ${m} acks.  A read by inbox number is an ack, too. */
static bool
acks(const struct mark *m)
{

	return (m->ack || m->form == READ_UPTO);
}

static void
ask(struct talk *t, const struct mark *m, int64_t upto)
{

	if (acks(m))
		forward(&t->acked, upto);
	if (m->ack)
		return;
	forward(&t->read, upto);
	if (m->is_private)
		t->in_secret = true;
	else
		forward(&t->shown, upto);
}

static void
keep(struct talk *t, const struct mark *m, int64_t upto)
{

	if (acks(m))
		forward(&t->acked_kept, upto);
	if (m->ack)
		return;
	forward(&t->read_kept, upto);
	if (!m->is_private)
		forward(&t->shown_kept, upto);
}

void
marks_asked(struct client *c, const struct mark *m)
{

	reach(c, m, false, ask);
}

void
marks_answered(struct client *c, const struct mark *m)
{

	reach(c, m, true, keep);
}

/* ---- what receipts say ---- */

static void
told(struct sim *s, const struct client *c, const struct seen *e, int64_t *mark,
    const char *what)
{

	if (e->conversation_seq <= *mark)
		sim_bad(s,
		    "event %lld reports to user %lld of %s up to %lld, and one "
		    "before it up to %lld",
		    (long long)c->nseen, (long long)c->user_id, what,
		    (long long)e->conversation_seq, (long long)*mark);
	forward(mark, e->conversation_seq);
}

/* Checks that a receipt reports only what its actor asked for, and not what was
 * read privately. */
static void
check_asked(struct sim *s, const struct client *c, const struct seen *e)
{
	struct talk *by;
	int64_t upto;

	/* The marks of people on other servers are judged at the end
	 * (fed_judge). */
	if (s->w->fed != NULL && e->actor > SIM_CLIENTS)
		return;
	assert(e->actor >= 1 && e->actor <= SIM_CLIENTS);
	by = talk_of(&s->clients[e->actor - 1], e->conversation);
	upto = e->kind == EVENT_READ        ? by->shown
	       : e->kind == EVENT_DELIVERED ? by->acked
					    : by->read;
	if (e->conversation_seq > upto)
		sim_bad(s,
		    "event %lld reports to user %lld that user %lld has %s up to "
		    "%lld, who has not said so beyond %lld",
		    (long long)c->nseen, (long long)c->user_id,
		    (long long)e->actor,
		    e->kind == EVENT_DELIVERED ? "received" : "read",
		    (long long)e->conversation_seq, (long long)upto);
}

void
marks_told(struct sim *s, struct client *c, const struct seen *e)
{
	struct talk *t = talk_of(c, e->conversation);

	switch (e->kind) {
	case EVENT_MESSAGE:
		if (!e->own)
			t->other = e->actor;
		return;
	case EVENT_DELIVERED:
		s->counts.receipts++;
		check_asked(s, c, e);
		told(s, c, e, &t->told_delivered, "a delivery");
		if (e->conversation_seq <= t->told_read)
			sim_bad(s,
			    "event %lld reports to user %lld of a delivery up to "
			    "%lld, whose reading was reported before",
			    (long long)c->nseen, (long long)c->user_id,
			    (long long)e->conversation_seq);
		return;
	case EVENT_READ:
		s->counts.receipts++;
		check_asked(s, c, e);
		told(s, c, e, &t->told_read, "a reading");
		return;
	case EVENT_OWN_READ:
		check_asked(s, c, e);
		told(s, c, e, &t->told_own, "the own reading");
		return;
	default:
		return;
	}
}

/* ---- what the database says ---- */

/* A mark and its allowed range. */
struct range {
	const char *name;
	int64_t is, from, to;
};

static void
judge_mark(struct sim *s, const struct client *c, const struct talk *t,
    const struct range *mark)
{

	if (mark->is < mark->from || mark->is > mark->to)
		sim_bad(s,
		    "user %lld has %s of %lld in conversation %lld, and is to "
		    "have %lld to %lld",
		    (long long)c->user_id, mark->name, (long long)mark->is,
		    (long long)t->conversation, (long long)mark->from,
		    (long long)mark->to);
}

static int64_t
least(int64_t a, int64_t b)
{

	return (a < b ? a : b);
}

/* Checks acked_upto, read_upto and shown_upto of ${c} against their ranges.
 * None of them may be beyond delivered_upto, because a message cannot be read
 * before it has come. */
static void
judge_marks(struct sim *s, struct client *c, struct talk *t, const int64_t *is)
{
	const struct range ranges[] = {
	    {"acked_upto", is[0], t->acked_kept,
		least(is[3], t->acked > t->shown ? t->acked : t->shown)},
	    {"read_upto", is[1], t->read_kept, least(is[3], t->read)},
	    /* After a private read, a public read of the same messages changes
	     * nothing. */
	    {"shown_upto", is[2], t->in_secret ? 0 : t->shown_kept,
		least(is[3], t->shown)},
	};
	size_t i;

	for (i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		judge_mark(s, c, t, &ranges[i]);
}

void
marks_judge(struct sim *s)
{
	sqlite3_stmt *st = server_ask(s,
	    "SELECT user_id, conversation_id, acked_upto, read_upto, "
	    "shown_upto, delivered_upto FROM participants WHERE user_id <= ?1");
	struct client *c;
	int64_t is[4];
	int i;

	(void)sqlite3_bind_int64(st, 1, SIM_CLIENTS);
	while (sqlite3_step(st) == SQLITE_ROW) {
		c = &s->clients[sqlite3_column_int64(st, 0) - 1];
		for (i = 0; i < 4; i++)
			is[i] = sqlite3_column_int64(st, 2 + i);
		judge_marks(s, c, talk_of(c, sqlite3_column_int64(st, 1)), is);
	}
	server_asked(st);
}

void
marks_judge_told(struct sim *s)
{
	const struct client *c;
	const struct talk *t, *o;
	size_t i, k;

	for (i = 0; i < SIM_CLIENTS; i++)
		for (k = 0; k < s->clients[i].ntalks; k++) {
			c = &s->clients[i];
			t = &c->talks[k];
			if (t->other < 1 || t->other > SIM_CLIENTS ||
			    t->in_secret)
				continue;
			o = talk_of(&s->clients[t->other - 1], t->conversation);
			if (o->told_read < t->shown_kept ||
			    (o->told_delivered < t->acked_kept &&
				o->told_read < t->acked_kept))
				sim_bad(s,
				    "user %lld was not notified of what user %lld "
				    "has of conversation %lld: %lld and %lld "
				    "read, %lld and %lld received",
				    (long long)t->other, (long long)c->user_id,
				    (long long)t->conversation,
				    (long long)o->told_read,
				    (long long)t->shown_kept,
				    (long long)o->told_delivered,
				    (long long)t->acked_kept);
		}
}
