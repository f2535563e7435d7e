/* SPDX-License-Identifier: MIT */
/*
 * A request of another server on its way: inbound_head.c checks its head,
 * inbound_take.c takes what it brings, inbound.c has the routes.
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
	char deliver[DOCUMENT_DELIVER_SIZE]; /* of the document */
};

/* A request for /v1/federation/deliver; lives as long as that. */
struct inbound_call {
	struct inbound *in;
	struct http_request *req;
	/* What is wrong with the head; PROBLEM_NONE: the signature holds, and
	 * the rest is set. */
	struct refusal refusal;
	struct signature signature;
	char from[LIMIT_DOMAIN_LEN + 1];
	struct inbound_peer peer;
	uint8_t public[SIGN_PUBLIC_SIZE]; /* that has verified it */
	int64_t head_ms; /* wall time: when its head was read */
	uint8_t digest[SIGN_SHA256_SIZE]; /* as it was signed */
	struct sign_sha256 hash;          /* of what has come */
};

/* Checks the head of ${req}, once, and makes it the principal of ${req}; NULL:
 * no memory.  Thread: the loop's. */
struct inbound_call *inbound_call_new(
    struct inbound *in, struct http_request *req);

/* Makes ${call} refused for ${fault}, with the sentence ${fmt}. */
void inbound_fault(struct inbound_call *call, enum signature_fault fault,
    const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* ${call} is refused because its key is not known (any more), or because
 * nothing is taken from its server. */
void inbound_unknown_key(struct inbound_call *call);
void inbound_refuse_peer(struct inbound_call *call);

/* Whether the times of the signature hold now; else ${call} is refused. */
bool inbound_timely(struct inbound_call *call);

/* Answers with ${r}, and counts it. */
void inbound_refuse(struct inbound_call *call, const struct refusal *r);

/* Counts a request that became ${outcome} (METRIC_BY_FEDERATION_IN). */
void inbound_count(struct inbound *in, const char *outcome);

/* Takes what ${call} brings, whose body is whole, and sees to its answer. */
void inbound_take(struct inbound_call *call);

#endif
