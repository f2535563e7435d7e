/* SPDX-License-Identifier: MIT */
/*
 * See push_library.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "unit/push_library.h"
#include "ws/frame.h"

struct lws_context {
	void *user;
	lws_callback_function *callback;
	size_t slot_size;
};

struct lws_vhost {
	struct lws_context *context;
};

TAILQ_HEAD(connection_list, lws);

static struct lws_context context;
static struct lws_vhost vhost = {&context};
static bool starved; /* there is no memory for slots */
static struct connection_list connections = TAILQ_HEAD_INITIALIZER(connections);

/* ---- frames ---- */

static void
add_word(struct lws *wsi, const char *word)
{
	int n;

	n = snprintf(wsi->frames + wsi->len, sizeof(wsi->frames) - wsi->len,
	    "%s%s", wsi->len == 0 ? "" : " ", word);
	assert_in_range(n, 1, sizeof(wsi->frames) - wsi->len - 1);
	wsi->len += (size_t)n;
}

static json_int_t
number_of(const json_t *frame, const char *name)
{

	assert_true(json_is_integer(json_object_get(frame, name)));
	return (json_integer_value(json_object_get(frame, name)));
}

static const char *
text_of(const json_t *frame, const char *name)
{

	assert_true(json_is_string(json_object_get(frame, name)));
	return (json_string_value(json_object_get(frame, name)));
}

/* "ok=5", or "ok" for a frame that answers no id. */
static void
name_answer(const json_t *frame, const char *type, char *ret, size_t size)
{

	if (json_object_get(frame, "re") == NULL)
		(void)snprintf(ret, size, "%s", type);
	else
		(void)snprintf(
		    ret, size, "%s=%lld", type, number_of(frame, "re"));
}

static void
name_frame(const json_t *frame, char *ret, size_t size)
{
	const char *type = text_of(frame, "type");
	char answer[64];

	name_answer(frame, type, answer, sizeof(answer));
	if (strcmp(type, "event") == 0 || strcmp(type, "caught_up") == 0)
		(void)snprintf(
		    ret, size, "%s=%lld", type, number_of(frame, "seq"));
	else if (strcmp(type, "error") == 0)
		(void)snprintf(ret, size, "%s:%lld", answer,
		    number_of(json_object_get(frame, "problem"), "status"));
	else if (strcmp(type, "typing") == 0)
		(void)snprintf(ret, size, "typing=%s", text_of(frame, "from"));
	else if (strcmp(type, "outbox") == 0)
		(void)snprintf(ret, size, "outbox=%s:%s",
		    text_of(frame, "event"),
		    text_of(json_object_get(frame, "entry"), "to"));
	else
		(void)snprintf(ret, size, "%s", answer);
}

static void
note_text(struct lws *wsi, const char *text, size_t n)
{
	json_error_t error;
	json_t *frame;
	char word[128];

	frame = json_loadb(text, n, JSON_REJECT_DUPLICATES, &error);
	if (frame == NULL)
		fail_msg("%.*s: %s", (int)n, text, error.text);
	name_frame(frame, word, sizeof(word));
	json_decref(frame);
	add_word(wsi, word);
	(void)snprintf(wsi->last, sizeof(wsi->last), "%.*s", (int)n, text);
}

static void
note_close(struct lws *wsi, const uint8_t *payload, size_t n)
{
	char word[16];

	if (n == 0)
		(void)snprintf(word, sizeof(word), "CLOSE");
	else
		(void)snprintf(word, sizeof(word), "CLOSE:%d",
		    payload[0] << 8 | payload[1]);
	add_word(wsi, word);
}

static void
note_pong(struct lws *wsi, const char *payload, size_t n)
{
	char word[16 + 125];

	(void)snprintf(word, sizeof(word), "PONG:%.*s", (int)n, payload);
	add_word(wsi, word);
}

/* Reads the head at ${p} and returns its length.  Its length of the payload
 * must have the shortest form (RFC 6455, 5.2). */
