/* SPDX-License-Identifier: MIT */
/*
 * See regular_file.h.
 */
#include "config/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static enum rc
check_mode(const char *path, mode_t mode, struct err *err)
{

	if (S_ISREG(mode))
		return (RC_OK);
	return (err_set(err, RC_INVALID, "%s is %s: name a regular file", path,
	    S_ISDIR(mode)    ? "a directory"
	    : S_ISFIFO(mode) ? "a FIFO"
	    : S_ISSOCK(mode) ? "a socket"
			     : "a device"));
}

static enum rc
fail(const char *path, struct err *err)
{

	return (err_set_sys(
	    err, rc_of_opening(errno), errno, "cannot open %s", path));
}

enum rc
regular_file_check(const char *path, struct err *err)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return (errno == ENOENT ? RC_OK : fail(path, err));
	return (check_mode(path, st.st_mode, err));
}

enum rc
regular_file_open(const char *path, int *ret, struct err *err)
{
	struct stat st;
	enum rc rc;
	int fd;

	/* Check before open(), because opening a device may have an effect. */
	if ((rc = regular_file_check(path, err)) != RC_OK)
		return (rc);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) != 0)
		rc = fail(path, err);
	else
		rc = check_mode(path, st.st_mode, err);
	if (rc == RC_OK)
		*ret = fd;
	else if (fd >= 0)
		(void)close(fd);
	return (rc);
}
