/* SPDX-License-Identifier: MIT */
/*
 * The disk: names, files, the log, faults, and the methods of the VFS itself.
 * See plvfs.h.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault/plvfs_internal.h"

#define DISKS 12

/* ---- bytes and names ---- */

void
bytes_resize(struct bytes *b, size_t n)
{

	if (n > b->cap) {
		b->cap = n + n / 2 + 64;
		b->p = realloc(b->p, b->cap);
		assert(b->p != NULL);
	}
	if (n > b->n)
		memset(b->p + b->n, 0, n - b->n);
	b->n = n;
}

void
bytes_put(struct bytes *b, size_t off, const void *p, size_t n)
{

	if (n == 0)
		return;
	if (off + n > b->n)
		bytes_resize(b, off + n);
	memcpy(b->p + off, p, n);
}

size_t
folder_find(const struct folder *f, const char *name)
{
	size_t i;

	for (i = 0; i < f->n; i++)
		if (strcmp(f->names[i].name, name) == 0)
			return (f->names[i].file);
	return (SIZE_MAX);
}

void
folder_put(struct folder *f, const char *name, size_t file)
{

	folder_drop(f, name);
	assert(f->n < PLVFS_NAMES);
	(void)snprintf(f->names[f->n].name, PLVFS_NAME_SIZE, "%s", name);
	f->names[f->n++].file = file;
}

void
folder_drop(struct folder *f, const char *name)
{
	size_t i;

	for (i = 0; i < f->n; i++)
		if (strcmp(f->names[i].name, name) == 0) {
			f->names[i] = f->names[--f->n];
			return;
		}
}

/* ---- the log ---- */

static struct plvfs_op *
new_op(struct plvfs *v, enum plvfs_kind kind, size_t file)
{
	struct plvfs_op *op;

	if (v->nops == v->ops_cap) {
		v->ops_cap = v->ops_cap * 2 + 256;
		v->ops = realloc(v->ops, v->ops_cap * sizeof(*v->ops));
		assert(v->ops != NULL);
	}
	op = &v->ops[v->nops++];
	memset(op, 0, sizeof(*op));
	op->kind = kind;
	op->file = file;
	return (op);
}

void
plvfs_log(struct plvfs *v, enum plvfs_kind kind, size_t file, size_t off,
    const void *p, size_t n)
{
	struct plvfs_op *op = new_op(v, kind, file);

	op->off = off;
	op->n = n;
	if (n > 0) {
		op->data = malloc(n);
		assert(op->data != NULL);
		memcpy(op->data, p, n);
	}
}

void
plvfs_log_name(
    struct plvfs *v, enum plvfs_kind kind, size_t file, const char *name)
{
	struct plvfs_op *op = new_op(v, kind, file);

	(void)snprintf(op->name, sizeof(op->name), "%s", name);
}

size_t
plvfs_ops(const struct plvfs *v)
{

	return (v->nops);
}

/* ---- faults ---- */

int
plvfs_enter(struct plvfs *v, enum plvfs_call call)
{

	if (v->watch != NULL && !v->watching) {
		v->watching = true;
		v->watch(v->watch_arg, call);
		v->watching = false;
	}
	if (v->dead)
		return ((call & (PLVFS_SHM | PLVFS_SHM_LOCK)) != 0
			    ? SQLITE_OK
			    : SQLITE_IOERR);
	if ((v->fault.calls & (unsigned)call) == 0)
		return (SQLITE_OK);
	v->calls++;
	if (v->calls < v->fault.at ||
	    (v->calls > v->fault.at && !v->fault.stays))
		return (SQLITE_OK);
	v->failed = true;
	/* SQLite asks for the system's error number, too. */
	errno = EIO;
	return (v->fault.code);
}

void
plvfs_fail(struct plvfs *v, const struct plvfs_fault *fault)
{

	memset(&v->fault, 0, sizeof(v->fault));
	if (fault != NULL)
		v->fault = *fault;
	v->calls = 0;
	v->failed = false;
}

