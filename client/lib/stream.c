/* SPDX-License-Identifier: MIT */
/*
 * The connection of a stream: the WebSocket client of libwebsockets, its
 * back-off, its close codes, and the queue of frames to be written.  An ack
 * does not wait in the queue: the stream remembers the newest ack, which
 * includes all before it, and queues that one when the connection can be
 * written.
 */
#include "lib/stream.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/clk.h"
#include "base/mem.h"
#include "lib/backoff.h"
#include "lib/dump.h"
#include "lib/safe.h"
#include "lib/stream_internal.h"

/* The largest frame accepted: an event of 16 KiB, each byte escaped, and
 * more. */
#define FRAME_LIMIT (4u << 20)
#define PATIENCE_MS 10000
/* A connection that has lasted for STABLE_MS resets the back-off. */
#define STABLE_MS 5000

/* The server sends a ping after 25 s without input from the client.
 * Independently of that, libwebsockets sends a ping 30 s after the last pong
 * (at first: after the handshake), whatever else has come, and drops the
 * connection if no pong has come for 40 s. */
static const lws_retry_bo_t idle_policy = {
    .secs_since_valid_ping = 30,
    .secs_since_valid_hangup = 40,
};

static void connection_start(struct stream *stream);

enum stream_verdict
stream_verdict(int code)
{

	/* libwebsockets 4.1 reports the close codes 1012, 1013 and 1014 as
	 * 1002.  So 1002 makes the stream connect again, as those three do: a
	 * twinbox server sends 1002 itself only for frames that break RFC 6455,
	 * and libwebsockets sends no such frames. */
	switch (code) {
	case 4410:
		return (STREAM_NEW_EPOCH);
	case 4408:
	case 4429:
		return (STREAM_AGAIN);
	case 1003:
	case 1007:
	case 1008:
	case 1009:
	case 1010:
		return (STREAM_PERSON);
	default:
		return (code >= 3000 ? STREAM_PERSON : STREAM_AGAIN);
	}
}

void
stream_move(struct stream *stream, enum stream_state state)
{

	assert(stream->state != STREAM_ENDED);
	stream->state = state;
}

/* Discards all frames that are queued for writing. */
static void
queue_clear(struct stream *stream)
{
	struct stream_frame *frame;

	while ((frame = stream->first) != NULL) {
		stream->first = frame->next;
		mem_free(frame);
	}
	stream->last = &stream->first;
}

void
stream_wake(struct stream *stream)
{

	if (stream->wsi != NULL && stream->state >= STREAM_GREETING)
		(void)lws_callback_on_writable(stream->wsi);
}

/* Queues ${json} for writing.  Takes over the reference to ${json}, also on
 * failure.  Returns false when memory runs out, or if ${json} is NULL because
 * there was no memory to make it. */
static bool
queue_add(struct stream *stream, json_t *json)
{
	struct stream_frame *frame = NULL;
	size_t len;
	char *text = dump_json(json, JSON_COMPACT, &len);

	json_decref(json);
	if (text != NULL) {
		frame = mem_alloc(sizeof(*frame) + LWS_PRE + len);
		if (frame != NULL) {
			frame->next = NULL;
			frame->len = len;
			memcpy(frame->data + LWS_PRE, text, len);
			*stream->last = frame;
			stream->last = &frame->next;
			stream_wake(stream);
		}
		mem_free(text);
	}
	return (frame != NULL);
}

/* Queues the hello. */
static bool
queue_hello(struct stream *stream)
{
	char after[LOCAL_EPOCH_SIZE + 24];
	json_t *hello;

	hello = json_pack("{ss si ss ss si}", "type", "hello", "id",
	    STREAM_HELLO_ID, "token", stream->token, "instance",
	    stream->instance, "window", LIMIT_WINDOW);
	if (stream->seq >= 0) {
		/* Without it, the stream would begin after the acked event. */
		(void)snprintf(after, sizeof(after), "%s%s%lld", stream->epoch,
		    stream->epoch[0] != '\0' ? ":" : "",
		    (long long)stream->seq);
		if (json_object_set_new(hello, "after", json_string(after)) !=
		    0) {
			json_decref(hello);
			hello = NULL;
		}
	}
	return (queue_add(stream, hello));
}

