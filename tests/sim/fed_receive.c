/* SPDX-License-Identifier: MIT */
/*
 * A server that receives a request: the checks of the protocol in their order
 * (docs/federation.md, "A request"), the unit `receive`, and the answer.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/fed_broken.h"
#include "sim/fed_internal.h"
#include "sim/server.h"

/* The same value as in the product (federation/inbound_take.c). */
#define NONCE_SPARE_S 300
/* About how many calls of the disk a request takes. */
#define DOOM_CALLS 4

/* ---- requests under way ---- */

void
fed_hearing_free(struct hearing *h)
{

	LIST_REMOVE(h, entry);
	if (h->parsed)
		wire_doc_fini(&h->doc);
	free(h);
}

/* ---- answers ---- */

/* Sends ${r} back, unless the link loses it. */
static void
send_back(struct hearing *h, struct reply *r)
{
	struct sim *s = h->s;

	if (!buf_ok(&r->body)) {
		s->counts.short_of++;
		fed_reply_free(r);
		return;
	}
	if (fed_is_cut(s, r->cargo->s)) {
		s->counts.cut++;
		fed_reply_free(r);
		return;
	}
	if (sim_chance(s, s->weather.lost)) {
		s->counts.lost_answers++;
		fed_reply_free(r);
		return;
	}
	fed_reply_send(r, sim_delay(s));
}

void
fed_refuse(struct hearing *h, int status, const char *problem)
{
	struct reply *r;

	sim_tell(h->s, "request of %s: refused, %d %s", h->post->from, status,
	    problem);
	if (h->cargo == NULL)
		return;
	r = fed_reply_new(h->cargo, status);
	r->type = FED_PROBLEM_TYPE;
	r->retry_after = status == 503 ? "1" : NULL;
	buf_addf(&r->body, "{\"type\":\"https://%s/problems/%s\"}",
	    h->s->domain, problem);
	send_back(h, r);
}

void
fed_answer(struct hearing *h)
{
	const struct receive_item *item;
	struct envelope_answer a;
	struct reply *r;
	size_t i;

	if (h->cargo == NULL)
		return;
	memset(&a, 0, sizeof(a));
	a.n = h->request.n;
	for (i = 0; i < a.n; i++) {
		item = &h->unit.items[i];
		envelope_ack_set(&a.acks[i], &h->request.envelopes[i].event_id,
		    item->reason);
		a.acks[i].duplicate = item->duplicate;
		a.acks[i].sequence = item->duplicate ? item->sequence : 0;
	}
	memcpy(a.epoch, h->s->server->epoch, sizeof(a.epoch));
	r = fed_reply_new(h->cargo, 200);
	r->type = FED_TYPE;
	wire_answer_write(&r->body, &a);
	send_back(h, r);
}

/* ---- the unit ---- */

static void
count_item(struct sim *s, int kind, const struct receive_item *item)
{
	struct sim_counts *c = &s->counts;

	c->known_events += item->duplicate;
	c->foreign += item->reason == ENVELOPE_FOREIGN_SENDER;
	c->unknown_people += item->reason == ENVELOPE_UNKNOWN_RECIPIENT;
	c->unknown_messages += item->reason == ENVELOPE_UNKNOWN_MESSAGE;
	c->ids_taken += item->reason == ENVELOPE_ID_TAKEN ||
			item->reason == ENVELOPE_EVENT_REUSED;
	c->full_inboxes += item->reason == ENVELOPE_INBOX_FULL;
	c->limited += item->reason == ENVELOPE_LIMITED;
	if (item->reason != ENVELOPE_NO_REASON || item->duplicate)
		return;
	c->received += kind == EVENT_MESSAGE;
	c->receipts_in += kind != EVENT_MESSAGE;
}

/* Called when a request was taken in.  That must happen only once, unless a
 * clock has jumped beyond the time for which the nonce is kept. */
static void
taken(struct hearing *h)
{
	const struct receive_item *item;
	const struct envelope *e;
	struct sim *s = h->s;
	size_t i;

	sim_tell(s, "request of %s: taken, %zu envelopes", h->post->from,
	    h->request.n);
	if (++h->post->taken > 1 && s->counts.jumps == 0)
		sim_bad(s, "request of %s is taken %u times", h->post->from,
		    h->post->taken);
	s->counts.went_back += h->unit.went_back;
	for (i = 0; i < h->request.n; i++) {
		e = &h->request.envelopes[i];
		item = &h->unit.items[i];
		count_item(s, e->kind, item);
		if (item->reason == ENVELOPE_NO_REASON && !item->duplicate &&
		    e->kind != EVENT_MESSAGE)
			fed_judge_receipt(s, e);
	}
}