bool
plvfs_failed(const struct plvfs *v)
{

	return (v->failed);
}

void
plvfs_dead(struct plvfs *v, bool dead)
{

	v->dead = dead;
}

void
plvfs_watch(
    struct plvfs *v, void (*fn)(void *arg, enum plvfs_call call), void *arg)
{

	v->watch = fn;
	v->watch_arg = arg;
}

/* ---- the VFS ---- */

static struct plvfs *disks[DISKS];
static sqlite3_vfs *parent; /* the system's VFS */

/* Returns the disk of ${path}, and in *${ret_name} the path without the disk's
 * prefix.  Returns NULL if ${path} belongs to the system's VFS. */
static struct plvfs *
disk_of(const char *path, const char **ret_name)
{
	size_t i;

	for (i = 0; i < DISKS && path != NULL; i++)
		if (disks[i] != NULL &&
		    strncmp(path, disks[i]->path, disks[i]->prefix) == 0) {
			*ret_name = path + disks[i]->prefix;
			return (disks[i]);
		}
	return (NULL);
}

static int
disk_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *f, int flags,
    int *ret_flags)
{
	struct conn *c = (struct conn *)(void *)f;
	const char *name = NULL;
	struct plvfs *v;
	int code;

	(void)vfs;
	v = disk_of(path, &name);
	if (v == NULL)
		return (parent->xOpen(parent, path, f, flags, ret_flags));
	memset(c, 0, sizeof(*c));
	code = plvfs_enter(v, PLVFS_OPEN);
	if (code != SQLITE_OK)
		return (code);
	c->v = v;
	c->index = folder_find(&v->folder, name);
	if (c->index == SIZE_MAX) {
		if ((flags & SQLITE_OPEN_CREATE) == 0)
			return (SQLITE_CANTOPEN);
		c->index = plvfs_file_new(v);
		folder_put(&v->folder, name, c->index);
		plvfs_log_name(v, OP_LINK, c->index, name);
	}
	c->read_only = (flags & SQLITE_OPEN_READONLY) != 0;
	c->file = v->files[c->index];
	c->base.pMethods = &plvfs_methods;
	v->nopen++;
	if (ret_flags != NULL)
		*ret_flags = flags;
	return (SQLITE_OK);
}

static int
disk_delete(sqlite3_vfs *vfs, const char *path, int sync)
{
	const char *name = NULL;
	struct plvfs *v;
	int code;

	(void)vfs;
	v = disk_of(path, &name);
	if (v == NULL)
		return (parent->xDelete(parent, path, sync));
	code = plvfs_enter(v, PLVFS_DELETE);
	if (code != SQLITE_OK)
		return (code);
	if (folder_find(&v->folder, name) == SIZE_MAX)
		return (SQLITE_IOERR_DELETE_NOENT);
	folder_drop(&v->folder, name);
	plvfs_log_name(v, OP_UNLINK, 0, name);
	if (sync != 0)
		plvfs_log(v, OP_DIR_SYNC, 0, 0, NULL, 0);
	return (SQLITE_OK);
}

static int
disk_access(sqlite3_vfs *vfs, const char *path, int flags, int *ret)
{
	const char *name = NULL;
	struct plvfs *v;
	size_t i;

	(void)vfs;
	v = disk_of(path, &name);
	if (v == NULL)
		return (parent->xAccess(parent, path, flags, ret));
	i = folder_find(&v->folder, name);
	*ret = i != SIZE_MAX &&
	       (flags != SQLITE_ACCESS_EXISTS || v->files[i]->now.n > 0);
	return (SQLITE_OK);
}

