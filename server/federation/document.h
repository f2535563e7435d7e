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
/* DOCUMENT_REQUESTS is the highest limit of requests under way to one peer at
 * the same time; a higher limit in a document counts as this one.  At a round
 * trip of 150 ms, 64 requests of 50 envelopes are 21,000 envelopes a second,
 * more than a server takes in.  DOCUMENT_REQUESTS_UNSAID is the limit for a
 * peer whose document does not state one, as those of older versions. */
#define DOCUMENT_REQUESTS 64
#define DOCUMENT_REQUESTS_UNSAID 32
/* The path of the document. */
#define DOCUMENT_PATH "/.well-known/twinbox"
/* The only path to which envelopes are sent. */
#define DOCUMENT_DELIVER_PATH "/v1/federation/deliver"
/* Sizes of texts, with the NUL: an authority (HOST or HOST:PORT), and a URL of
 * "https://" or "http://", an authority and DOCUMENT_DELIVER_PATH. */
#define DOCUMENT_AUTHORITY_SIZE (LIMIT_DOMAIN_LEN + sizeof(":65535"))
#define DOCUMENT_DELIVER_SIZE                                                  \
	(sizeof("https://" DOCUMENT_DELIVER_PATH) + DOCUMENT_AUTHORITY_SIZE)
/* The lifetime of a document in seconds is the max-age of the HTTP answer that
 * brought it, but at least DOCUMENT_LIFETIME_MIN_S and at most
 * DOCUMENT_LIFETIME_MAX_S.  DOCUMENT_LIFETIME_S is the lifetime if there is no
 * valid max-age, and the max-age that this server sends with its own document.
 */
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
	/* The host and the port of the URL ${deliver}, without the default port
	 * 443, as signatures cover them.  document_read() sets it;
	 * document_write() ignores it. */
	char authority[DOCUMENT_AUTHORITY_SIZE];
	/* Limits for requests to the server of the document: envelopes in a
	 * request, bytes in a request, and requests under way at the same time.
	 * They are at least 1 and at most ENVELOPE_ITEMS, ENVELOPE_REQUEST_LEN
	 * and DOCUMENT_REQUESTS, in this order. */
	int64_t items, bytes, requests;
	char epoch[ENVELOPE_EPOCH_LEN + 1]; /* "": not given */
};

/* Appends ${d} to ${b} as JSON.  An error stays in ${b} (buf_ok()). */
void document_write(struct buf *b, const struct document *d);

/* Parses the ${n} bytes at ${text}, which ${domain} sent as its document.  Its
 * member `deliver` must be DOCUMENT_DELIVER_PATH by https on port 443 of
 * ${domain} or of a subdomain of it.  ${pinned} (NULL: none) is the base URL
 * that an operator has pinned for ${domain}, such as "http://127.0.0.1:8080";
 * then `deliver` may instead be ${pinned} followed by DOCUMENT_DELIVER_PATH.
 *
 * Returns RC_OK; RC_INVALID if a rule is broken, with the rule in ${err}, in
 * words for an operator; or RC_NO_MEMORY.  After an error ${ret} is
 * unchanged. */
enum rc document_read(const char *text, size_t n, const char *domain,
    const char *pinned, struct document *ret, struct err *err) MUST_USE;

/* Returns the lifetime in seconds of a document that came with the header
 * Cache-Control: ${value} (NULL: absent).  That is its max-age, clamped to
 * DOCUMENT_LIFETIME_MIN_S to DOCUMENT_LIFETIME_MAX_S, or DOCUMENT_LIFETIME_S if
 * it has no valid max-age. */
int64_t document_lifetime_s(const char *value);

#endif