void
stream_reset(struct stream *stream)
{

	stream->epoch[0] = '\0';
	stream->seq = 0;
	stream->ack = 0;
	stream->ack_due = false;
	stream->wait_ms = -1;
	stream->resets++;
	if (stream->options.ops->epoch_changed != NULL)
		stream->options.ops->epoch_changed(stream->options.arg);
}

/* Ends the stream because of ${why} (NULL: as its owner wished). */
static void
end(struct stream *stream, const struct fail *why)
{

	if (stream->state == STREAM_ENDED)
		return;
	stream_move(stream, STREAM_ENDED);
	loop_timer_cancel(stream->timer);
	queue_clear(stream);
	if (stream->options.ops->ended != NULL)
		stream->options.ops->ended(stream->options.arg, why);
}

/* Waits for the back-off, then connects again. */
static void
wait_and_retry(struct stream *stream)
{
	int64_t now = clk_mono_ms(clk_system());
	int64_t wait;

	if (stream->live_ms != 0 && now - stream->live_ms >= STABLE_MS)
		stream->failures = 0;
	stream->live_ms = 0;
	wait = backoff_ms(stream->options.rnd, stream->failures);
	if (stream->wait_ms < 0) /* the client's own decision: at once */
		wait = 0;
	else {
		if (wait < stream->wait_ms)
			wait = stream->wait_ms;
		stream->failures++;
	}
	stream->wait_ms = 0;
	stream_move(stream, STREAM_WAITING);
	if (wait > 0 && stream->options.ops->lost != NULL)
		stream->options.ops->lost(
		    stream->options.arg, &stream->fail, wait);
	if (stream->state == STREAM_WAITING)
		loop_timer_set(stream->timer, wait);
}

/* Sets the failure from the close code, if no reason is set yet. */
static void
explain(struct stream *stream)
{
	int code = stream->close_code;

	if (stream->fail.rc != RC_OK)
		return;
	if (code == 4401)
		(void)fail_logged_out(&stream->fail);
	else if (code == 4403) {
		(void)fail_set(&stream->fail, FAIL_NOT_LOGGED_IN,
		    "the server does not allow this");
		(void)fail_cure(&stream->fail, "use an account that may");
	} else if (code == 4409)
		(void)fail_set(&stream->fail, FAIL_REPLACED,
		    "another connection took this one's place");
	else if (code == 0)
		(void)fail_set(&stream->fail, FAIL_UNREACHABLE,
		    "the connection to %.80s broke", stream->server);
	else if (stream_verdict(code) == STREAM_PERSON)
		(void)fail_set(&stream->fail, FAIL_PROTOCOL,
		    "%.80s closed the connection with code %d", stream->server,
		    code);
	else
		(void)fail_set(&stream->fail, FAIL_UNREACHABLE,
		    "%.80s closed the connection (%d)", stream->server, code);
}

/* The connection is lost, for any reason: ends the stream or connects again. */
static void
lost(struct stream *stream)
{
	enum stream_verdict verdict = STREAM_AGAIN;

	stream->wsi = NULL;
	if (stream->state == STREAM_ENDED)
		return;
	loop_timer_cancel(stream->timer);
	queue_clear(stream);
	buf_reset(&stream->in);
	if (stream->finishing) {
		end(stream, NULL);
		return;
	}
	if (stream->close_code != 0)
		verdict = stream_verdict(stream->close_code);
	explain(stream);
	/* If this side dropped the connection, not only the close code but also
	 * stream->fail can end the stream.  Otherwise stream->fail may be a
	 * refusal that came earlier, while the stream was open, and only the
	 * close code decides. */
	if (stream->dropped &&
	    (stream->fail.rc == RC_DENIED ||
		strcmp(stream->fail.code, "protocol") == 0 ||
		(stream->fail.status != 0 && !fail_may_retry(&stream->fail))))
		verdict = STREAM_PERSON;
	if (verdict == STREAM_NEW_EPOCH && stream->wait_ms >= 0)
		stream_reset(stream);
	if (stream->resets > 5)
		verdict = STREAM_PERSON;
	if (verdict == STREAM_PERSON)
		end(stream, &stream->fail);
	else
		wait_and_retry(stream);
}

