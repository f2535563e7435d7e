/* SPDX-License-Identifier: MIT */
/*
 * The two halves of failmalloc.so: the choice of the calls that fail
 * (failmalloc.c), and blocks between canaries (failmalloc_guard.c).
 */
#ifndef FAULT_FAILMALLOC_H
#define FAULT_FAILMALLOC_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define MODULES 24
#define MODULE_NAME 32

/* A program or library whose allocations have failed. */
struct module {
	_Atomic(const void *) base; /* NULL: unused entry */
	_Atomic uint64_t failures;
	char name[MODULE_NAME];
};

struct control {
	_Atomic uint32_t rate; /* failures in 2^32 calls; 0: none */
	uint32_t seed;
	_Atomic uint64_t calls; /* while the rate is not 0 */
	_Atomic uint64_t failures;
	_Atomic uint64_t checked; /* blocks whose canaries were checked */
	uint64_t guarded;         /* 1 if blocks have canaries */
	struct module modules[MODULES];
};

/* The page that the test shares, or a private one without a test. */
extern struct control *control;

/* The next allocator in the order of the libraries. */
struct allocator {
	void *(*malloc)(size_t);
	void *(*memalign)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void (*free)(void *);
	size_t (*usable)(void *);
};
extern struct allocator next;

/* Returns ${n} bytes between canaries, aligned to ${align}, a power of two of
 * at least 16.  Returns NULL when the next allocator has no memory. */
void *guarded_block(size_t align, size_t n);

/* Resizes the block ${p}, which is not NULL, to ${n} bytes.  Returns NULL when
 * there is no memory; then ${p} stays valid. */
void *guarded_realloc(void *p, size_t n);

/* Frees ${p}, which is not NULL. */
void guarded_free(void *p);

/* Returns the size with which ${p} was requested, in bytes. */
size_t guarded_bytes(const void *p);

#endif
