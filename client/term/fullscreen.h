/* SPDX-License-Identifier: MIT */
/*
 * Takes over the whole terminal for a live view: the alternate screen, keys as
 * they are pressed, signals as events.  fullscreen_close() restores the
 * terminal; the caller calls it also after FULLSCREEN_END, which
 * fullscreen_next() returns on a signal to end.  On SIGTSTP and Ctrl-Z,
 * fullscreen_next() restores the terminal before it stops the program.  There
 * is one terminal, and so at most one struct fullscreen is open.
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

/* Returns RC_OK if standard input and output are terminals and TERM is neither
 * empty nor "dumb".  Otherwise fails with FAIL_USAGE: the text begins with
 * ${who}, the name of the command, and ${instead} becomes the failure's cure
 * (the advice to the user). */
enum rc fullscreen_check(
    const char *who, const char *instead, struct fail *fail) MUST_USE;

/* Takes the terminal over.  Blocks SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGWINCH,
 * SIGTSTP and SIGCONT, which fullscreen_next() handles; they stay blocked after
 * fullscreen_close().  After a failure the terminal and the signal mask are as
 * before. */
enum rc fullscreen_open(struct fullscreen *f, struct fail *fail) MUST_USE;

/* Restores the terminal, if it was taken over. */
void fullscreen_close(struct fullscreen *f);

/* Draws the lines in ${frame}, cut to the size of the terminal, and clears the
 * rows below them; does nothing if ${frame} ran out of memory.  If a blocked
 * signal is pending while the terminal accepts no output, the rest is not
 * drawn, and the next call clears the screen first. */
void fullscreen_draw(struct fullscreen *f, const struct buf *frame);

/* Does not wait: returns the next key (a byte) or an enum fullscreen_event, and
 * FULLSCREEN_NONE if there is neither a key nor a signal now.  On Ctrl-Z and
 * SIGTSTP it restores the terminal, stops the program and, when the program is
 * continued, returns FULLSCREEN_CHANGED; a later call handles the SIGCONT and
 * takes the terminal over again. */
int fullscreen_next(struct fullscreen *f);

#endif
