/* SPDX-License-Identifier: MIT */
/*
 * Which members the hub calls: all members of a user and no others, also when a
 * member leaves during the call; and for which effects the hub needs to be
 * called.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "push/hub.h"

struct guest {
	struct hub_member member; /* first */
	struct hub *hub;
	bool leaves; /* when it is called */
	int events, changes, marks, whispers;
	int64_t last;
	char text[16];
};

static void
on_event(struct hub_member *m, const struct effect_event *e)
{
	struct guest *g = (struct guest *)(void *)m;

	assert_int_equal(e->user_id, m->user_id);
	g->events++;
	g->last = e->seq;
	if (g->leaves)
		hub_leave(g->hub, m);
}

static void
on_change(struct hub_member *m, const struct effect_change *c)
{
	struct guest *g = (struct guest *)(void *)m;

	assert_int_equal(c->user_id, m->user_id);
	g->changes++;
	g->last = c->mid;
	if (g->leaves)
		hub_leave(g->hub, m);
}

static void
on_acked(struct hub_member *m, const struct effect_acked *a)
{
	struct guest *g = (struct guest *)(void *)m;

	assert_int_equal(a->user_id, m->user_id);
	g->marks++;
	g->last = a->seq;
	if (g->leaves)
		hub_leave(g->hub, m);
}

static void
on_whisper(struct hub_member *m, const char *frame, size_t n)
{
	struct guest *g = (struct guest *)(void *)m;

	g->whispers++;
	assert_true(n < sizeof(g->text));
	memcpy(g->text, frame, n);
	if (g->leaves)
		hub_leave(g->hub, m);
}

static const struct hub_ops all_ops = {.event = on_event,
    .change = on_change,
    .acked = on_acked,
    .whisper = on_whisper};
static const struct hub_ops no_ops = {.event = NULL};

static void
join(struct hub *h, struct guest *g, int64_t user)
{

	memset(g, 0, sizeof(*g));
	g->hub = h;
	g->member.ops = &all_ops;
	g->member.user_id = user;
	assert_int_equal(hub_join(h, &g->member), RC_OK);
	assert_true(g->member.joined);
}

static void
tell(struct hub *h, int64_t user, int64_t n)
{
	struct effect_event e = {.user_id = user, .seq = n};
	struct effect_change c = {.user_id = user, .mid = n};
	struct effect_acked a = {.user_id = user, .seq = n};

	hub_event(h, &e);
	hub_change(h, &c);
	hub_acked(h, &a);
	hub_whisper(h, user, "hush", 4);
}

static void
test_tells_members_only(void **state)
{
	struct guest a1, a2, b;
	struct hub *h;

	(void)state;
	h = hub_new();
	assert_false(hub_present(h, 1));
	tell(h, 1, 1);
	join(h, &a1, 1);
	join(h, &a2, 1);
	join(h, &b, 2);
	assert_true(hub_present(h, 1));
	assert_true(hub_present(h, 2));
	assert_false(hub_present(h, 3));
	tell(h, 1, 7);
	tell(h, 3, 8);
	assert_int_equal(a1.events, 1);
	assert_int_equal(a1.changes, 1);
	assert_int_equal(a1.marks, 1);
	assert_int_equal(a1.whispers, 1);
	assert_int_equal(a1.last, 7);
	assert_string_equal(a1.text, "hush");
	assert_int_equal(a2.events, 1);
	assert_int_equal(a2.changes, 1);
	assert_int_equal(a2.marks, 1);
	assert_int_equal(a2.whispers, 1);
	assert_int_equal(b.events + b.changes + b.marks + b.whispers, 0);
	hub_leave(h, &a1.member);
	assert_false(a1.member.joined);
	tell(h, 1, 9);
	assert_int_equal(a1.events, 1);
	assert_int_equal(a2.events, 2);
	assert_true(hub_present(h, 1));
	/* Leaving twice does no harm. */
	hub_leave(h, &a1.member);
	hub_leave(h, &a2.member);
	assert_false(hub_present(h, 1));
	tell(h, 1, 10);
	assert_int_equal(a2.events, 2);
	/* The member joins again. */
	join(h, &a1, 1);
	tell(h, 1, 11);
	assert_int_equal(a1.last, 11);
	hub_leave(h, &a1.member);
	hub_leave(h, &b.member);
	hub_free(h);
	hub_free(NULL);
}

