/* SPDX-License-Identifier: MIT */
/*
 * Whether a request's sender is known: from the head of the request or from a
 * read of the store.  Only then is the body read, or a request that has waited
 * still admitted.  This file plays the request, the readers and the store.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/owner.h"
#include "crypt/crypt.h"
#include "rest/rest_internal.h"

#define ANN 5
#define PEER "192.0.2.1"

static struct {
	const char *authorization; /* of the request; NULL: none */
	uint64_t owner;            /* of the request; 0: not known */
	struct read_job *job;      /* the job that was submitted */
	enum rc submit_rc, load_rc;
	bool forgotten; /* the token is revoked during the read of the store */
	bool admin;     /* the user is one, in the store */
	unsigned flags; /* of the route */
	int found;      /* calls of http_sender_found() */
	enum problem problem;
	void *memory;
} world;

static struct rest *rest;
static struct auth *auth;
static struct clk_fake clk;
static char token[CRYPT_TOKEN_LEN + 1], bearer[CRYPT_TOKEN_LEN + 8];
static uint8_t hash[CRYPT_HASH_SIZE];

/* ---- HTTP, the readers and the store (api.am) ---- */

const char *__wrap_http_header(
    const struct http_request *req, const char *name);
void __wrap_http_set_owner(struct http_request *req, uint64_t owner);
const char *__wrap_http_peer(const struct http_request *req);
void *__wrap_http_alloc(struct http_request *req, size_t size);
void __wrap_http_sender_found(
    struct http_request *req, const struct refusal *r);
unsigned __wrap_http_route_flags(const struct http_request *req);
enum rc __wrap_readers_submit(struct readers *readers, struct read_job *job);
enum rc __wrap_auth_load(struct db *db, const uint8_t sought[STORE_HASH_LEN],
    struct principal *ret, struct err *err);

const char *
__wrap_http_header(const struct http_request *req, const char *name)
{

	(void)req;
	assert_string_equal(name, "Authorization");
	return (world.authorization);
}

void
__wrap_http_set_owner(struct http_request *req, uint64_t owner)
{

	(void)req;
	world.owner = owner;
}

const char *
__wrap_http_peer(const struct http_request *req)
{

	(void)req;
	return (PEER);
}

void *
__wrap_http_alloc(struct http_request *req, size_t size)
{

	(void)req;
	assert_null(world.memory);
	return (world.memory = calloc(1, size));
}

void
__wrap_http_sender_found(struct http_request *req, const struct refusal *r)
{

	(void)req;
	world.found++;
	world.problem = r == NULL ? PROBLEM_NONE : r->problem;
}

unsigned
__wrap_http_route_flags(const struct http_request *req)
{

	(void)req;
	return (world.flags);
}

enum rc
__wrap_readers_submit(struct readers *readers, struct read_job *job)
{

	(void)readers;
	assert_null(world.job);
	if (world.submit_rc == RC_OK)
		world.job = job;
	return (world.submit_rc);
}

enum rc
__wrap_auth_load(struct db *db, const uint8_t sought[STORE_HASH_LEN],
    struct principal *ret, struct err *err)
{

	assert_non_null(db);
	assert_memory_equal(sought, hash, sizeof(hash));
	if (world.load_rc == RC_OK)
		*ret = (struct principal){.user_id = ANN, .admin = world.admin};
	else if (world.load_rc != RC_NOT_FOUND)
		(void)err_set(err, world.load_rc, "the store");
	if (world.forgotten)
		auth_forget_all(auth);
	return (world.load_rc);
}

static int
set_up(void **state)
{
	struct rest_options r = {.clk = &clk.clk};
	struct err err = ERR_INIT;

	(void)state;
	memset(&world, 0, sizeof(world));
	clk_fake_init(&clk, INT64_C(1700000000000));
	r.auth = auth = auth_new();
	assert_non_null(auth);
	assert_int_equal(rest_new(&r, &rest, &err), RC_OK);
	crypt_token_new(rnd_system(), token, hash);
	(void)snprintf(bearer, sizeof(bearer), "Bearer %s", token);
	return (0);
}

static int
tear_down(void **state)
{

	(void)state;
	assert_int_equal(rest_busy(rest), 0);
	rest_free(rest);
	auth_free(auth);
	free(world.memory);
	return (0);
}

static enum http_sender
head(const char *authorization)
{

	world.authorization = authorization;
	world.owner = 0;
	return (rest_head(NULL, rest));
}

/* ---- the head ---- */

/* Without a text that may be a token, the body is not read. */
static void
test_stranger(void **state)
{
	char text[128];

	(void)state;
	assert_int_equal(head(NULL), HTTP_SENDER_STRANGER);
	assert_int_equal(head(""), HTTP_SENDER_STRANGER);
	assert_int_equal(head("Bearer "), HTTP_SENDER_STRANGER);
	assert_int_equal(head("Bearer tb_x"), HTTP_SENDER_STRANGER);
	(void)snprintf(text, sizeof(text), "Basic %s", token);
	assert_int_equal(head(text), HTTP_SENDER_STRANGER);
	(void)snprintf(text, sizeof(text), "%sx", bearer);
	assert_int_equal(head(text), HTTP_SENDER_STRANGER);
	assert_int_equal(world.owner, 0);
}

