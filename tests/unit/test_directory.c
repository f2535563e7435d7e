/* SPDX-License-Identifier: MIT */
/*
 * The directory of other servers: which servers may be in contact, whose keys
 * are known, where messages go, and how many look-ups strangers can cause.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "federation/directory.h"

#define NOW INT64_C(1700000000000)
#define MINUTE 60000

static struct clk_fake clk;
static struct directory_policy policy;
static struct domain_peer peer;
static struct directory *dir;

/* The look-ups that the directory wanted, as "domain:what ". */
static char wants[65536];
static size_t nwants;
static bool has_room;

static bool
want(void *arg, const char *domain, enum directory_want what)
{
	static const char *const words[] = {"stored", "peer", "document"};
	const size_t n = strlen(wants);

	(void)arg;
	nwants++;
	if (n + 300 < sizeof(wants))
		(void)snprintf(wants + n, sizeof(wants) - n, "%s%s:%s",
		    n > 0 ? " " : "", domain, words[what]);
	return (has_room);
}

/* Returns the look-ups since the last call. */
static const char *
wanted(void)
{
	static char ret[sizeof(wants)];

	memcpy(ret, wants, sizeof(ret));
	wants[0] = '\0';
	nwants = 0;
	return (ret);
}

static int
setup(void **state)
{
	struct directory_options options = {
	    .policy = &policy, .clk = &clk.clk, .want = want};
	struct err err = ERR_INIT;

	(void)state;
	clk_fake_init(&clk, NOW);
	clk_fake_advance(&clk, MINUTE);
	memset(&policy, 0, sizeof(policy));
	policy.mode = DIRECTORY_OPEN;
	(void)snprintf(policy.domain, sizeof(policy.domain), "a.example");
	has_room = true;
	(void)wanted();
	return (directory_new(&options, &dir, &err) == RC_OK ? 0 : -1);
}

static int
teardown(void **state)
{

	(void)state;
	directory_free(dir);
	return (0);
}

static struct domain_list
list_of(const char *text)
{
	struct domain_list ret;
	struct err err = ERR_INIT;

	memset(&ret, 0, sizeof(ret));
	assert_int_equal(domain_list_parse(text, &ret, &err), RC_OK);
	return (ret);
}

/* A peer ${domain} with the one key ${key_id}. */
static struct store_peer_known
known(const char *domain, const char *key_id)
{
	struct store_peer_known ret;

	memset(&ret, 0, sizeof(ret));
	ret.destination_id = 7;
	(void)snprintf(ret.domain, sizeof(ret.domain), "%s", domain);
	(void)snprintf(
	    ret.keys[0].key_id, sizeof(ret.keys[0].key_id), "%s", key_id);
	memset(ret.keys[0].public, 0x11, sizeof(ret.keys[0].public));
	ret.nkeys = 1;
	return (ret);
}

static void
learn(const char *domain, const char *key_id, int64_t lifetime_s)
{
	const struct store_peer_known k = known(domain, key_id);
	struct document doc;

	memset(&doc, 0, sizeof(doc));
	(void)snprintf(doc.deliver, sizeof(doc.deliver),
	    "https://%s/v1/federation/deliver", domain);
	(void)snprintf(doc.authority, sizeof(doc.authority), "%s", domain);
	doc.items = 40;
	doc.bytes = 1000;
	doc.requests = 3;
	directory_learned(dir, &k, clk_mono_ms(&clk.clk), &doc, lifetime_s);
}

static enum directory_answer
signer(const char *domain, const char *key_id)
{
	struct directory_signer s;

	return (directory_signer(dir, domain, key_id, &s));
}

static enum directory_way
way(const char *domain)
{
	struct directory_contact c;

	return (directory_contact(dir, domain, &c));
}

/* ---- the policy ---- */