/* If a member leaves during a call, each other member is called nevertheless,
 * once. */
static void
test_leave_while_told(void **state)
{
	struct guest g[5];
	struct hub *h;
	int leaver, i;

	(void)state;
	h = hub_new();
	for (leaver = 0; leaver < 5; leaver++) {
		for (i = 0; i < 5; i++)
			join(h, &g[i], 1);
		g[leaver].leaves = true;
		tell(h, 1, 3);
		for (i = 0; i < 5; i++) {
			assert_int_equal(g[i].events, 1);
			assert_int_equal(g[i].changes, i == leaver ? 0 : 1);
			assert_int_equal(g[i].marks, i == leaver ? 0 : 1);
			hub_leave(h, &g[i].member);
		}
		assert_false(hub_present(h, 1));
	}
	/* All members leave, down to the last one. */
	for (i = 0; i < 5; i++) {
		join(h, &g[i], 1);
		g[i].leaves = true;
	}
	tell(h, 1, 4);
	for (i = 0; i < 5; i++)
		assert_int_equal(g[i].events + g[i].changes, 1);
	assert_false(hub_present(h, 1));
	/* Members leave during an ack or a whisper. */
	join(h, &g[0], 1);
	join(h, &g[1], 1);
	g[0].leaves = g[1].leaves = true;
	hub_acked(h, &(struct effect_acked){.user_id = 1, .seq = 2});
	assert_int_equal(g[0].marks + g[1].marks, 2);
	assert_false(hub_present(h, 1));
	join(h, &g[0], 1);
	g[0].leaves = true;
	hub_whisper(h, 1, "x", 1);
	assert_int_equal(g[0].whispers, 1);
	assert_false(hub_present(h, 1));
	hub_free(h);
}

/* A member may leave out callbacks. */
static void
test_no_ops(void **state)
{
	struct hub_member m = {.ops = &no_ops, .user_id = 1};
	struct guest g;
	struct hub *h;

	(void)state;
	h = hub_new();
	assert_int_equal(hub_join(h, &m), RC_OK);
	join(h, &g, 1);
	tell(h, 1, 5);
	assert_int_equal(g.last, 5);
	hub_leave(h, &m);
	hub_leave(h, &g.member);
	hub_free(h);
}

static void
test_many(void **state)
{
	static struct guest g[3000];
	struct hub *h;
	int i;

	(void)state;
	h = hub_new();
	for (i = 0; i < 3000; i++)
		join(h, &g[i], i / 3);
	for (i = 0; i < 1000; i++)
		tell(h, i, i);
	for (i = 0; i < 3000; i++) {
		assert_int_equal(g[i].events, 1);
		assert_int_equal(g[i].last, i / 3);
		hub_leave(h, &g[i].member);
	}
	for (i = 0; i < 1000; i++)
		assert_false(hub_present(h, i));
	hub_free(h);
}

/* ---- wanted effects ---- */

static bool
wants_event(struct hub *h, int64_t user)
{
	struct effect_event events[2] = {{.user_id = 777}, {.user_id = user}};
	struct effects effects = {.events = events, .nevents = 2};

	return (hub_wants(h, &effects));
}

static bool
wants_change(struct hub *h, int64_t user)
{
	struct effect_change changes[2] = {{.user_id = 777}, {.user_id = user}};
	struct effects effects = {.changes = changes, .nchanges = 2};

	return (hub_wants(h, &effects));
}

static bool
wants_acked(struct hub *h, int64_t user)
{
	struct effect_acked acked[2] = {{.user_id = 777}, {.user_id = user}};
	struct effects effects = {.acked = acked, .nacked = 2};

	return (hub_wants(h, &effects));
}