static size_t
read_head(const uint8_t *p, size_t n, size_t *ret_len)
{
	size_t len, i, nhead;

	assert_true(n >= 2);
	len = p[1];
	nhead = len == 126 ? 4 : len == 127 ? 10 : 2;
	assert_true(n >= nhead);
	if (nhead > 2)
		for (len = 0, i = 2; i < nhead; i++)
			len = len << 8 | p[i];
	assert_true(nhead == 2 || len >= 126);
	assert_true(nhead < 10 || len > UINT16_MAX);
	*ret_len = len;
	return (nhead);
}

/* Takes the whole frame at ${p} and returns its length. */
static size_t
note_frame(struct lws *wsi, const uint8_t *p, size_t n)
{
	size_t len = 0, nhead = read_head(p, n, &len);
	const uint8_t *payload = p + nhead;

	assert_in_range(len, 0, n - nhead);
	if (p[0] == (0x80 | WS_OP_TEXT))
		note_text(wsi, (const char *)payload, len);
	else if (p[0] == (0x80 | WS_OP_PONG))
		note_pong(wsi, (const char *)payload, len);
	else if (p[0] == (0x80 | WS_OP_PING))
		add_word(wsi, "PING");
	else if (p[0] == (0x80 | WS_OP_CLOSE))
		note_close(wsi, payload, len);
	else
		fail_msg("frame of kind %#x", p[0]);
	return (nhead + len);
}

/* ---- writing ---- */

/* The real library buffers bytes that a full socket does not accept.  Push
 * never relies on this buffer: it writes only while the buffer is empty. */
int
lws_write(struct lws *wsi, unsigned char *buf, size_t len,
    enum lws_write_protocol protocol)
{
	size_t at;

	assert_false(wsi->ended);
	assert_false(wsi->full);
	assert_int_equal(protocol, LWS_WRITE_HTTP);
	if (wsi->fails)
		return (-1);
	for (at = 0; at < len;)
		at += note_frame(wsi, buf + at, len - at);
	wsi->writes++;
	if (wsi->takes > 0 && --wsi->takes == 0)
		wsi->full = true;
	return ((int)len);
}

int
lws_partial_buffered(struct lws *wsi)
{

	assert_false(wsi->ended);
	return (wsi->full);
}

int
lws_callback_on_writable(struct lws *wsi)
{

	assert_false(wsi->ended);
	wsi->wants = true;
	return (1);
}

/* ---- connections ---- */

/* The real library reads the handshake and answers it. */
struct lws *
lws_adopt_descriptor_vhost(struct lws_vhost *vh, lws_adoption_type type,
    lws_sock_file_fd_type fd, const char *vh_prot_name, struct lws *parent)
{
	char head[4096];
	struct lws *wsi;

	assert_ptr_equal(vh, &vhost);
	(void)type;
	(void)vh_prot_name;
	(void)parent;
	wsi = calloc(1, sizeof(*wsi));
	assert_non_null(wsi);
	wsi->fd = fd.sockfd;
	wsi->client = -1;
	if (!starved) {
		wsi->slot = calloc(1, context.slot_size);
		assert_non_null(wsi->slot);
	}
	assert_true(recv(wsi->fd, head, sizeof(head), MSG_DONTWAIT) > 0);
	TAILQ_INSERT_TAIL(&connections, wsi, entry);
	return (wsi);
}

static int
call(struct lws *wsi, enum lws_callback_reasons reason)
{

	return (context.callback(wsi, reason, wsi->slot, NULL, 0));
}

static void
end(struct lws *wsi)
{

	assert_false(wsi->ended);
	if (wsi->begun)
		(void)call(wsi, LWS_CALLBACK_CLOSED);
	(void)call(wsi, LWS_CALLBACK_WSI_DESTROY);
	wsi->ended = true;
	(void)close(wsi->fd);
	add_word(wsi, "END");
}

void
lws_set_timeout(struct lws *wsi, enum pending_timeout reason, int secs)
{

	(void)reason;
	assert_int_equal(secs, LWS_TO_KILL_SYNC);
	if (!wsi->lingers)
		end(wsi);
}

void
library_starve(bool starve)
{

	starved = starve;
}

