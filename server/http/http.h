/* SPDX-License-Identifier: MIT */
/*
 * HTTP for the layers above: a request, its answer, routes.  This module knows
 * no resources of the API.  It contains the front (the thread that accepts the
 * connections of one port), the libmicrohttpd loops, the request validator,
 * bodies, limits and absolute deadlines.
 *
 * Life of a request: the loop that owns its connection parses the request,
 * finds the route, collects the body, and calls the route's handler in the
 * loop's thread.  If the route is not HTTP_PUBLIC and its gate (struct
 * http_gate) has authorize(), the loop calls authorize() instead, which refuses
 * the request or calls the handler, in any thread.  The handler answers at once
 * or later, from any thread, exactly once, by http_answer() or one of its
 * variants.  If there is no answer yet when authorize() or the handler returns,
 * the loop suspends the connection.  Until the answer the request and
 * everything in it stay valid.  After the call that answers, the loop may free
 * the request at any time.
 */
#ifndef HTTP_HTTP_H
#define HTTP_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/clk.h"
#include "base/err.h"
#include "base/timing.h"
#include "metrics/metrics.h"
#include "model/refusal.h"
#include "net/forwarded.h"

struct http;
struct http_request;

typedef void (*http_handler_fn)(struct http_request *req, void *arg);

enum http_route_flags {
	HTTP_PUBLIC = 1 << 0, /* needs no token */
	HTTP_ADMIN = 1 << 1,  /* needs an administrator's token */
	HTTP_TEXT_BODY =
	    1 << 2,            /* takes any text content type, not only JSON */
	HTTP_NO_BODY = 1 << 3, /* a body is refused */
	HTTP_LARGE_BODY = 1 << 4, /* body up to the array limit */
	HTTP_ANY_BODY = 1 << 5,   /* takes any content type */
	HTTP_PEER_BODY = 1 << 6,  /* body up to LIMIT_PEER_REQUEST_LEN */
	HTTP_SLASH = 1 << 7, /* redirects GET with a slash behind the path */
	/* With HTTP_PUBLIC: the body has the limits of a route with a token. */
	HTTP_FULL_BODY = 1 << 8
};

/* A route.  ${path} consists of segments and {name} placeholders:
 * "/v1/outbox/{id}".  A placeholder matches one segment that is not empty,
 * percent-decoded.  A path has at most 8 segments, and at most 4 of them are
 * placeholders; otherwise http_new() fails with RC_INVALID.  A route for GET
 * also serves HEAD. */
struct http_route {
	const char *method;
	const char *path;
	http_handler_fn handler;
	unsigned flags;
};

/* Called in the loop's thread, in place of the handler, when a request is
 * complete whose route is not HTTP_PUBLIC.  Must find the sender, and then
 * either call http_request_authorized(), which calls the handler, or answer
 * with a refusal, at once or later, from any thread.  If http_head_fn returned
 * HTTP_SENDER_STRANGER, this function is called before the body is read, and
 * must refuse the request before it returns. */
typedef void (*http_authorize_fn)(struct http_request *req, void *arg);

/* The sender of a request, by the head of the request. */
enum http_sender {
	HTTP_SENDER_KNOWN,   /* a user; http_set_owner() was called */
	HTTP_SENDER_UNKNOWN, /* maybe a user: needs http_lookup_fn */
	HTTP_SENDER_STRANGER /* not a user; authorize() refuses at once */
};

/* Called with the head of a request that announces a body and whose route is
 * not HTTP_PUBLIC, before any of the body is read.  The result decides about
 * the body.  HTTP_SENDER_KNOWN: it is read.  HTTP_SENDER_UNKNOWN: if it may be
 * longer than LIMIT_REQUEST_LEN, it is read only after a look-up of the sender,
 * otherwise at once.  HTTP_SENDER_STRANGER: it is not read.  Thread: the
 * loop's. */
typedef enum http_sender (*http_head_fn)(struct http_request *req, void *arg);

