/* SPDX-License-Identifier: MIT */
/*
 * UTF-8 validation after table 3-7 of the Unicode standard.  The lead byte
 * gives the length of a character and the range of its second byte.  The valid
 * lead bytes (not 0xc0, 0xc1, or 0xf5 to 0xff) and this range exclude overlong
 * forms, surrogates and code points above U+10FFFF.  Most text is ASCII, which
 * is checked eight bytes at a time.
 */
#include "base/utf8.h"

#include <string.h>

/* Returns the length (2 to 4 bytes) of the character beyond ASCII that begins
 * at ${s}, which has ${n} bytes (at least 1).  Returns 0 if ${s} begins with
 * ASCII, or with a character that is not valid or is cut off. */
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

size_t
utf8_decode(const char *s, size_t n, uint32_t *ret)
{
	/* The bits of the lead byte that belong to the character, by length. */
	static const unsigned char lead_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	const unsigned char *p = (const unsigned char *)s;
	size_t len, i;
	uint32_t c;

	len = p[0] < 0x80 ? 1 : char_len(p, n);
	if (len == 0)
		return (0);
	c = p[0] & lead_bits[len];
	for (i = 1; i < len; i++)
		c = (c << 6) | (p[i] & 0x3fu);
	*ret = c;
	return (len);
}

bool
utf8_is_format(uint32_t c)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
	    {0x00ad, 0x00ad},   /* soft hyphen */
	    {0x0600, 0x0605},   /* Arabic number signs */
	    {0x061c, 0x061c},   /* Arabic letter mark */
	    {0x06dd, 0x06dd},   /* end of ayah */
	    {0x070f, 0x070f},   /* Syriac abbreviation mark */
	    {0x0890, 0x0891},   /* Arabic currency marks above */
	    {0x08e2, 0x08e2},   /* disputed end of ayah */
	    {0x180e, 0x180e},   /* Mongolian vowel separator */
	    {0x200b, 0x200f},   /* zero width, direction marks */
	    {0x2028, 0x202e},   /* separators, embeddings, overrides */
	    {0x2060, 0x2064},   /* word joiner, invisible operators */
	    {0x2066, 0x206f},   /* isolates, deprecated formats */
	    {0xfeff, 0xfeff},   /* byte order mark */
	    {0xfff9, 0xfffb},   /* interlinear annotations */
	    {0x110bd, 0x110bd}, /* Kaithi number sign */
	    {0x110cd, 0x110cd}, /* Kaithi number sign above */
	    {0x13430, 0x1343f}, /* Egyptian hieroglyph joiners */
	    {0x1bca0, 0x1bca3}, /* shorthand formats */
	    {0x1d173, 0x1d17a}, /* musical beams and slurs */
	    {0xe0001, 0xe0001}, /* language tag */
	    {0xe0020, 0xe007f}, /* tags */
	};
	size_t i;

	for (i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		if (c >= ranges[i].first && c <= ranges[i].last)
			return (true);
	}
	return (false);
}

size_t
utf8_cut(const char *s, size_t n, size_t max)
{

	if (n <= max)
		return (n);
	/* The byte behind the cut must begin a character. */
	for (n = max; n > 0 && ((uint8_t)s[n] & 0xc0) == 0x80; n--)
		;
	return (n);
}

bool
utf8_line_valid(const char *s, size_t n, size_t *ret_bad)
{
	size_t at, len;
	uint32_t c;

	for (at = 0; at < n; at += len) {
		len = utf8_decode(s + at, n - at, &c);
		if (len > 0 && c >= 0x20 && (c < 0x7f || c > 0x9f) &&
		    (c < 0x2028 || c > 0x202e) && (c < 0x2066 || c > 0x2069))
			continue;
		*ret_bad = at;
		return (false);
	}
	return (true);
}

bool
utf8_is_unsafe(uint32_t c)
{

	return (c < 0x20 || (c >= 0x7f && c < 0xa0) || utf8_is_format(c));
}
