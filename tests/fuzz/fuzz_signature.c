/* SPDX-License-Identifier: MIT */
/*
 * Reads the headers of a signed request between servers and compares the result
 * with a slow reader, written from the profile in docs/federation.md.  An input
 * has four lines: Signature-Input, Signature, Content-Digest, and the value of
 * a covered header.  If the first line begins with ";", the label and the
 * components are put before it, so that the fuzzer reaches the parameters
 * quickly.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "federation/signature.h"
#include "fuzz/fuzz.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define DIGITS "0123456789"
#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#define LINES 4

static const uint8_t seed[SIGN_SEED_SIZE] = {4, 7, 1, 1};
static uint8_t public[SIGN_PUBLIC_SIZE];
static char front[256];

static const char *const components[] = {"@method", "@authority", "@path",
    "content-digest", "content-type", "twinbox-from", "twinbox-to"};

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	size_t i, n;

	(void)argc;
	(void)argv;
	sign_public(seed, public);
	n = (size_t)snprintf(front, sizeof(front), "tb=(");
	for (i = 0; i < COUNT(components); i++)
		n += (size_t)snprintf(front + n, sizeof(front) - n, "%s\"%s\"",
		    i == 0 ? "" : " ", components[i]);
	n += (size_t)snprintf(front + n, sizeof(front) - n, ")");
	MUST(n < sizeof(front));
	return (0);
}

/* ---- the slow reader ---- */

/* Returns true if ${s} is the base64 of ${size} bytes and nothing else.  It
 * decodes bit by bit. */
static bool
base64_reference(const char *s, size_t n, uint8_t *ret, size_t size)
{
	static const char alphabet[] = LETTERS DIGITS "+/";
	const size_t bits = 8 * size;
	const char *found;
	size_t at, bit;

	memset(ret, 0, size);
	for (at = 0, bit = 0; bit < bits; at++) {
		if (at == n || s[at] == '\0' ||
		    (found = strchr(alphabet, s[at])) == NULL)
			return (false);
		for (int k = 5; k >= 0; k--, bit++) {
			if (((found - alphabet) >> k & 1) == 0)
				continue;
			if (bit >= bits)
				return (false);
			ret[bit / 8] |= (uint8_t)(1 << (7 - bit % 8));
		}
	}
	for (; at % 4 != 0; at++)
		if (at == n || s[at] != '=')
			return (false);
	return (at == n);
}

/* Returns true if ${s} is ${before}, ${size} bytes in base64, and a colon. */
static bool
bytes_reference(const char *s, const char *before, uint8_t *ret, size_t size)
{
	const size_t n = strlen(s), k = strlen(before);

	return (n > k && memcmp(s, before, k) == 0 && s[n - 1] == ':' &&
		base64_reference(s + k, n - k - 1, ret, size));
}

/* Reads a number of up to ten digits, from its last digit to its first. */
static bool
number_reference(const char *s, int64_t *ret)
{
	const size_t n = strlen(s);
	int64_t factor = 1;
	size_t i;

	*ret = 0;
	if (n == 0 || n > 10 || strspn(s, DIGITS) != n ||
	    (n > 1 && s[0] == '0'))
		return (false);
	for (i = n; i > 0; i--, factor *= 10)
		*ret += (s[i - 1] - '0') * factor;
	return (true);
}

static bool
word_reference(const char *s, size_t least, size_t most, char *ret)
{
	const size_t n = strlen(s);

	if (n < 2 || s[0] != '"' || s[n - 1] != '"' || n - 2 < least ||
	    n - 2 > most || strspn(s + 1, LETTERS DIGITS "-_") != n - 2)
		return (false);
	memcpy(ret, s + 1, n - 2);
	ret[n - 2] = '\0';
	return (true);
}

static bool
param_reference(const char *name, const char *value, struct signature *s)
{

	if (strcmp(name, "created") == 0)
		return (number_reference(value, &s->created_s));
	if (strcmp(name, "expires") == 0)
		return (number_reference(value, &s->expires_s));
	if (strcmp(name, "nonce") == 0)
		return (word_reference(value, 16, 64, s->nonce));
	if (strcmp(name, "keyid") == 0)
		return (word_reference(value, 1, 64, s->key_id));
	if (strcmp(name, "alg") == 0)
		return (strcmp(value, "\"ed25519\"") == 0);
	return (
	    strcmp(name, "tag") == 0 && strcmp(value, "\"twinbox-1\"") == 0);
}

/* Splits at each ";" and "=".  This is enough, because no value of the profile
 * contains them. */
static bool
params_reference(char *s, struct signature *ret)
{
	char *names[6], *next, *value;
	int n, k;

	if (*s != ';')
		return (false);
	for (n = 0, s++; s != NULL; n++, s = next) {
		if (n == 6)
			return (false);
		if ((next = strchr(s, ';')) != NULL)
			*next++ = '\0';
		if ((value = strchr(s, '=')) == NULL)
			return (false);
		*value++ = '\0';
		for (k = 0; k < n; k++)
			if (strcmp(names[k], s) == 0)
				return (false);
		names[n] = s;
		if (!param_reference(s, value, ret))
			return (false);
	}
	return (n == 6 && ret->expires_s > ret->created_s &&
		ret->expires_s <= ret->created_s + 300);
}

