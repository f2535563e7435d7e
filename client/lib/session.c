/* SPDX-License-Identifier: MIT */
/*
 * The connection of a session: libwebsockets' client, its back-off, its close
 * codes, and the queue of frames to be written (acks are not queued but
 * remembered: only the newest matters).
 */
#include "lib/session.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clk.h"
#include "base/mem.h"
#include "lib/backoff.h"
#include "lib/safe.h"
#include "lib/session_internal.h"

/* The largest frame taken: an event of 16 KiB, each byte escaped, and more. */
#define FRAME_LIMIT (4u << 20)
#define PATIENCE_MS 10000
/* A session that lived so long starts its back-off anew. */
#define STABLE_MS 5000

/* The server pings after 25 s idle; if it does not, we do. */
static const lws_retry_bo_t idle_policy = {
    .secs_since_valid_ping = 30,
    .secs_since_valid_hangup = 40,
};

static void connection_start(struct session *session);

enum session_verdict
session_verdict(int code)
{

	/* libwebsockets 4.1 shows 1012, 1013 and 1014 as 1002; a twinbox
	 * server says 4400 where it means 1002. */
	switch (code) {
	case 4410:
		return (SESSION_NEW_EPOCH);
	case 4408:
	case 4429:
		return (SESSION_AGAIN);
	case 1003:
	case 1007:
	case 1008:
	case 1009:
	case 1010:
		return (SESSION_PERSON);
	default:
		return (code >= 3000 ? SESSION_PERSON : SESSION_AGAIN);
	}
}

void
session_move(struct session *session, enum session_state state)
{

	assert(session->state != SESSION_ENDED);
	session->state = state;
}

/* Forgets all frames that were to be written. */
static void
queue_clear(struct session *session)
{
	struct session_frame *frame;

	while ((frame = session->first) != NULL) {
		session->first = frame->next;
		mem_free(frame);
	}
	session->last = &session->first;
}

void
session_wake(struct session *session)
{

	if (session->wsi != NULL && session->state >= SESSION_GREETING)
		(void)lws_callback_on_writable(session->wsi);
}

/* Queues ${json} (taken, NULL: no memory) for writing. */
static bool
queue_add(struct session *session, json_t *json)
{
	struct session_frame *frame = NULL;
	char *text = json == NULL ? NULL : json_dumps(json, JSON_COMPACT);
	size_t len;

	json_decref(json);
	if (text != NULL) {
		len = strlen(text);
		frame = mem_alloc(sizeof(*frame) + LWS_PRE + len);
		if (frame != NULL) {
			frame->next = NULL;
			frame->len = len;
			memcpy(frame->data + LWS_PRE, text, len);
			*session->last = frame;
			session->last = &frame->next;
			session_wake(session);
		}
		free(text); /* jansson's own memory */
	}
	return (frame != NULL);
}

/* Queues the hello. */
static bool
queue_hello(struct session *session)
{
	char after[LOCAL_EPOCH_SIZE + 24];
	json_t *hello;

	hello = json_pack("{ss si ss ss si}", "type", "hello", "id",
	    SESSION_HELLO_ID, "token", session->token, "instance",
	    session->instance, "window", LIMIT_WINDOW);
	if (session->seq >= 0) {
		(void)snprintf(after, sizeof(after), "%s%s%lld", session->epoch,
		    session->epoch[0] != '\0' ? ":" : "",
		    (long long)session->seq);
		(void)json_object_set_new(hello, "after", json_string(after));
	}
	return (queue_add(session, hello));
}

void
session_reset(struct session *session)
{

	session->epoch[0] = '\0';
	session->seq = 0;
	session->ack = 0;
	session->ack_due = false;
	session->wait_ms = -1;
	session->resets++;
	if (session->options.ops->epoch_changed != NULL)
		session->options.ops->epoch_changed(session->options.arg);
}

/* The session is over. */
static void
end(struct session *session, const struct fail *why)
{

	if (session->state == SESSION_ENDED)
		return;
	session_move(session, SESSION_ENDED);
	loop_timer_cancel(session->timer);
	queue_clear(session);
	if (session->options.ops->ended != NULL)
		session->options.ops->ended(session->options.arg, why);
}

