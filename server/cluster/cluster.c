/* SPDX-License-Identifier: MIT */
/*
 * The cluster thread.  See cluster.h for what it promises.
 *
 * If the note (NOTIFY) of an event, an ack or a revoked token is lost, a
 * connected user misses that event, ack or revocation only until the next
 * recheck, in which this node reads the database.  Reasons: a session reads the
 * database after push has registered the session; the list that the recheck
 * gets from push has every registered session; and the recheck reads all that
 * is committed.
 */
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/thr.h"
#include "cluster/cluster_internal.h"
#include "log/log.h"

static void
wake(struct cluster *c)
{
	const uint64_t one = 1;

	/* The write fails if the counter is full; then the thread is awake
	 * anyway. */
	(void)!write(c->wake_fd, &one, sizeof(one));
}

/* ---- sending, from any thread ---- */

void
cluster_send_effects(struct cluster *c, const struct effects *effects)
{
	bool first;

	if (atomic_load(&c->nnodes) < 2)
		return;
	lock_take(&c->lock);
	first = notes_out_empty(&c->out);
	notes_out_effects(&c->out, effects);
	lock_drop(&c->lock);
	if (first)
		wake(c);
}

void
cluster_send_destinations(struct cluster *c)
{

	if (atomic_load(&c->nnodes) < 2)
		return;
	lock_take(&c->lock);
	notes_out_word(&c->out, "D");
	lock_drop(&c->lock);
	wake(c);
}

void
cluster_send_peer(struct cluster *c, const char *domain)
{
	char word[LIMIT_DOMAIN_LEN + 2];

	if (atomic_load(&c->nnodes) < 2)
		return;
	(void)snprintf(word, sizeof(word), "P%s", domain);
	lock_take(&c->lock);
	notes_out_word(&c->out, word);
	lock_drop(&c->lock);
	wake(c);
}

enum rc
cluster_notify_all(struct db *db, struct err *err)
{

	/* No node has the number 0, so every node reads the note. */
	return (db_notification_send(db, CHANNEL, "N0 *", err));
}

int
cluster_nodes(const struct cluster *c)
{

	return (atomic_load(&c->nnodes));
}

bool
cluster_away(const struct cluster *c)
{

	return (c != NULL && atomic_load(&c->state) == NODE_AWAY);
}

bool
cluster_first(const struct cluster *c)
{

	return (atomic_load(&c->first));
}

static enum rc
send_note(void *arg, const char *note, struct err *err)
{
	struct cluster *c = arg;

	return (db_notification_send(c->db, CHANNEL, note, err));
}

/* Returns when the next note may be sent (a leaky bucket). */
static int64_t
note_due(const struct cluster *c)
{

	return (c->paid_ms - CLUSTER_BURST_MS);
}

/* Sends the notes that were collected, if the rate allows. */
static enum rc
send_out(struct cluster *c, int64_t now, struct err *err)
{
	struct notes_out swap;

	if (now < note_due(c))
		return (RC_OK);
	lock_take(&c->lock);
	if (notes_out_empty(&c->out)) {
		lock_drop(&c->lock);
		return (RC_OK);
	}
	swap = c->out;
	c->out = c->sending;
	c->sending = swap;
	lock_drop(&c->lock);
	c->paid_ms = (c->paid_ms > now ? c->paid_ms : now) + CLUSTER_GATHER_MS;
	return (
	    notes_out_send(&c->sending, c->node.node_id, send_note, c, err));
}

/* ---- receiving ---- */

static void
on_note(void *arg, const char *text)
{
	struct cluster *c = arg;
	struct notes_in in;
	size_t i;

	if (FAULT_FAILS("cluster.note"))
		return;
	notes_in_read(text, &in);
	if (in.node == c->node.node_id) {
		effects_free(in.effects);
		return;
	}
	c->missed = c->missed || in.missed;
	if (in.epoch)
		c->heartbeat_ms = 0;
	if (in.began) {
		atomic_store(
		    &c->nnodes, 2); /* until the next heartbeat counts them */
		c->heartbeat_ms = 0;
	}
	if (in.destinations_changed)
		c->options.destinations_changed(c->options.arg);
	for (i = 0; i < in.npeers; i++)
		c->options.peer_changed(c->options.arg, in.peers[i]);
	if (in.effects == NULL)
		return;
	for (i = 0; i < in.effects->nrevoked; i++)
		auth_forget(c->options.auth, in.effects->revoked[i].token_hash);
	push_effects(c->options.push, in.effects);
}

/* ---- the recheck: what notes may have missed ---- */

/* Thread: push. */
static void
present_known(struct push_present *ask)
{
	struct cluster *c = ask->arg;

	atomic_store(&c->answered, true);
	wake(c);
}

static void
ask_present(struct cluster *c)
{

	c->asking = true;
	atomic_store(&c->answered, false);
	c->ask.done = present_known;
	c->ask.arg = c;
	push_ask_present(c->options.push, &c->ask);
}

