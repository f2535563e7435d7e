/* SPDX-License-Identifier: MIT */
/*
 * The connection, the timers and the owner of a stream, as the fixture plays
 * them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "unit/fake_time.h"
#include "unit/stream_fixture.h"

/* The one connection that a stream has at a time. */
struct lws {
	void *stream; /* opaque user data; NULL: given up by the stream */
	bool there;   /* asked for, and not closed */
	bool freed;   /* closed, and its last callback has returned */
	bool wants_write, killed;
	bool final;
	unsigned status;
};

/* The one timer of a stream. */
struct loop_timer {
	loop_fn fn;
	void *arg;
	bool pending;
	int64_t ms, due_ms;
};

static struct lws connection;
static struct loop_timer the_timer;
static struct scene *scene;

/* ---- in the place of lib/loop.c ---- */

struct loop_timer *
loop_timer_new(struct loop *loop, loop_fn fn, void *arg)
{

	assert_ptr_equal(loop, &scene->loop);
	memset(&the_timer, 0, sizeof(the_timer));
	the_timer.fn = fn;
	the_timer.arg = arg;
	return (&the_timer);
}

void
loop_timer_free(struct loop_timer *timer)
{

	if (timer != NULL)
		timer->pending = false;
}

void
loop_timer_set(struct loop_timer *timer, int64_t ms)
{

	timer->pending = true;
	timer->ms = ms;
	timer->due_ms = fake_time_ms() + ms;
}

void
loop_timer_cancel(struct loop_timer *timer)
{

	timer->pending = false;
}

/* ---- in the place of libwebsockets ---- */

struct lws *
lws_client_connect_via_info(const struct lws_client_connect_info *info)
{

	scene->connects++;
	(void)snprintf(
	    scene->address, sizeof(scene->address), "%s", info->address);
	(void)snprintf(scene->path, sizeof(scene->path), "%s", info->path);
	(void)snprintf(scene->host, sizeof(scene->host), "%s",
	    info->host != NULL ? info->host : "");
	scene->port = info->port;
	scene->tls = (info->ssl_connection & LCCSCF_USE_SSL) != 0;
	if (scene->connect_fails)
		return (NULL);
	assert_false(connection.there);
	memset(&connection, 0, sizeof(connection));
	connection.stream = info->opaque_user_data;
	connection.there = true;
	*info->pwsi = &connection;
	if (scene->connect_breaks) {
		connection.there = false;
		(void)stream_callback(
		    &connection, LWS_CALLBACK_WSI_DESTROY, NULL, NULL, 0);
		connection.freed = true;
		*info->pwsi = &connection;
	}
	return (&connection);
}

void *
lws_get_opaque_user_data(const struct lws *wsi)
{

	return (wsi->stream);
}

void
lws_set_opaque_user_data(struct lws *wsi, void *data)
{

	assert_false(wsi->freed);
	wsi->stream = data;
}

int
lws_callback_on_writable(struct lws *wsi)
{

	assert_true(wsi->there);
	wsi->wants_write = true;
	return (1);
}

int
lws_write(struct lws *wsi, unsigned char *buf, size_t len,
    enum lws_write_protocol protocol)
{
	size_t n = strlen(scene->written);

	assert_true(wsi->there);
	assert_int_equal(protocol, LWS_WRITE_TEXT);
	if (scene->write_fails)
		return (-1);
	assert_true(n + len + 2 <= sizeof(scene->written));
	memcpy(scene->written + n, buf, len);
	memcpy(scene->written + n + len, "\n", 2);
	return ((int)len);
}

void
lws_close_reason(struct lws *wsi, enum lws_close_status status,
    unsigned char *buf, size_t len)
{

	(void)wsi;
	(void)buf;
	(void)len;
	scene->closed_with = (int)status;
}

void
lws_set_timeout(struct lws *wsi, enum pending_timeout reason, int secs)
{

	(void)reason;
	assert_true(wsi->there);
	assert_int_equal(secs, LWS_TO_KILL_ASYNC);
	wsi->killed = true;
}

unsigned int
lws_http_client_http_response(struct lws *wsi)
{

	return (wsi->status);
}

int
lws_is_final_fragment(struct lws *wsi)
{

	return (wsi->final ? 1 : 0);
}

