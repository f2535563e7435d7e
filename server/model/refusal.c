/* SPDX-License-Identifier: MIT */
/*
 * The table of problem types, and the texts of refusals.  Promises that a
 * detail is valid UTF-8 without control and format characters, whatever bytes
 * of a client it quotes, because terminals and logs show it.
 */
#include <assert.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "model/refusal.h"

static const struct {
	const char *slug;
	int status;
	const char *title;
	const char *cause;
	const char *cure;
} problems[PROBLEM_COUNT] = {[PROBLEM_NONE] = {"", 200, "", "", ""},
#define X(id, slug, status, title, cause, cure)                                \
	[PROBLEM_##id] = {slug, status, title, cause, cure},
    PROBLEM_TABLE(X)
#undef X
};

static size_t
index_of(enum problem p)
{

	assert((unsigned int)p < PROBLEM_COUNT);
	return ((size_t)p);
}

const char *
problem_slug(enum problem p)
{

	return (problems[index_of(p)].slug);
}

int
problem_status(enum problem p)
{

	return (problems[index_of(p)].status);
}

const char *
problem_title(enum problem p)
{

	return (problems[index_of(p)].title);
}

const char *
problem_cause(enum problem p)
{

	return (problems[index_of(p)].cause);
}

const char *
problem_cure(enum problem p)
{

	return (problems[index_of(p)].cure);
}

enum problem
problem_find(const char *slug)
{
	int i;

	for (i = PROBLEM_NONE + 1; i < PROBLEM_COUNT; i++) {
		if (strcmp(problems[i].slug, slug) == 0)
			return ((enum problem)i);
	}
	return (PROBLEM_NONE);
}

enum problem
problem_of_rc(enum rc rc)
{

	switch (rc) {
	case RC_OK:
		return (PROBLEM_NONE);
	case RC_INVALID:
		return (PROBLEM_BAD_REQUEST);
	case RC_NOT_FOUND:
		return (PROBLEM_NOT_FOUND);
	case RC_EXISTS:
	case RC_CONFLICT:
		return (PROBLEM_CONFLICT);
	case RC_DENIED:
		return (PROBLEM_FORBIDDEN);
	case RC_LIMIT:
		return (PROBLEM_RATE_LIMITED);
	case RC_NO_MEMORY:
	case RC_BUSY:
	case RC_AWAY:
	case RC_UNCERTAIN:
	case RC_UNCONFIRMED:
	case RC_PEER:
		return (PROBLEM_BUSY);
	case RC_FULL:
		return (PROBLEM_STORAGE_FULL);
	case RC_CLOSED:
		return (PROBLEM_DRAINING);
	case RC_IO:
	case RC_CORRUPT:
	case RC_INTERNAL:
	case RC_SETTING:
	case RC_COUNT:
	default:
		return (PROBLEM_INTERNAL);
	}
}

/* Makes ${text}, which may have been cut inside a character, fit to be shown:
 * bytes that are not UTF-8, and the bytes of control and format characters,
 * become '?'. */
static void
scrub(char *text)
{
	size_t at, len, n;
	uint32_t c;

	n = strlen(text);
	for (at = 0; at < n; at += len) {
		len = utf8_decode(text + at, n - at, &c);
		if (len > 0 && !utf8_is_unsafe(c))
			continue;
		text[at] = '?';
		len = 1;
	}
}

void
refusal_set(struct refusal *r, enum problem p, const char *pointer,
    const char *fmt, ...)
{
	va_list ap;
	size_t n;
	int status;

	r->problem = p;
	status = problem_status(p);
	if ((status == 429 || status == 503) && r->retry_after_s <= 0)
		r->retry_after_s = 1;

	/* Leave out a pointer that is too long: a cut one would name another
	 * member. */
	n = strlen(pointer);
	if (n >= sizeof(r->pointer))
		n = 0;
	memcpy(r->pointer, pointer, n);
	r->pointer[n] = '\0';

	va_start(ap, fmt);
	(void)vsnprintf(r->detail, sizeof(r->detail), fmt, ap);
	va_end(ap);
	scrub(r->detail);
}

/* As refusal_of_rc().  ${busy} is the text for RC_BUSY. */
static void
refuse_for(struct refusal *r, enum rc rc, const char *busy)
{
	enum problem p = problem_of_rc(rc);

	if (p == PROBLEM_BUSY)
		refusal_set(r, p, "", "%s; repeat with the same id",
		    rc == RC_BUSY ? busy : rc_text(rc));
	else if (p == PROBLEM_DRAINING)
		refusal_set(r, p, "", "the server is stopping");
	else if (p == PROBLEM_STORAGE_FULL)
		refusal_set(r, p, "", "the server's disk is full");
	else
		refusal_set(r, PROBLEM_INTERNAL, "",
		    "the server failed; its log has the story");
}

void
refusal_of_rc(struct refusal *r, enum rc rc)
{

	refuse_for(r, rc, "too much waits already");
}

void
refusal_of_unit(struct refusal *r, enum rc rc)
{

	refuse_for(r, rc, "another transaction keeps what it needs");
}

void
refusal_prefix(struct refusal *r, const char *prefix)
{
	size_t n = strlen(prefix), rest = strlen(r->pointer);

	assert(n < sizeof(r->pointer));
	if (n + rest >= sizeof(r->pointer))
		rest = 0;
	memmove(r->pointer + n, r->pointer, rest);
	memcpy(r->pointer, prefix, n);
	r->pointer[n + rest] = '\0';
}
