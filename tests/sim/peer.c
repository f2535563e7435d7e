/* SPDX-License-Identifier: MIT */
/*
 * Simulated peers.  See peer.h.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sim/admin.h"
#include "sim/fed.h"
#include "sim/heart.h"
#include "sim/peer.h"
#include "sim/server.h"

/* The relay's lease if the setup gives none.  It begins with the claim, a
 * moment before the parcel leaves. */
#define LEASE_MS 60000
#define MOMENT_MS 1000
/* With its renewals a lease lasts three times as long, and a little more. */
#define LEASES_HELD 3
/* Unless it has a defect, the circuit breaker lets fewer than 80 parcels
 * through in an outage of four hours, even when the server is restarted again
 * and again. */
#define KNOCKS 80

/* ---- the memory of a peer ---- */

static bool
knows(const struct peer *p, const struct uuid *event_id)
{
	size_t i;

	for (i = 0; i < p->nknown; i++)
		if (uuid_equal(&p->known[i], event_id))
			return (true);
	return (false);
}

size_t
peer_has(const struct sim *s, int peer, const struct uuid *event_id)
{
	const struct peer *p = &s->peers[peer];
	size_t i, n;

	for (i = n = 0; i < p->ninbox; i++)
		n += uuid_equal(&p->inbox[i].event_id, event_id);
	return (n);
}

/* Returns the peer's opinion of an event, which is drawn at the first
 * meeting. */
static struct refused *
opinion(struct sim *s, struct peer *p, const struct uuid *event_id)
{
	struct refused *r;
	size_t i;

	for (i = 0; i < p->nrefused; i++)
		if (uuid_equal(&p->refused[i].event_id, event_id))
			return (&p->refused[i]);
	assert(p->nrefused < PEER_TAKEN);
	r = &p->refused[p->nrefused++];
	memset(r, 0, sizeof(*r));
	r->event_id = *event_id;
	if (sim_chance(s, s->weather.refuse)) {
		r->left = sim_chance(s, 150) ? 1000 : (unsigned)sim_dice(s, 4);
		r->rejects = sim_chance(s, 350);
		r->too_large = sim_chance(s, 300);
	}
	r->later = sim_chance(s, s->weather.later);
	r->poison = sim_chance(s, s->weather.poison);
	return (r);
}

void
peer_rejects(struct sim *s, int peer, const struct uuid *event_id)
{

	opinion(s, &s->peers[peer], event_id)->rejected = true;
}

void
peer_forgets(struct sim *s, int peer, const struct uuid *event_id)
{

	opinion(s, &s->peers[peer], event_id)->times++;
}

const struct refused *
peer_refused(const struct sim *s, int peer, const struct uuid *event_id)
{
	const struct peer *p = &s->peers[peer];
	size_t i;

	for (i = 0; i < p->nrefused; i++)
		if (uuid_equal(&p->refused[i].event_id, event_id))
			return (&p->refused[i]);
	return (NULL);
}

/* ---- one transaction of a peer ---- */

static void
take(struct peer *p, const struct cargo_item *i, bool dedup)
{

	assert(p->ninbox < PEER_TAKEN && p->nknown < PEER_TAKEN);
	p->inbox[p->ninbox++] = (struct taken){i->event_id, i->mid,
	    i->sender_id, i->conversation_seq, i->outbox_id};
	if (dedup)
		p->known[p->nknown++] = i->event_id;
}

/* Returns true if an item before ${k} in its lane was refused for now. */
static bool
held_back(const struct cargo *c, size_t k)
{
	size_t i;

	for (i = 0; i < k; i++)
		if (c->items[i].lane_id == c->items[k].lane_id &&
		    (c->items[i].verdict == VERDICT_RETRY ||
			c->items[i].verdict == VERDICT_NONE ||
			c->items[i].verdict == VERDICT_PREDECESSOR))
			return (true);
	return (false);
}

/* Returns true if a careless peer refuses ${i}, too, for now.  In no case does
 * it take ${i}: order is kept. */
static bool
refuses_behind(struct sim *s, struct peer *p, const struct cargo_item *i)
{
	struct refused *r;

	if (!p->careless || knows(p, &i->event_id))
		return (false);
	r = opinion(s, p, &i->event_id);
	/* The reason of one refusal may hold for the next message. */
	if (r->left == 0 && sim_chance(s, 500))
		r->left = 1 + (unsigned)sim_dice(s, 2);
	return (r->left > 0);
}

