/* SPDX-License-Identifier: MIT */
/*
 * Refusals, in terms of the public contract: the table of problem types (RFC
 * 9457) with status, title, cause and cure, and a refusal with its detail.
 * wire/ renders a refusal; http/ and push/ send it.
 */
#ifndef MODEL_REFUSAL_H
#define MODEL_REFUSAL_H

#include <stdint.h>

#include "base/rc.h"

/* The cure for a signature that does not have the form of the protocol. */
#define PROBLEM_SIGN_CURE                                                      \
	"Sign as docs/federation.md says; tests/vectors has examples."

/* X(id, slug, http status, title, cause, cure) */
#define PROBLEM_TABLE(X)                                                          \
	X(BAD_REQUEST, "bad-request", 400, "Bad request",                         \
	    "A member, parameter or header is missing, unknown, of the wrong "    \
	    "type, or out of its range.",                                         \
	    "Correct what detail and pointer name; GET /openapi.yaml has the "    \
	    "full contract.")                                                     \
	X(UNAUTHENTICATED, "unauthenticated", 401, "No valid token",              \
	    "The Authorization header is missing, or its token is unknown, "      \
	    "revoked, or belongs to a disabled user.",                            \
	    "Log in with POST /v1/tokens and send "                               \
	    "\"Authorization: Bearer <token>\".")                                 \
	X(WRONG_PASSWORD, "wrong-password", 401, "Wrong name or password",        \
	    "No user of that name has that password, or the user is disabled.",   \
	    "Check both.  POST /v1/users registers a new user where "             \
	    "registration is open.")                                              \
	X(ONE_TIME_PASSWORD, "one-time-password", 401,                            \
	    "This one-time password is no longer valid",                          \
	    "A one-time password is good for one log-in within 24 hours.  This "  \
	    "one was used, or has expired.",                                      \
	    "Ask an administrator for a new one.  After a log-in with it, set a " \
	    "password with POST /v1/me/password.")                                \
	X(SIGNATURE_MISSING, "signature-missing", 401,                            \
	    "The request is not signed",                                          \
	    "A request of another server has the headers Signature-Input and "    \
	    "Signature, and one of them is missing.",                             \
	    PROBLEM_SIGN_CURE)                                                    \
	X(SIGNATURE_MALFORMED, "signature-malformed", 401,                        \
	    "The signature cannot be read",                                       \
	    "Signature-Input or Signature is too long, has another label than "   \
	    "tb, stands twice, or is not base64 in its one form.",                \
	    PROBLEM_SIGN_CURE)                                                    \
	X(SIGNATURE_COMPONENTS, "signature-components", 401,                      \
	    "The signature covers something else",                                \
	    "The components are not the seven of the profile in their order, "    \
	    "or a header that they name is missing or stands twice.",             \
	    PROBLEM_SIGN_CURE)                                                    \
	X(SIGNATURE_PARAMETERS, "signature-parameters", 401,                      \
	    "The signature has other parameters",                                 \
	    "The parameters are not the six of the profile, each once and in "    \
	    "its form, or the signature lives longer than 300 seconds.",          \
	    PROBLEM_SIGN_CURE)                                                    \
	X(SIGNATURE_EXPIRED, "signature-expired", 401,                            \
	    "The signature has expired",                                          \
	    "By the clock of this server the signature is too old: one of "       \
	    "the two clocks is off.  Detail has the times of both.",              \
	    "Set the clock that is off; NTP keeps it right.")                     \
	X(SIGNATURE_EARLY, "signature-early", 401,                                \
	    "The signature comes from the future",                                \
	    "By the clock of this server the signature is not made yet: one "     \
	    "of the two clocks is off.  Detail has the times of both.",           \
	    "Set the clock that is off; NTP keeps it right.")                     \
	X(SIGNATURE_WRONG, "signature-wrong", 401, "The signature is wrong",      \
	    "The key does not verify what this server has received: the "         \
	    "request was changed, or was signed with another key or for "         \
	    "another server.",                                                    \
	    "Compare domain and federation-url of both servers, and whether a "   \
	    "proxy between them changes headers.")                                \
	X(DIGEST_WRONG, "digest-wrong", 401, "The digest is wrong",               \
	    "Content-Digest is not the SHA-256 of the body that came.",           \
	    PROBLEM_SIGN_CURE)                                                    \
	X(NONCE_REPEATED, "nonce-repeated", 401, "The request came before",       \
	    "A request with this nonce and key was taken already.",               \
	    "Sign it anew, with a fresh nonce.")                                  \
	X(FORBIDDEN, "forbidden", 403, "Not allowed",                             \
	    "You are known, but this is not yours to do.",                        \
	    "Use an account that may, or ask an administrator.")                  \
	X(PEER_REFUSED, "peer-refused", 403, "This server is not served here",    \
	    "The operator does not exchange messages with this domain, or "       \
	    "with any.",                                                          \
	    "Ask the operator: federation, federation-allow and "                 \
	    "federation-deny are the settings.")                                  \
	X(NOT_FOUND, "not-found", 404, "No such thing",                           \
	    "There is nothing at this path, or nothing that you may see.",        \
	    "Check the path and the id; GET /v1 lists the entry points.")         \
	X(METHOD_NOT_ALLOWED, "method-not-allowed", 405, "Method not allowed",    \
	    "The path exists, but not for the method used.",                      \
	    "Use a method that the Allow header lists.")                          \
	X(CONFLICT, "conflict", 409, "Conflict with the current state",           \
	    "Something with this name or id exists already, or the thing has "    \
	    "changed meanwhile.",                                                 \
	    "Read the current state and decide anew.")                            \
	X(ALREADY_SENT, "already-sent", 409, "Already sent",                      \
	    "The message has left for at least one recipient and cannot be "      \
	    "canceled.",                                                          \
	    "Write to the recipient: this version cannot take back a message "    \
	    "that has left.")                                                     \
	X(CURSOR_EXPIRED, "cursor-expired", 410, "Cursor no longer valid",        \
	    "The cursor lies before the oldest kept event, beyond the head, "     \
	    "or belongs to another epoch (the database was restored).",           \
	    "Start again from oldest with the epoch given here; keep your "       \
	    "messages and re-submit your own by their ids.")                      \
	X(PRECONDITION_FAILED, "precondition-failed", 412,                        \
	    "Changed meanwhile", "The If-Match header names another version.",    \
	    "Read it again and repeat with the new ETag.")                        \
	X(BODY_TOO_LARGE, "body-too-large", 413, "The body is too large",         \
	    "The request or its text is larger than this server takes.",          \
	    "Send less; GET /v1 publishes the limits.")                           \
	X(UNSUPPORTED_MEDIA, "unsupported-media", 415,                            \
	    "Unsupported content type",                                           \
	    "The route takes JSON (or text, for /v1/to/…) and nothing else.",     \
	    "Send Content-Type: application/json.")                               \
	X(EXPECTATION_FAILED, "expectation-failed", 417,                          \
	    "The expectation cannot be met",                                      \
	    "Expect can only ask for 100-continue.",                              \
	    "Leave the Expect header out.")                                       \
	X(UNKNOWN_RECIPIENT, "unknown-recipient", 422, "No such recipient",       \
	    "No user of that name is on this server.",                            \
	    "Check the spelling of the address.")                                 \
	X(KEY_REUSED, "key-reused", 422,                                          \
	    "The id was used for another content",                                \
	    "A message with this id or idempotency key was accepted before, "     \
	    "and it was not the same.",                                           \
	    "Use a fresh id for a new message; repeat the same one only for "     \
	    "the same content.")                                                  \
	X(ACK_BEYOND_HEAD, "ack-beyond-head", 422, "Acked beyond the head",       \
	    "The ack names an event that the inbox does not have yet.",           \
	    "Ack at most the seq of the last event that you have received.")      \
	X(PRECONDITION_REQUIRED, "precondition-required", 428,                    \
	    "An If-Match header is needed",                                       \
	    "Edits name the version that they change.",                           \
	    "Read it first and send its ETag as If-Match.")                       \
	X(HEAD_TOO_LARGE, "head-too-large", 431, "Headers too large",             \
	    "The request has too many headers, or too long ones.",                \
	    "Send fewer and shorter headers and cookies.")                        \
	X(RATE_LIMITED, "rate-limited", 429, "Too many requests",                 \
	    "You, or your address, sent more than the configured rate.",          \
	    "Wait for Retry-After seconds.")                                      \
	X(QUEUE_FULL, "queue-full", 429,                                          \
	    "Too many of your messages are pending",                              \
	    "As many of your messages wait for delivery as one sender may "       \
	    "have.",                                                              \
	    "Wait for Retry-After seconds; what is pending goes out first.")      \
	X(QUOTA_USED, "quota-used", 429, "Your quota of today is used up",        \
	    "You have sent as many messages, or as many bytes of text, today "    \
	    "(UTC) as one user may.",                                             \
	    "Wait for Retry-After seconds, until the next day of UTC; an "        \
	    "administrator can raise quota-messages and quota-bytes.")            \
	X(INTERNAL, "internal", 500, "The server failed",                         \
	    "Something went wrong on the server; it is in its log under the "     \
	    "request id.  Whether the request was done is unknown.",              \
	    "Repeat with the same id: what was done already is not done "         \
	    "again.  Tell the operator.")                                         \
	X(NOT_IMPLEMENTED, "not-implemented", 501, "Not in this version",         \
	    "The route is part of the contract, but this version does not "       \
	    "serve it yet.",                                                      \
	    "Use a newer version.")                                               \
	X(BUSY, "busy", 503, "The server is busy",                                \
	    "A queue of the server is full, its database is away, or no "         \
	    "standby of the database confirms what is written; detail says "      \
	    "which.",                                                             \
	    "Repeat after Retry-After seconds with the same id: what was "        \
	    "done already is not done again.")                                    \
	X(KEY_UNKNOWN, "key-unknown", 503, "The key is not known yet",            \
	    "This server has no key of that id and domain.  It reads the "        \
	    "document of the domain now.",                                        \
	    "Repeat after Retry-After seconds; the document must be "             \
	    "reachable and have the key.")                                        \
	X(DRAINING, "draining", 503, "The server is stopping",                    \
	    "It finishes what it has and takes no more.",                         \
	    "Repeat after Retry-After seconds with the same id; another "         \
	    "instance may take it.")                                              \
	X(INBOX_FULL, "inbox-full", 507, "The inbox is full",                     \
	    "The recipient's inbox has no room.",                                 \
	    "Repeat later with the same id; tell the recipient.")                 \
	X(STORAGE_FULL, "storage-full", 507, "The server's disk is full",         \
	    "The server has no room for new messages.  Accepted messages "        \
	    "are safe and are still delivered.",                                  \
	    "Repeat later with the same id; tell the operator.")

