/* SPDX-License-Identifier: MIT */
/*
 * Memory.  The only place that calls malloc().  Every function may return
 * NULL; a test can make the k-th allocation fail (mem_fail_at).
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Frees ${p}, which may be NULL. */
void mem_free(void *p);

/* Lets gcc's analyzer follow what must be given to mem_free(). */
#if defined(__GNUC__) && !defined(__clang__)
#define MEM_OWNED __attribute__((__malloc__, __malloc__(mem_free, 1)))
#else
#define MEM_OWNED
#endif

/* ${n} bytes, not initialised; NULL when there is no memory.  n may be 0. */
void *mem_alloc(size_t n) MEM_OWNED;

/* ${n} objects of ${size} zeroed bytes; NULL on overflow or no memory. */
void *mem_zalloc(size_t n, size_t size) MEM_OWNED;

/* Grows or shrinks; on failure NULL and ${p} stays valid. */
void *mem_realloc(void *p, size_t n);

/* A copy of the NUL-terminated ${s}; NULL in, NULL out. */
char *mem_strdup(const char *s) MEM_OWNED;

/* A NUL-terminated copy of ${n} bytes at ${s}. */
char *mem_strndup(const char *s, size_t n) MEM_OWNED;

/* Test aid: the ${k}-th allocation from now fails (0 = never).  Process-wide.
 */
void mem_fail_at(int64_t k);

/* Whether the failure that mem_fail_at() armed is still to come: a sweep over
 * k = 1, 2, 3 ... has seen every allocation when it is after a run. */
bool mem_fail_pending(void);

#endif
