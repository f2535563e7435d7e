/* SPDX-License-Identifier: MIT */
/*
 * Reads the answers of other servers, and acks, which requests contain, too.
 * Whatever the answer of a peer says, each event that was sent gets exactly one
 * status (ENVELOPE_NO_ANSWER if the answer does not name the event), and no
 * other event gets any.
 */
#include <assert.h>
#include <string.h>

#include "model/retry.h"
#include "wire/envelope.h"
#include "wire/envelope_internal.h"
#include "wire/wire_internal.h"

/* Reads member ${name} as a waiting time in milliseconds, cut to
 * RETRY_HINT_MAX_MS (one hour).  Returns false, with ${ret} unchanged, if the
 * member is absent, negative or not a whole number. */
static bool
wait_read(const json_t *object, const char *name, int64_t *ret)
{
	const json_t *value = wire_member(object, name);
	int64_t ms;

	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return (false);
	ms = json_integer_value(value);
	*ret = ms < RETRY_HINT_MAX_MS ? ms : RETRY_HINT_MAX_MS;
	return (true);
}

static enum envelope_status
status_read(const json_t *object)
{
	static const enum envelope_status known[] = {
	    ENVELOPE_ACCEPTED, ENVELOPE_REJECTED};
	const json_t *value = wire_member(object, "status");
	size_t i;

	for (i = 0; json_is_string(value) && i < 2; i++) {
		if (strcmp(json_string_value(value),
			envelope_status_word(known[i])) == 0)
			return (known[i]);
	}
	return (ENVELOPE_RETRYABLE);
}

/* Returns the member `sequence` of ${object}, the ack of an envelope that the
 * peer had accepted in an earlier request.  Its value is the sequence number
 * with which the peer accepted the envelope; or, if the peer had accepted equal
 * or higher numbers shortly before, the highest of them plus 1.  Returns 0 if
 * the member is absent or not a positive integer. */
static int64_t
sequence_read(const json_t *object)
{
	const json_t *value = wire_member(object, "sequence");

	return (json_is_integer(value) && json_integer_value(value) > 0
		    ? json_integer_value(value)
		    : 0);
}

bool
wire_ack_read(const json_t *object, struct envelope_ack *ret)
{
	const json_t *reason = wire_member(object, "reason");

	memset(ret, 0, sizeof(*ret));
	if (!wire_member_uuid(object, "message_id", &ret->event_id))
		return (false);
	ret->status = status_read(object);
	if (ret->status == ENVELOPE_ACCEPTED)
		ret->duplicate = json_is_true(wire_member(object, "duplicate"));
	if (ret->duplicate)
		ret->sequence = sequence_read(object);
	if (ret->status == ENVELOPE_RETRYABLE)
		(void)wait_read(object, "retry_after_ms", &ret->retry_after_ms);
	if (json_is_string(reason))
		envelope_ack_reason_set(
		    ret, json_string_value(reason), json_string_length(reason));
	return (true);
}

/* Returns the ack of ${id}, or NULL if ${id} was not sent. */
static struct envelope_ack *
ack_find(struct envelope_answer *a, const struct uuid *id)
{
	size_t i;

	for (i = 0; i < a->n; i++) {
		if (uuid_equal(&a->acks[i].event_id, id))
			return (&a->acks[i]);
	}
	return (NULL);
}

static void
acks_read(const json_t *list, struct envelope_answer *ret)
{
	struct envelope_ack ack, *of;
	const json_t *object;
	size_t i;

	json_array_foreach (list, i, object) {
		if (!wire_ack_read(object, &ack))
			continue;
		of = ack_find(ret, &ack.event_id);
		if (of != NULL && of->status == ENVELOPE_NO_ANSWER)
			*of = ack;
	}
}

/* Reads ${list}, the member `later`: gives each event whose id it has the
 * status ENVELOPE_LATER.  Ignores ids that were not sent.  Must run after
 * acks_read(): if an id has an ack, too, the ack counts. */
static void
later_read(const json_t *list, struct envelope_answer *ret)
{
	struct envelope_ack *of;
	const json_t *value;
	struct uuid id;
	size_t i;

	json_array_foreach (list, i, value) {
		if (!json_is_string(value) ||
		    !uuid_parse(json_string_value(value),
			json_string_length(value), &id))
			continue;
		of = ack_find(ret, &id);
		if (of != NULL && of->status == ENVELOPE_NO_ANSWER)
			of->status = ENVELOPE_LATER;
	}
}

/* Reads a text of up to ${max} bytes; "" for anything else. */
static void
text_read(const json_t *object, const char *name, size_t max, char *ret)
{
	const json_t *value = wire_member(object, name);

	ret[0] = '\0';
	if (json_is_string(value) && json_string_length(value) <= max)
		memcpy(ret, json_string_value(value),
		    json_string_length(value) + 1);
}

static void
control_read(const json_t *control, struct envelope_answer *ret)
{
	const json_t *heartbeat = wire_member(control, "heartbeat");

	(void)wire_member_time(heartbeat, "at", &ret->heartbeat_at_ms);
	ret->draining = json_is_true(wire_member(heartbeat, "draining"));
	text_read(control, "pong", ENVELOPE_PING_LEN, ret->pong);
	ret->reconnect = wait_read(wire_member(control, "reconnect"),
	    "after_ms", &ret->reconnect_after_ms);
}

static void
answer_init(struct envelope_answer *ret, const struct uuid *ids, size_t nids)
{
	size_t i;

	memset(ret, 0, sizeof(*ret));
	ret->n = nids;
	for (i = 0; i < nids; i++)
		ret->acks[i].event_id = ids[i];
}

static enum rc
root_read(const json_t *root, struct envelope_answer *ret, struct refusal *r)
{
	const json_t *acks = wire_member(root, "acks");

	control_read(wire_member(root, "control"), ret);
	/* Any web server may answer a request with some JSON.  If the JSON has
	 * neither an array `acks` nor a request to reconnect, it is not an
	 * answer of this protocol, and the caller must not treat it as a
	 * refusal of the envelopes. */
	if (!json_is_array(acks) && !ret->reconnect)
		return (wire_refuse(
		    r, "", "acks", "the answer has no array \"acks\""));
	acks_read(acks, ret);
	later_read(wire_member(root, "later"), ret);
	text_read(root, "epoch", ENVELOPE_EPOCH_LEN, ret->epoch);
	if (!envelope_epoch_valid(ret->epoch, strlen(ret->epoch)))
		ret->epoch[0] = '\0';
	return (RC_OK);
}

enum rc
wire_answer_read(const char *text, size_t n, const struct uuid *ids,
    size_t nids, struct envelope_answer *ret, struct refusal *refusal)
{
	struct wire_doc doc;
	enum rc rc;

	assert(nids <= ENVELOPE_ITEMS);
	answer_init(ret, ids, nids);
	if (n > ENVELOPE_ANSWER_LEN) {
		refusal_set(refusal, PROBLEM_BODY_TOO_LARGE, "",
		    "the answer has %zu bytes; at most %d are read", n,
		    ENVELOPE_ANSWER_LEN);
		return (RC_INVALID);
	}
	rc = wire_parse(text, n, &doc, refusal);
	if (rc != RC_OK)
		return (rc);
	rc = root_read(doc.root, ret, refusal);
	wire_doc_fini(&doc);
	return (rc);
}
