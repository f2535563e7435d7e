/* SPDX-License-Identifier: MIT */
/*
 * The parts of the outbound thread: jobs (outbound.c), parcels under way
 * (carry.c), look-ups of peers (lookup.c).
 * Thread: outbound, where nothing else is said.
 */
#ifndef FEDERATION_OUTBOUND_INTERNAL_H
#define FEDERATION_OUTBOUND_INTERNAL_H

#include <stdatomic.h>
#include <sys/queue.h>

#include "base/mbox.h"
#include "delivery/parcel.h"
#include "delivery/peers.h"
#include "federation/outbound.h"
#include "federation/transfer.h"

/* Look-ups that strangers cause: at once, and documents fetched at once and a
 * minute (docs/federation.md, "Whose key is it?"). */
#define LOOKUPS_MAX 64
#define LOOKUP_FETCHES 4
#define LOOKUP_FETCHES_MINUTE 30

/* Something for the outbound thread, embedded in its object. */
struct outbound_job {
	struct mbox_node node;
	void (*run)(struct outbound *o, struct outbound_job *job);
};

/* ---- look-ups ---- */

/* Parcels under way. */
TAILQ_HEAD(carries, carry);

/* What a look-up waits for. */
enum lookup_phase {
	LOOKUP_NEW,
	LOOKUP_READING,  /* a reader: its row */
	LOOKUP_QUEUED,   /* its turn to fetch */
	LOOKUP_FETCHING, /* libcurl: its document */
	LOOKUP_STORING   /* the writer: what the document says */
};

struct lookup {
	struct outbound_job job;
	TAILQ_ENTRY(lookup) entry;
	struct outbound *outbound;
	char domain[LIMIT_DOMAIN_LEN + 1];
	enum directory_want what;
	bool stranger; /* caused by a request, not by a parcel */
	enum lookup_phase phase;
	int64_t asked_ms;       /* monotonic: when the database was asked */
	struct carries waiting; /* parcels for this domain */
	/* One that reads the row again when this one has ended; NULL: none. */
	struct lookup *after;

	struct read_job read;
	bool found; /* ${known} is set */
	struct store_peer_known known;
	struct transfer transfer;
	struct document document;
	int64_t lifetime_s;
	struct peer_unit unit;
	struct err err;
};

/* ---- parcels ---- */

struct carry {
	struct outbound_job job;
	TAILQ_ENTRY(carry)
	entry;       /* of outbound.carries, or of lookup.waiting */
	bool listed; /* in outbound.carries */
	struct outbound *outbound;
	struct parcel *parcel;
	int64_t until_ms; /* monotonic: then its time is over */
	bool looked_up;   /* its peer was looked up for it */
	struct directory_contact contact;

	/* Items that have an answer, of this parcel. */
	bool answered[PARCEL_ITEMS];
	size_t nanswered;
	bool heartbeat_answered; /* of a parcel without items */
	size_t most;             /* items of the next request */

	/* The request under way. */
	size_t sent[PARCEL_ITEMS]; /* which items it has, in order */
	size_t nsent;
	int64_t sent_ms; /* wall time: when it began */
	bool signed_anew;
	struct buf body;
	struct transfer transfer;
};

struct outbound {
	struct outbound_options o;
	struct directory *directory;
	CURLM *multi;     /* NULL until the first request: outbound_multi() */
	struct mbox *box; /* of outbound_job */
	struct thr *thread;
	atomic_bool stopping;
	struct outbound_job wake;   /* says that it is stopping */
	struct net_networks pinned; /* networks, and loopback */

	TAILQ_HEAD(, lookup) lookups; /* the oldest first */
	atomic_size_t nstrangers;     /* look-ups that strangers have caused */
	size_t nlookups;
	size_t fetching;       /* by strangers' look-ups */
	double fetches_left;   /* of this minute's */
	int64_t fetches_at_ms; /* monotonic: when that was counted */

	struct carries carries; /* with a request under way */
};

/* ---- outbound.c ---- */

/* Hands ${job} to the thread.  Thread: any.  RC_CLOSED: the thread has ended.
 */
enum rc outbound_post(struct outbound *o, struct outbound_job *job) MUST_USE;

/* libcurl, made with the first request, so that a server that has no peers yet
 * needs no memory for it; NULL: no memory. */
CURLM *outbound_multi(struct outbound *o);

/* The networks that a request to ${domain} may go to, and whether it may be
 * http. */
const struct net_networks *outbound_allowed(
    const struct outbound *o, const char *domain, bool *ret_http);

/* ---- lookup.c ---- */

/* directory_options.want.  Thread: any. */
bool lookup_want(void *arg, const char *domain, enum directory_want what);

/* Looks the peer of ${c} up; ${c} goes on, or fails, with its end. */
void lookup_for(struct outbound *o, struct carry *c);

/* Begins queued fetches, and gives up parcels whose time is over. */
void lookup_turn(struct outbound *o);

/* Ends all that can be ended at once: the thread stops. */
void lookup_stop(struct outbound *o);

/* ---- carry.c ---- */

/* carrier_remote.send.  Thread: any. */
void carry_send(void *arg, struct parcel *parcel);

/* Its peer was looked up: goes on with ${c}, or fails it with ${why}. */
void carry_go_on(struct carry *c, const char *why);

/* Fails ${c}: its destination was not reached. */
void carry_fail(struct carry *c, const char *why);

/* The same for a fault of this server: the peer is not charged for it. */
void carry_fail_here(struct carry *c, const char *why);

/* Fails all. */
void carry_stop(struct outbound *o);

#endif
