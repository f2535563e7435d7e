/* SPDX-License-Identifier: MIT */
/*
 * Hashes, tokens, comparison and wiping: everything that is cheap (password.c
 * has the rest).
 */
#include <assert.h>
#include <string.h>

#include <sodium.h>

#include "crypt/crypt.h"

static_assert(sizeof(struct crypt_hash) == sizeof(crypto_generichash_state),
    "struct crypt_hash has another size than libsodium's state");
static_assert(_Alignof(struct crypt_hash) >= _Alignof(crypto_generichash_state),
    "struct crypt_hash is aligned less than libsodium's state");
static_assert(CRYPT_HASH_SIZE == crypto_generichash_BYTES, "BLAKE2b-256");
static_assert(
    CRYPT_TOKEN_LEN == sizeof(CRYPT_TOKEN_PREFIX) - 1 +
			   sodium_base64_ENCODED_LEN(CRYPT_TOKEN_BYTES,
			       sodium_base64_VARIANT_URLSAFE_NO_PADDING) -
			   1,
    "the length of a token");

enum rc
crypt_init(struct err *err)
{

	if (sodium_init() < 0)
		return (err_set(err, RC_INTERNAL, "libsodium does not start"));
	return (RC_OK);
}

static crypto_generichash_state *
state_of(struct crypt_hash *h)
{

	return ((crypto_generichash_state *)(void *)h->opaque);
}

/* crypt_hash_init(), crypt_hash_update(), crypt_hash_final() and
 * crypt_hash_once() assert that libsodium succeeds, because it fails only for
 * lengths out of range, which never occur here. */
void
crypt_hash_init(struct crypt_hash *h)
{
	int failed;

	failed = crypto_generichash_init(state_of(h), NULL, 0, CRYPT_HASH_SIZE);
	assert(failed == 0);
}

void
crypt_hash_update(struct crypt_hash *h, const void *p, size_t n)
{
	int failed;

	if (n == 0)
		return;
	failed = crypto_generichash_update(state_of(h), p, n);
	assert(failed == 0);
}

void
crypt_hash_i64(struct crypt_hash *h, int64_t v)
{
	uint8_t b[8];
	int i;

	for (i = 0; i < 8; i++)
		b[i] = (uint8_t)((uint64_t)v >> (8 * i));
	crypt_hash_update(h, b, sizeof(b));
}

void
crypt_hash_field(struct crypt_hash *h, const void *p, size_t n)
{

	if (p == NULL) {
		crypt_hash_i64(h, -1);
		return;
	}
	crypt_hash_i64(h, (int64_t)n);
	crypt_hash_update(h, p, n);
}

void
crypt_hash_final(struct crypt_hash *h, uint8_t ret[CRYPT_HASH_SIZE])
{
	int failed;

	failed = crypto_generichash_final(state_of(h), ret, CRYPT_HASH_SIZE);
	assert(failed == 0);
	sodium_memzero(h, sizeof(*h));
}

void
crypt_hash_once(const void *p, size_t n, uint8_t ret[CRYPT_HASH_SIZE])
{
	int failed;

	failed = crypto_generichash(ret, CRYPT_HASH_SIZE, p, n, NULL, 0);
	assert(failed == 0);
}

void
crypt_token_new(struct rnd *rnd, char ret_text[CRYPT_TOKEN_LEN + 1],
    uint8_t ret_hash[CRYPT_HASH_SIZE])
{
	const size_t prefix = sizeof(CRYPT_TOKEN_PREFIX) - 1;
	uint8_t secret[CRYPT_TOKEN_BYTES];

	rnd_fill(rnd, secret, sizeof(secret));
	memcpy(ret_text, CRYPT_TOKEN_PREFIX, prefix);
	(void)sodium_bin2base64(ret_text + prefix, CRYPT_TOKEN_LEN + 1 - prefix,
	    secret, sizeof(secret), sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	sodium_memzero(secret, sizeof(secret));
	crypt_hash_once(ret_text, CRYPT_TOKEN_LEN, ret_hash);
}

bool
crypt_token_hash(const char *text, size_t n, uint8_t ret[CRYPT_HASH_SIZE])
{
	const size_t prefix = sizeof(CRYPT_TOKEN_PREFIX) - 1;
	size_t i;

	if (n != CRYPT_TOKEN_LEN ||
	    memcmp(text, CRYPT_TOKEN_PREFIX, prefix) != 0)
		return (false);
	for (i = prefix; i < n; i++) {
		if (!((text[i] >= 'a' && text[i] <= 'z') ||
			(text[i] >= 'A' && text[i] <= 'Z') ||
			(text[i] >= '0' && text[i] <= '9') || text[i] == '-' ||
			text[i] == '_'))
			return (false);
	}
	crypt_hash_once(text, n, ret);
	return (true);
}

bool
crypt_equal(const void *a, const void *b, size_t n)
{

	return (sodium_memcmp(a, b, n) == 0);
}

void
crypt_wipe(void *p, size_t n)
{

	sodium_memzero(p, n);
}
