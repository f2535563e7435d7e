/* SPDX-License-Identifier: MIT */
/*
 * See core_fixture.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "contract/watched.h"
#include "delivery/reclaim.h"
#include "delivery/settle.h"
#include "schema/sql.h"
#include "unit/core_fixture.h"

struct scene scene;

int64_t
scene_now(void)
{

	return (clk_mono_ms(&scene.rig.clk.clk));
}

__attribute__((format(printf, 1, 2))) static void
tell(const char *format, ...)
{
	size_t n = strlen(scene.told);
	va_list ap;

	/* A test that lets this much happen does not compare all of it. */
	if (n > sizeof(scene.told) - 128)
		return;
	n += (size_t)snprintf(scene.told + n, sizeof(scene.told) - n, "%lld ",
	    (long long)(scene_now() - scene.since_ms));
	va_start(ap, format);
	n += (size_t)vsnprintf(
	    scene.told + n, sizeof(scene.told) - n, format, ap);
	va_end(ap);
	assert_true(n < sizeof(scene.told) - 1);
	scene.told[n] = '\n';
	scene.told[n + 1] = '\0';
}

/* ---- the world around the core ---- */

/* A reclaim that leaves the lease as it is, because another transaction holds
 * the conversation's row. */
static void
pass_over(struct reclaim_unit *u)
{

	u->unit.rc = RC_OK;
	u->next_lease = scene.rig.clk.wall_ms;
	u->unit.finish(&u->unit);
}

/* The same for a release of scheduled messages that are due. */
static void
pass_over_due(struct release_unit *u)
{

	u->unit.rc = RC_OK;
	u->passed_over = true;
	u->unit.finish(&u->unit);
}

static bool
is_kind(const struct unit *unit, const char *name)
{

	return (name != NULL && strcmp(unit->kind->name, name) == 0);
}

static enum rc
submit(void *arg, struct unit *unit)
{

	(void)arg;
	tell("%s", unit->kind->name);
	if (is_kind(unit, scene.passes_over)) {
		if (strcmp(scene.passes_over, "reclaim") == 0)
			pass_over((struct reclaim_unit *)(void *)unit);
		else
			pass_over_due((struct release_unit *)(void *)unit);
		scene.passes_over = NULL;
		return (RC_OK);
	}
	if (is_kind(unit, scene.refused))
		return (scene.refused_with);
	if (is_kind(unit, scene.fails)) {
		unit->rc = scene.fails_with;
		unit->finish(unit);
		return (RC_OK);
	}
	return (writer_submit(scene.rig.writer, unit));
}

static enum rc
deliver(void *arg, struct deliver_unit *unit)
{

	return (submit(arg, &unit->unit));
}

static void
back(void *arg, struct core_job *job)
{

	(void)arg;
	job->next = NULL;
	*scene.jobs_tail = job;
	scene.jobs_tail = &job->next;
}

static bool
reaches(void *arg, const char *domain)
{

	(void)arg;
	(void)domain;
	return (!scene.closed_way);
}

static void
carry(void *arg, struct parcel *parcel)
{

	(void)arg;
	tell("carry %s %zu", parcel->name, parcel->n);
	if (scene.answers != NULL) {
		scene.answers(parcel);
		return;
	}
	assert_true(
	    scene.ncarried < sizeof(scene.carried) / sizeof(scene.carried[0]));
	scene.carried[scene.ncarried++] = parcel;
}

static int64_t
turn(struct wake *wake, bool going)
{
	struct core_job *list = scene.jobs;

	scene.jobs = NULL;
	scene.jobs_tail = &scene.jobs;
	return (core_turn(
	    scene.core, wake != NULL ? &wake->node : NULL, list, going));
}

int64_t
scene_turn_by(struct wake *wake)
{

	return (turn(wake, true));
}

int64_t
scene_turn(void)
{

	return (turn(NULL, true));
}

int64_t
scene_turn_stopping(void)
{

	return (turn(NULL, false));
}

/* ---- time ---- */

void
scene_pass(int64_t ms)
{
	int i;

	clk_fake_advance(&scene.rig.clk, ms);
	for (i = 0; i < 50; i++) {
		(void)scene_turn();
		(void)writer_run_once(scene.rig.writer);
	}
}

void
scene_pass_slowly(int64_t ms)
{

	for (; ms > 0; ms -= SECOND)
		scene_pass(SECOND);
}

void
scene_run(int64_t ms)
{
	const int64_t end = scene_now() + ms;
	int64_t next;

	for (;;) {
		next = scene_turn();
		if (writer_run_once(scene.rig.writer) > 0 || scene.jobs != NULL)
			continue;
		/* The core never asks for a turn at a time that has passed. */
		assert_true(next > scene_now());
		if (next > end)
			break;
		clk_fake_advance(&scene.rig.clk, next - scene_now());
	}
	clk_fake_advance(&scene.rig.clk, end - scene_now());
}

void
scene_forget(void)
{

	scene.told[0] = '\0';
	scene.since_ms = scene_now();
}

