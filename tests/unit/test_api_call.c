/* SPDX-License-Identifier: MIT */
/*
 * Calls whose turn does not come, or comes too late.  This file plays HTTP and
 * the readers: a reader has no store or refuses the job, and a token is revoked
 * between two pieces of an answer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/api_internal.h"
#include "rest/rest_internal.h"

#define FINIS 8

/* ---- HTTP, the readers and the store ---- */

struct http_request {
	const char *body;
	struct principal *who;
	void *memory[FINIS]; /* results of http_alloc() */
	int nmemory;
	struct {
		void (*fn)(void *arg);
		void *arg;
	} finis[FINIS];
	int nfinis;
};

static struct {
	struct read_job *job; /* the job that was submitted */
	enum rc submit_rc;
	bool revoked;           /* the token is */
	bool demoted;           /* its user is */
	enum rc store_rc;       /* the result of loading the token otherwise */
	enum problem problem;   /* of the last refusal */
	int refusals, failures; /* answers */
	http_more_fn more;
	void *more_arg;
	int pieces[3]; /* of each kind */
	int reads;
	uint64_t owner;    /* the owner of the request */
	uint64_t waits_as; /* the owner in whose queue the last job waits */
	bool left;         /* the client has left */
	int looks;         /* calls of http_client_left() */
} world;

static struct rest rest;
static struct api api;

void *
http_route_module(const struct http_request *req)
{

	(void)req;
	return (&api);
}

enum rc
readers_submit(struct readers *readers, struct read_job *job)
{

	(void)readers;
	assert_null(world.job);
	world.waits_as = job->owner;
	if (world.submit_rc == RC_OK)
		world.job = job;
	return (world.submit_rc);
}

enum rc
rest_still_admitted(struct call *call, struct db *db, struct err *err)
{

	(void)call;
	assert_non_null(db);
	if (world.revoked)
		return (RC_NOT_FOUND);
	if (world.demoted)
		return (err_set(err, RC_DENIED, "not allowed"));
	if (world.store_rc != RC_OK)
		return (err_set(err, world.store_rc, "the store"));
	return (RC_OK);
}

void *
http_alloc(struct http_request *req, size_t size)
{

	assert_in_range(req->nmemory, 0, FINIS - 1);
	req->memory[req->nmemory] = calloc(1, size);
	assert_non_null(req->memory[req->nmemory]);
	return (req->memory[req->nmemory++]);
}

enum rc
http_on_free(struct http_request *req, void (*fini)(void *arg), void *arg)
{

	assert_in_range(req->nfinis, 0, FINIS - 1);
	req->finis[req->nfinis].fn = fini;
	req->finis[req->nfinis++].arg = arg;
	return (RC_OK);
}

static void
request_end(struct http_request *req)
{

	while (req->nfinis-- > 0)
		req->finis[req->nfinis].fn(req->finis[req->nfinis].arg);
	while (req->nmemory-- > 0)
		free(req->memory[req->nmemory]);
}

void *
http_principal(const struct http_request *req)
{

	return (req->who);
}

const char *
http_body(const struct http_request *req, size_t *ret_len)
{

	*ret_len = strlen(req->body);
	return (req->body);
}

void
http_query_each(const struct http_request *req,
    bool (*each)(void *arg, const char *name, const char *value), void *arg)
{

	(void)req;
	(void)each;
	(void)arg;
}

const char *
http_query(const struct http_request *req, const char *name)
{

	(void)req;
	(void)name;
	return (NULL);
}

const char *
http_path_param(const struct http_request *req, const char *name)
{

	(void)req;
	(void)name;
	return (NULL);
}

const char *
http_header(const struct http_request *req, const char *name)
{

	(void)req;
	(void)name;
	return (NULL);
}

bool
http_etag_listed(const char *list, const char *tag)
{

	(void)list;
	(void)tag;
	return (false);
}

const char *
http_method(const struct http_request *req)
{

	(void)req;
	return ("GET");
}

const char *
http_path(const struct http_request *req)
{

	(void)req;
	return ("/");
}

const char *
http_request_id(const struct http_request *req)
{

	(void)req;
	return ("1");
}

const char *
http_peer(const struct http_request *req)
{

	(void)req;
	return ("192.0.2.1");
}

void
http_answer(struct http_request *req, int status, const char *content_type,
    struct buf *body)
{

	(void)req;
	(void)status;
	(void)content_type;
	(void)body;
	fail();
}

void
http_set_owner(struct http_request *req, uint64_t owner)
{

	(void)req;
	world.owner = owner;
}

bool
http_client_left(const struct http_request *req)
{

	(void)req;
	world.looks++;
	return (world.left);
}

void
http_answer_header(
    struct http_request *req, const char *name, const char *value)
{

	(void)req;
	(void)name;
	(void)value;
}

void
http_answer_refusal(struct http_request *req, const struct refusal *r)
{

	(void)req;
	world.problem = r->problem;
	world.refusals++;
}

void
http_answer_error(struct http_request *req, const struct err *err)
{

	(void)req;
	assert_int_not_equal(RC_OK, err->rc);
	world.failures++;
}

