/* SPDX-License-Identifier: MIT */
/*
 * Admin routes that change users: disable and enable, promote and demote, and
 * one-time passwords.
 */
#include <string.h>

#include "admin/routes_internal.h"
#include "chat/account.h"
#include "crypt/crypt.h"
#include "model/message.h"

struct change_call {
	struct call call; /* first */
	struct wire_doc doc;
	char name[LIMIT_NAME_LEN + 1];
	enum account_op op;
	struct account_unit unit;
	struct pool_job job; /* this and password: ACCOUNT_PASSWORD_ONCE */
	char password[CRYPT_ONCE_SIZE];
};

/* ---- the answer ---- */

static enum rc
on_row_user(void *arg, const struct inspect_user *u, struct err *err)
{
	struct buf *b = arg;

	(void)err;
	admin_user_members(b, u);
	buf_addc(b, '}');
	return (RC_OK);
}

static enum rc
read_user(struct call *call, struct db *db, struct err *err)
{
	struct change_call *a = CONTAINER_OF(call, struct change_call, call);
	struct buf b = BUF_INIT;
	enum rc rc;

	rc = inspect_user(db, a->unit.user.user_id, on_row_user, &b, err);
	if (rc == RC_OK)
		call_json(call, 200, &b);
	buf_fini(&b);
	return (rc);
}

/* ---- the change ---- */

/* Thread: sync, or writer when refused. */
static void
changed(struct unit *base)
{
	struct account_unit *u = CONTAINER_OF(base, struct account_unit, unit);
	struct change_call *a = u->arg;

	if (call_unit_ok(&a->call, &u->unit, &u->refusal))
		call_read(&a->call, read_user);
}

static void
refuse_unknown(struct change_call *a, const char *name)
{

	call_problem(&a->call, PROBLEM_NOT_FOUND, "",
	    "there is no user called \"%.64s\" on this server", name);
}

/* ---- one-time passwords ---- */

/* Called when the unit of work that stores the hash of the one-time password is
 * finished.  Answers with the password or, if the unit was refused or failed,
 * with the refusal or an error.  Wipes a->password; only the hash is stored, so
 * no other answer can contain the password.  Thread: sync or writer. */
static void
password_set(struct unit *base)
{
	struct account_unit *u = CONTAINER_OF(base, struct account_unit, unit);
	struct change_call *a = u->arg;
	struct buf b = BUF_INIT;

	if (u->unit.rc == RC_OK && u->refusal.problem == PROBLEM_NONE) {
		buf_addc(&b, '{');
		jw_str(&b, "name", u->user.name);
		jw_str(&b, "password", a->password);
		jw_time(&b, "expires_at", u->user.password_once_until);
		buf_addc(&b, '}');
	}
	crypt_wipe(a->password, sizeof(a->password));
	if (call_unit_ok(&a->call, &u->unit, &u->refusal))
		call_json(&a->call, 200, &b);
	buf_fini(&b);
}

/* Makes the one-time password, and hands the unit to the writer.  Thread:
 * argon2. */
static void
make_password(struct pool_job *job)
{
	struct change_call *a = CONTAINER_OF(job, struct change_call, job);
	struct account_unit *u = &a->unit;
	struct err err = ERR_INIT;

	metrics_add(admin_of(&a->call)->o.metrics, METRIC_PASSWORDS, 1);
	crypt_password_once(admin_of(&a->call)->o.rnd, a->password);
	if (crypt_password_hash(a->password, strlen(a->password),
		u->user.password_hash, &err) != RC_OK) {
		crypt_wipe(a->password, sizeof(a->password));
		call_fail(&a->call, &err);
		return;
	}
	u->unit.finish = password_set;
	(void)call_submit(&a->call, &u->unit);
}

/* ---- the routes ---- */

/* Finds the user by name (404 if there is none), and hands the unit of work,
 * which changes the user, to the writer.  For a one-time password, hands a job
 * to the argon2 pool instead: make_password() makes and hashes the password,
 * and then hands the unit to the writer. */
static enum rc
find_user(struct call *call, struct db *db, struct err *err)
{
	struct change_call *a = CONTAINER_OF(call, struct change_call, call);
	struct account_unit *u = &a->unit;
	enum rc rc;

	account_unit_init(u, a->op);
	rc = store_user_by_name(db, a->name, strlen(a->name), &u->user, err);
	if (rc == RC_NOT_FOUND) {
		refuse_unknown(a, a->name);
		return (RC_OK);
	}
	if (rc != RC_OK)
		return (rc);
	u->operator= call->principal->name;
	u->unit.finish = changed;
	u->arg = a;
	if (a->op == ACCOUNT_PASSWORD_ONCE)
		call_hash(call, &a->job, POOL_KNOWN, make_password);
	else
		(void)call_submit(call, &u->unit);
	return (RC_OK);
}

static void
change(struct http_request *req, void *arg, enum account_op op)
{
	static const char *const allowed[] = {NULL};
	const char *name = http_path_param(req, "name");
	struct change_call *a;

	if ((a = call_new(arg, req, sizeof(*a))) == NULL ||
	    !call_query_check(&a->call, allowed))
		return;
	if (name == NULL || !model_name_valid(name, strlen(name))) {
		refuse_unknown(a, name != NULL ? name : "");
		return;
	}
	memcpy(a->name, name, strlen(name) + 1);
	a->op = op;
	if (call_body_if_any(&a->call, &a->doc, NULL, 0))
		call_read(&a->call, find_user);
}

void
admin_user_disable_post(struct http_request *req, void *arg)
{

	change(req, arg, ACCOUNT_DISABLE);
}

void
admin_user_enable_post(struct http_request *req, void *arg)
{

	change(req, arg, ACCOUNT_ENABLE);
}

void
admin_user_promote_post(struct http_request *req, void *arg)
{

	change(req, arg, ACCOUNT_PROMOTE);
}

void
admin_user_demote_post(struct http_request *req, void *arg)
{

	change(req, arg, ACCOUNT_DEMOTE);
}

void
admin_user_password_post(struct http_request *req, void *arg)
{

	change(req, arg, ACCOUNT_PASSWORD_ONCE);
}
