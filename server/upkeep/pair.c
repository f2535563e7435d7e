/* SPDX-License-Identifier: MIT */
/*
 * See pair.h.  The comparison takes each of the two databases in turn as "here"
 * and the other one as "there".  It walks over the messages and the recorded
 * events here, and looks up the counterpart of each there.  A message that was
 * sent from here must have arrived there; a message that came from there must
 * have been sent there; and an event that is recorded here as received from
 * there (a row of processed_messages) must have been made there.
 *
 * Retention explains three kinds of differences, and no others:
 * 1. The outbox row of a message is missing: it was purged, because the message
 *    was acked (upkeep/purge_rows.h).
 * 2. An event is missing in an inbox: the inbox was trimmed.
 * 3. The outbox row of a recorded event is missing on the side that made the
 *    event: it was purged.
 * A row of the table messages is never removed.
 */
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "model/event.h"
#include "schema/sql.h"
#include "store/destination.h"
#include "upkeep/fsck.h"
#include "upkeep/pair.h"

/* Rows in a page.  A message has up to 16 KiB. */
#define PAGE_ROWS 100
/* Conversations in a page. */
#define PAGE_CONVERSATIONS 20

/* The destination id of a domain that a database does not know, and the origin
 * of a message whose sender is a user of the server whose database holds the
 * message.  Not 0, because destination 0 stands for all destinations
 * (schema/sqlite/0002-lifecycle.sql). */
#define UNKNOWN INT64_C(-1)

enum kind {
	MISSING,
	CHANGED,
	INBOX,
	ORDER,
	UNTOLD,
	UNFOUNDED,
	UNSENT,
	EVENT,
	KINDS
};

static const char *const texts[KINDS] = {
    [MISSING] = "pair-missing: its own server calls it sent, the other server "
		"does not have it",
    [CHANGED] = "pair-changed: its sender or body is another on the other "
		"server",
    [INBOX] =
	"pair-inbox: it is not exactly once in the inbox of its recipient",
    [ORDER] = "pair-order: it stands before a message that was sent earlier",
    [UNTOLD] = "pair-untold: its recipient has acked it, its own server does "
	       "not know, and no receipt is on its way",
    [UNFOUNDED] =
	"pair-unfounded: its own server calls it acked, its recipient "
	"has not acked it",
    [UNSENT] = "pair-unsent: it came from a server that has not sent it",
    [EVENT] = "pair-event: an event came from a server that has not made it"};

struct side {
	struct db *db;
	const char *domain;
	int64_t far_id; /* the other side's destination here, or UNKNOWN */
};

/* A direct conversation as one side stores it. */
struct conversation {
	int64_t far_id, id;
	int64_t acked; /* up to where far has acked, as this side knows */
	char far[LIMIT_ADDRESS_LEN + 1]; /* with its domain */
	char near[LIMIT_ADDRESS_LEN + 1];
};

/* A walk over one side. */
struct walk {
	const struct side *here, *there;
	check_found_fn found;
	void *arg;
	struct pair_report *report;
	int *named; /* violations reported, of each kind */

	/* The current page, and where the next one begins. */
	size_t n;
	struct conversation page[PAGE_CONVERSATIONS];
	int64_t after_seq;
	struct uuid after_event;

	/* The current conversation. */
	const struct conversation *c;
	int64_t last_conversation,
	    /* The previous message's, on the other side. */
	    last_seq;
};

/* A message of the walk; the body is borrowed from its row. */
struct message {
	struct uuid id;
	const char *body; /* NULL: erased */
	size_t body_len;
	const char *from, *to; /* both with their domains */
};

/* An event that one side ("here") has recorded in its table processed_messages
 * as accepted from the other side ("there"), with its inbox row here.  Without
 * an inbox row (none was made, or it was trimmed) the users are not known; then
 * actor is the domain of the server there, and person the domain of the server
 * here. */
