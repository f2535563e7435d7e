/* SPDX-License-Identifier: MIT */
/*
 * The simulated server.  See server.h.
 *
 * After its death at a call of the disk, no call reaches the disk any more.
 * Code that still runs gets errors, as in a process whose machine has failed,
 * and its answers are dropped.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "chat/account.h"
#include "crypt/crypt.h"
#include "schema/sql.h"
#include "sim/client.h"
#include "sim/heart.h"
#include "sim/rows.h"
#include "sim/server.h"
#include "store/account.h"
#include "store/epoch.h"
#include "store/recovery.h"

static const char *const names[SIM_CLIENTS] = {"ann", "ben", "cyd", "dot"};

/* ---- events for the clients ---- */

static void
on_wake(void *arg, struct wake *wake)
{
	struct sim *s = arg;

	if (s->server->heart != NULL)
		heart_wake(s, wake);
	else
		wake_free(wake);
}

static void
on_effects(void *arg, struct effects *effects)
{
	struct sim *s = arg;
	size_t i;

	if (!s->server->dying)
		for (i = 0; i < effects->nevents; i++)
			client_hears(s, effects->events[i].user_id);
	effects_free(effects);
}

static void
on_fatal(void *arg, const struct err *err)
{
	struct sim *s = arg;

	if (!s->server->dying && !s->server->doomed)
		sim_tell(s, "server: the store has failed: %s", err->text);
	s->server->fatal = true;
}

/* ---- the disk ---- */

struct plvfs *
server_disk(const struct sim *s)
{

	return (s->server->disks[s->server->disk]);
}

static void
on_call(void *arg, enum plvfs_call call)
{
	struct sim *s = arg;
	struct server *v = s->server;

	if (v->doom_at == 0 || (call & (PLVFS_SHM | PLVFS_SHM_LOCK)) != 0 ||
	    ++v->calls < v->doom_at)
		return;
	v->doom_at = 0;
	v->doomed = true;
	plvfs_dead(server_disk(s), true);
	s->counts.deaths_at_io++;
	sim_tell(s, "server: gone at a call of the disk (%d)", (int)call);
}

void
server_doom(struct sim *s, uint64_t n, bool by_power)
{
	struct server *v = s->server;

	v->doom_at = n;
	v->calls = 0;
	v->by_power = by_power;
	plvfs_watch(server_disk(s), on_call, s);
}

/* Puts what a power cut leaves of this disk on the other disk. */
static void
cut_power(struct sim *s)
{
	static const unsigned keep[] = {0, 45, 85, 100};
	struct server *v = s->server;
	unsigned kept = keep[sim_dice(s, 4)];

	plvfs_cut(server_disk(s), sim_dice(s, 1 << 20), kept,
	    kept == 100 ? 0 : (unsigned)sim_dice(s, 15), v->disks[1 - v->disk]);
	v->disk = 1 - v->disk;
}

void
server_starve(struct sim *s)
{
	int64_t k = 1 + (int64_t)sim_dice(s, 120);

	s->server->starving = true;
	s->counts.starved++;
	sim_tell(s, "server: allocation %lld will fail", (long long)k);
	s->server->starve = k;
	mem_fail_at(k);
}

void
server_event_begins(struct sim *s)
{

	if (s->w->fed != NULL && s->server->starve > 0)
		mem_fail_at(s->server->starve);
}

void
server_event_ends(struct sim *s)
{

	if (s->w->fed == NULL || s->server->starve == 0)
		return;
	if (!mem_fail_pending())
		s->server->starve = 0;
	mem_fail_at(0);
}

/* ---- queries of the simulator ---- */

sqlite3_stmt *
server_ask(const struct sim *s, const char *sql)
{
	struct server *v = s->server;
	size_t i;

	for (i = 0; i < SERVER_ASKS && v->asks[i].sql != NULL; i++)
		if (v->asks[i].sql == sql)
			return (v->asks[i].st);
	assert(i < SERVER_ASKS);
	if (sqlite3_prepare_v2(v->look, sql, -1, &v->asks[i].st, NULL) ==
	    SQLITE_OK) {
		v->asks[i].sql = sql;
		return (v->asks[i].st);
	}
	/* A disk out of reach is an ordered fault.  Any other error is a bug of
	 * the simulator. */
	if (!v->doomed && !plvfs_failed(server_disk(s))) {
		(void)fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(v->look));
		abort();
	}
	return (NULL);
}

