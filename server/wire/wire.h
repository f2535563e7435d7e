/* SPDX-License-Identifier: MIT */
/*
 * JSON to the structs of model/ and back.  Requests and frames of clients are
 * read strictly: an unknown member is refused by name, with a JSON pointer to
 * the member at fault.  Events, messages, outbox entries, error frames, problem
 * documents and the pages that explain problems are written.
 *
 * Reading uses jansson with JSON_REJECT_DUPLICATES.  The depth is at most
 * LIMIT_JSON_DEPTH, and the values are at most LIMIT_JSON_VALUES, unless the
 * caller of wire_parse_within() gives other limits; both are checked before the
 * tree is built.  A NUL, as a byte or as \u0000, is refused, text is valid
 * UTF-8, and integers fit int64_t.  Texts and JSON values in results borrow
 * from the struct wire_doc, so they are valid until wire_doc_fini().
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
 * array, into ${doc}, which does not borrow ${text}.  The caller frees ${doc}
 * with wire_doc_fini(); after a failure ${doc} holds nothing, and ${refusal} is
 * set.  RC_INVALID: the text is not valid or exceeds LIMIT_JSON_DEPTH or
 * LIMIT_JSON_VALUES; ${refusal} says why and, unless the text is blank, where
 * (line, column).  RC_NO_MEMORY: there is no memory. */
enum rc wire_parse(const char *text, size_t n, struct wire_doc *doc,
    struct refusal *refusal) MUST_USE;

/* Like wire_parse(), for a reader with its own limits: at most ${depth} levels
 * of objects and arrays, and ${values} values, where an empty object or array
 * counts as two values. */
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
 * is unknown, required but absent, of the wrong type or out of its range is
 * refused by name.  A member that is null counts as absent.  If a member is
 * absent, the variable to which the member ret of its row points is not
 * changed.  RC_OK: each ret_present is set.  RC_INVALID: ${refusal} says which
 * member is refused and why, or that ${value} is not an object; variables of
 * other members may have been set. */
enum rc wire_object(json_t *value, const char *pointer,
    const struct wire_field *fields, size_t n,
    struct refusal *refusal) MUST_USE;

/* Reads ${value}, one message as POST /v1/messages accepts it; ${pointer} is
 * the JSON pointer of ${value}.  Checks everything that can be checked without
 * the database: members and their types; sizes; the version (4, 7 or 8) and the
 * variant of the id; at most one of id and key; the content type; the priority;
 * metadata (a flat object of strings); exactly one of to (a valid address) and
 * conversation; expires_in (seconds as a number, or a text such as "30m");
 * deliver_at (RFC 3339).  All texts in ${ret} end with NUL and are valid until
 * wire_doc_fini(): they are texts of ${value}, which is a part of ${doc}, or,
 * such as the text of the metadata, made here and owned by ${doc}.  The text of
 * the metadata has the members in byte order; {} is read as absent.  Returns
 * RC_OK, or RC_INVALID or RC_NO_MEMORY with ${refusal} set and ${ret}
 * unchanged. */
enum rc wire_message_read(struct wire_doc *doc, json_t *value,
    const char *pointer, struct message_draft *ret,
    struct refusal *refusal) MUST_USE;

/* ---- writing ---- */

/* Writes the fragment of a message: a part of its event that is known before
 * the message is accepted and is the same for every reader.  Its members are
 * id, body, content_type (text/plain if absent), metadata ({} if absent), and
 * correlation_id and reply_to (null if absent).  Commas are written between the
 * members and, if a member already stands before them in ${b}, one in front;
 * braces are not written. */
void wire_message_fragment(struct buf *b, const struct message_view *m);

/* Returns a shared text with the JSON that wire_message_fragment() writes for
 * ${draft}, with one reference, which the caller drops with text_unref(); NULL:
 * no memory.  The texts of ${draft} must end with NUL. */
struct text *wire_draft_fragment(const struct message_draft *draft);

/* Writes an inbox event as a JSON object.  ${fragment} is used only if ${e} is
 * of kind EVENT_MESSAGE: if it is not NULL, its ${fragment_len} bytes are
 * copied, which wire_message_fragment() has written for the event's message; if
 * it is NULL, wire_message_fragment() writes them from ${e}.  If ${type} is not
 * NULL, the first member is "type" with this value: "event" in WebSocket
 * frames, NULL in answers of REST and in event streams. */
void wire_event(struct buf *b, const struct event_view *e, const char *fragment,
    size_t fragment_len, const char *type);

/* Writes a message as a JSON object, in the form that the history of a
 * conversation and GET /v1/messages/{id} show.  The caller passes an ${e} of
 * kind EVENT_MESSAGE.  The kind, and the members that belong to an inbox (seq,
 * delivered_at, read_at, attempt), are left out.  A scheduled message has the
 * conversation_seq 0 until it is released; 0 is written as null. */
void wire_message(struct buf *b, const struct event_view *e);

/* Writes an outbox entry (one message with all its destinations) as a JSON
 * object.  Computes its state, attempts, times, labels (scheduled, retrying,
 * read) and counts from ${e}, most of them from the destinations; entry.c says
 * how. */
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

/* Reads a frame of a client that wire_parse() has parsed into ${doc}.  In a
 * hello, an absent window is set to LIMIT_WINDOW, and the member `after` of
 * ${ret} is the text of a cursor that wire_cursor_parse() accepts, also if the
 * client gave a number; if `after` is absent, its p is NULL.  Returns RC_OK, or
 * RC_INVALID or RC_NO_MEMORY with ${refusal} set.  Even on failure, if the
 * frame is an object whose id is an integer, ${ret}->has_re is true and
 * ${ret}->re is this id, so that the error frame can name it; otherwise has_re
 * is false. */
enum rc wire_frame_read(
    struct wire_doc *doc, struct frame *ret, struct refusal *refusal) MUST_USE;

/* Writes {"type":"error","re":…,"problem":{…}}; without has_re, no "re". */
void wire_frame_error(
    struct buf *b, bool has_re, int64_t re, const struct refusal *r);

/* Parses a cursor "epoch:seq" or "seq", where epoch has 1 to 39 letters,
 * digits, '-' and '_', and seq is a number from 0 to INT64_MAX, written with
 * digits only.  ${ret_epoch} is "" for a seq without an epoch.  Returns false,
 * with both results unchanged, if the text is not a cursor. */
bool wire_cursor_parse(
    const char *text, size_t n, char ret_epoch[40], int64_t *ret_seq);

#endif
