/* SPDX-License-Identifier: MIT */
/*
 * The power-loss VFS: a disk in memory for SQLite that knows, for every file,
 * what is durable and what is only written.  Each operation that changes it is
 * logged, so that the disk after a power cut between any two of them can be
 * made again: of what was not synced, each 512-byte sector is there, or not,
 * or torn, as a seed decides.
 *
 * Promises: the same calls give the same log; a sync that was made to fail
 * makes nothing durable, also not later (the kernel drops its dirty marks),
 * while reading still shows it.
 *
 * It is SQLite's default VFS as soon as there is a disk, so that what the
 * product stacks upon the default is under test as well; a path that begins
 * with no disk's name goes to the system's VFS.
 *
 * Relies on: one thread for all connections to a disk; the device's properties
 * are those of SQLite's unix VFS (powersafe overwrite, sectors of 4096 bytes).
 */
#ifndef FAULT_PLVFS_H
#define FAULT_PLVFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct plvfs;

/* SQLite's name of the VFS: by it nothing is stacked upon it. */
#define PLVFS_NAME "power-loss"

/* What a connection asks of the disk; bits for struct plvfs_fault. */
enum plvfs_call {
	PLVFS_OPEN = 1,
	PLVFS_READ = 2,
	PLVFS_WRITE = 4,
	PLVFS_TRUNCATE = 8,
	PLVFS_SYNC = 16,
	PLVFS_DELETE = 32,
	PLVFS_SHM = 64,
	PLVFS_SHM_LOCK = 128,
	PLVFS_UNFETCH = 256 /* in a checkpoint, when another has committed */
};

/* The ${at}-th call (from 1) of one of ${calls} fails with SQLite's ${code}. */
struct plvfs_fault {
	unsigned calls;
	uint64_t at;
	int code;
	bool stays;  /* so do all later ones */
	bool partly; /* a failing write has written its first half */
};

/* An empty disk for the paths "${name}/...". */
struct plvfs *plvfs_new(const char *name);

/* Frees it; its files must be closed.  NULL is allowed. */
void plvfs_free(struct plvfs *v);

/* The path of the database on it, "${name}/db". */
const char *plvfs_path(const struct plvfs *v);

/* Empties the disk and its log; all files must be closed. */
void plvfs_clear(struct plvfs *v);

/* Operations logged so far: the crash point that lies behind them. */
size_t plvfs_ops(const struct plvfs *v);

/* Orders a fault; NULL: none.  Counting starts now. */
void plvfs_fail(struct plvfs *v, const struct plvfs_fault *fault);

/* Whether the fault that was ordered last has happened. */
bool plvfs_failed(const struct plvfs *v);

/* The process is dead (or alive again): nothing that a connection does from
 * now on, such as closing, reaches the disk. */
void plvfs_dead(struct plvfs *v, bool dead);

/* ${fn} is called before each call of a connection (not again from within);
 * NULL: nobody. */
void plvfs_watch(
    struct plvfs *v, void (*fn)(void *arg, enum plvfs_call call), void *arg);

/* A walk over the crash points of a disk, from 0 on. */
struct plvfs_replay;

/* Starts it at point 0.  ${v} must outlive it. */
struct plvfs_replay *plvfs_replay_new(const struct plvfs *v);
void plvfs_replay_free(struct plvfs_replay *r);

/* Moves behind the next operation; false at the end of the log. */
bool plvfs_replay_next(struct plvfs_replay *r);

/* The disk after a power cut here, into ${into} (cleared before): of what is
 * not durable ${keep} percent of the sectors are kept and ${torn} percent torn,
 * as ${seed} decides. */
void plvfs_replay_image(const struct plvfs_replay *r, uint64_t seed,
    unsigned keep, unsigned torn, struct plvfs *into);

/* The same after the last operation. */
void plvfs_cut(const struct plvfs *v, uint64_t seed, unsigned keep,
    unsigned torn, struct plvfs *into);

#endif
