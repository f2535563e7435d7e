/* SPDX-License-Identifier: MIT */
/*
 * See parcel.h.
 */
#include <stdio.h>
#include <string.h>

#include "delivery/parcel.h"
#include "txn/verb.h"

static const char *const outcomes[ANSWERS] = {
#define X(id, outcome) outcome,
    ANSWER_TABLE(X)
#undef X
};

const char *
parcel_answer_outcome(enum answer answer)
{

	return (outcomes[answer]);
}

/* ---- an envelope ---- */

static struct span
span_at(const struct parcel *p, size_t at, size_t n)
{

	return (at == 0 ? (struct span){NULL, 0}
			: (struct span){parcel_text(p, at), n});
}

static struct span
string_at(const struct parcel *p, size_t at)
{

	return (span_at(p, at, at == 0 ? 0 : strlen(parcel_text(p, at))));
}

static void
fill_message(
    const struct parcel *p, const struct parcel_item *item, struct envelope *e)
{
	struct message_draft *m = &e->message;

	m->has_id = true;
	m->id = item->message_id;
	m->body = (struct span){parcel_text(p, item->body), item->body_len};
	m->content_type = string_at(p, item->content_type);
	m->correlation_id = string_at(p, item->correlation_id);
	m->metadata = span_at(p, item->metadata, item->metadata_len);
	m->has_reply_to = item->has_reply_to;
	m->reply_to = item->reply_to;
	m->priority = item->row.priority;
	e->created_at_ms = item->row.created_at;
	e->expires_at_ms = item->row.expires_at;
}

void
parcel_envelope(const struct parcel *p, size_t i, const char *domain,
    char from[LIMIT_ADDRESS_LEN + 1], struct envelope *ret)
{
	const struct parcel_item *item = &p->items[i];
	const char *to = parcel_text(p, item->to);

	memset(ret, 0, sizeof(*ret));
	(void)snprintf(from, LIMIT_ADDRESS_LEN + 1, "%s@%s",
	    parcel_text(p, item->from), domain);
	ret->event_id = item->row.event_id;
	ret->kind = item->row.kind;
	ret->sequence = item->row.lane_seq;
	ret->timestamp_ms = item->row.event_time;
	ret->attempt = item->row.attempts;
	ret->from = (struct span){from, strlen(from)};
	ret->recipient = (struct span){to, strlen(to)};
	if (item->row.kind == EVENT_MESSAGE)
		fill_message(p, item, ret);
	else {
		ret->upto = item->message_id;
		ret->upto_sequence = item->upto_sequence;
	}
}

/* ---- what is left ---- */

enum rc
parcel_next_due(
    struct tx *tx, const struct parcel *parcel, int64_t *ret, struct err *err)
{
	enum rc rc;

	rc = cache_flush_lanes(txn_env_of(tx)->cache, tx, err);
	return (rc == RC_OK ? store_lanes_ready_next(
				  tx->db, parcel->destination_id, ret, err)
			    : rc);
}
