/* SPDX-License-Identifier: MIT */
/*
 * Memory.  The only module that calls malloc().  Every allocation may fail and
 * return NULL; a test can make the k-th allocation fail (mem_fail_at()).
 * Thread: any.
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Frees ${p}, which may be NULL. */
void mem_free(void *p);

/* Lets gcc's analyzer check that the result is given to mem_free(). */
#if defined(__GNUC__) && !defined(__clang__)
#define MEM_OWNED __attribute__((__malloc__, __malloc__(mem_free, 1)))
#else
#define MEM_OWNED
#endif

/* Returns ${n} bytes, not initialised, or NULL if there is no memory.  If ${n}
 * is 0, returns one byte, so that NULL always means failure. */
void *mem_alloc(size_t n) MEM_OWNED;

/* Returns an array of ${n} zeroed objects of ${size} bytes, or NULL if ${n} *
 * ${size} overflows or there is no memory.  If ${n} or ${size} is 0, returns
 * one byte. */
void *mem_zalloc(size_t n, size_t size) MEM_OWNED;

/* Changes the size of ${p} (NULL: allocates a new block) to ${n} bytes (0: to
 * one byte) and returns the block, which may have moved.  Returns NULL on
 * failure; ${p} then stays valid. */
void *mem_realloc(void *p, size_t n);

/* Returns a copy of the NUL-terminated ${s}; NULL if ${s} is NULL or there is
 * no memory. */
char *mem_strdup(const char *s) MEM_OWNED;

/* Returns a NUL-terminated copy of ${n} bytes at ${s}. */
char *mem_strndup(const char *s, size_t n) MEM_OWNED;

/* Test aid: makes the ${k}-th allocation from now on fail, counted over the
 * calls of this module by all threads, and no other (0: none).  Replaces an
 * earlier ${k}. */
void mem_fail_at(int64_t k);

/* Returns true if the failure that mem_fail_at(k) armed has not happened yet.
 * After a run of the tested code this means that the run made fewer than k
 * allocations.  A test that repeats the run with k = 1, 2, 3 ... can then stop,
 * because it has made each allocation of the run fail once. */
bool mem_fail_pending(void);

#endif
