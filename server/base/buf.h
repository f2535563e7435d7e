/* SPDX-License-Identifier: MIT */
/*
 * A growable byte buffer whose failure is sticky: after the first failed
 * allocation, or when its limit would be passed, every append does nothing
 * and buf_ok() says so, so that a writer of JSON checks once, at the end.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct buf {
	char *data; /* not NUL-terminated; NULL while empty */
	size_t len;
	size_t cap;
	size_t limit; /* most bytes it may hold; 0 = no limit */
	bool failed;
};

#define BUF_INIT                                                               \
	{                                                                      \
		.data = NULL, .len = 0, .cap = 0, .limit = 0, .failed = false  \
	}

/* Makes ${b} an empty buffer that may hold at most ${limit} bytes (0: any). */
void buf_init(struct buf *b, size_t limit);

/* Frees what ${b} holds and makes it empty. */
void buf_fini(struct buf *b);

/* Empties ${b} but keeps its memory, and clears the failure. */
void buf_reset(struct buf *b);

/* Room for ${n} more bytes, at ${b}->data + ${b}->len; NULL when that fails.
 * Does not change len. */
char *buf_reserve(struct buf *b, size_t n);

/* Appends ${n} bytes. */
void buf_add(struct buf *b, const void *p, size_t n);

/* Appends a NUL-terminated string. */
void buf_adds(struct buf *b, const char *s);

/* Appends one byte. */
void buf_addc(struct buf *b, char c);

/* Appends a decimal number. */
void buf_addi(struct buf *b, int64_t n);

/* Appends formatted text. */
void buf_addf(struct buf *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Whether nothing has failed since the last reset. */
static inline bool
buf_ok(const struct buf *b)
{

	return (!b->failed);
}

/* Takes the memory of ${b}, NUL-terminated (mem_free() it); NULL when ${b} has
 * failed.  ${b} is empty afterwards in both cases, its limit stays.
 * *ret_len is set on success, ${ret_len} may be NULL. */
char *buf_take(struct buf *b, size_t *ret_len);

#endif
