/* SPDX-License-Identifier: MIT */
/*
 * Runs the relay's core in the simulated server.  See heart.h.  In the product
 * relay/relay.c does this, with a thread.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chat/send.h"
#include "relay/core.h"
#include "sim/charges.h"
#include "sim/fed.h"
#include "sim/heart.h"
#include "sim/leaving.h"
#include "sim/server.h"
#include "sim/turns.h"

struct heart {
	struct db *db;
	struct core *core;
	char owner[32];
	struct mbox_node *wakes; /* newest first */
	struct core_job *jobs, **jobs_tail;

	bool turning; /* a turn is scheduled */
	int64_t turn_at;
	uint64_t turns; /* scheduled turns; only the last one counts */
};

static void turn_in(struct sim *s, int64_t ms);

/* ---- the functions that the core calls ---- */

static enum rc
submit(void *arg, struct unit *unit)
{
	struct sim *s = arg;
	enum rc rc;

	rc = writer_submit(s->server->writer, unit);
	if (rc == RC_OK)
		server_turn_soon(s);
	return (rc);
}

static enum rc
deliver(void *arg, struct deliver_unit *unit)
{

	return (submit(arg, &unit->unit));
}

static void
back(void *arg, struct core_job *job)
{
	struct sim *s = arg;
	struct heart *h = s->server->heart;

	if (s->server->dying)
		return;
	job->next = NULL;
	*h->jobs_tail = job;
	h->jobs_tail = &job->next;
	turn_in(s, (int64_t)sim_dice(s, 3));
}

/* Sends a parcel to a peer. */
static void
carry(void *arg, struct parcel *parcel)
{
	struct sim *s = arg;
	struct cargo_item *to;
	struct cargo *cargo;
	int peer = fed_slot(s, parcel->name);
	size_t i;

	leaving_judge(s, peer, parcel);
	turns_judge(s, peer, parcel);
	cargo = cargo_new(s, peer);
	cargo->ref = parcel;
	cargo->n = parcel->n;
	for (i = 0; i < parcel->n; i++) {
		to = &cargo->items[i];
		to->outbox_id = parcel->items[i].row.id;
		to->lane_id = parcel->items[i].row.lane_id;
		to->attempt = parcel->items[i].row.attempts;
		to->event_id = parcel->items[i].row.event_id;
		to->mid = parcel->items[i].row.mid;
		to->sender_id = parcel->items[i].row.sender_id;
		to->conversation_seq = parcel->items[i].row.conversation_seq;
	}
	cargo_send(s, cargo);
}

/* ---- answers ---- */

static const enum answer answers[] = {
    [VERDICT_NONE] = ANSWER_NONE,
    [VERDICT_TAKEN] = ANSWER_ACCEPTED,
    [VERDICT_LATER] = ANSWER_LATER,
    [VERDICT_RETRY] = ANSWER_RETRYABLE,
    [VERDICT_PREDECESSOR] = ANSWER_PREDECESSOR,
    [VERDICT_REJECTED] = ANSWER_REJECTED,
    [VERDICT_TOO_LARGE] = ANSWER_TOO_LARGE,
};

static const int statuses[] = {
    [CARGO_ITEMS] = 200,
    [CARGO_GONE] = 0,
    [CARGO_FAULT] = 500,
    [CARGO_BUSY] = 503,
    [CARGO_DENIED] = 401,
};