static enum verdict
judge(struct sim *s, struct peer *p, struct cargo *c, size_t k)
{
	struct cargo_item *i = &c->items[k];
	struct refused *r;

	if (held_back(c, k) && !refuses_behind(s, p, i))
		return (VERDICT_PREDECESSOR);
	i->duplicate = knows(p, &i->event_id);
	if (i->duplicate) {
		s->counts.duplicates++;
		return (VERDICT_TAKEN);
	}
	r = opinion(s, p, &i->event_id);
	if (r->left > 0) {
		r->left--;
		r->times++;
		s->counts.retryable++;
		return (sim_chance(s, 100) ? VERDICT_NONE : VERDICT_RETRY);
	}
	if (r->rejects) {
		r->rejected = true;
		s->counts.rejected++;
		return (r->too_large ? VERDICT_TOO_LARGE : VERDICT_REJECTED);
	}
	r->times += r->later;
	return (r->later ? VERDICT_LATER : VERDICT_TAKEN);
}

/* The message that was answered with "later" is acked. */
static void
confirm(struct sim *s, void *arg, int64_t n)
{

	(void)arg;
	admin_confirm(s, n);
}

bool
peer_receive(struct sim *s, struct cargo *c)
{
	struct peer *p = &s->peers[c->peer];
	bool dies, late_dedup;
	size_t i;

	dies = sim_chance(s, s->weather.peer_crash);
	if (dies && sim_chance(s, 500)) {
		s->counts.peer_crashes++;
		sim_tell(s, "peer %d: dies before its commit", c->peer);
		return (false);
	}
	late_dedup = sim_is_broken(s, "dedup");
	for (i = 0; i < c->n; i++) {
		c->items[i].verdict = judge(s, p, c, i);
		if ((c->items[i].verdict == VERDICT_TAKEN ||
			c->items[i].verdict == VERDICT_LATER) &&
		    !knows(p, &c->items[i].event_id)) {
			s->counts.taken++;
			take(p, &c->items[i], !late_dedup || !dies);
			if (c->items[i].verdict == VERDICT_LATER &&
			    s->w->fed == NULL && sim_chance(s, 700))
				sim_after(s, 5 * sim_delay(s), confirm, NULL,
				    c->items[i].outbox_id);
		}
	}
	if (dies) {
		s->counts.peer_crashes++;
		sim_tell(s, "peer %d: dies after its commit", c->peer);
	}
	return (!dies);
}

/* ---- the network ---- */

static void
comes_back(struct sim *s, void *arg, int64_t n)
{
	struct cargo *c = arg;

	(void)n;
	if (c->answered || !s->server->up ||
	    c->incarnation != s->server->incarnation)
		return;
	c->answered = true;
	heart_answer(s, c);
}

static int64_t
lease_of(const struct sim *s)
{

	return (s->setup.lease_ms != 0 ? s->setup.lease_ms : LEASE_MS);
}

static int64_t
way_back(struct sim *s)
{

	if (!sim_chance(s, s->weather.slow))
		return (sim_delay(s));
	s->counts.late_answers++;
	return ((int64_t)sim_dice(s, 4 * SIM_MINUTE_MS));
}

static void
gone(struct sim *s, struct cargo *c)
{

	if (c->answered)
		return;
	c->answer = CARGO_GONE;
	sim_after(s, way_back(s), comes_back, c, 0);
}

/* Returns true if the peer chokes on the parcel: it does not answer for as long
 * as a lease lasts. */
static bool
chokes(struct sim *s, struct cargo *c)
{
	struct peer *p = &s->peers[c->peer];
	size_t i;

	for (i = 0; i < c->n; i++)
		if (!knows(p, &c->items[i].event_id) &&
		    opinion(s, p, &c->items[i].event_id)->poison)
			break;
	if (i == c->n)
		return (false);
	s->counts.choked++;
	c->answer = CARGO_GONE;
	sim_after(s, (LEASES_HELD + 1) * lease_of(s), comes_back, c, 0);
	return (true);
}

