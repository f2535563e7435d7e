/* SPDX-License-Identifier: MIT */
/*
 * Cryptography, all of it libsodium's: passwords (argon2id), tokens, hashes
 * (BLAKE2b-256), comparison in constant time.
 *
 * Passwords cost 64 MiB and two passes, on purpose: call these functions from
 * the argon2 pool only.  Everything else is cheap.
 */
#ifndef CRYPT_CRYPT_H
#define CRYPT_CRYPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/rnd.h"

/* Makes the library ready.  Once, before any other call and any thread. */
enum rc crypt_init(struct err *err) MUST_USE;

/* ---- passwords ---- */

/* A stored password, "$argon2id$v=19$m=65536,t=2,p=1$…", with its NUL. */
#define CRYPT_PASSWORD_SIZE 128

/* Hashes ${n} bytes at ${password} with a fresh salt.  RC_NO_MEMORY when the
 * 64 MiB are not to be had.  Blocks: some 50 to 100 ms. */
enum rc crypt_password_hash(const char *password, size_t n,
    char ret[CRYPT_PASSWORD_SIZE], struct err *err) MUST_USE;

/* RC_OK when the password is the one of ${stored}, RC_DENIED when not,
 * RC_NO_MEMORY when it could not be tried, RC_CORRUPT when ${stored} is no
 * stored password.  Blocks: as crypt_password_hash(). */
enum rc crypt_password_verify(const char *stored, const char *password,
    size_t n, struct err *err) MUST_USE;

/* The same work for a name that nobody has, so that time does not tell.
 * RC_DENIED always, or RC_NO_MEMORY.  Blocks: as crypt_password_hash(). */
enum rc crypt_password_dummy(
    const char *password, size_t n, struct err *err) MUST_USE;

/* Five groups of four characters, with their NUL. */
#define CRYPT_ONCE_SIZE 25

/* Makes a one-time password of 100 bits of ${rnd}, such as
 * "K7QM-X2RT-9WBD-E4HZ-PN6S": letters and digits without 0, O, 1 and I, which
 * people take for each other. */
void crypt_password_once(struct rnd *rnd, char ret[CRYPT_ONCE_SIZE]);

/* ---- hashes ---- */

#define CRYPT_HASH_SIZE 32

/* A hash under way.  Lives on the stack (it wants an alignment of 64). */
struct crypt_hash {
	_Alignas(64) unsigned char opaque[384];
};

/* Begins, or begins anew. */
void crypt_hash_init(struct crypt_hash *h);

/* Adds ${n} bytes. */
void crypt_hash_update(struct crypt_hash *h, const void *p, size_t n);

/* Adds ${n} bytes with their number in front, so that no two lists of fields
 * give the same bytes.  ${p} NULL (an absent field) differs from "". */
void crypt_hash_field(struct crypt_hash *h, const void *p, size_t n);

/* Adds a number as 8 bytes. */
void crypt_hash_i64(struct crypt_hash *h, int64_t v);

/* The hash; ${h} is wiped. */
void crypt_hash_final(struct crypt_hash *h, uint8_t ret[CRYPT_HASH_SIZE]);

/* The hash of ${n} bytes at once. */
void crypt_hash_once(const void *p, size_t n, uint8_t ret[CRYPT_HASH_SIZE]);

/* ---- tokens ---- */

#define CRYPT_TOKEN_BYTES 32
#define CRYPT_TOKEN_PREFIX "tb_"
/* "tb_", 43 characters of base64url, no NUL. */
#define CRYPT_TOKEN_LEN 46

/* Makes a token from 32 bytes of ${rnd}.  The text goes to its owner, once;
 * only the hash is stored. */
void crypt_token_new(struct rnd *rnd, char ret_text[CRYPT_TOKEN_LEN + 1],
    uint8_t ret_hash[CRYPT_HASH_SIZE]);

/* The hash by which a token is found.  False if ${n} bytes at ${text} do not
 * even look like one. */
bool crypt_token_hash(const char *text, size_t n, uint8_t ret[CRYPT_HASH_SIZE]);

/* ---- memory ---- */

/* Whether ${n} bytes are equal, in a time that depends on ${n} only. */
bool crypt_equal(const void *a, const void *b, size_t n);

/* Zeroes ${n} bytes, whatever the compiler thinks of it. */
void crypt_wipe(void *p, size_t n);

#endif