void
http_answer_pieces(struct http_request *req, const char *content_type,
    struct buf *first, http_more_fn more, void *arg)
{

	(void)req;
	(void)content_type;
	(void)first;
	world.more = more;
	world.more_arg = arg;
}

void
http_answer_piece(
    struct http_request *req, enum http_piece kind, struct buf *piece)
{

	(void)req;
	buf_fini(piece);
	world.pieces[kind]++;
}

static int
setup(void **state)
{
	static struct clk_fake clk;

	(void)state;
	memset(&world, 0, sizeof(world));
	memset(&rest, 0, sizeof(rest));
	memset(&api, 0, sizeof(api));
	clk_fake_init(&clk, 0);
	api.o.clk = &clk.clk;
	api.throttle = login_throttle_new();
	api.o.metrics = metrics_new();
	assert_non_null(api.throttle);
	assert_non_null(api.o.metrics);
	return (0);
}

static int
teardown(void **state)
{

	(void)state;
	assert_int_equal(0, atomic_load(&rest.busy));
	login_throttle_free(api.throttle);
	metrics_free(api.o.metrics);
	return (0);
}

/* A reader runs the job, with a store or without. */
static void
reader_turn(bool store)
{
	static char nothing;
	struct read_job *job = world.job;
	struct err err = ERR_INIT;

	assert_non_null(job);
	world.job = NULL;
	if (!store)
		(void)err_set(&err, RC_IO, "no store");
	job->run(job, store ? (struct db *)(void *)&nothing : NULL, &err);
}

/* ---- pieces ---- */

static enum rc
next_piece(struct call *call, struct db *db, struct err *err)
{
	struct buf b = BUF_INIT;

	(void)err;
	assert_non_null(db);
	world.reads++;
	call_piece(call, HTTP_PIECE_MORE, &b);
	return (RC_OK);
}

/* Starts an answer in pieces of which the client has read one. */
static void
begin_pieces(struct http_request *req)
{
	struct buf first = BUF_INIT;
	struct call *call;

	assert_true(rest_enter(&rest, req));
	assert_non_null(call = call_new(&rest, req, sizeof(*call)));
	call_pieces(call, "text/plain", &first, next_piece);
	world.more(req, world.more_arg);
	reader_turn(true);
	assert_int_equal(1, world.pieces[HTTP_PIECE_MORE]);
	world.more(req, world.more_arg);
}

static void
assert_cut(struct http_request *req)
{

	assert_int_equal(1, world.reads);
	assert_int_equal(1, world.pieces[HTTP_PIECE_MORE]);
	assert_int_equal(0, world.pieces[HTTP_PIECE_LAST]);
	assert_int_equal(1, world.pieces[HTTP_PIECE_CUT]);
	request_end(req);
}

/* A client that reads slowly gets no more pieces once its token is revoked. */
static void
test_pieces_revoked(void **state)
{
	struct http_request req = {.body = ""};

	(void)state;
	begin_pieces(&req);
	world.revoked = true;
	reader_turn(true);
	assert_cut(&req);
}

/* Nor once its user is no longer an administrator. */
static void
test_pieces_demoted(void **state)
{
	struct http_request req = {.body = ""};

	(void)state;
	begin_pieces(&req);
	world.demoted = true;
	reader_turn(true);
	assert_cut(&req);
}

/* Nor if the store cannot say whether the token is revoked. */
static void
test_pieces_unknown(void **state)
{
	struct http_request req = {.body = ""};

	(void)state;
	begin_pieces(&req);
	world.store_rc = RC_IO;
	reader_turn(true);
	assert_cut(&req);
}

static void
test_pieces_no_store(void **state)
{
	struct http_request req = {.body = ""};

	(void)state;
	begin_pieces(&req);
	reader_turn(false);
	assert_cut(&req);
}

/* ---- the texts of refusals ---- */

/* The refusal names the reason.  A unit that was accepted and failed has
 * another text than a unit that the queue did not accept. */
static void
test_reasons(void **state)
{
	static const struct {
		enum rc rc;
		enum problem problem;
		const char *taken, *not_taken;
	} rows[] = {
	    {RC_AWAY, PROBLEM_BUSY, "the database is away; ", NULL},
	    {RC_UNCONFIRMED, PROBLEM_BUSY,
		"no standby of the database confirms it, so it may or may not "
		"be done; ",
		NULL},
	    {RC_UNCERTAIN, PROBLEM_BUSY, "may or may not be done; ", NULL},
	    {RC_BUSY, PROBLEM_BUSY, "another transaction keeps what it needs; ",
		"too much waits already; "},
	    {RC_CLOSED, PROBLEM_DRAINING, "the server is stopping", NULL},
	    {RC_FULL, PROBLEM_STORAGE_FULL, "the server's disk is full", NULL},
	    {RC_INTERNAL, PROBLEM_INTERNAL, "the server failed; ", NULL},
	};
	struct refusal taken, not_taken;
	const char *want;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		taken = not_taken = (struct refusal)REFUSAL_INIT;
		refusal_of_unit(&taken, rows[i].rc);
		refusal_of_rc(&not_taken, rows[i].rc);
		want = rows[i].not_taken != NULL ? rows[i].not_taken
						 : rows[i].taken;
		assert_int_equal(taken.problem, rows[i].problem);
		assert_int_equal(not_taken.problem, rows[i].problem);
		assert_memory_equal(
		    taken.detail, rows[i].taken, strlen(rows[i].taken));
		assert_memory_equal(not_taken.detail, want, strlen(want));
		if (rows[i].problem != PROBLEM_BUSY)
			continue;
		assert_non_null(
		    strstr(taken.detail, "; repeat with the same id"));
		assert_int_equal(taken.retry_after_s, 1);
	}
}

