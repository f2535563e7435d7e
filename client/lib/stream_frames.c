/* SPDX-License-Identifier: MIT */
/*
 * Reads the frames that the server sends.  This file owns the rules of the
 * cursor: no event is handed on twice unless the cursor was reset meanwhile
 * (epoch_changed()), and a gap is always reported.
 */
#include "lib/stream_internal.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/clk.h"
#include "lib/parse.h"

/* Fails because the server broke the protocol.  Returns false. */
static bool
broken(struct stream *stream, const char *what)
{

	(void)fail_set(&stream->fail, FAIL_PROTOCOL,
	    "%.80s broke the protocol: %s", stream->server, what);
	return (false);
}

/* Returns integer member ${name} of ${frame}, or ${other} if it is missing or
 * not an integer. */
static int64_t
integer(const json_t *frame, const char *name, int64_t other)
{
	const json_t *value = json_object_get(frame, name);

	return (json_is_integer(value) ? json_integer_value(value) : other);
}

/* Continues at event ${oldest}, because earlier events are no longer kept. */
static void
skip_to(struct stream *stream, int64_t oldest)
{

	if (stream->options.ops->gap != NULL)
		stream->options.ops->gap(
		    stream->options.arg, stream->seq + 1, oldest);
	stream->seq = oldest - 1;
}

static bool
read_welcome(struct stream *stream, const json_t *frame)
{
	const char *epoch = json_string_value(json_object_get(frame, "epoch"));
	int64_t acked = integer(frame, "acked", -1);
	int64_t oldest = integer(frame, "oldest", 1);
	int64_t window = integer(frame, "window", LIMIT_WINDOW);

	if (stream->state != STREAM_GREETING)
		return (broken(stream, "a second welcome"));
	if (epoch == NULL || epoch[0] == '\0' ||
	    strlen(epoch) >= sizeof(stream->epoch) || acked < 0 || window < 1)
		return (broken(stream, "a welcome without epoch or acked"));
	if ((stream->epoch[0] != '\0' && strcmp(stream->epoch, epoch) != 0) ||
	    stream->seq > integer(frame, "head", INT64_MAX)) {
		stream_reset(stream);
		(void)fail_set(
		    &stream->fail, FAIL_UNCERTAIN, "the server was restored");
		return (false);
	}
	(void)snprintf(stream->epoch, sizeof(stream->epoch), "%s", epoch);
	if (stream->seq < 0)
		stream->seq = acked;
	if (json_is_false(json_object_get(frame, "recovered")) &&
	    stream->seq < oldest - 1)
		skip_to(stream, oldest);
	stream->base = stream->seq > acked ? stream->seq : acked;
	stream->window = window;
	stream->resets = 0;
	stream->live_ms = clk_mono_ms(clk_system());
	stream_move(stream, STREAM_CATCHING_UP);
	if (stream->ack > acked) {
		stream->ack_due = true;
		stream_wake(stream);
	}
	if (stream->options.ops->welcome != NULL)
		stream->options.ops->welcome(stream->options.arg, frame);
	return (true);
}

static bool
read_event(struct stream *stream, const json_t *frame)
{
	int64_t seq = integer(frame, "seq", 0);

	if (stream->state < STREAM_CATCHING_UP || seq < 1)
		return (broken(stream, "an event out of place"));
	if (seq <= stream->seq)
		return (true); /* a repetition: ignore it */
	if (seq != stream->seq + 1) {
		(void)fail_set(&stream->fail, FAIL_UNCERTAIN,
		    "event %lld came where %lld was due", (long long)seq,
		    (long long)stream->seq + 1);
		return (false);
	}
	stream->seq = seq;
	if (stream->options.ops->event != NULL)
		stream->options.ops->event(stream->options.arg, frame);
	/* The server stops after stream->window events without an ack.  An
	 * owner with options.acks false never acks.  So, after that number of
	 * events, drop the connection and connect again at once: a new
	 * connection opens a new window. */
	if (!stream->options.acks &&
	    stream->seq - stream->base >= stream->window) {
		stream->wait_ms = -1;
		(void)fail_set(
		    &stream->fail, FAIL_UNCERTAIN, "the window is full");
		return (false);
	}
	return (true);
}

