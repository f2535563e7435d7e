/* SPDX-License-Identifier: MIT */
/*
 * Sending.  A message is stored in the client's own outbox under an id or an
 * idempotency key that the client chooses, and is submitted under it until the
 * server has accepted or finally refused it.  A lost answer therefore never
 * makes a second message, as long as the server remembers the id or key.
 * Drafts go out in the order of their submission.  A draft that waits because
 * of its recipient (full inbox, quota of new servers) delays only drafts to the
 * same recipient; any other wait delays all drafts.
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
	SENDER_ANSWERED, /* the server has the message */
	SENDER_REFUSED   /* the server will never accept it, or its text on this
			    computer is damaged */
};

/* Called for each draft that needs no further attempt.  If the outcome is
 * SENDER_ANSWERED, ${reply} has the server's outbox entry and ${why} is NULL;
 * if it is SENDER_REFUSED, ${why} has the reason and ${reply} is NULL. */
typedef void (*sender_fn)(void *arg, const struct local_draft *draft,
    enum sender_outcome outcome, const struct rest_reply *reply,
    const struct fail *why);

struct sender {
	struct local *local;
	struct rest *rest;
	struct rnd *rnd;
	sender_fn fn; /* may be NULL */
	void *arg;
	/* The ref of the draft that sender_flush() waits for.  Other drafts are
	 * submitted too, but not waited for.  NULL: wait for all. */
	const char *wanted;
};

/* Stores ${message} (the body of POST /v1/messages) as waiting and writes its
 * ref.  ${message} has an "id", or ${key} is given.  If a draft with the same
 * ref is stored already, makes that draft wait again if its content is equal,
 * and fails with kind DATA otherwise. */
enum rc sender_submit(struct local *local, const json_t *message,
    const char *key, char ret_ref[LOCAL_REF_SIZE], struct fail *fail) MUST_USE;

/* Submits the waiting drafts.  Retries for up to ${patience_ms} while the
 * server is unreachable or busy, or while one recipient is refused for now; an
 * attempt that has begun may end later.  After that, or at once if a retry
 * cannot help, the failure gives the reason, and the drafts stay for another
 * time.  Returns RC_OK if no draft waits, or if the wanted draft does not.  A
 * refused draft does not wait: only fn reports it. */
enum rc sender_flush(
    struct sender *sender, int64_t patience_ms, struct fail *fail) MUST_USE;

/* Gives up ${draft}, whose text is damaged (local_outbox_next() has returned
 * RC_CORRUPT): marks it as refused, so that it does not delay the drafts after
 * it, and sets ${why} to a failure that the caller shows to the user. */
enum rc sender_give_up(struct local *local, const struct local_draft *draft,
    struct fail *why, struct fail *fail) MUST_USE;

/* Returns true if ${why} is the server's final refusal of a message.  A 401, an
 * answer of another program than a twinbox server, and a refusal that may end
 * later are not final. */
bool sender_refused(const struct fail *why);

#endif
