/* SPDX-License-Identifier: MIT */
/*
 * See escape.h.
 */
#include "base/escape.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

char *
escape_text(const char *s, char *ret, size_t size)
{
	char piece[16];
	size_t used = 0, left = strlen(s), n, len;
	uint32_t c = 0;

	while (left > 0) {
		n = utf8_decode(s, left, &c);
		if (n == 0)
			(void)snprintf(
			    piece, sizeof(piece), "\\x%02X", (uint8_t)*s);
		else if (utf8_is_unsafe(c))
			(void)snprintf(
			    piece, sizeof(piece), "\\u{%04X}", (unsigned)c);
		else
			(void)snprintf(piece, sizeof(piece), "%.*s", (int)n, s);
		len = strlen(piece);
		if (used + len + 1 > size)
			break;
		memcpy(ret + used, piece, len);
		used += len;
		n = n == 0 ? 1 : n;
		s += n;
		left -= n;
	}
	ret[used] = '\0';
	return (ret);
}
