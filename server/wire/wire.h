/* SPDX-License-Identifier: MIT */
/*
 * JSON to the structs of model/ and back.  Requests and frames of clients are
 * read strictly: an unknown member is refused by name, with a JSON pointer to
 * the member at fault.  Events, entries, frames and problem documents are
 * written.
 *
 * Reading uses jansson with JSON_REJECT_DUPLICATES.  The depth is at most
 * LIMIT_JSON_DEPTH, and the values are at most LIMIT_JSON_VALUES, both checked
 * before the tree is built.  A NUL is refused, text is valid UTF-8, and
 * integers fit int64_t.  Results borrow from the struct wire_doc until
 * wire_doc_fini().
 *
 * Thread: any, for all functions but wire_init().
 */
#ifndef WIRE_WIRE_H
#define WIRE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/rc.h"
#include "model/event.h"
#include "model/message.h"
#include "model/outbox.h"
#include "model/refusal.h"

struct text;

/* Makes jansson allocate through base/mem, and seeds its hash tables with a
 * random number.  Call it once, before the first thread that parses starts. */
void wire_init(void);

/* A parsed document, and the texts that were made while it was read. */
struct wire_doc {
	json_t *root;
	void *scratch; /* texts made while reading, such as metadata */
};

/* Parses ${n} bytes of JSON, which may be any value, not only an object or
 * array.  On failure ${doc} holds nothing.  RC_INVALID: ${refusal} says why
 * and, unless the text is blank, where (line, column).  The limits are
 * LIMIT_JSON_DEPTH and LIMIT_JSON_VALUES.  RC_NO_MEMORY: there is no memory. */
enum rc wire_parse(const char *text, size_t n, struct wire_doc *doc,
    struct refusal *refusal) MUST_USE;

/* Like wire_parse(), for a reader with its own limits: at most ${depth} levels
 * and ${values} values. */
enum rc wire_parse_within(const char *text, size_t n, int depth, int values,
    struct wire_doc *doc, struct refusal *refusal) MUST_USE;

/* Frees what ${doc} holds. */
void wire_doc_fini(struct wire_doc *doc);

/* ---- reading objects member by member ---- */

/* A value with its place, which refusals name: "/0/to". */
struct wire_at {
	json_t *value;
	char pointer[REFUSAL_POINTER_SIZE];
};

/* A member that an object may have. */
struct wire_field {
	const char *name;
	enum {
		WIRE_SPAN,
		WIRE_I64,
		WIRE_BOOL,
		WIRE_UUID,
		WIRE_TIME,
		WIRE_ANY
	} type;
	bool required;
	bool line;               /* WIRE_SPAN: utf8_line_valid() */
	size_t min_len, max_len; /* WIRE_SPAN: bytes; max 0: no limit */
	int64_t min, max;        /* WIRE_I64: range, unless both are 0 */
	void *ret;               /* struct span, int64_t, bool, struct uuid,
				  * int64_t (ms), json_t * (borrowed) */
	bool *ret_present;       /* may be NULL */
};

/* Reads the members of the object ${value} by the table ${fields} with ${n}
 * rows, at most 64.  ${pointer} is the JSON pointer of ${value}.  A member that
 * is unknown, missing, of the wrong type or out of its range is refused by
 * name.  A member that is null counts as absent, and the variable ${ret} of an
 * absent member is not changed.  RC_INVALID: ${refusal} says which member and
 * why. */
enum rc wire_object(json_t *value, const char *pointer,
    const struct wire_field *fields, size_t n,
    struct refusal *refusal) MUST_USE;

/* Reads one message as POST /v1/messages accepts it.  Checks everything that
 * can be checked without the database: sizes; the version of the id (4, 7 or
 * 8); at most one of id and key; the priority; metadata (a flat object of
 * strings); either to or conversation; expires_in (seconds as a number, or
 * "30m"); deliver_at (RFC 3339).  ${doc} owns texts that are made here, such as
 * that of the metadata.  All texts in ${ret} end with NUL.  The text of the
 * metadata has the members in byte order; {} is read as absent.  Returns RC_OK,
 * or RC_INVALID or RC_NO_MEMORY with ${refusal}. */
