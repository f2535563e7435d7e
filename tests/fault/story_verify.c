/* SPDX-License-Identifier: MIT */
/*
 * Checks that a disk keeps what a story promised.  See story.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fault/story.h"

#define DAY_MS INT64_C(86400000)

static char verdict[512];

static const char *wrong(const char *fmt, ...)
    __attribute__((format(printf, 1, 2)));

static const char *
wrong(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(verdict, sizeof(verdict), fmt, ap);
	va_end(ap);
	return (verdict);
}

static sqlite3_stmt *
prepare(struct rig *r, const char *sql)
{
	sqlite3_stmt *st;

	if (sqlite3_prepare_v2(r->look, sql, -1, &st, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(r->look));
	return (st);
}

/* ---- what was promised ---- */

static bool
same_blob(sqlite3_stmt *st, int col, const void *p, size_t n)
{

	return ((size_t)sqlite3_column_bytes(st, col) == n &&
		memcmp(sqlite3_column_blob(st, col), p, n) == 0);
}

static const char *
check_users(const struct story *s, size_t point, struct rig *r)
{
	const char *bad = NULL;
	sqlite3_stmt *st;
	size_t i;

	st = prepare(r, "SELECT count(*) FROM devices WHERE user_id=?1 AND "
			"device_id=?2");
	for (i = 0; i < STORY_USERS && bad == NULL; i++) {
		if (s->users[i].answered > point)
			continue;
		(void)sqlite3_bind_int64(st, 1, s->users[i].id);
		(void)sqlite3_bind_int64(st, 2, s->users[i].device);
		if (sqlite3_step(st) != SQLITE_ROW ||
		    sqlite3_column_int(st, 0) != 1)
			bad = wrong("user %zu is lost", i);
		(void)sqlite3_reset(st);
	}
	(void)sqlite3_finalize(st);
	return (bad);
}

static const char *
check_sends(const struct story *s, size_t point, struct rig *r)
{
	const struct story_send *m;
	const char *bad = NULL;
	sqlite3_stmt *st;
	size_t i;

	st = prepare(r, "SELECT body, coalesce(conversation_seq, 0), mid FROM "
			"messages WHERE message_id=?1");
	for (i = 0; i < s->nsends && bad == NULL; i++) {
		m = &s->sends[i];
		if (m->answered > point)
			continue;
		(void)sqlite3_bind_blob(
		    st, 1, m->draft.id.b, sizeof(m->draft.id.b), SQLITE_STATIC);
		if (sqlite3_step(st) != SQLITE_ROW)
			bad = wrong("accepted send %zu is lost", i);
		else if (!same_blob(st, 0, m->body, m->draft.body.n) ||
			 sqlite3_column_int64(st, 2) != m->unit.mid ||
			 (m->unit.conversation_seq != 0 &&
			     sqlite3_column_int64(st, 1) !=
				 m->unit.conversation_seq))
			bad = wrong("accepted send %zu has changed", i);
		(void)sqlite3_reset(st);
	}
	(void)sqlite3_finalize(st);
	return (bad);
}

static const char *
check_events(const struct story *s, size_t point, struct rig *r)
{
	const struct story_event *e;
	const char *bad = NULL;
	sqlite3_stmt *st;
	size_t i;

	st = prepare(r, "SELECT event_id, kind FROM inbox WHERE user_id=?1 AND "
			"seq=?2");
	for (i = 0; i < s->nevents && bad == NULL; i++) {
		e = &s->events[i];
		if (e->published > point)
			continue;
		(void)sqlite3_bind_int64(st, 1, e->user_id);
		(void)sqlite3_bind_int64(st, 2, e->seq);
		if (sqlite3_step(st) != SQLITE_ROW)
			bad = wrong("published event %zu is lost", i);
		else if (!same_blob(st, 0, e->event_id.b, 16) ||
			 sqlite3_column_int(st, 1) != e->kind)
			bad = wrong("published event %zu has changed", i);
		(void)sqlite3_reset(st);
	}
	(void)sqlite3_finalize(st);
	return (bad);
}

static const char *
check_marks(const struct story *s, size_t point, struct rig *r)
{
	const struct story_mark *m;
	const char *bad = NULL;
	sqlite3_stmt *st;
	size_t i;

	st = prepare(r, "SELECT d.acked_seq, b.read_seq FROM "
			"devices d JOIN inboxes b ON b.user_id = d.user_id "
			"WHERE d.device_id=?1");
	for (i = 0; i < s->nmarks && bad == NULL; i++) {
		m = &s->marks[i];
		if (m->answered > point)
			continue;
		(void)sqlite3_bind_int64(st, 1, s->users[m->user].device);
		if (sqlite3_step(st) != SQLITE_ROW ||
		    sqlite3_column_int64(st, 0) < m->upto ||
		    (m->read && sqlite3_column_int64(st, 1) < m->upto))
			bad = wrong("mark %zu is lost", i);
		(void)sqlite3_reset(st);
	}
	(void)sqlite3_finalize(st);
	return (bad);
}

