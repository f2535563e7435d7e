/* SPDX-License-Identifier: MIT */
/*
 * The part of the loop that stream.c uses: the libwebsockets context, and the
 * way in which callbacks of a connection reach the stream that owns it.
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

/* stream.c's callback for all that happens on a connection of its own. */
int stream_callback(struct lws *wsi, enum lws_callback_reasons reason,
    void *user, void *in, size_t len);

#endif
