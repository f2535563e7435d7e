/* SPDX-License-Identifier: MIT */
/*
 * A place in an inbox, from which events are read: that which the client names,
 * or the acked position of its device.  Pages and streams share it.
 */
#ifndef API_INBOX_CURSOR_H
#define API_INBOX_CURSOR_H

#include "rest/call.h"
#include "store/inbox.h"

struct inbox_cursor {
	bool given;         /* by the client */
	bool own_epoch;     /* it names the epoch of this node */
	bool foreign_epoch; /* it names another one */
	int64_t after;

	/* As they were read last; acked and unread by inbox_cursor_read(). */
	struct store_counter counter;
	int64_t acked, unread;
	struct refusal refusal; /* problem not NONE: the cursor is refused */
};

/* Reads ${text} (NULL: nothing is given) into ${c}; ${what} names it in the
 * refusal.  Called again, the seq of the later text counts, and the epoch of
 * each text that names one.  False: answered. */
bool inbox_cursor_parse(struct call *call, const char *what, const char *text,
    struct inbox_cursor *c);

/* Reads counters and marks, sets the place where none is given, and checks it:
 * see refusal.  Thread: reader. */
enum rc inbox_cursor_read(struct call *call, struct db *db,
    struct inbox_cursor *c, struct err *err) MUST_USE;

/* Reads the counters and checks the place anew, later.  Thread: reader. */
enum rc inbox_cursor_check(struct call *call, struct db *db,
    struct inbox_cursor *c, struct err *err) MUST_USE;

#endif
