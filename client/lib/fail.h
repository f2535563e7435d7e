/* SPDX-License-Identifier: MIT */
/*
 * A failure as a person or a script meets it: what happened, what to do about
 * it, and the exit code (sysexits.h).  It lives on the caller's stack, is the
 * last argument, is filled where the failure arises, and is printed once, by
 * the program.
 */
#ifndef LIB_FAIL_H
#define LIB_FAIL_H

#include <sysexits.h>

#include <jansson.h>

#include "base/err.h"
#include "base/rc.h"

struct fail {
	enum rc rc;
	int exit;          /* code of sysexits.h, 0: none */
	int status;        /* HTTP status, 0: there was no answer */
	int retry_after_s; /* what the server asked for, 0: nothing */
	char code[40];     /* a problem's code, or one of ours: "unreachable" */
	char pointer[80];  /* the member at fault: "/to", "" if none is told */
	char what[256];    /* one line, safe for a terminal */
	char cure[200];    /* one line, "" if there is none */
};

/* A request or a stream whose token the server does not know: how that is said
 * wherever it is noticed.  The name in the cure is replaced by the user's where
 * that is known (program/main.c). */
#define FAIL_LOGGED_OUT "this device was logged out"
#define FAIL_LOGIN "twinbox login NAME"
#define FAIL_LOGIN_AGAIN "log in again: " FAIL_LOGIN

#define FAIL_INIT                                                              \
	{                                                                      \
		.rc = RC_OK, .code = "", .pointer = "", .what = "", .cure = "" \
	}

/* X(kind, rc, exit code, cure): what can go wrong on this side.  The code word
 * is the kind in lower case. */
#define FAIL_KIND_TABLE(X)                                                     \
	X(USAGE, RC_INVALID, EX_USAGE, "see twinbox --help")                   \
	X(DATA, RC_INVALID, EX_DATAERR, "")                                    \
	X(UNREACHABLE, RC_PEER, EX_UNAVAILABLE,                                \
	    "start the server, or name another with --server URL")             \
	X(UNTRUSTED, RC_DENIED, EX_UNAVAILABLE,                                \
	    "check the server's certificate and its name")                     \
	X(UNCERTAIN, RC_UNCERTAIN, EX_TEMPFAIL,                                \
	    "repeat it; what was done is not done twice")                      \
	X(PROTOCOL, RC_PEER, EX_PROTOCOL,                                      \
	    "check that --server names a twinbox server")                      \
	X(NOT_LOGGED_IN, RC_DENIED, EX_NOPERM, FAIL_LOGIN)                     \
	X(REPLACED, RC_CLOSED, EX_UNAVAILABLE, "start it again")               \
	X(TIMEOUT, RC_BUSY, EX_TEMPFAIL, "repeat later")                       \
	X(QUEUED, RC_BUSY, EX_TEMPFAIL,                                        \
	    "it is kept here and goes out with the next twinbox command")      \
	X(UNDELIVERED, RC_PEER, EX_UNAVAILABLE, "see twinbox outbox ID")       \
	X(CANNOT_CREATE, RC_IO, EX_CANTCREAT,                                  \
	    "check the folder and its permissions")                            \
	X(INPUT_OUTPUT, RC_IO, EX_IOERR, "check the disk")                     \
	X(CONFIG, RC_INVALID, EX_CONFIG, "")                                   \
	X(MEMORY, RC_NO_MEMORY, EX_OSERR, "free some memory")                  \
	X(INTERNAL, RC_INTERNAL, EX_SOFTWARE, "report this as a bug")

enum fail_kind {
#define X(kind, rc, exit, cure) FAIL_##kind,
	FAIL_KIND_TABLE(X)
#undef X
	    FAIL_KIND_COUNT
};

/* Fills ${f} with what the table says of ${kind} and what happened; returns
 * its rc. */
enum rc fail_set(struct fail *f, enum fail_kind kind, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Replaces the cure of ${f}; returns its rc. */
enum rc fail_cure(struct fail *f, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Fills ${f}: the server does not know this device's token any more; returns
 * its rc. */
enum rc fail_logged_out(struct fail *f);

/* Fills ${f} from an answer with HTTP ${status} that is no success and its
 * problem document ${problem} (NULL, or anything else than one, if the other
 * side sent none).  ${retry_after_s} is the Retry-After header, 0 without. */
enum rc fail_problem(
    struct fail *f, int status, const json_t *problem, int retry_after_s);

/* Whether repeating the same request later may succeed without a change by
 * its sender, or may at least tell what became of it. */
bool fail_may_retry(const struct fail *f);

/* Whether a message was refused, for now, because of whom it is for: their
 * inbox is full, or they are of one new server more than the sender may write
 * to in a day.  Messages for others are not held up by that. */
bool fail_of_recipient(const struct fail *f);

#endif
