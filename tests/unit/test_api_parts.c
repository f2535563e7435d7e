/* SPDX-License-Identifier: MIT */
/*
 * The parts of the api that need no server: limiters, the login throttle,
 * ETags, numbers, and the steps of a message from draft to unit to entry.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "api/api_internal.h"
#include "chat/send_request.h"

/* ---- limiters ---- */

static void
test_limiter(void **state)
{
	struct limiter *l = limiter_new(2, 3);
	int i, wait_s = 0;

	(void)state;
	assert_non_null(l);
	for (i = 0; i < 3; i++)
		assert_true(limiter_take(l, "ann", 3, 1000, &wait_s));
	assert_false(limiter_take(l, "ann", 3, 1000, &wait_s));
	assert_int_equal(1, wait_s);
	/* Another key has a bucket of its own. */
	assert_true(limiter_take(l, "bob", 3, 1000, &wait_s));
	/* One token is back after half a second, and there are never more than
	 * the burst. */
	assert_false(limiter_take(l, "ann", 3, 1499, &wait_s));
	assert_true(limiter_take(l, "ann", 3, 1500, &wait_s));
	assert_false(limiter_take(l, "ann", 3, 1500, &wait_s));
	for (i = 0; i < 3; i++)
		assert_true(limiter_take(l, "ann", 3, 100000, &wait_s));
	assert_false(limiter_take(l, "ann", 3, 100000, &wait_s));
	/* While the clock stands still or goes back, no token comes back. */
	assert_false(limiter_take(l, "ann", 3, 90000, &wait_s));
	limiter_free(l);
}

/* A cost of several tokens is taken whole or not at all.  A cost larger than
 * the bucket passes when the bucket is full except for the token of its own
 * request, and leaves a debt. */
static void
test_limiter_charge(void **state)
{
	struct limiter *l = limiter_new(10, 20);
	struct limiter_charge c = {"ann", 3, 15};
	int wait_s = 0;

	(void)state;
	assert_true(limiter_charge(l, &c, 0, &wait_s));
	c.cost = 6;
	assert_false(limiter_charge(l, &c, 0, &wait_s));
	assert_int_equal(wait_s, 1);
	assert_false(limiter_charge(l, &c, 99, &wait_s));
	assert_true(limiter_charge(l, &c, 100, &wait_s));
	assert_false(limiter_take(l, "ann", 3, 199, &wait_s));
	/* The bucket is full at 2100. */
	c.cost = 99;
	assert_false(limiter_charge(l, &c, 1999, &wait_s));
	assert_int_equal(wait_s, 1);
	assert_true(limiter_charge(l, &c, 2000, &wait_s));
	/* 80 tokens of debt must come back, and then one for the request. */
	assert_false(limiter_take(l, "ann", 3, 10099, &wait_s));
	assert_true(limiter_take(l, "ann", 3, 10101, &wait_s));
	c.cost = 19;
	assert_false(limiter_charge(l, &c, 10101, &wait_s));
	assert_int_equal(wait_s, 2);
	limiter_free(l);
}

static void
test_limiter_slow(void **state)
{
	struct limiter *l = limiter_new(0.1, 1);
	int wait_s = 0;

	(void)state;
	assert_true(limiter_take(l, "k", 1, 0, &wait_s));
	assert_false(limiter_take(l, "k", 1, 0, &wait_s));
	assert_int_equal(10, wait_s);
	limiter_return(l, "k", 1, 0);
	assert_true(limiter_take(l, "k", 1, 0, &wait_s));
	/* limiter_return() never fills the bucket beyond the burst. */
	limiter_return(l, "k", 1, 0);
	limiter_return(l, "k", 1, 0);
	assert_true(limiter_take(l, "k", 1, 0, &wait_s));
	assert_false(limiter_take(l, "k", 1, 0, &wait_s));
	limiter_free(l);
}

/* Keys of strangers do not make the limiter grow without end.  A key whose
 * bucket is empty is remembered as long as there is room. */
