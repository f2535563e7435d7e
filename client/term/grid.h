/* SPDX-License-Identifier: MIT */
/*
 * Tables that fit a width: columns are aligned, what may be cut is cut where
 * they are too wide together, and a row can have a line of its own below it.
 * What is put into a cell must be safe for a terminal already (lib/safe.h).
 */
#ifndef CLI_GRID_H
#define CLI_GRID_H

#include "base/buf.h"
#include "term/render.h"

#define GRID_COLUMNS_MAX 12

struct grid_column {
	const char *title; /* all NULL: there is no heading */
	bool right;        /* numbers stand at the right */
	int least;         /* may be cut to so many columns; 0: never */
};

struct grid_cell {
	size_t at, len; /* in text */
	enum style style;
};

struct grid_row {
	struct grid_cell cells[GRID_COLUMNS_MAX];
	int ncells;
	struct grid_cell note; /* len 0: none */
};

struct grid {
	const struct grid_column *columns;
	int ncolumns;
	struct buf text; /* of all cells */
	struct grid_row *rows;
	size_t nrows, room;
	struct grid_cell *open; /* the cell that is being filled */
	bool failed;
};

/* Makes ${grid} an empty table of ${n} ${columns}, which stay the caller's. */
void grid_init(struct grid *grid, const struct grid_column *columns, int n);

/* Frees what ${grid} holds. */
void grid_fini(struct grid *grid);

/* Begins a row. */
void grid_row(struct grid *grid);

/* Begins the row's next cell in ${style}; what is appended to the result is in
 * it. */
struct buf *grid_cell(struct grid *grid, enum style style);

/* Begins the line below the row, in ${style}; an empty one is left out. */
struct buf *grid_note(struct grid *grid, enum style style);

/* Appends the table to ${b}, at most ${look}->columns wide, and frees it. */
void grid_finish(struct grid *grid, struct buf *b, const struct look *look);

/* Appends the first ${columns} of the line of ${n} bytes at ${s}, in which
 * colours take none, and ends the style it is in. */
void grid_clip(struct buf *b, const char *s, size_t n, int columns);

#endif
