/* SPDX-License-Identifier: MIT */
/*
 * The bytes that a signature covers: each way in which a request can differ
 * from the signed one; times at both edges; and the parts of a request that are
 * not signed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "signature_fixture.h"

static void
test_round(void **state)
{
	struct signature read;
	struct request r;

	(void)state;
	request_make(&r);
	assert_string_equal(INPUT, r.input);
	assert_int_equal(
	    SIGNATURE_GOOD, signature_read(r.input, r.value, &read));
	assert_int_equal(CREATED, read.created_s);
	assert_int_equal(CREATED + 300, read.expires_s);
	assert_string_equal("x8Jq3kP0vT2mW5yZ", read.nonce);
	assert_string_equal("k7f3a9c2", read.key_id);
	assert_string_equal(COMPONENTS PARAMETERS, read.params);
	assert_memory_equal(r.s.value, read.value, sizeof(read.value));
	assert_int_equal(SIGNATURE_GOOD,
	    signature_verify(&read, &request_covered, r.public));
}

static void
test_base(void **state)
{
	static const char want[] =
	    "\"@method\": POST\n"
	    "\"@authority\": b.example\n"
	    "\"@path\": /v1/federation/deliver\n"
	    "\"content-digest\": "
	    "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:\n"
	    "\"content-type\": application/json\n"
	    "\"twinbox-from\": a.example\n"
	    "\"twinbox-to\": b.example\n"
	    "\"@signature-params\": " COMPONENTS PARAMETERS;
	char base[SIGNATURE_BASE_MAX + 1];

	(void)state;
	assert_int_equal(strlen(want),
	    signature_base(&request_covered, COMPONENTS PARAMETERS, base));
	assert_string_equal(want, base);
}

/* ---- covered values ---- */

static void
assert_other(const struct request *r, const struct signature_covered *other)
{

	assert_fault(SIGNATURE_WRONG, signature_verify(&r->s, other, r->public),
	    other->path);
}

static void
test_covered(void **state)
{
	static const struct {
		size_t member;
		const char *value;
	} rows[] = {
#define M(name) offsetof(struct signature_covered, name)
	    {M(method), "GET"},
	    {M(method), "PUT"},
	    {M(method), "post"},
	    {M(authority), "c.example"},
	    {M(authority), "B.example"},
	    {M(authority), "b.example:443"},
	    {M(authority), "b.example:8443"},
	    {M(authority), "b.example."},
	    {M(path), "/v1/federation/deliver?"},
	    {M(path), "/v1/federation/deliver?x=1"},
	    {M(path), "/v1/federation/deliver#x"},
	    {M(path), "/v1/federation/deliver/"},
	    {M(path), "/v1/federation/Deliver"},
	    {M(path), "/v1/federation/%64eliver"},
	    {M(path), "//v1/federation/deliver"},
	    {M(content_digest),
		"sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:"},
	    {M(content_digest),
		"sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=: "},
	    {M(content_type), "application/json; charset=utf-8"},
	    {M(content_type), "Application/json"},
	    {M(content_type), "text/plain"},
	    {M(from), "c.example"},
	    {M(from), "A.example"},
	    {M(from), "b.example"},
	    {M(to), "c.example"},
	    {M(to), "a.example"},
#undef M
	};
	struct signature_covered other;
	struct request r;
	size_t i;

	(void)state;
	request_make(&r);
	for (i = 0; i < COUNT(rows); i++) {
		other = request_covered;
		memcpy((char *)&other + rows[i].member, &rows[i].value,
		    sizeof(rows[i].value));
		assert_fault(SIGNATURE_WRONG,
		    signature_verify(&r.s, &other, r.public), rows[i].value);
	}
	other = request_covered;
	other.from = request_covered.to;
	other.to = request_covered.from;
	assert_other(&r, &other);
}

/* A text that could be parsed in two ways is neither signed nor verified. */
static void
test_covered_form(void **state)
{
	static const char *const values[] = {NULL, "", " ", " x", "x ", "x\n",
	    "\nx", "x\ny", "x\r\ny", "x\ty", "x\x7f", "x\x80", "\xc3\xa9",
	    "a.example\n\"twinbox-to\": c.example"};
	char base[SIGNATURE_BASE_MAX + 1];
	struct signature_covered other;
	struct request r;
	size_t i, k, n = sizeof(other) / sizeof(const char *);

	(void)state;
	request_make(&r);
	for (i = 0; i < COUNT(values); i++) {
		for (k = 0; k < n; k++) {
			other = request_covered;
			memcpy((char *)&other + k * sizeof(const char *),
			    &values[i], sizeof(values[i]));
			assert_int_equal(
			    0, signature_base(&other, r.s.params, base));
			assert_false(
			    signature_make(&r.s, &other, request_seed));
			assert_other(&r, &other);
		}
		assert_int_equal(
		    0, signature_base(&request_covered, values[i], base));
	}
}