/* ---- the login throttle ---- */

#define TRIES 100 /* five times the limit of wrong passwords */

static struct principal ann = {.user_id = 5, .device_id = 6, .name = "ann"};

static void
log_in(void)
{
	struct http_request req = {
	    .body = "{\"name\":\"ann\",\"password\":\"right or wrong\","
		    "\"device\":\"x\"}"};

	api_tokens_post(&req, &rest);
	if (world.job != NULL)
		reader_turn(false);
	request_end(&req);
}

static void
change_password(void)
{
	struct http_request req = {.body = "{\"password\":\"right or wrong\","
					   "\"new_password\":\"another one\"}",
	    .who = &ann};

	assert_true(rest_enter(&rest, &req)); /* as rest_authorize() does */
	api_password_post(&req, &rest);
	if (world.job != NULL)
		reader_turn(false);
	request_end(&req);
}

/* The queue is full: the password is not checked, so this is not a failed
 * log-in. */
static void
test_login_refused(void **state)
{
	int i;

	(void)state;
	world.submit_rc = RC_BUSY;
	for (i = 0; i < TRIES; i++) {
		log_in();
		assert_int_equal(PROBLEM_BUSY, world.problem);
		change_password();
		assert_int_equal(PROBLEM_BUSY, world.problem);
	}
	assert_int_equal(2 * TRIES, world.refusals);
	assert_int_equal(0, world.failures);
}

/* The reader has no store, so the password is not checked.  A log-in waits in
 * the queue of its network, because its user is not known yet; a change of the
 * password waits in the queue of its user. */
static void
test_login_no_store(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < TRIES; i++) {
		log_in();
		assert_true(world.waits_as == owner_peer("192.0.2.1"));
		change_password();
		assert_true(world.waits_as == owner_user(ann.user_id));
	}
	assert_int_equal(2 * TRIES, world.failures);
	assert_int_equal(0, world.refusals);
}

/* ---- pages ---- */

static void
grow(struct buf *b, size_t len)
{

	assert_non_null(buf_reserve(b, len - b->len));
	memset(b->data + b->len, 'x', len - b->len);
	b->len = len;
}

/* A page is full when its bytes may no longer have room for one more item. */
static void
test_full_page(void **state)
{
	struct call call = {.rest = &rest};
	struct buf b = BUF_INIT;

	(void)state;
	assert_false(call_page_full(&call, &b));
	grow(&b, LIMIT_PAGE_BYTES - LIMIT_ITEM_BYTES);
	assert_false(call_page_full(&call, &b));
	grow(&b, LIMIT_PAGE_BYTES - LIMIT_ITEM_BYTES + 1);
	assert_true(call_page_full(&call, &b));
	buf_fini(&b);
}

/* The page is checked for a client that has left once in each 64 KiB, also
 * after the page was begun again.  It then counts as full. */
static void
test_left_page(void **state)
{
	struct call call = {.rest = &rest};
	struct buf b = BUF_INIT;

	(void)state;
	world.looks = 0;
	world.left = true;
	grow(&b, 65535);
	assert_false(call_page_full(&call, &b));
	assert_int_equal(world.looks, 0);
	world.left = false;
	grow(&b, 65536);
	assert_false(call_page_full(&call, &b));
	grow(&b, 131071);
	assert_false(call_page_full(&call, &b));
	assert_int_equal(world.looks, 1);
	world.left = true;
	grow(&b, 131072);
	assert_true(call_page_full(&call, &b));
	assert_int_equal(world.looks, 2);
	buf_reset(&b);
	assert_false(call_page_full(&call, &b));
	grow(&b, 65536);
	assert_true(call_page_full(&call, &b));
	buf_fini(&b);
	world.left = false;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		test_pieces_revoked, setup, teardown),
	    cmocka_unit_test_setup_teardown(
		test_pieces_demoted, setup, teardown),
	    cmocka_unit_test_setup_teardown(
		test_pieces_unknown, setup, teardown),
	    cmocka_unit_test_setup_teardown(
		test_pieces_no_store, setup, teardown),
	    cmocka_unit_test(test_reasons),
	    cmocka_unit_test_setup_teardown(
		test_login_refused, setup, teardown),
	    cmocka_unit_test_setup_teardown(
		test_login_no_store, setup, teardown),
	    cmocka_unit_test(test_full_page),
	    cmocka_unit_test(test_left_page),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
