/* SPDX-License-Identifier: MIT */
/*
 * The server and the client of the tests of server/http.  One worker with a
 * mailbox sends the answers "from another thread", as in the real program.
 */
#include "http_fixture.h"

#include <sys/socket.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mbox.h"
#include "base/thr.h"
#include "http_leap.h"

#define TESTS_MAX 32

static struct mbox *work;
static struct thr *worker;
static struct fixture *current;

struct job {
	struct mbox_node node; /* first */
	struct http_request *req;
	void (*run)(struct http_request *req);
};

static void
worker_main(void *arg)
{
	struct mbox_node *node;

	(void)arg;
	while ((node = mbox_take_wait(work, -1)) != NULL)
		((struct job *)(void *)node)
		    ->run(((struct job *)(void *)node)->req);
}

static void
in_worker(struct http_request *req, void (*run)(struct http_request *))
{
	struct job *job = http_alloc(req, sizeof(*job));

	if (job == NULL) {
		http_answer(req, 503, NULL, NULL);
		return;
	}
	job->req = req;
	job->run = run;
	assert_int_equal(mbox_put(work, &job->node), RC_OK);
}

static void
answer_text(struct http_request *req, const char *text, size_t n)
{
	struct buf b = BUF_INIT;

	buf_add(&b, text, n);
	http_answer(req, 200, "text/plain; charset=utf-8", &b);
	buf_fini(&b);
}

static void
on_freed(void *arg)
{

	atomic_fetch_add((atomic_int *)arg, 1);
}

/* ---- handlers ---- */

static void
get_turn(struct http_request *req, void *arg)
{

	(void)arg;
	answer_text(req, "turn", 4);
}

static void
get_hello(struct http_request *req, void *arg)
{
	struct fixture *f = arg;
	struct buf b = BUF_INIT;

	atomic_fetch_add(&f->handled, 1);
	if (http_on_free(req, on_freed, &f->freed) != RC_OK) {
		http_answer(req, 503, NULL, NULL);
		return;
	}
	http_answer_header(req, "X-Extra", "one");
	buf_adds(&b, "{\"hello\":\"world\"}");
	http_answer(req, 200, HTTP_JSON, &b);
	buf_fini(&b);
}

static void
later_run(struct http_request *req)
{

	http_answer_header(req, "X-Thread", thr_self_name());
	answer_text(req, "later", 5);
}

static void
get_later(struct http_request *req, void *arg)
{

	atomic_fetch_add(&((struct fixture *)arg)->handled, 1);
	in_worker(req, later_run);
}

static void
post_echo(struct http_request *req, void *arg)
{
	const char *body;
	size_t n;

	atomic_fetch_add(&((struct fixture *)arg)->handled, 1);
	body = http_body(req, &n);
	assert_int_equal(body[n], '\0');
	answer_text(req, body, n);
}

static void
post_large(struct http_request *req, void *arg)
{
	char text[32];
	size_t n;

	atomic_fetch_add(&((struct fixture *)arg)->handled, 1);
	(void)http_body(req, &n);
	(void)snprintf(text, sizeof(text), "%zu", n);
	answer_text(req, text, strlen(text));
}

static void
get_part(struct http_request *req, void *arg)
{
	struct buf b = BUF_INIT;

	atomic_fetch_add(&((struct fixture *)arg)->handled, 1);
	buf_addf(&b, "%s %s %s %s %s", http_method(req), http_path(req),
	    http_path_param(req, "id"), http_path_param(req, "part"),
	    http_path_param(req, "none") == NULL ? "-" : "?");
	http_answer(req, 200, "text/plain", &b);
	buf_fini(&b);
}

static bool
add_param(void *arg, const char *name, const char *value)
{

	buf_addf(arg, "[%s=%s]", name, value);
	return (strcmp(name, "stop") != 0);
}

static void
get_query(struct http_request *req, void *arg)
{
	struct buf b = BUF_INIT;

	atomic_fetch_add(&((struct fixture *)arg)->handled, 1);
	http_query_each(req, add_param, &b);
	buf_addf(&b, "%s", http_query(req, "a") == NULL ? "none" : "a");
	http_answer(req, 200, "text/plain", &b);
	buf_fini(&b);
}

