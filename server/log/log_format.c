/* SPDX-License-Identifier: MIT */
/*
 * Log lines as text and as JSON.  Makes the mark, a control character and a
 * random word that stand before each key in the fields of a record
 * (log_internal.h).  Promises valid UTF-8 without control and format
 * characters, one line a record, valid JSON, and that the keys of a line's
 * fields come from the format of the call, never from a value: nobody who
 * chooses a value knows the random word.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/rnd.h"
#include "base/utf8.h"
#include "log/log_internal.h"

#define MARK_LEN 9
/* The first byte of a mark.  MARK_NUMBER: the format of the value after the key
 * is the conversion of one decimal number (is_number_format()), and the value
 * was not cut; MARK_TEXT: any other value.  The random word after this byte is
 * the same in all marks of a process. */
#define MARK_TEXT '\x1f'
#define MARK_NUMBER '\x1e'
/* A whole number of at most this many decimal digits is exact as a double, the
 * type in which programs commonly read a JSON number (RFC 8259, section 6). */
#define EXACT_DIGITS 15
/* Room kept for the text of an error behind long fields. */
#define STORY_ROOM (MARK_LEN + 6 + 256)

struct event_row {
	const char *id;
	enum log_level level;
};

static const struct event_row events[LOG_EV_COUNT] = {
#define X(id, level, text) [LOG_EV_##id] = {#id, level},
    LOG_EVENT_TABLE(X)
#undef X
};

static const char *const level_names[] = {
    [LVL_DEBUG] = "debug",
    [LVL_INFO] = "info",
    [LVL_WARN] = "warn",
    [LVL_ERROR] = "error",
};

static pthread_once_t mark_once = PTHREAD_ONCE_INIT;
static char mark[MARK_LEN];

static void
make_mark(void)
{
	static const char word[] =
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
	uint8_t random[MARK_LEN];
	int i;

	rnd_fill(rnd_system(), random, sizeof(random));
	mark[0] = MARK_TEXT;
	for (i = 1; i < MARK_LEN; i++)
		mark[i] = word[random[i] & 63];
}

enum log_level
log_event_level(enum log_event event)
{

	return (events[event].level);
}

int
log_level_parse(const char *text)
{
	int i;

	for (i = LVL_DEBUG; i <= LVL_ERROR; i++) {
		if (strcmp(text, level_names[i]) == 0)
			return (i);
	}
	return (-1);
}

