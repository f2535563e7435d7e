/* SPDX-License-Identifier: MIT */
/*
 * A server without HTTP, on a real database in a fresh directory, for the tests
 * of the data directory, of operations and of the control socket.
 */
#ifndef TESTS_MAIN_WORLD_H
#define TESTS_MAIN_WORLD_H

#include "main/main_internal.h"

#define HASH "$argon2id$v=19$m=65536,t=2,p=1$c2FsdHNhbHRzYWx0$aGFzaA"

struct world {
	char dir[64];
	struct config config;
	struct data data;
	struct db *db;
	struct txn_env *env;
	struct writer *writer;
	struct readers *readers;
	struct control *control;
};

/* For cmocka: makes a world whose writer has no thread; removes what the test
 * has left of it. */
int world_open(void **state);
int world_remove(void **state);

/* Starts the threads, and the control socket. */
void world_serve(struct world *w);

/* Returns the database's row of user ${name}. */
struct store_user world_user(struct world *w, const char *name);

/* An operation on user ${name}; an operation on key ${key_id}. */
struct operation world_user_operation(
    enum operation_id id, const char *name, const char *hash);
struct operation world_key_operation(enum operation_id id, const char *key_id);

#endif
