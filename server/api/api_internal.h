/* SPDX-License-Identifier: MIT */
/*
 * What the files of this module share: an ask, which is a request on its way
 * through other threads, the reading of parameters and bodies, answers, the
 * argon2 pool, limiters and long-polls.
 *
 * Life of an ask
 *  1. It lies in the request's memory (http_alloc), so nothing of it is freed
 *     by hand, and whatever is handed to another thread is embedded in it.
 *  2. Exactly one of the ask_* functions that answer is called, last: after it
 *     the request, and the ask in it, may be gone.
 *  3. api->busy counts requests from their entry to that answer.
 */
#ifndef API_API_INTERNAL_H
#define API_API_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "api/api.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mbox.h"
#include "base/uuid.h"
#include "wire/json.h"
#include "wire/wire.h"

struct guesses;
struct limiter;
struct pool;

struct api {
	struct api_options o;
	atomic_size_t busy;
	atomic_bool stopped;
	struct pool *pool;
	struct limiter *requests;  /* by user; NULL: off */
	struct limiter *newcomers; /* by network; NULL: off */
	struct guesses *guesses;   /* log-ins that failed */
	pthread_mutex_t ids_lock;
	struct uuid_gen ids;
	pthread_mutex_t poll_lock; /* the state of every struct poll */
};

/* ---- asks (ask.c) ---- */

struct ask;

/* Reads and answers; an error is answered by the caller.  Thread: reader. */
typedef enum rc (*ask_read_fn)(struct ask *ask, struct db *db, struct err *err);

struct ask {
	struct api *api;
	struct http_request *req;
	const struct principal *who; /* NULL: nobody is logged in */
	struct read_job job;
	ask_read_fn read;
};

/* An ask of ${size} bytes, which begin with a struct ask; NULL: answered. */
void *ask_new(struct api *api, struct http_request *req, size_t size);

/* Runs ${read} in a reader's thread. */
void ask_read(struct ask *ask, ask_read_fn read);

/* Hands ${unit} to the writer; false: answered. */
bool ask_submit(struct ask *ask, struct unit *unit);

/* What a unit's finish sees first.  False: answered. */
bool ask_unit_ok(
    struct ask *ask, const struct unit *unit, const struct refusal *refusal);

/* Whether the token of a request that has waited is still good: RC_NOT_FOUND
 * when it was revoked meanwhile.  Thread: owner of ${db}. */
enum rc api_still_admitted(
    struct ask *ask, struct db *db, struct err *err) MUST_USE;

/* Answers 401: what a token is and where it is to be had. */
void ask_refuse_stranger(struct ask *ask);

/* Makes ${r} say why a unit failed with ${rc}, or was not taken. */
void refusal_of_rc(struct refusal *r, enum rc rc);

/* ---- answers (ask.c) ---- */

/* Answer: with JSON, without a body, with any content, with a refusal, with an
 * error (which is logged), with a problem made on the spot.  Bodies are taken.
 * Thread: any. */
void ask_json(struct ask *ask, int status, struct buf *body);
void ask_empty(struct ask *ask, int status);
void ask_page(
    struct ask *ask, int status, const char *content_type, struct buf *body);