/* GET /big?mb= */
static void
get_big(struct http_request *req, void *arg)
{
	const char *mb = http_query(req, "mb");
	struct buf b = BUF_INIT;
	int i, n = (mb == NULL) ? 1 : (int)strtoll(mb, NULL, 10);

	atomic_fetch_add(&((struct fixture *)arg)->handled, 1);
	for (i = 0; i < n * 1024 * 1024 / 16; i++)
		buf_addf(&b, "%015d\n", i);
	http_answer(req, 200, "text/plain", &b);
	buf_fini(&b);
}

/* ---- in pieces ---- */

struct pieces {
	int64_t left, size;
	int64_t wait_ms,
	    at_ms; /* the pause between two pieces, kept by a timer */
	bool cut, at_once;
};

static void
piece_run(struct http_request *req)
{
	struct pieces *p = http_principal(req);
	struct buf b = BUF_INIT;
	enum http_piece kind = HTTP_PIECE_MORE;
	int64_t i;

	p->left--;
	for (i = 0; i < p->size; i++)
		buf_addc(&b, (char)('a' + p->left % 26));
	if (p->left == 0)
		kind = p->cut ? HTTP_PIECE_CUT : HTTP_PIECE_LAST;
	http_answer_piece(req, kind, &b);
	buf_fini(&b);
}

/* A client that has left gets one last piece. */
static void
piece_wake(struct http_request *req, void *arg)
{
	struct pieces *p = arg;

	if (clk_mono_ms(leap_clk()) < p->at_ms - 1)
		atomic_fetch_add(&current->early, 1);
	if (http_client_left(req))
		p->left = 1;
	piece_run(req);
}

/* Nobody sends pieces any more once the worker has stopped. */
static void
piece_more(struct http_request *req, void *arg)
{
	struct pieces *p = arg;
	struct job *job = http_alloc(req, sizeof(*job));
	struct buf none = BUF_INIT;

	atomic_fetch_add(&current->pieces, 1);
	if (p->wait_ms > 0) {
		p->at_ms = clk_mono_ms(leap_clk()) + p->wait_ms;
		http_set_timer(req, p->at_ms, piece_wake, p);
		return;
	}
	assert_non_null(job);
	job->req = req;
	job->run = piece_run;
	if (p->at_once)
		piece_run(req);
	else if (mbox_put(work, &job->node) != RC_OK)
		http_answer_piece(req, HTTP_PIECE_CUT, &none);
}

/* GET /pieces?n=&size=&cut=&at_once=&wait= */
static void
get_pieces(struct http_request *req, void *arg)
{
	struct fixture *f = arg;
	struct pieces *p = http_alloc(req, sizeof(*p));
	struct buf b = BUF_INIT;

	atomic_fetch_add(&f->handled, 1);
	assert_int_equal(http_on_free(req, on_freed, &f->freed), RC_OK);
	p->left = strtoll(http_query(req, "n"), NULL, 10);
	p->size = strtoll(http_query(req, "size"), NULL, 10);
	p->cut = http_query(req, "cut") != NULL;
	p->at_once = http_query(req, "at_once") != NULL;
	if (http_query(req, "wait") != NULL)
		p->wait_ms = strtoll(http_query(req, "wait"), NULL, 10);
	http_set_principal(req, p);
	buf_adds(&b, "first");
	http_answer_pieces(req, "text/plain", &b, piece_more, p);
	buf_fini(&b);
}

static void
poll_wake(struct http_request *req, void *arg)
{

	if (clk_mono_ms(leap_clk()) < *(int64_t *)arg - 1)
		atomic_fetch_add(&current->early, 1);
	answer_text(req, "woken", 5);
}

static void
poll_set(struct http_request *req)
{
	const char *wait = http_query(req, "wait");
	int64_t *at = http_alloc(req, sizeof(*at));

	*at = clk_mono_ms(leap_clk()) +
	      (wait == NULL ? 50 : strtoll(wait, NULL, 10));
	http_set_timer(req, *at, poll_wake, at);
}

static void
get_poll(struct http_request *req, void *arg)
{

	atomic_fetch_add(&((struct fixture *)arg)->handled, 1);
	if (http_query(req, "later") != NULL)
		in_worker(req, poll_set);
	else
		poll_set(req);
}

