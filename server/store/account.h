/* SPDX-License-Identifier: MIT */
/*
 * People, devices and inbox counters as the store keeps them.
 * Thread: the owner of ${db}, in all of these.
 */
#ifndef STORE_ACCOUNT_H
#define STORE_ACCOUNT_H

#include <stdbool.h>

#include "base/limits.h"
#include "db/db.h"

#define STORE_HASH_LEN 32

/* A stored password with its NUL. */
#define STORE_PASSWORD_SIZE 128

struct store_user {
	int64_t user_id;
	char name[LIMIT_ADDRESS_LEN + 1];
	char display_name[LIMIT_DISPLAY_NAME_LEN + 1];
	char password_hash[STORE_PASSWORD_SIZE]; /* "": cannot log in */
	bool admin;
	bool disabled;
	int64_t destination_id; /* 0: he is here; else where he is */
	/* The password is a one-time one, valid until then; 0: spent. */
	bool password_once;
	int64_t password_once_until;
};

struct store_device {
	int64_t device_id;
	struct uuid public_id;
	int64_t user_id;
	char user_name[LIMIT_ADDRESS_LEN + 1];
	char name[LIMIT_DEVICE_NAME_LEN + 1];
	bool admin;
	int64_t acked_seq;
	int64_t created_at;
	int64_t last_seen_at;
};

/* The numbers of one inbox. */
struct store_counter {
	int64_t head;   /* seq of the last event, 0: empty */
	int64_t oldest; /* seq of the first event that is kept */
	int64_t acked;  /* highest acked by any device */
	int64_t read;   /* highest read by inbox seq */
};

/* Adds a user with his inbox.  RC_EXISTS when the name was ever given. */
enum rc store_user_insert(struct db *db, const struct store_user *user,
    int64_t now_ms, int64_t *ret_user_id, struct err *err) MUST_USE;

/* By name (${n} bytes) or id; RC_NOT_FOUND (without a text) if there is none.
 */
enum rc store_user_by_name(struct db *db, const char *name, size_t n,
    struct store_user *ret, struct err *err) MUST_USE;
enum rc store_user_by_id(struct db *db, int64_t user_id, struct store_user *ret,
    struct err *err) MUST_USE;

/* By id, in a transaction: until its end nobody changes his password, nor logs
 * in with it. */
enum rc store_user_lock(struct db *db, int64_t user_id, struct store_user *ret,
    struct err *err) MUST_USE;

/* Adds ${n} people of another server, all of them different, who have no inbox
 * here, and sets their ids.  RC_EXISTS: one of them is here. */
struct store_remote_user {
	const char *address; /* borrowed */
	int64_t user_id;
};
enum rc store_users_remote_insert(struct db *db,
    struct store_remote_user *users, size_t n, int64_t destination_id,
    int64_t now_ms, struct err *err) MUST_USE;

/* Whether there is any user at all. */
enum rc store_user_any(struct db *db, bool *ret, struct err *err) MUST_USE;

/* Replaces the password hash; ${once_until} is the end of a one-time password,
 * 0 for an ordinary one. */
enum rc store_user_password_set(struct db *db, int64_t user_id,
    const char *hash, int64_t once_until, struct err *err) MUST_USE;

/* Spends a one-time password; RC_NOT_FOUND if there is none to spend. */
enum rc store_user_password_spend(
    struct db *db, int64_t user_id, struct err *err) MUST_USE;

/* Disables a user; RC_NOT_FOUND if he is not there or is disabled. */
enum rc store_user_disable(
    struct db *db, int64_t user_id, int64_t now_ms, struct err *err) MUST_USE;

/* Enables a user; RC_NOT_FOUND if there is none who is disabled. */
enum rc store_user_enable(
    struct db *db, int64_t user_id, struct err *err) MUST_USE;

/* Makes a user of this server an administrator, or an ordinary user;
 * RC_NOT_FOUND if there is none to change. */
enum rc store_user_admin_set(
    struct db *db, int64_t user_id, bool admin, struct err *err) MUST_USE;

