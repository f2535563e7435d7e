/* SPDX-License-Identifier: MIT */
/*
 * Tables.  This file owns the computation of column widths, and relies on
 * lib/safe.h for the width of a text.
 */
#include "term/grid.h"

#include <string.h>

#include "base/mem.h"
#include "lib/safe.h"

#define GAP 2
#define NOTE_INDENT 4
#define COLUMNS_DEFAULT 80

void
grid_init(struct grid *grid, const struct grid_column *columns, int n)
{

	memset(grid, 0, sizeof(*grid));
	grid->columns = columns;
	grid->ncolumns = n;
}

void
grid_fini(struct grid *grid)
{

	buf_fini(&grid->text);
	mem_free(grid->rows);
	grid->rows = NULL;
	grid->nrows = grid->room = 0;
	grid->open = NULL;
}

/* Ends the cell that is being filled. */
static void
end_cell(struct grid *grid)
{

	if (grid->open != NULL)
		grid->open->len = grid->text.len - grid->open->at;
	grid->open = NULL;
}

void
grid_row(struct grid *grid)
{
	struct grid_row *rows;
	size_t room = grid->room > 0 ? 2 * grid->room : 16;

	end_cell(grid);
	if (grid->nrows == grid->room) {
		rows = mem_realloc(grid->rows, room * sizeof(*rows));
		if (rows == NULL) {
			grid->failed = true;
			return;
		}
		grid->rows = rows;
		grid->room = room;
	}
	memset(&grid->rows[grid->nrows++], 0, sizeof(*grid->rows));
}

/* Begins to fill ${cell}. */
static struct buf *
begin_cell(struct grid *grid, struct grid_cell *cell, enum style style)
{

	end_cell(grid);
	cell->at = grid->text.len;
	cell->style = style;
	grid->open = cell;
	return (&grid->text);
}

struct buf *
grid_cell(struct grid *grid, enum style style)
{
	struct grid_row *row;

	end_cell(grid);
	if (grid->nrows == 0 || grid->failed)
		return (&grid->text);
	row = &grid->rows[grid->nrows - 1];
	if (row->ncells == grid->ncolumns)
		return (&grid->text);
	return (begin_cell(grid, &row->cells[row->ncells++], style));
}

struct buf *
grid_note(struct grid *grid, enum style style)
{

	if (grid->nrows == 0 || grid->failed)
		return (&grid->text);
	return (begin_cell(grid, &grid->rows[grid->nrows - 1].note, style));
}

/* Returns the width of ${cell} in columns. */
static int
cell_width(const struct grid *grid, const struct grid_cell *cell)
{

	if (cell->len == 0)
		return (0);
	return (safe_width(grid->text.data + cell->at, cell->len));
}

/* Takes 1 from the width of the widest column that may be cut, again and again,
 * until the table fits into ${columns} or all such columns have their least
 * width. */
static void
narrow(const struct grid *grid, int *widths, int columns)
{
	int i, widest, all;

	for (;;) {
		all = GAP * (grid->ncolumns - 1);
		widest = -1;
		for (i = 0; i < grid->ncolumns; i++) {
			all += widths[i];
			if (grid->columns[i].least > 0 &&
			    widths[i] > grid->columns[i].least &&
			    (widest < 0 || widths[i] > widths[widest]))
				widest = i;
		}
		if (all <= columns || widest < 0)
			return;
		widths[widest]--;
	}
}

/* Computes the width of each column. */
static void
measure(const struct grid *grid, int *widths, int columns)
{
	const char *title;
	size_t r;
	int i, width;

	for (i = 0; i < grid->ncolumns; i++) {
		title = grid->columns[i].title;
		widths[i] = title != NULL && *title != '\0'
				? safe_width(title, strlen(title))
				: 0;
		for (r = 0; r < grid->nrows; r++) {
			width = cell_width(grid, &grid->rows[r].cells[i]);
			widths[i] = width > widths[i] ? width : widths[i];
		}
	}
	narrow(grid, widths, columns);
}

/* Appends ${n} spaces. */
static void
add_spaces(struct buf *b, int n)
{

	for (; n > 0; n--)
		buf_addc(b, ' ');
}

/* Appends ${n} bytes of safe text at ${s}, cut to ${width} columns.  A cut text
 * ends with "…", which is within ${width}; if ${width} is less than 1, nothing
 * is appended.  Returns the number of columns that the appended text takes. */