static void
test_policy(void **state)
{

	(void)state;
	assert_true(directory_policy_allows(&policy, "b.example"));
	assert_false(directory_policy_allows(&policy, "a.example"));
	assert_false(directory_policy_allows(&policy, "localhost"));
	assert_false(directory_policy_allows(&policy, "B.example"));
	assert_false(directory_policy_allows(&policy, "127.0.0.1"));
	policy.deny = list_of("b.example,.evil.example");
	assert_false(directory_policy_allows(&policy, "b.example"));
	assert_false(directory_policy_allows(&policy, "x.evil.example"));
	assert_true(directory_policy_allows(&policy, "evil.example"));

	policy.mode = DIRECTORY_LIST;
	policy.allow = list_of("b.example,c.example");
	assert_false(directory_policy_allows(&policy, "b.example"));
	assert_true(directory_policy_allows(&policy, "c.example"));
	assert_false(directory_policy_allows(&policy, "d.example"));
	/* A peer whose address an operator has pinned counts as listed. */
	(void)snprintf(peer.domain, sizeof(peer.domain), "d.example");
	policy.npeers = 1;
	policy.peers = &peer;
	assert_true(directory_policy_allows(&policy, "d.example"));
	assert_ptr_equal(directory_pinned(dir, "d.example"), &peer);
	assert_null(directory_pinned(dir, "c.example"));

	policy.mode = DIRECTORY_OFF;
	assert_false(directory_policy_allows(&policy, "d.example"));
	assert_int_equal(signer("d.example", "k1"), DIRECTORY_REFUSED);
	assert_int_equal(way("d.example"), DIRECTORY_CLOSED_WAY);
	assert_false(directory_reaches(dir, "d.example"));
	assert_string_equal(wanted(), "");
}

/* ---- keys ---- */

static void
test_keys(void **state)
{
	struct directory_signer s;

	(void)state;
	assert_int_equal(signer("b.example", "k1"), DIRECTORY_UNKNOWN);
	assert_string_equal(wanted(), "b.example:peer");
	/* There is only one look-up of a peer at a time. */
	assert_int_equal(signer("b.example", "k1"), DIRECTORY_UNKNOWN);
	assert_string_equal(wanted(), "");
	learn("b.example", "k1", 300);
	assert_int_equal(
	    directory_signer(dir, "b.example", "k1", &s), DIRECTORY_KNOWN);
	assert_int_equal(s.destination_id, 7);
	assert_int_equal(s.public[31], 0x11);
	/* A key belongs to one domain: its id alone is not enough. */
	assert_int_equal(signer("c.example", "k1"), DIRECTORY_UNKNOWN);
	assert_string_equal(wanted(), "c.example:peer");
}

/* Another key id of a known peer causes a new read of its document, at most
 * once a minute. */
static void
test_another_key(void **state)
{

	(void)state;
	learn("b.example", "k1", 300);
	assert_int_equal(signer("b.example", "k2"), DIRECTORY_UNKNOWN);
	assert_string_equal(wanted(), "b.example:document");
	learn("b.example", "k1", 300);
	assert_int_equal(signer("b.example", "k3"), DIRECTORY_UNKNOWN);
	assert_string_equal(wanted(), "");
	clk_fake_advance(&clk, MINUTE);
	assert_int_equal(signer("b.example", "k3"), DIRECTORY_UNKNOWN);
	assert_string_equal(wanted(), "b.example:document");
	/* A key that has left the document verifies no request any more. */
	learn("b.example", "k3", 300);
	assert_int_equal(signer("b.example", "k3"), DIRECTORY_KNOWN);
	assert_int_equal(signer("b.example", "k1"), DIRECTORY_UNKNOWN);
}

/* Operators and other nodes change the row of a peer. */
static void
test_stored(void **state)
{
	struct store_peer_known k = known("b.example", "k1");

	(void)state;
	learn("b.example", "k1", 300);
	assert_int_equal(signer("b.example", "k1"), DIRECTORY_KNOWN);
	assert_string_equal(wanted(), "");
	clk_fake_advance(&clk, timing_real()->directory_reload_ms);
	assert_int_equal(signer("b.example", "k1"), DIRECTORY_KNOWN);
	assert_string_equal(wanted(), "b.example:stored");
	k.blocked = true;
	directory_stored(dir, &k, clk_mono_ms(&clk.clk));
	assert_int_equal(signer("b.example", "k1"), DIRECTORY_REFUSED);
	assert_int_equal(way("b.example"), DIRECTORY_CLOSED_WAY);
	assert_false(directory_reaches(dir, "b.example"));
	k.blocked = false;
	directory_stored(dir, &k, clk_mono_ms(&clk.clk));
	assert_int_equal(way("b.example"), DIRECTORY_OPEN_WAY);
	assert_true(directory_reaches(dir, "b.example"));
	/* The row was deleted. */
	directory_unknown(dir, "b.example");
	assert_int_equal(signer("b.example", "k1"), DIRECTORY_UNKNOWN);
	assert_string_equal(wanted(), "b.example:peer");
}

