/* SPDX-License-Identifier: MIT */
/*
 * Opens and checks files that an operator names, such as the file of settings.
 * Everything but a regular file is refused, because opening a FIFO may wait for
 * ever, and a device may have no end.
 */
#ifndef CONFIG_REGULAR_FILE_H
#define CONFIG_REGULAR_FILE_H

#include "base/err.h"

/* Opens ${path} for reading and follows links.  Sets *ret to the descriptor,
 * which the caller closes; an error leaves *ret unchanged.  Returns RC_INVALID
 * if ${path} is not a regular file (err->text says what it is, and err->sys is
 * 0), and rc_of_opening() of the errno, which is in err->sys, if it cannot be
 * opened: RC_NOT_FOUND if there is no such file.  Does not wait for the other
 * end of a FIFO.  Opens no device, unless ${path} becomes one between check and
 * open.  Thread: any. */
enum rc regular_file_open(const char *path, int *ret, struct err *err) MUST_USE;

/* Checks, without opening ${path}, that it is a regular file.  Returns RC_OK
 * also if there is no such file, RC_INVALID if ${path} is something else, and
 * rc_of_opening() of the errno if stat() fails for another reason. */
enum rc regular_file_check(const char *path, struct err *err) MUST_USE;

#endif
