/* SPDX-License-Identifier: MIT */
/*
 * The parts of the relay's core.  Only relay/core*.c include this.  All of it
 * belongs to the relay's thread; relay_stats() reads it between two turns,
 * under a lock of relay.c.
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

/* Units for local lanes that may be with the writer at a time. */
#define CORE_DELIVERIES 16
/* Parcels that may be under way to all destinations together: as many as the
 * widest window of one destination (BREAKER_WINDOW_MAX, 64), and half of that
 * for the other destinations.  A parcel that was never used costs no memory
 * (core_parcels.all). */
#define CORE_PARCELS 96
/* Limit for parcels to doubtful destinations (core_destination_doubtful).  Each
 * may be silent until its time-out.  Without this limit silent servers could
 * hold all parcels, and servers that answer would get no messages. */
#define CORE_PARCELS_DOUBTFUL 8
/* Heartbeats that may be under way.  They count for CORE_PARCELS, but not for
 * CORE_PARCELS_DOUBTFUL. */
#define CORE_HEARTBEATS 2
/* Lanes and destinations that one safety poll reads. */
#define CORE_POLL_LANES 1000
#define CORE_POLL_DESTINATIONS 100

/* Limit of destinations in memory (4 KB each), unless the options give another.
 * It bounds memory, because other servers decide how many destinations the
 * database has. */
#define CORE_DESTINATIONS 4096
/* When a destination is woken, its row is read again if it is older than
 * this. */
#define CORE_READ_AGAIN_MS 5000

/* The length of a lease, unless the options give another.  A lease is renewed
 * when a third of it is over, so that one renewal may fail and the next may be
 * late.  The last renewal is less than CORE_RENEW_LEASES lengths after the
 * claim: an answer that takes longer will not come, and the messages behind it
 * have waited long enough. */
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
	int64_t read_ms;  /* monotonic: when the row was read last */
	int64_t used_ms;  /* monotonic: when it was woken or claimed */
	bool may_work;    /* it may have a lane that is due */
	int64_t next_due; /* wall time of its next due lane; 0: unknown */
	int64_t parked_until_ms; /* monotonic: it asked for no request before */
	int requests_most;       /* requests it takes at once; 0: unknown */
	int64_t contact_ms; /* monotonic: when a contact caused a probe last */
	/* The wait after the last postponed heartbeat; 0: none. */
	int64_t beat_wait_ms;
	int64_t beat_after_ms; /* monotonic: no heartbeat before this */
	bool claiming;         /* a claim for it is with the writer */
	bool woken;            /* it was woken after that claim was submitted */
	int in_flight;         /* parcels claimed or sent */
	unsigned turn;         /* counts claims, for schedule_class() */
	struct claim_passes passes; /* where the next claim continues */
	double tokens;              /* messages that its rate allows now */
	int64_t tokens_at;

	enum destination_state state;
	bool doubtful;    /* while runnable: it is in the doubtful queue */
	int64_t until_ms; /* monotonic: end of PARKED */
	TAILQ_ENTRY(destination) entry; /* runnable or doubtful queue */
	TAILQ_ENTRY(destination) use;   /* in destinations.used */

	/* For storing the breaker.  ${saving}: the unit ${save} is with the
	 * writer.  ${changed}: the breaker has changed since it was stored or
	 * submitted last, or could not be stored. */
	struct breaker_unit save;
	struct core_job save_job;
	struct core *core;
	bool saving, changed;
	/* The row has the breaker of another node: store ours at the next
	 * success. */
	bool mend;
};

struct lane_lease {
	int64_t lane_id, token;
};

/* The leases of a parcel's lanes (core_lease.c). */
struct parcel_lease {
	struct lane_lease lanes[PARCEL_ITEMS];
	size_t n;        /* lanes whose lease is still ours, as far as known */
	bool wanted;     /* the parcel is sent, or could not be settled yet */
	bool lost;       /* at least one lease was lost */
	uint64_t number; /* identifies the claim; never used twice */
	int64_t claimed_ms; /* monotonic */
	int64_t renew_ms;   /* monotonic: when to renew next */
};

struct parcel_job {
	struct parcel parcel; /* first */
	struct claim_unit claim;
	struct settle_unit settle;
	struct core_job job;
	struct core *core;
	struct destination *to;
	/* The destination was doubtful at the claim; false for heartbeats. */
	bool doubtful;

