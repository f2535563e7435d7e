/* SPDX-License-Identifier: MIT */
/*
 * Checks parcels as they leave.  See leaving.h.
 */
#include "sim/leaving.h"
#include "delivery/claim.h"
#include "sim/peer.h"
#include "sim/server.h"

/* A rate is enforced this long after it is first seen in the store: by then the
 * relay has read it, and what was claimed before has left. */
#define KNOWN_MS 1000
/* The rate limits claims, and parcels leave later.  One claim may take this
 * much longer than another. */
#define CLAIM_MS 50

/* A message that was refused before travels without others of its lane.  A
 * message that may be poison travels alone. */
static void
check_alone(struct sim *s, const struct parcel *parcel,
    const struct parcel_item *item, int retries, int rescues)
{
	size_t i, of_lane = 0;

	if (retries == 0 && rescues < CLAIM_ALONE_AFTER)
		return;
	for (i = 0; i < parcel->n; i++)
		of_lane += parcel->items[i].row.lane_id == item->row.lane_id;
	s->counts.again++;
	if (retries > 0 && of_lane > 1)
		sim_bad(s,
		    "outbox row %lld was refused before, and %zu of its lane "
		    "leave together",
		    (long long)item->row.id, of_lane);
	if (rescues >= CLAIM_ALONE_AFTER && parcel->n > 1)
		sim_bad(s,
		    "outbox row %lld has lost %d leases, and %zu leave "
		    "together",
		    (long long)item->row.id, rescues, parcel->n);
}

/* Checks that a message that leaves is claimed: its row says so, and the
 * attempt is noted. */
static void
check_claimed(
    struct sim *s, const struct parcel *parcel, const struct parcel_item *item)
{
	sqlite3_stmt *st;
	int code;

	if (item->replay) {
		s->counts.replayed_rows++;
		return;
	}
	st = server_ask(s,
	    "SELECT o.retry_count, o.rescue_count FROM outbox o JOIN "
	    "outbox_attempts a ON a.outbox_id = o.id AND a.attempt = ?2 AND "
	    "a.outcome IS NULL WHERE o.id = ?1 AND o.state = 'sending'");
	if (st == NULL)
		return;
	(void)sqlite3_bind_int64(st, 1, item->row.id);
	(void)sqlite3_bind_int64(st, 2, item->row.attempts);
	code = sqlite3_step(st);
	if (code == SQLITE_ROW)
		check_alone(s, parcel, item, sqlite3_column_int(st, 0),
		    sqlite3_column_int(st, 1));
	/* The database is out of reach, so this proves nothing. */
	if (code == SQLITE_DONE)
		sim_bad(s, "outbox row %lld leaves and is not claimed",
		    (long long)item->row.id);
	server_asked(st);
}

/* Checks that a destination that was paused a minute ago gets nothing. */
static void
check_paused(struct sim *s, const struct parcel *parcel)
{
	sqlite3_stmt *st;

	if (s->counts.jumps > 0)
		return;
	st = server_ask(s,
	    "SELECT 1 FROM destinations WHERE (destination_id = 0 OR "
	    "destination_id = ?1) AND paused_at < ?2");
	if (st == NULL)
		return;
	(void)sqlite3_bind_int64(st, 1, parcel->destination_id);
	(void)sqlite3_bind_int64(st, 2, s->clk.wall_ms - SIM_MINUTE_MS);
	if (sqlite3_step(st) == SQLITE_ROW)
		sim_bad(s, "%s is paused, and a parcel leaves", parcel->name);
	server_asked(st);
}

/* Checks that a message that a peer has confirmed is not offered again. */
static void
check_confirmed(struct sim *s, const struct parcel_item *item)
{
	size_t i;

	for (i = 0; i < s->nconfirmed && !item->replay; i++)
		if (s->confirmed[i] == item->row.id)
			sim_bad(s,
			    "outbox row %lld was confirmed, and leaves again",
			    (long long)item->row.id);
}

/* ---- rates ---- */

static int64_t
rate_of(struct sim *s, const struct parcel *parcel)
{
	sqlite3_stmt *st = server_ask(
	    s, "SELECT per_second FROM destinations WHERE destination_id = ?1");
	int64_t rate = 0;

	if (st == NULL)
		return (0);
	(void)sqlite3_bind_int64(st, 1, parcel->destination_id);
	if (sqlite3_step(st) == SQLITE_ROW)
		rate = sqlite3_column_int64(st, 0);
	server_asked(st);
	return (rate);
}

