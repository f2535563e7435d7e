/* SPDX-License-Identifier: MIT */
/*
 * Sends a parcel to another server, the peer, in signed HTTP requests.  The
 * items of a parcel are messages and receipts for one destination; a parcel
 * without items is a heartbeat.  One request is enough, with three exceptions.
 * The peer may accept fewer items or bytes in a request than the parcel has.
 * The peer may refuse a request as a whole; then its items are sent in smaller
 * requests to find the bad one.  Or the same items must be sent once more, with
 * a new signature (CLASSIFY_SIGN_ANEW) or because the peer was restored
 * (ask_again()).
 *
 * The requests of a parcel are sent one after the other.  When the answer to a
 * request neither accepts nor rejects an item, the items of its lane (one
 * conversation to one recipient) that have not been sent yet wait for a later
 * parcel, so that they do not overtake it.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/container.h"
#include "base/mem.h"
#include "crypt/crypt.h"
#include "federation/classify.h"
#include "federation/outbound_internal.h"
#include "federation/transfer_sign.h"
#include "log/log.h"
#include "wire/envelope.h"

/* After a failure of this server itself, the destination is parked this
 * long. */
#define OURS_AGAIN_MS 2000

static void next_request(struct carry *c);

/* ---- the end ---- */

/* Removes ${c} from outbound.carries, if it is there. */
static void
unlist(struct carry *c)
{

	if (c->listed)
		TAILQ_REMOVE(&c->outbound->carries, c, entry);
	c->listed = false;
}

static void
end(struct carry *c)
{
	struct parcel *parcel = c->parcel;
	struct outbound *o = c->outbound;

	unlist(c);
	transfer_fini(&c->transfer, o->multi);
	buf_fini(&c->body);
	mem_free(c);
	parcel->finish(parcel);
}

/* Ends the sending, for the reason ${why}, although items or the heartbeat have
 * no answer: hands the parcel back (parcel.finish) and frees ${c}.  Items that
 * got an answer to an earlier request keep it.  The other items are sent again
 * later, in another parcel, and this attempt does not count as one of their
 * retries.  ${status}: the HTTP status; 0: none. */
static void
fail(struct carry *c, int status, const char *why)
{
	struct parcel *p = c->parcel;
	size_t i;

	p->status = status;
	(void)snprintf(p->error, sizeof(p->error), "%s", why);
	p->reached = p->broke = c->nanswered > 0;
	for (i = 0; i < p->n && p->reached; i++)
		if (!c->answered[i])
			p->items[i].answer = ANSWER_PREDECESSOR;
	end(c);
}

void
carry_fail(struct carry *c, const char *why)
{

	fail(c, 0, why);
}

void
carry_fail_here(struct carry *c, const char *why)
{

	c->parcel->park_ms = OURS_AGAIN_MS;
	fail(c, 0, why);
}

/* ---- answers ---- */

static void
answer(struct carry *c, size_t i, enum answer answer, const char *error)
{
	struct parcel_item *item = &c->parcel->items[i];

	if (c->answered[i])
		return;
	item->answer = answer;
	(void)snprintf(item->error, sizeof(item->error), "%s", error);
	c->answered[i] = true;
	c->nanswered++;
}

static bool
is_reason(const struct envelope_ack *ack, enum envelope_reason reason)
{

	return (strcmp(ack->reason, envelope_reason_word(reason)) == 0);
}

static enum answer
answer_of(const struct envelope_ack *ack)
{

	switch (ack->status) {
	case ENVELOPE_ACCEPTED:
		return (ANSWER_ACCEPTED);
	case ENVELOPE_LATER:
		return (ANSWER_LATER);
	case ENVELOPE_REJECTED:
		return (is_reason(ack, ENVELOPE_TOO_LARGE) ? ANSWER_TOO_LARGE
							   : ANSWER_REJECTED);
	case ENVELOPE_RETRYABLE:
		return (is_reason(ack, ENVELOPE_PREDECESSOR)
			    ? ANSWER_PREDECESSOR
			    : ANSWER_RETRYABLE);
	case ENVELOPE_NO_ANSWER:
	case ENVELOPE_STATUSES:
	default:
		return (ANSWER_NONE);
	}
}

