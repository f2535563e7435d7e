/* SPDX-License-Identifier: MIT */
/*
 * The real HTTP server of server/http for fuzz targets, without threads and
 * without waiting.  The rig turns the server's loop by hand, its clock stands
 * still until the rig moves it, and a connection is a socket pair.  The rig has
 * one connection at a time: it sends the given bytes and returns all that the
 * server answered.
 */
#ifndef TESTS_FUZZ_HTTP_RIG_H
#define TESTS_FUZZ_HTTP_RIG_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "http/http.h"

#define RIG_UPGRADE "/v1/ws"

/* Makes the server with ${routes}, whose handlers get ${arg}. */
void rig_start(const struct http_route *routes, void *arg);

/* Sends the ${n} bytes at ${p} on a new connection in ${pieces} pieces, closes
 * the writing side, appends the answers to ${ret}, and moves the clock beyond
 * the deadline.  Then the server must have released the connection and all that
 * belonged to it.  Returns false if the front did not give the connection to an
 * HTTP loop (an upgrade to WebSocket, TLS, or bytes that are not HTTP). */
bool rig_exchange(const uint8_t *p, size_t n, size_t pieces, struct buf *ret);

#endif
