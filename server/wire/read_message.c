/* SPDX-License-Identifier: MIT */
/*
 * Reads one message as a sender writes it in JSON.  This file checks the
 * members, their types, and the values of priority, metadata, deliver_at and
 * expires_in.  It then calls model_draft_check() (model/draft.c), which checks
 * the rules for every message, also for one that did not come as JSON.
 */
#include <stdio.h>
#include <string.h>

#include "wire/json.h"
#include "wire/wire_internal.h"

/* Members that need more checks than that of their type. */
struct loose {
	json_t *metadata;
	json_t *expires_in;
	struct span priority;
	bool has_deliver_at;
};

static enum rc
read_members(json_t *value, const char *pointer, struct message_draft *d,
    struct loose *loose, struct refusal *r)
{
	const struct wire_field fields[] = {
	    {.name = "to", .type = WIRE_SPAN, .ret = &d->to},
	    {.name = "conversation",
		.type = WIRE_UUID,
		.ret = &d->conversation,
		.ret_present = &d->has_conversation},
	    {.name = "body",
		.type = WIRE_SPAN,
		.required = true,
		.ret = &d->body},
	    {.name = "content_type",
		.type = WIRE_SPAN,
		.ret = &d->content_type},
	    {.name = "id",
		.type = WIRE_UUID,
		.ret = &d->id,
		.ret_present = &d->has_id},
	    {.name = "key", .type = WIRE_SPAN, .ret = &d->key},
	    {.name = "metadata", .type = WIRE_ANY, .ret = &loose->metadata},
	    {.name = "correlation_id",
		.type = WIRE_SPAN,
		.ret = &d->correlation_id},
	    {.name = "reply_to",
		.type = WIRE_UUID,
		.ret = &d->reply_to,
		.ret_present = &d->has_reply_to},
	    {.name = "priority", .type = WIRE_SPAN, .ret = &loose->priority},
	    {.name = "deliver_at",
		.type = WIRE_TIME,
		.ret = &d->deliver_at_ms,
		.ret_present = &loose->has_deliver_at},
	    {.name = "expires_in", .type = WIRE_ANY, .ret = &loose->expires_in},
	};

	return (wire_object(
	    value, pointer, fields, sizeof(fields) / sizeof(fields[0]), r));
}

/* Puts the keys of ${object} into ${keys} in byte order, and returns their
 * number.  The caller has checked that there are at most LIMIT_METADATA_KEYS.
 * The keys are borrowed from ${object}.  Because of their order, the text of
 * metadata that is stored and fingerprinted does not depend on the order in
 * which a client sent the keys. */
static size_t
sorted_keys(json_t *object, const char *keys[LIMIT_METADATA_KEYS])
{
	const char *key;
	json_t *member;
	size_t at, n;

	n = 0;
	json_object_foreach (object, key, member) {
		for (at = n; at > 0 && strcmp(keys[at - 1], key) > 0; at--)
			keys[at] = keys[at - 1];
		keys[at] = key;
		n++;
	}
	return (n);
}

static enum rc
check_metadata(json_t *object, const char *pointer, struct refusal *r)
{
	char place[REFUSAL_POINTER_SIZE];
	const char *key;
	json_t *member;

	if (!json_is_object(object))
		return (wire_refuse(r, pointer, "metadata",
		    "\"metadata\" must be an object of texts"));
	if (json_object_size(object) > LIMIT_METADATA_KEYS)
		return (wire_refuse(r, pointer, "metadata",
		    "\"metadata\" has %zu members; at most %d are taken",
		    json_object_size(object), LIMIT_METADATA_KEYS));
	wire_pointer(place, pointer, "metadata");
	json_object_foreach (object, key, member) {
		if (!json_is_string(member))
			return (wire_refuse(r, place, key,
			    "\"metadata\" is flat: the value of \"%.48s\" must "
			    "be a text",
			    key));
	}
	return (RC_OK);
}

