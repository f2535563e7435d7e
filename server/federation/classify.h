/* SPDX-License-Identifier: MIT */
/*
 * What the outcome of a request to another server means for its envelopes and
 * for its destination (docs/federation.md, "Other answers").
 *
 * The rule behind the table: a message is given up only if the peer's own
 * software says so.  Whatever a proxy, a wrong host or a dead network answers
 * is the destination's fault and charges no message.
 *
 * Thread: any, in all of these.  Nothing is allocated but while a problem
 * document is parsed.
 */
#ifndef FEDERATION_CLASSIFY_H
#define FEDERATION_CLASSIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/envelope.h"

/* How far a request came.  X(id, words for people) */
#define CLASSIFY_TRANSPORT_TABLE(X)                                            \
	X(CLASSIFY_ANSWERED, "answered")                                       \
	X(CLASSIFY_NO_ADDRESS, "its name has no address")                      \
	X(CLASSIFY_FORBIDDEN, "its address may not be contacted")              \
	X(CLASSIFY_NO_CONNECTION, "no connection")                             \
	X(CLASSIFY_TLS, "TLS failed")                                          \
	X(CLASSIFY_TIME_OUT, "no answer in time")                              \
	X(CLASSIFY_BROKEN, "the connection broke")                             \
	X(CLASSIFY_TOO_LONG, "the answer is too long")

enum classify_transport {
#define X(id, words) id,
	CLASSIFY_TRANSPORT_TABLE(X)
#undef X
	    CLASSIFY_TRANSPORTS
};

/* The words of ${transport}.  Static storage. */
const char *classify_transport_words(enum classify_transport transport);

/* The codes of problems that decide something here.  Others count as
 * CLASSIFY_NO_PROBLEM.  X(id, code) */
#define CLASSIFY_PROBLEM_TABLE(X)                                              \
	X(CLASSIFY_NO_PROBLEM, "")                                             \
	X(CLASSIFY_BAD_REQUEST, "bad-request")                                 \
	X(CLASSIFY_TOO_LARGE, "too-large")                                     \
	X(CLASSIFY_BODY_TOO_LARGE, "body-too-large")                           \
	X(CLASSIFY_NONCE_REPEATED, "nonce-repeated")                           \
	X(CLASSIFY_KEY_UNKNOWN, "key-unknown")                                 \
	X(CLASSIFY_PEER_REFUSED, "peer-refused")

enum classify_problem {
#define X(id, code) id,
	CLASSIFY_PROBLEM_TABLE(X)
#undef X
	    CLASSIFY_PROBLEMS
};

/* What a problem document says of itself, for people: bytes that are not
 * printable ASCII become '?', and what is longer is cut. */
struct classify_said {
	char code[48]; /* with which its `type` ends */
	char detail[256];
};

/* Reads a body of ${n} bytes that came with the header Content-Type ${type}
 * (NULL: without one).  False, and ${ret} is untouched: it is not
 * application/problem+json, or memory is short. */
bool classify_problem_said(
    const char *type, const char *body, size_t n, struct classify_said *ret);

/* The problem that a body of ${n} bytes is about, which came with the header
 * Content-Type ${type} (NULL: without one): the code with which its `type`
 * ends.  CLASSIFY_NO_PROBLEM for anything but application/problem+json, and
 * when memory is short. */
enum classify_problem classify_problem_read(
    const char *type, const char *body, size_t n);

/* What is to be done.  X(id, word in logs and metrics) */
#define CLASSIFY_TABLE(X)                                                      \
	/* The acks of the answer settle the envelopes. */                     \
	X(CLASSIFY_SETTLE, "settle")                                           \
	/* Signs the same request anew and sends it at once; charges nobody.   \
	 */                                                                    \
	X(CLASSIFY_SIGN_ANEW, "sign-anew")                                     \
	/* The destination failed; its envelopes wait and are not charged. */  \
	X(CLASSIFY_CHARGE, "charge")                                           \
	/* The same, and the operator is alerted. */                           \
	X(CLASSIFY_CHARGE_ALERT, "charge-alert")                               \
	/* Sends each half of the envelopes as a request of its own. */        \
	X(CLASSIFY_HALVE, "halve")                                             \
	/* The one envelope is rejected, for ${reason}. */                     \
	X(CLASSIFY_REJECT, "reject")                                           \
	/* The destination waits ${park_ms}; nobody is charged. */             \
	X(CLASSIFY_PARK, "park")

enum classify_class {
#define X(id, word) id,
	CLASSIFY_TABLE(X)
#undef X
	    CLASSIFY_CLASSES
};

/* The word of ${class}.  Static storage. */
const char *classify_word(enum classify_class class);

/* The least time that a destination is parked: a peer that always says "now"
 * would otherwise cause requests without an end. */
#define CLASSIFY_PARK_MIN_MS 1000

/* No Retry-After was sent. */
#define CLASSIFY_NO_WAIT (-1)

/* The outcome of a request. */
struct classify_outcome {
	enum classify_transport transport;
	/* The rest: if CLASSIFY_ANSWERED. */
	int status;                    /* of HTTP */
	bool read;                     /* wire_answer_read() took it */
	bool reconnect;                /* the answer asks to reconnect … */
	int64_t reconnect_after_ms;    /* … after this time */
	enum classify_problem problem; /* classify_problem_read() */
	int64_t retry_after_ms;        /* or CLASSIFY_NO_WAIT */
	size_t envelopes;              /* of the request */
	bool signed_anew;              /* after a repeated nonce */
};

struct classify_verdict {
	enum classify_class class;
	enum envelope_reason reason; /* CLASSIFY_REJECT */
	int64_t park_ms;             /* CLASSIFY_PARK: up to one hour */
};

/* What ${outcome} means. */
struct classify_verdict classify(const struct classify_outcome *outcome);

/* Reads an HTTP date in the preferred form (RFC 9110, section 5.6.7), such as
 * that of the header Date: wall time.  False, and ${ret_ms} is untouched: it is
 * none. */
bool classify_date_read(const char *value, int64_t *ret_ms);

/* Reads the header Retry-After (RFC 9110, section 10.2.3): ${value} (NULL:
 * without one), seconds or a date in the preferred form, at ${now_ms} of wall
 * time.  Returns milliseconds from now, RETRY_HINT_MAX_MS at most;
 * CLASSIFY_NO_WAIT if it says nothing. */
int64_t classify_retry_after_ms(const char *value, int64_t now_ms);

#endif