static enum rc
recheck(struct cluster *c, int64_t now, struct err *err)
{

	if (c->asking && atomic_load(&c->answered)) {
		c->asking = false;
		return (recheck_read(c, err));
	}
	if (c->asking || (now < c->recheck_ms && !c->missed))
		return (RC_OK);
	c->recheck_ms = now + c->options.timing->cluster_recheck_ms;
	/* Recheck even if this is the only node: if the answer to a COMMIT is
	 * lost, the commit may have succeeded, but its effects were not
	 * published. */
	ask_present(c);
	c->missed = false;
	return (RC_OK);
}

/* ---- the thread ---- */

/* Called when a turn of the thread (one pass of its loop) has failed: the
 * connection counts as lost, and the node becomes NODE_AWAY.  Notes of other
 * nodes may be lost, so a recheck follows when the connection is back.  This
 * node gives up the upkeep (cluster_first()) at once; another node takes the
 * upkeep over only when this node's heartbeat has been silent for
 * cluster_dead_ms. */
static void
note_lost(struct cluster *c, const struct err *err)
{

	if (atomic_load(&c->state) != NODE_AWAY) {
		node_state_move(&c->state, NODE_AWAY);
		log_error_bare(LOG_EV_CLUSTER_AWAY, err);
	}
	c->missed = true;
	atomic_store(&c->first, false);
}

static void
note_alive(struct cluster *c)
{
	const int was = atomic_load(&c->state);

	if (was == NODE_ALIVE)
		return;
	node_state_move(&c->state, NODE_ALIVE);
	if (was == NODE_AWAY)
		log_event(LOG_EV_CLUSTER_BACK, "node=%lld",
		    (long long)c->node.node_id);
}

/* Called when the epoch has changed (the database may lack commits that clients
 * have seen): the node becomes NODE_STALE, and no transaction of this process
 * can begin after that; those that have begun go on.  Notifies the other nodes,
 * and calls options.epoch_changed(), which makes main stop the server. */
static void
end_epoch(struct cluster *c)
{
	struct err err = ERR_INIT;
	char note[48];

	node_state_move(&c->state, NODE_STALE);
	atomic_store(&c->first, false);
	atomic_store(c->options.lineage, DB_LINEAGE_NOWHERE);
	log_event(LOG_EV_CLUSTER_EPOCH, "node=%lld line=%s why=%s",
	    (long long)c->node.node_id, c->node.lineage.name, c->node.reason);
	(void)snprintf(
	    note, sizeof(note), "N%lld E", (long long)c->node.node_id);
	/* If the note fails, the others find out by their own heartbeats. */
	(void)!db_notification_send(c->db, CHANNEL, note, &err);
	c->options.epoch_changed(c->options.arg);
}

/* Writes a heartbeat, and checks the lineage and the epoch. */
static enum rc
check_lineage(struct cluster *c, struct err *err)
{
	enum lineage_decision decision;
	enum rc rc;

	rc = lineage_heartbeat(c->db, &c->node, clk_wall_ms(c->options.clk),
	    c->reconnected, &decision, err);
	if (rc != RC_OK)
		return (rc);
	c->reconnected = false;
	if (decision == LINEAGE_EPOCH_CHANGED) {
		end_epoch(c);
		return (RC_OK);
	}
	if (decision == LINEAGE_EPOCH_KEPT)
		log_event(LOG_EV_CLUSTER_LINE, "node=%lld line=%s",
		    (long long)c->node.node_id, c->node.lineage.name);
	atomic_store(c->options.lineage, c->node.lineage.id);
	return (RC_OK);
}

static bool
is_stale(const struct cluster *c)
{

	return (atomic_load(&c->state) == NODE_STALE);
}

static enum rc
heartbeat(struct cluster *c, int64_t now, struct err *err)
{
	enum rc rc;
	int n;

	if (now < c->heartbeat_ms)
		return (RC_OK);
	c->heartbeat_ms = now + c->options.timing->cluster_heartbeat_ms;
	rc = check_lineage(c, err);
	if (rc != RC_OK || is_stale(c))
		return (rc);
	rc = peers_check(c, &n, err);
	if (rc == RC_OK)
		atomic_store(&c->nnodes, n);
	return (rc);
}

/* Connects and listens again.  A heartbeat is due at once, because the new
 * connection may lead to a database server of another lineage, such as a
 * standby that was promoted. */
static enum rc
reconnect(struct cluster *c, struct err *err)
{

	c->reconnected = true;
	c->heartbeat_ms = 0;
	return (db_notification_listen(c->db, CHANNEL, err));
}

