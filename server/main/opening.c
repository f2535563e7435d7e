/* SPDX-License-Identifier: MIT */
/*
 * Opens the database.  An SQLite file exists or it does not.  A database of
 * several nodes (PostgreSQL) may be away for some time: its leader has died,
 * the whole site is starting again, or its standbys are not there yet.  A start
 * waits for such a database for up to --database-wait, and logs what it waits
 * for.  To exit at once would not do: a service manager that restarts the
 * program again and again gives up before a failover is over.
 *
 * An SQLite file is opened in the main thread, once.  A PostgreSQL database is
 * opened in a thread of its own (`open`), because libpq, and a commit that
 * waits for a standby, block for seconds.  Meanwhile the main thread ends the
 * process at SIGTERM or SIGINT, and once an attempt has failed or a migration
 * waits, it asks the service manager for more time and keeps the waiting room
 * open, a listener that answers nearly all requests with 503 (room.c).  Until
 * `open` has ended, the two threads share nothing that changes but the flags in
 * struct opening; the main thread uses the results of `open` after that.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "base/thr.h"
#include "log/log.h"
#include "main/server.h"
#include "store/account.h"
#include "store/epoch.h"
#include "store/recovery.h"

/* While a start waits for another node to confirm that the epoch may stay, it
 * reads the lineage (PostgreSQL's server, database and timeline) and the epoch
 * again after each pause of this length, in milliseconds. */
#define CONFIRM_POLL_MS 250

/* Stores in ${ret} the epoch of a database of one server (SQLite), within the
 * caller's transaction.  A database without an epoch gets one, and a database
 * for which rollback_check() has set s->rollback gets a new one: the operator
 * has accepted a rollback, or the file DATA/mark is damaged. */
static enum rc
make_epoch(struct server *s, char ret[EPOCH_LEN + 1], struct err *err)
{
	char made[64];
	enum rc rc;

	data_new_epoch(s->rnd, made);
	rc = s->rollback
		 ? store_epoch_renew(s->db, made, clk_wall_ms(s->clk), err)
		 : store_meta_make(s->db, "epoch", made, err);
	if (rc == RC_OK)
		rc = store_meta_get(s->db, "epoch", made, sizeof(made), err);
	(void)snprintf(ret, EPOCH_LEN + 1, "%.*s", EPOCH_LEN, made);
	return (rc);
}

/* The same for a database of several nodes. */
static enum rc
find_epoch(struct server *s, enum lineage_start how, enum lineage_decision *ret,
    struct err *err)
{
	struct lineage_node *node = &s->node;
	enum rc rc;

	data_new_epoch(s->rnd, node->fresh_epoch);
	rc = lineage_begin(s->db, node, how, clk_wall_ms(s->clk), ret, err);
	(void)snprintf(
	    s->epoch, sizeof(s->epoch), "%.*s", EPOCH_LEN, node->epoch);
	/* The database may use that epoch now, so draw another. */
	data_new_epoch(s->rnd, node->fresh_epoch);
	return (rc);
}

/* ---- the start of the store (store/recovery.h) ---- */

struct starting {
	struct server *s;
	enum lineage_start how;
	enum lineage_decision decision;
	int64_t until_ms; /* monotonic: the end of waiting for other nodes */
	bool waited;
};

static enum rc
migrate(void *arg, struct db *db, struct err *err)
{
	struct starting *g = arg;

	return (migrate_data(&g->s->data, db, err));
}

/* The hook enter() of the recovery (store/recovery.h): stores the epoch in
 * s->epoch (a new one if necessary), and in s->was_empty whether there are no
 * users.  On PostgreSQL, without --accept-rollback, sets *ret_wait to true, and
 * leaves s->was_empty unset, if only the timeline of the database has changed
 * (a standby was promoted) and published commits had waited for a standby, so
 * that perhaps no commit is missing.  The nodes that served on the old timeline
 * then get a limited time to confirm that the epoch may stay.  enter() is
 * called again until such a node has confirmed the epoch or, because that node
 * cannot confirm, has made a new one; when the time is over, enter() itself
 * makes a new epoch. */
static enum rc
enter(void *arg, struct db *db, bool *ret_wait, struct err *err)
{
	struct starting *g = arg;
	struct server *s = g->s;
	bool any;
	enum rc rc;

	g->decision = LINEAGE_SAME;
	rc = db_multi_writer(db) ? find_epoch(s, g->how, &g->decision, err)
				 : make_epoch(s, s->epoch, err);
	*ret_wait = g->decision == LINEAGE_WAIT;
	if (rc != RC_OK || *ret_wait)
		return (rc);
	if ((rc = store_user_any(db, &any, err)) == RC_OK)
		s->was_empty = !any;
	return (rc);
}

