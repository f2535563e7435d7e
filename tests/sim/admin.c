/* SPDX-License-Identifier: MIT */
/*
 * The operator.  See admin.h.  Each action is a unit of the writer, which the
 * admin routes would make in the same way.  The operator does not repeat an
 * action without an answer.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "delivery/dead_letter.h"
#include "delivery/destination.h"
#include "delivery/settle.h"
#include "sim/admin.h"
#include "sim/fed.h"
#include "sim/server.h"
#include "txn/env.h"

#define NAMES 4
#define NAME_HERE 2

enum operator_kind {
	ADMIN_REQUEUE,
	OPERATOR_DISCARD,
	OPERATOR_RETRY,
	OPERATOR_PAUSE,
	OPERATOR_RESUME,
	OPERATOR_RATE,
	OPERATOR_REWIND,
	ADMIN_CONFIRM
};

struct operator_unit {
	struct unit unit; /* must be first */
	struct operator_unit *next;
	struct sim *s;
	enum operator_kind kind;
	int64_t id, n;
	const char *name;
	struct refusal refusal;
	bool waited;        /* ADMIN_CONFIRM: the row waited for an ack */
	admin_done_fn done; /* NULL: no callback */
	void *arg;
};

static const char *const names[NAMES] = {
    "a.fault.test", "b.fault.test", "local", "*"};
static const char *const words[] = {"requeue", "discard", "retry", "pause",
    "resume", "rate", "rewind", "confirm"};

/* Returns the name of destination ${i}: the peers come first. */
static const char *
name_of(const struct sim *s, uint64_t i)
{

	return (s->w->fed != NULL && i < SIM_PEERS ? fed_domain(s, (int)i)
						   : names[i]);
}

/* ---- the unit ---- */

static enum rc
confirm(struct tx *tx, struct operator_unit *u, struct err *err)
{
	struct store_row row;
	enum rc rc;

	rc = store_row_get(tx->db, u->id, &row, err);
	if (rc != RC_OK)
		return (rc == RC_NOT_FOUND ? RC_OK : rc);
	u->waited = row.state == OUTBOX_SENT && row.ack_deadline != 0;
	return (settle_confirm(tx, u->id, err));
}

static enum rc
apply_one(struct tx *tx, struct operator_unit *u, struct err *err)
{
	struct refusal *ret = &u->refusal;

	*ret = (struct refusal)REFUSAL_INIT;
	switch (u->kind) {
	case ADMIN_REQUEUE:
		return (dead_letter_requeue(tx, u->id, "op", ret, err));
	case OPERATOR_DISCARD:
		return (dead_letter_discard(tx, u->id, "op", ret, err));
	case OPERATOR_RETRY:
		return (dead_letter_retry(tx, u->id, "op", ret, err));
	case OPERATOR_PAUSE:
		return (
		    destination_pause(tx, u->name, "op", "because", ret, err));
	case OPERATOR_RESUME:
		return (destination_resume(tx, u->name, "op", ret, err));
	case OPERATOR_RATE:
		return (destination_rate(tx, u->name, u->n, "op", ret, err));
	case OPERATOR_REWIND:
		return (
		    destination_rewind_lane(tx, u->id, u->n, "op", ret, err));
	case ADMIN_CONFIRM:
	default:
		return (confirm(tx, u, err));
	}
}

static enum rc
operator_apply(struct tx *tx, struct unit **units, size_t n, struct err *err)
{
	size_t i;
	enum rc rc;

	for (i = 0; i < n; i++) {
		rc = apply_one(
		    tx, (struct operator_unit *)(void *)units[i], err);
		if (rc != RC_OK)
			return (err_wrap(err, "operator"));
	}
	return (RC_OK);
}

