/* SPDX-License-Identifier: MIT */
/*
 * Registration, log-in and changes of the password: the routes of this module
 * that hash a password with argon2.  A stranger who logs in cannot distinguish
 * an unknown name from a wrong password by the answer or by its time, because
 * both cost the same work.  Registration, if it is open, does show that a name
 * is taken.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "api/api_internal.h"
#include "chat/account.h"
#include "crypt/crypt.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct account_call {
	struct call call; /* first */
	struct wire_doc doc;
	struct span name, password, new_password, display_name, device;
	struct pool_job job;
	struct account_unit unit;
	char token[CRYPT_TOKEN_LEN + 1];
	struct login_attempt attempt;
	bool attempt_counted; /* as failed; can still be taken back */
};

/* A row of the table for call_body(): the body must have the member ${text}, a
 * string of ${min} to ${max} bytes, which is read into the struct span at
 * ${at}.  If ${min} and ${max} are 0, call_body() accepts any length, and the
 * handler must check it. */
#define REQUIRED_TEXT(text, min, max, at)                                      \
	{                                                                      \
		.name = (text), .type = WIRE_SPAN, .required = true,           \
		.min_len = (min), .max_len = (max), .ret = (at)                \
	}

/* Makes the struct account_call of ${req}, which is freed with the request.
 * Returns NULL if this function has answered the request, because the request
 * has a query parameter (these routes take none) or there is no memory. */
static struct account_call *
account_call_new(struct rest *rest, struct http_request *req)
{
	static const char *const allowed[] = {NULL};
	struct account_call *a = call_new(rest, req, sizeof(*a));

	return (a != NULL && call_query_check(&a->call, allowed) ? a : NULL);
}

static void
copy_span(char *ret, size_t size, const struct span *s)
{
	size_t n = s->n < size ? s->n : size - 1;

	if (n > 0)
		memcpy(ret, s->p, n);
	ret[n] = '\0';
}

static struct account_call *
of_job(struct pool_job *job)
{

	return (CONTAINER_OF(job, struct account_call, job));
}

/* Hashes ${password} into the unit.  Returns false if the request has been
 * answered. */
static bool
hash_password(struct account_call *a, const struct span *password)
{
	struct err err = ERR_INIT;

	metrics_add(api_of(&a->call)->o.metrics, METRIC_PASSWORDS, 1);
	if (crypt_password_hash(password->p, password->n,
		a->unit.user.password_hash, &err) == RC_OK)
		return (true);
	call_fail(&a->call, &err);
	return (false);
}

static void
submit_unit(struct account_call *a, void (*finish)(struct unit *base))
{

	a->unit.unit.finish = finish;
	a->unit.arg = a;
	(void)call_submit(&a->call, &a->unit.unit);
}

/* Returns true if ${password} differs from the name a->name, ignoring case
 * (account_password_weak()).  If not, answers the request with 400, where
 * ${pointer} names the password's member of the body, and returns false. */
static bool
password_fits(
    struct account_call *a, const char *pointer, const struct span *password)
{

	if (!account_password_weak(
		password->p, password->n, a->name.p, a->name.n))
		return (true);
	call_problem(&a->call, PROBLEM_BAD_REQUEST, pointer,
	    "the password is the name, which is the first that is tried");
	return (false);
}

/* ---- registering ---- */

/* Returns true if a->name has the form of a new user's name and is not reserved
 * for the operator.  If not, answers the request and returns false.  Does not
 * check whether the name is taken: the unit of work that adds the user does
 * (ACCOUNT_ADD). */
static bool
name_fits(struct account_call *a)
{

	if (!model_name_fits(a->name.p, a->name.n))
		call_problem(&a->call, PROBLEM_BAD_REQUEST, "/name",
		    "a name is %s", MODEL_NAME_RULE);
	else if (model_name_reserved(a->name.p, a->name.n))
		call_problem(&a->call, PROBLEM_FORBIDDEN, "/name",
		    "the name \"%.*s\" is reserved for the operator, who makes "
		    "it with twinboxd user add; choose another",
		    (int)a->name.n, a->name.p);
	else
		return (true);
	return (false);
}

/* Takes one registration from the limit of the client's network and one from
 * the limit of all networks; a limit that is NULL always allows it.  If one of
 * them is used up, takes none from either, answers the request with 429, and
 * returns false. */
