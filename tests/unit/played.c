/* SPDX-License-Identifier: MIT */
/*
 * See played.h.
 */
#include "played.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/htab.h"
#include "base/mem.h"

#define PAIRS 12
#define MEMORY_MAX 32
#define WAITING_MAX 256

struct played played;

struct http_request {
	const struct question *q;
	void *principal;
	unsigned flags;
	char query[512];
	const char *names[PAIRS], *values[PAIRS];
	int n;
	void *memory[MEMORY_MAX];
	int nmemory;
	struct {
		void (*fn)(void *arg);
		void *arg;
	} finis[MEMORY_MAX];
	int nfinis;
	struct buf head;
	struct buf pieces;
	http_more_fn more;
	void *more_arg;
	bool piece_wanted;
};

static struct clk_fake clk;
static struct rnd_seeded rnd;
static char snapshot; /* stands for a database */
static int allocs, on_frees, stores;

/* The reads and units that wait, in the order of submission. */
static struct {
	struct read_job *read;
	struct unit *unit;
} waiting[WAITING_MAX];
static int first, last;

void
played_note(const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	buf_adds(&played.text, line);
	buf_addc(&played.text, '\n');
}

enum rc
played_store(struct err *err)
{

	if (++stores == played.store_fails)
		return (err_set(err, RC_IO, "the disk"));
	return (RC_OK);
}

/* ---- the readers and the writer ---- */

enum rc
readers_submit(struct readers *readers, struct read_job *job)
{

	(void)readers;
	if (played.readers_rc != RC_OK)
		return (played.readers_rc);
	assert_in_range(last, 0, WAITING_MAX - 1);
	waiting[last].read = job;
	waiting[last++].unit = NULL;
	return (RC_OK);
}

__typeof__(writer_submit) __wrap_writer_submit;
__typeof__(rest_still_admitted) __wrap_rest_still_admitted;

enum rc
__wrap_writer_submit(struct writer *w, struct unit *unit)
{

	(void)w;
	if (played.writer_rc != RC_OK)
		return (played.writer_rc);
	assert_in_range(last, 0, WAITING_MAX - 1);
	waiting[last].read = NULL;
	waiting[last++].unit = unit;
	return (RC_OK);
}

enum rc
__wrap_rest_still_admitted(struct call *call, struct db *db, struct err *err)
{

	(void)call;
	assert_non_null(db);
	if (played.revoked)
		return (RC_NOT_FOUND);
	if (played.demoted)
		return (RC_DENIED);
	return (played_store(err));
}

static void
play(struct http_request *req)
{
	struct err err;
	struct unit *unit;
	int at;

	for (;;) {
		if (req->piece_wanted) {
			req->piece_wanted = false;
			req->more(req, req->more_arg);
		}
		if (first == last)
			return;
		at = first++;
		if ((unit = waiting[at].unit) == NULL) {
			err = (struct err)ERR_INIT;
			if (played.no_snapshot)
				(void)err_set(&err, RC_IO, "no snapshot");
			waiting[at].read->run(waiting[at].read,
			    played.no_snapshot ? NULL : (struct db *)&snapshot,
			    &err);
			continue;
		}
		unit->rc = played.unit_rc;
		if (unit->rc == RC_OK && played.apply != NULL)
			played.apply(unit);
		unit->finish(unit);
	}
}

/* ---- HTTP: the request ---- */

void *
http_alloc(struct http_request *req, size_t size)
{

	if (++allocs == played.alloc_fails)
		return (NULL);
	assert_in_range(req->nmemory, 0, MEMORY_MAX - 1);
	req->memory[req->nmemory] = calloc(1, size);
	assert_non_null(req->memory[req->nmemory]);
	return (req->memory[req->nmemory++]);
}

enum rc
http_on_free(struct http_request *req, void (*fini)(void *arg), void *arg)
{

	if (++on_frees == played.on_free_fails)
		return (RC_NO_MEMORY);
	assert_in_range(req->nfinis, 0, MEMORY_MAX - 1);
	req->finis[req->nfinis].fn = fini;
	req->finis[req->nfinis++].arg = arg;
	return (RC_OK);
}

void
http_set_principal(struct http_request *req, void *principal)
{

	req->principal = principal;
}

void *
http_principal(const struct http_request *req)
{

	return (req->principal);
}

void *
http_route_module(const struct http_request *req)
{

	(void)req;
	return (played.module);
}

unsigned
http_route_flags(const struct http_request *req)
{

	return (req->flags);
}

