/* SPDX-License-Identifier: MIT */
/*
 * What the files of this module share: the server, its loops, connections
 * and requests.
 *
 * Invariants
 *  1. A connection belongs to the front thread until it is put into a loop's
 *     mailbox, from then on to that loop.
 *  2. libmicrohttpd's functions are called in the loop's own thread only.
 *  3. A request belongs to the loop's thread, except between the call of its
 *     handler and the arrival of its answer in the loop's mailbox, when it is
 *     the handler's; meanwhile its connection is suspended, so that
 *     libmicrohttpd touches nothing of it.
 *  4. A request is freed only inside MHD_run() (or MHD_stop_daemon()), by the
 *     notification that it is complete.
 */
#ifndef HTTP_HTTP_INTERNAL_H
#define HTTP_HTTP_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <netinet/in.h>
#include <sys/socket.h>

#include <microhttpd.h>

#include "base/budget.h"
#include "base/lock.h"
#include "base/mbox.h"
#include "base/thr.h"
#include "base/uuid.h"
#include "http/http.h"
#include "http/timer_heap.h"

/* A request line longer than this is refused; browsers stop at about 8 KiB. */
#define TARGET_LEN_MAX 8192
/* What the front looks at to find the path; longer lines go to a loop. */
#define PEEK_LEN 2048
/* What it looks at to find who asks for an upgrade through a proxy: as much as
 * the WebSocket side takes. */
#define PEEK_HEAD_LEN 4096
#define SEGMENTS_MAX 8
#define PARAMS_MAX 4
#define QUERY_MAX 32
#define HEADERS_MAX 100
#define REQUEST_ID_MAX 64
#define ARENA_INLINE 1280
/* The body of every answer for which there is no memory. */
#define NO_MEMORY_PROBLEM                                                      \
	"{\"type\":\"/problems/busy\",\"title\":\"The server is busy\","       \
	"\"status\":503,\"code\":\"busy\",\"retry_after\":1,"                  \
	"\"detail\":\"out of memory\"}"

/* ---- the router (router.c) ---- */

/* The methods that exist here, in the order of the Allow header. */
enum method {
	METHOD_GET,
	METHOD_HEAD,
	METHOD_POST,
	METHOD_PUT,
	METHOD_PATCH,
	METHOD_DELETE,
	METHOD_OPTIONS,
	METHOD_COUNT
};

/* METHOD_COUNT if ${name} is none of them. */
enum method router_method_find(const char *name);

/* The name of ${method}, "" for METHOD_COUNT.  Static storage. */
const char *router_method_text(enum method method);

struct router;
struct segment {
	const char *text; /* NUL-terminated, decoded */
	size_t len;
};

/* A path of the table with its methods. */
struct pattern {
	struct segment segment[SEGMENTS_MAX];
	bool is_param[SEGMENTS_MAX]; /* text is the name, len its length */
	int segments;
	int params;
	const struct http_route *route[METHOD_COUNT];
	void *module[METHOD_COUNT];
	char allow[64];
	char *text; /* the memory of segment[].text */
};

/* Compiles ${routes}, whose lists it keeps. */
enum rc router_new(const struct http_routes *routes, struct router **ret,
    struct err *err) MUST_USE;

/* NULL is allowed. */
void router_free(struct router *router);

/* The pattern for a path, NULL if there is none. */
const struct pattern *router_find(
    const struct router *router, const struct segment *segments, int n);

/* ---- connections ---- */

enum msg_kind { MSG_CONN, MSG_ANSWER, MSG_TIMER, MSG_WAKE };

struct loop_msg {
	struct mbox_node node;
	enum msg_kind kind;
};

/* What an event of a loop's epoll set is about. */
enum source_kind { SOURCE_MHD, SOURCE_MBOX, SOURCE_GONE, SOURCE_LEFTOVER };

struct source {
	enum source_kind kind;
};

enum conn_phase {
	CONN_RECEIVING, /* a request is arriving: absolute deadline */
	CONN_HANDLING,  /* the handler has it: no deadline here */
	CONN_SENDING,   /* the answer goes out: absolute deadline */
	CONN_IDLE       /* kept alive */
};

struct conn {
	struct loop_msg msg;
	struct http *http;
	struct loop *loop;
	struct conn *next, *prev; /* of the front, then of the loop */
	int fd;
	enum conn_phase phase;
	bool partial;        /* idle, but a part of a request has come */
	bool cut;            /* its socket has been shut down */
	bool entered;        /* counted for its address */
	int64_t deadline_ms; /* monotonic */
	int64_t check_ms;    /* when to look at it next */
	int64_t idle_since_ms;
	uint64_t requests;
	struct sockaddr_storage addr;
	socklen_t addr_len;
	bool believed; /* it is a proxy's: its headers say who asks */
	char peer[NET_PEER_SIZE];
};

struct conn_list {
	struct conn *head, *tail;
};

