/* SPDX-License-Identifier: MIT */
/*
 * The check of every draft.  All sources of drafts use it (JSON, plain text,
 * WebSocket frames, and envelopes of other servers), so that none of them
 * accepts a draft that another one refuses or that breaks a constraint of the
 * database.
 */
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "model/message.h"

/* Refuses member ${name} below the pointer ${prefix}, and returns. */
#define REFUSE(r, problem, prefix, name, ...)                                  \
	do {                                                                   \
		char place_[REFUSAL_POINTER_SIZE];                             \
		(void)snprintf(place_, sizeof(place_), "%s/%s", prefix, name); \
		refusal_set(r, problem, place_, __VA_ARGS__);                  \
		return (RC_INVALID);                                           \
	} while (0)

/* In bytes.  The refusal of a recipient with capital letters repeats the
 * address in small letters ("did you mean"), but not if the address has more
 * bytes than this, because the text of a refusal is short. */
#define SUGGESTED_MAX 100

/* Writes ${text} to ${ret}, with small letters in place of A to Z and a NUL at
 * the end, and returns true if the result is a valid address.  Returns false if
 * it is not, or if ${text} is longer than SUGGESTED_MAX bytes; then ${ret} must
 * not be used. */
static bool
lower_address(const struct span *text, char ret[SUGGESTED_MAX + 1])
{
	char domain[LIMIT_DOMAIN_LEN + 1];
	char name[LIMIT_NAME_LEN + 1];
	size_t i;

	if (text->n > SUGGESTED_MAX)
		return (false);
	for (i = 0; i < text->n; i++)
		ret[i] = text->p[i] >= 'A' && text->p[i] <= 'Z'
			     ? (char)(text->p[i] - 'A' + 'a')
			     : text->p[i];
	ret[i] = '\0';
	return (model_address_parse(ret, text->n, "", name, domain));
}

static enum rc
check_recipient(
    const struct message_draft *d, const char *prefix, struct refusal *r)
{
	char domain[LIMIT_DOMAIN_LEN + 1];
	char lower[SUGGESTED_MAX + 1];
	char name[LIMIT_NAME_LEN + 1];

	if (d->to.p == NULL) {
		if (d->has_conversation)
			return (RC_OK);
		refusal_set(r, PROBLEM_BAD_REQUEST, prefix,
		    "a recipient is missing: give \"to\" (an address) or "
		    "\"conversation\" (an id)");
		return (RC_INVALID);
	}
	if (d->has_conversation)
		REFUSE(r, PROBLEM_BAD_REQUEST, prefix, "conversation",
		    "give either \"to\" or \"conversation\", not both");
	if (model_address_parse(d->to.p, d->to.n, "", name, domain))
		return (RC_OK);
	if (lower_address(&d->to, lower))
		REFUSE(r, PROBLEM_BAD_REQUEST, prefix, "to",
		    "addresses have small letters: did you mean \"%s\"?",
		    lower);
	REFUSE(r, PROBLEM_BAD_REQUEST, prefix, "to",
	    "\"to\" is not a valid address: \"name\" or \"name@domain\", where "
	    "a name is 1 to %d of a-z, 0-9, '.', '_', '-'",
	    LIMIT_NAME_LEN);
}

static enum rc
check_body(const struct message_draft *d, const char *prefix, struct refusal *r)
{
	size_t bad;

	if (d->body.p == NULL)
		REFUSE(r, PROBLEM_BAD_REQUEST, prefix, "body",
		    "member \"body\" is missing");
	if (d->body.n == 0)
		REFUSE(r, PROBLEM_BAD_REQUEST, prefix, "body",
		    "the text is empty");
	if (d->body.n > LIMIT_BODY_LEN)
		REFUSE(r, PROBLEM_BODY_TOO_LARGE, prefix, "body",
		    "the text has %zu bytes; a text has at most %d, a request "
		    "with one message at most %d",
		    d->body.n, LIMIT_BODY_LEN, LIMIT_REQUEST_LEN);
	if (memchr(d->body.p, '\0', d->body.n) != NULL)
		REFUSE(r, PROBLEM_BAD_REQUEST, prefix, "body",
		    "the text holds a NUL character, which is not supported");
	if (!utf8_valid(d->body.p, d->body.n, &bad))
		REFUSE(r, PROBLEM_BAD_REQUEST, prefix, "body",
		    "the text is not valid UTF-8: byte %zu", bad + 1);
	return (RC_OK);
}