void
http_request_authorized(struct http_request *req)
{

	(void)req;
	fail();
}

const char *
http_body(const struct http_request *req, size_t *ret_len)
{
	const char *body = req->q->body == NULL ? "" : req->q->body;

	*ret_len = strlen(body);
	return (body);
}

void
http_query_each(const struct http_request *req,
    bool (*each)(void *arg, const char *name, const char *value), void *arg)
{
	int i;

	for (i = 0; i < req->n; i++)
		if (!each(arg, req->names[i], req->values[i]))
			return;
}

const char *
http_query(const struct http_request *req, const char *name)
{
	int i;

	for (i = 0; i < req->n; i++)
		if (strcmp(req->names[i], name) == 0)
			return (req->values[i]);
	return (NULL);
}

const char *
http_path_param(const struct http_request *req, const char *name)
{
	const char *const *p = req->q->params;

	return (p[0] != NULL && strcmp(p[0], name) == 0 ? p[1] : NULL);
}

const char *
http_header(const struct http_request *req, const char *name)
{
	int i;

	for (i = 0; i < 6 && req->q->headers[i] != NULL; i += 2)
		if (strcasecmp(req->q->headers[i], name) == 0)
			return (req->q->headers[i + 1]);
	return (NULL);
}

const char *
http_header_list(struct http_request *req, const char *name)
{
	static char joined[256];
	int i, n = 0;

	for (i = 0; i < 6 && req->q->headers[i] != NULL; i += 2)
		if (strcasecmp(req->q->headers[i], name) == 0)
			n += snprintf(joined + n, sizeof(joined) - (size_t)n,
			    ",%s", req->q->headers[i + 1]);
	return (n > 0 ? joined + 1 : NULL);
}

bool
http_etag_listed(const char *list, const char *tag)
{

	return (list != NULL && strcmp(list, tag) == 0);
}

const char *
http_method(const struct http_request *req)
{

	return (req->q->method == NULL ? "GET" : req->q->method);
}

const char *
http_path(const struct http_request *req)
{

	return (req->q->path == NULL ? "/x" : req->q->path);
}

const char *
http_request_id(const struct http_request *req)
{

	(void)req;
	return ("r1");
}

const char *
http_peer(const struct http_request *req)
{

	(void)req;
	return ("192.0.2.1");
}

bool
http_peer_in(
    const struct http_request *req, const struct net_networks *networks)
{

	(void)req;
	(void)networks;
	return (true);
}

void
http_set_owner(struct http_request *req, uint64_t owner)
{

	(void)req;
	(void)owner;
}

void
http_sender_found(struct http_request *req, const struct refusal *r)
{

	(void)req;
	(void)r;
	fail();
}

bool
http_client_left(const struct http_request *req)
{

	(void)req;
	return (false);
}

void
http_answer_static(struct http_request *req, int status,
    const char *content_type, const void *data, size_t len)
{
	struct buf body = BUF_INIT;

	buf_add(&body, data, len);
	http_answer(req, status, content_type, &body);
}

void
http_set_timer(struct http_request *req, int64_t at_ms,
    void (*wake)(struct http_request *req, void *arg), void *arg)
{

	(void)req;
	(void)at_ms;
	(void)wake;
	(void)arg;
}

/* ---- HTTP: the answer ---- */

void
http_answer_header(
    struct http_request *req, const char *name, const char *value)
{

	buf_addf(&req->head, "%s: %s\n", name, value);
}

static void
add_body(struct buf *body)
{

	assert_true(buf_ok(body));
	if (body->len > 0)
		buf_add(&played.text, body->data, body->len);
	buf_fini(body);
}

void
http_answer(struct http_request *req, int status, const char *content_type,
    struct buf *body)
{

	played.answers++;
	played_note("%d %s", status, content_type == NULL ? "-" : content_type);
	if (req->head.len > 0)
		buf_add(&played.text, req->head.data, req->head.len);
	if (body != NULL)
		add_body(body);
}

void
http_answer_refusal(struct http_request *req, const struct refusal *r)
{

	(void)req;
	played.answers++;
	assert_int_not_equal(r->problem, PROBLEM_NONE);
	played_note("%d %s: %s%s%s", problem_status(r->problem),
	    problem_slug(r->problem), r->pointer,
	    r->pointer[0] == '\0' ? "" : ": ", r->detail);
	if (r->retry_after_s != 0)
		played_note("retry after %d", r->retry_after_s);
	if (r->head != -1 || r->oldest != -1)
		played_note("head %lld oldest %lld epoch %s",
		    (long long)r->head, (long long)r->oldest, r->epoch);
}

