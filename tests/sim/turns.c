/* SPDX-License-Identifier: MIT */
/*
 * Checks that lanes take turns.  See turns.h.
 */
#include <string.h>

#include "sim/server.h"
#include "sim/turns.h"

/* A parcel that nothing delays leaves within 5 s.  The relay's safety poll
 * comes later in the runs in which this is judged, so it cannot help. */
#define SOON_MS 5000

/* ---- each in turn ---- */

/* How many times a lane may leave while another waits: once in the current
 * pass, which may already be beyond the other lane's place, and once in the
 * next pass. */
#define TURNS_BEFORE 2

/* Returns the lane in ${t} that is the waiting lane ${w}, unchanged since, or
 * NULL if there is none. */
static struct waiting_lane *
find_waiting(struct turns *t, const struct waiting_lane *w)
{
	size_t i;

	for (i = 0; i < t->n; i++)
		if (t->lanes[i].lane_id == w->lane_id &&
		    t->lanes[i].updated_at == w->updated_at &&
		    t->lanes[i].priority == w->priority)
			return (&t->lanes[i]);
	return (NULL);
}

/* Notes that lane ${lane_id} leaves while ${w} waits.  Returns how many times
 * it has done so. */
static unsigned
pass_over(struct waiting_lane *w, int64_t lane_id)
{
	size_t i;

	for (i = 0; i < w->n && w->others[i].lane_id != lane_id; i++)
		continue;
	if (i == SIM_TURNS)
		return (0);
	if (i == w->n) {
		w->others[w->n].lane_id = lane_id;
		w->others[w->n++].times = 0;
	}
	return (++w->others[i].times);
}

/* Returns the priority that a lane in ${parcel} had when it was claimed, or
 * UNKNOWN: it may have become more urgent since, by a new message or by one
 * that waits for an ack.  The lane's items begin at ${i}; *${ret_end} is the
 * index after them. */
#define UNKNOWN 2

static int
priority_of(
    struct sim *s, const struct parcel *parcel, size_t i, size_t *ret_end)
{
	const struct parcel_item *item = &parcel->items[i];
	sqlite3_stmt *st = server_ask(
	    s, "SELECT priority FROM outbox_lanes WHERE lane_id = ?1");
	int priority = UNKNOWN;
	bool has = false;
	size_t k;

	if (st != NULL) {
		(void)sqlite3_bind_int64(st, 1, item->row.lane_id);
		if (sqlite3_step(st) == SQLITE_ROW)
			priority = sqlite3_column_int(st, 0);
		server_asked(st);
	}
	for (k = i;
	     k < parcel->n && parcel->items[k].row.lane_id == item->row.lane_id;
	     k++)
		has = has || parcel->items[k].row.priority == priority;
	*ret_end = k;
	return (has && item->row.ack_deadline == 0 ? priority : UNKNOWN);
}

/* Notes that the lanes of ${parcel} leave before ${w}, and checks how many
 * times they have. */
static void
check_passed_over(
    struct sim *s, const struct parcel *parcel, struct waiting_lane *w)
{
	int64_t lane_id;
	unsigned times;
	size_t i, end;

	for (i = 0; i < parcel->n; i = end) {
		lane_id = parcel->items[i].row.lane_id;
		if (priority_of(s, parcel, i, &end) != w->priority)
			continue;
		times = pass_over(w, lane_id);
		s->counts.turns += times == TURNS_BEFORE;
		if (times > TURNS_BEFORE)
			sim_bad(s,
			    "lane %lld to %s waits, and lane %lld has left %u "
			    "times",
			    (long long)w->lane_id, parcel->name,
			    (long long)lane_id, times);
	}
}

/* Checks that of lanes that are ready, due and of the same priority, none
 * leaves again and again while another one waits unchanged.  Events in the same
 * millisecond cannot be ordered and do not count. */
