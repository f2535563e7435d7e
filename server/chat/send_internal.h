/* SPDX-License-Identifier: MIT */
/*
 * Functions that send.c (the verb and its writes) and send_resolve.c (to whom a
 * message goes) share.
 */
#ifndef CHAT_SEND_INTERNAL_H
#define CHAT_SEND_INTERNAL_H

#include "chat/send.h"
#include "txn/verb.h"

/* Finds sender, recipient and conversation; a refusal leaves *ret_c NULL.
 * Decides first: what is new (a user of another server, that server, the
 * conversation) is made last.  Thread: writer. */
enum rc send_resolve(struct tx *tx, struct send_unit *u,
    struct cached_user **ret_from, struct cached_user **ret_to,
    struct cached_conversation **ret_c, struct err *err) MUST_USE;

#endif