void
scene_expect(const char *told)
{

	assert_string_equal(scene.told, told);
	scene_forget();
}

/* ---- the carrier's answers ---- */

void
scene_answer(struct parcel *parcel)
{
	size_t i;

	parcel->reached = true;
	parcel->status = 200;
	for (i = 0; i < parcel->n; i++)
		parcel->items[i].answer = ANSWER_ACCEPTED;
	parcel->finish(parcel);
}

void
scene_fail(struct parcel *parcel, int status, int64_t retry_after_ms)
{

	if (status != 0)
		parcel->status = status;
	if (retry_after_ms != 0)
		parcel->retry_after_ms = retry_after_ms;
	parcel->finish(parcel);
}

/* ---- the store ---- */

static void
send_finished(struct unit *base)
{
	struct send_unit *u = CONTAINER_OF(base, struct send_unit, unit);

	(void)u;
}

static void
send(const char *here, const char *elsewhere, int64_t expires_in_ms)
{
	struct message_draft draft = {0};
	struct send_unit u;

	draft.has_id = true;
	draft.id = uuid_gen_next(&scene.rig.ids);
	draft.to = (struct span){here, strlen(here)};
	draft.body = (struct span){"hello", 5};
	draft.expires_in_ms = expires_in_ms;
	memset(&u, 0, sizeof(u));
	send_unit_init(&u);
	u.unit.finish = send_finished;
	assert_true(send_unit_ask(&u, 1, &draft, &rig_addressing));
	/* send_unit_ask() would refuse an address of another server, so it is
	 * set here. */
	if (elsewhere != NULL)
		(void)snprintf(u.to, sizeof(u.to), "%s", elsewhere);
	assert_int_equal(writer_submit(scene.rig.writer, &u.unit), RC_OK);
	assert_int_equal(writer_run_once(scene.rig.writer), 1);
	assert_int_equal(u.unit.rc, RC_OK);
	assert_int_equal(u.refusal.problem, PROBLEM_NONE);
}

void
scene_send_here(const char *to, int64_t ms)
{

	send(to, NULL, ms);
}

void
scene_send_expiring(const char *to, int64_t ms)
{

	send("ann", to, ms);
}

void
scene_send(const char *to)
{

	scene_send_expiring(to, 0);
}

struct wake *
scene_wake(const char *name)
{
	struct err err = ERR_INIT;
	struct wake *wake = wake_new();
	char sql[128];

	(void)snprintf(sql, sizeof(sql),
	    "SELECT destination_id FROM destinations WHERE name = '%s'", name);
	assert_non_null(wake);
	assert_int_equal(
	    wake_add_destination(wake, rig_number(&scene.rig, sql), &err),
	    RC_OK);
	return (wake);
}

int64_t
scene_lease_left(void)
{

	return (rig_number(&scene.rig,
		    "SELECT coalesce(max(lease_until), 0) FROM outbox_lanes "
		    "WHERE state = 'leased'") -
		scene.rig.clk.wall_ms);
}

int64_t
scene_count(const char *what)
{
	char sql[160];

	(void)snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", what);
	return (rig_number(&scene.rig, sql));
}

/* ---- starting and ending ---- */

static void
start(int64_t poll_ms, int64_t timeout_ms)
{
	struct core_options o = {0};
	struct err err = ERR_INIT;

	scene.jobs = NULL;
	scene.jobs_tail = &scene.jobs;
	scene.ncarried = 0;
	o.local = (struct carrier_local){.submit = deliver};
	o.remote = (struct carrier_remote){.reaches = reaches, .send = carry};
	o.submit = submit;
	o.back = back;
	o.db = scene.reader;
	o.clk = &scene.rig.clk.clk;
	o.rnd = &scene.rig.rnd.rnd;
	o.owner = "test";
	o.poll_ms = poll_ms;
	o.timeout_ms = timeout_ms;
	o.destinations_most = scene.destinations_most;
	assert_int_equal(core_new(&o, &scene.core, &err), RC_OK);
	assert_int_equal(core_start(scene.core, &err), RC_OK);
	scene_forget();
}

void
scene_restart(int64_t poll_ms, int64_t timeout_ms)
{

	core_free(scene.core);
	start(poll_ms, timeout_ms);
}

int
scene_set_up(void **state)
{
	struct db_options db = {0};
	struct err err = ERR_INIT;

	(void)state;
	memset(&scene, 0, sizeof(scene));
	scene.refused_with = RC_BUSY;
	scene.fails_with = RC_IO;
	watched_start("UPDATE outbox_lanes SET lease_until", &scene.renewals);
	rig_open(&scene.rig);
	(void)rig_user(&scene.rig, "ann", NULL);
	db.url = scene.rig.url;
	db.mode = DB_READER;
	db.schema = &sql_sqlite_schema;
	assert_int_equal(db_open(&db, &scene.reader, &err), RC_OK);
	start(500, 0);
	return (0);
}

int
scene_tear_down(void **state)
{

	(void)state;
	watched_stop();
	core_free(scene.core);
	db_close(scene.reader);
	rig_close(&scene.rig);
	return (0);
}