	struct parcel_lease lease;

	struct parcel_job *next; /* in the idle or the unsettled list */
};

/* Runnable destinations, in round-robin order. */
TAILQ_HEAD(destination_queue, destination);

/* Local lanes: the schedule, and the units that deliver them. */
struct core_local {
	struct schedule *schedule;
	struct delivery deliveries[CORE_DELIVERIES];
	struct delivery *idle;
	bool paused;
};

/* The safety poll: when the next is due, and after which ids it continues. */
struct core_poll {
	int64_t next_ms; /* monotonic */
	int64_t after_lane;
	int64_t after_destination;
};

/* The unit that releases scheduled messages. */
struct core_release {
	struct release_unit unit;
	struct core_job job;
	bool under_way;
};

/* The unit that ends leases that have run out, and takes out expired
 * messages. */
struct core_reclaim {
	struct reclaim_unit unit;
	struct core_job job;
	bool under_way;
	bool all;        /* at the start: end every lease */
	int64_t next_ms; /* monotonic */
	/* Range of local lanes in which the unit looks for expired messages
	 * while local delivery is paused. */
	int64_t expire_after, expire_upto;
};

/* The unit that renews leases, and the parcels that the leases belong to. */
struct core_renewal {
	struct renew_unit unit;
	struct core_job job;
	bool under_way;
	int64_t asked_ms; /* monotonic: when the unit was submitted */
	int64_t after_ms; /* monotonic: not before, after a failure */
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
	struct destination_queue used; /* all, least recently used first */
	int64_t next_parked_ms; /* monotonic: earliest end of PARKED; 0: none */
	size_t saves;           /* breakers whose unit is with the writer */
	int64_t save_again_ms; /* monotonic: retry storing; 0: nothing failed */
};

struct core_parcels {
	/* An array of CORE_PARCELS, of which only the first ${used} elements
	 * were ever used.  The kernel gives memory only to pages that are
	 * written. */
	struct parcel_job *all;
	size_t used;
	struct parcel_job *idle;
	struct parcel_job *unsettled; /* to be settled again */
	size_t under_way;             /* not idle */
	size_t doubtful_under_way;    /* see CORE_PARCELS_DOUBTFUL */
	uint64_t claims;              /* number of the last claim */
};

/* The time at which the next heartbeat may leave (monotonic; 0: none is
 * wanted), and the number of heartbeats under way. */
struct core_heartbeats {
	int64_t next_ms;
	size_t under_way;
};

