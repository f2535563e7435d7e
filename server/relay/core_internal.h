/* SPDX-License-Identifier: MIT */
/*
 * What the relay's core consists of.  Only relay/core*.c include this.
 */
#ifndef RELAY_CORE_INTERNAL_H
#define RELAY_CORE_INTERNAL_H

#include <sys/queue.h>

#include "base/container.h"
#include "base/htab.h"
#include "delivery/claim.h"
#include "delivery/destination.h"
#include "delivery/reclaim.h"
#include "delivery/release.h"
#include "delivery/renew.h"
#include "delivery/settle.h"
#include "engine/outage.h"
#include "relay/core.h"
#include "relay/destination_state.h"
#include "relay/schedule.h"
#include "store/lane.h"

/* Units with the writer for local lanes. */
#define CORE_DELIVERIES 16
/* Parcels under way, to all destinations together: the widest window of one
 * (BREAKER_WINDOW_MAX), and half as many for the others.  Parcels that were
 * never needed cost no memory (core_parcels.all). */
#define CORE_PARCELS 96
/* Of these, so many may be on their way to destinations that have not answered
 * last time: each may be silent until its time-out, and were they all such,
 * nobody else would be sent anything. */
#define CORE_PARCELS_DOUBTFUL 8
/* Heartbeats to destinations for which nothing waits, beside those. */
#define CORE_HEARTBEATS 2
/* Lanes, and destinations, looked at by one safety poll. */
#define CORE_POLL_LANES 1000
#define CORE_POLL_DESTINATIONS 100

/* Destinations in memory, 4 KB each, unless the options say another number.
 * Other servers decide how many destinations the database has. */
#define CORE_DESTINATIONS 4096
/* A row that is older than this is read again when its destination is woken. */
#define CORE_READ_AGAIN_MS 5000

/* A lease, unless the options say another.  It is renewed after a third of it,
 * so that a renewal may fail once and come late.  It is renewed for two leases'
 * time at most: what takes longer than that will not come, and who waits behind
 * it has waited long enough. */
#define CORE_LEASE_MS 60000
#define CORE_RENEW_PARTS 3
#define CORE_RENEW_LEASES 2

struct delivery {
	struct deliver_unit unit; /* first */
	struct core_job job;
	struct core *core;
	struct delivery *next_idle;
};

struct destination {
	struct store_destination_row row;
	int64_t read_ms;         /* monotonic: when the row was read last */
	int64_t used_ms;         /* monotonic: when it was woken or claimed */
	bool may_work;           /* it may have lanes that are due */
	int64_t next_due;        /* wall time of its next lane; 0: none known */
	int64_t parked_until_ms; /* monotonic: it wants nothing before */
	int requests_most;       /* that it takes at once; 0: it has not said */
	int64_t contact_ms;      /* monotonic: when a contact was last heeded */
	int64_t beat_wait_ms;  /* after a heartbeat that was parked; 0: none */
	int64_t beat_after_ms; /* monotonic: no heartbeat before */
	bool claiming;         /* a claim is with the writer */
	bool woken;            /* since that claim was handed over */
	int in_flight;         /* parcels, claimed or carried */
	unsigned turn;         /* of the classes of priority */
	struct claim_passes passes; /* how far claims have come */
	double tokens;              /* what its rate still allows */
	int64_t tokens_at;

	enum destination_state state;
	bool doubtful;                  /* which queue, while runnable */
	int64_t until_ms;               /* monotonic, while parked */
	TAILQ_ENTRY(destination) entry; /* while runnable */
	TAILQ_ENTRY(destination) use;   /* of all, see destinations.used */

	/* Its breaker is being stored; and its row does not say what it is,
	 * nor will when that one is stored. */
	struct breaker_unit save;
	struct core_job save_job;
	struct core *core;
	bool saving, changed;
	bool mend; /* the row was another node's: stored with an answer */
};

struct lane_lease {
	int64_t lane_id, token;
};

/* The leases of a parcel's lanes (core_lease.c). */
struct parcel_lease {
	struct lane_lease lanes[PARCEL_ITEMS];
	size_t n;           /* lanes whose lease is not known to be lost */
	bool wanted;        /* under way, or its answer is not written yet */
	bool lost;          /* a lease of it, or all */
	uint64_t number;    /* of its claim: no other has the same */
	int64_t claimed_ms; /* monotonic */
	int64_t renew_ms;   /* monotonic: when they are renewed next */
};

