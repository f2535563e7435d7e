/* SPDX-License-Identifier: MIT */
/*
 * Failures.  FAIL_TABLE maps each problem of the server's contract that a
 * client can get to a result code, an exit code, and a cure in the words of the
 * command line.  If a refusal has a known problem but no detail, the text of
 * the failure is the problem's title in model/refusal.h.
 */
#include "lib/fail.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/safe.h"
#include "model/refusal.h"

/* X(problem, rc, exit code, cure in the words of the command line) */
#define FAIL_TABLE(X)                                                          \
	X(BAD_REQUEST, RC_INVALID, EX_DATAERR, "correct what is named")        \
	X(UNAUTHENTICATED, RC_DENIED, EX_NOPERM, FAIL_LOGIN_AGAIN)             \
	X(WRONG_PASSWORD, RC_DENIED, EX_NOPERM, "check name and password")     \
	X(ONE_TIME_PASSWORD, RC_DENIED, EX_NOPERM,                             \
	    "log in with that one: " FAIL_LOGIN)                               \
	X(FORBIDDEN, RC_DENIED, EX_NOPERM, "use an account that may")          \
	X(NOT_FOUND, RC_NOT_FOUND, EX_DATAERR,                                 \
	    "check the id; lists show only what is yours")                     \
	X(METHOD_NOT_ALLOWED, RC_PEER, EX_PROTOCOL,                            \
	    "use a server and a client of the same version")                   \
	X(CONFLICT, RC_EXISTS, EX_CANTCREAT, "choose another name or id")      \
	X(ALREADY_SENT, RC_CONFLICT, EX_DATAERR,                               \
	    "what has left cannot be canceled")                                \
	X(CURSOR_EXPIRED, RC_CONFLICT, EX_DATAERR,                             \
	    "leave --after out, or begin with --after 0")                      \
	X(PRECONDITION_FAILED, RC_CONFLICT, EX_TEMPFAIL,                       \
	    "it has changed meanwhile: look again, then repeat")               \
	X(BODY_TOO_LARGE, RC_INVALID, EX_DATAERR, "send less in one message")  \
	X(UNSUPPORTED_MEDIA, RC_PEER, EX_PROTOCOL,                             \
	    "use a server and a client of the same version")                   \
	X(EXPECTATION_FAILED, RC_PEER, EX_PROTOCOL,                            \
	    "use a server and a client of the same version")                   \
	X(UNKNOWN_RECIPIENT, RC_NOT_FOUND, EX_NOUSER,                          \
	    "check the spelling of the address")                               \
	X(KEY_REUSED, RC_INVALID, EX_DATAERR,                                  \
	    "use a fresh --id or --key for another text")                      \
	X(ACK_BEYOND_HEAD, RC_INVALID, EX_DATAERR,                             \
	    "name an event that twinbox inbox has shown")                      \
	X(PRECONDITION_REQUIRED, RC_PEER, EX_PROTOCOL,                         \
	    "use a server and a client of the same version")                   \
	X(HEAD_TOO_LARGE, RC_PEER, EX_PROTOCOL,                                \
	    "use a server and a client of the same version")                   \
	X(RATE_LIMITED, RC_LIMIT, EX_TEMPFAIL, "wait, then repeat")            \
	X(QUEUE_FULL, RC_LIMIT, EX_TEMPFAIL,                                   \
	    "wait until what is pending has gone out: twinbox outbox")         \
	X(QUOTA_USED, RC_LIMIT, EX_TEMPFAIL,                                   \
	    "repeat tomorrow (UTC), or ask an administrator for more")         \
	X(INTERNAL, RC_INTERNAL, EX_SOFTWARE,                                  \
	    "repeat with the same id, which is safe; tell the operator")       \
	X(NOT_IMPLEMENTED, RC_PEER, EX_UNAVAILABLE, "use a newer server")      \
	X(BUSY, RC_BUSY, EX_TEMPFAIL, "repeat in a moment")                    \
	X(DRAINING, RC_BUSY, EX_TEMPFAIL, "repeat in a moment")                \
	X(INBOX_FULL, RC_FULL, EX_TEMPFAIL,                                    \
	    "repeat later; tell the recipient")                                \
	X(STORAGE_FULL, RC_FULL, EX_TEMPFAIL, "repeat later; tell the operator")

static const struct outcome {
	enum rc rc;
	int exit;
	const char *cure;
} outcomes[PROBLEM_COUNT] = {[PROBLEM_NONE] = {RC_PEER, EX_PROTOCOL,
				 "check that --server names a twinbox server"},
#define X(problem, rc, exit, cure) [PROBLEM_##problem] = {rc, exit, cure},
    FAIL_TABLE(X)
#undef X
};

static const struct kind {
	enum rc rc;
	int exit;
	const char *cure;
	const char *name;
} kinds[FAIL_KIND_COUNT] = {
#define X(kind, rc, exit, cure) [FAIL_##kind] = {rc, exit, cure, #kind},
    FAIL_KIND_TABLE(X)
#undef X
};

enum rc
fail_set(struct fail *f, enum fail_kind kind, const char *fmt, ...)
{
	const struct kind *k = &kinds[kind];
	va_list ap;
	size_t i;

	f->rc = k->rc;
	f->exit = k->exit;
	f->status = 0;
	f->retry_after_s = 0;
	f->pointer[0] = '\0';
	for (i = 0; k->name[i] != '\0' && i < sizeof(f->code) - 1; i++)
		f->code[i] = (char)tolower((unsigned char)k->name[i]);
	f->code[i] = '\0';
	(void)snprintf(f->cure, sizeof(f->cure), "%s", k->cure);
	va_start(ap, fmt);
	(void)vsnprintf(f->what, sizeof(f->what), fmt, ap);
	va_end(ap);
	return (f->rc);
}

