/* SPDX-License-Identifier: MIT */
/*
 * The internals of a chat. chat.c handles events and sends messages,
 * chat_offline.c starts without the server, chat_lines.c shows the lines and
 * handles the typed commands.
 */
#ifndef CLI_CHAT_H
#define CLI_CHAT_H

#include "base/uuid.h"
#include "cli/bell.h"
#include "cli/follow.h"
#include "term/screen.h"

struct chat {
	struct follow follow; /* first */
	struct bell bell;
	struct screen *screen; /* NULL: not open yet */
	const char *peer;
	char conversation[UUID_TEXT_LEN + 1]; /* "" until there is one */
	struct uuid_gen ids;

	json_int_t shown_upto; /* highest shown conversation_seq */
	json_int_t read_upto;  /* highest one marked as read */
	json_int_t delivered;  /* the peer's watermarks */
	json_int_t read;

	json_t *own;    /* id -> message of mine that was shown, with
			 * "sign" added */
	json_t *before; /* lines printed before the screen was open, as arrays
			   of text and tag */
	json_t *in_flight; /* number of a send frame -> ref of its draft */
	json_t *others;    /* name -> messages that came before caught_up */
	bool caught_up;
	int64_t history; /* how many messages to show first */
	bool offline; /* it began without the server, which it has not reached
			 yet */
};

/* Hands the lines that were printed before to the screen, which is open now. */
void chat_opened(struct chat *chat);

/* Prints a remark, cut to 511 bytes, between the lines of the conversation.
 * Ends the chat when memory runs out or, before the screen is open, when the
 * output fails. */
void chat_remark(struct chat *chat, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Shows ${message}, which stays the caller's.  A message that this user has
 * sent is shown with a sign for its state (render.h), and a copy is kept in
 * chat->own, so that chat_sign() can change the sign.  If ${message} is NULL,
 * because the caller had no memory for it, or if memory runs out, ends the
 * chat. */
void chat_show(struct chat *chat, const json_t *message);

/* Changes the sign of own message ${id} to ${sign} (RENDER_WAITING and the
 * others in render.h), unless the message has this sign already or a later one
 * in the order waiting, accepted, delivered, read, failed.  If the message is
 * not on the screen any more, prints a remark if ${sign} is RENDER_FAILED, else
 * nothing.  Does nothing for a message that was not shown. */
void chat_sign(struct chat *chat, const char *id, const char *sign);

/* Changes the sign of all shown own messages whose conversation_seq is known
 * and at most ${upto} to ${sign}, as chat_sign() does. */
void chat_sign_upto(struct chat *chat, json_int_t upto, const char *sign);

/* Shows ${message}, which another user has sent to another conversation, as one
 * line with its sender.  While chat->caught_up is false (on this connection,
 * the server has not yet sent all events that wait in the inbox), only counts
 * ${message} by its sender for chat_show_others(). */
void chat_show_other(struct chat *chat, const json_t *message);

/* Shows, by sender, how many messages of other conversations came before
 * catching up ended. */
void chat_show_others(struct chat *chat);

/* Reads from the server the last ${limit} messages before conversation_seq
 * ${before} (0: the newest) and shows them, also those that were shown already.
 * Does nothing and returns RC_OK if ${limit} is 0 or the conversation is not
 * known.  Blocks for one request, rest_get(), and returns its failure. */
enum rc chat_history(struct chat *chat, int64_t limit, json_int_t before,
    struct fail *fail) MUST_USE;

/* Returns true if ${message} belongs to the conversation with the peer.  While
 * the conversation's id is not known, takes the id from a direct message from
 * or to the peer. */
bool chat_is_here(struct chat *chat, const json_t *message);

/* Handles ${message} of this conversation.  If chat->own has it (a message that
 * this user has sent and that was shown), stores its conversation_seq and
 * changes its sign according to the peer's watermarks.  Otherwise shows it,
 * unless its conversation_seq is at most chat->shown_upto.  In both cases, then
 * raises chat->shown_upto to its conversation_seq if that is higher, unless the
 * chat is ending. */
void chat_take(struct chat *chat, const json_t *message);

/* Begins the chat without the server: shows the last chat->history messages of
 * the conversation with the peer that commands on this computer have shown,
 * then the messages that wait to be sent to the peer, then the reason in
 * ${why}. */
void chat_begin_offline(struct chat *chat, const struct fail *why);

/* Called when a chat that began offline has its first connection.  Finds the
 * conversation on the server, updates the signs by the peer's watermarks,
 * fetches the newest 200 messages of the conversation (only the newest
 * chat->history if no message with a conversation_seq was shown), and passes
 * them to chat_take().  Blocks for its requests; if one fails or there is no
 * conversation yet, skips the rest. */
void chat_end_offline(struct chat *chat);

/* Handles a typed line.  Called by the screen; NULL is the end of input. */
void chat_line(void *arg, const char *line);

/* Sends ${text} to the peer: stores the message in the client's outbox, shows
 * it and submits it.  If the stream is not connected, the message waits in the
 * outbox and is submitted on the next connection.  A message that is longer
 * than LIMIT_BODY_LEN bytes, is not UTF-8 or cannot be stored is not sent; a
 * remark reports that. */
void chat_send(struct chat *chat, const char *text);

#endif
