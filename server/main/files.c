/* SPDX-License-Identifier: MIT */
/*
 * Functions for files that must survive a crash.  They sync a file or a folder,
 * rename a file and sync its folder, or create a new empty file beside another
 * one (the caller writes and syncs the new file).
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <unistd.h>

#include "base/rnd.h"
#include "main/main_internal.h"

enum rc
files_sync(const char *path, int flags, struct err *err)
{
	int fd, failed;

	fd = open(path, flags | O_CLOEXEC);
	if (fd < 0)
		return (err_set_sys(
		    err, rc_of_opening(errno), errno, "cannot open %s", path));
	failed = fsync(fd) != 0 ? errno : 0;
	(void)close(fd);
	return (failed == 0
		    ? RC_OK
		    : err_set_sys(err, RC_IO, failed, "cannot sync %s", path));
}

enum rc
files_sync_folder_of(const char *path, struct err *err)
{
	char copy[URL_SIZE];

	(void)snprintf(copy, sizeof(copy), "%s", path);
	return (files_sync(dirname(copy), O_RDONLY | O_DIRECTORY, err));
}

enum rc
files_rename_synced(const char *from, const char *to, struct err *err)
{

	if (rename(from, to) != 0)
		return (err_set_sys(err, rc_of_opening(errno), errno,
		    "cannot rename %s to %s", from, to));
	return (files_sync_folder_of(to, err));
}

/* Renames ${from} to ${to} unless ${to} exists.  If the kernel or the file
 * system lacks RENAME_NOREPLACE, uses link() and unlink() instead, which need a
 * file system with hard links; if only unlink() fails, both names exist.
 * Returns 0, or -1 with errno (EEXIST: ${to} exists). */
static int
rename_new(const char *from, const char *to)
{

	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
		return (0);
	if (errno != EINVAL && errno != ENOSYS)
		return (-1);
	return (link(from, to) == 0 ? unlink(from) : -1);
}

enum rc
files_rename_new_synced(const char *from, const char *to, struct err *err)
{

	if (rename_new(from, to) == 0)
		return (files_sync_folder_of(to, err));
	if (errno == EEXIST)
		return (err_set(err, RC_EXISTS,
		    "%s is there already: a back-up replaces nothing", to));
	return (err_set_sys(err, rc_of_opening(errno), errno,
	    "cannot rename %s to %s", from, to));
}

enum rc
files_make_part_of(const char *path, char *ret, size_t size, struct err *err)
{
	unsigned number;
	int fd, tries;

	for (tries = 0; tries < 100; tries++) {
		rnd_fill(rnd_system(), &number, sizeof(number));
		(void)snprintf(ret, size, "%s.%08x.part", path, number);
		fd = open(ret, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd >= 0) {
			(void)close(fd);
			return (RC_OK);
		}
		if (errno != EEXIST)
			break;
	}
	return (err_set_sys(
	    err, rc_of_opening(errno), errno, "cannot make %s", ret));
}
