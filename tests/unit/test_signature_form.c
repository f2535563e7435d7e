/* SPDX-License-Identifier: MIT */
/*
 * The form of Signature-Input, Signature and Content-Digest: each way in which
 * they can differ from the profile of docs/federation.md, and the fault for it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "signature_fixture.h"

/* ---- the form of Signature-Input ---- */

#define C SIGNATURE_COMPONENTS
#define M SIGNATURE_MALFORMED
#define P SIGNATURE_PARAMETERS

/* ${change} replaces ${part} of INPUT. */
static const struct change {
	const char *part, *change;
	enum signature_fault want;
} changes[] = {
    /* the label */
    {"tb=", "", M},
    {"tb=", "sig1=", M},
    {"tb=", "TB=", M},
    {"tb=", "tbx=", M},
    {"tb=", " tb=", M},
    {"tb=", "tb =", M},
    {"tb=", "x=(), tb=", M},
    {INPUT, "", M},
    {INPUT, "tb", M},
    /* the components: missing, more, another order, parameters */
    {INPUT, "tb=", C},
    {INPUT, "tb=?1", C},
    {"tb=", "tb= ", C},
    {COMPONENTS, "", C},
    {COMPONENTS, "()", C},
    {"\"@method\" ", "", C},
    {"\"@authority\" ", "", C},
    {"\"@path\" ", "", C},
    {"\"content-digest\" ", "", C},
    {"\"content-type\" ", "", C},
    {"\"twinbox-from\" ", "", C},
    {" \"twinbox-to\"", "", C},
    {"\"twinbox-to\"", "\"twinbox-to\" \"date\"", C},
    {"\"twinbox-to\"", "\"twinbox-to\" \"twinbox-to\"", C},
    {"\"@method\"", "\"@query\" \"@method\"", C},
    {"\"@path\"", "\"@path\" \"@query\"", C},
    {"\"@path\"", "\"@target-uri\"", C},
    {"\"@authority\" \"@path\"", "\"@path\" \"@authority\"", C},
    {"\"twinbox-from\" \"twinbox-to\"", "\"twinbox-to\" \"twinbox-from\"", C},
    {"\"content-digest\"", "\"Content-Digest\"", C},
    {"\"content-digest\"", "\"content-digest\";sf", C},
    {"\"content-digest\"", "\"content-digest\";req", C},
    {"\"@method\"", "\"@method\";req", C},
    {"\"@method\" ", "\"@method\"  ", C},
    {"\"@method\" ", "\"@method\"\t", C},
    {"(", "( ", C},
    {")", " )", C},
    {")", "", C},
    {"\"@method\"", "@method", C},
    /* the parameters: missing, twice, more, unknown */
    {PARAMETERS, "", P},
    {";created=1700000000", "", P},
    {";expires=1700000300", "", P},
    {";nonce=\"x8Jq3kP0vT2mW5yZ\"", "", P},
    {";keyid=\"k7f3a9c2\"", "", P},
    {";alg=\"ed25519\"", "", P},
    {";tag=\"twinbox-1\"", "", P},
    {";created=1700000000", ";created=1700000000;created=1700000000", P},
    {";alg=\"ed25519\"", ";alg=\"ed25519\";alg=\"ed25519\"", P},
    {";tag=\"twinbox-1\"", ";alg=\"ed25519\"", P},
    {";tag=\"twinbox-1\"", ";tag=\"twinbox-1\";tag=\"twinbox-1\"", P},
    {";tag=\"twinbox-1\"", ";tag=\"twinbox-1\";x=1", P},
    {";tag=\"twinbox-1\"", ";tag=\"twinbox-1\";x", P},
    {";tag=\"twinbox-1\"", ";tag=\"twinbox-1\";", P},
    {";tag=\"twinbox-1\"", ";x=1;tag=\"twinbox-1\"", P},
    {";created=", ";Created=", P},
    {";created=", ";createdx=", P},
    {";created=", ";create=", P},
    {";created=1700000000", ";created", P},
    {";keyid=\"k7f3a9c2\"", ";keyid", P},
    {";keyid=", ";key=", P},
    {";created=", ";;created=", P},
    {";created=", "created=", P},
    {";created=", ",created=", P},
    /* optional whitespace, and text at the end */
    {";created", "; created", P},
    {";created", " ;created", P},
    {"created=", "created =", P},
    {"created=", "created= ", P},
    {"\"twinbox-1\"", "\"twinbox-1\" ", P},
    {"\"twinbox-1\"", "\"twinbox-1\"\t", P},
    {"\"twinbox-1\"", "\"twinbox-1\"x", P},
    {"\"twinbox-1\"", "\"twinbox-1\", x=()", P},
    {"\"twinbox-1\"", "\"twinbox-1\"," INPUT, P},
    /* the times */
    {"created=1700000000", "created=01700000000", P},
    {"created=1700000000", "created=00", P},
    {"created=1700000000;expires=1700000300",
	"created=0170000000;expires=170000300", P},
    {"created=1700000000;expires=1700000300",
	"created=170000000;expires=0170000300", P},
    {"created=1700000000", "created=+1700000000", P},
    {"created=1700000000", "created=-1700000000", P},
    {"created=1700000000", "created=", P},
    {"created=1700000000", "created=1700000000.0", P},
    {"created=1700000000", "created=1.7e9", P},
    {"created=1700000000", "created=0x6553f100", P},
    {"created=1700000000", "created=\"1700000000\"", P},
    {"created=1700000000", "created=@1700000000", P},
    {"created=1700000000", "created=1700000000a", P},
    {"created=1700000000", "created=17000000000", P},
    {"created=1700000000", "created=18446744075409551616", P},
    {"created=1700000000", "created=170000000000000000000000000000000000000000",
	P},
    {"expires=1700000300", "expires=1700000301", P},
    {"expires=1700000300", "expires=1700000000", P},
    {"expires=1700000300", "expires=1699999999", P},
    {"expires=1700000300", "expires=0", P},
    {"expires=1700000300", "expires=9999999999", P},
    {"expires=1700000300", "expires=99999999999", P},
    {"expires=1700000300", "expires=9223372036854775807", P},
    {"expires=1700000300", "expires=18446744073709551915", P},
    /* nonce and key id */
    {"\"x8Jq3kP0vT2mW5yZ\"", "\"\"", P},
    {"\"x8Jq3kP0vT2mW5yZ\"", "\"x8Jq3kP0vT2mW5y\"", P},
    {"\"x8Jq3kP0vT2mW5yZ\"", "\"" WORD64 "x\"", P},
    {"\"x8Jq3kP0vT2mW5yZ\"", "x8Jq3kP0vT2mW5yZ", P},
    {"\"x8Jq3kP0vT2mW5yZ\"", ":x8Jq3kP0vT2mW5yZ:", P},
    {"\"x8Jq3kP0vT2mW5yZ\"", "\"x8Jq3kP0vT2mW5yZ", P},
    {"\"x8Jq3kP0vT2mW5yZ\"", "\"x8Jq3kP0vT2mW5y+\"", P},
    {"\"x8Jq3kP0vT2mW5yZ\"", "\"x8Jq3kP0vT2mW5y/\"", P},
    {"\"x8Jq3kP0vT2mW5yZ\"", "\"x8Jq3kP0vT2mW5y=\"", P},
    {"\"x8Jq3kP0vT2mW5yZ\"", "\"x8Jq3kP0vT2mW5y \"", P},
    {"\"x8Jq3kP0vT2mW5yZ\"", "\"x8Jq3kP0vT2mW5y.\"", P},
    {"\"x8Jq3kP0vT2mW5yZ\"", "\"x8Jq3kP0vT2mW5y\\\"\"", P},
    {"\"x8Jq3kP0vT2mW5yZ\"", "\"x8Jq3kP0vT2mW5y\\\\\"", P},
    {"\"x8Jq3kP0vT2mW5yZ\"", "\"x8Jq3kP0vT2mW5y\xc3\xa9\"", P},
    {"\"x8Jq3kP0vT2mW5yZ\"", "\"x8Jq3kP0vT2mW5y\n\"", P},
    {"\"k7f3a9c2\"", "\"\"", P},
    {"\"k7f3a9c2\"", "\"" WORD64 "x\"", P},
    {"\"k7f3a9c2\"", "k7f3a9c2", P},
    {"\"k7f3a9c2\"", "'k7f3a9c2'", P},
    {"\"k7f3a9c2\"", "\"k7f3.9c2\"", P},
    {"\"k7f3a9c2\"", "\"k7f3 9c2\"", P},
    {"\"k7f3a9c2\"", "\"k7f3%39c2\"", P},
    /* alg and tag */
    {"\"ed25519\"", "\"Ed25519\"", P},
    {"\"ed25519\"", "\"ed2551\"", P},
    {"\"ed25519\"", "\"ed255190\"", P},
    {"\"ed25519\"", "\"ed25519-and-some-more\"", P},
    {"\"ed25519\"", "\"\"", P},
    {"\"ed25519\"", "ed25519", P},
    {"\"ed25519\"", "\"hmac-sha256\"", P},
    {"\"ed25519\"", "\"twinbox-1\"", P},
    {"\"twinbox-1\"", "\"twinbox-2\"", P},
    {"\"twinbox-1\"", "\"twinbox-10\"", P},
    {"\"twinbox-1\"", "\"twinbox-\"", P},
    {"\"twinbox-1\"", "\"Twinbox-1\"", P},
    {"\"twinbox-1\"", "\"twinbox-1", P},
};

