/* SPDX-License-Identifier: MIT */
/*
 * Compares the drawing of a state machine in a header with its table of moves.
 *
 * A line of a drawing is " * A, B --why--> C": a move from A and one from B to
 * C.  All other lines are skipped.
 */
#ifndef TESTS_STATE_DRAWING_H
#define TESTS_STATE_DRAWING_H

#include <stdbool.h>

/* A machine: its states by number, and its moves. */
struct state_machine {
	const char *header;       /* its path from the top of the project */
	const char *const *names; /* as the drawing has them */
	int n;
	bool (*allows)(int from, int to);
};

/* Returns the number of differences, and prints each of them: a move that only
 * ${text} draws, a move that only the machine has, or a name in ${text} that is
 * not a state. */
int state_drawing_differences(
    const struct state_machine *machine, const char *text);

/* Fails the test if the drawing in the machine's header differs from the
 * machine, or if there is no drawing. */
void assert_state_drawing(const struct state_machine *machine);

#endif
