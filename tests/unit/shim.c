/* SPDX-License-Identifier: MIT */
/*
 * See shim.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/shim.h"

const sqlite3_io_methods *shim_below;

static const struct shim *installed;
static sqlite3_vfs *below, shim_vfs;
static sqlite3_io_methods calls;

static int
shim_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
    int *ret_flags)
{
	bool ours = (flags & installed->kind) != 0;
	int code = SQLITE_OK;

	(void)vfs;
	file->pMethods = NULL;
	if (ours && installed->open != NULL)
		code = installed->open();
	if (code == SQLITE_OK)
		code = below->xOpen(below, name, file, flags, ret_flags);
	if (code != SQLITE_OK || !ours)
		return (code);
	shim_below = file->pMethods;
	calls = *shim_below;
	installed->opened(&calls);
	file->pMethods = &calls;
	return (SQLITE_OK);
}

void
shim_install(const struct shim *shim)
{

	installed = shim;
	below = sqlite3_vfs_find(NULL);
	assert_non_null(below);
	shim_vfs = *below;
	shim_vfs.pNext = NULL;
	shim_vfs.zName = SHIM_NAME;
	shim_vfs.xOpen = shim_open;
	assert_int_equal(sqlite3_vfs_register(&shim_vfs, 1), SQLITE_OK);
}