struct parcel_job {
	struct parcel parcel; /* first */
	struct claim_unit claim;
	struct settle_unit settle;
	struct core_job job;
	struct core *core;
	struct destination *to;
	bool doubtful; /* it was, when this was claimed; heartbeats never are */

	struct parcel_lease lease;

	struct parcel_job *next; /* idle, or waiting to be settled */
};

/* Those that can run, in turn. */
TAILQ_HEAD(destination_queue, destination);

/* Local lanes: which are due, and the units that deliver them. */
struct core_local {
	struct schedule *schedule;
	struct delivery deliveries[CORE_DELIVERIES];
	struct delivery *idle;
	bool paused;
};

/* The safety poll: where the last one ended, and when the next is due. */
struct core_poll {
	int64_t next_ms; /* monotonic */
	int64_t after_lane;
	int64_t after_destination;
};

/* Scheduled messages. */
struct core_release {
	struct release_unit unit;
	struct core_job job;
	bool under_way;
};

/* Leases that have run out, and messages that expire. */
struct core_reclaim {
	struct reclaim_unit unit;
	struct core_job job;
	bool under_way;
	bool all;                          /* the start: no lease is valid */
	int64_t next_ms;                   /* monotonic */
	int64_t expire_after, expire_upto; /* local lanes, behind a pause */
};

/* Leases that are being renewed, of several parcels. */
struct core_renewal {
	struct renew_unit unit;
	struct core_job job;
	bool under_way;
	int64_t asked_ms; /* monotonic */
	int64_t after_ms; /* monotonic: after a failure, not before */
	struct renew_lease leases[CORE_PARCELS * PARCEL_ITEMS];
	struct renewed {
		struct parcel_job *parcel;
		uint64_t number;
		size_t n;
	} parcels[CORE_PARCELS];
	size_t nparcels;
};

struct core_destinations {
	struct htab *by_id;
	struct destination_queue runnable, doubtful;
	struct destination_queue used; /* all; the least recently used first */
	int64_t next_parked_ms; /* monotonic: a parked one may run then */
	size_t saves;           /* breakers that are being stored */
	int64_t save_again_ms;  /* monotonic: others are then; 0: none is */
};

struct core_parcels {
	/* CORE_PARCELS, of which the first ${used} were ever taken: pages that
	 * nobody touches are no memory. */
	struct parcel_job *all;
	size_t used;
	struct parcel_job *idle;
	struct parcel_job *unsettled; /* the writer would not take them */
	size_t under_way;             /* not idle */
	size_t doubtful_under_way;    /* of these, see CORE_PARCELS_DOUBTFUL */
	uint64_t claims;              /* so many have filled a parcel */
};

/* Heartbeats: when the next may leave, in monotonic time (0: none is wanted),
 * and how many are under way. */
struct core_heartbeats {
	int64_t next_ms;
	size_t under_way;
};

struct core {
	struct core_options o;
	int64_t wall_ms, mono_ms; /* of this turn */
	bool going, closed;
	bool all_paused;
	int64_t pause_until_ms; /* monotonic */
	struct outage outage;   /* of the database, for the log */

	struct core_local local;
	struct core_poll poll;
	struct core_release release;
	struct core_reclaim reclaim;
	struct core_renewal renewal;
	struct core_destinations destinations;
	struct core_parcels parcels;
	struct core_heartbeats heartbeats;
};

/* ---- core.c ---- */

/* A unit failed for the reason ${rc}: no new ones for a while. */
void core_pause(struct core *c, enum rc rc, const char *what);

/* The database was asked in vain, or has answered: the log says so once. */
void core_failed(struct core *c, const struct err *err);
void core_well(struct core *c);

/* ---- core_local.c ---- */

/* Hands ready lanes to the local carrier while there are idle units. */
void core_deliver(struct core *c);

/* Looks for local lanes that owe something, and releases what is due.  Returns
 * when the next scheduled message is, in monotonic time; 0: none. */
int64_t core_poll_local(struct core *c);

/* ---- core_lease.c ---- */

/* How long a lease is. */
int64_t core_lease_ms(const struct core *c);

