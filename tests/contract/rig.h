/* SPDX-License-Identifier: MIT */
/*
 * The verbs on a new database, in one thread, with a clock that stands still
 * and seeded randomness: the base of the contract tests.  The database is an
 * SQLite file.  If TWINBOX_TEST_RIG is "postgres" and the options name no file,
 * the database is a schema of the PostgreSQL that TWINBOX_TEST_POSTGRES names.
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

/* How a rig is opened.  All zero: as rig_open() does. */
struct rig_options {
	const char *vfs;  /* the name of an SQLite VFS */
	const char *path; /* of the database; NULL: in a new folder */
	enum db_sync sync;
	int64_t checkpoint_bytes;   /* 0: 1 MiB */
	uint64_t seed;              /* of the randomness; 0: 42 */
	int64_t now_ms;             /* 0: RIG_START_MS */
	int64_t pending_most_total; /* the most that may wait in total; 0: no
				       limit */
	int64_t new_domains_most;   /* of a sender and day; 0: no limit */
	/* Messages that need not wait are delivered by the transaction that
	 * adds them.  Without it the relay delivers everything, that is
	 * rig_deliver(). */
	bool at_once;
	/* Of the writer; not copied.  NULL: the real times, but a batch waits
	 * for locks for a long time. */
	const struct timing *timing;
	bool unsafe_start; /* control: without the start sequence */
	/* Commits as the product makes them: early.  A thread syncs, publishes
	 * and answers, at each rig_turn(). */
	bool held;
	bool drops_syncs; /* control: the thread does not sync */
	/* Called when an event is published; NULL: 0. */
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
	sqlite3 *look;          /* the test's own connection */
	struct pg *pg;          /* the schema on PostgreSQL; else NULL */
	struct db *eyes;        /* fsck's connection, opened when needed */
	struct contended *held; /* the thread that syncs; NULL: not held */

	/* Events and changes that units of work published. */
	struct effect_event events[512];
	uint64_t stamps[512]; /* of each event, see rig_options */
	int nevents;
	struct effect_change changes[512]; /* as subscribers get them */
	int nchanges;
	struct effect_acked acked; /* the last */
	int64_t lanes[512];
	int nlanes;
	int fatal;
	struct rig_options options;
};

/* Returns true if rigs without a file name are on PostgreSQL. */
bool rig_is_postgres(void);

/* Opens a rig on a new database in a new folder, or fails the test. */
void rig_open(struct rig *r);

/* Opens a rig with ${options} (copied).  The database may exist already. */
void rig_open_with(struct rig *r, const struct rig_options *options);

/* Like rig_open_with(), but returns an error, and then nothing stays open. */
enum rc rig_open_try(
    struct rig *r, const struct rig_options *options, struct err *err) MUST_USE;

/* Closes everything and removes the folder that rig_open() made. */
void rig_close(struct rig *r);

/* Closes the database and opens it again, as a restart does. */
void rig_restart(struct rig *r);

/* Does on ${db} what the server does before it listens (store_recover). */
enum rc rig_boot(struct db *db, int64_t now_ms, struct err *err) MUST_USE;

/* Runs the writer once, for the ${n} units that were submitted.  Held: they are
 * not answered yet.  When a unit is answered, its callback must call
 * rig_answered() with its result, as its last step. */
void rig_run(struct rig *r, size_t n);
void rig_answered(struct rig *r, enum rc rc);

/* Held: lets the thread that syncs run until all committed units are answered.
 * It may be called from within rig_run(), in a call of the disk; then it covers
 * the units that were committed before this batch. */
void rig_turn(struct rig *r);

/* Held: counters of the thread that syncs. */
struct rig_turns {
	size_t syncs, owed_most; /* most batches that waited at one time */
};
struct rig_turns rig_turns(const struct rig *r);

/* Runs fsck on a connection of its own.  Returns the first broken promise with
 * its place, in static storage, or NULL if all promises are kept. */
const char *rig_broken_promise(struct rig *r);

/* Fails the test if a promise is broken. */
void rig_check_promises(struct rig *r);

/* Forgets what has been published. */
void rig_forget(struct rig *r);

/* Makes a user with one device.  Returns the user's id, and the device's id in
 * *${ret_device}. */
int64_t rig_user(struct rig *r, const char *name, int64_t *ret_device);

/* Sends a message.  If ${id} is NULL, the rig makes an id.  Returns a copy of
 * the finished unit. */
struct send_unit rig_send(struct rig *r, int64_t from, const char *to,
    const char *body, const struct uuid *id);

/* Sends a message under a new id, to be delivered at ${deliver_at} (wall ms; 0:
 * now). */
struct send_unit rig_send_at(struct rig *r, int64_t from, const char *to,
    const char *body, int64_t deliver_at);

/* Sends ${n} messages, at most 300, in one transaction, to reach the limits of
 * the relay and of the release.  Each must be accepted.  Message number ${i} is
 * delivered at ${deliver_at}(${i}). */
void rig_send_many(struct rig *r, int64_t from, const char *to, int n,
    int64_t (*deliver_at)(int i));

/* Delivers everything that is due, as the relay does.  Returns the number of
 * messages. */
size_t rig_deliver(struct rig *r);

/* Like rig_deliver(), but returns an error. */
enum rc rig_deliver_try(struct rig *r, size_t *ret) MUST_USE;

/* Makes ${ret} a unit that delivers what is due in some lanes.  *${ret_none} is
 * true if nothing is due. */
enum rc rig_deliver_unit(struct rig *r, struct deliver_unit *ret,
    bool *ret_none, struct err *err) MUST_USE;

struct ack_unit rig_ack(
    struct rig *r, int64_t user, int64_t device, int64_t upto);
struct read_unit rig_read(
    struct rig *r, int64_t user, int64_t device, int64_t upto, bool is_private);
struct cancel_unit rig_cancel(
    struct rig *r, int64_t user, const struct uuid *id);
size_t rig_release(struct rig *r);

/* Returns a unit whose transaction always fails, with RC_CONFLICT. */
struct unit rig_failing(void);

/* Returns one number that ${sql} gives, read on the test's own connection. */
int64_t rig_number(struct rig *r, const char *sql);

/* Reads at most ${max} numbers.  Returns how many there were. */
size_t rig_numbers(struct rig *r, const char *sql, int64_t *ret, size_t max);

/* Returns one text that ${sql} gives, in static storage. */
const char *rig_text(struct rig *r, const char *sql);

/* Returns the first column of all rows, separated by spaces, in static
 * storage. */
const char *rig_list(struct rig *r, const char *sql);

/* Runs statements without the writer, which is idle.  Returns the number of
 * rows that the last one changed. */
int64_t rig_exec(struct rig *r, const char *sql);

/* Like rig_exec(), but first removes the triggers that protect rows from
 * changes, and restores them afterwards. */
int64_t rig_exec_past(struct rig *r, const char *sql);

/* Returns true if the database refuses ${sql} and nothing has changed. */
bool rig_refuses(struct rig *r, const char *sql);

/* Opens a reader of the same database.  The caller closes it. */
struct db *rig_reader(struct rig *r);

/* People of this server are at localhost.  *.fault.test can be reached, too. */
extern const struct addressing rig_addressing;

#endif
