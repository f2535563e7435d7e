/* SPDX-License-Identifier: MIT */
/*
 * Fresh folders for tests.  They are in memory if there is room: thousands of
 * small transactions are each synced, which can take half a minute on a busy
 * disk.
 */
#ifndef TESTS_FOLDER_H
#define TESTS_FOLDER_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define FOLDER_ROOM (256ULL * 1024 * 1024)

/* Makes a folder whose name contains ${name}, and writes its path to ${ret},
 * which has ${size} bytes.  Returns false if the folder cannot be made. */
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
