/* SPDX-License-Identifier: MIT */
/*
 * Files that must be on disk before anything depends on them.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <unistd.h>

#include "main/main_internal.h"

enum rc
sync_path(const char *path, int flags, struct err *err)
{
	int fd, failed;

	fd = open(path, flags | O_CLOEXEC);
	if (fd < 0)
		return (err_set_sys(err, RC_IO, errno, "cannot open %s", path));
	failed = fsync(fd) != 0 ? errno : 0;
	(void)close(fd);
	return (failed == 0
		    ? RC_OK
		    : err_set_sys(err, RC_IO, failed, "cannot sync %s", path));
}

enum rc
sync_folder_of(const char *path, struct err *err)
{
	char copy[URL_SIZE];

	(void)snprintf(copy, sizeof(copy), "%s", path);
	return (sync_path(dirname(copy), O_RDONLY | O_DIRECTORY, err));
}

enum rc
rename_synced(const char *from, const char *to, struct err *err)
{

	if (rename(from, to) != 0)
		return (err_set_sys(
		    err, RC_IO, errno, "cannot rename %s to %s", from, to));
	return (sync_folder_of(to, err));
}
