/* SPDX-License-Identifier: MIT */
/*
 * The keyring on a real database, with a clock that stands still: which key
 * signs, which keys are published, and when the rows are read again.
 */
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "contract/rig.h"
#include "crypt/crypt.h"
#include "delivery/server_keys.h"
#include "federation/keyring.h"
#include "schema/sql.h"

#define HOUR_MS INT64_C(3600000)
#define REFRESH_MS 5000

static struct rig rig;
static struct readers *readers;
static struct keyring *keyring;
static char said[512];

static void
open_keyring(void)
{
	const struct keyring_options options = {.clk = &rig.clk.clk,
	    .rnd = &rig.rnd.rnd,
	    .readers = readers,
	    .writer = rig.writer};
	struct err err = ERR_INIT;

	assert_int_equal(keyring_new(&options, rig.db, &keyring, &err), RC_OK);
}

static int
set_up(void **state)
{
	struct db_options options = {.schema = &sql_sqlite_schema};
	struct err err = ERR_INIT;

	(void)state;
	rig_open(&rig);
	options.url = rig.url;
	assert_int_equal(
	    readers_start(&options, 1, 10, NULL, &readers, &err), RC_OK);
	keyring = NULL;
	return (0);
}

static int
tear_down(void **state)
{

	(void)state;
	readers_stop(readers);
	/* The units of the keyring must finish before it is freed. */
	(void)writer_run_once(rig.writer);
	keyring_free(keyring);
	rig_close(&rig);
	return (0);
}

static void
ignore_finish(struct unit *unit)
{

	(void)unit;
}

/* Runs ${op} with a candidate called ${name}. */
static void
change(enum server_keys_op op, const char *name)
{
	struct server_keys_unit u;

	server_keys_unit_init(&u, op, "root", &rig.rnd.rnd);
	(void)snprintf(
	    u.candidate.key_id, sizeof(u.candidate.key_id), "%s", name);
	u.unit.finish = ignore_finish;
	assert_int_equal(writer_submit(rig.writer, &u.unit), RC_OK);
	assert_int_equal(writer_run_once(rig.writer), 1);
	assert_int_equal(u.unit.rc, RC_OK);
	server_keys_unit_fini(&u);
}

/* A job that is queued behind the keyring's job. */
struct barrier {
	struct read_job job;
	sem_t passed;
};

static void
pass(struct read_job *job, struct db *db, struct err *err)
{
	struct barrier *b = CONTAINER_OF(job, struct barrier, job);

	(void)err;
	assert_non_null(db);
	assert_int_equal(sem_post(&b->passed), 0);
}

/* Asks the keyring to read its rows, and waits until the only reader has run
 * all jobs. */
static void
refresh(void)
{
	struct barrier b = {.job = {.run = pass}};

	assert_int_equal(sem_init(&b.passed, 0, 0), 0);
	keyring_refresh(keyring);
	assert_int_equal(readers_submit(readers, &b.job), RC_OK);
	assert_int_equal(sem_wait(&b.passed), 0);
	(void)sem_destroy(&b.passed);
}

/* Returns the key that signs, and the published keys. */
static const char *
keys(void)
{
	struct document_key published[DOCUMENT_KEYS];
	struct keyring_signer signer;
	uint8_t public[SIGN_PUBLIC_SIZE];
	size_t at, i, n;

	n = keyring_published(keyring, published);
	if (keyring_signer(keyring, &signer)) {
		at = (size_t)snprintf(
		    said, sizeof(said), "%s signs:", signer.key_id);
		/* The public key belongs to the seed, so signatures can be
		 * verified. */
		sign_public(signer.seed, public);
		for (i = 0; i < n; i++)
			if (strcmp(published[i].id, signer.key_id) == 0)
				break;
		assert_true(i < n);
		assert_memory_equal(
		    published[i].public, public, sizeof(public));
	} else {
		at = (size_t)snprintf(said, sizeof(said), "none signs:");
	}
	for (i = 0; i < n; i++)
		at += (size_t)snprintf(
		    said + at, sizeof(said) - at, " %s", published[i].id);
	return (said);
}

/* ---- tests ---- */

/* The first key is made only once. */
static void
test_first(void **state)
{
	struct keyring_signer signer, again;

	(void)state;
	open_keyring();
	assert_true(keyring_signer(keyring, &signer));
	assert_int_equal(signer.key_id[0], 'k');
	keyring_free(keyring);
	open_keyring();
	assert_true(keyring_signer(keyring, &again));
	assert_string_equal(again.key_id, signer.key_id);
	assert_memory_equal(again.seed, signer.seed, sizeof(signer.seed));
	assert_int_equal(
	    rig_number(&rig, "SELECT count(*) FROM server_keys"), 1);
}

/* The database has keys, but the time of all of them is over. */
static void
test_all_left(void **state)
{

	(void)state;
	change(SERVER_KEYS_ENSURE, "a");
	(void)rig_exec(
	    &rig, "UPDATE server_keys SET retires_at = 1700000000000");
	open_keyring();
	assert_string_equal(
	    rig_text(&rig, "SELECT key_id FROM server_keys WHERE retired_at = "
			   "1700000000000"),
	    "a");
	assert_non_null(strstr(keys(), " signs: k"));
}

/* A rotation takes place by the clock alone, to the millisecond, without a
 * read. */