/* ${p} was claimed: from now on the leases of its lanes are renewed. */
void core_lease_begin(struct core *c, struct parcel_job *p);

/* Renews the leases of what is held, when a third of them is over.  Returns
 * when there will be some to renew, in monotonic time; 0: none, or not before
 * something comes back. */
int64_t core_renew(struct core *c);

/* ---- core_known.c ---- */

/* Reads destination ${id} into memory, or again.  It may still not be there:
 * its row is gone, or nothing can make room for it. */
enum rc core_read_destination(
    struct core *c, int64_t id, struct err *err) MUST_USE;
/* Reads what is in memory again, because an operator has changed something. */
enum rc core_read_destinations(struct core *c, struct err *err) MUST_USE;
/* At the start: destinations that have ready lanes, and those that were not
 * reached when the server stopped, as many as there is room for. */
enum rc core_read_start(struct core *c, struct err *err) MUST_USE;
/* Reads whether all that is sent, or all that goes to inboxes here, is
 * paused. */
enum rc core_read_pauses(struct core *c, struct err *err) MUST_USE;

/* Takes ${row}, which has ready lanes, into memory, or what is new in it.  One
 * that is not there and could not be sent anything now is left out while
 * memory is full: a later poll finds it. */
enum rc core_take_ready(struct core *c, const struct store_destination_row *row,
    struct err *err) MUST_USE;

/* ${d} has been woken, or is claimed for. */
void core_destination_used(struct core *c, struct destination *d);

/* Forgets destinations that have nothing to send and were not used for long. */
void core_forget_idle(struct core *c);

/* ---- core_destination.c ---- */

/* Destination ${id} may have work. */
void core_wake_destination(struct core *c, int64_t id);

/* Destination ${id} has written to this server.  ${alone}: it sent nothing but
 * a heartbeat, which causes no heartbeat. */
void core_contact(struct core *c, int64_t id, bool alone);

/* Whether an operator has paused ${d}, or all. */
bool core_destination_paused(const struct core *c, const struct destination *d);

/* Whether the destination of ${row} may well leave the next parcel without an
 * answer: it has not answered last time, or never. */
bool core_destination_doubtful(const struct store_destination_row *row);

/* Moves ${d} to the state that it should be in now. */
void core_destination_review(struct core *c, struct destination *d);

/* Takes ${d} out of the queues, because it is about to be forgotten. */
void core_destination_rest(struct core *c, struct destination *d);

/* Reviews the parked destinations whose time has come, and finds the next
 * time. */
void core_destinations_unpark(struct core *c);

/* Stores the breaker of ${d}.  One that cannot be stored now is stored with its
 * next change or by a later safety poll, and is not forgotten before; after a
 * restart it is learnt anew. */
void core_breaker_save(struct core *c, struct destination *d);

/* Looks at some destinations for work that no wake-up told of. */
void core_poll_remote(struct core *c);

/* ---- core_parcel.c ---- */

/* Sends parcels off as far as breakers, windows, rates and pauses let. */
void core_send(struct core *c);

/* Settles what the writer would not take before. */
void core_settle_again(struct core *c);

/* A parcel that is not under way; NULL: there is none. */
struct parcel_job *core_parcel_idle(struct core *c);

/* ${p}, which is core_parcel_idle(), is under way to ${d} from now on, as a
 * heartbeat. */
void core_parcel_begin(
    struct core *c, struct destination *d, struct parcel_job *p);

/* Gives ${p} to the carrier; ${back} is called when it has come back. */
void core_parcel_send(struct core *c, struct parcel_job *p,
    void (*back)(struct core *c, struct core_job *job));

/* ${p} has come back: its destination's breaker is told, or it is parked. */
void core_parcel_heard(struct core *c, struct parcel_job *p);

/* ${p} is at its end; its destination's next lane is due at ${next_due} (wall
 * time; 0: none is known). */
void core_parcel_done(struct core *c, struct parcel_job *p, int64_t next_due);

/* ---- core_heartbeat.c ---- */

/* ${d} has changed: it may want a heartbeat. */
void core_heartbeat_review(struct core *c, const struct destination *d);

/* Sends the heartbeats that are due. */
void core_heartbeat(struct core *c);

#endif
