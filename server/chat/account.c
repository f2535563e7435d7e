/* SPDX-License-Identifier: MIT */
/*
 * The batch verb `account`.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "chat/account.h"
#include "chat/auth.h"
#include "crypt/crypt.h"
#include "store/audit.h"
#include "txn/lockset.h"
#include "txn/verb.h"

static_assert(
    STORE_PASSWORD_SIZE == CRYPT_PASSWORD_SIZE, "a stored password is cut");

bool
account_password_weak(
    const char *password, size_t n, const char *name, size_t name_n)
{

	return (n == name_n && strncasecmp(password, name, n) == 0);
}

static enum rc
add_user(struct tx *tx, struct account_unit *u, struct err *err)
{
	enum rc rc;

	rc = store_user_insert(
	    tx->db, &u->user, tx->now_ms, &u->user.user_id, err);
	if (rc == RC_EXISTS) {
		refusal_set(&u->refusal, PROBLEM_CONFLICT, "/name",
		    "the name \"%s\" is taken (names are never given twice)",
		    u->user.name);
		rc = RC_OK;
	}
	return (rc);
}

/* Locks the user's row and reads it into *ret_now.  Sets *ret to true if the
 * password hash in the row still equals ${u}->verified, or if ${u}->verified is
 * "" (no password had to be verified).  If there is no such user, returns RC_OK
 * with *ret false, and *ret_now is not valid.  The hash is compared here,
 * because the user may have changed the password while argon2 was running; a
 * thief who logs in with the old password must then fail. */
static enum rc
lock_verified(struct tx *tx, const struct account_unit *u,
    struct store_user *ret_now, bool *ret, struct err *err)
{
	enum rc rc;

	rc = store_user_lock(tx->db, u->user.user_id, ret_now, err);
	*ret = rc == RC_OK &&
	       (u->verified[0] == '\0' ||
		   strcmp(ret_now->password_hash, u->verified) == 0);
	return (rc == RC_NOT_FOUND ? RC_OK : rc);
}

/* Sets user.password_once to whether the log-in used a one-time password.  If
 * so, marks the password as used, or refuses the log-in if the password was
 * used before or has expired.  An ordinary password needs nothing more.  ${now}
 * is the user's row, which the caller has locked, so only one of two concurrent
 * log-ins can use the password. */
static enum rc
spend_password(struct tx *tx, struct account_unit *u,
    const struct store_user *now, struct err *err)
{

	u->user.password_once = u->verified[0] != '\0' && now->password_once;
	if (!u->user.password_once)
		return (RC_OK);
	if (now->password_once_until > tx->now_ms)
		return (store_user_password_spend(tx->db, now->user_id, err));
	refusal_set(&u->refusal, PROBLEM_ONE_TIME_PASSWORD, "",
	    "this one-time password %s: ask an administrator for a new one",
	    now->password_once_until == 0 ? "was used for a log-in"
					  : "has expired");
	return (RC_OK);
}

static enum rc
add_device(struct tx *tx, struct account_unit *u, struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	struct cached_user *user;
	struct store_user now;
	bool verified;
	int64_t n;
	enum rc rc;

	rc = lock_verified(tx, u, &now, &verified, err);
	if (rc == RC_OK && verified)
		rc = cache_user_by_id(
		    env->cache, tx, u->user.user_id, &user, err);
	if (rc == RC_NOT_FOUND ||
	    (rc == RC_OK && (!verified || user->disabled))) {
		refusal_set(&u->refusal, PROBLEM_WRONG_PASSWORD, "",
		    "wrong name or password");
		return (RC_OK);
	}
	if (rc == RC_OK)
		rc = store_device_count(tx->db, user->user_id, &n, err);
	if (rc != RC_OK)
		return (rc);
	if (n >= LIMIT_DEVICES_PER_USER) {
		refusal_set(&u->refusal, PROBLEM_CONFLICT, "/device",
		    "you have %d devices, the most there may be: revoke one "
		    "with DELETE /v1/tokens/{id}",
		    LIMIT_DEVICES_PER_USER);
		return (RC_OK);
	}
	rc = spend_password(tx, u, &now, err);
	if (rc != RC_OK || u->refusal.problem != PROBLEM_NONE)
		return (rc);
	u->device.public_id = uuid_gen_next(&env->ids);
	u->device.user_id = user->user_id;
	u->device.created_at = u->device.last_seen_at = tx->now_ms;
	u->device.acked_seq = 0;
	memcpy(u->device.user_name, user->name->data, user->name->len + 1);
	return (store_device_insert(
	    tx->db, &u->device, u->token_hash, &u->device.device_id, err));
}

