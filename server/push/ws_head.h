/* SPDX-License-Identifier: MIT */
/*
 * The head of a WebSocket handshake (RFC 6455, 4.2.1), read strictly: one way
 * to say it, everything else is refused before libwebsockets sees a byte of it.
 * Pure: no socket, no memory of its own.
 */
#ifndef PUSH_WS_HEAD_H
#define PUSH_WS_HEAD_H

#include <stdbool.h>
#include <stddef.h>

#include "model/refusal.h"

/* A head is at most so long: what libwebsockets reads at once. */
#define WS_HEAD_LEN 4096

enum ws_head_state { WS_HEAD_MORE, WS_HEAD_WHOLE, WS_HEAD_REFUSED };

/* Who may open a WebSocket from a browser. */
struct ws_head_rules {
	const char *path;         /* of the WebSocket: "/v1/ws" */
	const char *protocol;     /* that must be offered */
	const char *allow_origin; /* words beside our own; NULL or "": none */
	/* What a believed proxy says of our own; NULL or "": not known. */
	const char *scheme; /* then both are taken */
	const char *host;   /* then it is in the header Host */
};

/* Reads the ${n} bytes that have come so far.  WS_HEAD_MORE: the head goes on,
 * and nothing speaks against it yet.  WS_HEAD_REFUSED: ${refusal} says why. */
enum ws_head_state ws_head_read(const char *p, size_t n,
    const struct ws_head_rules *rules, struct refusal *refusal);

#endif