static void
test_limiter_bounded(void **state)
{
	struct limiter *l = limiter_new(1, 2);
	int wait_s;
	uint32_t key;

	(void)state;
	assert_true(limiter_take(l, "guilty", 6, 0, &wait_s));
	assert_true(limiter_take(l, "guilty", 6, 0, &wait_s));
	for (key = 0; key < 65535; key++)
		assert_true(limiter_take(l, &key, sizeof(key), 0, &wait_s));
	/* A second later the other buckets are full again and may be
	 * forgotten. */
	assert_true(limiter_take(l, "new", 3, 1000, &wait_s));
	assert_true(limiter_take(l, "guilty", 6, 1000, &wait_s));
	assert_false(limiter_take(l, "guilty", 6, 1000, &wait_s));
	limiter_free(l);
}

/* Several threads empty a bucket, and then the next one, until the threads have
 * really run at the same time: on a busy machine each may have its turn alone
 * for a long time.  A thread concludes this from the others' progress: they
 * moved on during LOOKS of its own steps in a row. */
#define TAKERS 8
#define BURST 200000
#ifdef __SANITIZE_THREAD__
#define ROUNDS 2 /* it reports a missing lock without a meeting */
#else
#define ROUNDS 300
#endif
#define TAKES 100 /* calls between two checks of the others */
#define LOOKS 5   /* checks in a row in which the others moved on */
#define MEETINGS 200

struct crowd {
	struct limiter *limiter;
	pthread_barrier_t together;
	atomic_long looks, taken;
	atomic_int meetings;
};

/* Takes up to TAKES tokens and returns their number. */
static int
take_some(struct crowd *c)
{
	int i, wait_s;

	for (i = 0; i < TAKES; i++)
		if (!limiter_take(c->limiter, "ann", 3, 1000, &wait_s))
			break;
	atomic_fetch_add(&c->taken, i);
	return (i);
}

static void *
take_all(void *arg)
{
	struct crowd *c = arg;
	int row = 0;
	long looks;

	(void)pthread_barrier_wait(&c->together);
	for (looks = 0; take_some(c) == TAKES;
	     looks = atomic_fetch_add(&c->looks, 1) + 1) {
		row = atomic_load(&c->looks) != looks ? row + 1 : 0;
		if (row % LOOKS == LOOKS - 1)
			atomic_fetch_add(&c->meetings, 1);
	}
	return (NULL);
}

/* All threads together get the burst and no token more. */
static void
test_limiter_threads(void **state)
{
	struct crowd c = {.meetings = 0};
	pthread_t threads[TAKERS];
	int i, round;

	(void)state;
	assert_int_equal(pthread_barrier_init(&c.together, NULL, TAKERS), 0);
	for (round = 0; round < ROUNDS && c.meetings < MEETINGS; round++) {
		c.limiter = limiter_new(1, BURST);
		c.taken = 0;
		for (i = 0; i < TAKERS; i++)
			assert_int_equal(
			    pthread_create(&threads[i], NULL, take_all, &c), 0);
		for (i = 0; i < TAKERS; i++)
			assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_int_equal(BURST, c.taken);
		limiter_free(c.limiter);
	}
	print_message("# %d rounds\n", round);
	(void)pthread_barrier_destroy(&c.together);
}

/* ---- the login throttle ---- */

static void
test_networks(void **state)
{
	static const char *const cases[][2] = {
	    {"192.0.2.7", "192.0.2.7"},
	    {"::ffff:192.0.2.7", "192.0.2.7"},
	    {"2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"},
	    {"2001:db8:1:2::1", "2001:db8:1:2::/64"},
	    {"2001:DB8:1:2:ffff::", "2001:db8:1:2::/64"},
	    {"2001:db8:1:3::1", "2001:db8:1:3::/64"},
	    {"fe80::1%eth0", "fe80::/64"},
	    {"::1", "::/64"},
	    {"unix:", "unix:"},
	    {"", ""},
	};
	char net[NETWORK_SIZE], tall[200];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		network_of(cases[i][0], net);
		assert_string_equal(cases[i][1], net);
	}
	memset(tall, 'x', sizeof(tall));
	tall[sizeof(tall) - 1] = '\0';
	network_of(tall, net);
	assert_int_equal(NETWORK_SIZE - 1, strlen(net));
}

/* Returns how many of ${n} wrong passwords for ${name} from ${peer} are
 * checked. */
