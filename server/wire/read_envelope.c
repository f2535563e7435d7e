/* SPDX-License-Identifier: MIT */
/*
 * Reads requests from other servers.  wire/envelope.h says which faults make
 * the whole request be refused and which only one envelope.
 *
 * The sender is not trusted.  The HTTP route limits the bytes of a request, and
 * wire_parse() limits the depth and the number of values.  This file checks the
 * number of envelopes and acks and the length of a ping (model/envelope.h), and
 * the lengths of the other texts (base/limits.h).
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "wire/envelope.h"
#include "wire/envelope_internal.h"
#include "wire/wire_internal.h"

/* ---- members ---- */

json_t *
wire_member(const json_t *object, const char *name)
{
	json_t *value = json_object_get(object, name);

	return (json_is_null(value) ? NULL : value);
}

bool
wire_member_uuid(const json_t *object, const char *name, struct uuid *ret)
{
	const json_t *value = wire_member(object, name);

	return (json_is_string(value) && uuid_parse(json_string_value(value),
					     json_string_length(value), ret));
}

/* Accepts times from the second millisecond of 1970 to the end of 9999 (UTC);
 * the first millisecond of 1970 would be 0, which means "no time".  If the
 * member is absent or is not such a time, returns false and does not change
 * ${ret}. */
bool
wire_member_time(const json_t *object, const char *name, int64_t *ret)
{
	const json_t *value = wire_member(object, name);
	int64_t ms;

	if (!json_is_string(value) ||
	    clk_parse_rfc3339(json_string_value(value), &ms) != 0 || ms <= 0 ||
	    ms > MESSAGE_TIME_MAX_MS)
		return (false);
	*ret = ms;
	return (true);
}

static bool
count_read(const json_t *object, const char *name, int64_t max, int64_t *ret)
{
	const json_t *value = wire_member(object, name);

	if (!json_is_integer(value) || json_integer_value(value) < 1 ||
	    json_integer_value(value) > max)
		return (false);
	*ret = json_integer_value(value);
	return (true);
}

/* Reads a text that may be absent. */
static enum envelope_reason
text_read(const json_t *object, const char *name, size_t max, struct span *ret)
{
	const json_t *value = wire_member(object, name);

	if (value == NULL)
		return (ENVELOPE_NO_REASON);
	if (!json_is_string(value))
		return (ENVELOPE_MALFORMED);
	ret->p = json_string_value(value);
	ret->n = json_string_length(value);
	return (ret->n > max ? ENVELOPE_TOO_LARGE : ENVELOPE_NO_REASON);
}

/* Reads an address name@domain in its canonical form. */
static bool
address_read(const json_t *object, const char *name, struct span *ret)
{
	char domain[LIMIT_DOMAIN_LEN + 1];
	char local[LIMIT_NAME_LEN + 1];
	const json_t *value = wire_member(object, name);

	if (!json_is_string(value))
		return (false);
	ret->p = json_string_value(value);
	ret->n = json_string_length(value);
	return (model_address_parse(ret->p, ret->n, "", local, domain) &&
		domain[0] != '\0');
}

/* Returns true if ${id} has the variant and a version of RFC 9562. */
static bool
is_rfc9562(const struct uuid *id)
{

	return ((id->b[8] & 0xc0) == 0x80 && uuid_version(id) >= 1 &&
		uuid_version(id) <= 8);
}

/* ---- an envelope ---- */

static enum envelope_reason
kind_read(const json_t *object, int *ret)
{
	static const int kinds[] = {EVENT_MESSAGE, EVENT_DELIVERED, EVENT_READ};
	const json_t *value = wire_member(object, "message_type");
	size_t i;

	if (!json_is_string(value))
		return (ENVELOPE_MALFORMED);
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(json_string_value(value),
			event_kind_type(kinds[i])) == 0) {
			*ret = kinds[i];
			return (ENVELOPE_NO_REASON);
		}
	}
	return (ENVELOPE_UNSUPPORTED);
}

/* Checks metadata before its text is made.  Returns its fault. */
static enum envelope_reason
metadata_check(json_t *object)
{
	const char *key;
	json_t *member;

	if (!json_is_object(object))
		return (ENVELOPE_MALFORMED);
	if (json_object_size(object) > LIMIT_METADATA_KEYS)
		return (ENVELOPE_TOO_LARGE);
	json_object_foreach (object, key, member) {
		if (!json_is_string(member))
			return (ENVELOPE_MALFORMED);
	}
	return (ENVELOPE_NO_REASON);
}

static enum rc
metadata_read(struct wire_doc *doc, const json_t *object, struct envelope *e)
{
	json_t *value = wire_member(object, "metadata");
	struct span *metadata = &e->message.metadata;
	enum rc rc;

	if (value == NULL)
		return (RC_OK);
	e->fault = metadata_check(value);
	if (e->fault != ENVELOPE_NO_REASON)
		return (RC_OK);
	rc = wire_metadata_text(doc, value, metadata);
	if (rc == RC_OK && metadata->n > LIMIT_METADATA_LEN)
		e->fault = ENVELOPE_TOO_LARGE;
	return (rc);
}