/* Drops the connection because of stream->fail, which the caller has set. */
static void
drop(struct stream *stream)
{

	stream->dropped = true;
	if (stream->wsi != NULL)
		lws_set_timeout(stream->wsi, PENDING_TIMEOUT_USER_REASON_BASE,
		    LWS_TO_KILL_ASYNC);
	else
		lost(stream);
}

/* The timer's function.  In state WAITING the back-off is over, or the stream
 * is new, so it connects.  In another state the server has not sent its welcome
 * within PATIENCE_MS, or the connection is still open 1 s after
 * stream_finish(), so it drops the connection. */
static void
timer_fired(void *arg)
{
	struct stream *stream = arg;

	assert(stream->magic == STREAM_MAGIC);
	if (stream->state == STREAM_WAITING) {
		connection_start(stream);
		return;
	}
	(void)fail_set(&stream->fail, FAIL_UNREACHABLE, "%.80s does not answer",
	    stream->server);
	drop(stream);
}

/* Connects to options.server, a URL that rest_server_parse() has checked. */
static void
connection_start(struct stream *stream)
{
	struct lws_client_connect_info info;
	char host[300];
	const char *rest = strstr(stream->server, "://") + 3;
	bool tls = strncmp(stream->server, "https", 5) == 0;
	bool made;
	size_t n;

	stream_move(stream, STREAM_CONNECTING);
	stream->close_code = 0;
	stream->dropped = false;
	memset(&stream->fail, 0, sizeof(stream->fail));
	memset(&info, 0, sizeof(info));
	n = rest[0] == '[' ? strcspn(rest, "]") : strcspn(rest, ":");
	(void)snprintf(host, sizeof(host), "%.*s",
	    (int)(rest[0] == '[' ? n - 1 : n),
	    rest[0] == '[' ? rest + 1 : rest);
	rest += rest[0] == '[' ? n + 1 : n;
	info.port = tls ? 443 : 80;
	if (*rest == ':')
		for (info.port = 0, rest++; *rest >= '0' && *rest <= '9';
		     rest++)
			info.port = info.port * 10 + (*rest - '0');
	info.context = stream->options.loop->context;
	info.vhost = stream->options.loop->vhost;
	info.address = host;
	info.host = strstr(stream->server, "://") + 3;
	info.path = "/v1/ws";
	info.protocol = LOOP_PROTOCOL;
	info.local_protocol_name = LOOP_PROTOCOL;
	info.ssl_connection = tls ? LCCSCF_USE_SSL : 0;
	info.retry_and_idle_policy = &idle_policy;
	info.opaque_user_data = stream;
	info.pwsi = &stream->wsi;
	loop_timer_set(stream->timer, PATIENCE_MS);
	/* When the connection fails at once, libwebsockets 4.1.6 may set
	 * stream->wsi to a freed connection, or may return NULL without a
	 * callback.  If the state has changed, a callback has handled the
	 * failure, and stream->wsi must be cleared.  If the state has not
	 * changed and NULL was returned, no callback comes, so call lost()
	 * here. */
	made = lws_client_connect_via_info(&info) != NULL;
	if (stream->state != STREAM_CONNECTING)
		stream->wsi = NULL;
	else if (!made)
		lost(stream);
}

/* The connection could not be made.  ${why} is libwebsockets' text, or NULL. */
static void
connect_failed(
    struct stream *stream, struct lws *wsi, const char *why, size_t len)
{
	unsigned status = lws_http_client_http_response(wsi);
	char safe[100] = "no connection";

