/* SPDX-License-Identifier: MIT */
/*
 * A request and its memory (request.c), and the decision whether its body is
 * read (sender.c).
 */
#ifndef HTTP_REQUEST_INTERNAL_H
#define HTTP_REQUEST_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <microhttpd.h>

#include "base/budget.h"
#include "base/timer_heap.h"
#include "http/conn_internal.h"
#include "http/http.h"
#include "http/router_internal.h"

#define QUERY_MAX 32
#define REQUEST_ID_MAX 64
#define ARENA_INLINE 1280

#define REQUEST_MAGIC 0x48545251u

enum request_phase {
	REQUEST_NEW,      /* the request line has been read */
	REQUEST_CHECKING, /* its sender is looked up before the body is read */
	REQUEST_BODY,     /* the headers are accepted, a body may follow */
	REQUEST_HANDLING, /* the handler has the request */
	REQUEST_ANSWERED, /* the answer is there */
	REQUEST_QUEUED    /* libmicrohttpd has the answer */
};

struct answer_header {
	struct answer_header *next;
	const char *name;
	const char *value;
};

struct fini {
	struct fini *next;
	void (*fn)(void *arg);
	void *arg;
};

struct query_param {
	const char *name;
	const char *value;
};

struct chunk {
	struct chunk *next;
	size_t used, size;
};

/* Headers that this module itself needs.  libmicrohttpd's connection owns them.
 */
struct known_headers {
	const char *authorization;
	const char *content_type;
	const char *content_length;
	const char *transfer_encoding;
	const char *expect;
	const char *upgrade;
	const char *host;
	const char *request_id;
};

/* The request line and the headers, and what they mean here. */
struct request_head {
	enum method method;
	const char *method_name;
	char *target; /* as it was sent */
	size_t target_len;
	char *path_raw; /* as it was sent, without the query */
	char *path;     /* decoded */
	struct segment segment[SEGMENTS_MAX];
	int segments;
	int slashed;    /* segments before a final slash; 0: no final slash */
	bool elsewhere; /* route is that of the path without the final slash */
	struct query_param query[QUERY_MAX];
	int queries;
	struct known_headers known;
	const struct pattern *pattern;
	const struct http_route *route;
	char id[REQUEST_ID_MAX + 1];
	char client[NET_PEER_SIZE]; /* from a proxy; "": the peer's */
};

struct request_body {
	bool present; /* the head announces a body */
	bool unsure;  /* its sender must be looked up before it is read */
	char *data;   /* len bytes and a NUL */
	size_t len, cap, limit;
	size_t announced;    /* Content-Length; 0: not given */
	int64_t checking_ms; /* when the look-up of its sender began */
	struct budget_hold hold;
};

struct request_answer {
	bool refused;      /* refusal is the answer */
	bool close;        /* the connection ends with the answer */
	bool no_memory;    /* no memory for a part of it: answer 503 */
	bool no_store_off; /* the handler has set Cache-Control */
	struct refusal refusal;
	int status;
	const char *content_type;
	char *out;         /* owned */
	const void *fixed; /* content in static storage, if out is NULL */
	size_t out_len;
	size_t out_at; /* how much of a piece has been sent */
	struct answer_header *headers;
	http_more_fn more; /* set for an answer in pieces */
	void *more_arg;
	enum http_piece piece; /* the kind of the piece in out */
	struct budget_hold hold;
};

/* The timer of a request, and the watch of its socket, which notices that the
 * client has closed its side.  To ask for a timer, a thread other than the
 * loop's sets want_* and queued, and puts msg into the loop's mailbox unless
 * msg is there already; the loop then sets the timer.  loop->timer_lock
 * protects queued and want_*; only the loop's thread uses node, wake, wake_arg,
 * gone and watching. */
struct request_timer {
	struct timer_node node;
	void (*wake)(struct http_request *req, void *arg);
	void *wake_arg;
	struct source gone; /* event: the client has closed its side */
	bool watching;      /* gone is in the epoll set */

