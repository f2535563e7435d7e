/* SPDX-License-Identifier: MIT */
/*
 * Acks: a *device* has received its user's inbox up to a seq.  Acks are
 * cumulative for each device.  When the first of a user's devices acks a
 * message, the outbox row of the message moves from sent to acked (a message
 * from another server has no outbox row here).  For each conversation, one
 * "delivered" receipt goes to the sender of the last newly acked message, and
 * covers all messages up to that message.  No receipt is sent if a read has
 * already shown that this last message was received.
 */
#ifndef CHAT_ACK_H
#define CHAT_ACK_H

#include "model/refusal.h"
#include "txn/env.h"

struct ack_unit {
	struct unit unit; /* first */

	/* Input. */
	int64_t user_id;
	int64_t device_id;
	int64_t upto; /* inbox seq */

	/* Output, valid when unit.rc is RC_OK. */
	struct refusal refusal;
	int64_t acked; /* watermark of this device */
	int64_t head;
	void *arg;
};

/* Makes ${u} a unit of work. */
void ack_unit_init(struct ack_unit *u);

#endif
