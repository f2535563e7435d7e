/* SPDX-License-Identifier: MIT */
/*
 * Small things of the load generator; see util.h.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#include "util.h"

void
bench_die(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fputs("loadgen: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

void *
bench_zalloc(size_t n, size_t size)
{
	void *p = mem_zalloc(n, size);

	if (p == NULL)
		bench_die("out of memory");
	return (p);
}

int64_t
bench_number(const char *what, const char *text, int64_t min)
{
	int64_t v = 0;
	const char *p;

	for (p = text; *p >= '0' && *p <= '9' && v < INT64_MAX / 100; p++)
		v = v * 10 + (*p - '0');
	if (p == text || *p != '\0' || v < min)
		bench_die(
		    "%s must be a whole number of at least %lld, not '%s'",
		    what, (long long)min, text);
	return (v);
}

/* Returns the start of the value of member ${name}, or NULL. */
static const char *
find_value(const char *p, size_t n, const char *name)
{
	char key[64];
	int len = snprintf(key, sizeof(key), "\"%s\":", name);
	const char *at;

	if (len < 0 || (size_t)len >= sizeof(key))
		return (NULL);
	at = memmem(p, n, key, (size_t)len);
	return (at == NULL ? NULL : at + len);
}

bool
scan_i64(const char *p, size_t n, const char *name, int64_t *ret)
{
	const char *at = find_value(p, n, name), *end = p + n;
	const char *first;
	int64_t v = 0;

	if (at == NULL)
		return (false);
	first = at;
	for (; at < end && *at >= '0' && *at <= '9'; at++)
		v = v * 10 + (*at - '0');
	if (at == first)
		return (false);
	*ret = v;
	return (true);
}

bool
scan_text(const char *p, size_t n, const char *name, char *ret, size_t size)
{
	const char *at = find_value(p, n, name), *end = p + n;
	const char *quote;

	if (at == NULL || at >= end || *at != '"')
		return (false);
	at++;
	quote = memchr(at, '"', (size_t)(end - at));
	if (quote == NULL || (size_t)(quote - at) >= size)
		return (false);
	memcpy(ret, at, (size_t)(quote - at));
	ret[quote - at] = '\0';
	return (true);
}

bool
scan_has(const char *p, size_t n, const char *what)
{

	return (memmem(p, n, what, strlen(what)) != NULL);
}

bool
scan_hex(const char *p, int64_t *ret)
{
	uint64_t v = 0;

	for (int i = 0; i < 16; i++) {
		unsigned char c = (unsigned char)p[i];

		if (c >= '0' && c <= '9')
			v = v << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			v = v << 4 | (uint64_t)(c - 'a' + 10);
		else
			return (false);
	}
	*ret = (int64_t)v;
	return (true);
}
