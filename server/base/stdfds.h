/* SPDX-License-Identifier: MIT */
/*
 * Reserves the descriptors 0, 1 and 2 of a program that was started without one
 * of them (`twinboxd serve 2>&-`).  The kernel gives a new file the lowest free
 * number: without this, the database or a socket could become descriptor 2, and
 * the next message to standard error would be written into it.
 */
#ifndef BASE_STDFDS_H
#define BASE_STDFDS_H

#include <stdbool.h>

/* Opens /dev/null as each of the three descriptors that is closed: 0 for
 * writing only, 1 and 2 for reading only.  A read from standard input or a
 * write to standard output or error therefore still fails with EBADF, so that
 * lost output is reported.  Call it first in main(), before other threads
 * exist.  Returns false, with errno set, if /dev/null cannot be opened. */
bool stdfds_open(void);

#endif
