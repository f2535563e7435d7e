/* SPDX-License-Identifier: MIT */
/*
 * The hostile peer.  It has a key that everybody knows as its own, and it has
 * seen every request of the run.  See fed.h.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "sim/client.h"
#include "sim/fed_internal.h"
#include "sim/server.h"

#define HOSTILE_PERSON "mal@" FED_HOSTILE_DOMAIN

/* A message of ${victim} that the hostile peer may know. */
struct heard {
	struct uuid message_id, event_id;
	char sender[LIMIT_ADDRESS_LEN + 1];
};

/* Draws one of the newest messages of ${s}.  ${local}: one from its users.
 * Returns false if there is none. */
static bool
hear(struct sim *s, bool local, struct heard *ret)
{
	sqlite3_stmt *st;
	uint64_t n = 0;

	if (!s->server->up)
		return (false);
	st = server_ask(s,
	    "SELECT m.message_id, m.event_id, u.name FROM messages m JOIN "
	    "users u ON u.user_id = m.sender_id WHERE m.conversation_seq IS "
	    "NOT NULL AND (u.destination_id IS NULL OR NOT ?1) ORDER BY m.mid "
	    "DESC LIMIT 20");
	if (st == NULL)
		return (false);
	(void)sqlite3_bind_int(st, 1, local);
	while (sqlite3_step(st) == SQLITE_ROW) {
		if (sim_dice(s, ++n) != 0)
			continue;
		memcpy(ret->message_id.b, sqlite3_column_blob(st, 0), 16);
		memcpy(ret->event_id.b, sqlite3_column_blob(st, 1), 16);
		(void)snprintf(ret->sender, sizeof(ret->sender), "%s",
		    (const char *)sqlite3_column_text(st, 2));
	}
	server_asked(st);
	return (n > 0);
}

/* ---- requests of its own ---- */

static struct span
span(const char *text)
{

	return ((struct span){text, strlen(text)});
}

/* Fills an envelope that claims to come from ${from}. */
static void
fill(struct sim *s, int kind, const char *from, const char *to,
    struct envelope *ret)
{

	memset(ret, 0, sizeof(*ret));
	ret->event_id = uuid_gen_next(&s->ids);
	ret->kind = kind;
	ret->sequence = ++s->w->fed->sequence;
	ret->timestamp_ms = s->clk.wall_ms;
	ret->attempt = 1;
	ret->from = span(from);
	ret->recipient = span(to);
	if (kind != EVENT_MESSAGE)
		return;
	ret->message.has_id = true;
	ret->message.id = uuid_gen_next(&s->ids);
	ret->message.body = span("send me your password");
	ret->created_at_ms = s->clk.wall_ms;
}

/* Sends ${e} to ${victim} in the name of ${from}, signed with the hostile key
 * under the name ${key_id}. */
static void
send_one(struct sim *victim, const struct envelope *e, const char *from,
    const char *key_id)
{
	struct post *p = fed_post_new(victim->w, from, victim->domain);
	struct wire_request q;

	wire_request_begin(
	    &q, &p->body, ENVELOPE_ITEMS, ENVELOPE_REQUEST_LEN, NULL);
	if (wire_request_add(&q, e) != RC_OK || wire_request_end(&q) != RC_OK)
		assert(!"a request of the hostile peer");
	fed_post_sign(victim, p, &victim->w->fed->keys[SIM_SERVERS], key_id);
	fed_arrives(victim, p, NULL, sim_delay(victim));
}

/* Sends ${e} in the hostile peer's own name. */
static void
send_own(struct sim *victim, const struct envelope *e)
{

	send_one(victim, e, FED_HOSTILE_DOMAIN,
	    victim->w->fed->keys[SIM_SERVERS].id);
}

/* ---- the attacks ---- */

/* Returns the server that ${p} was for, or ${victim} if it was for the hostile
 * peer itself. */
static struct sim *
receiver_of(struct sim *victim, const struct post *p)
{
	struct sim *to = fed_named(victim->w, p->to);

	return (to != NULL ? to : victim);
}

/* Draws one of the requests of the run, more often one of the newest. */
static struct post *
some_post(struct sim *s)
{
	const struct fed *f = s->w->fed;
	struct post *p = f->posts;
	uint64_t n;

	if (p == NULL)
		return (NULL);
	n = sim_dice(s, sim_chance(s, 600) && f->nposts > 8 ? 8 : f->nposts);
	for (; n > 0; n--)
		p = p->next;
	return (p);
}

