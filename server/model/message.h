/* SPDX-License-Identifier: MIT */
/*
 * The draft of a message, as its sender gives it, and the rules about messages
 * that need no store: names, addresses, sizes, media types, times.
 */
#ifndef MODEL_MESSAGE_H
#define MODEL_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"
#include "base/uuid.h"
#include "model/event.h"
#include "model/refusal.h"

/* A priority decides between lanes; it does not change the order in a lane. */
enum priority { PRIORITY_LOW = -1, PRIORITY_NORMAL = 0, PRIORITY_HIGH = 1 };
#define PRIORITIES 3

/* A part of a text in a buffer that another object owns. */
struct span {
	const char *p; /* NULL: absent */
	size_t n;
};

/* A message as its sender requests it.  Spans are borrowed from the parsed
 * request. */
struct message_draft {
	bool has_id;
	struct uuid id;
	struct span key; /* instead of an id, which is computed from it */
	struct span to;  /* either an address … */
	bool has_conversation;
	struct uuid conversation; /* … or a conversation */
	struct span body;         /* 1 to LIMIT_BODY_LEN bytes of UTF-8 */
	struct span content_type; /* absent: text/plain */
	struct span metadata;     /* JSON text of a flat object of strings */
	struct span correlation_id;
	bool has_reply_to;
	struct uuid reply_to;
	int priority;          /* enum priority */
	int64_t deliver_at_ms; /* 0: now */
	int64_t deliver_in_ms; /* the delay, if the request gave a delay */
	int64_t expires_in_ms; /* 0: the default */
};

#define MESSAGE_CONTENT_TYPE_DEFAULT "text/plain"

/* Fills ${ret} with the message of ${draft} as its readers see it.  The texts
 * of a view must end with a NUL, so those of ${draft} must, too;
 * wire_message_read() makes such drafts. */
void message_draft_view(
    const struct message_draft *draft, struct message_view *ret);

/* Returns true if ${n} bytes at ${name} may be a user's name in an address or a
 * log-in: [a-z0-9._-]{1,32}.  Users that older versions made may have any of
 * these names. */
bool model_name_valid(const char *name, size_t n);

/* The rule of model_name_fits(), for the text of a refusal. */
#define MODEL_NAME_RULE                                                        \
	"1 to 32 of a-z, 0-9, '.', '_', '-', with a letter or digit first "    \
	"and last, and without \"..\""

/* Returns true if a new user may have this name: a valid name that begins and
 * ends with a letter or digit and has no ".." inside.  So a name can be a
 * segment of a path ("." and ".." cannot) and a file name, and no command reads
 * it as an option ("-x"). */
bool model_name_fits(const char *name, size_t n);

/* Returns true if other users would take a user of this name for the operator.
 * Strangers cannot register it; only the operator may make such a user. */
bool model_name_reserved(const char *name, size_t n);

/* Splits "bob" or "bob@domain" into name and domain.  The domain is "" for a
 * local address, also if it was ${local_domain}; else a host name, of which one
 * label is enough.  Returns false if ${text} is not an address, also if it has
 * a letter in upper case: nothing is converted. */
bool model_address_parse(const char *text, size_t n, const char *local_domain,
    char ret_name[LIMIT_NAME_LEN + 1], char ret_domain[LIMIT_DOMAIN_LEN + 1]);

/* Returns true if ${n} bytes at ${text} are a media type, "type/subtype" with
 * any parameters, of at most LIMIT_CONTENT_TYPE_LEN bytes. */
bool model_content_type_valid(const char *text, size_t n);

/* Return "low", "normal" or "high"; read one of these words into *ret, false if
 * it is another one. */
const char *priority_name(int priority);
bool priority_parse(const char *text, size_t n, int *ret);

/* The longest life that a sender may give a message: a year.  A longer one is
 * taken for a mistake. */
#define MESSAGE_EXPIRES_IN_MAX_MS (INT64_C(366) * 86400 * 1000)

/* The latest deliver_at: the end of the year 9999, the last year of RFC
 * 3339. */
#define MESSAGE_TIME_MAX_MS INT64_C(253402300799999)

/* Checks everything in ${draft} that needs no store: either to or conversation,
 * address, sizes, UTF-8 without NUL, version (4, 7 or 8) and variant of the id,
 * the key in place of an id, content type, priority, deliver_at (1970 to 9999),
 * expires_in (1 s to MESSAGE_EXPIRES_IN_MAX_MS).  Of metadata, only the size is
 * checked.  ${pointer} ("" or "/3") is put before the pointers in ${refusal}.
 * Returns RC_OK or RC_INVALID. */
enum rc model_draft_check(const struct message_draft *draft,
    const char *pointer, struct refusal *refusal) MUST_USE;

/* Parses "90", "90s", "30m", "2h", "5d" (whole numbers) into milliseconds.
 * Returns false if ${text} is not such a duration or does not fit. */
bool model_duration_parse(const char *text, int64_t *ret_ms);

#endif
