/* SPDX-License-Identifier: MIT */
/*
 * The links of the hash chain (digest.h), by BLAKE2b-256.  A link hashes its
 * fields in a fixed order.  The sender is the only one that varies in length,
 * so its length is hashed before it; then two links whose fields have different
 * values never hash the same bytes.
 */
#include "crypt/digest.h"
#include "crypt/crypt.h"

void
digest_body(const uint8_t salt[DIGEST_SALT_LEN], const char *body, size_t n,
    uint8_t ret[DIGEST_LEN])
{
	struct crypt_hash h;

	crypt_hash_init(&h);
	crypt_hash_update(&h, salt, DIGEST_SALT_LEN);
	crypt_hash_update(&h, body, n);
	crypt_hash_final(&h, ret);
}

void
digest_next(uint8_t digest[DIGEST_LEN], int64_t seq, const struct uuid *id,
    const char *sender, const uint8_t body[DIGEST_LEN])
{
	struct crypt_hash h;

	crypt_hash_init(&h);
	crypt_hash_update(&h, digest, DIGEST_LEN);
	crypt_hash_i64(&h, seq);
	crypt_hash_update(&h, id->b, sizeof(id->b));
	crypt_hash_field(&h, sender, strlen(sender));
	crypt_hash_update(&h, body, DIGEST_LEN);
	crypt_hash_final(&h, digest);
}
