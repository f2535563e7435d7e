/* SPDX-License-Identifier: MIT */
/*
 * Filling and extending errors.  Owns nothing and allocates nothing; promises
 * that the text is one NUL-terminated line, cut between characters, also when
 * an argument is the text of the same error; leaves errno alone.
 */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

/* Cuts off newlines at the end and, where text was lost, a piece of a
 * character. */
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

/* Prints at ${text}+${at}; the new length. */
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

static void
fill(struct err *err, enum rc rc, int sys, const char *text, size_t len)
{

	err->rc = rc;
	err->sys = sys;
	err->ext = 0;
	memcpy(err->text, text, len + 1);
}

enum rc
err_set(struct err *err, enum rc rc, const char *fmt, ...)
{
	char text[sizeof(err->text)];
	int saved = errno;
	va_list ap;
	size_t len;

	if (err == NULL)
		return (rc);
	va_start(ap, fmt);
	len = print_at(text, sizeof(text), 0, fmt, ap);
	va_end(ap);
	fill(err, rc, 0, text, len);
	errno = saved;
	return (rc);
}

enum rc
err_set_sys(struct err *err, enum rc rc, int sys, const char *fmt, ...)
{
	char text[sizeof(err->text)], why[64];
	int saved = errno;
	va_list ap;
	size_t len;

	if (err == NULL)
		return (rc);
	va_start(ap, fmt);
	len = print_at(text, sizeof(text), 0, fmt, ap);
	va_end(ap);
	len = add_at(
	    text, sizeof(text), len, ": %s", strerror_r(sys, why, sizeof(why)));
	fill(err, rc, sys, text, len);
	errno = saved;
	return (rc);
}

enum rc
err_wrap(struct err *err, const char *fmt, ...)
{
	char text[sizeof(err->text)];
	int saved = errno;
	va_list ap;
	size_t len;

	if (err == NULL)
		return (RC_INTERNAL);
	va_start(ap, fmt);
	len = print_at(text, sizeof(text), 0, fmt, ap);
	va_end(ap);
	len = add_at(text, sizeof(text), len, ": %s", err->text);
	memcpy(err->text, text, len + 1);
	errno = saved;
	return (err->rc);
}
