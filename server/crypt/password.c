/* SPDX-License-Identifier: MIT */
/*
 * Passwords: argon2id at libsodium's "interactive" cost (64 MiB, two passes),
 * which no setting changes.  Builds with --enable-faults use libsodium's lowest
 * cost if the environment variable TWINBOX_CHEAP_PASSWORDS is 1, because tests
 * make thousands of users.
 *
 * A stored password has libsodium's own form.  But this file parses it and
 * compares the hashes itself, and does not call crypto_pwhash_str_verify(): in
 * libsodium 1.0.18 that function sets errno to EINVAL both for a wrong password
 * and for a lack of memory.  A user must not read "wrong password" because the
 * server is short of memory.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include <sodium.h>

#include "base/fault.h"
#include "crypt/crypt.h"

#define RESULT_SIZE 32
#define BASE64 sodium_base64_VARIANT_ORIGINAL_NO_PADDING

/* The most passes, and the most KiB of memory, that a stored password may ask
 * for.  crypt_password_verify() returns RC_CORRUPT for one that asks for more:
 * this program never stores one, and checking one could exhaust memory. */
#define OPS_MAX 16
#define MEM_KIB_MAX (1024 * 1024)

static_assert(CRYPT_PASSWORD_SIZE == crypto_pwhash_argon2id_STRBYTES,
    "the size of a stored password");

/* The argon2id parameters of a new hash. */
struct cost {
	unsigned long long passes;
	size_t bytes;
	/* A stored password of this cost, against which crypt_password_dummy()
	 * checks the password of a client when no stored password of a user can
	 * be used.  Nobody knows a password that matches: the dummy was made
	 * from 32 random bytes that were not kept. */
	const char *dummy;
};

static const struct cost real = {crypto_pwhash_argon2id_OPSLIMIT_INTERACTIVE,
    crypto_pwhash_argon2id_MEMLIMIT_INTERACTIVE,
    "$argon2id$v=19$m=65536,t=2,p=1$qYjKuEruyaarTfmCyP1MVg"
    "$BqkDaz3zwAsgzFbJ2wy5sHO2/PZcnbdDMPD0fQ+mEYk"};

#ifdef TWINBOX_FAULTS

static const struct cost lowest = {crypto_pwhash_argon2id_OPSLIMIT_MIN,
    crypto_pwhash_argon2id_MEMLIMIT_MIN,
    "$argon2id$v=19$m=8,t=1,p=1$RHFLsWz4itxq+VJkO633og"
    "$o3cqJw6oQulD5IKa4k99s1ii2YMx0Enq3WtD24sBX80"};

static const struct cost *
cost(void)
{

	return (fault_number("TWINBOX_CHEAP_PASSWORDS", 0, 1) == 1 ? &lowest
								   : &real);
}

#else

static const struct cost *
cost(void)
{

	return (&real);
}

#endif

struct stored {
	unsigned long long ops;
	size_t mem_kib;
	unsigned char salt[crypto_pwhash_argon2id_SALTBYTES];
	unsigned char result[RESULT_SIZE];
};

enum rc
crypt_password_hash(const char *password, size_t n,
    char ret[CRYPT_PASSWORD_SIZE], struct err *err)
{
	const struct cost *c = cost();

	if (crypto_pwhash_argon2id_str(ret, password, n, c->passes, c->bytes) !=
	    0)
		return (err_set_sys(
		    err, RC_NO_MEMORY, errno, "cannot hash a password"));
	return (RC_OK);
}

/* Moves ${*p} past ${text}.  Returns false if ${text} is not there. */
static bool
take_text(const char **p, const char *text)
{
	size_t n;

	n = strlen(text);
	if (strncmp(*p, text, n) != 0)
		return (false);
	*p += n;
	return (true);
}

/* Reads the decimal number at ${*p} into *ret and moves ${*p} past it.  Returns
 * false if there is none, or if it is not from 1 to ${max}; then *ret and
 * ${*p} are undefined. */
static bool
take_number(const char **p, size_t max, size_t *ret)
{
	size_t v;

	for (v = 0; **p >= '0' && **p <= '9' && v <= max; (*p)++)
		v = v * 10 + (size_t)(**p - '0');
	*ret = v;
	return (v >= 1 && v <= max);
}

/* Decodes the base64 at ${*p} into ${ret}, and moves ${*p} to the first
 * character that is not base64.  Returns false if the base64 is malformed or
 * does not give exactly ${n} bytes; then ${ret} and ${*p} are undefined. */
static bool
take_bytes(const char **p, unsigned char *ret, size_t n)
{
	size_t got;

	return (sodium_base642bin(
		    ret, n, *p, strlen(*p), NULL, &got, p, BASE64) == 0 &&
		got == n);
}

static bool
parse_stored(const char *text, struct stored *ret)
{
	size_t ops;

	if (!take_text(&text, "$argon2id$v=19$m=") ||
	    !take_number(&text, MEM_KIB_MAX, &ret->mem_kib) ||
	    !take_text(&text, ",t=") || !take_number(&text, OPS_MAX, &ops) ||
	    !take_text(&text, ",p=1$") ||
	    !take_bytes(&text, ret->salt, sizeof(ret->salt)) ||
	    !take_text(&text, "$") ||
	    !take_bytes(&text, ret->result, sizeof(ret->result)))
		return (false);
	ret->ops = ops;
	return (*text == '\0');
}

enum rc
crypt_password_verify(
    const char *stored, const char *password, size_t n, struct err *err)
{
	unsigned char result[RESULT_SIZE];
	struct stored s;
	bool equal;

	if (!parse_stored(stored, &s))
		return (
		    err_set(err, RC_CORRUPT, "a stored password is damaged"));
	if (crypto_pwhash_argon2id(result, sizeof(result), password, n, s.salt,
		s.ops, s.mem_kib * 1024, crypto_pwhash_argon2id_ALG_ARGON2ID13))
		return (err_set_sys(
		    err, RC_NO_MEMORY, errno, "cannot check a password"));
	equal = sodium_memcmp(result, s.result, sizeof(result)) == 0;
	sodium_memzero(result, sizeof(result));
	if (!equal)
		return (err_set(err, RC_DENIED, "the password is wrong"));
	return (RC_OK);
}

enum rc
crypt_password_dummy(const char *password, size_t n, struct err *err)
{
	enum rc rc;

	rc = crypt_password_verify(cost()->dummy, password, n, err);
	if (rc == RC_OK)
		return (err_set(err, RC_DENIED, "there is no such user"));
	return (rc);
}

void
crypt_password_once(struct rnd *rnd, char ret[CRYPT_ONCE_SIZE])
{
	static const char alphabet[] = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
	unsigned char bytes[CRYPT_ONCE_SIZE - 1];
	size_t i;

	static_assert(sizeof(alphabet) == 32 + 1, "five bits a character");
	rnd_fill(rnd, bytes, sizeof(bytes));
	for (i = 0; i < sizeof(bytes); i++)
		ret[i] = i % 5 == 4 ? '-' : alphabet[bytes[i] % 32];
	ret[i] = '\0';
	sodium_memzero(bytes, sizeof(bytes));
}
