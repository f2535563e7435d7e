/* SPDX-License-Identifier: MIT */
/*
 * Processes the body of a request whose signature is good: checks the digest
 * and again the times of the signature, parses the JSON, submits the unit of
 * work `receive` to the writer, and answers when the unit is on disk.
 *
 * Life of a struct taking: inbound_take() allocates it in the thread of the
 * HTTP loop and submits its unit.  If `receive` has accepted the request and
 * the request has acks, a second unit follows with the acks.  When the last
 * unit is finished, the sync thread (which syncs commits to disk) answers the
 * request and frees the struct; if that unit was not committed, the writer's
 * thread does.  If no unit is submitted (the request is refused, the writer
 * does not take the unit, or the server stops), the thread of the HTTP loop
 * answers and frees the struct at once.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "delivery/promise.h"
#include "delivery/receive.h"
#include "federation/inbound_internal.h"
#include "log/log.h"
#include "wire/envelope.h"

/* A nonce is kept this number of seconds longer than the times of its signature
 * are good (expires_s + SIGNATURE_SKEW_S).  A copy of the request whose times
 * were checked just before that end may still wait for its transaction.  If the
 * copy waits no longer than this, its nonce is still known when its transaction
 * runs. */
#define NONCE_SPARE_S 300

/* The wait for a peer of a server that stops: a restart takes seconds. */
#define RECONNECT_MS 5000

/* The wait in ms that a peer is asked for before it repeats an envelope that
 * was over a limit.  By then a bucket that was empty holds half of a minute's
 * amount again.  Also the Retry-After (in seconds: 30) of requests that are
 * refused because the disk is full. */
#define LIMITED_RETRY_MS 30000

struct taking {
	struct receive_unit unit;
	struct promise_unit promise; /* runs after ${unit}, if there are acks */
	struct inbound_call *call;
	struct wire_doc doc;
	struct envelope_request request; /* borrows from doc */
	struct text *message[ENVELOPE_ITEMS];
	struct envelope_answer answer;
};

static void
taking_free(struct taking *t)
{
	size_t i;

	for (i = 0; i < ENVELOPE_ITEMS; i++)
		text_unref(t->message[i]);
	wire_doc_fini(&t->doc);
	mem_free(t);
}

/* ---- the answer ---- */

static void
answer_write(struct inbound_call *call, const struct envelope_answer *answer)
{
	struct buf b = BUF_INIT;

	wire_answer_write(&b, answer);
	http_answer(call->req, 200, HTTP_JSON, &b);
	buf_fini(&b);
}

static void
answer_reconnect(struct inbound_call *call, struct envelope_answer *answer)
{

	answer->reconnect = true;
	answer->reconnect_after_ms = RECONNECT_MS;
	inbound_count(call->in, "draining");
	answer_write(call, answer);
}

/* Returns the reason to send to the peer for an envelope for which the
 * transaction has decided ${reason}.  This is ${reason} itself, except for
 * ENVELOPE_UNKNOWN_RECIPIENT, because the peer may be guessing names: each
 * answer with that reason charges 1 to the rate limit INBOUND_UNKNOWN (of the
 * peer and, unless the peer is pinned, of all unpinned peers together).  If
 * this limit is used up, returns ENVELOPE_LIMITED instead and charges nothing,
 * so that the peer does not learn whether the name exists. */
static enum envelope_reason
reason_told(struct inbound_call *call, enum envelope_reason reason)
{
	struct inbound *in = call->in;
	const int64_t now_ms = clk_mono_ms(in->o.clk);

	if (reason != ENVELOPE_UNKNOWN_RECIPIENT)
		return (reason);
	if (inbound_limits_left(
		in->limits, &call->peer, now_ms, INBOUND_UNKNOWN) < 1)
		return (ENVELOPE_LIMITED);
	inbound_limits_charge(
	    in->limits, &call->peer, now_ms, INBOUND_UNKNOWN, 1);
	return (reason);
}

