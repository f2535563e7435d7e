/* SPDX-License-Identifier: MIT */
/*
 * A request between servers and its signature, for the tests of
 * federation/signature.h.
 */
#ifndef TESTS_UNIT_SIGNATURE_FIXTURE_H
#define TESTS_UNIT_SIGNATURE_FIXTURE_H

#include "federation/signature.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

#define COMPONENTS                                                             \
	"(\"@method\" \"@authority\" \"@path\" \"content-digest\" "            \
	"\"content-type\" \"twinbox-from\" \"twinbox-to\")"
#define CREATED 1700000000
#define PARAMETERS                                                             \
	";created=1700000000;expires=1700000300;nonce=\"x8Jq3kP0vT2mW5yZ\""    \
	";keyid=\"k7f3a9c2\";alg=\"ed25519\";tag=\"twinbox-1\""
/* The Signature-Input of a request that request_make() signs. */
#define INPUT "tb=" COMPONENTS PARAMETERS

/* 16 and 64 characters that a nonce may contain. */
#define WORD16 "abcdefghijkl-_09"
#define WORD64 WORD16 WORD16 WORD16 "ABCDEFGHIJKLMNOP"

/* The SHA-256 of no bytes. */
#define EMPTY "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="

extern const uint8_t request_seed[SIGN_SEED_SIZE];
extern const struct signature_covered request_covered;

/* A signature of request_covered by request_seed, and its headers. */
struct request {
	struct signature s;
	uint8_t public[SIGN_PUBLIC_SIZE];
	char input[SIGNATURE_INPUT_SIZE];
	char value[SIGNATURE_VALUE_SIZE];
};

/* Fills ${r}. */
void request_make(struct request *r);

/* Fails with the text ${what} unless ${fault} is ${want}. */
void assert_fault(
    enum signature_fault want, enum signature_fault fault, const char *what);

#endif