void
server_asked(sqlite3_stmt *st)
{

	if (st == NULL)
		return;
	(void)sqlite3_reset(st);
	(void)sqlite3_clear_bindings(st);
}

static void
close_look(struct server *v)
{
	size_t i;

	for (i = 0; i < SERVER_ASKS && v->asks[i].sql != NULL; i++)
		(void)sqlite3_finalize(v->asks[i].st);
	memset(v->asks, 0, sizeof(v->asks));
	(void)sqlite3_close(v->look);
	v->look = NULL;
}

/* ---- dying ---- */

static void
try_start(struct sim *s, void *arg, int64_t n)
{
	bool by_power;

	(void)arg;
	(void)n;
	if (s->server->up || s->server->held)
		return;
	/* The server may die during its start, too. */
	if (sim_chance(s, 3 * s->weather.crash)) {
		by_power = sim_chance(s, 500);
		/* After a failed sync, a power cut in the first checkpoint may
		 * damage the file (ARCHITECTURE.md, known gaps). */
		server_doom(
		    s, 1 + sim_dice(s, 80), by_power && !s->server->unsynced);
	}
	if (sim_chance(s, 3 * s->weather.memory))
		server_starve(s);
	server_start(s);
}

/* Frees all that a process has in memory. */
static void
take_down(struct sim *s)
{
	struct server *v = s->server;

	v->dying = true;
	plvfs_dead(server_disk(s), true);
	close_look(v);
	if (v->writer != NULL) {
		writer_stop(v->writer);
		writer_free(v->writer);
	}
	v->writer = NULL;
	heart_free(s);
	txn_env_free(v->env);
	v->env = NULL;
	db_close(v->db);
	v->db = NULL;
	plvfs_watch(server_disk(s), NULL, NULL);
	plvfs_fail(server_disk(s), NULL);
	plvfs_dead(server_disk(s), false);
	v->up = v->dying = v->doomed = v->fatal = v->turning = false;
	v->starving = false;
	v->starve = v->drains_until = 0;
	mem_fail_at(0);
	v->doom_at = 0;
}

void
server_die(struct sim *s, bool by_power)
{
	int64_t after;

	if (by_power)
		s->counts.power_cuts++;
	else
		s->counts.kills++;
	take_down(s);
	if (by_power)
		cut_power(s);
	after = sim_chance(s, 100) ? (int64_t)sim_dice(s, 20 * SIM_MINUTE_MS)
				   : sim_delay(s);
	sim_tell(s, "server: dead (%s), back in %lld ms",
	    by_power ? "power cut" : "killed", (long long)after);
	clients_lose(s);
	sim_after(s, after, try_start, NULL, 0);
}

static void
stop_draining(struct sim *s, void *arg, int64_t n)
{

	(void)arg;
	if (s->server->up && (uint64_t)n == s->server->incarnation)
		server_die(s, false);
}

void
server_drain(struct sim *s)
{
	int64_t ms = 1 + (int64_t)sim_dice(s, 20000);

	s->server->drains_until = sim_now(s) + ms;
	sim_tell(s, "server: drains for %lld ms", (long long)ms);
	sim_after(s, ms, stop_draining, NULL, (int64_t)s->server->incarnation);
}

void
server_look_after(struct sim *s)
{
	struct server *v = s->server;

	if (!v->up || (!v->doomed && !v->fatal))
		return;
	if (!v->doomed) {
		s->counts.disk_errors++;
		v->unsynced = true;
	}
	server_die(s, v->doomed && v->by_power);
}

/* ---- another database ---- */

void
server_hold(struct sim *s)
{

	s->server->held = true;
	sim_tell(s, "server: stopped, to be restored");
	if (!s->server->up)
		return;
	take_down(s);
	clients_lose(s);
}

