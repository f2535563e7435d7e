/* SPDX-License-Identifier: MIT */
/*
 * People and their clients.  See client.h.
 *
 * A request is on its way to the server, in the server, or answered.  The
 * request or its answer may be lost.  Then the client repeats the request: the
 * same message with the same id.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chat/ack.h"
#include "chat/cancel.h"
#include "chat/read.h"
#include "chat/send.h"
#include "sim/client.h"
#include "sim/fed.h"
#include "sim/server.h"

/* A client gives up after 40 answers that say "later". */
#define TRIES 40

enum op_kind { OP_SEND, OP_CANCEL, OP_ACK, OP_READ };

struct op {
	struct op *next;
	struct sim *s;
	enum op_kind kind;
	size_t client;
	struct message *m; /* for a send or a cancel */
	int device;
	struct mark mark; /* for an ack or a read */
	bool over;
	bool asked; /* on its way, or with the server */
	uint64_t incarnation;
	int tries;

	/* The answer. */
	enum rc rc;
	enum problem problem;
	bool replayed;

	struct message_draft draft;
	union {
		struct send_unit send;
		struct cancel_unit cancel;
		struct ack_unit ack;
		struct read_unit read;
	} u;
};

static const char *const words[] = {"send", "cancel", "ack", "read"};
const char *const client_names[SIM_CLIENTS] = {"ann", "ben", "cyd", "dot"};

static void ask(struct sim *s, void *arg, int64_t n);

/* ---- answers ---- */

static void
again(struct op *op)
{

	op->asked = false;
	sim_after(op->s, 200 + sim_delay(op->s) * (op->tries < 5 ? 1 : 10), ask,
	    op, 0);
}

static void
answered_send(struct op *op)
{
	struct sim *s = op->s;
	struct message *m = op->m;

	if (op->problem == PROBLEM_QUEUE_FULL) {
		if (op->tries < TRIES) {
			again(op);
			return;
		}
		m->refused = true;
	} else if (op->problem != PROBLEM_NONE) {
		sim_bad(s, "send %zu was refused: problem %d",
		    (size_t)(m - s->messages), (int)op->problem);
	} else {
		s->counts.replayed += op->replayed;
		if (m->mid != 0 && m->mid != op->u.send.mid)
			sim_bad(s, "send %zu is message %lld and %lld",
			    (size_t)(m - s->messages), (long long)m->mid,
			    (long long)op->u.send.mid);
		m->mid = op->u.send.mid;
	}
	op->over = true;
}

static void
answered_mark(struct op *op)
{
	struct sim *s = op->s;
	struct client *c = &s->clients[op->client];

	const struct mark *m = &op->mark;

	if (op->problem != PROBLEM_NONE)
		sim_bad(s, "%s of %lld by %s was refused: problem %d",
		    words[op->kind], (long long)m->upto,
		    client_names[op->client], (int)op->problem);
	s->counts.acks += m->ack;
	s->counts.reads += !m->ack && m->form == READ_UPTO;
	s->counts.talks_read += !m->ack && m->form == READ_CONVERSATION;
	s->counts.ids_read += !m->ack && m->form == READ_IDS;
	s->counts.secrets += !m->ack && m->is_private;
	/* A read by inbox number implies an ack. */
	if ((m->ack || m->form == READ_UPTO) && c->acked[op->device] < m->upto)
		c->acked[op->device] = m->upto;
	marks_answered(c, m);
	op->over = true;
}

/* The answer reaches the client. */
static void
answered(struct sim *s, void *arg, int64_t n)
{
	struct op *op = arg;

	(void)n;
	if (op->over)
		return;
	if (op->rc != RC_OK) {
		again(op);
		return;
	}
	op->asked = false;
	switch (op->kind) {
	case OP_SEND:
		answered_send(op);
		break;
	case OP_CANCEL:
		op->over = true;
		if (op->problem == PROBLEM_NONE) {
			op->m->canceled = true;
			s->counts.cancels++;
		}
		break;
	case OP_ACK:
	case OP_READ:
	default:
		answered_mark(op);
	}
}

