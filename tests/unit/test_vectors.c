/* SPDX-License-Identifier: MIT */
/*
 * The vectors for other implementers (tests/vectors), checked by the code of
 * this server: each request has the fault that its file gives, and the verified
 * signature base is the one in the file.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "federation/signature.h"

/* Not a fault of the signature: the receiver must look up the key. */
#define KEY_UNKNOWN "key-unknown"

static json_t *
load(const char *name)
{
	const char *source = getenv("TWINBOX_SOURCE");
	json_error_t error;
	char path[1024];
	json_t *json;

	(void)snprintf(path, sizeof(path), "%s/tests/vectors/%s",
	    source == NULL ? "." : source, name);
	if ((json = json_load_file(path, 0, &error)) == NULL)
		fail_msg("%s: %s", path, error.text);
	return (json);
}

static const char *
text_of(const json_t *object, const char *member)
{
	const char *text = json_string_value(json_object_get(object, member));

	if (text == NULL)
		fail_msg("there is no \"%s\"", member);
	return (text);
}

/* Reads base64 of any length up to ${size}; returns its length. */
static size_t
bytes_of(const json_t *object, const char *member, uint8_t *ret, size_t size)
{
	const char *text = text_of(object, member);
	const size_t n = strlen(text);
	size_t len;

	for (len = 0; len <= size; len++)
		if (sign_base64_read(text, n, ret, len))
			return (len);
	fail_msg("\"%s\" is not base64", text);
	return (0);
}

/* ---- Ed25519 ---- */

static void
test_ed25519(void **state)
{
	uint8_t public[SIGN_PUBLIC_SIZE], signature[SIGN_SIZE], message[1024];
	json_t *json = load("ed25519.json"), *row;
	size_t i, n, valid = 0;

	(void)state;
	json_array_foreach (json_object_get(json, "vectors"), i, row) {
		assert_int_equal(sizeof(public),
		    bytes_of(row, "public", public, sizeof(public)));
		assert_int_equal(sizeof(signature),
		    bytes_of(row, "signature", signature, sizeof(signature)));
		n = bytes_of(row, "message", message, sizeof(message));
		if (sign_verify(public, message, n, signature) !=
		    json_is_true(json_object_get(row, "valid")))
			fail_msg("%s", text_of(row, "name"));
		valid += json_is_true(json_object_get(row, "valid"));
	}
	assert_int_equal(4, valid);
	assert_true(i > 20);
	json_decref(json);
}

/* ---- requests ---- */

/* Returns the value of the header ${name}; NULL if there is none. */
static const char *
header(const json_t *request, const char *name)
{
	const json_t *head = json_object_get(request, "head");
	const size_t n = strlen(name);
	const char *line;
	size_t i;

	for (i = 1; i < json_array_size(head); i++) {
		line = json_string_value(json_array_get(head, i));
		assert_non_null(line);
		if (strncmp(line, name, n) == 0 && line[n] == ':')
			return (line + n + 2);
	}
	return (NULL);
}

/* Returns the public key of (${domain}, ${id}); false if it is unknown. */
static bool
find_key(const json_t *keys, const char *domain, const char *id,
    uint8_t ret[SIGN_PUBLIC_SIZE])
{
	const json_t *key;
	size_t i;

	json_array_foreach (keys, i, key) {
		if (strcmp(text_of(key, "domain"), domain) != 0 ||
		    strcmp(text_of(key, "id"), id) != 0)
			continue;
		assert_int_equal(SIGN_PUBLIC_SIZE,
		    bytes_of(key, "public", ret, SIGN_PUBLIC_SIZE));
		return (true);
	}
	return (false);
}

static bool
digest_holds(const json_t *request)
{
	uint8_t want[SIGN_SHA256_SIZE], hash[SIGN_SHA256_SIZE];
	const char *body = text_of(request, "body");
	struct sign_sha256 h;

	sign_sha256_init(&h);
	sign_sha256_update(&h, body, strlen(body));
	sign_sha256_final(&h, hash);
	return (
	    signature_digest_read(header(request, "Content-Digest"), want) &&
	    memcmp(want, hash, sizeof(hash)) == 0);
}

/* Returns the verdict of a receiver with ${keys} on ${request}. */
static const char *
judge(const json_t *request, const json_t *keys,
    const struct signature_covered *covered)
{
	char base[SIGNATURE_BASE_MAX + 1];
	uint8_t public[SIGN_PUBLIC_SIZE];
	enum signature_fault fault;
	struct signature s;

	fault = signature_read(header(request, "Signature-Input"),
	    header(request, "Signature"), &s);
	if (fault == SIGNATURE_GOOD)
		fault = signature_timely(
		    &s, json_integer_value(json_object_get(request, "now")));
	if (fault != SIGNATURE_GOOD)
		return (signature_fault_word(fault));
	if (!find_key(keys, covered->from, s.key_id, public))
		return (KEY_UNKNOWN);
	assert_true(signature_base(covered, s.params, base) > 0);
	assert_string_equal(text_of(request, "base"), base);
	fault = signature_verify(&s, covered, public);
	if (fault == SIGNATURE_GOOD && !digest_holds(request))
		fault = SIGNATURE_DIGEST;
	return (signature_fault_word(fault));
}

static void
judge_one(const json_t *request, const json_t *file)
{
	const json_t *receiver = json_object_get(file, "receiver");
	const struct signature_covered covered = {
	    .method = "POST",
	    .authority = text_of(receiver, "authority"),
	    .path = text_of(receiver, "path"),
	    .content_digest = header(request, "Content-Digest"),
	    .content_type = header(request, "Content-Type"),
	    .from = header(request, "Twinbox-From"),
	    .to = header(request, "Twinbox-To"),
	};
	const char *got =
	    judge(request, json_object_get(file, "keys"), &covered);

	if (strcmp(got, text_of(request, "fault")) != 0)
		fail_msg("%s: %s instead of %s", text_of(request, "name"), got,
		    text_of(request, "fault"));
}

static void
test_requests(void **state)
{
	json_t *json = load("requests.json"), *request;
	size_t i;

	(void)state;
	json_array_foreach (json_object_get(json, "requests"), i, request)
		judge_one(request, json);
	assert_true(i > 60);
	json_decref(json);
}

/* The seeds of the file give its keys. */
static void
test_keys(void **state)
{
	uint8_t seed[SIGN_SEED_SIZE], public[SIGN_PUBLIC_SIZE];
	uint8_t want[SIGN_PUBLIC_SIZE];
	json_t *json = load("requests.json"), *key;
	size_t i;

	(void)state;
	json_array_foreach (json_object_get(json, "keys"), i, key) {
		bytes_of(key, "seed", seed, sizeof(seed));
		bytes_of(key, "public", want, sizeof(want));
		sign_public(seed, public);
		assert_memory_equal(want, public, sizeof(public));
	}
	assert_int_equal(3, i);
	json_decref(json);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_ed25519),
	    cmocka_unit_test(test_requests),
	    cmocka_unit_test(test_keys),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
