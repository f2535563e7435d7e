/* SPDX-License-Identifier: MIT */
/*
 * Every size that a stranger controls, with its reason.  The schema repeats
 * those that are stored as CHECKs.
 */
#ifndef BASE_LIMITS_H
#define BASE_LIMITS_H

/* A user's name: [a-z0-9._-]; fits a log line and the 63 bytes of a DNS label.
 * A new name also begins and ends with a letter or digit and has no "..", so
 * that it fits a file name and a segment of a path (model_name_fits()). */
#define LIMIT_NAME_LEN 32
/* A domain name, RFC 1035. */
#define LIMIT_DOMAIN_LEN 253
/* name@domain */
#define LIMIT_ADDRESS_LEN (LIMIT_NAME_LEN + 1 + LIMIT_DOMAIN_LEN)
#define LIMIT_DISPLAY_NAME_LEN 128
#define LIMIT_DEVICE_NAME_LEN 64
/* Shorter ones are guessed; longer ones make argon2 no better. */
#define LIMIT_PASSWORD_MIN 8
#define LIMIT_PASSWORD_LEN 1024
/* Message text in bytes: a long letter, four pages. */
#define LIMIT_BODY_LEN 16384
#define LIMIT_CONTENT_TYPE_LEN 127
#define LIMIT_CORRELATION_ID_LEN 128
#define LIMIT_IDEMPOTENCY_KEY_LEN 255
/* Metadata: a flat object of strings, as JSON text. */
#define LIMIT_METADATA_LEN 4096
#define LIMIT_METADATA_KEYS 32
/* One request body or inbound frame: a full text escaped six-fold and more. */
#define LIMIT_REQUEST_LEN 131072
#define LIMIT_ARRAY_REQUEST_LEN 1048576
#define LIMIT_ARRAY_ITEMS 100
/* A request of another server: 50 envelopes with texts of a usual length, or
 * two with the longest that are escaped six-fold. */
#define LIMIT_PEER_REQUEST_LEN 262144
/* A body of a route that needs no token: a name and a password. */
#define LIMIT_PUBLIC_REQUEST_LEN 4096
/* A body and an answer up to these sizes need no room in the budgets
 * (request-memory, answer-memory), so that small requests are always served;
 * how many there are is bounded by the connections. */
#define LIMIT_BODY_FREE 8192
#define LIMIT_ANSWER_FREE 65536
/* A WebSocket message before the session is open: a hello, with its token. */
#define LIMIT_HELLO_LEN 4096
#define LIMIT_JSON_DEPTH 32
/* Values in one JSON text; each costs up to 300 bytes in memory.  A full array
 * of messages has some 4,600. */
#define LIMIT_JSON_VALUES 10000
/* Inbox and list pages. */
#define LIMIT_PAGE_DEFAULT 50
#define LIMIT_PAGE_MAX 200
/* A page ends before its JSON is longer than this, whatever the limit. */
#define LIMIT_PAGE_BYTES 1048576
/* Room for one more item of a page: a full text escaped six-fold and more. */
#define LIMIT_ITEM_BYTES 131072
/* A text in the list of conversations: a line of it is shown there, and a page
 * of 200 stays small. */
#define LIMIT_PREVIEW_BYTES 256
/* Long-poll, below the 60 s at which proxies lose patience. */
#define LIMIT_WAIT_S 55
/* Un-acked events in flight in a session. */
#define LIMIT_WINDOW 256
#define LIMIT_INSTANCE_LEN 64
#define LIMIT_INSTANCES_PER_DEVICE 8
#define LIMIT_DEVICES_PER_USER 64
/* Streams of events (GET /v1/inbox): as many as WebSockets. */
#define LIMIT_STREAMS_PER_DEVICE 8
/* News that wait for the push thread, in bytes; what is beyond is read from the
 * store (DECISIONS 22). */
#define LIMIT_EFFECTS_BYTES (16 * 1024 * 1024)
/* Receipts of groups above this are marks, not events (DECISIONS 15). */
#define LIMIT_RECEIPT_MEMBERS 32
/* Scheduled messages a sender may hold (DECISIONS 11). */
#define LIMIT_SCHEDULED 100

#endif