/* Context of the callbacks that add revoked or changed tokens to the
 * effects. */
struct revoking {
	struct txn_env *env;
	struct err *err;
	enum rc rc;
};

static void
revoked_one(void *arg, int64_t device_id, const uint8_t hash[STORE_HASH_LEN])
{
	struct revoking *r = arg;

	if (r->rc == RC_OK)
		r->rc = txn_need_effects(r->env, r->err);
	if (r->rc == RC_OK)
		r->rc = effects_add_revoked(
		    r->env->effects, device_id, hash, r->err);
}

static enum rc
revoke(struct tx *tx, struct account_unit *u, struct err *err)
{
	struct revoking r = {txn_env_of(tx), err, RC_OK};
	enum rc rc;

	rc = store_device_revoke(tx->db, u->user.user_id, &u->device.public_id,
	    tx->now_ms, revoked_one, &r, err);
	if (rc == RC_NOT_FOUND) {
		refusal_set(&u->refusal, PROBLEM_NOT_FOUND, "",
		    "you have no such device");
		return (RC_OK);
	}
	return (rc == RC_OK ? r.rc : rc);
}

/* Revokes all devices except ${keep}; 0: all of them. */
static enum rc
revoke_all_but(
    struct tx *tx, struct account_unit *u, int64_t keep, struct err *err)
{
	struct revoking r = {txn_env_of(tx), err, RC_OK};
	enum rc rc;

	rc = store_device_revoke_others(
	    tx->db, u->user.user_id, keep, tx->now_ms, revoked_one, &r, err);
	return (rc == RC_OK ? r.rc : rc);
}

static enum rc
rename_device(struct tx *tx, struct account_unit *u, struct err *err)
{
	enum rc rc;

	rc = store_device_rename(tx->db, u->user.user_id, &u->device.public_id,
	    u->device.name, strlen(u->device.name), &u->device.device_id, err);
	if (rc == RC_NOT_FOUND) {
		refusal_set(&u->refusal, PROBLEM_NOT_FOUND, "",
		    "you have no such device");
		rc = RC_OK;
	}
	return (rc);
}

/* Refuses the request if the requesting device has been revoked, so that a
 * revoked device cannot revoke others.  Otherwise locks the device, so that
 * nothing revokes it until this transaction ends.  Does nothing if device_id is
 * 0, because an operator has no device. */
static enum rc
lock_device(struct tx *tx, struct account_unit *u, struct err *err)
{
	bool valid = true;
	enum rc rc = RC_OK;

	if (u->device.device_id != 0)
		rc =
		    store_device_lock(tx->db, u->device.device_id, &valid, err);
	if (rc == RC_OK && !valid)
		refusal_set(&u->refusal, PROBLEM_UNAUTHENTICATED, "",
		    "this device has been revoked");
	return (rc);
}

static enum rc
revoke_others(struct tx *tx, struct account_unit *u, struct err *err)
{
	enum rc rc = lock_device(tx, u, err);

	if (rc != RC_OK || u->refusal.problem != PROBLEM_NONE)
		return (rc);
	return (revoke_all_but(
	    tx, u, u->everywhere ? 0 : u->device.device_id, err));
}

static enum rc
set_password(struct tx *tx, struct account_unit *u, struct err *err)
{
	struct store_user now;
	bool verified;
	enum rc rc;

	rc = lock_verified(tx, u, &now, &verified, err);
	if (rc == RC_OK)
		rc = lock_device(tx, u, err);
	if (rc != RC_OK || u->refusal.problem != PROBLEM_NONE)
		return (rc);
	if (!verified) {
		refusal_set(&u->refusal, PROBLEM_FORBIDDEN, "/password",
		    "this is not your password");
		return (RC_OK);
	}
	rc = store_user_password_set(
	    tx->db, u->user.user_id, u->user.password_hash, 0, err);
	if (rc == RC_OK)
		rc = revoke_all_but(tx, u, u->device.device_id, err);
	return (rc);
}

/* Sets *ret to the user with user.user_id, from the cache or else from the
 * store.  If there is no such user, refuses the request, sets *ret to NULL and
 * returns RC_OK. */
static enum rc
find_user(struct tx *tx, struct account_unit *u, struct cached_user **ret,
    struct err *err)
{
	enum rc rc;

	rc = cache_user_by_id(
	    txn_env_of(tx)->cache, tx, u->user.user_id, ret, err);
	if (rc != RC_NOT_FOUND)
		return (rc);
	*ret = NULL;
	refusal_set(
	    &u->refusal, PROBLEM_NOT_FOUND, "", "there is no such user");
	return (RC_OK);
}

