/* SPDX-License-Identifier: MIT */
/*
 * Result codes.  A code says what the *caller can do* about an outcome, not
 * where the outcome arose.  One table gives each code its text, HTTP status,
 * WebSocket close code, exit code (sysexits.h), and whether a repeat may
 * succeed.
 */
#ifndef BASE_RC_H
#define BASE_RC_H

#include <stdbool.h>

/* X(name, text, http, ws_close, exit, retry).  Add new codes at the end: the
 * server sends the number to a command (main/control.c), which may be of
 * another version. */
#define RC_TABLE(X)                                                            \
	X(RC_OK, "ok", 200, 1000, 0, false)                                    \
	X(RC_NO_MEMORY, "out of memory", 503, 1013, 71, true)                  \
	X(RC_INVALID, "invalid", 400, 4400, 65, false)                         \
	X(RC_NOT_FOUND, "not found", 404, 4400, 68, false)                     \
	X(RC_EXISTS, "exists already", 409, 4400, 73, false)                   \
	X(RC_CONFLICT, "conflict", 409, 4400, 75, false)                       \
	X(RC_DENIED, "denied", 403, 4403, 77, false)                           \
	X(RC_LIMIT, "limit reached", 429, 4429, 75, true)                      \
	X(RC_BUSY, "busy", 503, 1013, 75, true)                                \
	X(RC_UNCERTAIN, "may or may not be done", 503, 1011, 75, true)         \
	X(RC_FULL, "no space", 507, 1013, 75, true)                            \
	X(RC_IO, "input/output error", 500, 1011, 74, false)                   \
	X(RC_CORRUPT, "damaged data", 500, 1011, 74, false)                    \
	X(RC_PEER, "the other side failed", 503, 1013, 69, true)               \
	X(RC_CLOSED, "closed", 503, 1012, 69, true)                            \
	X(RC_INTERNAL, "internal error", 500, 1011, 70, false)                 \
	X(RC_AWAY, "the database is away", 503, 1013, 75, true)                \
	X(RC_UNCONFIRMED,                                                      \
	    "no standby of the database confirms it, so it may or may not be " \
	    "done",                                                            \
	    503, 1011, 75, true)                                               \
	X(RC_SETTING, "a setting is wrong", 500, 1011, 78, false)

enum rc {
#define X(name, text, http, ws, ex, retry) name,
	RC_TABLE(X)
#undef X
	    RC_COUNT
};

#define MUST_USE __attribute__((warn_unused_result))

/* Returns the text of ${rc}, for people.  Static storage. */
const char *rc_text(enum rc rc);

/* Returns the name of ${rc} ("RC_BUSY").  Static storage. */
const char *rc_name(enum rc rc);

/* Returns the HTTP status for ${rc}.  An error that is answered with a refusal
 * (model/refusal.h) has the status of the refusal instead. */
int rc_http_status(enum rc rc);

/* Returns the WebSocket close code for ${rc}. */
int rc_ws_close(enum rc rc);

/* Returns the exit code (sysexits.h) of a program that ends because of
 * ${rc}. */
int rc_exit_code(enum rc rc);

/* Returns true if the same call may succeed later without a change by the
 * caller. */
bool rc_may_retry(enum rc rc);

/* Returns true if ${rc}, a result of the database, says that the database is
 * busy, is away, or has not confirmed a commit.  The failure is expected to
 * pass, but now concerns every request.  So after a failed batch it does not
 * help to repeat its requests one by one.  Do not pass a result of another
 * module: it may be one of these codes, too (RC_BUSY), with another meaning. */
bool rc_is_outage(enum rc rc);

/* Returns the result for a file that could not be opened, made, renamed or
 * removed because of the errno value ${sys}: RC_DENIED, RC_NOT_FOUND, RC_FULL,
 * RC_NO_MEMORY, RC_LIMIT (too many open files), or RC_INVALID (the path cannot
 * name such a file).  Every other errno gives RC_IO, which callers treat as a
 * failure of the disk that no other path or permission cures.  EROFS is among
 * these, because Linux remounts a failing disk read-only.  Do not use this
 * function for reads, writes and syncs of an open file: an error there, even
 * EACCES, is a failure of the disk, because data that the server has promised
 * to keep may be lost. */
enum rc rc_of_opening(int sys);

#endif
