/* SPDX-License-Identifier: MIT */
/*
 * The api as a whole: its life, the table of routes, and who is asking.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "api/api_internal.h"
#include "base/mem.h"
#include "crypt/crypt.h"

/* New users from one network, where registration is open: a class may, a
 * script that fills the table may not. */
#define NEWCOMERS_RATE (1.0 / 6)
#define NEWCOMERS_BURST 50
/* New users of all networks together: this many minutes' worth at once. */
#define JOINING_BURST_MIN 5

/* ---- life ---- */

enum rc
api_new(const struct api_options *options, struct api **ret, struct err *err)
{
	struct usage_options usage = {.clk = options->clk,
	    .readers = options->readers,
	    .shared = options->shared,
	    .messages_most = options->quota_messages,
	    .bytes_most = options->quota_bytes};
	double rate = options->rate_limit;
	double joining = rate > 0 ? options->registration_rate : 0;
	struct api *api;
	enum rc rc;

	if ((api = mem_zalloc(1, sizeof(*api))) == NULL)
		return (err_set(err, RC_NO_MEMORY, "api"));
	api->o = *options;
	(void)pthread_mutex_init(&api->ids_lock, NULL);
	(void)pthread_mutex_init(&api->poll_lock, NULL);
	uuid_gen_init(&api->ids, options->clk, options->rnd);
	api->guesses = guesses_new();
	/* A second's worth at once: a client that was away catches up. */
	if (rate > 0) {
		api->requests = limiter_new(rate, rate < 1 ? 1 : 2 * rate);
		api->newcomers = limiter_new(NEWCOMERS_RATE, NEWCOMERS_BURST);
	}
	if (joining > 0)
		api->joining =
		    limiter_new(joining / 60, joining * JOINING_BURST_MIN);
	usage.under_way = &api->busy;
	api->usage = usage_new(&usage);
	if (api->guesses == NULL || api->usage == NULL ||
	    (joining > 0 && api->joining == NULL) ||
	    (rate > 0 && (api->requests == NULL || api->newcomers == NULL)))
		rc = err_set(err, RC_NO_MEMORY, "api");
	else
		rc = pool_new(options->argon2_threads, &api->pool, err);
	if (rc != RC_OK) {
		api_free(api);
		return (rc);
	}
	*ret = api;
	return (RC_OK);
}

void
api_stop(struct api *api)
{

	atomic_store(&api->stopped, true);
	pool_stop(api->pool);
}

size_t
api_busy(const struct api *api)
{

	return (atomic_load(&api->busy));
}

void
api_free(struct api *api)
{

	if (api == NULL)
		return;
	if (api->pool != NULL && !atomic_load(&api->stopped))
		pool_stop(api->pool);
	pool_free(api->pool);
	limiter_free(api->requests);
	limiter_free(api->newcomers);
	limiter_free(api->joining);
	guesses_free(api->guesses);
	usage_free(api->usage);
	(void)pthread_mutex_destroy(&api->ids_lock);
	(void)pthread_mutex_destroy(&api->poll_lock);
	mem_free(api);
}

struct admin *
api_admin(const struct api *api)
{

	return (api->o.admin);
}

/* ---- who is asking ---- */

#define STRANGER_TEXT                                                          \
	"send \"Authorization: Bearer <token>\" with a token of POST "         \
	"/v1/tokens"

struct caller {
	struct ask ask; /* first */
	uint8_t hash[CRYPT_HASH_SIZE];
	uint64_t generation;
	struct principal who;
};

/* The token of an Authorization header of the Bearer scheme. */
static bool
bearer_hash(const char *header, uint8_t ret[CRYPT_HASH_SIZE])
{

	if (header == NULL || strncasecmp(header, "Bearer ", 7) != 0)
		return (false);
	header += 7;
	return (crypt_token_hash(header, strlen(header), ret));
}

