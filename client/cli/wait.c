/* SPDX-License-Identifier: MIT */
/*
 * Follows an outbox entry by long-polls of GET /v1/outbox/{id}?wait= until its
 * message is in the state that the caller waits for (delivered to all
 * recipients, or read by all), has failed, expired or been canceled, the time
 * is up, or a request fails in a way that a retry cannot change.
 */
#include <stdio.h>
#include <string.h>

#include "base/clk.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "lib/backoff.h"
#include "lib/safe.h"

/* The longest wait of one long-poll, in seconds.  It is short because a change
 * between two polls might be seen only when the next poll ends. */
#define POLL_S 10

/* Returns counter ${name} of ${entry}. */
static json_int_t
count(const json_t *entry, const char *name)
{

	return (json_integer_value(
	    json_object_get(json_object_get(entry, "counts"), name)));
}

static bool
has_label(const json_t *entry, const char *label)
{
	const json_t *labels = json_object_get(entry, "labels");
	const char *one;
	size_t i;

	for (i = 0; i < json_array_size(labels); i++) {
		one = json_string_value(json_array_get(labels, i));
		if (one != NULL && strcmp(one, label) == 0)
			return (true);
	}
	return (false);
}

/* Returns true if ${entry} has reached ${state}; in a group, for all
 * recipients. */
static bool
reached(const json_t *entry, const char *state)
{
	const char *now = json_string_value(json_object_get(entry, "state"));
	json_int_t recipients = count(entry, "recipients");

	if (strcmp(state, "read") == 0)
		return (recipients > 1 ? count(entry, "read") >= recipients
				       : has_label(entry, "read"));
	return ((now != NULL && strcmp(now, "acked") == 0) ||
		has_label(entry, "read") ||
		(recipients > 0 && count(entry, "acked") >= recipients));
}

/* Fails if ${entry} is in a final state without delivery. */
static enum rc
check_dead(const json_t *entry, struct fail *fail)
{
	const char *now = json_string_value(json_object_get(entry, "state"));
	struct buf reason = BUF_INIT;

	if (now == NULL ||
	    (strcmp(now, "failed") != 0 && strcmp(now, "expired") != 0 &&
		strcmp(now, "canceled") != 0))
		return (RC_OK);
	render_member(&reason, entry, "last_error", "");
	buf_addc(&reason, '\0');
	(void)fail_set(fail, FAIL_UNDELIVERED, "the message %s%s%s",
	    strcmp(now, "canceled") == 0 ? "was canceled"
	    : strcmp(now, "failed") == 0 ? "failed"
					 : "expired",
	    buf_ok(&reason) && reason.len > 1 ? ": " : "",
	    buf_ok(&reason) ? reason.data : "");
	buf_fini(&reason);
	return (fail->rc);
}

/* Fails because the time is up. */
static enum rc
too_late(const json_t *entry, const char *state, struct fail *fail)
{
	const char *now = render_entry_state(entry);
	char safe[20];

	safe_line(now, strlen(now), safe, sizeof(safe));
	(void)fail_set(fail, FAIL_TIMEOUT,
	    "accepted, but not %s in time (now: %s)", state, safe);
	return (fail_cure(fail,
	    "it is not lost: look with twinbox outbox, wait with --timeout"));
}

/* Runs one long-poll: the server waits for a change for at most POLL_S seconds,
 * and at most ${left_ms} rounded up to seconds.  While *ret_entry is NULL (the
 * first poll), the server does not wait.  On RC_OK, *ret_entry is the current
 * entry: a new one replaces and frees the old one, unless the server answers
 * 304 (unchanged).  On failure *ret_entry does not change.  The caller owns
 * *ret_entry. */
static enum rc
poll_once(struct cli *cli, const char *id, int64_t left_ms, char etag[128],
    json_t **ret_entry, struct fail *fail)
{
	struct rest_request request = {.patience_ms = left_ms};
	struct rest_reply reply;
	char suffix[32];
	int64_t wait_s = (left_ms + 999) / 1000;
	char *path;
	enum rc rc;

	if (wait_s > POLL_S)
		wait_s = POLL_S;
	(void)snprintf(suffix, sizeof(suffix), "?wait=%lld",
	    (long long)(*ret_entry == NULL ? 0 : wait_s));
	path = rest_path("/v1/outbox/", id, suffix);
	request.path = path;
	request.timeout_ms = wait_s * 1000 + REST_TIMEOUT_MS;
	if (*ret_entry != NULL && etag[0] != '\0')
		request.if_none_match = etag;
	rc = rest_call(cli->rest, &request, &reply, fail);
	mem_free(path);
	if (rc != RC_OK)
		return (rc);
	if (reply.status != 304) {
		json_decref(*ret_entry);
		*ret_entry = json_incref(reply.json);
		(void)snprintf(etag, 128, "%s", reply.etag);
	}
	rest_reply_fini(&reply);
	return (RC_OK);
}

enum rc
cli_wait(struct cli *cli, const char *id, const char *state, int64_t timeout_ms,
    json_t **ret, struct fail *fail)
{
	const struct clk *clk = clk_system();
	int64_t until_ms = clk_mono_ms(clk) + timeout_ms, now_ms, asked_ms;
	json_t *entry = NULL;
	char etag[128] = "";
	int failures = 0;
	enum rc rc;

	for (;;) {
		asked_ms = clk_mono_ms(clk);
		rc = poll_once(cli, id,
		    until_ms > asked_ms ? until_ms - asked_ms : 0, etag, &entry,
		    fail);
		if (rc == RC_OK && reached(entry, state))
			break;
		if (rc == RC_OK)
			rc = check_dead(entry, fail);
		if (rc != RC_OK && !fail_may_retry(fail))
			break;
		now_ms = clk_mono_ms(clk);
		if (now_ms >= until_ms) {
			if (rc == RC_OK)
				rc = too_late(entry, state, fail);
			break;
		}
		if (rc != RC_OK)
			rest_sleep(backoff_ms(rnd_system(), failures++));
		/* A server that answers at once must not be polled in a busy
		 * loop. */
		else if (now_ms - asked_ms < 50 && etag[0] == '\0')
			rest_sleep(100);
	}
	if (rc == RC_OK)
		*ret = entry;
	else
		json_decref(entry);
	return (rc);
}