struct event {
	struct uuid id;
	int64_t kind;                      /* 0: no inbox row */
	char actor[LIMIT_ADDRESS_LEN + 1]; /* both with their domains */
	char person[LIMIT_ADDRESS_LEN + 1];
	int64_t actor_origin;
	bool has_message;
	struct uuid message_id, message_event_id;
};

/* The same message on the other side. */
struct counterpart {
	const struct message *of;
	const char *sender; /* the sender's name on that side */
	int64_t origin;     /* the sender's destination on that side */

	bool found, same_sender, same_body;
	int64_t conversation_id, seq;
	bool member; /* the person is in the conversation */
	int64_t acked, shown, trimmed, events;
	bool receipt;
};

/* ---- names ---- */

/* Makes the address of ${name}, a user of ${side}, with its domain. */
static void
address_of(
    const struct side *side, const char *name, char ret[LIMIT_ADDRESS_LEN + 1])
{

	(void)snprintf(ret, LIMIT_ADDRESS_LEN + 1, "%.*s@%s", LIMIT_NAME_LEN,
	    name, side->domain);
}

/* Makes the name of ${address} on its own server: without the domain. */
static void
name_of(const char *address, char ret[LIMIT_ADDRESS_LEN + 1])
{

	(void)snprintf(ret, LIMIT_ADDRESS_LEN + 1, "%.*s",
	    (int)strcspn(address, "@"), address);
}

/* ---- reporting ---- */

static void
tell(struct walk *w, enum kind kind, const char *place)
{

	if (w->named[kind] == FSCK_PLACES)
		return;
	w->named[kind]++;
	w->report->violations++;
	w->found(w->arg, texts[kind], place);
}

static void
tell_message(struct walk *w, enum kind kind, const struct message *m)
{
	char id[UUID_TEXT_LEN + 1], place[64 + 2 * LIMIT_ADDRESS_LEN];

	uuid_format(&m->id, id);
	(void)snprintf(place, sizeof(place), "message %s from %s to %s", id,
	    m->from, m->to);
	tell(w, kind, place);
}

static void
tell_event(struct walk *w, const struct event *e)
{
	char id[UUID_TEXT_LEN + 1], place[64 + 2 * LIMIT_ADDRESS_LEN];

	uuid_format(&e->id, id);
	(void)snprintf(place, sizeof(place), "event %s from %s to %s", id,
	    e->actor, e->person);
	tell(w, EVENT, place);
}

/* ---- the counterpart of a message ---- */

static bool
is_text(const struct db_row *row, int col, const char *text)
{
	size_t n;
	const char *p = db_row_text(row, col, &n);

	return (p != NULL && n == strlen(text) && memcmp(p, text, n) == 0);
}

static enum rc
on_row_counterpart(void *arg, const struct db_row *row, struct err *err)
{
	struct counterpart *c = arg;
	const int origin = COL_PAIR_MESSAGE_ORIGIN;
	const char *body;
	size_t n;

	(void)err;
	c->found = true;
	c->same_sender =
	    is_text(row, COL_PAIR_MESSAGE_SENDER, c->sender) &&
	    (db_row_null(row, origin) ? UNKNOWN : db_row_i64(row, origin)) ==
		c->origin;
	body = db_row_text(row, COL_PAIR_MESSAGE_BODY, &n);
	c->same_body =
	    body == NULL || c->of->body == NULL ||
	    (n == c->of->body_len && memcmp(body, c->of->body, n) == 0);
	c->conversation_id = db_row_i64(row, COL_PAIR_MESSAGE_CONVERSATION_ID);
	c->seq = db_row_i64(row, COL_PAIR_MESSAGE_CONVERSATION_SEQ);
	c->member = !db_row_null(row, COL_PAIR_MESSAGE_ACKED_UPTO);
	c->acked = db_row_i64(row, COL_PAIR_MESSAGE_ACKED_UPTO);
	c->shown = db_row_i64(row, COL_PAIR_MESSAGE_SHOWN_UPTO);
	c->trimmed = db_row_i64(row, COL_PAIR_MESSAGE_TRIMMED);
	c->events = db_row_i64(row, COL_PAIR_MESSAGE_EVENTS);
	c->receipt = db_row_i64(row, COL_PAIR_MESSAGE_RECEIPT) != 0;
	return (RC_OK);
}

