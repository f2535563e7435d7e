/* SPDX-License-Identifier: MIT */
/*
 * This server's knowledge of others: documents that it reads, keys that
 * operators pin, servers that are forgotten or blocked.  Each step is checked
 * in the tables and in the audit log.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "contract/learned.h"
#include "store/destination.h"

#define FAR "far.example"
#define SAID_SIZE 4096

static struct rig rig;
static char said[SAID_SIZE];

static int
open_rig(void **state)
{

	(void)state;
	rig_open(&rig);
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

static void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void
say(const char *fmt, ...)
{
	size_t n = strlen(said);
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(said + n, sizeof(said) - n, fmt, ap);
	va_end(ap);
}

/* Returns milliseconds since the rig began, or 0 for 0. */
static long long
since(int64_t at)
{

	return (at == 0 ? 0 : (long long)(at - RIG_START_MS));
}

/* ---- units ---- */

/* Runs ${u}.  Returns its refusal or what is known now, then the new entries of
 * the audit log. */
static const char *
done(struct peer_unit *u)
{
	size_t i;

	u->unit.finish = learned;
	assert_int_equal(writer_submit(rig.writer, &u->unit), RC_OK);
	assert_int_equal(writer_run_once(rig.writer), 1);
	assert_int_equal(u->unit.rc, RC_OK);
	said[0] = '\0';
	if (u->refusal.problem != PROBLEM_NONE)
		say("%d %s", problem_status(u->refusal.problem),
		    u->refusal.detail);
	else
		say("%s%s%s%s%s/%s", u->is_new ? "new " : "",
		    u->keys_changed ? "keys " : "",
		    u->epoch_changed ? "epoch " : "",
		    u->known.blocked ? "blocked " : "", u->known.domain,
		    u->known.epoch);
	for (i = 0; i < u->known.nkeys; i++)
		say(" %s=%d", u->known.keys[i].key_id,
		    u->known.keys[i].public[31]);
	say(" | %s",
	    rig_list(&rig,
		"SELECT (at - 1700000000000) || '/' || actor || '/' || action "
		"|| '/' || object || '/' || coalesce(detail, '-') FROM "
		"audit_log ORDER BY audit_id"));
	(void)rig_exec(&rig, "DELETE FROM audit_log");
	clk_fake_advance(&rig.clk, 10);
	return (said);
}

static const char *
learn(const char *domain, const char *epoch, const char *keys)
{
	struct peer_unit u;

	peer_unit_init(&u, PEER_LEARN, domain, "");
	(void)snprintf(u.epoch, sizeof(u.epoch), "%s", epoch);
	learned_keys(&u, keys);
	return (done(&u));
}

static const char *
pin(const char *domain, const char *key)
{
	struct peer_unit u;

	peer_unit_init(&u, PEER_PIN, domain, "root");
	learned_keys(&u, key);
	return (done(&u));
}

static const char *
unpin(const char *domain, const char *key)
{
	struct peer_unit u;

	peer_unit_init(&u, PEER_UNPIN, domain, "root");
	learned_keys(&u, key);
	return (done(&u));
}

static const char *
operate(enum peer_op op, const char *domain)
{
	struct peer_unit u;

	peer_unit_init(&u, op, domain, "root");
	if (op == PEER_BLOCK)
		(void)snprintf(u.reason, sizeof(u.reason), "spam");
	return (done(&u));
}

/* ---- rows ---- */

/* Returns the row of ${domain} and its keys, with times since the rig began.  A
 * "!" marks a key that verifies. */
static const char *
rows(const char *domain)
{
	static struct store_peer_keys keys;
	const struct store_peer_key_row *k;
	struct err err = ERR_INIT;
	struct store_peer_row row;
	size_t i;

	said[0] = '\0';
	if (store_peer_get(rig.db, domain, &row, &err) != RC_OK)
		return ("none");
	assert_int_equal(
	    store_peer_keys(rig.db, row.destination_id, &keys, &err), RC_OK);
	say("%lld-%lld/%s/%lld/%s/%d/%d", since(row.first_seen_at),
	    since(row.last_seen_at), row.epoch, since(row.blocked_at),
	    row.blocked_by, (int)row.live, (int)row.pinned);
	for (i = 0; i < keys.n; i++) {
		k = &keys.rows[i];
		say(" %s=%d%s/%s/%lld-%lld/%lld", k->key.key_id,
		    k->key.public[0], k -> verifies ? "!" : "",
		    k->key.pinned_by, since(k->first_seen_at),
		    since(k->last_seen_at), since(k->retired_at));
	}
	return (said);
}

