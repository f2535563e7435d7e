/* SPDX-License-Identifier: MIT */
/*
 * Writes outbox entries, each with one message, its destinations, and a summary
 * of all destinations.
 *
 * The summary: state is the one of all destinations that comes first in
 * OUTBOX_STATE_TABLE; attempts and retry_count are the highest; last_attempt_at
 * and last_status_at the latest; next_retry_at the earliest that is set;
 * last_error is, of the destinations that have one, that of the destination
 * with the latest last_attempt_at.  For sent_at, acked_at and read_at only the
 * destinations count that have not failed, expired or been canceled: if *all*
 * of these have reached the step, its time is the latest of theirs, otherwise
 * (or if there are none) null.  An entry without a destination exists only in a
 * damaged database; fsck reports it.  Here it is written as pending, so that it
 * does not end the server.
 */
#include "wire/json.h"
#include "wire/wire.h"

struct whole {
	int state;
	int attempts;
	int retry_count;
	int64_t last_attempt_at;
	int64_t last_status_at;
	int64_t next_retry_at;
	int64_t sent_at;
	int64_t acked_at;
	int64_t read_at;
	const char *last_error;
	int64_t last_error_at; /* the attempt of last_error */
	bool retrying;
	int sent;
	int acked;
	int read;
	int failed;
};

/* The sum of one step (sent, acked or read) over all destinations of an entry
 * that have not failed, expired or been canceled: the latest time at which one
 * reached the step, and how many have not reached it. */
struct step {
	int64_t at; /* the latest */
	int missing;
};

static bool
is_dead(int state)
{

	return (state == OUTBOX_FAILED || state == OUTBOX_EXPIRED ||
		state == OUTBOX_CANCELED);
}

static int64_t
latest(int64_t a, int64_t b)
{

	return (a > b ? a : b);
}

static void
add_up_times(struct whole *w, const struct destination_view *d)
{

	if (d->last_error != NULL &&
	    (w->last_error == NULL || d->last_attempt_at > w->last_error_at)) {
		w->last_error = d->last_error;
		w->last_error_at = d->last_attempt_at;
	}
	w->last_attempt_at = latest(w->last_attempt_at, d->last_attempt_at);
	w->last_status_at = latest(w->last_status_at, d->last_status_at);
	if (d->next_retry_at != 0 &&
	    (w->next_retry_at == 0 || d->next_retry_at < w->next_retry_at))
		w->next_retry_at = d->next_retry_at;
}

static void
add_up_step(struct step *step, int64_t at)
{

	step->at = latest(step->at, at);
	step->missing += at == 0;
}

/* Sets sent_at, acked_at and read_at of ${w}.  Only destinations that have not
 * failed, expired or been canceled count: the time is when the last of these
 * reached the step, or 0 if one has not reached it or there are none. */
static void
add_up_steps(struct whole *w, const struct entry_view *e)
{
	struct step sent = {0, 0}, acked = {0, 0}, read = {0, 0};
	const struct destination_view *d;
	int i;

	for (i = 0; i < e->ndestinations; i++) {
		d = &e->destinations[i];
		if (is_dead(d->state))
			continue;
		add_up_step(&sent, d->sent_at);
		add_up_step(&acked, d->acked_at);
		add_up_step(&read, d->read_at);
	}
	w->sent_at = sent.missing > 0 ? 0 : sent.at;
	w->acked_at = acked.missing > 0 ? 0 : acked.at;
	w->read_at = read.missing > 0 ? 0 : read.at;
}

static void
add_up(struct whole *w, const struct entry_view *e)
{
	const struct destination_view *d;
	int i;

	for (i = 0; i < e->ndestinations; i++) {
		d = &e->destinations[i];
		if (i == 0 || d->state < w->state)
			w->state = d->state;
		if (d->attempts > w->attempts)
			w->attempts = d->attempts;
		if (d->retry_count > w->retry_count)
			w->retry_count = d->retry_count;
		add_up_times(w, d);
		if ((d->state == OUTBOX_PENDING ||
			d->state == OUTBOX_SENDING) &&
		    d->retry_count > 0)
			w->retrying = true;
		w->sent += d->sent_at != 0;
		w->acked += d->acked_at != 0;
		w->read += d->read_at != 0;
		w->failed +=
		    d->state == OUTBOX_FAILED || d->state == OUTBOX_EXPIRED;
	}
	add_up_steps(w, e);
}

