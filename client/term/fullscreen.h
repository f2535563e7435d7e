/* SPDX-License-Identifier: MIT */
/*
 * Takes over the whole terminal for a live view: the alternate screen, keys as
 * they are pressed, signals as events.  The terminal is restored at the end,
 * also when a signal that fullscreen_open() blocks ends or stops the program.
 * There is one terminal, and so at most one struct fullscreen is open.
 */
#ifndef CLI_FULLSCREEN_H
#define CLI_FULLSCREEN_H

#include <signal.h>
#include <stdbool.h>
#include <termios.h>

#include "base/buf.h"
#include "lib/fail.h"

/* The results of fullscreen_next() that are not characters. */
enum fullscreen_event {
	FULLSCREEN_NONE = 0,
	FULLSCREEN_UP = 256,
	FULLSCREEN_DOWN,
	FULLSCREEN_RIGHT,
	FULLSCREEN_LEFT,
	FULLSCREEN_PAGE_UP,
	FULLSCREEN_PAGE_DOWN,
	FULLSCREEN_HOME,
	FULLSCREEN_OTHER,   /* a key without a meaning here */
	FULLSCREEN_CHANGED, /* resized, or continued after a stop */
	FULLSCREEN_END      /* a signal to end, or the terminal is gone */
};

struct fullscreen {
	int columns, rows;
	int signals; /* readable on a signal; -1: not open */
	bool taken;
	bool clear; /* clear the screen before drawing */
	struct termios before;
	sigset_t mask_before;
	char keys[32]; /* typed, not decoded yet */
	size_t nkeys;
};

/* Checks that standard input and output are a terminal that supports drawing.
 * If not, fails with a text about ${who} and the cure ${instead}. */
enum rc fullscreen_check(
    const char *who, const char *instead, struct fail *fail) MUST_USE;

/* Takes the terminal over.  Blocks SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGWINCH,
 * SIGTSTP and SIGCONT, which fullscreen_next() handles; they stay blocked after
 * fullscreen_close(). */
enum rc fullscreen_open(struct fullscreen *f, struct fail *fail) MUST_USE;

/* Restores the terminal, if it was taken over. */
void fullscreen_close(struct fullscreen *f);

/* Draws the lines in ${frame}, cut to the size of the terminal.  Gives up when
 * a signal comes while the terminal accepts no output. */
void fullscreen_draw(struct fullscreen *f, const struct buf *frame);

/* Returns the next key (a byte) or event; FULLSCREEN_NONE if there is none now.
 * On Ctrl-Z and SIGTSTP it blocks until the program is continued. */
int fullscreen_next(struct fullscreen *f);

#endif
