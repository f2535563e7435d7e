/* SPDX-License-Identifier: MIT */
/*
 * Commands of operators, and the one command that a sender may use as well:
 * retrying an own message.  A command of an operator that is not refused adds
 * one row to the audit log, in the same transaction; a command for a list of
 * dead letters adds one row for each dead letter that it changes.  A retry by a
 * sender adds none.
 */
#ifndef DELIVERY_OPERATOR_H
#define DELIVERY_OPERATOR_H

#include "base/limits.h"
#include "delivery/destination.h"
#include "model/refusal.h"
#include "txn/env.h"

/* Maximum number of dead letters in one operator_unit.  The caller must split a
 * longer list into several units, and pass each to the writer only after the
 * result of the unit before it, so that no other commit waits for the whole
 * list. */
#define OPERATOR_DEAD_LETTERS 100
#define OPERATOR_REASON_LEN 512
#define OPERATOR_NAME_LEN 253
/* OPERATOR_REWIND by time: no row was sent since then. */
#define OPERATOR_NO_PLACE DESTINATION_NO_PLACE

enum operator_op {
	OPERATOR_OWN_RETRY,
	OPERATOR_RETRY,
	OPERATOR_DISCARD,
	OPERATOR_REQUEUE_DEAD_LETTERS,
	OPERATOR_DISCARD_DEAD_LETTERS,
	OPERATOR_PAUSE,
	OPERATOR_RESUME,
	OPERATOR_RATE,
	OPERATOR_REWIND
};

/* A dead letter of a list, and the result for it. */
struct operator_dead_letter {
	int64_t dead_id;
	bool refused;
	char detail[REFUSAL_DETAIL_SIZE];
};

struct operator_unit {
	struct unit unit; /* first */
	enum operator_op op;

	/* Input. */
	char by[LIMIT_ADDRESS_LEN + 1];
	int64_t sender_id;   /* OPERATOR_OWN_RETRY: the required sender */
	struct uuid message; /* …_RETRY, OPERATOR_DISCARD */
	char name[OPERATOR_NAME_LEN + 1];     /* of a destination */
	char reason[OPERATOR_REASON_LEN + 1]; /* OPERATOR_PAUSE; "": none */
	/* OPERATOR_RATE: the rate; OPERATOR_REWIND: a lane_seq */
	int64_t number;
	int64_t lane_id; /* OPERATOR_REWIND */
	/* At most OPERATOR_DEAD_LETTERS; kept. */
	struct operator_dead_letter *dead_letters;
	size_t ndead_letters;

	/* Output, valid when unit.rc is RC_OK. */
	struct refusal refusal;
	size_t done; /* number of rows or dead letters changed */
	void *arg;
};

/* Makes ${u} a unit of work for ${op}, requested by the operator or sender
 * ${by}, whose name is copied.  All other inputs and the outputs are zeroed. */
void operator_unit_init(
    struct operator_unit *u, enum operator_op op, const char *by);

#endif
