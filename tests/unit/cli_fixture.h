/* SPDX-License-Identifier: MIT */
/*
 * A command of the client without a network, an event loop or waiting.  The
 * fixture replaces lib/rest.c, lib/rest_url.c, lib/loop.c and lib/stream.c: the
 * test gives the server's answers, and plays the events that come while the
 * loop runs.  The command's output, its requests and what it sends on the
 * stream become one text: lines as they are printed, and "> " before each line
 * that goes to the server.
 *
 * A program that links this fixture wraps clk_system(), rnd_system() and
 * rnd_below() (ld --wrap).  The clock stands still unless the command sleeps or
 * an answer takes time, and each random number is the largest that is allowed.
 */
#ifndef TESTS_CLI_FIXTURE_H
#define TESTS_CLI_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/cli.h"
#include "lib/loop.h"
#include "lib/stream.h"
#include "unit/scratch.h"

/* The wall clock at the start: 21 Nov 2026 12:00 UTC. */
#define STAGE_NOW_MS INT64_C(1795262400000)

#define STAGE_ANSWERS_MAX 32
#define STAGE_WATCHES_MAX 4

struct stage_answer {
	int status;       /* 0: the server does not answer */
	const char *json; /* with ' for each "; NULL: no body */
	const char *etag;
	int retry_after_s;
	int64_t took_ms;
	int64_t date_ms; /* the server's clock; 0: no Date header */
	bool slow;       /* the request's idle function runs first */
};

struct stage {
	struct cli cli;
	struct scratch scratch;

	struct stage_answer answers[STAGE_ANSWERS_MAX];
	int nanswers, nasked;

	/* Plays the events that come while the loop runs; NULL: there are
	 * none. */
	void (*play)(struct stage *s);

	/* Called when the command makes a request; NULL: nothing is. */
	void (*asked)(void);
	void (*answered)(void); /* called when it has the answer */

	/* Arguments of the command to the stream and the loop, while they
	 * exist. */
	const struct stream_ops *ops;
	void *arg;
	bool connected; /* frames that the command sends go out */
	struct {
		int fd;
		loop_fn fn;
		void *arg;
	} watches[STAGE_WATCHES_MAX];
	int nwatches;
	int64_t timer_ms; /* -1: the timer is not set */

	int instead;   /* the descriptor for the output; 0: the text */
	char end[512]; /* the last line of the text */

	FILE *heard;
	int out, err; /* the real ones, while the command has others */
	char text[16384];
};

/* For cmocka: makes a stage with a database of its own; frees it. */
int stage_set_up(void **state);
int stage_tear_down(void **state);

/* Adds an answer for the server to give.  The test may set its other
 * members. */
struct stage_answer *stage_answer(
    struct stage *s, int status, const char *json);

/* stage_listen() collects the output from here on.  stage_heard() restores the
 * output and returns the text. */
void stage_listen(struct stage *s);
const char *stage_heard(struct stage *s);

/* Adds a line to the text. */
void stage_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Runs the command ${name} with the arguments that follow, the last NULL.
 * Returns the text, whose last line is "= CODE WHAT; CURE". */
const char *stage_run(struct stage *s, const char *name, ...)
    __attribute__((sentinel));

/* The stream delivers: a welcome with ${epoch}, at event ${seq}; an event; the
 * loss of the connection, or the end of the stream, because of ${why}. */
void stage_welcome(struct stage *s, const char *epoch, int64_t seq);
void stage_event(struct stage *s, const char *json);
void stage_lost(struct stage *s, const char *why);
void stage_ended(struct stage *s, const struct fail *why);

/* The timer fires. */
void stage_timer(struct stage *s);

/* The descriptor that was watched as number ${i} becomes readable. */
void stage_readable(struct stage *s, int i);

/* Drops ${table} from the client's own database, so that its use fails. */
void stage_spoil(struct stage *s, const char *table);

/* Parses ${text}, with ' for each ", as JSON.  The caller owns the result. */
json_t *stage_json(const char *text);

/* Moves both clocks on by ${ms}. */
void stage_pass(int64_t ms);

#endif
