/* SPDX-License-Identifier: MIT */
/*
 * Shared by the files of cluster/: notes, peers, the recheck, and struct
 * cluster, the state of the cluster thread.  No other module of the server
 * includes this header.
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

/* ---- notes.c: what is sent over the channel ----
 *
 * A note is a list of words separated by spaces:
 *
 *	N12       the sender is node 12; N0: a command of twinboxd
 *	H7:31     the inbox of user 7 has events up to the seq 31
 *	C7:90:1   the outbox entry of message 90 of user 7 changed; 1 is a
 *	          value of enum outbox_event
 *	A7:3:30   device 3 of user 7 acked up to the seq 30
 *	R3:HASH   the token of device 3 was revoked; HASH: of the token, hex
 *	U3:HASH   the rights of the user of device 3 changed; the token with
 *	          this hash stays valid
 *	D         an operator changed destinations
 *	Pb.example  an operator changed the row of the server b.example
 *	J         the sender has started
 *	E         the epoch changed
 *	*         words were lost: each receiver rechecks its connected users
 *
 * Unknown words are ignored, so that nodes of different versions can run side
 * by side. */

/* The payload of NOTIFY must be shorter than 8,000 bytes. */
#define NOTE_BYTES 7900
/* The most notes that wait to be sent.  A word for which the last of these
 * NOTES_MAX notes has no room is dropped, and one more note, with the word "*",
 * is sent after the others, so that the other nodes recheck. */
#define NOTES_MAX 32

struct notes_out {
	struct buf notes[NOTES_MAX]; /* each the words of one note */
	size_t n;
	bool lost;
	/* User id -> struct head (owned), the highest seq among the events that
	 * were added for the user's inbox since the last sending.  Each head
	 * becomes a word ("H7:31") only when the notes are sent, so that they
	 * name each inbox once. */
	struct htab *heads;
};

/* Initialise and free.  False: no memory. */
bool notes_out_init(struct notes_out *o);
void notes_out_fini(struct notes_out *o);

/* notes_out_effects() adds to ${o} the words for ${effects}, notes_out_word()
 * the one word ${word}; both copy.  If there is no memory, or no room in the
 * notes, words are lost; when memory is short, words of earlier calls may be
 * lost, too.  After a loss notes_out_send() also sends a note "*". */
void notes_out_effects(struct notes_out *o, const struct effects *effects);
void notes_out_word(struct notes_out *o, const char *word);

/* Returns true if no note waits. */
bool notes_out_empty(const struct notes_out *o);

/* Calls ${each} for each note of ${o}, preceded by the word N of the sender
 * ${node}; if words were lost, then for a note "*", too.  Stops at the first
 * result other than RC_OK and returns it.  Empties ${o} in any case: after a
 * failure the notes that were not passed to ${each} are lost, and no "*" will
 * say so. */
enum rc notes_out_send(struct notes_out *o, int64_t node,
    enum rc (*each)(void *arg, const char *note, struct err *err), void *arg,
    struct err *err) MUST_USE;

/* Limit of changed servers that are read from one note. */
#define NOTES_PEERS 8

/* The contents of a note.  Words about users and devices become ${effects}. */
struct notes_in {
	int64_t node;
	bool missed; /* the sender lost some, or no memory */
	bool destinations_changed;
	size_t npeers;
	char peers[NOTES_PEERS][LIMIT_DOMAIN_LEN + 1]; /* rows that changed */
	bool began;
	bool epoch; /* the epoch may have changed */
	struct effects *effects;
};

/* Parses ${text}.  ${ret}->effects may be NULL; otherwise the caller owns
 * them. */
void notes_in_read(const char *text, struct notes_in *ret);

/* ---- peers.c: the other nodes ---- */

struct peer {
	int64_t node_id;
	enum peer_state state;
	int64_t heartbeat_at;
	int64_t seen_ms; /* monotonic: when the heartbeat changed last */
	int64_t dead_ms; /* monotonic: since when it is PEER_DEAD */
	bool listed;     /* its row was found by this check */
	char name[NODE_NAME_SIZE];
};

#define PEERS_MAX 64

struct peers {
	struct peer list[PEERS_MAX];
	size_t n;
	int64_t checked_ms; /* monotonic: when all were checked last */
};

/* Reads the heartbeats of at most PEERS_MAX other nodes, ends the leases of
 * dead ones, and sets ${c}->first, which is true if this node has the lowest id
 * of the nodes alive.  The first node also deletes the rows of nodes that left
 * long ago.  *ret_n, valid after RC_OK: the number of nodes, which counts this
 * one and the dead ones that are not marked as left yet, but none beyond
 * PEERS_MAX others. */
struct cluster;
enum rc peers_check(struct cluster *c, int *ret_n, struct err *err) MUST_USE;

/* ---- recheck.c: what notes may have missed ---- */

/* Empties the cache of tokens.  Then reads the ends of inboxes, the acks and
 * the revoked tokens of the users and devices that push has listed in ${c}->ask
 * (those connected), and hands them to push as effects.  If push had no memory
 * for the lists, or there is none for a struct effects, reads nothing, sets
 * ${c}->missed, so that the recheck is repeated, and returns RC_OK.  If a query
 * fails, or an effect cannot be added, returns that error, and push gets
 * nothing.  Frees the lists of ${c}->ask in any case. */
enum rc recheck_read(struct cluster *c, struct err *err) MUST_USE;

/* ---- cluster.c ---- */

struct cluster {
	struct cluster_options options;
	struct db *db;
	struct thr *thread;
	int wake_fd; /* eventfd */
	struct lock lock;
	struct notes_out out;     /* under the lock */
	struct notes_out sending; /* used by the thread only */
	bool stopping;            /* under the lock */

	struct lineage_node node; /* this node */
	atomic_int state;         /* enum node_state; set by the thread */
	bool reconnected;         /* since the last heartbeat */
	struct peers peers;
	atomic_int nnodes;
	atomic_bool first;    /* lowest id of the nodes alive */
	int64_t tidy_ms;      /* monotonic: next clean-up of nodes' rows */
	bool missed;          /* recheck all connected users now */
	int64_t heartbeat_ms; /* monotonic: next heartbeat */
	int64_t recheck_ms;
	int64_t paid_ms; /* monotonic: level of the leaky bucket */

	struct push_present ask;
	bool asking; /* used by the thread only: push has ${ask} */
	atomic_bool answered;
};

#endif
