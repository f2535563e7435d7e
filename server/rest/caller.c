/* SPDX-License-Identifier: MIT */
/*
 * Authorization: checks the token of a request, decides whether its body is
 * read, and applies the rate limit of its user.
 */
#include <string.h>
#include <strings.h>

#include "base/owner.h"
#include "crypt/crypt.h"
#include "rest/rest_internal.h"

#define STRANGER_TEXT                                                          \
	"send \"Authorization: Bearer <token>\" with a token of POST "         \
	"/v1/tokens"

struct caller {
	struct call call; /* first */
	uint8_t hash[CRYPT_HASH_SIZE];
	uint64_t generation;
	struct principal principal;
};

/* Writes the hash of the Bearer token in ${header}, the value of an
 * Authorization header.  Returns false, with ${ret} unchanged, if ${header} is
 * NULL, has another scheme, or has a text that does not have the form of a
 * token.  Does not look the token up. */
static bool
bearer_hash(const char *header, uint8_t ret[CRYPT_HASH_SIZE])
{

	if (header == NULL || strncasecmp(header, "Bearer ", 7) != 0)
		return (false);
	header += 7;
	return (crypt_token_hash(header, strlen(header), ret));
}

void
caller_refuse_stranger(struct call *call)
{

	call_problem(call, PROBLEM_UNAUTHENTICATED, "", STRANGER_TEXT);
}

bool
rest_admits(struct rest *rest, int64_t user_id, int *ret_wait_s)
{

	return (rest->requests == NULL ||
		limiter_take(rest->requests, &user_id, sizeof(user_id),
		    clk_mono_ms(rest->o.clk), ret_wait_s));
}

bool
rest_charge_items(
    struct rest *rest, int64_t user_id, size_t n, struct refusal *r)
{
	const struct limiter_charge charge = {
	    &user_id, sizeof(user_id), (double)n};
	int wait_s;

	if (rest->requests == NULL || n == 0 ||
	    limiter_charge(
		rest->requests, &charge, clk_mono_ms(rest->o.clk), &wait_s))
		return (true);
	refusal_set(r, PROBLEM_RATE_LIMITED, "",
	    "at most %g requests a second, and each message of an array is one",
	    rest->o.rate_limit);
	r->retry_after_s = wait_s;
	return (false);
}

void
caller_refuse_user(struct call *call)
{

	call_problem(call, PROBLEM_FORBIDDEN, "", "this is for administrators");
}

/* Returns true if ${principal} may use the route. */
static bool
is_allowed(const struct call *call, const struct principal *principal)
{

	return ((http_route_flags(call->req) & HTTP_ADMIN) == 0 ||
		principal->admin);
}

/* Calls the handler for ${principal}.  Answers 403 instead if the route is for
 * administrators and the user is not one, or 429 beyond the rate limit. */
static void
admit(struct call *call, struct principal *principal)
{
	struct rest *rest = call->rest;
	struct refusal r = REFUSAL_INIT;
	int wait_s;

	if (!is_allowed(call, principal)) {
		caller_refuse_user(call);
		return;
	}
	if (!rest_admits(rest, principal->user_id, &wait_s)) {
		refusal_set(&r, PROBLEM_RATE_LIMITED, "",
		    "at most %g requests a second", rest->o.rate_limit);
		r.retry_after_s = wait_s;
		call_refuse(call, &r);
		return;
	}
	http_set_principal(call->req, principal);
	http_request_authorized(call->req);
}

enum rc
rest_still_admitted(struct call *call, struct db *db, struct err *err)
{
	uint8_t hash[CRYPT_HASH_SIZE];
	struct principal principal;
	enum rc rc;

	if (!bearer_hash(http_header(call->req, "Authorization"), hash))
		return (RC_NOT_FOUND);
	if (!auth_find(call->rest->o.auth, hash, &principal) &&
	    (rc = auth_load(db, hash, &principal, err)) != RC_OK)
		return (rc);
	return (is_allowed(call, &principal)
		    ? RC_OK
		    : err_set(err, RC_DENIED, "this is for administrators"));
}

