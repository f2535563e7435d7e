/* SPDX-License-Identifier: MIT */
/*
 * The hash chain over the messages of a conversation.  The link of a message,
 * which is stored with it, is the hash of the previous link, of the message's
 * number, id and sender, and of a salted hash of its body.  If a message before
 * others is lost, or the number, id, sender or body of a message is changed, a
 * link no longer matches.  The body and the salt of a message can be erased
 * later: its link stays, so the links after it can still be checked, but its
 * own link cannot.
 */
#ifndef CRYPT_DIGEST_H
#define CRYPT_DIGEST_H

#include "base/uuid.h"

#define DIGEST_LEN 32
#define DIGEST_SALT_LEN 16

/* Writes the salted hash of ${n} bytes of body. */
void digest_body(const uint8_t salt[DIGEST_SALT_LEN], const char *body,
    size_t n, uint8_t ret[DIGEST_LEN]);

/* On entry ${digest} is the link of message ${seq} - 1, or all zeros if ${seq}
 * is 1, the first; replaces it by the link of message ${seq}.  ${body} is the
 * salted hash from digest_body(). */
void digest_next(uint8_t digest[DIGEST_LEN], int64_t seq, const struct uuid *id,
    const char *sender, const uint8_t body[DIGEST_LEN]);

#endif
