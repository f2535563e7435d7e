/* SPDX-License-Identifier: MIT */
/*
 * Compares the readers of the small grammars with slow readers, written from
 * their standards: UTF-8, ids, user names, addresses, media types, durations
 * and times.  JSON strings are written and read again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clk.h"
#include "base/utf8.h"
#include "base/uuid.h"
#include "fuzz/fuzz_wire.h"
#include "wire/json.h"
#include "wire/wire.h"

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{

	(void)argc;
	(void)argv;
	wire_init();
	return (0);
}

static void
check_utf8(const char *s, size_t n)
{
	size_t bad = SIZE_MAX, prefix;
	bool ok = utf8_valid(s, n, &bad);

	prefix = fuzz_utf8_prefix((const uint8_t *)s, n);
	MUST(ok == (prefix == n));
	MUST(ok || bad == prefix);
	MUST(utf8_valid(s, prefix, NULL));
}

static void
check_uuid(const char *s, size_t n)
{
	static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
	char text[UUID_TEXT_LEN + 1];
	bool want = n == sizeof(form) - 1;
	struct uuid u;
	size_t i;

	for (i = 0; want && i < n; i++)
		want = (form[i] == '-')
			   ? s[i] == '-'
			   : s[i] != '\0' &&
				 strchr("0123456789abcdefABCDEF", s[i]) != NULL;
	MUST(uuid_parse(s, n, &u) == want);
	if (!want)
		return;
	uuid_format(&u, text);
	for (i = 0; i < n; i++)
		MUST(text[i] ==
		     ((s[i] >= 'A' && s[i] <= 'F') ? s[i] + 32 : s[i]));
}

static bool
is_in(const char *set, char c)
{

	return (c != '\0' && strchr(set, c) != NULL);
}

#define LOWER "abcdefghijklmnopqrstuvwxyz0123456789"

static bool
name_reference(const char *s, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (!is_in(LOWER "._-", s[i]))
			return (false);
	return (n >= 1 && n <= 32);
}

/* Consecutive dots are checked before the characters at the ends. */
static bool
new_name_reference(const char *s, size_t n)
{
	size_t i;

	for (i = 1; i < n; i++)
		if (s[i] == '.' && s[i - 1] == '.')
			return (false);
	return (name_reference(s, n) && is_in(LOWER, s[0]) &&
		is_in(LOWER, s[n - 1]));
}

/* Checks one label after the other. */
static bool
domain_reference(const char *s, size_t n)
{
	size_t len, i;
	const char *dot;

	if (n == 0 || n > 253)
		return (false);
	for (;;) {
		dot = memchr(s, '.', n);
		len = (dot == NULL) ? n : (size_t)(dot - s);
		if (len == 0 || len > 63 || s[0] == '-' || s[len - 1] == '-')
			return (false);
		for (i = 0; i < len; i++)
			if (!is_in(LOWER "-", s[i]))
				return (false);
		if (dot == NULL)
			return (true);
		s += len + 1;
		n -= len + 1;
		if (n == 0)
			return (false);
	}
}

static void
check_address(const char *s, size_t n)
{
	char name[LIMIT_NAME_LEN + 1], domain[LIMIT_DOMAIN_LEN + 1];
	const char *at = (n == 0) ? NULL : memchr(s, '@', n);
	size_t len = (at == NULL) ? n : (size_t)(at - s);
	size_t rest = (at == NULL) ? 0 : n - len - 1;
	bool want, local;

	MUST(model_name_valid(s, n) == name_reference(s, n));
	MUST(model_name_fits(s, n) == new_name_reference(s, n));
	want = name_reference(s, len) &&
	       (at == NULL || domain_reference(at + 1, rest));
	MUST(model_address_parse(s, n, "home.example", name, domain) == want);
	if (!want)
		return;
	MUST(strlen(name) == len && memcmp(name, s, len) == 0);
	local = rest == 12 && memcmp(at + 1, "home.example", 12) == 0;
	MUST(strlen(domain) == (local ? 0 : rest));
}

static void
check_duration(const char *s)
{
	static const char units[] = "smhd";
	static const int64_t factors[] = {1, 60, 3600, 86400};
	size_t digits = strspn(s, "0123456789"), i;
	const char *unit = s + digits;
	__int128 v = 0;
	int64_t got, factor = 1;
	bool want = digits > 0;

	for (i = 0; i < digits && v < INT64_MAX; i++)
		v = v * 10 + (s[i] - '0');
	if (*unit != '\0') {
		want = want && unit[1] == '\0' && is_in(units, *unit);
		if (want)
			factor = factors[strchr(units, *unit) - units];
	}
	v = v * factor * 1000;
	want = want && v <= INT64_MAX;
	MUST(!model_duration_parse(s, &got) || (want && got == (int64_t)v));
	/* A duration near the end of int64 may be refused: that is almost
	 * 300,000 years. */
	if (want && v < INT64_MAX / 1000)
		MUST(model_duration_parse(s, &got));
}

static void
check_time(const char *s)
{
	char text[CLK_RFC3339_SIZE];
	int64_t ms, again;

	if (clk_parse_rfc3339(s, &ms) != 0)
		return;
	MUST(strlen(s) >= 20);
	clk_format_rfc3339(ms, text);
	MUST(clk_parse_rfc3339(text, &again) == 0 && again == ms);
	/* A time in UTC with three decimals is written as the same text. */
	if (strlen(s) == 24 && s[19] == '.' && s[23] == 'Z' && s[10] == 'T' &&
	    strncmp(s + 17, "60", 2) != 0)
		MUST(strcmp(s, text) == 0);
}

/* A string of valid UTF-8 is the same after it was written as JSON and read
 * again. */
static void
check_json_string(const char *s, size_t n)
{
	struct buf b = BUF_INIT;
	const json_t *value;
	json_t *json;

	if (fuzz_utf8_prefix((const uint8_t *)s, n) != n)
		return;
	buf_addc(&b, '{');
	jw_strn(&b, "a", s, n);
	buf_addc(&b, '}');
	MUST(buf_ok(&b));
	json = json_loadb(b.data, b.len, JSON_ALLOW_NUL, NULL);
	value = json_object_get(json, "a");
	MUST(json_is_string(value) && json_string_length(value) == n);
	MUST(n == 0 || memcmp(json_string_value(value), s, n) == 0);
	json_decref(json);
	buf_fini(&b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *s = fuzz_copy(data, size);

	check_utf8(s, size);
	check_uuid(s, size);
	check_address(s, size);
	check_duration(s);
	check_time(s);
	check_json_string(s, size);
	if (model_content_type_valid(s, size)) {
		MUST(size <= LIMIT_CONTENT_TYPE_LEN && strlen(s) == size);
		MUST(strpbrk(s, "\r\n") == NULL && strchr(s, '/') != NULL);
	}
	free(s);
	return (0);
}