/* Another node reports that it has changed a row.  The row is read at once,
 * whether the peer is in memory or not, and again if a read was under way. */
static void
test_changed(void **state)
{
	struct store_peer_known k = known("b.example", "k1");

	(void)state;
	learn("b.example", "k1", 300);
	directory_changed(dir, "b.example");
	assert_string_equal(wanted(), "b.example:stored");
	directory_changed(dir, "b.example");
	assert_string_equal(wanted(), "");
	clk_fake_advance(&clk, 10);
	directory_stored(dir, &k, clk_mono_ms(&clk.clk));
	assert_string_equal(wanted(), "b.example:stored");
	k.blocked = true;
	directory_stored(dir, &k, clk_mono_ms(&clk.clk));
	assert_string_equal(wanted(), "");
	assert_false(directory_reaches(dir, "b.example"));
	directory_changed(dir, "z.example");
	assert_string_equal(wanted(), "z.example:stored");
	directory_unknown(dir, "z.example");
	/* A change of a domain that may not be in contact is ignored. */
	directory_changed(dir, policy.domain);
	assert_string_equal(wanted(), "");
}

/* A change that comes during a look-up is read after it, also if the look-up
 * fails or is put off, or if there is no room for the read at first. */
static void
test_changed_and_failed(void **state)
{
	struct store_peer_known k = known("b.example", "k1");

	(void)state;
	learn("b.example", "k1", 300);
	assert_int_equal(signer("b.example", "k2"), DIRECTORY_UNKNOWN);
	assert_string_equal(wanted(), "b.example:document");
	directory_changed(dir, "b.example");
	assert_string_equal(wanted(), "");
	directory_failed(dir, "b.example");
	assert_string_equal(wanted(), "b.example:stored");
	directory_changed(dir, "b.example");
	directory_later(dir, "b.example");
	assert_string_equal(wanted(), "b.example:stored");
	/* One read is enough. */
	directory_later(dir, "b.example");
	assert_string_equal(wanted(), "");
	has_room = false;
	directory_changed(dir, "b.example");
	assert_string_equal(wanted(), "b.example:stored");
	has_room = true;
	assert_int_equal(way("b.example"), DIRECTORY_OPEN_WAY);
	assert_string_equal(wanted(), "b.example:stored");
	k.blocked = true;
	directory_stored(dir, &k, clk_mono_ms(&clk.clk));
	assert_int_equal(way("b.example"), DIRECTORY_CLOSED_WAY);
	assert_string_equal(wanted(), "");
}

/* A peer to which users send messages is in use: its row is read again from
 * time to time, because the note about a block on another node may have been
 * lost. */
static void
test_reached(void **state)
{

	(void)state;
	learn("b.example", "k1", 300);
	assert_true(directory_reaches(dir, "b.example"));
	assert_string_equal(wanted(), "");
	clk_fake_advance(&clk, timing_real()->directory_reload_ms);
	assert_true(directory_reaches(dir, "b.example"));
	assert_string_equal(wanted(), "b.example:stored");
	assert_true(directory_reaches(dir, "c.example"));
	assert_string_equal(wanted(), "");
}

/* The answer of a look-up from before an operator blocked the peer does not
 * unblock the peer. */
