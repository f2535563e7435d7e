/* SPDX-License-Identifier: MIT */
/*
 * Reads what a WebSocket client sends (RFC 6455, section 5), strictly and
 * within limits: turns frames into whole text messages, pings, pongs and the
 * close.  Pure: bytes come in and callbacks go out; there is no socket and no
 * clock.  One thread at a time may use a reader.
 *
 * It reads the frames in place of libwebsockets 4.1.6, which accepts unmasked
 * frames, lengths that are not in their shortest form, and endless fragments,
 * and does not report pings.
 */
#ifndef WS_READER_H
#define WS_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "ws/frame.h"

/* The callbacks.  They borrow their texts during the call.  After a callback
 * has returned false, the reader ignores all further bytes. */
struct ws_reader_ops {
	/* A whole text message of ${n} bytes, in valid UTF-8. */
	bool (*message)(void *arg, const char *text, size_t n);
	bool (*ping)(void *arg, const char *payload, size_t n);
	bool (*pong)(void *arg);
	/* The peer closes with ${code}; 1005: it gave none.  No callback
	 * follows. */
	void (*close)(void *arg, int code);
	/* The peer broke the protocol or a limit, or there is no memory (1013);
	 * ${code} is the code to close with, and ${why} the reason, in static
	 * storage.  No callback follows. */
	void (*broken)(void *arg, int code, const char *why);
};

struct ws_reader {
	const struct ws_reader_ops *ops;
	void *arg;
	bool over; /* the end has come: further bytes are ignored */

	/* The current frame. */
	uint8_t head[14];
	unsigned have; /* bytes of head; the header is complete when in_frame */
	bool in_frame, fin;
	uint8_t opcode, mask[4];
	unsigned mask_at;
	uint64_t left; /* bytes of the payload still to come */

	size_t most; /* largest message, in bytes */

	/* The current message; text holds its pieces so far. */
	bool in_message;
	int fragments;
	struct buf text;
	char control[WS_CONTROL_LEN];
	size_t control_len;

	uint64_t frames; /* number of frame headers read so far */
};

/* Initializes ${r}, which borrows ${ops} and ${arg} for its whole life, for the
 * first byte behind the handshake.  Messages may have at most LIMIT_HELLO_LEN
 * bytes until the caller calls ws_reader_admit(). */
void ws_reader_init(
    struct ws_reader *r, const struct ws_reader_ops *ops, void *arg);

/* Allows messages of up to LIMIT_REQUEST_LEN bytes from now on. */
void ws_reader_admit(struct ws_reader *r);

/* Returns true if part of a message or of a frame has arrived. */
bool ws_reader_is_midway(const struct ws_reader *r);

/* Frees what ${r} holds, but not ${r} itself. */
void ws_reader_fini(struct ws_reader *r);

/* Reads ${n} bytes at ${p} and calls the callbacks.  Unmasks the bytes in
 * place.  Ignores the bytes behind the end: a close, a fault, or a callback
 * that has returned false. */
void ws_reader_feed(struct ws_reader *r, char *p, size_t n);

#endif