static bool
may_register(struct account_call *a)
{
	int64_t now_ms = clk_mono_ms(api_of(&a->call)->o.clk);
	struct api *api = api_of(&a->call);
	struct refusal r = REFUSAL_INIT;
	char network[NETWORK_SIZE];
	size_t n;

	network_of(http_peer(a->call.req), network);
	n = strlen(network);
	if (api->registrations_by_network != NULL &&
	    !limiter_take(api->registrations_by_network, network, n, now_ms,
		&r.retry_after_s)) {
		refusal_set(&r, PROBLEM_RATE_LIMITED, "",
		    "too many have registered from your network");
	} else if (api->registrations != NULL &&
		   !limiter_take(
		       api->registrations, "", 0, now_ms, &r.retry_after_s)) {
		/* The other networks used the limit up: return this network's
		 * token. */
		if (api->registrations_by_network != NULL)
			limiter_return(
			    api->registrations_by_network, network, n, now_ms);
		refusal_set(&r, PROBLEM_RATE_LIMITED, "",
		    "too many register here at the moment");
	} else
		return (true);
	metrics_add(api->o.metrics, METRIC_REGISTRATIONS_REFUSED, 1);
	call_refuse(&a->call, &r);
	return (false);
}

/* Thread: sync, or writer when refused. */
static void
user_added(struct unit *base)
{
	struct account_unit *u = CONTAINER_OF(base, struct account_unit, unit);
	struct account_call *a = u->arg;
	struct buf b = BUF_INIT;

	if (!call_unit_ok(&a->call, &u->unit, &u->refusal))
		return;
	log_event(LOG_EV_USER_ADDED, "user=%s peer=%s", u->user.name,
	    http_peer(a->call.req));
	buf_addc(&b, '{');
	jw_str(&b, "name", u->user.name);
	jw_str(&b, "display_name",
	    u->user.display_name[0] != '\0' ? u->user.display_name : NULL);
	jw_time(&b, "created_at", clk_wall_ms(api_of(&a->call)->o.clk));
	buf_addc(&b, '}');
	call_json(&a->call, 201, &b);
}

/* Thread: argon2. */
static void
hash_new_user(struct pool_job *job)
{
	struct account_call *a = of_job(job);

	if (hash_password(a, &a->password))
		submit_unit(a, user_added);
}

void
api_users_post(struct http_request *req, void *arg)
{
	struct account_call *a;

	if (!rest_enter(arg, req) || (a = account_call_new(arg, req)) == NULL)
		return;
	const struct wire_field fields[] = {
	    REQUIRED_TEXT("name", 0, 0, &a->name),
	    REQUIRED_TEXT("password", LIMIT_PASSWORD_MIN, LIMIT_PASSWORD_LEN,
		&a->password),
	    {.name = "display_name",
		.type = WIRE_SPAN,
		.line = true,
		.min_len = 1,
		.max_len = LIMIT_DISPLAY_NAME_LEN,
		.ret = &a->display_name},
	};
	if (!api_of(&a->call)->o.registration_open) {
		call_problem(&a->call, PROBLEM_FORBIDDEN, "",
		    "registration is closed here; ask the operator");
		return;
	}
	if (!call_body(&a->call, &a->doc, fields, COUNT(fields)))
		return;
	if (!name_fits(a) || !password_fits(a, "/password", &a->password) ||
	    !may_register(a))
		return;
	account_unit_init(&a->unit, ACCOUNT_ADD);
	copy_span(a->unit.user.name, sizeof(a->unit.user.name), &a->name);
	copy_span(a->unit.user.display_name, sizeof(a->unit.user.display_name),
	    &a->display_name);
	call_hash(&a->call, &a->job, POOL_REGISTRATION, hash_new_user);
}

/* ---- the login throttle ---- */

/* If a->attempt_counted is true, takes back the attempt, which the throttle
 * then no longer counts as failed, and clears the flag.  Otherwise does
 * nothing: the flag is also false after a wrong password, for which the attempt
 * stays counted.  ${right}: the password was right, and the throttle remembers
 * the network as known for this name; false: the password was not verified, and
 * nothing is remembered. */
static void
end_attempt(struct account_call *a, bool right)
{
	struct api *api = api_of(&a->call);

	if (a->attempt_counted)
		login_throttle_end(
		    api->throttle, &a->attempt, right, clk_mono_ms(api->o.clk));
	a->attempt_counted = false;
}

/* Called when the request is freed.  Takes back the attempt if it still can be
 * taken back (attempt_counted): its password was never verified, for example
 * because the store failed or a queue was full. */
static void
drop_attempt(void *arg)
{

	end_attempt(arg, false);
}

/* Makes the throttle count an attempt as failed before the password is
 * verified, so that parallel attempts cannot exceed its limits.  Also registers
 * drop_attempt() to be called when the request is freed: it takes the attempt
 * back if the password was never verified.  Returns false, with no attempt
 * counted, if the request has been answered: with 429 if a limit is exceeded,
 * with PROBLEM_BUSY if there is no memory. */
