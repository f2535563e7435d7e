/* SPDX-License-Identifier: MIT */
/*
 * The frames of WebSocket (RFC 6455, section 5.2): their opcodes, and the head
 * of a frame that a server sends.  Pure.  Thread: any.
 */
#ifndef WS_FRAME_H
#define WS_FRAME_H

#include <stddef.h>
#include <stdint.h>

enum ws_opcode {
	WS_OP_CONTINUATION = 0,
	WS_OP_TEXT = 1,
	WS_OP_BINARY = 2,
	WS_OP_CLOSE = 8,
	WS_OP_PING = 9,
	WS_OP_PONG = 10
};

/* Bytes of the longest payload of a control frame (section 5.5). */
#define WS_CONTROL_LEN 125
/* Bytes of the longest head that a server sends. */
#define WS_HEAD_LEN 10

/* Writes the head of a frame with ${n} bytes of payload into ${head} and
 * returns the length of the head.  The frame is a whole message or a control
 * frame, and its payload is not masked. */
size_t ws_frame_head(
    uint8_t head[WS_HEAD_LEN], enum ws_opcode opcode, size_t n);

#endif
