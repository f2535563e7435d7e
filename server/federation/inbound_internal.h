/* SPDX-License-Identifier: MIT */
/*
 * A request of another server: inbound_head.c checks its head, inbound_take.c
 * processes its body, inbound.c has the routes.
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
	/* The fault of the head.  PROBLEM_NONE: the signature is good, the
	 * limits of the peer admit the request, and the members below are
	 * set. */
	struct refusal refusal;
	struct signature signature;
	char from[LIMIT_DOMAIN_LEN + 1];
	struct inbound_peer peer;
	uint8_t public[SIGN_PUBLIC_SIZE]; /* verified the signature */
	int64_t head_ms; /* wall time: when the head was read */
	uint8_t digest[SIGN_SHA256_SIZE]; /* of the body, as it was signed */
	struct sign_sha256 hash;          /* of the body received up to now */
};

/* Checks the head of ${req}, and makes the result the principal of ${req}.
 * Call it once for a request.  NULL: no memory.  Thread: the HTTP loop. */
struct inbound_call *inbound_call_new(
    struct inbound *in, struct http_request *req);

/* Sets the refusal of ${call} for ${fault}, with the text ${fmt}, and counts
 * the fault. inbound_refuse() sends it. */
void inbound_fault(struct inbound_call *call, enum signature_fault fault,
    const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Set the refusal of ${call}: its key is not known (any more); or its server is
 * blocked or not allowed. */
void inbound_unknown_key(struct inbound_call *call);
void inbound_refuse_peer(struct inbound_call *call);

/* Returns true if the times of the signature are valid now; otherwise sets the
 * refusal of ${call}. */
bool inbound_timely(struct inbound_call *call);

/* Answers with the refusal ${r}, and counts it. */
void inbound_refuse(struct inbound_call *call, const struct refusal *r);

/* Counts a request with the outcome ${outcome} (METRIC_BY_FEDERATION_IN). */
void inbound_count(struct inbound *in, const char *outcome);

/* Processes the complete body of ${call}, and sends the answer, now or
 * later. */
void inbound_take(struct inbound_call *call);

#endif
