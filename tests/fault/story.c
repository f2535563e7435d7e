/* SPDX-License-Identifier: MIT */
/*
 * The run that records promises.  See story.h; story_verify.c has the check.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fault/story.h"

#define HOUR_MS INT64_C(3600000)

static const char *const names[STORY_USERS] = {"alice", "bob", "carol"};

static uint64_t
stamp(void *arg)
{
	struct story *s = arg;

	return (plvfs_ops(s->disk));
}

/* Copies the events that the rig has published since the last call into the
 * story. */
static void
take_events(struct story *s)
{
	const struct effect_event *e;
	struct story_event *to;

	assert_true(s->rig.nevents < 512);
	for (; s->taken < s->rig.nevents; s->taken++) {
		e = &s->rig.events[s->taken];
		assert_true(s->nevents < STORY_EVENTS);
		to = &s->events[s->nevents++];
		to->user_id = e->user_id;
		to->seq = e->seq;
		to->kind = e->kind;
		to->event_id = e->event_id;
		to->published = (size_t)s->rig.stamps[s->taken];
	}
}

/* Counts a unit that has ended with ${rc}.  ${fatal}: the store had failed
 * before the unit was submitted. */
static void
count(struct story *s, enum rc rc, bool fatal)
{

	s->results[rc]++;
	if (rc == RC_OK && fatal)
		s->ok_after_fatal++;
}

static void
begin(struct story *s)
{
	int i;

	s->options.path = plvfs_path(s->disk);
	s->options.checkpoint_bytes = 160 << 10;
	s->options.stamp = stamp;
	s->options.stamp_arg = s;
	rig_open_with(&s->rig, &s->options);
	for (i = 0; i < STORY_USERS; i++) {
		s->users[i].id =
		    rig_user(&s->rig, names[i], &s->users[i].device);
		s->users[i].answered = plvfs_ops(s->disk);
	}
}

void
story_begin(struct story *s, struct plvfs *disk, enum db_sync sync)
{

	memset(s, 0, sizeof(*s));
	s->disk = disk;
	s->options.sync = sync;
	/* The other kinds of stories leave all deliveries to the relay. */
	s->options.at_once = true;
	begin(s);
}

void
story_begin_plain(struct story *s, struct plvfs *disk, enum db_sync sync)
{

	memset(s, 0, sizeof(*s));
	s->disk = disk;
	s->options.sync = sync;
	s->options.vfs = PLVFS_NAME;
	begin(s);
}

/* ---- held: the turns of the thread that syncs ---- */

static void
turn(struct story *s)
{

	s->owed = s->countdown = 0;
	s->turn++;
	rig_turn(&s->rig);
}

/* Called before each call of a batch.  Takes the turn before the write on which
 * the countdown ends, so that the sync comes among the batch's writes. */
static void
at_call(void *arg, enum plvfs_call call)
{
	struct story *s = arg;

	if (call != PLVFS_WRITE || s->countdown == 0 || --s->countdown > 0)
		return;
	s->among_writes++;
	turn(s);
}

/* Called after each batch: takes the turn now, or orders it among the writes of
 * the next batch. */
static void
ran(struct story *s)
{
	static const size_t together[] = {1, 2, 3, 1, 3, 2, 2};
	static const size_t how[] = {1, 0, 1, 2, 1};

	if (!s->options.held || s->stalled ||
	    ++s->owed <
		together[s->turn % (sizeof(together) / sizeof(together[0]))])
		return;
	s->countdown = how[s->turn % (sizeof(how) / sizeof(how[0]))];
	if (s->countdown == 0)
		turn(s);
}

void
story_begin_held(struct story *s, struct plvfs *disk, bool drops)
{

	memset(s, 0, sizeof(*s));
	s->disk = disk;
	s->options.held = true;
	s->options.drops_syncs = drops;
	begin(s);
	plvfs_watch(disk, at_call, s);
}

void
story_end(struct story *s)
{

	if (s->options.held)
		turn(s);
	plvfs_watch(s->disk, NULL, NULL);
	take_events(s);
	rig_close(&s->rig);
}

void
story_kill_rig(struct plvfs *disk, struct rig *rig)
{

	plvfs_dead(disk, true);
	rig_close(rig);
	plvfs_dead(disk, false);
}