size_t
lws_remaining_packet_payload(struct lws *wsi)
{

	(void)wsi;
	return (0);
}

/* ---- the owner ---- */

static void tell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void
tell(const char *fmt, ...)
{
	size_t n = strlen(scene->told);
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(scene->told + n, sizeof(scene->told) - n, fmt, ap);
	va_end(ap);
}

static void
on_welcome(void *arg, const json_t *frame)
{

	assert_ptr_equal(arg, scene);
	assert_non_null(json_object_get(frame, "epoch"));
	tell("welcome; ");
}

static void
on_event(void *arg, const json_t *event)
{

	(void)arg;
	tell("event %lld; ",
	    (long long)json_integer_value(json_object_get(event, "seq")));
}

static void
on_caught_up(void *arg)
{

	(void)arg;
	tell("caught up; ");
}

static void
on_sent(void *arg, int64_t re, const json_t *frame)
{

	(void)arg;
	assert_non_null(json_object_get(frame, "type"));
	tell("sent %lld; ", (long long)re);
}

static void
on_refused(void *arg, int64_t re, const struct fail *why)
{

	(void)arg;
	tell("refused %lld %s; ", (long long)re, why->code);
}

static void
on_epoch_changed(void *arg)
{

	(void)arg;
	tell("new epoch; ");
}

static void
on_gap(void *arg, int64_t expected, int64_t oldest)
{

	(void)arg;
	tell("gap %lld to %lld; ", (long long)expected, (long long)oldest - 1);
}

static void
on_lost(void *arg, const struct fail *why, int64_t wait_ms)
{

	(void)arg;
	tell("lost %s, %lld ms; ", why->code, (long long)wait_ms);
}

static void
on_ended(void *arg, const struct fail *why)
{

	(void)arg;
	tell("ended %s; ", why == NULL ? "well" : why->code);
}

static const struct stream_ops telling = {
    .welcome = on_welcome,
    .event = on_event,
    .caught_up = on_caught_up,
    .sent = on_sent,
    .refused = on_refused,
    .epoch_changed = on_epoch_changed,
    .gap = on_gap,
    .lost = on_lost,
    .ended = on_ended,
};

/* ---- the test's side ---- */

static void
fill_zero(struct rnd *rnd, void *p, size_t n)
{

	(void)rnd;
	memset(p, 0, n);
}

int
scene_set_up(void **state)
{

	*state = test_calloc(1, sizeof(struct scene));
	return (0);
}

int
scene_tear_down(void **state)
{

	scene_close(*state);
	test_free(*state);
	return (0);
}

void
scene_open(struct scene *s, const char *epoch, int64_t seq, bool acks)
{
	static struct rnd rnd = {.fill = fill_zero};
	struct stream_options options = {.loop = &s->loop,
	    .server = s->server != NULL ? s->server : SCENE_SERVER,
	    .token = "tb_secret",
	    .epoch = epoch,
	    .seq = seq,
	    .acks = acks,
	    .rnd = &rnd,
	    .ops = s->ops != NULL ? s->ops : &telling,
	    .arg = s};
	struct fail fail = FAIL_INIT;

	fake_time_start();
	memset(&connection, 0, sizeof(connection));
	scene = s;
	assert_int_equal(stream_new(&options, &s->stream, &fail), RC_OK);
	/* The stream must not call its owner before stream_new() has
	 * returned. */
	assert_int_equal(scene_timer_ms(s), 0);
	assert_string_equal(s->told, "");
}

void
scene_close(struct scene *s)
{

	stream_free(s->stream);
	s->stream = NULL;
}

void
scene_again(struct scene *s, const char *epoch, int64_t seq, bool acks)
{

	scene_close(s);
	memset(s, 0, sizeof(*s));
	scene_open(s, epoch, seq, acks);
}

int64_t
scene_timer_ms(const struct scene *s)
{

	(void)s;
	return (the_timer.pending ? the_timer.ms : -1);
}

void
scene_timer(struct scene *s)
{

	assert_true(the_timer.pending);
	if (the_timer.due_ms > fake_time_ms())
		fake_time_move(the_timer.due_ms - fake_time_ms());
	the_timer.pending = false;
	the_timer.fn(the_timer.arg);
	scene_settle(s);
}

