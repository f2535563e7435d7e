/* SPDX-License-Identifier: MIT */
/*
 * From a member to the object that holds it.
 */
#ifndef BASE_CONTAINER_H
#define BASE_CONTAINER_H

#include <stddef.h>

/* The object of ${type} whose ${member} is at ${ptr}.  A pointer of another
 * type than the member's does not compile. */
#define CONTAINER_OF(ptr, type, member)                                        \
	((type *)(void *)((char *)(1 ? (ptr) : &((type *)0)->member) -         \
			  offsetof(type, member)))

#endif
