/* SPDX-License-Identifier: MIT */
/*
 * See signature_fixture.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "signature_fixture.h"

const uint8_t request_seed[SIGN_SEED_SIZE] = {1, 2, 3};

const struct signature_covered request_covered = {
    .method = "POST",
    .authority = "b.example",
    .path = "/v1/federation/deliver",
    .content_digest = "sha-256=:" EMPTY ":",
    .content_type = "application/json",
    .from = "a.example",
    .to = "b.example",
};

void
request_make(struct request *r)
{

	memset(r, 0, sizeof(*r));
	r->s.created_s = CREATED;
	r->s.expires_s = CREATED + SIGNATURE_LIFE_S;
	(void)snprintf(r->s.nonce, sizeof(r->s.nonce), "x8Jq3kP0vT2mW5yZ");
	(void)snprintf(r->s.key_id, sizeof(r->s.key_id), "k7f3a9c2");
	sign_public(request_seed, r->public);
	assert_true(signature_make(&r->s, &request_covered, request_seed));
	signature_write(&r->s, r->input, r->value);
}

void
assert_fault(
    enum signature_fault want, enum signature_fault fault, const char *what)
{

	if (fault != want)
		fail_msg("%s: %s instead of %s", what,
		    signature_fault_word(fault), signature_fault_word(want));
}