/* Waits, then connects again. */
static void
wait_and_retry(struct session *session)
{
	int64_t now = clk_mono_ms(clk_system());
	int64_t wait;

	if (session->live_ms != 0 && now - session->live_ms >= STABLE_MS)
		session->failures = 0;
	session->live_ms = 0;
	wait = backoff_ms(session->options.rnd, session->failures);
	if (session->wait_ms < 0) /* our own doing: at once */
		wait = 0;
	else {
		if (wait < session->wait_ms)
			wait = session->wait_ms;
		session->failures++;
	}
	session->wait_ms = 0;
	session_move(session, SESSION_WAITING);
	if (wait > 0 && session->options.ops->lost != NULL)
		session->options.ops->lost(
		    session->options.arg, &session->fail, wait);
	if (session->state == SESSION_WAITING)
		loop_timer_set(session->timer, wait);
}

/* Says why the connection is gone, where nothing has said so yet. */
static void
explain(struct session *session)
{
	int code = session->close_code;

	if (session->fail.rc != RC_OK)
		return;
	if (code == 4401)
		(void)fail_set(&session->fail, FAIL_NOT_LOGGED_IN,
		    "the server does not know this device any more");
	else if (code == 4403) {
		(void)fail_set(&session->fail, FAIL_NOT_LOGGED_IN,
		    "the server does not allow this");
		(void)fail_cure(&session->fail, "use an account that may");
	} else if (code == 4409)
		(void)fail_set(&session->fail, FAIL_REPLACED,
		    "another connection took this one's place");
	else if (code == 0)
		(void)fail_set(&session->fail, FAIL_UNREACHABLE,
		    "the connection to %.80s broke", session->server);
	else if (session_verdict(code) == SESSION_PERSON)
		(void)fail_set(&session->fail, FAIL_PROTOCOL,
		    "%.80s closed the session with code %d", session->server,
		    code);
	else
		(void)fail_set(&session->fail, FAIL_UNREACHABLE,
		    "%.80s closed the session (%d)", session->server, code);
}

/* The connection is gone, for whatever reason. */
static void
lost(struct session *session)
{
	enum session_verdict verdict = SESSION_AGAIN;

	session->wsi = NULL;
	if (session->state == SESSION_ENDED)
		return;
	loop_timer_cancel(session->timer);
	queue_clear(session);
	buf_reset(&session->in);
	if (session->finishing) {
		end(session, NULL);
		return;
	}
	if (session->close_code != 0)
		verdict = session_verdict(session->close_code);
	explain(session);
	/* What made us give up decides too.  (What the server refused while the
	 * session was open is no reason to end with it.) */
	if (session->dropped &&
	    (session->fail.rc == RC_DENIED ||
		strcmp(session->fail.code, "protocol") == 0 ||
		(session->fail.status != 0 && !fail_may_retry(&session->fail))))
		verdict = SESSION_PERSON;
	if (verdict == SESSION_NEW_EPOCH && session->wait_ms >= 0)
		session_reset(session);
	if (session->resets > 5)
		verdict = SESSION_PERSON;
	if (verdict == SESSION_PERSON)
		end(session, &session->fail);
	else
		wait_and_retry(session);
}

/* Gives the connection up because of session->fail, which is set already. */
static void
drop(struct session *session)
{

	session->dropped = true;
	if (session->wsi != NULL)
		lws_set_timeout(session->wsi, PENDING_TIMEOUT_USER_REASON_BASE,
		    LWS_TO_KILL_ASYNC);
	else
		lost(session);
}

/* The server lets us wait, or the back-off is over. */
static void
timer_fired(void *arg)
{
	struct session *session = arg;

	assert(session->magic == SESSION_MAGIC);
	if (session->state == SESSION_WAITING) {
		connection_start(session);
		return;
	}
	(void)fail_set(&session->fail, FAIL_UNREACHABLE,
	    "%.80s does not answer", session->server);
	drop(session);
}