/* Reads the members that all types share, except metadata. */
static enum envelope_reason
head_read(const json_t *object, struct envelope *e)
{
	enum envelope_reason fault;
	int64_t attempt;

	fault = text_read(object, "correlation_id", LIMIT_CORRELATION_ID_LEN,
	    &e->message.correlation_id);
	if (fault != ENVELOPE_NO_REASON)
		return (fault);
	/* An empty correlation id is the same as none. */
	if (e->message.correlation_id.n == 0)
		e->message.correlation_id.p = NULL;
	if (!count_read(object, "sequence", INT64_MAX, &e->sequence) ||
	    !count_read(object, "attempt", INT_MAX, &attempt) ||
	    !wire_member_time(object, "timestamp", &e->timestamp_ms) ||
	    !address_read(object, "recipient", &e->recipient))
		return (ENVELOPE_MALFORMED);
	e->attempt = (int)attempt;
	return (ENVELOPE_NO_REASON);
}

/* Reads the ids, the priority and the times of a message. */
static bool
message_details_read(const json_t *payload, struct envelope *e)
{
	struct message_draft *m = &e->message;
	const json_t *priority = wire_member(payload, "priority");

	m->has_id = wire_member_uuid(payload, "id", &m->id);
	m->has_reply_to = wire_member_uuid(payload, "reply_to", &m->reply_to);
	if (!m->has_id ||
	    (!m->has_reply_to && wire_member(payload, "reply_to") != NULL))
		return (false);
	if (priority != NULL &&
	    (!json_is_string(priority) ||
		!priority_parse(json_string_value(priority),
		    json_string_length(priority), &m->priority)))
		return (false);
	return (
	    wire_member_time(payload, "created_at", &e->created_at_ms) &&
	    (wire_member(payload, "expires_at") == NULL ||
		wire_member_time(payload, "expires_at", &e->expires_at_ms)));
}

/* Returns true if the message keeps the rules for messages of clients. */
static bool
message_fits(const struct envelope *e)
{
	struct refusal r = REFUSAL_INIT;
	struct message_draft m = e->message;

	m.to = e->recipient;
	return (model_draft_check(&m, "", &r) == RC_OK);
}

static enum envelope_reason
message_read(const json_t *payload, struct envelope *e)
{
	struct message_draft *m = &e->message;
	enum envelope_reason fault;

	m->priority = PRIORITY_NORMAL;
	fault = text_read(payload, "body", LIMIT_BODY_LEN, &m->body);
	if (fault == ENVELOPE_NO_REASON)
		fault = text_read(payload, "content_type",
		    LIMIT_CONTENT_TYPE_LEN, &m->content_type);
	if (fault != ENVELOPE_NO_REASON)
		return (fault);
	if (!message_details_read(payload, e) || !message_fits(e))
		return (ENVELOPE_MALFORMED);
	return (ENVELOPE_NO_REASON);
}

static enum envelope_reason
payload_read(const json_t *object, struct envelope *e)
{
	const json_t *payload = wire_member(object, "payload");

	if (!json_is_object(payload) ||
	    !address_read(payload, "from", &e->from))
		return (ENVELOPE_MALFORMED);
	if (e->kind == EVENT_MESSAGE)
		return (message_read(payload, e));
	if (!wire_member_uuid(payload, "upto", &e->upto) ||
	    (wire_member(payload, "upto_sequence") != NULL &&
		!count_read(
		    payload, "upto_sequence", INT64_MAX, &e->upto_sequence)))
		return (ENVELOPE_MALFORMED);
	return (ENVELOPE_NO_REASON);
}

/* Reads ${object} into ${e}, whose event_id the caller has set.  If the
 * envelope has a fault, sets e->fault, clears the other members of ${e} except
 * event_id, and returns RC_OK too.  Reads the type first: an unknown type is
 * the fault ENVELOPE_UNSUPPORTED, and the other members are then not looked at,
 * because they may have other meanings.  RC_NO_MEMORY: there is no memory for
 * the text of the metadata. */
static enum rc
envelope_read(struct wire_doc *doc, const json_t *object, struct envelope *e)
{
	const struct uuid id = e->event_id;
	enum envelope_reason fault;
	enum rc rc = RC_OK;

	e->fault = kind_read(object, &e->kind);
	if (e->fault == ENVELOPE_NO_REASON)
		e->fault = head_read(object, e);
	if (e->fault == ENVELOPE_NO_REASON)
		e->fault = payload_read(object, e);
	if (e->fault == ENVELOPE_NO_REASON)
		rc = metadata_read(doc, object, e);
	fault = e->fault;
	if (fault != ENVELOPE_NO_REASON)
		*e = (struct envelope){.event_id = id, .fault = fault};
	return (rc);
}

static bool
is_repeated(const struct envelope_request *request, const struct uuid *id)
{
	size_t i;

	for (i = 0; i < request->n; i++) {
		if (uuid_equal(&request->envelopes[i].event_id, id))
			return (true);
	}
	return (false);
}

