/* SPDX-License-Identifier: MIT */
/*
 * See push_fixture.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "unit/push_fixture.h"

const struct timing times = {
    .push_tick_ms = 1000,
    .push_arrival_ms = 6000,
    .push_hello_ms = 5000,
    .push_ping_ms = 25000,
    .push_silence_ms = 35000,
    .push_stalled_ms = 60000,
    .push_stuck_ms = 70000,
    .push_close_ms = 3000,
    .push_linger_ms = 2000,
    .push_drain_quiet_ms = 50,
    .push_drain_most_ms = 1500,
};

struct scene *scene;

#define NEWS_LIMIT (1 << 20)
/* A frame may cause a reply, the reply may cause a close, and each of them
 * needs a pass of the loop. */
#define TURNS 6

/* ---- the scene ---- */

int
scene_set_up(void **state)
{
	struct push_options o = {.effects_limit = NEWS_LIMIT};
	struct err err = ERR_INIT;
	int i;

	(void)state;
	scene = calloc(1, sizeof(*scene));
	assert_non_null(scene);
	clk_fake_init(&scene->clk, 1700000000000);
	/* The module stores 0 for a time that is not set, so the clock must not
	 * read 0. */
	clk_fake_advance(&scene->clk, 1000);
	for (i = 0; i < USERS; i++)
		scene->inboxes[i].oldest = 1;
	scene->metrics = metrics_new();
	o.clk = &scene->clk.clk;
	o.timing = &times;
	o.metrics = scene->metrics;
	o.epoch = "e1";
	o.allow_origin = "";
	o.session_limit = 100;
	o.descriptors = 500;
	o.message_deadline_ms = MESSAGE_DEADLINE_MS;
	o.max_retries = 5;
	if (push_new(&o, &scene->push, &err) != RC_OK)
		fail_msg("%s", err.text);
	(void)uv_timer_stop(&scene->push->timer);
	return (0);
}

int
scene_tear_down(void **state)
{
	int i;

	(void)state;
	/* Every read and unit must have returned before push is freed. */
	scene->readers_rc = scene->writer_rc = RC_CLOSED;
	jobs_run();
	for (i = 0; i < scene->nunits; i++)
		scene->units[i]->finish(scene->units[i]);
	push_stop(scene->push);
	library_forget();
	metrics_free(scene->metrics);
	free(scene);
	return (0);
}

/* ---- time ---- */

void
turn(void)
{
	int i;

	for (i = 0; i < TURNS; i++) {
		(void)uv_run(&scene->push->loop, UV_RUN_NOWAIT);
		library_run();
	}
}

static void
send_frame(struct lws *c, int first, const char *payload, size_t n, int count)
{
	size_t size = (n + 8) * (size_t)count, len = 0;
	char *bytes;

	bytes = malloc(size);
	assert_non_null(bytes);
	while (count-- > 0) {
		bytes[len++] = (char)first;
		bytes[len++] = (char)(0x80 | (n < 126 ? n : 126));
		if (n >= 126) {
			bytes[len++] = (char)(n >> 8);
			bytes[len++] = (char)(n & 0xff);
		}
		memset(bytes + len, 0, 4); /* the mask */
		memcpy(bytes + len + 4, payload, n);
		len += 4 + n;
	}
	assert_int_equal(send(c->client, bytes, len, MSG_NOSIGNAL), len);
	free(bytes);
}

static void
show_life(struct lws *c)
{

	if (!c->mute && c->client >= 0)
		send_frame(c, 0x8a, "", 0, 1);
}

void
pass(int64_t ms)
{
	int64_t step;

	for (; ms > 0; ms -= step) {
		step = ms < times.push_tick_ms ? ms : times.push_tick_ms;
		clk_fake_advance(&scene->clk, step);
		library_each(show_life);
		turn();
		push_tick(scene->push);
		turn();
	}
}

/* ---- clients ---- */