static bool
wants(struct hub *h, int64_t user)
{
	bool any = wants_event(h, user);

	assert_int_equal(wants_change(h, user), any);
	assert_int_equal(wants_acked(h, user), any);
	return (any);
}

/* Effects are wanted for users with a member or an expected one, as many times
 * as they joined or were expected.  Effects with revoked devices are always
 * wanted, because they do not name the user. */
static void
test_wants(void **state)
{
	struct effect_revoked revoked[1] = {{.device_id = 1}};
	struct effects empty = {.nevents = 0};
	struct effects gone = {.revoked = revoked, .nrevoked = 1};
	struct guest a1, a2;
	struct hub *h;

	(void)state;
	h = hub_new();
	assert_false(hub_wants(h, &empty));
	assert_true(hub_wants(h, &gone));
	/* A device that keeps its token keeps its sessions. */
	revoked[0].kept = true;
	assert_false(hub_wants(h, &gone));
	assert_false(wants(h, 1));
	join(h, &a1, 1);
	assert_false(hub_wants(h, &empty));
	assert_true(wants(h, 1));
	assert_false(wants(h, 2));
	join(h, &a2, 1);
	hub_leave(h, &a1.member);
	assert_true(wants(h, 1));
	/* A member that leaves twice counts once. */
	hub_leave(h, &a1.member);
	assert_true(wants(h, 1));
	hub_leave(h, &a2.member);
	assert_false(wants(h, 1));
	/* A member leaves during a call. */
	join(h, &a1, 1);
	a1.leaves = true;
	tell(h, 1, 1);
	assert_false(wants(h, 1));
	/* An id that is larger than the number of counters. */
	join(h, &a1, INT64_C(1) << 40 | 5);
	assert_true(wants(h, INT64_C(1) << 40 | 5));
	hub_leave(h, &a1.member);
	assert_false(wants(h, INT64_C(1) << 40 | 5));
	hub_free(h);
}

/* An expected user is wanted before, while and after there is a member, until
 * hub_unexpect(); but the user does not count as present. */
static void
test_expect(void **state)
{
	struct guest a;
	struct hub *h;

	(void)state;
	h = hub_new();
	hub_expect(h, 1);
	assert_true(wants(h, 1));
	assert_false(wants(h, 2));
	assert_false(hub_present(h, 1));
	join(h, &a, 1);
	hub_unexpect(h, 1);
	assert_true(wants(h, 1));
	hub_expect(h, 1);
	hub_expect(h, 1);
	hub_leave(h, &a.member);
	assert_true(wants(h, 1));
	hub_unexpect(h, 1);
	assert_true(wants(h, 1));
	hub_unexpect(h, 1);
	assert_false(wants(h, 1));
	hub_free(h);
}

static void
test_no_memory(void **state)
{
	struct hub_member m = {.ops = &no_ops, .user_id = 1};
	struct hub *h;
	int64_t k;
	bool all;

	(void)state;
	for (k = 1, all = false; !all; k++) {
		mem_fail_at(k);
		m.joined = false;
		h = hub_new();
		if (h != NULL && hub_join(h, &m) != RC_OK)
			assert_false(m.joined);
		all = mem_fail_pending();
		mem_fail_at(0);
		if (h == NULL)
			continue;
		assert_int_equal(hub_present(h, 1), m.joined);
		assert_int_equal(wants(h, 1), m.joined);
		hub_leave(h, &m);
		assert_false(wants(h, 1));
		assert_int_equal(hub_join(h, &m), RC_OK);
		assert_true(hub_present(h, 1));
		assert_true(wants(h, 1));
		hub_leave(h, &m);
		assert_false(wants(h, 1));
		hub_free(h);
	}
	assert_true(k > 3);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_tells_members_only),
	    cmocka_unit_test(test_leave_while_told),
	    cmocka_unit_test(test_no_ops),
	    cmocka_unit_test(test_many),
	    cmocka_unit_test(test_wants),
	    cmocka_unit_test(test_expect),
	    cmocka_unit_test(test_no_memory),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
