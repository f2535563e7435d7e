/* SPDX-License-Identifier: MIT */
/*
 * What the files of this module share beyond asks (ask.h): the api itself, the
 * argon2 pool, limiters, long-polls and the handlers.
 */
#ifndef API_API_INTERNAL_H
#define API_API_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "api/api.h"
#include "api/ask.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/owner.h"
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
	struct limiter *joining;   /* newcomers of all networks; NULL: off */
	struct guesses *guesses;   /* log-ins that failed */
	struct usage *usage;       /* what users have sent today */
	pthread_mutex_t ids_lock;
	struct uuid_gen ids;
	pthread_mutex_t poll_lock; /* the state of every struct poll */
};

/* Charges ${n} more requests to ${user_id}: items of an array beyond the first.
 * False: ${r} says why, and none was charged. */
bool api_charge_items(
    struct api *api, int64_t user_id, size_t n, struct refusal *r);

/* ---- rendering (render.c) ---- */

struct store_history;

/* A message outside an inbox; ${to} NULL in groups. */
void render_history(struct buf *b, const struct store_history *m,
    const struct uuid *conversation, int64_t reader_id, const char *to);

/* ---- argon2 (pool.c) ---- */

/* Whose password it is, the best first. */
enum pool_class {
	POOL_KNOWN,    /* of a user who has logged in from this network, or has
			* a token */
	POOL_STRANGER, /* of a log-in from another network */
	POOL_NEWCOMER, /* of a registration */
	POOL_CLASSES
};

struct pool_job {
	void (*run)(struct pool_job *job); /* thread: argon2 */
	enum pool_class class;
	uint64_t owner; /* whose share it is of: the network */

	struct pool_job *next; /* these two are the pool's */
	uint64_t turn;
};

/* Starts ${threads} threads. */
enum rc pool_new(int threads, struct pool **ret, struct err *err) MUST_USE;

/* Finishes what waits, ends the threads. */
void pool_stop(struct pool *pool);
void pool_free(struct pool *pool);

/* Runs ${job} when its turn comes (pool.c).  RC_BUSY when too many of its class
 * wait, or its owner has its share: half as many, so that nobody keeps all
 * others from logging in; RC_CLOSED when stopping.  Thread: any. */
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

/* The same for a cost of several tokens, all or none.  One that is larger than
 * the bucket passes when the bucket is full, and leaves a debt. */
struct limiter_charge {
	const void *key;
	size_t n; /* bytes of the key */
	double cost;
};
bool limiter_charge(struct limiter *l, const struct limiter_charge *charge,
    int64_t now_ms, int *ret_wait_s);

/* Gives one back. */
void limiter_return(
    struct limiter *l, const void *key, size_t n, int64_t now_ms);

/* ---- guesses (guesses.c) ---- */

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
void api_entry_retry_post(struct http_request *req, void *arg);
void api_entry_delete(struct http_request *req, void *arg);
void api_conversations_get(struct http_request *req, void *arg);
void api_conversation_get(struct http_request *req, void *arg);
void api_history_get(struct http_request *req, void *arg);

#endif
