/* SPDX-License-Identifier: MIT */
/*
 * A request and its memory (request.c), and whether its body is read
 * (sender.c).
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
	REQUEST_NEW,      /* the request line is known */
	REQUEST_CHECKING, /* its sender is looked up before the body is read */
	REQUEST_BODY,     /* headers are accepted, a body may come */
	REQUEST_HANDLING, /* with its handler */
	REQUEST_ANSWERED, /* the answer is known */
	REQUEST_QUEUED    /* the answer is libmicrohttpd's */
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

/* Headers that the module itself needs; borrowed from the connection. */
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
	char *target; /* raw, whole */
	size_t target_len;
	char *path_raw; /* raw, without the query */
	char *path;     /* decoded */
	struct segment segment[SEGMENTS_MAX];
	int segments;
	int slashed;    /* those before a slash at the end; 0: no such slash */
	bool elsewhere; /* the route is the one without that slash */
	struct query_param query[QUERY_MAX];
	int queries;
	struct known_headers known;
	const struct pattern *pattern;
	const struct http_route *route;
	char id[REQUEST_ID_MAX + 1];
	char client[NET_PEER_SIZE]; /* forwarded; "": the connection's peer */
};

struct request_body {
	bool present; /* the head announces one */
	bool unsure;  /* its sender is looked up before it is read */
	char *data;   /* len bytes and a NUL */
	size_t len, cap, limit;
	size_t announced;    /* by Content-Length; 0: it says nothing */
	int64_t checking_ms; /* when the look-up of its sender began */
	struct budget_hold hold;
};

struct request_answer {
	bool refused;      /* ${refusal} is the answer */
	bool close;        /* the connection ends with it */
	bool no_memory;    /* something was lost: it is 503 */
	bool no_store_off; /* the handler gave its own Cache-Control */
	struct refusal refusal;
	int status;
	const char *content_type;
	char *out;         /* owned */
	const void *fixed; /* the same in static storage; then out is NULL */
	size_t out_len;
	size_t out_at; /* how much of out has gone, of a piece */
	struct answer_header *headers;
	http_more_fn more; /* it goes out in pieces; NULL: at once */
	void *more_arg;
	enum http_piece piece; /* what out is of it */
	struct budget_hold hold;
};

/* The timer of a request, and the watch of its socket.  want_* and queued are
 * under loop->timer_lock. */
struct request_timer {
	struct timer_node node;
	void (*wake)(struct http_request *req, void *arg);
	void *wake_arg;
	struct source gone; /* the client has closed its side */
	bool watching;      /* gone is in the epoll set */

	struct loop_msg msg; /* another thread sets the timer */
	bool queued;         /* msg is in the mailbox */
	int64_t want_at_ms;
	void (*want_wake)(struct http_request *req, void *arg);
	void *want_arg;
};

/* The accounting of a request. */
struct request_account {
	int64_t start_ms;
	bool counted;   /* in http->pending */
	uint64_t owner; /* 0: the network of its client */
};

/* Memory that lives as long as the request. */
struct request_arena {
	struct fini *finis;
	struct chunk *chunks;
	size_t used; /* of first */
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
	struct http_request *next, *prev; /* of the loop, or its free list */
	bool suspended;   /* libmicrohttpd waits for MHD_resume_connection() */
	bool dispatching; /* inside its handler, in the loop's thread */
	bool stray;       /* an upgrade on a kept connection: no answer */
	void *principal;
	struct request_account account;
	struct request_head head;
	struct request_body body;
	struct request_answer answer;
	struct request_timer timer;
	struct request_arena arena; /* last: arena.first is not zeroed */
};

/* ---- request.c ---- */

/* A request, in the loop's list.  NULL: no memory. */
struct http_request *request_new(
    struct loop *loop, struct conn *conn, struct MHD_Connection *mhd);

/* Frees ${req} and all that was allocated for it. */
void request_free(struct http_request *req);

/* Room in the arena, not zeroed; NULL: no memory. */
void *request_room(struct http_request *req, size_t size);

/* Refuses ${req}; of several refusals the first is kept. */
void request_refuse(struct http_request *req, enum problem problem,
    const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Appends to the body.  RC_LIMIT: it would exceed body.limit; RC_BUSY: the
 * budget has no room. */
enum rc request_body_add(
    struct http_request *req, const char *p, size_t n) MUST_USE;

/* Takes the client's request id if its characters are allowed, else makes
 * one. */
void request_id_set(struct http_request *req);

/* How ${req}, which has a route, is let in. */
const struct http_gate *request_gate(const struct http_request *req);

/* The owner that ${req} is accounted to: its user, or its client's network. */
uint64_t request_owner(const struct http_request *req);

/* ---- sender.c ---- */

/* Decides at the end of the head of ${req} whether its body is read, or the
 * answer is 401. */
enum MHD_Result sender_check(struct http_request *req);

/* Suspends ${req} while its sender is looked up. */
enum rc sender_look_up(struct http_request *req) MUST_USE;

/* Called when the sender has been looked up: lets the body be read, or refuses.
 * Thread: the loop's, which resumes ${req} next. */
void sender_go_on(struct http_request *req);

#endif