void
story_kill(struct story *s)
{
	size_t answered;

	turn(s);
	answered = story_answered(s);
	s->stalled = true;
	story_send(s, BOB, ALICE, 2, 20);
	story_deliver(s);
	s->stalled = false;
	assert_int_equal(story_answered(s), answered);
	plvfs_watch(s->disk, NULL, NULL);
	take_events(s);
	story_kill_rig(s->disk, &s->rig);
	/* Another seed, so that new ids differ from those before the kill. */
	s->options.seed = 4711;
	s->options.now_ms = s->rig.clk.wall_ms;
	s->taken = 0;
	s->owed = s->countdown = 0;
	rig_open_with(&s->rig, &s->options);
	plvfs_watch(s->disk, at_call, s);
	story_retry(s);
}

/* ---- sending ---- */

/* Thread: the test's.  In a held story it is the thread that syncs, while the
 * test's thread waits. */
static void
on_send(struct unit *base)
{
	struct send_unit *u = CONTAINER_OF(base, struct send_unit, unit);
	struct story_send *m = u->arg;
	struct story *s = m->story;

	s->refused += u->refusal.problem != PROBLEM_NONE;
	if (u->unit.rc == RC_OK)
		m->answered = plvfs_ops(s->disk);
	count(s, u->unit.rc, m->fatal);
	rig_answered(&s->rig, u->unit.rc);
}

static struct story_send *
new_send(struct story *s, enum story_user from, enum story_user to, size_t size)
{
	struct story_send *m;
	int n;

	assert_true(s->nsends < STORY_SENDS);
	m = &s->sends[s->nsends++];
	m->story = s;
	m->from = from;
	m->to = to;
	m->submitted = plvfs_ops(s->disk);
	m->answered = SIZE_MAX;
	memset(m->body, '.', sizeof(m->body));
	n = snprintf(m->body, sizeof(m->body), "message %zu", s->nsends);
	m->body[n] = ' ';
	m->draft.has_id = true;
	m->draft.id = uuid_gen_next(&s->rig.ids);
	m->draft.to = (struct span){names[to], strlen(names[to])};
	m->draft.body = (struct span){m->body, size < 20 ? 20 : size};
	return (m);
}

/* Submits ${n} sends, from ${m} on, as one batch. */
static void
submit(struct story *s, struct story_send *m, size_t n)
{
	bool fatal;
	size_t i;

	fatal = s->rig.fatal > 0;
	for (i = 0; i < n; i++) {
		m[i].fatal = fatal;
		memset(&m[i].unit, 0, sizeof(m[i].unit));
		send_unit_init(&m[i].unit);
		assert_true(send_unit_ask(&m[i].unit, s->users[m[i].from].id,
		    &m[i].draft, &rig_addressing));
		m[i].unit.unit.finish = on_send;
		m[i].unit.arg = &m[i];
		assert_int_equal(
		    writer_submit(s->rig.writer, &m[i].unit.unit), RC_OK);
	}
	rig_run(&s->rig, n);
	ran(s);
	assert_int_equal(s->refused, 0);
	take_events(s);
}

void
story_send(struct story *s, enum story_user from, enum story_user to, size_t n,
    size_t size)
{
	struct story_send *first;
	size_t i;

	first = &s->sends[s->nsends];
	for (i = 0; i < n; i++)
		(void)new_send(s, from, to, size + 50 * i);
	submit(s, first, n);
}

static void
send_later(struct story *s, enum story_user from, enum story_user to)
{
	struct story_send *m;

	m = new_send(s, from, to, 100);
	m->draft.deliver_at_ms = s->rig.clk.wall_ms + HOUR_MS;
	submit(s, m, 1);
}

void
story_retry(struct story *s)
{
	size_t i;

	for (i = 0; i < s->nsends; i++) {
		if (s->sends[i].answered != SIZE_MAX)
			continue;
		submit(s, &s->sends[i], 1);
		rig_turn(&s->rig);
		assert_int_equal(s->sends[i].unit.unit.rc, RC_OK);
	}
}

size_t
story_answered(const struct story *s)
{
	size_t i, n;

	for (i = n = 0; i < s->nsends; i++)
		n += s->sends[i].answered != SIZE_MAX;
	return (n);
}

/* ---- the other verbs ---- */

static void
on_deliver(struct unit *base)
{
	struct deliver_unit *u = CONTAINER_OF(base, struct deliver_unit, unit);
	struct story_deliver *d = u->arg;
	struct story *s = d->story;

	count(s, u->unit.rc, d->fatal && u->delivered > 0);
	rig_answered(&s->rig, u->unit.rc);
}

/* Delivers without waiting for the answers: further batches may run before
 * them. */
