/* SPDX-License-Identifier: MIT */
/*
 * Tables at the edges: no row, many rows, empty cells, no heading, columns of
 * equal width, notes as wide as the terminal.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <locale.h>

#include "term/grid.h"

static int
setup(void **state)
{

	(void)state;
	return (setlocale(LC_CTYPE, "C.UTF-8") == NULL ? -1 : 0);
}

/* ${b} contains exactly ${text}; empties it. */
static void
assert_text(struct buf *b, const char *text)
{

	assert_true(buf_ok(b));
	assert_int_equal(b->len, strlen(text));
	buf_addc(b, '\0');
	assert_string_equal(b->data, text);
	buf_fini(b);
}

/* Appends a row of ${cells}, which end with NULL. */
static void
add_row(struct grid *grid, const char *const *cells)
{

	grid_row(grid);
	for (; *cells != NULL; cells++)
		buf_adds(grid_cell(grid, STYLE_PLAIN), *cells);
}

/* ${grid} appears as ${text} in a terminal of ${wide} columns. */
static void
assert_grid(struct grid *grid, int wide, const char *text)
{
	const struct look look = {.columns = wide};
	struct buf b = BUF_INIT;

	grid_finish(grid, &b, &look);
	assert_text(&b, text);
	assert_null(grid->rows);
}

static const struct grid_column two[] = {
    {"LEFT", false, 2}, {"RIGHT", true, 2}};
static const struct grid_column bare[] = {
    {NULL, false, 2}, {NULL, false, 2}, {NULL, true, 0}};

static void
test_no_rows(void **state)
{
	struct grid grid;

	(void)state;
	grid_init(&grid, two, 2);
	assert_grid(&grid, 80, "LEFT  RIGHT\n");
	grid_init(&grid, bare, 3);
	assert_grid(&grid, 80, "");
	/* Cells and notes before the first row do not appear. */
	grid_init(&grid, two, 2);
	buf_adds(grid_cell(&grid, STYLE_PLAIN), "lost");
	buf_adds(grid_note(&grid, STYLE_PLAIN), "lost");
	add_row(&grid, (const char *const[]){"a", "b", NULL});
	assert_grid(&grid, 80,
	    "LEFT  RIGHT\n"
	    "a         b\n");
}

/* As many rows as the first allocation holds, and more. */
static void
test_many_rows(void **state)
{
	char text[1024], cell[16];
	struct grid grid;
	int rows, i;
	size_t n;

	(void)state;
	for (rows = 15; rows <= 33; rows++) {
		grid_init(&grid, bare, 3);
		for (n = 0, i = 0; i < rows; i++) {
			(void)snprintf(cell, sizeof(cell), "r%d", i);
			add_row(&grid, (const char *const[]){cell, NULL});
			n += (size_t)snprintf(
			    text + n, sizeof(text) - n, "%s\n", cell);
		}
		assert_grid(&grid, 80, text);
	}
}

static void
test_empty_cells(void **state)
{
	struct grid grid;

	(void)state;
	grid_init(&grid, bare, 3);
	add_row(&grid, (const char *const[]){"", "", "", NULL});
	add_row(&grid, (const char *const[]){"", "b", NULL});
	add_row(&grid, (const char *const[]){"a", "", "1", NULL});
	add_row(&grid, (const char *const[]){"long", "", "234", "5", NULL});
	assert_grid(&grid, 80,
	    "\n"
	    "      b\n"
	    "a          1\n"
	    "long     234\n");
}

/* Of columns with equal widths, the first one is cut first. */
static void
test_equal_columns(void **state)
{
	static const char *const cells[] = {"abcdef", "ghijkl", "12", NULL};
	static const struct {
		int columns;
		const char *text;
	} table[] = {
	    {18, "abcdef  ghijkl  12\n"},
	    {17, "abcd…  ghijkl  12\n"},
	    {16, "abcd…  ghij…  12\n"},
	    {15, "abc…  ghij…  12\n"},
	    {10, "a…  g…  12\n"},
	    {9, "a…  g…  12\n"},
	};
	struct grid grid;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		grid_init(&grid, bare, 3);
		add_row(&grid, cells);
		assert_grid(&grid, table[i].columns, table[i].text);
	}
}