static bool
is_key_char(char c)
{

	return ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		(c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-');
}

/* Returns the length of "key=" at ${s}, 0 if there is none. */
static size_t
key_len(const char *s)
{
	size_t n = 0;

	while (is_key_char(s[n]))
		n++;
	return (n > 0 && s[n] == '=' ? n + 1 : 0);
}

/* Returns true if ${p}, a format from the first byte of a value on, begins with
 * the conversion of a decimal number, whole or with a fraction, and a space or
 * the end follows.  The space may belong to the value ("n=%d bytes"), so
 * is_json_number() checks the formatted value later. */
static bool
is_number_format(const char *p)
{

	if (*p++ != '%')
		return (false);
	p += strspn(p, "-+ #0'");
	p += strspn(p, "0123456789*.");
	p += strspn(p, "hljztL");
	if (*p == '\0' || strchr("diufFeEgG", *p) == NULL)
		return (false);
	return (p[1] == '\0' || p[1] == ' ');
}

/* Copies ${fmt} to ${out}, of ${size} bytes, with a mark in place of the space
 * before each key, and before a key at the start of ${fmt}.  Returns false if
 * ${size} may be too small: ${out} cannot be used then. */
static bool
mark_format(char *out, size_t size, const char *fmt)
{
	const char *p = fmt, *key;
	size_t n = 0;

	for (; *p != '\0'; p++) {
		if (n + MARK_LEN + 2 > size)
			return (false);
		key = p + (*p == ' ');
		if ((p == fmt || *p == ' ') && key_len(key) > 0) {
			memcpy(out + n, mark, MARK_LEN);
			if (is_number_format(key + key_len(key)))
				out[n] = MARK_NUMBER;
			n += MARK_LEN;
			if (*p == ' ')
				continue;
		}
		out[n++] = *p;
	}
	out[n] = '\0';
	return (true);
}

/* Returns true if the first ${n} bytes of a mark are at ${p}. */
static bool
begins_mark(const char *p, size_t n)
{

	return ((*p == MARK_TEXT || *p == MARK_NUMBER) &&
		memcmp(p + 1, mark + 1, n - 1) == 0);
}

/* Returns the first mark in the ${n} bytes at ${p}, which may be at ${p}
 * itself, or ${p} + ${n} if there is none. */
static const char *
find_mark(const char *p, size_t n)
{
	const char *const end = p + n, *at = p + 1;

	while (at < end && (at = memmem(at, (size_t)(end - at), mark + 1,
				MARK_LEN - 1)) != NULL) {
		if (begins_mark(at - 1, MARK_LEN))
			return (at - 1);
		at++;
	}
	return (end);
}

/* Repairs the end of fields that were cut, and returns their new length.  An
 * incomplete mark is removed.  Otherwise the last value may be incomplete, so
 * it is marked as text even if it was a number. */
static size_t
trim_cut(char *fields, size_t n)
{
	const char *last = NULL, *at = fields;
	size_t i;

	for (i = 1; i < MARK_LEN && i <= n; i++) {
		if (begins_mark(fields + n - i, i))
			return (n - i);
	}
	while ((at = find_mark(at, (size_t)(fields + n - at))) < fields + n) {
		last = at;
		at += MARK_LEN;
	}
	if (last != NULL)
		fields[last - fields] = MARK_TEXT;
	return (n);
}

size_t
log_fields_print(char *out, const char *story, const char *fmt, va_list ap)
{
	size_t size, len, story_len;
	char marked[1024];
	int n;

	(void)pthread_once(&mark_once, make_mark);
	size = LOG_FIELDS_MAX - (story != NULL ? STORY_ROOM : 0);
	/* The compiler has checked the caller's format, and marks contain no
	 * conversion.  So this format is safe, although it is not a literal. */
	if (mark_format(marked, sizeof(marked), fmt))
		fmt = marked;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	n = vsnprintf(out, size, fmt, ap);
#pragma GCC diagnostic pop
	len = n < 0 ? 0 : (size_t)n;
	if (len >= size)
		len = trim_cut(out, size - 1);
	if (story == NULL)
		return (len);
	memcpy(out + len, mark, MARK_LEN);
	memcpy(out + len + MARK_LEN, "error=", 6);
	len += MARK_LEN + 6;
	story_len = strnlen(story, LOG_FIELDS_MAX - len);
	memcpy(out + len, story, story_len);
	return (len + story_len);
}

/* Returns true if the '=' at ${p}[${i}] would look like the end of a key in a
 * text line: it follows key characters that follow a space (or, with ${lead},
 * begin the value). */
static bool
looks_like_key(const char *p, size_t i, bool lead)
{
	size_t end = i;

	while (i > 0 && is_key_char(p[i - 1]))
		i--;
	return (i < end && (i == 0 ? lead : p[i - 1] == ' '));
}

/* Appends ${n} bytes, which must be valid UTF-8, with '?' for each control or
 * format character (utf8_is_unsafe()).  JSON gets the '?', too, instead of an
 * escape, because programs that print a member (jq -r) would undo the escape.
 * In JSON, only '"' and '\\' are escaped, with a backslash. */
static void
add_clean(struct buf *out, const char *p, size_t n, bool json)
{
	size_t i, len;
	uint32_t c;

	for (i = 0; i < n; i += len) {
		len = utf8_decode(p + i, n - i, &c);
		if (utf8_is_unsafe(c)) {
			buf_addc(out, '?');
			continue;
		}
		if (json && (c == '"' || c == '\\'))
			buf_addc(out, '\\');
		buf_add(out, p + i, len);
	}
}

/* Appends a value, cut at LOG_VALUE_MAX.  Each byte that is not UTF-8 becomes
 * '?', and in a text line also each '=' that would make a part of the value
 * look like a field. */
static void
add_value(struct buf *out, const char *p, size_t n, bool json, bool lead)
{
	size_t from, i, bad;

	if (n > LOG_VALUE_MAX) {
		n = LOG_VALUE_MAX;
		while (n > 0 && ((unsigned char)p[n] & 0xc0) == 0x80)
			n--;
	}
	for (from = 0; from < n; from += bad) {
		if (utf8_valid(p + from, n - from, &bad))
			bad = n - from;
		for (i = from; !json && i < from + bad; i++) {
			if (p[i] == '=' && looks_like_key(p, i, lead))
				bad = i - from;
		}
		add_clean(out, p + from, bad, json);
		if (from + bad < n) {
			buf_addc(out, '?');
			bad++;
		}
	}
}

/* Returns true if ${key} is a member that each JSON line has anyway.  Such a
 * key gets a '_' at its end ("time_"), so that no member occurs twice. */
static bool
is_reserved(const char *key, size_t n)
{
	static const char *const names[] = {"time", "level", "event", "thread"};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strlen(names[i]) == n && memcmp(names[i], key, n) == 0)
			return (true);
	}
	return (false);
}

