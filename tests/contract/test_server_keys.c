/* SPDX-License-Identifier: MIT */
/*
 * The verb `server_key`: the life of the keys with which this server signs.
 * Times are hours since the start of the rig.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "contract/rig.h"
#include "crypt/crypt.h"
#include "crypt/sign.h"
#include "delivery/server_keys.h"

#define HOUR_MS INT64_C(3600000)

static struct rig rig;
static int made; /* candidates so far: k1, k2, … */
static char said[1024];

static int
open_rig(void **state)
{

	(void)state;
	rig_open(&rig);
	made = 0;
	return (0);
}

static int
close_rig(void **state)
{

	(void)state;
	rig_check_promises(&rig);
	rig_close(&rig);
	return (0);
}

static void
ignore_finish(struct unit *unit)
{

	(void)unit;
}

/* Returns the rows: id, when the key signs, when it leaves the document, when
 * it was retired, in hours. */
static const char *
rows(void)
{

	return (rig_list(&rig,
	    "SELECT key_id || ':' || ((signs_at - 1700000000000) / 3600000) || "
	    "'-' || coalesce('' || ((retires_at - 1700000000000) / 3600000), "
	    "'') || coalesce('!' || ((retired_at - 1700000000000) / 3600000), "
	    "'') "
	    "FROM server_keys ORDER BY key_id"));
}

/* Makes ${u} a unit whose candidate has the name k1, k2, …. */
static void
prepare(struct server_keys_unit *u, enum server_keys_op op, const char *key_id)
{

	server_keys_unit_init(
	    u, op, op == SERVER_KEYS_ENSURE ? "" : "root", &rig.rnd.rnd);
	(void)snprintf(
	    u->candidate.key_id, sizeof(u->candidate.key_id), "k%d", made + 1);
	(void)snprintf(u->key_id, sizeof(u->key_id), "%s", key_id);
	u->unit.finish = ignore_finish;
	assert_int_equal(writer_submit(rig.writer, &u->unit), RC_OK);
}

/* Runs ${op}.  Returns the answer and the rows. */
static const char *
done(enum server_keys_op op, const char *key_id)
{
	struct server_keys_unit u;
	char what[REFUSAL_DETAIL_SIZE + 16];

	prepare(&u, op, key_id);
	assert_int_equal(writer_run_once(rig.writer), 1);
	assert_int_equal(u.unit.rc, RC_OK);
	made += u.made ? 1 : 0;
	if (u.refusal.problem != PROBLEM_NONE)
		(void)snprintf(what, sizeof(what), "%d %s",
		    problem_status(u.refusal.problem), u.refusal.detail);
	else if (u.made)
		(void)snprintf(what, sizeof(what),
		    "made %s signs %" PRId64 " others %" PRId64,
		    u.candidate.key_id,
		    (u.candidate.signs_at - RIG_START_MS) / HOUR_MS,
		    u.retires_at == 0
			? -1
			: (u.retires_at - RIG_START_MS) / HOUR_MS);
	else
		(void)snprintf(what, sizeof(what), "leaves %" PRId64,
		    u.retires_at == 0
			? -1
			: (u.retires_at - RIG_START_MS) / HOUR_MS);
	server_keys_unit_fini(&u);
	(void)snprintf(said, sizeof(said), "%s | %s", what, rows());
	return (said);
}

/* Returns the new entries of the audit log, with times in hours. */
static const char *
audit(void)
{
	static char text[1024];

	(void)snprintf(text, sizeof(text), "%s",
	    rig_list(&rig,
		"SELECT ((at - 1700000000000) / 3600000) || '/' || actor || '/' "
		"|| action || '/' || object || '/' || coalesce(detail, '-') "
		"FROM audit_log ORDER BY audit_id"));
	(void)rig_exec(&rig, "DELETE FROM audit_log");
	return (text);
}

static void
hours(int n)
{

	clk_fake_advance(&rig.clk, n * HOUR_MS);
}

/* ---- tests ---- */

/* The first key signs at once.  No operator has made it, so it is not in the
 * audit log. */
static void
test_first(void **state)
{

	(void)state;
	assert_string_equal(
	    done(SERVER_KEYS_ENSURE, ""), "made k1 signs 0 others -1 | k1:0-");
	hours(1);
	assert_string_equal(done(SERVER_KEYS_ENSURE, ""), "leaves -1 | k1:0-");
	assert_string_equal(audit(), "");
	/* The same holds for the first key that an operator makes. */
	(void)rig_exec(&rig, "DELETE FROM server_keys");
	made = 0;
	assert_string_equal(
	    done(SERVER_KEYS_ROTATE, ""), "made k1 signs 1 others -1 | k1:1-");
	assert_string_equal(
	    audit(), "1/root/key_rotate/k1/signs at 2023-11-14T23:13:20.000Z");
}

