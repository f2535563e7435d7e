/* SPDX-License-Identifier: MIT */
/*
 * Limits of what a client or another server may send or use, most of them with
 * a reason.  Other limits stand in the module that needs them.  Lengths are in
 * bytes.  The schema repeats the lengths of stored values as CHECK constraints.
 */
#ifndef BASE_LIMITS_H
#define BASE_LIMITS_H

/* The most bytes of a user's name, which consists of [a-z0-9._-].  Such a name
 * fits a log line, and a DNS label, which may have 63 bytes.  The name of a new
 * user must also begin and end with a letter or digit and have no "..", so that
 * it can be a file name and a path segment (model_name_fits()). */
#define LIMIT_NAME_LEN 32
/* A domain name, RFC 1035. */
#define LIMIT_DOMAIN_LEN 253
/* name@domain */
#define LIMIT_ADDRESS_LEN (LIMIT_NAME_LEN + 1 + LIMIT_DOMAIN_LEN)
#define LIMIT_DISPLAY_NAME_LEN 128
#define LIMIT_DEVICE_NAME_LEN 64
/* Shorter passwords can be guessed; longer ones gain nothing with argon2. */
#define LIMIT_PASSWORD_MIN 8
#define LIMIT_PASSWORD_LEN 1024
/* Message text: a long letter, four pages. */
#define LIMIT_BODY_LEN 16384
#define LIMIT_CONTENT_TYPE_LEN 127
#define LIMIT_CORRELATION_ID_LEN 128
#define LIMIT_IDEMPOTENCY_KEY_LEN 255
/* Metadata: a flat object of strings, as JSON text. */
#define LIMIT_METADATA_LEN 4096
#define LIMIT_METADATA_KEYS 32
/* The most bytes of a request body, if the route has none of the other limits
 * below, and of a WebSocket message that a client sends after its frame hello:
 * room for a text of LIMIT_BODY_LEN bytes that are all escaped (\u0061), which
 * makes the text six times as long. */
#define LIMIT_REQUEST_LEN 131072
#define LIMIT_ARRAY_REQUEST_LEN 1048576
#define LIMIT_ARRAY_ITEMS 100
/* The most bytes of the body of a request from one server to another: room for
 * 50 messages of 5 KiB each, metadata included, or for two messages with texts
 * of LIMIT_BODY_LEN bytes that are all escaped. */
#define LIMIT_PEER_REQUEST_LEN 262144
/* The most bytes of the body of a request without a token, to register or to
 * log in: room for a name, a display name or the name of a device, and a
 * password, with every byte escaped (\u0061), which makes them six times as
 * long.  For requests of other servers, which have no token either,
 * LIMIT_PEER_REQUEST_LEN applies instead. */
#define LIMIT_PUBLIC_REQUEST_LEN 8192
/* A request body of at most LIMIT_BODY_FREE bytes does not count against the
 * setting request-memory, nor an answer of at most LIMIT_ANSWER_FREE bytes
 * against answer-memory.  So even when these budgets are used up, they refuse
 * no small body and no small answer.  The limit of connections bounds the
 * number of such bodies and answers. */
#define LIMIT_BODY_FREE 8192
#define LIMIT_ANSWER_FREE 65536
/* A WebSocket message before the session is open: the frame hello with its
 * token. */
#define LIMIT_HELLO_LEN 4096
#define LIMIT_JSON_DEPTH 32
/* The most values in one JSON text; a text with more is refused.  When parsed,
 * each value takes up to 300 bytes of memory.  A request with LIMIT_ARRAY_ITEMS
 * messages has at most about 4,600 values. */
#define LIMIT_JSON_VALUES 10000
/* Items of a page of the inbox or of a list. */
#define LIMIT_PAGE_DEFAULT 50
#define LIMIT_PAGE_MAX 200
/* A page ends before its JSON exceeds this length, even if it has fewer items
 * than the client asked for. */
#define LIMIT_PAGE_BYTES 1048576
/* A page gets a further item only if LIMIT_PAGE_BYTES leaves room for an item
 * of this length, the most that an item may need: its text may have
 * LIMIT_BODY_LEN bytes that are all escaped. */
#define LIMIT_ITEM_BYTES 131072
/* A message text in the list of conversations is cut to this length.  Clients
 * show one line of the text, and a page of 200 conversations stays small. */
#define LIMIT_PREVIEW_BYTES 256
/* The longest wait, in seconds, that a client may ask for in a long-poll; a
 * request with a longer wait is refused.  It is below the 60 s after which
 * proxies time out. */
#define LIMIT_WAIT_S 55
/* The most events of a session that are sent and not acked yet. */
#define LIMIT_WINDOW 256
#define LIMIT_INSTANCE_LEN 64
#define LIMIT_INSTANCES_PER_DEVICE 8
#define LIMIT_DEVICES_PER_USER 64
/* Event streams (GET /v1/inbox): as many as WebSockets. */
#define LIMIT_STREAMS_PER_DEVICE 8
/* The most memory, in bytes, of the effects of commits (events, acks, changed
 * outbox entries, revoked tokens) that wait for the push thread.  If the
 * effects of a transaction do not fit any more, all of them are dropped, except
 * revoked tokens.  All open sessions and long-polls then read the store, so
 * that no event is lost; only the frames about the dropped changes of outbox
 * entries are never sent. */
#define LIMIT_EFFECTS_BYTES (16 * 1024 * 1024)
/* The most members of a conversation who can be notified that one member types.
 * These are, of all other members, those with the lowest user ids, connected or
 * not.  The rest of the members is never notified. */
#define LIMIT_TYPING_MEMBERS 32
/* Scheduled messages that a sender may have. */
#define LIMIT_SCHEDULED 100

#endif