/* Makes a person of FAR known here. */
static void
meet(void)
{

	(void)rig_exec(&rig,
	    "UPDATE destinations SET updated_at = 1 WHERE name = '" FAR "'");
}

static int64_t
count(const char *table)
{
	char sql[96];

	(void)snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", table);
	return (rig_number(&rig, sql));
}

/* ---- documents ---- */

static void
test_new(void **state)
{

	(void)state;
	clk_fake_advance(&rig.clk, 10);
	assert_string_equal(rows(FAR), "none");
	assert_string_equal(
	    learn(FAR, "e1", "k1=1 k2=2"), "new far.example/e1 k1=1 k2=2 | ");
	assert_string_equal(
	    rows(FAR), "10-10/e1/0//2/0 k1=1!//10-10/0 k2=2!//10-10/0");
	assert_int_equal(rig_number(&rig, "SELECT count(*) FROM destinations "
					  "WHERE name = 'far.example'"),
	    1);
	/* The same document again changes nothing. */
	assert_string_equal(
	    learn(FAR, "e1", "k1=1 k2=2"), "far.example/e1 k1=1 k2=2 | ");
	assert_string_equal(
	    rows(FAR), "10-20/e1/0//2/0 k1=1!//10-20/0 k2=2!//10-20/0");
	/* The clock was put back: the times do not go back. */
	rig.clk.wall_ms -= 25;
	assert_string_equal(
	    learn(FAR, "e1", "k1=1 k2=2"), "far.example/e1 k1=1 k2=2 | ");
	assert_memory_equal(rows(FAR), "10-20/e1/", 9);
}

/* A message was sent to the server before its document was read. */
static void
test_destination_stays(void **state)
{
	struct err err = ERR_INIT;
	struct peer_unit u;
	int64_t id;

	(void)state;
	assert_int_equal(
	    store_destination_insert(rig.db, FAR, true, 1, &id, &err), RC_OK);
	peer_unit_init(&u, PEER_LEARN, FAR, "");
	learned_keys(&u, "k1=1");
	assert_string_equal(done(&u), "new far.example/ k1=1 | ");
	assert_int_equal(u.known.destination_id, id);
	assert_string_equal(rows(FAR), "0-0//0//1/0 k1=1!//0-0/0");
}

static void
test_changed(void **state)
{

	(void)state;
	clk_fake_advance(&rig.clk, 10);
	(void)learn(FAR, "", "k1=1 k2=2");
	meet();
	/* One key has gone, one has come. */
	assert_string_equal(learn(FAR, "", "k3=3 k2=2"),
	    "keys far.example/ k2=2 k3=3 | 20/far.example/peer-keys/"
	    "far.example/now k2 (02020202), k3 (03030303); before "
	    "k1 (01010101), k2 (02020202)");
	assert_string_equal(rows(FAR),
	    "10-20//0//2/0 k1=1//10-10/20 k2=2!//10-20/0 k3=3!//20-20/0");
	/* Its time of retirement stays. */
	assert_string_equal(
	    learn(FAR, "", "k3=3 k2=2"), "far.example/ k2=2 k3=3 | ");
	assert_string_equal(rows(FAR),
	    "10-30//0//2/0 k1=1//10-10/20 k2=2!//10-30/0 k3=3!//20-30/0");
	/* The key comes back. */
	assert_string_equal(learn(FAR, "", "k1=1"),
	    "keys far.example/ k1=1 | 40/far.example/peer-keys/far.example/"
	    "now k1 (01010101); before k2 (02020202), k3 (03030303)");
	assert_string_equal(rows(FAR),
	    "10-40//0//1/0 k1=1!//10-40/0 k2=2//10-30/40 k3=3//20-30/40");
	/* Another key under the same id. */
	assert_string_equal(learn(FAR, "", "k1=9"),
	    "keys far.example/ k1=9 | 50/far.example/peer-keys/far.example/"
	    "now k1 (09090909); before k1 (01010101)");
	assert_string_equal(rows(FAR),
	    "10-50//0//1/0 k1=9!//50-50/0 k2=2//10-30/40 k3=3//20-30/40");
}

