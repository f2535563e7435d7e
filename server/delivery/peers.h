/* SPDX-License-Identifier: MIT */
/*
 * The verb `peer`: changes what is known of another server, because its
 * document was read or because an operator requests it.
 *
 * Which keys are trusted (docs/federation.md, "The document"): the keys that an
 * operator has pinned; if none is pinned, those of the document that was
 * fetched last.
 *
 * Each change by an operator adds a row to the audit log.  A document that
 * changes the trusted keys or the epoch of a peer adds a row for each of the
 * two, but only if the peer is used (store_peer_row.used: for example a user of
 * it is known here), or a key of it is pinned.  The first document of a peer
 * adds no row.
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
	/* The peer's document was read.  The document's keys replace the keys
	 * that are not pinned: of these, the ones that are missing in the
	 * document are retired.  Pinned keys stay as they are.  A peer that is
	 * not known is added. */
	PEER_LEARN,
	/* Pins a key, which may exist already.  Refused if STORE_PEER_KEYS
	 * other keys are pinned. */
	PEER_PIN,
	/* Deletes the peer's keys (also pinned ones), epoch and times of
	 * contact, as if there had been no contact.  A block of the peer and
	 * the nonces of its requests stay.  Refused if the peer is not
	 * known. */
	PEER_FORGET,
	/* Blocks a peer, known or not: until PEER_UNBLOCK, nothing is accepted
	 * from the peer or sent to the peer. */
	PEER_BLOCK,
	/* Refused if the peer is not known. */
	PEER_UNBLOCK,
	/* Unpins a key: the key then counts as a key of the document, and is
	 * retired when a document without this key is read.  While other keys
	 * of the peer are pinned, this key is not trusted.  Refused if the peer
	 * is not known, if the key is not pinned, or if STORE_PEER_KEYS other
	 * keys are neither pinned nor retired. */
	PEER_UNPIN
};

struct peer_unit {
	struct unit unit; /* first */
	enum peer_op op;

	/* Input.  ${domain} must be valid (domain_valid()).  ${by} is the
	 * operator, for the audit log; "" with PEER_LEARN. */
	char domain[LIMIT_DOMAIN_LEN + 1];
	char by[LIMIT_ADDRESS_LEN + 1];
	/* PEER_BLOCK: for the audit log; "": none */
	char reason[PEER_REASON_LEN + 1];
	/* PEER_LEARN: all keys of the document, at least one, with distinct
	 * ids.  PEER_PIN: one key.  PEER_UNPIN: one key, of which only the id
	 * is used.  `pinned_by` is ignored. */
	size_t nkeys;
	struct store_peer_key keys[STORE_PEER_KEYS];
	char epoch[ENVELOPE_EPOCH_LEN + 1]; /* PEER_LEARN; "": none */

	/* Output, valid when unit.rc is RC_OK and nothing is refused. */
	struct refusal refusal;
	struct store_peer_known known; /* the state after the change */
	/* Of PEER_LEARN only: */
	bool is_new;        /* its document had never been read */
	bool keys_changed;  /* the trusted keys of a known peer have changed */
	bool epoch_changed; /* it was restored: it may have lost messages */
	void *arg;
};

/* Makes ${u} a unit of work for ${op} on ${domain}; the rest is zeroed. */
void peer_unit_init(
    struct peer_unit *u, enum peer_op op, const char *domain, const char *by);

#endif
