/* SPDX-License-Identifier: MIT */
/*
 * Cryptography by libsodium: passwords (argon2id), tokens, hashes
 * (BLAKE2b-256), comparison in constant time, wiping of memory.
 *
 * Hashing or verifying a password takes 64 MiB of memory and two passes over
 * it, so that guessing passwords is expensive.  A server does this in the
 * threads of its argon2 pool (rest/pool.h), except that its main thread hashes
 * the password of the demo users before it serves.  A command of twinboxd that
 * reads a password hashes it in its own process, even if a server runs.  All
 * other functions are cheap.
 */
#ifndef CRYPT_CRYPT_H
#define CRYPT_CRYPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/rnd.h"

/* Initialises libsodium.  Returns RC_INTERNAL if libsodium cannot start.  Call
 * it once, before any other function here and before other threads start. */
enum rc crypt_init(struct err *err) MUST_USE;

/* ---- passwords ---- */

/* A stored password, "$argon2id$v=19$m=65536,t=2,p=1$…", with its NUL. */
#define CRYPT_PASSWORD_SIZE 128

/* Hashes ${n} bytes at ${password} with a fresh salt, and writes the stored
 * password (cost, salt and hash as a text) to ${ret}.  If libsodium fails,
 * because 64 MiB are not available, returns RC_NO_MEMORY, and ${ret} is
 * undefined.  Blocks: about 50 to 100 ms. */
enum rc crypt_password_hash(const char *password, size_t n,
    char ret[CRYPT_PASSWORD_SIZE], struct err *err) MUST_USE;

/* Checks ${n} bytes at ${password}.  Returns RC_OK if ${stored} was made from
 * this password, RC_DENIED if not, RC_NO_MEMORY if the check could not run, and
 * RC_CORRUPT if ${stored} is not a stored password or asks for more than 1 GiB
 * or 16 passes.  Takes the memory and the passes that ${stored} asks for.
 * Blocks: as crypt_password_hash(), longer if ${stored} asks for more. */
enum rc crypt_password_verify(const char *stored, const char *password,
    size_t n, struct err *err) MUST_USE;

/* Does the work of crypt_password_verify() when there is no stored password,
 * for example because no user has the name that a client gave.  So the time of
 * the answer does not show which names exist.  Returns RC_DENIED or
 * RC_NO_MEMORY, never RC_OK.  Blocks: as crypt_password_hash(). */
enum rc crypt_password_dummy(
    const char *password, size_t n, struct err *err) MUST_USE;

/* Five groups of four characters, with their NUL. */
#define CRYPT_ONCE_SIZE 25

/* Writes to ${ret} a one-time password of 100 random bits from the generator
 * ${rnd}, such as "K7QM-X2RT-9WBD-E4HZ-PN6S".  The alphabet has no 0, O, 1 and
 * I, which people confuse.  The caller hashes it as any password.  The log-in,
 * not this function, enforces that it is used once and expires. */
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

/* Adds one field to the hash: first ${n} as 8 bytes, then the ${n} bytes at
 * ${p}.  Because of these lengths, different lists of fields never give the
 * same input to the hash.  If ${p} is NULL, the field is absent: ignores ${n}
 * and adds -1 as 8 bytes, so an absent field differs from an empty one. */
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

/* Makes a token from 32 bytes of the random generator ${rnd}: its text, and the
 * hash of this text (as crypt_token_hash()).  The caller sends ${ret_text} to
 * the user who logs in, once, and stores only ${ret_hash}. */
void crypt_token_new(struct rnd *rnd, char ret_text[CRYPT_TOKEN_LEN + 1],
    uint8_t ret_hash[CRYPT_HASH_SIZE]);

/* Writes the hash by which the token ${text} is looked up in the database.
 * Returns false, with ${ret} unchanged, if the ${n} bytes at ${text} do not
 * have the form of a token. */
bool crypt_token_hash(const char *text, size_t n, uint8_t ret[CRYPT_HASH_SIZE]);

/* ---- memory ---- */

/* Returns true if the ${n} bytes at ${a} and at ${b} are equal.  The time
 * depends on ${n} only, so it does not show where they differ. */
bool crypt_equal(const void *a, const void *b, size_t n);

/* Zeroes ${n} bytes.  The compiler cannot remove this as a dead store. */
void crypt_wipe(void *p, size_t n);

#endif