void
server_replace(struct sim *s, const struct plvfs *by, struct plvfs *replaced)
{
	struct server *v = s->server;

	assert(v->held && !v->up);
	plvfs_cut(server_disk(s), 0, 100, 0, replaced);
	plvfs_cut(by, 0, 100, 0, v->disks[1 - v->disk]);
	v->disk = 1 - v->disk;
	v->held = v->unsynced = false;
	v->restored = true;
}

/* ---- starting ---- */

static enum rc
make(struct sim *s, struct err *err)
{
	struct server *v = s->server;
	struct txn_env_options o = {0};
	struct writer_options w = {0};
	enum rc rc;

	const struct subscriber world = {
	    .arg = s, .take_wake = on_wake, .take_effects = on_effects};
	o.clk = &s->clk.clk;
	o.rnd = &s->secrets.rnd;
	o.expiry_ms = s->setup.expiry_ms;
	o.requeue_ms = 7 * SIM_DAY_MS;
	o.retry = s->setup.retry;
	o.at_once = s->setup.at_once;
	o.pending_most = s->setup.pending_most;
	o.pending_most_total = 3 * s->setup.pending_most;
	o.fatal = on_fatal;
	o.fatal_arg = s;
	rc = txn_env_new(&o, &v->env, err);
	if (rc == RC_OK)
		rc = txn_env_subscribe(v->env, &world, err);
	if (rc != RC_OK)
		return (rc);
	w.db = v->db;
	w.clk = &s->clk.clk;
	w.hooks = txn_env_hooks(v->env);
	w.queue_limit = 64;
	w.checkpoint_bytes = 200 << 10;
	return (writer_new(&w, &v->writer, err));
}

/* Makes the epoch, once, and again after a restore (as main/opening.c and the
 * command restore do). */
static enum rc
find_epoch(struct sim *s, struct err *err)
{
	struct server *v = s->server;
	enum rc rc;

	rc = store_meta_get(v->db, "epoch", v->epoch, sizeof(v->epoch), err);
	if (rc != RC_NOT_FOUND && (rc != RC_OK || !v->restored))
		return (rc);
	(void)snprintf(
	    v->epoch, sizeof(v->epoch), "epoch-%d-%u", s->number, ++v->epochs);
	rc = db_begin(v->db, err);
	if (rc == RC_OK)
		rc = v->restored
			 ? store_epoch_renew(
			       v->db, v->epoch, clk_wall_ms(&s->clk.clk), err)
			 : store_meta_set(v->db, "epoch", v->epoch, err);
	if (rc == RC_OK)
		rc = db_commit(v->db, err);
	if (rc != RC_OK)
		db_rollback(v->db);
	return (rc);
}

