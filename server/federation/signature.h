/* SPDX-License-Identifier: MIT */
/*
 * The signature of a request between servers: HTTP Message Signatures
 * (RFC 9421) in one fixed profile, and Content-Digest (RFC 9530).
 *
 * The profile: one signature, with the label "tb", of
 *
 *	("@method" "@authority" "@path" "content-digest" "content-type"
 *	 "twinbox-from" "twinbox-to")
 *
 * in this order, and the parameters created, expires, nonce, keyid,
 * alg="ed25519" and tag="twinbox-1", each once, in any order.  Everything else
 * is refused, so no general parser of structured fields (RFC 8941) is needed:
 * what is read here is also the only way to write it.
 *
 * Thread: any, in all of these.  Memory: the caller's.
 */
#ifndef FEDERATION_SIGNATURE_H
#define FEDERATION_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "crypt/sign.h"

/* A nonce and the id of a key: letters, digits, "-" and "_". */
#define SIGNATURE_NONCE_MIN 16
#define SIGNATURE_NONCE_MAX 64
#define SIGNATURE_KEY_ID_MAX 64
/* expires - created, at most; and how far the clocks may be apart. */
#define SIGNATURE_LIFE_S 300
#define SIGNATURE_SKEW_S 300
/* Signature-Input, at most: what the profile can need, and no more. */
#define SIGNATURE_INPUT_MAX 512
/* The same without its label. */
#define SIGNATURE_PARAMS_MAX (SIGNATURE_INPUT_MAX - 3)
/* What is signed, at most. */
#define SIGNATURE_BASE_MAX 2048
/* The headers that are written, with their NUL. */
#define SIGNATURE_INPUT_SIZE (SIGNATURE_INPUT_MAX + 1)
#define SIGNATURE_VALUE_SIZE (sizeof("tb=::") + SIGN_BASE64_SIZE(SIGN_SIZE))
#define SIGNATURE_DIGEST_SIZE                                                  \
	(sizeof("sha-256=::") + SIGN_BASE64_SIZE(SIGN_SHA256_SIZE))

/* Why a request is not taken as signed.  X(id, word in metrics and problems) */
#define SIGNATURE_FAULT_TABLE(X)                                               \
	X(SIGNATURE_GOOD, "good")                                              \
	X(SIGNATURE_MISSING, "signature-missing")                              \
	X(SIGNATURE_MALFORMED, "signature-malformed")                          \
	X(SIGNATURE_COMPONENTS, "signature-components")                        \
	X(SIGNATURE_PARAMETERS, "signature-parameters")                        \
	X(SIGNATURE_EXPIRED, "signature-expired")                              \
	X(SIGNATURE_EARLY, "signature-early")                                  \
	X(SIGNATURE_WRONG, "signature-wrong")                                  \
	X(SIGNATURE_DIGEST, "digest-wrong")                                    \
	X(SIGNATURE_REPEATED, "nonce-repeated")

enum signature_fault {
#define X(id, word) id,
	SIGNATURE_FAULT_TABLE(X)
#undef X
	    SIGNATURE_FAULTS
};

/* The word of ${fault}, which is not SIGNATURE_FAULTS. */
const char *signature_fault_word(enum signature_fault fault);

/* What a signature covers.  Borrowed texts; NULL where a header is absent,
 * which is never signed and never verified. */
struct signature_covered {
	const char *method;         /* "POST" */
	const char *authority;      /* "b.example", "b.example:8443" */
	const char *path;           /* as it was sent, without a query */
	const char *content_digest; /* the header's value, as it was sent */
	const char *content_type;
	const char *from; /* Twinbox-From: the domain that signs */
	const char *to;   /* Twinbox-To: the domain that is meant */
};

/* A signature that was read. */
struct signature {
	int64_t created_s; /* seconds since 1970 */
	int64_t expires_s;
	char nonce[SIGNATURE_NONCE_MAX + 1];
	char key_id[SIGNATURE_KEY_ID_MAX + 1];
	uint8_t value[SIGN_SIZE];
	char params[SIGNATURE_PARAMS_MAX + 1]; /* as they were signed */
};

/* Reads the headers Signature-Input and Signature; NULL where one is absent.
 * SIGNATURE_GOOD: they have the form of the profile; nothing is verified.
 * Otherwise ${ret} is untouched.  Times that are read have ten digits at most.
 */
enum signature_fault signature_read(
    const char *input, const char *value, struct signature *ret);

/* Whether ${now_s} lies in the time of ${s}: from created_s - SIGNATURE_SKEW_S,
 * included, to expires_s + SIGNATURE_SKEW_S, excluded: a nonce that is kept to
 * that second outlives its signature.  SIGNATURE_GOOD, _EARLY or _EXPIRED; with
 * an honest signer the last two mean that a clock is off. */
enum signature_fault signature_timely(const struct signature *s, int64_t now_s);

/* Whether ${public} has signed ${covered}: SIGNATURE_GOOD or _WRONG. */
enum signature_fault signature_verify(const struct signature *s,
    const struct signature_covered *covered,
    const uint8_t public[SIGN_PUBLIC_SIZE]);

/* Writes what is signed (RFC 9421, section 2.5) to ${ret}: a line for each
 * component and one for ${params}, without a newline at the end.  Returns its
 * length; 0: it is longer than SIGNATURE_BASE_MAX, or a value is absent or
 * empty, has a byte that is not printable ASCII, or begins or ends with a
 * space. */
size_t signature_base(const struct signature_covered *covered,
    const char *params, char ret[SIGNATURE_BASE_MAX + 1]);

/* Signs ${covered} with ${seed}.  created_s, expires_s, nonce and key_id of
 * ${s} are given; value and params are filled in.  False: ${s} is not of the
 * profile (a clock before 1970, a short nonce), or signature_base() says 0. */
bool signature_make(struct signature *s,
    const struct signature_covered *covered,
    const uint8_t seed[SIGN_SEED_SIZE]);

/* The headers of a signature that was made. */
void signature_write(const struct signature *s,
    char ret_input[SIGNATURE_INPUT_SIZE], char ret_value[SIGNATURE_VALUE_SIZE]);

/* The value of Content-Digest for a body with ${hash}. */
void signature_digest_write(
    const uint8_t hash[SIGN_SHA256_SIZE], char ret[SIGNATURE_DIGEST_SIZE]);

/* Reads the value of Content-Digest: one SHA-256, nothing else.  False: it is
 * absent (NULL) or something else, and ${ret_hash} is untouched. */
bool signature_digest_read(
    const char *value, uint8_t ret_hash[SIGN_SHA256_SIZE]);

#endif
