/* SPDX-License-Identifier: MIT */
/*
 * Ack and read.  ack = this *device* has it (cumulative, per device); the first
 * device's ack moves rows from sent to acked and gives the sender a delivered
 * receipt.  read = a *person* saw it (cumulative, per conversation, only
 * forward) and gives a read receipt.
 */
#ifndef CHAT_MARK_H
#define CHAT_MARK_H

#include "model/refusal.h"
#include "txn/env.h"

struct ack_unit {
	struct unit unit; /* first */

	/* Asked. */
	int64_t user_id;
	int64_t device_id;
	int64_t upto; /* inbox seq */

	/* Answered, when unit.rc is RC_OK. */
	struct refusal refusal;
	int64_t acked; /* of this device */
	int64_t head;
	void *arg;
};

/* Makes ${u} a unit of work. */
void ack_unit_init(struct ack_unit *u);

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