/* Reports to peer_clocks_hear() how far the peer's clock is off: by the time in
 * the heartbeat of the request, or, if the request has none, by the time at
 * which its signature was made.  Both were written just before the request was
 * sent, and a new nonce shows that the request is not an old copy.  Does
 * nothing if no user of the peer was known here and the request has added no
 * conversation, so that strangers cannot raise an alert. */
static void
hear_clock(const struct taking *t)
{
	const struct inbound_call *call = t->call;
	int64_t at_ms = t->request.control.heartbeat_at_ms;

	if (!t->unit.used && t->unit.made == 0)
		return;
	if (at_ms == 0)
		at_ms = call->signature.created_s * 1000;
	peer_clocks_hear(call->in->o.clocks, call->from,
	    peer_clocks_ahead_ms(at_ms, call->head_ms, call->head_ms));
}

static void
add_acks(struct taking *t)
{
	const struct receive_unit *u = &t->unit;
	enum envelope_reason reason;
	struct envelope_ack *ack;
	size_t i;

	for (i = 0; i < u->n; i++) {
		ack = &t->answer.acks[i];
		reason = reason_told(t->call, u->items[i].reason);
		envelope_ack_set(ack, &u->envelopes[i].event_id, reason);
		ack->duplicate =
		    u->items[i].duplicate && ack->status == ENVELOPE_ACCEPTED;
		ack->sequence = ack->duplicate ? u->items[i].sequence : 0;
		if (reason == ENVELOPE_LIMITED)
			ack->retry_after_ms = LIMITED_RETRY_MS;
	}
	t->answer.n = u->n;
}

static void
answer_taken(struct taking *t)
{
	const struct envelope_control *control = &t->request.control;
	struct inbound_call *call = t->call;
	struct inbound *in = call->in;
	struct envelope_answer *answer = &t->answer;

	hear_clock(t);
	add_acks(t);
	(void)snprintf(answer->epoch, sizeof(answer->epoch), "%s", in->o.epoch);
	if (control->heartbeat_at_ms != 0)
		answer->heartbeat_at_ms = clk_wall_ms(in->o.clk);
	if (control->ping.p != NULL)
		memcpy(answer->pong, control->ping.p, control->ping.n);
	inbound_count(in, "taken");
	if (t->unit.went_back > 0)
		log_event(LOG_EV_PEER_BACK, "peer=%s sequences=%zu", call->from,
		    t->unit.went_back);
	if (t->unit.made > 0)
		inbound_limits_charge(in->limits, &call->peer,
		    clk_mono_ms(in->o.clk), INBOUND_CONVERSATIONS,
		    (int64_t)t->unit.made);
	if (in->o.contact != NULL)
		in->o.contact(in->o.contact_arg, call->peer.destination_id,
		    t->request.n == 0 && control->nacks == 0);
	answer_write(call, answer);
}

/* ---- refusals ---- */

/* Answers with the refusal that belongs to ${rc}.  ${unit} is true if ${rc} is
 * the result of a unit of work, and false if it is that of submitting one or of
 * an allocation; this changes only the text for RC_BUSY.  A full disk is
 * reported as busy, because all that the peer can do is to wait.  An internal
 * error is logged. */
static void
refuse_rc(struct inbound_call *call, enum rc rc, bool unit)
{
	struct refusal r = REFUSAL_INIT;
	struct err err = ERR_INIT;

	if (unit)
		refusal_of_unit(&r, rc);
	else
		refusal_of_rc(&r, rc);
	if (r.problem == PROBLEM_STORAGE_FULL) {
		refusal_set(&r, PROBLEM_BUSY, "", "the server's disk is full");
		r.retry_after_s = LIMITED_RETRY_MS / 1000;
	}
	if (r.problem != PROBLEM_INTERNAL) {
		inbound_refuse(call, &r);
		return;
	}
	inbound_count(call->in, "other");
	(void)err_set(&err, rc, "receive: %s", rc_text(rc));
	http_answer_error(call->req, &err);
}

