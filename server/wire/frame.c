/* SPDX-License-Identifier: MIT */
/*
 * Reads the WebSocket frames of a client as strictly as the JSON of its HTTP
 * requests (an unknown member is refused), and writes error frames.  Also
 * parses cursors.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "wire/json.h"
#include "wire/wire_internal.h"

#define TOKEN_MAX 128
#define AFTER_MAX 64

/* The members that frames of all types have: type and, optionally, id.  Each
 * table of fields lists both, because wire_object() refuses members that are
 * not listed.  It stores their values here, but nothing uses them:
 * wire_frame_read() has taken type and id from the frame before. */
struct common {
	struct span type;
	int64_t id;
};

#define COMMON_FIELDS(c)                                                       \
	{.name = "type",                                                       \
	    .type = WIRE_SPAN,                                                 \
	    .required = true,                                                  \
	    .ret = &(c).type},                                                 \
	{                                                                      \
		.name = "id", .type = WIRE_I64, .ret = &(c).id                 \
	}

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Reads the member "after" of a hello frame into f->after as text: a cursor
 * "epoch:seq" or "seq".  A seq without an epoch may also be a JSON integer,
 * whose text is made in the memory of ${doc}.  Refuses anything else. */
static enum rc
read_after(
    struct wire_doc *doc, json_t *value, struct frame *f, struct refusal *r)
{
	char epoch[40], *text;
	int64_t seq;
	int n;

	if (json_is_string(value)) {
		f->after.p = json_string_value(value);
		f->after.n = json_string_length(value);
	} else if (json_is_integer(value)) {
		if ((text = wire_doc_alloc(doc, AFTER_MAX)) == NULL)
			return (wire_no_memory(r));
		n = snprintf(text, AFTER_MAX, "%" JSON_INTEGER_FORMAT,
		    json_integer_value(value));
		f->after.p = text;
		f->after.n = (size_t)n;
	}
	if (f->after.p == NULL ||
	    !wire_cursor_parse(f->after.p, f->after.n, epoch, &seq))
		return (wire_refuse(r, "", "after",
		    "\"after\" is not a cursor: \"epoch:seq\" or a bare seq"));
	return (RC_OK);
}

static enum rc
read_hello(struct wire_doc *doc, struct frame *f, struct refusal *r)
{
	json_t *after = NULL;
	struct common c;
	enum rc rc;
	const struct wire_field fields[] = {
	    COMMON_FIELDS(c),
	    {.name = "token",
		.type = WIRE_SPAN,
		.min_len = 1,
		.max_len = TOKEN_MAX,
		.ret = &f->token},
	    {.name = "instance",
		.type = WIRE_SPAN,
		.min_len = 1,
		.max_len = LIMIT_INSTANCE_LEN,
		.ret = &f->instance},
	    {.name = "after", .type = WIRE_ANY, .ret = &after},
	    {.name = "window",
		.type = WIRE_I64,
		.min = 1,
		.max = LIMIT_WINDOW,
		.ret = &f->window},
	    {.name = "outbox", .type = WIRE_BOOL, .ret = &f->outbox},
	};

	f->type = FRAME_HELLO;
	f->window = LIMIT_WINDOW;
	rc = wire_object(doc->root, "", fields, COUNT(fields), r);
	if (rc != RC_OK || after == NULL)
		return (rc);
	return (read_after(doc, after, f, r));
}

static enum rc
read_ack(struct wire_doc *doc, struct frame *f, struct refusal *r)
{
	struct common c;
	const struct wire_field fields[] = {
	    COMMON_FIELDS(c),
	    {.name = "upto",
		.type = WIRE_I64,
		.required = true,
		.max = INT64_MAX,
		.ret = &f->upto},
	};

	f->type = FRAME_ACK;
	return (wire_object(doc->root, "", fields, COUNT(fields), r));
}

static enum rc
read_read(struct wire_doc *doc, struct frame *f, struct refusal *r)
{
	bool has_upto, has_upto_conversation_seq;
	struct common c;
	enum rc rc;
	const struct wire_field fields[] = {
	    COMMON_FIELDS(c),
	    {.name = "upto",
		.type = WIRE_I64,
		.max = INT64_MAX,
		.ret = &f->upto,
		.ret_present = &has_upto},
	    {.name = "conversation",
		.type = WIRE_UUID,
		.ret = &f->conversation,
		.ret_present = &f->has_conversation},
	    {.name = "upto_conversation_seq",
		.type = WIRE_I64,
		.max = INT64_MAX,
		.ret = &f->upto_conversation_seq,
		.ret_present = &has_upto_conversation_seq},
	    {.name = "private", .type = WIRE_BOOL, .ret = &f->is_private},
	};

	f->type = FRAME_READ;
	rc = wire_object(doc->root, "", fields, COUNT(fields), r);
	if (rc != RC_OK)
		return (rc);
	if (f->has_conversation != has_upto_conversation_seq ||
	    f->has_conversation == has_upto) {
		refusal_set(r, PROBLEM_BAD_REQUEST, "",
		    "give either \"upto\" (an inbox seq), or \"conversation\" "
		    "and \"upto_conversation_seq\"");
		return (RC_INVALID);
	}
	return (RC_OK);
}

