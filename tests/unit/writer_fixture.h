/* SPDX-License-Identifier: MIT */
/*
 * A writer over a database that only records its calls and fails on demand.
 * The story is the calls, one word each.
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
	bool open; /* in a transaction */

	/* The results of the next calls; RC_OK after that. */
	enum rc begin_rc, hook_rc, flush_rc, commit_rc, sync_rc, checkpoint_rc,
	    cut_rc;
	int commit_after; /* commits that still succeed before commit_rc */
	int deadlocks;    /* commits before, which conflict with others */
	enum rc deadlock_rc;
	bool retryable; /* the last failure: db_retryable() */

	/* In a multi-writer database: the rows that others hold, a letter each,
	 * and those that the hooks know to be held; whether units meet a
	 * further held row. */
	char others[8], known[8];
	bool unforeseen;

	int64_t log_bytes;
	int64_t log_frames, done_frames;
	int applied, finished, fatals;
	size_t published;  /* units, as passed to the published hook */
	int64_t commit_ms; /* the time of a commit */
	int64_t sync_ms;   /* the time of a sync */
	sem_t *sync_gate;  /* a sync waits for it; NULL: none does */
	bool owes_nothing; /* commits are durable at once */
	int told;          /* its address stands for a transaction's effects */
	struct clk_fake clk;
	struct writer_hooks hooks;
	struct writer *writer;
};

extern struct world *world;

struct work {
	struct unit unit; /* first */
	char name;
	enum rc fails; /* the result of applying it */
	int dones;
	int sender, number;
	char needs; /* a row; 0: none */
};

/* A kind for each queue, in the order of a batch. */
extern const struct unit_kind world_delivery;
extern const struct unit_kind world_client;
extern const struct unit_kind world_upkeep;

/* For cmocka: makes the world, with queues of ${limit} units; frees it. */
int world_set_up_limited(void **state, size_t limit);
int world_set_up(void **state);
int world_set_up_multi_writer(void **state);
int world_tear_down(void **state);

/* Empties the story. */
void world_forget(void);

/* The finish function of the units. */
void world_finish(struct unit *unit);

/* Clears ${w}, names it ${name} and submits it. */
enum rc world_submit(struct work *w, const struct unit_kind *kind, char name);

#endif
