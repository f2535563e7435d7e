/* SPDX-License-Identifier: MIT */
/*
 * A REST client of a server that the test plays (played_server.h), for the
 * tests of lib/rest.c.
 */
#ifndef TESTS_REST_FIXTURE_H
#define TESTS_REST_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/rest.h"
#include "unit/played_server.h"

struct fixture {
	struct played *played;
	struct rest *rest;
	struct fail fail;
};

static inline int
rest_set_up(void **state)
{
	struct fixture *f = test_calloc(1, sizeof(*f));

	f->played = played_start();
	if (rest_new(played_url(f->played), "tb_secret", &f->rest, &f->fail) !=
	    RC_OK)
		return (-1);
	*state = f;
	return (0);
}

static inline int
rest_tear_down(void **state)
{
	struct fixture *f = *state;

	rest_free(f->rest);
	played_stop(f->played);
	test_free(f);
	return (0);
}

/* GET /x; the test needs only its success. */
static inline void
get(struct fixture *f, struct rest_reply *reply)
{
	const struct rest_request request = {.path = "/x"};

	assert_int_equal(rest_call(f->rest, &request, reply, &f->fail), RC_OK);
}

/* Makes ${request}, which must fail with ${rc}. */
static inline void
assert_fails(struct fixture *f, const struct rest_request *request, enum rc rc)
{
	struct rest_reply reply;

	memset(&f->fail, 0, sizeof(f->fail));
	assert_int_equal(rest_call(f->rest, request, &reply, &f->fail), rc);
	assert_int_equal(f->fail.rc, rc);
}

#endif
