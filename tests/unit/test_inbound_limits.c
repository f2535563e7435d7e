/* SPDX-License-Identifier: MIT */
/*
 * The limits for one other server, and for all of them together.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "federation/inbound_limits_internal.h"

#define NOW 1000

static const struct inbound_peer ann = {1, false}, bob = {2, false},
				 pin = {3, true};
static struct inbound_limits *l;

static int
open_limits(void **state)
{

	(void)state;
	return ((l = inbound_limits_new()) == NULL ? -1 : 0);
}

static int
close_limits(void **state)
{

	(void)state;
	inbound_limits_free(l);
	inbound_limits_free(NULL);
	return (0);
}

static int64_t
left(const struct inbound_peer *peer, int64_t now_ms, enum inbound_limit what)
{

	return (inbound_limits_left(l, peer, now_ms, what));
}

/* Returns whether a request is admitted; if not, *ret_wait_s is the wait. */
static bool
enter(const struct inbound_peer *peer, int64_t now_ms, int *ret_wait_s)
{
	const bool in = inbound_limits_enter(l, peer, now_ms, ret_wait_s);

	if (in)
		inbound_limits_leave(l, peer);
	return (in);
}

/* Each limit alone: what a peer uses comes back within a minute, and other
 * peers lose nothing. */
static void
test_each(void **state)
{
	static const struct {
		enum inbound_limit what;
		int64_t most;
		bool whole; /* whether it refuses whole requests */
	} table[] = {
	    {INBOUND_REQUESTS, 60000, true},
	    {INBOUND_ENVELOPES, 1200000, true},
	    {INBOUND_BYTES, INT64_C(1) << 31, true},
	    {INBOUND_CONVERSATIONS, 600, false},
	    {INBOUND_UNKNOWN, 120, false},
	};
	size_t i;
	int wait;

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const int64_t now = NOW + (int64_t)i * 120000;

		assert_int_equal(left(&ann, now, table[i].what), table[i].most);
		inbound_limits_charge(
		    l, &ann, now, table[i].what, table[i].most);
		assert_int_equal(left(&ann, now, table[i].what), 0);
		assert_int_equal(left(&bob, now, table[i].what), table[i].most);
		assert_int_equal(enter(&ann, now, &wait), !table[i].whole);
		assert_int_equal(wait, table[i].whole ? 1 : 0);
		assert_true(enter(&bob, now, &wait));
		assert_int_equal(
		    left(&ann, now + 30000, table[i].what), table[i].most / 2);
		assert_int_equal(
		    left(&ann, now + 90000, table[i].what), table[i].most);
		/* A clock that goes back changes nothing. */
		assert_int_equal(
		    left(&ann, now + 1, table[i].what), table[i].most);
	}
}

/* The wait is as long as the debt needs to be paid. */
static void
test_debt(void **state)
{
	int wait;

	(void)state;
	inbound_limits_charge(
	    l, &ann, NOW, INBOUND_ENVELOPES, 1200000 + 598000);
	assert_false(enter(&ann, NOW, &wait));
	assert_int_equal(wait, 30);
	assert_false(enter(&ann, NOW + 29000, &wait));
	assert_int_equal(wait, 1);
	assert_true(enter(&ann, NOW + 30000, &wait));
	assert_int_equal(wait, 0);
}

static void
test_requests(void **state)
{
	int i, wait;

	(void)state;
	for (i = 0; i < 60000; i++)
		assert_true(enter(&ann, NOW, &wait));
	assert_false(enter(&ann, NOW, &wait));
	assert_true(enter(&ann, NOW + 2, &wait));
}

