/* SPDX-License-Identifier: MIT */
/*
 * A command of the client without a network, a loop or waiting.  The fixture
 * stands in the place of lib/rest.c, lib/rest_url.c, lib/loop.c and
 * lib/stream.c: the test gives the server's answers, and plays what comes while
 * the loop runs.  What the command prints, asks for and tells the stream
 * becomes one text: lines as they are printed, and "> " before what goes to the
 * server.
 *
 * A program that links this wraps clk_system(), rnd_system() and rnd_below()
 * (ld --wrap): the clock stands still unless somebody sleeps or an answer
 * takes time, and random numbers are the largest that are allowed.
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

/* What the wall clock says at first: 21 Nov 2026 12:00 UTC. */
#define STAGE_NOW_MS INT64_C(1795262400000)

#define STAGE_ANSWERS_MAX 32
#define STAGE_WATCHES_MAX 4

struct stage_answer {
	int status;       /* 0: nobody answers */
	const char *json; /* with ' for each "; NULL: no body */
	const char *etag;
	int retry_after_s;
	int64_t took_ms;
	int64_t date_ms; /* what its clock says; 0: nothing */
	bool slow;       /* what is beside a request is served meanwhile */
};

struct stage {
	struct cli cli;
	struct scratch scratch;

	struct stage_answer answers[STAGE_ANSWERS_MAX];
	int nanswers, nasked;

	/* Plays what comes while the loop runs; NULL: nothing does. */
	void (*play)(struct stage *s);

	/* Of the stream and the loop, while there are some. */
	const struct stream_ops *ops;
	void *arg;
	bool connected; /* what is sent goes out */
	struct {
		int fd;
		loop_fn fn;
		void *arg;
	} watches[STAGE_WATCHES_MAX];
	int nwatches;
	int64_t timer_ms; /* -1: it is not set */

	int instead;   /* where the command prints; 0: into the text */
	char end[512]; /* the last line of the text */

	FILE *heard;
	int out, err; /* the true ones, while the command has others */
	char text[16384];
};

/* For cmocka: makes a stage with an own database; frees it. */
int stage_set_up(void **state);
int stage_tear_down(void **state);

/* The server's next answer, whose other members the test may set. */
struct stage_answer *stage_answer(
    struct stage *s, int status, const char *json);

/* From here on what is printed is kept; the text, and prints as before. */
void stage_listen(struct stage *s);
const char *stage_heard(struct stage *s);

/* Adds a line to the text. */
void stage_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Runs a command with its arguments, which end with NULL; the text, whose last
 * line is "= CODE WHAT; CURE". */
const char *stage_run(struct stage *s, const char *name, ...)
    __attribute__((sentinel));

/* The stream: a welcome with ${epoch}, at event ${seq}; an event; a loss, or
 * the end, because of ${why}. */
void stage_welcome(struct stage *s, const char *epoch, int64_t seq);
void stage_event(struct stage *s, const char *json);
void stage_lost(struct stage *s, const char *why);
void stage_ended(struct stage *s, const struct fail *why);

/* The timer fires. */
void stage_timer(struct stage *s);

/* Something is to be read from what was watched as number ${i}. */
void stage_readable(struct stage *s, int i);

/* The client's own database loses ${table}, so that what needs it fails. */
void stage_spoil(struct stage *s, const char *table);

/* ${text} with ' for each ", as JSON; the caller's. */
json_t *stage_json(const char *text);

/* Both clocks go on by ${ms}. */
void stage_pass(int64_t ms);

#endif