static int
disk_full_path(sqlite3_vfs *vfs, const char *path, int size, char *ret)
{
	const char *name;

	(void)vfs;
	if (disk_of(path, &name) == NULL)
		return (parent->xFullPathname(parent, path, size, ret));
	(void)snprintf(ret, (size_t)size, "%s", path);
	return (SQLITE_OK);
}

/* Gives the same bytes in each run, so that a run always gives the same log. */
static int
disk_random(sqlite3_vfs *vfs, int n, char *ret)
{
	static uint64_t x;
	int i;

	(void)vfs;
	for (i = 0; i < n; i++) {
		x = x * UINT64_C(6364136223846793005) +
		    UINT64_C(1442695040888963407);
		ret[i] = (char)(x >> 56);
	}
	return (n);
}

/* Does not wait: on a disk in memory one thread does everything, so waiting
 * changes nothing.  Without an open file on such a disk, threads may share a
 * real file, and the call sleeps. */
static int
disk_sleep(sqlite3_vfs *vfs, int us)
{
	size_t i;

	(void)vfs;
	for (i = 0; i < DISKS; i++)
		if (disks[i] != NULL && disks[i]->nopen > 0)
			return (us);
	return (parent->xSleep(parent, us));
}

/* Makes this VFS SQLite's default, once. */
static void
register_vfs(void)
{
	static sqlite3_vfs vfs;

	if (parent != NULL)
		return;
	parent = sqlite3_vfs_find(NULL);
	assert(parent != NULL);
	vfs = *parent;
	vfs.pNext = NULL;
	vfs.zName = PLVFS_NAME;
	if (vfs.szOsFile < (int)sizeof(struct conn))
		vfs.szOsFile = (int)sizeof(struct conn);
	vfs.xOpen = disk_open;
	vfs.xDelete = disk_delete;
	vfs.xAccess = disk_access;
	vfs.xFullPathname = disk_full_path;
	vfs.xRandomness = disk_random;
	vfs.xSleep = disk_sleep;
	if (sqlite3_vfs_register(&vfs, 1) != SQLITE_OK)
		abort();
}

/* ---- life ---- */

size_t
plvfs_file_new(struct plvfs *v)
{

	v->files = realloc(v->files, (v->nfiles + 1) * sizeof(*v->files));
	assert(v->files != NULL);
	v->files[v->nfiles] = calloc(1, sizeof(struct file));
	assert(v->files[v->nfiles] != NULL);
	return (v->nfiles++);
}

struct plvfs *
plvfs_new(const char *name)
{
	struct plvfs *v;
	size_t i;

	register_vfs();
	v = calloc(1, sizeof(*v));
	assert(v != NULL);
	(void)snprintf(v->path, sizeof(v->path), "%s/db", name);
	v->prefix = strlen(name) + 1;
	for (i = 0; i < DISKS && disks[i] != NULL; i++)
		continue;
	assert(i < DISKS);
	disks[i] = v;
	return (v);
}

const char *
plvfs_path(const struct plvfs *v)
{

	return (v->path);
}

void
plvfs_clear(struct plvfs *v)
{
	struct file *f;
	size_t i;
	int k;

	assert(v->nopen == 0);
	for (i = 0; i < v->nops; i++)
		free(v->ops[i].data);
	v->nops = 0;
	for (i = 0; i < v->nfiles; i++) {
		f = v->files[i];
		for (k = 0; k < PLVFS_SHM_REGIONS; k++)
			free(f->shm.regions[k]);
		free(f->now.p);
		free(f->base.p);
		free(f);
	}
	free(v->files);
	v->files = NULL;
	v->nfiles = 0;
	v->folder.n = v->base_folder.n = 0;
	v->dead = false;
	plvfs_fail(v, NULL);
}

void
plvfs_free(struct plvfs *v)
{

	size_t i;

	if (v == NULL)
		return;
	plvfs_clear(v);
	for (i = 0; i < DISKS; i++)
		if (disks[i] == v)
			disks[i] = NULL;
	free(v->ops);
	free(v);
}