/* The real library closes a connection without a slot.  Which callbacks it
 * makes before depends on the place at which memory ran out. */
static void
end_starved(struct lws *wsi)
{

	wsi->begun = true;
	assert_int_equal(call(wsi, LWS_CALLBACK_RECEIVE), 0);
	assert_int_equal(call(wsi, LWS_CALLBACK_SERVER_WRITEABLE), 0);
	assert_int_equal(call(wsi, LWS_CALLBACK_ESTABLISHED), -1);
	end(wsi);
}

void
library_run(void)
{
	struct lws *wsi;

	TAILQ_FOREACH (wsi, &connections, entry) {
		if (wsi->ended)
			continue;
		if (wsi->slot == NULL) {
			end_starved(wsi);
			continue;
		}
		if (!wsi->begun) {
			wsi->begun = true;
			assert_int_equal(
			    call(wsi, LWS_CALLBACK_ESTABLISHED), 0);
		}
		if (!wsi->wants || wsi->full)
			continue;
		wsi->wants = false;
		assert_int_equal(call(wsi, LWS_CALLBACK_SERVER_WRITEABLE), 0);
	}
}

struct lws *
library_newest(void)
{

	return (TAILQ_LAST(&connections, connection_list));
}

void
library_each(void (*each)(struct lws *wsi))
{
	struct lws *wsi;

	TAILQ_FOREACH (wsi, &connections, entry)
		if (!wsi->ended)
			each(wsi);
}

void
library_forget(void)
{
	struct lws *wsi;

	while ((wsi = TAILQ_FIRST(&connections)) != NULL) {
		TAILQ_REMOVE(&connections, wsi, entry);
		assert_true(wsi->ended);
		if (wsi->client >= 0)
			(void)close(wsi->client);
		free(wsi->slot);
		free(wsi);
	}
}

void *
lws_get_opaque_user_data(const struct lws *wsi)
{

	return (wsi->opaque);
}

void
lws_set_opaque_user_data(struct lws *wsi, void *data)
{

	wsi->opaque = data;
}

lws_sockfd_type
lws_get_socket_fd(struct lws *wsi)
{

	return (wsi->fd);
}

int
lws_rx_flow_control(struct lws *wsi, int enable)
{

	(void)wsi;
	assert_int_equal(enable, 0);
	return (0);
}

/* The handshake has no token: the token is in hello. */
int
lws_hdr_total_length(struct lws *wsi, enum lws_token_indexes h)
{

	(void)wsi;
	(void)h;
	return (0);
}

int
lws_hdr_copy(struct lws *wsi, char *dest, int len, enum lws_token_indexes h)
{

	(void)wsi;
	(void)dest;
	(void)len;
	(void)h;
	return (-1);
}

/* ---- the context ---- */

struct lws_context *
lws_create_context(const struct lws_context_creation_info *info)
{

	context.user = info->user;
	context.callback = info->protocols[0].callback;
	context.slot_size = info->protocols[0].per_session_data_size;
	return (&context);
}

struct lws_vhost *
lws_create_vhost(
    struct lws_context *of, const struct lws_context_creation_info *info)
{

	assert_ptr_equal(of, &context);
	(void)info;
	return (&vhost);
}

void
lws_context_destroy(struct lws_context *of)
{

	assert_ptr_equal(of, &context);
	library_each(end);
}

struct lws_context *
lws_get_context(const struct lws *wsi)
{

	(void)wsi;
	return (&context);
}

void *
lws_context_user(struct lws_context *of)
{

	return (of->user);
}

void
lws_set_log_level(int level, void (*emit)(int level, const char *line))
{

	(void)level;
	(void)emit;
}

int
lws_return_http_status(
    struct lws *wsi, unsigned int code, const char *html_body)
{

	(void)wsi;
	(void)code;
	(void)html_body;
	fail();
	return (-1);
}

int
lws_callback_http_dummy(struct lws *wsi, enum lws_callback_reasons reason,
    void *user, void *in, size_t len)
{

	(void)wsi;
	(void)reason;
	(void)user;
	(void)in;
	(void)len;
	return (0);
}
