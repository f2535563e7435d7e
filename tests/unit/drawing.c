/* SPDX-License-Identifier: MIT */
/*
 * See drawing.h.  From each arrowhead the lines are walked backwards.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <cmocka.h>

#include "drawing.h"

#define ROWS 40
#define COLUMNS 100
#define MOVES_MOST 60
#define NAME_SIZE 20
#define TAB 8

struct drawn_move {
	char from[NAME_SIZE];
	char to[NAME_SIZE];
};

struct drawing {
	char grid[ROWS + 2][COLUMNS + 2]; /* a margin of spaces around it */
	bool seen[ROWS + 2][COLUMNS + 2]; /* since the last arrowhead */
	struct drawn_move moves[MOVES_MOST];
	int nmoves;
	const char *to; /* of the arrowhead that is followed */
};

struct step {
	int row;
	int column;
};

static const struct step left = {0, -1}, right = {0, 1}, up = {-1, 0},
			 down = {1, 0};

static bool
is_capital(char c)
{

	return (c >= 'A' && c <= 'Z');
}

static bool
is_small(char c)
{

	return (c >= 'a' && c <= 'z');
}

/* ---- the text ---- */

static void
put_line(struct drawing *d, int row, const char *text)
{
	int column = 1;

	for (; *text != '\0' && *text != '\n'; text++) {
		assert_true(column < COLUMNS);
		if (*text == '\t')
			column += TAB - (column - 1) % TAB;
		else
			d->grid[row][column++] = *text;
	}
}

static void
read_grid(struct drawing *d, const char *file, const char *title)
{
	const char *source = getenv("TWINBOX_SOURCE");
	char path[1024], line[200], head[100];
	bool titled = false;
	int row = 1;
	FILE *f;

	(void)snprintf(
	    path, sizeof(path), "%s/%s", source == NULL ? "." : source, file);
	(void)snprintf(head, sizeof(head), " * %s\n", title);
	if ((f = fopen(path, "rb")) == NULL)
		fail_msg("cannot open %s", path);
	while (fgets(line, sizeof(line), f) != NULL) {
		if (!titled)
			titled = strcmp(line, head) == 0;
		else if (strncmp(line, " *\t", 3) == 0 && row <= ROWS)
			put_line(d, row++, line + 2);
		else if (row > 1)
			break;
	}
	(void)fclose(f);
	if (row == 1)
		fail_msg("%s has no drawing \"%s\"", file, title);
}

/* ---- the lines ---- */

static char
at(const struct drawing *d, int row, int column)
{

	return (d->grid[row][column]);
}

/* The state whose name covers a cell. */
static void
state_at(const struct drawing *d, int row, int column, char ret[NAME_SIZE])
{
	int n = 0;

	while (is_capital(at(d, row, column - 1)))
		column--;
	while (is_capital(at(d, row, column)) && n < NAME_SIZE - 1)
		ret[n++] = at(d, row, column++);
	ret[n] = '\0';
}

static void
add_move(struct drawing *d, const char *from)
{
	struct drawn_move *move;

	if (drawing_has(d, from, d->to))
		return;
	assert_true(d->nmoves < MOVES_MOST);
	move = &d->moves[d->nmoves++];
	(void)snprintf(move->from, sizeof(move->from), "%s", from);
	(void)snprintf(move->to, sizeof(move->to), "%s", d->to);
}

static bool walk(struct drawing *d, int row, int column, struct step step);

/* From a '+' into all directions. */
static bool
walk_corner(struct drawing *d, int row, int column)
{
	bool found;

	if (d->seen[row][column])
		return (false);
	d->seen[row][column] = true;
	found = walk(d, row, column, left);
	found = walk(d, row, column, right) || found;
	found = walk(d, row, column, up) || found;
	return (walk(d, row, column, down) || found);
}

/* Along a line to its states; whether there is one. */
static bool
walk(struct drawing *d, int row, int column, struct step step)
{
	const bool level = step.row == 0;
	char name[NAME_SIZE], c;
	int n;

	for (n = 0;; n++) {
		row += step.row;
		column += step.column;
		c = at(d, row, column);
		/* A line ends one space before the name of its state. */
		if (level && c == ' ' && n > 0)
			c = at(d, row, column += step.column);
		if (is_capital(c)) {
			state_at(d, row, column, name);
			add_move(d, name);
			return (true);
		}
		if (c == '+')
			return (walk_corner(d, row, column));
		if (c == (level ? '-' : '|') || (level && is_small(c)) ||
		    (n > 0 && c == (level ? '|' : '-')))
			continue;
		return (false);
	}
}

/* An arrowhead in ${row}, ${column} that points along ${step}. */
static void
follow(struct drawing *d, int row, int column, struct step step)
{
	const struct step back = {-step.row, -step.column};
	char to[NAME_SIZE];
	int r = row + step.row, c = column + step.column;

	if (step.row == 0 && at(d, r, c) == ' ')
		c += step.column;
	state_at(d, r, c, to);
	d->to = to;
	memset(d->seen, 0, sizeof(d->seen));
	if (to[0] == '\0' || !walk(d, row, column, back))
		fail_msg("row %d, column %d: an arrow leads from or to nowhere",
		    row, column);
}

static void
read_moves(struct drawing *d)
{
	int row, column;

	for (row = 1; row <= ROWS; row++)
		for (column = 1; column <= COLUMNS; column++)
			switch (at(d, row, column)) {
			case '>':
				follow(d, row, column, right);
				break;
			case '<':
				follow(d, row, column, left);
				break;
			case '^':
				follow(d, row, column, up);
				break;
			case 'v':
				if (strchr("|+", at(d, row - 1, column)) !=
				    NULL)
					follow(d, row, column, down);
				break;
			default:
				break;
			}
}

/* ---- what tests use ---- */

struct drawing *
drawing_read(const char *file, const char *title)
{
	struct drawing *d = calloc(1, sizeof(*d));

	assert_non_null(d);
	memset(d->grid, ' ', sizeof(d->grid));
	read_grid(d, file, title);
	read_moves(d);
	return (d);
}

void
drawing_free(struct drawing *d)
{

	free(d);
}

bool
drawing_has(const struct drawing *d, const char *from, const char *to)
{
	int i;

	for (i = 0; i < d->nmoves; i++)
		if (strcasecmp(d->moves[i].from, from) == 0 &&
		    strcasecmp(d->moves[i].to, to) == 0)
			return (true);
	return (false);
}

int
drawing_moves(const struct drawing *d)
{

	return (d->nmoves);
}
