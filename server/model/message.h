/* SPDX-License-Identifier: MIT */
/*
 * A message as a sender gives it (the draft), with the rules that need no
 * store: names, addresses, sizes, the fingerprint's content.
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

/* Priorities choose between lanes, never inside one. */
enum priority { PRIORITY_LOW = -1, PRIORITY_NORMAL = 0, PRIORITY_HIGH = 1 };
#define PRIORITIES 3

/* A piece of text inside a buffer that somebody else owns. */
struct span {
	const char *p; /* NULL: absent */
	size_t n;
};

/* What a sender asks for.  Spans are borrowed from the parsed request. */
struct message_draft {
	bool has_id;
	struct uuid id;
	struct span key; /* instead of an id, which is made from it */
	struct span to;  /* an address; or */
	bool has_conversation;
	struct uuid conversation; /* a conversation */
	struct span body;         /* 1 to LIMIT_BODY_LEN bytes of UTF-8 */
	struct span content_type; /* absent: text/plain */
	struct span metadata;     /* JSON text of a flat object of strings */
	struct span correlation_id;
	bool has_reply_to;
	struct uuid reply_to;
	int priority;          /* enum priority */
	int64_t deliver_at_ms; /* 0: now */
	int64_t deliver_in_ms; /* how that was said, if as \"in so long\" */
	int64_t expires_in_ms; /* 0: the default */
};

#define MESSAGE_CONTENT_TYPE_DEFAULT "text/plain"

/* The message of ${draft} as its readers will see it.  A view's texts end with
 * NUL; those of a draft made by wire_message_read() do. */
void message_draft_view(
    const struct message_draft *draft, struct message_view *ret);

/* Whether ${n} bytes at ${name} may be a user's name in an address or a log-in:
 * [a-z0-9._-]{1,32}.  Users that older versions made may have any of these. */
bool model_name_valid(const char *name, size_t n);

/* What model_name_fits() wants, for a message. */
#define MODEL_NAME_RULE                                                        \
	"1 to 32 of a-z, 0-9, '.', '_', '-', with a letter or digit first "    \
	"and last, and without \"..\""

/* Whether a new user may have this name: a valid one that begins and ends with
 * a letter or digit and has no "..", so that it is a segment of a path ("." and
 * ".." are not), a file name, and no option of a command ("-x"). */
bool model_name_fits(const char *name, size_t n);

/* Whether others would take a user of this name for the operator: only the
 * operator makes one. */
bool model_name_reserved(const char *name, size_t n);

/* Splits "bob" or "bob@domain" into name and domain ("" when local, also when
 * the domain is ${local_domain}).  False if it is no address. */
bool model_address_parse(const char *text, size_t n, const char *local_domain,
    char ret_name[LIMIT_NAME_LEN + 1], char ret_domain[LIMIT_DOMAIN_LEN + 1]);

/* Whether ${n} bytes at ${text} are a media type "type/subtype[; …]". */
bool model_content_type_valid(const char *text, size_t n);

/* "low", "normal", "high". */
const char *priority_name(int priority);
bool priority_parse(const char *text, size_t n, int *ret);

/* How long a message may be set to live: a year; longer is a slip. */
#define MESSAGE_EXPIRES_IN_MAX_MS (INT64_C(366) * 86400 * 1000)

/* The latest deliver_at: the end of year 9999, the last that RFC 3339 knows. */
#define MESSAGE_TIME_MAX_MS INT64_C(253402300799999)

/* Whether everything in ${draft} that needs no store is in order: either to
 * or conversation, address, sizes, UTF-8 without NUL, version of the id,
 * content type, priority, times.  metadata is not looked into beyond its size.
 * ${pointer} ("" or "/3") stands before the pointers in ${refusal}.  RC_OK or
 * RC_INVALID. */
enum rc model_draft_check(const struct message_draft *draft,
    const char *pointer, struct refusal *refusal) MUST_USE;

/* Parses "90", "90s", "30m", "2h", "5d" (whole numbers) into milliseconds;
 * false if it is none or does not fit. */
bool model_duration_parse(const char *text, int64_t *ret_ms);

#endif
