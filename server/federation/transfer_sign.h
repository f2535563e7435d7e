/* SPDX-License-Identifier: MIT */
/*
 * Signs a request to another server (docs/federation.md, "A request"), and adds
 * the signature and all other headers that the protocol requires.
 */
#ifndef FEDERATION_TRANSFER_SIGN_H
#define FEDERATION_TRANSFER_SIGN_H

#include "base/rnd.h"
#include "federation/keyring.h"
#include "federation/transfer.h"

/* Sender, receiver and time of a request.  Texts are borrowed. */
struct transfer_signed {
	const char *from;      /* the domain of this server */
	const char *to;        /* the domain of the receiver */
	const char *authority; /* of the receiver's deliver URL */
	int64_t now_s;         /* wall time, in seconds since 1970 */
	struct rnd *rnd;       /* for the nonce */
};

/* Signs the request ${t} with ${key}, and adds the headers.  The caller makes
 * sure that ${t} is a POST with a body to DOCUMENT_DELIVER_PATH, and has not
 * begun.  Returns RC_INVALID, with no header added, if signature_make() fails:
 * the clock is before 1970, or a text of ${s} or ${key} is malformed or too
 * long.  Returns RC_NO_MEMORY if not all headers could be added; those that
 * were added are freed by transfer_fini().  Thread: that of ${t}. */
enum rc transfer_sign(struct transfer *t, const struct transfer_signed *s,
    const struct keyring_signer *key, struct err *err) MUST_USE;

#endif
