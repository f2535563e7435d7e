/* SPDX-License-Identifier: MIT */
/*
 * Writes and reads the lines of a corpus (fuzz/corpus.h).
 */
#include "fuzz/corpus.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The length of the longest form of a byte: \xHH. */
#define ESCAPE_LEN 4

static const char letters[] = "nrt\\", bytes[] = "\n\r\t\\";
static const char digits[] = "0123456789abcdef";

/* malloc() that ends the program when memory runs out. */
static void *
need(size_t n)
{
	void *p = malloc(n);

	if (p == NULL)
		abort();
	return (p);
}

char *
corpus_line(const uint8_t *p, size_t n)
{
	char *line = need(n * ESCAPE_LEN + 1), *to = line;
	const char *known;
	size_t i;

	for (i = 0; i < n; i++) {
		known = (p[i] == '\0') ? NULL : strchr(bytes, p[i]);
		if (known != NULL) {
			*to++ = '\\';
			*to++ = letters[known - bytes];
		} else if (p[i] >= ' ' && p[i] <= '~' &&
			   (p[i] != ' ' || i + 1 < n)) {
			*to++ = (char)p[i];
		} else {
			*to++ = '\\';
			*to++ = 'x';
			*to++ = digits[p[i] >> 4];
			*to++ = digits[p[i] & 15];
		}
	}
	*to = '\0';
	return (line);
}

/* Returns the byte that *${line} begins with and moves *${line} behind it.
 * Returns -1 for a broken escape. */
static int
read_byte(const char **line)
{
	const char *p = *line, *high, *low;

	*line = p + 1;
	if (*p != '\\')
		return ((uint8_t)*p);
	p++;
	if (*p == '\0')
		return (-1);
	*line = p + 1;
	if ((high = strchr(letters, *p)) != NULL)
		return (bytes[high - letters]);
	if (*p != 'x' || p[1] == '\0' || p[2] == '\0')
		return (-1);
	high = strchr(digits, p[1]);
	low = strchr(digits, p[2]);
	*line = p + 3;
	if (high == NULL || low == NULL)
		return (-1);
	return ((int)((high - digits) << 4 | (low - digits)));
}

uint8_t *
corpus_input(const char *line, size_t *ret_n)
{
	uint8_t *room = need(strlen(line) + 1), *input;
	const char *at = line;
	char *again;
	size_t n = 0;
	bool same;
	int c;

	while (*at != '\0') {
		if ((c = read_byte(&at)) < 0) {
			free(room);
			return (NULL);
		}
		room[n++] = (uint8_t)c;
	}
	again = corpus_line(room, n);
	same = strcmp(again, line) == 0;
	free(again);
	/* malloc(0) may return NULL, which would look like an error. */
	input = need(n > 0 ? n : 1);
	memcpy(input, room, n);
	free(room);
	if (!same) {
		free(input);
		return (NULL);
	}
	*ret_n = n;
	return (input);
}
