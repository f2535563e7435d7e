/* SPDX-License-Identifier: MIT */
/*
 * The carrier: makes a signed request of a parcel, as bytes, and reads the
 * answer back into the items of the parcel.  See fed.h.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "delivery/parcel.h"
#include "sim/fed_internal.h"
#include "sim/heart.h"
#include "sim/server.h"

/* How long a carrier waits for an answer when the relay does not say. */
#define PATIENCE_MS 20000
/* The pause after a fault of this server's own (federation/carry.c). */
#define OURS_AGAIN_MS 2000

static const char page[] = "<html><body>It works!</body></html>";

/* ---- replies ---- */

struct reply *
fed_reply_new(struct cargo *cargo, int status)
{
	struct reply *r = calloc(1, sizeof(*r));

	assert(r != NULL);
	r->cargo = cargo;
	r->status = status;
	r->transport = CLASSIFY_ANSWERED;
	buf_init(&r->body, 0);
	LIST_INSERT_HEAD(&cargo->s->w->fed->replies, r, entry);
	return (r);
}

void
fed_reply_free(struct reply *r)
{

	LIST_REMOVE(r, entry);
	buf_fini(&r->body);
	free(r);
}

/* ---- writing a request ---- */

/* Draws the order in which the envelopes are written.  The receiver has to put
 * them into the order of their sequences. */
static void
draw_order(struct sim *s, size_t *order, size_t n)
{
	bool shuffled = n > 1 && sim_chance(s, 300);
	size_t i, k, before;

	for (i = 0; i < n; i++)
		order[i] = i;
	s->counts.shuffled += shuffled;
	for (i = n; shuffled && i-- > 1;) {
		k = (size_t)sim_dice(s, i + 1);
		before = order[i];
		order[i] = order[k];
		order[k] = before;
	}
}

/* Returns NULL if there is not enough memory. */
static struct post *
write_request(struct sim *s, const struct cargo *c)
{
	const struct parcel *p = c->ref;
	char from[LIMIT_ADDRESS_LEN + 1];
	size_t order[CARGO_MOST], i;
	struct wire_request q;
	struct envelope e;
	struct post *post;
	enum rc rc;

	post = fed_post_new(s->w, s->domain, fed_domain(s, c->peer));
	draw_order(s, order, p->n);
	wire_request_begin(
	    &q, &post->body, ENVELOPE_ITEMS, ENVELOPE_REQUEST_LEN, NULL);
	for (i = 0; i < p->n; i++) {
		parcel_envelope(p, order[i], s->domain, from, &e);
		rc = wire_request_add(&q, &e);
		if (rc == RC_NO_MEMORY)
			return (NULL);
		if (rc != RC_OK)
			sim_bad(s, "a parcel is not a request");
	}
	return (wire_request_end(&q) == RC_OK ? post : NULL);
}

/* Copies a request, to sign it again. */
static struct post *
copy_request(struct sim *s, const struct post *old)
{
	struct post *post = fed_post_new(s->w, old->from, old->to);

	buf_add(&post->body, old->body.data, old->body.len);
	return (buf_ok(&post->body) ? post : NULL);
}

/* ---- on the link ---- */

static void
travel(struct sim *s, struct cargo *c)
{
	struct sim *to = fed_peer(s, c->peer);
	int64_t ms = sim_delay(s);

	if (to == NULL) {
		fed_foreign_hears(s, c);
		return;
	}
	s->counts.requests++;
	if (fed_is_cut(s, to)) {
		s->counts.cut++;
		return;
	}
	if (sim_chance(s, s->weather.lost)) {
		s->counts.lost_asks++;
		return;
	}
	if (sim_chance(s, s->weather.slow)) {
		s->counts.late_answers++;
		ms += (int64_t)sim_dice(s, 4 * SIM_MINUTE_MS);
	}
	fed_arrives(to, c->post, c, ms);
	if (!sim_chance(s, s->weather.twice))
		return;
	s->counts.twice++;
	/* The sender may get the answer to the copy only: libcurl repeats a
	 * request on a new connection. */
	ms = sim_delay(s);
	ms += sim_delay(s);
	fed_arrives(to, c->post, sim_chance(s, 500) ? c : NULL, ms);
}

/* After a fault of this server's own, the destination is tried again soon. */
static void
fail_here(struct sim *s, void *arg, int64_t n)
{
	struct cargo *c = arg;

	(void)n;
	if (!s->server->up || c->incarnation != s->server->incarnation)
		return;
	c->answered = true;
	c->answer = CARGO_BUSY;
	c->park_ms = OURS_AGAIN_MS;
	heart_answer(s, c);
}

static void
sign_and_send(struct sim *s, struct cargo *c)
{
	const struct fed_key *key = &s->w->fed->keys[s->number];
	const struct parcel *p = c->ref;
	struct reply *r;

	if (c->post == NULL) {
		s->counts.short_of++;
		sim_after(s, 0, fail_here, c, 0);
		return;
	}
	fed_post_sign(s, c->post, key, key->id);
	/* The time-out of the carrier, which ends the wait whatever happens to
	 * the request. */
	r = fed_reply_new(c, 0);
	r->transport = CLASSIFY_TIME_OUT;
	fed_reply_send(r, p->timeout_ms > 0 ? p->timeout_ms : PATIENCE_MS);
	travel(s, c);
}

