/* SPDX-License-Identifier: MIT */
/*
 * The recheck of a node, with a store and a push of its own: what it hands to
 * push, and that it frees the lists of connected users whatever fails.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "cluster/cluster_internal.h"
#include "store/account.h"
#include "store/inbox.h"
#include "txn/effects.h"

static struct effects *pushed;
static int forgotten, freed;
static enum rc heads_rc;

void
auth_forget_all(struct auth *a)
{

	(void)a;
	forgotten++;
}

void
push_effects(struct push *p, struct effects *effects)
{

	(void)p;
	assert_null(pushed);
	pushed = effects;
}

void
push_present_free(struct push_present *ask)
{

	freed++;
	mem_free(ask->users);
	mem_free(ask->devices);
	ask->users = ask->devices = NULL;
	ask->n = 0;
}

enum rc
store_inbox_heads(struct db *db, const int64_t *users, size_t n,
    enum rc (*each)(void *arg, int64_t user_id, int64_t head, struct err *err),
    void *arg, struct err *err)
{
	enum rc rc = heads_rc;
	size_t i;

	(void)db;
	for (i = 0; i < n && rc == RC_OK; i++)
		rc = each(arg, users[i], users[i] * 10, err);
	return (rc);
}

enum rc
store_devices_now(struct db *db, const int64_t *devices, size_t n,
    enum rc (*each)(
	void *arg, const struct store_device_now *now, struct err *err),
    void *arg, struct err *err)
{
	static const uint8_t hash[32] = {7};
	const struct store_device_now acked = {
	    .device_id = devices[0], .user_id = 1, .acked = 5};
	const struct store_device_now gone = {
	    .device_id = devices[n - 1], .user_id = 2, .gone = hash};
	enum rc rc;

	(void)db;
	rc = each(arg, &acked, err);
	return (rc == RC_OK ? each(arg, &gone, err) : rc);
}

/* Runs a recheck for two users.  The allocation number ${k} fails, or none if
 * ${k} is 0.  Returns true if it was not reached. */
static bool
run(struct cluster *c, int64_t k, enum rc *ret)
{
	struct err err = ERR_INIT;
	bool pending;

	memset(c, 0, sizeof(*c));
	forgotten = freed = 0;
	effects_free(pushed);
	pushed = NULL;
	c->ask.n = 2;
	c->ask.users = mem_alloc(2 * sizeof(*c->ask.users));
	c->ask.devices = mem_alloc(2 * sizeof(*c->ask.devices));
	assert_non_null(c->ask.users);
	assert_non_null(c->ask.devices);
	c->ask.users[0] = 1;
	c->ask.users[1] = 2;
	c->ask.devices[0] = 11;
	c->ask.devices[1] = 12;
	mem_fail_at(k);
	*ret = recheck_read(c, &err);
	pending = k != 0 && mem_fail_pending();
	mem_fail_at(0);
	assert_int_equal(forgotten, 1);
	assert_int_equal(freed, 1);
	assert_null(c->ask.users);
	assert_null(c->ask.devices);
	return (pending);
}

static void
test_reads(void **state)
{
	struct cluster c;
	enum rc rc;

	(void)state;
	(void)run(&c, 0, &rc);
	assert_int_equal(rc, RC_OK);
	assert_false(c.missed);
	assert_non_null(pushed);
	assert_int_equal(pushed->nevents, 2);
	assert_int_equal(pushed->events[1].seq, 20);
	assert_int_equal(pushed->nacked, 1);
	assert_int_equal(pushed->nrevoked, 1);
	heads_rc = RC_AWAY;
	(void)run(&c, 0, &rc);
	heads_rc = RC_OK;
	assert_int_equal(rc, RC_AWAY);
	assert_null(pushed);
}

/* Whichever allocation fails, push gets nothing and another recheck is due:
 * soon, or when the connection is there again. */
static void
test_memory(void **state)
{
	struct cluster c;
	enum rc rc;
	int k;

	(void)state;
	for (k = 1; !run(&c, k, &rc); k++) {
		assert_null(pushed);
		if (k == 1) {
			assert_int_equal(rc, RC_OK);
			assert_true(c.missed);
		} else
			assert_int_equal(rc, RC_NO_MEMORY);
	}
	assert_true(k > 3);
	assert_int_equal(rc, RC_OK);
	assert_non_null(pushed);
}

/* If push had no memory for its lists, nothing was looked at, and another
 * recheck is due. */
static void
test_no_lists(void **state)
{
	struct err err = ERR_INIT;
	struct cluster c;

	(void)state;
	effects_free(pushed);
	pushed = NULL;
	memset(&c, 0, sizeof(c));
	assert_int_equal(recheck_read(&c, &err), RC_OK);
	assert_true(c.missed);
	assert_null(pushed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_reads),
	    cmocka_unit_test(test_memory), cmocka_unit_test(test_no_lists)};
	int rc = cmocka_run_group_tests_name("recheck", tests, NULL, NULL);

	effects_free(pushed);
	return (rc);
}
