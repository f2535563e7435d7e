/* SPDX-License-Identifier: MIT */
/*
 * Lines of a corpus, written and read.
 */
#include "fuzz/corpus.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a byte becomes at most: \xHH. */
#define ESCAPE_LEN 4

static const char letters[] = "nrt\\", bytes[] = "\n\r\t\\";
static const char digits[] = "0123456789abcdef";

/* Memory that a tool of the tests cannot do without. */
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

/* The byte at *${line}, which moves behind it; -1 if there is none. */
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
	/* malloc(0) may be NULL. */
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
