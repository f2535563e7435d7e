/* SPDX-License-Identifier: MIT */
/*
 * The store, the writer and the argon2 pool as the handlers of server/api see
 * them.  What they are asked is noted (played.h).
 */
#ifndef TESTS_PLAYED_API_H
#define TESTS_PLAYED_API_H

#include "played.h"

struct played_api {
	enum rc found; /* what asking for one thing gives */
	int64_t rows;  /* of lists; of entries: all there are */
	bool shared;   /* other nodes serve the same database */
	int64_t head, oldest, acked;
	bool group;             /* conversations are */
	int members;            /* of them, for histories */
	bool refused, replayed; /* what the writer does */
	bool no_password;       /* the user cannot log in */
	bool disabled;          /* the user is */
	bool once;              /* the password is a one-time one */
	enum rc pool_rc;
	int state, retry_count; /* of entries */
	bool scheduled;         /* entries are */
};

extern struct played_api world;

/* Notes what a unit asks, and answers it. */
void world_apply(struct unit *unit);

/* played_setup(), and the above. */
int world_setup(void **state);
int world_teardown(void **state);

#endif