static int
wrong(struct login_throttle *g, const char *name, const char *peer, int n,
    int64_t now)
{
	const struct span span = {name, strlen(name)};
	struct login_attempt attempt;
	int taken = 0, wait_s;

	for (; n > 0; n--) {
		wait_s = 0;
		if (login_throttle_begin(
			g, &span, peer, now, &attempt, &wait_s))
			taken++;
		else
			assert_in_range(wait_s, 1, 60);
	}
	return (taken);
}

static bool
log_in(
    struct login_throttle *g, const char *name, const char *peer, int64_t now)
{
	const struct span span = {name, strlen(name)};
	struct login_attempt attempt;
	int wait_s;

	if (!login_throttle_begin(g, &span, peer, now, &attempt, &wait_s))
		return (false);
	login_throttle_end(g, &attempt, true, now);
	return (true);
}

/* One network tries passwords for a name all the time, and the owner can still
 * log in. */
static void
test_login_throttle_one_network(void **state)
{
	struct login_throttle *g = login_throttle_new();
	int64_t now;
	int taken = 0;

	(void)state;
	assert_non_null(g);
	for (now = 0; now < 3600 * 1000; now += 1000) {
		taken += wrong(g, "alice", "2001:db8::1", 3, now);
		taken += wrong(g, "alice", "2001:db8::2", 3, now);
		assert_true(log_in(g, "alice", "192.0.2.1", now));
		assert_true(log_in(g, "alice", "2001:db8:0:1::1", now));
	}
	/* The whole /64 counts as one network: 20 tries at once, then one in 6
	 * s. */
	assert_in_range(taken, 600, 625);
	/* One network tries many names. */
	for (taken = 0; now < 3605 * 1000; now += 1000)
		for (int i = 0; i < 100; i++) {
			char name[8] = {
			    'u', (char)('a' + i / 10), (char)('a' + i % 10)};
			taken += wrong(g, name, "198.51.100.1", 1, now);
		}
	assert_in_range(taken, 100, 105);
	login_throttle_free(g);
}

/* Many networks empty the bucket of a name: strange networks must wait, but not
 * those from which the owner has logged in before. */
static void
test_login_throttle_crowd(void **state)
{
	struct login_throttle *g = login_throttle_new();
	char peer[32];
	int i, taken = 0;

	(void)state;
	assert_non_null(g);
	assert_true(log_in(g, "alice", "192.0.2.1", 0));
	for (i = 0; i < 100; i++) {
		(void)snprintf(peer, sizeof(peer), "203.0.113.%d", i);
		taken += wrong(g, "alice", peer, 20, 0);
	}
	assert_int_equal(200, taken);
	assert_false(log_in(g, "alice", "192.0.2.2", 0));
	assert_true(log_in(g, "alice", "192.0.2.1", 0));
	assert_true(log_in(g, "bob", "192.0.2.2", 0));
	/* The wait ends. */
	assert_true(log_in(g, "alice", "192.0.2.2", 2000));
	login_throttle_free(g);
}

/* An attempt whose password was not checked does not count. */
static void
test_login_throttle_busy(void **state)
{
	const struct span alice = {"alice", 5};
	struct login_throttle *g = login_throttle_new();
	struct login_attempt attempt;
	int i, wait_s;

	(void)state;
	assert_non_null(g);
	for (i = 0; i < 1000; i++) {
		assert_true(login_throttle_begin(
		    g, &alice, "192.0.2.1", 0, &attempt, &wait_s));
		assert_false(attempt.known);
		login_throttle_end(g, &attempt, false, 0);
	}
	assert_int_equal(20, wrong(g, "alice", "192.0.2.1", 100, 0));
	login_throttle_free(g);
}

/* ---- ETags, numbers ---- */

static void
test_etag(void **state)
{
	struct buf a = BUF_INIT, b = BUF_INIT;
	char one[CALL_ETAG_SIZE], two[CALL_ETAG_SIZE], list[100];

	(void)state;
	buf_adds(&a, "{}");
	buf_adds(&b, "{ }");
	call_etag_make(&a, one);
	call_etag_make(&b, two);
	assert_int_equal('"', one[0]);
	assert_int_equal('"', one[strlen(one) - 1]);
	assert_string_not_equal(one, two);
	assert_false(http_etag_listed(NULL, one));
	assert_false(http_etag_listed("", one));
	assert_false(http_etag_listed(two, one));
	assert_false(http_etag_listed("\"", one));
	assert_true(http_etag_listed(one, one));
	assert_true(http_etag_listed("*", one));
	(void)snprintf(list, sizeof(list), "%s , W/%s", two, one);
	assert_true(http_etag_listed(list, one));
	(void)snprintf(list, sizeof(list), "%s,%s", two, two);
	assert_false(http_etag_listed(list, one));
	buf_fini(&a);
	buf_fini(&b);
}

