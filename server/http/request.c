/* SPDX-License-Identifier: MIT */
/*
 * A request as handlers see it, and its memory.  The first ARENA_INLINE bytes
 * of a request's arena are inside struct http_request; more come from the heap.
 * A loop keeps up to SPARES_MAX freed structs http_request and uses them again
 * for later requests.
 */
#include <arpa/inet.h>
#include <assert.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/owner.h"
#include "http/answer_internal.h"
#include "http/http_internal.h"
#include "http/loop_internal.h"
#include "http/request_internal.h"
#include "net/forwarded.h"

#define SPARES_MAX 256
#define CHUNK_SIZE 4096
#define BODY_KEEP (LIMIT_BODY_FREE + 1)

static void
request_check(const struct http_request *req)
{

	assert(req->magic == REQUEST_MAGIC);
}

/* Returns a struct http_request from the free list of ${loop}, or a new one.
 * It is zeroed, except for arena.first, whose bytes are undefined, and except
 * for body.data and body.cap: a struct from the free list may keep the buffer
 * of the body of its earlier request.  Returns NULL if there is no memory. */
static struct http_request *
request_take(struct loop *loop)
{
	struct http_request *req = loop->spare;
	char *body = NULL;
	size_t cap = 0;

	if (req != NULL) {
		loop->spare = req->next;
		loop->spares--;
		body = req->body.data;
		cap = req->body.cap;
	} else if ((req = mem_alloc(sizeof(*req))) == NULL) {
		return (NULL);
	}
	memset(req, 0, offsetof(struct http_request, arena.first));
	req->body.data = body;
	req->body.cap = cap;
	return (req);
}

struct http_request *
request_new(struct loop *loop, struct conn *conn, struct MHD_Connection *mhd)
{
	struct http_request *req;

	if ((req = request_take(loop)) == NULL)
		return (NULL);
	req->magic = REQUEST_MAGIC;
	req->answer_msg.kind = MSG_ANSWER;
	req->timer.msg.kind = MSG_TIMER;
	req->timer.gone.kind = SOURCE_GONE;
	req->http = loop->http;
	req->loop = loop;
	req->conn = conn;
	req->mhd = mhd;
	req->account.start_ms = loop->now_ms;
	req->head.method = METHOD_COUNT;
	req->head.method_name = "";
	req->next = loop->requests;
	if (req->next != NULL)
		req->next->prev = req;
	loop->requests = req;
	return (req);
}

void
request_free(struct http_request *req)
{
	struct loop *loop = req->loop;
	struct chunk *chunk;
	struct fini *fini;

	request_check(req);
	while ((fini = req->arena.finis) != NULL) {
		req->arena.finis = fini->next;
		fini->fn(fini->arg);
	}
	while ((chunk = req->arena.chunks) != NULL) {
		req->arena.chunks = chunk->next;
		mem_free(chunk);
	}
	if (req->prev != NULL)
		req->prev->next = req->next;
	else
		loop->requests = req->next;
	if (req->next != NULL)
		req->next->prev = req->prev;
	mem_free(req->answer.out);
	answer_gone(req);
	if (req->http->bodies != NULL)
		budget_give(req->http->bodies, &req->body.hold);
	req->magic = 0;
	if (req->body.cap > BODY_KEEP || loop->spares == SPARES_MAX) {
		mem_free(req->body.data);
		req->body.data = NULL;
		req->body.cap = 0;
	}
	if (loop->spares == SPARES_MAX) {
		mem_free(req);
		return;
	}
	req->next = loop->spare;
	loop->spare = req;
	loop->spares++;
}

void *
request_room(struct http_request *req, size_t size)
{
	struct chunk *chunk = req->arena.chunks;
	const size_t head = (sizeof(*chunk) + 15) & ~(size_t)15;
	void *p;

	if (size > SIZE_MAX / 2)
		return (NULL);
	size = (size + 15) & ~(size_t)15;
	if (size <= ARENA_INLINE - req->arena.used) {
		p = req->arena.first + req->arena.used;
		req->arena.used += size;
		return (p);
	}
	if (chunk == NULL || size > chunk->size - chunk->used) {
		size_t n = head + size;

		if (n < CHUNK_SIZE)
			n = CHUNK_SIZE;
		if ((chunk = mem_alloc(n)) == NULL)
			return (NULL);
		chunk->size = n;
		chunk->used = head;
		chunk->next = req->arena.chunks;
		req->arena.chunks = chunk;
	}
	p = (char *)chunk + chunk->used;
	chunk->used += size;
	return (p);
}

void
request_refuse(
    struct http_request *req, enum problem problem, const char *fmt, ...)
{
	char detail[REFUSAL_DETAIL_SIZE];
	va_list ap;

	if (req->answer.refused)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(detail, sizeof(detail), fmt, ap);
	va_end(ap);
	req->answer.refusal = (struct refusal)REFUSAL_INIT;
	refusal_set(&req->answer.refusal, problem, "", "%s", detail);
	req->answer.refused = true;
}

