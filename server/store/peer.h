/* SPDX-License-Identifier: MIT */
/*
 * Other servers: those that have been in contact, and those of which an
 * operator has pinned a key or that an operator has blocked.  A peer's name is
 * that of its destination.
 *
 * Keys verify if they are pinned; where none is pinned, if they are in the
 * document that was read last.
 * Thread: the owner of ${db}, in all of these.
 */
#ifndef STORE_PEER_H
#define STORE_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"
#include "db/db.h"
#include "model/envelope.h"

/* Keys of one peer that are good at once: those of its document (8), or those
 * that operators have pinned. */
#define STORE_PEER_KEYS 8
/* Keys of one peer that are kept although they are retired: a peer that
 * changes its document again and again takes no more room. */
#define STORE_PEER_KEYS_RETIRED 16
/* All keys that a peer has here: of its document, pinned, retired. */
#define STORE_PEER_KEYS_ALL (2 * STORE_PEER_KEYS + STORE_PEER_KEYS_RETIRED)
#define STORE_PEER_KEY_ID_LEN 64
#define STORE_PEER_PUBLIC_SIZE 32

struct store_peer_key {
	char key_id[STORE_PEER_KEY_ID_LEN + 1];
	uint8_t public[STORE_PEER_PUBLIC_SIZE];
	char pinned_by[LIMIT_ADDRESS_LEN + 1]; /* "": not pinned */
};

/* A peer as requests need it: the keys that verify now. */
struct store_peer_known {
	int64_t destination_id;
	char domain[LIMIT_DOMAIN_LEN + 1];
	char epoch[ENVELOPE_EPOCH_LEN + 1]; /* "": not known */
	bool blocked;
	size_t nkeys; /* in the order of their ids */
	struct store_peer_key keys[STORE_PEER_KEYS];
};

/* Peer ${domain}; RC_NOT_FOUND: it has never been in contact, or was
 * forgotten, and no operator has pinned a key of it or blocked it. */
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
	int64_t blocked_at;                 /* 0: it is not blocked */
	char blocked_by[LIMIT_ADDRESS_LEN + 1];
	int64_t live, pinned; /* keys that are not retired; that are pinned */
	bool used; /* somebody of it is known here, or it was paused */
};

/* Peer ${domain}; RC_NOT_FOUND. */
enum rc store_peer_get(struct db *db, const char *domain,
    struct store_peer_row *ret, struct err *err) MUST_USE;

typedef enum rc (*store_peer_fn)(
    void *arg, const struct store_peer_row *row, struct err *err);

/* Those after ${after} by the id of their destination, at most ${limit}; ${row}
 * is borrowed, and ${each} may not use ${db}. */
enum rc store_peers_after(struct db *db, int64_t after, int64_t limit,
    store_peer_fn each, void *arg, struct err *err) MUST_USE;

/* Makes a peer of ${destination_id} that was never in contact, if it is not
 * there. */
enum rc store_peer_insert(
    struct db *db, int64_t destination_id, struct err *err) MUST_USE;

/* Stores times, epoch and block of ${row}. */
enum rc store_peer_set(
    struct db *db, const struct store_peer_row *row, struct err *err) MUST_USE;

/* Deletes a peer, which has no keys. */
enum rc store_peer_delete(
    struct db *db, int64_t destination_id, struct err *err) MUST_USE;

/* ---- keys ---- */

struct store_peer_key_row {
	struct store_peer_key key;
	int64_t first_seen_at, last_seen_at;
	int64_t retired_at; /* 0: it is not */
	bool verifies;      /* see above */
};

struct store_peer_keys {
	size_t n; /* in the order of their ids */
	struct store_peer_key_row rows[STORE_PEER_KEYS_ALL];
};

/* All keys of a peer, retired ones too. */
enum rc store_peer_keys(struct db *db, int64_t destination_id,
    struct store_peer_keys *ret, struct err *err) MUST_USE;

/* Adds ${key}, or puts it in the place of the one with its id; it is live. */
enum rc store_peer_key_put(struct db *db, int64_t destination_id,
    const struct store_peer_key *key, int64_t now_ms, struct err *err) MUST_USE;

/* Key ${key_id} is retired, unless it is pinned or retired already. */
enum rc store_peer_key_retire(struct db *db, int64_t destination_id,
    const char *key_id, int64_t now_ms, struct err *err) MUST_USE;

/* Deletes retired keys but the last STORE_PEER_KEYS_RETIRED. */
enum rc store_peer_keys_trim(
    struct db *db, int64_t destination_id, struct err *err) MUST_USE;

/* Deletes all keys of a peer. */
enum rc store_peer_keys_delete(
    struct db *db, int64_t destination_id, struct err *err) MUST_USE;

#endif