/* Writes INPUT to ${ret}, with ${change} in place of ${part}. */
static void
put(const char *part, const char *change, char *ret, size_t size)
{
	const char *at = strstr(INPUT, part);

	assert_non_null(at);
	assert_true((size_t)snprintf(ret, size, "%.*s%s%s", (int)(at - INPUT),
			INPUT, change, at + strlen(part)) < size);
}

static void
assert_untouched(const struct signature *s)
{
	size_t i;

	for (i = 0; i < sizeof(*s); i++)
		assert_int_equal(0x5a, ((const unsigned char *)s)[i]);
}

static void
test_input(void **state)
{
	char input[1024];
	struct signature read;
	struct request r;
	size_t i;

	(void)state;
	request_make(&r);
	for (i = 0; i < COUNT(changes); i++) {
		put(changes[i].part, changes[i].change, input, sizeof(input));
		memset(&read, 0x5a, sizeof(read));
		assert_fault(changes[i].want,
		    signature_read(input, r.value, &read), input);
		assert_untouched(&read);
	}
}

/* A Signature-Input that is cut off at any byte is refused, and so is one with
 * another character in place of any byte. */
static void
test_input_bytes(void **state)
{
	char input[SIGNATURE_INPUT_SIZE];
	struct signature read;
	struct request r;
	size_t i;

	(void)state;
	request_make(&r);
	for (i = 0; i < strlen(INPUT); i++) {
		memcpy(input, INPUT, sizeof(INPUT));
		input[i] = '\0';
		assert_int_not_equal(
		    SIGNATURE_GOOD, signature_read(input, r.value, &read));
		input[i] = '\x01';
		assert_int_not_equal(
		    SIGNATURE_GOOD, signature_read(input, r.value, &read));
	}
}

