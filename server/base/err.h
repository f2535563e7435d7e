/* SPDX-License-Identifier: MIT */
/*
 * An error with its story.  It lives on the caller's stack, is the last
 * argument, is filled at once where the error arises and is extended from the
 * inside out.  A function that returns an error never logs it; the border
 * (route, thread loop, command line) logs it once.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include "base/rc.h"

struct err {
	enum rc rc;
	int sys; /* errno, 0 if none */
	int ext; /* code of a library (SQLite's extended code), 0 if none */
	char text[256]; /* one line, no newline at its end */
};

#define ERR_INIT                                                               \
	{                                                                      \
		.rc = RC_OK, .sys = 0, .ext = 0, .text = ""                    \
	}

/* Fills ${err} (which may be NULL) with ${rc} and a text; returns ${rc}. */
enum rc err_set(struct err *err, enum rc rc, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* As err_set(), with errno value ${sys}, whose text is appended. */
enum rc err_set_sys(struct err *err, enum rc rc, int sys, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Puts "context: " in front of the text of ${err}; returns its rc (RC_INTERNAL
 * when ${err} is NULL: whoever wraps brings an error of its own). */
enum rc err_wrap(struct err *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
