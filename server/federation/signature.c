/* SPDX-License-Identifier: MIT */
/*
 * See signature.h.
 *
 * The parser reads NUL-terminated texts from left to right, and refuses a text
 * at the first part that the profile does not allow there.  It also checks the
 * lengths of the texts and the lifetime of the signature.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "federation/signature.h"

#define LABEL "tb="
#define COMPONENTS                                                             \
	"(\"@method\" \"@authority\" \"@path\" \"content-digest\" "            \
	"\"content-type\" \"twinbox-from\" \"twinbox-to\")"
#define ALGORITHM "ed25519"
#define TAG "twinbox-1"
#define DIGEST "sha-256=:"
/* A time (seconds since 1970) with more digits is refused.  Ten digits are
 * enough until the year 2286, and neither a number of ten digits nor a sum of
 * two such numbers overflows an int64_t. */
#define TIME_DIGITS_MAX 10

/* The longest Signature-Input of the profile must fit; times have ten
 * digits. */
static_assert(
    sizeof(LABEL COMPONENTS ";created=;expires=;nonce=\"\";keyid=\"\""
			    ";alg=\"" ALGORITHM "\";tag=\"" TAG "\"") +
	    2 * TIME_DIGITS_MAX + SIGNATURE_NONCE_MAX + SIGNATURE_KEY_ID_MAX <=
	SIGNATURE_INPUT_SIZE,
    "SIGNATURE_INPUT_MAX is too small");
static_assert(sizeof(LABEL) - 1 + SIGNATURE_PARAMS_MAX == SIGNATURE_INPUT_MAX,
    "SIGNATURE_PARAMS_MAX is that without the label");

static const char *const words[SIGNATURE_FAULTS] = {
#define X(id, word) [id] = word,
    SIGNATURE_FAULT_TABLE(X)
#undef X
};

const char *
signature_fault_word(enum signature_fault fault)
{

	assert(fault < SIGNATURE_FAULTS);
	return (words[fault]);
}

/* ---- reading ---- */

/* The parameters, in the order in which this server writes them. */
enum param {
	PARAM_CREATED,
	PARAM_EXPIRES,
	PARAM_NONCE,
	PARAM_KEY_ID,
	PARAM_ALG,
	PARAM_TAG,
	PARAMS
};

static const char *const param_names[PARAMS] = {
    [PARAM_CREATED] = "created",
    [PARAM_EXPIRES] = "expires",
    [PARAM_NONCE] = "nonce",
    [PARAM_KEY_ID] = "keyid",
    [PARAM_ALG] = "alg",
    [PARAM_TAG] = "tag",
};

/* Skips ${literal} at ${*at}.  False: it is not there. */
static bool
take(const char **at, const char *literal)
{
	const size_t n = strlen(literal);

	if (strncmp(*at, literal, n) != 0)
		return (false);
	*at += n;
	return (true);
}

/* Parses a whole number without a sign and without leading zeros. */
static bool
take_time(const char **at, int64_t *ret)
{
	const char *p = *at;
	int n;

	*ret = 0;
	for (n = 0; p[n] >= '0' && p[n] <= '9'; n++) {
		if (n == TIME_DIGITS_MAX || (n == 1 && p[0] == '0'))
			return (false);
		*ret = *ret * 10 + (p[n] - '0');
	}
	*at += n;
	return (n > 0);
}

static bool
is_word_char(char c)
{

	return ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		(c >= '0' && c <= '9') || c == '-' || c == '_');
}

/* Parses a quoted string of ${least} to ${most} characters. */
static bool
take_word(const char **at, char *ret, size_t least, size_t most)
{
	const char *p = *at;
	size_t n = 0;

	if (*p++ != '"')
		return (false);
	while (is_word_char(p[n])) {
		if (n == most)
			return (false);
		ret[n] = p[n];
		n++;
	}
	ret[n] = '\0';
	if (n < least || p[n] != '"')
		return (false);
	*at = p + n + 1;
	return (true);
}

static bool
take_literal(const char **at, const char *literal)
{
	char word[16];

	return (take_word(at, word, 1, sizeof(word) - 1) &&
		strcmp(word, literal) == 0);
}

