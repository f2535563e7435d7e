/* SPDX-License-Identifier: MIT */
/*
 * The hash chain over the messages of a conversation: each link hashes the link
 * before, the number, the id and the sender of a message, and a salted hash of
 * its body.  Body and salt can be erased later without breaking the chain; a
 * lost or changed row breaks it.
 */
#ifndef CRYPT_DIGEST_H
#define CRYPT_DIGEST_H

#include "base/uuid.h"

#define DIGEST_LEN 32
#define DIGEST_SALT_LEN 16

/* Writes the salted hash of ${n} bytes of body. */
void digest_body(const uint8_t salt[DIGEST_SALT_LEN], const char *body,
    size_t n, uint8_t ret[DIGEST_LEN]);

/* Replaces ${digest}, that of message ${seq} - 1, by that of message ${seq}.
 * ${body} comes from digest_body(). */
void digest_next(uint8_t digest[DIGEST_LEN], int64_t seq, const struct uuid *id,
    const char *sender, const uint8_t body[DIGEST_LEN]);

#endif