static void
get_hold(struct http_request *req, void *arg)
{
	struct fixture *f = arg;

	atomic_fetch_add(&f->handled, 1);
	atomic_store(&f->held, req);
}

static void
get_error(struct http_request *req, void *arg)
{
	struct err err = ERR_INIT;

	(void)arg;
	(void)err_set(&err, http_query(req, "busy") == NULL ? RC_IO : RC_BUSY,
	    "the secret story");
	http_answer_error(req, &err);
}

static void
get_busy(struct http_request *req, void *arg)
{
	struct refusal r = REFUSAL_INIT;

	(void)arg;
	refusal_set(&r, PROBLEM_BUSY, "", "a queue is full");
	r.retry_after_s = http_query(req, "now") == NULL ? 7 : 0;
	http_answer_refusal(req, &r);
}

/* Answers with the address that the request comes from, and the thread that
 * answers. */
static void
get_peer(struct http_request *req, void *arg)
{
	struct buf b = BUF_INIT;

	(void)arg;
	buf_addf(&b, "%s %s", http_peer(req), thr_self_name());
	http_answer(req, 200, "text/plain", &b);
	buf_fini(&b);
}

static void
get_private(struct http_request *req, void *arg)
{

	atomic_fetch_add(&((struct fixture *)arg)->handled, 1);
	answer_text(req, http_principal(req), strlen(http_principal(req)));
}

/* Returns whether the route needs a token.  Some of the other routes are
 * without HTTP_PUBLIC only because public routes take small bodies. */
static bool
is_private(struct http_request *req)
{

	return (strncmp(http_path(req), "/private", 8) == 0);
}

/* Tokens: "good" is known at once.  "slow", "held" and "none" need a look-up.
 * The test ends the look-up of "held"; the look-up of "none" finds no user. */
static bool
has_token(struct http_request *req, const char *token)
{
	const char *header = http_header(req, "authorization");

	return (header != NULL && strncmp(header, "Bearer ", 7) == 0 &&
		strcmp(header + 7, token) == 0);
}

static enum http_sender
head(struct http_request *req, void *arg)
{

	(void)arg;
	if (!is_private(req) || has_token(req, "good")) {
		http_set_owner(req, is_private(req) ? 7 : 0);
		return (HTTP_SENDER_KNOWN);
	}
	return (has_token(req, "slow") || has_token(req, "held") ||
			has_token(req, "none")
		    ? HTTP_SENDER_UNKNOWN
		    : HTTP_SENDER_STRANGER);
}

static void
find_sender(struct http_request *req)
{
	struct refusal r = REFUSAL_INIT;
	const bool found = has_token(req, "slow");

	refusal_set(&r, PROBLEM_UNAUTHENTICATED, "", "nobody's token");
	if (found)
		http_set_owner(req, 8);
	http_sender_found(req, found ? NULL : &r);
}

static enum rc
lookup(struct http_request *req, void *arg)
{
	struct fixture *f = arg;

	atomic_fetch_add(&f->lookups, 1);
	if (has_token(req, "held"))
		atomic_store(&f->held, req);
	else if (f->lookup_rc == RC_OK)
		in_worker(req, find_sender);
	return (f->lookup_rc);
}

static void
authorize(struct http_request *req, void *arg)
{
	static char who[] = "bob";
	struct refusal r = REFUSAL_INIT;

	(void)arg;
	http_set_principal(req, who);
	if (!is_private(req) || has_token(req, "good") ||
	    has_token(req, "held")) {
		http_request_authorized(req);
	} else if (has_token(req, "slow")) {
		in_worker(req, http_request_authorized);
	} else {
		refusal_set(&r, PROBLEM_UNAUTHENTICATED, "", "no token");
		http_answer_refusal(req, &r);
	}
}

