/* SPDX-License-Identifier: MIT */
/*
 * Sending: a message is stored in the client's own outbox under an id chosen
 * here, then submitted again and again under that id until the server has
 * answered.  An answer that was lost on the way therefore makes no second
 * message.  Drafts go out in the order of their submission; one that waits
 * because of its recipient (no room, one new server too many) holds back only
 * that recipient's.
 */
#ifndef LIB_SENDER_H
#define LIB_SENDER_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/rnd.h"
#include "lib/fail.h"
#include "lib/local.h"
#include "lib/rest.h"

enum sender_outcome {
	SENDER_ANSWERED, /* the server has it */
	SENDER_REFUSED   /* it will never take it */
};

/* Told of each draft that is settled: its outbox entry, or why not. */
typedef void (*sender_fn)(void *arg, const struct local_draft *draft,
    enum sender_outcome outcome, const struct rest_reply *reply,
    const struct fail *why);

struct sender {
	struct local *local;
	struct rest *rest;
	struct rnd *rnd;
	sender_fn fn; /* NULL: nobody wants to know */
	void *arg;
	/* The ref of the draft that sender_flush() is about: others go out
	 * beside it, and are not waited for.  NULL: all. */
	const char *wanted;
};

/* Stores ${message} (as POST /v1/messages takes it, with "id", or without if
 * ${key} is given) as waiting; writes its ref.  The same ref with the same
 * content waits again; with another content it is refused. */
enum rc sender_submit(struct local *local, const json_t *message,
    const char *key, char ret_ref[LOCAL_REF_SIZE], struct fail *fail) MUST_USE;

/* Submits what waits.  Goes on for ${patience_ms} while the server cannot be
 * reached or has no time, or while one recipient has no room; then the failure
 * says why, and what still waits goes out another time.  RC_OK: nothing waits,
 * or not the wanted draft. */
enum rc sender_flush(
    struct sender *sender, int64_t patience_ms, struct fail *fail) MUST_USE;

/* Whether ${why} is the server's last word on a message. */
bool sender_refused(const struct fail *why);

#endif