/* Two units in one transaction get one key. */
static void
test_first_of_two(void **state)
{
	struct server_keys_unit a, b;

	(void)state;
	prepare(&a, SERVER_KEYS_ENSURE, "");
	made++;
	prepare(&b, SERVER_KEYS_ENSURE, "");
	assert_int_equal(writer_run_once(rig.writer), 2);
	assert_true(a.made != b.made);
	assert_int_equal(
	    rig_number(&rig, "SELECT count(*) FROM server_keys"), 1);
	server_keys_unit_fini(&a);
	server_keys_unit_fini(&b);
}

static void
test_rotate(void **state)
{

	(void)state;
	(void)done(SERVER_KEYS_ENSURE, "");
	hours(10);
	assert_string_equal(done(SERVER_KEYS_ROTATE, ""),
	    "made k2 signs 11 others 35 | k1:0-35 k2:11-");
	assert_string_equal(
	    audit(), "10/root/key_rotate/k2/signs at 2023-11-15T09:13:20.000Z");
	/* A key that leaves already keeps its time. */
	hours(2);
	assert_string_equal(done(SERVER_KEYS_ROTATE, ""),
	    "made k3 signs 13 others 37 | k1:0-35 k2:11-37 k3:13-");
	/* Each later unit retires the keys whose time is over, exact to the
	 * millisecond. */
	clk_fake_advance(&rig.clk, 23 * HOUR_MS - 1);
	assert_string_equal(done(SERVER_KEYS_ENSURE, ""),
	    "leaves -1 | k1:0-35 k2:11-37 k3:13-");
	clk_fake_advance(&rig.clk, 1);
	assert_string_equal(done(SERVER_KEYS_ENSURE, ""),
	    "leaves -1 | k1:0-35!35 k2:11-37 k3:13-");
	hours(5);
	assert_string_equal(done(SERVER_KEYS_RETIRE, "k2"),
	    "404 there is no key \"k2\", or it is retired already | "
	    "k1:0-35!35 k2:11-37!40 k3:13-");
}

/* There can be as many keys as a document may have.  Another one is refused
 * until one leaves. */
static void
test_rotate_often(void **state)
{
	int i;

	(void)state;
	(void)done(SERVER_KEYS_ENSURE, "");
	for (i = 2; i <= STORE_SERVER_KEYS; i++) {
		hours(1);
		(void)done(SERVER_KEYS_ROTATE, "");
	}
	assert_int_equal(made, STORE_SERVER_KEYS);
	(void)audit();
	assert_string_equal(done(SERVER_KEYS_ROTATE, ""),
	    "409 8 keys are published, and there can be no more: the next one "
	    "leaves the document at 2023-11-16T00:13:20.000Z | k1:0-26 k2:2-27 "
	    "k3:3-28 k4:4-29 k5:5-30 k6:6-31 k7:7-32 k8:8-");
	assert_string_equal(audit(), "");
	hours(26 - 7);
	assert_string_equal(done(SERVER_KEYS_ROTATE, ""),
	    "made k9 signs 27 others 51 | k1:0-26!26 k2:2-27 k3:3-28 k4:4-29 "
	    "k5:5-30 k6:6-31 k7:7-32 k8:8-51 k9:27-");
}

static void
test_retire(void **state)
{

	(void)state;
	(void)done(SERVER_KEYS_ENSURE, "");
	assert_string_equal(done(SERVER_KEYS_RETIRE, "k1"),
	    "409 no other key would be left to sign: run \"twinboxd keys "
	    "rotate\" first | k1:0-");
	(void)done(SERVER_KEYS_ROTATE, "");
	(void)audit();
	/* The other key leaves itself, later. */
	assert_string_equal(done(SERVER_KEYS_RETIRE, "k2"),
	    "409 no other key would be left to sign: run \"twinboxd keys "
	    "rotate\" first | k1:0-25 k2:1-");
	assert_string_equal(
	    done(SERVER_KEYS_RETIRE, "k1"), "leaves 24 | k1:0-24 k2:1-");
	assert_string_equal(
	    audit(), "0/root/key_retire/k1/leaves at 2023-11-15T22:13:20.000Z");
	hours(1);
	assert_string_equal(done(SERVER_KEYS_RETIRE, "k1"),
	    "409 key k1 leaves the document already, at "
	    "2023-11-15T22:13:20.000Z; retire --now takes it out at once | "
	    "k1:0-24 k2:1-");
	assert_string_equal(done(SERVER_KEYS_RETIRE, "k"),
	    "404 there is no key \"k\", or it is retired already | "
	    "k1:0-24 k2:1-");
	assert_string_equal(audit(), "");
}