static void
received(struct unit *base)
{
	struct receive_unit *u = CONTAINER_OF(base, struct receive_unit, unit);
	struct hearing *h = u->arg;
	struct sim *s = h->s;

	if (!s->server->dying && base->rc == RC_OK && u->repeated) {
		s->counts.repeated++;
		fed_refuse(h, 401, "nonce-repeated");
	} else if (!s->server->dying && base->rc == RC_OK) {
		taken(h);
		if (fed_promise_settle(h))
			return;
		if (!sim_is_broken(s, "ack-early"))
			fed_answer(h);
		if (sim_is_broken(s, "dedup-here"))
			fed_broken_note(h);
	} else if (!s->server->dying && !s->server->doomed) {
		fed_refuse(h, 503, rc_text(base->rc));
	}
	fed_hearing_free(h);
}

static void
start_unit(struct hearing *h)
{
	struct receive_unit *u = &h->unit;
	struct sim *s = h->s;
	bool by_power;

	receive_unit_init(u);
	u->unit.finish = received;
	u->domain = s->domain;
	u->origin = h->post->from;
	u->origin_id = h->origin_id;
	u->key_id = h->signature.key_id;
	u->nonce = h->signature.nonce;
	u->nonce_until =
	    (h->signature.expires_s + SIGNATURE_SKEW_S + NONCE_SPARE_S) *
	    INT64_C(1000);
	u->envelopes = h->request.envelopes;
	u->n = h->request.n;
	u->full = sim_chance(s, s->weather.refuse);
	if (sim_chance(s, s->weather.refuse))
		u->new_most = 0;
	u->arg = h;
	fed_break(h);
	if (writer_submit(s->server->writer, &u->unit) != RC_OK) {
		fed_refuse(h, 503, "busy");
		fed_hearing_free(h);
		return;
	}
	server_turn_soon(s);
	/* The server dies of this request rather than of others. */
	if (!sim_chance(s, 2 * s->weather.crash))
		return;
	by_power = sim_chance(s, 500);
	server_doom(s, 1 + sim_dice(s, DOOM_CALLS), by_power);
}

/* ---- the key of a request ---- */

struct learning {
	struct peer_unit unit; /* must be first */
	struct sim *s;
};

static void
learned(struct unit *unit)
{
	struct learning *l = (struct learning *)(void *)unit;

	if (!l->s->server->dying)
		fed_restore_learned(l->s, &l->unit);
	free(l);
}

void
fed_learn(struct sim *s, const char *domain)
{
	const struct fed_key *key = fed_key_of(s->w, domain);
	const struct sim *of = fed_named(s->w, domain);
	struct learning *l;
	struct peer_unit *u;

	if (key == NULL)
		return;
	l = calloc(1, sizeof(*l));
	assert(l != NULL);
	l->s = s;
	u = &l->unit;
	peer_unit_init(u, PEER_LEARN, domain, "");
	u->unit.finish = learned;
	u->nkeys = 1;
	(void)snprintf(
	    u->keys[0].key_id, sizeof(u->keys[0].key_id), "%s", key->id);
	memcpy(u->keys[0].public, key->public, sizeof(u->keys[0].public));
	if (of != NULL)
		memcpy(u->epoch, of->server->epoch, sizeof(u->epoch));
	if (writer_submit(s->server->writer, &u->unit) == RC_OK)
		server_turn_soon(s);
	else
		free(l);
}

/* Finds the key that the head of ${h} names, and its destination.  Returns
 * false if the key is unknown. */
static bool
find_key(struct hearing *h, uint8_t ret_public[SIGN_PUBLIC_SIZE])
{
	struct sim *s = h->s;
	sqlite3_stmt *st = server_ask(s,
	    "SELECT (SELECT destination_id FROM destinations WHERE name = ?1),"
	    " k.public FROM peer_keys k JOIN destinations d ON"
	    " d.destination_id = k.destination_id WHERE k.key_id = ?2 AND"
	    " k.retired_at IS NULL AND (d.name = ?1 OR ?3)");

	h->origin_id = 0;
	if (st == NULL)
		return (false);
	(void)sqlite3_bind_text(st, 1, h->post->from, -1, SQLITE_STATIC);
	(void)sqlite3_bind_text(st, 2, h->signature.key_id, -1, SQLITE_STATIC);
	(void)sqlite3_bind_int(st, 3, sim_is_broken(s, "origin"));
	if (sqlite3_step(st) == SQLITE_ROW &&
	    sqlite3_column_bytes(st, 1) == SIGN_PUBLIC_SIZE) {
		h->origin_id = sqlite3_column_int64(st, 0);
		memcpy(
		    ret_public, sqlite3_column_blob(st, 1), SIGN_PUBLIC_SIZE);
	}
	server_asked(st);
	return (h->origin_id != 0);
}

/* ---- the checks ---- */