/* The server has finished the request, with or without success.  The answer
 * leaves. */
static void
leaves(struct op *op, enum rc rc, enum problem problem)
{
	struct sim *s = op->s;

	if (s->server->dying)
		return; /* clients_lose() repeats it */
	op->rc = rc;
	op->problem = problem;
	op->incarnation = 0;
	if (rc == RC_FULL)
		s->counts.full_disks++;
	sim_tell(s, "server: %s by %s #%zd: %s, problem %d", words[op->kind],
	    client_names[op->client],
	    op->m != NULL ? op->m - s->messages : (ssize_t)op->mark.upto,
	    rc_text(rc), (int)problem);
	if (sim_chance(s, s->weather.lost)) {
		s->counts.lost_answers++;
		again(op);
		return;
	}
	sim_after(s, sim_delay(s), answered, op, 0);
}

static void
send_done(struct unit *base)
{
	struct send_unit *u = CONTAINER_OF(base, struct send_unit, unit);
	struct op *op = u->arg;
	struct sim *s = op->s;
	struct message *m = op->m;

	op->replayed = u->replayed;
	/* From here on the message is promised, whether the answer arrives or
	 * not. */
	if (u->unit.rc == RC_OK && u->refusal.problem == PROBLEM_NONE &&
	    !s->server->dying && m->promised_us == 0) {
		m->promised_us = s->clk.mono_us;
		s->counts.accepted++;
	}
	leaves(op, u->unit.rc, u->refusal.problem);
}

static void
cancel_done(struct unit *base)
{
	struct cancel_unit *u = CONTAINER_OF(base, struct cancel_unit, unit);

	leaves(u->arg, u->unit.rc, u->refusal.problem);
}

static void
ack_done(struct unit *base)
{
	struct ack_unit *u = CONTAINER_OF(base, struct ack_unit, unit);

	leaves(u->arg, u->unit.rc, u->refusal.problem);
}

static void
read_done(struct unit *base)
{
	struct read_unit *u = CONTAINER_OF(base, struct read_unit, unit);

	leaves(u->arg, u->unit.rc, u->refusal.problem);
}

/* ---- requests ---- */

static void
make_send(struct op *op)
{
	struct message *m = op->m;
	struct send_unit *u = &op->u.send;

	memset(u, 0, sizeof(*u));
	send_unit_init(u);
	memset(&op->draft, 0, sizeof(op->draft));
	op->draft.has_id = true;
	op->draft.id = m->id;
	op->draft.to = (struct span){m->to, strlen(m->to)};
	op->draft.body = (struct span){m->body, strlen(m->body)};
	op->draft.deliver_at_ms = m->deliver_at;
	op->draft.expires_in_ms = m->expires_in;
	op->draft.priority = m->priority;
	if (m->dressed)
		fed_dress(m, &op->draft);
	u->unit.finish = send_done;
	u->arg = op;
	if (!send_unit_ask(u, op->s->clients[op->client].user_id, &op->draft,
		fed_addressing(op->s)))
		sim_bad(op->s, "%s is not an address: %s", m->to,
		    u->refusal.detail);
}

/* Makes a new unit for ${op}. */
static struct unit *
make_unit(struct op *op)
{
	struct client *c = &op->s->clients[op->client];

	switch (op->kind) {
	case OP_SEND:
		make_send(op);
		return (&op->u.send.unit);
	case OP_CANCEL:
		memset(&op->u.cancel, 0, sizeof(op->u.cancel));
		cancel_unit_init(&op->u.cancel);
		op->u.cancel.sender_id = c->user_id;
		op->u.cancel.id = op->m->id;
		op->u.cancel.unit.finish = cancel_done;
		op->u.cancel.arg = op;
		return (&op->u.cancel.unit);
	case OP_ACK:
		memset(&op->u.ack, 0, sizeof(op->u.ack));
		ack_unit_init(&op->u.ack);
		op->u.ack.user_id = c->user_id;
		op->u.ack.device_id = c->devices[op->device];
		op->u.ack.upto = op->mark.upto;
		op->u.ack.unit.finish = ack_done;
		op->u.ack.arg = op;
		return (&op->u.ack.unit);
	case OP_READ:
	default:
		memset(&op->u.read, 0, sizeof(op->u.read));
		read_unit_init(&op->u.read);
		op->u.read.user_id = c->user_id;
		op->u.read.device_id = c->devices[op->device];
		op->u.read.form = op->mark.form;
		op->u.read.upto = op->mark.upto;
		op->u.read.conversation = op->mark.public_id;
		op->u.read.ids = op->mark.ids;
		op->u.read.nids =
		    op->mark.form == READ_IDS ? (size_t)op->mark.upto : 0;
		op->u.read.is_private = op->mark.is_private;
		op->u.read.unit.finish = read_done;
		op->u.read.arg = op;
		return (&op->u.read.unit);
	}
}

