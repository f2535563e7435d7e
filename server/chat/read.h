/* SPDX-License-Identifier: MIT */
/*
 * Read: a *person* saw messages of a conversation (cumulative, per
 * conversation, only forward), which gives their sender a read receipt.
 */
#ifndef CHAT_READ_H
#define CHAT_READ_H

#include "model/refusal.h"
#include "txn/env.h"

enum read_form {
	READ_UPTO,         /* by inbox seq; implies ack */
	READ_CONVERSATION, /* by conversation_seq */
	READ_IDS           /* the highest of these in each conversation */
};

struct read_unit {
	struct unit unit; /* first */

	/* Asked. */
	int64_t user_id;
	int64_t device_id;
	enum read_form form;
	int64_t upto; /* inbox seq or conversation_seq */
	struct uuid conversation;
	const struct uuid *ids; /* borrowed until finish */
	size_t nids;
	bool is_private; /* no receipt */

	/* Answered, when unit.rc is RC_OK. */
	struct refusal refusal;
	void *arg;
};

/* Makes ${u} a unit of work. */
void read_unit_init(struct read_unit *u);

#endif