/* Adds ${conn} at the end. */
void conn_list_add(struct conn_list *list, struct conn *conn);

/* Takes ${conn} out of ${list}. */
void conn_list_remove(struct conn_list *list, struct conn *conn);

/* ---- requests ---- */

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

/* What a request waits for.  want_* and queued: under loop->timer_lock. */
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

/* What a request counts for. */
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
	bool stray;       /* an upgrade that came here: no answer */
	void *principal;
	struct request_account account;
	struct request_head head;
	struct request_body body;
	struct request_answer answer;
	struct request_timer timer;
	struct request_arena arena; /* last: its first bytes are not zeroed */
};

/* A socket that is read empty for a moment after an early answer, so that the
 * answer is not lost to a reset. */
struct leftover {
	struct source source;
	struct leftover *next, *prev;
	int fd;
	size_t bytes;
	int64_t deadline_ms;
};

/* ---- loops (loop.c) ---- */

struct loop {
	struct http *http;
	int index;
	bool long_poll; /* the loop of the requests that wait */
	struct thr *thr;
	struct MHD_Daemon *daemon;
	struct MHD_Response *no_memory; /* made beforehand */
	struct mbox *mbox;
	struct loop_msg wake_msg; /* draining has begun */
	int epoll_fd;
	struct source source_mhd, source_mbox;
	int64_t now_ms;
	atomic_size_t connections;
	struct conn *adding;    /* during MHD_add_connection() */
	struct conn_list conns; /* in the order of check_ms */
	struct http_request *requests;
	struct http_request *spare; /* free list */
	size_t spares;
	struct mbox_node *ready, **ready_tail; /* answered: to be resumed */
	struct timer_heap timers;
	struct lock timer_lock;
	struct leftover *lingers;
	size_t linger_count;
	struct uuid_gen ids;
	bool drain_seen;
	bool answered_past; /* the library's next refusal is answered already */
	int64_t log_window_ms; /* of libmicrohttpd's messages */
	int log_lines, log_dropped;
	int64_t deadline_log_ms;
	int deadlines_unlogged;
};

/* Makes a zeroed loop ready, without its thread. */
enum rc loop_init(
    struct loop *loop, struct http *http, int index, struct err *err) MUST_USE;

/* Closes all connections and frees what ${loop} holds; accepts half-made and
 * zeroed ones. */
void loop_fini(struct loop *loop);

/* The thread's function; ${arg} is the loop. */
void loop_main(void *arg);

/* One turn: waits at most ${wait_ms} (-1: as long as it takes) for something
 * to do and does it.  Whether there was something, or is more.  Thread: the
 * loop's. */
bool loop_turn(struct loop *loop, int wait_ms);

/* The loop of the calling thread, NULL in other threads. */
struct loop *loop_self(void);

/* Resumes ${req} in the next round.  Thread: the loop's. */
void loop_ready(struct loop *loop, struct http_request *req);

/* Sets or cancels a request's timer.  Thread: the loop's. */
void loop_timer_set(struct loop *loop, struct http_request *req, int64_t at_ms,
    void (*wake)(struct http_request *req, void *arg), void *arg);

/* The timer and the watch of the socket end. */
void loop_timer_cancel(struct loop *loop, struct http_request *req);

/* Reads from the peer for a moment after ${req}'s early answer. */
void linger_start(struct loop *loop, int fd);

/* Reads what has come. */
void linger_read(struct loop *loop, struct leftover *left);

/* Closes those whose time is over, or ${all}. */
void linger_expire(struct loop *loop, bool all);

/* ---- libmicrohttpd's callbacks (daemon.c) ---- */

/* Starts libmicrohttpd for ${loop}. */
enum rc daemon_start(struct loop *loop, struct err *err) MUST_USE;

/* ---- parsing (target.c, validator.c) ---- */

/* Copies and decodes the raw target; a refusal goes into ${req}. */
void target_read(struct http_request *req, const char *raw);

/* Whether ${c} can be part of a method or of a header's name. */
bool validator_token_char(unsigned char c);

/* Looks at method, version and headers; fills req->head.known; refuses what is
 * ambiguous (req->answer.refused and close). */
void validator_check(
    struct http_request *req, const char *method, const char *version);

/* Whether ${content_type} suits a route of JSON, or of any ${text}. */
bool validator_media_ok(const char *content_type, bool text);

/* Whether comma-separated ${list} contains ${token}, ignoring case. */
bool validator_list_has(const char *list, const char *token);

/* ---- requests (request.c) ---- */

/* A request, in the loop's list.  NULL: no memory. */
struct http_request *request_new(
    struct loop *loop, struct conn *conn, struct MHD_Connection *mhd);

/* Frees ${req} and all that was allocated for it. */
void request_free(struct http_request *req);

/* Room in the arena, not zeroed; NULL: no memory. */
void *request_room(struct http_request *req, size_t size);