static void
test_numbers(void **state)
{
	static const char *const bad[] = {"", "-1", "+1", "1.5", "x", "1x",
	    " 1", "1 ", "0x1", "9223372036854775808", "99999999999999999999"};
	int64_t v = 7;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(call_number_parse(bad[i], &v));
	assert_int_equal(7, v);
	assert_true(call_number_parse("0", &v));
	assert_int_equal(0, v);
	assert_true(call_number_parse("9223372036854775807", &v));
	assert_true(v == INT64_MAX);
}

static void
test_refusals(void **state)
{
	struct refusal r = REFUSAL_INIT;

	(void)state;
	refusal_of_rc(&r, RC_BUSY);
	assert_int_equal(PROBLEM_BUSY, r.problem);
	assert_int_equal(1, r.retry_after_s);
	refusal_of_rc(&r, RC_CLOSED);
	assert_int_equal(PROBLEM_DRAINING, r.problem);
	refusal_of_rc(&r, RC_FULL);
	assert_int_equal(PROBLEM_STORAGE_FULL, r.problem);
	/* The answer does not reveal internal failures of the server. */
	refusal_of_rc(&r, RC_CORRUPT);
	assert_int_equal(PROBLEM_INTERNAL, r.problem);
	refusal_of_rc(&r, RC_CONFLICT);
	assert_int_equal(PROBLEM_INTERNAL, r.problem);
}

/* ---- a message ---- */

static struct clk_fake fake;
static struct rnd_seeded seeded;
static struct send_gate *gate;
#define ANN 5

static struct span
span_of(const char *text)
{

	return ((struct span){text, strlen(text)});
}

static void
item_init(struct send_request *item)
{
	const struct send_gate_options options = {.clk = &fake.clk,
	    .rnd = &seeded.rnd,
	    .addressing = {.domain = "home.example"}};
	struct err err = ERR_INIT;

	clk_fake_init(&fake, 1700000000000);
	rnd_seeded_init(&seeded, 1);
	send_gate_free(gate);
	assert_int_equal(send_gate_new(&options, &gate, &err), RC_OK);
	memset(item, 0, sizeof(*item));
	item->draft.to = span_of("bob");
	item->draft.body = span_of("hi \"you\"");
}

static enum rc
ready(struct send_request *item, struct refusal *r)
{

	*r = (struct refusal)REFUSAL_INIT;
	return (send_request_prepare(item, gate, ANN, r));
}

static void
test_item(void **state)
{
	struct send_request item;
	struct refusal r;

	(void)state;
	item_init(&item);
	assert_int_equal(RC_OK, ready(&item, &r));
	assert_true(item.draft.has_id);
	assert_int_equal(7, uuid_version(&item.draft.id));
	assert_string_equal("bob", item.unit.to);
	assert_true(item.unit.sender_id == ANN);
	assert_ptr_equal(&item.draft, item.unit.draft);
	assert_non_null(strstr(item.unit.message->data,
	    "\"body\":\"hi \\\"you\\\"\",\"content_type\":\"text/plain\","
	    "\"metadata\":{},\"correlation_id\":null,\"reply_to\":null"));
	send_request_done(&item);
	assert_null(item.unit.message);
}

static void
test_item_recipients(void **state)
{
	struct send_request item;
	struct refusal r;

	(void)state;
	item_init(&item);
	item.draft.to = span_of("bob@home.example");
	assert_int_equal(RC_OK, ready(&item, &r));
	assert_string_equal("bob", item.unit.to);
	send_request_done(&item);

	item_init(&item);
	item.draft.to = span_of("bob@other.example");
	assert_int_equal(RC_INVALID, ready(&item, &r));
	assert_int_equal(PROBLEM_UNKNOWN_RECIPIENT, r.problem);
	assert_string_equal("/to", r.pointer);
	refusal_prefix(&r, "/3");
	assert_string_equal("/3/to", r.pointer);

	item_init(&item);
	item.draft.to = (struct span){NULL, 0};
	item.draft.has_conversation = true;
	assert_int_equal(RC_OK, ready(&item, &r));
	assert_string_equal("", item.unit.to);
	send_request_done(&item);
}

