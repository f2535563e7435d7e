/* SPDX-License-Identifier: MIT */
/*
 * What people have, have read, and let others know of: what each asked for,
 * what he was answered, and what each was told by receipts.
 */
#ifndef SIM_MARKS_H
#define SIM_MARKS_H

#include "chat/ack.h"
#include "chat/read.h"

struct client;
struct seen;
struct sim;

#define MARK_IDS 3
/* Conversations of a person: with everybody here, and with people at two other
 * servers and at the hostile peer. */
#define MARK_TALKS 24

/* A person's part in a conversation; numbers are conversation_seq. */
struct talk {
	int64_t conversation;
	int64_t other;  /* who wrote to him; 0: nobody yet */
	bool in_secret; /* he asked for a private read */

	/* Asked for: no further may the marks be. */
	int64_t acked, read, shown;
	/* Others' messages, as answered: so far they are. */
	int64_t acked_kept, read_kept, shown_kept;
	/* What he was told: of the other one's marks, and of his own. */
	int64_t told_delivered, told_read, told_own;
};

/* An ack or a read that is asked for. */
struct mark {
	bool ack; /* else a read */
	bool is_private;
	enum read_form form;
	int64_t upto;  /* inbox seq, conversation_seq or the number of ids */
	int64_t nseen; /* what he had been shown when he asked */
	int64_t conversation;
	struct uuid public_id;
	struct uuid ids[MARK_IDS];
	int64_t at[MARK_IDS]; /* inbox seqs of these */
};

/* ${c} asks for ${m}; from now on it may be done. */
void marks_asked(struct client *c, const struct mark *m);

/* ${m} was answered: it is done. */
void marks_answered(struct client *c, const struct mark *m);

/* ${c} is shown ${e}, judged against what its actor has asked for. */
void marks_told(struct sim *s, struct client *c, const struct seen *e);

/* What the database says against what was asked for and answered. */
void marks_judge(struct sim *s);

/* At the end: everybody was told what he is owed. */
void marks_judge_told(struct sim *s);

#endif