static void
test_long(void **state)
{
	char base[SIGNATURE_BASE_MAX + 1], path[SIGNATURE_BASE_MAX + 1];
	struct signature_covered other = request_covered;
	struct request r;
	size_t room;

	(void)state;
	request_make(&r);
	room = SIGNATURE_BASE_MAX -
	       signature_base(&request_covered, r.s.params, base) +
	       strlen(request_covered.path);
	memset(path, 'x', room + 1);
	other.path = path;
	path[room + 1] = '\0';
	assert_int_equal(0, signature_base(&other, r.s.params, base));
	assert_false(signature_make(&r.s, &other, request_seed));
	assert_other(&r, &other);
	path[room] = '\0';
	assert_int_equal(
	    SIGNATURE_BASE_MAX, signature_base(&other, r.s.params, base));
	assert_int_equal(SIGNATURE_BASE_MAX, strlen(base));
	assert_true(signature_make(&r.s, &other, request_seed));
	assert_int_equal(
	    SIGNATURE_GOOD, signature_verify(&r.s, &other, r.public));
}

static void
test_other_key(void **state)
{
	static const uint8_t other_seed[SIGN_SEED_SIZE] = {1, 2, 4};
	static const uint8_t zero[SIGN_PUBLIC_SIZE];
	uint8_t public[SIGN_PUBLIC_SIZE];
	struct request r;
	size_t i;

	(void)state;
	request_make(&r);
	sign_public(other_seed, public);
	assert_int_equal(
	    SIGNATURE_WRONG, signature_verify(&r.s, &request_covered, public));
	assert_int_equal(
	    SIGNATURE_WRONG, signature_verify(&r.s, &request_covered, zero));
	for (i = 0; i < SIGN_SIZE; i++) {
		r.s.value[i] ^= 1;
		assert_int_equal(SIGNATURE_WRONG,
		    signature_verify(&r.s, &request_covered, r.public));
		r.s.value[i] ^= 1;
	}
}

/* ---- accepted forms ---- */

#define N ";nonce=\"x8Jq3kP0vT2mW5yZ\""
#define K ";keyid=\"k7f3a9c2\""
#define A ";alg=\"ed25519\""
#define T ";tag=\"twinbox-1\""

static const char *const taken[] = {
    /* any order */
    ";expires=1700000300;created=1700000000" N K A T,
    T A K N ";expires=1700000300;created=1700000000",
    K ";created=1700000000" A N T ";expires=1700000300",
    /* times: short ones, and the largest of ten digits */
    ";created=1700000000;expires=1700000001" N K A T,
    ";created=0;expires=1" N K A T,
    ";created=0;expires=300" N K A T,
    ";created=9999999699;expires=9999999999" N K A T,
    /* the shortest and the longest words, and all of their characters */
    ";created=1700000000;expires=1700000300;nonce=\"" WORD16 "\"" K A T,
    ";created=1700000000;expires=1700000300;nonce=\"" WORD64 "\"" K A T,
    ";created=1700000000;expires=1700000300" N ";keyid=\"k\"" A T,
    ";created=1700000000;expires=1700000300" N ";keyid=\"" WORD64 "\"" A T,
    ";created=1700000000;expires=1700000300;nonce="
    "\"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_\"" K A
	T,
};

static void
test_taken(void **state)
{
	char base[SIGNATURE_BASE_MAX + 1], params[SIGNATURE_PARAMS_MAX + 1];
	char input[SIGNATURE_INPUT_SIZE], value[SIGNATURE_VALUE_SIZE];
	struct signature read;
	struct request r;
	size_t i, n;

	(void)state;
	request_make(&r);
	for (i = 0; i < COUNT(taken); i++) {
		(void)snprintf(
		    params, sizeof(params), COMPONENTS "%s", taken[i]);
		n = signature_base(&request_covered, params, base);
		sign_make(request_seed, base, n, r.s.value);
		memcpy(r.s.params, params, sizeof(params));
		signature_write(&r.s, input, value);
		assert_fault(SIGNATURE_GOOD,
		    signature_read(input, value, &read), taken[i]);
		assert_fault(SIGNATURE_GOOD,
		    signature_verify(&read, &request_covered, r.public),
		    taken[i]);
	}
}

