/* SPDX-License-Identifier: MIT */
/*
 * The growable buffer.  Owns the memory at data: none while cap is 0, else
 * cap + 1 bytes, so that buf_take() can append a NUL without growing.  Promises
 * that len never exceeds the limit (if it is not 0), and that a failure is
 * sticky.
 */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/mem.h"

#define BUF_FIRST 64

static const char digit_pairs[201] = "00010203040506070809"
				     "10111213141516171819"
				     "20212223242526272829"
				     "30313233343536373839"
				     "40414243444546474849"
				     "50515253545556575859"
				     "60616263646566676869"
				     "70717273747576777879"
				     "80818283848586878889"
				     "90919293949596979899";

void
buf_init(struct buf *b, size_t limit)
{

	b->data = NULL;
	b->len = 0;
	b->cap = 0;
	b->limit = limit;
	b->failed = false;
}

void
buf_fini(struct buf *b)
{

	mem_free(b->data);
	buf_init(b, b->limit);
}

void
buf_reset(struct buf *b)
{

	b->len = 0;
	b->failed = false;
}

/* Makes cap at least len + ${n}.  On failure sets failed and returns false. */
static bool
grow(struct buf *b, size_t n)
{
	size_t limit, cap;
	char *data;

	limit = b->limit != 0 ? b->limit : SIZE_MAX - 1;
	if (b->failed || n > limit - b->len)
		goto fail;
	cap = b->cap <= limit / 2 ? b->cap * 2 : limit;
	if (cap < BUF_FIRST)
		cap = BUF_FIRST < limit ? BUF_FIRST : limit;
	if (cap < b->len + n)
		cap = b->len + n;
	data = mem_realloc(b->data, cap + 1);
	if (data == NULL)
		goto fail;
	b->data = data;
	b->cap = cap;
	return (true);

fail:
	b->failed = true;
	return (false);
}

/* Makes sure that ${n} more bytes fit at the end, if necessary with grow().
 * Returns false, with failed set, if they do not or ${b} had failed before.  If
 * ${n} > 0, true implies that data is not NULL, because cap is 0 while data is
 * NULL.  If ${n} is 0, data may still be NULL. */
static inline bool
room(struct buf *b, size_t n)
{

	if (__builtin_expect(b->failed, 0))
		return (false);
	if (__builtin_expect(n > b->cap - b->len, 0))
		return (grow(b, n));
	return (true);
}

char *
buf_reserve(struct buf *b, size_t n)
{

	if (!room(b, n) || (b->data == NULL && !grow(b, n)))
		return (NULL);
	return (b->data + b->len);
}

void
buf_add(struct buf *b, const void *p, size_t n)
{

	if (n == 0 || !room(b, n))
		return;
	memcpy(b->data + b->len, p, n);
	b->len += n;
}

void
buf_adds(struct buf *b, const char *s)
{

	buf_add(b, s, strlen(s));
}

void
buf_addc(struct buf *b, char c)
{

	if (room(b, 1))
		b->data[b->len++] = c;
}

void
buf_addi(struct buf *b, int64_t n)
{
	char text[20];
	size_t at = sizeof(text);
	uint64_t u;

	u = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
	while (u >= 100) {
		at -= 2;
		memcpy(text + at, digit_pairs + 2 * (u % 100), 2);
		u /= 100;
	}
	if (u >= 10) {
		at -= 2;
		memcpy(text + at, digit_pairs + 2 * u, 2);
	} else {
		text[--at] = (char)('0' + (int)u);
	}
	if (n < 0)
		text[--at] = '-';
	buf_add(b, text + at, sizeof(text) - at);
}

void
buf_addf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	size_t have;
	int n;

	if (b->failed)
		return;
	have = b->cap - b->len;
	va_start(ap, fmt);
	if (b->data == NULL)
		n = vsnprintf(NULL, 0, fmt, ap);
	else
		n = vsnprintf(b->data + b->len, have + 1, fmt, ap);
	va_end(ap);
	if (n < 0) {
		b->failed = true;
		return;
	}
	if ((size_t)n > have) {
		if (!grow(b, (size_t)n))
			return;
		va_start(ap, fmt);
		(void)vsnprintf(b->data + b->len, (size_t)n + 1, fmt, ap);
		va_end(ap);
	}
	b->len += (size_t)n;
}

char *
buf_take(struct buf *b, size_t *ret_len)
{
	char *data = NULL;

	if (buf_reserve(b, 0) == NULL)
		goto out;
	data = b->data;
	data[b->len] = '\0';
	if (ret_len != NULL)
		*ret_len = b->len;
	b->data = NULL;
out:
	buf_fini(b);
	return (data);
}