void
ask_refuse_stranger(struct ask *ask)
{

	ask_problem(ask, PROBLEM_UNAUTHENTICATED, "", STRANGER_TEXT);
}

bool
api_admits(struct api *api, int64_t user_id, int *ret_wait_s)
{

	return (api->requests == NULL ||
		limiter_take(api->requests, &user_id, sizeof(user_id),
		    clk_mono_ms(api->o.clk), ret_wait_s));
}

bool
api_charge_items(struct api *api, int64_t user_id, size_t n, struct refusal *r)
{
	const struct limiter_charge charge = {
	    &user_id, sizeof(user_id), (double)n};
	int wait_s;

	if (api->requests == NULL || n == 0 ||
	    limiter_charge(
		api->requests, &charge, clk_mono_ms(api->o.clk), &wait_s))
		return (true);
	refusal_set(r, PROBLEM_RATE_LIMITED, "",
	    "at most %g requests a second, and each message of an array is one",
	    api->o.rate_limit);
	r->retry_after_s = wait_s;
	return (false);
}

bool
api_admits_send(struct api *api, int64_t user_id,
    const struct usage_amount *amount, struct refusal *r)
{
	int wait_s;

	if (api->o.disk_low != NULL && atomic_load(api->o.disk_low)) {
		metrics_add(api->o.metrics, METRIC_SENDS_NO_ROOM, 1);
		refusal_set(r, PROBLEM_STORAGE_FULL, "",
		    "the server's disk is nearly full: it takes no new "
		    "messages");
		return (false);
	}
	if (usage_take(api->usage, user_id, amount, &wait_s))
		return (true);
	metrics_add(api->o.metrics, METRIC_SENDS_OVER_QUOTA, 1);
	refusal_set(r, PROBLEM_QUOTA_USED, "",
	    "a user may send %lld messages and %lld bytes a day (UTC)",
	    (long long)api->o.quota_messages, (long long)api->o.quota_bytes);
	r->retry_after_s = wait_s;
	return (false);
}

void
api_send_undone(
    struct api *api, int64_t user_id, const struct usage_amount *amount)
{

	usage_return(api->usage, user_id, amount);
}

/* ${who} is known: may he? */
static void
admit(struct ask *ask, struct principal *who)
{
	struct api *api = ask->api;
	struct refusal r = REFUSAL_INIT;
	int wait_s;

	if ((http_route_flags(ask->req) & HTTP_ADMIN) != 0 && !who->admin) {
		ask_problem(
		    ask, PROBLEM_FORBIDDEN, "", "this is for administrators");
		return;
	}
	if (!api_admits(api, who->user_id, &wait_s)) {
		refusal_set(&r, PROBLEM_RATE_LIMITED, "",
		    "at most %g requests a second", api->o.rate_limit);
		r.retry_after_s = wait_s;
		ask_refuse(ask, &r);
		return;
	}
	http_set_principal(ask->req, who);
	http_request_authorized(ask->req);
}

enum rc
api_still_admitted(struct ask *ask, struct db *db, struct err *err)
{
	uint8_t hash[CRYPT_HASH_SIZE];
	struct principal who;
	enum rc rc;

	if (!bearer_hash(http_header(ask->req, "Authorization"), hash))
		return (RC_NOT_FOUND);
	if (auth_find(ask->api->o.auth, hash, &who))
		return (RC_OK);
	rc = auth_load(db, hash, &who, err);
	return (rc);
}

static enum rc
load_caller(struct ask *ask, struct db *db, struct err *err)
{
	struct caller *c = (struct caller *)(void *)ask;
	enum rc rc;

	rc = auth_load(db, c->hash, &c->who, err);
	if (rc == RC_NOT_FOUND) {
		ask_refuse_stranger(ask);
		return (RC_OK);
	}
	if (rc != RC_OK)
		return (rc);
	auth_put(ask->api->o.auth, c->hash, &c->who, c->generation);
	admit(ask, &c->who);
	return (RC_OK);
}

