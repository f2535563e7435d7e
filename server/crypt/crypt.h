/* SPDX-License-Identifier: MIT */
/*
 * Cryptography by libsodium: passwords (argon2id), tokens, hashes
 * (BLAKE2b-256), comparison in constant time.
 *
 * To hash or verify a password takes 64 MiB and two passes, on purpose: once
 * the server serves, only threads of the argon2 pool call these functions.
 * Commands call them directly.  Everything else is cheap.
 */
#ifndef CRYPT_CRYPT_H
#define CRYPT_CRYPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/rnd.h"

/* Initialises libsodium; RC_INTERNAL if it does not start.  Call it once,
 * before any other function here and before other threads start. */
enum rc crypt_init(struct err *err) MUST_USE;

/* ---- passwords ---- */

/* A stored password, "$argon2id$v=19$m=65536,t=2,p=1$…", with its NUL. */
#define CRYPT_PASSWORD_SIZE 128

/* Hashes ${n} bytes at ${password} with a fresh salt.  Returns RC_NO_MEMORY if
 * 64 MiB are not available.  Blocks: about 50 to 100 ms. */
enum rc crypt_password_hash(const char *password, size_t n,
    char ret[CRYPT_PASSWORD_SIZE], struct err *err) MUST_USE;

/* Returns RC_OK if the password is that of ${stored}, RC_DENIED if it is not,
 * RC_NO_MEMORY if it cannot be checked, RC_CORRUPT if ${stored} is not a stored
 * password or would cost more than 1 GiB or 16 passes.  The cost is that of
 * ${stored}.  Blocks: as crypt_password_hash(). */
enum rc crypt_password_verify(const char *stored, const char *password,
    size_t n, struct err *err) MUST_USE;

/* Does the same work for a name that does not exist, so that the time of an
 * answer does not show which names exist.  Returns RC_DENIED, or RC_NO_MEMORY.
 * Blocks: as crypt_password_hash(). */
enum rc crypt_password_dummy(
    const char *password, size_t n, struct err *err) MUST_USE;

/* Five groups of four characters, with their NUL. */
#define CRYPT_ONCE_SIZE 25

/* Makes a one-time password of 100 random bits from ${rnd}, such as
 * "K7QM-X2RT-9WBD-E4HZ-PN6S": letters and digits without 0, O, 1 and I, which
 * people confuse. */
void crypt_password_once(struct rnd *rnd, char ret[CRYPT_ONCE_SIZE]);

/* ---- hashes ---- */

#define CRYPT_HASH_SIZE 32

/* The state of a hash.  Keep it on the stack: it needs an alignment of 64
 * bytes, which mem_alloc() does not give. */
struct crypt_hash {
	_Alignas(64) unsigned char opaque[384];
};

/* Starts a new hash. */
void crypt_hash_init(struct crypt_hash *h);

/* Adds ${n} bytes. */
void crypt_hash_update(struct crypt_hash *h, const void *p, size_t n);

/* Adds ${n} bytes to the hash, with their number in front, so that different
 * lists of fields never give the same bytes.  An absent field (${p} is NULL)
 * differs from an empty one. */
void crypt_hash_field(struct crypt_hash *h, const void *p, size_t n);

/* Adds a number as 8 bytes. */
void crypt_hash_i64(struct crypt_hash *h, int64_t v);

/* Writes the hash and wipes ${h}. */
void crypt_hash_final(struct crypt_hash *h, uint8_t ret[CRYPT_HASH_SIZE]);

/* Writes the hash of ${n} bytes at ${p}. */
void crypt_hash_once(const void *p, size_t n, uint8_t ret[CRYPT_HASH_SIZE]);

/* ---- tokens ---- */

#define CRYPT_TOKEN_BYTES 32
#define CRYPT_TOKEN_PREFIX "tb_"
/* "tb_", 43 characters of base64url, no NUL. */
#define CRYPT_TOKEN_LEN 46

/* Makes a token from 32 bytes of ${rnd}.  The text is sent to its owner once;
 * only the hash is stored. */
void crypt_token_new(struct rnd *rnd, char ret_text[CRYPT_TOKEN_LEN + 1],
    uint8_t ret_hash[CRYPT_HASH_SIZE]);

/* Writes the hash by which a token is looked up.  Returns false, with ${ret}
 * unchanged, if ${n} bytes at ${text} do not have the form of a token. */
bool crypt_token_hash(const char *text, size_t n, uint8_t ret[CRYPT_HASH_SIZE]);

/* ---- memory ---- */

/* Returns true if ${n} bytes are equal, in a time that depends on ${n} only. */
bool crypt_equal(const void *a, const void *b, size_t n);

/* Zeroes ${n} bytes.  The compiler cannot remove this as a dead store. */
void crypt_wipe(void *p, size_t n);

#endif