static void
test_missing(void **state)
{
	struct signature read;
	struct request r;

	(void)state;
	request_make(&r);
	assert_int_equal(
	    SIGNATURE_MISSING, signature_read(NULL, r.value, &read));
	assert_int_equal(
	    SIGNATURE_MISSING, signature_read(r.input, NULL, &read));
	assert_int_equal(SIGNATURE_MISSING, signature_read(NULL, NULL, &read));
}

/* The longest input is accepted; with a byte more it is not parsed. */
static void
test_input_length(void **state)
{
	char input[2 * SIGNATURE_INPUT_MAX];
	struct signature read;
	struct request r;

	(void)state;
	request_make(&r);
	memset(input, 'x', sizeof(input));
	memcpy(input, INPUT, sizeof(INPUT) - 1);
	input[SIGNATURE_INPUT_MAX] = '\0';
	assert_int_equal(
	    SIGNATURE_PARAMETERS, signature_read(input, r.value, &read));
	input[SIGNATURE_INPUT_MAX] = 'x';
	input[SIGNATURE_INPUT_MAX + 1] = '\0';
	assert_int_equal(
	    SIGNATURE_MALFORMED, signature_read(input, r.value, &read));
}

/* ---- the form of Signature ---- */

/* 84 characters, which stand for 63 bytes. */
#define MOST                                                                   \
	"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"         \
	"AAAAAAAAAAAAAAAAAAAAAAAA"

