/* SPDX-License-Identifier: MIT */
/*
 * The server as a whole: start in order, serve, stop in order.  The only
 * place that sees every module.
 */
#ifndef MAIN_SERVER_H
#define MAIN_SERVER_H

#include "base/err.h"
#include "config/config.h"
#include "domain/account.h"

#define TWINBOX_VERSION "0.1.0"

/*
 * The core: data directory, lock, database, domain and writer.  Enough to run
 * a unit of work; `twinboxd user` opens it alone, `twinboxd serve` within.
 */
struct core;

/* Takes the lock, opens the database, migrates, checkpoints, and commits a
 * boot row, so that nothing of an earlier failed sync is served.  RC_BUSY: a
 * server holds the lock. */
enum rc core_open(const struct config *config, struct core **ret,
    struct err *err) MUST_USE;

/* Checkpoints, closes, gives the lock back.  NULL is allowed. */
void core_close(struct core *core);

/* Runs ${u} and waits for it.  Its refusal is in it.  Thread: any but the
 * writer's. */
enum rc core_account(struct core *core, struct account_unit *u,
    struct err *err) MUST_USE;

/* Adds a user with a password, through core_account().  RC_EXISTS, RC_INVALID
 * with the cure in ${err}. */
enum rc core_user_add(struct core *core, const char *name,
    const char *password, bool admin, struct err *err) MUST_USE;

/* Changes a password; revokes all devices.  RC_NOT_FOUND. */
enum rc core_user_passwd(struct core *core, const char *name,
    const char *password, struct err *err) MUST_USE;

/* Disables a user and all his devices.  RC_NOT_FOUND. */
enum rc core_user_disable(
    struct core *core, const char *name, struct err *err) MUST_USE;

/* Serves until SIGTERM or SIGINT.  Returns the exit code. */
int server_run(const struct config *config);

#endif