/* Starts the look-up of a sender that is HTTP_SENDER_UNKNOWN, before a body is
 * read that may be longer than LIMIT_REQUEST_LEN.  If this function returns
 * RC_OK, another thread must call http_sender_found() exactly once, which may
 * happen before this function has returned.  On any other result the client
 * gets the problem that belongs to the result, and the connection is closed.
 * Thread: the loop's. */
typedef enum rc (*http_lookup_fn)(struct http_request *req, void *arg);

/* Called with each piece of a body, in order, after the piece has been appended
 * to the body.  A function that computes a digest of the body piece by piece
 * has the digest when the body is complete.  Borrows ${p}.  Thread: the loop's.
 */
typedef void (*http_piece_fn)(
    struct http_request *req, const char *p, size_t n, void *arg);

/* The functions that decide whether a request is let in. */
struct http_gate {
	http_authorize_fn authorize; /* NULL: the handler is called at once */
	http_head_fn head;           /* NULL: every body is read */
	http_lookup_fn lookup;       /* needed if head may return UNKNOWN */
	http_piece_fn piece;         /* NULL: pieces are only kept */
	void *arg; /* last argument of these functions and of the handlers */
};

/* The routes of a module, the gate of these routes, and the module's own
 * struct, which the handlers get from http_route_module(). */
struct http_routes {
	const struct http_route *list; /* kept; ends with method NULL */
	void *module;
	/* Kept.  NULL: the gate of the options (authorize, head, lookup,
	 * route_arg). */
	const struct http_gate *gate;
};

/* Takes over the socket ${fd} of a connection that begins with a GET of
 * upgrade_path (struct http_options), and must close the socket, also on
 * failure.  Nothing has been read from the socket yet, not even the head of
 * the request.  ${from} describes the client and is borrowed.  Thread: the
 * front's. */
typedef void (*http_upgrade_fn)(int fd, const struct net_from *from, void *arg);

/* One owner (a user, another server, or a network: an IPv4 address, or the /64
 * of an IPv6 address) may hold at most a quarter of the memory for bodies
 * (body_bytes of struct http_options), and a quarter of the memory for answers
 * (answer_bytes). */
#define HTTP_OWNER_PART 4

struct http_options {
	const char *listen; /* "127.0.0.1:8080", "[::1]:0" */
	int listener;       /* from http_keep_listener(); 0: none */
	int loops;          /* at least 1; one more serves long-polls */
	const struct http_routes *routes; /* ends with list NULL */
	void *route_arg;                  /* last argument of handlers */
	http_authorize_fn authorize;
	http_head_fn head;        /* NULL: every body is read */
	http_lookup_fn lookup;    /* needed if head may return UNKNOWN */
	const char *upgrade_path; /* "/v1/ws" */
	http_upgrade_fn upgrade;
	void *upgrade_arg;
	/* The time limit, in ms, for a request to arrive; after it the
	 * connection is closed without an answer.  On a new connection the
	 * front waits at most this long for the bytes by which it chooses the
	 * loop (of a GET, the request line), and the loop as long again for the
	 * rest.  On a kept connection the time begins when the loop notices
	 * that a request has begun. */
	int64_t request_deadline_ms;
	/* The time limit, in ms, for the pause between two requests, and for
	 * the client to read an answer or, in an answer in pieces, each block
	 * of at most 16 KiB.  After it the connection is closed. */
	int64_t idle_deadline_ms;
	size_t connection_limit;
	size_t address_limit; /* connections per address; 0: no limit */
	/* A connection whose descriptor would have this number, or a higher
	 * one, is refused; 0: no limit.  The kernel gives the lowest free
	 * number, so such a number means that the process as a whole has this
	 * many descriptors open. */
	size_t descriptors;

