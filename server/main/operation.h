/* SPDX-License-Identifier: MIT */
/*
 * Operations: changes in the database that operators' commands make, such as
 * `twinboxd user add`.  If a server holds the lock of the data directory, the
 * command sends the operation to that server through the control socket
 * (control.c), because only that server may write to an SQLite database.  If
 * the lock is free, the command takes it and does the operation itself
 * (perform.c), even while other nodes serve a PostgreSQL database.  Server and
 * command make the same unit of work (struct unit), which a writer commits.
 *
 * A kind of operations (those on users, those on keys) is a struct of function
 * pointers (struct operation_kind).  OPERATION_TABLE maps each operation to its
 * kind.
 */
#ifndef MAIN_OPERATION_H
#define MAIN_OPERATION_H

#include <stdbool.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/container.h"
#include "base/limits.h"
#include "chat/account.h"
#include "config/config.h"
#include "crypt/crypt.h"
#include "db/db.h"
#include "delivery/server_keys.h"
#include "engine/writer.h"

/* X(id, name on the control socket, kind) */
#define OPERATION_TABLE(X)                                                     \
	X(OPERATION_USER_ADD, "user.add", operation_users)                     \
	X(OPERATION_USER_PASSWD, "user.passwd", operation_users)               \
	X(OPERATION_USER_DISABLE, "user.disable", operation_users)             \
	X(OPERATION_USER_ENABLE, "user.enable", operation_users)               \
	X(OPERATION_USER_PROMOTE, "user.promote", operation_users)             \
	X(OPERATION_USER_DEMOTE, "user.demote", operation_users)               \
	X(OPERATION_KEYS_ROTATE, "keys.rotate", operation_keys)                \
	X(OPERATION_KEYS_RETIRE, "keys.retire", operation_keys)                \
	X(OPERATION_KEYS_RETIRE_NOW, "keys.retire_now", operation_keys)

enum operation_id {
#define X(id, name, kind) id,
	OPERATION_TABLE(X)
#undef X
	    OPERATIONS
};

#define OPERATION_TEXT_SIZE 256

/* An operation.  It may hold secrets, which operation_fini() wipes. */
struct operation {
	enum operation_id id;

	/* The request, by kind. */
	union {
		struct {
			char name[LIMIT_NAME_LEN + 1];
			/* For add and passwd. */
			char password_hash[CRYPT_PASSWORD_SIZE];
			bool admin;
			/* For add; "": none. */
			char display_name[LIMIT_DISPLAY_NAME_LEN + 1];
		} user;
		struct {
			char key_id[STORE_SERVER_KEY_ID_LEN + 1]; /* retire */
		} key;
	} asked;

	/* The unit of work, by kind.  Each begins with its struct unit. */
	union {
		struct unit unit;
		struct account_unit account;
		struct server_keys_unit keys;
	} work;

	/* The answer: a sentence about what was done; "": nothing beyond
	 * success. */
	char text[OPERATION_TEXT_SIZE];

	void *arg; /* for the caller's finish */
};

struct operation_kind {
	/* Writes the request as members of a JSON object. */
	void (*write)(const struct operation *o, struct buf *out);

	/* Reads the request of ${o}, whose id is set, from the JSON object
	 * ${root}, which also has the member "command".  RC_INVALID: a member
	 * is missing, unknown or not valid. */
	enum rc (*read)(
	    struct operation *o, json_t *root, struct err *err) MUST_USE;

	/* Returns the name or id that the operation is about, for the log;
	 * borrowed. */
	const char *(*about)(const struct operation *o);

	/* Makes ${o}'s unit of work from the request, and does not submit it.
	 * RC_NOT_FOUND: the user to change does not exist; RC_EXISTS: the user
	 * to add exists; else an error of reading ${db}.  Operations on keys
	 * do not read ${db}, and always return RC_OK.  Thread: owner of
	 * ${db}. */
	enum rc (*prepare)(
	    struct operation *o, struct db *db, struct err *err) MUST_USE;

	/* Called when the unit has finished with unit.rc RC_OK: its change is
	 * on disk, or was refused when the unit ran (the user exists, say).  If
	 * the change was refused, returns RC_NOT_FOUND, RC_EXISTS, RC_CONFLICT
	 * or RC_INVALID, with the reason in ${err}; else returns RC_OK, and may
	 * write an answer to ${o}'s text. */
	enum rc (*result)(struct operation *o, struct err *err) MUST_USE;
};

/* operation_users.c, operation_keys.c */
extern const struct operation_kind operation_users, operation_keys;

/* Makes ${o} the operation ${id}, or no operation (OPERATIONS).  All other
 * members are zero. */
void operation_init(struct operation *o, enum operation_id id);

/* Wipes ${o}.  Its unit must not be under way. */
void operation_fini(struct operation *o);

/* Returns the name on the control socket, or "unknown" for no operation.
 * Static storage. */
const char *operation_name(const struct operation *o);

/* Returns the name or id that ${o} is about, for the log; borrowed. */
const char *operation_about(const struct operation *o);

/* operation_write() appends ${o}, whose id must not be OPERATIONS, to ${out} as
 * a JSON object.  operation_read() initializes ${ret} and reads such an object,
 * ${root}, into it.  RC_INVALID: this program does not know the command, or a
 * member is missing, unknown or not valid; in both cases the caller may pass
 * ${ret} only to operation_name(), operation_about() and operation_fini(). */
void operation_write(const struct operation *o, struct buf *out);
enum rc operation_read(
    json_t *root, struct operation *ret, struct err *err) MUST_USE;

/* Makes the unit of work of ${o}, o->work.unit, which the caller submits to a
 * writer after RC_OK.  The writer calls ${finish} when the unit is done or
 * given up.  Errors and thread: as prepare of struct operation_kind. */
enum rc operation_prepare(struct operation *o, struct db *db,
    void (*finish)(struct unit *unit), struct err *err) MUST_USE;

/* Returns the operation whose unit of work is ${unit}. */
static inline struct operation *
operation_of(struct unit *unit)
{

	return (CONTAINER_OF(unit, struct operation, work.unit));
}

/* Returns the result of ${o}, after its unit has finished, and fills its
 * text. */
enum rc operation_result(struct operation *o, struct err *err) MUST_USE;

/* Checks that the user whom ${o} adds does not exist.  RC_EXISTS, with the
 * command to use instead, if the user exists.  Thread: owner of ${db}. */
enum rc operation_user_new(
    const struct operation *o, struct db *db, struct err *err) MUST_USE;

/* Returns whether the ${n} characters at ${text} can be the id of a key. */
bool operation_key_id_valid(const char *text, size_t n);

/* ---- doing an operation (perform.c) ---- */

/* Does ${o} in ${writer}, which has no thread of its own yet. */
enum rc operation_run(struct operation *o, struct db *db, struct writer *writer,
    struct err *err) MUST_USE;

/* Takes the lock of ${config}'s data directory and does ${o} on the database;
 * if another process holds the lock, sends ${o} to the server that listens at
 * the control socket (RC_PEER if no server listens).  Returns when ${o} is
 * done, with the answer in o->text, or when it has failed, with the reason in
 * ${err}.  Errors: as data_open(), data_open_db(), operation_prepare(),
 * operation_result() and control_call(), or RC_NO_MEMORY. */
enum rc operation_perform(
    struct operation *o, const struct config *config, struct err *err) MUST_USE;

#endif
