/* SPDX-License-Identifier: MIT */
/*
 * The thread.  See cluster.h for what it promises.
 *
 * Why nothing is missed for longer than a recheck: whoever connects reads the
 * store after he is known to push; whoever is known to push is in the list that
 * the recheck asks for; and the recheck reads what is committed.
 */
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thr.h"
#include "cluster/cluster_internal.h"
#include "model/event.h"
#include "store/account.h"
#include "store/inbox.h"

static void
wake(struct cluster *c)
{
	const uint64_t one = 1;

	/* Full: it is awake anyway. */
	(void)!write(c->wake_fd, &one, sizeof(one));
}

/* ---- telling, from any thread ---- */

void
cluster_tell(struct cluster *c, const struct effects *effects)
{
	bool first;

	if (atomic_load(&c->nnodes) < 2)
		return;
	lock_take(&c->lock);
	first = outbound_empty(&c->out);
	outbound_effects(&c->out, effects);
	lock_drop(&c->lock);
	if (first)
		wake(c);
}

void
cluster_tell_destinations(struct cluster *c)
{

	if (atomic_load(&c->nnodes) < 2)
		return;
	lock_take(&c->lock);
	outbound_word(&c->out, "D");
	lock_drop(&c->lock);
	wake(c);
}

int
cluster_nodes(const struct cluster *c)
{

	return (atomic_load(&c->nnodes));
}

