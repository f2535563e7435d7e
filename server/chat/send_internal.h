/* SPDX-License-Identifier: MIT */
/*
 * Declares send_resolve(), with which send.c (the verb and its writes) finds
 * the recipient of a message.  The function is in send_resolve.c.
 */
#ifndef CHAT_SEND_INTERNAL_H
#define CHAT_SEND_INTERNAL_H

#include "chat/send.h"
#include "txn/verb.h"

/* Finds the sender, the recipient and the conversation of ${u}, all owned by
 * the cache.  If the message must be refused, sets u->refusal and *ret_c to
 * NULL, and returns RC_OK, so the caller must check *ret_c.  Adds the rows that
 * are missing (the direct conversation and, for a recipient on another server,
 * the user and the destination) only after all checks of this function have
 * passed.  Thread: writer. */
enum rc send_resolve(struct tx *tx, struct send_unit *u,
    struct cached_user **ret_from, struct cached_user **ret_to,
    struct cached_conversation **ret_c, struct err *err) MUST_USE;

#endif