/* Looks up ${m} by its id in the database of side ${at}.  The caller has set
 * sender and origin of ${ret} to the sender that ${m} should have there, and
 * everything else in ${ret} to zero.  Sets same_sender to whether ${m} has that
 * sender there, and same_body to whether it has the same body (an erased body
 * is equal to any); sender and origin stay.  Also reads the place of ${m}, the
 * watermarks of the user who is called ${person} in that database, how many
 * inbox rows of that user are this message, and whether a receipt of that user
 * may still be on its way.  Returns RC_OK with ret->found false, and changes
 * nothing else but ret->of, if the message is not there. */
static enum rc
find_counterpart(const struct side *at, const struct message *m,
    const char *person, struct counterpart *ret, struct err *err)
{
	const struct sql_pair_message v = {
	    .message_id = db_v_uuid(&m->id), .name = db_v_str(person)};

	ret->of = m;
	return (db_run(at->db, SQL_PAIR_MESSAGE, DB_PARAMS(v),
	    on_row_counterpart, ret, NULL, err));
}

/* ---- a message that was sent from here ---- */

/* Returns whether the message of ${row} counts as sent, and sets *ret_acked to
 * whether it also counts as acked.  If its outbox row is missing, it counts as
 * acked, because only rows of acked messages are purged.  While the other
 * server still owes its final answer, the message does not count as sent. */
static bool
is_sent(const struct db_row *row, bool *ret_acked)
{
	const int state = COL_PAIR_MESSAGES_STATE;

	*ret_acked = db_row_null(row, state) || is_text(row, state, "acked");
	return (*ret_acked ||
		(is_text(row, state, "sent") &&
		    db_row_i64(row, COL_PAIR_MESSAGES_AWAITS_ANSWER) == 0));
}

/* Checks ${m}, a message that was sent from w->here and has arrived in w->there
 * as ${c}.  There it must have a higher number than the message of the same
 * conversation that was checked before it.  It must count as acked here
 * (${acked}) exactly if the recipient's watermark there (c->acked) has reached
 * it.  If it is acked there and not here, a receipt that is still on its way
 * from there excuses this, but only if the message is after w->c->acked, the
 * recipient's watermark as known here: receipts only move that watermark
 * forward.  The caller leaves out requeued messages: they arrived after later
 * messages, so watermarks say nothing about them. */
static void
judge_arrived(struct walk *w, const struct message *m,
    const struct counterpart *c, bool acked)
{
	const bool has = c->member && c->acked >= c->seq;

	if (c->conversation_id == w->last_conversation && c->seq < w->last_seq)
		tell_message(w, ORDER, m);
	w->last_conversation = c->conversation_id;
	w->last_seq = c->seq;
	if (has && !acked && (!c->receipt || w->after_seq <= w->c->acked))
		tell_message(w, UNTOLD, m);
	if (acked && !has)
		tell_message(w, UNFOUNDED, m);
}

static enum rc
look_sent(struct walk *w, const struct db_row *row, struct message *m,
    struct err *err)
{
	struct counterpart c = {.sender = m->from, .origin = w->there->far_id};
	char person[LIMIT_ADDRESS_LEN + 1];
	bool acked;
	enum rc rc;

	if (!is_sent(row, &acked))
		return (RC_OK);
	w->report->messages++;
	name_of(m->to, person);
	rc = find_counterpart(w->there, m, person, &c, err);
	if (rc != RC_OK)
		return (rc);
	if (!c.found) {
		if (db_row_i64(row, COL_PAIR_MESSAGES_AGAIN) == 0)
			tell_message(w, MISSING, m);
		return (RC_OK);
	}
	if (!c.same_sender || !c.same_body) {
		tell_message(w, CHANGED, m);
		return (RC_OK);
	}
	if (c.events != 1 && (c.events > 1 || c.trimmed == 0))
		tell_message(w, INBOX, m);
	if (db_row_i64(row, COL_PAIR_MESSAGES_REQUEUES) == 0)
		judge_arrived(w, m, &c, acked);
	return (RC_OK);
}