/* Writes the fingerprint that ${item} would be sent with. */
static void
print_of(struct send_request *item, uint8_t ret[STORE_FINGERPRINT_LEN])
{
	struct refusal r;

	assert_int_equal(RC_OK, ready(item, &r));
	memcpy(ret, item->unit.fingerprint, STORE_FINGERPRINT_LEN);
	send_request_done(item);
}

static void
test_item_fingerprint(void **state)
{
	uint8_t plain[STORE_FINGERPRINT_LEN], other[STORE_FINGERPRINT_LEN];
	struct send_request item;

	(void)state;
	item_init(&item);
	print_of(&item, plain);
	/* The default type and the local domain, if given, do not make it
	 * another message. */
	item_init(&item);
	item.draft.content_type = span_of("text/plain");
	item.draft.to = span_of("bob@home.example");
	print_of(&item, other);
	assert_memory_equal(plain, other, sizeof(plain));
	item_init(&item);
	item.draft.content_type = span_of("text/markdown");
	print_of(&item, other);
	assert_memory_not_equal(plain, other, sizeof(plain));
	/* "in 30m" has the same fingerprint at any time, and another one than
	 * "in 31m". */
	item_init(&item);
	item.draft.deliver_at_ms = 5000;
	item.draft.deliver_in_ms = 1800000;
	print_of(&item, plain);
	item.draft.deliver_at_ms = 6000;
	print_of(&item, other);
	assert_memory_equal(plain, other, sizeof(plain));
	item.draft.deliver_in_ms = 1860000;
	print_of(&item, other);
	assert_memory_not_equal(plain, other, sizeof(plain));
}

static void
test_item_entry(void **state)
{
	struct send_request item;
	struct refusal r;
	struct buf b = BUF_INIT;

	(void)state;
	item_init(&item);
	item.draft.content_type = span_of("text/markdown");
	item.draft.correlation_id = span_of("c");
	item.draft.priority = PRIORITY_HIGH;
	assert_int_equal(RC_OK, ready(&item, &r));
	send_request_done(&item);
	item.unit.created_at = 1700000000000;
	item.unit.expires_at = 1700000001000;
	item.unit.conversation_seq = 1;
	memcpy(item.unit.recipient, "bob", 4);
	send_request_entry(&item, &b);
	buf_addc(&b, '\0');
	assert_true(buf_ok(&b));
	assert_non_null(strstr(b.data, "\"to\":\"bob\",\"state\":\"pending\","
				       "\"priority\":\"high\""));
	assert_non_null(strstr(b.data, "\"correlation_id\":\"c\""));
	assert_non_null(
	    strstr(b.data, "\"expires_at\":\"2023-11-14T22:13:21.000Z\""));
	assert_non_null(strstr(b.data, "\"sent_at\":null"));
	buf_reset(&b);
	/* A note to oneself is acked at once. */
	item.unit.to_self = true;
	send_request_entry(&item, &b);
	buf_addc(&b, '\0');
	assert_non_null(strstr(b.data, "\"state\":\"acked\""));
	assert_null(strstr(b.data, "\"acked_at\":null"));
	buf_fini(&b);
	send_gate_free(gate);
	gate = NULL;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_limiter),
	    cmocka_unit_test(test_limiter_slow),
	    cmocka_unit_test(test_limiter_charge),
	    cmocka_unit_test(test_limiter_bounded),
	    cmocka_unit_test(test_limiter_threads),
	    cmocka_unit_test(test_networks),
	    cmocka_unit_test(test_login_throttle_one_network),
	    cmocka_unit_test(test_login_throttle_crowd),
	    cmocka_unit_test(test_login_throttle_busy),
	    cmocka_unit_test(test_etag),
	    cmocka_unit_test(test_numbers),
	    cmocka_unit_test(test_refusals),
	    cmocka_unit_test(test_item),
	    cmocka_unit_test(test_item_recipients),
	    cmocka_unit_test(test_item_fingerprint),
	    cmocka_unit_test(test_item_entry),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
