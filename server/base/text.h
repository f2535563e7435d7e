/* SPDX-License-Identifier: MIT */
/*
 * An immutable byte string that threads share.  It has a reference count, as no
 * other object has, because the answer, the push to the recipient and the push
 * to the sender's own devices use the rendered form of a message at the same
 * time.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdatomic.h>
#include <stddef.h>

struct text {
	atomic_uint refs;
	size_t len;
	char data[]; /* len bytes and a NUL */
};

/* Returns a copy of ${n} bytes with one reference, NULL if there is no
 * memory. */
struct text *text_new(const char *p, size_t n);

/* Adds a reference and returns ${t}.  Thread: any. */
struct text *text_ref(struct text *t);

/* Removes a reference; the last one frees ${t}.  NULL is allowed.  Thread:
 * any. */
void text_unref(struct text *t);

#endif
