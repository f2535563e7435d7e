/* SPDX-License-Identifier: MIT */
/*
 * The verb `server_key`: the life of the keys that this server signs with.
 *
 *	published          signs                    left the document
 *	    |-- an hour --->|-- until a newer one -->|-- a day --->|
 *	created_at       signs_at                              retires_at
 *
 * A key is published an hour before it signs, so that peers that have kept the
 * document know it by then.  A key that signs no longer stays in the document
 * for a day: peers may still be verifying with it.  Both are longer than the
 * time for which a document is kept as a rule (300 s); a peer that has kept one
 * for longer asks again when it meets an unknown key.
 *
 * One key is always there that has no retires_at: it stays.
 *
 * Each unit retires the keys whose time is over, and overwrites the seeds of
 * retired keys.  Backups that were made before still have them.
 */
#ifndef DELIVERY_SERVER_KEYS_H
#define DELIVERY_SERVER_KEYS_H

#include <stdbool.h>

#include "base/limits.h"
#include "base/rnd.h"
#include "model/refusal.h"
#include "store/server_key.h"
#include "txn/env.h"

/* From the making of a key to its first signature, and from there to the end of
 * the older ones; also from a retirement to the end. */
#define SERVER_KEYS_SIGN_AFTER_MS INT64_C(3600000)
#define SERVER_KEYS_LEAVE_AFTER_MS INT64_C(86400000)

enum server_keys_op {
	/* Makes a key that signs at once, if there is none; also what is done
	 * when the time of a key is over. */
	SERVER_KEYS_ENSURE,
	/* Makes a key; the others leave a day after it signs. */
	SERVER_KEYS_ROTATE,
	/* The key leaves in a day, if another one stays that signs by then. */
	SERVER_KEYS_RETIRE,
	/* The key was stolen: it is retired at once.  Where no other one signs
	 * or stays, a new one takes its place. */
	SERVER_KEYS_RETIRE_NOW
};

struct server_keys_unit {
	struct unit unit; /* first */
	enum server_keys_op op;

	/* Asked.  ${by}: the operator, for the audit; "" with ENSURE. */
	char by[LIMIT_ADDRESS_LEN + 1];
	char key_id[STORE_SERVER_KEY_ID_LEN + 1]; /* RETIRE, RETIRE_NOW */
	/* What will be inserted if a key is needed.  Its times are set then. */
	struct store_server_key candidate;

	/* Answered, when unit.rc is RC_OK and nothing is refused. */
	struct refusal refusal;
	bool made;          /* the candidate is a key now */
	int64_t retires_at; /* of the older keys, or of ${key_id}; 0: none */
	void *arg;
};

/* Makes ${u} a unit of work for ${op} with a fresh candidate, whose id and seed
 * come from ${rnd}; the rest is zeroed.  Thread: any but the writer. */
void server_keys_unit_init(struct server_keys_unit *u, enum server_keys_op op,
    const char *by, struct rnd *rnd);

/* Wipes the seed.  The unit is the caller's again. */
void server_keys_unit_fini(struct server_keys_unit *u);

/* Whether ${key} may be published at ${now_ms}. */
bool server_keys_published(const struct store_server_key *key, int64_t now_ms);

/* The one of the ${n} keys, which are sorted as store_server_keys_list() gives
 * them, that signs at ${now_ms}.  Where none may sign yet, because the clock
 * was put back, the one that may first; NULL: none is published. */
const struct store_server_key *server_keys_signer(
    const struct store_server_key *keys, size_t n, int64_t now_ms);

#endif
