/* SPDX-License-Identifier: MIT */
/*
 * What the server says in a session.  Owns the rules of the cursor: nothing is
 * handed on twice, nothing is left out without saying so.
 */
#include "lib/session_internal.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/clk.h"

/* The server broke the contract. */
static bool
broken(struct session *session, const char *what)
{

	(void)fail_set(&session->fail, FAIL_PROTOCOL,
	    "%.80s broke the protocol: %s", session->server, what);
	return (false);
}

/* Integer member ${name} of ${frame}, ${other} without one. */
static int64_t
integer(const json_t *frame, const char *name, int64_t other)
{
	const json_t *value = json_object_get(frame, name);

	return (json_is_integer(value) ? json_integer_value(value) : other);
}

/* Starts at ${oldest}, because what came before is not kept. */
static void
skip_to(struct session *session, int64_t oldest)
{

	if (session->options.ops->gap != NULL)
		session->options.ops->gap(
		    session->options.arg, session->seq + 1, oldest);
	session->seq = oldest - 1;
}

static bool
read_welcome(struct session *session, const json_t *frame)
{
	const char *epoch = json_string_value(json_object_get(frame, "epoch"));
	int64_t acked = integer(frame, "acked", -1);
	int64_t oldest = integer(frame, "oldest", 1);
	int64_t window = integer(frame, "window", LIMIT_WINDOW);

	if (session->state != SESSION_GREETING)
		return (broken(session, "a second welcome"));
	if (epoch == NULL || epoch[0] == '\0' ||
	    strlen(epoch) >= sizeof(session->epoch) || acked < 0 || window < 1)
		return (broken(session, "a welcome without epoch or acked"));
	if ((session->epoch[0] != '\0' && strcmp(session->epoch, epoch) != 0) ||
	    session->seq > integer(frame, "head", INT64_MAX)) {
		session_reset(session);
		(void)fail_set(
		    &session->fail, FAIL_UNCERTAIN, "the server was restored");
		return (false);
	}
	(void)snprintf(session->epoch, sizeof(session->epoch), "%s", epoch);
	if (session->seq < 0)
		session->seq = acked;
	if (json_is_false(json_object_get(frame, "recovered")) &&
	    session->seq < oldest - 1)
		skip_to(session, oldest);
	session->base = session->seq > acked ? session->seq : acked;
	session->window = window;
	session->resets = 0;
	session->live_ms = clk_mono_ms(clk_system());
	session_move(session, SESSION_CATCHING_UP);
	if (session->ack > acked) {
		session->ack_due = true;
		session_wake(session);
	}
	if (session->options.ops->welcome != NULL)
		session->options.ops->welcome(session->options.arg, frame);
	return (true);
}

static bool
read_event(struct session *session, const json_t *frame)
{
	int64_t seq = integer(frame, "seq", 0);

	if (session->state < SESSION_CATCHING_UP || seq < 1)
		return (broken(session, "an event out of place"));
	if (seq <= session->seq)
		return (true); /* again: known already */
	if (seq != session->seq + 1) {
		(void)fail_set(&session->fail, FAIL_UNCERTAIN,
		    "event %lld came where %lld was due", (long long)seq,
		    (long long)session->seq + 1);
		return (false);
	}
	session->seq = seq;
	if (session->options.ops->event != NULL)
		session->options.ops->event(session->options.arg, frame);
	/* Without acks the window would fill: a fresh hello opens another. */
	if (!session->options.acks &&
	    session->seq - session->base >= session->window) {
		session->wait_ms = -1;
		(void)fail_set(
		    &session->fail, FAIL_UNCERTAIN, "the window is full");
		return (false);
	}
	return (true);
}

static bool
read_caught_up(struct session *session)
{

	if (session->state == SESSION_CATCHING_UP)
		session_move(session, SESSION_LIVE);
	if (session->options.ops->caught_up != NULL)
		session->options.ops->caught_up(session->options.arg);
	return (true);
}

/* The hello was answered with a problem about its cursor. */
static void
read_cursor_problem(struct session *session, const json_t *problem)
{
	const char *epoch =
	    json_string_value(json_object_get(problem, "epoch"));
	int64_t oldest = integer(problem, "oldest", 0);

	if ((epoch == NULL || strcmp(epoch, session->epoch) == 0) &&
	    oldest > 0 && session->seq < oldest - 1 && session->resets++ < 3)
		skip_to(session, oldest);
	else
		session_reset(session);
	(void)fail_set(
	    &session->fail, FAIL_UNCERTAIN, "the server was restored");
	session->wait_ms = -1;
}

static bool
read_error(struct session *session, const json_t *frame)
{
	const json_t *problem = json_object_get(frame, "problem");
	int64_t re = integer(frame, "re", 0);
	struct fail why = FAIL_INIT;

	(void)fail_problem(
	    &why, (int)integer(problem, "status", 0), problem, 0);
	if (re > SESSION_HELLO_ID) {
		if (session->options.ops->refused != NULL)
			session->options.ops->refused(
			    session->options.arg, re, &why);
		return (true);
	}
	/* About the session itself: the close that follows decides; without
	 * one this is the reason. */
	session->fail = why;
	if (why.retry_after_s > 0)
		session->wait_ms = (int64_t)why.retry_after_s * 1000;
	if (session->state == SESSION_GREETING) {
		if (strcmp(why.code, "cursor_expired") == 0)
			read_cursor_problem(session, problem);
		return (false);
	}
	return (true);
}

static bool
read_reconnect(struct session *session, const json_t *frame)
{
	int64_t after = integer(frame, "after_ms", 0);

	if (after > 0 && after < 3600000)
		session->wait_ms = after;
	(void)fail_set(
	    &session->fail, FAIL_UNCERTAIN, "the server asks to connect again");
	return (true);
}

static bool
read_frame(struct session *session, const json_t *frame)
{
	const struct session_ops *ops = session->options.ops;
	const char *type = json_string_value(json_object_get(frame, "type"));

	if (type == NULL)
		return (broken(session, "a frame without type"));
	if (strcmp(type, "event") == 0)
		return (read_event(session, frame));
	if (strcmp(type, "welcome") == 0)
		return (read_welcome(session, frame));
	if (strcmp(type, "caught_up") == 0)
		return (read_caught_up(session));
	if (strcmp(type, "error") == 0)
		return (read_error(session, frame));
	if (strcmp(type, "reconnect") == 0)
		return (read_reconnect(session, frame));
	if (strcmp(type, "sent") == 0) {
		if (ops->sent != NULL)
			ops->sent(session->options.arg, integer(frame, "re", 0),
			    frame);
		return (true);
	}
	if (strcmp(type, "stalled") == 0 && session->ack > 0) {
		session->ack_due = true;
		session_wake(session);
	}
	/* What a newer server says and we do not know is no error. */
	return (true);
}

bool
session_frame_read(struct session *session)
{
	json_t *frame;
	bool ok;

	assert(session->magic == SESSION_MAGIC);
	frame = json_loadb(
	    session->in.data, session->in.len, JSON_REJECT_DUPLICATES, NULL);
	if (!json_is_object(frame)) {
		json_decref(frame);
		return (broken(session, "a frame that is no JSON object"));
	}
	ok = read_frame(session, frame);
	json_decref(frame);
	return (ok);
}
