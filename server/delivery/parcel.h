/* SPDX-License-Identifier: MIT */
/*
 * A parcel: messages of one or more lanes that were claimed for one destination
 * and travel together.  The claim fills it, a carrier answers it, the settling
 * reads the answers.
 *
 * It belongs to the thread that works on it: the writer while it is claimed and
 * settled, the carrier in between.
 */
#ifndef DELIVERY_PARCEL_H
#define DELIVERY_PARCEL_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/limits.h"
#include "model/envelope.h"
#include "store/remote.h"

/* Messages of one request to another server, and their bytes, about. */
#define PARCEL_ITEMS 50
#define PARCEL_BYTES 262144
/* Rows of one lane in it: all of them may be of one. */
#define PARCEL_LANE_ROWS PARCEL_ITEMS

/* What a destination says of a message.  A missing or unknown answer counts as
 * retryable.  X(id, outcome in the audit) */
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
	struct store_row row; /* attempts: with this one */
	int64_t lane_token;
	bool replay; /* offered again; nothing of it will be settled */

	/* What is carried.  Places of texts in the parcel's text; 0: there is
	 * none (at 0 there is an address).  A receipt has addresses and
	 * message_id alone: that of the last message that it covers, with the
	 * sequence that this had when it came (0: not known). */
	struct uuid message_id;
	int64_t upto_sequence;
	struct uuid conversation;
	size_t from, to; /* names; with a domain, if of another server */
	size_t body, body_len;
	size_t content_type, correlation_id;
	size_t metadata, metadata_len;
	bool has_reply_to;
	struct uuid reply_to;

	/* Answered. */
	enum answer answer;
	bool duplicate;
	int64_t taken_seq;      /* duplicate: the place at which it was taken */
	int64_t retry_after_ms; /* 0: it did not say */
	char error[PARCEL_ERROR_SIZE]; /* "": none */
};

struct parcel {
	int64_t destination_id;
	char name[LIMIT_DOMAIN_LEN + 1];
	struct parcel_item items[PARCEL_ITEMS];
	size_t n;
	struct buf text;

	int64_t left_ms;    /* wall time of the claim */
	int64_t timeout_ms; /* the carrier's patience */

	/* Answered: the destination as a whole.  false: it could not be
	 * reached, or said nothing that can be read; no item has an answer. */
	bool reached;
	bool broke; /* it was reached with a part, and not with the rest */
	int status; /* of HTTP; 0: none */
	int64_t retry_after_ms;        /* 0: it did not say */
	char error[PARCEL_ERROR_SIZE]; /* "": the status says it */
	/* The destination answers, and asks for no request during this time.
	 * Its breaker is not told of this parcel.  0: it does not ask. */
	int64_t park_ms;
	int requests_most; /* requests that it takes at once; 0: unknown */

	void (*finish)(struct parcel *parcel); /* called once, by the carrier */
};

/* Makes ${ret} the envelope of item ${i} of ${p}, which the server ${domain}
 * sends.  ${ret} borrows from the parcel and from ${from}, which is filled with
 * the sender's address.  Thread: the carrier's. */
void parcel_envelope(const struct parcel *p, size_t i, const char *domain,
    char from[LIMIT_ADDRESS_LEN + 1], struct envelope *ret);

/* The word of ${answer} for the audit. */
const char *parcel_answer_outcome(enum answer answer);

/* When the next lane to the destination of ${parcel} is due, with the lanes as
 * this transaction has changed them; 0: none is ready.  Thread: writer. */
enum rc parcel_next_due(struct tx *tx, const struct parcel *parcel,
    int64_t *ret, struct err *err) MUST_USE;

/* A NUL-terminated text of the parcel. */
static inline const char *
parcel_text(const struct parcel *p, size_t at)
{

	return (p->text.data + at);
}

#endif
