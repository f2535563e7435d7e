/* SPDX-License-Identifier: MIT */
/*
 * Submits the messages that wait in the client's outbox to POST /v1/messages,
 * and marks there those that the server has accepted or finally refused.  This
 * file owns the decision, after a failure, between "retry" and "refused".
 */
#include "lib/sender.h"

#include <stdio.h>
#include <string.h>

#include "base/clk.h"
#include "lib/backoff.h"

/* The result of one pass over the waiting drafts. */
struct pass {
	json_t *held; /* set of recipients whose drafts wait */
	int waiting;  /* drafts left */
	bool stopped; /* the server accepts nothing now */
	/* The newest failure in this pass of a draft that still waits.  If
	 * sender_flush() waits for one draft (sender->wanted), a failure that
	 * delays only drafts to other recipients is not recorded. */
	struct fail reason;
	/* The recipient of the draft sender->wanted, for which sender_flush()
	 * waits; "" if sender->wanted is NULL, or if that draft is not in the
	 * client's outbox. */
	char recipient[sizeof(((struct local_draft *)NULL)->recipient)];
};

bool
sender_refused(const struct fail *why)
{

	return (why->status >= 400 && why->status != 401 &&
		strcmp(why->code, "protocol") != 0 && !fail_may_retry(why));
}

/* Returns the recipient of ${message}, without one the id of its conversation,
 * or "" if it has neither; the text belongs to ${message}.  While the server
 * refuses one draft for now because of its recipient, other drafts with the
 * same value wait, too. */
static const char *
recipient_of(const json_t *message)
{
	const char *to = json_string_value(json_object_get(message, "to"));

	if (to == NULL)
		to =
		    json_string_value(json_object_get(message, "conversation"));
	return (to != NULL ? to : "");
}

enum rc
sender_submit(struct local *local, const json_t *message, const char *key,
    char ret_ref[LOCAL_REF_SIZE], struct fail *fail)
{
	const char *id = json_string_value(json_object_get(message, "id"));
	struct local_draft draft;
	enum rc rc;

	memset(&draft, 0, sizeof(draft));
	if (key != NULL) {
		(void)snprintf(draft.ref, sizeof(draft.ref), "key:%s", key);
		(void)snprintf(draft.key, sizeof(draft.key), "%s", key);
	} else
		(void)snprintf(
		    draft.ref, sizeof(draft.ref), "%s", id != NULL ? id : "");
	(void)snprintf(draft.recipient, sizeof(draft.recipient), "%s",
	    recipient_of(message));
	draft.created_at = clk_wall_ms(clk_system());
	draft.request = json_deep_copy(message);
	if (draft.request == NULL)
		return (fail_set(fail, FAIL_MEMORY, "out of memory"));
	rc = local_outbox_add(local, &draft, fail);
	json_decref(draft.request);
	if (rc == RC_EXISTS) {
		(void)fail_set(fail, FAIL_DATA,
		    "this id or key was used for another text");
		return (fail_cure(fail, "use a fresh --id or --key"));
	}
	if (rc == RC_OK)
		(void)snprintf(ret_ref, LOCAL_REF_SIZE, "%s", draft.ref);
	return (rc);
}

/* Submits ${draft} once.  If the server has accepted or finally refused it,
 * marks it so in the outbox and then calls sender->fn.  Otherwise adds 1 to the
 * draft's attempts and records in ${pass} whether the failure delays all
 * further drafts or only those to the same recipient.  The failure becomes
 * pass->reason, unless it delays only drafts to another recipient than that of
 * the wanted draft.  Returns a failure only if the outbox cannot be written or
 * memory runs out. */
static enum rc
submit_once(struct sender *sender, const struct local_draft *draft,
    struct pass *pass, struct fail *fail)
{
	struct rest_request request = {.method = "POST",
	    .path = "/v1/messages",
	    .body = draft->request,
	    .key = draft->key[0] != '\0' ? draft->key : NULL};
	struct rest_reply reply;
	struct fail why = FAIL_INIT;
	enum rc rc;

	if (rest_call(sender->rest, &request, &reply, &why) == RC_OK) {
		rc = local_outbox_answered(sender->local, draft->ref, fail);
		if (rc == RC_OK && sender->fn != NULL)
			sender->fn(
			    sender->arg, draft, SENDER_ANSWERED, &reply, NULL);
		rest_reply_fini(&reply);
		return (rc);
	}
	if (sender_refused(&why)) {
		rc = local_outbox_refused(
		    sender->local, draft->ref, why.what, fail);
		if (rc == RC_OK && sender->fn != NULL)
			sender->fn(
			    sender->arg, draft, SENDER_REFUSED, NULL, &why);
		return (rc);
	}
	pass->waiting++;
	if (sender->wanted == NULL || !fail_of_recipient(&why) ||
	    strcmp(draft->recipient, pass->recipient) == 0)
		pass->reason = why;
	/* A refusal because of one recipient does not delay other
	 * recipients. */
	if (!fail_of_recipient(&why))
		pass->stopped = true;
	else if (json_object_set_new(
		     pass->held, draft->recipient, json_true()) != 0)
		return (fail_set(fail, FAIL_MEMORY, "out of memory"));
	return (local_outbox_tried(sender->local, draft->ref, why.what, fail));
}

