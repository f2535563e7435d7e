/* SPDX-License-Identifier: MIT */
/*
 * The verb `server_key`: the life cycle of the keys that this server signs
 * with.
 *
 *	published          signs                    left the document
 *	    |-- an hour --->|-- until a newer one -->|-- a day --->|
 *	created_at       signs_at                              retires_at
 *
 * A key is published in the document of this server (docs/federation.md) an
 * hour before it signs, so that peers that have cached the document know the
 * key by then; if no other key signs, it signs at once.  A key that a newer one
 * has replaced stays in the document for a day, because peers may still verify
 * signatures with it; only a stolen key leaves at once.  Both times are longer
 * than the usual caching time of the document (300 s).  A peer that has cached
 * the document for longer fetches it again when it meets an unknown key.
 *
 * Once there are keys, at least one of them has no retires_at at any time, so
 * it stays in the document.
 *
 * Each unit of this verb, also one that is refused, first retires the keys
 * whose retires_at has passed, and at its end overwrites the seeds of all
 * retired keys in the database.  Older backups still contain these seeds.
 */
#ifndef DELIVERY_SERVER_KEYS_H
#define DELIVERY_SERVER_KEYS_H

#include <stdbool.h>

#include "base/limits.h"
#include "base/rnd.h"
#include "model/refusal.h"
#include "store/server_key.h"
#include "txn/env.h"

/* Milliseconds.  SERVER_KEYS_SIGN_AFTER_MS: from the creation of a key until it
 * signs, unless it signs at once because no other key signs.
 * SERVER_KEYS_LEAVE_AFTER_MS: from the time at which a new key begins to sign
 * until the older keys leave the document, and from the operation
 * SERVER_KEYS_RETIRE until its key leaves the document. */
#define SERVER_KEYS_SIGN_AFTER_MS INT64_C(3600000)
#define SERVER_KEYS_LEAVE_AFTER_MS INT64_C(86400000)

enum server_keys_op {
	/* If no key is published, makes one, which signs at once; otherwise
	 * makes none.  Also used when there are keys, only because every
	 * operation first retires the keys whose retires_at has passed. */
	SERVER_KEYS_ENSURE,
	/* Makes a key, which signs in an hour, or at once if no other key
	 * signs.  All other keys leave the document a day after the new key
	 * begins to sign, or at the retires_at that they have, if it is
	 * earlier.  Refused if STORE_SERVER_KEYS keys are published. */
	SERVER_KEYS_ROTATE,
	/* Key ${key_id} leaves the document in a day.  Refused in three cases:
	 * this key is not published; this key leaves within a day anyway; no
	 * other key has both no retires_at and a signs_at that is at most a day
	 * from now. */
	SERVER_KEYS_RETIRE,
	/* Key ${key_id} was stolen: it is retired at once.  If no other key
	 * signs now, or every other key has a retires_at, a new key is made,
	 * which signs in an hour, or at once if no other key signs.  Refused if
	 * key ${key_id} is not published. */
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

/* Makes ${u} a unit of work for ${op} of the operator ${by}, and its candidate
 * a new key, whose id and seed come from ${rnd}.  The other members are zeroed:
 * the caller sets unit.finish, and key_id if ${op} needs it.
 * Thread: any but the writer. */
void server_keys_unit_init(struct server_keys_unit *u, enum server_keys_op op,
    const char *by, struct rnd *rnd);

/* Wipes the seed of the candidate.  Call it when the unit is finished. */
void server_keys_unit_fini(struct server_keys_unit *u);

/* Returns true if ${key} may be published at ${now_ms}. */
bool server_keys_published(const struct store_server_key *key, int64_t now_ms);

/* Returns the key that signs at ${now_ms}, of ${n} keys in the order of
 * store_server_keys_list(): the published key with the latest signs_at that is
 * not after ${now_ms}.  If there is none, because the clock was put back,
 * returns the published key with the earliest signs_at.  Returns NULL if no key
 * is published. */
const struct store_server_key *server_keys_signer(
    const struct store_server_key *keys, size_t n, int64_t now_ms);

#endif
