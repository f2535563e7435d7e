/* SPDX-License-Identifier: MIT */
/*
 * A client's stream without a network and without waiting.  The fixture has
 * its own functions in the place of libwebsockets' client and of lib's timers:
 * the test accepts connections, hands in frames, and reads the frames that the
 * stream writes.  What the stream tells its owner becomes a line of text.
 */
#ifndef TESTS_STREAM_FIXTURE_H
#define TESTS_STREAM_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/loop_internal.h"
#include "lib/stream.h"

#define SCENE_SERVER "http://server.example:8080"

struct scene {
	struct loop loop;
	struct stream *stream;

	/* Set before scene_open(): the stream's server (NULL: SCENE_SERVER)
	 * and its owner's functions (NULL: all of them write to told). */
	const char *server;
	const struct stream_ops *ops;

	/* What the library answers. */
	bool blocked;        /* the connection takes no frame */
	bool write_fails;    /* the next write breaks the connection */
	bool connect_fails;  /* no connection, without a callback */
	bool connect_breaks; /* a connection is named that is gone already */

	/* What the stream asked of the library. */
	int connects;
	char address[64], host[64], path[32];
	int port;
	bool tls;
	int closed_with; /* the last close code that it wrote, 0: none */

	char told[2048];
	char written[8192];
};

/* For cmocka: makes a scene without a stream; frees it. */
int scene_set_up(void **state);
int scene_tear_down(void **state);

/* Starts a stream with cursor ${epoch}, ${seq}; it connects once
 * scene_timer() is called.  Fails the test if it cannot. */
void scene_open(struct scene *s, const char *epoch, int64_t seq, bool acks);

/* Frees the stream. */
void scene_close(struct scene *s);

/* Frees the stream, clears the scene and starts another stream. */
void scene_again(struct scene *s, const char *epoch, int64_t seq, bool acks);

/* How long the stream's timer is set for; -1: it is not set. */
int64_t scene_timer_ms(const struct scene *s);

/* Moves the clock to the time of the stream's timer and lets it fire. */
void scene_timer(struct scene *s);

/* The connection that was asked for is there. */
void scene_accept(struct scene *s);

/* The same, from the timer on, until the hello was written; returns it. */
const char *scene_hello(struct scene *s);

/* As scene_hello(), then a welcome with ${epoch} and ${acked}, the largest
 * window and nothing that is not kept. */
void scene_welcome(struct scene *s, const char *epoch, int acked);

/* The connection that was asked for cannot be made: HTTP ${status} (0: there
 * was no answer), ${why} in libwebsockets' words (NULL: it has none). */
void scene_refuse(struct scene *s, unsigned status, const char *why);

/* The server says a frame, with ' for each ". */
void scene_say(struct scene *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* The server says a piece of a frame; ${final} with its last one. */
void scene_say_piece(struct scene *s, const char *p, size_t n, bool final);

/* The server closes with ${code}. */
void scene_end(struct scene *s, int code);

/* The connection breaks. */
void scene_cut(struct scene *s);

/* Lets the stream write what it wants to, and closes what it gave up.  All
 * functions above do this at their end. */
void scene_settle(struct scene *s);

/* What the stream told its owner since the last call: "event 3; ". */
const char *scene_told(struct scene *s);

/* The frames that it wrote since the last call, each with a newline. */
const char *scene_written(struct scene *s);

#endif