/* The peer has neither accepted nor rejected item ${at}.  Gives
 * ANSWER_PREDECESSOR to the later items of its lane that have no answer yet, so
 * that they wait for item ${at}. */
static void
hold_lane(struct carry *c, size_t at)
{
	struct parcel *p = c->parcel;
	size_t i;

	for (i = at + 1; i < p->n; i++)
		if (p->items[i].row.lane_id == p->items[at].row.lane_id)
			answer(c, i, ANSWER_PREDECESSOR, "");
}

static bool
is_taken(enum answer answer)
{

	return (answer == ANSWER_ACCEPTED || answer == ANSWER_LATER ||
		answer == ANSWER_REJECTED || answer == ANSWER_TOO_LARGE);
}

static void
take_acks(struct carry *c, const struct envelope_answer *a)
{
	const struct envelope_ack *ack;
	struct parcel_item *item;
	size_t i;

	for (i = 0; i < c->nsent; i++) {
		ack = &a->acks[i];
		item = &c->parcel->items[c->sent[i]];
		answer(c, c->sent[i], answer_of(ack), ack->reason);
		item->duplicate = ack->duplicate;
		item->taken_seq = ack->sequence;
		item->retry_after_ms = ack->retry_after_ms;
	}
	for (i = 0; i < c->nsent; i++)
		if (!is_taken(c->parcel->items[c->sent[i]].answer))
			hold_lane(c, c->sent[i]);
}

/* ---- what came back ---- */

/* The parsed answer of a peer. */
struct outcome {
	bool no_memory; /* this server had none for the answer */
	struct classify_outcome is;
	struct envelope_answer answer;
};

static void
read_outcome(struct carry *c, struct outcome *o)
{
	const struct transfer *t = &c->transfer;
	struct refusal refusal = REFUSAL_INIT;
	struct uuid ids[PARCEL_ITEMS];
	char value[TRANSFER_HEADER_SIZE];
	enum rc rc;
	size_t i;

	memset(o, 0, sizeof(*o));
	o->is.transport = t->transport;
	o->is.status = t->status;
	o->is.envelopes = c->nsent;
	o->is.signed_anew = c->signed_anew;
	o->is.retry_after_ms = CLASSIFY_NO_WAIT;
	o->no_memory = t->no_memory;
	if (t->transport != CLASSIFY_ANSWERED)
		return;
	if (t->status == 200 || t->status == 202) {
		for (i = 0; i < c->nsent; i++)
			ids[i] = c->parcel->items[c->sent[i]].row.event_id;
		rc = wire_answer_read(t->answer.data, t->answer.len, ids,
		    c->nsent, &o->answer, &refusal);
		o->is.read = rc == RC_OK;
		o->no_memory = rc == RC_NO_MEMORY;
		o->is.reconnect = o->answer.reconnect;
		o->is.reconnect_after_ms = o->answer.reconnect_after_ms;
		return;
	}
	if (transfer_answer_header(t, "Retry-After", value))
		o->is.retry_after_ms = classify_retry_after_ms(
		    value, clk_wall_ms(c->outbound->o.clk));
	if (transfer_answer_header(t, "Content-Type", value))
		o->is.problem =
		    classify_problem_read(value, t->answer.data, t->answer.len);
}

/* Passes to peer_clocks_hear() how far the peer's clock is off.  Takes the time
 * of the heartbeat in the answer, which the peer's own software wrote.  If the
 * answer has no heartbeat, takes the header Date, which may come from a proxy.
 * Does nothing if there is no answer, or if the answer has neither time. */
