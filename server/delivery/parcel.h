/* SPDX-License-Identifier: MIT */
/*
 * A parcel: messages and receipts ("items") of one or more lanes that were
 * claimed for one destination and are sent together.  The claim fills it, a
 * carrier fills in the answers, and settling reads them.  A parcel that is sent
 * without items is a heartbeat, which is neither claimed nor settled.
 *
 * A parcel is owned by the writer (the thread of the transactions) while its
 * rows are claimed or settled, by the carrier (the HTTP client) while it is
 * sent, and by the relay (the thread that schedules requests) in between.
 */
#ifndef DELIVERY_PARCEL_H
#define DELIVERY_PARCEL_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/limits.h"
#include "model/envelope.h"
#include "store/remote.h"

/* PARCEL_ITEMS is the maximum number of items in a parcel.  A parcel gets no
 * further item either once the texts of its items have PARCEL_BYTES bytes or
 * more in total; with the last item the total may be above PARCEL_BYTES. */
#define PARCEL_ITEMS 50
#define PARCEL_BYTES 262144
/* Maximum number of rows of one lane in a parcel. */
#define PARCEL_LANE_ROWS PARCEL_ITEMS

/* The answer of a destination to an item.  ANSWER_NONE: the destination has
 * answered the request, but without a known status for this item; that is
 * settled as ANSWER_RETRYABLE is.  X(id, the word for it in the stored
 * attempts) */
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
	 * upto_sequence.  That message came in a lane of the destination;
	 * upto_sequence is the lane_seq of the message in that lane, or a
	 * higher one that this server had accepted at most 11 minutes before
	 * the message (0: not known). */
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

	/* Output of the carrier for the destination as a whole.  If ${reached}
	 * is false, no item has an answer: the destination could not be
	 * reached, its answer was an error, a request to wait or not readable,
	 * or this server itself failed. */
	bool reached;
	/* only a part of the items was answered; the others have
	 * ANSWER_PREDECESSOR */
	bool broke;
	int status;                    /* HTTP status; 0: none */
	int64_t retry_after_ms;        /* 0: not given */
	char error[PARCEL_ERROR_SIZE]; /* "": see the status */
	/* The destination gets no request for this number of milliseconds,
	 * because it has asked for a pause or because this server itself
	 * failed.  The destination's circuit breaker then does not count this
	 * parcel.  0: no pause. */
	int64_t park_ms;
	int requests_most; /* parallel requests that it accepts; 0: unknown */

	void (*finish)(struct parcel *parcel); /* called once, by the carrier */
};

/* Sets ${ret} to the envelope of item ${i} of ${p}.  ${domain} is the domain of
 * this server.  ${from} is a buffer of the caller, which is set to the sender's
 * address, "name@domain".  ${ret} borrows from the parcel and from ${from}.
 * Thread: the carrier's. */
void parcel_envelope(const struct parcel *p, size_t i, const char *domain,
    char from[LIMIT_ADDRESS_LEN + 1], struct envelope *ret);

/* Returns the outcome that is stored with an attempt for ${answer}. */
const char *parcel_answer_outcome(enum answer answer);

/* Sets *ret to the wall time, in milliseconds, at which the next ready lane to
 * the destination of ${parcel} is due, including the changes of this
 * transaction.  A time in the past: a lane is due now; 0: no lane is ready.
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