	if (why != NULL)
		safe_line(why, strnlen(why, len), safe, sizeof(safe));
	if (status == 401 || status == 403 || status == 429 || status == 503)
		(void)fail_problem(&stream->fail, (int)status, NULL, 0);
	else if (status >= 300 && status < 500)
		(void)fail_set(&stream->fail, FAIL_PROTOCOL,
		    "%.80s has no WebSocket for us (HTTP %u)", stream->server,
		    status);
	else if (stream->fail.rc == RC_OK)
		(void)fail_set(&stream->fail, FAIL_UNREACHABLE,
		    "cannot reach %.80s: %s", stream->server, safe);
	stream->dropped = true;
	lost(stream);
}

/* Takes a piece of a frame.  Returns false if the connection must be
 * dropped. */
static bool
receive(struct stream *stream, struct lws *wsi, const void *in, size_t len)
{
	bool ok;

	if (stream->state < STREAM_GREETING || stream->state == STREAM_ENDED)
		return (false);
	buf_add(&stream->in, in, len);
	if (!buf_ok(&stream->in)) {
		(void)fail_set(&stream->fail, FAIL_PROTOCOL,
		    "%.80s sends a frame that is too large", stream->server);
		return (false);
	}
	if (!lws_is_final_fragment(wsi) ||
	    lws_remaining_packet_payload(wsi) > 0)
		return (true);
	ok = stream_frame_read(stream);
	buf_reset(&stream->in);
	if (stream->state >= STREAM_CATCHING_UP && !stream->finishing)
		loop_timer_cancel(stream->timer);
	return (ok && stream->state != STREAM_ENDED);
}

/* Writes the next frame.  Returns the value for libwebsockets: -1 closes. */
static int
write_next(struct stream *stream, struct lws *wsi)
{
	struct stream_frame *frame;
	int wrote;

	if (stream->ack_due && stream->state >= STREAM_CATCHING_UP) {
		/* Without memory it stays due. */
		stream->ack_due =
		    !queue_add(stream, json_pack("{ss sI}", "type", "ack",
					   "upto", (json_int_t)stream->ack));
	}
	frame = stream->first;
	if (frame == NULL) {
		if (!stream->finishing)
			return (0);
		lws_close_reason(wsi, LWS_CLOSE_STATUS_NORMAL, NULL, 0);
		return (-1);
	}
	stream->first = frame->next;
	if (stream->first == NULL)
		stream->last = &stream->first;
	wrote =
	    lws_write(wsi, frame->data + LWS_PRE, frame->len, LWS_WRITE_TEXT);
	mem_free(frame);
	if (wrote < 0)
		return (-1);
	if (stream->first != NULL || stream->finishing)
		(void)lws_callback_on_writable(wsi);
	return (0);
}

/* The server closes, with a code in the first two bytes of ${in}. */
static void
note_close(struct stream *stream, const unsigned char *in, size_t len)
{

	if (len >= 2)
		stream->close_code = in[0] << 8 | in[1];
}

int
stream_callback(struct lws *wsi, enum lws_callback_reasons reason, void *user,
    void *in, size_t len)
{
	struct stream *stream = lws_get_opaque_user_data(wsi);

	(void)user;
	if (stream == NULL)
		return (0);
	assert(stream->magic == STREAM_MAGIC);
	/* All other reasons are ignored. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wswitch-enum"
	switch (reason) {
	case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
		(void)lws_set_opaque_user_data(wsi, NULL);
		connect_failed(stream, wsi, in, len);
		return (0);
	case LWS_CALLBACK_CLIENT_ESTABLISHED:
		/* stream_finish() has ended the stream during the handshake. */
		if (stream->state == STREAM_ENDED)
			return (-1);
		stream->wsi = wsi;
		stream_move(stream, STREAM_GREETING);
		return (queue_hello(stream) ? 0 : -1);
	case LWS_CALLBACK_CLIENT_RECEIVE:
		if (receive(stream, wsi, in, len))
			return (0);
		stream->dropped = true;
		return (-1);
	case LWS_CALLBACK_CLIENT_WRITEABLE:
		return (write_next(stream, wsi));
	case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
		note_close(stream, in, len);
		return (0);
	case LWS_CALLBACK_CLIENT_CLOSED:
	/* CLOSED_CLIENT_HTTP reports a connection that closes during the
	 * handshake.  WSI_DESTROY comes for every connection, but matters only
	 * if nothing else was reported: the first report detaches the stream,
	 * so later ones are ignored. */
	case LWS_CALLBACK_CLOSED_CLIENT_HTTP:
	case LWS_CALLBACK_WSI_DESTROY:
		(void)lws_set_opaque_user_data(wsi, NULL);
		lost(stream);
		return (0);
	default:
		return (0);
	}
