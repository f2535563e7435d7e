/* SPDX-License-Identifier: MIT */
/*
 * From a pointer to a member to the object that contains it.
 */
#ifndef BASE_CONTAINER_H
#define BASE_CONTAINER_H

#include <stddef.h>

/* Returns the object of ${type} whose ${member} is at ${ptr}.  The ?: makes the
 * compiler warn if ${ptr} points to another type than that of the member; a
 * void * passes. */
#define CONTAINER_OF(ptr, type, member)                                        \
	((type *)(void *)((char *)(1 ? (ptr) : &((type *)0)->member) -         \
			  offsetof(type, member)))

#endif
