/* SPDX-License-Identifier: MIT */
/*
 * The document in which a server describes itself to others,
 * /.well-known/twinbox (docs/federation.md): this server's is written, a peer's
 * is read under the rules of the protocol.
 *
 * A peer's document decides to which address its messages go and whose
 * signatures are believed, so one broken rule makes the whole invalid.
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

/* The longest document that is read. */
#define DOCUMENT_LEN 65536
#define DOCUMENT_KEYS 8
/* Requests under way to one peer, at most; and to one whose document does not
 * say how many, which may be older.  At a round trip of 150 ms 64 requests of
 * 50 envelopes are 21,000 envelopes a second, more than a server takes in. */
#define DOCUMENT_REQUESTS 64
#define DOCUMENT_REQUESTS_UNSAID 32
/* Where a server has its document. */
#define DOCUMENT_PATH "/.well-known/twinbox"
/* The one path that envelopes are sent to. */
#define DOCUMENT_DELIVER_PATH "/v1/federation/deliver"
/* "https://" or "http://", an authority, the path, and the NUL. */
#define DOCUMENT_AUTHORITY_SIZE (LIMIT_DOMAIN_LEN + sizeof(":65535"))
#define DOCUMENT_DELIVER_SIZE                                                  \
	(sizeof("https://" DOCUMENT_DELIVER_PATH) + DOCUMENT_AUTHORITY_SIZE)
/* How long a document is kept, in seconds: when it does not say, at least, at
 * most. */
#define DOCUMENT_LIFETIME_S 300
#define DOCUMENT_LIFETIME_MIN_S 60
#define DOCUMENT_LIFETIME_MAX_S 86400

struct document_key {
	char id[SIGNATURE_KEY_ID_MAX + 1];
	uint8_t public[SIGN_PUBLIC_SIZE];
};

/* What a document says.  Owns all of it. */
struct document {
	char domain[LIMIT_DOMAIN_LEN + 1];
	size_t nkeys; /* 1 to DOCUMENT_KEYS, with different ids */
	struct document_key keys[DOCUMENT_KEYS];
	char deliver[DOCUMENT_DELIVER_SIZE];
	/* Of deliver, as it is signed: without ":443".  Set by document_read();
	 * document_write() does not look at it. */
	char authority[DOCUMENT_AUTHORITY_SIZE];
	/* Limits of a request: envelopes, bytes; and requests under way.  From
	 * 1 to ENVELOPE_ITEMS, ENVELOPE_REQUEST_LEN, DOCUMENT_REQUESTS. */
	int64_t items, bytes, requests;
	char epoch[ENVELOPE_EPOCH_LEN + 1]; /* "": it does not say */
};

/* Writes ${d} to ${b}.  Failure sticks in ${b}. */
void document_write(struct buf *b, const struct document *d);

/* Reads the ${n} bytes that ${domain} gave for its document.  ${pinned} (NULL:
 * none) is the base URL that the operator pinned for it, such as
 * "http://127.0.0.1:8080": then `deliver` may also be that URL with
 * DOCUMENT_DELIVER_PATH, and no rule of DNS names holds for it.
 *
 * RC_OK: *${ret} is set.  RC_INVALID: a rule is broken, and ${err} says which,
 * in words for an operator.  RC_NO_MEMORY. */
enum rc document_read(const char *text, size_t n, const char *domain,
    const char *pinned, struct document *ret, struct err *err) MUST_USE;

/* How long a document is kept that came with the header Cache-Control:
 * ${value} (NULL: without one), in seconds. */
int64_t document_lifetime_s(const char *value);

#endif