static void
hear_clock(const struct carry *c, const struct outcome *o)
{
	const struct outbound_options *options = &c->outbound->o;
	char value[TRANSFER_HEADER_SIZE];
	int64_t at_ms = o->answer.heartbeat_at_ms;

	if (c->transfer.transport != CLASSIFY_ANSWERED)
		return;
	if (at_ms == 0 &&
	    (!transfer_answer_header(&c->transfer, "Date", value) ||
		!classify_date_read(value, &at_ms)))
		return;
	peer_clocks_hear(options->clocks, c->parcel->name,
	    peer_clocks_ahead_ms(at_ms, c->sent_ms, clk_wall_ms(options->clk)));
}

/* Writes why the peer was not reached, for operators. */
static void
explain(const struct carry *c, const struct outcome *o, char *ret, size_t size)
{
	const struct transfer *t = &c->transfer;

	if (t->transport != CLASSIFY_ANSWERED)
		(void)snprintf(ret, size, "%s%s%.180s",
		    classify_transport_words(t->transport),
		    t->error[0] != '\0' ? ": " : "", t->error);
	else if (t->status == 200 || t->status == 202)
		(void)snprintf(ret, size,
		    "HTTP %d, but not an answer of this "
		    "protocol",
		    t->status);
	else
		(void)snprintf(ret, size, "HTTP %d", o->is.status);
}

/* Marks this server's copy of the peer's document (/.well-known/twinbox) as
 * stale if the answer suggests that the document has changed.  That is an
 * answer with another epoch than the copy (if both have one), or with a status
 * that an outdated URL would give: 300 to 499, except 429.  503 key-unknown
 * does not count, because its cause is the key of this server. */
static void
look_stale(struct carry *c, const struct outcome *o)
{
	const char *epoch = o->answer.epoch;

	if (o->is.read ? epoch[0] != '\0' && c->contact.epoch[0] != '\0' &&
			     strcmp(epoch, c->contact.epoch) != 0
		       : o->is.status >= 300 && o->is.status < 500 &&
			     o->is.status != 429)
		directory_stale(c->outbound->directory, c->parcel->name);
}

static void
charge(struct carry *c, const struct outcome *o, bool alert)
{
	char why[PARCEL_ERROR_SIZE];

	explain(c, o, why, sizeof(why));
	if (alert)
		log_event(LOG_EV_PEER_ANSWER, "domain=%s why=%s",
		    c->parcel->name, why);
	fail(c, c->transfer.status, why);
}

static void
park(struct carry *c, const struct outcome *o, const struct classify_verdict *v)
{
	char why[PARCEL_ERROR_SIZE];

	if (o->is.reconnect)
		(void)snprintf(why, sizeof(why), "it asks to come back later");
	else
		(void)snprintf(why, sizeof(why),
		    "HTTP %d: it asks to come back later", o->is.status);
	c->parcel->park_ms = v->park_ms;
	fail(c, c->transfer.status, why);
}

static void
reject(struct carry *c, enum envelope_reason reason)
{

	assert(c->nsent == 1);
	answer(c, c->sent[0],
	    reason == ENVELOPE_TOO_LARGE ? ANSWER_TOO_LARGE : ANSWER_REJECTED,
	    envelope_reason_word(reason));
	c->most = PARCEL_ITEMS;
	c->signed_anew = false;
	next_request(c);
}

/* Called when the answer came from the peer before the peer was restored from a
 * backup (directory_epoch_past()), so the items that it accepted may be lost
 * there.  Ignores the answer and sends the items of the request again, now by
 * the peer's newer document; the peer recognises the items that it still
 * has. */
static void
ask_again(struct carry *c)
{

	c->signed_anew = c->looked_up = false;
	carry_go_on(c, NULL);
}

