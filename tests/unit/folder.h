/* SPDX-License-Identifier: MIT */
/*
 * Fresh folders for tests.  They are in memory where there is room: thousands
 * of small transactions are written through to the disk, which can take half a
 * minute of waiting where the disk is busy.
 */
#ifndef TESTS_FOLDER_H
#define TESTS_FOLDER_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define FOLDER_ROOM (256ULL * 1024 * 1024)

/* Makes a folder with ${name} in its own name and puts its path into ${ret} of
 * ${size} bytes; false: it cannot be made. */
static inline bool
folder_make(const char *name, char *ret, size_t size)
{
	struct statvfs vfs;
	bool memory;

	memory = access("/dev/shm", W_OK | X_OK) == 0 &&
		 statvfs("/dev/shm", &vfs) == 0 &&
		 (unsigned long long)vfs.f_bavail * vfs.f_frsize >= FOLDER_ROOM;
	(void)snprintf(ret, size, "%s/twinbox-%s-XXXXXX",
	    memory ? "/dev/shm" : "/tmp", name);
	return (mkdtemp(ret) != NULL);
}

#endif