static enum rc
start(struct sim *s, struct err *err)
{
	struct server *v = s->server;
	struct db_options o = {0};
	char url[64];
	enum rc rc;

	(void)snprintf(
	    url, sizeof(url), "sqlite:%s", plvfs_path(server_disk(s)));
	o.url = url;
	o.mode = DB_WRITER;
	o.sync = sim_is_broken(s, "sync") ? DB_SYNC_NORMAL : DB_SYNC_FULL;
	o.schema = sim_schema(s);
	rc = db_open(&o, &v->db, err);
	if (rc == RC_OK)
		rc = store_recover(
		    v->db, &(struct store_recovery){.clk = &s->clk.clk}, err);
	if (rc == RC_OK && s->w->fed != NULL)
		rc = find_epoch(s, err);
	if (rc == RC_OK)
		rc = make(s, err);
	if (rc == RC_OK && sqlite3_open_v2(plvfs_path(server_disk(s)), &v->look,
			       SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
		rc = err_set(err, RC_IO, "look");
	if (rc == RC_OK)
		rc = heart_new(s, url, err);
	return (rc);
}

void
server_start(struct sim *s)
{
	struct server *v = s->server;
	struct err err = ERR_INIT;
	bool by_power;

	assert(!v->up);
	v->incarnation++;
	if (start(s, &err) == RC_OK && !v->doomed) {
		v->up = true;
		v->unsynced = v->restored = false;
		rows_server_up(s);
		sim_tell(s, "server: up");
		if (v->incarnation > 1 && sim_chance(s, 300)) {
			s->counts.looks++;
			sim_judge_kept(s);
		}
		return;
	}
	/* Only an ordered fault excuses a failed start. */
	if (!v->doomed && !plvfs_failed(server_disk(s)) &&
	    (!v->starving || mem_fail_pending())) {
		sim_bad(s, "the server does not start: %s", err.text);
		return;
	}
	s->counts.failed_starts++;
	by_power = v->doomed && v->by_power;
	sim_tell(s, "server: start failed");
	take_down(s);
	if (by_power)
		cut_power(s);
	sim_after(s, sim_delay(s) + 1, try_start, NULL, 0);
}

/* ---- turns of the writer ---- */

static void
turn(struct sim *s, void *arg, int64_t n)
{
	struct server *v = s->server;

	(void)arg;
	if (!v->up || (uint64_t)n != v->incarnation)
		return;
	v->turning = false;
	(void)writer_run_once(v->writer);
	if (!v->fatal && !v->doomed && writer_waiting(v->writer) > 0)
		server_turn_soon(s);
}

void
server_turn_soon(struct sim *s)
{
	struct server *v = s->server;

	if (v->turning)
		return;
	v->turning = true;
	sim_after(
	    s, (int64_t)sim_dice(s, 4), turn, NULL, (int64_t)v->incarnation);
}

/* ---- the first day: people and their devices ---- */

static struct plvfs *template;

static void
account_done(struct unit *base)
{
	struct account_unit *u = CONTAINER_OF(base, struct account_unit, unit);

	assert(u->unit.rc == RC_OK && u->refusal.problem == PROBLEM_NONE);
}

static void
do_account(struct server *v, struct account_unit *u)
{

	u->unit.finish = account_done;
	if (writer_submit(v->writer, &u->unit) != RC_OK ||
	    writer_run_once(v->writer) != 1)
		abort();
}

static void
add_people(struct sim *s)
{
	struct account_unit u;
	size_t i, k;

	for (i = 0; i < SIM_CLIENTS; i++) {
		account_unit_init(&u, ACCOUNT_ADD);
		(void)snprintf(
		    u.user.name, sizeof(u.user.name), "%s", names[i]);
		do_account(s->server, &u);
		assert(u.user.user_id == (int64_t)i + 1);
		for (k = 0; k < CLIENT_DEVICES; k++) {
			account_unit_init(&u, ACCOUNT_LOGIN);
			u.user.user_id = (int64_t)i + 1;
			(void)snprintf(
			    u.device.name, sizeof(u.device.name), "phone");
			rnd_fill(&s->secrets.rnd, u.token_hash,
			    sizeof(u.token_hash));
			do_account(s->server, &u);
			assert(u.device.device_id ==
			       (int64_t)(i * CLIENT_DEVICES + k + 1));
		}
	}
}

/* Made once: each run begins with a copy of it. */
static void
make_template(struct sim *s)
{
	struct server *v = s->server;

	server_start(s);
	assert(v->up);
	add_people(s);
	take_down(s);
	plvfs_cut(server_disk(s), 0, 100, 0, template);
}

struct server *
server_new(struct sim *s)
{
	static struct plvfs *all[SIM_SERVERS][2];
	struct plvfs **disks = all[s->number];
	struct server *v;
	struct err err = ERR_INIT;
	char name[16];
	int i;

	if (crypt_init(&err) != RC_OK)
		abort();
	v = calloc(1, sizeof(*v));
	assert(v != NULL);
	s->server = v;
	for (i = 0; i < 2 && disks[i] == NULL; i++) {
		(void)snprintf(
		    name, sizeof(name), "sim%d-%c", s->number, "ab"[i]);
		disks[i] = plvfs_new(name);
	}
	memcpy(v->disks, disks, sizeof(v->disks));
	if (template == NULL) {
		template = plvfs_new("sim-t");
		make_template(s);
		memset(v, 0, sizeof(*v));
		memcpy(v->disks, disks, sizeof(v->disks));
	}
	plvfs_cut(template, 0, 100, 0, v->disks[0]);
	return (v);
}

void
server_free(struct sim *s)
{

	take_down(s);
	plvfs_clear(s->server->disks[0]);
	plvfs_clear(s->server->disks[1]);
	free(s->server);
	s->server = NULL;
}
