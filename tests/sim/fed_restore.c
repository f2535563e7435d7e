/* SPDX-License-Identifier: MIT */
/*
 * A server is restored from a backup.  See fed.h.
 *
 * A copy of the server's disk is kept.  Later the server stops and starts again
 * from that copy, with another epoch.  The knowledge of people and of the judge
 * goes back with it.  People of the server offer again what they have sent
 * since, as their clients do when they see another epoch.
 *
 * The operators of the other servers offer their lanes again
 * (docs/operations.md).  Either they are informed before and pause the
 * destination until they have done so; or each of them learns of the restore
 * from an answer with another epoch.  At the end all of them offer their lanes
 * once more, because some receipts came before the messages that they are
 * about.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/admin.h"
#include "sim/client.h"
#include "sim/fed_internal.h"
#include "sim/server.h"

#define TICK_MS 5000
/* Long enough that requests from before the stop are no longer valid: no
 * signature is valid for longer, with clocks that differ. */
#define TOLD_DOWN_MS (15 * SIM_MINUTE_MS)
/* Long enough that no sender waits for an answer from before the stop any
 * more. */
#define SHORT_DOWN_MS 30000
/* All peers are paused for this time before the server comes back, so that all
 * requests that have left have arrived. */
#define PAUSED_MS (5 * SIM_MINUTE_MS)
/* By then people have acked everything. */
#define FINAL_MS (2 * SIM_HOUR_MS)
#define OFFER_MS 500
/* The delay of operators who do not pause (broken.c). */
#define SLOW_MS (20 * SIM_MINUTE_MS)
/* For at most this long the weather waits until lanes were offered again. */
#define WEATHER_MS (30 * SIM_MINUTE_MS)

/* Makes the run longer, so that messages arrive and are acked between the
 * backup and the end. */
static void
linger(struct world *w)
{
	bool slow = sim_chance(&w->sims[0], 700);
	size_t i;

	for (i = 0; i < w->nsims; i++) {
		w->sims[i].weather.actions += 30;
		if (slow)
			w->sims[i].weather.gap_ms = 2000;
	}
}

void
fed_restore_draw(struct world *w)
{
	static struct plvfs *disks[2];
	struct sim *any = &w->sims[0];
	struct restore *r = &w->fed->restore;
	uint64_t third;
	size_t i;

	if (disks[0] == NULL) {
		disks[0] = plvfs_new("sim-backup");
		disks[1] = plvfs_new("sim-past");
	}
	r->backup = disks[0];
	r->replaced = disks[1];
	if (!sim_chance(any, 400))
		return;
	linger(w);
	r->victim = &w->sims[sim_dice(any, w->nsims)];
	r->told = sim_chance(any, 500);
	/* Leaves many actions between the backup and the restore. */
	third = (uint64_t)r->victim->weather.actions / 3;
	r->begin_at = 1 + (int64_t)sim_dice(any, third);
	r->keep_at = (int64_t)(2 * third + sim_dice(any, third));
	r->down_ms = r->told ? TOLD_DOWN_MS
			     : SHORT_DOWN_MS +
				   (int64_t)sim_dice(any, 10 * SIM_MINUTE_MS);
	for (i = 0; i < w->nsims; i++)
		r->mendings[i].s = &w->sims[i];
}

bool
fed_restore_is_under_way(const struct world *w)
{
	const struct restore *r = fed_restored(w);

	return (r != NULL && r->stage >= RESTORE_DOWN);
}

/* ---- the backup ---- */

static void
keep(struct restore *r)
{
	struct sim *s = r->victim;
	struct post *p;
	size_t i;

	plvfs_cut(server_disk(s), 0, 100, 0, r->backup);
	r->clients = calloc(SIM_CLIENTS, sizeof(*r->clients));
	assert(r->clients != NULL);
	memcpy(r->clients, s->clients, SIM_CLIENTS * sizeof(*r->clients));
	r->nmessages = s->nmessages;
	for (i = 0; i < s->nmessages; i++) {
		r->promised[i] = s->messages[i].promised_us != 0;
		r->canceled[i] = s->messages[i].canceled;
	}
	r->nconfirmed = s->nconfirmed;
	r->ncharges = s->ncharges;
	r->ntaken = s->peers[SIM_HOSTILE].ninbox;
	for (p = s->w->fed->posts; p != NULL; p = p->next)
		p->kept = p->taken;
	r->stage = RESTORE_KEPT;
	s->counts.backups++;
	sim_tell(s, "backup: kept");
}

/* ---- people offer again ---- */

/* Lets people offer the next message again, once the one before was
 * accepted. */
