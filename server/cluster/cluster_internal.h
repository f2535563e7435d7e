/* SPDX-License-Identifier: MIT */
/*
 * What the files of cluster share.  Only cluster/ includes this.
 */
#ifndef CLUSTER_CLUSTER_INTERNAL_H
#define CLUSTER_CLUSTER_INTERNAL_H

#include <stdatomic.h>

#include "base/buf.h"
#include "base/htab.h"
#include "base/lock.h"
#include "base/thr.h"
#include "cluster/cluster.h"
#include "cluster/node.h"

#define CHANNEL "twinbox"

/* ---- notes.c: what goes over the channel ----
 *
 * A note is words with a space between: N12 is whose it is; then, of what has
 * happened, H7:31 an inbox and its end, C7:90:1 an entry and its event, A7:3:30
 * a device's ack, R3:hash a token lost, D destinations changed, J a node began,
 * E the epoch is another, * more than could be told.  Unknown words are passed
 * over, so that versions can stand side by side. */

/* PostgreSQL takes less than 8,000 bytes. */
#define NOTE_BYTES 7900
/* Notes that may wait to go out; what is beyond is "*". */
#define NOTES_MAX 32

struct outbound {
	struct buf notes[NOTES_MAX]; /* each NUL-terminated when it goes */
	size_t n;
	bool lost;
	struct htab *heads; /* user -> struct head: told once, at the end */
};

/* Makes and frees; false: no memory. */
bool outbound_init(struct outbound *o);
void outbound_fini(struct outbound *o);

/* Adds what ${effects} say, or a word. */
void outbound_effects(struct outbound *o, const struct effects *effects);
void outbound_word(struct outbound *o, const char *word);

/* Whether there is anything. */
bool outbound_empty(const struct outbound *o);

/* Gives each note of node ${node}, whole, and is empty then.  Stops at the
 * first result other than RC_OK. */
enum rc outbound_send(struct outbound *o, int64_t node,
    enum rc (*each)(void *arg, const char *note, struct err *err), void *arg,
    struct err *err) MUST_USE;

/* What a note said, beside the effects that it is turned into. */
struct inbound {
	int64_t node;
	bool missed; /* more than could be told, or no memory */
	bool destinations_changed;
	bool began;
	bool epoch; /* is another, perhaps */
	struct effects *effects;
};

/* Reads ${text}; ${ret}->effects may be NULL, else the caller's. */
void inbound_read(const char *text, struct inbound *ret);

/* ---- peers.c: who else there is ---- */

struct peer {
	int64_t node_id;
	int64_t beat_at;
	int64_t seen_ms; /* monotonic: when the beat was seen to move */
	bool here;
	bool dead;       /* and said to be; not buried yet */
	int64_t dead_ms; /* monotonic: since when */
	char name[NODE_NAME_SIZE];
};

#define PEERS_MAX 64

struct peers {
	struct peer list[PEERS_MAX];
	size_t n;
	int64_t looked_ms; /* monotonic: when they were last looked at */
};

/* Looks at the others, and ends the leases of the dead.  *ret_n: how
 * many live, this one included. */
struct cluster;
enum rc peers_check(struct cluster *c, int *ret_n, struct err *err) MUST_USE;

/* ---- cluster.c ---- */

struct cluster {
	struct cluster_options options;
	struct db *db;
	struct thr *thread;
	int wake_fd; /* eventfd */
	struct lock lock;
	struct outbound out;   /* lock */
	struct outbound spare; /* the thread's own */
	bool stopping;         /* lock */

	struct lineage_node node; /* this one */
	bool reconnected;         /* the connection is a new one */
	bool over;                /* the epoch is another */
	struct peers peers;
	atomic_int nnodes;
	atomic_bool first; /* of those who live */
	int64_t tidy_ms;   /* when those who are gone are forgotten next */
	atomic_bool away;  /* the connection is lost */
	bool missed;       /* everybody is to be looked after */
	int64_t beat_ms;   /* when the next is due; monotonic */
	int64_t recheck_ms;
	int64_t paid_ms; /* until when what went out has used up the rate */

	struct push_present ask;
	bool asking; /* thread's own: an answer is on its way */
	atomic_bool answered;
};

#endif
