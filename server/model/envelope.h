/* SPDX-License-Identifier: MIT */
/*
 * An envelope is one event on its way from one server to another.  Unless the
 * receiving server refuses the whole request, its answer has an ack for each
 * envelope, or lists the envelope under `later`: then the ack comes in a later
 * request of that server.  twinbox itself never answers `later`.  An envelope
 * without either counts as refused for now (docs/federation.md).
 */
#ifndef MODEL_ENVELOPE_H
#define MODEL_ENVELOPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/uuid.h"
#include "model/message.h"

/* The most envelopes in one request (ENVELOPE_ITEMS), bytes of its body
 * (ENVELOPE_REQUEST_LEN), and acks in it (ENVELOPE_ACKS), which answer
 * envelopes of earlier requests in the other direction. */
#define ENVELOPE_ITEMS 50
#define ENVELOPE_REQUEST_LEN LIMIT_PEER_REQUEST_LEN
#define ENVELOPE_ACKS 50
/* The most bytes of an answer. */
#define ENVELOPE_ANSWER_LEN 1048576

/* The most bytes of a ping, and of the pong that repeats it. */
#define ENVELOPE_PING_LEN 64
/* The most characters of an epoch: letters, digits and "-". */
#define ENVELOPE_EPOCH_LEN 40
/* The most characters of a reason; longer reasons of peers are cut. */
#define ENVELOPE_REASON_LEN 64

/* The decision of the receiver about an envelope.  X(id, word in acks) */
#define ENVELOPE_STATUS_TABLE(X)                                               \
	/* No ack; counts as retryable. */                                     \
	X(ENVELOPE_NO_ANSWER, "")                                              \
	/* Refused for now: the sender tries again. */                         \
	X(ENVELOPE_RETRYABLE, "retryable")                                     \
	/* The event is on the disk of the receiver. */                        \
	X(ENVELOPE_ACCEPTED, "accepted")                                       \
	/* Refused for good: the sender gets a bounce. */                      \
	X(ENVELOPE_REJECTED, "rejected")                                       \
	/* Listed in `later`: the receiver sends the ack in a request. */      \
	X(ENVELOPE_LATER, "")

enum envelope_status {
#define X(id, word) id,
	ENVELOPE_STATUS_TABLE(X)
#undef X
	    ENVELOPE_STATUSES
};

/* Returns the word of ${status} in an ack, "" if no ack has this status.
 * Static storage. */
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

/* Return the status that belongs to ${reason}, and its word.  Static
 * storage. */
enum envelope_status envelope_reason_status(enum envelope_reason reason);
const char *envelope_reason_word(enum envelope_reason reason);

/* An event, as its envelope carries it.  In an envelope that was read, the
 * spans are borrowed from the parsed request and end with a NUL.  In an
 * envelope to be written, the spans are borrowed from the struct parcel (the
 * batch for one destination) and from the buffer that the caller passes to
 * parcel_envelope(). */
struct envelope {
	struct uuid event_id; /* message_id; the same in each attempt */
	int kind;             /* enum event_kind; 0: unknown here */
	int64_t sequence;     /* within (from, recipient, class), from 1 */
	int64_t timestamp_ms; /* of the event, by the sender's clock */
	int attempt;          /* from 1 */
	struct span from;     /* name@domain */
	struct span recipient;

	/* All kinds: metadata and correlation_id, if given.  EVENT_MESSAGE
	 * also: id, body, priority and, if given, content_type and reply_to.
	 * No other member of ${message} is set: the address is ${recipient},
	 * not ${message.to}. */
	struct message_draft message;
	int64_t created_at_ms;
	int64_t expires_at_ms; /* 0: not given */

	/* EVENT_DELIVERED, EVENT_READ: ${upto} is the last message that the
	 * user ${from} has received or read.  ${upto_sequence} is the highest
	 * sequence among the messages from the sender of ${upto} to ${from}
	 * that the server of ${from} accepted in the 11 minutes that end with
	 * the acceptance of ${upto}, with ${upto} itself.  It is above the
	 * sequence of ${upto} only if messages with a higher sequence arrived
	 * before ${upto} (docs/federation.md). */
	struct uuid upto;
	int64_t upto_sequence; /* 0: not given */

	/* The fault that wire_request_read() has found in the text of the
	 * envelope (malformed, unsupported or too large), or
	 * ENVELOPE_NO_REASON.  With a fault, event_id is the only other member
	 * that is set. */
	enum envelope_reason fault;
};

/* The ack of an envelope. */
struct envelope_ack {
	struct uuid event_id;
	enum envelope_status status;
	bool duplicate;   /* accepted before */
	int64_t sequence; /* of the duplicate's original; 0: not given */
	char reason[ENVELOPE_REASON_LEN + 1]; /* printable ASCII; "": none */
	int64_t retry_after_ms;               /* 0: not given */
};

/* Makes ${ret} the ack of ${event_id} with the status and the word that belong
 * to ${reason}; ENVELOPE_NO_REASON has the status ENVELOPE_ACCEPTED and the
 * word "".  The other members are false or 0. */
void envelope_ack_set(struct envelope_ack *ret, const struct uuid *event_id,
    enum envelope_reason reason);

/* Copies ${n} bytes of UTF-8 at ${text}, such as a reason that a peer sent,
 * into the reason of ${ack}.  The reason is logged and shown to people, so each
 * character that is not printable ASCII becomes one '?'.  The result is cut at
 * ENVELOPE_REASON_LEN characters and ends with a NUL. */
void envelope_ack_reason_set(
    struct envelope_ack *ack, const char *text, size_t n);

/* Returns true if ${n} bytes at ${text} are an epoch: 1 to ENVELOPE_EPOCH_LEN
 * letters, digits and "-". */
bool envelope_epoch_valid(const char *text, size_t n);

/* The parts of a request beside its envelopes. */
struct envelope_control {
	int64_t heartbeat_at_ms; /* 0: no heartbeat */
	struct span ping; /* p NULL: none; 1 to ENVELOPE_PING_LEN bytes */
	size_t nacks;
	struct envelope_ack acks[ENVELOPE_ACKS];
};

/* A request: about 22 KB. */
struct envelope_request {
	size_t n;
	struct envelope envelopes[ENVELOPE_ITEMS];
	struct envelope_control control;
};

/* The answer to a request.  The acks are in the order of its envelopes. */
struct envelope_answer {
	size_t n;
	struct envelope_ack acks[ENVELOPE_ITEMS];
	char epoch[ENVELOPE_EPOCH_LEN + 1]; /* "": not given */
	int64_t heartbeat_at_ms;            /* 0: no heartbeat */
	bool draining;
	char pong[ENVELOPE_PING_LEN + 1]; /* "": none */
	bool reconnect;                   /* nothing was accepted; repeat … */
	int64_t reconnect_after_ms;       /* … after this time */
};

#endif
