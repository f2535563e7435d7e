/* SPDX-License-Identifier: MIT */
/*
 * The heartbeats of the other nodes.
 *
 * A peer is dead when its heartbeat has not changed for cluster_dead_ms by this
 * node's monotonic clock, without the time in which this node could not look.
 * The time in the heartbeat is not compared with any clock, so the clocks of
 * nodes may differ in this check.  A node that was only held up is alive again
 * with its next heartbeat.  If other nodes have reclaimed some of its leases
 * meanwhile, the tokens of these leases have changed, so the results that the
 * node still writes with the old tokens are ignored (the fence).
 */
#include <string.h>

#include "cluster/cluster_internal.h"
#include "log/log.h"

static struct peer *
find(struct peers *peers, int64_t node_id)
{
	size_t i;

	for (i = 0; i < peers->n; i++)
		if (peers->list[i].node_id == node_id)
			return (&peers->list[i]);
	return (NULL);
}

/* Logs once per process that there are too many nodes.  Nodes beyond PEERS_MAX
 * are not checked: if one dies, its leases run out by themselves, later than a
 * silent heartbeat would end them. */
static void
log_too_many(void)
{
	static bool logged; /* used by the cluster thread only */

	if (logged)
		return;
	logged = true;
	log_event(LOG_EV_CLUSTER_FULL,
	    "nodes_most=%d cure=stop some, or split people into cells "
	    "(docs/scaling.md)",
	    PEERS_MAX + 1);
}

static void
on_row_node(void *arg, const struct node_row *node)
{
	struct cluster *c = arg;
	struct peers *peers = &c->peers;
	struct peer *peer = find(peers, node->node_id);
	const int64_t now = clk_mono_ms(c->options.clk);

	if (node->node_id == c->node.node_id)
		return;
	if (peer == NULL) {
		if (peers->n == PEERS_MAX) {
			log_too_many();
			return;
		}
		peer = &peers->list[peers->n++];
		*peer = (struct peer){.node_id = node->node_id, .seen_ms = now};
		memcpy(peer->name, node->name, sizeof(peer->name));
		log_event(LOG_EV_CLUSTER_NODE, "node=%lld name=%s",
		    (long long)node->node_id, node->name);
	} else if (peer->heartbeat_at != node->heartbeat_at) {
		peer->seen_ms = now;
		if (peer->state == PEER_DEAD)
			peer_state_move(&peer->state, PEER_ALIVE);
	}
	peer->heartbeat_at = node->heartbeat_at;
	peer->listed = true;
}

/* Returns for how many ms this node tries to end the leases of a dead peer:
 * cluster_mark_dead_ms or the length of a lease, whichever is longer.  After
 * the length of a lease, every lease that the peer has not renewed has run out
 * by itself. */
static int64_t
try_leases_ms(const struct cluster *c)
{
	const int64_t least = c->options.timing->cluster_mark_dead_ms;

	return (c->options.lease_ms > least ? c->options.lease_ms : least);
}

/* Moves a peer whose heartbeat is silent to PEER_DEAD and ends its leases.  A
 * lease whose conversation another transaction has locked is left for the next
 * call, at this node's next heartbeat.  When no lease is left, or after
 * try_leases_ms() in PEER_DEAD, marks the peer's row as left and moves the peer
 * to PEER_LEFT.  Several nodes may do this for the same peer at once. */
static enum rc
mark_dead(struct cluster *c, struct peer *peer, struct err *err)
{
	const int64_t now = clk_wall_ms(c->options.clk);
	const int64_t mono = clk_mono_ms(c->options.clk);
	int64_t left;
	enum rc rc;

	if (peer->state == PEER_ALIVE) {
		log_event(LOG_EV_CLUSTER_DEAD, "node=%lld name=%s",
		    (long long)peer->node_id, peer->name);
		peer_state_move(&peer->state, PEER_DEAD);
		peer->dead_ms = mono;
	}
	rc = node_end_leases(c->db, peer->name, now, &left, err);
	/* After try_leases_ms(), do not try to end the leases that are left:
	 * the peer has renewed or taken them since it became PEER_DEAD, so its
	 * relay still runs.  They run out unless the peer renews them. */
	if (rc != RC_OK ||
	    (left != 0 && mono - peer->dead_ms < try_leases_ms(c)))
		return (rc);
	rc = node_mark_dead(c->db, peer->node_id, peer->heartbeat_at, now, err);
	if (rc == RC_OK)
		peer_state_move(&peer->state, PEER_LEFT);
	return (rc);
}

/* If the last check is more than two heartbeat intervals ago, because this node
 * was held up or the database was away, adds the time beyond one interval to
 * the seen_ms of the peers whose heartbeat has not changed.  So the time in
 * which this node could not see heartbeats does not count as silence of a
 * peer. */
static void
skip_blind_time(struct peers *peers, int64_t heartbeat_ms, int64_t now)
{
	const int64_t blind = now - peers->checked_ms - heartbeat_ms;
	size_t i;

	for (i = 0; i < peers->n && blind > heartbeat_ms; i++)
		if (peers->list[i].seen_ms < now)
			peers->list[i].seen_ms += blind;
	peers->checked_ms = now;
}

/* Sets ${c}->first: true if no peer that this node takes for alive has a lower
 * id.  Ids ascend, so a node that starts later does not take over from an
 * earlier one that it sees alive. */
static void
elect_first(struct cluster *c)
{
	bool first = true;
	size_t i;

	for (i = 0; i < c->peers.n; i++)
		if (c->peers.list[i].state == PEER_ALIVE &&
		    c->peers.list[i].node_id < c->node.node_id)
			first = false;
	if (first && !atomic_load(&c->first))
		log_event(LOG_EV_CLUSTER_FIRST, "node=%lld",
		    (long long)c->node.node_id);
	atomic_store(&c->first, first);
}

/* Deletes the rows of nodes that left more than CLUSTER_FORGET_MS ago and hold
 * no lease.  Does so every cluster_tidy_ms, and only if ${c}->first. */
static enum rc
forget_left(struct cluster *c, int64_t now, struct err *err)
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

/* Marks dead peers, and removes peers that have left from the list. */
static enum rc
update_states(struct cluster *c, int64_t now, struct err *err)
{
	struct peers *peers = &c->peers;
	enum rc rc = RC_OK;
	size_t i;

	for (i = 0; i < peers->n && rc == RC_OK;) {
		struct peer *peer = &peers->list[i];

		/* node_each_alive() did not find this peer: its row is marked
		 * as left or deleted.  Its leases need not be ended here: a
		 * peer that leaves by itself first writes the results of its
		 * deliveries, and a lease that it still has runs out by
		 * itself. */
		if (!peer->listed)
			peer_state_move(&peer->state, PEER_LEFT);
		else if (now - peer->seen_ms >=
			 c->options.timing->cluster_dead_ms)
			rc = mark_dead(c, peer, err);
		if (peer->state == PEER_LEFT)
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
		peers->list[i].listed = false;
	rc = node_each_alive(c->db, on_row_node, c, err);
	if (rc != RC_OK)
		return (rc);
	skip_blind_time(peers, c->options.timing->cluster_heartbeat_ms, now);
	rc = update_states(c, now, err);
	*ret_n = (int)peers->n + 1;
	if (rc != RC_OK)
		return (rc);
	elect_first(c);
	return (forget_left(c, now, err));
}
