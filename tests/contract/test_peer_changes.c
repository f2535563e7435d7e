/* SPDX-License-Identifier: MIT */
/*
 * Changes at other servers, found in the audit log and in the lanes.  Each
 * change is listed, disappears when an operator has dealt with it or when its
 * time is over, and survives a restart.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "contract/far.h"
#include "contract/learned.h"
#include "delivery/operator.h"
#include "inspect/peer_changes.h"

#define FAR "far.fault.test"
#define OTHER "other.fault.test"

static struct rig rig;
static int64_t ann, device;
static char said[4096];

static int
open_rig(void **state)
{

	(void)state;
	rig_open(&rig);
	ann = rig_user(&rig, "ann", &device);
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

/* Closes the rig without checks, because a test has deleted rows. */
static int
close_torn(void **state)
{

	(void)state;
	rig_close(&rig);
	return (0);
}

static void
run(struct unit *unit, const struct refusal *refusal)
{

	assert_int_equal(writer_submit(rig.writer, unit), RC_OK);
	assert_int_equal(writer_run_once(rig.writer), 1);
	assert_int_equal(unit->rc, RC_OK);
	if (refusal->problem != PROBLEM_NONE)
		fail_msg("%s", refusal->detail);
	clk_fake_advance(&rig.clk, 10);
}

/* Learns the document of ${domain}. */
static void
learn(const char *domain, const char *epoch, const char *keys)
{
	struct peer_unit u;

	peer_unit_init(&u, PEER_LEARN, domain, "");
	(void)snprintf(u.epoch, sizeof(u.epoch), "%s", epoch);
	learned_keys(&u, keys);
	u.unit.finish = learned;
	run(&u.unit, &u.refusal);
}

/* Makes a person of ${domain} known here. */
static void
meet(const char *domain)
{
	char sql[160];

	(void)snprintf(sql, sizeof(sql),
	    "UPDATE destinations SET updated_at = 1 WHERE name = '%s'", domain);
	(void)rig_exec(&rig, sql);
}

static void
operate(enum peer_op op, const char *domain, const char *key)
{
	struct peer_unit u;

	peer_unit_init(&u, op, domain, "root");
	if (key != NULL)
		learned_keys(&u, key);
	u.unit.finish = learned;
	run(&u.unit, &u.refusal);
}

static void
nothing(struct unit *unit)
{

	(void)unit;
}

static void
rewind_lane(int64_t lane_id, int64_t seq)
{
	struct operator_unit u;

	operator_unit_init(&u, OPERATOR_REWIND, "root");
	u.lane_id = lane_id;
	u.number = seq;
	u.unit.finish = nothing;
	run(&u.unit, &u.refusal);
}

/* Sends to ${to} at server ${name}, which takes it. */
static void
sent(const char *to, const char *name)
{
	struct parcel p = {.n = 0};

	(void)far_send(&rig, ann, to, 0, 0);
	(void)far_claim(&rig, &p, name, 9, 0);
	assert_true(p.n > 0);
	(void)far_answer(&rig, &p, ANSWER_ACCEPTED);
	buf_fini(&p.text);
	clk_fake_advance(&rig.clk, 10);
}

/* Returns the changes: "keys/the newest/its detail | restored/the newest/lanes
 * lane:place ...".  Reads at most ${lanes} lanes and ${pages} pages.  A "+"
 * shows that lanes were left out. */
static const char *
changes_within(int64_t lanes, int64_t pages)
{
	struct peer_changes c;
	struct err err = ERR_INIT;
	size_t i, n;

	if (peer_changes_read_within(rig.db, clk_wall_ms(&rig.clk.clk), lanes,
		pages, &c, &err) != RC_OK)
		fail_msg("%s", err.text);
	(void)snprintf(said, sizeof(said), "%zu/%s/%s | %zu/%s/%zu", c.keys,
	    c.keys_domain, c.keys_detail, c.restored, c.restored_domain,
	    c.nlanes);
	for (i = 0; i < c.nlanes && i < PEER_CHANGES_NAMED; i++) {
		n = strlen(said);
		(void)snprintf(said + n, sizeof(said) - n, " %lld:%lld",
		    (long long)c.lanes[i].lane_id, (long long)c.lanes[i].seq);
	}
	n = strlen(said);
	(void)snprintf(said + n, sizeof(said) - n, "%s", c.more ? " +" : "");
	return (said);
}

static const char *
changes(void)
{

	return (changes_within(PEER_CHANGES_LANES, PEER_CHANGES_PAGES));
}

#define KEYS_OF_FAR                                                            \
	"1/" FAR "/now k1 (01010101), k2 (02020202); before k1 (01010101) | "  \
	"0//0"

/* The first keys of a server are not a change.  Later keys are one, until an
 * operator deals with it. */
