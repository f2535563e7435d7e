/* SPDX-License-Identifier: MIT */
/*
 * The verb `peer`: what is known of another server changes, because its
 * document was read or because an operator says so.
 *
 * Whose keys are believed (docs/federation.md, "Whose key is it?"): those that
 * an operator has pinned; where none is pinned, those of the document that was
 * fetched last.
 *
 * Operators' changes, and changes of a known peer's keys or epoch, leave a row
 * in the audit log.
 */
#ifndef DELIVERY_PEERS_H
#define DELIVERY_PEERS_H

#include <stdbool.h>

#include "base/limits.h"
#include "model/envelope.h"
#include "model/refusal.h"
#include "store/peer.h"
#include "txn/env.h"

#define PEER_REASON_LEN 512

enum peer_op {
	/* Its document was read.  The document's keys become the keys that are
	 * not pinned; keys that it no longer has are retired.  Pinned keys stay
	 * as they are. */
	PEER_LEARN,
	/* An operator gives a key of it, which may be there already.  Refused:
	 * one key more than STORE_PEER_KEYS. */
	PEER_PIN,
	/* Its keys, pins, epoch and times are deleted, as if it had never been
	 * met.  It stays blocked if it is; nonces stay.  Refused: a peer that
	 * is not known. */
	PEER_FORGET,
	/* Nothing is taken from it or sent to it any more, also if it is not
	 * known yet. */
	PEER_BLOCK,
	/* Refused: a peer that is not known. */
	PEER_UNBLOCK,
	/* A pinned key becomes one that was believed when it was first seen:
	 * the next document that is read keeps or retires it.  While others are
	 * pinned it does not verify.  Refused: a peer that is not known, a key
	 * that is not pinned, and one key more than STORE_PEER_KEYS that are
	 * live and not pinned. */
	PEER_UNPIN
};

struct peer_unit {
	struct unit unit; /* first */
	enum peer_op op;

	/* Asked.  ${domain}: valid as domain_valid() says.  ${by}: the
	 * operator, for the audit; "" with PEER_LEARN. */
	char domain[LIMIT_DOMAIN_LEN + 1];
	char by[LIMIT_ADDRESS_LEN + 1];
	char reason[PEER_REASON_LEN + 1]; /* PEER_BLOCK, for the audit; "" */
	/* PEER_LEARN: all keys of the document, one at least, with different
	 * ids; PEER_PIN: one; PEER_UNPIN: one, of which the id is read.
	 * pinned_by is not read. */
	size_t nkeys;
	struct store_peer_key keys[STORE_PEER_KEYS];
	char epoch[ENVELOPE_EPOCH_LEN + 1]; /* PEER_LEARN; "": none */

	/* Answered, when unit.rc is RC_OK and nothing is refused. */
	struct refusal refusal;
	struct store_peer_known known; /* as it is from now on */
	/* PEER_LEARN: */
	bool is_new;        /* its document had never been read */
	bool keys_changed;  /* a known peer has other believed keys now */
	bool epoch_changed; /* it was restored: it may have lost messages */
	void *arg;
};

/* Makes ${u} a unit of work for ${op} on ${domain}; the rest is zeroed. */
void peer_unit_init(
    struct peer_unit *u, enum peer_op op, const char *domain, const char *by);

#endif