void
fed_send(struct sim *s, struct cargo *c)
{

	c->post = write_request(s, c);
	sign_and_send(s, c);
}

/* ---- reading an answer ---- */

static enum verdict
verdict_of(const struct envelope_ack *ack)
{

	switch (ack->status) {
	case ENVELOPE_ACCEPTED:
		return (VERDICT_TAKEN);
	case ENVELOPE_REJECTED:
		return (strcmp(ack->reason,
			    envelope_reason_word(ENVELOPE_TOO_LARGE)) == 0
			    ? VERDICT_TOO_LARGE
			    : VERDICT_REJECTED);
	case ENVELOPE_RETRYABLE:
		return (strcmp(ack->reason,
			    envelope_reason_word(ENVELOPE_PREDECESSOR)) == 0
			    ? VERDICT_PREDECESSOR
			    : VERDICT_RETRY);
	case ENVELOPE_LATER:
		return (VERDICT_LATER);
	case ENVELOPE_NO_ANSWER:
	case ENVELOPE_STATUSES:
	default:
		return (VERDICT_NONE);
	}
}

static void
settle(struct cargo *c, const struct envelope_answer *a)
{
	size_t i;

	c->answer = CARGO_ITEMS;
	c->status = a->acks[0].status == ENVELOPE_LATER ? 202 : 200;
	c->park_ms = 0;
	for (i = 0; i < c->n; i++) {
		c->items[i].verdict = verdict_of(&a->acks[i]);
		c->items[i].duplicate = a->acks[i].duplicate;
		c->items[i].taken_seq = a->acks[i].sequence;
	}
}

/* Reads ${r} into ${ret}, and classifies it. */
static struct classify_verdict
judge_reply(struct sim *s, const struct reply *r, struct envelope_answer *ret)
{
	const struct cargo *c = r->cargo;
	struct classify_outcome o = {.transport = r->transport,
	    .status = r->status,
	    .envelopes = c->n,
	    .signed_anew = c->signed_anew};
	struct refusal refusal = REFUSAL_INIT;
	struct uuid ids[CARGO_MOST];
	size_t i;

	for (i = 0; i < c->n; i++)
		ids[i] = c->items[i].event_id;
	memset(ret, 0, sizeof(*ret));
	if (r->status == 200 || r->status == 202) {
		o.read = wire_answer_read(r->body.data, r->body.len, ids, c->n,
			     ret, &refusal) == RC_OK;
		o.reconnect = o.read && ret->reconnect;
		o.reconnect_after_ms = ret->reconnect_after_ms;
	} else {
		o.problem =
		    classify_problem_read(r->type, r->body.data, r->body.len);
	}
	o.retry_after_ms =
	    classify_retry_after_ms(r->retry_after, s->clk.wall_ms);
	return (classify(&o));
}

static void
act_on(struct sim *s, const struct reply *r)
{
	struct envelope_answer answer;
	struct classify_verdict v = judge_reply(s, r, &answer);
	struct cargo *c = r->cargo;

	if (v.class == CLASSIFY_SIGN_ANEW) {
		s->counts.signed_anew++;
		c->signed_anew = true;
		c->post = copy_request(s, c->post);
		sign_and_send(s, c);
		return;
	}
	if (v.class == CLASSIFY_HALVE || v.class == CLASSIFY_REJECT)
		sim_bad(s, "parcel %zu is refused as a whole: %d", c->number,
		    r->status);
	c->answered = true;
	fed_restore_hears(s, c, answer.epoch);
	c->reconnect = answer.reconnect;
	s->counts.reconnects += answer.reconnect;
	if (answer.reconnect && sim_is_broken(s, "reconnect"))
		v.class = CLASSIFY_SETTLE;
	if (v.class == CLASSIFY_SETTLE) {
		settle(c, &answer);
	} else {
		c->answer = v.class == CLASSIFY_PARK ? CARGO_BUSY : CARGO_GONE;
		c->status = r->status;
		c->park_ms = v.park_ms;
		s->counts.unavailable++;
	}
	heart_answer(s, c);
}

static void
comes_back(struct sim *s, void *arg, int64_t n)
{
	struct reply *r = arg;
	struct cargo *c = r->cargo;

	(void)n;
	if (!c->answered && s->server->up &&
	    c->incarnation == s->server->incarnation)
		act_on(s, r);
	fed_reply_free(r);
}

/* A proxy between the two servers answers instead. */
static void
garble(struct sim *s, struct reply *r)
{
	static const int statuses[] = {200, 404, 429, 502, 503};

	s->counts.garbled++;
	if (sim_chance(s, 200)) {
		/* The answer breaks off. */
		r->body.len = (size_t)sim_dice(s, r->body.len + 1);
		return;
	}
	r->status = statuses[sim_dice(s, 5)];
	r->type = "text/html";
	r->retry_after =
	    r->status == 429 || (r->status == 503 && sim_chance(s, 500)) ? "7"
									 : NULL;
	buf_reset(&r->body);
	buf_adds(&r->body, page);
}

void
fed_reply_send(struct reply *r, int64_t after_ms)
{
	struct sim *s = r->cargo->s;

	if (r->status != 0 && sim_chance(s, s->weather.garble))
		garble(s, r);
	sim_after(s, after_ms, comes_back, r, 0);
}