static enum rc
envelopes_read(struct wire_doc *doc, const json_t *list,
    struct envelope_request *ret, struct refusal *r)
{
	char place[REFUSAL_POINTER_SIZE];
	struct envelope *e;
	json_t *object;
	size_t i;
	enum rc rc;

	json_array_foreach (list, i, object) {
		e = &ret->envelopes[i];
		memset(e, 0, sizeof(*e));
		if (!wire_member_uuid(object, "message_id", &e->event_id)) {
			(void)snprintf(
			    place, sizeof(place), "/envelopes/%zu", i);
			return (wire_refuse(r, place, "message_id",
			    "the envelope has no \"message_id\" that is a "
			    "UUID, so no ack could name it"));
		}
		if (!is_rfc9562(&e->event_id) || is_repeated(ret, &e->event_id))
			e->fault = ENVELOPE_MALFORMED;
		else if ((rc = envelope_read(doc, object, e)) != RC_OK)
			return (wire_no_memory(r));
		ret->n++;
	}
	return (RC_OK);
}

/* ---- the frame ---- */

/* Refuses ${list}, at ${pointer}/${name}, unless it is an array of at most
 * ${max} items. */
static enum rc
array_check(const json_t *list, const char *pointer, const char *name,
    size_t max, struct refusal *r)
{

	if (!json_is_array(list))
		return (wire_refuse(
		    r, pointer, name, "\"%s\" must be an array", name));
	if (json_array_size(list) > max)
		return (wire_refuse(r, pointer, name,
		    "\"%s\" has %zu items; at most %zu are allowed", name,
		    json_array_size(list), max));
	return (RC_OK);
}

static enum rc
heartbeat_read(const json_t *object, int64_t *ret, struct refusal *r)
{

	if (!json_is_object(object))
		return (wire_refuse(r, "/control", "heartbeat",
		    "\"heartbeat\" must be an object"));
	if (wire_member(object, "at") != NULL &&
	    !wire_member_time(object, "at", ret))
		return (wire_refuse(r, "/control/heartbeat", "at",
		    "\"at\" is not a time of RFC 3339 after 1970, such as "
		    "2030-01-31T08:00:00Z"));
	return (RC_OK);
}

/* Reads ${list}, the acks in the control of a request, into ret->acks.  The
 * caller has checked that ${list} has at most ENVELOPE_ACKS items.  Ignores an
 * ack without a readable message_id.  If several acks have the same id, only
 * the first in the list counts. */
static void
control_acks_read(const json_t *list, struct envelope_control *ret)
{
	struct envelope_ack *ack;
	const json_t *object;
	size_t i, k;

	json_array_foreach (list, i, object) {
		ack = &ret->acks[ret->nacks];
		if (!wire_ack_read(object, ack))
			continue;
		for (k = 0; k < ret->nacks; k++) {
			if (uuid_equal(&ret->acks[k].event_id, &ack->event_id))
				break;
		}
		if (k == ret->nacks)
			ret->nacks++;
	}
}

static enum rc
control_read(
    const json_t *object, struct envelope_control *ret, struct refusal *r)
{
	const json_t *acks, *heartbeat;
	enum rc rc;

	if (!json_is_object(object))
		return (wire_refuse(
		    r, "", "control", "\"control\" must be an object"));
	heartbeat = wire_member(object, "heartbeat");
	if (heartbeat != NULL) {
		rc = heartbeat_read(heartbeat, &ret->heartbeat_at_ms, r);
		if (rc != RC_OK)
			return (rc);
	}
	if (text_read(object, "ping", ENVELOPE_PING_LEN, &ret->ping) !=
	    ENVELOPE_NO_REASON)
		return (wire_refuse(r, "/control", "ping",
		    "\"ping\" must be a text of at most %d bytes",
		    ENVELOPE_PING_LEN));
	if (ret->ping.n == 0)
		ret->ping.p = NULL;
	if ((acks = wire_member(object, "acks")) == NULL)
		return (RC_OK);
	rc = array_check(acks, "/control", "acks", ENVELOPE_ACKS, r);
	if (rc == RC_OK)
		control_acks_read(acks, ret);
	return (rc);
}

enum rc
wire_request_read(
    struct wire_doc *doc, struct envelope_request *ret, struct refusal *refusal)
{
	json_t *control = NULL, *envelopes = NULL;
	const struct wire_field fields[] = {
	    {.name = "envelopes", .type = WIRE_ANY, .ret = &envelopes},
	    {.name = "control", .type = WIRE_ANY, .ret = &control},
	};
	enum rc rc;

	ret->n = 0;
	ret->control.heartbeat_at_ms = 0;
	ret->control.ping = (struct span){.p = NULL};
	ret->control.nacks = 0;
	rc = wire_object(
	    doc->root, "", fields, sizeof(fields) / sizeof(fields[0]), refusal);
	if (rc == RC_OK && control != NULL)
		rc = control_read(control, &ret->control, refusal);
	if (rc != RC_OK || envelopes == NULL)
		return (rc);
	rc = array_check(envelopes, "", "envelopes", ENVELOPE_ITEMS, refusal);
	if (rc != RC_OK)
		return (rc);
	return (envelopes_read(doc, envelopes, ret, refusal));
}
