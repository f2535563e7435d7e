/* SPDX-License-Identifier: MIT */
/*
 * The power-loss VFS: a disk in memory for SQLite that knows, for every file,
 * which bytes are durable and which are only written.  It logs each operation
 * that changes it, so that a test can reconstruct the disk after a power cut
 * between any two operations: each 512-byte sector that was not synced is kept,
 * lost or torn, as a seed decides.
 *
 * Promises: the same calls give the same log.  A sync that was made to fail
 * makes nothing durable, and no later sync does so either (the kernel has
 * cleared its dirty flags), but reads still return the written bytes.
 *
 * It becomes SQLite's default VFS when the first disk is made, so that the
 * layers that the product puts on the default VFS are under test as well.  A
 * path that does not begin with a disk's name goes to the system's VFS.
 *
 * Relies on: one thread uses all connections to a disk.  The device has the
 * properties of SQLite's unix VFS (powersafe overwrite, sectors of 4096 bytes).
 */
#ifndef FAULT_PLVFS_H
#define FAULT_PLVFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct plvfs;

/* SQLite's name of the VFS.  A connection that opens it by this name bypasses
 * the product's layers. */
#define PLVFS_NAME "power-loss"

/* The calls of a connection to the disk, as bits for struct plvfs_fault. */
enum plvfs_call {
	PLVFS_OPEN = 1,
	PLVFS_READ = 2,
	PLVFS_WRITE = 4,
	PLVFS_TRUNCATE = 8,
	PLVFS_SYNC = 16,
	PLVFS_DELETE = 32,
	PLVFS_SHM = 64,
	PLVFS_SHM_LOCK = 128,
	PLVFS_UNFETCH = 256 /* in a checkpoint after another's commit */
};

/* Makes call number ${at} (from 1) among ${calls} fail with SQLite's
 * ${code}. */
struct plvfs_fault {
	unsigned calls;
	uint64_t at;
	int code;
	bool stays;  /* all later calls fail, too */
	bool partly; /* a failing write has written its first half */
};

/* Makes an empty disk for the paths "${name}/...". */
struct plvfs *plvfs_new(const char *name);

/* Frees the disk, whose files must be closed.  NULL is allowed. */
void plvfs_free(struct plvfs *v);

/* Returns the path of the database on the disk, "${name}/db". */
const char *plvfs_path(const struct plvfs *v);

/* Empties the disk and its log.  All files must be closed. */
void plvfs_clear(struct plvfs *v);

/* Returns the number of operations logged so far, which is the number of the
 * crash point after the last one. */
size_t plvfs_ops(const struct plvfs *v);

/* Orders a fault, or none if ${fault} is NULL.  Counts calls from now on. */
void plvfs_fail(struct plvfs *v, const struct plvfs_fault *fault);

/* Returns true if the fault that was ordered last has happened. */
bool plvfs_failed(const struct plvfs *v);

/* Marks the process as dead (or alive again).  While it is dead, no call of a
 * connection, such as closing, changes the disk. */
void plvfs_dead(struct plvfs *v, bool dead);

/* Calls ${fn} before each call of a connection, but not for calls from within
 * ${fn}.  NULL ends this. */
void plvfs_watch(
    struct plvfs *v, void (*fn)(void *arg, enum plvfs_call call), void *arg);

/* A walk over the crash points of a disk, from 0 on. */
struct plvfs_replay;

/* Starts a walk at point 0.  ${v} must outlive it. */
struct plvfs_replay *plvfs_replay_new(const struct plvfs *v);
void plvfs_replay_free(struct plvfs_replay *r);

/* Moves past the next operation.  Returns false at the end of the log. */
bool plvfs_replay_next(struct plvfs_replay *r);

/* Makes the disk after a power cut at this point in ${into}, which is emptied
 * first.  Of the sectors that are not durable, ${keep} percent are kept and
 * ${torn} percent are torn, as ${seed} decides. */
void plvfs_replay_image(const struct plvfs_replay *r, uint64_t seed,
    unsigned keep, unsigned torn, struct plvfs *into);

/* Makes the disk after a power cut after the last operation. */
void plvfs_cut(const struct plvfs *v, uint64_t seed, unsigned keep,
    unsigned torn, struct plvfs *into);

#endif