static bool
begin_attempt(struct account_call *a)
{
	struct api *api = api_of(&a->call);
	struct refusal r = REFUSAL_INIT;
	int wait_s = 1;

	if (http_on_free(a->call.req, drop_attempt, a) != RC_OK) {
		call_problem(&a->call, PROBLEM_BUSY, "", "out of memory");
		return (false);
	}
	if (login_throttle_begin(api->throttle, &a->name,
		http_peer(a->call.req), clk_mono_ms(api->o.clk), &a->attempt,
		&wait_s)) {
		a->attempt_counted = true;
		return (true);
	}
	metrics_add(api->o.metrics, METRIC_LOGINS_REFUSED, 1);
	refusal_set(&r, PROBLEM_RATE_LIMITED, "",
	    "there were too many wrong passwords");
	r.retry_after_s = wait_s;
	call_refuse(&a->call, &r);
	return (false);
}

/* Verifies a->password against the stored hash, a->unit.verified.  RC_OK: the
 * password is right.  RC_DENIED: it is wrong, and the attempt stays counted as
 * failed.  Another error: it was not verified.  Takes the attempt back unless
 * the result is RC_DENIED.  If the hash is "", because the user is unknown,
 * disabled or without a password, any password counts as wrong, after the same
 * work and time as with a hash.  Thread: argon2. */
static enum rc
verify_password(struct account_call *a, struct err *err)
{
	enum rc rc;

	metrics_add(api_of(&a->call)->o.metrics, METRIC_PASSWORDS, 1);
	if (a->unit.verified[0] != '\0')
		rc = crypt_password_verify(
		    a->unit.verified, a->password.p, a->password.n, err);
	else
		rc = crypt_password_dummy(a->password.p, a->password.n, err);
	if (rc == RC_DENIED)
		a->attempt_counted = false; /* keep it counted as failed */
	else
		end_attempt(a, rc == RC_OK);
	return (rc);
}

/* ---- logging in ---- */

static void
note_refused(struct account_call *a)
{
	/* Do not log an unknown name: it may be a password that was typed into
	 * the wrong field. */
	const bool known = a->unit.user.user_id != 0;

	metrics_add(api_of(&a->call)->o.metrics, METRIC_LOGINS_REFUSED, 1);
	log_event(LOG_EV_AUTH_REFUSED, "user=%.*s peer=%s",
	    known ? (int)a->name.n : 1, known ? a->name.p : "-",
	    http_peer(a->call.req));
}

/* Thread: sync, or writer when refused. */
static void
logged_in(struct unit *base)
{
	struct account_unit *u = CONTAINER_OF(base, struct account_unit, unit);
	struct account_call *a = u->arg;
	char device[UUID_TEXT_LEN + 1];
	struct buf b = BUF_INIT;

	/* Count and log this as a refused log-in, like a wrong password: argon2
	 * has accepted the password, but the unit has refused it with 401.  The
	 * password was replaced or its user was disabled in the meantime, or it
	 * is a one-time password that has been used or has expired. */
	if (u->unit.rc == RC_OK && problem_status(u->refusal.problem) == 401)
		note_refused(a);
	if (!call_unit_ok(&a->call, &u->unit, &u->refusal))
		return;
	metrics_add(api_of(&a->call)->o.metrics, METRIC_LOGINS, 1);
	uuid_format(&u->device.public_id, device);
	log_event(LOG_EV_AUTH_LOGIN, "user=%s device=%s peer=%s",
	    u->device.user_name, device, http_peer(a->call.req));
	buf_addc(&b, '{');
	jw_str(&b, "token", a->token);
	jw_str(&b, "user", u->device.user_name);
	jw_member(&b, "device");
	buf_addc(&b, '{');
	jw_uuid(&b, "id", &u->device.public_id);
	jw_str(&b, "name", u->device.name);
	buf_addc(&b, '}');
	if (u->user.password_once)
		jw_bool(&b, "password_once", true);
	buf_addc(&b, '}');
	crypt_wipe(a->token, sizeof(a->token));
	call_json(&a->call, 201, &b);
}

/* Thread: argon2. */
static void
verify_login(struct pool_job *job)
{
	struct account_call *a = of_job(job);
	struct api *api = api_of(&a->call);
	struct err err = ERR_INIT;
	enum rc rc;

	rc = verify_password(a, &err);
	if (rc == RC_DENIED) {
		note_refused(a);
		call_problem(&a->call, PROBLEM_WRONG_PASSWORD, "",
		    "wrong name or password");
		return;
	}
	if (rc != RC_OK) {
		call_fail(&a->call, &err);
		return;
	}
	crypt_token_new(api->o.rnd, a->token, a->unit.token_hash);
	submit_unit(a, logged_in);
}