static void
rest(void *arg)
{
	const struct timespec pause = {.tv_nsec = CONFIRM_POLL_MS * 1000000L};
	struct starting *g = arg;
	const struct timing *t = g->s->timing;
	const int64_t confirm_ms = t->cluster_dead_ms + t->cluster_heartbeat_ms;

	if (!g->waited) {
		log_event(LOG_EV_CLUSTER_WAIT, "line=%s ms=%lld",
		    g->s->node.lineage.name, (long long)confirm_ms);
		g->until_ms = clk_mono_ms(g->s->clk) + confirm_ms;
	}
	g->waited = true;
	(void)nanosleep(&pause, NULL);
	if (clk_mono_ms(g->s->clk) >= g->until_ms)
		g->how = LINEAGE_START_ALONE;
}

static enum rc
boot(struct server *s, struct err *err)
{
	struct starting g = {.s = s, .how = LINEAGE_START_WAIT};
	const struct store_recovery how = {s->clk, &g, migrate, enter, rest};
	enum rc rc;

	if (s->config.accept_rollback)
		g.how = LINEAGE_START_ROLLBACK;
	rc = store_recover(s->db, &how, err);
	if (rc != RC_OK || !db_multi_writer(s->db))
		return (rc);
	if (g.decision == LINEAGE_EPOCH_CHANGED)
		log_event(LOG_EV_CLUSTER_EPOCH, "line=%s why=%s",
		    s->node.lineage.name, s->node.reason);
	atomic_store(&s->lineage, s->node.lineage.id);
	db_follow_lineage(s->db, &s->lineage);
	return (RC_OK);
}

/* Checks an SQLite database against the file DATA/mark, with rollback_check().
 * Checks nothing for a database of several nodes (PostgreSQL), which has no
 * such file: it keeps its history in its own rows (cluster/lineage.h). */
static enum rc
check_mark(struct server *s, struct err *err)
{

	if (db_multi_writer(s->db))
		return (RC_OK);
	return (rollback_check(
	    &s->data, s->db, s->config.accept_rollback, &s->rollback, err));
}

/* ---- one attempt ---- */

static enum rc
open_once(struct server *s, struct err *err)
{
	enum rc rc;

	if ((rc = data_connect(&s->data, &s->db, err)) != RC_OK ||
	    (rc = check_mark(s, err)) != RC_OK || (rc = boot(s, err)) != RC_OK)
		return (rc);
	s->db_options = data_db_options(&s->data);
	s->db_options.lineage = db_multi_writer(s->db) ? &s->lineage : NULL;
	/* Write the mark after the new epoch is committed.  If the process dies
	 * in between, the old mark still does not fit the database or is still
	 * damaged, so the next start again refuses the database or gives it a
	 * new epoch.  In the other order, that start could find a mark that
	 * fits, and keep the old epoch. */
	return (
	    s->rollback ? rollback_set_position(&s->data, s->db, err) : RC_OK);
}

/* ---- repeated attempts: thread open ---- */

/* How often the main thread checks whether the waiting has begun. */
#define LOOK_MS 100
/* While the start waits for the database, it asks the service manager, every
 * EXTEND_AGAIN_MS, to move the deadline of the start to EXTEND_MS after the
 * request.  Both are milliseconds. */
#define EXTEND_MS 60000
#define EXTEND_AGAIN_MS 5000

struct opening {
	struct server *s;
	struct thr *thread;
	enum rc rc; /* of the last attempt, once done */
	struct err err;
	atomic_bool waiting; /* an attempt failed, or a migration waits */
	atomic_bool done;
};

/* Returns, for the log, what the start waits for: a standby, if ${db} reports
 * that commits wait for one; else, also if ${db} is NULL, the database.  The
 * error of the last attempt alone may mislead, since it may follow from a
 * commit that waits for a standby. */
static const char *
what_is_missing(struct db *db)
{
	struct err err = ERR_INIT;
	bool waits = false;

	if (db != NULL && db_waits_for_standby(db, &waits, &err) != RC_OK)
		waits = false;
	return (waits ? "a standby: commits wait for one, and none confirms"
		      : "the database");
}