/* A key that would sign only after the other one has left cannot replace it. */
static void
test_retire_too_late(void **state)
{

	(void)state;
	(void)done(SERVER_KEYS_ENSURE, "");
	(void)done(SERVER_KEYS_ROTATE, "");
	(void)rig_exec(&rig, "UPDATE server_keys SET retires_at = NULL");
	(void)rig_exec(&rig,
	    "UPDATE server_keys SET signs_at = 1700000000000 + 24 * 3600000 + 1 "
	    "WHERE key_id = 'k2'");
	assert_string_equal(done(SERVER_KEYS_RETIRE, "k1"),
	    "409 no other key would be left to sign: run \"twinboxd keys "
	    "rotate\" first | k1:0- k2:24-");
	clk_fake_advance(&rig.clk, 1);
	assert_string_equal(
	    done(SERVER_KEYS_RETIRE, "k1"), "leaves 24 | k1:0-24 k2:24-");
}

static void
test_stolen(void **state)
{

	(void)state;
	(void)done(SERVER_KEYS_ENSURE, "");
	hours(3);
	/* The only key: a new one takes its place. */
	assert_string_equal(done(SERVER_KEYS_RETIRE_NOW, "k1"),
	    "made k2 signs 3 others 3 | k1:0-!3 k2:3-");
	assert_string_equal(
	    audit(), "3/root/key_retire/k1/now, replaced by k2");
	assert_string_equal(done(SERVER_KEYS_RETIRE_NOW, "k1"),
	    "404 there is no key \"k1\", or it is retired already | "
	    "k1:0-!3 k2:3-");
	/* A key that does not sign any more needs no successor. */
	(void)done(SERVER_KEYS_ROTATE, "");
	hours(1);
	(void)audit();
	assert_string_equal(done(SERVER_KEYS_RETIRE_NOW, "k2"),
	    "leaves 4 | k1:0-!3 k2:3-28!4 k3:4-");
	assert_string_equal(audit(), "4/root/key_retire/k2/now");
}

/* The key that signs is retired while its successor still waits: another key
 * signs at once. */
static void
test_stolen_early(void **state)
{

	(void)state;
	(void)done(SERVER_KEYS_ENSURE, "");
	(void)done(SERVER_KEYS_ROTATE, "");
	assert_string_equal(done(SERVER_KEYS_RETIRE_NOW, "k1"),
	    "made k3 signs 0 others 0 | k1:0-25!0 k2:1- k3:0-");
}

/* The newest key is retired.  The one before it signs until it leaves, and by
 * then its successor signs. */
static void
test_stolen_newest(void **state)
{

	(void)state;
	(void)done(SERVER_KEYS_ENSURE, "");
	(void)done(SERVER_KEYS_ROTATE, "");
	hours(2);
	assert_string_equal(done(SERVER_KEYS_RETIRE_NOW, "k2"),
	    "made k3 signs 3 others 2 | k1:0-25 k2:1-!2 k3:3-");
}

/* Returns the keys whose seeds are stored. */
static const char *
seeds(void)
{

	return (rig_list(&rig,
	    rig_is_postgres()
		? "SELECT key_id FROM server_keys WHERE seed <> "
		  "decode(repeat('00', 32), 'hex') ORDER BY key_id"
		: "SELECT key_id FROM server_keys WHERE seed <> zeroblob(32) "
		  "ORDER BY key_id"));
}

/* A retired key has no seed any more, however it was retired. */
static void
test_seeds(void **state)
{

	(void)state;
	(void)done(SERVER_KEYS_ENSURE, "");
	(void)done(SERVER_KEYS_ROTATE, "");
	(void)done(SERVER_KEYS_RETIRE, "k1");
	assert_string_equal(seeds(), "k1 k2");
	hours(24);
	assert_string_equal(seeds(), "k1 k2");
	(void)done(SERVER_KEYS_ENSURE, "");
	assert_string_equal(seeds(), "k2");
	(void)done(SERVER_KEYS_RETIRE_NOW, "k2");
	assert_string_equal(seeds(), "k3");
	/* A key that an older version retired, without erasing the seed. */
	(void)rig_exec(
	    &rig, "UPDATE server_keys SET seed = public WHERE key_id = 'k1'");
	assert_string_equal(seeds(), "k1 k3");
	(void)done(SERVER_KEYS_ENSURE, "");
	assert_string_equal(seeds(), "k3");
	assert_int_equal(
	    rig_number(&rig, "SELECT count(*) FROM server_keys"), 3);
}