static void
test_epoch(void **state)
{

	(void)state;
	(void)learn(FAR, "", "k1=1");
	meet();
	/* The first epoch is not a change, and a missing one says nothing. */
	assert_string_equal(learn(FAR, "e1", "k1=1"), "far.example/e1 k1=1 | ");
	assert_string_equal(learn(FAR, "", "k1=1"), "far.example/e1 k1=1 | ");
	assert_string_equal(learn(FAR, "e2", "k1=1"),
	    "epoch far.example/e2 k1=1 | 30/far.example/peer-epoch/"
	    "far.example/now e2; before e1");
	/* Keys and epoch at once. */
	assert_string_equal(learn(FAR, "e3", "k2=2"),
	    "keys epoch far.example/e3 k2=2 | 40/far.example/peer-keys/"
	    "far.example/now k2 (02020202); before k1 (01010101) "
	    "40/far.example/peer-epoch/far.example/now e3; before e2");
}

/* A peer whose document has other keys each time takes only limited room. */
static void
test_retired_are_bounded(void **state)
{
	char keys[64];
	int i;

	(void)state;
	for (i = 100; i < 113; i++) {
		(void)snprintf(
		    keys, sizeof(keys), "a%d=1 b%d=2 c%d=3", i, i, i);
		(void)learn(FAR, "", keys);
	}
	assert_int_equal(count("peer_keys"), 3 + STORE_PEER_KEYS_RETIRED);
	/* The keys that were retired last. */
	assert_int_equal(rig_number(&rig, "SELECT min(retired_at) - "
					  "1700000000000 FROM peer_keys"),
	    70);
	/* A document with the most keys, and as many pins. */
	(void)learn(FAR, "", "m1=1 m2=2 m3=3 m4=4 m5=5 m6=6 m7=7 m8=8");
	for (i = 0; i < STORE_PEER_KEYS; i++) {
		(void)snprintf(keys, sizeof(keys), "p%d=7", i);
		(void)pin(FAR, keys);
	}
	assert_int_equal(count("peer_keys"), STORE_PEER_KEYS_ALL);
	(void)learn(FAR, "", "n1=1 n2=2 n3=3 n4=4 n5=5 n6=6 n7=7 n8=8");
	assert_int_equal(count("peer_keys"), STORE_PEER_KEYS_ALL);
	assert_int_equal(rig_number(&rig, "SELECT count(*) FROM peer_keys "
					  "WHERE retired_at IS NULL"),
	    16);
}

/* ---- pins ---- */

static void
test_pinned(void **state)
{

	(void)state;
	clk_fake_advance(&rig.clk, 10);
	(void)learn(FAR, "", "k1=1 k2=2");
	assert_string_equal(pin(FAR, "k1=1"),
	    "far.example/ k1=1 | 20/root/peer-pin/far.example/k1 (01010101)");
	assert_string_equal(
	    rows(FAR), "10-10//0//2/1 k1=1!/root/10-20/0 k2=2//10-10/0");
	/* A document neither replaces nor retires a pinned key, and its other
	 * keys do not verify. */
	assert_string_equal(
	    learn(FAR, "", "k1=7 k3=3"), "far.example/ k1=1 | ");
	assert_string_equal(learn(FAR, "", "k3=3"), "far.example/ k1=1 | ");
	assert_string_equal(rows(FAR),
	    "10-40//0//2/1 k1=1!/root/10-20/0 k2=2//10-10/30 k3=3//30-40/0");
	/* An operator replaces the key, and pins a retired one. */
	assert_string_equal(pin(FAR, "k1=5"),
	    "far.example/ k1=5 | 50/root/peer-pin/far.example/k1 (05050505)");
	assert_string_equal(pin(FAR, "k2=2"),
	    "far.example/ k1=5 k2=2 | 60/root/peer-pin/far.example/"
	    "k2 (02020202)");
	assert_string_equal(rows(FAR),
	    "10-40//0//3/2 k1=5!/root/50-50/0 k2=2!/root/10-60/0 "
	    "k3=3//30-40/0");
}

