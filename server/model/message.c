/* SPDX-License-Identifier: MIT */
/*
 * The small grammars of a message: names, addresses, media types, priorities,
 * durations.  They compare bytes and do not depend on the locale.
 */
#include <string.h>

#include "model/message.h"
#include "net/domain.h"

static bool
is_digit(char c)
{

	return (c >= '0' && c <= '9');
}

static bool
is_alnum_lower(char c)
{

	return ((c >= 'a' && c <= 'z') || is_digit(c));
}

static bool
is_alpha(char c)
{

	return ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'));
}

bool
model_name_valid(const char *name, size_t n)
{
	size_t i;

	if (n < 1 || n > LIMIT_NAME_LEN)
		return (false);
	for (i = 0; i < n; i++) {
		if (!is_alnum_lower(name[i]) && name[i] != '.' &&
		    name[i] != '_' && name[i] != '-')
			return (false);
	}
	return (true);
}

_Static_assert(LIMIT_NAME_LEN == 32, "MODEL_NAME_RULE says 32");

bool
model_name_fits(const char *name, size_t n)
{

	return (model_name_valid(name, n) && is_alnum_lower(name[0]) &&
		is_alnum_lower(name[n - 1]) &&
		memmem(name, n, "..", 2) == NULL);
}

bool
model_name_reserved(const char *name, size_t n)
{
	static const char *const reserved[] = {"admin", "root", "support",
	    "postmaster", "abuse", "security", "twinbox"};
	size_t i;

	for (i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++) {
		if (strlen(reserved[i]) == n &&
		    memcmp(reserved[i], name, n) == 0)
			return (true);
	}
	return (false);
}

bool
model_address_parse(const char *text, size_t n, const char *local_domain,
    char ret_name[LIMIT_NAME_LEN + 1], char ret_domain[LIMIT_DOMAIN_LEN + 1])
{
	const char *at, *domain;
	size_t domain_len, name_len;

	at = memchr(text, '@', n);
	name_len = (at == NULL) ? n : (size_t)(at - text);
	if (!model_name_valid(text, name_len))
		return (false);
	domain = text + name_len;
	domain_len = 0;
	if (at != NULL) {
		domain = at + 1;
		domain_len = n - name_len - 1;
		if (!domain_host_valid(domain, domain_len))
			return (false);
		if (domain_len == strlen(local_domain) &&
		    memcmp(domain, local_domain, domain_len) == 0)
			domain_len = 0;
	}
	memcpy(ret_name, text, name_len);
	ret_name[name_len] = '\0';
	memcpy(ret_domain, domain, domain_len);
	ret_domain[domain_len] = '\0';
	return (true);
}

/* Returns true for a tchar of RFC 9110. */
static bool
is_token_char(char c)
{

	return (is_alpha(c) || is_digit(c) ||
		(c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL));
}

static size_t
token_len(const char *s, size_t n)
{
	size_t i;

	for (i = 0; i < n && is_token_char(s[i]); i++)
		continue;
	return (i);
}

static size_t
space_len(const char *s, size_t n)
{
	size_t i;

	for (i = 0; i < n && (s[i] == ' ' || s[i] == '\t'); i++)
		continue;
	return (i);
}

/* Returns the length of the quoted string, with its quotes, at the start of the
 * ${n} bytes at ${s}; 0 if no complete quoted string is there, or if it has
 * bytes other than printable ASCII.  A backslash escapes the next byte. */
static size_t
quoted_len(const char *s, size_t n)
{
	size_t i;

	if (n < 2 || s[0] != '"')
		return (0);
	for (i = 1; i < n; i++) {
		if (s[i] == '"')
			return (i + 1);
		if (s[i] == '\\' && ++i >= n)
			return (0);
		if ((unsigned char)s[i] < 0x20 || (unsigned char)s[i] > 0x7e)
			return (0);
	}
	return (0);
}

/* Returns true if the text is any number of parameters, each "; name=value". */
static bool
parameters_valid(const char *s, size_t n)
{
	size_t k;

	while (n > 0) {
		k = space_len(s, n);
		if (k == n || s[k] != ';')
			return (false);
		k++;
		k += space_len(s + k, n - k);
		s += k;
		n -= k;
		k = token_len(s, n);
		if (k == 0 || k == n || s[k] != '=')
			return (false);
		s += k + 1;
		n -= k + 1;
		k = token_len(s, n);
		if (k == 0)
			k = quoted_len(s, n);
		if (k == 0)
			return (false);
		s += k;
		n -= k;
	}
	return (true);
}

bool
model_content_type_valid(const char *text, size_t n)
{
	size_t sub, type;

	if (n > LIMIT_CONTENT_TYPE_LEN)
		return (false);
	type = token_len(text, n);
	if (type == 0 || type == n || text[type] != '/')
		return (false);
	sub = token_len(text + type + 1, n - type - 1);
	if (sub == 0)
		return (false);
	type += 1 + sub;
	return (parameters_valid(text + type, n - type));
}

const char *
priority_name(int priority)
{

	switch (priority) {
	case PRIORITY_LOW:
		return ("low");
	case PRIORITY_HIGH:
		return ("high");
	default:
		return ("normal");
	}
}

bool
priority_parse(const char *text, size_t n, int *ret)
{
	int priority;

	for (priority = PRIORITY_LOW; priority <= PRIORITY_HIGH; priority++) {
		if (strlen(priority_name(priority)) == n &&
		    memcmp(priority_name(priority), text, n) == 0) {
			*ret = priority;
			return (true);
		}
	}
	return (false);
}

/* Returns the milliseconds of the unit ${suffix}: "s", "m", "h", "d", or "" for
 * seconds.  Returns 0 for any other text. */
static int64_t
unit_ms(const char *suffix)
{

	if (suffix[0] == '\0')
		return (1000);
	if (suffix[1] != '\0')
		return (0);
	switch (suffix[0]) {
	case 's':
		return (1000);
	case 'm':
		return (60 * 1000);
	case 'h':
		return (60 * 60 * 1000);
	case 'd':
		return (24 * 60 * 60 * 1000);
	default:
		return (0);
	}
}

bool
model_duration_parse(const char *text, int64_t *ret_ms)
{
	int64_t unit, value;

	if (!is_digit(*text))
		return (false);
	for (value = 0; is_digit(*text); text++) {
		if (value > (INT64_MAX - 9) / 10)
			return (false);
		value = value * 10 + (*text - '0');
	}
	unit = unit_ms(text);
	if (unit == 0 || value > INT64_MAX / unit)
		return (false);
	*ret_ms = value * unit;
	return (true);
}

void
message_draft_view(const struct message_draft *draft, struct message_view *ret)
{

	ret->id = draft->id;
	ret->body = draft->body.p;
	ret->body_len = draft->body.n;
	ret->content_type = draft->content_type.p != NULL
				? draft->content_type.p
				: MESSAGE_CONTENT_TYPE_DEFAULT;
	ret->metadata = draft->metadata.p;
	ret->metadata_len = draft->metadata.n;
	ret->correlation_id = draft->correlation_id.p;
	ret->has_reply_to = draft->has_reply_to;
	ret->reply_to = draft->reply_to;
}
