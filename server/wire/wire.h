/* SPDX-License-Identifier: MIT */
/*
 * JSON to model and back: requests and frames read strictly (unknown members
 * refused by name, with a JSON pointer to the member at fault), events,
 * entries, frames and problem documents written.
 *
 * Reading: jansson with JSON_REJECT_DUPLICATES; depth at most LIMIT_JSON_DEPTH
 * (checked before the tree is built); no NUL; valid UTF-8; integers within
 * int64.  Results borrow from the struct wire_doc, until wire_doc_fini().
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

/* Makes jansson allocate through base/mem and seeds its hashes.  Once, before
 * the first thread that parses. */
void wire_init(void);

/* A parsed document and what had to be made from it. */
struct wire_doc {
	json_t *root;
	void *scratch; /* texts made while reading (metadata) */
};

/* Parses ${n} bytes of JSON: any value, also a bare one.  On failure ${refusal}
 * says where (line, column) and why, and ${doc} holds nothing. */
enum rc wire_parse(const char *text, size_t n, struct wire_doc *doc,
    struct refusal *refusal) MUST_USE;

/* The same for a reader with limits of its own: nested at most ${depth} deep,
 * at most ${values} values. */
enum rc wire_parse_within(const char *text, size_t n, int depth, int values,
    struct wire_doc *doc, struct refusal *refusal) MUST_USE;

/* Frees what ${doc} holds. */
void wire_doc_fini(struct wire_doc *doc);

/* ---- reading objects member by member ---- */

/* A value with its place, for messages: "/0/to". */
struct wire_at {
	json_t *value;
	char pointer[REFUSAL_POINTER_SIZE];
};

/* One member of an object that is expected. */
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
	size_t min_len, max_len; /* WIRE_SPAN: bytes; max 0 = no limit */
	int64_t min, max;        /* WIRE_I64, unless both are 0 */
	void *ret;               /* struct span, int64_t, bool, struct uuid,
				  * int64_t (ms), json_t * (borrowed) */
	bool *ret_present;       /* may be NULL */
};

/* Reads object ${value} (its place: ${pointer}) by ${fields}; an unknown,
 * missing, ill-typed or out-of-range member is refused by name.  JSON null is
 * the same as absent for members that are not required. */
enum rc wire_object(json_t *value, const char *pointer,
    const struct wire_field *fields, size_t n,
    struct refusal *refusal) MUST_USE;

/* Reads one message as POST /v1/messages takes it.  Everything that needs no
 * store is checked: sizes, id version (7 or 8), priorities, metadata (flat
 * object of strings), either to or conversation, expires_in (seconds as a
 * number, or "30m"), deliver_at (RFC 3339).  ${doc} keeps what is made; the
 * draft's texts end with NUL.  metadata has its members in byte order; {} is
 * absent. */
enum rc wire_message_read(struct wire_doc *doc, json_t *value,
    const char *pointer, struct message_draft *ret,
    struct refusal *refusal) MUST_USE;

/* ---- writing ---- */

/* The part of a message event that is known before the message is accepted,
 * without braces: "id":…,"body":…,"content_type":…,"metadata":…,
 * "correlation_id":…,"reply_to":… */
void wire_message_fragment(struct buf *b, const struct message_view *m);

/* The same of ${draft}, whose texts end with NUL, as a shared text with one
 * reference; NULL: no memory. */
struct text *wire_draft_fragment(const struct message_draft *draft);

/* An inbox event as a JSON object.  With ${fragment} (made by the function
 * above) the message part is copied from there.  ${type}: NULL for REST;
 * "event" puts a first member "type":"event". */
void wire_event(struct buf *b, const struct event_view *e, const char *fragment,
    size_t fragment_len, const char *type);

/* A message as history and GET /v1/messages/{id} show it: of ${e}, which is of
 * kind EVENT_MESSAGE, without what belongs to an inbox (seq, delivered_at,
 * read_at, attempt).  conversation_seq 0 (scheduled) is null. */
void wire_message(struct buf *b, const struct event_view *e);

/* An outbox entry as a JSON object, with computed state, labels (scheduled,
 * retrying, read) and counts. */
void wire_entry(struct buf *b, const struct entry_view *e);

/* A problem document (RFC 9457).  ${instance} (the path) and ${request_id}
 * may be NULL. */
void wire_problem(struct buf *b, const struct refusal *r, const char *instance,
    const char *request_id);

/* The page that explains problem ${p}: text/html, or markdown-like text when
 * ${html} is false. */
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

/* A client's frame.  Spans and json borrow from the wire_doc. */
struct frame {
	enum frame_type type;
	bool has_re;
	int64_t re; /* its id, echoed as "re" */
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

/* The types of a client's frames, hello first, by number; NULL: no more. */
const char *wire_frame_name(size_t i);

/* Reads a frame.  hello without window has the largest; its after, also when
 * given as a number, is a valid cursor.  With a refusal ${ret}->has_re and re
 * are set where the id could be read, so that the error can name it. */
enum rc wire_frame_read(
    struct wire_doc *doc, struct frame *ret, struct refusal *refusal) MUST_USE;

/* {"type":"error","re":…,"problem":{…}} */
void wire_frame_error(
    struct buf *b, bool has_re, int64_t re, const struct refusal *r);

/* Parses a cursor "epoch:seq" or "seq"; ${ret_epoch} "" when bare.  False if
 * it is none. */
bool wire_cursor_parse(
    const char *text, size_t n, char ret_epoch[40], int64_t *ret_seq);

#endif