/* Keeps the stored hash of ${u}, unless the user is disabled. */
static void
keep_stored(struct account_call *a, const struct store_user *u)
{

	a->unit.user.user_id = u->user_id;
	if (!u->disabled)
		memcpy(a->unit.verified, u->password_hash,
		    sizeof(a->unit.verified));
}

static enum rc
read_login(struct call *call, struct db *db, struct err *err)
{
	struct account_call *a = CONTAINER_OF(call, struct account_call, call);
	struct store_user user;
	enum rc rc = RC_NOT_FOUND;

	if (model_name_valid(a->name.p, a->name.n))
		rc = store_user_by_name(db, a->name.p, a->name.n, &user, err);
	if (rc == RC_OK)
		keep_stored(a, &user);
	if (rc != RC_OK && rc != RC_NOT_FOUND)
		return (rc);
	call_hash(&a->call, &a->job,
	    a->attempt.known ? POOL_KNOWN : POOL_STRANGER, verify_login);
	return (RC_OK);
}

void
api_tokens_post(struct http_request *req, void *arg)
{
	struct account_call *a;

	if (!rest_enter(arg, req) || (a = account_call_new(arg, req)) == NULL)
		return;
	const struct wire_field fields[] = {
	    REQUIRED_TEXT("name", 1, LIMIT_NAME_LEN, &a->name),
	    REQUIRED_TEXT("password", 1, LIMIT_PASSWORD_LEN, &a->password),
	    REQUIRED_TEXT("device", 1, LIMIT_DEVICE_NAME_LEN, &a->device),
	};
	if (!call_body(&a->call, &a->doc, fields, COUNT(fields)) ||
	    !begin_attempt(a))
		return;
	account_unit_init(&a->unit, ACCOUNT_LOGIN);
	copy_span(a->unit.device.name, sizeof(a->unit.device.name), &a->device);
	call_read(&a->call, read_login);
}

/* ---- changing the password ---- */

/* Thread: sync, or writer when refused. */
static void
password_changed(struct unit *base)
{
	struct account_unit *u = CONTAINER_OF(base, struct account_unit, unit);
	struct account_call *a = u->arg;

	if (call_unit_ok(&a->call, &u->unit, &u->refusal))
		call_empty(&a->call, 204);
}

/* Thread: argon2. */
static void
verify_change(struct pool_job *job)
{
	struct account_call *a = of_job(job);
	struct err err = ERR_INIT;
	enum rc rc;

	rc = verify_password(a, &err);
	if (rc == RC_DENIED) {
		call_problem(&a->call, PROBLEM_FORBIDDEN, "/password",
		    "this is not your password");
		return;
	}
	if (rc != RC_OK) {
		call_fail(&a->call, &err);
		return;
	}
	if (hash_password(a, &a->new_password))
		submit_unit(a, password_changed);
}

static enum rc
read_change(struct call *call, struct db *db, struct err *err)
{
	struct account_call *a = CONTAINER_OF(call, struct account_call, call);
	struct store_user user;
	enum rc rc;

	rc = store_user_by_id(db, call->principal->user_id, &user, err);
	if (rc == RC_OK)
		keep_stored(a, &user);
	if (rc != RC_OK && rc != RC_NOT_FOUND)
		return (rc);
	call_hash(&a->call, &a->job, POOL_KNOWN, verify_change);
	return (RC_OK);
}

void
api_password_post(struct http_request *req, void *arg)
{
	struct account_call *a;

	if ((a = account_call_new(arg, req)) == NULL)
		return;
	const struct wire_field fields[] = {
	    REQUIRED_TEXT("password", 1, LIMIT_PASSWORD_LEN, &a->password),
	    REQUIRED_TEXT("new_password", LIMIT_PASSWORD_MIN,
		LIMIT_PASSWORD_LEN, &a->new_password),
	};
	if (!call_body(&a->call, &a->doc, fields, COUNT(fields)))
		return;
	a->name.p = a->call.principal->name;
	a->name.n = strlen(a->name.p);
	if (!password_fits(a, "/new_password", &a->new_password) ||
	    !begin_attempt(a))
		return;
	account_unit_init(&a->unit, ACCOUNT_PASSWORD);
	a->unit.user.user_id = a->call.principal->user_id;
	a->unit.device.device_id = a->call.principal->device_id;
	call_read(&a->call, read_change);
}
