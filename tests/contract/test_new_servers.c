/* SPDX-License-Identifier: MIT */
/*
 * How many servers with which this server was never in contact one user may
 * write to in a day.  A refused message leaves no rows of people and servers
 * behind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "contract/far.h"
#include "contract/rig.h"

#define DAY (86400 * INT64_C(1000))

static struct rig rig;
static int64_t ann, ben;

static void
open_with(int64_t new_domains_most, int64_t pending_most_total)
{
	const struct rig_options options = {
	    .new_domains_most = new_domains_most,
	    .pending_most_total = pending_most_total};

	rig_open_with(&rig, &options);
	ann = rig_user(&rig, "ann", NULL);
	ben = rig_user(&rig, "ben", NULL);
}

static void
close_it(void)
{

	rig_check_promises(&rig);
	rig_close(&rig);
}

static int64_t
servers(void)
{

	return (rig_number(&rig,
	    "SELECT count(*) FROM destinations WHERE destination_id > 1"));
}

static int64_t
people(void)
{

	return (rig_number(&rig,
	    "SELECT count(*) FROM users WHERE destination_id IS NOT NULL"));
}

static enum problem
try(int64_t from, const char *to)
{

	return (far_send_try(&rig, from, to).problem);
}

static void
test_limit(void **state)
{
	struct refusal r;

	(void)state;
	open_with(3, 0);
	assert_int_equal(try(ann, "x@a.example"), PROBLEM_NONE);
	assert_int_equal(try(ann, "x@b.example"), PROBLEM_NONE);
	assert_int_equal(try(ann, "x@c.example"), PROBLEM_NONE);
	r = far_send_try(&rig, ann, "x@d.example");
	assert_int_equal(r.problem, PROBLEM_QUOTA_USED);
	assert_string_equal(r.pointer, "/to");
	assert_non_null(strstr(r.detail, "federation-new-domains"));
	assert_in_range(r.retry_after_s, 28800, 28802);
	assert_int_equal(servers(), 3);
	assert_int_equal(people(), 3);
	/* A person of a known server does not count, whichever user made it
	 * known. */
	assert_int_equal(try(ann, "y@a.example"), PROBLEM_NONE);
	assert_int_equal(try(ben, "x@e.example"), PROBLEM_NONE);
	assert_int_equal(try(ann, "x@e.example"), PROBLEM_NONE);
	assert_int_equal(try(ann, "x@d.example"), PROBLEM_QUOTA_USED);
	assert_int_equal(servers(), 4);
	clk_fake_advance(&rig.clk, DAY / 3 + 1000);
	assert_int_equal(try(ann, "x@d.example"), PROBLEM_NONE);
	assert_int_equal(try(ann, "x@f.example"), PROBLEM_QUOTA_USED);
	close_it();
}

/* A message that was refused for lack of room makes no person and no server. */
static void
test_no_room(void **state)
{

	(void)state;
	open_with(5, 1);
	assert_int_equal(try(ann, "x@a.example"), PROBLEM_NONE);
	assert_int_equal(try(ann, "x@b.example"), PROBLEM_QUEUE_FULL);
	assert_int_equal(try(ann, "y@a.example"), PROBLEM_QUEUE_FULL);
	assert_int_equal(servers(), 1);
	assert_int_equal(people(), 1);
	close_it();
}

/* A server that was in contact before a user writes there is in use from then
 * on: the purger leaves it. */
static void
test_used(void **state)
{

	(void)state;
	open_with(1, 0);
	(void)rig_exec(&rig, "INSERT INTO destinations (name, created_at, "
			     "updated_at) VALUES ('a.example', 1, 0)");
	assert_int_equal(try(ann, "x@a.example"), PROBLEM_NONE);
	assert_int_equal(try(ann, "x@b.example"), PROBLEM_NONE);
	assert_int_equal(rig_number(&rig, "SELECT count(*) FROM destinations "
					  "WHERE destination_id > 1 AND "
					  "updated_at > 1"),
	    2);
	close_it();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_limit),
	    cmocka_unit_test(test_no_room),
	    cmocka_unit_test(test_used),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
