/* SPDX-License-Identifier: MIT */
/*
 * The drawing of a state machine in a header, compared with its table of moves.
 *
 * A line of a drawing is " *	A, B --why--> C": from A and from B to C.  All
 * other lines are skipped.
 */
#ifndef TESTS_STATE_DRAWING_H
#define TESTS_STATE_DRAWING_H

#include <stdbool.h>

/* A machine: its states by number, and its moves. */
struct state_machine {
	const char *header;       /* below the top of the project */
	const char *const *names; /* as they are drawn */
	int n;
	bool (*allows)(int from, int to);
};

/* How many moves ${text} draws that the machine does not have, or does not draw
 * and it has; a name that is no state counts, too.  Each is printed. */
int state_drawing_differences(
    const struct state_machine *machine, const char *text);

/* Fails the test if the drawing in the machine's header differs from it, or if
 * there is none. */
void assert_state_drawing(const struct state_machine *machine);

#endif