void
heart_answer(struct sim *s, struct cargo *cargo)
{
	struct peer *from = &s->peers[cargo->peer];
	struct parcel *p = cargo->ref;
	struct parcel_item *to;
	int status =
	    cargo->status != 0 ? cargo->status : statuses[cargo->answer];
	size_t i;

	charges_heard(s, cargo);
	from->failing = cargo->answer != CARGO_ITEMS;
	/* An answer to another request does not shorten the time for which the
	 * peer asked to be left alone. */
	if (from->free_from < s->clk.wall_ms + cargo->park_ms)
		from->free_from = s->clk.wall_ms + cargo->park_ms;
	sim_tell(s, "peer %d: parcel %zu is answered with %d", cargo->peer,
	    cargo->number, status);
	p->reached = cargo->answer == CARGO_ITEMS;
	p->status = status;
	p->retry_after_ms = p->reached ? 0 : cargo->retry_after_ms;
	p->park_ms = cargo->park_ms;
	if (!p->reached)
		(void)snprintf(p->error, sizeof(p->error), "status %d", status);
	for (i = 0; i < p->n && p->reached; i++) {
		to = &p->items[i];
		to->answer = answers[cargo->items[i].verdict];
		to->duplicate = cargo->items[i].duplicate;
		to->taken_seq = cargo->items[i].taken_seq;
		if (to->answer == ANSWER_RETRYABLE)
			to->retry_after_ms = cargo->retry_after_ms;
		if (to->replay && s->w->fed != NULL)
			fed_restore_answered(s, cargo, i);
	}
	p->finish(p);
}

/* ---- turns ---- */

static void
turn(struct sim *s, void *arg, int64_t n)
{
	struct heart *h = s->server->heart;
	struct mbox_node *wakes;
	struct core_job *jobs;
	int64_t until;

	(void)arg;
	if (!s->server->up || (uint64_t)n != h->turns)
		return;
	h->turning = false;
	wakes = h->wakes;
	jobs = h->jobs;
	h->wakes = NULL;
	h->jobs = NULL;
	h->jobs_tail = &h->jobs;
	until = core_turn(h->core, wakes, jobs, true);
	turn_in(s, until - sim_now(s));
}

static void
turn_in(struct sim *s, int64_t ms)
{
	struct heart *h = s->server->heart;

	if (h->turning && h->turn_at <= sim_now(s) + ms)
		return;
	h->turning = true;
	h->turn_at = sim_now(s) + ms;
	sim_after(s, ms, turn, NULL, (int64_t)++h->turns);
}

void
heart_wake(struct sim *s, struct wake *wake)
{
	struct heart *h = s->server->heart;

	wake->node.next = h->wakes;
	h->wakes = &wake->node;
	if (!s->server->dying)
		turn_in(s, (int64_t)sim_dice(s, 3));
}

/* ---- life ---- */

enum rc
heart_new(struct sim *s, const char *url, struct err *err)
{
	struct db_options o = {
	    .url = url, .mode = DB_READER, .schema = sim_schema(s)};
	struct core_options c = {0};
	struct heart *h;
	enum rc rc;

	h = calloc(1, sizeof(*h));
	assert(h != NULL);
	s->server->heart = h;
	h->jobs_tail = &h->jobs;
	/* Turns that an earlier incarnation has scheduled do not count. */
	h->turns = s->server->incarnation << 32;
	(void)snprintf(h->owner, sizeof(h->owner), "sim:%llu",
	    (unsigned long long)s->server->incarnation);
	rc = db_open(&o, &h->db, err);
	c.local = (struct carrier_local){.arg = s, .submit = deliver};
	c.remote = (struct carrier_remote){
	    .arg = s, .reaches = fed_addressing(s)->reaches, .send = carry};
	c.submit = submit;
	c.back = back;
	c.arg = s;
	c.db = h->db;
	c.clk = &s->clk.clk;
	c.rnd = &s->secrets.rnd;
	c.owner = h->owner;
	c.poll_ms = s->setup.poll_ms;
	c.lease_ms = s->setup.lease_ms;
	if (rc == RC_OK)
		rc = core_new(&c, &h->core, err);
	if (rc == RC_OK)
		rc = core_start(h->core, err);
	if (rc == RC_OK)
		turn_in(s, 0);
	return (rc);
}

void
heart_free(struct sim *s)
{
	struct heart *h = s->server->heart;
	struct mbox_node *list;

	if (h == NULL)
		return;
	s->server->heart = NULL;
	while ((list = h->wakes) != NULL) {
		h->wakes = list->next;
		wake_free((struct wake *)(void *)((char *)list -
						  offsetof(struct wake, node)));
	}
	core_free(h->core);
	db_close(h->db);
	free(h);
}
