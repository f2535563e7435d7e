/* SPDX-License-Identifier: MIT */
/*
 * The structures that the VFS and the replay of its log share.  Only plvfs*.c
 * include this.
 */
#ifndef FAULT_PLVFS_INTERNAL_H
#define FAULT_PLVFS_INTERNAL_H

#include <sqlite3.h>

#include "plvfs.h"

#define PLVFS_NAMES 8
#define PLVFS_NAME_SIZE 128
#define PLVFS_SHM_REGIONS 64
#define PLVFS_PAGE 4096

enum plvfs_kind {
	OP_WRITE,     /* data at off */
	OP_TRUNCATE,  /* to off */
	OP_SYNC,      /* of a file */
	OP_SYNC_LOST, /* that failed */
	OP_LINK,      /* a name for a new file */
	OP_UNLINK,    /* of a name */
	OP_DIR_SYNC   /* of the folder */
};

struct plvfs_op {
	enum plvfs_kind kind;
	size_t file;
	size_t off, n;
	unsigned char *data;
	char name[PLVFS_NAME_SIZE];
};

struct bytes {
	unsigned char *p;
	size_t n, cap;
};

/* The shared memory of a database's connections. */
struct shm {
	int users;
	unsigned char *regions[PLVFS_SHM_REGIONS];
	int shared[SQLITE_SHM_NLOCK];
	const void *owner[SQLITE_SHM_NLOCK];
};

/* A file, with or without a name. */
struct file {
	struct bytes now;  /* what a reader sees */
	struct bytes base; /* what was durable when the log began */
	bool lost;         /* a sync of it has failed */
	int shared;        /* connections with a shared lock or more */
	const void *reserved, *exclusive;
	struct shm shm;
};

struct name {
	char name[PLVFS_NAME_SIZE];
	size_t file;
};

struct folder {
	struct name names[PLVFS_NAMES];
	size_t n;
};

struct plvfs {
	char path[PLVFS_NAME_SIZE]; /* "name/db" */
	size_t prefix;              /* "name/" */
	struct file **files;
	size_t nfiles;
	struct folder folder, base_folder;
	struct plvfs_op *ops;
	size_t nops, ops_cap;
	int nopen;
	struct plvfs_fault fault;
	uint64_t calls; /* that the fault counts */
	bool failed, dead;
	void (*watch)(void *arg, enum plvfs_call call);
	void *watch_arg;
	bool watching;
};

/* Makes ${b} ${n} bytes long.  New bytes are zero. */
void bytes_resize(struct bytes *b, size_t n);

/* Copies ${n} bytes to offset ${off} and grows ${b} if needed. */
void bytes_put(struct bytes *b, size_t off, const void *p, size_t n);

/* Returns the index of the file with this name, or SIZE_MAX if there is
 * none. */
size_t folder_find(const struct folder *f, const char *name);
void folder_put(struct folder *f, const char *name, size_t file);
void folder_drop(struct folder *f, const char *name);

/* Makes a file without a name.  Returns its index. */
size_t plvfs_file_new(struct plvfs *v);

/* The I/O methods of a connection. */
extern const sqlite3_io_methods plvfs_methods;

/* A connection's open file. */
struct conn {
	sqlite3_file base; /* must be first */
	struct plvfs *v;
	struct file *file;
	size_t index;
	bool read_only;
	int level;
	bool shm_on;
	unsigned shm_shared, shm_owned;
};

/* Calls the watcher, then returns SQLITE_OK, or the code of a fault that is
 * due. */
int plvfs_enter(struct plvfs *v, enum plvfs_call call);

/* Appends an operation to the log. */
void plvfs_log(struct plvfs *v, enum plvfs_kind kind, size_t file, size_t off,
    const void *p, size_t n);
void plvfs_log_name(
    struct plvfs *v, enum plvfs_kind kind, size_t file, const char *name);

#endif