/* The request arrives. */
static void
arrives(struct sim *s, void *arg, int64_t n)
{
	struct server *v = s->server;
	struct op *op = arg;

	(void)n;
	if (op->over)
		return;
	if (!v->up || writer_submit(v->writer, make_unit(op)) != RC_OK) {
		again(op);
		return;
	}
	op->incarnation = v->incarnation;
	server_turn_soon(s);
}

static void
ask(struct sim *s, void *arg, int64_t n)
{
	struct op *op = arg;

	(void)n;
	if (op->over)
		return;
	op->tries++;
	op->asked = true;
	if (sim_chance(s, s->weather.lost)) {
		s->counts.lost_asks++;
		again(op);
		return;
	}
	sim_after(s, sim_delay(s), arrives, op, 0);
}

static struct op *
op_new(struct sim *s, enum op_kind kind, size_t client)
{
	struct op *op = calloc(1, sizeof(*op));

	assert(op != NULL);
	op->s = s;
	op->kind = kind;
	op->client = client;
	op->next = s->ops;
	s->ops = op;
	return (op);
}

void
clients_lose(struct sim *s)
{
	struct op *op;

	for (op = s->ops; op != NULL; op = op->next)
		if (!op->over && op->incarnation != 0) {
			op->incarnation = 0;
			again(op);
		}
}

void
clients_go_back(struct sim *s, const struct client *then)
{
	struct op *op;
	bool ahead;
	size_t i;

	for (op = s->ops; op != NULL; op = op->next)
		op->over = true;
	for (i = 0; i < SIM_CLIENTS; i++) {
		ahead = s->clients[i].look_ahead;
		s->clients[i] = then[i];
		s->clients[i].look_ahead = ahead;
	}
}

size_t
clients_busy(const struct sim *s)
{
	const struct op *op;
	size_t n;

	for (n = 0, op = s->ops; op != NULL; op = op->next)
		n += !op->over;
	return (n);
}

/* ---- reading the inbox ---- */

/* Shows one row of an inbox, which must follow the last one shown. */
static void
show(struct sim *s, struct client *c, sqlite3_stmt *st)
{
	int64_t seq = sqlite3_column_int64(st, 0);
	struct seen *e;
	int64_t i;

	if (seq != c->nseen + 1) {
		sim_bad(s, "inbox of user %lld goes on with %lld after %lld",
		    (long long)c->user_id, (long long)seq, (long long)c->nseen);
		return;
	}
	assert(c->nseen < CLIENT_SEEN);
	e = &c->seen[c->nseen++];
	memcpy(e->event_id.b, sqlite3_column_blob(st, 1), 16);
	e->kind = sqlite3_column_int(st, 2);
	e->own = sqlite3_column_int(st, 3) != 0;
	e->mid = sqlite3_column_int64(st, 4);
	e->conversation = sqlite3_column_int64(st, 5);
	e->conversation_seq = sqlite3_column_int64(st, 6);
	e->actor = sqlite3_column_int64(st, 7);
	marks_told(s, c, e);
	if (e->kind != 1)
		return;
	for (i = 0; i < c->nseen - 1; i++)
		if (c->seen[i].kind == 1 && c->seen[i].mid == e->mid)
			sim_bad(s, "user %lld is shown message %lld twice",
			    (long long)c->user_id, (long long)e->mid);
}

