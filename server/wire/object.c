/* SPDX-License-Identifier: MIT */
/*
 * Reads the members of a JSON object by a table of fields.  Thus every route
 * refuses in the same words a member that is unknown, missing, of the wrong
 * type or out of its range, and says where the member is.
 */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clk.h"
#include "base/utf8.h"
#include "wire/wire_internal.h"

#define FIELDS_MAX 64

void
wire_pointer(
    char ret[REFUSAL_POINTER_SIZE], const char *parent, const char *name)
{
	char text[REFUSAL_POINTER_SIZE];
	size_t i, n;

	n = strlen(parent);
	if (n + 2 > sizeof(text)) {
		ret[0] = '\0';
		return;
	}
	memcpy(text, parent, n + 1);
	memcpy(ret, text, n + 1);
	text[n++] = '/';
	for (i = 0; name[i] != '\0'; i++) {
		if (n + 3 > sizeof(text))
			return;
		if (name[i] == '~' || name[i] == '/') {
			text[n++] = '~';
			text[n++] = (name[i] == '~') ? '0' : '1';
		} else {
			text[n++] = name[i];
		}
	}
	memcpy(ret, text, n);
	ret[n] = '\0';
}

enum rc
wire_refuse(struct refusal *r, const char *parent, const char *name,
    const char *fmt, ...)
{
	char detail[REFUSAL_DETAIL_SIZE], pointer[REFUSAL_POINTER_SIZE];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(detail, sizeof(detail), fmt, ap);
	va_end(ap);
	wire_pointer(pointer, parent, name);
	refusal_set(r, PROBLEM_BAD_REQUEST, pointer, "%s", detail);
	return (RC_INVALID);
}

static const char *
kind_of(const json_t *value)
{

	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return ("an object");
	case JSON_ARRAY:
		return ("an array");
	case JSON_STRING:
		return ("a string");
	case JSON_INTEGER:
		return ("an integer");
	case JSON_REAL:
		return ("a number with a fraction or exponent");
	case JSON_TRUE:
	case JSON_FALSE:
		return ("a boolean");
	case JSON_NULL:
	default:
		return ("null");
	}
}

static enum rc
refuse_kind(const json_t *value, const char *pointer,
    const struct wire_field *f, const char *wanted, struct refusal *r)
{

	return (wire_refuse(r, pointer, f->name, "\"%s\" must be %s, not %s",
	    f->name, wanted, kind_of(value)));
}

/* Refuses the ${n} bytes of text ${s} of the field ${f}, which must be one
 * line: the character at byte ${at} (counted from 0) is not allowed in a line
 * (utf8_line_valid()).  Sets ${r} and returns RC_INVALID. */
static enum rc
refuse_line(const char *s, size_t n, size_t at, const char *pointer,
    const struct wire_field *f, struct refusal *r)
{
	uint32_t c = 0;

	(void)utf8_decode(s + at, n - at, &c);
	return (wire_refuse(r, pointer, f->name,
	    "\"%s\" has the character U+%04X at byte %zu; send it without "
	    "control characters, line breaks and characters that turn the "
	    "direction of text",
	    f->name, c, at));
}

static enum rc
read_span(json_t *value, const char *pointer, const struct wire_field *f,
    struct refusal *r)
{
	struct span *ret;
	size_t n, bad;

	if (!json_is_string(value))
		return (refuse_kind(value, pointer, f, "a string", r));
	n = json_string_length(value);
	if (n < f->min_len || (f->max_len != 0 && n > f->max_len)) {
		if (n == 0)
			return (wire_refuse(r, pointer, f->name,
			    "\"%s\" must not be empty", f->name));
		if (n < f->min_len)
			return (wire_refuse(r, pointer, f->name,
			    "\"%s\" has %zu bytes; at least %zu are needed",
			    f->name, n, f->min_len));
		return (wire_refuse(r, pointer, f->name,
		    "\"%s\" has %zu bytes; at most %zu are taken", f->name, n,
		    f->max_len));
	}
	if (f->line && !utf8_line_valid(json_string_value(value), n, &bad))
		return (refuse_line(
		    json_string_value(value), n, bad, pointer, f, r));
	ret = f->ret;
	ret->p = json_string_value(value);
	ret->n = n;
	return (RC_OK);
}

static enum rc
read_i64(json_t *value, const char *pointer, const struct wire_field *f,
    struct refusal *r)
{
	int64_t *ret, v;

