/* SPDX-License-Identifier: MIT */
/*
 * A place in an inbox; the events after it are read.  It is the place that the
 * client names with a cursor.  Without a cursor it is the acked position of the
 * client's device, or the place just before the oldest event that is kept,
 * whichever is later.  Pages and streams use it.
 */
#ifndef API_INBOX_CURSOR_H
#define API_INBOX_CURSOR_H

#include "rest/call.h"
#include "store/inbox.h"

struct inbox_cursor {
	bool given;         /* the client has named a place */
	bool own_epoch;     /* it names the epoch of this node */
	bool foreign_epoch; /* it names another epoch */
	int64_t after;

	/* From the last read.  Only inbox_cursor_read() sets acked and unread.
	 */
	struct store_counter counter;
	int64_t acked, unread;
	struct refusal refusal; /* set if the cursor is refused */
};

/* Reads the cursor ${text} into ${c}; does nothing if ${text} is NULL.  A
 * refusal calls the text ${what}.  May be called for several texts: the last
 * text determines the place, and the epochs of all texts are checked later.
 * Returns false if the request has been answered. */
bool inbox_cursor_parse(struct call *call, const char *what, const char *text,
    struct inbox_cursor *c);

/* Reads the counters, the acked position and the number of unread messages,
 * sets the place if the client has named none, and checks it.  On RC_OK the
 * result of the check is in refusal.  Thread: reader. */
enum rc inbox_cursor_read(struct call *call, struct db *db,
    struct inbox_cursor *c, struct err *err) MUST_USE;

/* Reads the counters again and checks the place against them.  On RC_OK the
 * result of the check is in refusal.  Thread: reader. */
enum rc inbox_cursor_check(struct call *call, struct db *db,
    struct inbox_cursor *c, struct err *err) MUST_USE;

#endif