static int
add_cut(struct buf *b, const char *s, size_t n, int width)
{
	int whole = n > 0 ? safe_width(s, n) : 0;

	if (whole <= width) {
		buf_add(b, s, n);
		return (whole);
	}
	if (width < 1)
		return (0);
	n = safe_cut(s, n, width - 1);
	buf_add(b, s, n);
	buf_adds(b, "…");
	return (n > 0 ? safe_width(s, n) + 1 : 1);
}

/* The state of writing a table. */
struct writer {
	const struct grid *grid;
	struct buf *b;
	const struct look *look;
	int columns;
	int widths[GRID_COLUMNS_MAX];
};

/* Appends ${n} bytes at ${s} as the cell of column ${i}. */
static void
add_cell(struct writer *w, int i, const char *s, size_t n, enum style style)
{
	bool right = w->grid->columns[i].right;
	struct buf cell = BUF_INIT;
	int took = add_cut(&cell, s, n, w->widths[i]);

	if (right)
		add_spaces(w->b, w->widths[i] - took);
	render_buf(w->b, w->look, took > 0 ? style : STYLE_PLAIN, &cell);
	add_spaces(w->b, GAP + (right ? 0 : w->widths[i] - took));
}

/* Ends the line and removes trailing spaces. */
static void
end_line(struct writer *w)
{
	struct buf *b = w->b;

	while (buf_ok(b) && b->len > 0 && b->data[b->len - 1] == ' ')
		b->len--;
	buf_addc(b, '\n');
}

static void
add_heading(struct writer *w)
{
	const struct grid *grid = w->grid;
	const char *title;
	bool any = false;
	int i;

	for (i = 0; i < grid->ncolumns; i++)
		any = any || grid->columns[i].title != NULL;
	if (!any)
		return;
	for (i = 0; i < grid->ncolumns; i++) {
		title = grid->columns[i].title;
		if (title == NULL)
			title = "";
		add_cell(w, i, title, strlen(title), STYLE_DIM);
	}
	end_line(w);
}

/* Appends the line below a row. */
static void
add_note(struct writer *w, const struct grid_cell *note)
{
	struct buf line = BUF_INIT;

	if (note->len == 0)
		return;
	add_spaces(w->b, NOTE_INDENT);
	(void)add_cut(&line, w->grid->text.data + note->at, note->len,
	    w->columns - NOTE_INDENT);
	render_buf(w->b, w->look, note->style, &line);
	end_line(w);
}

static void
add_row(struct writer *w, const struct grid_row *row)
{
	const struct grid_cell *cell;
	int i;

	for (i = 0; i < w->grid->ncolumns; i++) {
		cell = &row->cells[i];
		add_cell(w, i,
		    cell->len > 0 ? w->grid->text.data + cell->at : "",
		    cell->len, cell->style);
	}
	end_line(w);
	add_note(w, &row->note);
}

void
grid_finish(struct grid *grid, struct buf *b, const struct look *look)
{
	struct writer w = {.grid = grid, .b = b, .look = look};
	size_t r;

	w.columns = look->columns > 0 ? look->columns : COLUMNS_DEFAULT;
	end_cell(grid);
	if (grid->failed || !buf_ok(&grid->text))
		b->failed = true;
	else {
		measure(grid, w.widths, w.columns);
		add_heading(&w);
		for (r = 0; r < grid->nrows; r++)
			add_row(&w, &grid->rows[r]);
	}
	grid_fini(grid);
}

void
grid_clip(struct buf *b, const char *s, size_t n, int columns)
{
	struct buf text = BUF_INIT;
	size_t i = 0, len;
	bool styled = false;
	int left = columns;

	while (i < n) {
		if (s[i] == '\033') {
			for (len = 1; i + len < n && s[i + len - 1] != 'm';)
				len++;
			buf_add(b, s + i, len);
			styled = true;
		} else {
			for (len = 0; i + len < n && s[i + len] != '\033';)
				len++;
			text.len = 0;
			left -= add_cut(&text, s + i, len, left);
			if (text.len > 0)
				buf_add(b, text.data, text.len);
			b->failed = b->failed || !buf_ok(&text);
		}
		i += len;
	}
	if (styled)
		buf_adds(b, "\033[0m");
	buf_fini(&text);
}