static void
deliver_held(struct story *s)
{
	struct err err = ERR_INIT;
	struct story_deliver *d;
	bool none;

	for (;;) {
		d = &s->delivers[s->ndelivers % STORY_DELIVERS];
		assert_int_equal(
		    rig_deliver_unit(&s->rig, &d->unit, &none, &err), RC_OK);
		if (none)
			return;
		s->ndelivers++;
		d->story = s;
		d->fatal = s->rig.fatal > 0;
		d->unit.unit.finish = on_deliver;
		d->unit.arg = d;
		assert_int_equal(
		    writer_submit(s->rig.writer, &d->unit.unit), RC_OK);
		rig_run(&s->rig, 1);
		ran(s);
		take_events(s);
	}
}

void
story_deliver(struct story *s)
{
	bool fatal;
	size_t n;
	enum rc rc;

	if (s->options.held) {
		deliver_held(s);
		return;
	}
	fatal = s->rig.fatal > 0;
	rc = rig_deliver_try(&s->rig, &n);
	count(s, rc, fatal && n > 0);
	take_events(s);
}

static void
mark(struct story *s, enum story_user user, bool read)
{
	struct story_mark *m;
	struct ack_unit a;
	struct read_unit r;
	int64_t upto;
	bool fatal;
	size_t i;
	enum rc rc;

	if (s->options.held)
		turn(s);
	take_events(s);
	/* The last event that was published to this user. */
	for (i = 0, upto = 0; i < s->nevents; i++)
		if (s->events[i].user_id == s->users[user].id &&
		    s->events[i].seq > upto)
			upto = s->events[i].seq;
	fatal = s->rig.fatal > 0;
	if (read) {
		r = rig_read(&s->rig, s->users[user].id, s->users[user].device,
		    upto, false);
		rc = r.unit.rc;
		assert_int_equal(r.refusal.problem, PROBLEM_NONE);
	} else {
		a = rig_ack(
		    &s->rig, s->users[user].id, s->users[user].device, upto);
		rc = a.unit.rc;
		assert_int_equal(a.refusal.problem, PROBLEM_NONE);
	}
	count(s, rc, fatal);
	take_events(s);
	if (rc != RC_OK)
		return;
	assert_true(s->nmarks < STORY_MARKS);
	m = &s->marks[s->nmarks++];
	m->user = user;
	m->read = read;
	m->upto = upto;
	m->answered = plvfs_ops(s->disk);
}

static void
released(struct unit *base)
{
	struct release_unit *u = CONTAINER_OF(base, struct release_unit, unit);

	struct story *s = u->arg;

	count(s, u->unit.rc, s->rig.fatal > 0);
	rig_answered(&s->rig, u->unit.rc);
}

static void
release(struct story *s)
{
	struct release_unit u;

	memset(&u, 0, sizeof(u));
	release_unit_init(&u);
	u.unit.finish = released;
	u.arg = s;
	assert_int_equal(writer_submit(s->rig.writer, &u.unit), RC_OK);
	rig_run(&s->rig, 1);
	rig_turn(&s->rig);
	take_events(s);
}

/* ---- the script ---- */

size_t
story_stride(void)
{

	return (getenv("TWINBOX_SANITIZED") != NULL ? 5 : 1);
}

void
story_first_half(struct story *s)
{

	story_send(s, ALICE, BOB, 1, 20);
	story_deliver(s);
	mark(s, BOB, false);
	story_send(s, ALICE, BOB, 2, 200);
	story_send(s, BOB, ALICE, 1, 200);
	story_send(s, ALICE, CAROL, 1, 3000);
	send_later(s, ALICE, CAROL);
	story_deliver(s);
	mark(s, BOB, true);
	story_send(s, ALICE, BOB, 8, 500);
	story_send(s, BOB, CAROL, 1, 8000);
	story_deliver(s);
	mark(s, CAROL, false);
	mark(s, ALICE, false);
	story_deliver(s);
}

void
story_second_half(struct story *s)
{

	story_send(s, BOB, ALICE, 5, 20);
	clk_fake_advance(&s->rig.clk, HOUR_MS);
	release(s);
	story_deliver(s);
	mark(s, ALICE, true);
	mark(s, CAROL, true);
	story_send(s, CAROL, ALICE, 3, 1000);
	story_send(s, CAROL, CAROL, 1, 20);
	story_deliver(s);
	mark(s, ALICE, false);
	story_send(s, BOB, CAROL, 2, 20);
}