enum rc
fail_cure(struct fail *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(f->cure, sizeof(f->cure), fmt, ap);
	va_end(ap);
	return (f->rc);
}

enum rc
fail_logged_out(struct fail *f)
{

	(void)fail_set(f, FAIL_NOT_LOGGED_IN, FAIL_LOGGED_OUT);
	return (fail_cure(f, FAIL_LOGIN_AGAIN));
}

/* Returns the problem that HTTP ${status} alone stands for, which is used when
 * the answer has no problem document, or one whose code is unknown or not for
 * clients.  Returns PROBLEM_NONE for every status but 400, 401, 403, 413, 429
 * and 501 to 504. */
static enum problem
problem_of_status(int status)
{

	switch (status) {
	case 400:
		return (PROBLEM_BAD_REQUEST);
	case 401:
		return (PROBLEM_UNAUTHENTICATED);
	case 403:
		return (PROBLEM_FORBIDDEN);
	case 413:
		return (PROBLEM_BODY_TOO_LARGE);
	case 429:
		return (PROBLEM_RATE_LIMITED);
	case 501:
		return (PROBLEM_NOT_IMPLEMENTED);
	case 502:
	case 503:
	case 504:
		return (PROBLEM_BUSY);
	default:
		return (PROBLEM_NONE);
	}
}

/* Returns the problem named ${code}, which is spelled with underscores. */
static enum problem
problem_of_code(const char *code)
{
	char slug[40];
	size_t i;

	for (i = 0; code[i] != '\0' && i < sizeof(slug) - 1; i++)
		slug[i] = (char)(code[i] == '_' ? '-' : code[i]);
	slug[i] = '\0';
	return (problem_find(slug));
}

/* Returns true if ${pointer} ends with "/to", as the pointers to a message's
 * recipient do: "/to" in a request, "/message/to" in a frame. */
static bool
is_recipient(const char *pointer)
{
	size_t n = strlen(pointer);

	return (n >= 3 && strcmp(pointer + n - 3, "/to") == 0);
}

/* Returns ${p}, or PROBLEM_NONE for a problem that only servers get from each
 * other and that FAIL_TABLE therefore does not have. */
static enum problem
for_clients(enum problem p)
{

	return (outcomes[p].cure != NULL ? p : PROBLEM_NONE);
}

/* Returns the cure of problem ${p}.  ${pointer} names the refused member. */
static const char *
cure_of(enum problem p, const char *pointer)
{

	if (p == PROBLEM_QUOTA_USED && is_recipient(pointer))
		return ("wait, then repeat; people of servers that are known "
			"here can be written to now");
	return (outcomes[p].cure);
}

enum rc
fail_problem(
    struct fail *f, int status, const json_t *problem, int retry_after_s)
{
	const char *code = json_string_value(json_object_get(problem, "code"));
	const char *detail =
	    json_string_value(json_object_get(problem, "detail"));
	const char *pointer =
	    json_string_value(json_object_get(problem, "pointer"));
	json_int_t wait =
	    json_integer_value(json_object_get(problem, "retry_after"));
	enum problem p = PROBLEM_NONE;
	char safe[200] = "";

	if (code != NULL)
		p = for_clients(problem_of_code(code));
	if (p == PROBLEM_NONE)
		p = for_clients(problem_of_status(status));
	/* Replace the server's detail, which explains how to send the
	 * Authorization header.  This client sends that header, so the cause is
	 * a token that is no longer valid. */
	if (p == PROBLEM_UNAUTHENTICATED &&
	    (code == NULL || problem_of_code(code) == p))
		detail = FAIL_LOGGED_OUT;
	if (detail == NULL)
		detail = p != PROBLEM_NONE ? problem_title(p) : "";
	safe_line(detail, strlen(detail), safe, sizeof(safe));
	if (safe[0] == '\0')
		(void)snprintf(safe, sizeof(safe),
		    "the server answered HTTP %d without saying why", status);
	(void)fail_set(f, FAIL_PROTOCOL, "%s", safe);
	f->rc = outcomes[p].rc;
	f->exit = outcomes[p].exit;
	if (pointer != NULL)
		safe_line(
		    pointer, strlen(pointer), f->pointer, sizeof(f->pointer));
	(void)fail_cure(f, "%s", cure_of(p, f->pointer));
	if (code != NULL)
		safe_line(code, strlen(code), f->code, sizeof(f->code));
	else if (p != PROBLEM_NONE)
		(void)snprintf(f->code, sizeof(f->code), "%s", problem_slug(p));
	f->status = status;
	if (retry_after_s <= 0 && wait > 0 && wait < 86400)
		retry_after_s = (int)wait;
	f->retry_after_s = retry_after_s;
	if (retry_after_s > 0)
		(void)fail_cure(f, "%s (the server asks for %d s)",
		    cure_of(p, f->pointer), retry_after_s);
	return (f->rc);
}

bool
fail_may_retry(const struct fail *f)
{

	if (f->status >= 500 && f->status != 501)
		return (true);
	if (strcmp(f->code, "unreachable") == 0)
		return (true);
	return (f->rc == RC_UNCERTAIN || f->rc == RC_BUSY ||
		f->rc == RC_LIMIT || f->rc == RC_FULL);
}

bool
fail_of_recipient(const struct fail *f)
{

	return (
	    strcmp(f->code, "inbox_full") == 0 ||
	    (strcmp(f->code, "quota_used") == 0 && is_recipient(f->pointer)));
}
