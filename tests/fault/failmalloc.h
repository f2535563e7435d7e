/* SPDX-License-Identifier: MIT */
/*
 * The two halves of failmalloc.so: what fails (failmalloc.c), and blocks
 * between canaries (failmalloc_guard.c).
 */
#ifndef FAULT_FAILMALLOC_H
#define FAULT_FAILMALLOC_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define MODULES 24
#define MODULE_NAME 32

/* Where a failed allocation was asked for. */
struct module {
	_Atomic(const void *) base; /* NULL: no module yet */
	_Atomic uint64_t failures;
	char name[MODULE_NAME];
};

struct control {
	_Atomic uint32_t rate; /* failures in 2^32 calls; 0: none */
	uint32_t seed;
	_Atomic uint64_t calls; /* while the rate is not 0 */
	_Atomic uint64_t failures;
	_Atomic uint64_t checked; /* blocks whose canaries were looked at */
	uint64_t guarded;         /* whether there are canaries */
	struct module modules[MODULES];
};

/* The page that the test sees, or one that nobody does. */
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

/* ${n} bytes between canaries, aligned to ${align}, a power of two from 16 on;
 * NULL when the next allocator has none. */
void *guarded_block(size_t align, size_t n);

/* The block ${p}, which is not NULL, with ${n} bytes; NULL as above, and then
 * ${p} stays. */
void *guarded_realloc(void *p, size_t n);

/* Ends the life of ${p}, which is not NULL. */
void guarded_free(void *p);

/* How many bytes ${p} was asked for with. */
size_t guarded_bytes(const void *p);

#endif