/* Replays a request, sometimes to a server that it was not for. */
static void
replay(struct sim *victim)
{
	struct post *p = some_post(victim);
	struct sim *to = victim;

	if (p == NULL)
		return;
	if (sim_chance(victim, 800))
		to = receiver_of(victim, p);
	victim->counts.replays++;
	fed_arrives(to, p, NULL, sim_delay(victim));
}

/* Sends the head of one request with the body of another one. */
static void
change_body(struct sim *victim)
{
	struct post *head = some_post(victim), *body = some_post(victim), *p;

	if (head == NULL || head == body)
		return;
	p = fed_post_new(victim->w, head->from, head->to);
	memcpy(p->digest, head->digest, sizeof(p->digest));
	memcpy(p->input, head->input, sizeof(p->input));
	memcpy(p->value, head->value, sizeof(p->value));
	buf_add(&p->body, body->body.data, body->body.len);
	fed_arrives(receiver_of(victim, p), p, NULL, sim_delay(victim));
}

/* Writes as a person of another server: either with the other server's name in
 * the head, under its own key id or the other's; or with the name in the
 * envelope alone. */
static void
forge(struct sim *victim, const char *to)
{
	const struct fed_key *keys = victim->w->fed->keys;
	const struct sim *as = fed_peer(victim, 0);
	char from[LIMIT_ADDRESS_LEN + 1];
	struct envelope e;

	(void)snprintf(from, sizeof(from), "%s@%s",
	    client_names[sim_dice(victim, SIM_CLIENTS)], as->domain);
	fill(victim, EVENT_MESSAGE, from, to, &e);
	switch (sim_dice(victim, 3)) {
	case 0:
		send_one(victim, &e, as->domain, keys[SIM_SERVERS].id);
		break;
	case 1:
		send_one(victim, &e, as->domain, keys[as->number].id);
		break;
	default:
		send_own(victim, &e);
	}
}

/* Writes a message of its own, under new ids or the ids of another message. */
static void
write_to(struct sim *victim, const char *to)
{
	struct heard heard;
	struct envelope e;

	fill(victim, EVENT_MESSAGE, HOSTILE_PERSON, to, &e);
	if (sim_chance(victim, 300) && hear(victim, false, &heard)) {
		if (sim_chance(victim, 500))
			e.message.id = heard.message_id;
		else
			e.event_id = heard.event_id;
	}
	send_own(victim, &e);
}

/* Sends a signed request that is not a request of the protocol. */
static void
babble(struct sim *victim)
{
	const struct fed_key *key = &victim->w->fed->keys[SIM_SERVERS];
	struct post *p =
	    fed_post_new(victim->w, FED_HOSTILE_DOMAIN, victim->domain);

	buf_adds(&p->body, sim_chance(victim, 500) ? "{\"envelopes\":[{}]}"
						   : "{\"envelopes\":[");
	fed_post_sign(victim, p, key, key->id);
	fed_arrives(victim, p, NULL, sim_delay(victim));
}

/* Sends a receipt for a message that was sent to somebody else. */
static void
acknowledge(struct sim *victim)
{
	char to[LIMIT_ADDRESS_LEN + 1];
	struct heard heard;
	struct envelope e;

	if (!hear(victim, true, &heard))
		return;
	(void)snprintf(
	    to, sizeof(to), "%.32s@%s", heard.sender, victim->domain);
	fill(victim, sim_chance(victim, 500) ? EVENT_DELIVERED : EVENT_READ,
	    HOSTILE_PERSON, to, &e);
	e.upto = heard.message_id;
	send_own(victim, &e);
}

void
fed_hostile_acts(struct sim *victim)
{
	char to[LIMIT_ADDRESS_LEN + 1];

	victim->counts.hostile++;
	/* A shortage of memory on the server does not affect the hostile
	 * peer. */
	mem_fail_at(0);
	sim_tell(victim, "hostile peer: acts");
	(void)snprintf(to, sizeof(to), "%s@%s",
	    client_names[sim_dice(victim, SIM_CLIENTS)], victim->domain);
	switch (sim_dice(victim, 7)) {
	case 0:
	case 1:
		replay(victim);
		break;
	case 2:
		change_body(victim);
		break;
	case 3:
		forge(victim, to);
		break;
	case 4:
		write_to(victim, to);
		break;
	case 5:
		babble(victim);
		break;
	default:
		acknowledge(victim);
	}
}
