/* SPDX-License-Identifier: MIT */
/*
 * HTTP for the layers above: a request, its answer, routes.  It knows no
 * resource.  Behind it: the front (one port), libmicrohttpd loops, the
 * validator of requests, bodies, limits and absolute deadlines.
 *
 * Life of a request: the loop that owns its connection parses it, finds the
 * route, collects the body, and calls the route's handler in the loop's
 * thread.  The handler answers at once or later, from any thread, exactly once,
 * by http_answer().  Until then the connection is suspended; the request and
 * everything in it stays valid until the answer is sent.
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
	HTTP_PUBLIC = 1 << 0, /* no token needed */
	HTTP_ADMIN = 1 << 1,  /* an administrator's token */
	HTTP_TEXT_BODY =
	    1 << 2,            /* takes any text content type, not only JSON */
	HTTP_NO_BODY = 1 << 3, /* a body is refused */
	HTTP_LARGE_BODY = 1 << 4, /* body up to the array limit */
	HTTP_ANY_BODY = 1 << 5,   /* takes any content type */
	HTTP_PEER_BODY = 1 << 6,  /* body up to LIMIT_PEER_REQUEST_LEN */
	HTTP_SLASH = 1 << 7 /* GET with a slash behind the path: 308 to it */
};

/* A route.  ${path} has segments and {name} placeholders, which match one
 * non-empty segment, percent-decoded: "/v1/outbox/{id}". */
struct http_route {
	const char *method;
	const char *path;
	http_handler_fn handler;
	unsigned flags;
};

/* Called before the handler of every route that is not HTTP_PUBLIC: finds the
 * user, and calls http_request_authorized() or answers (at once or later, from
 * any thread). */
typedef void (*http_authorize_fn)(struct http_request *req, void *arg);

/* The sender of a request, by its head. */
enum http_sender {
	HTTP_SENDER_KNOWN,   /* http_set_owner() was called */
	HTTP_SENDER_UNKNOWN, /* perhaps a user: a look-up tells */
	HTTP_SENDER_STRANGER /* authorize() refuses at once */
};

/* Called with the head of a request whose route is not HTTP_PUBLIC and that
 * announces a body, before anything of the body is read.  Thread: the loop's.
 */
typedef enum http_sender (*http_head_fn)(struct http_request *req, void *arg);

/* Looks an unknown sender up before a large body is read, and calls
 * http_sender_found() later, from another thread.  Another result than RC_OK
 * refuses the request. */
typedef enum rc (*http_lookup_fn)(struct http_request *req, void *arg);

/* Called with each piece of a body, in its order, when the piece has been kept:
 * so a digest is there when the body is whole.  Borrows ${p}.  Thread: the
 * loop's. */
typedef void (*http_piece_fn)(
    struct http_request *req, const char *p, size_t n, void *arg);

/* How requests are let in. */
struct http_gate {
	http_authorize_fn authorize; /* NULL: the handler is called at once */
	http_head_fn head;           /* NULL: every body is read */
	http_lookup_fn lookup;       /* needed where head returns UNKNOWN */
	http_piece_fn piece;         /* NULL: nobody looks at pieces */
	void *arg; /* the second argument of these, and of the handlers */
};

/* The routes of a module, and the module's own struct, which its handlers get
 * from http_route_module(). */
struct http_routes {
	const struct http_route *list; /* kept; ends with method NULL */
	void *module;
	/* Kept.  NULL: that of the options (authorize, head, lookup,
	 * route_arg). */
	const struct http_gate *gate;
};

/* Gives the socket of a connection whose first request line asks for the
 * WebSocket path to its owner (push).  ${fd} passes over; borrows ${from}. */
typedef void (*http_upgrade_fn)(int fd, const struct net_from *from, void *arg);

/* An address or user has a quarter of the memory for bodies or answers. */
#define HTTP_OWNER_PART 4

