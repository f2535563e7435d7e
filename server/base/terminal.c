/* SPDX-License-Identifier: MIT */
/*
 * Passwords from a terminal or a file.  Before terminal_read_line() the caller
 * has switched off the terminal's own line editing and signal keys: otherwise
 * Ctrl-C would end the program while echo is off.
 */
#include "base/terminal.h"

#include <errno.h>
#include <unistd.h>

#define KEY_INTERRUPT 3
#define KEY_END 4
#define KEY_KILL 21
#define KEY_DELETE 127

bool
terminal_read_line(int fd, char *ret, size_t size)
{
	size_t n = 0;
	ssize_t got;
	char c;

	for (;;) {
		got = read(fd, &c, 1);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0 || c == KEY_INTERRUPT || (c == KEY_END && n == 0))
			return (false);
		if (c == '\n' || c == '\r')
			break;
		if (c == KEY_KILL)
			n = 0;
		else if (c == KEY_DELETE || c == '\b') {
			/* Remove a whole character, also in UTF-8. */
			while (n > 0 && (ret[--n] & 0xc0) == 0x80)
				;
		} else if (n == size - 1)
			return (false);
		else
			ret[n++] = c;
	}
	ret[n] = '\0';
	return (true);
}

bool
terminal_read_plain(int fd, char *ret, size_t size)
{
	size_t n = 0;
	ssize_t got;
	char c;

	for (;;) {
		got = read(fd, &c, 1);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return (false);
		if (got == 0 || c == '\n')
			break;
		if (c == '\0' || n == size - 1)
			return (false);
		ret[n++] = c;
	}
	if (n > 0 && ret[n - 1] == '\r')
		n--;
	ret[n] = '\0';
	return (true);
}