/* The signature covers the order of the parameters. */
static void
test_order_signed(void **state)
{
	char input[SIGNATURE_INPUT_SIZE];
	struct signature read;
	struct request r;

	(void)state;
	request_make(&r);
	(void)snprintf(input, sizeof(input), "tb=" COMPONENTS "%s", taken[0]);
	assert_int_equal(SIGNATURE_GOOD, signature_read(input, r.value, &read));
	assert_int_equal(SIGNATURE_WRONG,
	    signature_verify(&read, &request_covered, r.public));
}

/* ---- times ---- */

static void
test_timely(void **state)
{
	static const struct {
		int64_t now_s;
		enum signature_fault want;
	} rows[] = {
	    {INT64_MIN, SIGNATURE_EARLY},
	    {-1, SIGNATURE_EARLY},
	    {0, SIGNATURE_EARLY},
	    {CREATED - 301, SIGNATURE_EARLY},
	    {CREATED - 300, SIGNATURE_GOOD},
	    {CREATED, SIGNATURE_GOOD},
	    {CREATED + 300, SIGNATURE_GOOD},
	    {CREATED + 599, SIGNATURE_GOOD},
	    {CREATED + 600, SIGNATURE_EXPIRED},
	    {CREATED + 601, SIGNATURE_EXPIRED},
	    {INT64_MAX, SIGNATURE_EXPIRED},
	};
	struct request r;
	size_t i;

	(void)state;
	request_make(&r);
	for (i = 0; i < COUNT(rows); i++)
		assert_int_equal(
		    rows[i].want, signature_timely(&r.s, rows[i].now_s));
}

/* ---- writing ---- */

/* A signature that a receiver would refuse is not made. */
static void
test_make(void **state)
{
	static const struct {
		int64_t created_s, expires_s;
		const char *nonce, *key_id;
	} rows[] = {
	    {-1, 299, WORD16, "k"},
	    {INT64_MIN, INT64_MIN + 1, WORD16, "k"},
	    {INT64_MAX - 1, INT64_MAX, WORD16, "k"},
	    {9999999999, 10000000000, WORD16, "k"},
	    {CREATED, CREATED, WORD16, "k"},
	    {CREATED, CREATED - 1, WORD16, "k"},
	    {CREATED, CREATED + 301, WORD16, "k"},
	    {CREATED, CREATED + 300, "", "k"},
	    {CREATED, CREATED + 300, "abcdefghijklmno", "k"},
	    {CREATED, CREATED + 300, "abcdefghijklmno\"", "k"},
	    {CREATED, CREATED + 300, WORD16, ""},
	    {CREATED, CREATED + 300, WORD16, "k\";x=\""},
	};
	struct request r;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(rows); i++) {
		r.s.created_s = rows[i].created_s;
		r.s.expires_s = rows[i].expires_s;
		(void)snprintf(
		    r.s.nonce, sizeof(r.s.nonce), "%s", rows[i].nonce);
		(void)snprintf(
		    r.s.key_id, sizeof(r.s.key_id), "%s", rows[i].key_id);
		assert_false(
		    signature_make(&r.s, &request_covered, request_seed));
	}
}

static void
test_words(void **state)
{
	enum signature_fault i, k;

	(void)state;
	for (i = SIGNATURE_GOOD; i < SIGNATURE_FAULTS; i++) {
		assert_true(strlen(signature_fault_word(i)) > 0);
		for (k = SIGNATURE_GOOD; k < i; k++)
			assert_string_not_equal(
			    signature_fault_word(k), signature_fault_word(i));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_round),
	    cmocka_unit_test(test_base),
	    cmocka_unit_test(test_covered),
	    cmocka_unit_test(test_covered_form),
	    cmocka_unit_test(test_long),
	    cmocka_unit_test(test_other_key),
	    cmocka_unit_test(test_taken),
	    cmocka_unit_test(test_order_signed),
	    cmocka_unit_test(test_timely),
	    cmocka_unit_test(test_make),
	    cmocka_unit_test(test_words),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
