/* SPDX-License-Identifier: MIT */
/*
 * Shared immutable strings.  Promises that the bytes are complete before
 * another thread can see them, because the thread that makes a string hands it
 * on afterwards; and that they are freed after the last thread has finished
 * with them, because the decrement of the count releases the reads of its
 * thread and acquires those of all others.
 */
#include "base/text.h"

#include <assert.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"

struct text *
text_new(const char *p, size_t n)
{
	struct text *t;

	if (n >= SIZE_MAX - sizeof(*t))
		return (NULL);
	t = mem_alloc(sizeof(*t) + n + 1);
	if (t == NULL)
		return (NULL);
	atomic_init(&t->refs, 1);
	t->len = n;
	if (n > 0)
		memcpy(t->data, p, n);
	t->data[n] = '\0';
	return (t);
}

struct text *
text_ref(struct text *t)
{
	unsigned before;

	before = atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
	assert(before > 0 && before < UINT_MAX);
	return (t);
}

void
text_unref(struct text *t)
{
	unsigned before;

	if (t == NULL)
		return;
	before = atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel);
	assert(before > 0);
	if (before == 1)
		mem_free(t);
}
