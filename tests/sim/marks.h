/* SPDX-License-Identifier: MIT */
/*
 * The marks of people: what they have received and read, and what others know
 * of it.  Recorded is what each person asked for, what was answered, and what
 * receipts said.
 */
#ifndef SIM_MARKS_H
#define SIM_MARKS_H

#include "chat/ack.h"
#include "chat/read.h"

struct client;
struct seen;
struct sim;

#define MARK_IDS 3
/* Conversations of a person: with everybody on this server, and with people at
 * two other servers and at the hostile peer. */
#define MARK_TALKS 24

/* A person's part in a conversation.  Numbers are conversation_seq. */
struct talk {
	int64_t conversation;
	int64_t other;  /* who wrote to this person; 0: nobody yet */
	bool in_secret; /* there was a private read */

	/* Asked for: the marks must not be beyond these. */
	int64_t acked, read, shown;
	/* Others' messages, as answered: the marks must reach these. */
	int64_t acked_kept, read_kept, shown_kept;
	/* The marks that receipts reported: about the other person's marks, and
	 * the own ones. */
	int64_t told_delivered, told_read, told_own;
};

/* An ack or a read. */
struct mark {
	bool ack; /* or else a read */
	bool is_private;
	enum read_form form;
	int64_t upto;  /* inbox seq, conversation_seq or the number of ids */
	int64_t nseen; /* events shown to the person at that time */
	int64_t conversation;
	struct uuid public_id;
	struct uuid ids[MARK_IDS];
	int64_t at[MARK_IDS]; /* inbox seqs of these */
};

/* ${c} asks for ${m}.  From now on the server may do it. */
void marks_asked(struct client *c, const struct mark *m);

/* ${m} was answered.  From now on it is done. */
void marks_answered(struct client *c, const struct mark *m);

/* ${c} is shown the receipt ${e}.  Checks it against what its actor has asked
 * for. */
void marks_told(struct sim *s, struct client *c, const struct seen *e);

/* Compares the database with what was asked for and answered. */
void marks_judge(struct sim *s);

/* At the end: checks that everybody got the receipts that they are owed. */
void marks_judge_told(struct sim *s);

#endif
