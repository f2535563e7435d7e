/* SPDX-License-Identifier: MIT */
/*
 * The parts of the receiving side: inbound.c has the HTTP routes,
 * inbound_head.c checks the head of a request of another server, and
 * inbound_take.c processes its body.
 */
#ifndef FEDERATION_INBOUND_INTERNAL_H
#define FEDERATION_INBOUND_INTERNAL_H

#include "federation/inbound.h"
#include "federation/inbound_limits_internal.h"
#include "federation/signature.h"
#include "model/refusal.h"

struct inbound {
	struct inbound_options o;
	atomic_bool draining;
	struct inbound_limits *limits;
	struct http_gate gate;
	char deliver[DOCUMENT_DELIVER_SIZE]; /* the URL in the document */
};

/* A request for /v1/federation/deliver.  Lives as long as ${req}. */
struct inbound_call {
	struct inbound *in;
	struct http_request *req;
	/* Why the request is refused.  PROBLEM_NONE after inbound_call_new():
	 * the request is admitted, that is, the signature is good, the rate
	 * limits allow the request, and all the members below are set.  With
	 * another problem they may be unset.  inbound_take() may set a refusal
	 * later, for example if the digest of the body is wrong. */
	struct refusal refusal;
	struct signature signature;
	char from[LIMIT_DOMAIN_LEN + 1];
	struct inbound_peer peer;
	uint8_t public[SIGN_PUBLIC_SIZE]; /* verified the signature */
	int64_t head_ms; /* wall time: when the head was read */
	uint8_t digest[SIGN_SHA256_SIZE]; /* of the body, as it was signed */
	struct sign_sha256 hash;          /* of the body received up to now */
};

/* Checks the head of ${req} and returns the result, which is also set as the
 * principal of ${req} and is freed with ${req}.  The member `refusal` of the
 * result says whether the request is admitted.  Call this function once for
 * each request.  NULL: no memory; the principal is not set.  Thread: the HTTP
 * loop. */
struct inbound_call *inbound_call_new(
    struct inbound *in, struct http_request *req);

/* Sets the refusal of ${call} to the problem of the signature fault ${fault}
 * with the text ${fmt}, and counts the fault in the metrics.  Sends nothing:
 * inbound_refuse() sends the refusal later. */
void inbound_fault(struct inbound_call *call, enum signature_fault fault,
    const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* inbound_unknown_key() sets the refusal of ${call} because the key of the
 * signature is not known, or has become invalid since the signature was
 * verified.  inbound_refuse_peer() sets it because an operator has blocked the
 * peer, or the policy does not allow the peer.  Neither sends the refusal:
 * inbound_refuse() does. */
void inbound_unknown_key(struct inbound_call *call);
void inbound_refuse_peer(struct inbound_call *call);

/* Returns true if the times of the signature of ${call} are good now by the
 * wall clock (signature_timely()); the signature itself is not verified.
 * Otherwise sets the refusal of ${call}, because the signature has expired or
 * was made too far in the future, and counts the fault as inbound_fault()
 * does. */
bool inbound_timely(struct inbound_call *call);

/* Answers with the refusal ${r}, and counts it. */
void inbound_refuse(struct inbound_call *call, const struct refusal *r);

/* Counts a request with the outcome ${outcome} (METRIC_BY_FEDERATION_IN). */
void inbound_count(struct inbound *in, const char *outcome);

/* Processes the complete body of ${call}, and sends the answer, now or
 * later. */
void inbound_take(struct inbound_call *call);

#endif
