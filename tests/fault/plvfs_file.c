/* SPDX-License-Identifier: MIT */
/*
 * An open file of the power-loss VFS: reading, writing, locks, and the shared
 * memory of write-ahead logging.  See plvfs.h.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "fault/plvfs_internal.h"

static struct conn *
conn_of(sqlite3_file *f)
{

	return ((struct conn *)(void *)f);
}

static int
enter(struct conn *c, enum plvfs_call call)
{

	return (plvfs_enter(c->v, call));
}

/* ---- content ---- */

static int
file_read(sqlite3_file *f, void *p, int n, sqlite3_int64 off)
{
	struct conn *c = conn_of(f);
	const struct bytes *b = &c->file->now;
	size_t have;
	int code;

	code = enter(c, PLVFS_READ);
	if (code != SQLITE_OK)
		return (code);
	have = (size_t)off < b->n ? b->n - (size_t)off : 0;
	if (have > (size_t)n)
		have = (size_t)n;
	if (have > 0)
		memcpy(p, b->p + off, have);
	if (have == (size_t)n)
		return (SQLITE_OK);
	memset((char *)p + have, 0, (size_t)n - have);
	return (SQLITE_IOERR_SHORT_READ);
}

/* Writes and logs.  After a sync of the file has failed, a write logs whole
 * pages: it makes them dirty again in the kernel, and with them the bytes on
 * these pages that the failed sync lost. */
static void
put(struct conn *c, const void *p, size_t n, size_t off)
{
	struct bytes *b = &c->file->now;
	size_t from, to;

	if (n == 0)
		return;
	bytes_put(b, off, p, n);
	from = off;
	to = off + n;
	if (c->file->lost) {
		from -= from % PLVFS_PAGE;
		to += PLVFS_PAGE - 1;
		to -= to % PLVFS_PAGE;
		if (to > b->n)
			to = b->n;
	}
	plvfs_log(c->v, OP_WRITE, c->index, from, b->p + from, to - from);
}

static int
file_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 off)
{
	struct conn *c = conn_of(f);
	int code;

	if (c->read_only)
		return (SQLITE_IOERR_WRITE);
	code = enter(c, PLVFS_WRITE);
	if (code == SQLITE_OK)
		put(c, p, (size_t)n, (size_t)off);
	else if (!c->v->dead && c->v->fault.partly)
		put(c, p, (size_t)n / 2, (size_t)off);
	return (code);
}

static int
file_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	struct conn *c = conn_of(f);
	int code;

	if (c->read_only)
		return (SQLITE_IOERR_TRUNCATE);
	code = enter(c, PLVFS_TRUNCATE);
	if (code != SQLITE_OK)
		return (code);
	if ((size_t)size >= c->file->now.n)
		return (SQLITE_OK);
	bytes_resize(&c->file->now, (size_t)size);
	plvfs_log(c->v, OP_TRUNCATE, c->index, (size_t)size, NULL, 0);
	return (SQLITE_OK);
}

static int
file_sync(sqlite3_file *f, int flags)
{
	struct conn *c = conn_of(f);
	int code;

	(void)flags;
	code = enter(c, PLVFS_SYNC);
	if (c->v->dead)
		return (code);
	if (code != SQLITE_OK)
		c->file->lost = true;
	plvfs_log(c->v, code == SQLITE_OK ? OP_SYNC : OP_SYNC_LOST, c->index, 0,
	    NULL, 0);
	return (code);
}

static int
file_size(sqlite3_file *f, sqlite3_int64 *ret)
{

	*ret = (sqlite3_int64)conn_of(f)->file->now.n;
	return (SQLITE_OK);
}

/* ---- locks ---- */

static int
file_lock(sqlite3_file *f, int level)
{
	struct conn *c = conn_of(f);
	struct file *file = c->file;

	if (c->level >= level)
		return (SQLITE_OK);
	if (c->level == SQLITE_LOCK_NONE) {
		if (file->exclusive != NULL)
			return (SQLITE_BUSY);
		file->shared++;
		c->level = SQLITE_LOCK_SHARED;
	}
	if (level == SQLITE_LOCK_SHARED)
		return (SQLITE_OK);
	if (file->reserved != NULL && file->reserved != c)
		return (SQLITE_BUSY);
	if (level > SQLITE_LOCK_RESERVED && file->shared > 1)
		return (SQLITE_BUSY);
	file->reserved = c;
	if (level > SQLITE_LOCK_RESERVED)
		file->exclusive = c;
	c->level = level;
	return (SQLITE_OK);
}

static int
file_unlock(sqlite3_file *f, int level)
{
	struct conn *c = conn_of(f);
	struct file *file = c->file;

	if (c->level <= level)
		return (SQLITE_OK);
	if (file->reserved == c)
		file->reserved = NULL;
	if (file->exclusive == c)
		file->exclusive = NULL;
	if (level == SQLITE_LOCK_NONE)
		file->shared--;
	c->level = level;
	return (SQLITE_OK);
}

