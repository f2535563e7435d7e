/* SPDX-License-Identifier: MIT */
/*
 * The chain over a conversation's messages: each link hashes the one before,
 * the number, the id, the sender and a salted hash of the body.  Erasing body
 * and salt later leaves the chain whole; a lost or changed row breaks it.
 */
#ifndef CRYPT_DIGEST_H
#define CRYPT_DIGEST_H

#include "base/uuid.h"

#define DIGEST_LEN 32
#define DIGEST_SALT_LEN 16

/* The salted hash of ${n} bytes of body. */
void digest_body(const uint8_t salt[DIGEST_SALT_LEN], const char *body,
    size_t n, uint8_t ret[DIGEST_LEN]);

/* Replaces ${digest} (of message seq-1) by that of message ${seq}. */
void digest_next(uint8_t digest[DIGEST_LEN], int64_t seq, const struct uuid *id,
    const char *sender, const uint8_t body[DIGEST_LEN]);

#endif
