/* SPDX-License-Identifier: MIT */
/*
 * Shared by loop.c and stream.c: struct loop, with the libwebsockets context,
 * and stream_callback(), which stream.c defines, loop.c registers, and
 * libwebsockets calls for each event of a stream's connection.
 */
#ifndef LIB_LOOP_INTERNAL_H
#define LIB_LOOP_INTERNAL_H

#include <libwebsockets.h>

#include "lib/loop.h"

#define LOOP_PROTOCOL "twinbox.v1"

struct loop {
	struct lws_context *context;
	struct lws_vhost *vhost;
	bool stopped;
};

/* stream.c's callback for all events of its connections. */
int stream_callback(struct lws *wsi, enum lws_callback_reasons reason,
    void *user, void *in, size_t len);

#endif
