/* SPDX-License-Identifier: MIT */
/*
 * Result codes: what the *caller can do* about an outcome, not where it came
 * from.  One table gives each code its text, HTTP status, WebSocket close
 * code, exit code (sysexits.h), and whether a repeat may help.
 */
#ifndef BASE_RC_H
#define BASE_RC_H

#include <stdbool.h>

/* X(name, text, http, ws_close, exit, retry).  New ones stand at the end: a
 * server tells a command of another version the number. */
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

/* The text of ${rc}, for people.  Static storage. */
const char *rc_text(enum rc rc);

/* The name of ${rc} ("RC_BUSY").  Static storage. */
const char *rc_name(enum rc rc);

/* The HTTP status for ${rc} where no refusal says it better. */
int rc_http_status(enum rc rc);

/* The WebSocket close code for ${rc}. */
int rc_ws_close(enum rc rc);

/* The sysexits.h code with which a program ends because of ${rc}. */
int rc_exit_code(enum rc rc);

/* Whether the same call may succeed later without a change by the caller. */
bool rc_may_retry(enum rc rc);

/* Whether ${rc} says that a database did not do what it was asked, or did not
 * say that it has, for a reason that passes: each caller meets it now, so
 * nobody tries others one by one. */
bool rc_is_outage(enum rc rc);

/* The result for a file that could not be opened, made, renamed or removed
 * because of the errno value ${sys}.  RC_IO is what no other setting, path or
 * right cures: the disk.  A read-only file system is one of these, because a
 * failing disk is remounted so.  Not for reads, writes and syncs of a file that
 * is open: there EACCES, too, means that what was promised cannot be kept. */
enum rc rc_of_opening(int sys);

#endif