static void
test_rotation(void **state)
{

	(void)state;
	change(SERVER_KEYS_ENSURE, "b");
	change(SERVER_KEYS_ROTATE, "a");
	open_keyring();
	assert_string_equal(keys(), "b signs: a b");
	clk_fake_advance(&rig.clk, HOUR_MS - 1);
	assert_string_equal(keys(), "b signs: a b");
	clk_fake_advance(&rig.clk, 1);
	assert_string_equal(keys(), "a signs: a b");
	clk_fake_advance(&rig.clk, 24 * HOUR_MS - 1);
	assert_string_equal(keys(), "a signs: a b");
	clk_fake_advance(&rig.clk, 1);
	assert_string_equal(keys(), "a signs: a");
	(void)rig_exec(&rig,
	    "UPDATE server_keys SET retires_at = 1700000000000 + 26 * 3600000 "
	    "WHERE key_id = 'a'");
	refresh();
	assert_string_equal(keys(), "a signs: a");
	clk_fake_advance(&rig.clk, HOUR_MS);
	assert_string_equal(keys(), "none signs:");
}

/* The clock was set back to before the time when the first key was made: the
 * key that others have known longest signs. */
static void
test_none_yet(void **state)
{

	(void)state;
	change(SERVER_KEYS_ENSURE, "b");
	change(SERVER_KEYS_ROTATE, "a");
	(void)rig_exec(&rig, "UPDATE server_keys SET signs_at = 1700000000001 "
			     "WHERE key_id = 'b'");
	open_keyring();
	assert_string_equal(keys(), "b signs: a b");
	clk_fake_advance(&rig.clk, 1);
	assert_string_equal(keys(), "b signs: a b");
	clk_fake_advance(&rig.clk, HOUR_MS);
	assert_string_equal(keys(), "a signs: a b");
}

/* A key whose time is over is retired in its row and loses its seed, without an
 * operator. */
static void
test_retired(void **state)
{
	static const char rows[] =
	    "SELECT key_id || (retired_at IS NULL) || (seed = zeroblob(32)) "
	    "FROM server_keys ORDER BY key_id";

	(void)state;
	change(SERVER_KEYS_ENSURE, "b");
	change(SERVER_KEYS_ROTATE, "a");
	open_keyring();
	clk_fake_advance(&rig.clk, 25 * HOUR_MS - 1);
	refresh();
	assert_int_equal(writer_run_once(rig.writer), 0);
	clk_fake_advance(&rig.clk, 1);
	refresh();
	/* Not before the rows are due to be read. */
	assert_int_equal(writer_run_once(rig.writer), 0);
	clk_fake_advance(&rig.clk, REFRESH_MS);
	refresh();
	/* There is only one unit, even if the writer takes long. */
	clk_fake_advance(&rig.clk, REFRESH_MS);
	refresh();
	assert_string_equal(rig_list(&rig, rows), "a10 b10");
	assert_int_equal(writer_run_once(rig.writer), 1);
	assert_string_equal(rig_list(&rig, rows), "a10 b01");
	clk_fake_advance(&rig.clk, REFRESH_MS);
	refresh();
	clk_fake_advance(&rig.clk, REFRESH_MS);
	refresh();
	assert_int_equal(writer_run_once(rig.writer), 0);
	assert_string_equal(keys(), "a signs: a");
}

/* If two keys sign from the same moment, all nodes use the same one. */
static void
test_tie(void **state)
{

	(void)state;
	change(SERVER_KEYS_ENSURE, "b");
	change(SERVER_KEYS_ROTATE, "c");
	change(SERVER_KEYS_ROTATE, "a");
	open_keyring();
	clk_fake_advance(&rig.clk, HOUR_MS);
	assert_string_equal(keys(), "c signs: c a b");
}

static void
test_refresh(void **state)
{

	(void)state;
	change(SERVER_KEYS_ENSURE, "a");
	open_keyring();
	change(SERVER_KEYS_ROTATE, "b");
	clk_fake_advance(&rig.clk, REFRESH_MS - 1);
	refresh();
	assert_string_equal(keys(), "a signs: a");
	clk_fake_advance(&rig.clk, 1);
	refresh();
	assert_string_equal(keys(), "a signs: b a");
	/* The interval counts from this read. */
	change(SERVER_KEYS_ROTATE, "c");
	clk_fake_advance(&rig.clk, REFRESH_MS - 1);
	refresh();
	assert_string_equal(keys(), "a signs: b a");
	clk_fake_advance(&rig.clk, 1);
	refresh();
	assert_string_equal(keys(), "a signs: c b a");
}

/* If the rows cannot be read, the keys stay as they were, and there is another
 * read. */
static void
test_refresh_fails(void **state)
{

	(void)state;
	change(SERVER_KEYS_ENSURE, "a");
	open_keyring();
	(void)rig_exec(&rig, "ALTER TABLE server_keys RENAME TO hidden");
	clk_fake_advance(&rig.clk, REFRESH_MS);
	refresh();
	assert_string_equal(keys(), "a signs: a");
	(void)rig_exec(&rig, "ALTER TABLE hidden RENAME TO server_keys");
	change(SERVER_KEYS_ROTATE, "b");
	clk_fake_advance(&rig.clk, REFRESH_MS);
	refresh();
	assert_string_equal(keys(), "a signs: b a");
}

int
main(void)
{
#define RIGGED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    RIGGED(test_first),
	    RIGGED(test_all_left),
	    RIGGED(test_rotation),
	    RIGGED(test_none_yet),
	    RIGGED(test_retired),
	    RIGGED(test_tie),
	    RIGGED(test_refresh),
	    RIGGED(test_refresh_fails),
	};

	if (crypt_init(NULL) != RC_OK)
		return (1);
	return (cmocka_run_group_tests_name("keyring", tests, NULL, NULL));
}
