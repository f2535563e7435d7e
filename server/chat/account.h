/* SPDX-License-Identifier: MIT */
/*
 * Accounts and devices.  Hashing a password is not done here: it belongs to
 * the argon2 pool, before the unit is submitted.  What an operator does stands
 * in the audit log.
 */
#ifndef CHAT_ACCOUNT_H
#define CHAT_ACCOUNT_H

#include "model/refusal.h"
#include "store/account.h"
#include "txn/env.h"

enum account_op {
	ACCOUNT_ADD,    /* user (name, display_name, password_hash, admin) */
	ACCOUNT_LOGIN,  /* a device for user.user_id with token_hash;
			   verified; a one-time password is spent, and
			   user.password_once answered */
	ACCOUNT_REVOKE, /* device.public_id of user.user_id */
	ACCOUNT_REVOKE_OTHERS, /* all devices of user.user_id but
				  device.device_id, which asks; everywhere:
				  that one as well */
	ACCOUNT_RENAME,        /* device.public_id gets device.name */
	ACCOUNT_PASSWORD,      /* user.password_hash, by device.device_id (0: an
				  operator); other devices are revoked; verified */
	ACCOUNT_DISABLE,       /* user.user_id, and revokes all devices */
	ACCOUNT_ENABLE,        /* user.user_id, who logs in anew */
	ACCOUNT_PROMOTE,       /* user.user_id becomes an administrator */
	ACCOUNT_DEMOTE,        /* user.user_id is an administrator no more */
	ACCOUNT_PASSWORD_ONCE  /* user.password_hash is of a one-time password,
				  whose end is answered; all devices are
				  revoked */
};

/* A one-time password is for the next log-in, and for this long. */
#define ACCOUNT_PASSWORD_ONCE_MS (24 * 60 * 60 * INT64_C(1000))

struct account_unit {
	struct unit unit; /* first */
	enum account_op op;

	/* Asked and answered (ids).  From ACCOUNT_DISABLE on also user.name,
	 * for the audit log and refusals. */
	struct store_user user;
	struct store_device device;
	uint8_t token_hash[STORE_HASH_LEN];
	/* The stored hash against which a password was verified.  Refused if
	 * the user has another by now; "": the request needs no password. */
	char verified[STORE_PASSWORD_SIZE];
	bool everywhere;
	const char *operator; /* that acts for others; NULL: none; kept */

	struct refusal refusal;
	void *arg;
};

/* Whether a password of ${n} bytes is no good for ${name}: it is the name, in
 * whatever case. */
bool account_password_weak(
    const char *password, size_t n, const char *name, size_t name_n);

/* Makes ${u} a unit of work for ${op}; the rest is zeroed. */
void account_unit_init(struct account_unit *u, enum account_op op);

#endif
