/* SPDX-License-Identifier: MIT */
/*
 * What an operator does, and the one thing that a sender may do, too: have an
 * own message tried again.  Everything an operator does
 * leaves a row in the audit log, in the same transaction.
 */
#ifndef DELIVERY_OPERATOR_H
#define DELIVERY_OPERATOR_H

#include "base/limits.h"
#include "delivery/destination.h"
#include "model/refusal.h"
#include "txn/env.h"

/* Dead letters in one unit; a long list is many units, so that no
 * commit waits for all of it. */
#define OPERATOR_DEAD_LETTERS 100
#define OPERATOR_REASON_LEN 512
#define OPERATOR_NAME_LEN 253
/* OPERATOR_REWIND by time, and nothing was sent since then. */
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

/* A dead letter of a list, and what became of it. */
struct operator_dead_letter {
	int64_t dead_id;
	bool refused;
	char detail[REFUSAL_DETAIL_SIZE];
};

struct operator_unit {
	struct unit unit; /* first */
	enum operator_op op;

	/* Asked. */
	char by[LIMIT_ADDRESS_LEN + 1];
	int64_t sender_id;   /* OPERATOR_OWN_RETRY: whose it must be */
	struct uuid message; /* …_RETRY, OPERATOR_DISCARD */
	char name[OPERATOR_NAME_LEN + 1];     /* of a destination */
	char reason[OPERATOR_REASON_LEN + 1]; /* OPERATOR_PAUSE; "": none */
	int64_t number;                       /* a rate, a place */
	int64_t lane_id;                      /* OPERATOR_REWIND */
	/* At most OPERATOR_DEAD_LETTERS; kept. */
	struct operator_dead_letter *dead_letters;
	size_t ndead_letters;

	/* Answered, when unit.rc is RC_OK. */
	struct refusal refusal;
	size_t done; /* rows or dead letters */
	void *arg;
};

/* Makes ${u} a unit of work for ${op}, done by ${by}; the rest is zeroed. */
void operator_unit_init(
    struct operator_unit *u, enum operator_op op, const char *by);

#endif
