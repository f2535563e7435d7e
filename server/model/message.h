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

/* Fills ${ret} with the message of ${draft} as its readers see it; an absent
 * content_type becomes MESSAGE_CONTENT_TYPE_DEFAULT.  The texts are borrowed
 * from ${draft}; other absent texts become NULL.  The content_type and
 * correlation_id of ${draft} must end with a NUL, because a view has no lengths
 * for them; wire_message_read() makes such drafts. */
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

/* Returns true if the name has the form that a new user's name must have: it is
 * valid, begins and ends with a letter or digit, and has no ".." inside.  So a
 * name can be a segment of a path ("." and ".." cannot) and a file name, and no
 * command reads it as an option ("-x").  Reserved names have this form, too:
 * see model_name_reserved(). */
bool model_name_fits(const char *name, size_t n);

/* Returns true if ${n} bytes at ${name} are one of the names that other users
 * would take for the operator's: admin, root, support, postmaster, abuse,
 * security, twinbox.  POST /v1/users refuses to register them; only the
 * operator may make such a user (twinboxd user add). */
bool model_name_reserved(const char *name, size_t n);

/* Splits ${n} bytes at ${text}, "bob" or "bob@domain", into ${ret_name} and
 * ${ret_domain}, which end with a NUL.  ${ret_domain} is "" if the address has
 * no domain or its domain is ${local_domain}, else a host name (one label, such
 * as "localhost", is enough).  Returns false, and leaves both buffers
 * unchanged, if ${text} is not a valid address.  Upper-case letters are not
 * converted: an address with one is not valid. */
bool model_address_parse(const char *text, size_t n, const char *local_domain,
    char ret_name[LIMIT_NAME_LEN + 1], char ret_domain[LIMIT_DOMAIN_LEN + 1]);

/* Returns true if ${n} bytes at ${text} are a media type, "type/subtype" with
 * any parameters, of at most LIMIT_CONTENT_TYPE_LEN bytes. */
bool model_content_type_valid(const char *text, size_t n);

/* priority_name() returns "low", "normal" or "high"; "normal" if ${priority} is
 * not a priority.  priority_parse() sets *ret to the priority with this name;
 * it returns false, and leaves *ret unchanged, if ${text} is another word. */
const char *priority_name(int priority);
bool priority_parse(const char *text, size_t n, int *ret);

/* The longest expires_in that a sender may give a message, in milliseconds: 366
 * days.  A longer one is refused, because it is probably a mistake.  The delay
 * "in" of a message in plain text has the same limit. */
#define MESSAGE_EXPIRES_IN_MAX_MS (INT64_C(366) * 86400 * 1000)

/* The latest deliver_at, in milliseconds since 1970: the end of the year 9999
 * (UTC), the last year of RFC 3339.  Times from other servers have the same
 * limit. */
#define MESSAGE_TIME_MAX_MS INT64_C(253402300799999)

/* Checks everything in ${draft} that needs no store: exactly one of to and
 * conversation; the form of the address; a body that is not empty; the lengths
 * of texts; UTF-8 without NUL in body and correlation_id; version (4, 7 or 8)
 * and variant of the id; no key beside an id; content type; priority;
 * deliver_at (1970 to 9999; 0: now); expires_in (1 s to
 * MESSAGE_EXPIRES_IN_MAX_MS; 0: the default).  Of metadata, only the size is
 * checked.  Returns RC_OK, or RC_INVALID with the first fault in ${refusal},
 * whose JSON pointer begins with ${pointer}, the place of the draft in its
 * request ("" or "/3"). */
enum rc model_draft_check(const struct message_draft *draft,
    const char *pointer, struct refusal *refusal) MUST_USE;

/* Parses a whole number of seconds ("90" or "90s"), minutes ("30m"), hours
 * ("2h") or days ("5d"), also 0, into milliseconds.  Returns false, and leaves
 * *ret_ms unchanged, if ${text} is anything else or the result does not fit
 * into *ret_ms. */
bool model_duration_parse(const char *text, int64_t *ret_ms);

#endif
