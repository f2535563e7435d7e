/* SPDX-License-Identifier: MIT */
/*
 * A growable byte buffer with a sticky failure: after an append has failed,
 * because an allocation failed, the limit would have been exceeded or a text
 * could not be formatted, every append does nothing and buf_ok() returns false,
 * until buf_reset(), buf_fini() or buf_take() clears the failure.  So a writer
 * of JSON checks once, at the end.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct buf {
	char *data; /* not NUL-terminated; NULL while cap is 0 */
	size_t len;
	size_t cap;
	size_t limit; /* in bytes; 0 = no limit */
	bool failed;
};

#define BUF_INIT                                                               \
	{                                                                      \
		.data = NULL, .len = 0, .cap = 0, .limit = 0, .failed = false  \
	}

/* Makes ${b} an empty buffer of at most ${limit} bytes (0: no limit). */
void buf_init(struct buf *b, size_t limit);

/* Frees the memory of ${b} and makes it empty.  Its limit stays. */
void buf_fini(struct buf *b);

/* Empties ${b} but keeps its memory, and clears the failure. */
void buf_reset(struct buf *b);

/* Returns room for ${n} more bytes (0 is allowed), at ${b}->data + ${b}->len,
 * or NULL on failure, which is sticky.  Does not change len: the caller adds
 * the number of bytes that it has written. */
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

/* Returns true if no append has failed since the last reset. */
static inline bool
buf_ok(const struct buf *b)
{

	return (!b->failed);
}

/* Returns the bytes of ${b}, NUL-terminated, in memory that the caller frees
 * with mem_free(), and stores their number in *ret_len (${ret_len} may be
 * NULL).  Returns NULL if ${b} has failed, or if ${b} has no memory yet and
 * none can be allocated; *ret_len is not set then.  In all cases ${b} is empty
 * afterwards, has not failed, and keeps its limit. */
char *buf_take(struct buf *b, size_t *ret_len);

#endif
