/* SPDX-License-Identifier: MIT */
/*
 * Reads passwords: from a terminal, which the caller has put into raw mode
 * without echo, or from a file or pipe.
 */
#ifndef BASE_TERMINAL_H
#define BASE_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

/* Reads keys from ${fd}, a terminal without line editing, echo and signals,
 * into ${ret} of ${size} bytes, until Enter.  Backspace removes a character,
 * Ctrl-U the line; any other key is stored, also Ctrl-D if the line is not
 * empty.  Returns true after Enter; ${ret} then holds the line and a NUL.
 * Returns false after Ctrl-C, after Ctrl-D in an empty line, at the end of the
 * file, after a read error, or at the first byte that does not fit; ${ret} may
 * then hold a part of the line, without a NUL.  Blocks: until a person
 * types. */
bool terminal_read_line(int fd, char *ret, size_t size);

/* Reads a line from ${fd}, a file or a pipe, into ${ret} of ${size} bytes,
 * without its LF or CR LF and with a NUL.  The end of the input also ends the
 * line, so an empty input gives "".  Returns false after a read error, and if
 * the line does not fit or has a NUL; ${ret} may then lack the NUL.  Reads byte
 * by byte, so what follows the line stays in ${fd}.  Blocks until the line is
 * there. */
bool terminal_read_plain(int fd, char *ret, size_t size);

#endif