static enum rc
check_texts(
    const struct message_draft *d, const char *prefix, struct refusal *r)
{

	if (d->content_type.p != NULL &&
	    !model_content_type_valid(d->content_type.p, d->content_type.n))
		REFUSE(r, PROBLEM_BAD_REQUEST, prefix, "content_type",
		    "\"content_type\" is not a media type such as text/plain or "
		    "text/markdown; charset=utf-8 of at most %d characters",
		    LIMIT_CONTENT_TYPE_LEN);
	if (d->metadata.p != NULL && d->metadata.n > LIMIT_METADATA_LEN)
		REFUSE(r, PROBLEM_BAD_REQUEST, prefix, "metadata",
		    "\"metadata\" is %zu bytes of JSON; at most %d are taken",
		    d->metadata.n, LIMIT_METADATA_LEN);
	if (d->correlation_id.p == NULL)
		return (RC_OK);
	if (d->correlation_id.n < 1 ||
	    d->correlation_id.n > LIMIT_CORRELATION_ID_LEN)
		REFUSE(r, PROBLEM_BAD_REQUEST, prefix, "correlation_id",
		    "\"correlation_id\" has %zu bytes; 1 to %d are taken",
		    d->correlation_id.n, LIMIT_CORRELATION_ID_LEN);
	if (!utf8_valid(d->correlation_id.p, d->correlation_id.n, NULL) ||
	    memchr(d->correlation_id.p, '\0', d->correlation_id.n) != NULL)
		REFUSE(r, PROBLEM_BAD_REQUEST, prefix, "correlation_id",
		    "\"correlation_id\" is not valid UTF-8 without NUL");
	return (RC_OK);
}

static enum rc
check_id(const struct message_draft *d, const char *prefix, struct refusal *r)
{
	int version = uuid_version(&d->id);

	if (d->key.p != NULL && d->has_id)
		REFUSE(r, PROBLEM_BAD_REQUEST, prefix, "key",
		    "give either \"id\" or \"key\": the key is made into an "
		    "id");
	if (d->key.p != NULL &&
	    (d->key.n < 1 || d->key.n > LIMIT_IDEMPOTENCY_KEY_LEN))
		REFUSE(r, PROBLEM_BAD_REQUEST, prefix, "key",
		    "\"key\" has %zu bytes; 1 to %d are accepted", d->key.n,
		    LIMIT_IDEMPOTENCY_KEY_LEN);
	if (d->has_id && version != 4 && version != 7 && version != 8)
		REFUSE(r, PROBLEM_BAD_REQUEST, prefix, "id",
		    "\"id\" is a UUID of version %d; a message has one of "
		    "version 4, 7 or 8, best 7",
		    version);
	if (d->has_id && (d->id.b[8] & 0xc0) != 0x80)
		REFUSE(r, PROBLEM_BAD_REQUEST, prefix, "id",
		    "\"id\" is not a UUID of RFC 9562: its variant is wrong");
	return (RC_OK);
}

static enum rc
check_numbers(
    const struct message_draft *d, const char *prefix, struct refusal *r)
{

	if (d->priority < PRIORITY_LOW || d->priority > PRIORITY_HIGH)
		REFUSE(r, PROBLEM_BAD_REQUEST, prefix, "priority",
		    "\"priority\" is low, normal or high");
	if (d->deliver_at_ms < 0 || d->deliver_at_ms > MESSAGE_TIME_MAX_MS)
		REFUSE(r, PROBLEM_BAD_REQUEST, prefix, "deliver_at",
		    "\"deliver_at\" must lie between the years 1970 and 9999");
	if (d->expires_in_ms < 0 ||
	    (d->expires_in_ms > 0 && d->expires_in_ms < 1000) ||
	    d->expires_in_ms > MESSAGE_EXPIRES_IN_MAX_MS)
		REFUSE(r, PROBLEM_BAD_REQUEST, prefix, "expires_in",
		    "\"expires_in\" must be between 1 second and 366 days");
	return (RC_OK);
}

enum rc
model_draft_check(const struct message_draft *draft, const char *pointer,
    struct refusal *refusal)
{
	enum rc rc;

	if ((rc = check_recipient(draft, pointer, refusal)) != RC_OK ||
	    (rc = check_body(draft, pointer, refusal)) != RC_OK ||
	    (rc = check_texts(draft, pointer, refusal)) != RC_OK ||
	    (rc = check_id(draft, pointer, refusal)) != RC_OK)
		return (rc);
	return (check_numbers(draft, pointer, refusal));
}
