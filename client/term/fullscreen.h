/* SPDX-License-Identifier: MIT */
/*
 * The whole terminal, taken over for a while: the alternate screen, keys as
 * they are pressed, signals as events.  It is given back as it was, also when
 * the program is told to end or to stop.  There is one terminal, and so one of
 * these.
 */
#ifndef CLI_FULLSCREEN_H
#define CLI_FULLSCREEN_H

#include <signal.h>
#include <stdbool.h>
#include <termios.h>

#include "base/buf.h"
#include "lib/fail.h"

/* What fullscreen_next() tells besides characters. */
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
	FULLSCREEN_CHANGED, /* another size, or back from being stopped */
	FULLSCREEN_END      /* told to end, or the terminal is gone */
};

struct fullscreen {
	int columns, rows;
	int signals; /* readable when one has come; -1: not open */
	bool taken;
	bool clear; /* the next picture is drawn on nothing */
	struct termios before;
	sigset_t mask_before;
	char keys[32]; /* typed and not understood yet */
	size_t nkeys;
};

/* Whether standard input and output are a terminal that can be drawn on; fails
 * with a sentence about ${who} and the cure ${instead} if not. */
enum rc fullscreen_check(
    const char *who, const char *instead, struct fail *fail) MUST_USE;

/* Takes the terminal over. */
enum rc fullscreen_open(struct fullscreen *f, struct fail *fail) MUST_USE;

/* Gives the terminal back, if it was taken. */
void fullscreen_close(struct fullscreen *f);

/* Draws the lines in ${frame}, cut to the size of the terminal. */
void fullscreen_draw(struct fullscreen *f, const struct buf *frame);

/* The next key or event; FULLSCREEN_NONE when there is none now. */
int fullscreen_next(struct fullscreen *f);

#endif