	/* body_bytes is the most memory, in bytes, for the bodies of all
	 * requests under way, and answer_bytes the most for all answers that
	 * have not been sent yet; 0: no limit.  One user, network or other
	 * server may hold 1/HTTP_OWNER_PART of each.  If there is no room, the
	 * client gets a 503, but an answer in pieces that has begun is cut off.
	 * Not counted are bodies of at most LIMIT_BODY_FREE bytes, answers and
	 * pieces of at most LIMIT_ANSWER_FREE bytes, and answers in static
	 * storage. */
	size_t body_bytes, answer_bytes;
	/* Proxies whose headers name the client (behind-proxy). */
	struct net_networks believed;
	const struct clk *clk;
	const struct timing *timing; /* kept; NULL: timing_real() */
	struct metrics *metrics;
};

/* Makes the listening socket and the loops, but starts no threads.  If
 * options->listener is given, it is used instead of a new socket; this function
 * takes it over, and closes it on failure.  Copies ${options} and uses the
 * array options->routes only during the call; all other pointers, also those in
 * the array, must stay valid until http_stop().  Sets ${*ret} only on success.
 * RC_INVALID: options->listen or a route is malformed, or the host was not
 * found.  RC_EXISTS: two routes have the same method and path.  RC_BUSY:
 * listening failed, mostly because the address is taken or does not exist.
 * RC_DENIED: the process may not listen on the address.  Also RC_NO_MEMORY, and
 * RC_IO or RC_INTERNAL from the system or libmicrohttpd. */
enum rc http_new(const struct http_options *options, struct http **ret,
    struct err *err) MUST_USE;

/* Starts the front and the loops.  After a failure only http_stop() may follow.
 */
enum rc http_start(struct http *http, struct err *err) MUST_USE;

/* Returns the port that the server listens on. */
int http_port(const struct http *http);

/* Returns a duplicate of the listening socket for the next server on this port
 * (http_options.listener).  From http_drain() until that server accepts, new
 * connections wait in the kernel's queue, and no other process can take the
 * port.  The caller owns the descriptor; 0 means that no descriptor was left.
 * Call it before http_drain(). */
int http_keep_listener(const struct http *http);

/* Makes the front accept what the kernel has queued, and then close the
 * listening socket, but does not wait for this.  Requests under way go on;
 * those that wait with a timer are woken at once.  From now on answers have
 * "Connection: close".  Each connection that is open without a request may
 * still send one, which is served: a proxy may have sent this request before
 * the proxy learnt of the drain, and does not repeat a request that is not
 * idempotent.  Thread: any.  Blocks: never. */
void http_drain(struct http *http);

/* Calls http_drain().  From now on each request whose head arrives is refused
 * with the problem "draining" (status 503), and its connection is closed.
 * Thread: any.  Blocks: never. */
void http_refuse(struct http *http);

/* http_pending() returns the number of requests under way (from the end of a
 * request's head until its answer has been sent or its connection has ended),
 * http_begun() the number of requests whose head has ever been received, and
 * http_connections() the number of open connections, without WebSockets.
 * Thread: any. */
size_t http_pending(const struct http *http);
uint64_t http_begun(const struct http *http);
size_t http_connections(const struct http *http);

/* Stops the server.  Sends the answers that are there, for at most http_stop_ms
 * (1 s); answers 503 to requests that have arrived but have no answer; cuts off
 * answers that wait for a next piece; closes every connection, also those on
 * which a request is arriving; ends the threads and frees ${http}.  NULL is
 * allowed.  The threads that answer requests must have ended before: no thread
 * may call http_answer() any more. */
void http_stop(struct http *http);

/* ---- a request, as handlers see it ---- */

/* Return the method ("GET") and the decoded path. */
const char *http_method(const struct http_request *req);
const char *http_path(const struct http_request *req);

/* Return the flags and the module of the route that ${req} has; 0 and NULL if
 * it has no route. */
unsigned http_route_flags(const struct http_request *req);
void *http_route_module(const struct http_request *req);

/* Returns the target as the client sent it, with its query and its escapes, or
 * "" if there was no memory to keep it, or it was longer than 8192 bytes. */
