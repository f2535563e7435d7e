/* SPDX-License-Identifier: MIT */
/*
 * Decides what the outcome of a request to another server means for the
 * envelopes in it and for the destination (docs/federation.md, "Other
 * answers").
 *
 * The rule behind classify(): a message is given up only if the peer's own
 * software rejects it: by the ack for this message in the answer, or, if the
 * message was alone in the request, by status 400, 413 or 422 with the problem
 * code bad-request, too-large or body-too-large.  All other answers without
 * acks, such as those of a proxy or a wrong host, and no answer at all, use up
 * no retry of the messages.  The request is sent again at once, signed anew or
 * in halves, or the messages wait, and the destination is paused or charged
 * with a failure.
 *
 * Thread: any, in all of these.  Only parsing a problem document allocates
 * memory.
 */
#ifndef FEDERATION_CLASSIFY_H
#define FEDERATION_CLASSIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/envelope.h"

/* How far a request came.  X(id, text for operators) */
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

/* Returns the text of ${transport}.  Static storage. */
const char *classify_transport_words(enum classify_transport transport);

/* The problem codes on which a decision depends.  Others count as
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

/* The code (the end of the member `type`) and the member `detail` of a problem
 * document (RFC 9457), safe to show to operators.  Bytes that are not printable
 * ASCII become '?', and texts that are too long for these arrays are cut. */
struct classify_said {
	char code[48]; /* the end of its `type` */
	char detail[256];
};

/* Copies the code and the detail of the problem document in the ${n} bytes at
 * ${body} to ${ret}; ${type} is the value of the header Content-Type (NULL:
 * absent).  Returns false, with ${ret} unchanged, if ${type} is not
 * application/problem+json, if the body is longer than ENVELOPE_ANSWER_LEN or
 * not valid JSON, or if memory is short.  A text becomes "" if its member is
 * missing or not a string. */
bool classify_problem_said(
    const char *type, const char *body, size_t n, struct classify_said *ret);

/* Parses the same input as classify_problem_said(), and returns the problem in
 * CLASSIFY_PROBLEM_TABLE whose code equals the part of the member `type` behind
 * its last "/" (all of `type` if it has no "/").  Returns CLASSIFY_NO_PROBLEM
 * if the table does not have the code or classify_problem_said() returns false.
 */
enum classify_problem classify_problem_read(
    const char *type, const char *body, size_t n);

/* The decision.  X(id, word in logs and metrics) */
#define CLASSIFY_TABLE(X)                                                      \
	/* The acks of the answer settle the envelopes. */                     \
	X(CLASSIFY_SETTLE, "settle")                                           \
	/* Signs the same request anew and sends it at once. */                \
	X(CLASSIFY_SIGN_ANEW, "sign-anew")                                     \
	/* The destination failed; the envelopes wait, not charged. */         \
	X(CLASSIFY_CHARGE, "charge")                                           \
	/* As CLASSIFY_CHARGE, and the operator is alerted. */                 \
	X(CLASSIFY_CHARGE_ALERT, "charge-alert")                               \
	/* Sends each half of the envelopes in a request of its own. */        \
	X(CLASSIFY_HALVE, "halve")                                             \
	/* The only envelope is rejected, for ${reason}. */                    \
	X(CLASSIFY_REJECT, "reject")                                           \
	/* Sends nothing for ${park_ms}; nothing is charged. */                \
	X(CLASSIFY_PARK, "park")

enum classify_class {
#define X(id, word) id,
	CLASSIFY_TABLE(X)
#undef X
	    CLASSIFY_CLASSES
};

/* Returns the word of ${class}.  Static storage. */
const char *classify_word(enum classify_class class);

/* The shortest time in ms for which no request goes to a destination that asked
 * for a pause.  Without this minimum, a peer that always answers "Retry-After:
 * 0" would get requests in an endless loop. */
#define CLASSIFY_PARK_MIN_MS 1000

/* The answer had no Retry-After. */
#define CLASSIFY_NO_WAIT (-1)

/* The outcome of a request. */
struct classify_outcome {
	enum classify_transport transport;
	/* The members below are set if ${transport} is CLASSIFY_ANSWERED. */
	int status;                    /* HTTP status */
	bool read;                     /* wire_answer_read() could parse it */
	bool reconnect;                /* control.reconnect was set … */
	int64_t reconnect_after_ms;    /* … with this wait */
	enum classify_problem problem; /* classify_problem_read() */
	int64_t retry_after_ms;        /* or CLASSIFY_NO_WAIT */
	size_t envelopes;              /* number in the request */
	bool signed_anew;              /* it was already signed anew once */
};

struct classify_verdict {
	enum classify_class class;
	enum envelope_reason reason; /* of CLASSIFY_REJECT */
	int64_t park_ms;             /* of CLASSIFY_PARK: 1 s to 1 h */
};

/* Returns what to do after ${outcome}. */
struct classify_verdict classify(const struct classify_outcome *outcome);

/* Parses an HTTP date in the preferred form (RFC 9110, section 5.6.7), for
 * example the value of the header Date, to wall time in ms.  The day of the
 * week is not checked.  Returns false, with ${ret_ms} unchanged, if ${value} is
 * not such a date; ${value} must not be NULL. */
bool classify_date_read(const char *value, int64_t *ret_ms);

/* Parses the header Retry-After (RFC 9110, section 10.2.3).  ${value} (NULL:
 * absent) is a number of seconds, or a date in the preferred form; ${now_ms} is
 * wall time.  Returns the time to wait in ms, 0 if the date has passed, and
 * RETRY_HINT_MAX_MS for a longer time.  Returns CLASSIFY_NO_WAIT if the header
 * is absent or not valid. */
int64_t classify_retry_after_ms(const char *value, int64_t now_ms);

#endif