/* A key is pinned before the first contact. */
static void
test_pinned_first(void **state)
{

	(void)state;
	clk_fake_advance(&rig.clk, 10);
	assert_string_equal(pin(FAR, "k1=1"),
	    "far.example/ k1=1 | 10/root/peer-pin/far.example/k1 (01010101)");
	assert_string_equal(rows(FAR), "0-0//0//1/1 k1=1!/root/10-10/0");
	assert_string_equal(
	    learn(FAR, "e1", "k1=2 k2=2"), "new far.example/e1 k1=1 | ");
	assert_string_equal(
	    rows(FAR), "20-20/e1/0//2/1 k1=1!/root/10-10/0 k2=2//20-20/0");
}

/* An unpinned key becomes one that the first contact would have brought: the
 * next document keeps, replaces or retires it. */
static void
test_unpin(void **state)
{

	(void)state;
	clk_fake_advance(&rig.clk, 10);
	assert_string_equal(unpin(FAR, "k1=1"),
	    "404 nothing is known of a server called \"far.example\" | ");
	(void)learn(FAR, "", "k1=7 k2=2");
	meet();
	(void)pin(FAR, "k1=5");
	(void)pin(FAR, "k3=3");
	assert_string_equal(unpin(FAR, "k2=2"),
	    "409 key \"k2\" of \"far.example\" is not pinned | ");
	assert_string_equal(unpin(FAR, "k4=4"),
	    "409 key \"k4\" of \"far.example\" is not pinned | ");
	/* While another key is pinned, only that one verifies. */
	assert_string_equal(unpin(FAR, "k1=0"),
	    "far.example/ k3=3 | 70/root/peer-unpin/far.example/k1 (05050505)");
	assert_string_equal(rows(FAR),
	    "20-20//0//3/1 k1=5//30-70/0 k2=2//20-20/0 k3=3!/root/40-40/0");
	assert_string_equal(unpin(FAR, "k3=3"),
	    "far.example/ k1=5 k2=2 k3=3 | 80/root/peer-unpin/far.example/"
	    "k3 (03030303)");
	assert_string_equal(learn(FAR, "", "k1=7 k2=2"),
	    "keys far.example/ k1=7 k2=2 | 90/far.example/peer-keys/"
	    "far.example/now k1 (07070707), k2 (02020202); before k1 "
	    "(05050505), k2 (02020202), k3 (03030303)");
	assert_string_equal(rows(FAR),
	    "20-90//0//2/0 k1=7!//90-90/0 k2=2!//20-90/0 k3=3//40-80/90");
}

/* There can be as many unpinned keys as a document may have. */
static void
test_unpin_limit(void **state)
{
	char key[32];
	int i;

	(void)state;
	for (i = 1; i <= STORE_PEER_KEYS; i++) {
		(void)snprintf(key, sizeof(key), "k%d=%d", i, i);
		(void)pin(FAR, key);
	}
	for (i = 1; i <= STORE_PEER_KEYS; i++) {
		(void)snprintf(key, sizeof(key), "k%d=%d", i, i);
		(void)unpin(FAR, key);
	}
	(void)pin(FAR, "k9=9");
	assert_string_equal(unpin(FAR, "k9=9"),
	    "409 8 keys of \"far.example\" are known that are not pinned, and "
	    "more are not supported; forget it to believe its document | ");
	assert_int_equal(count("peer_keys WHERE retired_at IS NULL"), 9);
}

static void
test_pin_limit(void **state)
{
	char key[32];
	int i;

	(void)state;
	(void)learn(FAR, "", "m=1");
	for (i = 1; i <= STORE_PEER_KEYS; i++) {
		(void)snprintf(key, sizeof(key), "k%d=%d", i, i);
		(void)pin(FAR, key);
	}
	assert_string_equal(pin(FAR, "k9=9"),
	    "409 8 keys of \"far.example\" are pinned, and more are not "
	    "supported; forget it and pin those that it still uses | ");
	assert_string_equal(pin(FAR, "m=1"),
	    "409 8 keys of \"far.example\" are pinned, and more are not "
	    "supported; forget it and pin those that it still uses | ");
	assert_int_equal(count("peer_keys"), 9);
	assert_string_equal(pin(FAR, "k8=9"),
	    "far.example/ k1=1 k2=2 k3=3 k4=4 k5=5 k6=6 k7=7 k8=9 | "
	    "110/root/peer-pin/far.example/k8 (09090909)");
}

/* ---- forget and block ---- */

