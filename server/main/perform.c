/* SPDX-License-Identifier: MIT */
/*
 * Performs the operation of an administrative command (such as `user add`).  If
 * another twinboxd holds the lock of the data directory, the command asks the
 * running server over the control socket to perform the operation; else the
 * command opens the database and performs the operation with a writer of its
 * own.
 */
#include "base/clk.h"
#include "base/rnd.h"
#include "cluster/cluster.h"
#include "main/main_internal.h"

/* ---- in a writer that has no thread ---- */

static void
finish(struct unit *unit)
{

	*(bool *)operation_of(unit)->arg = true;
}

enum rc
operation_run(
    struct operation *o, struct db *db, struct writer *writer, struct err *err)
{
	bool done = false;
	enum rc rc;

	if ((rc = operation_prepare(o, db, finish, err)) != RC_OK)
		return (rc);
	o->arg = &done;
	if ((rc = writer_submit(writer, &o->work.unit)) != RC_OK)
		return (err_set(err, rc, "the writer takes nothing"));
	while (!done)
		(void)writer_run_once(writer);
	return (operation_result(o, err));
}

/* ---- without a server ---- */

static void
ignore_fatal(void *arg, const struct err *err)
{

	/* The unit returns the error, so the command ends by itself. */
	(void)arg;
	(void)err;
}

static enum rc
run_alone(const struct data *data, const struct config *config,
    struct operation *o, struct err *err)
{
	struct txn_env_options txn_env_options = {.clk = clk_system(),
	    .rnd = rnd_system(),
	    .expiry_ms = config->expiry_ms,
	    .fatal = ignore_fatal};
	struct writer_options writer_options = {.clk = clk_system(),
	    .queue_limit = 16,
	    .checkpoint_bytes = config->checkpoint_size_bytes};
	struct writer *writer = NULL;
	struct txn_env *env = NULL;
	struct err ignored = ERR_INIT;
	struct db *db;
	enum rc rc;

	if ((rc = data_open_db(data, &db, err)) != RC_OK)
		return (rc);
	rc = txn_env_new(&txn_env_options, &env, err);
	if (rc == RC_OK) {
		writer_options.db = db;
		writer_options.hooks = txn_env_hooks(env);
		rc = writer_new(&writer_options, &writer, err);
	}
	if (rc == RC_OK)
		rc = operation_run(o, db, writer, err);
	/* Other nodes may serve a PostgreSQL database.  Notify them, so that
	 * the rights of a disabled user end there at once.  If this fails, they
	 * find the change within cluster_recheck_ms. */
	if (rc == RC_OK && db_multi_writer(db))
		(void)!cluster_notify_all(db, &ignored);
	writer_free(writer);
	txn_env_free(env);
	db_close(db);
	return (rc);
}

/* ---- either ---- */

enum rc
operation_perform(
    struct operation *o, const struct config *config, struct err *err)
{
	struct data data;
	enum rc rc;

	rc = data_open(config, &data, err);
	if (rc == RC_OK)
		rc = run_alone(&data, config, o, err);
	else if (rc == RC_BUSY)
		rc = control_call(&data, o, err);
	else
		return (rc);
	data_close(&data);
	return (rc);
}