bool
cluster_away(const struct cluster *c)
{

	return (c != NULL && atomic_load(&c->away));
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

/* When the next note may go out (a leaky bucket). */
static int64_t
note_due(const struct cluster *c)
{

	return (c->paid_ms - CLUSTER_BURST_MS);
}

/* Sends what has gathered. */
static enum rc
send_out(struct cluster *c, int64_t now, struct err *err)
{
	struct outbound swap;

	if (now < note_due(c))
		return (RC_OK);
	lock_take(&c->lock);
	if (outbound_empty(&c->out)) {
		lock_drop(&c->lock);
		return (RC_OK);
	}
	swap = c->out;
	c->out = c->spare;
	c->spare = swap;
	lock_drop(&c->lock);
	c->paid_ms = (c->paid_ms > now ? c->paid_ms : now) + CLUSTER_GATHER_MS;
	return (outbound_send(&c->spare, c->node.node_id, send_note, c, err));
}

/* ---- hearing ---- */

static void
hear(void *arg, const char *text)
{
	struct cluster *c = arg;
	struct inbound in;
	size_t i;

	if (FAULT_FAILS("cluster.note"))
		return;
	inbound_read(text, &in);
	if (in.node == c->node.node_id) {
		effects_free(in.effects);
		return;
	}
	c->missed = c->missed || in.missed;
	if (in.epoch)
		c->beat_ms = 0;
	if (in.began) {
		atomic_store(&c->nnodes, 2); /* until the next beat counts */
		c->beat_ms = 0;
	}
	if (in.destinations_changed)
		c->options.destinations_changed(c->options.arg);
	if (in.effects == NULL)
		return;
	for (i = 0; i < in.effects->nrevoked; i++)
		auth_forget(c->options.auth, in.effects->revoked[i].token_hash);
	push_effects(c->options.push, in.effects);
}

/* ---- looking for ourselves ---- */

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
add_head(void *arg, int64_t user_id, int64_t head, struct err *err)
{
	const struct effect_event e = {
	    .user_id = user_id, .seq = head, .kind = EVENT_MESSAGE};

	return (head > 0 ? effects_add_event(arg, &e, err) : RC_OK);
}

static enum rc
add_device(void *arg, const struct store_device_now *now, struct err *err)
{
	const struct effect_acked acked = {.user_id = now->user_id,
	    .device_id = now->device_id,
	    .seq = now->acked};

	if (now->gone != NULL)
		return (
		    effects_add_revoked(arg, now->device_id, now->gone, err));
	return (acked.seq > 0 ? effects_add_acked(arg, &acked, err) : RC_OK);
}

/* Asks the store about all who are here. */
static enum rc
look(struct cluster *c, struct err *err)
{
	struct effects *effects;
	enum rc rc;

	c->asking = false;
	/* What is remembered of tokens may be what somebody was told of. */
	auth_forget_all(c->options.auth);
	if ((effects = effects_new()) == NULL)
		return (RC_OK);
	rc = store_inbox_heads(
	    c->db, c->ask.users, c->ask.n, add_head, effects, err);
	if (rc == RC_OK)
		rc = store_devices_now(
		    c->db, c->ask.devices, c->ask.n, add_device, effects, err);
	push_present_free(&c->ask);
	if (rc == RC_OK && !effects_empty(effects))
		push_effects(c->options.push, effects);
	else
		effects_free(effects);
	return (rc);
}

static enum rc
recheck(struct cluster *c, int64_t now, struct err *err)
{

	if (c->asking && atomic_load(&c->answered))
		return (look(c, err));
	if (c->asking || (now < c->recheck_ms && !c->missed))
		return (RC_OK);
	c->recheck_ms = now + c->options.timing->cluster_recheck_ms;
	/* Also alone: the answer to one of our own commits may be lost, and
	 * with it all that the commit had to tell. */
	ask_present(c);
	c->missed = false;
	return (RC_OK);
}

/* ---- the thread ---- */

/* The connection is lost, or there again: what was told meanwhile nobody has
 * heard. */
static void
note_away(struct cluster *c, bool away, const struct err *err)
{

	const bool was = atomic_exchange(&c->away, away);

	if (away && !was)
		log_error(LOG_EV_CLUSTER_AWAY, err, "%s", "");
	if (!away && was)
		log_event(LOG_EV_CLUSTER_BACK, "node=%lld",
		    (long long)c->node.node_id);
	c->missed = c->missed || away;
	/* Others will say that they are. */
	if (away)
		atomic_store(&c->first, false);
}

/* Another epoch: what is served here is over, and the others are told. */
static void
end_epoch(struct cluster *c)
{
	struct err err = ERR_INIT;
	char note[48];

	c->over = true;
	atomic_store(&c->first, false);
	c->away = false; /* or it could not say that it leaves */
	atomic_store(c->options.lineage, DB_LINEAGE_NOWHERE);
	log_event(LOG_EV_CLUSTER_EPOCH, "node=%lld line=%s why=%s",
	    (long long)c->node.node_id, c->node.lineage.name, c->node.reason);
	(void)snprintf(
	    note, sizeof(note), "N%lld E", (long long)c->node.node_id);
	/* If that fails the others find out by themselves. */
	(void)!db_notification_send(c->db, CHANNEL, note, &err);
	c->options.over(c->options.arg);
}

/* Beats, and sees whether the database is still what it was. */
static enum rc
check_lineage(struct cluster *c, struct err *err)
{
	enum lineage_verdict verdict;
	enum rc rc;

	rc = lineage_heartbeat(c->db, &c->node, clk_wall_ms(c->options.clk),
	    c->reconnected, &verdict, err);
	if (rc != RC_OK)
		return (rc);
	c->reconnected = false;
	if (verdict == LINEAGE_OTHER) {
		end_epoch(c);
		return (RC_OK);
	}
	if (verdict == LINEAGE_KEPT)
		log_event(LOG_EV_CLUSTER_LINE, "node=%lld line=%s",
		    (long long)c->node.node_id, c->node.lineage.name);
	atomic_store(c->options.lineage, c->node.lineage.id);
	return (RC_OK);
}

static enum rc
beat(struct cluster *c, int64_t now, struct err *err)
{
	enum rc rc;
	int n;

	if (now < c->beat_ms)
		return (RC_OK);
	c->beat_ms = now + c->options.timing->cluster_beat_ms;
	rc = check_lineage(c, err);
	if (rc != RC_OK || c->over)
		return (rc);
	rc = peers_check(c, &n, err);
	if (rc == RC_OK)
		atomic_store(&c->nnodes, n);
	return (rc);
}

/* Connects and listens again, and looks before anything else is done. */
static enum rc
come_back(struct cluster *c, struct err *err)
{

	c->reconnected = true;
	c->beat_ms = 0;
	return (db_notification_listen(c->db, CHANNEL, err));
}

static void
turn(struct cluster *c)
{
	const int64_t now = clk_mono_ms(c->options.clk);
	struct err err = ERR_INIT;
	enum rc rc = RC_OK;

	thr_assert(THR_CLUSTER);
	if (c->over)
		return;
	if (atomic_load(&c->away))
		rc = come_back(c, &err);
	if (rc == RC_OK)
		rc = beat(c, now, &err);
	if (c->over)
		return;
	if (rc == RC_OK)
		rc = db_notification_poll(c->db, hear, c, &err);
	if (rc == RC_OK)
		rc = send_out(c, now, &err);
	if (rc == RC_OK)
		rc = recheck(c, now, &err);
	/* Answers to all that may have brought notes along. */
	if (rc == RC_OK)
		rc = db_notification_poll(c->db, hear, c, &err);
	note_away(c, rc != RC_OK, &err);
}

/* Until when there is nothing to do. */
static int
patience(struct cluster *c)
{
	const int64_t now = clk_mono_ms(c->options.clk);
	int64_t until = c->beat_ms < c->recheck_ms ? c->beat_ms : c->recheck_ms;

	lock_take(&c->lock);
	if (!outbound_empty(&c->out) && until > note_due(c))
		until = note_due(c);
	lock_drop(&c->lock);
	if (atomic_load(&c->away))
		until = now + c->options.timing->cluster_away_ms;
	if (c->over)
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
	/* Push may still have the list in its hands. */
	return (yes && (!c->asking || atomic_load(&c->answered)));
}

static void
loop(void *arg)
{
	struct cluster *c = arg;
	struct err err = ERR_INIT;
	uint64_t many;

	while (!stopping(c)) {
		struct pollfd fds[2] = {{c->wake_fd, POLLIN, 0},
		    {db_notification_fd(c->db), POLLIN, 0}};

		(void)poll(fds, 2, patience(c));
		(void)!read(c->wake_fd, &many, sizeof(many));
		turn(c);
	}
	push_present_free(&c->ask);
	if (atomic_load(&c->away))
		return;
	/* If that fails the others find out by themselves. */
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
		     !outbound_init(&c->out) || !outbound_init(&c->spare)
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
	outbound_fini(&c->out);
	outbound_fini(&c->spare);
	lock_fini(&c->lock);
	mem_free(c);
}

static void
on_told(void *arg, const struct effects *effects)
{

	cluster_tell(arg, effects);
}

static void
on_woken(void *arg, const struct wake *wake)
{

	if (wake->destinations_changed)
		cluster_tell_destinations(arg);
}

struct subscriber
cluster_subscriber(struct cluster *c)
{

	return (
	    (struct subscriber){.arg = c, .told = on_told, .woken = on_woken});
}
