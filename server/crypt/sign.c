/* SPDX-License-Identifier: MIT */
/*
 * See sign.h.
 */
#include <assert.h>
#include <string.h>

#include <sodium.h>

#include "crypt/sign.h"

static_assert(SIGN_SEED_SIZE == crypto_sign_SEEDBYTES, "Ed25519");
static_assert(SIGN_PUBLIC_SIZE == crypto_sign_PUBLICKEYBYTES, "Ed25519");
static_assert(SIGN_SIZE == crypto_sign_BYTES, "Ed25519");
static_assert(SIGN_SHA256_SIZE == crypto_hash_sha256_BYTES, "SHA-256");
static_assert(sizeof(struct sign_sha256) == sizeof(crypto_hash_sha256_state),
    "struct sign_sha256 has another size than libsodium's state");
static_assert(
    _Alignof(struct sign_sha256) >= _Alignof(crypto_hash_sha256_state),
    "struct sign_sha256 is aligned for libsodium's state");

void
sign_public(const uint8_t seed[SIGN_SEED_SIZE], uint8_t ret[SIGN_PUBLIC_SIZE])
{
	uint8_t secret[crypto_sign_SECRETKEYBYTES];

	(void)crypto_sign_seed_keypair(ret, secret, seed);
	sodium_memzero(secret, sizeof(secret));
}

void
sign_make(const uint8_t seed[SIGN_SEED_SIZE], const void *p, size_t n,
    uint8_t ret[SIGN_SIZE])
{
	uint8_t secret[crypto_sign_SECRETKEYBYTES];
	uint8_t public[SIGN_PUBLIC_SIZE];

	(void)crypto_sign_seed_keypair(public, secret, seed);
	(void)crypto_sign_detached(ret, NULL, p, n, secret);
	sodium_memzero(secret, sizeof(secret));
}

/* Names of RFC 8032: a signature is R and S, A is the public key.  libsodium
 * rejects an S that is not below the order of the group, an R or A that is a
 * point of low order, and an A that is not in its canonical form. */
bool
sign_verify(const uint8_t public[SIGN_PUBLIC_SIZE], const void *p, size_t n,
    const uint8_t signature[SIGN_SIZE])
{

	return (crypto_sign_verify_detached(signature, p, n, public) == 0);
}

static crypto_hash_sha256_state *
state_of(struct sign_sha256 *h)
{

	return ((crypto_hash_sha256_state *)(void *)h->opaque);
}

void
sign_sha256_init(struct sign_sha256 *h)
{

	(void)crypto_hash_sha256_init(state_of(h));
}

void
sign_sha256_update(struct sign_sha256 *h, const void *p, size_t n)
{

	if (n > 0)
		(void)crypto_hash_sha256_update(state_of(h), p, n);
}

void
sign_sha256_final(struct sign_sha256 *h, uint8_t ret[SIGN_SHA256_SIZE])
{

	(void)crypto_hash_sha256_final(state_of(h), ret);
}

void
sign_base64_write(const void *p, size_t n, char *ret, size_t size)
{

	assert(size >= SIGN_BASE64_SIZE(n));
	(void)sodium_bin2base64(
	    ret, size, p, n, sodium_base64_VARIANT_ORIGINAL);
}

/* Returns true if all ${n} bytes are ASCII.  libsodium 1.0.18 decodes a byte
 * above 0x7f, which is a negative char, as if it were "/".  So
 * sign_base64_read() refuses such bytes itself. */
static bool
is_ascii(const char *text, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if ((unsigned char)text[i] > 0x7f)
			return (false);
	return (true);
}

bool
sign_base64_read(const char *text, size_t n, void *ret, size_t size)
{
	const char *end;
	size_t len;

	if (n != SIGN_BASE64_SIZE(size) - 1 || !is_ascii(text, n))
		return (false);
	return (sodium_base642bin(ret, size, text, n, NULL, &len, &end,
		    sodium_base64_VARIANT_ORIGINAL) == 0 &&
		len == size && end == text + n);
}
