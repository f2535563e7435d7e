/* SPDX-License-Identifier: MIT */
/*
 * The head of a WebSocket handshake (RFC 6455, 4.2.1), read strictly: one way
 * to say it, everything else is refused before libwebsockets sees a byte of it.
 * Pure: no socket, no memory of its own.
 */
#ifndef WS_HANDSHAKE_H
#define WS_HANDSHAKE_H

#include <stdbool.h>
#include <stddef.h>

#include "model/refusal.h"

/* A head is at most so long: what libwebsockets reads at once. */
#define WS_HANDSHAKE_LEN 4096

enum ws_handshake_state {
	WS_HANDSHAKE_MORE,
	WS_HANDSHAKE_WHOLE,
	WS_HANDSHAKE_REFUSED
};

/* Who may open a WebSocket from a browser. */
struct ws_handshake_rules {
	const char *path;         /* of the WebSocket: "/v1/ws" */
	const char *protocol;     /* that must be offered */
	const char *allow_origin; /* words beside our own; NULL or "": none */
	/* What a believed proxy says of our own; NULL or "": not known. */
	const char *scheme; /* then both are taken */
	const char *host;   /* then it is in the header Host */
};

/* Reads the ${n} bytes that have come so far.  WS_HANDSHAKE_MORE: the head goes
 * on, and nothing speaks against it yet.  WS_HANDSHAKE_REFUSED: ${refusal} says
 * why. */
enum ws_handshake_state ws_handshake_read(const char *p, size_t n,
    const struct ws_handshake_rules *rules, struct refusal *refusal);

#endif