void
request_id_set(struct http_request *req)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789._-";
	const char *given = req->head.known.request_id;
	struct uuid id;
	size_t n;

	if (given != NULL && (n = strspn(given, allowed)) > 0 &&
	    n <= REQUEST_ID_MAX && given[n] == '\0') {
		memcpy(req->head.id, given, n + 1);
		return;
	}
	id = uuid_gen_next(&req->loop->ids);
	uuid_format(&id, req->head.id);
}

const struct http_gate *
request_gate(const struct http_request *req)
{
	const struct http_gate *gate =
	    req->head.pattern->gate[req->head.method];

	return (gate != NULL ? gate : &req->http->gate);
}

uint64_t
request_owner(const struct http_request *req)
{

	return (req->account.owner != 0 ? req->account.owner
					: owner_peer(http_peer(req)));
}

/* Makes the budget for bodies count ${cap} - 1 bytes for ${req} in total, or
 * none if these are at most LIMIT_BODY_FREE.  The byte for the NUL is not
 * counted, so that bodies whose announced lengths add up to the whole share of
 * an owner fit into that share.  The bytes count against the share of the
 * client's network and, if the user is known when the first bytes are counted,
 * against the share of the user as well.  Returns false, with the count
 * unchanged, if the budget or one of these shares has no room, or if there is
 * no memory to count the bytes. */
static bool
body_room(struct http_request *req, size_t cap)
{
	struct budget_hold *hold = &req->body.hold;
	const size_t bytes = cap - 1;
	bool ok;

	if (req->http->bodies == NULL || bytes <= LIMIT_BODY_FREE)
		return (true);
	if (hold->bytes == 0) {
		hold->owner[0] = owner_peer(http_peer(req));
		hold->owner[1] = req->account.owner;
	}
	ok = budget_take(req->http->bodies, hold, bytes - hold->bytes);
	if (!ok)
		metrics_add(
		    req->http->options.metrics, METRIC_HTTP_BODIES_REFUSED, 1);
	return (ok);
}

/* Returns the new size of the buffer for a body that will have ${n} bytes:
 * twice the old size, or 1024 if the old size is below 1024.  The size is at
 * most the announced length, or the limit of the route if no length was
 * announced, and one byte for the NUL.  If ${n} is at most LIMIT_BODY_FREE, the
 * size is at most LIMIT_BODY_FREE + 1, so that a small body does not count in
 * the budget.  In any case the size is at least ${n} + 1. */
static size_t
body_cap(const struct http_request *req, size_t n)
{
	const size_t most =
	    req->body.announced != 0 ? req->body.announced : req->body.limit;
	size_t cap = req->body.cap < 1024 ? 1024 : 2 * req->body.cap;

	if (cap > most + 1)
		cap = most + 1;
	if (n <= LIMIT_BODY_FREE && cap > LIMIT_BODY_FREE + 1)
		cap = LIMIT_BODY_FREE + 1;
	return (cap < n + 1 ? n + 1 : cap);
}

enum rc
request_body_add(struct http_request *req, const char *p, size_t n)
{
	size_t cap;
	char *body;

	if (n > req->body.limit - req->body.len)
		return (RC_LIMIT);
	if (req->body.len + n + 1 > req->body.cap) {
		cap = body_cap(req, req->body.len + n);
		if (!body_room(req, cap))
			return (RC_BUSY);
		if ((body = mem_realloc(req->body.data, cap)) == NULL)
			return (RC_NO_MEMORY);
		req->body.data = body;
		req->body.cap = cap;
	}
	memcpy(req->body.data + req->body.len, p, n);
	req->body.len += n;
	req->body.data[req->body.len] = '\0';
	return (RC_OK);
}

/* ---- what handlers call ---- */

const char *
http_method(const struct http_request *req)
{

	request_check(req);
	return (req->head.method_name);
}

const char *
http_path(const struct http_request *req)
{

	request_check(req);
	return (req->head.path == NULL ? "" : req->head.path);
}

unsigned
http_route_flags(const struct http_request *req)
{

	request_check(req);
	return (req->head.route == NULL ? 0 : req->head.route->flags);
}

void *
http_route_module(const struct http_request *req)
{

	request_check(req);
	return (req->head.route == NULL
		    ? NULL
		    : req->head.pattern->module[req->head.method]);
}

const char *
http_target(const struct http_request *req)
{

	request_check(req);
	return (req->head.target == NULL ? "" : req->head.target);
}

const char *
http_path_param(const struct http_request *req, const char *name)
{
	const struct pattern *p = req->head.pattern;
	int i;

	request_check(req);
	for (i = 0; p != NULL && i < p->segments; i++)
		if (p->is_param[i] && strcmp(p->segment[i].text, name) == 0)
			return (req->head.segment[i].text);
	return (NULL);
}

const char *
http_query(const struct http_request *req, const char *name)
{
	int i;

	request_check(req);
	for (i = 0; i < req->head.queries; i++)
		if (strcmp(req->head.query[i].name, name) == 0)
			return (req->head.query[i].value);
	return (NULL);
}

