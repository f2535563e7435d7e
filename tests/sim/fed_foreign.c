/* SPDX-License-Identifier: MIT */
/*
 * The hostile peer as a server that receives messages: another program, which
 * behaves in ways that twinbox never does.  It answers 202 for a part of a
 * request and settles that part by acks in a later request of its own, or it
 * asks the sender to come back later.  See fed.h.
 *
 * Its inbox and its opinion of each event are those of a simulated peer
 * (peer.c).  Some of its acks come before the 202, some twice, some too late or
 * never.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sim/fed_internal.h"
#include "sim/server.h"

/* Longer than a row waits for an ack. */
#define TOO_LATE_MS (2 * SIM_MINUTE_MS)

/* Acks that will be sent. */
struct acks {
	struct envelope_control control;
	bool again;
};

/* ---- acks of a later request ---- */

static void
send_acks(struct sim *s, void *arg, int64_t n)
{
	const struct fed_key *key = &s->w->fed->keys[SIM_SERVERS];
	struct acks *acks = arg;
	struct wire_request q;
	struct post *p;

	(void)n;
	/* A shortage of memory on the server does not affect the hostile
	 * peer. */
	mem_fail_at(0);
	p = fed_post_new(s->w, FED_HOSTILE_DOMAIN, s->domain);
	wire_request_begin(
	    &q, &p->body, ENVELOPE_ITEMS, ENVELOPE_REQUEST_LEN, &acks->control);
	if (wire_request_end(&q) != RC_OK)
		assert(!"acks of the hostile peer");
	fed_post_sign(s, p, key, key->id);
	if (sim_chance(s, s->weather.lost))
		s->counts.lost_asks++;
	else
		fed_arrives(s, p, NULL, sim_delay(s));
	if (acks->again) {
		acks->again = false;
		sim_after(s, sim_delay(s), send_acks, acks, 0);
	} else {
		free(acks);
	}
}

/* Draws the final status of an event that was answered with "later". */
static void
draw_ack(struct sim *s, const struct uuid *event_id, struct envelope_ack *ret)
{

	envelope_ack_set(ret, event_id,
	    sim_chance(s, 250)  ? ENVELOPE_BUSY
	    : sim_chance(s, 80) ? ENVELOPE_UNSUPPORTED
				: ENVELOPE_NO_REASON);
	if (ret->status == ENVELOPE_REJECTED)
		peer_rejects(s, SIM_HOSTILE, event_id);
	if (ret->status == ENVELOPE_RETRYABLE)
		ret->retry_after_ms = (int64_t)sim_dice(s, 5000);
}

/* Schedules the acks for all items of ${c} that are answered with "later", in
 * one request. */
static void
promise(struct sim *s, const struct cargo *c)
{
	struct acks *acks = calloc(1, sizeof(*acks));
	struct envelope_control *control;
	int64_t ms;
	size_t i;

	assert(acks != NULL);
	control = &acks->control;
	for (i = 0; i < c->n; i++) {
		if (c->items[i].verdict != VERDICT_LATER)
			continue;
		s->counts.promised++;
		if (sim_chance(s, 750))
			draw_ack(s, &c->items[i].event_id,
			    &control->acks[control->nacks++]);
	}
	if (control->nacks == 0) {
		free(acks);
		return;
	}
	acks->again = sim_chance(s, 300);
	ms = sim_chance(s, 200)   ? 0
	     : sim_chance(s, 100) ? TOO_LATE_MS
				  : 50 + 3 * sim_delay(s);
	sim_after(s, ms, send_acks, acks, 0);
}

/* ---- a request ---- */

static void
answer(struct sim *s, struct cargo *c, const struct cargo *heard)
{
	static const enum envelope_reason reasons[] = {
	    [VERDICT_NONE] = ENVELOPE_NO_REASON,
	    [VERDICT_TAKEN] = ENVELOPE_NO_REASON,
	    [VERDICT_LATER] = ENVELOPE_NO_REASON,
	    [VERDICT_RETRY] = ENVELOPE_BUSY,
	    [VERDICT_PREDECESSOR] = ENVELOPE_PREDECESSOR,
	    [VERDICT_REJECTED] = ENVELOPE_UNSUPPORTED,
	    [VERDICT_TOO_LARGE] = ENVELOPE_TOO_LARGE};
	struct envelope_answer a;
	struct envelope_ack *ack;
	struct reply *r;
	bool later = false;
	size_t i;

	memset(&a, 0, sizeof(a));
	a.n = heard->n;
	for (i = 0; i < heard->n; i++) {
		ack = &a.acks[i];
		envelope_ack_set(ack, &heard->items[i].event_id,
		    reasons[heard->items[i].verdict]);
		ack->duplicate = heard->items[i].duplicate;
		if (heard->items[i].verdict == VERDICT_NONE)
			ack->status = ENVELOPE_NO_ANSWER;
		if (heard->items[i].verdict == VERDICT_LATER) {
			ack->status = ENVELOPE_LATER;
			later = true;
		}
	}
	/* It acks an event that was never sent to it. */
	if (sim_chance(s, s->weather.garble)) {
		peer_forgets(s, SIM_HOSTILE, &a.acks[0].event_id);
		a.acks[0].event_id = uuid_gen_next(&s->ids);
	}
	if (sim_chance(s, s->weather.lost)) {
		s->counts.lost_answers++;
		return;
	}
	r = fed_reply_new(c, later ? 202 : 200);
	r->type = FED_TYPE;
	wire_answer_write(&r->body, &a);
	fed_reply_send(r, sim_delay(s));
}

static void
ask_to_come_back(struct sim *s, struct cargo *c)
{
	struct envelope_answer a;
	struct reply *r;

	memset(&a, 0, sizeof(a));
	a.reconnect = true;
	a.reconnect_after_ms =
	    (int64_t)sim_dice(s, sim_chance(s, 100) ? 2 * SIM_HOUR_MS : 5000);
	r = fed_reply_new(c, 200);
	r->type = FED_TYPE;
	wire_answer_write(&r->body, &a);
	fed_reply_send(r, sim_delay(s));
}

/* ${n} is 1 for a copy of the request, whose answer is lost. */
static void
hears(struct sim *s, void *arg, int64_t n)
{
	struct cargo *c = arg, heard = *c;

	mem_fail_at(0);
	if (n == 0 && sim_chance(s, s->weather.later / 2)) {
		ask_to_come_back(s, c);
		return;
	}
	if (!peer_receive(s, &heard))
		return;
	promise(s, &heard);
	if (n == 0)
		answer(s, c, &heard);
}

void
fed_foreign_hears(struct sim *s, struct cargo *c)
{

	s->counts.requests++;
	if (sim_chance(s, s->weather.lost)) {
		s->counts.lost_asks++;
		return;
	}
	sim_after(s, sim_delay(s), hears, c, 0);
	if (!sim_chance(s, s->weather.twice))
		return;
	s->counts.twice++;
	sim_after(s, sim_delay(s) + sim_delay(s), hears, c, 1);
}
