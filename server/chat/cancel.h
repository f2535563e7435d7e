/* SPDX-License-Identifier: MIT */
/*
 * Canceling a message: each of its outbox rows whose state is still pending
 * becomes canceled.  The request is refused if no row is pending, or if there
 * is no such message of this sender.
 */
#ifndef CHAT_CANCEL_H
#define CHAT_CANCEL_H

#include "model/refusal.h"
#include "txn/env.h"

struct cancel_unit {
	struct unit unit; /* first */

	/* Input. */
	int64_t sender_id;
	struct uuid id;

	/* Output, valid when unit.rc is RC_OK. */
	struct refusal refusal;
	void *arg;
};

/* Makes ${u} a unit of work. */
void cancel_unit_init(struct cancel_unit *u);

#endif