/* Repeats attempts, with pauses of db_open_again_ms, until one succeeds, one
 * fails for another reason than an outage (rc_is_outage()), or one fails at
 * least database_wait_ms after the first began.  Stores the result of the last
 * attempt in o->rc and o->err. */
static void
try_all(struct opening *o)
{
	struct server *s = o->s;
	const struct timespec pause = {
	    .tv_sec = s->timing->db_open_again_ms / 1000,
	    .tv_nsec = s->timing->db_open_again_ms % 1000 * 1000000L};
	const int64_t began = clk_mono_ms(s->clk);
	int64_t ms;

	for (;;) {
		o->err = (struct err)ERR_INIT;
		o->rc = open_once(s, &o->err);
		if (o->rc == RC_OK || !rc_is_outage(o->rc))
			return;
		ms = clk_mono_ms(s->clk) - began;
		if (ms >= s->config.database_wait_ms)
			break;
		data_waits(&o->err, what_is_missing(s->db));
		atomic_store(&o->waiting, true);
		db_close(s->db);
		s->db = NULL;
		(void)nanosleep(&pause, NULL);
	}
	(void)err_wrap(
	    &o->err, "waited %lld s for the database", (long long)ms / 1000);
}

static void
run_open(void *arg)
{
	struct opening *o = arg;

	try_all(o);
	atomic_store(&o->done, true);
	/* A signal, because the main thread waits for signals. */
	(void)kill(getpid(), SIGUSR2);
}

/* ---- the main thread meanwhile ---- */

/* Waits up to LOOK_MS.  Returns the signal that ends the program, or 0. */
static int
wait_signal(void)
{
	const struct timespec moment = {.tv_nsec = LOOK_MS * 1000000L};
	sigset_t set;
	int sig;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGUSR2);
	sig = sigtimedwait(&set, NULL, &moment);
	return (sig == SIGTERM || sig == SIGINT ? sig : 0);
}

/* Closes the waiting room and ends the process, with exit code 0, without
 * waiting for the thread `open`, which may be in a call that takes minutes.
 * Nothing is lost: this start has not accepted a message yet.  A transaction
 * that the thread has begun at the database server is rolled back when its
 * connection ends, unless its commit is under way. */
static void __attribute__((noreturn))
give_up(struct server *s, struct room *room, int sig)
{

	log_event(
	    LOG_EV_SERVER_STOP, "signal=%s", sig == SIGINT ? "INT" : "TERM");
	(void)notify_manager("STOPPING=1\nSTATUS=stopping");
	room_close(s, room);
	log_last_bare(LOG_EV_SERVER_STOPPED);
	log_stop();
	_exit(EX_OK);
}

static void
watch(struct opening *o, struct room **ret_room)
{
	int64_t extend_ms = 0, now;
	struct err err = ERR_INIT;
	bool tried = false;
	int sig;

	while (!atomic_load(&o->done)) {
		if ((sig = wait_signal()) != 0)
			give_up(o->s, *ret_room, sig);
		if (!atomic_load(&o->waiting))
			continue;
		now = clk_mono_ms(o->s->clk);
		if (now >= extend_ms) {
			(void)notify_manager("STATUS=waiting for the database\n"
					     "EXTEND_TIMEOUT_USEC=%d000",
			    EXTEND_MS);
			extend_ms = now + EXTEND_AGAIN_MS;
		}
		/* If the waiting room cannot listen, only log that: the server
		 * itself will not be able to listen later, and then the start
		 * fails with this error. */
		if (!tried && room_open(o->s, ret_room, &err) != RC_OK)
			log_error_bare(LOG_EV_STORE_WAIT, &err);
		tried = true;
	}
}

static enum rc
open_shared(struct server *s, struct err *err)
{
	struct opening o = {.s = s, .rc = RC_OK, .err = ERR_INIT};
	struct room *room = NULL;
	enum rc rc;

	s->data.waiting = &o.waiting;
	rc = thr_start(THR_OPEN, 0, run_open, &o, &o.thread, err);
	if (rc != RC_OK)
		return (rc);
	watch(&o, &room);
	thr_join(&o.thread);
	room_close(s, room);
	s->data.waiting = NULL;
	if (o.rc != RC_OK)
		*err = o.err;
	return (o.rc);
}

enum rc
server_open(struct server *s, struct err *err)
{
	enum rc rc;

	if ((rc = data_open(&s->config, &s->data, err)) != RC_OK)
		return (rc);
	return (db_url_multi_writer(s->data.url) ? open_shared(s, err)
						 : open_once(s, err));
}
