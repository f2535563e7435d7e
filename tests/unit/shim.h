/* SPDX-License-Identifier: MIT */
/*
 * A VFS that stands on SQLite's default one and becomes the default.  For files
 * of one kind the test can replace the calls.  The VFS of the product then
 * stands on this one.
 */
#ifndef TESTS_SHIM_H
#define TESTS_SHIM_H

#include <sqlite3.h>

/* The name of the VFS in SQLite.  A test that opens a database by this name
 * leaves out the VFS of the product. */
#define SHIM_NAME "shim"

struct shim {
	int kind; /* SQLITE_OPEN_MAIN_DB or SQLITE_OPEN_WAL */
	/* Called before such a file is opened.  If it does not return
	 * SQLITE_OK, the file is not opened and SQLite gets this result.  NULL:
	 * all are opened. */
	int (*open)(void);
	/* Called after such a file was opened.  Replaces calls of the system in
	 * ${calls} by those of the test. */
	void (*opened)(sqlite3_io_methods *calls);
};

/* The calls of the system for such a file, without those of the test. */
extern const sqlite3_io_methods *shim_below;

/* Installs the VFS, once in a program, before the first database is opened.
 * Keeps the pointer ${shim}. */
void shim_install(const struct shim *shim);

#endif
