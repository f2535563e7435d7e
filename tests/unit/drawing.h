/* SPDX-License-Identifier: MIT */
/*
 * Reads the drawing of a state machine in the comment of a header, so that a
 * test can compare it with the table.
 *
 * A drawing is the first run of lines that begin with a star and a tabulator
 * after the line of its title.  States are in capitals.  Lines are of '-' and
 * '|' that meet in '+' and pass each other elsewhere; words in small letters
 * are part of a horizontal line.  '>', '<', 'v' and '^' touch the state to
 * which a line leads, or stand one space before it.  All states that a line
 * touches otherwise are the states from which it leads.
 */
#ifndef TESTS_DRAWING_H
#define TESTS_DRAWING_H

#include <stdbool.h>

struct drawing;

/* Reads the drawing titled ${title} (the text of a line of the comment) in
 * ${file} of the source; fails the test if there is none, or if an arrow leads
 * from or to nowhere. */
struct drawing *drawing_read(const char *file, const char *title);
void drawing_free(struct drawing *d);

/* Whether it has a line from the state ${from} to ${to}, in any case. */
bool drawing_has(const struct drawing *d, const char *from, const char *to);

/* How many lines it has: pairs of states. */
int drawing_moves(const struct drawing *d);

#endif
