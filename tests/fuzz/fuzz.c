/* SPDX-License-Identifier: MIT */
/*
 * Helpers that all fuzz targets share.
 */
#include "fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
fuzz_fail(const char *file, int line, const char *claim)
{

	(void)fprintf(stderr, "%s:%d: not true: %s\n", file, line, claim);
	abort();
}

char *
fuzz_copy(const uint8_t *p, size_t n)
{
	char *copy = malloc(n + 1);

	MUST(copy != NULL);
	if (n > 0)
		memcpy(copy, p, n);
	copy[n] = '\0';
	return (copy);
}

const uint8_t *
fuzz_line(const uint8_t **p, size_t *n, size_t *ret_len)
{
	const uint8_t *line = *p, *end;

	end = (*n == 0) ? NULL : memchr(line, '\n', *n);
	*ret_len = (end == NULL) ? *n : (size_t)(end - line);
	*p += *ret_len + (end != NULL);
	*n -= *ret_len + (end != NULL);
	return (line);
}

/* The ranges of the grammar's alternatives "UTF8-1" to "UTF8-4", one row each,
 * for up to four bytes. */
static const struct {
	uint8_t range[4][2];
	size_t len;
} utf8_rows[] = {
    {{{0x00, 0x7f}}, 1},
    {{{0xc2, 0xdf}, {0x80, 0xbf}}, 2},
    {{{0xe0, 0xe0}, {0xa0, 0xbf}, {0x80, 0xbf}}, 3},
    {{{0xe1, 0xec}, {0x80, 0xbf}, {0x80, 0xbf}}, 3},
    {{{0xed, 0xed}, {0x80, 0x9f}, {0x80, 0xbf}}, 3},
    {{{0xee, 0xef}, {0x80, 0xbf}, {0x80, 0xbf}}, 3},
    {{{0xf0, 0xf0}, {0x90, 0xbf}, {0x80, 0xbf}, {0x80, 0xbf}}, 4},
    {{{0xf1, 0xf3}, {0x80, 0xbf}, {0x80, 0xbf}, {0x80, 0xbf}}, 4},
    {{{0xf4, 0xf4}, {0x80, 0x8f}, {0x80, 0xbf}, {0x80, 0xbf}}, 4},
};

static bool
row_fits(size_t row, const uint8_t *p, size_t n)
{
	size_t i;

	if (n < utf8_rows[row].len)
		return (false);
	for (i = 0; i < utf8_rows[row].len; i++)
		if (p[i] < utf8_rows[row].range[i][0] ||
		    p[i] > utf8_rows[row].range[i][1])
			return (false);
	return (true);
}

size_t
fuzz_utf8_prefix(const uint8_t *p, size_t n)
{
	size_t at = 0, row, rows = sizeof(utf8_rows) / sizeof(utf8_rows[0]);

	while (at < n) {
		for (row = 0; row < rows; row++)
			if (row_fits(row, p + at, n - at))
				break;
		if (row == rows)
			return (at);
		at += utf8_rows[row].len;
	}
	return (at);
}