void
http_query_each(const struct http_request *req,
    bool (*each)(void *arg, const char *name, const char *value), void *arg)
{
	int i;

	request_check(req);
	for (i = 0; i < req->head.queries; i++)
		if (!each(
			arg, req->head.query[i].name, req->head.query[i].value))
			return;
}

const char *
http_header(const struct http_request *req, const char *name)
{

	request_check(req);
	return (MHD_lookup_connection_value(req->mhd, MHD_HEADER_KIND, name));
}

/* The argument of count_header(), which adds to n the number of headers
 * ${name}, and to bytes the lengths of their values with a comma after each.
 * Unless ${joined} is NULL, count_header() also writes these values, each with
 * a comma after it, to ${joined}. */
struct header_count {
	const char *name;
	size_t len, n, bytes;
	char *joined; /* NULL: only counted */
};

static enum MHD_Result
count_header(void *arg, enum MHD_ValueKind kind, const char *name,
    size_t name_len, const char *value, size_t value_len)
{
	struct header_count *count = arg;

	(void)kind;
	if (name_len != count->len ||
	    strncasecmp(name, count->name, name_len) != 0)
		return (MHD_YES);
	if (count->joined != NULL) {
		memcpy(count->joined + count->bytes, value, value_len);
		count->joined[count->bytes + value_len] = ',';
	}
	count->n++;
	count->bytes += value_len + 1;
	return (MHD_YES);
}

size_t
http_header_count(const struct http_request *req, const char *name)
{
	struct header_count count = {.name = name, .len = strlen(name)};

	request_check(req);
	(void)MHD_get_connection_values_n(
	    req->mhd, MHD_HEADER_KIND, count_header, &count);
	return (count.n);
}

const char *
http_header_list(struct http_request *req, const char *name)
{
	struct header_count count = {.name = name, .len = strlen(name)};

	request_check(req);
	(void)MHD_get_connection_values_n(
	    req->mhd, MHD_HEADER_KIND, count_header, &count);
	if (count.n < 2 ||
	    (count.joined = http_alloc(req, count.bytes)) == NULL)
		return (http_header(req, name));
	count.bytes = 0;
	(void)MHD_get_connection_values_n(
	    req->mhd, MHD_HEADER_KIND, count_header, &count);
	/* count_header() writes a comma after each value; the last comma
	 * becomes the NUL. */
	count.joined[count.bytes - 1] = '\0';
	return (count.joined);
}

bool
http_etag_listed(const char *list, const char *tag)
{
	size_t n;

	while (list != NULL && *list != '\0') {
		list += strspn(list, ", \t");
		if (*list == '*')
			return (true);
		if (list[0] == 'W' && list[1] == '/')
			list += 2;
		n = strcspn(list, ",");
		while (n > 0 && (list[n - 1] == ' ' || list[n - 1] == '\t'))
			n--;
		if (n == strlen(tag) && memcmp(list, tag, n) == 0)
			return (true);
		list += strcspn(list, ",");
	}
	return (false);
}

const char *
http_body(const struct http_request *req, size_t *ret_len)
{

	request_check(req);
	*ret_len = req->body.len;
	return (req->body.len == 0 ? "" : req->body.data);
}

const char *
http_peer(const struct http_request *req)
{

	request_check(req);
	return (
	    req->head.client[0] != '\0' ? req->head.client : req->conn->peer);
}

bool
http_peer_in(
    const struct http_request *req, const struct net_networks *networks)
{
	uint8_t address[16] = {[10] = 0xff, [11] = 0xff};
	const char *peer = http_peer(req);

	return ((inet_pton(AF_INET, peer, address + 12) == 1 ||
		    inet_pton(AF_INET6, peer, address) == 1) &&
		forwarded_believed(networks, address));
}

const char *
http_request_id(const struct http_request *req)
{

	request_check(req);
	return (req->head.id);
}

void *
http_alloc(struct http_request *req, size_t size)
{
	void *p;

	request_check(req);
	if ((p = request_room(req, size)) != NULL)
		memset(p, 0, size);
	return (p);
}

enum rc
http_on_free(struct http_request *req, void (*fini)(void *arg), void *arg)
{
	struct fini *f;

	if ((f = http_alloc(req, sizeof(*f))) == NULL)
		return (RC_NO_MEMORY);
	f->fn = fini;
	f->arg = arg;
	f->next = req->arena.finis;
	req->arena.finis = f;
	return (RC_OK);
}

void
http_set_owner(struct http_request *req, uint64_t owner)
{

	request_check(req);
	req->account.owner = owner;
}

bool
http_client_left(const struct http_request *req)
{
	struct pollfd fd = {.fd = req->conn->fd, .events = POLLRDHUP};

	request_check(req);
	return (poll(&fd, 1, 0) > 0);
}

void
http_set_principal(struct http_request *req, void *principal)
{

	request_check(req);
	req->principal = principal;
}

void *
http_principal(const struct http_request *req)
{

	request_check(req);
	return (req->principal);
}

void
http_request_authorized(struct http_request *req)
{

	request_check(req);
	req->head.route->handler(req, request_gate(req)->arg);
}