/* Takes options.server apart, which rest_server_parse() has checked. */
static void
connection_start(struct session *session)
{
	struct lws_client_connect_info info;
	char host[300];
	const char *rest = strstr(session->server, "://") + 3;
	bool tls = strncmp(session->server, "https", 5) == 0;
	bool made;
	size_t n;

	session_move(session, SESSION_CONNECTING);
	session->close_code = 0;
	session->dropped = false;
	memset(&session->fail, 0, sizeof(session->fail));
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
	info.context = session->options.loop->context;
	info.vhost = session->options.loop->vhost;
	info.address = host;
	info.host = strstr(session->server, "://") + 3;
	info.path = "/v1/ws";
	info.protocol = LOOP_PROTOCOL;
	info.local_protocol_name = LOOP_PROTOCOL;
	info.ssl_connection = tls ? LCCSCF_USE_SSL : 0;
	info.retry_and_idle_policy = &idle_policy;
	info.opaque_user_data = session;
	info.pwsi = &session->wsi;
	loop_timer_set(session->timer, PATIENCE_MS);
	/* A connection that fails at once may be named all the same, though it
	 * is gone (4.1.6); or it fails without a word. */
	made = lws_client_connect_via_info(&info) != NULL;
	if (session->state != SESSION_CONNECTING)
		session->wsi = NULL;
	else if (!made)
		lost(session);
}

/* The connection could not be made; ${why} (may be NULL) is the library's. */
static void
connect_failed(
    struct session *session, struct lws *wsi, const char *why, size_t len)
{
	unsigned status = lws_http_client_http_response(wsi);
	char safe[100] = "no connection";

	if (why != NULL)
		safe_line(why, strnlen(why, len), safe, sizeof(safe));
	if (status == 401 || status == 403 || status == 429 || status == 503)
		(void)fail_problem(&session->fail, (int)status, NULL, 0);
	else if (status >= 300 && status < 500)
		(void)fail_set(&session->fail, FAIL_PROTOCOL,
		    "%.80s has no WebSocket for us (HTTP %u)", session->server,
		    status);
	else if (session->fail.rc == RC_OK)
		(void)fail_set(&session->fail, FAIL_UNREACHABLE,
		    "cannot reach %.80s: %s", session->server, safe);
	session->dropped = true;
	lost(session);
}

/* A piece of a frame came.  False: drop the connection. */
static bool
receive(struct session *session, struct lws *wsi, const void *in, size_t len)
{
	bool ok;

	if (session->state < SESSION_GREETING ||
	    session->state == SESSION_ENDED)
		return (false);
	buf_add(&session->in, in, len);
	if (!buf_ok(&session->in)) {
		(void)fail_set(&session->fail, FAIL_PROTOCOL,
		    "%.80s sends a frame that is too large", session->server);
		return (false);
	}
	if (!lws_is_final_fragment(wsi) ||
	    lws_remaining_packet_payload(wsi) > 0)
		return (true);
	ok = session_frame_read(session);
	buf_reset(&session->in);
	if (session->state >= SESSION_CATCHING_UP && !session->finishing)
		loop_timer_cancel(session->timer);
	return (ok && session->state != SESSION_ENDED);
}

/* The connection can be written.  Returns what the callback shall. */
static int
write_next(struct session *session, struct lws *wsi)
{
	struct session_frame *frame;
	int wrote;

	if (session->ack_due && session->state >= SESSION_CATCHING_UP) {
		session->ack_due = false;
		(void)queue_add(session, json_pack("{ss sI}", "type", "ack",
					     "upto", (json_int_t)session->ack));
	}
	frame = session->first;
	if (frame == NULL) {
		if (!session->finishing)
			return (0);
		lws_close_reason(wsi, LWS_CLOSE_STATUS_NORMAL, NULL, 0);
		return (-1);
	}
	session->first = frame->next;
	if (session->first == NULL)
		session->last = &session->first;
	wrote =
	    lws_write(wsi, frame->data + LWS_PRE, frame->len, LWS_WRITE_TEXT);
	mem_free(frame);
	if (wrote < 0)
		return (-1);
	if (session->first != NULL || session->finishing)
		(void)lws_callback_on_writable(wsi);
	return (0);
}

/* The peer closes with a code in the first two bytes of ${in}. */
static void
note_close(struct session *session, const unsigned char *in, size_t len)
{

	if (len >= 2)
		session->close_code = in[0] << 8 | in[1];
}