static size_t
count_digits(const char *p, size_t n)
{
	size_t i = 0;

	while (i < n && p[i] >= '0' && p[i] <= '9')
		i++;
	return (i);
}

/* Returns true if the ${n} bytes at ${p} are a number as JSON writes it, with
 * at most EXACT_DIGITS digits before the point: readers that use doubles would
 * change a longer whole number.  The conversion of a number can also print
 * padding, a '+' or "nan", which JSON does not have. */
static bool
is_json_number(const char *p, size_t n)
{
	const char *const end = p + n;
	size_t digits, more;

	p += n > 0 && *p == '-';
	digits = count_digits(p, (size_t)(end - p));
	if (digits == 0 || digits > EXACT_DIGITS || (digits > 1 && *p == '0'))
		return (false);
	p += digits;
	if (p < end && *p == '.') {
		more = count_digits(p + 1, (size_t)(end - p) - 1);
		if (more == 0)
			return (false);
		p += 1 + more;
	}
	if (p < end && (*p == 'e' || *p == 'E')) {
		p += end - p > 1 && (p[1] == '+' || p[1] == '-') ? 2 : 1;
		more = count_digits(p, (size_t)(end - p));
		if (more == 0)
			return (false);
		p += more;
	}
	return (p == end);
}

/* Appends one field, "key=value".  ${number}: the value was converted from a
 * number. */
static void
add_field(struct buf *out, const char *p, size_t n, bool json, bool number)
{
	size_t key = 0;

	while (key < n && is_key_char(p[key]))
		key++;
	buf_add(out, json ? ",\"" : " ", json ? 2 : 1);
	buf_add(out, p, key);
	if (!json) {
		buf_addc(out, '=');
		add_value(out, p + key + 1, n - key - 1, false, false);
		return;
	}
	if (is_reserved(p, key))
		buf_addc(out, '_');
	buf_adds(out, "\":");
	number = number && is_json_number(p + key + 1, n - key - 1);
	if (!number)
		buf_addc(out, '"');
	add_value(out, p + key + 1, n - key - 1, true, false);
	if (!number)
		buf_addc(out, '"');
}

static void
add_lead(struct buf *out, const char *p, size_t n, bool json)
{

	if (n == 0)
		return;
	if (!json) {
		buf_addc(out, ' ');
		add_value(out, p, n, false, true);
		return;
	}
	buf_adds(
	    out, memchr(p, ' ', n) == NULL ? ",\"id\":\"" : ",\"text\":\"");
	add_value(out, p, n, true, true);
	buf_addc(out, '"');
}

static void
add_fields(struct buf *out, const char *fields, size_t len, bool json)
{
	const char *p = fields, *end = fields + len, *next;
	bool number;

	next = find_mark(p, len);
	add_lead(out, p, (size_t)(next - p), json);
	while (next < end) {
		number = *next == MARK_NUMBER;
		p = next + MARK_LEN;
		next = find_mark(p, (size_t)(end - p));
		/* Fields that were cut may end in a mark with an incomplete
		 * key, or with none. */
		if (memchr(p, '=', (size_t)(next - p)) != NULL)
			add_field(out, p, (size_t)(next - p), json, number);
	}
}

/* Appends STORE_OPEN as "store.open". */
static void
add_event_name(struct buf *out, const char *id)
{
	bool dot = false;

	for (; *id != '\0'; id++) {
		if (*id == '_' && !dot) {
			buf_addc(out, '.');
			dot = true;
		} else if (*id >= 'A' && *id <= 'Z') {
			buf_addc(out, (char)(*id - 'A' + 'a'));
		} else {
			buf_addc(out, *id);
		}
	}
}

void
log_line_add(struct buf *out, enum log_format format,
    const struct log_record *rec, const char *fields)
{
	bool json = format == LOG_FMT_JSON;
	char time[CLK_RFC3339_SIZE];

	clk_format_rfc3339(rec->wall_ms, time);
	buf_adds(out, json ? "{\"time\":\"" : "");
	buf_adds(out, time);
	buf_adds(out, json ? "\",\"level\":\"" : " ");
	buf_adds(out, level_names[events[rec->event].level]);
	buf_adds(out, json ? "\",\"event\":\"" : " ");
	add_event_name(out, events[rec->event].id);
	if (json) {
		buf_adds(out, "\",\"thread\":\"");
		buf_adds(out, rec->thread);
		buf_addc(out, '"');
	}
	add_fields(out, fields, rec->len, json);
	buf_adds(out, json ? "}\n" : "\n");
}