void
api_authorize(struct http_request *req, void *arg)
{
	struct api *api = arg;
	struct caller *c;

	if (!api_enter(api, req) || (c = ask_new(api, req, sizeof(*c))) == NULL)
		return;
	if (!bearer_hash(http_header(req, "Authorization"), c->hash)) {
		ask_refuse_stranger(&c->ask);
	} else if (auth_find(api->o.auth, c->hash, &c->who)) {
		admit(&c->ask, &c->who);
	} else {
		c->generation = auth_generation(api->o.auth);
		ask_read(&c->ask, load_caller);
	}
}

/* ---- whose body is read ---- */

enum http_sender
api_head(struct http_request *req, void *arg)
{
	struct api *api = arg;
	uint8_t hash[CRYPT_HASH_SIZE];
	struct principal who;

	if (!bearer_hash(http_header(req, "Authorization"), hash))
		return (HTTP_SENDER_STRANGER);
	if (!auth_find(api->o.auth, hash, &who))
		return (HTTP_SENDER_UNKNOWN);
	http_set_owner(req, owner_user(who.user_id));
	return (HTTP_SENDER_KNOWN);
}

/* A sender that is looked up before the body is read. */
struct sender_ask {
	struct read_job job; /* first */
	struct api *api;
	struct http_request *req;
	uint8_t hash[CRYPT_HASH_SIZE];
	uint64_t generation;
};

/* Thread: reader. */
static void
find_sender(struct read_job *job, struct db *db, struct err *err)
{
	struct sender_ask *a = (struct sender_ask *)(void *)job;
	struct api *api = a->api;
	struct refusal r = REFUSAL_INIT;
	struct principal who;
	enum rc rc = err->rc;

	if (db != NULL)
		rc = auth_load(db, a->hash, &who, err);
	if (rc == RC_OK) {
		auth_put(api->o.auth, a->hash, &who, a->generation);
		http_set_owner(a->req, owner_user(who.user_id));
	} else if (rc == RC_NOT_FOUND) {
		refusal_set(&r, PROBLEM_UNAUTHENTICATED, "", STRANGER_TEXT);
	} else {
		refusal_of_rc(&r, rc);
	}
	http_sender_found(a->req, rc == RC_OK ? NULL : &r);
	api_leave(api);
}

enum rc
api_lookup(struct http_request *req, void *arg)
{
	struct api *api = arg;
	struct sender_ask *a;
	enum rc rc;

	if ((a = http_alloc(req, sizeof(*a))) == NULL)
		return (RC_NO_MEMORY);
	if (!bearer_hash(http_header(req, "Authorization"), a->hash))
		return (RC_INTERNAL); /* api_head() saw that it is one */
	a->job.run = find_sender;
	a->job.owner = owner_peer(http_peer(req));
	a->api = api;
	a->req = req;
	a->generation = auth_generation(api->o.auth);
	atomic_fetch_add(&api->busy, 1);
	rc = atomic_load(&api->stopped)
		 ? RC_CLOSED
		 : readers_submit(api->o.readers, &a->job);
	if (rc != RC_OK)
		api_leave(api);
	return (rc);
}

/* ---- routes ---- */

void
api_later(struct http_request *req, void *arg)
{
	struct api *api = arg;
	struct ask *ask;

	/* Those without a token come here first. */
	if (http_principal(req) == NULL && !api_enter(api, req))
		return;
	if ((ask = ask_new(api, req, sizeof(*ask))) != NULL)
		ask_problem(ask, PROBLEM_NOT_IMPLEMENTED, "",
		    "%s %s comes with a later version", http_method(req),
		    http_path(req));
}

/* A route of the contract that a later version serves: who may not call it is
 * told so already now. */
#define LATER(method, path)                                                    \
	{                                                                      \
		method, path, api_later, HTTP_ANY_BODY                         \
	}
