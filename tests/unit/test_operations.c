/* SPDX-License-Identifier: MIT */
/*
 * Operations on users and keys, by a command itself and through the control
 * socket, on a real database.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/thr.h"
#include "log/log.h"
#include "main_world.h"
#include "wire/wire.h"

/* ---- users ---- */

static void
test_commands(void **state)
{
	struct world *w = *state;
	struct operation o =
	    world_user_operation(OPERATION_USER_ADD, "ann", HASH);
	struct err err = ERR_INIT;

	o.asked.user.admin = true;
	assert_int_equal(RC_OK, operation_run(&o, w->db, w->writer, &err));
	assert_true(world_user(w, "ann").admin);
	assert_string_equal(HASH, world_user(w, "ann").password_hash);
	assert_int_equal(RC_EXISTS, operation_run(&o, w->db, w->writer, &err));
	assert_string_equal("there is an administrator \"ann\": twinboxd user "
			    "passwd ann sets a new password",
	    err.text);

	o = world_user_operation(OPERATION_USER_PASSWD, "ann", HASH "x");
	assert_int_equal(RC_OK, operation_run(&o, w->db, w->writer, &err));
	assert_string_equal(HASH "x", world_user(w, "ann").password_hash);
	assert_true(world_user(w, "ann").admin);

	o = world_user_operation(OPERATION_USER_DISABLE, "ann", "");
	assert_int_equal(RC_INVALID, operation_run(&o, w->db, w->writer, &err));
	assert_string_equal("user \"ann\" is the last administrator: promote "
			    "another user first",
	    err.text);
	o = world_user_operation(OPERATION_USER_ADD, "cat", HASH);
	o.asked.user.admin = true;
	assert_int_equal(RC_OK, operation_run(&o, w->db, w->writer, &err));
	o = world_user_operation(OPERATION_USER_DISABLE, "ann", "");
	assert_int_equal(RC_OK, operation_run(&o, w->db, w->writer, &err));
	assert_true(world_user(w, "ann").disabled);
	assert_int_equal(RC_INVALID, operation_run(&o, w->db, w->writer, &err));
	assert_string_equal("user \"ann\" is disabled already", err.text);

	o = world_user_operation(OPERATION_USER_DISABLE, "bob", "");
	assert_int_equal(
	    RC_NOT_FOUND, operation_run(&o, w->db, w->writer, &err));
	assert_non_null(strstr(err.text, "bob"));
}

/* The work of the unit, its user, and the text for each result. */
static void
test_results(void **state)
{
	struct world *w = *state;
	struct operation o =
	    world_user_operation(OPERATION_USER_ADD, "ann", HASH);
	const struct account_unit *unit = &o.work.account;
	struct err err = ERR_INIT;

	o.asked.user.admin = true;
	assert_int_equal(RC_OK, operation_prepare(&o, w->db, NULL, &err));
	assert_string_equal("operator", unit->operator);
	assert_string_equal("ann", unit->user.name);
	assert_string_equal(HASH, unit->user.password_hash);
	assert_true(unit->user.admin);
	o.work.unit.rc = RC_OK;
	assert_int_equal(RC_OK, operation_result(&o, &err));
	assert_string_equal("", o.text);
	o.work.unit.rc = RC_BUSY;
	assert_int_equal(RC_BUSY, operation_result(&o, &err));
	assert_string_equal("the database: busy", err.text);
	o.work.unit.rc = RC_FULL;
	assert_int_equal(RC_FULL, operation_result(&o, &err));
	assert_memory_equal("the database: ", err.text, 14);
	assert_non_null(
	    strstr(err.text, "; free room on the disk of the database"));
}

/* ---- keys ---- */

/* ${text} must begin with ${words}. */
static void
assert_begins(const char *words, const char *text)
{
	char begin[200];

	(void)snprintf(begin, sizeof(begin), "%.*s", (int)strlen(words), text);
	assert_string_equal(words, begin);
}

