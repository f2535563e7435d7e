/* SPDX-License-Identifier: MIT */
/*
 * A parcel: messages and receipts ("items") of one or more lanes that were
 * claimed for one destination and are sent together.  The claim fills it, a
 * carrier fills in the answers, and settling reads them.
 *
 * It is owned by the thread that works on it: the writer while it is claimed or
 * settled, the carrier while it is sent, the relay in between.
 */
#ifndef DELIVERY_PARCEL_H
#define DELIVERY_PARCEL_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/limits.h"
#include "model/envelope.h"
#include "store/remote.h"

/* Maximum number of items in a parcel.  A parcel whose texts have PARCEL_BYTES
 * bytes gets no further item. */
#define PARCEL_ITEMS 50
#define PARCEL_BYTES 262144
/* Maximum number of rows of one lane in a parcel. */
#define PARCEL_LANE_ROWS PARCEL_ITEMS

/* The answer of a destination to a message.  A missing or unknown answer counts
 * as retryable.  X(id, outcome of the attempt) */
#define ANSWER_TABLE(X)                                                        \
	X(ANSWER_NONE, "no_answer")                                            \
	X(ANSWER_ACCEPTED, "accepted")                                         \
	X(ANSWER_LATER, "later")                                               \
	X(ANSWER_RETRYABLE, "retryable")                                       \
	X(ANSWER_REJECTED, "rejected")                                         \
	X(ANSWER_TOO_LARGE, "too_large")                                       \
	X(ANSWER_PREDECESSOR, "predecessor")

enum answer {
#define X(id, outcome) id,
	ANSWER_TABLE(X)
#undef X
	    ANSWERS
};

#define PARCEL_ERROR_SIZE 256

struct tx;

struct parcel_item {
	struct store_row row; /* ${row.attempts} includes this attempt */
	int64_t lane_token;
	bool replay; /* offered again after a rewind; not settled */

	/* The content.  The texts are offsets in ${parcel.text}.  At offset 0
	 * is the sender of the first item, so 0 means for all texts but ${from}
	 * that there is none.  A receipt has only the addresses, the
	 * conversation, the message_id of the last message that it covers, and
	 * the lane_seq up to which that message's sender had come when it
	 * arrived (0: not known). */
	struct uuid message_id;
	int64_t upto_sequence;
	struct uuid conversation;
	size_t from, to; /* names, with a domain for users of other servers */
	size_t body, body_len;
	size_t content_type, correlation_id;
	size_t metadata, metadata_len;
	bool has_reply_to;
	struct uuid reply_to;

	/* Output of the carrier. */
	enum answer answer;
	bool duplicate;
	/* of a duplicate: the lane_seq at which it was accepted */
	int64_t taken_seq;
	int64_t retry_after_ms;        /* 0: not given */
	char error[PARCEL_ERROR_SIZE]; /* "": none */
};

struct parcel {
	int64_t destination_id;
	char name[LIMIT_DOMAIN_LEN + 1];
	struct parcel_item items[PARCEL_ITEMS];
	size_t n;
	struct buf text;

	int64_t left_ms;    /* wall time of the claim */
	int64_t timeout_ms; /* time-out of the carrier */

	/* Output of the carrier for the destination as a whole.  If false, the
	 * destination could not be reached or its answer was not readable, and
	 * no item has an answer. */
	bool reached;
	/* only a part of the items was answered; the others have
	 * ANSWER_PREDECESSOR */
	bool broke;
	int status;                    /* HTTP status; 0: none */
	int64_t retry_after_ms;        /* 0: not given */
	char error[PARCEL_ERROR_SIZE]; /* "": see the status */
	/* The destination answered, but wants no request during this time.  Its
	 * circuit breaker does not count this parcel.  0: it wants no pause. */
	int64_t park_ms;
	int requests_most; /* parallel requests that it accepts; 0: unknown */

	void (*finish)(struct parcel *parcel); /* called once, by the carrier */
};

/* Sets ${ret} to the envelope of item ${i} of ${p}, sent by the server
 * ${domain}.  ${ret} borrows from the parcel and from ${from}, which is set to
 * the sender's address.
 * Thread: the carrier's. */
void parcel_envelope(const struct parcel *p, size_t i, const char *domain,
    char from[LIMIT_ADDRESS_LEN + 1], struct envelope *ret);

/* Returns the outcome that is stored with an attempt for ${answer}. */
const char *parcel_answer_outcome(enum answer answer);

/* Sets *ret to the wall time at which the next lane to the destination of
 * ${parcel} is due, including the changes of this transaction; 0: no lane is
 * ready.
 * Thread: writer. */
enum rc parcel_next_due(struct tx *tx, const struct parcel *parcel,
    int64_t *ret, struct err *err) MUST_USE;

/* Returns the NUL-terminated text at offset ${at} of the parcel. */
static inline const char *
parcel_text(const struct parcel *p, size_t at)
{

	return (p->text.data + at);
}

#endif
