/* SPDX-License-Identifier: MIT */
/*
 * The relay's core in one thread, on a real store, with a clock that the test
 * moves.  The fixture plays the writer's thread, the carrier to other servers
 * and the thread that runs the core's turns.  Everything that the core asks of
 * them becomes a line of text.
 */
#ifndef TESTS_CORE_FIXTURE_H
#define TESTS_CORE_FIXTURE_H

#include "contract/rig.h"
#include "relay/core.h"

#define SECOND 1000

struct scene {
	struct rig rig;
	struct db *reader;
	struct core *core;
	struct core_job *jobs, **jobs_tail; /* that came back */

	/* Parcels under way, unless answers() answers them at once. */
	struct parcel *carried[128];
	size_t ncarried;
	void (*answers)(struct parcel *parcel);
	/* No request may go to another server. */
	bool closed_way;

	/* Units of the kind ${refused} are refused with ${refused_with} on
	 * submission.  Units of the kind ${fails} finish with ${fails_with},
	 * and write nothing.  NULL: no kind. */
	const char *refused, *fails;
	enum rc refused_with, fails_with;
	/* The next reclaim or release, as named here, finds its rows held by
	 * another transaction. */
	const char *passes_over;

	int renewals; /* calls of renew */

	/* The option of the same name, for scene_restart(). */
	size_t destinations_most;

	/* The actions of the core, a line each: "600 claim", "600 carry
	 * a.example 2". The number is the time in ms since ${since_ms}. */
	char told[4096];
	int64_t since_ms;
};

extern struct scene scene;

/* For cmocka: makes a store with the user ann, and starts a core on it; frees
 * both. */
int scene_set_up(void **state);
int scene_tear_down(void **state);

/* Frees the core and starts another on the same store, with these options. */
void scene_restart(int64_t poll_ms, int64_t timeout_ms);

/* Runs one turn of the core, but not the writer.  ${wake} is the wake-up that
 * causes it; NULL: none.  Returns the time at which the core wants the next
 * turn. */
int64_t scene_turn_by(struct wake *wake);
int64_t scene_turn(void);

/* The same for a core that is stopping and begins nothing new. */
int64_t scene_turn_stopping(void);

/* Monotonic time in milliseconds. */
int64_t scene_now(void);

/* Lets ${ms} pass at once, then runs the core and the writer by turns, 50
 * times, which is enough for all work that follows. */
void scene_pass(int64_t ms);

/* Lets ${ms} pass, one second at a time. */
void scene_pass_slowly(int64_t ms);

/* Lets ${ms} pass.  The core has a turn at each time that it asked for, and at
 * no other time. */
void scene_run(int64_t ms);

/* Clears ${told}.  The times of later lines count from now. */
void scene_forget(void);

/* Fails the test unless the actions recorded in the scene are ${told}, and
 * clears them. */
void scene_expect(const char *told);

/* Ends ${parcel}: scene_answer() with all of it accepted, scene_fail() with
 * HTTP ${status} and ${retry_after_ms}, or without an answer if ${status} is
 * 0. */
void scene_answer(struct parcel *parcel);
void scene_fail(struct parcel *parcel, int status, int64_t retry_after_ms);

/* Ann sends a message to ${to}, an address of another server.  The message of
 * scene_send_expiring() expires after ${ms}. */
void scene_send(const char *to);
void scene_send_expiring(const char *to, int64_t ms);

/* The same for a recipient of this server; ${ms} 0: the default expiry. */
void scene_send_here(const char *to, int64_t ms);

/* Returns a wake-up for the server ${name}, which the store has a row for. */
struct wake *scene_wake(const char *name);

/* Milliseconds until the last lease ends. */
int64_t scene_lease_left(void);

/* Counts rows.  ${what} is a table with a condition: "outbox WHERE state =
 * 'sent'". */
int64_t scene_count(const char *what);

#endif