static void
test_forget(void **state)
{

	(void)state;
	assert_string_equal(operate(PEER_FORGET, FAR),
	    "404 nothing is known of a server called \"far.example\" | ");
	(void)learn("b.example", "e", "k1=1");
	(void)learn(FAR, "e1", "k1=1 k2=2");
	(void)pin(FAR, "k3=3");
	(void)rig_exec(&rig,
	    "INSERT INTO federation_nonces (destination_id, key_id, nonce, "
	    "keep_until) SELECT destination_id, 'k1', 'a-nonce-of-bytes-1', 9 "
	    "FROM destinations WHERE name = 'far.example'");
	assert_string_equal(operate(PEER_FORGET, FAR),
	    "far.example/ | 40/root/peer-forget/far.example/-");
	assert_string_equal(rows(FAR), "none");
	assert_memory_equal(rows("b.example"), "10-10/e/0//1/0 k1", 17);
	assert_int_equal(count("peer_keys"), 1);
	assert_int_equal(count("federation_nonces"), 1);
	assert_int_equal(rig_number(&rig, "SELECT count(*) FROM destinations "
					  "WHERE name = 'far.example'"),
	    1);
	assert_string_equal(operate(PEER_FORGET, FAR),
	    "404 nothing is known of a server called \"far.example\" | ");
	/* This is the first contact again. */
	assert_string_equal(
	    learn(FAR, "e2", "k1=9"), "new far.example/e2 k1=9 | ");
}

/* Forgetting a server does not unblock it. */
static void
test_forget_blocked(void **state)
{

	(void)state;
	clk_fake_advance(&rig.clk, 10);
	(void)learn(FAR, "e1", "k1=1");
	(void)operate(PEER_BLOCK, FAR);
	assert_string_equal(operate(PEER_FORGET, FAR),
	    "blocked far.example/ | 30/root/peer-forget/far.example/-");
	assert_string_equal(rows(FAR), "0-0//20/root/0/0");
	assert_string_equal(
	    learn(FAR, "e2", "k1=2"), "new blocked far.example/e2 k1=2 | ");
}

static void
test_block(void **state)
{
	struct peer_unit u;

	(void)state;
	clk_fake_advance(&rig.clk, 10);
	assert_string_equal(operate(PEER_UNBLOCK, FAR),
	    "404 nothing is known of a server called \"far.example\" | ");
	assert_int_equal(count("peers"), 0);
	/* Blocked before the first contact. */
	assert_string_equal(operate(PEER_BLOCK, FAR),
	    "blocked far.example/ | 20/root/peer-block/far.example/spam");
	assert_string_equal(rows(FAR), "0-0//20/root/0/0");
	assert_string_equal(
	    learn(FAR, "e1", "k1=1"), "new blocked far.example/e1 k1=1 | ");
	/* Blocked again by another operator, without a reason. */
	peer_unit_init(&u, PEER_BLOCK, FAR, "eve");
	assert_string_equal(done(&u),
	    "blocked far.example/e1 k1=1 | 40/eve/peer-block/far.example/-");
	assert_string_equal(rows(FAR), "30-30/e1/20/eve/1/0 k1=1!//30-30/0");
	assert_string_equal(operate(PEER_UNBLOCK, FAR),
	    "far.example/e1 k1=1 | 50/root/peer-unblock/far.example/-");
	assert_string_equal(rows(FAR), "30-30/e1/0//1/0 k1=1!//30-30/0");
}

/* ---- reading ---- */

static enum rc
say_peer(void *arg, const struct store_peer_row *row, struct err *err)
{

	(void)arg;
	(void)err;
	say("%s:%d:%d ", row->domain, (int)row->live, (int)row->pinned);
	return (RC_OK);
}

static const char *
list(const char *after, int64_t limit)
{
	struct store_destination_row d = {.destination_id = 0};
	struct err err = ERR_INIT;

	if (after[0] != '\0')
		assert_int_equal(
		    store_destination_by_name(rig.db, after, &d, &err), RC_OK);
	said[0] = '\0';
	assert_int_equal(store_peers_after(rig.db, d.destination_id, limit,
			     say_peer, NULL, &err),
	    RC_OK);
	return (said);
}