/* Stores the hash of a one-time password and revokes all devices of the user.
 * Refuses that if there is no such user, or if the user is disabled: the
 * password would expire while the user cannot log in. */
static enum rc
set_password_once(struct tx *tx, struct account_unit *u, struct err *err)
{
	struct store_user now;
	enum rc rc;

	rc = store_user_lock(tx->db, u->user.user_id, &now, err);
	if (rc == RC_NOT_FOUND) {
		refusal_set(&u->refusal, PROBLEM_NOT_FOUND, "",
		    "there is no such user");
		return (RC_OK);
	}
	if (rc != RC_OK)
		return (rc);
	if (now.disabled) {
		refusal_set(&u->refusal, PROBLEM_CONFLICT, "",
		    "user \"%s\" is disabled: enable this user first",
		    u->user.name);
		return (RC_OK);
	}
	u->user.password_once_until = tx->now_ms + ACCOUNT_PASSWORD_ONCE_MS;
	rc = store_user_password_set(tx->db, u->user.user_id,
	    u->user.password_hash, u->user.password_once_until, err);
	return (rc == RC_OK ? revoke_all_but(tx, u, 0, err) : rc);
}

/* Called before a user is disabled or demoted.  Locks the user's row, and
 * refuses the request if the user is the only administrator who is not
 * disabled: only a command on the server's host could make another one. */
static enum rc
keep_administrator(struct tx *tx, struct account_unit *u, struct err *err)
{
	struct store_user now;
	bool other = true;
	enum rc rc;

	rc = store_user_lock(tx->db, u->user.user_id, &now, err);
	if (rc == RC_OK && now.admin && !now.disabled)
		rc = store_admin_other(tx->db, now.user_id, &other, err);
	if (rc == RC_OK && !other)
		refusal_set(&u->refusal, PROBLEM_CONFLICT, "",
		    "user \"%s\" is the last administrator: promote another "
		    "user first",
		    u->user.name);
	return (rc);
}

static enum rc
disable(struct tx *tx, struct account_unit *u, struct err *err)
{
	struct cached_user *user;
	enum rc rc;

	if ((rc = find_user(tx, u, &user, err)) != RC_OK || user == NULL)
		return (rc);
	rc = keep_administrator(tx, u, err);
	if (rc != RC_OK || u->refusal.problem != PROBLEM_NONE)
		return (rc);
	rc = store_user_disable(tx->db, u->user.user_id, tx->now_ms, err);
	if (rc == RC_NOT_FOUND) {
		refusal_set(&u->refusal, PROBLEM_CONFLICT, "",
		    "user \"%s\" is disabled already", u->user.name);
		return (RC_OK);
	}
	if (rc != RC_OK)
		return (rc);
	user->disabled = true;
	return (revoke_all_but(tx, u, 0, err));
}

static enum rc
enable(struct tx *tx, struct account_unit *u, struct err *err)
{
	struct cached_user *user;
	enum rc rc;

	if ((rc = find_user(tx, u, &user, err)) != RC_OK || user == NULL)
		return (rc);
	rc = store_user_enable(tx->db, u->user.user_id, err);
	if (rc == RC_NOT_FOUND) {
		refusal_set(&u->refusal, PROBLEM_CONFLICT, "",
		    "user \"%s\" is not disabled", u->user.name);
		return (RC_OK);
	}
	if (rc == RC_OK)
		user->disabled = false;
	return (rc);
}

static void
kept_one(void *arg, int64_t device_id, const uint8_t hash[STORE_HASH_LEN])
{
	struct revoking *r = arg;

	if (r->rc == RC_OK)
		r->rc = txn_need_effects(r->env, r->err);
	if (r->rc == RC_OK)
		r->rc =
		    effects_add_kept(r->env->effects, device_id, hash, r->err);
}

/* Gives or takes away the rights of an administrator.  The user's devices keep
 * their tokens, but each node drops the tokens from its cache, which also has
 * the old rights: this node before the request is answered, each other node
 * when a note about the commit arrives, or else at its next recheck, which
 * every node makes every few seconds and which empties the whole cache
 * (cluster/recheck.c). */
static enum rc
set_admin(struct tx *tx, struct account_unit *u, bool admin, struct err *err)
{
	struct revoking r = {txn_env_of(tx), err, RC_OK};
	struct cached_user *user;
	enum rc rc;

	if ((rc = find_user(tx, u, &user, err)) != RC_OK || user == NULL)
		return (rc);
	if (!admin)
		rc = keep_administrator(tx, u, err);
	if (rc != RC_OK || u->refusal.problem != PROBLEM_NONE)
		return (rc);
	rc = store_user_admin_set(tx->db, u->user.user_id, admin, err);
	if (rc == RC_NOT_FOUND) {
		refusal_set(&u->refusal, PROBLEM_CONFLICT, "",
		    admin ? "user \"%s\" is an administrator already"
			  : "user \"%s\" is not an administrator",
		    u->user.name);
		return (RC_OK);
	}
	if (rc == RC_OK)
		rc = store_device_tokens(
		    tx->db, u->user.user_id, kept_one, &r, err);
	return (rc == RC_OK ? r.rc : rc);
}

