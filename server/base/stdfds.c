/* SPDX-License-Identifier: MIT */
/*
 * See stdfds.h.
 */
#include <fcntl.h>
#include <unistd.h>

#include "base/stdfds.h"

bool
stdfds_open(void)
{
	int fd;

	/* open() takes the lowest free number, which is fd: all below it are
	 * open by now.  No O_CLOEXEC: child programs need the three as well. */
	for (fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null",
			fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			return (false);
	return (true);
}