	struct loop_msg msg; /* message of another thread that sets the timer */
	bool queued;         /* msg is in the mailbox */
	int64_t want_at_ms;
	void (*want_wake)(struct http_request *req, void *arg);
	void *want_arg;
};

/* The accounting of a request. */
struct request_account {
	int64_t start_ms;
	bool counted;   /* in http->pending */
	uint64_t owner; /* 0: the client's network */
};

/* Memory that lives as long as the request. */
struct request_arena {
	struct fini *finis;
	struct chunk *chunks;
	size_t used; /* used bytes of first */
	_Alignas(16) char first[ARENA_INLINE];
};

struct http_request {
	struct loop_msg answer_msg;
	unsigned magic;
	enum request_phase phase;
	struct http *http;
	struct loop *loop;
	struct conn *conn;
	struct MHD_Connection *mhd;
	struct http_request *next, *prev; /* in the loop's list or free list */
	bool suspended;                   /* until MHD_resume_connection() */
	bool dispatching; /* its handler is being called in the loop's thread */
	bool stray;       /* an upgrade on a kept connection: not answered */
	void *principal;
	struct request_account account;
	struct request_head head;
	struct request_body body;
	struct request_answer answer;
	struct request_timer timer;
	struct request_arena arena; /* last: arena.first is not zeroed */
};

/* ---- request.c ---- */

/* Makes a request and adds it to the loop's list.  Returns NULL if there is no
 * memory.  Thread: the loop's. */
struct http_request *request_new(
    struct loop *loop, struct conn *conn, struct MHD_Connection *mhd);

/* Frees ${req} and everything that was allocated for it.  Thread: the loop's.
 */
void request_free(struct http_request *req);

/* Returns ${size} bytes of the arena of ${req}, aligned to 16 bytes and not
 * zeroed, or NULL if there is no memory.  They are freed with ${req}. */
void *request_room(struct http_request *req, size_t size);

/* Marks ${req} as refused with ${problem} and the detail that ${fmt} makes.
 * The first refusal of a request is kept; later ones are ignored.  Sends
 * nothing: the refusal is sent by the loop's thread later, at the latest when
 * the whole request has arrived. */
void request_refuse(struct http_request *req, enum problem problem,
    const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Appends the ${n} bytes at ${p}, and a NUL, to the body.  RC_LIMIT: the body
 * would exceed body.limit.  RC_BUSY: the budget for bodies has no room.
 * RC_NO_MEMORY: there is no memory.  After a failure the body is unchanged, and
 * the caller refuses the request. */
enum rc request_body_add(
    struct http_request *req, const char *p, size_t n) MUST_USE;

/* Sets head.id, the request id: the client's X-Request-Id, if it consists only
 * of 1 to REQUEST_ID_MAX ASCII letters, digits, dots, underscores and hyphens,
 * else a new UUID. */
void request_id_set(struct http_request *req);

/* Returns the gate of the route of ${req}, which has a route. */
const struct http_gate *request_gate(const struct http_request *req);

/* Returns the owner (base/owner.h) that the memory of the answer to ${req} is
 * counted to: the owner that http_set_owner() has set, or else the client's
 * network.  The memory of a body is counted to the client's network and, if an
 * owner has been set before, also to that owner (body_room()). */
uint64_t request_owner(const struct http_request *req);

/* ---- sender.c ---- */

/* Called at the end of the head of ${req}.  Lets the body be read; or sets
 * body.unsure, so that the sender is looked up before the body is read; or
 * refuses a stranger (a sender that is not a user) at once.  access_handler()
 * returns the result to libmicrohttpd. */
enum MHD_Result sender_check(struct http_request *req);

/* Starts the look-up of the sender of ${req} by the function lookup of the
 * route's gate, and suspends the connection until the result is there
 * (http_sender_found()).  If lookup fails, returns its error and does not
 * suspend; the caller then refuses the request. */
enum rc sender_look_up(struct http_request *req) MUST_USE;

/* Called after the look-up of the sender of ${req}: lets the body be read or,
 * if answer.refused is set, writes the refusal to the socket.  Thread: the
 * loop's, which resumes the connection afterwards in both cases. */
void sender_go_on(struct http_request *req);

#endif