struct http_options {
	const char *listen; /* "127.0.0.1:8080", "[::1]:0" */
	int listener;       /* see http_keep_listener(); 0: none */
	int loops;          /* libmicrohttpd loops, at least 1 */
	const struct http_routes *routes; /* ends with list NULL */
	void *route_arg;                  /* second argument of handlers */
	http_authorize_fn authorize;
	http_head_fn head;        /* NULL: every body is read */
	http_lookup_fn lookup;    /* needed with head */
	const char *upgrade_path; /* "/v1/ws" */
	http_upgrade_fn upgrade;
	void *upgrade_arg;
	int64_t request_deadline_ms; /* first byte to whole request: 15 s */
	int64_t idle_deadline_ms;    /* keep-alive between requests: 60 s */
	size_t connection_limit;
	size_t address_limit; /* connections of one address; 0: no limit */

	/* Bytes of all bodies that are being read, and of all answers that
	 * their clients have not taken; one address or user has at most one
	 * part of HTTP_OWNER_PART.  Bodies up to LIMIT_BODY_FREE and answers up
	 * to LIMIT_ANSWER_FREE do not count.  0: no limit. */
	size_t body_bytes, answer_bytes;
	struct net_networks believed; /* proxies whose headers count */
	const struct clk *clk;
	const struct timing *timing; /* kept; NULL: timing_real() */
	struct metrics *metrics;
};

/* Makes the listening socket and the loops, no threads yet.  Where
 * options->listener is given, that socket is used instead; the server owns it
 * from now on, also when this fails.  http_port() returns the port.  ${options}
 * is copied; what it points to is kept. */
enum rc http_new(const struct http_options *options, struct http **ret,
    struct err *err) MUST_USE;

/* Starts front and loops.  After a failure only http_stop() may follow. */
enum rc http_start(struct http *http, struct err *err) MUST_USE;

/* The port that is listened on. */
int http_port(const struct http *http);

/* Returns a duplicate of the listening socket for the next server on this port
 * (http_options.listener).  Until that server accepts, new connections wait in
 * the kernel's queue and no other process can take the port.  The caller owns
 * the descriptor; 0 means that none was left.  Call before http_drain(). */
int http_keep_listener(const struct http *http);

/* Stops accepting (closes the listening socket).  Requests under way go on;
 * those that wait with a timer are woken at once; answers from now on say
 * "Connection: close".  Each kept connection may send one more request,
 * which is served: a proxy has sent it before it could know, and does not
 * repeat a request that is not idempotent.  Thread: any.  Blocks: never. */
void http_drain(struct http *http);

/* Drains, and answers new requests on kept connections 503 draining.  Thread:
 * any.  Blocks: never. */
void http_refuse(struct http *http);

/* The number of requests whose head has been read and whose answer has not gone
 * out, of all requests that have ever begun, and of connections. */
size_t http_pending(const struct http *http);
uint64_t http_begun(const struct http *http);
size_t http_connections(const struct http *http);

/* Ends the threads: what is answered goes out (for at most a second), what is
 * not answered gets 503, every connection is closed.  Frees.  NULL is allowed.
 * The threads that answer requests must have ended before: nobody may call
 * http_answer() any more. */
void http_stop(struct http *http);

/* ---- a request, as handlers see it ---- */

/* The method ("GET") and the path, decoded. */
const char *http_method(const struct http_request *req);
const char *http_path(const struct http_request *req);

/* The flags and the module of its route. */
unsigned http_route_flags(const struct http_request *req);
void *http_route_module(const struct http_request *req);

/* The target as it was sent, with its query and its escapes; "" when memory was
 * short. */
const char *http_target(const struct http_request *req);

/* The value of placeholder ${name} of the route; NULL if it has none such. */
const char *http_path_param(const struct http_request *req, const char *name);

/* The first query parameter ${name}, percent-decoded; NULL if absent. */
const char *http_query(const struct http_request *req, const char *name);

/* Calls ${each} for every query parameter, so that unknown ones can be
 * refused by name; stops when it returns false. */
void http_query_each(const struct http_request *req,
    bool (*each)(void *arg, const char *name, const char *value), void *arg);

/* A request header (case-insensitive); NULL if absent. */
const char *http_header(const struct http_request *req, const char *name);

/* The same of a header whose value is a list: several lines of it are one list,
 * as if commas stood between them (RFC 9110, 5.3).  Where there is no memory to
 * join them, the first line. */
const char *http_header_list(struct http_request *req, const char *name);

/* The number of headers ${name}, of which http_header() returns the first. */
size_t http_header_count(const struct http_request *req, const char *name);

/* Whether the ETag ${tag} stands in If-None-Match ${list} (may be NULL). */
bool http_etag_listed(const char *list, const char *tag);

