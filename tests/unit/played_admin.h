/* SPDX-License-Identifier: MIT */
/*
 * The store as the admin routes see it: each list has a row with everything and
 * one with nothing.  What it is asked is noted (played.h).
 */
#ifndef TESTS_PLAYED_ADMIN_H
#define TESTS_PLAYED_ADMIN_H

#include "played.h"

#include "admin/routes_internal.h"

struct played_admin {
	bool empty;         /* lists have no rows */
	bool more;          /* lists have a next page; not all was looked at */
	bool old;           /* something waits */
	bool counted;       /* there are totals */
	bool bare;          /* the message has no rows */
	bool died;          /* the message has dead letters */
	enum rc message_rc; /* what asking for a message gives */
	enum rc pool_rc;    /* what the argon2 pool says */
	int dead_pages;     /* pages of dead letters that follow */
	int64_t shift_ms;   /* what waits does so since so much later */
	int64_t conversation_seq;
	int64_t letters, looked; /* open ones; what one look finds, 0: all */
	bool refused;            /* what an operator asks for */
	struct inspect_outbox_row shown; /* the first row of a message */
};

extern struct played_admin admin_store;

/* A row with everything. */
struct inspect_outbox_row admin_row_full(void);

/* Notes the command of an operator's unit, and answers it. */
void operator_apply(struct unit *unit);

/* The same for a unit about another server. */
void peer_apply(struct unit *unit);

/* played_setup(), and the above. */
int admin_setup(void **state);

#endif
