/* SPDX-License-Identifier: MIT */
/*
 * What session.c needs to know of the loop: its libwebsockets context, and how
 * the loop hands the callbacks of a connection to the session that owns it.
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

/* session.c's callback for all that happens on a connection of its own. */
int session_callback(struct lws *wsi, enum lws_callback_reasons reason,
    void *user, void *in, size_t len);

#endif