static void
turn(struct cluster *c)
{
	const int64_t now = clk_mono_ms(c->options.clk);
	struct err err = ERR_INIT;
	enum rc rc = RC_OK;

	thr_assert(THR_CLUSTER);
	if (is_stale(c))
		return;
	if (atomic_load(&c->state) == NODE_AWAY)
		rc = reconnect(c, &err);
	if (rc == RC_OK)
		rc = heartbeat(c, now, &err);
	if (is_stale(c))
		return;
	if (rc == RC_OK)
		rc = db_notification_poll(c->db, on_note, c, &err);
	if (rc == RC_OK)
		rc = send_out(c, now, &err);
	if (rc == RC_OK)
		rc = recheck(c, now, &err);
	/* Notifications that arrived with the answers to the statements of this
	 * turn are in memory already, so poll() would not report them. */
	if (rc == RC_OK)
		rc = db_notification_poll(c->db, on_note, c, &err);
	if (rc == RC_OK)
		note_alive(c);
	else
		note_lost(c, &err);
}

/* Returns how long the thread may sleep, in ms; -1: until it is woken. */
static int
poll_timeout(struct cluster *c)
{
	const int64_t now = clk_mono_ms(c->options.clk);
	int64_t until =
	    c->heartbeat_ms < c->recheck_ms ? c->heartbeat_ms : c->recheck_ms;

	lock_take(&c->lock);
	if (!notes_out_empty(&c->out) && until > note_due(c))
		until = note_due(c);
	lock_drop(&c->lock);
	if (atomic_load(&c->state) == NODE_AWAY)
		until = now + c->options.timing->cluster_away_ms;
	if (is_stale(c))
		return (-1);
	return (until <= now ? 0 : (int)(until - now));
}

static bool
stopping(struct cluster *c)
{
	bool yes;

	lock_take(&c->lock);
	yes = c->stopping;
	lock_drop(&c->lock);
	/* Push may still be writing the list of connected users into ${c}. */
	return (yes && (!c->asking || atomic_load(&c->answered)));
}

static void
loop(void *arg)
{
	struct cluster *c = arg;
	struct err err = ERR_INIT;
	uint64_t many;
	int was;

	while (!stopping(c)) {
		struct pollfd fds[2] = {{c->wake_fd, POLLIN, 0},
		    {db_notification_fd(c->db), POLLIN, 0}};

		(void)poll(fds, 2, poll_timeout(c));
		(void)!read(c->wake_fd, &many, sizeof(many));
		turn(c);
	}
	push_present_free(&c->ask);
	was = atomic_load(&c->state);
	node_state_move(&c->state, NODE_LEFT);
	if (was == NODE_AWAY)
		return;
	/* If it fails, the others find out by the silent heartbeat. */
	(void)!node_leave(
	    c->db, c->node.node_id, clk_wall_ms(c->options.clk), &err);
}

/* ---- life ---- */

enum rc
cluster_new(const struct cluster_options *options, struct cluster **ret,
    struct err *err)
{
	struct db_options db = *options->db;
	struct cluster *c;
	char note[48];
	enum rc rc;

	if ((c = mem_zalloc(1, sizeof(*c))) == NULL)
		return (err_set(err, RC_NO_MEMORY, "cluster"));
	c->options = *options;
	c->options.timing = timing_or_real(options->timing);
	c->node = options->node;
	atomic_store(&c->nnodes, 1);
	lock_init(&c->lock, LOCK_CLUSTER);
	db.mode = DB_WRITER;
	db.lineage = NULL;
	rc = (c->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) < 0 ||
		     !notes_out_init(&c->out) || !notes_out_init(&c->sending)
		 ? err_set(err, RC_NO_MEMORY, "cluster")
		 : db_open(&db, &c->db, err);
	if (rc == RC_OK)
		rc = db_notification_listen(c->db, CHANNEL, err);
	(void)snprintf(
	    note, sizeof(note), "N%lld J", (long long)options->node.node_id);
	if (rc == RC_OK)
		rc = db_notification_send(c->db, CHANNEL, note, err);
	if (rc != RC_OK) {
		cluster_free(c);
		return (rc);
	}
	*ret = c;
	return (RC_OK);
}

enum rc
cluster_start(struct cluster *c, struct err *err)
{

	return (thr_start(THR_CLUSTER, 0, loop, c, &c->thread, err));
}

void
cluster_stop(struct cluster *c)
{

	if (c == NULL)
		return;
	lock_take(&c->lock);
	c->stopping = true;
	lock_drop(&c->lock);
	wake(c);
	thr_join(&c->thread);
}

void
cluster_free(struct cluster *c)
{

	if (c == NULL)
		return;
	db_close(c->db);
	if (c->wake_fd >= 0)
		(void)close(c->wake_fd);
	notes_out_fini(&c->out);
	notes_out_fini(&c->sending);
	lock_fini(&c->lock);
	mem_free(c);
}

static void
on_effects(void *arg, const struct effects *effects)
{

	cluster_send_effects(arg, effects);
}

static void
on_wake(void *arg, const struct wake *wake)
{

	if (wake->destinations_changed)
		cluster_send_destinations(arg);
}

struct subscriber
cluster_subscriber(struct cluster *c)
{

	return ((struct subscriber){
	    .arg = c, .on_effects = on_effects, .on_wake = on_wake});
}
