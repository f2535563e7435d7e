/* SPDX-License-Identifier: MIT */
/*
 * Sending.  A message is stored as a draft in the client's own outbox, under an
 * id or an idempotency key that the client chooses, and is submitted under it
 * until the server has accepted or finally refused it.  A lost answer therefore
 * never makes a second message, as long as the server remembers the id or key.
 * Drafts go out in the order in which they were first stored.  A draft that
 * waits because of its recipient (the inbox is full, or the recipient's server
 * is new and the sender's quota of new servers is used) delays only drafts to
 * the same recipient; any other failure after which a draft waits delays all
 * drafts after it.
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

/* Called by sender_flush() for each draft that needs no further attempt, after
 * its new state was stored.  If the outcome is SENDER_ANSWERED, ${reply} has
 * the server's outbox entry and ${why} is NULL; if it is SENDER_REFUSED, ${why}
 * has the reason and ${reply} is NULL.  All pointers are valid only during the
 * call; draft->request is NULL if the draft's text is damaged. */
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

/* Stores a copy of ${message} (the body of POST /v1/messages) in the client's
 * outbox as waiting, for sender_flush(), and on RC_OK writes its ref: "key:"
 * and ${key} or, if ${key} is NULL, the "id" of ${message}.  The caller gives
 * at least one of the two.  If a draft with the same ref is stored already,
 * makes that draft wait again if its content is equal.  Fails with kind DATA if
 * the content differs, and with kind INPUT_OUTPUT if the stored content is
 * damaged. */
enum rc sender_submit(struct local *local, const json_t *message,
    const char *key, char ret_ref[LOCAL_REF_SIZE], struct fail *fail) MUST_USE;

/* Submits the waiting drafts.  Returns RC_OK once no draft waits or, if
 * sender->wanted is not NULL, once the wanted draft does not wait.  A refused
 * draft does not wait: only sender->fn reports it.  Otherwise, waits for the
 * back-off or the server's Retry-After, the longer of the two, and submits the
 * waiting drafts again.  Instead of that wait, returns the failure that delays
 * the drafts if a retry cannot help (fail_may_retry() returns false), or if the
 * wait would end later than ${patience_ms} after the call.  The drafts then
 * stay in the outbox as waiting.  An attempt that has begun is not cut off when
 * ${patience_ms} are over.  Returns a failure of the outbox at once. */
enum rc sender_flush(
    struct sender *sender, int64_t patience_ms, struct fail *fail) MUST_USE;

/* Gives up ${draft}, whose text is damaged (local_outbox_next() has returned
 * RC_CORRUPT): marks it as refused, so that it does not delay the drafts after
 * it.  Always sets ${why} to a failure that the caller shows to the user.
 * Returns a failure, in ${fail}, if the draft cannot be marked. */
enum rc sender_give_up(struct local *local, const struct local_draft *draft,
    struct fail *why, struct fail *fail) MUST_USE;

/* Returns true if ${why} is a final refusal of a message: an HTTP status of 400
 * or more after which a repetition cannot succeed (fail_may_retry() returns
 * false).  Not final are a 401, because a new login helps, and an answer with
 * neither a code of a problem nor a status that fail_problem() knows, because
 * another program may have sent it. */
bool sender_refused(const struct fail *why);

#endif
