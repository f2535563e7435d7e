/* SPDX-License-Identifier: MIT */
/*
 * Users, devices and the counters of inboxes as the store keeps them, and the
 * facts about the database (the table meta).
 * Thread: the owner of ${db}, for all functions.
 */
#ifndef STORE_ACCOUNT_H
#define STORE_ACCOUNT_H

#include <stdbool.h>

#include "base/limits.h"
#include "db/db.h"

#define STORE_HASH_LEN 32

/* The size of a stored password hash, with its NUL. */
#define STORE_PASSWORD_SIZE 128

struct store_user {
	int64_t user_id;
	char name[LIMIT_ADDRESS_LEN + 1];
	char display_name[LIMIT_DISPLAY_NAME_LEN + 1];
	char password_hash[STORE_PASSWORD_SIZE]; /* "": cannot log in */
	bool admin;
	bool disabled;
	int64_t destination_id; /* 0: a user here; else the user's server */
	/* True: the password is a one-time password, valid until
	 * password_once_until (wall clock, milliseconds; 0: it has been used).
	 * False: password_once_until has no meaning. */
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

/* The counters of an inbox. */
struct store_counter {
	int64_t head;   /* seq of the last event; 0: no event yet */
	int64_t oldest; /* seq of the first event that is kept */
	int64_t acked;  /* highest seq acked by any device */
	int64_t read;   /* highest seq that the user has read */
};

/* Adds a user of this server, with an inbox.  Stores name, display_name,
 * password_hash and admin of ${user}; display_name and password_hash as NULL if
 * they are "".  RC_EXISTS: a user has this name, who may be disabled. */
enum rc store_user_insert(struct db *db, const struct store_user *user,
    int64_t now_ms, int64_t *ret_user_id, struct err *err) MUST_USE;

/* Finds a user by name (${n} bytes) or by id, also if the user is disabled or
 * of another server.  RC_NOT_FOUND (without an error text): there is none. */
enum rc store_user_by_name(struct db *db, const char *name, size_t n,
    struct store_user *ret, struct err *err) MUST_USE;
enum rc store_user_by_id(struct db *db, int64_t user_id, struct store_user *ret,
    struct err *err) MUST_USE;

/* As store_user_by_id(), and on PostgreSQL locks the user's row, after waiting
 * for another transaction that has locked it.  Until this transaction ends, no
 * other transaction changes the row or completes a log-in of the user, because
 * a log-in locks the row, too.  SQLite needs no lock: only one transaction
 * writes at a time. */
enum rc store_user_lock(struct db *db, int64_t user_id, struct store_user *ret,
    struct err *err) MUST_USE;

/* Adds ${n} distinct users of another server, who have no inbox here, and sets
 * their user_id.  RC_EXISTS: one of them exists already; the caller must roll
 * back, because others may have been added. */
struct store_remote_user {
	const char *address; /* borrowed */
	int64_t user_id;
};
enum rc store_users_remote_insert(struct db *db,
    struct store_remote_user *users, size_t n, int64_t destination_id,
    int64_t now_ms, struct err *err) MUST_USE;

/* *ret: whether this server has any user of its own. */
enum rc store_user_any(struct db *db, bool *ret, struct err *err) MUST_USE;

/* Replaces the password hash; does nothing (RC_OK) if there is no such user.
 * ${once_until}: until when (wall clock, milliseconds) a one-time password is
 * valid; 0: it is an ordinary password. */
enum rc store_user_password_set(struct db *db, int64_t user_id,
    const char *hash, int64_t once_until, struct err *err) MUST_USE;

/* Marks a one-time password as used, even if it has expired.  RC_NOT_FOUND: the
 * user has no unused one-time password. */
enum rc store_user_password_spend(
    struct db *db, int64_t user_id, struct err *err) MUST_USE;

/* Disables a user.  RC_NOT_FOUND: there is no such user, or the user is
 * disabled already. */
enum rc store_user_disable(
    struct db *db, int64_t user_id, int64_t now_ms, struct err *err) MUST_USE;

/* Enables a user.  RC_NOT_FOUND: there is no such user who is disabled. */
enum rc store_user_enable(
    struct db *db, int64_t user_id, struct err *err) MUST_USE;

/* Makes a user of this server an administrator, or an ordinary user.
 * RC_NOT_FOUND: there is no such user, the user is of another server, or
 * nothing changes. */
enum rc store_user_admin_set(
    struct db *db, int64_t user_id, bool admin, struct err *err) MUST_USE;

/* *ret: whether an administrator other than ${user_id} exists who is not
 * disabled. */
enum rc store_admin_other(
    struct db *db, int64_t user_id, bool *ret, struct err *err) MUST_USE;

/* Adds a device, whose cursor starts at device->acked_seq. */
enum rc store_device_insert(struct db *db, const struct store_device *device,
    const uint8_t token_hash[STORE_HASH_LEN], int64_t *ret_device_id,
    struct err *err) MUST_USE;

/* Finds the device whose token has the hash ${token_hash}.  Does not read
 * acked_seq and the times: they are 0 in *ret.  RC_NOT_FOUND also for revoked
 * devices and for devices of disabled users. */
enum rc store_device_by_token(struct db *db,
    const uint8_t token_hash[STORE_HASH_LEN], struct store_device *ret,
    struct err *err) MUST_USE;

/* *ret: whether the device exists and is not revoked.  On PostgreSQL such a
 * device is locked, so that nothing revokes it until the transaction ends. */
enum rc store_device_lock(
    struct db *db, int64_t device_id, bool *ret, struct err *err) MUST_USE;

/* *ret: the number of devices of ${user_id} that are not revoked. */
enum rc store_device_count(
    struct db *db, int64_t user_id, int64_t *ret, struct err *err) MUST_USE;

/* Calls ${each} for every device of ${user_id} that is not revoked, in the
 * order in which they were added.  ${device} is valid until ${each} returns.
 * The user's own data are not read: user_name is "", and admin is false. */
enum rc store_device_list(struct db *db, int64_t user_id,
    void (*each)(void *arg, const struct store_device *device), void *arg,
    struct err *err) MUST_USE;

/* Receives the hash of a device's token, valid until this callback returns,
 * from the functions below, which revoke devices or list their tokens. */
typedef void (*store_token_fn)(
    void *arg, int64_t device_id, const uint8_t token_hash[STORE_HASH_LEN]);

/* Revokes one device of ${user_id}, and calls ${each} with the hash of the
 * device's token.  RC_NOT_FOUND: the user has no such device, or the device is
 * revoked already. */
enum rc store_device_revoke(struct db *db, int64_t user_id,
    const struct uuid *public_id, int64_t now_ms, store_token_fn each,
    void *arg, struct err *err) MUST_USE;

/* Revokes the devices of ${user_id} that are not revoked yet, except the one
 * with the device_id ${keep} (0: no exception), and calls ${each} once for each
 * device that it revokes, with the hash of the token. */
enum rc store_device_revoke_others(struct db *db, int64_t user_id, int64_t keep,
    int64_t now_ms, store_token_fn each, void *arg, struct err *err) MUST_USE;

/* Calls ${each} with the token hash of every device of ${user_id} that is not
 * revoked. */
enum rc store_device_tokens(struct db *db, int64_t user_id, store_token_fn each,
    void *arg, struct err *err) MUST_USE;

/* Renames a device.  RC_NOT_FOUND: there is no such device that is not revoked.
 */
enum rc store_device_rename(struct db *db, int64_t user_id,
    const struct uuid *public_id, const char *name, size_t n,
    int64_t *ret_device_id, struct err *err) MUST_USE;

/* *ret: the highest seq that the device has acked; at first the seq at which
 * its cursor starts.  Revoked devices are found, too.  On PostgreSQL a
 * DB_WRITER locks the device until the transaction ends.  RC_NOT_FOUND: there
 * is no such device. */
enum rc store_device_acked_get(
    struct db *db, int64_t device_id, int64_t *ret, struct err *err) MUST_USE;

/* The current state of a device. */
struct store_device_now {
	int64_t device_id;
	int64_t user_id;
	int64_t acked; /* the highest seq that the device has acked */
	/* The hash of the device's token, if the device is revoked or its user
	 * disabled; else NULL.  Valid until the callback returns. */
	const uint8_t *gone;
};

/* Calls ${each} with the current state of each of ${n} devices that exists. */
enum rc store_devices_now(struct db *db, const int64_t *devices, size_t n,
    enum rc (*each)(
	void *arg, const struct store_device_now *now, struct err *err),
    void *arg, struct err *err) MUST_USE;

/* The counters of an inbox; RC_NOT_FOUND if there is no such user. */
enum rc store_counter_get(struct db *db, int64_t user_id,
    struct store_counter *ret, struct err *err) MUST_USE;

/* Reads the text ${key} from the table meta, which holds facts about the
 * database.  The text is truncated to ${size} - 1 bytes and NUL-terminated.
 * RC_NOT_FOUND: ${key} was never set; ${ret} is left as it is. */
enum rc store_meta_get(struct db *db, const char *key, char *ret, size_t size,
    struct err *err) MUST_USE;
/* As store_meta_get(), and on PostgreSQL locks the row of ${key}, if it exists:
 * store_meta_lock() and store_meta_set() for ${key} in other transactions wait
 * until this transaction has ended. */
enum rc store_meta_lock(struct db *db, const char *key, char *ret, size_t size,
    struct err *err) MUST_USE;
/* Sets ${key} to ${value}. */
enum rc store_meta_set(struct db *db, const char *key, const char *value,
    struct err *err) MUST_USE;
/* Sets ${key} to ${value}, unless it is set already (RC_OK, too).  If another
 * transaction has set it first and has not ended, waits for its end: if that
 * transaction commits, its value stays; if it rolls back, ${value} is set.
 * After this call store_meta_get() returns the value that is set. */
enum rc store_meta_make(struct db *db, const char *key, const char *value,
    struct err *err) MUST_USE;

#endif
