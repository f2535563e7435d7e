/* SPDX-License-Identifier: MIT */
/*
 * See escape.h.
 */
#include "base/escape.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

/* The valid character at ${s}; *ret_n: its bytes, 0 if there is none. */
static uint32_t
decode(const char *s, size_t *ret_n)
{
	static const uint8_t masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	uint32_t c;
	size_t n, i;

	for (n = 1; n <= 4; n++) {
		if (!utf8_valid(s, n, NULL))
			continue;
		c = (uint8_t)s[0] & masks[n];
		for (i = 1; i < n; i++)
			c = c << 6 | ((uint8_t)s[i] & 0x3f);
		*ret_n = n;
		return (c);
	}
	*ret_n = 0;
	return (0);
}

static bool
is_unsafe(uint32_t c)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
	    {0x00, 0x1f},       /* C0 controls */
	    {0x7f, 0x9f},       /* DEL and C1 controls */
	    {0xad, 0xad},       /* soft hyphen */
	    {0x061c, 0x061c},   /* Arabic letter mark */
	    {0x200b, 0x200f},   /* zero width, direction marks */
	    {0x2028, 0x202e},   /* line ends, embeddings, overrides */
	    {0x2060, 0x206f},   /* joiners, isolates, deprecated formats */
	    {0xfeff, 0xfeff},   /* byte order mark */
	    {0xfff9, 0xfffb},   /* interlinear annotations */
	    {0xe0000, 0xe007f}, /* invisible tags */
	};
	size_t i;

	for (i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (c >= ranges[i].first && c <= ranges[i].last)
			return (true);
	return (false);
}

char *
escape_text(const char *s, char *ret, size_t size)
{
	char piece[16];
	size_t used = 0, n, len;
	uint32_t c;

	/* A string ends with NUL, which continues no character: decode() reads
	 * nothing beyond it. */
	while (*s != '\0') {
		c = decode(s, &n);
		if (n == 0)
			(void)snprintf(
			    piece, sizeof(piece), "\\x%02X", (uint8_t)*s);
		else if (is_unsafe(c))
			(void)snprintf(
			    piece, sizeof(piece), "\\u{%04X}", (unsigned)c);
		else
			(void)snprintf(piece, sizeof(piece), "%.*s", (int)n, s);
		len = strlen(piece);
		if (used + len + 1 > size)
			break;
		memcpy(ret + used, piece, len);
		used += len;
		s += n == 0 ? 1 : n;
	}
	ret[used] = '\0';
	return (ret);
}
