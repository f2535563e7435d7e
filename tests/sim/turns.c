/* SPDX-License-Identifier: MIT */
/*
 * Whose turn it is.  See turns.h.
 */
#include "sim/turns.h"
#include "sim/server.h"

/* What nothing hinders has left by then; the relay's safety poll comes later
 * in the runs where that is judged. */
#define SOON_MS 5000

/* ---- longest due first ---- */

/* When the latest due of the lanes that leave was due, with ${priority}; -1:
 * none leaves.  A lane that has become more urgent since it was looked at is
 * left out: by a new message, or by one that a peer had promised to answer. */
static int64_t
latest_due(struct sim *s, const struct parcel *parcel, int priority)
{
	sqlite3_stmt *st = server_ask(s,
	    "SELECT due_at FROM outbox_lanes WHERE lane_id = ?1 AND "
	    "priority = ?2");
	int64_t due = -1, lane = 0;
	size_t i;

	for (i = 0; st != NULL && i < parcel->n; i++) {
		if (parcel->items[i].row.lane_id == lane ||
		    parcel->items[i].row.priority != priority ||
		    parcel->items[i].row.ack_deadline != 0)
			continue;
		lane = parcel->items[i].row.lane_id;
		(void)sqlite3_bind_int64(st, 1, lane);
		(void)sqlite3_bind_int(st, 2, priority);
		if (sqlite3_step(st) == SQLITE_ROW &&
		    sqlite3_column_int64(st, 0) > due)
			due = sqlite3_column_int64(st, 0);
		(void)sqlite3_reset(st);
	}
	server_asked(st);
	return (due);
}

/* Whoever claims looks at lanes in their order and writes to each that it looks
 * at: so none that was ready before the claim, and due before one that leaves,
 * is untouched. */
static void
check_longest_due(struct sim *s, const struct parcel *parcel, int priority)
{
	int64_t due = latest_due(s, parcel, priority);
	sqlite3_stmt *st;

	if (due <= 0)
		return;
	s->counts.put_off++;
	st = server_ask(s,
	    "SELECT lane_id, due_at FROM outbox_lanes WHERE destination_id "
	    "= ?1 AND state = 'ready' AND priority = ?2 AND due_at < ?3 AND "
	    "updated_at < ?4 LIMIT 1");
	if (st == NULL)
		return;
	(void)sqlite3_bind_int64(st, 1, parcel->destination_id);
	(void)sqlite3_bind_int(st, 2, priority);
	(void)sqlite3_bind_int64(st, 3, due);
	(void)sqlite3_bind_int64(st, 4, parcel->left_ms);
	if (sqlite3_step(st) == SQLITE_ROW)
		sim_bad(s,
		    "lane %lld to %s is due since %lld, and one that is due "
		    "since %lld leaves first",
		    (long long)sqlite3_column_int64(st, 0), parcel->name,
		    (long long)sqlite3_column_int64(st, 1), (long long)due);
	server_asked(st);
}

/* ---- at once ---- */

/* Whether another parcel is under way to ${peer}. */
static bool
under_way(const struct sim *s, int peer)
{
	const struct cargo *c;

	for (c = s->peers[peer].cargoes; c != NULL; c = c->next)
		if (!c->answered && c->incarnation == s->server->incarnation)
			return (true);
	return (false);
}

/* Since when ${item}, which was never refused, might have left: nothing before
 * it in its lane has changed since; -1: nobody knows. */
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
	int priority;

	if (s->counts.jumps == 0 && sim_undisturbed(s))
		for (priority = -1; priority <= 1; priority++)
			check_longest_due(s, parcel, priority);
	check_at_once(s, peer, parcel);
}
