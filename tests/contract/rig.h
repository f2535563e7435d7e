/* SPDX-License-Identifier: MIT */
/*
 * The verbs on a fresh database, in one thread, with a clock that stands
 * still and seeded randomness: what the contract tests run on.  The database is
 * a file of SQLite; where TWINBOX_TEST_RIG is "postgres" and the options name
 * no file, a schema of the PostgreSQL that TWINBOX_TEST_POSTGRES names.
 */
#ifndef CONTRACT_RIG_H
#define CONTRACT_RIG_H

#include <sqlite3.h>

#include "base/clk.h"
#include "base/rnd.h"
#include "chat/account.h"
#include "chat/ack.h"
#include "chat/cancel.h"
#include "chat/read.h"
#include "chat/send.h"
#include "delivery/deliver.h"
#include "delivery/release.h"
#include "txn/env.h"

#define RIG_START_MS INT64_C(1700000000000)

/* How a rig is to be opened; zero is what rig_open() does. */
struct rig_options {
	const char *vfs;  /* an SQLite VFS by name */
	const char *path; /* of the database; NULL: in a fresh folder */
	enum db_sync sync;
	int64_t checkpoint_bytes;   /* 0: 1 MiB */
	uint64_t seed;              /* of the randomness; 0: 42 */
	int64_t now_ms;             /* 0: RIG_START_MS */
	int64_t pending_most_total; /* what all may have waiting; 0: any */
	int64_t new_domains_most;   /* of a sender and day; 0: any */
	/* What need not wait is delivered by the transaction that adds it.
	 * Without it everything is the relay's, as rig_deliver() plays it. */
	bool at_once;
	const struct timing *timing; /* of the writer, kept; NULL: real */
	bool unsafe_start; /* without the start sequence, as a control */
	/* Commits go the product's way: early, and a thread syncs, publishes
	 * and answers, at each rig_turn(). */
	bool held;
	bool drops_syncs; /* the thread's are not made, as a control */
	/* Asked when an event is published; NULL: 0. */
	uint64_t (*stamp)(void *arg);
	void *stamp_arg;
};

struct pg;
struct contended;

struct rig {
	char dir[64];
	char path[96];
	char url[512];
	struct clk_fake clk;
	struct rnd_seeded rnd;
	struct uuid_gen ids; /* a client's */
	struct db *db;
	struct txn_env *env;
	struct writer *writer;
	sqlite3 *look;          /* a second pair of eyes */
	struct pg *pg;          /* the same on PostgreSQL; else NULL */
	struct db *eyes;        /* fsck's, opened when needed */
	struct contended *held; /* the thread that syncs; NULL: not held */

	/* What was published. */
	struct effect_event events[512];
	uint64_t stamps[512]; /* of each event, see rig_options */
	int nevents;
	struct effect_change changes[512]; /* as subscribers are told */
	int nchanges;
	struct effect_acked acked; /* the last */
	int64_t lanes[512];
	int nlanes;
	int fatal;
	struct rig_options options;
};

/* Whether rigs that name no file are on PostgreSQL. */
bool rig_is_postgres(void);

/* A fresh database in a fresh folder, or dies. */
void rig_open(struct rig *r);

/* The same with ${options} (copied): a database that may be there already. */
void rig_open_with(struct rig *r, const struct rig_options *options);

/* The same, but an error comes back and leaves nothing open. */
enum rc rig_open_try(
    struct rig *r, const struct rig_options *options, struct err *err) MUST_USE;

/* Closes all and removes the folder that rig_open made. */
void rig_close(struct rig *r);

/* Closes and opens the same database again, as a restart does. */
void rig_restart(struct rig *r);

/* What the server does on ${db} before it listens (store_recover). */
enum rc rig_boot(struct db *db, int64_t now_ms, struct err *err) MUST_USE;

/* Runs the writer once, for the ${n} units that were submitted.  Held: they are
 * not answered yet; each must call rig_answered() when it is, at the end, with
 * what it came to. */
void rig_run(struct rig *r, size_t n);
void rig_answered(struct rig *r, enum rc rc);

/* Held: the turn of the thread that syncs, until all is answered that was
 * committed.  Also from within rig_run(), among its calls of the disk; then of
 * what was committed before. */
void rig_turn(struct rig *r);

/* Held: what there was of it. */
struct rig_turns {
	size_t syncs, owed_most; /* batches that waited at the same time */
};
struct rig_turns rig_turns(const struct rig *r);

/* A promise that does not hold, by fsck on a connection of its own, with its
 * place; static storage.  NULL: all hold. */
const char *rig_broken_promise(struct rig *r);

/* Dies of a broken promise. */
void rig_check_promises(struct rig *r);

/* Forgets what was published. */
void rig_forget(struct rig *r);

/* A user with one device; returns his id, and the device's through ${ret}. */
int64_t rig_user(struct rig *r, const char *name, int64_t *ret_device);

/* Sends; ${id} NULL makes one.  Returns the finished unit's copy. */
struct send_unit rig_send(struct rig *r, int64_t from, const char *to,
    const char *body, const struct uuid *id);

/* The same, into a conversation, to be delivered at ${deliver_at} (0: now). */
struct send_unit rig_send_at(struct rig *r, int64_t from, const char *to,
    const char *body, int64_t deliver_at);

/* Sends ${n} messages, at most 300, in one transaction: the relay's and the
 * release's limits want many.  Each is accepted; that of number ${i} is to be
 * delivered at ${deliver_at}(${i}). */
void rig_send_many(struct rig *r, int64_t from, const char *to, int n,
    int64_t (*deliver_at)(int i));

/* Delivers everything that is due, as the relay would; returns how many. */
size_t rig_deliver(struct rig *r);

/* The same, but an error comes back. */
enum rc rig_deliver_try(struct rig *r, size_t *ret) MUST_USE;

/* Makes ${ret} a unit that delivers what is due in some lanes; *ret_none: there
 * is nothing. */
enum rc rig_deliver_unit(struct rig *r, struct deliver_unit *ret,
    bool *ret_none, struct err *err) MUST_USE;

struct ack_unit rig_ack(
    struct rig *r, int64_t user, int64_t device, int64_t upto);
struct read_unit rig_read(
    struct rig *r, int64_t user, int64_t device, int64_t upto, bool is_private);
struct cancel_unit rig_cancel(
    struct rig *r, int64_t user, const struct uuid *id);
size_t rig_release(struct rig *r);

/* A unit whose transaction always fails, with RC_CONFLICT. */
struct unit rig_failing(void);

/* One number by SQL, looked at from outside. */
int64_t rig_number(struct rig *r, const char *sql);

/* Numbers by SQL, at most ${max}; how many. */
size_t rig_numbers(struct rig *r, const char *sql, int64_t *ret, size_t max);

/* One text by SQL; static storage. */
const char *rig_text(struct rig *r, const char *sql);

/* The first column of all rows, with blanks between; static storage. */
const char *rig_list(struct rig *r, const char *sql);

/* Runs statements past the writer, which is idle; rows that the last one has
 * changed. */
int64_t rig_exec(struct rig *r, const char *sql);

/* The same past the triggers that keep rows as they are, which are there again
 * afterwards. */
int64_t rig_exec_past(struct rig *r, const char *sql);

/* Whether the database refuses ${sql}, and nothing has changed. */
bool rig_refuses(struct rig *r, const char *sql);

/* A reader of the same database; the caller closes it. */
struct db *rig_reader(struct rig *r);

/* People here are at localhost; *.fault.test is reached as well. */
extern const struct addressing rig_addressing;

#endif