static void
come_back(struct transfer *t)
{
	struct carry *c = CONTAINER_OF(t, struct carry, transfer);
	struct classify_verdict v;
	struct outcome o;

	read_outcome(c, &o);
	if (o.no_memory) {
		/* The answer could not be read.  The peer may have accepted the
		 * items; it recognises them when they are sent again in a later
		 * parcel. */
		carry_fail_here(c, "out of memory while its answer was read");
		return;
	}
	v = classify(&o.is);
	metrics_add_by(c->outbound->o.metrics, METRIC_BY_FEDERATION_OUT,
	    classify_word(v.class), 1);
	hear_clock(c, &o);
	if (o.is.read && directory_epoch_past(c->outbound->directory,
			     c->parcel->name, &c->contact, o.answer.epoch)) {
		ask_again(c);
		return;
	}
	look_stale(c, &o);
	switch (v.class) {
	case CLASSIFY_SETTLE:
		take_acks(c, &o.answer);
		c->heartbeat_answered = c->nsent == 0;
		c->most = PARCEL_ITEMS;
		c->signed_anew = false;
		next_request(c);
		break;
	case CLASSIFY_SIGN_ANEW:
		c->signed_anew = true;
		next_request(c);
		break;
	case CLASSIFY_HALVE:
		c->most = c->nsent / 2;
		c->signed_anew = false;
		next_request(c);
		break;
	case CLASSIFY_REJECT:
		reject(c, v.reason);
		break;
	case CLASSIFY_PARK:
		park(c, &o, &v);
		break;
	case CLASSIFY_CHARGE_ALERT:
		charge(c, &o, true);
		break;
	case CLASSIFY_CHARGE:
	case CLASSIFY_CLASSES:
	default:
		charge(c, &o, false);
		break;
	}
}

/* ---- a request ---- */

/* Writes the body of the next request, and the numbers of its items to c->sent.
 * These are the first items that have no answer yet, in order, up to the peer's
 * limits of items and bytes and up to c->most, but at least one.  If the parcel
 * has no items, writes a heartbeat.  Fails only with RC_NO_MEMORY. */
static enum rc
write_body(struct carry *c)
{
	char from[LIMIT_ADDRESS_LEN + 1];
	const struct parcel *p = c->parcel;
	struct envelope_control control = {.nacks = 0};
	struct wire_request q;
	struct envelope e;
	enum rc rc = RC_OK;
	size_t i, most = c->contact.items;

	if (most > c->most)
		most = c->most;
	c->nsent = 0;
	buf_reset(&c->body);
	if (p->n == 0)
		control.heartbeat_at_ms = clk_wall_ms(c->outbound->o.clk);
	wire_request_begin(
	    &q, &c->body, most, c->contact.bytes, p->n == 0 ? &control : NULL);
	for (i = 0; i < p->n && rc == RC_OK; i++) {
		if (c->answered[i])
			continue;
		parcel_envelope(p, i, c->outbound->o.policy->domain, from, &e);
		rc = wire_request_add(&q, &e);
		if (rc == RC_OK)
			c->sent[c->nsent++] = i;
	}
	if (rc == RC_OK || rc == RC_LIMIT)
		rc = wire_request_end(&q);
	return (rc);
}

/* Signs the body. */
static enum rc
sign(struct carry *c, struct err *err)
{
	struct outbound *o = c->outbound;
	const struct transfer_signed signed_by = {.from = o->o.policy->domain,
	    .to = c->parcel->name,
	    .authority = c->contact.authority,
	    .now_s = clk_wall_ms(o->o.clk) / 1000,
	    .rnd = o->o.rnd};
	struct keyring_signer key;
	enum rc rc;

	if (!keyring_signer(o->o.keyring, &key))
		return (err_set(err, RC_NOT_FOUND,
		    "this server has no key that signs: twinboxd keys rotate"));
	rc = transfer_sign(&c->transfer, &signed_by, &key, err);
	crypt_wipe(&key, sizeof(key));
	return (rc);
}

