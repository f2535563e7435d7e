/* SPDX-License-Identifier: MIT */
/*
 * The relay's verbs by hand.  See far.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "contract/far.h"

/* The rig has no thread that waits for a unit: run() turns the writer until the
 * unit sets this flag. */
static bool done;

static void
finished(struct unit *unit)
{

	(void)unit;
	done = true;
}

/* Runs a unit to its end.  One turn of the writer may not be enough: a unit is
 * deferred while another session locks its row, for example a session that has
 * just ended. */
static void
run(struct rig *r, struct unit *unit)
{

	done = false;
	unit->finish = finished;
	assert_int_equal(writer_submit(r->writer, unit), RC_OK);
	while (!done)
		(void)writer_run_once(r->writer);
	assert_int_equal(unit->rc, RC_OK);
}

/* Sends ${draft} to ${to}.  The unit is prepared with a local name, because a
 * rig has no carrier that reaches other servers. */
static struct refusal
send_draft(
    struct rig *r, int64_t from, const char *to, struct message_draft *draft)
{
	struct send_unit u;

	draft->has_id = true;
	draft->id = uuid_gen_next(&r->ids);
	draft->to = (struct span){"ann", 3};
	draft->body = (struct span){"hello", 5};
	memset(&u, 0, sizeof(u));
	send_unit_init(&u);
	assert_true(send_unit_ask(&u, from, draft, &rig_addressing));
	(void)snprintf(u.to, sizeof(u.to), "%s", to);
	run(r, &u.unit);
	return (u.refusal);
}

struct uuid
far_send(struct rig *r, int64_t from, const char *to, int priority,
    int64_t deliver_at)
{
	struct message_draft draft = {0};
	struct refusal refusal;

	draft.priority = priority;
	draft.deliver_at_ms = deliver_at;
	refusal = send_draft(r, from, to, &draft);
	assert_int_equal(refusal.problem, PROBLEM_NONE);
	return (draft.id);
}

struct refusal
far_send_try(struct rig *r, int64_t from, const char *to)
{
	struct message_draft draft = {0};

	return (send_draft(r, from, to, &draft));
}

struct parcel *
far_claim(struct rig *r, struct parcel *p, const char *name, size_t most,
    int priority)
{
	struct claim_passes passes;

	memset(&passes, 0, sizeof(passes));
	return (far_claim_on(r, p, name, most, priority, &passes));
}

struct parcel *
far_claim_on(struct rig *r, struct parcel *p, const char *name, size_t most,
    int priority, struct claim_passes *passes)
{
	struct claim_unit u;
	char sql[96];

	(void)snprintf(sql, sizeof(sql),
	    "SELECT destination_id FROM destinations WHERE name = '%s'", name);
	buf_fini(&p->text);
	memset(p, 0, sizeof(*p));
	buf_init(&p->text, 0);
	p->destination_id = rig_number(r, sql);
	claim_unit_init(&u);
	u.parcel = p;
	u.most = most;
	u.priority = priority;
	u.lease_ms = FAR_LEASE_MS;
	u.owner = "test";
	u.from = *passes;
	run(r, &u.unit);
	*passes = u.upto;
	return (p);
}

size_t
far_settle(struct rig *r, struct parcel *p)
{
	struct settle_unit u;

	settle_unit_init(&u);
	u.parcel = p;
	u.random = 200;
	run(r, &u.unit);
	p->n = 0;
	return (u.fenced);
}

size_t
far_answer(struct rig *r, struct parcel *p, enum answer answer)
{
	size_t i;

	p->reached = answer != ANSWER_NONE;
	for (i = 0; i < p->n; i++)
		p->items[i].answer = answer;
	return (far_settle(r, p));
}

size_t
far_rescue(struct rig *r, bool all)
{
	struct reclaim_unit u;

	reclaim_unit_init(&u);
	u.all = all;
	u.expire = true;
	run(r, &u.unit);
	return (u.reclaimed);
}
