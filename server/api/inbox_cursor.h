/* SPDX-License-Identifier: MIT */
/*
 * The place in a user's inbox after which a page or a stream reads events.  At
 * first it is the place that the client names with a cursor.  Without a cursor
 * it is the acked position of the client's device, or the place just before the
 * oldest event that is kept, whichever is later.  A stream moves it forward.
 * The check of the cursor refuses a cursor of another epoch (the epoch changes
 * when the database may have lost commits), a place beyond the newest event,
 * and a place after which the next event is not kept any more.
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

/* Parses the cursor ${text} into ${c}; does nothing and returns true if ${text}
 * is NULL.  May be called for several texts: the last one that is not NULL
 * determines the place.  Epochs are checked later, by the functions below: they
 * refuse ${c} if any of the texts names another epoch than this node's.  If
 * ${text} is not a cursor, answers the request with a problem that names the
 * text as ${what} ("parameter \"after\""), and returns false. */
bool inbox_cursor_parse(struct call *call, const char *what, const char *text,
    struct inbox_cursor *c);

/* Reads into ${c} the counters of the user's inbox, the acked position of the
 * device and the number of the user's unread messages.  If the client has named
 * no place, sets ${c}->after to the acked position, or to the place just before
 * the oldest event that is kept if that is later.  Then checks the cursor: if
 * it is refused, sets ${c}->refusal and returns RC_OK all the same.  The caller
 * has set ${c}->refusal to REFUSAL_INIT before.  Thread: reader. */
enum rc inbox_cursor_read(struct call *call, struct db *db,
    struct inbox_cursor *c, struct err *err) MUST_USE;

/* For a later read of events after ${c}->after: reads only the counters of the
 * inbox again, and checks the cursor against them.  If the cursor is refused,
 * sets ${c}->refusal and returns RC_OK, like inbox_cursor_read().  Thread:
 * reader. */
enum rc inbox_cursor_check(struct call *call, struct db *db,
    struct inbox_cursor *c, struct err *err) MUST_USE;

#endif