static const char *
check_all(const struct story *s, size_t point, struct rig *r)
{
	const char *bad = rig_broken_promise(r);

	if (bad == NULL)
		bad = check_users(s, point, r);
	if (bad == NULL)
		bad = check_sends(s, point, r);
	if (bad == NULL)
		bad = check_events(s, point, r);
	if (bad == NULL)
		bad = check_marks(s, point, r);
	return (bad);
}

/* ---- what happens afterwards ---- */

static void
on_send(struct unit *base)
{
	struct send_unit *u = CONTAINER_OF(base, struct send_unit, unit);

	(*(size_t *)u->arg)++;
}

/* Sends again, in one batch, everything that was sent until ${point}.  A send
 * that was answered must be recognized as known. */
static const char *
send_again(
    struct story *s, size_t point, struct rig *r, bool adopt, size_t *ret_sent)
{
	static struct send_unit units[STORY_SENDS];
	struct story_send *m;
	size_t i, n, done = 0;

	for (i = n = 0; i < s->nsends; i++) {
		m = &s->sends[i];
		if (m->submitted > point)
			break;
		memset(&units[i], 0, sizeof(units[i]));
		send_unit_init(&units[i]);
		assert_true(send_unit_ask(&units[i], s->users[m->from].id,
		    &m->draft, &rig_addressing));
		units[i].unit.finish = on_send;
		units[i].arg = &done;
		assert_int_equal(
		    writer_submit(r->writer, &units[i].unit), RC_OK);
		n++;
	}
	while (writer_run_once(r->writer) > 0)
		continue;
	assert_int_equal(done, n);
	for (i = 0; i < n; i++) {
		m = &s->sends[i];
		if (units[i].unit.rc != RC_OK ||
		    units[i].refusal.problem != PROBLEM_NONE)
			return (wrong("send %zu again: %s, problem %d", i,
			    rc_text(units[i].unit.rc),
			    (int)units[i].refusal.problem));
		if (m->answered <= point &&
		    (!units[i].replayed || units[i].mid != m->unit.mid))
			return (wrong("send %zu again is a new one", i));
		if (!adopt || m->answered <= point)
			continue;
		s->sends[i].unit = units[i];
		s->sends[i].answered = 0;
	}
	*ret_sent = n;
	return (NULL);
}

/* Checks that every message is in its recipient's inbox once, and in order. */
static const char *
check_delivered(const struct story *s, struct rig *r, size_t sent)
{
	const char *bad = NULL;
	sqlite3_stmt *st;
	size_t i;

	if (rig_number(r, "SELECT count(*) FROM messages") != (int64_t)sent)
		return (wrong("there are other messages than were sent"));
	if (rig_number(r, "SELECT count(*) FROM outbox WHERE state NOT IN "
			  "('sent', 'acked')") != 0)
		return (wrong("something stays undelivered"));
	if (rig_number(r,
		"SELECT count(*) FROM (SELECT conversation_seq AS n, "
		"lag(conversation_seq) OVER (PARTITION BY user_id, "
		"conversation_id, own ORDER BY seq) AS before FROM inbox "
		"WHERE kind = 1) WHERE before >= n") != 0)
		return (wrong("an inbox has messages out of order"));
	st = prepare(r, "SELECT count(*) FROM messages m JOIN inbox i ON "
			"i.mid = m.mid AND i.kind = 1 AND i.user_id = ?2 "
			"WHERE m.message_id = ?1");
	for (i = 0; i < sent && bad == NULL; i++) {
		(void)sqlite3_bind_blob(
		    st, 1, s->sends[i].draft.id.b, 16, SQLITE_STATIC);
		(void)sqlite3_bind_int64(st, 2, s->users[s->sends[i].to].id);
		if (sqlite3_step(st) != SQLITE_ROW ||
		    sqlite3_column_int(st, 0) != 1)
			bad = wrong("send %zu does not arrive once", i);
		(void)sqlite3_reset(st);
	}
	(void)sqlite3_finalize(st);
	return (bad);
}

static const char *
go_on(struct story *s, size_t point, struct rig *r, bool adopt)
{
	const char *bad;
	size_t n, sent = 0;

	bad = send_again(s, point, r, adopt, &sent);
	if (bad != NULL)
		return (bad);
	if (rig_deliver_try(r, &n) != RC_OK)
		return (wrong("no delivery"));
	(void)rig_release(r);
	if (rig_deliver_try(r, &n) != RC_OK)
		return (wrong("no delivery after the release"));
	bad = check_delivered(s, r, sent);
	return (bad != NULL ? bad : check_all(s, point, r));
}

const char *
story_verify(struct story *s, size_t point, struct plvfs *disk, bool adopt,
    size_t *ret_started)
{
	static struct rig r;
	static uint64_t seed = 1000;
	struct rig_options o = {0};
	struct err err = ERR_INIT;
	const char *bad;

	o.path = plvfs_path(disk);
	o.seed = ++seed;
	o.now_ms = RIG_START_MS + DAY_MS;
	o.unsafe_start = s->unsafe_start;
	if (rig_open_try(&r, &o, &err) != RC_OK)
		return (wrong("does not start: %s", err.text));
	if (ret_started != NULL)
		*ret_started = plvfs_ops(disk);
	bad = check_all(s, point, &r);
	if (bad == NULL)
		bad = go_on(s, point, &r, adopt);
	rig_close(&r);
	return (bad);
}