/* Checks that a lane continues when the ack that it waited for has come. */
static void
check_goes_on(struct sim *s, int64_t outbox_id)
{
	sqlite3_stmt *st = server_ask(s,
	    "SELECT l.lane_id, l.due_at FROM outbox o JOIN outbox_lanes l ON "
	    "l.lane_id = o.lane_id WHERE o.id = ?1 AND l.state = 'ready' AND "
	    "l.due_at > ?2");

	if (st == NULL)
		return;
	(void)sqlite3_bind_int64(st, 1, outbox_id);
	(void)sqlite3_bind_int64(st, 2, s->clk.wall_ms);
	if (sqlite3_step(st) == SQLITE_ROW)
		sim_bad(s,
		    "outbox row %lld was confirmed, and lane %lld waits for "
		    "%lld ms more",
		    (long long)outbox_id,
		    (long long)sqlite3_column_int64(st, 0),
		    (long long)(sqlite3_column_int64(st, 1) - s->clk.wall_ms));
	server_asked(st);
}

static void
admin_done(struct unit *unit)
{
	struct operator_unit *u = (struct operator_unit *)(void *)unit;
	struct sim_counts *c = &u->s->counts;

	if (u->s->server->dying)
		return;
	sim_tell(u->s, "operator: %s %s %lld: %s, problem %d", words[u->kind],
	    u->name != NULL ? u->name : "", (long long)u->id, rc_text(unit->rc),
	    (int)u->refusal.problem);
	if (u->done != NULL)
		u->done(u->s, u->arg, unit->rc == RC_OK);
	if (unit->rc != RC_OK || u->refusal.problem != PROBLEM_NONE)
		return;
	c->requeues += u->kind == ADMIN_REQUEUE;
	c->discards += u->kind == OPERATOR_DISCARD;
	c->pauses += u->kind == OPERATOR_PAUSE;
	c->rewinds += u->kind == OPERATOR_REWIND;
	c->confirms += u->kind == ADMIN_CONFIRM;
	if (!u->waited)
		return;
	admin_confirmed(u->s, u->id);
}

void
admin_confirmed(struct sim *s, int64_t outbox_id)
{

	check_goes_on(s, outbox_id);
	s->counts.confirmed++;
	if (s->nconfirmed < 2 * SIM_MESSAGES)
		s->confirmed[s->nconfirmed++] = outbox_id;
}

UNIT_KIND(operator, unit_locks_nothing, .queue = UNIT_CLIENT,
    .order = ORDER_OPERATOR, .apply = operator_apply);

/* Makes a unit, which the world keeps until its end. */
static struct operator_unit *
unit_new(struct sim *s, enum operator_kind kind)
{
	struct operator_unit *u = calloc(1, sizeof(*u));

	assert(u != NULL);
	u->unit.kind = &operator_kind;
	u->unit.finish = admin_done;
	u->s = s;
	u->kind = kind;
	u->next = s->operator_units;
	s->operator_units = u;
	return (u);
}

static bool
submit(struct sim *s, struct operator_unit *u)
{

	if (!s->server->up ||
	    writer_submit(s->server->writer, &u->unit) != RC_OK)
		return (false);
	server_turn_soon(s);
	return (true);
}

void
admin_free(struct sim *s)
{
	struct operator_unit *u;

	while ((u = s->operator_units) != NULL) {
		s->operator_units = u->next;
		free(u);
	}
}

/* ---- the actions ---- */

/* Returns one of the numbers that ${sql} gives, at random, or 0 if it gives
 * none. */
static int64_t
one_of(struct sim *s, const char *sql)
{
	sqlite3_stmt *st = server_ask(s, sql);
	int64_t found = 0;
	uint64_t n = 0;

	while (st != NULL && sqlite3_step(st) == SQLITE_ROW)
		if (sim_dice(s, ++n) == 0)
			found = sqlite3_column_int64(st, 0);
	server_asked(st);
	return (found);
}

