/* SPDX-License-Identifier: MIT */
/*
 * The keys that this server signs with, as rows: several nodes share them.
 *
 * A key contains its seed, which is secret.  The code that reads or makes a key
 * wipes that struct in memory (crypt_wipe()) as soon as it is no longer needed.
 * Thread: the owner of ${db}, for all functions.
 */
#ifndef STORE_SERVER_KEY_H
#define STORE_SERVER_KEY_H

#include <stddef.h>
#include <stdint.h>

#include "db/db.h"

/* The most keys that are not retired: as many as a document may publish. */
#define STORE_SERVER_KEYS 8
#define STORE_SERVER_KEY_ID_LEN 64
#define STORE_SERVER_KEY_PUBLIC_SIZE 32
#define STORE_SERVER_KEY_SEED_SIZE 32

/* A key that is not retired.  Times are wall times in milliseconds. */
struct store_server_key {
	char key_id[STORE_SERVER_KEY_ID_LEN + 1];
	uint8_t public[STORE_SERVER_KEY_PUBLIC_SIZE];
	uint8_t seed[STORE_SERVER_KEY_SEED_SIZE]; /* secret */
	int64_t created_at; /* it is published from this time on */
	int64_t signs_at;   /* it may sign from this time on */
	int64_t retires_at; /* it is published until then; 0: for ever */
};

/* Reads the keys that are not retired, at most STORE_SERVER_KEYS, ordered by
 * signs_at, the newest first. */
enum rc store_server_keys_list(struct db *db,
    struct store_server_key ret[STORE_SERVER_KEYS], size_t *ret_n,
    struct err *err) MUST_USE;

/* Adds ${key}, which is published without an end: its retires_at is ignored.
 * RC_EXISTS: a key with this id exists, maybe one that is retired. */
enum rc store_server_key_insert(struct db *db,
    const struct store_server_key *key, struct err *err) MUST_USE;

/* store_server_key_retires_set() sets the time at which key ${key_id} is no
 * longer published; store_server_key_retired_set() retires the key now.
 * RC_NOT_FOUND: no key with this id exists that is not retired. */
enum rc store_server_key_retires_set(struct db *db, const char *key_id,
    int64_t retires_at, struct err *err) MUST_USE;
enum rc store_server_key_retired_set(struct db *db, const char *key_id,
    int64_t now_ms, struct err *err) MUST_USE;

/* Overwrites the seeds of retired keys with zeros.  Nothing is signed with
 * these keys any more, and a person who reads the database later must not be
 * able to sign with them. */
enum rc store_server_keys_wipe(struct db *db, struct err *err) MUST_USE;

#endif
