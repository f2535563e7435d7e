/* SPDX-License-Identifier: MIT */
/*
 * See main_world.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rnd.h"
#include "main_world.h"

int
world_open(void **state)
{
	struct world *w = mem_zalloc(1, sizeof(*w));
	struct err err = ERR_INIT;

	assert_non_null(w);
	(void)snprintf(w->dir, sizeof(w->dir), "/tmp/twinbox-main-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	(void)snprintf(
	    w->config.data, sizeof(w->config.data), "%s/a/data", w->dir);
	assert_int_equal(RC_OK, data_open(&w->config, &w->data, &err));
	assert_int_equal(RC_OK, data_open_db(&w->data, &w->db, &err));
	const struct txn_env_options txn_env_options = {
	    .clk = clk_system(), .rnd = rnd_system(), .expiry_ms = 1000};
	assert_int_equal(RC_OK, txn_env_new(&txn_env_options, &w->env, &err));
	const struct writer_options writer_options = {.db = w->db,
	    .clk = clk_system(),
	    .hooks = txn_env_hooks(w->env),
	    .queue_limit = 100,
	    .checkpoint_bytes = 1 << 20};
	assert_int_equal(RC_OK, writer_new(&writer_options, &w->writer, &err));
	*state = w;
	return (0);
}

int
world_remove(void **state)
{
	static const char *const names[] = {"lock", "control", "twinbox.db",
	    "twinbox.db-wal", "twinbox.db-shm", "twinbox.db-lock"};
	struct world *w = *state;
	char path[200];
	size_t i;

	control_stop(w->control);
	writer_stop(w->writer);
	readers_stop(w->readers);
	writer_free(w->writer);
	txn_env_free(w->env);
	db_close(w->db);
	data_close(&w->data);
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		(void)snprintf(
		    path, sizeof(path), "%s/a/data/%s", w->dir, names[i]);
		(void)unlink(path);
	}
	(void)snprintf(path, sizeof(path), "%s/a/data", w->dir);
	assert_int_equal(0, rmdir(path));
	(void)snprintf(path, sizeof(path), "%s/a", w->dir);
	assert_int_equal(0, rmdir(path));
	assert_int_equal(0, rmdir(w->dir));
	mem_free(w);
	return (0);
}

void
world_serve(struct world *w)
{
	struct db_options options = data_db_options(&w->data);
	struct err err = ERR_INIT;

	assert_int_equal(
	    RC_OK, readers_start(&options, 1, 100, writer_commits(w->writer),
		       &w->readers, &err));
	assert_int_equal(RC_OK, writer_start(w->writer, &err));
	assert_int_equal(RC_OK,
	    control_start(&w->data, w->writer, w->readers, &w->control, &err));
}

struct store_user
world_user(struct world *w, const char *name)
{
	struct store_user user;
	struct err err = ERR_INIT;

	assert_int_equal(
	    RC_OK, store_user_by_name(w->db, name, strlen(name), &user, &err));
	return (user);
}

struct operation
world_user_operation(enum operation_id id, const char *name, const char *hash)
{
	struct operation o;

	operation_init(&o, id);
	(void)snprintf(
	    o.asked.user.name, sizeof(o.asked.user.name), "%s", name);
	(void)snprintf(o.asked.user.password_hash,
	    sizeof(o.asked.user.password_hash), "%s", hash);
	return (o);
}

struct operation
world_key_operation(enum operation_id id, const char *key_id)
{
	struct operation o;

	operation_init(&o, id);
	(void)snprintf(
	    o.asked.key.key_id, sizeof(o.asked.key.key_id), "%s", key_id);
	return (o);
}
