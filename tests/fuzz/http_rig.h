/* SPDX-License-Identifier: MIT */
/*
 * The real HTTP server of server/http for fuzz targets, without threads and
 * without waiting: its loop is turned by hand, its clock stands until it is
 * moved, and a connection is a pair of sockets.  One connection at a time:
 * bytes in, all that the server said out.
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

/* Sends ${n} bytes on a fresh connection, in ${pieces} pieces, closes the
 * writing side, reads what comes into ${ret}, and lets time pass.  After the
 * deadline the server must have let go of the connection and of everything that
 * belonged to it.  False: the front gave it to the WebSocket side. */
bool rig_exchange(const uint8_t *p, size_t n, size_t pieces, struct buf *ret);

#endif
