/* SPDX-License-Identifier: MIT */
/*
 * The relay's core in one thread, on a real store, with a clock that the test
 * moves.  The fixture is the writer's thread, the carrier to other servers and
 * whoever turns the core; what the core asks of them becomes lines of text.
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
	/* Nothing may be sent to other servers. */
	bool closed_way;

	/* Units of the kind ${refused} are not taken (${refused_with}); those
	 * of the kind ${fails} come back with ${fails_with}, and nothing is
	 * written.  NULL: none. */
	const char *refused, *fails;
	enum rc refused_with, fails_with;
	/* The next rescue or release finds what it is about held by somebody
	 * else. */
	const char *passes_over;

	int renewals; /* statements */

	/* The option of the same name, for scene_restart(). */
	size_t destinations_most;

	/* "600 claim", "600 carry a.example 2": milliseconds since ${since_ms}
	 * and what the core asked for. */
	char told[4096];
	int64_t since_ms;
};

extern struct scene scene;

/* For cmocka: a store with the user ann, and a core that has started; frees
 * them. */
int scene_set_up(void **state);
int scene_tear_down(void **state);

/* Frees the core and starts another on the same store, with these options. */
void scene_restart(int64_t poll_ms, int64_t timeout_ms);

/* A turn of the core, without the writer's, that ${wake} (NULL: none) may
 * cause; returns when the core wants the next. */
int64_t scene_turn_by(struct wake *wake);
int64_t scene_turn(void);

/* The same for a core that begins nothing new. */
int64_t scene_turn_stopping(void);

/* Monotonic time in milliseconds. */
int64_t scene_now(void);

/* Lets ${ms} pass, and then all happen that is to happen at once. */
void scene_pass(int64_t ms);

/* ${ms}, a second at a time. */
void scene_pass_slowly(int64_t ms);

/* Lets ${ms} pass with a turn whenever the core has asked for one, and at no
 * other time. */
void scene_run(int64_t ms);

/* Forgets what was told; the times count from now. */
void scene_forget(void);

/* Fails the test unless ${told} is what was told; forgets it. */
void scene_expect(const char *told);

/* The carrier comes back: all of ${parcel} is accepted; there is no answer, or
 * ${status} with ${retry_after_ms}. */
void scene_answer(struct parcel *parcel);
void scene_fail(struct parcel *parcel, int status, int64_t retry_after_ms);

/* Ann sends to ${to} elsewhere; the second expires after ${ms}. */
void scene_send(const char *to);
void scene_send_expiring(const char *to, int64_t ms);

/* The same to a user here; ${ms} 0: the default. */
void scene_send_here(const char *to, int64_t ms);

/* A wake-up for the server ${name}, which the store knows. */
struct wake *scene_wake(const char *name);

/* How long the leases that end last are still valid. */
int64_t scene_lease_left(void);

/* The number of rows: "outbox WHERE state = 'sent'". */
int64_t scene_count(const char *what);

#endif
