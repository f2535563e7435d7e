/* SPDX-License-Identifier: MIT */
/*
 * Signatures (Ed25519, RFC 8032), SHA-256 and base64 (RFC 4648, section 4), all
 * of it libsodium's.  Servers sign what they send to each other with these.
 *
 * A key is its seed, 32 secret bytes; the public key follows from it.
 * Thread: any, in all of these.  Blocks: never; signing and verifying take some
 * 30 to 60 us.
 */
#ifndef CRYPT_SIGN_H
#define CRYPT_SIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIGN_SEED_SIZE 32
#define SIGN_PUBLIC_SIZE 32
#define SIGN_SIZE 64

/* The public key of ${seed}. */
void sign_public(
    const uint8_t seed[SIGN_SEED_SIZE], uint8_t ret[SIGN_PUBLIC_SIZE]);

/* Signs ${n} bytes at ${p}. */
void sign_make(const uint8_t seed[SIGN_SEED_SIZE], const void *p, size_t n,
    uint8_t ret[SIGN_SIZE]);

/* Whether ${signature} of ${n} bytes at ${p} is that of ${public}.  False also
 * for a public key of low order, which anybody could sign for, and for a
 * signature that somebody has changed into another valid form (S + L). */
bool sign_verify(const uint8_t public[SIGN_PUBLIC_SIZE], const void *p,
    size_t n, const uint8_t signature[SIGN_SIZE]);

/* ---- SHA-256 ---- */

#define SIGN_SHA256_SIZE 32

/* A hash under way. */
struct sign_sha256 {
	_Alignas(8) unsigned char opaque[104];
};

/* Begins, or begins anew. */
void sign_sha256_init(struct sign_sha256 *h);

/* Adds ${n} bytes. */
void sign_sha256_update(struct sign_sha256 *h, const void *p, size_t n);

/* The hash; ${h} must begin anew before it is used again. */
void sign_sha256_final(struct sign_sha256 *h, uint8_t ret[SIGN_SHA256_SIZE]);

/* ---- base64, with padding ---- */

/* The length of ${n} bytes as text, with the NUL. */
#define SIGN_BASE64_SIZE(n) (((n) + 2) / 3 * 4 + 1)

/* Writes ${n} bytes as text to ${ret}, which has room for ${size} >=
 * SIGN_BASE64_SIZE(n) bytes. */
void sign_base64_write(const void *p, size_t n, char *ret, size_t size);

/* Reads exactly ${size} bytes from the ${n} characters at ${text}; false for
 * another length, for characters outside of the alphabet, without padding, and
 * for bits that are left over.  ${ret} is undefined then. */
bool sign_base64_read(const char *text, size_t n, void *ret, size_t size);

#endif