/* ---- a message that has come from there ---- */

static enum rc
look_received(struct walk *w, const struct message *m, struct err *err)
{
	char sender[LIMIT_ADDRESS_LEN + 1];
	struct counterpart c = {.sender = sender, .origin = UNKNOWN};
	enum rc rc;

	name_of(m->from, sender);
	rc = find_counterpart(w->there, m, m->to, &c, err);
	if (rc == RC_OK && (!c.found || !c.same_sender || !c.member))
		tell_message(w, UNSENT, m);
	return (rc);
}

/* ---- the messages of a conversation ---- */

static enum rc
on_row_message(void *arg, const struct db_row *row, struct err *err)
{
	const int origin = COL_PAIR_MESSAGES_ORIGIN;
	char near[LIMIT_ADDRESS_LEN + 1];
	struct walk *w = arg;
	struct message m;

	w->n++;
	w->after_seq = db_row_i64(row, COL_PAIR_MESSAGES_CONVERSATION_SEQ);
	address_of(w->here, w->c->near, near);
	m.id = db_row_uuid(row, COL_PAIR_MESSAGES_MESSAGE_ID);
	m.body = db_row_text(row, COL_PAIR_MESSAGES_BODY, &m.body_len);
	if (db_row_null(row, origin)) {
		m.from = near;
		m.to = w->c->far;
		return (look_sent(w, row, &m, err));
	}
	m.from = w->c->far;
	m.to = near;
	return (look_received(w, &m, err));
}

static enum rc
walk_messages(struct walk *w, const struct conversation *c, struct err *err)
{
	struct sql_pair_messages v = {.conversation_id = db_v_i64(c->id),
	    .user_id = db_v_i64(c->far_id),
	    .limit = db_v_i64(PAGE_ROWS)};
	enum rc rc;

	w->c = c;
	w->after_seq = 0;
	w->last_conversation = w->last_seq = 0;
	do {
		w->n = 0;
		v.after = db_v_i64(w->after_seq);
		rc = db_run(w->here->db, SQL_PAIR_MESSAGES, DB_PARAMS(v),
		    on_row_message, w, NULL, err);
	} while (rc == RC_OK && w->n == PAGE_ROWS);
	return (rc);
}

static enum rc
on_row_conversation(void *arg, const struct db_row *row, struct err *err)
{
	struct walk *w = arg;
	struct conversation *c = &w->page[w->n++];

	(void)err;
	c->far_id = db_row_i64(row, COL_PAIR_CONVERSATIONS_USER_ID);
	c->id = db_row_i64(row, COL_PAIR_CONVERSATIONS_CONVERSATION_ID);
	c->acked = db_row_i64(row, COL_PAIR_CONVERSATIONS_ACKED_UPTO);
	db_row_copy_text(
	    row, COL_PAIR_CONVERSATIONS_FAR, c->far, sizeof(c->far));
	db_row_copy_text(
	    row, COL_PAIR_CONVERSATIONS_NEAR, c->near, sizeof(c->near));
	return (RC_OK);
}

static enum rc
walk_conversations(struct walk *w, struct err *err)
{
	struct sql_pair_conversations v = {
	    .destination_id = db_v_i64(w->here->far_id),
	    .limit = db_v_i64(PAGE_CONVERSATIONS)};
	struct conversation last = {.far_id = 0};
	size_t i, n;
	enum rc rc;

	do {
		w->n = 0;
		v.user_id = db_v_i64(last.far_id);
		v.conversation_id = db_v_i64(last.id);
		rc = db_run(w->here->db, SQL_PAIR_CONVERSATIONS, DB_PARAMS(v),
		    on_row_conversation, w, NULL, err);
		n = w->n;
		for (i = 0; i < n && rc == RC_OK; i++)
			rc = walk_messages(w, &w->page[i], err);
		if (n > 0)
			last = w->page[n - 1];
	} while (rc == RC_OK && n == PAGE_CONVERSATIONS);
	return (rc);
}