/* All keys have left while no server ran. */
static void
test_all_left(void **state)
{

	(void)state;
	(void)done(SERVER_KEYS_ENSURE, "");
	(void)rig_exec(&rig,
	    "UPDATE server_keys SET retires_at = 1700000000000 + 3600000");
	hours(1);
	assert_string_equal(done(SERVER_KEYS_ENSURE, ""),
	    "made k2 signs 1 others -1 | k1:0-1!1 k2:1-");
}

/* The database refuses an id that exists already, and nothing of the unit is
 * stored. */
static void
test_same_id(void **state)
{
	struct server_keys_unit u;

	(void)state;
	(void)done(SERVER_KEYS_ENSURE, "");
	made = 0;
	prepare(&u, SERVER_KEYS_ROTATE, "");
	assert_int_equal(writer_run_once(rig.writer), 1);
	assert_int_equal(u.unit.rc, RC_EXISTS);
	assert_string_equal(rows(), "k1:0-");
	assert_string_equal(audit(), "");
	server_keys_unit_fini(&u);
}

/* The rows have the candidate's seed, and the copies in memory are wiped. */
static void
test_candidates(void **state)
{
	static const uint8_t zeros[SIGN_SEED_SIZE];
	struct store_server_key keys[STORE_SERVER_KEYS];
	struct server_keys_unit u, other;
	uint8_t public[SIGN_PUBLIC_SIZE];
	struct err err = ERR_INIT;
	size_t i, n;

	(void)state;
	server_keys_unit_init(&u, SERVER_KEYS_ENSURE, "", &rig.rnd.rnd);
	server_keys_unit_init(&other, SERVER_KEYS_ENSURE, "", &rig.rnd.rnd);
	assert_int_equal(u.candidate.key_id[0], 'k');
	assert_int_equal(strlen(u.candidate.key_id), 9);
	assert_int_equal(strspn(u.candidate.key_id + 1, "0123456789abcdef"), 8);
	assert_string_not_equal(u.candidate.key_id, other.candidate.key_id);
	assert_memory_not_equal(
	    u.candidate.seed, other.candidate.seed, SIGN_SEED_SIZE);
	u.unit.finish = ignore_finish;
	assert_int_equal(writer_submit(rig.writer, &u.unit), RC_OK);
	assert_int_equal(writer_run_once(rig.writer), 1);
	(void)done(SERVER_KEYS_ROTATE, "");

	assert_int_equal(store_server_keys_list(rig.db, keys, &n, &err), RC_OK);
	assert_int_equal(n, 2);
	/* The newest first. */
	assert_string_equal(keys[0].key_id, "k1");
	assert_string_equal(keys[1].key_id, u.candidate.key_id);
	assert_memory_equal(
	    keys[1].seed, u.candidate.seed, sizeof(keys[1].seed));
	assert_int_equal(keys[1].created_at, RIG_START_MS);
	assert_int_equal(keys[1].signs_at, RIG_START_MS);
	assert_int_equal(keys[1].retires_at, RIG_START_MS + 25 * HOUR_MS);
	assert_int_equal(keys[0].retires_at, 0);
	for (i = 0; i < n; i++) {
		sign_public(keys[i].seed, public);
		assert_memory_equal(public, keys[i].public, sizeof(public));
	}
	server_keys_unit_fini(&u);
	server_keys_unit_fini(&other);
	assert_memory_equal(u.candidate.seed, zeros, sizeof(zeros));
}

int
main(void)
{
#define RIGGED(test) cmocka_unit_test_setup_teardown(test, open_rig, close_rig)
	const struct CMUnitTest tests[] = {
	    RIGGED(test_first),
	    RIGGED(test_first_of_two),
	    RIGGED(test_rotate),
	    RIGGED(test_rotate_often),
	    RIGGED(test_retire),
	    RIGGED(test_retire_too_late),
	    RIGGED(test_stolen),
	    RIGGED(test_stolen_early),
	    RIGGED(test_stolen_newest),
	    RIGGED(test_seeds),
	    RIGGED(test_all_left),
	    RIGGED(test_same_id),
	    RIGGED(test_candidates),
	};

	if (crypt_init(NULL) != RC_OK)
		return (1);
	return (cmocka_run_group_tests(tests, NULL, NULL));
}
