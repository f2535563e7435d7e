/* SPDX-License-Identifier: MIT */
/*
 * The document in which a server describes itself to others,
 * /.well-known/twinbox (docs/federation.md).  Writes this server's, and parses
 * and checks a peer's.
 *
 * A peer's document decides to which address messages are sent and whose
 * signatures are believed, so one broken rule makes the whole document invalid.
 *
 * Thread: any, in all of these.
 */
#ifndef FEDERATION_DOCUMENT_H
#define FEDERATION_DOCUMENT_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/limits.h"
#include "crypt/sign.h"
#include "federation/signature.h"
#include "model/envelope.h"

/* The longest document that is accepted, in bytes. */
#define DOCUMENT_LEN 65536
#define DOCUMENT_KEYS 8
/* Limit of requests under way to one peer; and the limit for a peer whose
 * document does not give one, which may be an older version.  At a round trip
 * of 150 ms, 64 requests of 50 envelopes are 21,000 envelopes a second, more
 * than a server takes in. */
#define DOCUMENT_REQUESTS 64
#define DOCUMENT_REQUESTS_UNSAID 32
/* The path of the document. */
#define DOCUMENT_PATH "/.well-known/twinbox"
/* The only path to which envelopes are sent. */
#define DOCUMENT_DELIVER_PATH "/v1/federation/deliver"
/* Sizes with the NUL: an authority, and "https://" or "http://" with an
 * authority and the path. */
#define DOCUMENT_AUTHORITY_SIZE (LIMIT_DOMAIN_LEN + sizeof(":65535"))
#define DOCUMENT_DELIVER_SIZE                                                  \
	(sizeof("https://" DOCUMENT_DELIVER_PATH) + DOCUMENT_AUTHORITY_SIZE)
/* How long a document is fresh, in seconds: if it does not say; the least; the
 * most. */
#define DOCUMENT_LIFETIME_S 300
#define DOCUMENT_LIFETIME_MIN_S 60
#define DOCUMENT_LIFETIME_MAX_S 86400

struct document_key {
	char id[SIGNATURE_KEY_ID_MAX + 1];
	uint8_t public[SIGN_PUBLIC_SIZE];
};

/* The contents of a document.  Owns all of it. */
struct document {
	char domain[LIMIT_DOMAIN_LEN + 1];
	size_t nkeys; /* from 1 to DOCUMENT_KEYS; ids differ */
	struct document_key keys[DOCUMENT_KEYS];
	char deliver[DOCUMENT_DELIVER_SIZE];
	/* The authority of deliver as it is signed, without ":443".  Set by
	 * document_read(); document_write() ignores it. */
	char authority[DOCUMENT_AUTHORITY_SIZE];
	/* Limits of a request: envelopes and bytes; and of requests under way.
	 * From 1 to ENVELOPE_ITEMS, ENVELOPE_REQUEST_LEN, DOCUMENT_REQUESTS. */
	int64_t items, bytes, requests;
	char epoch[ENVELOPE_EPOCH_LEN + 1]; /* "": not given */
};

/* Appends ${d} to ${b} as JSON.  An error stays in ${b} (buf_ok()). */
void document_write(struct buf *b, const struct document *d);

/* Parses the ${n} bytes that ${domain} sent as its document.  ${pinned} (NULL:
 * none) is the base URL that an operator has pinned for it, such as
 * "http://127.0.0.1:8080"; then `deliver` may also be that URL with
 * DOCUMENT_DELIVER_PATH, and the rules of DNS names do not apply to it.
 *
 * RC_OK: *${ret} is set.  RC_INVALID: a rule is broken; ${err} says which, in
 * words for an operator.  RC_NO_MEMORY.  After an error ${ret} is unchanged. */
enum rc document_read(const char *text, size_t n, const char *domain,
    const char *pinned, struct document *ret, struct err *err) MUST_USE;

/* Returns for how many seconds a document is fresh that came with the header
 * Cache-Control: ${value} (NULL: absent): its max-age, from
 * DOCUMENT_LIFETIME_MIN_S to _MAX_S; DOCUMENT_LIFETIME_S if it has no valid
 * one. */
int64_t document_lifetime_s(const char *value);

#endif
