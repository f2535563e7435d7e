/* SPDX-License-Identifier: MIT */
/*
 * Files that an operator names.  Opening a FIFO may wait for ever, and a device
 * may have no end, so commands read regular files only.
 */
#ifndef CONFIG_REGULAR_FILE_H
#define CONFIG_REGULAR_FILE_H

#include "base/err.h"

/* Opens ${path} for reading and follows links; the caller closes *ret.  Returns
 * RC_NOT_FOUND if there is no such file, RC_INVALID if it is not a regular file
 * (the text says what it is), else as rc_of_opening().  Never blocks and opens
 * no device.  Thread: any. */
enum rc regular_file_open(const char *path, int *ret, struct err *err) MUST_USE;

/* Checks, without opening ${path}, that it is a regular file.  Errors: as
 * regular_file_open(), but RC_OK if there is no such file. */
enum rc regular_file_check(const char *path, struct err *err) MUST_USE;

#endif
