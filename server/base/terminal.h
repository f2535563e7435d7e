/* SPDX-License-Identifier: MIT */
/*
 * Keys of a terminal in raw mode, for passwords that are typed unseen.
 */
#ifndef BASE_TERMINAL_H
#define BASE_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

/* Reads keys from ${fd}, a terminal without line editing, echo and signals,
 * until Enter, into ${ret} of ${size} bytes.  Backspace removes a character,
 * Ctrl-U the line.  False after Ctrl-C, after Ctrl-D in an empty line, at the
 * end of the file, or when the line does not fit; then ${ret} may hold a part
 * of the line, without its end.  Blocks: until a person types. */
bool terminal_read_line(int fd, char *ret, size_t size);

#endif
