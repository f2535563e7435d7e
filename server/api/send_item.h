/* SPDX-License-Identifier: MIT */
/*
 * One message on its way from a draft to its outbox entry.
 */
#ifndef API_SEND_ITEM_H
#define API_SEND_ITEM_H

#include "api/api_internal.h"
#include "chat/entry.h"
#include "chat/send.h"

struct send_item {
	struct message_draft draft;
	const struct principal *who;
	char content_type[LIMIT_CONTENT_TYPE_LEN + 1]; /* NUL-terminated */
	struct send_unit unit;
	struct api *api;
	bool counted; /* in its sender's usage */
};

/* What the message of ${item} adds to its sender's usage. */
struct usage_amount send_item_amount(const struct send_item *item);

/* Makes the unit ready from the draft, which is in order by itself: id,
 * recipient, fingerprint, rendered part.  ${prefix} stands before pointers in
 * ${refusal}.  After RC_OK send_item_done() is due. */
enum rc send_item_ready(struct send_item *item, struct api *api,
    const struct principal *who, const char *prefix,
    struct refusal *refusal) MUST_USE;

/* The unit is finished, or was not taken: releases the rendered part, and gives
 * the message back to its sender's quota if it was not accepted just now. */
void send_item_done(struct send_item *item);

/* The entry of a message that was accepted just now. */
void send_item_render(const struct send_item *item, struct buf *b);

#endif
