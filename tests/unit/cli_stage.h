/* SPDX-License-Identifier: MIT */
/*
 * Commands of the client run in the test's own process, against a server that
 * the test plays and with a clock that stands still.  A test compares what a
 * command prints, its requests, and the failure that it reports.
 */
#ifndef TESTS_CLI_STAGE_H
#define TESTS_CLI_STAGE_H

#include "cli/cli.h"
#include "unit/played_server.h"

/* 1 Jan 2030: the time of the wall clock. */
#define STAGE_NOW_MS INT64_C(1893456000000)

struct stage {
	struct played *played;
	struct profile profile; /* for each command; "default" of ann at url */
	const char *input;      /* standard input, NULL: none */
	const char *output;     /* a file for standard output, NULL: ret_out */
	bool terminal;    /* commands take standard output for a terminal */
	struct fail fail; /* of the last command */
	char *out, *err;  /* what the last command printed */
	char folder[64];
	char *waits; /* "500 1000 ": milliseconds that were slept */
};

/* For cmocka_unit_test_setup_teardown(): *state is a struct stage. */
int stage_set_up(void **state);
int stage_tear_down(void **state);

/* Runs the command that the arguments after "twinbox" name.  The last is
 * NULL. */
enum rc stage_run(struct stage *s, ...) __attribute__((sentinel));

#define RUN(s, ...) stage_run((s), __VA_ARGS__, (const char *)NULL)

/* Runs a command that succeeds.  Its requests to the server are ${asked}, and
 * it prints ${printed} and, on standard error, ${told}. */
#define SHOWS(s, asked, printed, told, ...)                                    \
	do {                                                                   \
		assert_int_equal(RUN(s, __VA_ARGS__), RC_OK);                  \
		assert_string_equal((s)->out, printed);                        \
		assert_string_equal((s)->err, told);                           \
		assert_string_equal(played_asked((s)->played), asked);         \
	} while (0)

/* Runs a command that fails.  Its requests to the server are ${asked}; it exits
 * with ${code} of sysexits.h and reports ${said}: "what; cure". */
#define REFUSES(s, asked, code, said, ...)                                     \
	do {                                                                   \
		assert_int_not_equal(RUN(s, __VA_ARGS__), RC_OK);              \
		stage_assert_fail(s, code, said);                              \
		assert_string_equal(played_asked((s)->played), asked);         \
	} while (0)

/* Fails the test unless the last command failed with ${code} and reported
 * ${said}: "what; cure". */
void stage_assert_fail(struct stage *s, int code, const char *said);

/* The path of a file in the folder of the configuration and the state. */
const char *stage_path(const struct stage *s, const char *name);

#endif
