/* SPDX-License-Identifier: MIT */
/*
 * The operations on users.  The commands `user add` and `user passwd` hash the
 * password before they perform the operation, so only the hash, and never the
 * password, crosses the control socket.
 */
#include <stdio.h>
#include <string.h>

#include "main/operation.h"
#include "model/message.h"
#include "wire/json.h"
#include "wire/wire.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The account_op of each operation. */
static const enum account_op account_ops[] = {
    [OPERATION_USER_ADD] = ACCOUNT_ADD,
    [OPERATION_USER_PASSWD] = ACCOUNT_PASSWORD,
    [OPERATION_USER_DISABLE] = ACCOUNT_DISABLE,
    [OPERATION_USER_ENABLE] = ACCOUNT_ENABLE,
    [OPERATION_USER_PROMOTE] = ACCOUNT_PROMOTE,
    [OPERATION_USER_DEMOTE] = ACCOUNT_DEMOTE,
};

static bool
has_password(const struct operation *o)
{

	return (o->id == OPERATION_USER_ADD || o->id == OPERATION_USER_PASSWD);
}

static void
users_write(const struct operation *o, struct buf *out)
{

	jw_str(out, "name", o->asked.user.name);
	if (has_password(o))
		jw_str(out, "password_hash", o->asked.user.password_hash);
	jw_bool(out, "admin", o->asked.user.admin);
	/* Left out if empty, because an older server refuses an unknown
	 * member. */
	if (o->asked.user.display_name[0] != '\0')
		jw_str(out, "display_name", o->asked.user.display_name);
}

static enum rc
users_read(struct operation *o, json_t *root, struct err *err)
{
	struct span name, command, hash = {NULL, 0}, display = {NULL, 0};
	struct refusal r = REFUSAL_INIT;
	const struct wire_field fields[] = {
	    {.name = "command",
		.type = WIRE_SPAN,
		.required = true,
		.ret = &command},
	    {.name = "name", .type = WIRE_SPAN, .required = true, .ret = &name},
	    {.name = "password_hash",
		.type = WIRE_SPAN,
		.max_len = CRYPT_PASSWORD_SIZE - 1,
		.ret = &hash},
	    {.name = "admin", .type = WIRE_BOOL, .ret = &o->asked.user.admin},
	    {.name = "display_name",
		.type = WIRE_SPAN,
		.line = true,
		.min_len = 1,
		.max_len = LIMIT_DISPLAY_NAME_LEN,
		.ret = &display},
	};

	if (wire_object(root, "", fields, COUNT(fields), &r) != RC_OK)
		return (err_set(err, RC_INVALID, "%s", r.detail));
	if (!model_name_valid(name.p, name.n))
		return (err_set(err, RC_INVALID, "bad name"));
	if (o->id == OPERATION_USER_ADD && !model_name_fits(name.p, name.n))
		return (
		    err_set(err, RC_INVALID, "a name is %s", MODEL_NAME_RULE));
	memcpy(o->asked.user.name, name.p, name.n);
	if (hash.p != NULL)
		memcpy(o->asked.user.password_hash, hash.p, hash.n);
	if (display.p != NULL)
		memcpy(o->asked.user.display_name, display.p, display.n);
	if (has_password(o) &&
	    strncmp(o->asked.user.password_hash, "$argon2id$", 10) != 0)
		return (err_set(err, RC_INVALID, "no argon2id hash"));
	return (RC_OK);
}

static const char *
users_about(const struct operation *o)
{

	return (o->asked.user.name);
}

enum rc
operation_user_new(const struct operation *o, struct db *db, struct err *err)
{
	const char *name = o->asked.user.name;
	struct store_user user;
	enum rc rc;

	rc = store_user_by_name(db, name, strlen(name), &user, err);
	if (rc == RC_NOT_FOUND)
		return (RC_OK);
	if (rc != RC_OK)
		return (rc);
	if (user.disabled)
		return (err_set(err, RC_EXISTS,
		    "there is a user \"%s\", who is disabled: twinboxd user "
		    "enable %s lets this user log in again",
		    name, name));
	if (o->asked.user.admin && !user.admin)
		return (err_set(err, RC_EXISTS,
		    "there is a user \"%s\": twinboxd user promote %s makes "
		    "this user an administrator",
		    name, name));
	return (err_set(err, RC_EXISTS,
	    "there is %s \"%s\": twinboxd user passwd %s sets a new password",
	    user.admin ? "an administrator" : "a user", name, name));
}

static enum rc
users_prepare(struct operation *o, struct db *db, struct err *err)
{
	struct account_unit *unit = &o->work.account;
	const char *name = o->asked.user.name;
	enum rc rc;

	account_unit_init(unit, account_ops[o->id]);
	unit->operator= "operator";
	if (o->id == OPERATION_USER_ADD) {
		if ((rc = operation_user_new(o, db, err)) != RC_OK)
			return (rc);
	} else {
		rc = store_user_by_name(
		    db, name, strlen(name), &unit->user, err);
		if (rc == RC_NOT_FOUND)
			return (
			    err_set(err, rc, "there is no user \"%s\"", name));
		if (rc != RC_OK)
			return (rc);
	}
	if ((o->id == OPERATION_USER_PASSWD ||
		o->id == OPERATION_USER_PROMOTE) &&
	    unit->user.disabled)
		(void)snprintf(o->text, sizeof(o->text),
		    "user %s is disabled: twinboxd user enable %s lets this "
		    "user log in again",
		    name, name);
	(void)snprintf(unit->user.name, sizeof(unit->user.name), "%s", name);
	(void)snprintf(unit->user.password_hash,
	    sizeof(unit->user.password_hash), "%s",
	    o->asked.user.password_hash);
	if (o->id == OPERATION_USER_ADD) {
		unit->user.admin = o->asked.user.admin;
		(void)snprintf(unit->user.display_name,
		    sizeof(unit->user.display_name), "%s",
		    o->asked.user.display_name);
	}
	return (RC_OK);
}

static enum rc
users_result(struct operation *o, struct err *err)
{
	const struct refusal *r = &o->work.account.refusal;

	if (r->problem == PROBLEM_NONE)
		return (RC_OK);
	return (err_set(err,
	    r->problem == PROBLEM_NOT_FOUND ? RC_NOT_FOUND
	    : o->id == OPERATION_USER_ADD   ? RC_EXISTS
					    : RC_INVALID,
	    "%s", r->detail));
}

const struct operation_kind operation_users = {
    .write = users_write,
    .read = users_read,
    .about = users_about,
    .prepare = users_prepare,
    .result = users_result,
};
