/* SPDX-License-Identifier: MIT */
/*
 * Acks of events that a peer had answered with "later": the unit `promise` runs
 * after the unit of the request, as in federation/inbound_take.c.  Then this
 * file checks that each ack has settled the row that waited for it.
 */
#include <assert.h>
#include <string.h>

#include "model/retry.h"
#include "sim/admin.h"
#include "sim/fed_internal.h"
#include "sim/server.h"

#define AGAIN_MIN_MS 1000

static const struct unit_kind *promise_kind;

/* Finds the committed rows that wait for an ack of ${h}. */
static void
look(struct hearing *h)
{
	const struct envelope_control *control = &h->request.control;
	sqlite3_stmt *st = server_ask(h->s,
	    "SELECT o.id, o.attempts FROM outbox o JOIN users u ON u.user_id = "
	    "o.dest_id JOIN destinations d ON d.destination_id = "
	    "u.destination_id WHERE o.event_id = ?1 AND o.dest_kind = 'server' "
	    "AND o.state = 'sent' AND o.ack_deadline IS NOT NULL AND d.name = "
	    "?2");
	size_t i;

	for (i = 0; st != NULL && i < control->nacks; i++) {
		(void)sqlite3_bind_blob(
		    st, 1, control->acks[i].event_id.b, 16, SQLITE_STATIC);
		(void)sqlite3_bind_text(
		    st, 2, h->post->from, -1, SQLITE_STATIC);
		if (sqlite3_step(st) == SQLITE_ROW) {
			h->waiting[i] = sqlite3_column_int64(st, 0);
			h->attempts[i] = sqlite3_column_int64(st, 1);
		}
		(void)sqlite3_reset(st);
	}
	server_asked(st);
}

static enum rc
look_and_apply(struct tx *tx, struct unit *unit, struct err *err)
{
	struct promise_unit *u = CONTAINER_OF(unit, struct promise_unit, unit);
	struct hearing *h = u->arg;
	const uint64_t doom_at = h->s->server->doom_at;

	memset(h->waiting, 0, sizeof(h->waiting));
	/* The judge's reads are not the server's: they must not trigger the
	 * server's death at a call of the disk. */
	h->s->server->doom_at = 0;
	if (!h->s->server->dying)
		look(h);
	h->s->server->doom_at = doom_at;
	return (promise_kind->apply_one(tx, unit, err));
}

/* The present state of a row that waited. */
struct waited {
	bool waits; /* still, for the same attempt */
	bool sent;  /* and waits for nothing more */
	int64_t left_ms;
};

static bool
find(struct hearing *h, size_t i, struct waited *ret)
{
	sqlite3_stmt *st = server_ask(h->s,
	    "SELECT state = 'sent' AND ack_deadline IS NOT NULL AND attempts = "
	    "?2, state IN ('sent', 'acked') AND ack_deadline IS NULL, "
	    "coalesce(ack_deadline, 0) FROM outbox WHERE id = ?1");
	bool found;

	if (st == NULL)
		return (false);
	(void)sqlite3_bind_int64(st, 1, h->waiting[i]);
	(void)sqlite3_bind_int64(st, 2, h->attempts[i]);
	found = sqlite3_step(st) == SQLITE_ROW;
	if (found) {
		ret->waits = sqlite3_column_int(st, 0) != 0;
		ret->sent = sqlite3_column_int(st, 1) != 0;
		ret->left_ms = sqlite3_column_int64(st, 2) - h->s->clk.wall_ms;
	}
	server_asked(st);
	return (found);
}

/* Returns true if an ack before ${i} in this request is for the same event. */
static bool
has_twin(const struct hearing *h, size_t i)
{
	size_t k;

	for (k = 0; k < i && h->waiting[k] != h->waiting[i]; k++)
		continue;
	return (k < i);
}

static void
judge(struct hearing *h, size_t i)
{
	const struct envelope_ack *ack = &h->request.control.acks[i];
	struct sim *s = h->s;
	int64_t wait = ack->retry_after_ms;
	struct waited is;

	s->counts.acks_in++;
	s->counts.acks_early += h->waiting[i] == 0;
	if (h->waiting[i] == 0 || has_twin(h, i) || !find(h, i, &is))
		return;
	if (ack->status == ENVELOPE_RETRYABLE) {
		s->counts.put_later++;
		wait = wait < AGAIN_MIN_MS ? AGAIN_MIN_MS : wait;
		if (is.waits && is.left_ms > wait && s->counts.jumps == 0)
			sim_bad(s,
			    "outbox row %lld was refused for %lld ms, and "
			    "waits for %lld ms",
			    (long long)h->waiting[i], (long long)wait,
			    (long long)is.left_ms);
		return;
	}
	s->counts.never += ack->status == ENVELOPE_REJECTED;
	if (is.waits)
		sim_bad(s, "outbox row %lld has its ack, and waits for it",
		    (long long)h->waiting[i]);
	if (ack->status == ENVELOPE_ACCEPTED && is.sent)
		admin_confirmed(s, h->waiting[i]);
}

static void
settled(struct unit *base)
{
	struct promise_unit *u = CONTAINER_OF(base, struct promise_unit, unit);
	struct hearing *h = u->arg;
	struct sim *s = h->s;
	size_t i;

	if (!s->server->dying && base->rc == RC_OK) {
		sim_tell(s, "request of %s: %zu acks, %zu count", h->post->from,
		    u->n, u->settled);
		for (i = 0; i < u->n; i++)
			judge(h, i);
		fed_answer(h);
	} else if (!s->server->dying && !s->server->doomed) {
		fed_refuse(h, 503, rc_text(base->rc));
	}
	fed_hearing_free(h);
}

bool
fed_promise_settle(struct hearing *h)
{
	const struct envelope_control *control = &h->request.control;
	struct promise_unit *u = &h->promise;

	if (control->nacks == 0)
		return (false);
	promise_unit_init(u);
	u->origin_id = h->origin_id;
	u->acks = control->acks;
	u->n = control->nacks;
	u->unit.finish = settled;
	u->arg = h;
	promise_kind = u->unit.kind;
	h->promise_kind = *promise_kind;
	h->promise_kind.apply_one = look_and_apply;
	u->unit.kind = &h->promise_kind;
	if (writer_submit(h->s->server->writer, &u->unit) == RC_OK) {
		server_turn_soon(h->s);
		return (true);
	}
	fed_refuse(h, 503, "busy");
	fed_hearing_free(h);
	return (true);
}