static bool
take_param(const char **at, enum param param, struct signature *s)
{

	if (param == PARAM_CREATED)
		return (take_time(at, &s->created_s));
	if (param == PARAM_EXPIRES)
		return (take_time(at, &s->expires_s));
	if (param == PARAM_NONCE)
		return (take_word(
		    at, s->nonce, SIGNATURE_NONCE_MIN, SIGNATURE_NONCE_MAX));
	if (param == PARAM_KEY_ID)
		return (take_word(at, s->key_id, 1, SIGNATURE_KEY_ID_MAX));
	if (param == PARAM_ALG)
		return (take_literal(at, ALGORITHM));
	return (take_literal(at, TAG));
}

/* Skips "name=" at ${*at}.  PARAMS: the name is not in the profile. */
static enum param
take_name(const char **at)
{
	enum param i;
	size_t n;

	for (i = PARAM_CREATED; i < PARAMS; i++) {
		n = strlen(param_names[i]);
		if (strncmp(*at, param_names[i], n) == 0 && (*at)[n] == '=') {
			*at += n + 1;
			return (i);
		}
	}
	return (PARAMS);
}

/* Parses ${at}: the six parameters of the profile in the form ";name=value",
 * each once and in any order, and nothing behind them, such as a seventh
 * parameter or a second signature.  Sets created_s, expires_s, nonce and key_id
 * of ${s}, and checks the lifetime.  Returns SIGNATURE_GOOD, or else
 * SIGNATURE_PARAMETERS, with some of these members set. */
static enum signature_fault
read_params(const char *at, struct signature *s)
{
	bool seen[PARAMS] = {false};
	enum param param;
	int n;

	for (n = 0; n < PARAMS; n++) {
		if (*at++ != ';')
			return (SIGNATURE_PARAMETERS);
		param = take_name(&at);
		if (param == PARAMS || seen[param] ||
		    !take_param(&at, param, s))
			return (SIGNATURE_PARAMETERS);
		seen[param] = true;
	}
	if (*at != '\0' || s->expires_s <= s->created_s ||
	    s->expires_s - s->created_s > SIGNATURE_LIFE_S)
		return (SIGNATURE_PARAMETERS);
	return (SIGNATURE_GOOD);
}

/* Parses the value of the header Signature. */
static bool
read_value(const char *at, uint8_t ret[SIGN_SIZE])
{
	const size_t n = SIGN_BASE64_SIZE(SIGN_SIZE) - 1;

	return (take(&at, LABEL ":") && strlen(at) == n + 1 && at[n] == ':' &&
		sign_base64_read(at, n, ret, SIGN_SIZE));
}

enum signature_fault
signature_read(const char *input, const char *value, struct signature *ret)
{
	enum signature_fault fault;
	struct signature s;
	const char *at = input;
	size_t n;

	if (input == NULL || value == NULL)
		return (SIGNATURE_MISSING);
	n = strnlen(input, SIGNATURE_INPUT_MAX + 1);
	if (n > SIGNATURE_INPUT_MAX || !take(&at, LABEL))
		return (SIGNATURE_MALFORMED);
	memcpy(s.params, at, n - strlen(LABEL) + 1);
	if (!take(&at, COMPONENTS))
		return (SIGNATURE_COMPONENTS);
	if (!read_value(value, s.value))
		return (SIGNATURE_MALFORMED);
	if ((fault = read_params(at, &s)) == SIGNATURE_GOOD)
		*ret = s;
	return (fault);
}

enum signature_fault
signature_timely(const struct signature *s, int64_t now_s)
{

	if (s->expires_s + SIGNATURE_SKEW_S <= now_s)
		return (SIGNATURE_EXPIRED);
	if (s->created_s - SIGNATURE_SKEW_S > now_s)
		return (SIGNATURE_EARLY);
	return (SIGNATURE_GOOD);
}

/* ---- what is signed ---- */

/* Returns true if ${value} is neither NULL nor empty, has only printable ASCII,
 * and has no space at its ends.  A line end inside a value would add a line to
 * the signed text; the signature could then be used for another request that
 * has this text. */
static bool
is_plain(const char *value)
{
	const size_t n = value == NULL ? 0 : strlen(value);
	size_t i;

	for (i = 0; i < n; i++)
		if (value[i] < ' ' || value[i] > '~')
			return (false);
	return (n > 0 && value[0] != ' ' && value[n - 1] != ' ');
}