/* Calls the stream back because its connection has closed. */
static void
gone(void)
{

	connection.there = false;
	connection.wants_write = false;
	(void)stream_callback(
	    &connection, LWS_CALLBACK_CLIENT_CLOSED, NULL, NULL, 0);
	assert_null(connection.stream);
	connection.freed = true;
}

/* Calls the stream back for ${reason}.  If the stream gives up the connection,
 * closes it, as libwebsockets does. */
static void
call(enum lws_callback_reasons reason, void *in, size_t len)
{

	assert_true(connection.there);
	if (stream_callback(&connection, reason, NULL, in, len) != 0)
		gone();
}

void
scene_settle(struct scene *s)
{

	while (connection.there && connection.wants_write && !s->blocked) {
		connection.wants_write = false;
		call(LWS_CALLBACK_CLIENT_WRITEABLE, NULL, 0);
	}
	if (connection.there && connection.killed)
		gone();
}

void
scene_accept(struct scene *s)
{

	call(LWS_CALLBACK_CLIENT_ESTABLISHED, NULL, 0);
	scene_settle(s);
}

const char *
scene_hello(struct scene *s)
{
	const char *hello;

	scene_timer(s);
	assert_int_equal(stream_state(s->stream), STREAM_CONNECTING);
	(void)scene_written(s);
	scene_accept(s);
	assert_int_equal(stream_state(s->stream), STREAM_GREETING);
	hello = scene_written(s);
	/* The stream must write hello, and nothing else. */
	assert_memory_equal(hello, "{\"type\":\"hello\",", 16);
	assert_ptr_equal(strchr(hello, '\n'), hello + strlen(hello) - 1);
	return (hello);
}

void
scene_welcome(struct scene *s, const char *epoch, int acked)
{

	(void)scene_hello(s);
	scene_say(s,
	    "{'type':'welcome','re':1,'epoch':'%s','acked':%d,"
	    "'head':1000,'oldest':1,'recovered':true,'window':256}",
	    epoch, acked);
}

void
scene_refuse(struct scene *s, unsigned status, const char *why)
{
	char copy[128];

	(void)s;
	assert_true(connection.there);
	connection.there = false;
	connection.status = status;
	(void)snprintf(copy, sizeof(copy), "%s", why != NULL ? why : "");
	(void)stream_callback(&connection, LWS_CALLBACK_CLIENT_CONNECTION_ERROR,
	    NULL, why != NULL ? copy : NULL, strlen(copy));
	assert_null(connection.stream);
	connection.freed = true;
}

void
scene_say(struct scene *s, const char *fmt, ...)
{
	char text[2048];
	va_list ap;
	char *p;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	assert_in_range(n, 0, sizeof(text) - 1);
	for (p = text; *p != '\0'; p++)
		if (*p == '\'')
			*p = '"';
	scene_say_piece(s, text, (size_t)n, true);
}

void
scene_say_piece(struct scene *s, const char *p, size_t n, bool final)
{
	/* The copy is exactly as long as the piece, so that a sanitizer detects
	 * reads past its end. */
	char *copy = test_malloc(n > 0 ? n : 1);

	memcpy(copy, p, n);
	connection.final = final;
	call(LWS_CALLBACK_CLIENT_RECEIVE, copy, n);
	test_free(copy);
	scene_settle(s);
}

void
scene_end(struct scene *s, int code)
{
	unsigned char two[2] = {
	    (unsigned char)(code >> 8), (unsigned char)(code & 0xff)};

	(void)s;
	call(LWS_CALLBACK_WS_PEER_INITIATED_CLOSE, two, 2);
	gone();
}

void
scene_cut(struct scene *s)
{

	(void)s;
	assert_true(connection.there);
	gone();
}

const char *
scene_told(struct scene *s)
{
	static char last[sizeof(s->told)];

	memcpy(last, s->told, sizeof(last));
	s->told[0] = '\0';
	return (last);
}

const char *
scene_written(struct scene *s)
{
	static char last[sizeof(s->written)];

	memcpy(last, s->written, sizeof(last));
	s->written[0] = '\0';
	return (last);
}