void
http_answer_error(struct http_request *req, const struct err *err)
{

	(void)req;
	played.answers++;
	assert_int_not_equal(RC_OK, err->rc);
	played_note("error %s", err->text);
}

void
http_answer_pieces(struct http_request *req, const char *content_type,
    struct buf *first_piece, http_more_fn more, void *arg)
{

	req->more = more;
	req->more_arg = arg;
	req->piece_wanted = true;
	http_answer(req, 200, content_type, first_piece);
}

void
http_answer_piece(
    struct http_request *req, enum http_piece kind, struct buf *piece)
{
	static const char *const words[] = {"more", "last", "cut"};

	played_note("piece: %s", words[kind]);
	add_body(piece);
	req->piece_wanted = kind == HTTP_PIECE_MORE;
}

/* ---- running a request ---- */

static void
split_query(struct http_request *req)
{
	char *at, *save = NULL, *eq;

	if (req->q->query == NULL)
		return;
	(void)snprintf(req->query, sizeof(req->query), "%s", req->q->query);
	for (at = strtok_r(req->query, "&", &save); at != NULL;
	     at = strtok_r(NULL, "&", &save)) {
		assert_in_range(req->n, 0, PAIRS - 1);
		eq = strchr(at, '=');
		assert_non_null(eq);
		*eq = '\0';
		req->names[req->n] = at;
		req->values[req->n++] = eq + 1;
	}
}

static void
request_end(struct http_request *req)
{

	while (req->nfinis-- > 0)
		req->finis[req->nfinis].fn(req->finis[req->nfinis].arg);
	while (req->nmemory-- > 0)
		free(req->memory[req->nmemory]);
	buf_fini(&req->head);
}

/* Writes ' for ", and starts a line with each object of a list. */
static const char *
readable(struct buf *b)
{
	struct buf text = BUF_INIT;
	size_t i;

	for (i = 0; i < b->len; i++) {
		buf_addc(&text, (char)(b->data[i] == '"' ? '\'' : b->data[i]));
		if (i > 0 && i + 1 < b->len && b->data[i] == ',' &&
		    b->data[i - 1] == '}' && b->data[i + 1] == '{')
			buf_addc(&text, '\n');
	}
	if (text.len > 0 && text.data[text.len - 1] != '\n')
		buf_addc(&text, '\n');
	buf_addc(&text, '\0');
	assert_true(buf_ok(&text));
	buf_reset(b);
	buf_add(b, text.data, text.len);
	buf_fini(&text);
	assert_true(buf_ok(b));
	return (b->data);
}

const char *
played_ask(http_handler_fn handler, const struct question *q)
{
	struct http_request req = {
	    .q = q, .principal = q->stranger ? NULL : &played.who};

	buf_reset(&played.text);
	played.answers = allocs = on_frees = stores = first = last = 0;
	split_query(&req);
	/* Requests of logged-in users have passed rest_enter(). */
	if (!q->stranger)
		assert_true(rest_enter(&played.rest, &req));
	handler(&req, &played.rest);
	play(&req);
	/* There was one answer, and no request is busy any more. */
	assert_int_equal(played.answers, 1);
	assert_int_equal(rest_busy(&played.rest), 0);
	request_end(&req);
	return (readable(&played.text));
}

void
played_expect(
    http_handler_fn handler, const struct question *q, const char *text)
{

	assert_string_equal(played_ask(handler, q), text);
}

http_handler_fn
played_route(
    const struct http_route *routes, const char *method, const char *path)
{

	for (; routes->method != NULL; routes++)
		if (strcmp(routes->method, method) == 0 &&
		    strcmp(routes->path, path) == 0)
			return (routes->handler);
	fail_msg("no route %s %s", method, path);
	return (NULL);
}

static bool
always_ready(void *arg, const char **ret_why)
{

	(void)arg;
	*ret_why = "";
	return (true);
}