static void
test_under_way(void **state)
{
	int i, wait;

	(void)state;
	for (i = 0; i < INBOUND_UNDER_WAY; i++)
		assert_true(inbound_limits_enter(l, &ann, NOW, &wait));
	assert_false(inbound_limits_enter(l, &ann, NOW, &wait));
	assert_int_equal(wait, 1);
	assert_true(inbound_limits_enter(l, &bob, NOW, &wait));
	inbound_limits_leave(l, &ann);
	assert_true(inbound_limits_enter(l, &ann, NOW, &wait));
	assert_false(inbound_limits_enter(l, &ann, NOW, &wait));
}

/* One owner may have many domains, so all peers together may use three times as
 * much as one.  A peer that an operator has pinned does not count among
 * them. */
static void
test_total(void **state)
{
	struct inbound_peer peer = {.pinned = false};
	int wait;

	(void)state;
	for (peer.destination_id = 10; peer.destination_id < 13;
	     peer.destination_id++)
		inbound_limits_charge(
		    l, &peer, NOW, INBOUND_CONVERSATIONS, 600);
	assert_int_equal(left(&ann, NOW, INBOUND_CONVERSATIONS), 0);
	assert_int_equal(left(&pin, NOW, INBOUND_CONVERSATIONS), 600);
	for (peer.destination_id = 10; peer.destination_id < 12;
	     peer.destination_id++)
		inbound_limits_charge(
		    l, &peer, NOW, INBOUND_ENVELOPES, 1200000);
	assert_false(enter(&ann, NOW, &wait));
	assert_true(enter(&pin, NOW, &wait));
	/* The use of pinned peers does not reduce the others' total. */
	inbound_limits_charge(l, &pin, NOW + 60000, INBOUND_ENVELOPES, 1200000);
	assert_true(enter(&ann, NOW + 60000, &wait));
	assert_false(enter(&pin, NOW + 60000, &wait));
}

/* There are more peers than places in memory.  Peers that have used something
 * are forgotten last, peers with a request under way never, and the totals are
 * kept. */
static void
test_many(void **state)
{
	struct inbound_peer peer = {.pinned = false};
	int i, wait;

	(void)state;
	for (i = 0; i < INBOUND_UNDER_WAY; i++)
		assert_true(inbound_limits_enter(l, &bob, NOW, &wait));
	inbound_limits_charge(l, &ann, NOW, INBOUND_UNKNOWN, 120);
	for (peer.destination_id = 10;
	     peer.destination_id < 10 + 3 * INBOUND_PEERS;
	     peer.destination_id++)
		(void)left(&peer, NOW, INBOUND_UNKNOWN);
	assert_int_equal(left(&ann, NOW, INBOUND_UNKNOWN), 0);
	assert_false(inbound_limits_enter(l, &bob, NOW, &wait));
	for (peer.destination_id = 100000;
	     peer.destination_id < 100000 + 3 * INBOUND_PEERS;
	     peer.destination_id++)
		inbound_limits_charge(l, &peer, NOW, INBOUND_CONVERSATIONS, 1);
	assert_false(inbound_limits_enter(l, &bob, NOW, &wait));
	assert_int_equal(
	    left(&ann, NOW, INBOUND_CONVERSATIONS), 1800 - 3 * INBOUND_PEERS);
}

/* Without memory requests are admitted, and the totals still limit them. */
static void
test_no_memory(void **state)
{
	int wait;

	(void)state;
	mem_fail_at(1);
	assert_true(inbound_limits_enter(l, &ann, NOW, &wait));
	mem_fail_at(0);
	inbound_limits_leave(l, &ann);
	mem_fail_at(1);
	assert_null(inbound_limits_new());
	mem_fail_at(2);
	assert_null(inbound_limits_new());
	mem_fail_at(0);
}

int
main(void)
{
#define TEST(test)                                                             \
	cmocka_unit_test_setup_teardown(test, open_limits, close_limits)
	const struct CMUnitTest tests[] = {
	    TEST(test_each),
	    TEST(test_debt),
	    TEST(test_requests),
	    TEST(test_under_way),
	    TEST(test_total),
	    TEST(test_many),
	    TEST(test_no_memory),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