/* Refuses: keeps the first refusal. */
void request_refuse(struct http_request *req, enum problem problem,
    const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Appends to the body.  RC_LIMIT: it would exceed body_limit; RC_BUSY: there is
 * no room in the budget. */
enum rc request_body_add(
    struct http_request *req, const char *p, size_t n) MUST_USE;

/* Whose ${req} is: its owner, or its client's network. */
uint64_t request_owner(const struct http_request *req);

/* Gives back what the answer has taken of the budget. */
void request_answer_gone(struct http_request *req);

/* ---- whose body is read (sender.c) ---- */

/* Decides at the end of the head of ${req}: goes on, or answers 401. */
enum MHD_Result sender_check(struct http_request *req);

/* Suspends ${req} while its sender is looked up. */
enum rc sender_look_up(struct http_request *req) MUST_USE;

/* The sender has been looked up: reads the body, or refuses.  Thread: the
 * loop's, which resumes ${req} next. */
void sender_go_on(struct http_request *req);

/* Makes the refusal of ${req} its answer, and hands it to libmicrohttpd, or
 * writes it past libmicrohttpd where that takes no answer (daemon.c). */
enum MHD_Result request_refuse_now(struct http_request *req);
void request_refuse_raw(struct http_request *req);

/* ---- answers (answer.c) ---- */

/* Brings ${req} back to its loop, which resumes it.  Thread: any. */
void answer_deliver(struct http_request *req);

/* Hands the answer to libmicrohttpd.  Thread: the loop's. */
enum MHD_Result answer_queue(struct http_request *req);

/* Writes the answer past libmicrohttpd, which cannot take it in this state,
 * as far as the socket's buffer goes.  The connection ends afterwards. */
void answer_raw(struct http_request *req);

/* ---- connections by address (conn_limit.c) ---- */

struct htab;

struct conn_limit {
	size_t per_address;  /* connections; 0: no limit */
	struct uuid_gen ids; /* the front's thread */
	struct lock lock;
	struct htab *counts; /* under lock: connections by address */
};

/* Makes a zeroed ${limit} ready. */
enum rc conn_limit_init(
    struct conn_limit *limit, const struct http_options *options) MUST_USE;

/* Frees what ${limit} holds; accepts half-made and zeroed ones. */
void conn_limit_fini(struct conn_limit *limit);

/* Counts ${conn} for its address; false: that has as many as it may have. */
bool conn_limit_enter(struct conn_limit *limit, struct conn *conn);

/* It has gone, if it was counted.  Thread: any. */
void conn_limit_leave(struct conn_limit *limit, struct conn *conn);

/* Sends a problem document on the refused connection , as far as that goes
 * without waiting; whether it went.  Thread: the front's. */
bool conn_limit_refuse(
    struct conn_limit *limit, int fd, enum problem problem, const char *detail);

/* ---- the front (front.c) ---- */

struct front {
	struct http *http;
	struct thr *thr;
	int epoll_fd, wake_fd, listen_fd, reserve_fd;
	struct conn_list conns; /* not yet told apart, oldest first */
	int64_t resume_ms; /* listening pauses until then; 0: it does not */
	int64_t log_ms;
	int log_dropped;
	unsigned turn;
};

enum front_kind {
	FRONT_MORE,
	FRONT_PLAIN,
	FRONT_WAIT,
	FRONT_UPGRADE,
	FRONT_BAD, /* no request begins so */
	FRONT_TLS  /* nor so; and it is the beginning of TLS */
};

/* What the first ${n} bytes of a connection ask for; ${full}: there will not
 * be more to see. */
enum front_kind front_classify(
    const char *p, size_t n, bool full, const char *upgrade_path);

/* Makes a front ready that has its listening socket, without its thread. */
enum rc front_init(
    struct front *front, struct http *http, struct err *err) MUST_USE;

/* Closes what ${front} holds; accepts half-made ones. */
void front_fini(struct front *front);

/* The thread's function; ${arg} is the front. */
void front_main(void *arg);

/* Makes the front look at the flags of the server.  Thread: any. */
void front_wake(struct front *front);

/* ---- the server (http.c) ---- */

struct http {
	struct http_options options;
	struct router *router;
	int port;
	struct front front;
	struct conn_limit conn_limit;
	struct budget *bodies, *answers; /* NULL: no limit */
	struct loop *loops; /* options.loops and the long-polls' one */
	int loop_count;
	bool layout_known;    /* libmicrohttpd parses in place (validator.c) */
	atomic_bool draining; /* no new connections */
	atomic_bool refusing; /* no new requests either */
	atomic_bool front_stop;
	atomic_bool loops_stop;
	atomic_size_t pending;
	atomic_uint_fast64_t taken; /* requests that have begun */
	atomic_size_t connections;
};

/* One connection less. */
void http_conn_free(struct conn *conn);

#endif