/* Whether there is an administrator, not disabled, other than ${user_id}. */
enum rc store_admin_other(
    struct db *db, int64_t user_id, bool *ret, struct err *err) MUST_USE;

/* Adds a device; its cursor starts at ${acked_seq}. */
enum rc store_device_insert(struct db *db, const struct store_device *device,
    const uint8_t token_hash[STORE_HASH_LEN], int64_t *ret_device_id,
    struct err *err) MUST_USE;

/* The device whose token has ${token_hash}; RC_NOT_FOUND also for revoked
 * ones and those of disabled users. */
enum rc store_device_by_token(struct db *db,
    const uint8_t token_hash[STORE_HASH_LEN], struct store_device *ret,
    struct err *err) MUST_USE;

/* Whether a device is not revoked; until the end of the transaction it stays
 * so. */
enum rc store_device_lock(
    struct db *db, int64_t device_id, bool *ret, struct err *err) MUST_USE;

/* How many devices ${user_id} has. */
enum rc store_device_count(
    struct db *db, int64_t user_id, int64_t *ret, struct err *err) MUST_USE;

/* Calls ${each} for every device of ${user_id}, oldest first. */
enum rc store_device_list(struct db *db, int64_t user_id,
    void (*each)(void *arg, const struct store_device *device), void *arg,
    struct err *err) MUST_USE;

/* Gets a token: one that was revoked, or one of a list. */
typedef void (*store_token_fn)(
    void *arg, int64_t device_id, const uint8_t token_hash[STORE_HASH_LEN]);

/* Revokes one device; RC_NOT_FOUND if it is not there. */
enum rc store_device_revoke(struct db *db, int64_t user_id,
    const struct uuid *public_id, int64_t now_ms, store_token_fn each,
    void *arg, struct err *err) MUST_USE;

/* Revokes all devices but ${keep} (0: all). */
enum rc store_device_revoke_others(struct db *db, int64_t user_id, int64_t keep,
    int64_t now_ms, store_token_fn each, void *arg, struct err *err) MUST_USE;

/* Calls ${each} for every device of ${user_id} that has its token. */
enum rc store_device_tokens(struct db *db, int64_t user_id, store_token_fn each,
    void *arg, struct err *err) MUST_USE;

/* Renames a device; RC_NOT_FOUND if it is not there. */
enum rc store_device_rename(struct db *db, int64_t user_id,
    const struct uuid *public_id, const char *name, size_t n,
    int64_t *ret_device_id, struct err *err) MUST_USE;

/* The device's own cursor; RC_NOT_FOUND if there is no such device. */
enum rc store_device_acked_get(
    struct db *db, int64_t device_id, int64_t *ret, struct err *err) MUST_USE;

/* A device as it is now. */
struct store_device_now {
	int64_t device_id;
	int64_t user_id;
	int64_t acked;       /* the highest seq that it has acked */
	const uint8_t *gone; /* the hash of the token that it lost, or NULL */
};

/* What ${n} devices are now. */
enum rc store_devices_now(struct db *db, const int64_t *devices, size_t n,
    enum rc (*each)(
	void *arg, const struct store_device_now *now, struct err *err),
    void *arg, struct err *err) MUST_USE;

/* The counters of an inbox; RC_NOT_FOUND if there is no such user. */
enum rc store_counter_get(struct db *db, int64_t user_id,
    struct store_counter *ret, struct err *err) MUST_USE;

/* Facts about the database: NUL-terminated text, cut to ${size}.
 * RC_NOT_FOUND when ${key} was never set. */
enum rc store_meta_get(struct db *db, const char *key, char *ret, size_t size,
    struct err *err) MUST_USE;
/* The same; where others write, too, they wait until the transaction has ended.
 */
enum rc store_meta_lock(struct db *db, const char *key, char *ret, size_t size,
    struct err *err) MUST_USE;
enum rc store_meta_set(struct db *db, const char *key, const char *value,
    struct err *err) MUST_USE;
/* Says ${value}, but not where ${key} is said already: whoever else says it at
 * the same time is waited for, and store_meta_get then tells who was first. */
enum rc store_meta_make(struct db *db, const char *key, const char *value,
    struct err *err) MUST_USE;

#endif