static void
test_list(void **state)
{

	(void)state;
	assert_string_equal(list("", 9), "");
	(void)learn("c.example", "", "k1=1 k2=2");
	(void)learn("a.example", "", "k1=1");
	(void)learn("a.example", "", "k2=2");
	(void)operate(PEER_BLOCK, "b.example");
	(void)pin("c.example", "k3=3");
	assert_string_equal(
	    list("", 9), "c.example:3:1 a.example:1:0 b.example:0:0 ");
	assert_string_equal(list("", 2), "c.example:3:1 a.example:1:0 ");
	assert_string_equal(list("a.example", 9), "b.example:0:0 ");
	assert_string_equal(list("b.example", 9), "");
}

static void
test_known(void **state)
{
	struct store_peer_known known;
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(
	    store_peer_known(rig.db, FAR, &known, &err), RC_NOT_FOUND);
	(void)learn(FAR, "e1", "k2=2 k1=1");
	memset(&known, 0x55, sizeof(known));
	assert_int_equal(store_peer_known(rig.db, FAR, &known, &err), RC_OK);
	assert_string_equal(known.domain, FAR);
	assert_string_equal(known.epoch, "e1");
	assert_false(known.blocked);
	assert_int_equal(known.nkeys, 2);
	assert_string_equal(known.keys[0].key_id, "k1");
	assert_int_equal(known.keys[0].public[0], 1);
	assert_int_equal(known.keys[0].public[31], 1);
	assert_string_equal(known.keys[0].pinned_by, "");
	(void)pin(FAR, "k2=2");
	assert_int_equal(store_peer_known(rig.db, FAR, &known, &err), RC_OK);
	assert_int_equal(known.nkeys, 1);
	assert_string_equal(known.keys[0].key_id, "k2");
	assert_string_equal(known.keys[0].pinned_by, "root");
	(void)operate(PEER_BLOCK, FAR);
	assert_int_equal(store_peer_known(rig.db, FAR, &known, &err), RC_OK);
	assert_true(known.blocked);
}

/* ---- transactions ---- */

/* An abandoned transaction leaves nothing, and the answer is that of the one
 * that succeeded. */
static void
test_tried_again(void **state)
{
	struct unit failing = rig_failing();
	struct peer_unit u;
	bool answered = false;

	(void)state;
	peer_unit_init(&u, PEER_LEARN, FAR, "");
	learned_keys(&u, "k1=1");
	u.unit.finish = learned;
	u.arg = &answered;
	assert_int_equal(writer_submit(rig.writer, &u.unit), RC_OK);
	assert_int_equal(writer_submit(rig.writer, &failing), RC_OK);
	assert_int_equal(writer_run_once(rig.writer), 2);
	assert_true(answered);
	assert_int_equal(u.unit.rc, RC_OK);
	assert_int_equal(failing.rc, RC_CONFLICT);
	assert_true(u.is_new);
	assert_false(u.keys_changed);
	assert_int_equal(count("peers"), 1);
	assert_int_equal(count("audit_log"), 0);
}

/* Several units of one transaction run in the order in which they were
 * submitted. */
static void
test_one_batch(void **state)
{
	static const char *const keys[] = {"k1=1", "k2=2", "k2=2"};
	struct peer_unit u[3];
	int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		peer_unit_init(&u[i], PEER_LEARN, FAR, "");
		learned_keys(&u[i], keys[i]);
		u[i].unit.finish = learned;
		assert_int_equal(writer_submit(rig.writer, &u[i].unit), RC_OK);
	}
	assert_int_equal(writer_run_once(rig.writer), 3);
	assert_true(u[0].is_new && !u[0].keys_changed);
	assert_true(!u[1].is_new && u[1].keys_changed);
	assert_true(!u[2].is_new && !u[2].keys_changed);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_rig, close_rig)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_new),
	    TEST(test_destination_stays),
	    TEST(test_changed),
	    TEST(test_epoch),
	    TEST(test_retired_are_bounded),
	    TEST(test_pinned),
	    TEST(test_pinned_first),
	    TEST(test_unpin),
	    TEST(test_unpin_limit),
	    TEST(test_pin_limit),
	    TEST(test_forget),
	    TEST(test_forget_blocked),
	    TEST(test_block),
	    TEST(test_list),
	    TEST(test_known),
	    TEST(test_tried_again),
	    TEST(test_one_batch),
	};

	return (cmocka_run_group_tests_name("peers", tests, NULL, NULL));
}