int
played_setup(void **state)
{
	struct admin_options o = {.clk = &clk.clk,
	    .version = "1.2",
	    .max_pending = 1000,
	    .max_pending_total = 2000,
	    .max_retries = 20,
	    .rnd = &rnd.rnd,
	    .ready = always_ready};
	struct send_gate_options gate = {.clk = &clk.clk,
	    .rnd = &rnd.rnd,
	    .addressing = {.domain = "here.example"}};
	struct err err = ERR_INIT;

	(void)state;
	memset(&played, 0, sizeof(played));
	wire_init();
	clk_fake_init(&clk, NOW);
	clk_fake_advance(&clk, 5000);
	rnd_seeded_init(&rnd, 1);
	o.metrics = metrics_new();
	assert_non_null(o.metrics);
	assert_int_equal(admin_new(&o, &played.admin, &err), RC_OK);
	played.api.o = (struct api_options){.clk = &clk.clk,
	    .rnd = &rnd.rnd,
	    .metrics = o.metrics,
	    .epoch = "e1",
	    .domain = "here.example",
	    .version = "1.2",
	    .rest = &played.rest,
	    .max_retries = 20};
	played.rest.o.clk = &clk.clk;
	played.rest.o.timing = timing_real();
	played.module = played.admin;
	gate.metrics = o.metrics;
	assert_int_equal(send_gate_new(&gate, &played.api.o.gate, &err), RC_OK);
	lock_init(&played.rest.poll_lock, LOCK_POLL);
	played.rest.streams = htab_new(sizeof(int64_t));
	assert_non_null(played.rest.streams);
	played.who = (struct principal){
	    .user_id = 7, .device_id = 70, .name = "ann", .admin = true};
	return (0);
}

int
played_teardown(void **state)
{

	(void)state;
	send_gate_free(played.api.o.gate);
	assert_int_equal(htab_count(played.rest.streams), 0);
	htab_free(played.rest.streams);
	lock_fini(&played.rest.poll_lock);
	admin_free(played.admin);
	metrics_free(played.api.o.metrics);
	buf_fini(&played.text);
	return (0);
}

/* ---- faults ---- */

/* The answer to ${q} must end with ${end}; ${why} names the case. */
static void
assert_end(const struct http_route *route, const struct question *q,
    const char *end, const char *why)
{
	const char *text = played_ask(route->handler, q);
	size_t n = strlen(text), k = strlen(end);

	if (n < k || strcmp(text + n - k, end) != 0)
		fail_msg("%s %s, %s:\n%sdoes not end with\n%s", route->method,
		    route->path, why, text, end);
}

#define NO_MEMORY "503 busy: out of memory\nretry after 1\n"

/* Fails each call that ${q} makes in turn; each answer must end with ${end}.
 * Returns the number of calls. */
static int
fail_each(const struct http_route *route, const struct question *q, int *which,
    int *calls, const char *end, const char *why)
{
	int k, n;

	(void)played_ask(route->handler, q);
	n = *calls;
	for (k = 1; k <= n; k++) {
		*which = k;
		assert_end(route, q, end, why);
	}
	*which = 0;
	return (n);
}

void
played_failures(const struct http_route *routes,
    bool (*question)(const struct http_route *route, struct question *ret),
    const char *(*full_readers)(const struct http_route *route))
{
	const struct http_route *route;
	struct question q, strange;
	int asked = 0, reads;

	for (route = routes; route->method != NULL; route++) {
		q = (struct question){.method = route->method};
		if (!question(route, &q))
			continue;
		asked++;
		strange = q;
		strange.query = "strange=1";
		assert_end(route, &strange,
		    "400 bad-request: parameter 'strange' is unknown here\n",
		    "an unknown parameter");
		(void)fail_each(route, &q, &played.alloc_fails, &allocs,
		    NO_MEMORY, "no memory");
		(void)fail_each(route, &q, &played.on_free_fails, &on_frees,
		    NO_MEMORY, "no memory for the end");
		reads = fail_each(route, &q, &played.store_fails, &stores,
		    "error the disk\n", "a store that fails");
		if (reads > 0) {
			played.no_snapshot = true;
			assert_end(route, &q, "error no snapshot\n", "no view");
			played.no_snapshot = false;
			played.readers_rc = RC_BUSY;
			assert_end(route, &q,
			    full_readers ? full_readers(route) : PLAYED_FULL,
			    "full readers");
			played.readers_rc = RC_OK;
		}
		(void)played_ask(route->handler, &q);
		if (strcmp(route->method, "GET") == 0)
			continue;
		played.writer_rc = RC_BUSY;
		assert_end(route, &q, PLAYED_FULL, "a full writer");
		played.writer_rc = RC_OK;
		played.unit_rc = RC_BUSY;
		assert_end(route, &q, PLAYED_HELD, "a writer that gives up");
		played.unit_rc = RC_OK;
	}
	assert_true(asked > 0);
}