static enum signature_fault
reference(const char *input, const char *value, struct signature *ret)
{
	const size_t k = strlen(front);
	char copy[513];

	memset(ret, 0, sizeof(*ret));
	if (strlen(input) > 512 || strncmp(input, "tb=", 3) != 0)
		return (SIGNATURE_MALFORMED);
	if (strncmp(input, front, k) != 0)
		return (SIGNATURE_COMPONENTS);
	if (!bytes_reference(value, "tb=:", ret->value, sizeof(ret->value)))
		return (SIGNATURE_MALFORMED);
	(void)snprintf(ret->params, sizeof(ret->params), "%s", input + 3);
	(void)snprintf(copy, sizeof(copy), "%s", input + k);
	return (params_reference(copy, ret) ? SIGNATURE_GOOD
					    : SIGNATURE_PARAMETERS);
}

/* ---- claims ---- */

static void
check_times(const struct signature *s)
{
	const int64_t first = s->created_s - 300, end = s->expires_s + 300;

	MUST(signature_timely(s, first - 1) == SIGNATURE_EARLY);
	MUST(signature_timely(s, first) == SIGNATURE_GOOD);
	MUST(signature_timely(s, end - 1) == SIGNATURE_GOOD);
	MUST(signature_timely(s, end) == SIGNATURE_EXPIRED);
}

/* A signature that was read can be written, and is read again as the same. */
static void
check_written(
    const struct signature *s, const struct signature_covered *covered)
{
	char input[SIGNATURE_INPUT_SIZE], value[SIGNATURE_VALUE_SIZE];
	struct signature made = *s, again;

	MUST(signature_make(&made, covered, seed));
	signature_write(&made, input, value);
	MUST(signature_read(input, value, &again) == SIGNATURE_GOOD);
	MUST(again.created_s == s->created_s);
	MUST(again.expires_s == s->expires_s);
	MUST(strcmp(again.nonce, s->nonce) == 0);
	MUST(strcmp(again.key_id, s->key_id) == 0);
	MUST(signature_verify(&again, covered, public) == SIGNATURE_GOOD);
	again.value[s->nonce[0] % SIGN_SIZE] ^= 1;
	MUST(signature_verify(&again, covered, public) == SIGNATURE_WRONG);
}

/* The signature base has eight lines, and each value stands on its own line: a
 * covered value cannot add a line. */
static void
check_base(const char *value, const char *params)
{
	const struct signature_covered covered = {.method = "POST",
	    .authority = "b.example",
	    .path = "/",
	    .content_digest = "x",
	    .content_type = value,
	    .from = "a.example",
	    .to = "b.example"};
	char base[SIGNATURE_BASE_MAX + 1];
	const char *line = base;
	size_t i, n, lines;

	n = signature_base(&covered, params, base);
	for (i = 0, lines = 1; i < n; i++) {
		MUST((base[i] >= ' ' && base[i] <= '~') || base[i] == '\n');
		lines += base[i] == '\n';
	}
	if (n == 0)
		return;
	MUST(lines == 8 && strlen(base) == n);
	for (i = 0; i < 4; i++)
		line = strchr(line, '\n') + 1;
	MUST(strncmp(line, "\"content-type\": ", 16) == 0);
	MUST(strncmp(line + 16, value, strlen(value)) == 0);
	MUST(line[16 + strlen(value)] == '\n');
}

static void
check_input(const char *input, const char *value)
{
	static const struct signature_covered covered = {.method = "POST",
	    .authority = "b.example",
	    .path = "/v1/federation/deliver",
	    .content_digest = "x",
	    .content_type = "application/json",
	    .from = "a.example",
	    .to = "b.example"};
	struct signature want, got;

	MUST(signature_read(input, value, &got) ==
	     reference(input, value, &want));
	if (signature_read(input, value, &got) != SIGNATURE_GOOD)
		return;
	MUST(got.created_s == want.created_s);
	MUST(got.expires_s == want.expires_s);
	MUST(strcmp(got.nonce, want.nonce) == 0);
	MUST(strcmp(got.key_id, want.key_id) == 0);
	MUST(memcmp(got.value, want.value, sizeof(got.value)) == 0);
	MUST(strcmp(got.params, want.params) == 0);
	check_times(&got);
	check_written(&got, &covered);
}

static void
check_digest(const char *digest)
{
	uint8_t want[SIGN_SHA256_SIZE], got[SIGN_SHA256_SIZE];
	char again[SIGNATURE_DIGEST_SIZE];
	bool ok = bytes_reference(digest, "sha-256=:", want, sizeof(want));

	MUST(signature_digest_read(digest, got) == ok);
	if (!ok)
		return;
	MUST(memcmp(want, got, sizeof(got)) == 0);
	signature_digest_write(got, again);
	MUST(strcmp(digest, again) == 0);
}

/* Returns ${line}, behind the label and the components if it begins with ";".
 * The caller frees it. */
static char *
whole_input(const char *line)
{
	const size_t n = strlen(front) + strlen(line) + 1;
	char *ret = malloc(n);

	MUST(ret != NULL);
	(void)snprintf(ret, n, "%s%s", *line == ';' ? front : "", line);
	return (ret);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *lines[LINES], *input;
	const uint8_t *line;
	size_t i, n;

	for (i = 0; i < LINES; i++) {
		line = fuzz_line(&data, &size, &n);
		lines[i] = fuzz_copy(line, n);
	}
	input = whole_input(lines[0]);
	check_input(input, lines[1]);
	check_digest(lines[2]);
	check_base(lines[3], input);
	for (i = 0; i < LINES; i++)
		free(lines[i]);
	free(input);
	return (0);
}
