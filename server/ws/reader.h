/* SPDX-License-Identifier: MIT */
/*
 * What a WebSocket client sends (RFC 6455, section 5), read strictly and in
 * bounds: frames to whole text messages, pings, pongs and the close.  Pure:
 * bytes in, calls out, no socket, no clock.
 *
 * It stands in front of libwebsockets 4.1.6, which takes unmasked frames,
 * lengths that are longer than they need be and fragments without end, and
 * tells nobody of pings.
 */
#ifndef WS_READER_H
#define WS_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define WS_CONTROL_LEN 125

/* What has been read; the texts are borrowed during the call.  A call that
 * returns false ends the reading: nothing more is told. */
struct ws_reader_ops {
	/* A whole text message, valid UTF-8. */
	bool (*message)(void *arg, const char *text, size_t n);
	bool (*ping)(void *arg, const char *payload, size_t n);
	bool (*pong)(void *arg);
	/* The peer closes with ${code} (1005: it gave none).  The last call. */
	void (*close)(void *arg, int code);
	/* It broke the rules; ${code} is what to close with.  The last call. */
	void (*broken)(void *arg, int code, const char *why);
};

struct ws_reader {
	const struct ws_reader_ops *ops;
	void *arg;
	bool over; /* closed or broken: what comes is ignored */

	/* The frame at hand. */
	uint8_t head[14];
	unsigned have; /* bytes of head; complete when in_frame */
	bool in_frame, fin;
	uint8_t opcode, mask[4];
	unsigned mask_at;
	uint64_t left; /* payload bytes to come */

	size_t most; /* bytes of a message */

	/* The message at hand: text holds what came before this piece. */
	bool in_message;
	int fragments;
	struct buf text;
	char control[WS_CONTROL_LEN];
	size_t control_len;

	uint64_t frames; /* read so far, for those who count */
};

/* Makes ${r} ready for the first byte after the handshake.  Messages have at
 * most LIMIT_HELLO_LEN bytes. */
void ws_reader_init(
    struct ws_reader *r, const struct ws_reader_ops *ops, void *arg);

/* From now on messages have at most LIMIT_REQUEST_LEN bytes. */
void ws_reader_admit(struct ws_reader *r);

/* Whether a message or a frame has come in part. */
bool ws_reader_is_midway(const struct ws_reader *r);

/* Frees what ${r} holds, not ${r}. */
void ws_reader_fini(struct ws_reader *r);

/* Reads ${n} bytes, which it changes (unmasking). */
void ws_reader_feed(struct ws_reader *r, char *p, size_t n);

#endif
