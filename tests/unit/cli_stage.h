/* SPDX-License-Identifier: MIT */
/*
 * Commands of the client, run in the test's own process against a server that
 * the test plays, by a clock that stands still: what they print, what they ask
 * for, and what they fail with.
 */
#ifndef TESTS_CLI_STAGE_H
#define TESTS_CLI_STAGE_H

#include "cli/cli.h"
#include "unit/played_server.h"

/* 1 Jan 2030, where the wall clock stands. */
#define STAGE_NOW_MS INT64_C(1893456000000)

struct stage {
	struct played *played;
	struct profile profile; /* of each command; "default" of ann at url */
	const char *input;      /* standard input, NULL: none */
	const char *output;     /* a file for standard output, NULL: ret_out */
	bool terminal;          /* what commands take standard output for */
	struct fail fail;       /* of the last command */
	char *out, *err;        /* what the last command printed */
	char folder[64];
	char *waits; /* "500 1000 ": milliseconds that were slept */
};

/* For cmocka_unit_test_setup_teardown(): *state is a struct stage. */
int stage_set_up(void **state);
int stage_tear_down(void **state);

/* Runs the command that the words behind "twinbox" name, the last NULL. */
enum rc stage_run(struct stage *s, ...) __attribute__((sentinel));

#define RUN(s, ...) stage_run((s), __VA_ARGS__, (const char *)NULL)

/* Runs a command that succeeds, asks the server for ${asked}, and prints
 * ${out} and, on standard error, ${err}. */
#define SHOWS(s, asked, printed, told, ...)                                    \
	do {                                                                   \
		assert_int_equal(RUN(s, __VA_ARGS__), RC_OK);                  \
		assert_string_equal((s)->out, printed);                        \
		assert_string_equal((s)->err, told);                           \
		assert_string_equal(played_asked((s)->played), asked);         \
	} while (0)

/* Runs a command that fails with ${code} of sysexits.h after it has asked the
 * server for ${asked}, and says ${what}: "what; cure". */
#define REFUSES(s, asked, code, said, ...)                                     \
	do {                                                                   \
		assert_int_not_equal(RUN(s, __VA_ARGS__), RC_OK);              \
		stage_assert_fail(s, code, said);                              \
		assert_string_equal(played_asked((s)->played), asked);         \
	} while (0)

/* The last command failed with ${code} and "what; cure". */
void stage_assert_fail(struct stage *s, int code, const char *said);

/* A file in the folder that configuration and state are in. */
const char *stage_path(const struct stage *s, const char *name);

#endif
