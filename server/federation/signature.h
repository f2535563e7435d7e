/* SPDX-License-Identifier: MIT */
/*
 * The signature of a request between servers: HTTP Message Signatures (RFC
 * 9421) in one fixed profile, and Content-Digest (RFC 9530).
 *
 * The profile: one signature, with the label "tb", of
 *
 *	("@method" "@authority" "@path" "content-digest" "content-type"
 *	 "twinbox-from" "twinbox-to")
 *
 * in this order, and the parameters created, expires, nonce, keyid,
 * alg="ed25519" and tag="twinbox-1", each once, in any order.  Everything else
 * is refused.  So the receiver compares the headers with fixed texts and needs
 * no general parser of structured fields (RFC 8941); such a parser could read a
 * header differently from the signer.
 *
 * Thread: any, in all of these.  Memory: the caller's.
 */
#ifndef FEDERATION_SIGNATURE_H
#define FEDERATION_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "crypt/sign.h"

/* A nonce has SIGNATURE_NONCE_MIN to SIGNATURE_NONCE_MAX characters, and a key
 * id 1 to SIGNATURE_KEY_ID_MAX.  Both consist of letters, digits, "-" and
 * "_". */
#define SIGNATURE_NONCE_MIN 16
#define SIGNATURE_NONCE_MAX 64
#define SIGNATURE_KEY_ID_MAX 64
/* Seconds.  SIGNATURE_LIFE_S: the longest lifetime of a signature (expires -
 * created); a longer one is refused.  SIGNATURE_SKEW_S: the difference between
 * the clocks of signer and receiver that is tolerated. */
#define SIGNATURE_LIFE_S 300
#define SIGNATURE_SKEW_S 300
/* The longest Signature-Input that is accepted; the profile needs less. */
#define SIGNATURE_INPUT_MAX 512
/* The same without the label. */
#define SIGNATURE_PARAMS_MAX (SIGNATURE_INPUT_MAX - 3)
/* The longest text that is signed. */
#define SIGNATURE_BASE_MAX 2048
/* Sizes of the headers that are written, with the NUL. */
#define SIGNATURE_INPUT_SIZE (SIGNATURE_INPUT_MAX + 1)
#define SIGNATURE_VALUE_SIZE (sizeof("tb=::") + SIGN_BASE64_SIZE(SIGN_SIZE))
#define SIGNATURE_DIGEST_SIZE                                                  \
	(sizeof("sha-256=::") + SIGN_BASE64_SIZE(SIGN_SHA256_SIZE))

/* Why a request does not count as signed.  X(id, word in metrics and
 * problems) */
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

/* Returns the word of ${fault}, which must not be SIGNATURE_FAULTS. */
const char *signature_fault_word(enum signature_fault fault);

/* The parts of a request that its signature covers.  Texts are borrowed.  A
 * header that is absent is NULL; then signature_make() and signature_verify()
 * fail. */
struct signature_covered {
	const char *method;         /* "POST" */
	const char *authority;      /* "b.example", "b.example:8443" */
	const char *path;           /* as sent, without a query */
	const char *content_digest; /* the value as sent */
	const char *content_type;
	const char *from; /* Twinbox-From: the domain that signs */
	const char *to;   /* Twinbox-To: the domain of the receiver */
};

/* A parsed signature. */
struct signature {
	int64_t created_s; /* seconds since 1970 */
	int64_t expires_s;
	char nonce[SIGNATURE_NONCE_MAX + 1];
	char key_id[SIGNATURE_KEY_ID_MAX + 1];
	uint8_t value[SIGN_SIZE];
	char params[SIGNATURE_PARAMS_MAX + 1]; /* as signed */
};

/* Parses the values of the headers Signature-Input (${input}) and Signature
 * (${value}); NULL: the header is absent.  Returns SIGNATURE_GOOD if both have
 * the form of the profile; nothing is verified yet.  Otherwise returns the
 * fault, and ${ret} is unchanged.  Times must have at most ten digits, and
 * expires must be 1 to SIGNATURE_LIFE_S seconds after created. */
enum signature_fault signature_read(
    const char *input, const char *value, struct signature *ret);

/* Checks the times of ${s}.  They are good while created_s - SIGNATURE_SKEW_S
 * <= ${now_s} < expires_s + SIGNATURE_SKEW_S.  So a receiver must keep a nonce
 * until expires_s + SIGNATURE_SKEW_S; from that second on, the times refuse a
 * copy of the request.  Returns SIGNATURE_GOOD, SIGNATURE_EARLY or
 * SIGNATURE_EXPIRED.  If the signer is honest and the request is fresh, the
 * last two mean that a clock is off. */
enum signature_fault signature_timely(const struct signature *s, int64_t now_s);

/* Verifies that ${public} has signed ${covered}.  Returns SIGNATURE_GOOD or
 * _WRONG. */
enum signature_fault signature_verify(const struct signature *s,
    const struct signature_covered *covered,
    const uint8_t public[SIGN_PUBLIC_SIZE]);

/* Writes the text that is signed (RFC 9421, section 2.5) to ${ret}: a line for
 * each covered component and one for ${params}, with a NUL but no newline at
 * the end.  Returns its length without the NUL.  Returns 0, with ${ret}
 * undefined, if the text would be longer than SIGNATURE_BASE_MAX, or if
 * ${params} or a member of ${covered} is NULL or empty, has a byte that is not
 * printable ASCII, or begins or ends with a space. */
size_t signature_base(const struct signature_covered *covered,
    const char *params, char ret[SIGNATURE_BASE_MAX + 1]);

/* Signs ${covered} with the key of ${seed}.  The caller sets created_s,
 * expires_s, nonce and key_id of ${s}; this function sets value and params.
 * Returns false, with value unchanged, if the members that the caller set are
 * not of the profile (for example a time before 1970, or a nonce that is too
 * short), or if signature_base() returned 0. */
bool signature_make(struct signature *s,
    const struct signature_covered *covered,
    const uint8_t seed[SIGN_SEED_SIZE]);

/* Writes the values of the headers for a signature of signature_make(). */
void signature_write(const struct signature *s,
    char ret_input[SIGNATURE_INPUT_SIZE], char ret_value[SIGNATURE_VALUE_SIZE]);

/* Writes the value of Content-Digest for a body with ${hash}. */
void signature_digest_write(
    const uint8_t hash[SIGN_SHA256_SIZE], char ret[SIGNATURE_DIGEST_SIZE]);

/* Parses the value of the header Content-Digest, which must hold one SHA-256
 * and nothing else.  Returns false, with ${ret_hash} unchanged, if ${value} is
 * anything else or NULL (the header is absent). */
bool signature_digest_read(
    const char *value, uint8_t ret_hash[SIGN_SHA256_SIZE]);

#endif
