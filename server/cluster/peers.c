/* SPDX-License-Identifier: MIT */
/*
 * Beats.  Whether a node is dead is told by our own clock: its beat has not
 * moved for so long, whatever the time on it; so nodes need not agree on the
 * time.  A node that was only held up finds its leases' tokens changed (the
 * fence), and goes on beating.
 */
#include <string.h>

#include "base/log.h"
#include "cluster/cluster_internal.h"

static struct peer *
find(struct peers *peers, int64_t node_id)
{
	size_t i;

	for (i = 0; i < peers->n; i++)
		if (peers->list[i].node_id == node_id)
			return (&peers->list[i]);
	return (NULL);
}

/* Once a process.  Who is not looked after dies unseen: what it had leased is
 * free when the lease is over, not when its beat is silent. */
static void
tell_crowded(void)
{
	static bool told; /* thread cluster's */

	if (told)
		return;
	told = true;
	log_event(LOG_EV_CLUSTER_FULL,
	    "nodes_most=%d cure=stop some, or split people into cells "
	    "(docs/scaling.md)",
	    PEERS_MAX + 1);
}

static void
see(void *arg, const struct node_row *node)
{
	struct cluster *c = arg;
	struct peers *peers = &c->peers;
	struct peer *peer = find(peers, node->node_id);
	const int64_t now = clk_mono_ms(c->options.clk);

	if (node->node_id == c->node.node_id)
		return;
	if (peer == NULL) {
		if (peers->n == PEERS_MAX) {
			tell_crowded();
			return;
		}
		peer = &peers->list[peers->n++];
		*peer = (struct peer){.node_id = node->node_id, .seen_ms = now};
		memcpy(peer->name, node->name, sizeof(peer->name));
		log_event(LOG_EV_CLUSTER_NODE, "node=%lld name=%s",
		    (long long)node->node_id, node->name);
	} else if (peer->beat_at != node->beat_at) {
		peer->seen_ms = now;
		peer->dead = false;
	}
	peer->beat_at = node->beat_at;
	peer->here = true;
}

/* Its leases run out now; several nodes may say so.  *ret: whether that is all;
 * a lease whose conversation somebody holds at this moment is ended at a later
 * beat. */
static enum rc
bury(struct cluster *c, struct peer *peer, bool *ret, struct err *err)
{
	const int64_t now = clk_wall_ms(c->options.clk);
	const int64_t mono = clk_mono_ms(c->options.clk);
	int64_t left;
	enum rc rc;

	if (!peer->dead) {
		log_event(LOG_EV_CLUSTER_GONE, "node=%lld name=%s",
		    (long long)peer->node_id, peer->name);
		peer->dead = true;
		peer->dead_ms = mono;
	}
	*ret = false;
	rc = node_end_leases(c->db, peer->name, now, &left, err);
	/* A lease that is left after that was given since, or has run out. */
	if (rc != RC_OK ||
	    (left != 0 &&
		mono - peer->dead_ms < c->options.timing->cluster_bury_ms))
		return (rc);
	*ret = true;
	return (node_mark_dead(c->db, peer->node_id, peer->beat_at, now, err));
}

/* While we were held up, or the database was away, nobody's beat could be seen
 * to move: that time is not theirs. */
static void
forgive(struct peers *peers, int64_t beat_ms, int64_t now)
{
	const int64_t blind = now - peers->looked_ms - beat_ms;
	size_t i;

	for (i = 0; i < peers->n && blind > beat_ms; i++)
		if (peers->list[i].seen_ms < now)
			peers->list[i].seen_ms += blind;
	peers->looked_ms = now;
}

/* Ids ascend, so that who comes later never takes it away. */
static void
see_first(struct cluster *c)
{
	bool first = true;
	size_t i;

	for (i = 0; i < c->peers.n; i++)
		if (!c->peers.list[i].dead &&
		    c->peers.list[i].node_id < c->node.node_id)
			first = false;
	if (first && !atomic_load(&c->first))
		log_event(LOG_EV_CLUSTER_FIRST, "node=%lld",
		    (long long)c->node.node_id);
	atomic_store(&c->first, first);
}

/* Forgets who has left long ago. */
static enum rc
tidy(struct cluster *c, int64_t now, struct err *err)
{
	const int64_t wall = clk_wall_ms(c->options.clk);
	size_t n;
	enum rc rc;

	if (!atomic_load(&c->first) || now < c->tidy_ms)
		return (RC_OK);
	c->tidy_ms = now + c->options.timing->cluster_tidy_ms;
	do {
		rc = node_forget_left(c->db, wall - CLUSTER_FORGET_MS, &n, err);
	} while (rc == RC_OK && n == NODE_FORGET_MAX);
	return (rc);
}

/* Buries who is dead, and forgets who is gone. */
static enum rc
part(struct cluster *c, int64_t now, struct err *err)
{
	struct peers *peers = &c->peers;
	enum rc rc = RC_OK;
	bool gone;
	size_t i;

	for (i = 0; i < peers->n && rc == RC_OK;) {
		struct peer *peer = &peers->list[i];

		/* Who left by himself has nothing to be taken over. */
		gone = !peer->here;
		if (peer->here &&
		    now - peer->seen_ms >= c->options.timing->cluster_dead_ms)
			rc = bury(c, peer, &gone, err);
		if (rc == RC_OK && gone)
			*peer = peers->list[--peers->n];
		else
			i++;
	}
	return (rc);
}

enum rc
peers_check(struct cluster *c, int *ret_n, struct err *err)
{
	struct peers *peers = &c->peers;
	const int64_t now = clk_mono_ms(c->options.clk);
	enum rc rc;
	size_t i;

	for (i = 0; i < peers->n; i++)
		peers->list[i].here = false;
	rc = node_each_alive(c->db, see, c, err);
	if (rc != RC_OK)
		return (rc);
	forgive(peers, c->options.timing->cluster_beat_ms, now);
	rc = part(c, now, err);
	*ret_n = (int)peers->n + 1;
	if (rc != RC_OK)
		return (rc);
	see_first(c);
	return (tidy(c, now, err));
}
