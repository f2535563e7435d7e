/* SPDX-License-Identifier: MIT */
/*
 * An immutable byte string shared between threads: the one kind of object
 * with a reference count, because a message's rendered form is used by the
 * answer, by the recipient's push and by the sender's own copy at once.
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

/* A copy of ${n} bytes with one reference; NULL: no memory. */
struct text *text_new(const char *p, size_t n);

/* One reference more; returns ${t}.  Thread: any. */
struct text *text_ref(struct text *t);

/* One reference less; frees with the last.  NULL is allowed.  Thread: any. */
void text_unref(struct text *t);

#endif