static void
look(struct sim *s, void *arg, int64_t n)
{
	struct client *c = arg;
	sqlite3_stmt *st;

	(void)n;
	c->look_ahead = false;
	if (!s->server->up)
		return;
	s->counts.polls++;
	st = server_ask(s,
	    "SELECT seq, event_id, kind, own, mid, conversation_id, "
	    "conversation_seq, actor_id FROM inbox WHERE user_id = ?1 AND "
	    "seq > ?2 ORDER BY seq");
	if (st == NULL)
		return;
	(void)sqlite3_bind_int64(st, 1, c->user_id);
	(void)sqlite3_bind_int64(st, 2, c->nseen);
	while (sqlite3_step(st) == SQLITE_ROW && s->w->bad[0] == '\0')
		show(s, c, st);
	server_asked(st);
	sim_tell(s, "client: user %lld has seen %lld", (long long)c->user_id,
	    (long long)c->nseen);
}

void
client_hears(struct sim *s, int64_t user_id)
{
	struct client *c;
	size_t i;

	for (i = 0; i < SIM_CLIENTS; i++) {
		c = &s->clients[i];
		if (c->user_id != user_id || c->look_ahead ||
		    !sim_chance(s, 700))
			continue;
		c->look_ahead = true;
		sim_after(s, sim_delay(s), look, c, 0);
	}
}

void
client_looks(struct sim *s, size_t client)
{

	look(s, &s->clients[client], 0);
}

/* ---- repeating requests ---- */

void
client_send(struct sim *s, struct message *m)
{
	struct op *op = op_new(s, OP_SEND, m->client);

	op->m = m;
	ask(s, op, 0);
}

void
client_cancel(struct sim *s, struct message *m)
{
	struct op *op;

	m->cancel_asked = true;
	sim_tell(s, "client: %s cancels #%zd", client_names[m->client],
	    m - s->messages);
	op = op_new(s, OP_CANCEL, m->client);
	op->m = m;
	ask(s, op, 0);
}

void
client_mark(struct sim *s, size_t client, const struct mark *m)
{
	static const char *const forms[] = {"", " in a conversation", " by id"};
	struct op *op = op_new(s, m->ack ? OP_ACK : OP_READ, client);

	op->device = (int)sim_dice(s, CLIENT_DEVICES);
	op->mark = *m;
	op->mark.nseen = s->clients[client].nseen;
	marks_asked(&s->clients[client], &op->mark);
	sim_tell(s, "client: %s says %s %lld%s%s", client_names[client],
	    words[op->kind], (long long)m->upto, forms[m->form],
	    m->is_private ? ", privately" : "");
	ask(s, op, 0);
}

void
clients_catch_up(struct sim *s)
{
	struct client *c;
	size_t i, before;
	struct mark m;

	for (i = 0; i < SIM_CLIENTS && s->server->up; i++) {
		c = &s->clients[i];
		before = (size_t)c->nseen;
		look(s, c, 0);
		if (c->nseen == 0 ||
		    (c->acked[0] >= c->nseen && before == (size_t)c->nseen))
			continue;
		m = (struct mark){.ack = true, .upto = c->nseen};
		client_mark(s, i, &m);
	}
}

/* ---- life ---- */

struct client *
clients_new(void)
{
	struct client *c;
	size_t i, k;

	c = calloc(SIM_CLIENTS, sizeof(*c));
	assert(c != NULL);
	for (i = 0; i < SIM_CLIENTS; i++) {
		c[i].user_id = (int64_t)i + 1;
		for (k = 0; k < CLIENT_DEVICES; k++)
			c[i].devices[k] = (int64_t)(i * CLIENT_DEVICES + k + 1);
	}
	return (c);
}

void
clients_free(struct sim *s)
{
	struct op *op;

	while ((op = s->ops) != NULL) {
		s->ops = op->next;
		free(op);
	}
	free(s->clients);
	s->clients = NULL;
}
