/* SPDX-License-Identifier: MIT */
/*
 * JSON written by hand.  The members of frames to clients are written with
 * these functions, so speed matters: no printf(), eight bytes are checked at
 * once for characters that need an escape, and runs of text without escapes are
 * copied as a whole.
 */
#include <string.h>

#include "base/clk.h"
#include "wire/json.h"

#define ONES UINT64_C(0x0101010101010101)
#define HIGHS UINT64_C(0x8080808080808080)

static bool
is_clean(unsigned char c)
{

	return (c >= 0x20 && c != '"' && c != '\\');
}

/* Returns true if none of the eight bytes of ${w} needs an escape.  Uses the
 * bit tests "has a byte less than n" and "has a zero byte".  Both may flag a
 * wrong byte, but are exact about whether there is any. */
static bool
is_clean_word(uint64_t w)
{
	uint64_t backslash, control, quote;

	control = (w - ONES * 0x20) & ~w;
	quote = w ^ (ONES * '"');
	quote = (quote - ONES) & ~quote;
	backslash = w ^ (ONES * '\\');
	backslash = (backslash - ONES) & ~backslash;
	return (((control | quote | backslash) & HIGHS) == 0);
}

/* Returns how many bytes at ${s} need no escape. */
static size_t
clean_len(const char *s, size_t n)
{
	uint64_t w;
	size_t i;

	for (i = 0; i + sizeof(w) <= n; i += sizeof(w)) {
		memcpy(&w, s + i, sizeof(w));
		if (!is_clean_word(w))
			break;
	}
	while (i < n && is_clean((unsigned char)s[i]))
		i++;
	return (i);
}

static void
add_escaped(struct buf *b, unsigned char c)
{
	static const char hex[] = "0123456789abcdef";
	char text[6] = {'\\', 'u', '0', '0', '0', '0'};

	switch (c) {
	case '"':
	case '\\':
		text[1] = (char)c;
		break;
	case '\b':
		text[1] = 'b';
		break;
	case '\f':
		text[1] = 'f';
		break;
	case '\n':
		text[1] = 'n';
		break;
	case '\r':
		text[1] = 'r';
		break;
	case '\t':
		text[1] = 't';
		break;
	default:
		text[4] = hex[c >> 4];
		text[5] = hex[c & 15];
		buf_add(b, text, 6);
		return;
	}
	buf_add(b, text, 2);
}

void
jw_string(struct buf *b, const char *s, size_t n)
{
	size_t run;

	buf_addc(b, '"');
	for (;;) {
		run = clean_len(s, n);
		buf_add(b, s, run);
		s += run;
		n -= run;
		if (n == 0)
			break;
		add_escaped(b, (unsigned char)*s);
		s++;
		n--;
	}
	buf_addc(b, '"');
}

void
jw_comma(struct buf *b)
{
	char last;

	if (b->len == 0)
		return;
	last = b->data[b->len - 1];
	if (last != '{' && last != '[')
		buf_addc(b, ',');
}

void
jw_member(struct buf *b, const char *name)
{
	char *p;
	size_t n;

	n = strlen(name);
	jw_comma(b);
	if ((p = buf_reserve(b, n + 3)) == NULL)
		return;
	*p++ = '"';
	memcpy(p, name, n);
	p += n;
	*p++ = '"';
	*p = ':';
	b->len += n + 3;
}

void
jw_str(struct buf *b, const char *name, const char *s)
{

	jw_strn(b, name, s, (s == NULL) ? 0 : strlen(s));
}

void
jw_strn(struct buf *b, const char *name, const char *s, size_t n)
{

	if (s == NULL) {
		jw_null(b, name);
		return;
	}
	jw_member(b, name);
	jw_string(b, s, n);
}

void
jw_int(struct buf *b, const char *name, int64_t v)
{

	jw_member(b, name);
	buf_addi(b, v);
}

void
jw_bool(struct buf *b, const char *name, bool v)
{

	jw_member(b, name);
	if (v)
		buf_add(b, "true", 4);
	else
		buf_add(b, "false", 5);
}

void
jw_null(struct buf *b, const char *name)
{

	jw_member(b, name);
	buf_add(b, "null", 4);
}

void
jw_uuid(struct buf *b, const char *name, const struct uuid *u)
{
	char *p;

	jw_member(b, name);
	/* uuid_format() writes its NUL where the closing quote goes. */
	if ((p = buf_reserve(b, UUID_TEXT_LEN + 2)) == NULL)
		return;
	p[0] = '"';
	uuid_format(u, p + 1);
	p[UUID_TEXT_LEN + 1] = '"';
	b->len += UUID_TEXT_LEN + 2;
}

void
jw_time(struct buf *b, const char *name, int64_t wall_ms)
{
	char *p;

	if (wall_ms == 0) {
		jw_null(b, name);
		return;
	}
	jw_member(b, name);
	if ((p = buf_reserve(b, CLK_RFC3339_SIZE + 1)) == NULL)
		return;
	p[0] = '"';
	clk_format_rfc3339(wall_ms, p + 1);
	p[CLK_RFC3339_SIZE] = '"';
	b->len += CLK_RFC3339_SIZE + 1;
}

void
jw_raw(struct buf *b, const char *name, const char *json, size_t n)
{

	jw_member(b, name);
	buf_add(b, json, n);
}
