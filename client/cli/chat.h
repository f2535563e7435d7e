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

/* Prints a remark between the lines of the conversation.  Ends the chat when
 * memory runs out, as chat_show() does. */
void chat_remark(struct chat *chat, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Shows ${message} (NULL: memory has run out).  An own message is shown with a
 * sign for its state (render.h) and remembered, so that the sign can change. */
void chat_show(struct chat *chat, const json_t *message);

/* Changes the sign of own message ${id} to ${sign} (RENDER_WAITING and the
 * others in render.h), unless the message has this sign or one that comes after
 * it: waiting, accepted, delivered, read, failed.  If the message is no longer
 * on the screen, prints a remark if ${sign} is RENDER_FAILED, else nothing.
 * Does nothing for a message that was not shown. */
void chat_sign(struct chat *chat, const char *id, const char *sign);

/* Changes the sign of all shown own messages up to conversation_seq ${upto} to
 * ${sign}, as chat_sign() does. */
void chat_sign_upto(struct chat *chat, json_int_t upto, const char *sign);

/* Shows ${message}, which belongs to another conversation, as one line with its
 * sender.  Until the server has sent all earlier events (caught_up), only
 * counts ${message} for chat_show_others(). */
void chat_show_other(struct chat *chat, const json_t *message);

/* Shows, by sender, how many messages of other conversations came before
 * catching up ended. */
void chat_show_others(struct chat *chat);

/* Shows the last ${limit} messages before conversation_seq ${before} (0: the
 * newest).  Does nothing if ${limit} is 0 or the conversation is not known.
 * Blocks for one request, rest_get(). */
enum rc chat_history(struct chat *chat, int64_t limit, json_int_t before,
    struct fail *fail) MUST_USE;

/* Returns true if ${message} belongs to the conversation with the peer.  While
 * the conversation's id is not known, takes the id from a direct message from
 * or to the peer. */
bool chat_is_here(struct chat *chat, const json_t *message);

/* Shows ${message} of this conversation, unless this or a later message of the
 * conversation was shown.  If ${message} is an own one that was shown, updates
 * its sign instead. */
void chat_take(struct chat *chat, const json_t *message);

/* Begins the chat without the server: shows the last chat->history messages
 * that commands on this computer have shown, then those that wait to be sent to
 * the peer, then the reason in ${why}. */
void chat_begin_offline(struct chat *chat, const struct fail *why);

/* Called when a chat that began offline reaches the server: updates the signs,
 * fetches the newest 200 messages of the conversation (chat->history if none
 * was shown), and shows those that were not shown.  Blocks for its requests and
 * ignores their failure. */
void chat_end_offline(struct chat *chat);

/* Handles a typed line.  Called by the screen; NULL is the end of input. */
void chat_line(void *arg, const char *line);

/* Sends ${text} to the peer: stores the message, then submits it.  Without a
 * session the message stays stored until the next welcome.  Text that is longer
 * than LIMIT_BODY_LEN bytes or not UTF-8 is not sent; a remark reports that. */
void chat_send(struct chat *chat, const char *text);

#endif