struct core {
	struct core_options o;
	int64_t wall_ms, mono_ms; /* the time of this turn */
	bool going, closed;
	bool all_paused;
	int64_t pause_until_ms; /* monotonic */
	struct outage outage;   /* failures of the database, for the log */

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

/* Reports to core_failed() that a unit has failed for the reason ${rc}.
 * Deliveries, claims, settlings and reclaims then pause for relay_pause_ms, or
 * for relay_pause_full_ms if the disk is full. */
void core_pause(struct core *c, enum rc rc, const char *what);

/* core_failed() notes that a read or a unit has failed, core_well() that a
 * safety poll has read the database.  They log the beginning and the end of an
 * outage and a line each log_outage_ms, not each failure. */
void core_failed(struct core *c, const struct err *err);
void core_well(struct core *c);

/* ---- core_local.c ---- */

/* Hands ready lanes to the local carrier while one of the CORE_DELIVERIES units
 * is idle, unless local delivery is paused. */
void core_deliver(struct core *c);

/* Reads a page of local lanes that have messages, and submits the release of
 * scheduled messages that are due.  Returns the monotonic time in ms at which
 * the next scheduled message is due; 0: none waits, one is being released now,
 * or the database cannot be read. */
int64_t core_poll_local(struct core *c);

/* ---- core_lease.c ---- */

/* Returns the length of a lease in ms. */
int64_t core_lease_ms(const struct core *c);

/* ${p} was claimed: starts the renewal of the leases of its lanes. */
void core_lease_begin(struct core *c, struct parcel_job *p);

/* Submits the renewal of all leases of which a third is over.  Returns the
 * monotonic time in ms of the next renewal; 0 if there is none, or if a renewal
 * is with the writer. */
int64_t core_renew(struct core *c);

/* ---- core_known.c ---- */

/* Reads or updates destination ${id} in memory.  On RC_OK it may still be
 * missing: its row does not exist, or memory is full and no other can be
 * evicted. */
enum rc core_read_destination(
    struct core *c, int64_t id, struct err *err) MUST_USE;
/* Updates all destinations in memory, after a change by an operator. */
enum rc core_read_destinations(struct core *c, struct err *err) MUST_USE;
/* At the start: reads destinations with ready lanes, then those whose breaker
 * is not closed, until memory is full. */
enum rc core_read_start(struct core *c, struct err *err) MUST_USE;
/* Reads whether all sending, or delivery to inboxes here, is paused. */
enum rc core_read_pauses(struct core *c, struct err *err) MUST_USE;

/* Reads or updates ${row}, a destination that has ready lanes.  When memory is
 * full, a new destination is skipped if it could send nothing now, or if no
 * other can be evicted; a later safety poll finds it. */
enum rc core_take_ready(struct core *c, const struct store_destination_row *row,
    struct err *err) MUST_USE;

/* ${d} was woken or claimed for: moves it to the end of the LRU list. */
void core_destination_used(struct core *c, struct destination *d);

/* Evicts destinations that have no messages, need no heartbeat and have not
 * been used for relay_forget_ms, nor for BREAKER_CALM_MS if the breaker counts
 * a failure. */
void core_forget_idle(struct core *c);

/* ---- core_destination.c ---- */

/* Destination ${id} may have messages to send. */
void core_wake_destination(struct core *c, int64_t id);

/* A request of destination ${id} has arrived here.  ${alone}: it was only a
 * heartbeat.  See relay_contact(). */
void core_contact(struct core *c, int64_t id, bool alone);

/* Returns true if an operator has paused ${d} or all destinations. */
bool core_destination_paused(const struct core *c, const struct destination *d);

/* Returns true if the next parcel to the destination of ${row} may well get no
 * answer: its breaker is not closed or still counts a failure, or it has never
 * answered ("doubtful"). */
bool core_destination_doubtful(const struct store_destination_row *row);

/* Computes the state of ${d} from its present data, and moves ${d} there.  Call
 * it after each change of ${d}. */
void core_destination_review(struct core *c, struct destination *d);

/* Makes ${d} idle, which takes it out of its queue, before it is evicted. */
void core_destination_rest(struct core *c, struct destination *d);

/* Reviews the parked destinations when the earliest wait is over, and finds the
 * next such time. */
void core_destinations_unpark(struct core *c);

/* Stores the breaker of ${d}.  If that fails, it is stored at its next change
 * or by a later safety poll, and ${d} is not evicted before.  If the process
 * ends before, the next one begins with the older breaker of the row. */
void core_breaker_save(struct core *c, struct destination *d);

/* Reads a page of destinations with ready lanes, in case a wake-up was lost.
 * Also stores breakers that could not be stored before, and evicts idle
 * destinations. */
void core_poll_remote(struct core *c);

/* ---- core_parcel.c ---- */

/* Claims parcels as far as breakers, windows, rates and pauses allow. */
void core_send(struct core *c);

/* Submits again the settlings that were refused or failed before. */
void core_settle_again(struct core *c);

/* Returns a parcel that is not under way, without taking it; NULL if all
 * are. */
struct parcel_job *core_parcel_idle(struct core *c);

/* Takes ${p}, which core_parcel_idle() has returned, for a heartbeat to
 * ${d}. */
void core_parcel_begin(
    struct core *c, struct destination *d, struct parcel_job *p);

/* Gives ${p} to the carrier.  ${back} is called by a later turn, when the
 * parcel has come back. */
void core_parcel_send(struct core *c, struct parcel_job *p,
    void (*back)(struct core *c, struct core_job *job));

/* ${p} has come back: counts the result in the breaker of its destination, or
 * parks the destination if it has asked for a pause.  Also notes how many
 * requests the destination accepts at once. */
void core_parcel_heard(struct core *c, struct parcel_job *p);

/* Makes ${p} idle.  ${next_due}: wall time at which the destination's next lane
 * is due; 0: none or unknown. */
void core_parcel_done(struct core *c, struct parcel_job *p, int64_t next_due);

/* ---- core_heartbeat.c ---- */

/* ${d} has changed: sets the time of its heartbeat if it needs one. */
void core_heartbeat_review(struct core *c, const struct destination *d);

/* Sends the heartbeats that are due. */
void core_heartbeat(struct core *c);

#endif
