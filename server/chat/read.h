/* SPDX-License-Identifier: MIT */
/*
 * Reads: a *user* saw messages of a conversation.  Reads are cumulative for
 * each conversation and never go back.  Unless the read is private, a read
 * receipt goes, for each conversation, to the sender of the last of the newly
 * read messages that are by other members.  There is no receipt if all newly
 * read messages are the user's own.
 */
#ifndef CHAT_READ_H
#define CHAT_READ_H

#include "model/refusal.h"
#include "txn/env.h"

enum read_form {
	READ_UPTO,         /* by inbox seq; implies ack */
	READ_CONVERSATION, /* by conversation_seq */
	READ_IDS           /* up to the highest of these in each conversation */
};

struct read_unit {
	struct unit unit; /* first */

	/* Input. */
	int64_t user_id;
	int64_t device_id;
	enum read_form form;
	int64_t upto; /* inbox seq or conversation_seq */
	struct uuid conversation;
	const struct uuid *ids; /* borrowed until finish */
	size_t nids;
	bool is_private; /* the sender gets no receipt */

	/* Output, valid when unit.rc is RC_OK. */
	struct refusal refusal;
	void *arg;
};

/* Makes ${u} a unit of work. */
void read_unit_init(struct read_unit *u);

#endif
