/* SPDX-License-Identifier: MIT */
/*
 * Which attempts are charged.  See charges.h.
 */
#include <assert.h>
#include <stdlib.h>

#include "sim/charges.h"
#include "sim/server.h"

/* An attempt that may be charged to its message. */
struct charge {
	int64_t outbox_id, attempt;
};

static void
add(struct sim *s, int64_t outbox_id, int64_t attempt)
{
	struct charge *more;

	if (s->ncharges == s->charges_cap) {
		s->charges_cap = s->charges_cap * 2 + 64;
		more = realloc(s->charges, s->charges_cap * sizeof(*more));
		assert(more != NULL);
		s->charges = more;
	}
	s->charges[s->ncharges++] = (struct charge){outbox_id, attempt};
}

/* Returns true if this verdict of an item holds back the items behind it. */
static bool
waits(enum verdict verdict)
{

	return (verdict != VERDICT_TAKEN && verdict != VERDICT_REJECTED &&
		verdict != VERDICT_TOO_LARGE);
}

void
charges_heard(struct sim *s, const struct cargo *cargo)
{
	const struct cargo_item *items = cargo->items;
	size_t i, k;

	/* A peer that asks the server to come back later refuses nothing. */
	if (cargo->answer != CARGO_ITEMS || cargo->reconnect)
		return;
	for (i = 0; i < cargo->n; i++) {
		if (items[i].verdict != VERDICT_RETRY &&
		    items[i].verdict != VERDICT_NONE)
			continue;
		for (k = 0; k < i; k++)
			if (items[k].lane_id == items[i].lane_id &&
			    waits(items[k].verdict))
				break;
		if (k == i)
			add(s, items[i].outbox_id, items[i].attempt);
		else
			s->counts.refused_behind++;
	}
}

static bool
may_be(const struct sim *s, int64_t outbox_id, int64_t attempt)
{
	size_t i;

	for (i = 0; i < s->ncharges; i++)
		if (s->charges[i].outbox_id == outbox_id &&
		    s->charges[i].attempt == attempt)
			return (true);
	return (false);
}

/* Checks that each charged attempt was refused at the head of its lane. */
static void
judge_attempts(struct sim *s)
{
	sqlite3_stmt *st = server_ask(s,
	    "SELECT outbox_id, attempt FROM outbox_attempts "
	    "WHERE outcome = 'retryable' OR outcome = 'no_answer'");
	int64_t id, attempt;

	while (sqlite3_step(st) == SQLITE_ROW) {
		id = sqlite3_column_int64(st, 0);
		attempt = sqlite3_column_int64(st, 1);
		if (!may_be(s, id, attempt))
			sim_bad(s,
			    "outbox row %lld is charged for attempt %lld, in "
			    "which it was not refused at the head of its lane",
			    (long long)id, (long long)attempt);
	}
	server_asked(st);
}

/* Checks that a row has spent what its attempts say, over all its lives (each
 * requeue begins a new one), and in no life more than its retries. */
static void
judge_rows(struct sim *s)
{
	sqlite3_stmt *st = server_ask(s,
	    "SELECT o.id, o.retry_count + (SELECT coalesce(sum(d.retry_count),"
	    " 0) FROM dead_letter_queue d WHERE d.outbox_id = o.id"
	    " AND d.resolution = 'requeued'), o.rescue_count, o.requeues,"
	    " count(a.attempt_id) FILTER (WHERE a.outcome IN ('retryable',"
	    " 'no_answer')), count(a.attempt_id) FILTER (WHERE"
	    " a.outcome = 'later'), count(a.attempt_id) FILTER (WHERE"
	    " a.outcome = 'lease_lost') FROM outbox_attempts a JOIN outbox o"
	    " ON o.id = a.outbox_id WHERE a.outcome IN ('retryable',"
	    " 'no_answer', 'later', 'lease_lost') OR o.retry_count > 0"
	    " OR o.rescue_count > 0 GROUP BY o.id");
	const int most = retry_most(s->setup.retry);
	int64_t spent, refused, later;
	long long id;

	while (sqlite3_step(st) == SQLITE_ROW) {
		id = (long long)sqlite3_column_int64(st, 0);
		spent = sqlite3_column_int64(st, 1);
		refused = sqlite3_column_int64(st, 4);
		later = sqlite3_column_int64(st, 5);
		if (spent > refused + later)
			sim_bad(s,
			    "outbox row %lld is charged %lld retries for %lld "
			    "refusals and %lld promises",
			    id, (long long)spent, (long long)refused,
			    (long long)later);
		if (sqlite3_column_int64(st, 3) == 0 &&
		    (refused > most + 1 || (later == 0 && spent > most)))
			sim_bad(s,
			    "outbox row %lld was refused %lld times, and has "
			    "had %lld retries",
			    id, (long long)refused, (long long)spent);
		if (sqlite3_column_int64(st, 2) > sqlite3_column_int64(st, 6))
			sim_bad(s,
			    "outbox row %lld is charged %lld rescues for %lld "
			    "leases that it lost",
			    id, (long long)sqlite3_column_int64(st, 2),
			    (long long)sqlite3_column_int64(st, 6));
	}
	server_asked(st);
}

void
charges_judge(struct sim *s)
{

	judge_attempts(s);
	judge_rows(s);
}

void
charges_free(struct sim *s)
{

	free(s->charges);
	s->charges = NULL;
	s->ncharges = s->charges_cap = 0;
}