static enum rc
begin(struct carry *c, struct err *err)
{
	struct outbound *o = c->outbound;
	struct transfer *t = &c->transfer;
	enum rc rc;

	transfer_fini(t, o->multi);
	rc = write_body(c);
	if (rc != RC_OK)
		return (err_set(err, rc, "a request"));
	c->parcel->requests_most = c->contact.requests;
	t->url = c->contact.deliver;
	t->allowed = outbound_allowed(o, c->parcel->name, &t->http);
	t->authorities = o->o.authorities;
	t->body = &c->body;
	t->timeout_ms = c->until_ms - clk_mono_ms(o->o.clk);
	/* libcurl takes 0 for no time-out. */
	if (t->timeout_ms < 1)
		t->timeout_ms = 1;
	t->limit = ENVELOPE_ANSWER_LEN;
	t->done = come_back;
	metrics_add_by(o->o.metrics, METRIC_BY_FEDERATION_BYTES, "out",
	    (int64_t)c->body.len);
	c->sent_ms = clk_wall_ms(o->o.clk);
	rc = sign(c, err);
	return (rc == RC_OK ? transfer_begin(t, outbound_multi(o), err) : rc);
}

/* Sends the next request, or ends if all items have answers. */
static void
next_request(struct carry *c)
{
	struct err err = ERR_INIT;

	if (c->parcel->n > 0 ? c->nanswered == c->parcel->n
			     : c->heartbeat_answered) {
		c->parcel->reached = true;
		c->parcel->status = c->transfer.status;
		end(c);
		return;
	}
	if (clk_mono_ms(c->outbound->o.clk) >= c->until_ms)
		carry_fail(c, classify_transport_words(CLASSIFY_TIME_OUT));
	else if (begin(c, &err) != RC_OK)
		carry_fail_here(c, err.text);
}

/* ---- begin ---- */

void
carry_go_on(struct carry *c, const char *why)
{
	struct outbound *o = c->outbound;

	switch (directory_contact(o->directory, c->parcel->name, &c->contact)) {
	case DIRECTORY_OPEN_WAY:
		if (!c->listed)
			TAILQ_INSERT_TAIL(&o->carries, c, entry);
		c->listed = true;
		next_request(c);
		break;
	case DIRECTORY_NO_WAY:
		if (c->looked_up) {
			carry_fail(c, why != NULL ? why : "no document");
			break;
		}
		c->looked_up = true;
		/* ask_again() comes here with a carry that is listed. */
		unlist(c);
		lookup_for(o, c);
		break;
	case DIRECTORY_CLOSED_WAY:
	default:
		carry_fail(c, "this server is set not to deliver to it");
		break;
	}
}

static void
run(struct outbound *o, struct outbound_job *job)
{
	struct carry *c = CONTAINER_OF(job, struct carry, job);

	if (atomic_load(&o->stopping))
		carry_fail_here(c, "we are stopping");
	else
		carry_go_on(c, NULL);
}

static void
refuse(struct parcel *parcel, const char *why)
{

	parcel->reached = false;
	parcel->park_ms = OURS_AGAIN_MS;
	(void)snprintf(parcel->error, sizeof(parcel->error), "%s", why);
	parcel->finish(parcel);
}

void
carry_send(void *arg, struct parcel *parcel)
{
	struct outbound *o = arg;
	struct carry *c;

	if ((c = mem_zalloc(1, sizeof(*c))) == NULL) {
		refuse(parcel, "out of memory");
		return;
	}
	c->outbound = o;
	c->parcel = parcel;
	c->most = PARCEL_ITEMS;
	c->until_ms = clk_mono_ms(o->o.clk) + parcel->timeout_ms;
	c->job.run = run;
	if (outbound_post(o, &c->job) == RC_OK)
		return;
	mem_free(c);
	refuse(parcel, "we are stopping");
}

void
carry_stop(struct outbound *o)
{
	struct carry *c;

	while ((c = TAILQ_FIRST(&o->carries)) != NULL)
		carry_fail_here(c, "we are stopping");
}
