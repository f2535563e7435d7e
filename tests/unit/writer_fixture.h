/* SPDX-License-Identifier: MIT */
/*
 * A writer over a database that only notes what is asked of it and fails on
 * demand.  The story is what was called, word by word.
 */
#ifndef TESTS_WRITER_FIXTURE_H
#define TESTS_WRITER_FIXTURE_H

#include <semaphore.h>

#include "db/db_internal.h"
#include "engine/writer.h"

struct world {
	struct db db; /* first */
	char story[4096];
	size_t len;
	bool open; /* a transaction is */

	/* What the next calls do; RC_OK for good afterwards. */
	enum rc begin_rc, hook_rc, flush_rc, commit_rc, sync_rc, checkpoint_rc,
	    cut_rc;
	int commit_after; /* commits that still succeed before commit_rc */
	int deadlocks; /* commits before that that others are in the way of */
	enum rc deadlock_rc;
	bool retryable; /* the last failure: db_retryable() */

	/* In a multi-writer database: rows that others hold, a letter each,
	 * and those that the hooks know to be held; whether what the units need
	 * beyond is held, too. */
	char others[8], known[8];
	bool unforeseen;

	int64_t log_bytes;
	int64_t log_frames, done_frames;
	int applied, finished, fatals;
	size_t published;  /* units, as the hook was told */
	int64_t commit_ms; /* what a commit takes */
	int64_t sync_ms;   /* and its sync */
	sem_t *sync_gate;  /* a sync waits for it; NULL: none does */
	bool owes_nothing; /* commits are durable at once */
	int told;          /* its address is what a transaction tells */
	struct clk_fake clk;
	struct writer_hooks hooks;
	struct writer *writer;
};

extern struct world *world;

struct work {
	struct unit unit; /* first */
	char name;
	enum rc fails; /* what applying it gives */
	int dones;
	int sender, number;
	char needs; /* a row; 0: none */
};

/* A kind for each queue, in the order of a batch. */
extern const struct unit_kind world_delivery;
extern const struct unit_kind world_client;
extern const struct unit_kind world_upkeep;

/* For cmocka: makes the world, with queues of so many units; ends it. */
int world_set_up_limited(void **state, size_t limit);
int world_set_up(void **state);
int world_set_up_multi_writer(void **state);
int world_tear_down(void **state);

/* Empties the story. */
void world_forget(void);

/* What is called when a unit of work is finished. */
void world_finish(struct unit *unit);

/* Clears ${w}, names it and hands it over. */
enum rc world_submit(struct work *w, const struct unit_kind *kind, char name);

#endif