static void
check_in_turn(struct sim *s, int peer, const struct parcel *parcel)
{
	struct turns *before = &s->peers[peer].turns, now = {0};
	bool counts = before->incarnation == s->server->incarnation &&
		      before->at_ms < s->clk.wall_ms && sim_undisturbed(s) &&
		      s->counts.jumps == 0;
	struct waiting_lane w, *known;
	sqlite3_stmt *st;

	now.incarnation = s->server->incarnation;
	now.at_ms = s->clk.wall_ms;
	st = server_ask(s,
	    "SELECT lane_id, updated_at, priority FROM outbox_lanes WHERE "
	    "destination_id = ?1 AND state = 'ready' AND due_at <= ?2 AND "
	    "updated_at < ?2 ORDER BY lane_id DESC");
	if (st == NULL)
		return;
	(void)sqlite3_bind_int64(st, 1, parcel->destination_id);
	(void)sqlite3_bind_int64(st, 2, now.at_ms);
	while (sqlite3_step(st) == SQLITE_ROW && now.n < SIM_TURNS) {
		memset(&w, 0, sizeof(w));
		w.lane_id = sqlite3_column_int64(st, 0);
		w.updated_at = sqlite3_column_int64(st, 1);
		w.priority = sqlite3_column_int(st, 2);
		known = counts ? find_waiting(before, &w) : NULL;
		if (known != NULL) {
			w = *known;
			check_passed_over(s, parcel, &w);
		}
		now.lanes[now.n++] = w;
	}
	server_asked(st);
	*before = now;
}

/* ---- without delay ---- */

/* Returns true if another parcel is under way to ${peer}. */
static bool
under_way(const struct sim *s, int peer)
{
	const struct cargo *c;

	for (c = s->peers[peer].cargoes; c != NULL; c = c->next)
		if (!c->answered && c->incarnation == s->server->incarnation)
			return (true);
	return (false);
}

/* Returns the time since which ${item}, which was never refused, could have
 * left: the rows before it in its lane have not changed since.  Returns -1 if
 * that is unknown. */
static int64_t
ready_since(struct sim *s, const struct peer *p, const struct parcel_item *item)
{
	sqlite3_stmt *st = server_ask(s,
	    "SELECT max(o.created_at, coalesce((SELECT max(b.last_status_at)"
	    " FROM outbox b WHERE b.lane_id = o.lane_id"
	    " AND b.dest_kind = 'server' AND b.lane_seq IS NOT NULL"
	    " AND b.lane_seq < o.lane_seq), 0)) FROM outbox o"
	    " WHERE o.id = ?1 AND o.requeues = 0 AND o.deliver_at IS NULL");
	int64_t from = -1;

	if (st == NULL)
		return (-1);
	(void)sqlite3_bind_int64(st, 1, item->row.id);
	if (sqlite3_step(st) == SQLITE_ROW)
		from = sqlite3_column_int64(st, 0);
	server_asked(st);
	if (from >= 0 && from < s->quiet_from)
		from = s->quiet_from;
	if (from >= 0 && from < p->free_from)
		from = p->free_from;
	return (from);
}

static void
check_at_once(struct sim *s, int peer, const struct parcel *parcel)
{
	struct peer *p = &s->peers[peer];
	const struct parcel_item *item = &parcel->items[0];
	int64_t from;

	if (p->failing || p->pace.rate != 0 || item->replay ||
	    item->row.retry_count > 0 || item->row.rescue_count > 0 ||
	    s->setup.poll_ms <= SOON_MS || s->counts.jumps > 0 ||
	    !sim_undisturbed(s) || under_way(s, peer))
		return;
	from = ready_since(s, p, item);
	if (from < 0)
		return;
	s->counts.at_once++;
	if (s->clk.wall_ms - from > SOON_MS)
		sim_bad(s,
		    "outbox row %lld leaves for %s after %lld ms, and "
		    "nothing was in its way",
		    (long long)item->row.id, parcel->name,
		    (long long)(s->clk.wall_ms - from));
}

void
turns_judge(struct sim *s, int peer, const struct parcel *parcel)
{
	check_in_turn(s, peer, parcel);
	check_at_once(s, peer, parcel);
}
