/* SPDX-License-Identifier: MIT */
/*
 * An immutable byte string that threads share, such as a message rendered for
 * clients.  It has a reference count because the request that sends a message,
 * the writer thread's cache of messages, and the events for the recipient and
 * for the sender's own devices use it at the same time, and none of these is
 * always the last.
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

/* Returns a copy of ${n} bytes at ${p} with one reference, which the caller
 * removes with text_unref(); NULL if there is no memory. */
struct text *text_new(const char *p, size_t n);

/* Adds a reference and returns ${t}.  Thread: any. */
struct text *text_ref(struct text *t);

/* Removes a reference; the last one frees ${t}.  NULL is allowed.  Thread:
 * any. */
void text_unref(struct text *t);

#endif
