/* SPDX-License-Identifier: MIT */
/*
 * Fills and extends errors.  Owns nothing, allocates nothing and leaves errno
 * unchanged.  Promises that the text is NUL-terminated, has no newline at its
 * end and is cut between characters if it is too long, also when an argument is
 * the text of the same error.
 */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

/* If the text was ${cut}, removes an incomplete UTF-8 character at its end.
 * Then removes newlines (LF and CR) at the end, also of a text that was not
 * cut, writes a NUL there, and returns the new length. */
static size_t
tidy(char *text, size_t len, bool cut)
{
	size_t lead = len;

	if (cut) {
		while (lead > 0 && len - lead < 3 &&
		       ((unsigned char)text[lead - 1] & 0xc0) == 0x80)
			lead--;
		if (lead > 0)
			lead--;
		if (!utf8_valid(text + lead, len - lead, NULL))
			len = lead;
	}
	while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r'))
		len--;
	text[len] = '\0';
	return (len);
}

/* Prints at ${text} + ${at} and returns the new length. */
static size_t __attribute__((format(printf, 4, 0)))
print_at(char *text, size_t size, size_t at, const char *fmt, va_list ap)
{
	int n;

	n = vsnprintf(text + at, size - at, fmt, ap);
	if (n < 0)
		n = 0;
	if ((size_t)n >= size - at)
		return (tidy(text, size - 1, true));
	return (tidy(text, at + (size_t)n, false));
}

static size_t __attribute__((format(printf, 4, 5)))
add_at(char *text, size_t size, size_t at, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	at = print_at(text, size, at, fmt, ap);
	va_end(ap);
	return (at);
}

/* Sets the text of ${err}, which is not NULL, to ${fmt} with the arguments
 * ${ap} and, unless ${why} is NULL, ": " and ${why} after it, cut if it is too
 * long.  Prints into a local array first, because ${why} or an argument may be
 * the old text of ${err}. */
static void __attribute__((format(printf, 3, 0)))
set_text(struct err *err, const char *why, const char *fmt, va_list ap)
{
	char text[sizeof(err->text)];
	int saved = errno;
	size_t len;

	len = print_at(text, sizeof(text), 0, fmt, ap);
	if (why != NULL)
		len = add_at(text, sizeof(text), len, ": %s", why);
	memcpy(err->text, text, len + 1);
	errno = saved;
}

static enum rc
set_codes(struct err *err, enum rc rc, int sys)
{

	err->rc = rc;
	err->sys = sys;
	err->ext = 0;
	return (rc);
}

enum rc
err_set(struct err *err, enum rc rc, const char *fmt, ...)
{
	va_list ap;

	if (err == NULL)
		return (rc);
	va_start(ap, fmt);
	set_text(err, NULL, fmt, ap);
	va_end(ap);
	return (set_codes(err, rc, 0));
}

enum rc
err_set_sys(struct err *err, enum rc rc, int sys, const char *fmt, ...)
{
	const int saved = errno;
	const char *why;
	char room[64];
	va_list ap;

	if (err == NULL)
		return (rc);
	why = strerror_r(sys, room, sizeof(room));
	errno = saved;
	va_start(ap, fmt);
	set_text(err, why, fmt, ap);
	va_end(ap);
	return (set_codes(err, rc, sys));
}

enum rc
err_wrap(struct err *err, const char *fmt, ...)
{
	va_list ap;

	if (err == NULL)
		return (RC_INTERNAL);
	va_start(ap, fmt);
	set_text(err, err->text, fmt, ap);
	va_end(ap);
	return (err->rc);
}