#pragma GCC diagnostic pop
}

enum rc
stream_new(const struct stream_options *options, struct stream **ret,
    struct fail *fail)
{
	struct stream *stream = mem_zalloc(1, sizeof(*stream));
	struct uuid_gen gen;
	struct uuid id;

	if (stream == NULL)
		return (fail_set(fail, FAIL_MEMORY, "out of memory"));
	stream->magic = STREAM_MAGIC;
	stream->options = *options;
	stream->last = &stream->first;
	buf_init(&stream->in, FRAME_LIMIT);
	stream->server = mem_strdup(options->server);
	stream->token = mem_strdup(options->token);
	stream->timer = loop_timer_new(options->loop, timer_fired, stream);
	if (stream->server == NULL || stream->token == NULL ||
	    stream->timer == NULL) {
		stream_free(stream);
		return (fail_set(fail, FAIL_MEMORY, "out of memory"));
	}
	(void)snprintf(
	    stream->epoch, sizeof(stream->epoch), "%s", options->epoch);
	stream->seq = options->seq;
	uuid_gen_init(&gen, clk_system(), options->rnd);
	id = uuid_gen_next(&gen);
	uuid_format(&id, stream->instance);
	*ret = stream;
	/* Connect from the loop, so that no callback runs before this
	 * returns. */
	loop_timer_set(stream->timer, 0);
	return (RC_OK);
}

void
stream_free(struct stream *stream)
{

	if (stream == NULL)
		return;
	if (stream->wsi != NULL)
		(void)lws_set_opaque_user_data(stream->wsi, NULL);
	loop_timer_free(stream->timer);
	queue_clear(stream);
	buf_fini(&stream->in);
	if (stream->token != NULL)
		explicit_bzero(stream->token, strlen(stream->token));
	mem_free(stream->token);
	mem_free(stream->server);
	stream->magic = 0;
	mem_free(stream);
}

void
stream_ack(struct stream *stream, int64_t upto)
{

	if (upto <= stream->ack)
		return;
	stream->ack = upto;
	stream->ack_due = true;
	stream_wake(stream);
}

void
stream_read(struct stream *stream, const char *conversation, int64_t upto)
{

	if (stream->state >= STREAM_CATCHING_UP &&
	    stream->state != STREAM_ENDED)
		(void)queue_add(
		    stream, json_pack("{ss ss sI}", "type", "read",
				"conversation", conversation,
				"upto_conversation_seq", (json_int_t)upto));
}

int64_t
stream_send(struct stream *stream, const json_t *message)
{
	int64_t id;

	if (stream->state < STREAM_CATCHING_UP ||
	    stream->state == STREAM_ENDED || stream->finishing)
		return (0);
	if (stream->last_id < STREAM_HELLO_ID)
		stream->last_id = STREAM_HELLO_ID;
	id = ++stream->last_id;
	if (!queue_add(stream,
		json_pack("{ss sI so}", "type", "send", "id", (json_int_t)id,
		    "message", json_deep_copy(message))))
		return (0);
	return (id);
}

void
stream_finish(struct stream *stream)
{

	if (stream->state == STREAM_ENDED || stream->finishing)
		return;
	stream->finishing = true;
	if (stream->wsi == NULL || stream->state < STREAM_GREETING) {
		end(stream, NULL);
		return;
	}
	stream_wake(stream);
	loop_timer_set(stream->timer, 1000);
}

enum stream_state
stream_state(const struct stream *stream)
{

	return (stream->state);
}

const char *
stream_epoch(const struct stream *stream)
{

	return (stream->epoch);
}

int64_t
stream_seq(const struct stream *stream)
{

	return (stream->seq);
}
