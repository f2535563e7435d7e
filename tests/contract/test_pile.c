/* SPDX-License-Identifier: MIT */
/*
 * A pile (bench) has the rows that a server would have written: every promise
 * holds on it, its waiting rows can be claimed, and new messages are delivered.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "contract/rig.h"
#include "store/destination.h"
#include "store/lane.h"
#include "store/remote.h"
#include "txn/backlog.h"

#include "bench/pile.h"

#define MESSAGES 107
#define LANES 6

static void
write_pile(struct rig *r, const char *domain, bool settled)
{
	const struct pile pile = {.domain = domain,
	    .messages = MESSAGES,
	    .lanes = LANES,
	    .senders = 2,
	    .settled = settled};

	pile_write(r->db, &pile);
	/* The rig forgets what it has read before. */
	rig_restart(r);
	rig_check_promises(r);
}

static size_t
ready(struct rig *r, const char *domain, struct store_lanes *ret)
{
	const struct store_pass pass = {
	    .upto_ms = clk_wall_ms(clk_system()), .due_at = -1};
	struct store_destination_row row;
	struct err err = ERR_INIT;

	assert_int_equal(
	    store_destination_by_name(r->db, domain, &row, &err), RC_OK);
	assert_int_equal(
	    store_lanes_ready(r->db, row.destination_id, 0, &pass, ret, &err),
	    RC_OK);
	return (ret->n);
}

/* Checks the counts with which a server starts. */
static void
check_backlog(struct rig *r, int64_t u0)
{
	struct tx tx = {.db = r->db};
	struct backlog *t = backlog_new();
	struct err err = ERR_INIT;

	assert_non_null(t);
	assert_int_equal(backlog_begin(t, &tx, &err), RC_OK);
	assert_int_equal(backlog_waiting(t), 2 * MESSAGES);
	/* Lanes 0, 2 and 4 of both. */
	assert_int_equal(backlog_of_sender(t, u0), 2 * 3 * 18);
	backlog_free(t);
}

static void
test_pile(void **state)
{
	struct store_row rows[MESSAGES];
	struct err err = ERR_INIT;
	struct store_lanes lanes;
	struct rig r;
	int64_t u0;
	size_t n;

	(void)state;
	rig_open(&r);
	u0 = rig_user(&r, "u0", NULL);
	(void)rig_user(&r, "u1", NULL);
	write_pile(&r, "gone.example", false);
	write_pile(&r, "done.example", true);
	write_pile(&r, "more.example", false);
	assert_int_equal(
	    rig_number(&r, "SELECT count(*) FROM messages"), 3 * MESSAGES);
	assert_int_equal(
	    rig_number(&r, "SELECT pending FROM outbox_totals"), 2 * MESSAGES);

	check_backlog(&r, u0);
	assert_int_equal(ready(&r, "done.example", &lanes), 0);
	assert_int_equal(ready(&r, "gone.example", &lanes), LANES);
	assert_int_equal(
	    store_remote_claim(r.db, lanes.ids[0], 1, rows, MESSAGES, &n, &err),
	    RC_OK);
	/* 107 messages in 6 lanes, in turn. */
	assert_int_equal(n, 18);
	assert_int_equal(rows[n - 1].lane_seq, 18);

	(void)rig_send(&r, u0, "u1", "and life goes on", NULL);
	assert_true(rig_deliver(&r) > 0);
	rig_check_promises(&r);
	rig_close(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_pile),
	};

	return (cmocka_run_group_tests_name("pile", tests, NULL, NULL));
}
