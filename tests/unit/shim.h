/* SPDX-License-Identifier: MIT */
/*
 * A VFS upon SQLite's default one, which becomes the default: for files of one
 * kind a test gives the calls.  What the product stacks will stand on it.
 */
#ifndef TESTS_SHIM_H
#define TESTS_SHIM_H

#include <sqlite3.h>

/* SQLite's name of the VFS: by it nothing is stacked upon it. */
#define SHIM_NAME "shim"

struct shim {
	int kind; /* SQLITE_OPEN_MAIN_DB or SQLITE_OPEN_WAL */
	/* Before one is opened; NULL: all are.  If not SQLITE_OK, it is not,
	 * and SQLite is told this. */
	int (*open)(void);
	/* One has been opened: puts the test's calls in place of the system's
	 * in ${calls}. */
	void (*opened)(sqlite3_io_methods *calls);
};

/* What stands below: the calls of such a file without the test's. */
extern const sqlite3_io_methods *shim_below;

/* Before the first database is opened; once in a program.  Keeps ${shim}. */
void shim_install(const struct shim *shim);

#endif
