/* SPDX-License-Identifier: MIT */
/*
 * Commits on their way to the disk, with the real thread and a database that
 * only syncs: when the test lets it, and with the result that the test wants.
 * The story is what was called, word by word: "sync(" and ")" around a sync,
 * "+a2" for a commit published with two units, "-a" for a lost one, "a" for
 * each unit that is answered.  Nothing here looks at the time: that a thread
 * waits is seen from its being asleep.
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
/* How long a sync takes by the fake clock. */
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
	bool last;            /* what is given is the last: nobody waits */
	enum rc sync_rc;      /* of the next sync; RC_OK afterwards */
	char fails_at;        /* the store fails when this one is answered */
	sem_t begun, go;      /* of held syncs */
	atomic_int syncing;   /* the thread that was let go in one */
	atomic_bool hold_end; /* fatal waits for end */
	sem_t end;
	sem_t answered;        /* units */
	int64_t began_us;      /* of commits that are given */
	int64_t commit_us;     /* as published last */
	int fatals, elsewhere; /* calls from another than the wanted thread */
	enum thr_role wanted;

	struct item items[NAMES][UNITS];
	char told[NAMES];
};

extern struct rig *rig;

/* With no thread; with the syncing thread; with each sync held. */
int rig_set_up_inline(void **state);
int rig_set_up(void **state);
int rig_set_up_held(void **state);
int rig_tear_down(void **state);

/* What was told up to now; until the next call. */
const char *rig_story(void);
void rig_forget(void);

/* A commit called ${name}: announced and handed over; only handed over. */
void rig_give(char name, size_t units, bool owed);
void rig_add(char name, size_t units, bool owed);

/* Hands over an announced commit that failed. */
void rig_withdraw(void);

/* Another sync fails, that of a checkpoint. */
void rig_fail_elsewhere(void);

void rig_await(sem_t *sem, int n);

/* A thread that may have to wait. */
struct runner {
	bool (*run)(void);
	struct thr *thr;
	atomic_int tid;
	atomic_bool returned;
	bool result;
};

/* Starts ${fn} and lets it come as far as it can: true when it waits. */
bool rig_waits(struct runner *r, bool (*fn)(void));
bool rig_run_wait(void);

#define T(test, set_up)                                                        \
	cmocka_unit_test_setup_teardown(test, rig_##set_up, rig_tear_down)

#endif
