/* SPDX-License-Identifier: MIT */
/*
 * A failure as a user or a script sees it: what happened, what to do about it,
 * and the exit code (sysexits.h).  The caller owns the struct and passes it as
 * the last argument.  The function that detects the failure fills it, and the
 * program prints it once.
 */
#ifndef LIB_FAIL_H
#define LIB_FAIL_H

#include <sysexits.h>

#include <jansson.h>

#include "base/err.h"
#include "base/rc.h"

struct fail {
	enum rc rc;
	int exit;          /* exit code of sysexits.h, 0: none */
	int status;        /* HTTP status, 0: no answer */
	int retry_after_s; /* seconds from Retry-After, 0: none */
	char code[40];     /* code of the problem, or of our kind */
	char pointer[80];  /* the refused member ("/to"), "": unknown */
	char what[256];    /* one line, safe for a terminal */
	char cure[200];    /* one line, "": none */
};

/* The texts for a token that the server does not accept any more:
 * FAIL_LOGGED_OUT is the text of what happened, and FAIL_LOGIN_AGAIN the cure.
 * FAIL_LOGIN is the command, which other cures contain, too.  If a cure ends
 * with FAIL_LOGIN, program/main.c replaces NAME with the user's name where it
 * is known. */
#define FAIL_LOGGED_OUT "this device was logged out"
#define FAIL_LOGIN "twinbox login NAME"
#define FAIL_LOGIN_AGAIN "log in again: " FAIL_LOGIN

#define FAIL_INIT                                                              \
	{                                                                      \
		.rc = RC_OK, .code = "", .pointer = "", .what = "", .cure = "" \
	}

/* X(kind, rc, exit code, cure): failures that the client detects itself.  The
 * member code of struct fail is the kind in lower case, such as
 * "not_logged_in". */
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

/* Fills ${f} with the code, rc, exit code and cure of ${kind}, and with the
 * text of what happened, formatted from ${fmt} and cut to 255 bytes.  Clears
 * the other members: status, retry_after_s and pointer.  The caller has already
 * made text from a server or another user safe for a terminal (lib/safe.h).
 * Returns the rc. */
enum rc fail_set(struct fail *f, enum fail_kind kind, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Replaces the cure of ${f}.  Returns the rc of ${f}. */
enum rc fail_cure(struct fail *f, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Fills ${f} for a token that the server does not accept any more: kind
 * NOT_LOGGED_IN with the text FAIL_LOGGED_OUT and the cure FAIL_LOGIN_AGAIN.
 * Returns the rc, RC_DENIED. */
enum rc fail_logged_out(struct fail *f);

/* Fills ${f} from a refusal: HTTP ${status} (not 2xx) with the problem document
 * ${problem}.  If ${problem} is NULL or another kind of JSON, or its code is
 * unknown or not for clients, the status decides which problem it is; a status
 * that stands for none gives RC_PEER.  ${retry_after_s} is the Retry-After
 * header in seconds; if it is 0, the problem's retry_after is used, if that is
 * less than a day.  Makes the server's texts safe for a terminal.  Returns the
 * rc. */
enum rc fail_problem(
    struct fail *f, int status, const json_t *problem, int retry_after_s);

/* Returns true if the same request may succeed later without a change by its
 * sender, or if repeating it will at least show whether it was done. */
bool fail_may_retry(const struct fail *f);

/* Returns true if ${f} is a refusal, for now, of a message because of its
 * recipient: the recipient's inbox is full, or the recipient's server is new to
 * the sender's server and the sender has written to as many new servers as a
 * user may in a day.  Messages to other recipients may still be accepted. */
bool fail_of_recipient(const struct fail *f);

#endif