enum rc
wire_metadata_text(struct wire_doc *doc, json_t *object, struct span *ret)
{
	const char *keys[LIMIT_METADATA_KEYS];
	struct buf b = BUF_INIT;
	json_t *member;
	size_t i, n;
	char *text;

	if ((n = sorted_keys(object, keys)) == 0)
		return (RC_OK);
	buf_addc(&b, '{');
	for (i = 0; i < n; i++) {
		member = json_object_get(object, keys[i]);
		jw_comma(&b);
		jw_string(&b, keys[i], strlen(keys[i]));
		buf_addc(&b, ':');
		jw_string(
		    &b, json_string_value(member), json_string_length(member));
	}
	buf_addc(&b, '}');
	text = buf_ok(&b) ? wire_doc_alloc(doc, b.len + 1) : NULL;
	if (text != NULL) {
		memcpy(text, b.data, b.len);
		text[b.len] = '\0';
		ret->p = text;
		ret->n = b.len;
	}
	buf_fini(&b);
	return (text != NULL ? RC_OK : RC_NO_MEMORY);
}

static enum rc
read_metadata(struct wire_doc *doc, json_t *object, const char *pointer,
    struct message_draft *d, struct refusal *r)
{
	enum rc rc;

	if ((rc = check_metadata(object, pointer, r)) != RC_OK)
		return (rc);
	if (wire_metadata_text(doc, object, &d->metadata) != RC_OK)
		return (wire_no_memory(r));
	return (RC_OK);
}

static enum rc
read_expires_in(json_t *value, const char *pointer, struct message_draft *d,
    struct refusal *r)
{
	int64_t seconds;
	bool ok;

	ok = false;
	if (json_is_integer(value)) {
		seconds = json_integer_value(value);
		ok = seconds > 0 && seconds <= MESSAGE_EXPIRES_IN_MAX_MS / 1000;
		d->expires_in_ms = ok ? seconds * 1000 : 0;
	} else if (json_is_string(value)) {
		ok = model_duration_parse(
			 json_string_value(value), &d->expires_in_ms) &&
		     d->expires_in_ms > 0;
	}
	if (!ok)
		return (wire_refuse(r, pointer, "expires_in",
		    "\"expires_in\" must be whole seconds (90) or a text such "
		    "as \"90s\", \"30m\", \"2h\", \"5d\", at most 366 days"));
	return (RC_OK);
}

static enum rc
read_loose(struct wire_doc *doc, const struct loose *loose, const char *pointer,
    struct message_draft *d, struct refusal *r)
{
	enum rc rc;

	if (loose->priority.p != NULL &&
	    !priority_parse(loose->priority.p, loose->priority.n, &d->priority))
		return (wire_refuse(r, pointer, "priority",
		    "\"priority\" must be \"low\", \"normal\" or \"high\""));
	if (loose->has_deliver_at && d->deliver_at_ms <= 0)
		return (wire_refuse(r, pointer, "deliver_at",
		    "\"deliver_at\" lies before 1970"));
	if (loose->expires_in != NULL) {
		rc = read_expires_in(loose->expires_in, pointer, d, r);
		if (rc != RC_OK)
			return (rc);
	}
	if (loose->metadata != NULL)
		return (read_metadata(doc, loose->metadata, pointer, d, r));
	return (RC_OK);
}

enum rc
wire_message_read(struct wire_doc *doc, json_t *value, const char *pointer,
    struct message_draft *ret, struct refusal *refusal)
{
	struct loose loose = {.metadata = NULL, .expires_in = NULL};
	struct message_draft draft;
	enum rc rc;

	memset(&draft, 0, sizeof(draft));
	draft.priority = PRIORITY_NORMAL;
	rc = read_members(value, pointer, &draft, &loose, refusal);
	if (rc != RC_OK)
		return (rc);
	rc = read_loose(doc, &loose, pointer, &draft, refusal);
	if (rc != RC_OK)
		return (rc);
	rc = model_draft_check(&draft, pointer, refusal);
	if (rc != RC_OK)
		return (rc);
	*ret = draft;
	return (RC_OK);
}