#define LATER_ADMIN(method, path)                                              \
	{                                                                      \
		method, path, api_later, HTTP_ANY_BODY | HTTP_ADMIN            \
	}
#define LATER_PUBLIC(method, path)                                             \
	{                                                                      \
		method, path, api_later, HTTP_ANY_BODY | HTTP_PUBLIC           \
	}

static const struct http_route routes[] = {
    {"GET", "/v1", api_root_get, HTTP_PUBLIC | HTTP_NO_BODY},
    {"POST", "/v1/users", api_users_post, HTTP_PUBLIC},
    {"POST", "/v1/tokens", api_tokens_post, HTTP_PUBLIC},
    {"GET", "/v1/tokens", api_tokens_get, HTTP_NO_BODY},
    {"PATCH", "/v1/tokens/{id}", api_token_patch, 0},
    {"DELETE", "/v1/tokens/{id}", api_token_delete, HTTP_NO_BODY},
    {"POST", "/v1/me/password", api_password_post, 0},
    LATER("DELETE", "/v1/me"),
    LATER("PUT", "/v1/me/blocks/{address}"),
    LATER("DELETE", "/v1/me/blocks/{address}"),
    {"POST", "/v1/messages", api_messages_post, HTTP_LARGE_BODY},
    {"POST", "/v1/to/{address}", api_to_post, HTTP_TEXT_BODY},
    {"GET", "/v1/messages/{id}", api_message_get, HTTP_NO_BODY},
    LATER("PATCH", "/v1/messages/{id}"),
    LATER("DELETE", "/v1/messages/{id}"),
    LATER("PUT", "/v1/messages/{id}/reactions/{emoji}"),
    LATER("DELETE", "/v1/messages/{id}/reactions/{emoji}"),
    {"GET", "/v1/inbox", api_inbox_get, HTTP_NO_BODY},
    {"GET", "/v1/inbox/{seq}", api_event_get, HTTP_NO_BODY},
    {"POST", "/v1/inbox/ack", api_ack_post, 0},
    {"POST", "/v1/inbox/read", api_read_post, 0},
    {"GET", "/v1/inbox/unread", api_unread_get, HTTP_NO_BODY},
    {"GET", "/v1/outbox", api_outbox_get, HTTP_NO_BODY},
    {"GET", "/v1/outbox/{id}", api_entry_get, HTTP_NO_BODY},
    {"DELETE", "/v1/outbox/{id}", api_entry_delete, HTTP_NO_BODY},
    {"POST", "/v1/outbox/{id}/retry", api_entry_retry_post, 0},
    {"GET", "/v1/conversations", api_conversations_get, HTTP_NO_BODY},
    LATER("POST", "/v1/conversations"),
    {"GET", "/v1/conversations/{id}", api_conversation_get, HTTP_NO_BODY},
    LATER("PATCH", "/v1/conversations/{id}"),
    LATER("PUT", "/v1/conversations/{id}/members/{address}"),
    LATER("DELETE", "/v1/conversations/{id}/members/{address}"),
    LATER("PUT", "/v1/conversations/{id}/mute"),
    {"GET", "/v1/conversations/{id}/messages", api_history_get, HTTP_NO_BODY},
    LATER("GET", "/v1/search"),
    LATER("POST", "/v1/blobs"),
    LATER("GET", "/v1/blobs/{hash}"),
    LATER("GET", "/v1/export"),
    LATER_ADMIN("POST", "/v1/import"),
    LATER("PUT", "/v1/push-subscriptions/{id}"),
    LATER("DELETE", "/v1/push-subscriptions/{id}"),
    LATER_PUBLIC("GET", "/.well-known/twinbox"),
    LATER_PUBLIC("POST", "/v1/federation/deliver"),
    {NULL, NULL, NULL, 0},
};

const struct http_route *
api_routes(void)
{

	return (routes);
}