static void
test_keys(void **state)
{
	static const struct {
		enum peer_op op;
		const char *key;
	} deeds[] = {{PEER_PIN, "k9=9"}, {PEER_BLOCK, NULL},
	    {PEER_UNBLOCK, NULL}, {PEER_FORGET, NULL}};
	char domain[40], want[60];
	int64_t at_ms;
	size_t i;

	(void)state;
	assert_string_equal(changes(), "0// | 0//0");
	learn(FAR, "e1", "k1=1");
	meet(FAR);
	assert_string_equal(changes(), "0// | 0//0");
	at_ms = clk_wall_ms(&rig.clk.clk);
	learn(FAR, "e1", "k1=1 k2=2");
	assert_string_equal(changes(), KEYS_OF_FAR);
	for (i = 0; i < sizeof(deeds) / sizeof(deeds[0]); i++) {
		(void)snprintf(domain, sizeof(domain), "s%zu.fault.test", i);
		learn(domain, "e1", "k1=1");
		meet(domain);
		/* An operation before the change does not settle it. */
		if (deeds[i].op == PEER_UNBLOCK)
			operate(PEER_BLOCK, domain, NULL);
		learn(domain, "e1", "k1=2");
		(void)snprintf(want, sizeof(want), "2/%s/", domain);
		assert_memory_equal(changes(), want, strlen(want));
		operate(deeds[i].op, domain, deeds[i].key);
		assert_string_equal(changes(), KEYS_OF_FAR);
	}
	rig_restart(&rig);
	assert_string_equal(changes(), KEYS_OF_FAR);
	clk_fake_advance(
	    &rig.clk, at_ms + PEER_CHANGES_KEYS_MS - clk_wall_ms(&rig.clk.clk));
	assert_string_equal(changes(), KEYS_OF_FAR);
	clk_fake_advance(&rig.clk, 1);
	assert_string_equal(changes(), "0// | 0//0");
}

/* Lists the lanes of a server that was restored, until they are rewound. */
static void
test_restored(void **state)
{
	int64_t lanes[7], at_ms;
	char want[200];
	int i, n;

	(void)state;
	learn(FAR, "e1", "k1=1");
	learn(OTHER, "e1", "k1=1");
	for (i = 0; i < 7; i++) {
		(void)snprintf(want, sizeof(want), "u%d@" FAR, i);
		sent(want, FAR);
	}
	sent("u1@" FAR, FAR);
	sent("carol@" OTHER, OTHER);
	/* A lane in which nothing was sent. */
	(void)far_send(&rig, ann, "u8@" FAR, 0, 0);
	n = (int)rig_numbers(&rig,
	    "SELECT l.lane_id FROM outbox_lanes l JOIN destinations d ON "
	    "d.destination_id = l.destination_id WHERE d.name = '" FAR "' "
	    "AND l.last_published_seq > 0 ORDER BY l.lane_id",
	    lanes, 7);
	assert_int_equal(n, 7);
	assert_string_equal(changes(), "0// | 0//0");

	learn(FAR, "e2", "k1=1");
	(void)snprintf(want, sizeof(want),
	    "0// | 1/" FAR "/7 %lld:1 %lld:1 %lld:1 %lld:1 %lld:1",
	    (long long)lanes[0], (long long)lanes[1], (long long)lanes[2],
	    (long long)lanes[3], (long long)lanes[4]);
	assert_string_equal(changes(), want);
	/* A lane that begins afterwards has lost nothing. */
	sent("u9@" FAR, FAR);
	assert_string_equal(changes(), want);
	rig_restart(&rig);
	assert_string_equal(changes(), want);

	/* Rows that were purged cannot be offered again. */
	(void)rig_exec(&rig,
	    "DELETE FROM outbox WHERE lane_seq = 1 AND dest_id = (SELECT "
	    "user_id FROM users WHERE name = 'u1@" FAR "')");
	(void)snprintf(want, sizeof(want), " %lld:2 ", (long long)lanes[1]);
	assert_non_null(strstr(changes(), want));
	rewind_lane(lanes[1], 2);
	for (i = 0; i < 7; i++)
		if (i != 1 && i != 6)
			rewind_lane(lanes[i], 1);
	(void)snprintf(want, sizeof(want), "0// | 1/" FAR "/1 %lld:1",
	    (long long)lanes[6]);
	assert_string_equal(changes(), want);
	/* Nothing was sent in this lane since the time of the backup. */
	rewind_lane(lanes[6], OPERATOR_NO_PLACE);
	assert_string_equal(changes(), "0// | 0//0");

	/* Restored again: all lanes are listed again. */
	at_ms = clk_wall_ms(&rig.clk.clk);
	learn(FAR, "e3", "k1=1");
	assert_non_null(strstr(changes(), "1/" FAR "/9 "));
	learn(OTHER, "e2", "k1=1");
	assert_non_null(strstr(changes(), "2/" OTHER "/1 "));
	operate(PEER_BLOCK, OTHER, NULL);
	assert_non_null(strstr(changes(), "1/" FAR "/9 "));
	operate(PEER_PIN, FAR, "k1=1");
	assert_non_null(strstr(changes(), "1/" FAR "/9 "));
	clk_fake_advance(&rig.clk,
	    at_ms + PEER_CHANGES_EPOCH_MS - clk_wall_ms(&rig.clk.clk));
	assert_non_null(strstr(changes(), "1/" FAR "/9 "));
	clk_fake_advance(&rig.clk, 1);
	assert_string_equal(changes(), "0// | 0//0");
}

