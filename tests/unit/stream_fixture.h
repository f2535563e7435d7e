/* SPDX-License-Identifier: MIT */
/*
 * A client's stream without a network and without waiting.  The fixture
 * replaces libwebsockets' client and the timers of lib: the test accepts
 * connections, hands in frames, and reads the frames that the stream writes.
 * Each call of the stream to its owner becomes a line of text.
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
	 * and its owner's functions (NULL: all of them write to ${told}). */
	const char *server;
	const struct stream_ops *ops;

	/* Results of the library. */
	bool blocked;        /* the connection accepts no frame */
	bool write_fails;    /* the next write breaks the connection */
	bool connect_fails;  /* no connection is made, without a callback */
	bool connect_breaks; /* the new connection has closed already */

	/* Arguments of the stream's calls to the library. */
	int connects;
	char address[64], host[64], path[32];
	int port;
	bool tls;
	int closed_with; /* the last close code that was sent, 0: none */

	char told[2048];
	char written[8192];
};

/* For cmocka: makes a scene without a stream; frees it. */
int scene_set_up(void **state);
int scene_tear_down(void **state);

/* Starts a stream with the cursor ${epoch}:${seq}.  It connects when the test
 * calls scene_timer().  Fails the test if it cannot start. */
void scene_open(struct scene *s, const char *epoch, int64_t seq, bool acks);

/* Frees the stream. */
void scene_close(struct scene *s);

/* Frees the stream, clears the scene and starts another stream. */
void scene_again(struct scene *s, const char *epoch, int64_t seq, bool acks);

/* Returns the time in ms that the stream's timer is set for; -1: it is not
 * set. */
int64_t scene_timer_ms(const struct scene *s);

/* Moves the clock to the time of the stream's timer and lets it fire. */
void scene_timer(struct scene *s);

/* The connection that the stream asked for is established. */
void scene_accept(struct scene *s);

/* Lets the timer fire, accepts the connection, and returns the hello that the
 * stream wrote. */
const char *scene_hello(struct scene *s);

/* As scene_hello(), then sends a welcome with ${epoch}, ${acked}, the largest
 * window and no events that the server no longer keeps. */
void scene_welcome(struct scene *s, const char *epoch, int acked);

/* The connection that the stream asked for fails with HTTP ${status} (0: there
 * was no answer) and ${why} in libwebsockets' words (NULL: none). */
void scene_refuse(struct scene *s, unsigned status, const char *why);

/* The server sends a frame, with ' for each ". */
void scene_say(struct scene *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* The server sends a piece of a frame.  ${final}: it is the last piece. */
void scene_say_piece(struct scene *s, const char *p, size_t n, bool final);

/* The server closes with ${code}. */
void scene_end(struct scene *s, int code);

/* The connection breaks. */
void scene_cut(struct scene *s);

/* Lets the stream write all its frames, and closes the connection if the stream
 * gave it up.  All functions above end with this call. */
void scene_settle(struct scene *s);

/* Returns the stream's calls to its owner since the last call: "event 3; ". */
const char *scene_told(struct scene *s);

/* Returns the frames that the stream wrote since the last call, each with a
 * newline. */
const char *scene_written(struct scene *s);

#endif