int
client_dial(const char *address)
{
	static const char head[] = "GET /v1/ws HTTP/1.1\r\n"
				   "Host: localhost\r\n"
				   "Connection: Upgrade\r\n"
				   "Upgrade: websocket\r\n"
				   "Sec-WebSocket-Version: 13\r\n"
				   "Sec-WebSocket-Protocol: twinbox.v1\r\n"
				   "Sec-WebSocket-Key: "
				   "dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
	struct push_peer peer = {.address = ""};
	int fds[2];

	(void)snprintf(peer.address, sizeof(peer.address), "%s", address);
	assert_int_equal(
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	assert_int_equal(send(fds[1], head, sizeof(head) - 1, MSG_NOSIGNAL),
	    sizeof(head) - 1);
	push_adopt(scene->push, fds[0], &peer);
	return (fds[1]);
}

struct lws *
client_connect_from(const char *address)
{
	const struct lws *before = library_newest();
	const int fd = client_dial(address);
	struct lws *c;

	turn();
	c = library_newest();
	assert_ptr_not_equal(c, before);
	c->client = fd;
	return (c);
}

struct lws *
client_connect(void)
{

	return (client_connect_from("192.0.2.1"));
}

struct lws *
client_hello(const char *token, const char *more)
{
	struct lws *c = client_connect();
	char hello[512];

	(void)snprintf(hello, sizeof(hello),
	    "{\"type\":\"hello\",\"token\":\"%s\"%s}", token, more);
	say(c, hello);
	return (c);
}

struct lws *
client_open(const char *token, const char *more)
{
	struct lws *c = client_hello(token, more);

	jobs_run();
	assert_int_equal(session_of(c)->state, SESSION_LIVE);
	assert_memory_equal(c->frames, "welcome", 7);
	assert_frames(c, c->frames);
	return (c);
}

void
say(struct lws *c, const char *text)
{

	say_often(c, text, 1);
}

void
say_often(struct lws *c, const char *text, int count)
{

	send_frame(c, 0x81, text, strlen(text), count);
	turn();
}

void
say_ack(struct lws *c, int64_t upto)
{
	char text[64];

	(void)snprintf(text, sizeof(text), "{\"type\":\"ack\",\"upto\":%lld}",
	    (long long)upto);
	say(c, text);
}

void
say_frame(struct lws *c, int first, const char *payload)
{

	send_frame(c, first, payload, strlen(payload), 1);
	turn();
}

void
hang_up(struct lws *c)
{

	(void)close(c->client);
	c->client = -1;
	turn();
}

struct session *
session_of(const struct lws *c)
{
	struct session *s;

	TAILQ_FOREACH (s, &scene->push->all, all)
		if (s->wsi == c)
			return (s);
	fail_msg("the session has ended");
	abort();
}

/* ---- effects ---- */

static struct effects *
effects_of_event(int64_t user, int64_t seq, bool whole)
{
	static const char fragment[] = "\"id\":null,\"body\":\"told\"";
	struct effect_event e = {
	    .user_id = user, .seq = seq, .kind = EVENT_MESSAGE};
	struct err err = ERR_INIT;
	struct effects *effects;

	e.from = text_new("u1", 2);
	if (whole)
		e.message = text_new(fragment, sizeof(fragment) - 1);
	effects = effects_new();
	assert_int_equal(effects_add_event(effects, &e, &err), RC_OK);
	return (effects);
}

void
publish_event(int64_t user, int64_t seq)
{

	push_effects(scene->push, effects_of_event(user, seq, true));
	turn();
}

void
publish_bare_event(int64_t user, int64_t seq)
{

	push_effects(scene->push, effects_of_event(user, seq, false));
	turn();
}

void
arrive(int64_t user)
{

	publish_event(user, ++scene->inboxes[user].head);
}

void
arrive_dropped(int64_t user)
{

	scene->push->options.effects_limit = 0;
	arrive(user);
	scene->push->options.effects_limit = NEWS_LIMIT;
}

void
publish_change(int64_t user, int64_t mid, enum outbox_event event)
{
	const struct effect_change c = {user, mid, event};
	struct effects *effects = effects_new();
	struct err err = ERR_INIT;

	assert_int_equal(effects_add_change(effects, &c, &err), RC_OK);
	push_effects(scene->push, effects);
	turn();
}

void
publish_acked(int64_t user, int64_t device, int64_t seq)
{
	const struct effect_acked a = {user, device, seq};
	struct effects *effects = effects_new();
	struct err err = ERR_INIT;

	if (seq > scene->acked[device])
		scene->acked[device] = seq;
	assert_int_equal(effects_add_acked(effects, &a, &err), RC_OK);
	push_effects(scene->push, effects);
	turn();
}

void
publish_revoked(int64_t device)
{
	const uint8_t hash[STORE_HASH_LEN] = {0};
	struct effects *effects = effects_new();
	struct err err = ERR_INIT;

	scene->revoked[device] = true;
	assert_int_equal(
	    effects_add_revoked(effects, device, hash, &err), RC_OK);
	push_effects(scene->push, effects);
	turn();
}