/* A note is cut at the width of the terminal, or at 80 columns if the width is
 * unknown. */
static void
test_notes(void **state)
{
	static const char fits[] = "0123456789012345678901234567890123456789"
				   "012345678901234567890123456789012345";
	char text[256];
	struct grid grid;

	(void)state;
	grid_init(&grid, two, 2);
	add_row(&grid, (const char *const[]){"a", "b", NULL});
	buf_adds(grid_note(&grid, STYLE_DIM), fits);
	add_row(&grid, (const char *const[]){"c", NULL});
	buf_addf(grid_note(&grid, STYLE_DIM), "%sx", fits);
	/* Cells after a note belong to the next row. */
	add_row(&grid, (const char *const[]){"d", "e", NULL});
	(void)snprintf(text, sizeof(text),
	    "LEFT  RIGHT\n"
	    "a         b\n"
	    "    %s\n"
	    "c\n"
	    "    %.75s…\n"
	    "d         e\n",
	    fits, fits);
	assert_grid(&grid, 0, text);
}

/* Colours stand around texts, not around the spaces beside them. */
static void
test_colours(void **state)
{
	const struct look look = {.columns = 80, .colour = true};
	struct buf b = BUF_INIT;
	struct grid grid;

	(void)state;
	grid_init(&grid, two, 2);
	grid_row(&grid);
	buf_adds(grid_cell(&grid, STYLE_RED), "a");
	buf_adds(grid_cell(&grid, STYLE_GREEN), "b");
	buf_adds(grid_note(&grid, STYLE_DIM), "note");
	grid_row(&grid);
	(void)grid_cell(&grid, STYLE_RED);
	buf_adds(grid_cell(&grid, STYLE_GREEN), "c");
	grid_finish(&grid, &b, &look);
	assert_text(&b, "\033[2mLEFT\033[0m  \033[2mRIGHT\033[0m\n"
			"\033[31ma\033[0m         \033[32mb\033[0m\n"
			"    \033[2mnote\033[0m\n"
			"          \033[32mc\033[0m\n");
}

/* Colours take no columns.  A line that had a colour ends with the reset. */
static void
test_clip(void **state)
{
	static const struct {
		const char *line;
		size_t n;
		int columns;
		const char *text;
	} table[] = {
	    {"abc", 2, 80, "ab"},
	    {"abc", 0, 80, ""},
	    {"abc", 2, 2, "ab"},
	    {"abc", 3, 2, "a…"},
	    {"\033[1mab\033[0mcd", 12, 80, "\033[1mab\033[0mcd\033[0m"},
	    {"\033[1mab\033[0mcd", 12, 4, "\033[1mab\033[0mcd\033[0m"},
	    {"\033[1mab\033[0mcd", 12, 3, "\033[1mab\033[0m…\033[0m"},
	    {"\033[1mab\033[0mcd", 12, 2, "\033[1mab\033[0m\033[0m"},
	    {"\033[1mab", 4, 80, "\033[1m\033[0m"},
	    {"\033[1mab", 3, 80, "\033[1\033[0m"},
	};
	struct buf b = BUF_INIT;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		grid_clip(&b, table[i].line, table[i].n, table[i].columns);
		assert_text(&b, table[i].text);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_no_rows),
	    cmocka_unit_test(test_many_rows),
	    cmocka_unit_test(test_empty_cells),
	    cmocka_unit_test(test_equal_columns),
	    cmocka_unit_test(test_notes),
	    cmocka_unit_test(test_colours),
	    cmocka_unit_test(test_clip),
	};

	return (cmocka_run_group_tests(tests, setup, NULL));
}