static const char *const values[] = {
    "",
    "tb",
    "tb=",
    "tb=:",
    "tb=::",
    "tb=" MOST "AA==",
    "tb=\"" MOST "AA==\"",
    "tb=:" MOST "AA==",
    "tb=:" MOST "AA=:",
    "tb=:" MOST "AA:",
    "tb=:" MOST "AA===:",
    "tb=:" MOST "AAA=:", /* 65 bytes */
    "tb=:" MOST "AAAA:", /* 66 */
    "tb=:" MOST ":",     /* 63 */
    "tb=:" MOST "A===:",
    "tb=:" MOST "AB==:", /* bits left over that are not 0 */
    "tb=:" MOST "Af==:",
    "tb=:-" MOST "A==:", /* the alphabet of URLs */
    "tb=:_" MOST "A==:",
    "tb=: " MOST "A==:",
    "tb=:" MOST "A ==:",
    "tb=:" MOST "AA==: ",
    "tb=:" MOST "AA==:;x=1",
    "tb= :" MOST "AA==:",
    " tb=:" MOST "AA==:",
    "TB=:" MOST "AA==:",
    "sig1=:" MOST "AA==:",
    "tb=:" MOST "AA==:, sig1=:" MOST "AA==:",
    "sig1=:" MOST "AA==:, tb=:" MOST "AA==:",
    "tb=:" MOST "AA==:, tb=:" MOST "AA==:",
};

static void
test_value(void **state)
{
	struct signature read;
	size_t i;

	(void)state;
	assert_int_equal(
	    SIGNATURE_GOOD, signature_read(INPUT, "tb=:" MOST "AA==:", &read));
	for (i = 0; i < COUNT(values); i++) {
		memset(&read, 0x5a, sizeof(read));
		assert_fault(SIGNATURE_MALFORMED,
		    signature_read(INPUT, values[i], &read), values[i]);
		assert_untouched(&read);
	}
}

/* ---- Content-Digest ---- */

static const char *const digests[] = {
    "",
    "sha-256",
    "sha-256=",
    "sha-256=::",
    "sha-256=" EMPTY,
    "sha-256=\"" EMPTY "\"",
    "sha-256=:" EMPTY,
    "sha-256=:" EMPTY ": ",
    " sha-256=:" EMPTY ":",
    "sha-256 =:" EMPTY ":",
    "sha-256= :" EMPTY ":",
    "sha-256=:" EMPTY ":;x",
    "SHA-256=:" EMPTY ":",
    "sha-512=:" EMPTY ":",
    "sha-256=:" EMPTY ":, sha-512=:" EMPTY ":",
    "sha-256=:" EMPTY ":, sha-256=:" EMPTY ":",
    "sha-512=:" EMPTY ":, sha-256=:" EMPTY ":",
    "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU:",
    "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFV=:",
    "sha-256=:47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU=:",
    "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hS:",
    "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFUA:",
    "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuA==:",
};

static void
test_digest(void **state)
{
	uint8_t hash[SIGN_SHA256_SIZE], read[SIGN_SHA256_SIZE];
	char text[SIGNATURE_DIGEST_SIZE];
	struct sign_sha256 h;
	size_t i;

	(void)state;
	sign_sha256_init(&h);
	sign_sha256_final(&h, hash);
	signature_digest_write(hash, text);
	assert_string_equal("sha-256=:" EMPTY ":", text);
	assert_true(signature_digest_read(text, read));
	assert_memory_equal(hash, read, sizeof(read));
	memset(hash, 0x5a, sizeof(hash));
	assert_false(signature_digest_read(NULL, read));
	for (i = 0; i < COUNT(digests); i++) {
		memset(read, 0x5a, sizeof(read));
		if (signature_digest_read(digests[i], read))
			fail_msg("%s", digests[i]);
		assert_memory_equal(hash, read, sizeof(read));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_input),
	    cmocka_unit_test(test_input_bytes),
	    cmocka_unit_test(test_missing),
	    cmocka_unit_test(test_input_length),
	    cmocka_unit_test(test_value),
	    cmocka_unit_test(test_digest),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