/* Called if an ack of the request came too early: this server has sent the
 * message and has not yet processed the answer to it, by which the peer has
 * promised the ack ("later").  Refuses the request with 503, so that the peer
 * repeats it after a second.  The accepted envelopes of this request and the
 * acks that were not too early are committed already; in the repeated request
 * the envelopes are recognised as duplicates, and those acks change nothing. */
static void
refuse_early(struct inbound_call *call)
{
	struct refusal r = REFUSAL_INIT;

	refusal_set(&r, PROBLEM_BUSY, "/control/acks",
	    "acks of messages whose answer is still on its way here; repeat "
	    "the request");
	r.retry_after_s = 1;
	inbound_refuse(call, &r);
}

/* ---- the unit ---- */

/* Thread: sync; writer if the unit was not committed. */
static void
on_settled(struct unit *unit)
{
	struct taking *t = CONTAINER_OF(unit, struct taking, promise.unit);

	if (unit->rc != RC_OK)
		refuse_rc(t->call, unit->rc, true);
	else if (t->promise.early > 0)
		refuse_early(t->call);
	else
		answer_taken(t);
	taking_free(t);
}

/* Submits the second unit, with the acks of the request: they settle messages
 * that this server has sent and the peer has answered with "later".  If the
 * writer does not take the unit (its queue is full, or it stops), refuses the
 * whole request and frees ${t}; the peer repeats the request, and its envelopes
 * are then recognised as duplicates.  Returns false if there are no acks: then
 * the caller still has to answer and to free ${t}.  After true it must not use
 * ${t}. */
static bool
settle_acks(struct taking *t)
{
	const struct envelope_control *control = &t->request.control;
	enum rc rc;

	if (control->nacks == 0)
		return (false);
	promise_unit_init(&t->promise);
	t->promise.origin_id = t->call->peer.destination_id;
	t->promise.acks = control->acks;
	t->promise.n = control->nacks;
	t->promise.unit.finish = on_settled;
	rc = writer_submit(t->call->in->o.writer, &t->promise.unit);
	if (rc == RC_OK)
		return (true);
	refuse_rc(t->call, rc, false);
	taking_free(t);
	return (true);
}

/* Refuses the request, because its transaction found that the key is no longer
 * valid, that an operator has blocked the peer, or that the peer was deleted
 * from the table of peers.  Nothing was written.  Removes the peer's entry,
 * which is outdated, from the directory (the peers in memory).  The caller
 * frees ${t}. */
static void
refuse_stranger(struct taking *t)
{
	struct inbound_call *call = t->call;

	directory_unknown(call->in->o.directory, call->from);
	if (t->unit.blocked)
		inbound_refuse_peer(call);
	else
		inbound_unknown_key(call);
	inbound_refuse(call, &call->refusal);
}

/* Thread: sync; writer if the unit was not committed. */
static void
on_finish(struct unit *unit)
{
	struct taking *t = CONTAINER_OF(unit, struct taking, unit.unit);

	if (unit->rc != RC_OK) {
		refuse_rc(t->call, unit->rc, true);
	} else if (t->unit.unknown || t->unit.blocked) {
		refuse_stranger(t);
	} else if (t->unit.repeated) {
		inbound_fault(t->call, SIGNATURE_REPEATED,
		    "a request with the nonce %s was taken already",
		    t->call->signature.nonce);
		inbound_refuse(t->call, &t->call->refusal);
	} else {
		if (settle_acks(t))
			return;
		answer_taken(t);
	}
	taking_free(t);
}

/* Renders the messages as their recipients will see them.  False: no memory. */
static bool
render(struct taking *t)
{
	const struct envelope *e;
	size_t i;

	for (i = 0; i < t->request.n; i++) {
		e = &t->request.envelopes[i];
		if (e->fault != ENVELOPE_NO_REASON || e->kind != EVENT_MESSAGE)
			continue;
		t->message[i] = wire_draft_fragment(&e->message);
		if (t->message[i] == NULL)
			return (false);
	}
	return (true);
}