static enum rc
read_send(struct wire_doc *doc, struct frame *f, struct refusal *r)
{
	json_t *message = NULL;
	struct common c;
	enum rc rc;
	const struct wire_field fields[] = {
	    COMMON_FIELDS(c),
	    {.name = "message",
		.type = WIRE_ANY,
		.required = true,
		.ret = &message},
	};

	f->type = FRAME_SEND;
	rc = wire_object(doc->root, "", fields, COUNT(fields), r);
	if (rc != RC_OK)
		return (rc);
	return (wire_message_read(doc, message, "/message", &f->message, r));
}

static enum rc
read_typing(struct wire_doc *doc, struct frame *f, struct refusal *r)
{
	struct common c;
	const struct wire_field fields[] = {
	    COMMON_FIELDS(c),
	    {.name = "conversation",
		.type = WIRE_UUID,
		.required = true,
		.ret = &f->conversation,
		.ret_present = &f->has_conversation},
	};

	f->type = FRAME_TYPING;
	return (wire_object(doc->root, "", fields, COUNT(fields), r));
}

static enum rc
read_ping(struct wire_doc *doc, struct frame *f, struct refusal *r)
{
	struct common c;
	const struct wire_field fields[] = {COMMON_FIELDS(c)};

	f->type = FRAME_PING;
	return (wire_object(doc->root, "", fields, COUNT(fields), r));
}

static const struct {
	const char *name;
	enum rc (*read)(
	    struct wire_doc *doc, struct frame *f, struct refusal *r);
} readers[] = {
    {"hello", read_hello},
    {"ack", read_ack},
    {"read", read_read},
    {"send", read_send},
    {"typing", read_typing},
    {"ping", read_ping},
};

const char *
wire_frame_name(size_t i)
{

	return (i < COUNT(readers) ? readers[i].name : NULL);
}

enum rc
wire_frame_read(
    struct wire_doc *doc, struct frame *ret, struct refusal *refusal)
{
	const char *type;
	json_t *id;
	size_t i;

	memset(ret, 0, sizeof(*ret));
	if (!json_is_object(doc->root)) {
		refusal_set(refusal, PROBLEM_BAD_REQUEST, "",
		    "a frame is a JSON object");
		return (RC_INVALID);
	}
	id = json_object_get(doc->root, "id");
	if (json_is_integer(id)) {
		ret->has_re = true;
		ret->re = json_integer_value(id);
	}
	type = json_string_value(json_object_get(doc->root, "type"));
	for (i = 0; type != NULL && i < COUNT(readers); i++) {
		if (strcmp(readers[i].name, type) == 0)
			return (readers[i].read(doc, ret, refusal));
	}
	return (wire_refuse(refusal, "", "type",
	    "\"type\" must be one of hello, ack, read, send, typing, ping"));
}

void
wire_frame_error(
    struct buf *b, bool has_re, int64_t re, const struct refusal *r)
{

	buf_adds(b, "{\"type\":\"error\"");
	if (has_re)
		jw_int(b, "re", re);
	jw_member(b, "problem");
	buf_addc(b, '{');
	wire_problem_members(b, r, NULL, NULL);
	buf_adds(b, "}}");
}

static bool
is_epoch_char(char c)
{

	return ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
		(c >= 'A' && c <= 'Z') || c == '-' || c == '_');
}

bool
wire_cursor_parse(
    const char *text, size_t n, char ret_epoch[40], int64_t *ret_seq)
{
	const char *colon;
	size_t i, epoch_len;
	int64_t seq;

	colon = memchr(text, ':', n);
	epoch_len = (colon == NULL) ? 0 : (size_t)(colon - text);
	if (epoch_len >= 40 || (colon != NULL && epoch_len == 0))
		return (false);
	for (i = 0; i < epoch_len; i++) {
		if (!is_epoch_char(text[i]))
			return (false);
	}
	if (colon != NULL)
		i++;
	if (i == n)
		return (false);
	for (seq = 0; i < n; i++) {
		if (text[i] < '0' || text[i] > '9' ||
		    seq > (INT64_MAX - (text[i] - '0')) / 10)
			return (false);
		seq = seq * 10 + (text[i] - '0');
	}
	memcpy(ret_epoch, text, epoch_len);
	ret_epoch[epoch_len] = '\0';
	*ret_seq = seq;
	return (true);
}