static void
offer(struct sim *s, void *arg, int64_t n)
{
	struct restore *r = arg;
	struct message *m;

	(void)n;
	if (r->offered > 0) {
		m = &s->messages[r->offers[r->offered - 1]];
		if (m->promised_us == 0 && !m->refused) {
			sim_after(s, OFFER_MS, offer, r, 0);
			return;
		}
	}
	if (r->offered == r->noffers) {
		r->offered++;
		return;
	}
	m = &s->messages[r->offers[r->offered++]];
	/* A message that was sent before the backup may be in it, even without
	 * an answer.  Its first time counts. */
	if (m->promised_us == 0 && m >= s->messages + r->nmessages)
		m->asked_us = s->clk.mono_us;
	s->counts.offered++;
	sim_tell(s, "client: %s offers #%zd again", client_names[m->client],
	    m - s->messages);
	client_send(s, m);
	sim_after(s, OFFER_MS, offer, r, 0);
}

/* The time that orders the messages which people offer again: when it was
 * accepted, or else when it was sent first. */
static int64_t
place_of(const struct message *m)
{

	return (m->promised_us != 0 ? m->promised_us : m->asked_us);
}

static void
add_offer(struct restore *r, size_t message)
{
	const struct message *all = r->victim->messages;
	size_t i;

	for (i = r->noffers++; i > 0 && place_of(&all[r->offers[i - 1]]) >
					    place_of(&all[message]);
	     i--)
		r->offers[i] = r->offers[i - 1];
	r->offers[i] = message;
}

/* Promises from after the backup are void. */
static void
forget_messages(struct restore *r)
{
	struct sim *s = r->victim;
	struct message *m;
	size_t i;

	for (i = 0; i < s->nmessages; i++) {
		m = &s->messages[i];
		if (!m->canceled && !m->refused &&
		    (!r->promised[i] || sim_chance(s, 300)))
			add_offer(r, i);
	}
	for (i = 0; i < s->nmessages; i++) {
		m = &s->messages[i];
		m->canceled = r->canceled[i];
		if (r->promised[i])
			continue;
		m->promised_us = 0;
		m->mid = 0;
	}
}

/* ---- the stop and the return ---- */

static void
go_back(struct restore *r)
{
	struct sim *s = r->victim;
	struct post *p;
	size_t i;

	clients_go_back(s, r->clients);
	forget_messages(r);
	s->nconfirmed = r->nconfirmed;
	s->ncharges = r->ncharges;
	/* The outbox rows of these messages are lost; their ids will be used
	 * again. */
	for (i = r->ntaken; i < s->peers[SIM_HOSTILE].ninbox; i++)
		s->peers[SIM_HOSTILE].inbox[i].outbox_id = 0;
	/* The server has lost the nonces of requests since the backup. */
	for (p = s->w->fed->posts; p != NULL; p = p->next)
		if (strcmp(p->to, s->domain) == 0)
			p->taken = p->kept;
}

static bool
all_paused(const struct restore *r)
{
	const struct world *w = r->victim->w;
	const struct mending *m;
	size_t i;

	for (i = 0; i < w->nsims; i++) {
		m = &r->mendings[i];
		if (m->hold && (m->paused_at == 0 ||
				   sim_now(m->s) - m->paused_at < PAUSED_MS))
			return (false);
	}
	return (true);
}