enum problem {
	PROBLEM_NONE,
#define X(id, slug, status, title, cause, cure) PROBLEM_##id,
	PROBLEM_TABLE(X)
#undef X
	    PROBLEM_COUNT
};

#define REFUSAL_DETAIL_SIZE 200
#define REFUSAL_POINTER_SIZE 80

struct refusal {
	enum problem problem; /* PROBLEM_NONE: not refused */
	int retry_after_s;    /* 0: none (429 and 503 always get one) */
	int64_t head;         /* -1: not given */
	int64_t oldest;       /* -1: not given */
	char epoch[40];       /* "": not given */
	char pointer[REFUSAL_POINTER_SIZE]; /* RFC 6901; "": none */
	char detail[REFUSAL_DETAIL_SIZE];
};

#define REFUSAL_INIT                                                           \
	{                                                                      \
		.problem = PROBLEM_NONE, .head = -1, .oldest = -1              \
	}

/* Return the columns of the table for ${p}.  Static storage. */
const char *problem_slug(enum problem p);
int problem_status(enum problem p);
const char *problem_title(enum problem p);
const char *problem_cause(enum problem p);
const char *problem_cure(enum problem p);

/* Returns the problem with ${slug}, PROBLEM_NONE if there is none. */
enum problem problem_find(const char *slug);

