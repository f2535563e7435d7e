/* SPDX-License-Identifier: MIT */
/*
 * Signatures (Ed25519, RFC 8032), SHA-256 and base64 (RFC 4648, section 4) by
 * libsodium.  Servers sign their requests to each other with these.  A secret
 * key is stored as its seed, 32 secret bytes, from which sign_public() computes
 * the public key.
 *
 * Thread: any, for all functions.  Blocks: never; to sign or to verify takes
 * about 30 to 60 us.
 */
#ifndef CRYPT_SIGN_H
#define CRYPT_SIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIGN_SEED_SIZE 32
#define SIGN_PUBLIC_SIZE 32
#define SIGN_SIZE 64

/* Writes the public key of ${seed}. */
void sign_public(
    const uint8_t seed[SIGN_SEED_SIZE], uint8_t ret[SIGN_PUBLIC_SIZE]);

/* Signs ${n} bytes at ${p} with the key of ${seed}. */
void sign_make(const uint8_t seed[SIGN_SEED_SIZE], const void *p, size_t n,
    uint8_t ret[SIGN_SIZE]);

/* Returns true if ${signature} was made for the ${n} bytes at ${p} with the
 * secret key of ${public}.  Returns false also for a public key that is not in
 * its canonical form, for a public key of low order (for which anybody can make
 * signatures), and for a signature whose R is of low order or whose S is not
 * below L, the order of the group; so S cannot be replaced by S + L. */
bool sign_verify(const uint8_t public[SIGN_PUBLIC_SIZE], const void *p,
    size_t n, const uint8_t signature[SIGN_SIZE]);

/* ---- SHA-256 ---- */

#define SIGN_SHA256_SIZE 32

/* The state of a hash. */
struct sign_sha256 {
	_Alignas(8) unsigned char opaque[104];
};

/* Starts a new hash. */
void sign_sha256_init(struct sign_sha256 *h);

/* Adds ${n} bytes. */
void sign_sha256_update(struct sign_sha256 *h, const void *p, size_t n);

/* Writes the hash.  Call sign_sha256_init() before ${h} is used again. */
void sign_sha256_final(struct sign_sha256 *h, uint8_t ret[SIGN_SHA256_SIZE]);

/* ---- base64, with padding ---- */

/* The length of ${n} bytes as base64, with the NUL. */
#define SIGN_BASE64_SIZE(n) (((n) + 2) / 3 * 4 + 1)

/* Writes ${n} bytes as base64 and a NUL to ${ret}, which has room for ${size}
 * >= SIGN_BASE64_SIZE(n) bytes. */
void sign_base64_write(const void *p, size_t n, char *ret, size_t size);

/* Decodes the ${n} characters at ${text}, with padding, into exactly ${size}
 * bytes.  Returns false, with ${ret} undefined, if ${text} gives another number
 * of bytes, or has a character outside the alphabet, no padding where padding
 * is needed, or unused bits that are not 0. */
bool sign_base64_read(const char *text, size_t n, void *ret, size_t size);

#endif