	if (!json_is_integer(value))
		return (refuse_kind(value, pointer, f, "an integer", r));
	v = json_integer_value(value);
	if ((f->min != 0 || f->max != 0) && (v < f->min || v > f->max)) {
		if (f->max == INT64_MAX)
			return (wire_refuse(r, pointer, f->name,
			    "\"%s\" must be at least %lld", f->name,
			    (long long)f->min));
		return (wire_refuse(r, pointer, f->name,
		    "\"%s\" must lie between %lld and %lld", f->name,
		    (long long)f->min, (long long)f->max));
	}
	ret = f->ret;
	*ret = v;
	return (RC_OK);
}

static enum rc
read_bool(json_t *value, const char *pointer, const struct wire_field *f,
    struct refusal *r)
{
	bool *ret;

	if (!json_is_boolean(value))
		return (refuse_kind(value, pointer, f, "a boolean", r));
	ret = f->ret;
	*ret = json_is_true(value);
	return (RC_OK);
}

static enum rc
read_uuid(json_t *value, const char *pointer, const struct wire_field *f,
    struct refusal *r)
{

	if (!json_is_string(value))
		return (refuse_kind(value, pointer, f, "a UUID", r));
	if (!uuid_parse(
		json_string_value(value), json_string_length(value), f->ret))
		return (wire_refuse(r, pointer, f->name,
		    "\"%s\" is not a UUID (8-4-4-4-12 hexadecimal digits)",
		    f->name));
	return (RC_OK);
}

static enum rc
read_time(json_t *value, const char *pointer, const struct wire_field *f,
    struct refusal *r)
{

	if (!json_is_string(value))
		return (refuse_kind(value, pointer, f, "a time", r));
	if (clk_parse_rfc3339(json_string_value(value), f->ret) != 0)
		return (wire_refuse(r, pointer, f->name,
		    "\"%s\" is not a time of RFC 3339, such as "
		    "2030-01-31T08:00:00Z",
		    f->name));
	return (RC_OK);
}

static enum rc
read_member(json_t *value, const char *pointer, const struct wire_field *f,
    struct refusal *r)
{
	json_t **ret;

	switch (f->type) {
	case WIRE_SPAN:
		return (read_span(value, pointer, f, r));
	case WIRE_I64:
		return (read_i64(value, pointer, f, r));
	case WIRE_BOOL:
		return (read_bool(value, pointer, f, r));
	case WIRE_UUID:
		return (read_uuid(value, pointer, f, r));
	case WIRE_TIME:
		return (read_time(value, pointer, f, r));
	case WIRE_ANY:
	default:
		ret = f->ret;
		*ret = value;
		return (RC_OK);
	}
}

static enum rc
refuse_unknown(const char *key, const char *pointer,
    const struct wire_field *fields, size_t n, struct refusal *r)
{
	char known[REFUSAL_DETAIL_SIZE];
	size_t i, k, len;

	for (i = 0, len = 0; i < n; i++) {
		k = strlen(fields[i].name);
		if (len + k + 3 > sizeof(known))
			break;
		if (len > 0) {
			memcpy(known + len, ", ", 2);
			len += 2;
		}
		memcpy(known + len, fields[i].name, k);
		len += k;
	}
	known[len] = '\0';
	if (n == 0)
		return (wire_refuse(r, pointer, key,
		    "unknown member \"%.48s\"; this request takes no members",
		    key));
	return (wire_refuse(r, pointer, key,
	    "unknown member \"%.48s\"; known here: %s", key, known));
}

static enum rc
refuse_shape(const json_t *value, const char *pointer, struct refusal *r)
{

	refusal_set(r, PROBLEM_BAD_REQUEST, pointer,
	    "a JSON object is expected, not %s", kind_of(value));
	return (RC_INVALID);
}

enum rc
wire_object(json_t *value, const char *pointer, const struct wire_field *fields,
    size_t n, struct refusal *refusal)
{
	const char *key;
	json_t *member;
	uint64_t seen;
	size_t i;
	enum rc rc;

	assert(n <= FIELDS_MAX);
	if (!json_is_object(value))
		return (refuse_shape(value, pointer, refusal));
	seen = 0;
	json_object_foreach (value, key, member) {
		for (i = 0; i < n && strcmp(fields[i].name, key) != 0; i++)
			continue;
		if (i == n)
			return (
			    refuse_unknown(key, pointer, fields, n, refusal));
		if (json_is_null(member))
			continue;
		rc = read_member(member, pointer, &fields[i], refusal);
		if (rc != RC_OK)
			return (rc);
		seen |= UINT64_C(1) << i;
	}
	for (i = 0; i < n; i++) {
		if (fields[i].ret_present != NULL)
			*fields[i].ret_present = (seen >> i & 1) != 0;
		if (fields[i].required && (seen >> i & 1) == 0)
			return (wire_refuse(refusal, pointer, fields[i].name,
			    "member \"%s\" is missing", fields[i].name));
	}
	return (RC_OK);
}
