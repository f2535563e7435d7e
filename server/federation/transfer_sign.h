/* SPDX-License-Identifier: MIT */
/*
 * Signs a request to another server (docs/federation.md, "A request"): adds all
 * headers that the protocol requires.
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

/* Signs the body of ${t}, a POST to DOCUMENT_DELIVER_PATH that has not begun,
 * with ${key}, and adds the headers.  RC_INVALID: the clock is before 1970, or
 * a value cannot be put into a header.  RC_NO_MEMORY.  Thread: that of ${t}. */
enum rc transfer_sign(struct transfer *t, const struct transfer_signed *s,
    const struct keyring_signer *key, struct err *err) MUST_USE;

#endif
