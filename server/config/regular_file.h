/* SPDX-License-Identifier: MIT */
/*
 * Files that an operator names.  A FIFO makes an open wait for ever and a
 * device has no end, so that commands read regular files only.
 */
#ifndef CONFIG_REGULAR_FILE_H
#define CONFIG_REGULAR_FILE_H

#include "base/err.h"

/* Opens ${path} for reading, after links; *ret: the caller closes it.
 * RC_NOT_FOUND: there is none; RC_INVALID: it is not a regular file, which the
 * text says; else as rc_of_opening().  Never blocks and opens no device.
 * Thread: any. */
enum rc regular_file_open(const char *path, int *ret, struct err *err) MUST_USE;

/* The same without opening it; RC_OK also if there is none. */
enum rc regular_file_check(const char *path, struct err *err) MUST_USE;

#endif
