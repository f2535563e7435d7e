/* SPDX-License-Identifier: MIT */
/*
 * A chat on a screen that a test plays, in the place of term/screen.c.  In the
 * stage's text "| " is a line that was printed, "|=" one in the place of one
 * that was printed before.  A program that links this wraps isatty(), too.
 */
#ifndef TESTS_CHAT_FIXTURE_H
#define TESTS_CHAT_FIXTURE_H

#include <stdbool.h>

#include "unit/cli_fixture.h"

#define WITH_BOB "c0000000-0000-7000-8000-00000000000b"
#define WITH_EVE "c0000000-0000-7000-8000-00000000000e"

#define NOBODY_YET "{'conversations':[]}"
#define BOB_DELIVERED_3_READ_2                                                 \
	"{'conversations':[{'id':'" WITH_BOB "','kind':'direct','members':["   \
	"{'address':'ann'},{'address':'bob','delivered':3,'read':2}]}]}"

struct chat_screen {
	bool terminal_in, terminal_out; /* standard input, output are one */
	bool scrolled;                  /* nothing can be replaced */
	bool typing;                    /* the line has something */
	bool hung_up;
};

extern struct chat_screen chat_screen;

/* For cmocka: a stage with a terminal. */
int chat_set_up(void **state);

/* A line is entered; NULL: the end of input. */
void chat_type(const char *line);

/* Message ${seq} of conversation ${with}, as event ${seq}. */
void chat_said(struct stage *s, const char *with, int seq, const char *from,
    const char *to, const char *body);

/* A receipt of ${by} for conversation ${with}: ${what} is "read" or
 * "delivered". */
void chat_receipt(struct stage *s, const char *with, const char *by,
    const char *what, int upto);

/* The answer to send frame ${re}: it was taken for ${to}, or refused. */
void chat_taken(struct stage *s, int re, const char *to);
void chat_refused(struct stage *s, int re, int status, const char *problem);

/* Signal ${number} comes. */
void chat_signalled(struct stage *s, int number);

/* The first connection, with nothing that was missed. */
void chat_connect(struct stage *s);

#endif