/* After an operator has forgotten a server, its changes are no longer
 * listed. */
static void
test_forgotten(void **state)
{

	(void)state;
	learn(FAR, "e1", "k1=1");
	sent("bob@" FAR, FAR);
	learn(FAR, "e2", "k1=1");
	assert_non_null(strstr(changes(), "1/" FAR "/1 "));
	operate(PEER_FORGET, FAR, NULL);
	assert_string_equal(changes(), "0// | 0//0");
}

/* Servers of which no person is known change keys and epoch after a known one
 * did.  They do not hide its changes, are not listed, and do not fill the audit
 * log. */
static void
test_strangers(void **state)
{
	char domain[40], sql[200];
	int i;

	(void)state;
	learn(FAR, "e1", "k1=1");
	sent("bob@" FAR, FAR);
	learn(FAR, "e2", "k1=2");
	for (i = 0; i < 16; i++) {
		(void)snprintf(domain, sizeof(domain), "s%d.fault.test", i);
		learn(domain, "e1", "k1=1");
		learn(domain, "e2", "k1=2");
		/* An older version wrote entries for them, too. */
		(void)snprintf(sql, sizeof(sql),
		    "INSERT INTO audit_log (at, actor, action, object, detail) "
		    "SELECT max(at), '%s', '%s', '%s', 'x' FROM audit_log",
		    domain, i % 2 == 0 ? "peer-epoch" : "peer-keys", domain);
		(void)rig_exec(&rig, sql);
	}
	assert_memory_equal(changes(), "1/" FAR "/now k1", 21);
	assert_non_null(strstr(said, " | 1/" FAR "/1 "));
	assert_int_equal(
	    rig_number(&rig, "SELECT count(*) FROM audit_log WHERE "
			     "action = 'peer-keys' AND detail <> 'x'"),
	    1);
	operate(PEER_PIN, "s1.fault.test", "k1=2");
	learn("s1.fault.test", "e3", "k1=2");
	assert_int_equal(
	    rig_number(&rig, "SELECT count(*) FROM audit_log WHERE "
			     "actor = 's1.fault.test' AND detail <> 'x'"),
	    1);
}

/* Lanes of other servers that come first do not count against the limit.  When
 * the limit is reached, the change is listed all the same. */
static void
test_many_lanes(void **state)
{
	char want[80], first[90];

	(void)state;
	learn(FAR, "e1", "k1=1");
	sent("u1@" OTHER, OTHER);
	sent("u2@" OTHER, OTHER);
	sent("u3@" OTHER, OTHER);
	sent("bob@" FAR, FAR);
	assert_string_equal(changes_within(1, 2), "0// | 0//0");
	learn(FAR, "e2", "k1=1");
	(void)snprintf(want, sizeof(want), "0// | 1/" FAR "/1 %lld:1",
	    (long long)rig_number(&rig, "SELECT max(lane_id) FROM "
					"outbox_lanes"));
	assert_string_equal(changes(), want);
	assert_string_equal(changes_within(1, 5), want);
	assert_string_equal(changes_within(3, 3), want);
	assert_string_equal(changes_within(1, 2), "0// | 1/" FAR "/0 +");
	(void)snprintf(first, sizeof(first), "%s +", want);
	assert_string_equal(changes_within(2, 2), first);
}

static void
test_no_memory(void **state)
{
	struct peer_changes c;
	struct err err = ERR_INIT;
	int64_t k = 0;
	enum rc rc;

	(void)state;
	learn(FAR, "e1", "k1=1");
	sent("bob@" FAR, FAR);
	learn(FAR, "e2", "k1=2");
	do {
		mem_fail_at(++k);
		rc = peer_changes_read(
		    rig.db, clk_wall_ms(&rig.clk.clk), &c, &err);
		if (mem_fail_pending())
			break;
		assert_int_not_equal(rc, RC_OK);
	} while (k < 100);
	mem_fail_at(0);
	assert_true(k > 3 && k < 100);
	assert_int_equal(rc, RC_OK);
	assert_int_equal(c.keys, 1);
	assert_int_equal(c.restored, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_keys, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_restored, open_rig, close_torn),
	    cmocka_unit_test_setup_teardown(
		test_forgotten, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_strangers, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_many_lanes, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_no_memory, open_rig, close_rig),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
