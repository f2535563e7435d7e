/* SPDX-License-Identifier: MIT */
/*
 * Terminal safety.  This file owns the list of characters that are escaped.  It
 * uses the locale only for column widths: without a UTF-8 locale every
 * character counts as one column.
 */
#include "lib/safe.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "base/utf8.h"

/* Returns true if ${c} must be shown as an escape. */
static bool
unsafe(uint32_t c)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
	    {0x00, 0x1f},       /* C0 controls */
	    {0x7f, 0x9f},       /* DEL and C1 controls */
	    {0x061c, 0x061c},   /* Arabic letter mark */
	    {0x200e, 0x200f},   /* direction marks */
	    {0x2028, 0x202e},   /* line ends, embeddings, overrides */
	    {0x2066, 0x206f},   /* isolates, deprecated formats */
	    {0xfeff, 0xfeff},   /* byte order mark */
	    {0xfff9, 0xfffb},   /* interlinear annotations */
	    {0xe0000, 0xe007f}, /* invisible tags */
	};
	size_t i;

	for (i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		if (c >= ranges[i].first && c <= ranges[i].last)
			return (true);
	}
	return (false);
}

/* Writes the first character of the ${n} bytes (at least 1) at ${s}, or the
 * escape that is shown for it, into ${ret}, which need not end with a NUL, and
 * the number of bytes written into *ret_n.  A byte that is not UTF-8 counts as
 * a character.  Returns the number of bytes that the character takes in
 * ${s}. */
static size_t
show_one(const char *s, size_t n, char ret[16], size_t *ret_n)
{
	uint32_t c;
	size_t len = utf8_decode(s, n, &c);
	int shown;

	if (len == 0) {
		shown = snprintf(ret, 16, "\\x%02x", (unsigned char)s[0]);
		len = 1;
	} else if (!unsafe(c)) {
		memcpy(ret, s, len);
		shown = (int)len;
	} else if (c == '\n') {
		shown = snprintf(ret, 16, "\\n");
	} else if (c == '\t') {
		shown = snprintf(ret, 16, "\\t");
	} else if (c < 0x100) {
		shown = snprintf(ret, 16, "\\x%02x", (unsigned)c);
	} else if (c < 0x10000) {
		shown = snprintf(ret, 16, "\\u%04x", (unsigned)c);
	} else
		shown = snprintf(ret, 16, "\\U%08x", (unsigned)c);
	*ret_n = (size_t)shown;
	return (len);
}

void
safe_add(struct buf *b, const char *s, size_t n)
{
	char shown[16];
	size_t len, shown_n;

	while (n > 0) {
		len = show_one(s, n, shown, &shown_n);
		buf_add(b, shown, shown_n);
		s += len;
		n -= len;
	}
}

void
safe_add_lines(struct buf *b, const char *s, size_t n, int indent)
{
	char shown[16];
	size_t len, shown_n;

	while (n > 0) {
		if (n > 1 && s[0] == '\r' && s[1] == '\n') {
			s++;
			n--;
		}
		if (*s == '\n') {
			buf_addf(b, "\n%*s", indent, "");
			len = 1;
		} else if (*s == '\t') {
			buf_adds(b, "    ");
			len = 1;
		} else {
			len = show_one(s, n, shown, &shown_n);
			buf_add(b, shown, shown_n);
		}
		s += len;
		n -= len;
	}
}

void
safe_line(const char *s, size_t n, char *ret, size_t size)
{
	char shown[16];
	size_t len, shown_n, used = 0;

	while (n > 0) {
		len = show_one(s, n, shown, &shown_n);
		if (used + shown_n + 1 > size)
			break;
		memcpy(ret + used, shown, shown_n);
		used += shown_n;
		s += len;
		n -= len;
	}
	ret[used] = '\0';
}

/* Called for the last ${n} bytes of a piece of text, at ${s}, if they do not
 * begin with a complete character.  Returns true if the next piece may complete
 * one: the bytes are a lead byte and fewer continuation bytes than it needs. */
static bool
cut_short(const char *s, size_t n)
{
	const unsigned char *p = (const unsigned char *)s;
	size_t len = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2, i;

	if (p[0] < 0xc2 || p[0] > 0xf4 || n >= len)
		return (false);
	for (i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return (false);
	}
	return (true);
}

/* Returns true if ${c} is white space that JSON allows between values. */
static bool
json_space(uint32_t c)
{

	return (c == '\n' || c == '\r' || c == '\t');
}

size_t
safe_json_add(struct buf *b, const char *s, size_t n)
{
	size_t len, done;
	uint32_t c;

	for (done = 0; done < n; done += len) {
		len = utf8_decode(s + done, n - done, &c);
		if (len == 0 && cut_short(s + done, n - done))
			break;
		if (len == 0) {
			/* JSON has no escape for a single byte. */
			buf_adds(b, "\\uFFFD");
			len = 1;
		} else if (!unsafe(c) || json_space(c)) {
			buf_add(b, s + done, len);
		} else if (c < 0x10000) {
			buf_addf(b, "\\u%04X", (unsigned)c);
		} else {
			c -= 0x10000;
			buf_addf(b, "\\u%04X\\u%04X",
			    (unsigned)(0xd800 + (c >> 10)),
			    (unsigned)(0xdc00 + (c & 0x3ff)));
		}
	}
	return (done);
}

/* Returns the number of columns that ${c} takes. */
static int
columns_of(uint32_t c)
{
	int w = wcwidth((wchar_t)c);

	return (w < 0 ? 1 : w);
}

int
safe_width(const char *s, size_t n)
{
	uint32_t c;
	size_t len;
	int width = 0;

	while (n > 0) {
		len = utf8_decode(s, n, &c);
		if (len == 0) {
			len = 1;
			width++;
		} else
			width += columns_of(c);
		s += len;
		n -= len;
	}
	return (width);
}

size_t
safe_cut(const char *s, size_t n, int columns)
{
	uint32_t c;
	size_t len, used = 0;
	int width = 0;

	while (used < n) {
		len = utf8_decode(s + used, n - used, &c);
		if (len == 0) {
			len = 1;
			width++;
		} else
			width += columns_of(c);
		if (width > columns)
			break;
		used += len;
	}
	return (used);
}