/* The body (NUL-terminated beyond its length); "" and 0 without one. */
const char *http_body(const struct http_request *req, size_t *ret_len);

/* The client's address as text; behind a believed proxy the forwarded one. */
const char *http_peer(const struct http_request *req);

/* Whether that address is in one of ${networks}. */
bool http_peer_in(
    const struct http_request *req, const struct net_networks *networks);

/* The request id that the answer carries. */
const char *http_request_id(const struct http_request *req);

/* ${size} zeroed bytes that live as long as the request and are freed with
 * it; NULL: no memory.  Thread: the one that handles it. */
void *http_alloc(struct http_request *req, size_t size);

/* Calls ${fini}(${arg}) when the request is freed. */
enum rc http_on_free(
    struct http_request *req, void (*fini)(void *arg), void *arg) MUST_USE;

/* The principal that authorize() finds: kept with the request, not owned. */
void http_set_principal(struct http_request *req, void *principal);
void *http_principal(const struct http_request *req);

/* Sets the owner (base/owner.h) of the memory that the request makes the server
 * hold; before, it is its client's network. */
void http_set_owner(struct http_request *req, uint64_t owner);

/* The end of the look-up: ${r} NULL if the sender is a user and the body may be
 * read, else the refusal.  Thread: any but the loop's. */
void http_sender_found(struct http_request *req, const struct refusal *r);

/* Whether the client has closed its side.  It has gone, or it has only ended
 * its sending and still reads; a closed connection shows no difference.  Costs
 * a system call.  Thread: the one that handles the request. */
bool http_client_left(const struct http_request *req);

/* Called by authorize() for a user that may use the route: calls its handler,
 * in the calling thread. */
void http_request_authorized(struct http_request *req);

/* Adds a header to the answer (copied). */
void http_answer_header(
    struct http_request *req, const char *name, const char *value);

/* Answers with ${status} and takes the content of ${body} (NULL: no body).
 * ${content_type} is static storage.  Once per request.  Never fails (without
 * memory the answer is 503).  Thread: any. */
void http_answer(struct http_request *req, int status, const char *content_type,
    struct buf *body);

/* The same with static storage, which is not copied. */
void http_answer_static(struct http_request *req, int status,
    const char *content_type, const void *data, size_t len);

/* Answers in pieces, for what is too large to be held, or has not happened yet:
 * ${first} goes out, then ${more} is called with ${arg} whenever a piece has
 * gone out, until one is the last.  It sees to it that http_answer_piece() is
 * called, once.  Between the pieces nobody has the request.  Thread of ${more}:
 * the loop's. */
typedef void (*http_more_fn)(struct http_request *req, void *arg);
void http_answer_pieces(struct http_request *req, const char *content_type,
    struct buf *first, http_more_fn more, void *arg);

/* The next piece, which may be empty; takes its content.  HTTP_PIECE_CUT ends
 * the connection, so that nobody takes a part for the whole.  Thread: any. */
enum http_piece { HTTP_PIECE_MORE, HTTP_PIECE_LAST, HTTP_PIECE_CUT };
void http_answer_piece(
    struct http_request *req, enum http_piece kind, struct buf *piece);

/* Answers with a problem document. */
void http_answer_refusal(struct http_request *req, const struct refusal *r);

/* Answers 500 (or what ${err}'s rc says) and logs ${err} with the request id:
 * this is the border where errors end. */
void http_answer_error(struct http_request *req, const struct err *err);

/* Calls ${wake} in the loop's thread at monotonic ${at_ms}, or earlier when
 * the client has gone away or draining begins; for long-polls, and between two
 * pieces of an answer.  One timer a request; at_ms 0 cancels it, an answer or a
 * piece too.  It is called at most once, and answers the request (gives the
 * piece) or sees to it that this will be done.
 *
 * Thread: any, while nobody else can answer the request (before it is shown to
 * others); between two pieces that of the function ${more} of
 * http_answer_pieces(), in its call.  ${wake} may be called while another
 * thread is about to answer: who of them answers is for their lock to decide.
 */
void http_set_timer(struct http_request *req, int64_t at_ms,
    void (*wake)(struct http_request *req, void *arg), void *arg);

#define HTTP_JSON "application/json"

#endif