const char *http_target(const struct http_request *req);

/* Returns the decoded value of the route's placeholder ${name} ("id" for
 * "{id}"), or NULL if the route has no such placeholder. */
const char *http_path_param(const struct http_request *req, const char *name);

/* Returns the value of the first query parameter ${name}, percent-decoded and
 * with "+" as a space, or NULL if there is none.  Without "=" the value is "".
 */
const char *http_query(const struct http_request *req, const char *name);

/* Calls ${each} with the decoded name and value of each query parameter, in
 * their order, until ${each} returns false.  A caller can thus refuse a request
 * with an unknown parameter and name the parameter. */
void http_query_each(const struct http_request *req,
    bool (*each)(void *arg, const char *name, const char *value), void *arg);

/* Returns the value of the first header ${name} (case-insensitive), or NULL. */
const char *http_header(const struct http_request *req, const char *name);

/* Returns the value of the header ${name}, which is a list.  Several lines of
 * the header are joined by commas into one list (RFC 9110, 5.3), which is freed
 * with the request.  Without memory to join them, returns the first line.  NULL
 * if there is no such header. */
const char *http_header_list(struct http_request *req, const char *name);

/* Returns the number of headers ${name}. */
size_t http_header_count(const struct http_request *req, const char *name);

/* Returns true if ${list}, the value of If-None-Match, contains "*" or the ETag
 * ${tag}, whose quotes are part of ${tag}.  Ignores W/ before an ETag of the
 * list (weak comparison).  Returns false if ${list} is NULL. */
bool http_etag_listed(const char *list, const char *tag);

/* Returns the body with a NUL behind it, and stores its length without the NUL
 * in *ret_len.  If the request has no body, returns "" and stores 0. */
const char *http_body(const struct http_request *req, size_t *ret_len);

/* Returns the client's address as text.  Behind a believed proxy this is the
 * address that the proxy names, if it names one (net/forwarded.h). */
const char *http_peer(const struct http_request *req);

/* Returns true if the address of http_peer() is in one of ${networks}. */
bool http_peer_in(
    const struct http_request *req, const struct net_networks *networks);

/* Returns the request id, which the answer carries as X-Request-Id. */
const char *http_request_id(const struct http_request *req);

/* Returns ${size} zeroed bytes that are freed with the request, or NULL if
 * there is no memory.  Thread: the one that handles the request. */
void *http_alloc(struct http_request *req, size_t size);

/* Registers ${fini}, which is called with ${arg} when the request is freed, in
 * the loop's thread.  The function that was registered last is called first.
 * RC_NO_MEMORY: it was not registered. */
enum rc http_on_free(
    struct http_request *req, void (*fini)(void *arg), void *arg) MUST_USE;

/* Set and return the principal of the request: the pointer by which the
 * functions of the gate (struct http_gate) pass the sender that they have found
 * to each other and to the handler.  NULL until it is set.  The request keeps
 * the pointer but does not own it. */
void http_set_principal(struct http_request *req, void *principal);
void *http_principal(const struct http_request *req);

/* Sets the owner (base/owner.h) to whom the memory for this request is counted
 * (body_bytes and answer_bytes of struct http_options).  An answer is counted
 * to the owner, or without an owner to the client's network.  A body is counted
 * to the network, and to the owner as well if the owner is set before the body
 * is read. */
void http_set_owner(struct http_request *req, uint64_t owner);

/* Ends the look-up that http_lookup_fn began.  ${r} is NULL if the sender is a
 * user and the body may be read; otherwise it is the refusal, which is copied
 * and sent, and the connection is closed.  The caller may call http_set_owner()
 * before, and must not use ${req} afterwards.  Thread: any but the loop's. */
void http_sender_found(struct http_request *req, const struct refusal *r);

/* Returns true if the client has closed its side of the connection, or the
 * connection has failed.  The client may be gone, or it may have ended its
 * sending and still read; the two look the same.  Costs a system call.  Thread:
 * the one that handles the request. */