static void
ask(struct taking *t, size_t body_len)
{
	struct inbound_call *call = t->call;
	struct inbound *in = call->in;
	struct receive_unit *u = &t->unit;
	const int64_t room = inbound_limits_left(in->limits, &call->peer,
	    clk_mono_ms(in->o.clk), INBOUND_CONVERSATIONS);

	receive_unit_init(u);
	u->domain = in->o.domain;
	u->origin = call->from;
	u->origin_id = call->peer.destination_id;
	u->key_id = call->signature.key_id;
	u->public = call->public;
	u->nonce = call->signature.nonce;
	u->nonce_until =
	    (call->signature.expires_s + SIGNATURE_SKEW_S + NONCE_SPARE_S) *
	    1000;
	u->envelopes = t->request.envelopes;
	u->n = t->request.n;
	u->message = t->message;
	u->full = in->o.disk_low != NULL && atomic_load(in->o.disk_low);
	u->new_most = room > 0 ? (size_t)room : 0;
	u->unit.bytes = sizeof(*t) + body_len;
	u->unit.finish = on_finish;
}

/* Submits the unit.  ${t} must not be used afterwards. */
static void
submit(struct taking *t, size_t body_len)
{
	struct inbound_call *call = t->call;
	enum rc rc = RC_NO_MEMORY;

	ask(t, body_len);
	if (render(t))
		rc = writer_submit(call->in->o.writer, &t->unit.unit);
	if (rc == RC_OK)
		return;
	taking_free(t);
	refuse_rc(call, rc, false);
}

/* ---- the body ---- */

static bool
digest_holds(struct inbound_call *call)
{
	uint8_t hash[SIGN_SHA256_SIZE];

	sign_sha256_final(&call->hash, hash);
	if (memcmp(hash, call->digest, sizeof(hash)) == 0)
		return (true);
	inbound_fault(call, SIGNATURE_DIGEST,
	    "Content-Digest is not that of the body that came");
	return (false);
}

/* Parses the body.  False: the request was refused and answered. */
static bool
read_body(struct taking *t, const char *body, size_t n)
{
	struct inbound_call *call = t->call;
	struct refusal r = REFUSAL_INIT;
	enum rc rc;

	rc = wire_parse(body, n, &t->doc, &r);
	if (rc == RC_OK)
		rc = wire_request_read(&t->doc, &t->request, &r);
	if (rc == RC_OK)
		return (true);
	if (rc == RC_NO_MEMORY)
		refuse_rc(call, rc, false);
	else
		inbound_refuse(call, &r);
	return (false);
}

static void
charge(struct inbound_call *call, enum inbound_limit what, size_t n)
{

	inbound_limits_charge(call->in->limits, &call->peer,
	    clk_mono_ms(call->in->o.clk), what, (int64_t)n);
}

void
inbound_take(struct inbound_call *call)
{
	struct inbound *in = call->in;
	struct taking *t;
	const char *body;
	size_t n;

	body = http_body(call->req, &n);
	charge(call, INBOUND_BYTES, n);
	metrics_add_by(
	    in->o.metrics, METRIC_BY_FEDERATION_BYTES, "in", (int64_t)n);
	/* Check the times again: the body may have arrived slowly. */
	if (!digest_holds(call) || !inbound_timely(call)) {
		inbound_refuse(call, &call->refusal);
		return;
	}
	if ((t = mem_zalloc(1, sizeof(*t))) == NULL) {
		refuse_rc(call, RC_NO_MEMORY, false);
		return;
	}
	t->call = call;
	if (atomic_load(&in->draining)) {
		answer_reconnect(call, &t->answer);
		taking_free(t);
		return;
	}
	if (!read_body(t, body, n)) {
		taking_free(t);
		return;
	}
	charge(call, INBOUND_ENVELOPES, t->request.n);
	submit(t, n);
}
