/* SPDX-License-Identifier: MIT */
/*
 * A chat from inside: chat.c is the conversation (what comes, what goes, what
 * became of it), chat_offline.c its beginning without the server, chat_lines.c
 * how it looks and what can be typed.
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

	json_int_t shown_upto; /* conversation_seq of what is shown */
	json_int_t read_upto;  /* what was told to be read */
	json_int_t delivered;  /* the peer's marks */
	json_int_t read;

	json_t *own;       /* id -> message of mine that is on the screen, with
			    * "sign" added */
	json_t *before;    /* what was printed before the screen was open, as
			    * arrays of text and tag */
	json_t *in_flight; /* number of a send frame -> ref of its draft */
	json_t *others;    /* name -> messages that came before caught_up */
	bool caught_up;
	int64_t history; /* how many messages to begin with */
	bool offline;    /* it began without the server, which it has not
			  * reached yet */
};

/* The screen is open: it stands below what was printed before. */
void chat_opened(struct chat *chat);

/* Prints a remark between the lines of the conversation. */
void chat_remark(struct chat *chat, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Shows ${message}; an own one with what is known of it, remembered so that
 * its sign can change. */
void chat_show(struct chat *chat, const json_t *message);

/* The own message ${id} has come as far as ${sign}. */
void chat_sign(struct chat *chat, const char *id, const char *sign);

/* The own messages up to conversation_seq ${upto} have ${sign}. */
void chat_sign_upto(struct chat *chat, json_int_t upto, const char *sign);

/* Somebody else than the peer wrote ${message}. */
void chat_show_other(struct chat *chat, const json_t *message);

/* Says who else has written before the chat had caught up. */
void chat_show_others(struct chat *chat);

/* Shows the last ${limit} messages before ${before} (0: of all); *ret_marks
 * is told the peer's marks.  Blocks: a request. */
enum rc chat_history(struct chat *chat, int64_t limit, json_int_t before,
    struct fail *fail) MUST_USE;

/* Takes the id of ${message}'s conversation if it is the one with the peer;
 * whether it is of that conversation. */
bool chat_is_here(struct chat *chat, const json_t *message);

/* ${message} is of the conversation with the peer: shows it, or, an own one
 * that is on the screen, how far it has come. */
void chat_take(struct chat *chat, const json_t *message);

/* Begins without the server, because of ${why}: shows the last messages that
 * this computer has seen, and what waits here for the peer. */
void chat_begin_offline(struct chat *chat, const struct fail *why);

/* The server was reached after all: shows what came meanwhile. */
void chat_end_offline(struct chat *chat);

/* The screen's function for a line that was typed. */
void chat_line(void *arg, const char *line);

/* Sends ${text} to the peer: stored first, then submitted. */
void chat_send(struct chat *chat, const char *text);

#endif
