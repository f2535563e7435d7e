/* SPDX-License-Identifier: MIT */
/*
 * Blocks between canaries, for a build without a sanitizer. free() and
 * realloc() check both edges of a block.  A new block is filled with one
 * pattern and a freed block with another.  A freed block is released only some
 * thousand calls of free() later, after its pattern was checked.  Damage ends
 * the program with SIGABRT, after a line on standard error.
 */
#include "failmalloc.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TAIL 16
#define FRESH 0xCD
#define FREED 0xDD
#define EDGE 0xA5
#define LIVE_SEAL UINT64_C(0x6c6976652d626c6b)
#define FREED_SEAL UINT64_C(0x66726565642d626b)
/* The most bytes of a freed block that are filled and checked. */
#define FILLED 4096
/* Larger blocks are not kept after free(). */
#define KEPT_BYTES 65536
#define KEPT 8192

/* Stands before each block. */
struct head {
	void *base; /* from the next allocator */
	size_t bytes;
	uint64_t seal; /* one of the words above, the address and the size */
	unsigned char front[8];
};

_Static_assert(sizeof(struct head) % 16 == 0, "blocks are aligned");

static _Atomic(struct head *) kept[KEPT];
static _Atomic uint64_t kept_next;

static uint64_t
seal(const struct head *h, uint64_t word)
{

	return (word ^ (uint64_t)(uintptr_t)h ^ (uint64_t)h->bytes << 1);
}

/* Prints the damage, for the process that runs the test, and ends the
 * program. */
static void __attribute__((noreturn))
damage(const struct head *h, const char *what)
{
	char line[160];
	int n;

	n = snprintf(line, sizeof(line),
	    "failmalloc: damage: block %p of %zu bytes: %s\n",
	    (const void *)(h + 1), h->bytes, what);
	if (write(STDERR_FILENO, line, (size_t)n) == -1)
		abort();
	abort();
}

static bool
is_filled(const unsigned char *p, size_t n, unsigned char with)
{

	for (; n > 0; n--, p++)
		if (*p != with)
			return (false);
	return (true);
}

static size_t
filled(const struct head *h)
{

	return (h->bytes < FILLED ? h->bytes : FILLED);
}

/* Checks both edges of a block in use. */
static void
check_live(const struct head *h)
{

	if (h->seal == seal(h, FREED_SEAL))
		damage(h, "freed twice, or used after it was freed");
	if (h->seal != seal(h, LIVE_SEAL))
		damage(h, "never allocated, or what stands before it was hit");
	if (!is_filled(h->front, sizeof(h->front), EDGE))
		damage(h, "written in front of it");
	if (!is_filled((const unsigned char *)(h + 1) + h->bytes, TAIL, EDGE))
		damage(h, "written beyond its end");
	atomic_fetch_add_explicit(&control->checked, 1, memory_order_relaxed);
}

/* See failmalloc.h. */
void *
guarded_block(size_t align, size_t n)
{
	struct head *h;
	char *base;

	if (n > PTRDIFF_MAX - sizeof(*h) - TAIL - align) {
		errno = ENOMEM;
		return (NULL);
	}
	base = next.malloc(n + sizeof(*h) + TAIL + align);
	if (base == NULL)
		return (NULL);
	h = (struct head *)(((uintptr_t)base + sizeof(*h) + align - 1) &
			    ~(uintptr_t)(align - 1)) -
	    1;
	h->base = base;
	h->bytes = n;
	h->seal = seal(h, LIVE_SEAL);
	memset(h->front, EDGE, sizeof(h->front));
	memset(h + 1, FRESH, filled(h));
	memset((char *)(h + 1) + n, EDGE, TAIL);
	return (h + 1);
}

/* Releases a block that was kept, after checking that the program has not
 * written to it since it was freed. */
static void
guarded_release(struct head *h)
{

	if (h->seal != seal(h, FREED_SEAL) ||
	    !is_filled((unsigned char *)(h + 1), filled(h), FREED))
		damage(h, "written after it was freed");
	next.free(h->base);
}

void
guarded_free(void *p)
{
	struct head *h, *old;
	uint64_t i;

	h = (struct head *)p - 1;
	check_live(h);
	h->seal = seal(h, FREED_SEAL);
	memset(h + 1, FREED, filled(h));
	old = h;
	if (h->bytes <= KEPT_BYTES) {
		i = atomic_fetch_add(&kept_next, 1);
		old = atomic_exchange(&kept[i % KEPT], h);
	}
	if (old != NULL)
		guarded_release(old);
}

void *
guarded_realloc(void *p, size_t n)
{
	struct head *h;
	void *grown;

	h = (struct head *)p - 1;
	check_live(h);
	grown = guarded_block(16, n);
	if (grown == NULL)
		return (NULL);
	memcpy(grown, p, h->bytes < n ? h->bytes : n);
	guarded_free(p);
	return (grown);
}

size_t
guarded_bytes(const void *p)
{

	return (((const struct head *)p - 1)->bytes);
}
