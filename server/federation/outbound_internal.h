/* SPDX-License-Identifier: MIT */
/*
 * The parts of the outbound thread: jobs (outbound.c), parcels of messages and
 * receipts for one peer (carry.c), look-ups of peers (lookup.c).  Thread:
 * outbound, unless said otherwise.
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

/* Limits for look-ups of peers that strangers may have caused, that is for all
 * look-ups that no parcel (messages to be sent to the peer) has waited for.
 * LOOKUPS_MAX: such look-ups at a time; a further one is not started.
 * LOOKUP_FETCHES: documents that such look-ups fetch at a time; a further fetch
 * waits.  LOOKUP_FETCHES_MINUTE: documents that such look-ups fetch in a
 * minute; a further look-up ends without its document. */
#define LOOKUPS_MAX 64
#define LOOKUP_FETCHES 4
#define LOOKUP_FETCHES_MINUTE 30

/* A job for the outbound thread, embedded in the object that it is about. */
struct outbound_job {
	struct mbox_node node;
	void (*run)(struct outbound *o, struct outbound_job *job);
};

/* ---- look-ups ---- */

/* A list of parcels. */
TAILQ_HEAD(carries, carry);

/* The phases of a look-up, and what it waits for. */
enum lookup_phase {
	LOOKUP_NEW,
	LOOKUP_READING,  /* a reader reads the row */
	LOOKUP_QUEUED,   /* waits for a slot to fetch */
	LOOKUP_FETCHING, /* libcurl fetches the document */
	LOOKUP_STORING   /* the writer stores the document */
};

struct lookup {
	struct outbound_job job;
	TAILQ_ENTRY(lookup) entry;
	struct outbound *outbound;
	char domain[LIMIT_DOMAIN_LEN + 1];
	enum directory_want what;
	bool stranger; /* started by the directory; no parcel waits for it */
	enum lookup_phase phase;
	int64_t asked_ms;       /* monotonic: when the row was asked for */
	struct carries waiting; /* parcels that wait for the result */
	/* A look-up that reads the row again after this one; NULL: none. */
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
	entry;       /* in o.carries or l.waiting */
	bool listed; /* it is in outbound.carries */
	struct outbound *outbound;
	struct parcel *parcel;
	int64_t until_ms; /* monotonic: end of its time-out */
	bool looked_up;   /* a look-up was done for it */
	struct directory_contact contact;

	/* The items of the parcel that have an answer. */
	bool answered[PARCEL_ITEMS];
	size_t nanswered;
	bool heartbeat_answered; /* for a parcel without items */
	size_t most;             /* limit of items in the next request */

	/* The request under way. */
	size_t sent[PARCEL_ITEMS]; /* the items in it, in order */
	size_t nsent;
	int64_t sent_ms; /* wall time: when it was begun */
	bool signed_anew;
	struct buf body;
	struct transfer transfer;
};

struct outbound {
	struct outbound_options o;
	struct directory *directory;
	CURLM *multi;     /* NULL until outbound_multi() is called */
	struct mbox *box; /* of struct outbound_job */
	struct thr *thread;
	atomic_bool stopping;
	struct outbound_job wake; /* wakes the thread to stop */
	/* For pinned peers: o.networks and loopback. */
	struct net_networks pinned;

	TAILQ_HEAD(, lookup) lookups; /* oldest first */
	atomic_size_t nstrangers;     /* number of look-ups for strangers */
	size_t nlookups;
	size_t fetching;       /* fetches for strangers under way */
	double fetches_left;   /* bucket: fetches for strangers */
	int64_t fetches_at_ms; /* monotonic: when it was refilled */

	struct carries carries; /* with a request under way */
};

/* ---- outbound.c ---- */

/* Hands ${job} to the thread.  RC_CLOSED: the thread has ended.  Thread:
 * any. */
enum rc outbound_post(struct outbound *o, struct outbound_job *job) MUST_USE;

/* Returns libcurl's multi handle, which ${o} owns.  The first call creates it,
 * so that a server without peers needs no memory for libcurl.  NULL: it could
 * not be created, for lack of memory; the next call tries again. */
CURLM *outbound_multi(struct outbound *o);

/* Returns the networks to which a request to ${domain} may connect in addition
 * to public addresses: those of the options, and also loopback if an operator
 * has pinned a URL for ${domain}.  Never NULL; ${o} owns them.  Sets *ret_http
 * to true if the pinned URL is http.  Sets it to false otherwise; then the URL
 * of the request must be https. */
const struct net_networks *outbound_allowed(
    const struct outbound *o, const char *domain, bool *ret_http);

/* ---- lookup.c ---- */

/* The function directory_options.want.  Thread: any. */
bool lookup_want(void *arg, const char *domain, enum directory_want what);

/* Lets ${c} (a parcel: messages and receipts for one peer) wait for the look-up
 * of the peer that is under way, or starts one, and makes that look-up fetch
 * the document of the peer.  When the look-up ends, ${c} is sent or fails; if
 * the time-out of ${c} passes earlier, ${c} fails then.  If the look-up cannot
 * be started, ${c} fails during this call.  A parcel that fails is freed. */
void lookup_for(struct outbound *o, struct carry *c);

/* Starts fetches of look-ups in the phase LOOKUP_QUEUED, while fewer than
 * LOOKUP_FETCHES fetches for strangers are under way.  Fails the parcels that
 * wait for a look-up and whose time-out has passed. */
void lookup_turn(struct outbound *o);

/* The thread stops: ends the look-ups that no reader or writer has. */
void lookup_stop(struct outbound *o);

/* ---- carry.c ---- */

/* The function carrier_remote.send.  Thread: any. */
void carry_send(void *arg, struct parcel *parcel);

/* Fails the parcel ${c} if the peer is blocked or not allowed.  Otherwise sends
 * ${c} if the document of the peer in memory is fresh.  If there is no fresh
 * document, lets ${c} wait for a look-up or, if ${c} has waited for a look-up
 * already, fails ${c} with the reason ${why} (NULL: "no document"). */
void carry_go_on(struct carry *c, const char *why);

/* Fails ${c}: the destination was not reached. */
void carry_fail(struct carry *c, const char *why);

/* Fails the parcel ${c} because of a fault of this server, such as a lack of
 * memory: hands the parcel back to the relay, which sends the items without an
 * answer again later, and frees ${c}.  The circuit breaker of the peer does not
 * count this as a failure, but the peer gets no request for OURS_AGAIN_MS
 * (2 s). */
void carry_fail_here(struct carry *c, const char *why);

/* Fails all parcels. */
void carry_stop(struct outbound *o);

#endif