/* ---- events ---- */

/* The place that an event has, or would have, in an outbox. */
struct making {
	bool made;
	int64_t before, after; /* ids of rows; 0: none */
};

static enum rc
on_row_making(void *arg, const struct db_row *row, struct err *err)
{
	struct making *m = arg;

	(void)err;
	m->made = db_row_i64(row, COL_PAIR_EVENT_MADE) != 0;
	m->before = db_row_i64(row, COL_PAIR_EVENT_BEFORE_ID);
	m->after = db_row_i64(row, COL_PAIR_EVENT_AFTER_ID);
	return (RC_OK);
}

/* Checks an event that w->here accepted from w->there and that has no inbox row
 * here: the event made none, or it was trimmed.  If the outbox there has no row
 * of the event either, that row may have been purged.  Two cases prove that the
 * event was never made, and are reported.  First, no outbox row there has a
 * higher event id: the event's row would be the last one, which is never
 * purged.  Second, the outbox rows there with the next lower and the next
 * higher event id have successive row ids: event ids grow with row ids, which
 * have no gaps except those of purging.  The second case is not tested if the
 * database there is PostgreSQL, whose sequences may leave gaps. */
static enum rc
look_silent(struct walk *w, const struct event *e, struct err *err)
{
	const struct sql_pair_event v = {.event_id = db_v_uuid(&e->id)};
	struct making m = {.made = true};
	enum rc rc;

	rc = db_run(w->there->db, SQL_PAIR_EVENT, DB_PARAMS(v), on_row_making,
	    &m, NULL, err);
	if (rc == RC_OK && !m.made &&
	    (m.after == 0 ||
		(!db_multi_writer(w->there->db) && m.after == m.before + 1)))
		tell_event(w, e);
	return (rc);
}

/* Checks a receipt in an inbox of w->here against the watermarks in w->there of
 * the user who has acked or read (the actor).  The ack watermark, and for a
 * read receipt also the read watermark, must have reached the message that the
 * receipt names.  Watermarks never go back, so this must hold even if the
 * receipt's outbox row there is purged. */
static enum rc
look_receipt(struct walk *w, const struct event *e, struct err *err)
{
	const struct message m = {.id = e->message_id};
	struct counterpart c = {.sender = "", .origin = UNKNOWN};
	char person[LIMIT_ADDRESS_LEN + 1];
	enum rc rc;

	name_of(e->actor, person);
	rc = find_counterpart(w->there, &m, person, &c, err);
	if (rc == RC_OK && (!c.found || !c.member || c.acked < c.seq ||
			       (e->kind == EVENT_READ && c.shown < c.seq)))
		tell_event(w, e);
	return (rc);
}

static enum rc
look_event(struct walk *w, const struct event *e, struct err *err)
{
	const struct message m = {
	    .id = e->message_id, .from = e->actor, .to = e->person};

	if (e->kind == 0)
		return (look_silent(w, e, err));
	/* fsck of this side reports an event without a message. */
	if (!e->has_message)
		return (RC_OK);
	if (e->actor_origin != w->here->far_id) {
		tell_event(w, e);
		return (RC_OK);
	}
	if (e->kind != EVENT_MESSAGE)
		return (look_receipt(w, e, err));
	/* The walk over the messages has checked the message under its own
	 * event. */
	if (!uuid_equal(&e->message_event_id, &e->id))
		tell_message(w, INBOX, &m);
	return (RC_OK);
}

