/* SPDX-License-Identifier: MIT */
/*
 * What an operator does at the desk, and the one thing that a sender may do
 * there, too: have his own message tried again.  Everything an operator does
 * leaves a row in the audit log, in the same transaction.
 */
#ifndef DELIVERY_OPERATOR_H
#define DELIVERY_OPERATOR_H

#include "base/limits.h"
#include "model/refusal.h"
#include "txn/env.h"

/* Dead letters in one unit; a long list is many units, so that nobody's
 * commit waits for all of it. */
#define DESK_LETTERS 100
#define DESK_REASON_LEN 512
#define DESK_NAME_LEN 253

enum desk_op {
	DESK_OWN_RETRY,
	DESK_RETRY,
	DESK_DISCARD,
	DESK_REQUEUE_LETTERS,
	DESK_DISCARD_LETTERS,
	DESK_PAUSE,
	DESK_RESUME,
	DESK_RATE,
	DESK_REWIND
};

/* A dead letter of a list, and what became of it. */
struct desk_letter {
	int64_t dead_id;
	bool refused;
	char detail[REFUSAL_DETAIL_SIZE];
};

struct desk_unit {
	struct unit unit; /* first */
	enum desk_op op;

	/* Asked. */
	char by[LIMIT_ADDRESS_LEN + 1];
	int64_t sender_id;                /* DESK_OWN_RETRY: whose it must be */
	struct uuid message;              /* …_RETRY, DESK_DISCARD */
	char name[DESK_NAME_LEN + 1];     /* of a destination */
	char reason[DESK_REASON_LEN + 1]; /* DESK_PAUSE; "": none */
	int64_t number;                   /* a rate, a place */
	int64_t lane_id;                  /* DESK_REWIND */
	struct desk_letter *letters;      /* at most DESK_LETTERS; kept */
	size_t nletters;

	/* Answered, when unit.rc is RC_OK. */
	struct refusal refusal;
	size_t done; /* rows or letters */
	void *arg;
};

/* Makes ${u} a unit of work for ${op}, done by ${by}; the rest is zeroed. */
void desk_unit_init(struct desk_unit *u, enum desk_op op, const char *by);

#endif