enum rc
sender_give_up(struct local *local, const struct local_draft *draft,
    struct fail *why, struct fail *fail)
{

	(void)fail_set(
	    why, FAIL_INPUT_OUTPUT, "its text on this computer is damaged");
	(void)fail_cure(why, "write it once more");
	return (local_outbox_refused(local, draft->ref, why->what, fail));
}

/* Gives up the damaged ${draft} and reports it. */
static enum rc
give_up(
    struct sender *sender, const struct local_draft *draft, struct fail *fail)
{
	struct fail why = FAIL_INIT;
	enum rc rc = sender_give_up(sender->local, draft, &why, fail);

	if (rc == RC_OK && sender->fn != NULL)
		sender->fn(sender->arg, draft, SENDER_REFUSED, NULL, &why);
	return (rc);
}

/* Tries each waiting draft once, in order. */
static enum rc
run_pass(struct sender *sender, struct pass *pass, struct fail *fail)
{
	struct local_draft draft;
	int64_t row = 0;
	enum rc rc;

	while (!pass->stopped) {
		rc = local_outbox_next(sender->local, row, &draft, fail);
		if (rc == RC_NOT_FOUND)
			return (RC_OK);
		if (rc != RC_OK && rc != RC_CORRUPT)
			return (rc);
		row = draft.row;
		if (rc == RC_CORRUPT)
			rc = give_up(sender, &draft, fail);
		else if (json_object_get(pass->held, draft.recipient) != NULL)
			pass->waiting++;
		else
			rc = submit_once(sender, &draft, pass, fail);
		local_draft_fini(&draft);
		if (rc != RC_OK)
			return (rc);
	}
	return (RC_OK);
}

/* Resets ${pass} and finds the recipient of the wanted draft. */
static enum rc
pass_begin(const struct sender *sender, struct pass *pass, struct fail *fail)
{
	struct local_draft draft;
	enum rc rc;

	memset(pass, 0, sizeof(*pass));
	if (sender->wanted != NULL) {
		rc = local_outbox_find(
		    sender->local, sender->wanted, &draft, fail);
		if (rc == RC_OK || rc == RC_CORRUPT) {
			(void)snprintf(pass->recipient, sizeof(pass->recipient),
			    "%s", draft.recipient);
			local_draft_fini(&draft);
		} else if (rc != RC_NOT_FOUND)
			return (rc);
	}
	pass->held = json_object();
	return (pass->held != NULL
		    ? RC_OK
		    : fail_set(fail, FAIL_MEMORY, "out of memory"));
}

/* Sets *ret to true if sender_flush() is not done: ${pass} has left drafts
 * waiting and, if sender->wanted names a draft, that draft is still in the
 * outbox as waiting (another process may have sent or deleted it).  Otherwise
 * sets *ret to false. */
static enum rc
still_waits(const struct sender *sender, const struct pass *pass, bool *ret,
    struct fail *fail)
{
	struct local_draft draft;
	enum rc rc;

	*ret = pass->waiting > 0;
	if (sender->wanted == NULL || !*ret)
		return (RC_OK);
	*ret = false;
	rc = local_outbox_find(sender->local, sender->wanted, &draft, fail);
	if (rc != RC_OK && rc != RC_CORRUPT)
		return (rc == RC_NOT_FOUND ? RC_OK : rc);
	*ret = strcmp(draft.state, "waiting") == 0;
	local_draft_fini(&draft);
	return (RC_OK);
}

enum rc
sender_flush(struct sender *sender, int64_t patience_ms, struct fail *fail)
{
	const struct clk *clk = clk_system();
	int64_t until_ms = clk_mono_ms(clk) + patience_ms, wait_ms;
	struct pass pass;
	int failures;
	bool waits;
	enum rc rc;

	for (failures = 0;; failures++) {
		if (pass_begin(sender, &pass, fail) != RC_OK)
			return (fail->rc);
		rc = run_pass(sender, &pass, fail);
		json_decref(pass.held);
		if (rc == RC_OK)
			rc = still_waits(sender, &pass, &waits, fail);
		if (rc != RC_OK || !waits)
			return (rc);
		wait_ms = backoff_ms(sender->rnd, failures);
		if (wait_ms < (int64_t)pass.reason.retry_after_s * 1000)
			wait_ms = (int64_t)pass.reason.retry_after_s * 1000;
		if (!fail_may_retry(&pass.reason) ||
		    clk_mono_ms(clk) + wait_ms > until_ms) {
			*fail = pass.reason;
			return (fail->rc);
		}
		rest_sleep(wait_ms);
	}
}
