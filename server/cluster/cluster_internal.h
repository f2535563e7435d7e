/* SPDX-License-Identifier: MIT */
/*
 * What the files of cluster share.  Only cluster/ includes this.
 */
#ifndef CLUSTER_CLUSTER_INTERNAL_H
#define CLUSTER_CLUSTER_INTERNAL_H

#include <stdatomic.h>

#include "base/buf.h"
#include "base/htab.h"
#include "base/limits.h"
#include "base/lock.h"
#include "base/thr.h"
#include "cluster/cluster.h"
#include "cluster/node.h"
#include "cluster/node_state.h"
#include "cluster/peer_state.h"

#define CHANNEL "twinbox"

/* ---- notes.c: what goes over the channel ----
 *
 * A note is a list of words separated by spaces: N12 names its node; H7:31 an
 * inbox and its end, C7:90:1 an entry and its event, A7:3:30 a device's ack,
 * R3:hash a revoked token, D destinations changed, Pb.example what is known of
 * that server changed, J a node started, E the epoch changed, * more than fits.
 * Unknown words are ignored, so that nodes of different versions can run side
 * by side. */

/* PostgreSQL takes less than 8,000 bytes. */
#define NOTE_BYTES 7900
/* Notes that may wait to go out; beyond them the note is "*". */
#define NOTES_MAX 32

struct notes_out {
	struct buf notes[NOTES_MAX]; /* each NUL-terminated when it goes */
	size_t n;
	bool lost;
	struct htab *heads; /* user -> struct head: told once, at the end */
};

/* Makes and frees; false: no memory. */
bool notes_out_init(struct notes_out *o);
void notes_out_fini(struct notes_out *o);

/* Adds what ${effects} say, or a word. */
void notes_out_effects(struct notes_out *o, const struct effects *effects);
void notes_out_word(struct notes_out *o, const char *word);

/* Whether there is anything. */
bool notes_out_empty(const struct notes_out *o);

/* Gives each note of node ${node}, whole, and is empty then.  Stops at the
 * first result other than RC_OK. */
enum rc notes_out_send(struct notes_out *o, int64_t node,
    enum rc (*each)(void *arg, const char *note, struct err *err), void *arg,
    struct err *err) MUST_USE;

/* Servers that are read of one note. */
#define NOTES_PEERS 8

/* What a note said, beside the effects that it is turned into. */
struct notes_in {
	int64_t node;
	bool missed; /* more than fits in notes, or no memory */
	bool destinations_changed;
	size_t npeers;
	char peers[NOTES_PEERS][LIMIT_DOMAIN_LEN + 1]; /* that changed */
	bool began;
	bool epoch; /* has changed, perhaps */
	struct effects *effects;
};

/* Reads ${text}; ${ret}->effects may be NULL, else the caller's. */
void notes_in_read(const char *text, struct notes_in *ret);

/* ---- peers.c: the other nodes ---- */

struct peer {
	int64_t node_id;
	enum peer_state state;
	int64_t heartbeat_at;
	int64_t seen_ms; /* monotonic: when the heartbeat was seen to move */
	int64_t dead_ms; /* monotonic: since when it is PEER_DEAD */
	bool listed;     /* among the rows of this check */
	char name[NODE_NAME_SIZE];
};

#define PEERS_MAX 64

struct peers {
	struct peer list[PEERS_MAX];
	size_t n;
	int64_t checked_ms; /* monotonic: when they were checked last */
};

/* Checks the heartbeats of the other nodes, and ends the leases of the dead.
 * *ret_n: how many nodes there are, this one included. */
struct cluster;
enum rc peers_check(struct cluster *c, int *ret_n, struct err *err) MUST_USE;

/* ---- cluster.c ---- */

struct cluster {
	struct cluster_options options;
	struct db *db;
	struct thr *thread;
	int wake_fd; /* eventfd */
	struct lock lock;
	struct notes_out out;     /* lock */
	struct notes_out sending; /* the thread's own */
	bool stopping;            /* lock */

	struct lineage_node node; /* this one */
	atomic_int state;         /* enum node_state; the thread moves it */
	bool reconnected;         /* the connection is a new one */
	struct peers peers;
	atomic_int nnodes;
	atomic_bool first; /* the lowest id of the nodes alive */
	int64_t tidy_ms;   /* when rows of nodes that left are deleted next */
	bool missed;       /* all connected users are to be checked */
	int64_t heartbeat_ms; /* when the next is due; monotonic */
	int64_t recheck_ms;
	int64_t paid_ms; /* until when what went out has used up the rate */

	struct push_present ask;
	bool asking; /* thread's own: an answer is on its way */
	atomic_bool answered;
};

#endif