static int
file_check_reserved(sqlite3_file *f, int *ret)
{

	*ret = conn_of(f)->file->reserved != NULL;
	return (SQLITE_OK);
}

static int
file_control(sqlite3_file *f, int op, void *arg)
{

	(void)f;
	(void)op;
	(void)arg;
	return (SQLITE_NOTFOUND);
}

static int
file_sector_size(sqlite3_file *f)
{

	(void)f;
	return (4096);
}

static int
file_characteristics(sqlite3_file *f)
{

	(void)f;
	return (SQLITE_IOCAP_POWERSAFE_OVERWRITE);
}

/* ---- shared memory ---- */

static int
file_shm_map(
    sqlite3_file *f, int region, int size, int extend, void volatile **ret)
{
	struct conn *c = conn_of(f);
	struct shm *s = &c->file->shm;
	int code;

	*ret = NULL;
	code = enter(c, PLVFS_SHM);
	if (code != SQLITE_OK)
		return (code);
	if (!c->shm_on) {
		c->shm_on = true;
		s->users++;
	}
	assert(region < PLVFS_SHM_REGIONS);
	if (s->regions[region] == NULL && extend != 0) {
		s->regions[region] = calloc(1, (size_t)size);
		assert(s->regions[region] != NULL);
	}
	*ret = s->regions[region];
	return (SQLITE_OK);
}

static void
shm_release(struct conn *c, int i)
{
	struct shm *s = &c->file->shm;
	unsigned bit = 1U << i;

	if (c->shm_shared & bit)
		s->shared[i]--;
	if (c->shm_owned & bit)
		s->owner[i] = NULL;
	c->shm_shared &= ~bit;
	c->shm_owned &= ~bit;
}

static int
file_shm_lock(sqlite3_file *f, int first, int n, int flags)
{
	struct conn *c = conn_of(f);
	struct shm *s = &c->file->shm;
	bool unlock = (flags & SQLITE_SHM_UNLOCK) != 0;
	bool shared = (flags & SQLITE_SHM_SHARED) != 0;
	int i;

	if (!unlock)
		(void)enter(c, PLVFS_SHM_LOCK);
	for (i = first; i < first + n && !unlock; i++) {
		if (s->owner[i] != NULL && s->owner[i] != c)
			return (SQLITE_BUSY);
		if (!shared &&
		    s->shared[i] > ((c->shm_shared & (1U << i)) != 0 ? 1 : 0))
			return (SQLITE_BUSY);
	}
	for (i = first; i < first + n; i++) {
		if (unlock) {
			shm_release(c, i);
		} else if (!shared) {
			s->owner[i] = c;
			c->shm_owned |= 1U << i;
		} else if ((c->shm_shared & (1U << i)) == 0) {
			s->shared[i]++;
			c->shm_shared |= 1U << i;
		}
	}
	return (SQLITE_OK);
}

static void
file_shm_barrier(sqlite3_file *f)
{

	(void)f;
}

/* The last connection frees the shared memory (SQLite's wal-index), which the
 * next connection would rebuild anyway. */
static int
file_shm_unmap(sqlite3_file *f, int delete)
{
	struct conn *c = conn_of(f);
	struct shm *s = &c->file->shm;
	int i;

	(void)delete;
	if (!c->shm_on)
		return (SQLITE_OK);
	for (i = 0; i < SQLITE_SHM_NLOCK; i++)
		shm_release(c, i);
	c->shm_on = false;
	if (--s->users > 0)
		return (SQLITE_OK);
	for (i = 0; i < PLVFS_SHM_REGIONS; i++) {
		free(s->regions[i]);
		s->regions[i] = NULL;
	}
	return (SQLITE_OK);
}

/* ---- mapped reads: never, but a test can watch the call ---- */

static int
file_fetch(sqlite3_file *f, sqlite3_int64 off, int n, void **ret)
{

	(void)f;
	(void)off;
	(void)n;
	*ret = NULL;
	return (SQLITE_OK);
}

static int
file_unfetch(sqlite3_file *f, sqlite3_int64 off, void *p)
{

	(void)off;
	if (p == NULL)
		(void)enter(conn_of(f), PLVFS_UNFETCH);
	return (SQLITE_OK);
}

static int
file_close(sqlite3_file *f)
{
	struct conn *c = conn_of(f);

	(void)file_shm_unmap(f, 0);
	(void)file_unlock(f, SQLITE_LOCK_NONE);
	c->v->nopen--;
	return (SQLITE_OK);
}

const sqlite3_io_methods plvfs_methods = {
    .iVersion = 3,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_check_reserved,
    .xFileControl = file_control,
    .xSectorSize = file_sector_size,
    .xDeviceCharacteristics = file_characteristics,
    .xShmMap = file_shm_map,
    .xShmLock = file_shm_lock,
    .xShmBarrier = file_shm_barrier,
    .xShmUnmap = file_shm_unmap,
    .xFetch = file_fetch,
    .xUnfetch = file_unfetch,
};
