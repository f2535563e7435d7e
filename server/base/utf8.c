/* SPDX-License-Identifier: MIT */
/*
 * UTF-8 validation after table 3-7 of the Unicode standard: the lead byte
 * gives the length and the range of the second byte, which alone excludes
 * overlong forms, surrogates and what lies above U+10FFFF.  ASCII, which most
 * text is, goes eight bytes at a time.
 */
#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

/* The length of the valid character beyond ASCII at ${s}, 0 if there is none
 * within ${n} bytes. */
static size_t
char_len(const unsigned char *s, size_t n)
{
	unsigned char low = 0x80, high = 0xbf;
	size_t len, i;

	if (s[0] >= 0xc2 && s[0] <= 0xdf) {
		len = 2;
	} else if (s[0] >= 0xe0 && s[0] <= 0xef) {
		len = 3;
		low = s[0] == 0xe0 ? 0xa0 : 0x80;
		high = s[0] == 0xed ? 0x9f : 0xbf;
	} else if (s[0] >= 0xf0 && s[0] <= 0xf4) {
		len = 4;
		low = s[0] == 0xf0 ? 0x90 : 0x80;
		high = s[0] == 0xf4 ? 0x8f : 0xbf;
	} else {
		return (0);
	}
	if (n < len || s[1] < low || s[1] > high)
		return (0);
	for (i = 2; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return (0);
	}
	return (len);
}

bool
utf8_valid(const char *s, size_t n, size_t *ret_bad)
{
	const unsigned char *p = (const unsigned char *)s;
	size_t i = 0, len;
	uint64_t word;

	while (i < n) {
		while (n - i >= sizeof(word)) {
			memcpy(&word, p + i, sizeof(word));
			if ((word & UINT64_C(0x8080808080808080)) != 0)
				break;
			i += sizeof(word);
		}
		while (i < n && p[i] < 0x80)
			i++;
		for (; i < n && p[i] >= 0x80; i += len) {
			len = char_len(p + i, n - i);
			if (len == 0) {
				if (ret_bad != NULL)
					*ret_bad = i;
				return (false);
			}
		}
	}
	return (true);
}