static enum rc
on_row_event(void *arg, const struct db_row *row, struct err *err)
{
	char person[LIMIT_NAME_LEN + 1];
	struct walk *w = arg;
	struct event e = {.kind = db_row_i64(row, COL_PAIR_EVENTS_KIND)};

	w->n++;
	w->report->events++;
	e.id = w->after_event = db_row_uuid(row, COL_PAIR_EVENTS_EVENT_ID);
	e.actor_origin = db_row_i64(row, COL_PAIR_EVENTS_ACTOR_ORIGIN);
	e.has_message = !db_row_null(row, COL_PAIR_EVENTS_MESSAGE_ID);
	e.message_id = db_row_uuid(row, COL_PAIR_EVENTS_MESSAGE_ID);
	e.message_event_id = db_row_uuid(row, COL_PAIR_EVENTS_MESSAGE_EVENT_ID);
	if (e.kind == 0) {
		(void)snprintf(
		    e.actor, sizeof(e.actor), "%s", w->there->domain);
		(void)snprintf(
		    e.person, sizeof(e.person), "%s", w->here->domain);
	} else {
		db_row_copy_text(
		    row, COL_PAIR_EVENTS_ACTOR, e.actor, sizeof(e.actor));
		db_row_copy_text(
		    row, COL_PAIR_EVENTS_PERSON, person, sizeof(person));
		address_of(w->here, person, e.person);
	}
	return (look_event(w, &e, err));
}

static enum rc
walk_events(struct walk *w, struct err *err)
{
	struct sql_pair_events v = {
	    .origin = db_v_i64(w->here->far_id), .limit = db_v_i64(PAGE_ROWS)};
	struct uuid after;
	enum rc rc;

	memset(&w->after_event, 0, sizeof(w->after_event));
	do {
		w->n = 0;
		after = w->after_event;
		v.event_id = db_v_uuid(&after);
		rc = db_run(w->here->db, SQL_PAIR_EVENTS, DB_PARAMS(v),
		    on_row_event, w, NULL, err);
	} while (rc == RC_OK && w->n == PAGE_ROWS);
	return (rc);
}

/* ---- both ---- */

static enum rc
find_side(const struct pair_side *of, const char *far_domain, struct side *ret,
    struct err *err)
{
	struct store_destination_row row;
	enum rc rc;

	ret->db = of->db;
	ret->domain = of->domain;
	ret->far_id = UNKNOWN;
	rc = store_destination_by_name(of->db, far_domain, &row, err);
	if (rc == RC_OK)
		ret->far_id = row.destination_id;
	else if (rc == RC_NOT_FOUND)
		rc = RC_OK;
	return (rc);
}

static enum rc
compare(const struct pair_side sides[2], struct walk walks[2], struct err *err)
{
	struct side both[2];
	enum rc rc;
	int i;

	rc = find_side(&sides[0], sides[1].domain, &both[0], err);
	if (rc == RC_OK)
		rc = find_side(&sides[1], sides[0].domain, &both[1], err);
	if (rc == RC_OK && both[0].far_id == UNKNOWN &&
	    both[1].far_id == UNKNOWN)
		rc = err_set(err, RC_INVALID,
		    "%s and %s have never been in contact: neither database "
		    "knows the other's domain",
		    sides[0].domain, sides[1].domain);
	for (i = 0; i < 2 && rc == RC_OK; i++) {
		walks[i].here = &both[i];
		walks[i].there = &both[1 - i];
		rc = walk_conversations(&walks[i], err);
		if (rc == RC_OK)
			rc = walk_events(&walks[i], err);
	}
	return (rc);
}

enum rc
pair_run(const struct pair_side sides[2], check_found_fn found, void *arg,
    struct pair_report *ret, struct err *err)
{
	struct walk walk = {.found = found, .arg = arg, .report = ret};
	struct walk walks[2];
	int named[KINDS] = {0};
	enum rc rc;

	*ret = (struct pair_report){.kinds = KINDS};
	walk.named = named;
	walks[0] = walk;
	walks[1] = walk;
	if ((rc = db_begin(sides[0].db, err)) != RC_OK)
		return (rc);
	if ((rc = db_begin(sides[1].db, err)) == RC_OK)
		rc = compare(sides, walks, err);
	db_rollback(sides[1].db);
	db_rollback(sides[0].db);
	return (rc);
}
