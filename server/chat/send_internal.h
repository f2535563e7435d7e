/* SPDX-License-Identifier: MIT */
/*
 * Functions that send.c (the verb and its writes) and send_resolve.c (the
 * recipient of a message) share.
 */
#ifndef CHAT_SEND_INTERNAL_H
#define CHAT_SEND_INTERNAL_H

#include "chat/send.h"
#include "txn/verb.h"

/* Finds the sender, the recipient and the conversation.  On a refusal *ret_c is
 * NULL, u->refusal is set and the result is RC_OK.  A missing user of another
 * server, its destination and a missing conversation are added only after all
 * checks have passed.
 * Thread: writer. */
enum rc send_resolve(struct tx *tx, struct send_unit *u,
    struct cached_user **ret_from, struct cached_user **ret_to,
    struct cached_conversation **ret_c, struct err *err) MUST_USE;

#endif