static void
add_label(struct buf *b, const char *label)
{

	jw_comma(b);
	buf_addc(b, '"');
	buf_adds(b, label);
	buf_addc(b, '"');
}

static void
add_labels(struct buf *b, const struct entry_view *e, const struct whole *w)
{

	jw_member(b, "labels");
	buf_addc(b, '[');
	if (w->state == OUTBOX_PENDING && e->deliver_at != 0 &&
	    e->conversation_seq == 0)
		add_label(b, "scheduled");
	if (w->retrying)
		add_label(b, "retrying");
	if (w->read_at != 0)
		add_label(b, "read");
	buf_addc(b, ']');
}

static void
add_counts(struct buf *b, const struct entry_view *e, const struct whole *w)
{

	jw_member(b, "counts");
	buf_addc(b, '{');
	jw_int(b, "recipients", e->ndestinations);
	jw_int(b, "sent", w->sent);
	jw_int(b, "acked", w->acked);
	jw_int(b, "read", w->read);
	jw_int(b, "failed", w->failed);
	buf_addc(b, '}');
}

static void
add_destination(struct buf *b, const struct destination_view *d)
{

	jw_comma(b);
	buf_addc(b, '{');
	jw_str(b, "address", d->address);
	jw_str(b, "state", outbox_state_name(d->state));
	jw_int(b, "attempts", d->attempts);
	jw_int(b, "retry_count", d->retry_count);
	jw_time(b, "last_attempt_at", d->last_attempt_at);
	jw_time(b, "last_status_at", d->last_status_at);
	jw_time(b, "next_retry_at", d->next_retry_at);
	jw_time(b, "sent_at", d->sent_at);
	jw_time(b, "acked_at", d->acked_at);
	jw_time(b, "read_at", d->read_at);
	jw_str(b, "last_error", d->last_error);
	buf_addc(b, '}');
}

static void
add_destinations(struct buf *b, const struct entry_view *e)
{
	int i;

	jw_member(b, "destinations");
	buf_addc(b, '[');
	for (i = 0; i < e->ndestinations; i++)
		add_destination(b, &e->destinations[i]);
	buf_addc(b, ']');
}

void
wire_entry(struct buf *b, const struct entry_view *e)
{
	struct whole w = {.state = OUTBOX_PENDING};

	add_up(&w, e);
	buf_addc(b, '{');
	jw_uuid(b, "id", &e->message.id);
	jw_str(b, "event_type", e->event_type);
	jw_uuid(b, "conversation", &e->conversation);
	jw_str(b, "to", e->to);
	jw_str(b, "state", outbox_state_name(w.state));
	jw_str(b, "priority", priority_name(e->priority));
	jw_int(b, "attempts", w.attempts);
	jw_int(b, "retry_count", w.retry_count);
	jw_int(b, "max_retries", e->max_retries);
	jw_time(b, "event_time", e->event_time);
	jw_time(b, "created_at", e->created_at);
	jw_time(b, "last_attempt_at", w.last_attempt_at);
	jw_time(b, "last_status_at", w.last_status_at);
	jw_time(b, "next_retry_at", w.next_retry_at);
	jw_time(b, "deliver_at", e->deliver_at);
	jw_time(b, "expires_at", e->expires_at);
	jw_time(b, "sent_at", w.sent_at);
	jw_time(b, "acked_at", w.acked_at);
	jw_time(b, "read_at", w.read_at);
	jw_str(b, "last_error", w.last_error);
	jw_str(b, "correlation_id", e->message.correlation_id);
	if (e->message.metadata != NULL)
		jw_raw(b, "metadata", e->message.metadata,
		    e->message.metadata_len);
	else
		jw_raw(b, "metadata", "{}", 2);
	add_labels(b, e, &w);
	add_counts(b, e, &w);
	add_destinations(b, e);
	buf_addc(b, '}');
}
