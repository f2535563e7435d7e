/* SPDX-License-Identifier: MIT */
/*
 * The store as the admin routes see it: each list has one row with all members
 * set, and one with none.  Calls to the store are recorded (played.h).
 */
#ifndef TESTS_PLAYED_ADMIN_H
#define TESTS_PLAYED_ADMIN_H

#include "played.h"

#include "admin/routes_internal.h"

struct played_admin {
	bool empty;         /* lists have no rows */
	bool more;          /* lists have a next page; counts are partial */
	bool old;           /* some messages wait */
	bool counted;       /* the totals are known */
	bool bare;          /* the message has no rows */
	bool died;          /* the message has dead letters */
	enum rc message_rc; /* the result of a query for a message */
	enum rc pool_rc;    /* the result of the argon2 pool */
	int dead_pages;     /* further pages of dead letters */
	int64_t shift_ms;   /* added to the time since when messages wait */
	int64_t conversation_seq;
	int64_t letters,
	    looked;    /* open ones; the rows that one query reads, 0: all */
	int64_t apart; /* number of the first ones that match no filter */
	bool refused;  /* an operator's change is refused */
	struct inspect_outbox_row shown; /* the first row of a message */
};

extern struct played_admin admin_store;

/* A row with all members set. */
struct inspect_outbox_row admin_row_full(void);

/* Plays an operator's unit: records its command and sets the result. */
void operator_apply(struct unit *unit);

/* The same for a unit about another server. */
void peer_apply(struct unit *unit);

/* Calls played_setup() and sets up the store above. */
int admin_setup(void **state);

#endif