static void
act_on_letter(struct sim *s, enum operator_kind kind)
{
	struct operator_unit *u;
	int64_t id;

	id = one_of(s, kind == OPERATOR_RETRY
			   ? "SELECT id FROM outbox WHERE kind = 1 ORDER BY "
			     "id DESC LIMIT 30"
			   : "SELECT outbox_id FROM dead_letter_queue WHERE "
			     "resolution IS NULL");
	if (id == 0)
		return;
	u = unit_new(s, kind);
	u->id = id;
	(void)submit(s, u);
}

static void
act_on_destination(struct sim *s, enum operator_kind kind)
{
	const char *name = name_of(s, sim_dice(s, NAMES));

	if (kind == OPERATOR_PAUSE || !fed_restore_holds(s, name))
		(void)admin_pauses(s, name, kind == OPERATOR_PAUSE);
}

bool
admin_pauses(struct sim *s, const char *name, bool pause)
{
	struct operator_unit *u =
	    unit_new(s, pause ? OPERATOR_PAUSE : OPERATOR_RESUME);

	u->name = name;
	return (submit(s, u));
}

bool
admin_rewinds(struct sim *s, int64_t lane_id, admin_done_fn done, void *arg)
{
	struct operator_unit *u = unit_new(s, OPERATOR_REWIND);

	u->id = lane_id;
	u->n = 1;
	u->done = done;
	u->arg = arg;
	return (submit(s, u));
}

void
admin_pauses_here(struct sim *s)
{

	(void)admin_pauses(s, names[NAME_HERE], true);
}

/* The rate is low enough that messages have to wait for it. */
void
admin_paces(struct sim *s)
{
	struct operator_unit *u = unit_new(s, OPERATOR_RATE);

	u->name = name_of(s, sim_dice(s, SIM_PEERS));
	u->n = sim_chance(s, 200) ? 0 : 1 + (int64_t)sim_dice(s, 6);
	(void)submit(s, u);
}

static void
rewind_lane(struct sim *s)
{
	struct operator_unit *u;
	int64_t id;

	id = one_of(s, "SELECT lane_id FROM outbox_lanes WHERE class = 0 AND "
		       "next_seq > 1");
	/* While a server is being restored, its peers offer whole lanes again.
	 * A rewind to another place would cancel that. */
	if (id == 0 || fed_restore_is_under_way(s->w))
		return;
	u = unit_new(s, OPERATOR_REWIND);
	u->id = id;
	u->n = 1 + (int64_t)sim_dice(s, 3);
	(void)submit(s, u);
}

void
admin_acts(struct sim *s)
{
	uint64_t what = sim_dice(s, 100);

	if (!s->server->up)
		return;
	if (what < 32)
		act_on_letter(s, ADMIN_REQUEUE);
	else if (what < 38)
		act_on_letter(s, OPERATOR_DISCARD);
	else if (what < 48)
		act_on_letter(s, OPERATOR_RETRY);
	else if (what < 58)
		act_on_destination(s, OPERATOR_PAUSE);
	else if (what < 70)
		act_on_destination(s, OPERATOR_RESUME);
	else if (what < 84)
		admin_paces(s);
	else
		rewind_lane(s);
}

void
admin_confirm(struct sim *s, int64_t outbox_id)
{
	struct operator_unit *u = unit_new(s, ADMIN_CONFIRM);

	u->id = outbox_id;
	(void)submit(s, u);
}

/* Resumes all paused destinations, and checks again later: an earlier request
 * to pause may still be under way. */
static void
resume(struct sim *s, void *arg, int64_t n)
{
	size_t i;

	(void)arg;
	for (i = 0; i < NAMES && s->server->up; i++) {
		if (one_of(s, "SELECT 1 FROM destinations WHERE paused_at IS "
			      "NOT NULL") == 0)
			break;
		if (!fed_restore_holds(s, name_of(s, i)))
			(void)admin_pauses(s, name_of(s, i), false);
	}
	sim_after(s, n, resume, NULL, n < SIM_HOUR_MS ? n * 2 : n);
}

void
admin_resumes_all(struct sim *s)
{

	sim_after(s, 0, resume, NULL, 1000);
}
