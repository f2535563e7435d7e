/* SPDX-License-Identifier: MIT */
/*
 * Accounts and devices: the unit of work that changes them.  The writer thread,
 * which runs the unit, hashes no passwords.  A password is hashed before the
 * unit is submitted, by the pool of argon2 threads or by the command that an
 * operator runs.  The actions for which account_unit.operator is set (those of
 * operators and administrators) are written to the audit log in the same
 * transaction, unless they are refused.
 */
#ifndef CHAT_ACCOUNT_H
#define CHAT_ACCOUNT_H

#include "model/refusal.h"
#include "store/account.h"
#include "txn/env.h"

enum account_op {
	/* adds a user: user.name, display_name, password_hash, admin */
	ACCOUNT_ADD,
	/* Adds a device called device.name for user.user_id with token_hash,
	 * and sets the ids, the times and the user_name of ${device}.  Sets
	 * user.password_once to whether the password is a one-time password; if
	 * it is, spends the password.  Refused if the user's stored hash is
	 * no longer ${verified} (unless that is ""), if a one-time password was
	 * spent before or has expired, or if there is no such user, or the user
	 * is disabled or has LIMIT_DEVICES_PER_USER devices. */
	ACCOUNT_LOGIN,
	ACCOUNT_REVOKE, /* revokes device.public_id of user.user_id */
	/* Revokes all devices of user.user_id except the requesting
	 * device.device_id; with ${everywhere} that one, too.  Refused if the
	 * requesting device is revoked. */
	ACCOUNT_REVOKE_OTHERS,
	ACCOUNT_RENAME, /* renames device.public_id to device.name */
	/* Stores user.password_hash for user.user_id and revokes all devices of
	 * the user except device.device_id, the requesting one (0: an operator
	 * requests, and all are revoked).  Refused if there is no such user, if
	 * the user's stored hash is no longer ${verified} (unless that is ""),
	 * or if the requesting device is revoked. */
	ACCOUNT_PASSWORD,
	/* disables user.user_id and revokes all devices */
	ACCOUNT_DISABLE,
	ACCOUNT_ENABLE,  /* enables user.user_id, who must log in again */
	ACCOUNT_PROMOTE, /* user.user_id becomes an administrator */
	/* user.user_id loses the administrator's rights */
	ACCOUNT_DEMOTE,
	/* Stores user.password_hash as the hash of a one-time password for
	 * user.user_id, and revokes all devices of the user.  Sets
	 * user.password_once_until to the time at which the password expires,
	 * ACCOUNT_PASSWORD_ONCE_MS from now.  Refused if there is no such user
	 * or the user is disabled. */
	ACCOUNT_PASSWORD_ONCE
};

/* Milliseconds for which a one-time password is valid.  It allows one log-in
 * only. */
#define ACCOUNT_PASSWORD_ONCE_MS (24 * 60 * 60 * INT64_C(1000))

struct account_unit {
	struct unit unit; /* first */
	enum account_op op;

	/* ${user} and ${device} are input.  When the unit runs, it sets in
	 * them the ids of a user or device that it adds, the device_id of a
	 * device that it renames, and the members that the comments of enum
	 * account_op name as set.  The caller sets user.name if ${operator} is
	 * set (the audit log has the name), and for the actions that disable,
	 * enable, promote or demote a user or set a one-time password, whose
	 * refusals contain the name. */
	struct store_user user;
	struct store_device device;
	uint8_t token_hash[STORE_HASH_LEN];
	/* The stored hash against which the caller verified the password.
	 * ACCOUNT_LOGIN and ACCOUNT_PASSWORD are refused if the user's stored
	 * hash has changed since; the other actions ignore this member.  "":
	 * the request needs no password. */
	char verified[STORE_PASSWORD_SIZE];
	bool everywhere;
	/* the operator, for the audit log; NULL: none; kept */
	const char *operator;

	struct refusal refusal;
	void *arg;
};

/* Returns true if the password of ${n} bytes is too weak for the user ${name}:
 * it equals the name, ignoring case. */
bool account_password_weak(
    const char *password, size_t n, const char *name, size_t name_n);

/* Makes ${u} a unit of work for ${op}; the rest is zeroed. */
void account_unit_init(struct account_unit *u, enum account_op op);

#endif
