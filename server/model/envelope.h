/* SPDX-License-Identifier: MIT */
/*
 * An envelope: one event on its way from one server to another, and what the
 * receiving server says of it (docs/federation.md).
 */
#ifndef MODEL_ENVELOPE_H
#define MODEL_ENVELOPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/uuid.h"
#include "model/message.h"

/* Envelopes of one request, and its bytes; acks and heartbeats that travel in
 * it. */
#define ENVELOPE_ITEMS 50
#define ENVELOPE_REQUEST_LEN LIMIT_PEER_REQUEST_LEN
#define ENVELOPE_ACKS 50
/* An answer to a request is never longer. */
#define ENVELOPE_ANSWER_LEN 1048576

/* The text of a ping, and the one that answers it. */
#define ENVELOPE_PING_LEN 64
/* An epoch: letters, digits and "-". */
#define ENVELOPE_EPOCH_LEN 40
/* A reason as it is kept: longer ones of peers are cut. */
#define ENVELOPE_REASON_LEN 64

/* What a receiver says of an envelope.  X(id, word in acks) */
#define ENVELOPE_STATUS_TABLE(X)                                               \
	/* No ack: treated as retryable. */                                    \
	X(ENVELOPE_NO_ANSWER, "")                                              \
	/* Not now: the sender repeats it. */                                  \
	X(ENVELOPE_RETRYABLE, "retryable")                                     \
	/* It is on the receiver's disk. */                                    \
	X(ENVELOPE_ACCEPTED, "accepted")                                       \
	/* Never: the sender's person is told. */                              \
	X(ENVELOPE_REJECTED, "rejected")                                       \
	/* Listed in `later`: an ack follows in a request of the receiver. */  \
	X(ENVELOPE_LATER, "")

enum envelope_status {
#define X(id, word) id,
	ENVELOPE_STATUS_TABLE(X)
#undef X
	    ENVELOPE_STATUSES
};

/* The word of ${status} in an ack; "": acks have none.  Static storage. */
const char *envelope_status_word(enum envelope_status status);

/* Why an envelope is refused.  X(id, status, word) */
#define ENVELOPE_REASON_TABLE(X)                                               \
	X(ENVELOPE_NO_REASON, ENVELOPE_ACCEPTED, "")                           \
	X(ENVELOPE_MALFORMED, ENVELOPE_REJECTED, "malformed")                  \
	X(ENVELOPE_UNSUPPORTED, ENVELOPE_REJECTED, "unsupported")              \
	X(ENVELOPE_TOO_LARGE, ENVELOPE_REJECTED, "too-large")                  \
	X(ENVELOPE_FOREIGN_SENDER, ENVELOPE_REJECTED, "foreign-sender")        \
	X(ENVELOPE_UNKNOWN_RECIPIENT, ENVELOPE_REJECTED, "unknown-recipient")  \
	X(ENVELOPE_UNKNOWN_MESSAGE, ENVELOPE_REJECTED, "unknown-message")      \
	X(ENVELOPE_ID_TAKEN, ENVELOPE_REJECTED, "id-taken")                    \
	X(ENVELOPE_EVENT_REUSED, ENVELOPE_REJECTED, "event-reused")            \
	X(ENVELOPE_INBOX_FULL, ENVELOPE_RETRYABLE, "inbox-full")               \
	X(ENVELOPE_PREDECESSOR, ENVELOPE_RETRYABLE, "predecessor")             \
	X(ENVELOPE_BUSY, ENVELOPE_RETRYABLE, "busy")                           \
	X(ENVELOPE_LIMITED, ENVELOPE_RETRYABLE, "rate-limited")

enum envelope_reason {
#define X(id, status, word) id,
	ENVELOPE_REASON_TABLE(X)
#undef X
	    ENVELOPE_REASONS
};

/* The status that goes with ${reason}, and its word.  Static storage. */
enum envelope_status envelope_reason_status(enum envelope_reason reason);
const char *envelope_reason_word(enum envelope_reason reason);

/* An event.  Spans are borrowed from the parsed request, and end with NUL. */
struct envelope {
	struct uuid event_id; /* message_id: the same in each try */
	int kind;             /* enum event_kind; 0: none of ours */
	int64_t sequence;     /* within (from, recipient, class), from 1 */
	int64_t timestamp_ms; /* of the event, by the sender's clock */
	int attempt;          /* from 1 */
	struct span from;     /* name@domain */
	struct span recipient;

	/* Each kind: metadata and correlation_id.  EVENT_MESSAGE: id, body,
	 * content_type, reply_to and priority too.  Nothing else is set. */
	struct message_draft message;
	int64_t created_at_ms;
	int64_t expires_at_ms; /* 0: it does not say */

	/* EVENT_DELIVERED, EVENT_READ: the last message that it covers, and the
	 * highest sequence that was taken when that had been. */
	struct uuid upto;
	int64_t upto_sequence; /* 0: it does not say */

	/* What is wrong with the envelope as it was written: nothing
	 * (ENVELOPE_NO_REASON), or a reason; then nothing else is set but
	 * event_id. */
	enum envelope_reason fault;
};

/* What is said of an envelope. */
struct envelope_ack {
	struct uuid event_id;
	enum envelope_status status;
	bool duplicate;   /* accepted before */
	int64_t sequence; /* duplicate: of that envelope; 0: it does not say */
	char reason[ENVELOPE_REASON_LEN + 1]; /* printable ASCII; "": none */
	int64_t retry_after_ms;               /* 0: it does not say */
};

/* Makes ${ret} the answer to ${event_id}: ${reason}, with its status and its
 * word; ENVELOPE_NO_REASON is accepted. */
void envelope_ack_set(struct envelope_ack *ret, const struct uuid *event_id,
    enum envelope_reason reason);

/* Makes ${n} bytes of UTF-8 from a peer the reason of ${ack}.  People read it,
 * and it is logged, so each character that is not printable ASCII becomes '?',
 * and what is longer than ENVELOPE_REASON_LEN is cut. */
void envelope_ack_reason_set(
    struct envelope_ack *ack, const char *text, size_t n);

/* Whether ${n} bytes at ${text} are an epoch: up to ENVELOPE_EPOCH_LEN letters,
 * digits and "-", at least one. */
bool envelope_epoch_valid(const char *text, size_t n);

/* What travels in a request beside its envelopes. */
struct envelope_control {
	int64_t heartbeat_at_ms; /* 0: no heartbeat */
	struct span ping; /* p NULL: none; 1 to ENVELOPE_PING_LEN bytes */
	size_t nacks;
	struct envelope_ack acks[ENVELOPE_ACKS];
};

/* A request.  Some 25 KB. */
struct envelope_request {
	size_t n;
	struct envelope envelopes[ENVELOPE_ITEMS];
	struct envelope_control control;
};

/* The answer to a request.  ${acks} stand in the order of its envelopes. */
struct envelope_answer {
	size_t n;
	struct envelope_ack acks[ENVELOPE_ITEMS];
	char epoch[ENVELOPE_EPOCH_LEN + 1]; /* "": it does not say */
	int64_t heartbeat_at_ms;            /* 0: no heartbeat */
	bool draining;
	char pong[ENVELOPE_PING_LEN + 1]; /* "": none */
	bool reconnect;                   /* nothing was taken; come back … */
	int64_t reconnect_after_ms;       /* … after this time */
};

#endif