static void
test_late_answer(void **state)
{
	struct store_peer_known k = known("b.example", "k1");
	const int64_t asked_ms = clk_mono_ms(&clk.clk);

	(void)state;
	learn("b.example", "k1", 300);
	clk_fake_advance(&clk, 10);
	k.blocked = true;
	directory_stored(dir, &k, clk_mono_ms(&clk.clk));
	k.blocked = false;
	directory_stored(dir, &k, asked_ms);
	assert_int_equal(signer("b.example", "k1"), DIRECTORY_REFUSED);
}

/* The document of a peer that only writes to this server is read again from
 * time to time, too, because a key may have left it.  For a pinned key it is
 * never read. */
static void
test_old_document(void **state)
{
	struct store_peer_known k = known("c.example", "k1");

	(void)state;
	learn("b.example", "k1", 300);
	clk_fake_advance(&clk, 300 * 1000 + 3600 * 1000 - 1);
	learn("b.example", "k1", 1); /* the row is fresh */
	assert_int_equal(signer("b.example", "k1"), DIRECTORY_KNOWN);
	assert_string_equal(wanted(), "");
	clk_fake_advance(&clk, 1000 + 3600 * 1000);
	directory_stored(dir, &k, clk_mono_ms(&clk.clk));
	k = known("b.example", "k1");
	directory_stored(dir, &k, clk_mono_ms(&clk.clk));
	assert_int_equal(signer("b.example", "k1"), DIRECTORY_KNOWN);
	assert_string_equal(wanted(), "b.example:document");
	k = known("d.example", "k1");
	(void)snprintf(
	    k.keys[0].pinned_by, sizeof(k.keys[0].pinned_by), "root");
	directory_stored(dir, &k, clk_mono_ms(&clk.clk));
	assert_int_equal(signer("d.example", "k1"), DIRECTORY_KNOWN);
	assert_string_equal(wanted(), "");
}

/* A key that an operator has pinned, and a peer whose address is pinned. */
static void
test_pinned(void **state)
{
	struct store_peer_known k = known("b.example", "k1");
	struct directory_signer s;

	(void)state;
	directory_stored(dir, &k, clk_mono_ms(&clk.clk));
	assert_int_equal(
	    directory_signer(dir, "b.example", "k1", &s), DIRECTORY_KNOWN);
	assert_false(s.pinned);
	(void)snprintf(
	    k.keys[0].pinned_by, sizeof(k.keys[0].pinned_by), "root");
	directory_stored(dir, &k, clk_mono_ms(&clk.clk));
	assert_int_equal(
	    directory_signer(dir, "b.example", "k1", &s), DIRECTORY_KNOWN);
	assert_true(s.pinned);
	k.keys[0].pinned_by[0] = '\0';
	directory_stored(dir, &k, clk_mono_ms(&clk.clk));
	assert_int_equal(
	    directory_signer(dir, "b.example", "k1", &s), DIRECTORY_KNOWN);
	assert_false(s.pinned);
	k = known("d.example", "k1");
	directory_stored(dir, &k, clk_mono_ms(&clk.clk));
	(void)snprintf(peer.domain, sizeof(peer.domain), "d.example");
	policy.npeers = 1;
	policy.peers = &peer;
	assert_int_equal(
	    directory_signer(dir, "d.example", "k1", &s), DIRECTORY_KNOWN);
	assert_true(s.pinned);
}

/* ---- failures ---- */

static void
test_failed(void **state)
{

	(void)state;
	assert_int_equal(signer("b.example", "k1"), DIRECTORY_UNKNOWN);
	(void)wanted();
	directory_failed(dir, "b.example");
	clk_fake_advance(&clk, timing_real()->directory_failed_ms - 1);
	assert_int_equal(signer("b.example", "k1"), DIRECTORY_UNKNOWN);
	assert_string_equal(wanted(), "");
	clk_fake_advance(&clk, 1);
	assert_int_equal(signer("b.example", "k1"), DIRECTORY_UNKNOWN);
	assert_string_equal(wanted(), "b.example:peer");
	/* There was no room for the look-up: the next request causes another
	 * one. */
	directory_later(dir, "b.example");
	has_room = false;
	assert_int_equal(signer("b.example", "k1"), DIRECTORY_UNKNOWN);
	assert_int_equal(signer("b.example", "k1"), DIRECTORY_UNKNOWN);
	assert_int_equal(nwants, 2);
}

