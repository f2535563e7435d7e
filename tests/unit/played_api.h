/* SPDX-License-Identifier: MIT */
/*
 * The store, the writer and the argon2 pool as the handlers of server/api see
 * them.  Calls to them are recorded (played.h).
 */
#ifndef TESTS_PLAYED_API_H
#define TESTS_PLAYED_API_H

#include "played.h"

struct played_api {
	enum rc found; /* the result of a query for one row */
	int64_t rows;  /* rows of each list; of entries: the total */
	bool shared;   /* other nodes serve the same database */
	int64_t head, oldest, acked;
	bool group;             /* conversations are groups */
	int members;            /* members of a group, in histories */
	bool refused, replayed; /* the writer's result */
	bool no_password;       /* the user has no password and cannot log in */
	bool disabled;          /* the user is */
	bool once;              /* the password is a one-time password */
	enum rc pool_rc;
	int state, retry_count; /* of entries */
	bool scheduled;         /* entries are */
};

extern struct played_api world;

/* Plays the writer's work on ${unit}: records its arguments, sets the
 * result. */
void world_apply(struct unit *unit);

/* Calls played_setup() and sets up the store above. */
int world_setup(void **state);
int world_teardown(void **state);

#endif
