/* SPDX-License-Identifier: MIT */
/*
 * Operations: what operators' commands change in the database, such as
 * `twinboxd user add`.  The running server alone may write there, so a command
 * asks the server, through the control socket (control.c).  Where no server
 * runs, the command does the same itself (perform.c).  Both make the same unit
 * of work.
 *
 * Each kind of operations is a row of functions (struct operation_kind); the
 * table of operations says of which kind each of them is.
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

/* Secrets may be in it: operation_fini(). */
struct operation {
	enum operation_id id;

	/* Asked, by kind. */
	union {
		struct {
			char name[LIMIT_NAME_LEN + 1];
			/* Add and passwd. */
			char password_hash[CRYPT_PASSWORD_SIZE];
			bool admin;
			/* Add; "": none. */
			char display_name[LIMIT_DISPLAY_NAME_LEN + 1];
		} user;
		struct {
			char key_id[STORE_SERVER_KEY_ID_LEN + 1]; /* retire */
		} key;
	} asked;

	/* The unit of work, by kind; each begins with its struct unit. */
	union {
		struct unit unit;
		struct account_unit account;
		struct server_keys_unit keys;
	} work;

	/* Answered: a sentence about what was done; "": there is no more to
	 * say than that it was. */
	char text[OPERATION_TEXT_SIZE];

	void *arg; /* of whoever has the unit's finish called */
};

struct operation_kind {
	/* Writes what is asked as members of a JSON object. */
	void (*write)(const struct operation *o, struct buf *out);

	/* Reads it from the object ${root}, which also has the member
	 * "command".  RC_INVALID. */
	enum rc (*read)(
	    struct operation *o, json_t *root, struct err *err) MUST_USE;

	/* What the operation is about, for the log; borrowed. */
	const char *(*about)(const struct operation *o);

	/* Makes the unit of work.  RC_NOT_FOUND: what it is about is not there.
	 * Thread: owner of ${db}. */
	enum rc (*prepare)(
	    struct operation *o, struct db *db, struct err *err) MUST_USE;

	/* What came of a unit whose transaction is on disk: fills ${o}'s text,
	 * or returns the refusal. */
	enum rc (*result)(struct operation *o, struct err *err) MUST_USE;
};

/* operation_users.c, operation_keys.c */
extern const struct operation_kind operation_users, operation_keys;

/* Makes ${o} the operation ${id}, OPERATIONS for none; the rest is zeroed. */
void operation_init(struct operation *o, enum operation_id id);

/* Wipes it.  No unit of it may be under way. */
void operation_fini(struct operation *o);

/* Its name on the control socket, "unknown" for none.  Static storage. */
const char *operation_name(const struct operation *o);

/* What it is about, for the log; borrowed. */
const char *operation_about(const struct operation *o);

/* Writes ${o} as an object, and reads such a one from ${root} into ${ret}.
 * RC_INVALID: a member is wrong, or, and then ${ret} is none, this program does
 * not know the command. */
void operation_write(const struct operation *o, struct buf *out);
enum rc operation_read(
    json_t *root, struct operation *ret, struct err *err) MUST_USE;

/* Makes its unit of work, which is to call ${finish}.  Errors as prepare. */
enum rc operation_prepare(struct operation *o, struct db *db,
    void (*finish)(struct unit *unit), struct err *err) MUST_USE;

/* The operation that ${unit} is the work of. */
static inline struct operation *
operation_of(struct unit *unit)
{

	return (CONTAINER_OF(unit, struct operation, work.unit));
}

/* What came of it, once its unit has finished. */
enum rc operation_result(struct operation *o, struct err *err) MUST_USE;

/* RC_EXISTS, with the command to use instead: the user whom ${o} adds is there
 * already.  Thread: owner of ${db}. */
enum rc operation_user_new(
    const struct operation *o, struct db *db, struct err *err) MUST_USE;

/* Whether the ${n} characters at ${text} may be the id of a key. */
bool operation_key_id_valid(const char *text, size_t n);

/* ---- doing it (perform.c) ---- */

/* Does ${o} in a writer that has no thread. */
enum rc operation_run(struct operation *o, struct db *db, struct writer *writer,
    struct err *err) MUST_USE;

/* Does ${o} on ${config}'s database, or has the server do it that runs there.
 */
enum rc operation_perform(
    struct operation *o, const struct config *config, struct err *err) MUST_USE;

#endif
