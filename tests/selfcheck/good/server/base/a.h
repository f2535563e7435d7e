/* SPDX-License-Identifier: MIT */
/*
 * A sample that every gate must let pass.
 */
#ifndef BASE_A_H
#define BASE_A_H

#include <stddef.h>

struct a;

typedef int (*a_fn)(void *arg);

/* The sum of ${n} and one.  Thread: any. */
int a_next(int n) __attribute__((const));

/* The length of ${s}, which is borrowed, over
 * more than one line. */
size_t a_length(
    const char *s, int this_argument_is_not_used_at_all, int neither_is_this);

#endif