static bool
read_caught_up(struct stream *stream)
{

	if (stream->state == STREAM_CATCHING_UP)
		stream_move(stream, STREAM_LIVE);
	if (stream->options.ops->caught_up != NULL)
		stream->options.ops->caught_up(stream->options.arg);
	return (true);
}

/* Handles a hello that was refused because of its cursor. */
static void
read_cursor_problem(struct stream *stream, const json_t *problem)
{
	const char *epoch =
	    json_string_value(json_object_get(problem, "epoch"));
	int64_t oldest = integer(problem, "oldest", 0);

	if ((epoch == NULL || strcmp(epoch, stream->epoch) == 0) &&
	    oldest > 0 && stream->seq < oldest - 1 && stream->resets++ < 3)
		skip_to(stream, oldest);
	else
		stream_reset(stream);
	(void)fail_set(
	    &stream->fail, FAIL_UNCERTAIN, "the server was restored");
	stream->wait_ms = -1;
}

static bool
read_error(struct stream *stream, const json_t *frame)
{
	const json_t *problem = json_object_get(frame, "problem");
	int64_t re = integer(frame, "re", 0);
	struct fail why = FAIL_INIT;

	(void)fail_problem(
	    &why, (int)integer(problem, "status", 0), problem, 0);
	if (re > STREAM_HELLO_ID) {
		if (stream->options.ops->refused != NULL)
			stream->options.ops->refused(
			    stream->options.arg, re, &why);
		return (true);
	}
	/* The problem concerns the stream itself, not one message.  Before the
	 * welcome, this function drops the connection, and lost() decides by
	 * the problem whether the stream ends or connects again.  After the
	 * welcome, the connection stays open until the server closes it; then
	 * the close code decides, and the problem is only the reason that is
	 * reported. */
	stream->fail = why;
	if (why.retry_after_s > 0)
		stream->wait_ms = (int64_t)why.retry_after_s * 1000;
	if (stream->state == STREAM_GREETING) {
		if (strcmp(why.code, "cursor_expired") == 0)
			read_cursor_problem(stream, problem);
		return (false);
	}
	return (true);
}

static bool
read_reconnect(struct stream *stream, const json_t *frame)
{
	int64_t after = integer(frame, "after_ms", 0);

	if (after > 0 && after < 3600000)
		stream->wait_ms = after;
	(void)fail_set(
	    &stream->fail, FAIL_UNCERTAIN, "the server asks to connect again");
	return (true);
}

static bool
read_frame(struct stream *stream, const json_t *frame)
{
	const struct stream_ops *ops = stream->options.ops;
	const char *type = json_string_value(json_object_get(frame, "type"));

	if (type == NULL)
		return (broken(stream, "a frame without type"));
	if (strcmp(type, "event") == 0)
		return (read_event(stream, frame));
	if (strcmp(type, "welcome") == 0)
		return (read_welcome(stream, frame));
	if (strcmp(type, "caught_up") == 0)
		return (read_caught_up(stream));
	if (strcmp(type, "error") == 0)
		return (read_error(stream, frame));
	if (strcmp(type, "reconnect") == 0)
		return (read_reconnect(stream, frame));
	if (strcmp(type, "sent") == 0) {
		if (ops->sent != NULL)
			ops->sent(stream->options.arg, integer(frame, "re", 0),
			    frame);
		return (true);
	}
	if (strcmp(type, "stalled") == 0 && stream->ack > 0) {
		stream->ack_due = true;
		stream_wake(stream);
	}
	/* Ignore frame types that only a newer server knows. */
	return (true);
}

bool
stream_frame_read(struct stream *stream)
{
	json_t *frame;
	char what[130];
	bool ok;

	assert(stream->magic == STREAM_MAGIC);
	(void)snprintf(what, sizeof(what),
	    "%.80s broke the protocol: a frame that cannot be read",
	    stream->server);
	if (parse_json(what, stream->in.data, stream->in.len, &frame,
		&stream->fail) != RC_OK)
		return (false);
	if (!json_is_object(frame)) {
		json_decref(frame);
		return (broken(stream, "a frame that is not a JSON object"));
	}
	ok = read_frame(stream, frame);
	json_decref(frame);
	return (ok);
}