static enum rc
account_one(struct tx *tx, struct account_unit *u, struct err *err)
{

	u->refusal = (struct refusal)REFUSAL_INIT;
	switch (u->op) {
	case ACCOUNT_ADD:
		return (add_user(tx, u, err));
	case ACCOUNT_LOGIN:
		return (add_device(tx, u, err));
	case ACCOUNT_REVOKE:
		return (revoke(tx, u, err));
	case ACCOUNT_REVOKE_OTHERS:
		return (revoke_others(tx, u, err));
	case ACCOUNT_RENAME:
		return (rename_device(tx, u, err));
	case ACCOUNT_PASSWORD:
		return (set_password(tx, u, err));
	case ACCOUNT_ENABLE:
		return (enable(tx, u, err));
	case ACCOUNT_PROMOTE:
		return (set_admin(tx, u, true, err));
	case ACCOUNT_DEMOTE:
		return (set_admin(tx, u, false, err));
	case ACCOUNT_PASSWORD_ONCE:
		return (set_password_once(tx, u, err));
	case ACCOUNT_DISABLE:
	default:
		return (disable(tx, u, err));
	}
}

/* The action of an operator in the audit log. */
static const char *const audit_actions[] = {
    [ACCOUNT_ADD] = "user_add",
    [ACCOUNT_PASSWORD] = "user_passwd",
    [ACCOUNT_DISABLE] = "user_disable",
    [ACCOUNT_ENABLE] = "user_enable",
    [ACCOUNT_PROMOTE] = "user_promote",
    [ACCOUNT_DEMOTE] = "user_demote",
    [ACCOUNT_PASSWORD_ONCE] = "user_password_once",
};

/* Writes the action of ${u}->operator to the audit log.  The detail of the log
 * entry is "administrator" if user.admin is set and the action neither promotes
 * nor demotes the user; otherwise the entry has no detail. */
static enum rc
audit(struct tx *tx, const struct account_unit *u, struct err *err)
{
	const bool rights = u->op == ACCOUNT_PROMOTE || u->op == ACCOUNT_DEMOTE;
	const struct store_audit audit = {.actor = u->operator,
	    .action = audit_actions[u->op],
	    .object = u->user.name,
	    .detail = u->user.admin && !rights ? "administrator" : NULL};

	return (store_audit_insert(tx->db, &audit, tx->now_ms, err));
}

static enum rc
account_apply(struct tx *tx, struct unit *unit, struct err *err)
{
	struct account_unit *u = CONTAINER_OF(unit, struct account_unit, unit);
	enum rc rc;

	rc = account_one(tx, u, err);
	if (rc == RC_OK && u->operator!= NULL &&
			   u->refusal.problem == PROBLEM_NONE)
		rc = audit(tx, u, err);
	return (rc);
}

/* Lists the names of the advisory locks that the transaction takes: the name of
 * a new user, or "#" and the id of an existing one (no user name contains a
 * "#").  An action that can remove an administrator also locks "#admins".  If
 * two nodes each remove one of the last two administrators, they do so one
 * after the other, and the later node refuses. */
static enum rc
account_locks(struct unit *unit, struct lockset *set, struct err *err)
{
	const struct account_unit *u =
	    CONTAINER_OF(unit, struct account_unit, unit);
	char number[24];
	enum rc rc = RC_OK;

	if (u->op == ACCOUNT_DISABLE || u->op == ACCOUNT_DEMOTE)
		rc = lockset_name(set, "#admins", err);
	(void)snprintf(number, sizeof(number), "#%" PRId64, u->user.user_id);
	return (rc == RC_OK
		    ? lockset_name(set,
			  u->op == ACCOUNT_ADD ? u->user.name : number, err)
		    : rc);
}

UNIT_KIND(account, account_locks, .queue = UNIT_CLIENT, .order = ORDER_ACCOUNT,
    .apply_one = account_apply, .any_order = true);

void
account_unit_init(struct account_unit *u, enum account_op op)
{

	memset(u, 0, sizeof(*u));
	u->unit.kind = &account_kind;
	u->unit.bytes = 1024;
	u->op = op;
	u->refusal = (struct refusal)REFUSAL_INIT;
}