/* Checks the head.  *${ret_unknown} is true if its key is unknown. */
static enum signature_fault
check_head(struct hearing *h, bool *ret_unknown)
{
	const struct post *p = h->post;
	struct sim *s = h->s;
	const struct signature_covered covered = {.method = "POST",
	    .authority = s->domain,
	    .path = FED_PATH,
	    .content_digest = p->digest,
	    .content_type = FED_TYPE,
	    .from = p->from,
	    .to = p->to};
	uint8_t public[SIGN_PUBLIC_SIZE];
	enum signature_fault fault;

	*ret_unknown = false;
	if (strcmp(p->to, s->domain) != 0 || strcmp(p->from, s->domain) == 0)
		return (SIGNATURE_WRONG);
	fault = signature_read(p->input, p->value, &h->signature);
	if (fault == SIGNATURE_GOOD)
		fault = signature_timely(&h->signature, s->clk.wall_ms / 1000);
	if (fault != SIGNATURE_GOOD)
		return (fault);
	*ret_unknown = !find_key(h, public);
	return (*ret_unknown
		    ? SIGNATURE_GOOD
		    : signature_verify(&h->signature, &covered, public));
}

static bool
check_digest(const struct post *p)
{
	uint8_t said[SIGN_SHA256_SIZE], is[SIGN_SHA256_SIZE];
	struct sign_sha256 sha;

	sign_sha256_init(&sha);
	sign_sha256_update(&sha, p->body.data, p->body.len);
	sign_sha256_final(&sha, is);
	return (signature_digest_read(p->digest, said) &&
		memcmp(said, is, sizeof(is)) == 0);
}

/* Called when a request is refused for a reason that only a hostile peer
 * causes: a request of a real server is a defect then. */
static void
check_hostile(struct hearing *h)
{

	if (h->cargo != NULL)
		sim_bad(h->s, "a request of %s does not hold", h->post->from);
}

/* Returns true if the head and the body are valid.  Otherwise refuses the
 * request. */
static bool
check(struct hearing *h)
{
	struct sim_counts *c = &h->s->counts;
	enum signature_fault fault;
	bool unknown;

	fault = check_head(h, &unknown);
	if (unknown) {
		c->strangers++;
		fed_refuse(h, 503, "key-unknown");
		fed_learn(h->s, h->post->from);
		return (false);
	}
	if (fault != SIGNATURE_GOOD) {
		c->untimely += fault == SIGNATURE_EARLY;
		c->untimely += fault == SIGNATURE_EXPIRED;
		c->unsigned_ += fault == SIGNATURE_WRONG;
		if (fault != SIGNATURE_EARLY && fault != SIGNATURE_EXPIRED)
			check_hostile(h);
		fed_refuse(h, 401, signature_fault_word(fault));
		return (false);
	}
	if (!check_digest(h->post)) {
		c->unlike++;
		check_hostile(h);
		fed_refuse(h, 401, signature_fault_word(SIGNATURE_DIGEST));
		return (false);
	}
	return (true);
}

static bool
read_body(struct hearing *h)
{
	struct refusal refusal = REFUSAL_INIT;
	enum rc rc;

	rc = wire_parse(
	    h->post->body.data, h->post->body.len, &h->doc, &refusal);
	h->parsed = rc == RC_OK;
	if (rc == RC_OK)
		rc = wire_request_read(&h->doc, &h->request, &refusal);
	if (rc == RC_OK)
		return (true);
	if (rc == RC_NO_MEMORY) {
		h->s->counts.short_of++;
		fed_refuse(h, 503, "busy");
		return (false);
	}
	h->s->counts.unread++;
	check_hostile(h);
	fed_refuse(h, 400, "bad-request");
	return (false);
}

/* ---- arrival ---- */

/* The server is about to stop, so it takes nothing and asks the sender to come
 * back. */
static void
ask_to_come_back(struct hearing *h)
{
	struct envelope_answer a;
	struct reply *r;

	if (h->cargo == NULL)
		return;
	memset(&a, 0, sizeof(a));
	a.draining = a.reconnect = true;
	a.reconnect_after_ms = (int64_t)sim_dice(h->s, 20000);
	memcpy(a.epoch, h->s->server->epoch, sizeof(a.epoch));
	r = fed_reply_new(h->cargo, 200);
	r->type = FED_TYPE;
	wire_answer_write(&r->body, &a);
	send_back(h, r);
}

static void
arrive(struct sim *s, void *arg, int64_t n)
{
	struct hearing *h = arg;
	struct reply *r;

	(void)n;
	if (!s->server->up) {
		if (h->cargo != NULL) {
			r = fed_reply_new(h->cargo, 0);
			r->transport = CLASSIFY_NO_CONNECTION;
			send_back(h, r);
		}
		fed_hearing_free(h);
		return;
	}
	if (!check(h)) {
		fed_hearing_free(h);
		return;
	}
	if (sim_now(s) < s->server->drains_until) {
		ask_to_come_back(h);
		fed_hearing_free(h);
		return;
	}
	if (!read_body(h)) {
		fed_hearing_free(h);
		return;
	}
	start_unit(h);
}

void
fed_arrives(
    struct sim *to, struct post *post, struct cargo *cargo, int64_t after_ms)
{
	struct hearing *h = calloc(1, sizeof(*h));

	assert(h != NULL);
	h->s = to;
	h->post = post;
	h->cargo = cargo;
	LIST_INSERT_HEAD(&to->w->fed->hearings, h, entry);
	sim_after(to, after_ms, arrive, h, 0);
}