void ask_refuse(struct ask *ask, const struct refusal *r);
void ask_fail(struct ask *ask, const struct err *err);
void ask_problem(struct ask *ask, enum problem p, const char *pointer,
    const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* As ask_json(), with an ETag; 304 when If-None-Match names it. */
void ask_json_tagged(struct ask *ask, int status, struct buf *body);

#define ETAG_SIZE 24

/* The ETag of a body. */
void etag_make(const struct buf *body, char ret[ETAG_SIZE]);

/* Adds a Link header to the next page. */
void ask_link_next(struct ask *ask, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- parameters and bodies (query.c); false: answered ---- */

/* No query parameter but those in ${allowed} (ends with NULL), none twice. */
bool ask_query_check(struct ask *ask, const char *const *allowed);

/* A whole number of the query between ${min} and ${max}; absent: *ret stays. */
bool ask_query_i64(
    struct ask *ask, const char *name, int64_t min, int64_t max, int64_t *ret);

/* The parameter limit. */
bool ask_query_limit(struct ask *ask, int64_t *ret);

/* An id of the query. */
bool ask_query_uuid(
    struct ask *ask, const char *name, bool *ret_present, struct uuid *ret);

/* The id in the path; what is none is not found: "there is no such WHAT". */
bool ask_path_uuid(struct ask *ask, const char *what, struct uuid *ret);

/* Parses digits; false if it is no number of int64. */
bool number_parse(const char *text, int64_t *ret);

/* Parses the body, an object with ${fields}, into ${doc}, which is freed with
 * the request. */
bool ask_body(struct ask *ask, struct wire_doc *doc,
    const struct wire_field *fields, size_t n);

/* ---- rendering (render.c) ---- */

struct store_history;

/* A message outside an inbox; ${to} NULL in groups. */
void render_history(struct buf *b, const struct store_history *m,
    const struct uuid *conversation, int64_t reader_id, const char *to);

/* ---- argon2 (pool.c) ---- */

struct pool_job {
	struct mbox_node node;
	void (*run)(struct pool_job *job); /* thread: argon2 */
	uint64_t owner;                    /* whose share it is of */
};

/* Starts ${threads} threads. */
enum rc pool_new(int threads, struct pool **ret, struct err *err) MUST_USE;

/* Finishes what waits, ends the threads. */
void pool_stop(struct pool *pool);
void pool_free(struct pool *pool);

/* RC_BUSY when too many wait, or more than one owner's share (half) of them,
 * so that nobody keeps all others from logging in; RC_CLOSED when stopping. */
enum rc pool_submit(struct pool *pool, struct pool_job *job) MUST_USE;

/* ---- limiters (limiter.c) ---- */

/* Token buckets by key: ${rate} a second, ${burst} at once.  Bounded: with too
 * many keys those that are full again are dropped, or else all. */
struct limiter *limiter_new(double rate, double burst);
void limiter_free(struct limiter *l);

/* Takes a token of ${n} bytes of key; if there is none false, and in how many
 * seconds there will be.  Thread: any. */
bool limiter_take(struct limiter *l, const void *key, size_t n, int64_t now_ms,
    int *ret_wait_s);

/* Gives one back. */
void limiter_return(
    struct limiter *l, const void *key, size_t n, int64_t now_ms);

/* ---- guesses (guesses.c) ---- */

#define NETWORK_SIZE 64

/* The network that is limited as one: an IPv4 address, the /64 of an IPv6
 * address; what is neither is taken as it is. */
void network_of(const char *peer, char ret[NETWORK_SIZE]);

/* One attempt to log in. */
struct guess {
	char name[LIMIT_NAME_LEN + 1];
	char network[NETWORK_SIZE];
	bool known; /* the name has logged in from there */
};

/* Nobody has guessed yet; NULL: no memory. */
struct guesses *guesses_new(void);
void guesses_free(struct guesses *guesses);

/* Counts an attempt at ${name} (${n} bytes) from ${peer} as wrong until
 * guess_end() says otherwise; false: there were too many, for ${ret_wait_s}.
 * Thread: any. */
bool guess_begin(struct guesses *guesses, const struct span *name,
    const char *peer, int64_t now_ms, struct guess *ret, int *ret_wait_s);

/* It was no guess: ${right} the right password, or it was not looked at. */
void guess_end(
    struct guesses *guesses, const struct guess *g, bool right, int64_t now_ms);

/* ---- long-polls (poll.c) ---- */

/*
 * A request that waits.  It reads; when that gives nothing to tell it waits to
 * be woken and reads again.  Each round registers with push before it reads,
 * so that nothing falls between.  All flags are under api->poll_lock.
 */
struct poll {
	struct ask ask; /* first */
	struct push_waiter waiter;
	bool waits;      /* longer than one read */
	bool registered; /* push has the waiter */
	bool canceled;   /* … and was asked to give it back */
	bool reading;    /* a reader has the job */
	bool woken;      /* push said so while reading */
	bool revoked;    /* the token, while it waited */
	bool expired;    /* what the next read gives is the answer */
	bool ready;      /* answer() as soon as the waiter is back */

	/* Reads; whether there is something to tell.  Called anew each round.
	 * Thread: reader. */
	enum rc (*look)(
	    struct poll *poll, struct db *db, bool *ret_tell, struct err *err);
	/* Answers with what was read last.  Thread: any. */
	void (*answer)(struct poll *poll);
	struct err err; /* rc not RC_OK: the answer */
};

/* Begins; waiter.user_id, after and outbox, look and answer are set.
 * ${wait_s} 0: reads once. */
void poll_start(struct poll *poll, int64_t wait_s);

/* ---- handlers ---- */

/* One for each route of the table in api.c; the argument is the api. */
void api_root_get(struct http_request *req, void *arg);
void api_later(struct http_request *req, void *arg);
void api_users_post(struct http_request *req, void *arg);
void api_tokens_post(struct http_request *req, void *arg);
void api_tokens_get(struct http_request *req, void *arg);
void api_token_patch(struct http_request *req, void *arg);
void api_token_delete(struct http_request *req, void *arg);
void api_password_post(struct http_request *req, void *arg);
void api_messages_post(struct http_request *req, void *arg);
void api_to_post(struct http_request *req, void *arg);
void api_message_get(struct http_request *req, void *arg);
void api_inbox_get(struct http_request *req, void *arg);
void api_event_get(struct http_request *req, void *arg);
void api_ack_post(struct http_request *req, void *arg);
void api_read_post(struct http_request *req, void *arg);
void api_unread_get(struct http_request *req, void *arg);
void api_outbox_get(struct http_request *req, void *arg);
void api_entry_get(struct http_request *req, void *arg);
void api_entry_delete(struct http_request *req, void *arg);
void api_conversations_get(struct http_request *req, void *arg);
void api_conversation_get(struct http_request *req, void *arg);
void api_history_get(struct http_request *req, void *arg);

#endif