static void
reaches(struct sim *s, void *arg, int64_t n)
{
	struct cargo *c = arg;
	struct peer *p = &s->peers[c->peer];
	struct cargo copy;

	if (n != 0) {
		/* A second copy: its answer goes nowhere. */
		copy = *c;
		(void)peer_receive(s, &copy);
		return;
	}
	if (sim_now(s) < p->gone_until) {
		s->counts.unavailable++;
		if (++p->knocks > KNOCKS)
			sim_bad(s, "peer %d is gone, and was sent %d parcels",
			    c->peer, p->knocks);
		c->answer = p->gone_as;
		c->retry_after_ms =
		    p->gone_as == CARGO_BUSY ? (int64_t)sim_dice(s, 30000) : 0;
		sim_after(s, way_back(s), comes_back, c, 0);
		return;
	}
	if (chokes(s, c))
		return;
	if (!peer_receive(s, c)) {
		gone(s, c);
		return;
	}
	c->answer = CARGO_ITEMS;
	c->retry_after_ms =
	    sim_chance(s, 200) ? (int64_t)sim_dice(s, 20000) : 0;
	if (sim_chance(s, s->weather.lost)) {
		s->counts.lost_answers++;
		gone(s, c);
		return;
	}
	sim_after(s, way_back(s), comes_back, c, 0);
}

/* Returns for how long after a parcel left no other parcel may have its lane:
 * the lease with its renewals; or only the lease, if the store has refused
 * writes. */
static int64_t
held(const struct sim *s)
{
	const struct sim_counts *c = &s->counts;

	if (c->full_disks + c->starved + c->disk_errors > 0)
		return (lease_of(s));
	return (LEASES_HELD * lease_of(s) - lease_of(s) / 2);
}

/* Checks that only one batch of a lane is under way while its lease lasts. */
static void
check_alone(struct sim *s, const struct cargo *c)
{
	const struct cargo *o;
	size_t i, k;

	for (o = s->peers[c->peer].cargoes; o != NULL; o = o->next) {
		if (o == c || o->answered || o->incarnation != c->incarnation ||
		    s->counts.jumps > 0 ||
		    c->sent_at - o->sent_at + MOMENT_MS >= held(s))
			continue;
		for (i = 0; i < c->n; i++)
			for (k = 0; k < o->n; k++)
				if (c->items[i].lane_id == o->items[k].lane_id)
					sim_bad(s,
					    "lane %lld has two batches under "
					    "way",
					    (long long)c->items[i].lane_id);
	}
}

void
cargo_send(struct sim *s, struct cargo *c)
{

	s->counts.parcels++;
	c->sent_at = sim_now(s);
	check_alone(s, c);
	sim_tell(s, "relay: parcel %zu to peer %d, %zu messages, first %lld",
	    c->number, c->peer, c->n, (long long)c->items[0].outbox_id);
	if (s->w->fed != NULL) {
		fed_send(s, c);
		return;
	}
	if (sim_chance(s, s->weather.lost)) {
		s->counts.lost_asks++;
		gone(s, c);
		return;
	}
	sim_after(s, sim_delay(s), reaches, c, 0);
	if (sim_chance(s, s->weather.twice))
		sim_after(s, sim_delay(s) + sim_delay(s), reaches, c, 1);
}

struct cargo *
cargo_new(struct sim *s, int peer)
{
	struct cargo *c = calloc(1, sizeof(*c));

	assert(c != NULL);
	c->s = s;
	c->peer = peer;
	c->incarnation = s->server->incarnation;
	c->number = (size_t)s->counts.parcels;
	c->next = s->peers[peer].cargoes;
	s->peers[peer].cargoes = c;
	return (c);
}

void
peer_goes(struct sim *s, size_t peer, int64_t ms)
{
	static const enum cargo_answer ways[] = {
	    CARGO_GONE, CARGO_FAULT, CARGO_BUSY, CARGO_DENIED};
	struct peer *p = &s->peers[peer];

	p->gone_until = sim_now(s) + ms;
	p->knocks = 0;
	p->gone_as = ways[sim_dice(s, 4)];
	sim_tell(s, "peer %zu: unavailable for %lld ms (%d)", peer,
	    (long long)ms, (int)p->gone_as);
}

struct peer *
peers_new(void)
{
	struct peer *p = calloc(SIM_PEERS + 1, sizeof(*p));

	assert(p != NULL);
	return (p);
}

void
peers_free(struct sim *s)
{
	struct cargo *c;
	size_t i;

	for (i = 0; i <= SIM_HOSTILE; i++)
		while ((c = s->peers[i].cargoes) != NULL) {
			s->peers[i].cargoes = c->next;
			free(c);
		}
	free(s->peers);
	s->peers = NULL;
}
