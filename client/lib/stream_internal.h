/* SPDX-License-Identifier: MIT */
/*
 * The internals of a stream: stream.c owns the connection and the state,
 * stream_frames.c reads the server's frames.
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
	char *server; /* copy of options.server */
	char *token;
	char instance[UUID_TEXT_LEN + 1];
	enum stream_state state;
	struct lws *wsi;          /* NULL: not connected */
	struct loop_timer *timer; /* back-off, or time-out of the server */
	struct buf in;            /* a frame that is not complete yet */

	/* The cursor.
	 *  1. seq is the number of the last event that was handed on or
	 *     skipped.  At first it is options.seq, after which the stream
	 *     begins; if that is -1, the welcome replaces it by the last
	 *     seq that this device has acked.  A reset sets it to 0.
	 *  2. Only event seq + 1 is handed on. */
	char epoch[LOCAL_EPOCH_SIZE];
	int64_t seq;
	int64_t base; /* seq at the welcome, where the window starts */
	int64_t ack;  /* last event acked by the owner, 0: none */
	int64_t window;

	bool ack_due;
	bool finishing;
	struct stream_frame *first, **last;
	int64_t last_id;

	int failures;    /* failed attempts in a row */
	int resets;      /* resets of the cursor since the last welcome */
	int64_t live_ms; /* mono_ms of the last welcome, 0: none */
	int64_t wait_ms; /* shortest wait; -1: reconnect at once */
	int close_code;  /* 0: none was sent */
	bool dropped;    /* this side dropped the connection; fail says why */
	struct fail fail;
};

/* Parses the complete frame in stream->in and handles it, which can call the
 * owner's callbacks.  Returns false if the caller must drop the connection;
 * stream->fail then has the reason. */
bool stream_frame_read(struct stream *stream);

/* Sets the state. */
void stream_move(struct stream *stream, enum stream_state state);

/* Resets the cursor to the oldest event, because the server has another epoch
 * or does not know the cursor, and calls epoch_changed().  Does not drop the
 * connection: if it is still open, the caller does that.  The next attempt then
 * follows without back-off. */
void stream_reset(struct stream *stream);

/* Requests a callback when the connection is writable. */
void stream_wake(struct stream *stream);

#endif