/* Checks that in each period that ends now no more messages have left than the
 * rate allows, plus one second's worth that may have been saved up. */
static void
check_rate(struct sim *s, int peer, const struct parcel *parcel)
{
	struct pace *p = &s->peers[peer].pace;
	int64_t rate = rate_of(s, parcel), now = sim_now(s), sum = 0;
	size_t i;

	if (rate != p->rate || !sim_undisturbed(s)) {
		p->rate = rate;
		p->from_ms = now + KNOWN_MS;
		p->n = 0;
	}
	if (rate == 0 || now < p->from_ms || p->n == PEER_TAKEN)
		return;
	p->left[p->n].at_ms = now;
	p->left[p->n++].messages = (int64_t)parcel->n;
	s->counts.paced++;
	for (i = p->n; i-- > 0;) {
		sum += p->left[i].messages;
		if (sum * 1000 <=
		    rate * (now - p->left[i].at_ms + CLAIM_MS + 1000))
			continue;
		sim_bad(s, "%lld messages leave for %s in %lld ms, at %lld/s",
		    (long long)sum, parcel->name,
		    (long long)(now - p->left[i].at_ms), (long long)rate);
		return;
	}
}

/* ---- priorities ---- */

/* Returns true if the parcel has a message of a lane that is not urgent. */
static bool
leaves_less_urgent(struct sim *s, const struct parcel *parcel)
{
	sqlite3_stmt *st = server_ask(s,
	    "SELECT 1 FROM outbox_lanes WHERE lane_id = ?1 AND priority < 1");
	bool less = false;
	size_t i;

	for (i = 0; st != NULL && i < parcel->n && !less; i++) {
		(void)sqlite3_bind_int64(st, 1, parcel->items[i].row.lane_id);
		less = sqlite3_step(st) == SQLITE_ROW;
		(void)sqlite3_reset(st);
	}
	server_asked(st);
	return (less);
}

static unsigned
passed_over(const struct urgency *u, const struct urgent *seen)
{
	size_t i;

	for (i = 0; i < u->n; i++)
		if (u->lanes[i].lane_id == seen->lane_id &&
		    u->lanes[i].updated_at == seen->updated_at)
			return (u->lanes[i].passed_over + 1);
	return (0);
}

/* Checks that urgent lanes go first.  At least one of two consecutive claims
 * starts with the urgent lanes, and it takes or changes each lane that it
 * reads.  So while a lane is urgent, ready, due and unchanged, at most one
 * parcel with something less urgent may leave.  Events in the same millisecond
 * cannot be ordered and do not count. */
static void
check_urgent(struct sim *s, int peer, const struct parcel *parcel)
{
	struct urgency *u = &s->peers[peer].urgency, now = {0};
	bool counts = u->incarnation == s->server->incarnation &&
		      u->at_ms < s->clk.wall_ms && sim_undisturbed(s) &&
		      s->counts.jumps == 0 && leaves_less_urgent(s, parcel);
	sqlite3_stmt *st;
	struct urgent *l;

	now.incarnation = s->server->incarnation;
	now.at_ms = s->clk.wall_ms;
	st = server_ask(s,
	    "SELECT lane_id, updated_at FROM outbox_lanes WHERE destination_id "
	    "= ?1 AND state = 'ready' AND priority = 1 AND due_at <= ?2 AND "
	    "updated_at < ?2 LIMIT 16");
	if (st == NULL)
		return;
	(void)sqlite3_bind_int64(st, 1, parcel->destination_id);
	(void)sqlite3_bind_int64(st, 2, now.at_ms);
	while (sqlite3_step(st) == SQLITE_ROW && now.n < SIM_URGENT) {
		l = &now.lanes[now.n++];
		l->lane_id = sqlite3_column_int64(st, 0);
		l->updated_at = sqlite3_column_int64(st, 1);
		l->passed_over = counts ? passed_over(u, l) : 0;
		s->counts.urgent += l->passed_over > 0;
		if (l->passed_over > 1)
			sim_bad(s,
			    "lane %lld to %s is urgent, and parcels leave "
			    "with something else",
			    (long long)l->lane_id, parcel->name);
	}
	server_asked(st);
	*u = now;
}

void
leaving_judge(struct sim *s, int peer, const struct parcel *parcel)
{
	size_t i;

	check_paused(s, parcel);
	for (i = 0; i < parcel->n; i++) {
		check_claimed(s, parcel, &parcel->items[i]);
		check_confirmed(s, &parcel->items[i]);
	}
	check_rate(s, peer, parcel);
	check_urgent(s, peer, parcel);
}
