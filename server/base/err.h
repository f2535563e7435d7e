/* SPDX-License-Identifier: MIT */
/*
 * An error and the text that explains it.  It lives on the stack of a caller,
 * or in the object of a call that goes through other threads, and is passed
 * down as the last argument.  The function in which the error arises fills it
 * at once; each function that returns it may put its own context in front of
 * the text (err_wrap()).
 *
 * A function that returns an error never logs it.  The outermost function (a
 * route, the loop of a thread, a command) logs it, once.
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

/* Puts the formatted text and ": " in front of the text of ${err}, changes
 * nothing else in it, and returns its rc.  If ${err} is NULL, returns
 * RC_INTERNAL, because the original result is then not known: a function that
 * wraps and was itself given NULL must use a struct err of its own. */
enum rc err_wrap(struct err *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
