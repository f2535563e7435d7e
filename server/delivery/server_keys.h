/* SPDX-License-Identifier: MIT */
/*
 * The verb `server_key`: the life cycle of the keys that this server signs
 * with.
 *
 *	published          signs                    left the document
 *	    |-- an hour --->|-- until a newer one -->|-- a day --->|
 *	created_at       signs_at                              retires_at
 *
 * A key is published an hour before it signs, so that peers that have cached
 * the document know the key by then.  A key that no longer signs stays in the
 * document for a day, because peers may still verify signatures with it.  Both
 * times are longer than the usual caching time of a document (300 s).  A peer
 * that has cached one for longer fetches it again when it meets an unknown key.
 *
 * At any time at least one key has no retires_at: it stays.
 *
 * Each unit retires the keys whose time has passed, and overwrites the seeds of
 * retired keys.  Older backups still contain them.
 */
#ifndef DELIVERY_SERVER_KEYS_H
#define DELIVERY_SERVER_KEYS_H

#include <stdbool.h>

#include "base/limits.h"
#include "base/rnd.h"
#include "model/refusal.h"
#include "store/server_key.h"
#include "txn/env.h"

/* The time from the creation of a key to its first signature, and from there
 * until the older keys leave the document.  The second time also applies to a
 * retirement. */
#define SERVER_KEYS_SIGN_AFTER_MS INT64_C(3600000)
#define SERVER_KEYS_LEAVE_AFTER_MS INT64_C(86400000)

enum server_keys_op {
	/* Makes a key that signs at once, if there is none.  Also used to
	 * retire keys whose time has passed. */
	SERVER_KEYS_ENSURE,
	/* Makes a key.  The other keys leave the document a day after it begins
	 * to sign, or earlier if they have to anyway.  Refused if
	 * STORE_SERVER_KEYS keys are published. */
	SERVER_KEYS_ROTATE,
	/* The key leaves the document in a day.  Refused if the key leaves by
	 * then anyway, or if no other key stays that signs by then. */
	SERVER_KEYS_RETIRE,
	/* The key was stolen: it is retired at once.  If no other key signs, or
	 * none stays, a new key replaces it. */
	SERVER_KEYS_RETIRE_NOW
};

struct server_keys_unit {
	struct unit unit; /* first */
	enum server_keys_op op;

	/* Input.  ${by} is the operator, for the audit log; "" with ENSURE. */
	char by[LIMIT_ADDRESS_LEN + 1];
	char key_id[STORE_SERVER_KEY_ID_LEN + 1]; /* RETIRE, RETIRE_NOW */
	/* The key that is inserted if one is needed.  Its times are set
	 * then. */
	struct store_server_key candidate;

	/* Output, valid when unit.rc is RC_OK and nothing is refused. */
	struct refusal refusal;
	bool made;          /* the candidate was inserted */
	int64_t retires_at; /* of the older keys, or of ${key_id}; 0: none */
	void *arg;
};

/* Makes ${u} a unit of work for ${op} with a new candidate, whose id and seed
 * come from ${rnd}; the rest is zeroed.
 * Thread: any but the writer. */
void server_keys_unit_init(struct server_keys_unit *u, enum server_keys_op op,
    const char *by, struct rnd *rnd);

/* Wipes the seed of the candidate.  Call it when the unit is finished. */
void server_keys_unit_fini(struct server_keys_unit *u);

/* Returns true if ${key} may be published at ${now_ms}. */
bool server_keys_published(const struct store_server_key *key, int64_t now_ms);

/* Returns the key that signs at ${now_ms}, of ${n} keys in the order of
 * store_server_keys_list().  If no key may sign yet because the clock was put
 * back, returns the one that may sign first.  Returns NULL if none is
 * published. */
const struct store_server_key *server_keys_signer(
    const struct store_server_key *keys, size_t n, int64_t now_ms);

#endif
