/* SPDX-License-Identifier: MIT */
/*
 * Tables that fit a width.  Columns are aligned; those that may be narrowed are
 * cut if the table is too wide; a row can have a note, a line below it.  Text
 * in cells and notes must be safe for a terminal (lib/safe.h).
 */
#ifndef CLI_GRID_H
#define CLI_GRID_H

#include "base/buf.h"
#include "term/render.h"

#define GRID_COLUMNS_MAX 12

struct grid_column {
	const char *title; /* all NULL: no heading */
	bool right;        /* align numbers at the right */
	int least;         /* least width when cut; 0: never cut */
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

/* Makes ${grid} an empty table of ${n} ${columns}, which the caller keeps. */
void grid_init(struct grid *grid, const struct grid_column *columns, int n);

/* Frees the members of ${grid}. */
void grid_fini(struct grid *grid);

/* Begins a row. */
void grid_row(struct grid *grid);

/* Begins the next cell, in ${style}, of the row begun last.  Returns a buffer
 * that belongs to ${grid}; the text that the caller appends to it until the
 * next cell, note or row begins is the text of this cell. */
struct buf *grid_cell(struct grid *grid, enum style style);

/* Begins the note, in ${style}, of the row begun last: an indented line below
 * the row.  A note without text takes no line.  Returns a buffer that belongs
 * to ${grid}, to which the caller appends the note's text, as with
 * grid_cell(). */
struct buf *grid_note(struct grid *grid, enum style style);

/* Appends the table to ${b} and frees the members of ${grid}.  The table is at
 * most ${look}->columns (0: 80) wide, if cutting the columns that may be cut is
 * enough; notes are always cut to that width.  If memory for ${grid} ran out,
 * appends nothing and marks ${b} as failed. */
void grid_finish(struct grid *grid, struct buf *b, const struct look *look);

/* Appends the ${n} bytes at ${s}, safe text with colour sequences, cut to
 * ${columns} columns.  A cut text ends with "…", unless the cut is where the
 * colour changes.  Colour sequences take no column; the last style is ended. */
void grid_clip(struct buf *b, const char *s, size_t n, int columns);

#endif
