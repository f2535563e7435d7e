/* SPDX-License-Identifier: MIT */
/*
 * The one place that calls malloc().  Owns the counter that makes the k-th
 * allocation fail.  Promises that the counter costs one relaxed load while it
 * is off, and that exactly one allocation fails, however many threads allocate.
 */
#include "base/mem.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static _Atomic int64_t fail_at;

/* Counts this allocation.  Returns true if it is the one that must fail. */
static inline bool
fails_now(void)
{
	int64_t k;

	k = atomic_load_explicit(&fail_at, memory_order_relaxed);
	if (__builtin_expect(k == 0, 1))
		return (false);
	while (k > 0) {
		if (atomic_compare_exchange_weak(&fail_at, &k, k - 1))
			return (k == 1);
	}
	return (false);
}

void *
mem_alloc(size_t n)
{

	if (fails_now())
		return (NULL);
	return (malloc(n == 0 ? 1 : n));
}

void *
mem_zalloc(size_t n, size_t size)
{

	if (fails_now())
		return (NULL);
	if (n == 0 || size == 0)
		n = size = 1;
	/* calloc() checks for overflow as well, but the calloc() of a sanitizer
	 * ends the program on overflow. */
	if (n > SIZE_MAX / size)
		return (NULL);
	return (calloc(n, size));
}

void *
mem_realloc(void *p, size_t n)
{

	if (fails_now())
		return (NULL);
	return (realloc(p, n == 0 ? 1 : n));
}

char *
mem_strdup(const char *s)
{

	if (s == NULL)
		return (NULL);
	return (mem_strndup(s, strlen(s)));
}

char *
mem_strndup(const char *s, size_t n)
{
	char *copy;

	if (n == SIZE_MAX)
		return (NULL);
	copy = mem_alloc(n + 1);
	if (copy == NULL)
		return (NULL);
	if (n > 0)
		memcpy(copy, s, n);
	copy[n] = '\0';
	return (copy);
}

void
mem_free(void *p)
{

	free(p);
}

void
mem_fail_at(int64_t k)
{

	atomic_store(&fail_at, k < 0 ? 0 : k);
}

bool
mem_fail_pending(void)
{

	return (atomic_load(&fail_at) != 0);
}