enum rc wire_message_read(struct wire_doc *doc, json_t *value,
    const char *pointer, struct message_draft *ret,
    struct refusal *refusal) MUST_USE;

/* ---- writing ---- */

/* Writes the fragment of a message: those members of its event that are known
 * before the message is accepted (id, body, content_type, metadata,
 * correlation_id, reply_to), with commas between them but without braces around
 * them. */
void wire_message_fragment(struct buf *b, const struct message_view *m);

/* Returns the fragment of ${draft} as a shared text with one reference, which
 * the caller drops with text_unref(); NULL: no memory.  The texts of ${draft}
 * must end with NUL. */
struct text *wire_draft_fragment(const struct message_draft *draft);

/* Writes an inbox event as a JSON object.  If ${fragment} is not NULL, it is
 * the fragment of the event's message and is copied; otherwise the fragment is
 * written from ${e}.  If ${type} is not NULL, the first member is "type" with
 * this value: "event" in WebSocket frames, NULL in answers of REST. */
void wire_event(struct buf *b, const struct event_view *e, const char *fragment,
    size_t fragment_len, const char *type);

/* Writes a message as the history of a conversation and GET /v1/messages/{id}
 * show it.  ${e} is of kind EVENT_MESSAGE.  The members that belong to an inbox
 * (seq, delivered_at, read_at, attempt) are left out.  A scheduled message has
 * the conversation_seq 0, which is written as null. */
void wire_message(struct buf *b, const struct event_view *e);

/* Writes an outbox entry as a JSON object, with its computed state, labels
 * (scheduled, retrying, read) and counts. */
void wire_entry(struct buf *b, const struct entry_view *e);

/* Writes a problem document (RFC 9457).  ${instance} (the path) and
 * ${request_id} may be NULL, and are then left out. */
void wire_problem(struct buf *b, const struct refusal *r, const char *instance,
    const char *request_id);

/* Writes the page that explains problem ${p}, as HTML or, without ${html}, as
 * Markdown. */
void wire_problem_page(struct buf *b, enum problem p, bool html);

/* ---- WebSocket frames ---- */

enum frame_type {
	FRAME_HELLO,
	FRAME_ACK,
	FRAME_READ,
	FRAME_SEND,
	FRAME_TYPING,
	FRAME_PING
};

/* A frame of a client.  Spans and JSON borrow from the wire_doc. */
struct frame {
	enum frame_type type;
	bool has_re;
	int64_t re; /* the frame's id, which the answer has as "re" */
	/* hello */
	struct span token, instance, after;
	int64_t window;
	bool outbox;
	/* ack: upto.  read: upto, or conversation and upto_conversation_seq */
	int64_t upto;
	bool has_conversation;
	struct uuid conversation;
	int64_t upto_conversation_seq;
	bool is_private;
	/* send */
	struct message_draft message;
};

/* Returns the name of the ${i}th type of a client's frames (0 is hello), or
 * NULL if there are no more. */
const char *wire_frame_name(size_t i);

/* Reads a frame of a client.  In a hello, a missing window is set to the
 * largest one, and the text after is a valid cursor, also if the client gave a
 * number.  Returns RC_OK, or RC_INVALID or RC_NO_MEMORY with ${refusal}.  Even
 * on failure ${ret}->has_re and ${ret}->re are set if the id of the frame could
 * be read, so that the error frame can name it. */
enum rc wire_frame_read(
    struct wire_doc *doc, struct frame *ret, struct refusal *refusal) MUST_USE;

/* Writes {"type":"error","re":…,"problem":{…}}; without has_re, no "re". */
void wire_frame_error(
    struct buf *b, bool has_re, int64_t re, const struct refusal *r);

/* Parses a cursor "epoch:seq" or "seq", where epoch has 1 to 39 letters,
 * digits, '-' and '_', and seq is a whole number.  ${ret_epoch} is "" for a seq
 * without an epoch.  Returns false if the text is not a cursor. */
bool wire_cursor_parse(
    const char *text, size_t n, char ret_epoch[40], int64_t *ret_seq);

#endif