static enum rc
load_caller(struct call *call, struct db *db, struct err *err)
{
	struct caller *c = CONTAINER_OF(call, struct caller, call);
	enum rc rc;

	rc = auth_load(db, c->hash, &c->principal, err);
	if (rc == RC_NOT_FOUND) {
		caller_refuse_stranger(call);
		return (RC_OK);
	}
	if (rc != RC_OK)
		return (rc);
	auth_put(call->rest->o.auth, c->hash, &c->principal, c->generation);
	admit(call, &c->principal);
	return (RC_OK);
}

void
rest_authorize(struct http_request *req, void *arg)
{
	struct rest *rest = arg;
	struct caller *c;

	if (!rest_enter(rest, req) ||
	    (c = call_new(rest, req, sizeof(*c))) == NULL)
		return;
	if (!bearer_hash(http_header(req, "Authorization"), c->hash)) {
		caller_refuse_stranger(&c->call);
	} else if (auth_find(rest->o.auth, c->hash, &c->principal)) {
		admit(&c->call, &c->principal);
	} else {
		c->generation = auth_generation(rest->o.auth);
		call_read(&c->call, load_caller);
	}
}

/* ---- the decision whether a body is read ---- */

enum http_sender
rest_head(struct http_request *req, void *arg)
{
	struct rest *rest = arg;
	uint8_t hash[CRYPT_HASH_SIZE];
	struct principal principal;

	if (!bearer_hash(http_header(req, "Authorization"), hash))
		return (HTTP_SENDER_STRANGER);
	if (!auth_find(rest->o.auth, hash, &principal))
		return (HTTP_SENDER_UNKNOWN);
	http_set_owner(req, owner_user(principal.user_id));
	return (HTTP_SENDER_KNOWN);
}

/* The look-up of a sender before the body is read. */
struct sender_call {
	struct read_job job; /* first */
	struct rest *rest;
	struct http_request *req;
	uint8_t hash[CRYPT_HASH_SIZE];
	uint64_t generation;
};

/* Thread: reader. */
static void
find_sender(struct read_job *job, struct db *db, struct err *err)
{
	struct sender_call *a = CONTAINER_OF(job, struct sender_call, job);
	struct rest *rest = a->rest;
	struct refusal r = REFUSAL_INIT;
	struct principal principal;
	enum rc rc = err->rc;

	if (db != NULL)
		rc = auth_load(db, a->hash, &principal, err);
	if (rc == RC_OK) {
		auth_put(rest->o.auth, a->hash, &principal, a->generation);
		http_set_owner(a->req, owner_user(principal.user_id));
	} else if (rc == RC_NOT_FOUND) {
		refusal_set(&r, PROBLEM_UNAUTHENTICATED, "", STRANGER_TEXT);
	} else {
		refusal_of_rc(&r, rc);
	}
	http_sender_found(a->req, rc == RC_OK ? NULL : &r);
	rest_leave(rest);
}

enum rc
rest_lookup(struct http_request *req, void *arg)
{
	struct rest *rest = arg;
	struct sender_call *a;
	enum rc rc;

	if ((a = http_alloc(req, sizeof(*a))) == NULL)
		return (RC_NO_MEMORY);
	if (!bearer_hash(http_header(req, "Authorization"), a->hash))
		return (RC_INTERNAL); /* rest_head() has found it valid */
	a->job.run = find_sender;
	a->job.owner = owner_peer(http_peer(req));
	a->rest = rest;
	a->req = req;
	a->generation = auth_generation(rest->o.auth);
	atomic_fetch_add(&rest->busy, 1);
	rc = atomic_load(&rest->stopped)
		 ? RC_CLOSED
		 : readers_submit(rest->o.readers, &a->job);
	if (rc != RC_OK)
		rest_leave(rest);
	return (rc);
}