const struct http_route fixture_routes[] = {
    {"GET", "/turn", get_turn, HTTP_PUBLIC},
    {"GET", "/hello", get_hello, HTTP_PUBLIC},
    {"GET", "/later", get_later, HTTP_PUBLIC}, {"POST", "/echo", post_echo, 0},
    {"POST", "/text", post_echo, HTTP_TEXT_BODY},
    {"POST", "/large", post_large, HTTP_LARGE_BODY},
    {"POST", "/public", post_echo, HTTP_PUBLIC},
    {"POST", "/private/echo", post_echo, 0},
    {"POST", "/private/large", post_large, HTTP_LARGE_BODY},
    {"DELETE", "/echo", get_hello, HTTP_PUBLIC | HTTP_NO_BODY},
    {"GET", "/items/{id}/parts/{part}", get_part, HTTP_PUBLIC},
    {"GET", "/items/{id}", get_part, HTTP_PUBLIC},
    {"GET", "/items/special", get_hello, HTTP_PUBLIC},
    {"GET", "/query", get_query, HTTP_PUBLIC},
    {"GET", "/big", get_big, HTTP_PUBLIC},
    {"GET", "/pieces", get_pieces, HTTP_PUBLIC},
    {"GET", "/poll", get_poll, HTTP_PUBLIC},
    {"GET", "/hold", get_hold, HTTP_PUBLIC},
    {"GET", "/error", get_error, HTTP_PUBLIC},
    {"GET", "/busy", get_busy, HTTP_PUBLIC},
    {"GET", "/peer", get_peer, HTTP_PUBLIC},
    {"GET", "/private", get_private, 0}, {NULL, NULL, NULL, 0}};

/* ---- routes with a gate of their own ---- */

static int gate_arg;

/* The pieces of a request's body that the gate has seen. */
struct seen {
	size_t pieces, bytes;
	char first; /* the first byte */
};

static enum http_sender
gate_head(struct http_request *req, void *arg)
{
	struct seen *seen = http_alloc(req, sizeof(*seen));
	const char *let = http_header(req, "X-Let");

	assert_ptr_equal(arg, &gate_arg);
	http_set_principal(req, seen);
	return (let != NULL && strcmp(let, "in") == 0 ? HTTP_SENDER_KNOWN
						      : HTTP_SENDER_STRANGER);
}

static void
gate_piece(struct http_request *req, const char *p, size_t n, void *arg)
{
	struct seen *seen = http_principal(req);
	size_t len;

	assert_ptr_equal(arg, &gate_arg);
	if (seen == NULL)
		return; /* the gate does not see the head of a public route */
	if (seen->pieces++ == 0)
		seen->first = p[0];
	seen->bytes += n;
	(void)http_body(req, &len);
	assert_int_equal(len, seen->bytes);
}

static void
gate_authorize(struct http_request *req, void *arg)
{
	struct refusal r = REFUSAL_INIT;

	assert_ptr_equal(arg, &gate_arg);
	if (http_header_count(req, "x-let") == 1) {
		http_request_authorized(req);
		return;
	}
	refusal_set(&r, PROBLEM_FORBIDDEN, "", "%zu times",
	    http_header_count(req, "x-let"));
	http_answer_refusal(req, &r);
}

static void
post_gated(struct http_request *req, void *arg)
{
	const struct seen *seen = http_principal(req);
	struct buf b = BUF_INIT;

	assert_ptr_equal(arg, &gate_arg);
	assert_ptr_equal(http_route_module(req), &gate_arg);
	atomic_fetch_add(&current->handled, 1);
	if (seen == NULL)
		buf_addf(&b, "nothing %s", http_target(req));
	else
		buf_addf(&b, "%zu %c %s", seen->bytes, seen->first,
		    http_target(req));
	http_answer(req, 200, "text/plain", &b);
	buf_fini(&b);
}

static const struct http_gate gate = {.authorize = gate_authorize,
    .head = gate_head,
    .piece = gate_piece,
    .arg = &gate_arg};

static const struct http_route gated_routes[] = {
    {"POST", "/gated", post_gated, HTTP_ANY_BODY | HTTP_PEER_BODY},
    {"POST", "/open", post_gated, HTTP_PUBLIC | HTTP_ANY_BODY | HTTP_PEER_BODY},
    {"GET", "/gated", post_gated, HTTP_PUBLIC}, {NULL, NULL, NULL, 0}};

/* Plays the WebSocket's side: sends back the bytes that it can still read. */
static void
upgrade(int fd, const struct net_from *from, void *arg)
{
	char text[8] = "";

	(void)from;
	atomic_fetch_add(&((struct fixture *)arg)->upgrades, 1);
	(void)!recv(fd, text, 7, 0);
	(void)!send(fd, text, strlen(text), MSG_NOSIGNAL);
	(void)close(fd);
}