int
session_callback(struct lws *wsi, enum lws_callback_reasons reason, void *user,
    void *in, size_t len)
{
	struct session *session = lws_get_opaque_user_data(wsi);

	(void)user;
	if (session == NULL)
		return (0);
	assert(session->magic == SESSION_MAGIC);
	/* All other reasons do not concern us. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wswitch-enum"
	switch (reason) {
	case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
		(void)lws_set_opaque_user_data(wsi, NULL);
		connect_failed(session, wsi, in, len);
		return (0);
	case LWS_CALLBACK_CLIENT_ESTABLISHED:
		/* session_finish() did not wait for this connection. */
		if (session->state == SESSION_ENDED)
			return (-1);
		session->wsi = wsi;
		session_move(session, SESSION_GREETING);
		return (queue_hello(session) ? 0 : -1);
	case LWS_CALLBACK_CLIENT_RECEIVE:
		if (receive(session, wsi, in, len))
			return (0);
		session->dropped = true;
		return (-1);
	case LWS_CALLBACK_CLIENT_WRITEABLE:
		return (write_next(session, wsi));
	case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
		note_close(session, in, len);
		return (0);
	case LWS_CALLBACK_CLIENT_CLOSED:
	/* While the server's answer was waited for; and where the library has
	 * nothing else to say. */
	case LWS_CALLBACK_CLOSED_CLIENT_HTTP:
	case LWS_CALLBACK_WSI_DESTROY:
		(void)lws_set_opaque_user_data(wsi, NULL);
		lost(session);
		return (0);
	default:
		return (0);
	}
#pragma GCC diagnostic pop
}

enum rc
session_new(const struct session_options *options, struct session **ret,
    struct fail *fail)
{
	struct session *session = mem_zalloc(1, sizeof(*session));
	struct uuid_gen gen;
	struct uuid id;

	if (session == NULL)
		return (fail_set(fail, FAIL_MEMORY, "out of memory"));
	session->magic = SESSION_MAGIC;
	session->options = *options;
	session->last = &session->first;
	buf_init(&session->in, FRAME_LIMIT);
	session->server = mem_strdup(options->server);
	session->token = mem_strdup(options->token);
	session->timer = loop_timer_new(options->loop, timer_fired, session);
	if (session->server == NULL || session->token == NULL ||
	    session->timer == NULL) {
		session_free(session);
		return (fail_set(fail, FAIL_MEMORY, "out of memory"));
	}
	(void)snprintf(
	    session->epoch, sizeof(session->epoch), "%s", options->epoch);
	session->seq = options->seq;
	uuid_gen_init(&gen, clk_system(), options->rnd);
	id = uuid_gen_next(&gen);
	uuid_format(&id, session->instance);
	*ret = session;
	/* From the loop, so that no callback comes before this returns. */
	loop_timer_set(session->timer, 0);
	return (RC_OK);
}

void
session_free(struct session *session)
{

	if (session == NULL)
		return;
	if (session->wsi != NULL)
		(void)lws_set_opaque_user_data(session->wsi, NULL);
	loop_timer_free(session->timer);
	queue_clear(session);
	buf_fini(&session->in);
	if (session->token != NULL)
		explicit_bzero(session->token, strlen(session->token));
	mem_free(session->token);
	mem_free(session->server);
	session->magic = 0;
	mem_free(session);
}

void
session_ack(struct session *session, int64_t upto)
{

	if (upto <= session->ack)
		return;
	session->ack = upto;
	session->ack_due = true;
	session_wake(session);
}

void
session_read(struct session *session, const char *conversation, int64_t upto)
{

	if (session->state >= SESSION_CATCHING_UP &&
	    session->state != SESSION_ENDED)
		(void)queue_add(
		    session, json_pack("{ss ss sI}", "type", "read",
				 "conversation", conversation,
				 "upto_conversation_seq", (json_int_t)upto));
}

int64_t
session_send(struct session *session, const json_t *message)
{
	int64_t id;

	if (session->state < SESSION_CATCHING_UP ||
	    session->state == SESSION_ENDED || session->finishing)
		return (0);
	if (session->last_id < SESSION_HELLO_ID)
		session->last_id = SESSION_HELLO_ID;
	id = ++session->last_id;
	if (!queue_add(session,
		json_pack("{ss sI so}", "type", "send", "id", (json_int_t)id,
		    "message", json_deep_copy(message))))
		return (0);
	return (id);
}

void
session_finish(struct session *session)
{

	if (session->state == SESSION_ENDED || session->finishing)
		return;
	session->finishing = true;
	if (session->wsi == NULL || session->state < SESSION_GREETING) {
		end(session, NULL);
		return;
	}
	session_wake(session);
	loop_timer_set(session->timer, 1000);
}

enum session_state
session_state(const struct session *session)
{

	return (session->state);
}

const char *
session_epoch(const struct session *session)
{

	return (session->epoch);
}

int64_t
session_seq(const struct session *session)
{

	return (session->seq);
}