/* Returns the problem for ${rc}, for a caller that knows no better one. */
enum problem problem_of_rc(enum rc rc);

/* Makes ${r} a refusal with ${p}, JSON pointer ${pointer} ("" for none) and a
 * detail, which is cut at REFUSAL_DETAIL_SIZE - 1 bytes.  A pointer that does
 * not fit is left out.  For 429 and 503, sets retry_after_s to 1 unless ${r}
 * already has a positive one.  The other members stay, so ${r} must have been
 * initialised (REFUSAL_INIT). */
void refusal_set(struct refusal *r, enum problem p, const char *pointer,
    const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Make ${r} the refusal for ${rc}, which is not RC_OK, with "" (none) as its
 * JSON pointer.  refusal_of_unit() is for a unit (one change of the database)
 * that the writer took and that has failed; refusal_of_rc() is for everything
 * else, such as a full queue or a read that has failed.  The two differ only in
 * the text for RC_BUSY: "another transaction keeps what it needs" for a unit,
 * else "too much waits already".  The problem is that of problem_of_rc() if
 * that is busy, draining or storage-full, else internal. */
void refusal_of_rc(struct refusal *r, enum rc rc);
void refusal_of_unit(struct refusal *r, enum rc rc);

/* Puts ${prefix} before the pointer of ${r}, because the refused value is a
 * part of a larger one.  If the result does not fit, the pointer is ${prefix}
 * alone: a cut one would name another member.  ${prefix} must fit. */
void refusal_prefix(struct refusal *r, const char *prefix);

#endif