/* ---- the server ---- */

size_t fixture_descriptors;
size_t fixture_body_bytes = 64 * 1024 * 1024;
size_t fixture_answer_bytes = 256 * 1024 * 1024;

void
fixture_start(struct fixture *f, int loops, size_t limit)
{
	struct http_options options = {
	    .listen = "127.0.0.1:0",
	    .loops = loops,
	    .routes = (const struct http_routes[]){{fixture_routes, NULL, NULL},
		{gated_routes, &gate_arg, &gate}, {NULL, NULL, NULL}},
	    .route_arg = f,
	    .authorize = authorize,
	    .head = head,
	    .lookup = lookup,
	    .body_bytes = fixture_body_bytes,
	    .answer_bytes = fixture_answer_bytes,
	    .upgrade_path = "/v1/ws",
	    .upgrade = upgrade,
	    .upgrade_arg = f,
	    .request_deadline_ms = REQUEST_DEADLINE_MS,
	    .idle_deadline_ms = IDLE_DEADLINE_MS,
	    .connection_limit = limit,
	    .descriptors = fixture_descriptors,
	    .clk = leap_clk(),
	    .timing = &f->timing,
	};
	struct err err = ERR_INIT;

	memset(f, 0, sizeof(*f));
	current = f;
	f->timing = *timing_real();
	f->timing.http_linger_ms = HOUR_MS;
	f->metrics = metrics_new();
	assert_non_null(f->metrics);
	options.metrics = f->metrics;
	work = mbox_new(0, false);
	assert_non_null(work);
	assert_int_equal(
	    thr_start(THR_WRITER, 0, worker_main, NULL, &worker, &err), RC_OK);
	if (http_new(&options, &f->http, &err) != RC_OK ||
	    http_start(f->http, &err) != RC_OK)
		fail_msg("%s", err.text);
	f->port = http_port(f->http);
	assert_true(f->port > 0);
}

void
fixture_stop(struct fixture *f)
{

	mbox_close(work);
	thr_join(&worker);
	http_stop(f->http);
	f->http = NULL;
	mbox_free(work);
	metrics_free(f->metrics);
}

static struct {
	struct fixture *fixture;
	int loops;
	size_t limit;
} group;

static int
group_start(void **state)
{

	(void)state;
	fixture_start(group.fixture, group.loops, group.limit);
	return (0);
}

static int
group_stop(void **state)
{

	(void)state;
	fixture_stop(group.fixture);
	return (0);
}

/* Closes what a failed test has left open, which would make later tests
 * fail. */
static int
clean_up(void **state)
{
	struct fixture *f = group.fixture;

	(void)state;
	client_close_left();
	if (atomic_load(&f->held) != NULL)
		fixture_release(f);
	atomic_store(&f->early, 0);
	return (0);
}

int
fixture_run(struct fixture *f, int loops, size_t limit,
    const struct CMUnitTest *tests, size_t n)
{
	struct CMUnitTest copies[TESTS_MAX];
	size_t i;

	assert(n <= TESTS_MAX);
	for (i = 0; i < n; i++) {
		copies[i] = tests[i];
		copies[i].teardown_func = clean_up;
	}
	group.fixture = f;
	group.loops = loops;
	group.limit = limit;
	return (_cmocka_run_group_tests(
	    "tests", copies, n, group_start, group_stop));
}

void
fixture_release(struct fixture *f)
{

	AWAIT(atomic_load(&f->held) != NULL);
	answer_text(atomic_exchange(&f->held, NULL), "released", 8);
}

/* Each thread takes all its events and only then checks its deadlines, and a
 * loop does both before it answers.  An answer from each loop therefore shows
 * that the loop has had a whole turn.  The front has had one when it accepts a
 * second connection. */
void
fixture_turn(struct fixture *f)
{
	static struct reply reply;

	assert_int_equal(ask(f, GET("/turn"), &reply, NULL), 200);
	assert_int_equal(ask(f, GET("/turn?wait=1"), &reply, NULL), 200);
}

void
fixture_leap(struct fixture *f, int64_t ms)
{

	leap_by(ms);
	fixture_turn(f);
}
