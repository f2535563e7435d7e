/* SPDX-License-Identifier: MIT */
/*
 * A stream from inside: stream.c owns connection and state, stream_frames.c
 * reads what the server says.
 */
#ifndef LIB_STREAM_INTERNAL_H
#define LIB_STREAM_INTERNAL_H

#include "base/buf.h"
#include "base/limits.h"
#include "base/uuid.h"
#include "lib/loop_internal.h"
#include "lib/stream.h"

#define STREAM_MAGIC 0x5e551011u
#define STREAM_HELLO_ID 1

/* A frame to be written. */
struct stream_frame {
	struct stream_frame *next;
	size_t len;
	unsigned char data[]; /* LWS_PRE bytes of room, then the text */
};

struct stream {
	unsigned magic;
	struct stream_options options;
	char *server; /* options.server, owned */
	char *token;
	char instance[UUID_TEXT_LEN + 1];
	enum stream_state state;
	struct lws *wsi;          /* NULL: not connected */
	struct loop_timer *timer; /* back-off, or patience with the server */
	struct buf in;            /* a frame that has not come whole */

	/* The cursor.
	 *  1. seq is the last event handed on, -1 before the first welcome of
	 *     a stream that had none.
	 *  2. Only the event seq + 1 is handed on. */
	char epoch[LOCAL_EPOCH_SIZE];
	int64_t seq;
	int64_t base; /* seq at the welcome: the window counts from here */
	int64_t ack;  /* what the owner has acked, 0: nothing */
	int64_t window;

	bool ack_due;
	bool finishing;
	struct stream_frame *first, **last;
	int64_t last_id;

	int failures;    /* since it was last stable */
	int resets;      /* of the cursor, since the last welcome */
	int64_t live_ms; /* mono_ms of the last welcome, 0: none */
	int64_t wait_ms; /* at least, as the server asked */
	int close_code;  /* 0: it did not say */
	bool dropped;    /* this side gave the connection up: why is in fail */
	struct fail fail;
};

/* Reads the whole frame in stream->in.  False: drop the connection, as
 * stream->fail says. */
bool stream_frame_read(struct stream *stream);

/* Changes the state. */
void stream_move(struct stream *stream, enum stream_state state);

/* Forgets the cursor, because the server has another epoch. */
void stream_reset(struct stream *stream);

/* Asks to be called when the connection can be written. */
void stream_wake(struct stream *stream);

#endif
