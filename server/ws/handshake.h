/* SPDX-License-Identifier: MIT */
/*
 * The head of a WebSocket handshake (RFC 6455, 4.2.1), read strictly.  A head
 * is refused unless its request line and the headers of the handshake have the
 * expected form; headers that do not belong to the handshake are allowed.  The
 * caller checks a head before libwebsockets gets a byte of it.  Pure: uses no
 * socket and allocates no memory.  Thread: any.
 */
#ifndef WS_HANDSHAKE_H
#define WS_HANDSHAKE_H

#include <stdbool.h>
#include <stddef.h>

#include "model/refusal.h"

/* The longest head, in bytes: what libwebsockets reads at once. */
#define WS_HANDSHAKE_LEN 4096

enum ws_handshake_state {
	WS_HANDSHAKE_MORE,
	WS_HANDSHAKE_WHOLE,
	WS_HANDSHAKE_REFUSED
};

/* Which heads are accepted, and which pages may open a WebSocket. */
struct ws_handshake_rules {
	const char *path;     /* the path of WebSockets: "/v1/ws" */
	const char *protocol; /* subprotocol that must be offered */
	/* Further Origins that are allowed, separated by spaces or commas.
	 * NULL or "": none. */
	const char *allow_origin;
	/* The scheme and the host of our own pages, as a trusted proxy in front
	 * of this server names them.  NULL or "": not known. */
	const char *scheme; /* not known: http and https are accepted */
	const char *host;   /* not known: the header Host is used */
};

/* Reads the ${n} bytes that have arrived so far, from the first byte of the
 * head.  WS_HANDSHAKE_MORE: the head is not complete, and no complete line of
 * it is malformed; when more bytes have arrived, the caller calls again with
 * all of them.  WS_HANDSHAKE_WHOLE: the head is complete and accepted.
 * WS_HANDSHAKE_REFUSED: the head is at fault, is not complete after
 * WS_HANDSHAKE_LEN bytes, or is followed by further bytes; ${refusal} says why.
 * Its problem is PROBLEM_FORBIDDEN if only the Origin is not allowed, else
 * PROBLEM_BAD_REQUEST. */
enum ws_handshake_state ws_handshake_read(const char *p, size_t n,
    const struct ws_handshake_rules *rules, struct refusal *refusal);

#endif