bool http_client_left(const struct http_request *req);

/* Calls the handler of the route, in the calling thread.  authorize() calls
 * this for a sender that may use the route. */
void http_request_authorized(struct http_request *req);

/* Adds a header to the answer; call it before the function that answers.
 * Copies ${name} and ${value}.  Without memory the answer becomes a 503. */
void http_answer_header(
    struct http_request *req, const char *name, const char *value);

/* Answers with ${status} and takes the content of ${body}, which is empty
 * afterwards (NULL: no body).  ${content_type} is static storage, or NULL for
 * no Content-Type.  Call it once per request.  JSON gets a newline at its end.
 * Never fails: without memory (also if an append to ${body} has failed), or
 * without room in the budget for answers, the client gets a 503.  Thread: any.
 */
void http_answer(struct http_request *req, int status, const char *content_type,
    struct buf *body);

/* Like http_answer(), with ${data} in static storage, which is not copied. */
void http_answer_static(struct http_request *req, int status,
    const char *content_type, const void *data, size_t len);

/* Answers 200 in pieces, for an answer that is too large to hold in memory, or
 * that grows while events happen.  Sends ${first}, whose content it takes, or a
 * 503 as http_answer() does.  Each time libmicrohttpd has read a whole piece,
 * the loop calls ${more} with ${arg}, until a piece is the last one, the
 * connection ends, or the server stops.  ${more} must call http_answer_piece()
 * once, or make sure that another thread or a timer calls it later.  From the
 * call of ${more} until http_answer_piece() the thread that makes the piece
 * owns the request; while a piece is sent, the loop does.  Thread of ${more}:
 * the loop's. */
typedef void (*http_more_fn)(struct http_request *req, void *arg);
void http_answer_pieces(struct http_request *req, const char *content_type,
    struct buf *first, http_more_fn more, void *arg);

/* Sends the next piece, which may be empty, and takes its content.  The answer
 * ends after the piece with HTTP_PIECE_LAST.  HTTP_PIECE_CUT does not send the
 * piece, and ends the connection in a way that the client sees as an error, so
 * that the client does not take a part for the whole.  A piece for which there
 * is no memory, or no room in the budget for answers, becomes HTTP_PIECE_CUT.
 * Thread: any. */
enum http_piece { HTTP_PIECE_MORE, HTTP_PIECE_LAST, HTTP_PIECE_CUT };
void http_answer_piece(
    struct http_request *req, enum http_piece kind, struct buf *piece);

/* Answers with the problem document of ${r}.  Thread: any. */
void http_answer_refusal(struct http_request *req, const struct refusal *r);

/* Answers with the problem that belongs to the rc of ${err}, usually 500.  A
 * 500 is logged with ${err} and the request id.  The client does not see the
 * text of ${err}.  Thread: any. */
void http_answer_error(struct http_request *req, const struct err *err);

/* Calls ${wake} in the loop's thread at monotonic time ${at_ms}, or earlier if
 * the client closes its side or draining begins.  If draining has begun before
 * http_set_timer() is called, ${wake} may run as late as ${at_ms}.  Timers are
 * for long-polls and for the time between two pieces of an answer.  A request
 * has one timer: another call replaces it, and ${at_ms} 0, an answer or a piece
 * cancels it.  ${wake} is called at most once; it answers the request (or gives
 * the next piece), or makes sure that another thread will.
 *
 * Thread: any, while no other thread can answer the request, which means before
 * the request is shown to other threads.  Between two pieces: only the thread
 * of the function ${more} of http_answer_pieces(), during its call.  ${wake}
 * may run while another thread is about to answer: the callers need a lock of
 * their own to decide which of the two answers. */
void http_set_timer(struct http_request *req, int64_t at_ms,
    void (*wake)(struct http_request *req, void *arg), void *arg);

#define HTTP_JSON "application/json"

#endif
