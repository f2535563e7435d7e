/* SPDX-License-Identifier: MIT */
/*
 * Peers: other servers whose document (the list of public keys that a server
 * publishes) this server has read, or of which an operator has pinned a key, or
 * that an operator has blocked.  The name of a peer is that of its destination.
 *
 * A key verifies signatures if it is pinned.  If no key of the peer is pinned,
 * all keys verify that are not retired: the keys in its document when this
 * server last read it, and keys that an operator has unpinned since.
 *
 * Thread: the owner of ${db}, for all functions.
 */
#ifndef STORE_PEER_H
#define STORE_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"
#include "db/db.h"
#include "model/envelope.h"

/* The most keys of one peer that can be pinned, and also the most keys that are
 * neither pinned nor retired: a document has at most 8.  So at most 8 verify at
 * the same time, because either the pinned ones verify or the others. */
#define STORE_PEER_KEYS 8
/* The most retired keys of one peer that are kept.  The limit keeps a peer that
 * changes its document again and again from taking more room. */
#define STORE_PEER_KEYS_RETIRED 16
/* All keys of a peer that are stored: of its document, pinned, retired. */
#define STORE_PEER_KEYS_ALL (2 * STORE_PEER_KEYS + STORE_PEER_KEYS_RETIRED)
#define STORE_PEER_KEY_ID_LEN 64
#define STORE_PEER_PUBLIC_SIZE 32

struct store_peer_key {
	char key_id[STORE_PEER_KEY_ID_LEN + 1];
	uint8_t public[STORE_PEER_PUBLIC_SIZE];
	char pinned_by[LIMIT_ADDRESS_LEN + 1]; /* "": not pinned */
};

/* A peer as requests need it: with the keys that verify now. */
struct store_peer_known {
	int64_t destination_id;
	char domain[LIMIT_DOMAIN_LEN + 1];
	char epoch[ENVELOPE_EPOCH_LEN + 1]; /* "": not known */
	bool blocked;
	size_t nkeys; /* in the order of their ids */
	struct store_peer_key keys[STORE_PEER_KEYS];
};

/* Finds peer ${domain}.  RC_NOT_FOUND: there is no such peer row.  Either no
 * document of the peer was ever read and no operator has pinned a key of it or
 * blocked it, or the row was deleted since (by an operator or as too old). */
enum rc store_peer_known(struct db *db, const char *domain,
    struct store_peer_known *ret, struct err *err) MUST_USE;

/* ---- rows ---- */

/* A peer as operators see it.  Times are wall time in milliseconds. */
struct store_peer_row {
	int64_t destination_id;
	char domain[LIMIT_DOMAIN_LEN + 1];
	int64_t first_seen_at; /* 0: its document was never read */
	int64_t last_seen_at;
	char epoch[ENVELOPE_EPOCH_LEN + 1]; /* "": not known */
	int64_t blocked_at;                 /* 0: not blocked */
	char blocked_by[LIMIT_ADDRESS_LEN + 1];
	/* The numbers of keys that are not retired, and of keys that are
	 * pinned. */
	int64_t live, pinned;
	/* A user of the peer is known here, or the pause, the rate or the
	 * circuit breaker of its destination was set at least once.  Pins and
	 * blocks do not count. */
	bool used;
};

/* Finds peer ${domain}; RC_NOT_FOUND: there is none. */
enum rc store_peer_get(struct db *db, const char *domain,
    struct store_peer_row *ret, struct err *err) MUST_USE;

typedef enum rc (*store_peer_fn)(
    void *arg, const struct store_peer_row *row, struct err *err);

/* Calls ${each} for at most ${limit} peers whose destination ids are above
 * ${after}, in ascending order of these ids.  The row that ${each} gets is
 * valid until ${each} returns.  ${each} must not use ${db}. */
enum rc store_peers_after(struct db *db, int64_t after, int64_t limit,
    store_peer_fn each, void *arg, struct err *err) MUST_USE;

/* Adds the peer row of the destination, with both times 0 (never in contact)
 * and without epoch and block.  If the row exists, it stays unchanged: RC_OK.
 */
enum rc store_peer_insert(
    struct db *db, int64_t destination_id, struct err *err) MUST_USE;

/* Stores the times, the epoch and the block of ${row}. */
enum rc store_peer_set(
    struct db *db, const struct store_peer_row *row, struct err *err) MUST_USE;

/* Deletes a peer, whose keys must have been deleted before. */
enum rc store_peer_delete(
    struct db *db, int64_t destination_id, struct err *err) MUST_USE;

/* ---- keys ---- */

struct store_peer_key_row {
	struct store_peer_key key;
	int64_t first_seen_at, last_seen_at;
	int64_t retired_at; /* 0: not retired */
	bool verifies;      /* as the comment of this file says */
};

struct store_peer_keys {
	size_t n; /* in the order of their ids */
	struct store_peer_key_row rows[STORE_PEER_KEYS_ALL];
};

/* Reads all keys of a peer, also retired ones. */
enum rc store_peer_keys(struct db *db, int64_t destination_id,
    struct store_peer_keys *ret, struct err *err) MUST_USE;

/* Adds ${key}, or replaces the key with the same id and its pin ("" in
 * pinned_by: the key is not pinned afterwards).  The key is not retired
 * afterwards.  Its first_seen_at is ${now_ms}, unless the replaced key has the
 * same public key, whose first_seen_at then stays; last_seen_at is ${now_ms}.
 */
enum rc store_peer_key_put(struct db *db, int64_t destination_id,
    const struct store_peer_key *key, int64_t now_ms, struct err *err) MUST_USE;

/* Retires key ${key_id}, unless it is pinned or retired already. */
enum rc store_peer_key_retire(struct db *db, int64_t destination_id,
    const char *key_id, int64_t now_ms, struct err *err) MUST_USE;

/* Deletes retired keys, except the STORE_PEER_KEYS_RETIRED that were retired
 * last. */
enum rc store_peer_keys_trim(
    struct db *db, int64_t destination_id, struct err *err) MUST_USE;

/* Deletes all keys of a peer. */
enum rc store_peer_keys_delete(
    struct db *db, int64_t destination_id, struct err *err) MUST_USE;

#endif
