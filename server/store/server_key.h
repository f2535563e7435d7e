/* SPDX-License-Identifier: MIT */
/*
 * The keys that this server signs with, as rows: several nodes share them.
 *
 * A key holds its seed, which is secret: whoever reads or makes one wipes it
 * (crypt_wipe()) when it is no longer needed.
 * Thread: the owner of ${db}, in all of these.
 */
#ifndef STORE_SERVER_KEY_H
#define STORE_SERVER_KEY_H

#include <stddef.h>
#include <stdint.h>

#include "db/db.h"

/* Keys that are not retired, at most: as many as a document may publish. */
#define STORE_SERVER_KEYS 8
#define STORE_SERVER_KEY_ID_LEN 64
#define STORE_SERVER_KEY_PUBLIC_SIZE 32
#define STORE_SERVER_KEY_SEED_SIZE 32

/* A key that is not retired.  Times are wall times in milliseconds. */
struct store_server_key {
	char key_id[STORE_SERVER_KEY_ID_LEN + 1];
	uint8_t public[STORE_SERVER_KEY_PUBLIC_SIZE];
	uint8_t seed[STORE_SERVER_KEY_SEED_SIZE]; /* secret */
	int64_t created_at; /* it is published from here on */
	int64_t signs_at;   /* it may sign from here on */
	int64_t retires_at; /* it is not published from here on; 0: it stays */
};

/* Reads the keys that are not retired, at most STORE_SERVER_KEYS of them, by
 * signs_at, the newest first. */
enum rc store_server_keys_list(struct db *db,
    struct store_server_key ret[STORE_SERVER_KEYS], size_t *ret_n,
    struct err *err) MUST_USE;

/* Adds ${key}, whose retires_at is not looked at.  RC_EXISTS: there is or was
 * one of that id. */
enum rc store_server_key_insert(struct db *db,
    const struct store_server_key *key, struct err *err) MUST_USE;

/* Key ${key_id} leaves the document at ${retires_at}; it is retired now.
 * RC_NOT_FOUND: there is none of that id that is not retired. */
enum rc store_server_key_retires_set(struct db *db, const char *key_id,
    int64_t retires_at, struct err *err) MUST_USE;
enum rc store_server_key_retired_set(struct db *db, const char *key_id,
    int64_t now_ms, struct err *err) MUST_USE;

/* Overwrites the seeds of keys that are retired: nothing is signed with them
 * any more, and whoever reads the database later must not be able to. */
enum rc store_server_keys_wipe(struct db *db, struct err *err) MUST_USE;

#endif
