/* SPDX-License-Identifier: MIT */
/*
 * A chat on a screen that the test plays: the fixture replaces term/screen.c.
 * In the stage's text "| " stands before a line that was printed, and "|="
 * before one that replaced an earlier line.  A program that links this fixture
 * wraps isatty(), too.
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
	bool terminal_in,
	    terminal_out; /* standard input, output are terminals */
	bool scrolled;    /* no line can be replaced */
	bool typing;      /* the edited line is not empty */
	bool hung_up;
};

extern struct chat_screen chat_screen;

/* For cmocka: a stage with a terminal. */
int chat_set_up(void **state);

/* The user enters ${line}; NULL is the end of input. */
void chat_type(const char *line);

/* The server sends message ${seq} of the conversation ${with}, as event
 * ${seq}. */
void chat_said(struct stage *s, const char *with, int seq, const char *from,
    const char *to, const char *body);

/* The server sends a receipt of ${by} for the conversation ${with}.  ${what} is
 * "read" or "delivered". */
void chat_receipt(struct stage *s, const char *with, const char *by,
    const char *what, int upto);

/* The server answers send frame ${re}: it accepts the message to ${to}, or
 * refuses it. */
void chat_taken(struct stage *s, int re, const char *to);
void chat_refused(struct stage *s, int re, int status, const char *problem);

/* The process gets signal ${number}. */
void chat_signalled(struct stage *s, int number);

/* The first connection is made, and no event was missed before it. */
void chat_connect(struct stage *s);

#endif
