/* SPDX-License-Identifier: MIT */
/*
 * The effects of a transaction: they grow, own their texts, and release the
 * texts whatever fails.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "txn/effects.h"
#include "txn/wake.h"

static unsigned
refs(struct text *t)
{

	return (atomic_load(&t->refs));
}

static void
test_grows(void **state)
{
	struct effect_event e = {0};
	struct err err = ERR_INIT;
	uint8_t hash[32] = {9};
	struct text *from, *message;
	struct effects *effects;
	int i;

	(void)state;
	from = text_new("alice", 5);
	message = text_new("{}", 2);
	effects = effects_new();
	assert_true(effects_empty(effects));
	for (i = 0; i < 1000; i++) {
		e.seq = i;
		e.from = text_ref(from);
		e.to = i % 2 == 0 ? text_ref(from) : NULL;
		e.message = text_ref(message);
		assert_int_equal(effects_add_event(effects, &e, &err), RC_OK);
		assert_int_equal(
		    effects_add_change(effects,
			&(struct effect_change){i, 2 * i, CHANGE_SENT}, &err),
		    RC_OK);
		hash[1] = (uint8_t)i;
		assert_int_equal(
		    effects_add_revoked(effects, i, hash, &err), RC_OK);
	}
	assert_false(effects_empty(effects));
	assert_int_equal(effects->nevents, 1000);
	assert_int_equal(effects->nchanges, 1000);
	assert_int_equal(effects->nrevoked, 1000);
	for (i = 0; i < 1000; i++) {
		assert_int_equal(effects->events[i].seq, i);
		assert_int_equal(effects->changes[i].user_id, i);
		assert_int_equal(effects->changes[i].mid, 2 * i);
		assert_int_equal(effects->revoked[i].device_id, i);
		assert_int_equal(effects->revoked[i].token_hash[1], i & 0xff);
	}
	assert_int_equal(refs(from), 1 + 1000 + 500);
	assert_int_equal(refs(message), 1 + 1000);
	effects_free(effects);
	assert_int_equal(refs(from), 1);
	assert_int_equal(refs(message), 1);
	text_unref(from);
	text_unref(message);
	effects_free(NULL);
}

/* Effects with one item of any kind are not empty. */
static void
test_empty(void **state)
{
	struct err err = ERR_INIT;
	uint8_t hash[32] = {0};
	struct effects *effects;

	(void)state;
	effects = effects_new();
	assert_int_equal(effects_add_change(effects,
			     &(struct effect_change){1, 1, CHANGE_OTHER}, &err),
	    RC_OK);
	assert_false(effects_empty(effects));
	effects_free(effects);
	effects = effects_new();
	assert_int_equal(effects_add_revoked(effects, 1, hash, &err), RC_OK);
	assert_int_equal(effects_add_kept(effects, 1, hash, &err), RC_OK);
	assert_false(effects_empty(effects));
	assert_false(effects->revoked[0].kept);
	assert_true(effects->revoked[1].kept);
	effects_free(effects);
}

static void
test_no_memory(void **state)
{
	struct effect_event e = {0};
	struct err err = ERR_INIT;
	uint8_t hash[32] = {0};
	struct text *from;
	struct effects *effects;
	struct wake *wake;
	int i;

	(void)state;
	from = text_new("alice", 5);
	effects = effects_new();
	wake = wake_new();
	for (i = 0; i < 32; i++) {
		e.from = text_ref(from);
		assert_int_equal(effects_add_event(effects, &e, &err), RC_OK);
		assert_int_equal(wake_add(wake, i, 0, &err), RC_OK);
	}
	/* The next one needs an allocation. */
	mem_fail_at(1);
	e.from = text_ref(from);
	assert_int_equal(effects_add_event(effects, &e, &err), RC_NO_MEMORY);
	assert_int_equal(refs(from), 33);
	mem_fail_at(1);
	assert_int_equal(effects_add_change(effects,
			     &(struct effect_change){1, 1, CHANGE_OTHER}, &err),
	    RC_NO_MEMORY);
	mem_fail_at(1);
	assert_int_equal(
	    effects_add_revoked(effects, 1, hash, &err), RC_NO_MEMORY);
	mem_fail_at(1);
	assert_int_equal(wake_add(wake, 77, 0, &err), RC_NO_MEMORY);
	mem_fail_at(1);
	assert_null(effects_new());
	mem_fail_at(1);
	assert_null(wake_new());
	mem_fail_at(0);
	/* The earlier ones are unchanged. */
	assert_int_equal(effects->nevents, 32);
	assert_int_equal(wake->nlanes, 32);
	assert_int_equal(wake_add(wake, 77, 0, &err), RC_OK);
	assert_int_equal(wake->lanes[32].lane_id, 77);
	effects_free(effects);
	wake_free(wake);
	assert_int_equal(refs(from), 1);
	text_unref(from);
}

static void
test_wake(void **state)
{
	struct err err = ERR_INIT;
	struct wake *wake;
	int i;

	(void)state;
	wake = wake_new();
	assert_int_equal(wake->nlanes, 0);
	for (i = 0; i < 3000; i++)
		assert_int_equal(wake_add(wake, i / 3, 0, &err), RC_OK);
	assert_int_equal(wake->nlanes, 1000);
	for (i = 0; i < 1000; i++)
		assert_int_equal(wake->lanes[i].lane_id, i);
	wake_free(wake);
	wake_free(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_grows),
	    cmocka_unit_test(test_empty),
	    cmocka_unit_test(test_no_memory),
	    cmocka_unit_test(test_wake),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