static void
come_back(struct sim *s, void *arg, int64_t n)
{
	struct restore *r = arg;
	struct world *w = s->w;
	size_t i;

	(void)n;
	if (sim_now(s) - r->down_at < r->down_ms || !all_paused(r)) {
		sim_after(s, TICK_MS, come_back, r, 0);
		return;
	}
	go_back(r);
	server_replace(s, r->backup, r->replaced);
	if (sqlite3_open_v2(plvfs_path(r->replaced), &r->past,
		SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
		abort();
	r->stage = RESTORE_BACK;
	s->counts.restores++;
	sim_tell(s, "server: restored");
	for (i = 0; i < w->nsims; i++) {
		r->back_wall[i] = w->sims[i].clk.wall_ms;
		r->mendings[i].due = r->mendings[i].hold;
	}
	/* It may lack room on its disk at first. */
	if (!s->calm && sim_chance(s, 500))
		s->weather.refuse += 300;
	server_start(s);
	sim_after(s, 0, offer, r, 0);
}

/* ---- the operators of the other servers ---- */

static int64_t
number_of(struct sim *s, const char *sql, const char *domain)
{
	sqlite3_stmt *st = server_ask(s, sql);
	int64_t n = -1;

	if (st == NULL)
		return (-1);
	(void)sqlite3_bind_text(st, 1, domain, -1, SQLITE_STATIC);
	if (sqlite3_step(st) == SQLITE_ROW)
		n = sqlite3_column_int64(st, 0);
	server_asked(st);
	return (n);
}

/* Returns 1 if the destination ${domain} of ${s} is paused or absent, 0 if it
 * is open, -1 if the database is out of reach. */
static int64_t
is_paused(struct sim *s, const char *domain)
{

	return (number_of(s,
	    "SELECT NOT EXISTS (SELECT 1 FROM destinations WHERE name = ?1 AND "
	    "paused_at IS NULL)",
	    domain));
}

static void
rewound(struct sim *s, void *arg, bool well)
{
	struct mending *m = arg;

	(void)s;
	if (m->left > 0)
		m->left--;
	m->failed = m->failed || !well;
}

/* Rewinds all lanes to ${domain} to their beginning. */
static void
rewind_lanes(struct mending *m, const char *domain)
{
	struct sim *s = m->s;
	sqlite3_stmt *st = server_ask(s,
	    "SELECT l.lane_id FROM outbox_lanes l JOIN destinations d ON "
	    "d.destination_id = l.destination_id WHERE d.name = ?1 AND "
	    "l.next_seq > 1");

	m->incarnation = s->server->incarnation;
	m->left = 0;
	m->failed = st == NULL;
	if (st == NULL)
		return;
	(void)sqlite3_bind_text(st, 1, domain, -1, SQLITE_STATIC);
	while (sqlite3_step(st) == SQLITE_ROW) {
		if (admin_rewinds(s, sqlite3_column_int64(st, 0), rewound, m))
			m->left++;
		else
			m->failed = true;
		s->counts.mended++;
	}
	server_asked(st);
}

/* Submits the rewinds and repeats them until all have succeeded. */
static void
offer_lanes(struct mending *m, const char *domain)
{

	if (m->incarnation != m->s->server->incarnation) {
		rewind_lanes(m, domain);
	} else if (m->left == 0 && m->failed) {
		m->incarnation = 0;
	} else if (m->left == 0) {
		m->due = false;
		m->done = true;
		m->incarnation = 0;
		sim_tell(m->s, "operator: %s is offered everything", domain);
	}
}

/* unpaused: operators wait, so that new messages go first. */
static bool
is_slow(const struct restore *r)
{

	return (sim_is_broken(r->victim, "unpaused") &&
		sim_now(r->victim) - r->down_at < r->down_ms + SLOW_MS);
}

static void
mend(struct sim *s, void *arg, int64_t n)
{
	struct mending *m = arg;
	const struct restore *r = &s->w->fed->restore;
	const char *domain = r->victim->domain;
	int64_t paused = s->server->up && m->hold ? is_paused(s, domain) : -1;

	(void)n;
	if (m->hold && r->stage == RESTORE_DOWN && paused >= 0) {
		if (sim_is_broken(s, "unpaused"))
			paused = 1;
		if (paused == 0)
			(void)admin_pauses(s, domain, true);
		m->paused_at = paused == 0         ? 0
			       : m->paused_at != 0 ? m->paused_at
						   : sim_now(s);
	} else if (m->due && s->server->up && r->stage == RESTORE_BACK &&
		   !is_slow(r)) {
		offer_lanes(m, domain);
	} else if (m->hold && !m->due && paused == 0) {
		m->hold = false;
	} else if (m->hold && !m->due && paused == 1) {
		if (number_of(s,
			"SELECT count(*) FROM destinations WHERE name = ?1",
			domain) == 0)
			m->hold = false;
		else
			(void)admin_pauses(s, domain, false);
	}
	if (m->hold || m->due)
		sim_after(s, TICK_MS, mend, m, 0);
}

bool
fed_restore_holds(const struct sim *s, const char *name)
{
	const struct restore *r = fed_restored(s->w);

	return (r != NULL && r->mendings[s->number].hold &&
		strcmp(r->victim->domain, name) == 0);
}

/* Returns true if ${s} is still offering a lane again. */
static bool
replays(struct sim *s)
{
	sqlite3_stmt *st;
	bool some;

	if (!s->server->up)
		return (true);
	st = server_ask(
	    s, "SELECT 1 FROM outbox_lanes WHERE replay_seq IS NOT NULL");
	some = st == NULL || sqlite3_step(st) == SQLITE_ROW;
	server_asked(st);
	return (some);
}

static bool
is_mending(const struct restore *r)
{
	const struct world *w = r->victim->w;
	const struct mending *m;
	size_t i;

	for (i = 0; i < w->nsims; i++) {
		m = &r->mendings[i];
		if (m->hold || m->due || replays(m->s))
			return (true);
	}
	return (false);
}

static void
begin(struct restore *r)
{
	struct sim *s = r->victim;
	struct mending *m;
	size_t i;

	r->stage = RESTORE_DOWN;
	r->down_at = sim_now(s);
	server_hold(s);
	for (i = 0; i < s->w->nsims && r->told; i++) {
		m = &r->mendings[i];
		if (m->s == s)
			continue;
		m->hold = true;
		sim_after(m->s, 0, mend, m, 0);
	}
	sim_after(s, 0, come_back, r, 0);
}

/* Returns true if ${s} does nothing for a moment: while the server is down, and
 * while it is offered again what it has lost, so that the weather lasts until
 * then. */
static bool
waits(const struct restore *r, struct sim *s, int64_t left)
{

	if (r->stage == RESTORE_DOWN)
		return (s == r->victim || !sim_chance(s, 50));
	return (r->stage == RESTORE_BACK &&
		sim_now(s) - r->down_at < r->down_ms + WEATHER_MS &&
		is_mending(r) && (left == 1 || !sim_chance(s, 200)));
}

int64_t
fed_restore_acts(struct sim *s, int64_t left)
{
	struct restore *r = fed_restored(s->w);
	const struct server *v = s->server;

	if (r == NULL)
		return (0);
	if (s == r->victim && r->stage == RESTORE_NONE && left <= r->keep_at &&
	    left > 1 && v->up && !v->doomed && !v->fatal)
		keep(r);
	else if (s == r->victim && r->stage == RESTORE_KEPT &&
		 left <= r->begin_at)
		begin(r);
	return (waits(r, s, left) ? TICK_MS : 0);
}

/* ---- how servers learn of the restore ---- */

void
fed_restore_hears(struct sim *s, const struct cargo *cargo, const char *epoch)
{
	struct restore *r = fed_restored(s->w);
	sqlite3_stmt *st;
	bool same = false;

	if (r == NULL || epoch[0] == '\0' ||
	    fed_peer(s, cargo->peer) != r->victim)
		return;
	st = server_ask(s,
	    "SELECT p.epoch FROM peers p JOIN destinations d ON "
	    "d.destination_id = p.destination_id WHERE d.name = ?1");
	if (st == NULL)
		return;
	(void)sqlite3_bind_text(st, 1, r->victim->domain, -1, SQLITE_STATIC);
	if (sqlite3_step(st) == SQLITE_ROW &&
	    sqlite3_column_type(st, 0) == SQLITE_TEXT)
		same = strcmp((const char *)sqlite3_column_text(st, 0),
			   epoch) == 0;
	server_asked(st);
	if (!same)
		fed_learn(s, r->victim->domain);
}

void
fed_restore_learned(struct sim *s, const struct peer_unit *u)
{
	struct restore *r = fed_restored(s->w);
	struct mending *m;

	if (r == NULL || u->unit.rc != RC_OK ||
	    strcmp(u->domain, r->victim->domain) != 0)
		return;
	m = &r->mendings[s->number];
	if (m->known[0] != '\0' && m->known_by == s->server->incarnation &&
	    strcmp(m->known, u->epoch) != 0 && !u->epoch_changed)
		sim_bad(s, "%s was restored, and its new epoch is not noticed",
		    u->domain);
	memcpy(m->known, u->epoch, sizeof(m->known));
	m->known_by = s->server->incarnation;
	if (!u->epoch_changed)
		return;
	sim_tell(s, "operator: %s was restored", u->domain);
	s->counts.learned++;
	if (m->due || m->done)
		return;
	m->due = true;
	sim_after(s, TICK_MS, mend, m, 0);
}

void
fed_restore_answered(struct sim *s, const struct cargo *cargo, size_t i)
{
	struct restore *r = fed_restored(s->w);
	const enum verdict v = cargo->items[i].verdict;

	if (r == NULL || fed_peer(s, cargo->peer) != r->victim)
		return;
	if (v == VERDICT_TAKEN && !cargo->items[i].duplicate)
		s->counts.lost_again++;
	if (v == VERDICT_TAKEN || v == VERDICT_REJECTED ||
	    v == VERDICT_TOO_LARGE)
		return;
	s->counts.put_off++;
}

/* ---- the end ---- */

bool
fed_restore_settled(struct world *w)
{
	struct restore *r = fed_restored(w);
	struct mending *m;
	size_t i;

	if (r == NULL || r->stage < RESTORE_DOWN)
		return (true);
	if (r->stage != RESTORE_BACK || r->offered <= r->noffers ||
	    is_mending(r))
		return (false);
	if (r->final_at != 0)
		return (sim_now(r->victim) - r->final_at >= FINAL_MS);
	if (sim_now(r->victim) - w->fed->calm_at < FINAL_MS)
		return (false);
	r->final_at = sim_now(r->victim);
	for (i = 0; i < w->nsims; i++) {
		m = &r->mendings[i];
		if (m->s == r->victim)
			continue;
		if (m->done)
			past_judge_mended(m->s);
		m->due = true;
		sim_after(m->s, 0, mend, m, 0);
	}
	return (false);
}