/* A token in memory gives the owner of the body. */
static void
test_known(void **state)
{
	const struct principal ann = {.user_id = ANN};

	(void)state;
	assert_int_equal(head(bearer), HTTP_SENDER_UNKNOWN);
	assert_int_equal(world.owner, 0);
	auth_put(auth, hash, &ann, auth_generation(auth));
	assert_int_equal(head(bearer), HTTP_SENDER_KNOWN);
	assert_true(world.owner == owner_user(ANN));
	auth_forget(auth, hash);
	assert_int_equal(head(bearer), HTTP_SENDER_UNKNOWN);
}

/* ---- the read of the store ---- */

/* A look-up whose read ends with ${rc}.  RC_BUSY: the reader has no store. */
static void
look_up(enum rc rc)
{
	static char nothing;
	struct err err = ERR_INIT;
	struct read_job *job;

	free(world.memory);
	world.memory = NULL;
	world.found = 0;
	assert_int_equal(head(bearer), HTTP_SENDER_UNKNOWN);
	assert_int_equal(rest_lookup(NULL, rest), RC_OK);
	assert_int_equal(rest_busy(rest), 1);
	assert_int_equal(world.found, 0);
	assert_non_null(job = world.job);
	/* The user is not known yet, so the job waits in the network's
	 * queue. */
	assert_true(job->owner == owner_peer(PEER));
	world.job = NULL;
	world.load_rc = rc;
	if (rc == RC_BUSY)
		(void)err_set(&err, RC_BUSY, "no store");
	job->run(
	    job, rc == RC_BUSY ? NULL : (struct db *)(void *)&nothing, &err);
	assert_int_equal(world.found, 1);
	assert_int_equal(rest_busy(rest), 0);
}

static void
test_found(void **state)
{

	(void)state;
	look_up(RC_OK);
	assert_int_equal(world.problem, PROBLEM_NONE);
	assert_true(world.owner == owner_user(ANN));
	/* The token is in memory now, so the next request needs no read. */
	assert_int_equal(head(bearer), HTTP_SENDER_KNOWN);
}

/* A token that is revoked during the read does not get into memory. */
static void
test_forgotten_meanwhile(void **state)
{

	(void)state;
	world.forgotten = true;
	look_up(RC_OK);
	assert_int_equal(head(bearer), HTTP_SENDER_UNKNOWN);
}

static void
test_not_found(void **state)
{

	(void)state;
	look_up(RC_NOT_FOUND);
	assert_int_equal(world.problem, PROBLEM_UNAUTHENTICATED);
	assert_int_equal(world.owner, 0);
	assert_int_equal(head(bearer), HTTP_SENDER_UNKNOWN);
	look_up(RC_IO);
	assert_int_equal(world.problem, PROBLEM_INTERNAL);
	look_up(RC_BUSY);
	assert_int_equal(world.problem, PROBLEM_BUSY);
	assert_int_equal(world.owner, 0);
}

/* The readers' queue is full; then the API has stopped. */
static void
test_no_reader(void **state)
{

	(void)state;
	assert_int_equal(head(bearer), HTTP_SENDER_UNKNOWN);
	world.submit_rc = RC_BUSY;
	assert_int_equal(rest_lookup(NULL, rest), RC_BUSY);
	assert_int_equal(rest_busy(rest), 0);
	world.submit_rc = RC_OK;
	free(world.memory);
	world.memory = NULL;
	rest_stop(rest);
	assert_int_equal(rest_lookup(NULL, rest), RC_CLOSED);
	assert_null(world.job);
	assert_int_equal(world.found, 0);
}

/* A request that has waited is checked again: its token may have been revoked
 * and, on a route for administrators, its user may have lost that right. */
static void
test_still_admitted(void **state)
{
	struct principal known = {.user_id = ANN, .admin = true};
	struct call call = {.rest = rest};
	struct db *db = (void *)&world; /* never dereferenced */
	struct err err = ERR_INIT;

	(void)state;
	world.authorization = NULL;
	assert_int_equal(rest_still_admitted(&call, db, &err), RC_NOT_FOUND);
	world.authorization = bearer;
	assert_int_equal(rest_still_admitted(&call, db, &err), RC_OK);
	world.flags = HTTP_ADMIN;
	assert_int_equal(rest_still_admitted(&call, db, &err), RC_DENIED);
	world.admin = true;
	assert_int_equal(rest_still_admitted(&call, db, &err), RC_OK);
	world.load_rc = RC_NOT_FOUND;
	assert_int_equal(rest_still_admitted(&call, db, &err), RC_NOT_FOUND);
	/* A token in memory needs no read of the store. */
	auth_put(auth, hash, &known, auth_generation(auth));
	assert_int_equal(rest_still_admitted(&call, db, &err), RC_OK);
	auth_forget(auth, hash);
	known.admin = false;
	auth_put(auth, hash, &known, auth_generation(auth));
	assert_int_equal(rest_still_admitted(&call, db, &err), RC_DENIED);
	world.flags = 0;
	assert_int_equal(rest_still_admitted(&call, db, &err), RC_OK);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    T(test_stranger),
	    T(test_known),
	    T(test_found),
	    T(test_forgotten_meanwhile),
	    T(test_not_found),
	    T(test_no_reader),
	    T(test_still_admitted),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
