/* SPDX-License-Identifier: MIT */
/*
 * Commits before they are durable, with the real sync thread, and a database
 * that can only sync.  The test decides when a sync returns, and with which
 * result.  The story is the calls, one word each: "sync(" and ")" around a
 * sync, "+a2" for a commit that is published with two units, "-a" for a lost
 * commit, "a" for each unit of commit a that is finished.  No test depends on
 * time: a test knows that a thread waits because the kernel says that the
 * thread sleeps.
 */
#ifndef UNIT_COMMITS_RIG_H
#define UNIT_COMMITS_RIG_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/thr.h"
#include "db/db_internal.h"
#include "engine/commits.h"
#include "engine/writer.h"

#define NAMES 4 /* a to d */
#define UNITS 2 /* of one commit, at most */
/* The duration of a sync by the fake clock. */
#define SYNC_MS 7

struct item {
	struct unit unit; /* first */
	char name;
};

struct rig {
	struct db db; /* first */
	struct clk_fake clk;
	struct commits_hooks hooks;
	struct commits *commits;

	pthread_mutex_t lock;
	char story[1024];
	size_t len;

	atomic_bool held;     /* each sync waits for go */
	bool last;            /* commit.last of the commits that are given */
	enum rc sync_rc;      /* of the next sync; RC_OK after that */
	char fails_at;        /* the store fails when a unit of it finishes */
	sem_t begun, go;      /* of held syncs */
	atomic_int syncing;   /* the thread that left a held sync */
	atomic_bool hold_end; /* the fatal hook waits for end */
	sem_t end;
	sem_t answered;    /* one post for each finished unit */
	int64_t began_us;  /* commit.began_us of the commits that are given */
	int64_t commit_us; /* as last passed to the published hook */
	int fatals, elsewhere; /* calls in a thread of another role */
	enum thr_role wanted;

	struct item items[NAMES][UNITS];
	char told[NAMES];
};

extern struct rig *rig;

/* A rig without a sync thread; with one; with one whose syncs are held. */
int rig_set_up_inline(void **state);
int rig_set_up(void **state);
int rig_set_up_held(void **state);
int rig_tear_down(void **state);

/* The story up to now, valid until the next call; forgets it. */
const char *rig_story(void);
void rig_forget(void);

/* rig_give() announces a commit called ${name} and hands it over.  rig_add()
 * only hands it over. */
void rig_give(char name, size_t units, bool owed);
void rig_add(char name, size_t units, bool owed);

/* Hands over an announced commit whose COMMIT failed. */
void rig_withdraw(void);

/* Another sync fails: the sync of a checkpoint. */
void rig_fail_elsewhere(void);

void rig_await(sem_t *sem, int n);

/* A thread whose function may have to wait. */
struct runner {
	bool (*run)(void);
	struct thr *thr;
	atomic_int tid;
	atomic_bool returned;
	bool result;
};

/* Starts a thread that runs ${fn}, and returns when the thread sleeps or is
 * done.  True if it sleeps. */
bool rig_waits(struct runner *r, bool (*fn)(void));
bool rig_run_wait(void);

#define T(test, set_up)                                                        \
	cmocka_unit_test_setup_teardown(test, rig_##set_up, rig_tear_down)

#endif