/* Operations on keys, with a writer that has no thread. */
static void
test_keys(void **state)
{
	struct world *w = *state;
	struct operation o = world_key_operation(OPERATION_KEYS_ROTATE, "");
	struct err err = ERR_INIT;
	char first[STORE_SERVER_KEY_ID_LEN + 1], words[200];

	assert_int_equal(RC_OK, operation_run(&o, w->db, w->writer, &err));
	(void)snprintf(
	    first, sizeof(first), "%s", o.work.keys.candidate.key_id);
	assert_string_equal(first, operation_about(&o));
	(void)snprintf(words, sizeof(words),
	    "key %s is published and signs at once", first);
	assert_string_equal(words, o.text);
	operation_fini(&o);
	assert_int_equal(0, o.work.keys.candidate.seed[0]);

	o = world_key_operation(OPERATION_KEYS_RETIRE, first);
	assert_string_equal(first, operation_about(&o));
	assert_int_equal(
	    RC_CONFLICT, operation_run(&o, w->db, w->writer, &err));
	assert_begins("no other key would be left to sign", err.text);
	o = world_key_operation(OPERATION_KEYS_ROTATE, "");
	assert_int_equal(RC_OK, operation_run(&o, w->db, w->writer, &err));
	(void)snprintf(words, sizeof(words),
	    "key %s is published and signs from 2",
	    o.work.keys.candidate.key_id);
	assert_begins(words, o.text);
	assert_non_null(strstr(o.text, "; the others leave the document by 2"));
	o = world_key_operation(OPERATION_KEYS_RETIRE, first);
	assert_int_equal(RC_OK, operation_run(&o, w->db, w->writer, &err));
	(void)snprintf(
	    words, sizeof(words), "key %s leaves the document at 2", first);
	assert_begins(words, o.text);
	o = world_key_operation(OPERATION_KEYS_RETIRE_NOW, first);
	assert_int_equal(RC_OK, operation_run(&o, w->db, w->writer, &err));
	(void)snprintf(words, sizeof(words),
	    "key %s is retired; key %s takes its place and signs at once",
	    first, o.work.keys.candidate.key_id);
	assert_string_equal(words, o.text);
	o = world_key_operation(
	    OPERATION_KEYS_RETIRE_NOW, o.work.keys.candidate.key_id);
	assert_int_equal(RC_OK, operation_run(&o, w->db, w->writer, &err));
	o = world_key_operation(OPERATION_KEYS_RETIRE_NOW, first);
	assert_int_equal(
	    RC_NOT_FOUND, operation_run(&o, w->db, w->writer, &err));
}

/* The same for keys: the server's answer has the text, but not the seed. */
static void
test_control_keys(void **state)
{
	struct world *w = *state;
	struct operation o = world_key_operation(OPERATION_KEYS_ROTATE, "");
	struct err err = ERR_INIT;
	char key_id[STORE_SERVER_KEY_ID_LEN + 1];

	world_serve(w);
	assert_int_equal(RC_OK, control_call(&w->data, &o, &err));
	assert_begins("key k", o.text);
	(void)snprintf(key_id, sizeof(key_id), "%.9s", o.text + 4);
	assert_string_equal(" is published and signs at once", o.text + 13);
	assert_string_equal("", o.work.keys.candidate.key_id);
	o = world_key_operation(OPERATION_KEYS_RETIRE, key_id);
	assert_int_equal(RC_CONFLICT, control_call(&w->data, &o, &err));
	o = world_key_operation(OPERATION_KEYS_RETIRE_NOW, key_id);
	assert_int_equal(RC_OK, control_call(&w->data, &o, &err));
	assert_non_null(strstr(o.text, " takes its place and signs at once"));
	assert_int_equal(RC_NOT_FOUND, control_call(&w->data, &o, &err));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		test_commands, world_open, world_remove),
	    cmocka_unit_test_setup_teardown(
		test_results, world_open, world_remove),
	    cmocka_unit_test_setup_teardown(
		test_keys, world_open, world_remove),
	    cmocka_unit_test_setup_teardown(
		test_control_keys, world_open, world_remove),
	};

	thr_init_main();
	wire_init();
	if (crypt_init(NULL) != RC_OK)
		return (1);
	(void)umask(077);
	log_set_level(LVL_ERROR);
	return (cmocka_run_group_tests(tests, NULL, NULL));
}