/* ---- sending ---- */

static void
test_contact(void **state)
{
	struct directory_contact c;

	(void)state;
	assert_int_equal(way("b.example"), DIRECTORY_NO_WAY);
	learn("b.example", "k1", 300);
	assert_int_equal(
	    directory_contact(dir, "b.example", &c), DIRECTORY_OPEN_WAY);
	assert_string_equal(
	    c.deliver, "https://b.example/v1/federation/deliver");
	assert_string_equal(c.authority, "b.example");
	assert_int_equal(c.items, 40);
	assert_int_equal(c.bytes, 1000);
	assert_int_equal(c.requests, 3);
	clk_fake_advance(&clk, 300 * 1000);
	assert_int_equal(way("b.example"), DIRECTORY_NO_WAY);
	/* A fetch that a stranger caused and that failed takes nothing of the
	 * document's lifetime. */
	learn("b.example", "k1", 300);
	directory_failed(dir, "b.example");
	clk_fake_advance(&clk, 300 * 1000 - 1);
	assert_int_equal(way("b.example"), DIRECTORY_OPEN_WAY);
	clk_fake_advance(&clk, 1);
	assert_int_equal(way("b.example"), DIRECTORY_NO_WAY);
	/* The document cannot be read now: the old one is used, for a day at
	 * most. */
	directory_failed(dir, "b.example");
	assert_int_equal(way("b.example"), DIRECTORY_OPEN_WAY);
	clk_fake_advance(&clk, (int64_t)DOCUMENT_LIFETIME_MIN_S * 1000);
	assert_int_equal(way("b.example"), DIRECTORY_NO_WAY);
	clk_fake_advance(&clk, (int64_t)DOCUMENT_LIFETIME_MAX_S * 1000);
	directory_failed(dir, "b.example");
	assert_int_equal(way("b.example"), DIRECTORY_NO_WAY);
	/* An answer has shown that the document has changed. */
	learn("b.example", "k1", 300);
	directory_stale(dir, "b.example");
	assert_int_equal(way("b.example"), DIRECTORY_NO_WAY);
	directory_failed(dir, "b.example");
	assert_int_equal(way("b.example"), DIRECTORY_NO_WAY);
}

/* After an answer that shows that the document has changed, the keys count as
 * outdated, also if the machine was booted a minute ago. */
static void
test_stale_keys(void **state)
{

	(void)state;
	learn("b.example", "k1", 300);
	assert_int_equal(signer("b.example", "k1"), DIRECTORY_KNOWN);
	assert_string_equal(wanted(), "");
	directory_stale(dir, "b.example");
	assert_int_equal(signer("b.example", "k1"), DIRECTORY_KNOWN);
	assert_string_equal(wanted(), "b.example:document");
}

/* ---- bounds ---- */

/* Invented names push each other out of memory, but not a peer. */
static void
test_flood(void **state)
{
	char name[32];
	int i;

	(void)state;
	learn("b.example", "k1", 300);
	for (i = 0; i < 10000; i++) {
		(void)snprintf(name, sizeof(name), "n%d.example", i);
		assert_int_equal(signer(name, "k1"), DIRECTORY_UNKNOWN);
	}
	assert_int_equal(nwants, 10000);
	assert_int_equal(signer("b.example", "k1"), DIRECTORY_KNOWN);
	(void)wanted();
	/* The look-ups of the last names are under way, the first names are
	 * forgotten. */
	assert_int_equal(signer("n9999.example", "k1"), DIRECTORY_UNKNOWN);
	assert_string_equal(wanted(), "");
	assert_int_equal(signer("n0.example", "k1"), DIRECTORY_UNKNOWN);
	assert_string_equal(wanted(), "n0.example:peer");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_policy, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_keys, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_another_key, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_stored, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_changed, setup, teardown),
	    cmocka_unit_test_setup_teardown(
		test_changed_and_failed, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_reached, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_late_answer, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_old_document, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_pinned, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_failed, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_contact, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_stale_keys, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_flood, setup, teardown),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