static bool
covered_plain(const struct signature_covered *covered)
{

	return (is_plain(covered->method) && is_plain(covered->authority) &&
		is_plain(covered->path) && is_plain(covered->content_digest) &&
		is_plain(covered->content_type) && is_plain(covered->from) &&
		is_plain(covered->to));
}

size_t
signature_base(const struct signature_covered *covered, const char *params,
    char ret[SIGNATURE_BASE_MAX + 1])
{
	int n;

	if (!covered_plain(covered) || !is_plain(params))
		return (0);
	n = snprintf(ret, SIGNATURE_BASE_MAX + 1,
	    "\"@method\": %s\n"
	    "\"@authority\": %s\n"
	    "\"@path\": %s\n"
	    "\"content-digest\": %s\n"
	    "\"content-type\": %s\n"
	    "\"twinbox-from\": %s\n"
	    "\"twinbox-to\": %s\n"
	    "\"@signature-params\": %s",
	    covered->method, covered->authority, covered->path,
	    covered->content_digest, covered->content_type, covered->from,
	    covered->to, params);
	return (n > 0 && n <= SIGNATURE_BASE_MAX ? (size_t)n : 0);
}

enum signature_fault
signature_verify(const struct signature *s,
    const struct signature_covered *covered,
    const uint8_t public[SIGN_PUBLIC_SIZE])
{
	char base[SIGNATURE_BASE_MAX + 1];
	const size_t n = signature_base(covered, s->params, base);

	return (n > 0 && sign_verify(public, base, n, s->value)
		    ? SIGNATURE_GOOD
		    : SIGNATURE_WRONG);
}

/* ---- writing ---- */

/* Sets ${s->params} to the list of components and the parameters of ${s}.  Then
 * parses the parameters as a receiver would.  Returns false if they are not of
 * the profile, so that no request is sent that every receiver would refuse. */
static bool
write_params(struct signature *s)
{
	struct signature again;

	(void)snprintf(s->params, sizeof(s->params),
	    COMPONENTS ";created=%lld;expires=%lld;nonce=\"%s\";keyid=\"%s\""
		       ";alg=\"" ALGORITHM "\";tag=\"" TAG "\"",
	    (long long)s->created_s, (long long)s->expires_s, s->nonce,
	    s->key_id);
	return (read_params(s->params + strlen(COMPONENTS), &again) ==
		SIGNATURE_GOOD);
}

bool
signature_make(struct signature *s, const struct signature_covered *covered,
    const uint8_t seed[SIGN_SEED_SIZE])
{
	char base[SIGNATURE_BASE_MAX + 1];
	size_t n;

	if (!write_params(s))
		return (false);
	if ((n = signature_base(covered, s->params, base)) == 0)
		return (false);
	sign_make(seed, base, n, s->value);
	return (true);
}

void
signature_write(const struct signature *s, char ret_input[SIGNATURE_INPUT_SIZE],
    char ret_value[SIGNATURE_VALUE_SIZE])
{
	char text[SIGN_BASE64_SIZE(SIGN_SIZE)];

	(void)snprintf(ret_input, SIGNATURE_INPUT_SIZE, LABEL "%s", s->params);
	sign_base64_write(s->value, sizeof(s->value), text, sizeof(text));
	(void)snprintf(ret_value, SIGNATURE_VALUE_SIZE, LABEL ":%s:", text);
}

void
signature_digest_write(
    const uint8_t hash[SIGN_SHA256_SIZE], char ret[SIGNATURE_DIGEST_SIZE])
{
	char text[SIGN_BASE64_SIZE(SIGN_SHA256_SIZE)];

	sign_base64_write(hash, SIGN_SHA256_SIZE, text, sizeof(text));
	(void)snprintf(ret, SIGNATURE_DIGEST_SIZE, DIGEST "%s:", text);
}

bool
signature_digest_read(const char *value, uint8_t ret_hash[SIGN_SHA256_SIZE])
{
	const size_t n = SIGN_BASE64_SIZE(SIGN_SHA256_SIZE) - 1;
	uint8_t hash[SIGN_SHA256_SIZE];

	if (value == NULL || !take(&value, DIGEST) || strlen(value) != n + 1 ||
	    value[n] != ':' || !sign_base64_read(value, n, hash, sizeof(hash)))
		return (false);
	memcpy(ret_hash, hash, sizeof(hash));
	return (true);
}
