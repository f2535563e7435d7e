/* SPDX-License-Identifier: MIT */
/*
 * The data and the functions that the files relay/core*.c share; no other file
 * includes this header.  The data belongs to the relay's thread.  Between two
 * turns relay_stats() reads it in another thread, under a lock of relay.c that
 * the relay's thread holds during a turn.
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
/* Parcels that may be under way to all doubtful destinations together: those
 * that have never answered, or not since their last failure (see
 * core_destination_doubtful).  A parcel to a destination that does not answer
 * is under way until its time-out.  Without this limit such destinations could
 * hold all CORE_PARCELS, and servers that answer would wait for messages. */
#define CORE_PARCELS_DOUBTFUL 8
/* Heartbeats that may be under way.  They count for CORE_PARCELS, but not for
 * CORE_PARCELS_DOUBTFUL. */
#define CORE_HEARTBEATS 2
/* Lanes and destinations that one safety poll reads. */
#define CORE_POLL_LANES 1000
#define CORE_POLL_DESTINATIONS 100

/* Maximum number of destinations in memory (about 4 KB each), unless the
 * options give another.  Other servers decide how many destinations the
 * database has, so without a limit they could fill memory. */
#define CORE_DESTINATIONS 4096
/* The age in ms from which the row of a destination in memory is read again
 * when a wake-up names the destination. */
#define CORE_READ_AGAIN_MS 5000

/* The length of a lease in ms, unless the options give another.  While a parcel
 * is sent, or its answers cannot be stored, its leases are renewed whenever a
 * third of the length has passed, so that one renewal may fail and the next may
 * be late.  A renewal that would be due CORE_RENEW_LEASES lengths after the
 * claim, or later, is not made: an answer that takes that long will not come.
 * The leases then run out, and the messages are sent again. */
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
	/* The reclaim unit looks for expired messages in the local lanes with
	 * ids above ${expire_after}, up to ${expire_upto}.  While local
	 * delivery is paused, this is the range that the last safety poll has
	 * read; otherwise ${expire_upto} is 0, and no local lane is
	 * searched. */
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

/* The monotonic time at which core_heartbeat() looks next for destinations
 * whose heartbeat is due (0: none is wanted, or none may leave before one that
 * is under way comes back), and the number of heartbeats under way. */
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

/* Reports to core_failed() that a unit has failed for the reason ${rc}; the
 * error text begins with ${what}.  For relay_pause_ms, or for
 * relay_pause_full_ms if the disk is full, no delivery, claim or reclaim is
 * submitted then and, unless the relay is stopping, no settling is repeated.
 * The settling of a parcel that comes back meanwhile is submitted at once. */
void core_pause(struct core *c, enum rc rc, const char *what);

/* core_failed() counts a failure of a read or a unit; core_well() ends the
 * outage when a safety poll has read the local lanes.  Not each failure is
 * logged: core_failed() writes at most one line in log_outage_ms, with the
 * number of failures since the last line, and core_well() writes one if a line
 * has reported the outage. */
void core_failed(struct core *c, const struct err *err);
void core_well(struct core *c);

/* ---- core_local.c ---- */

/* Hands ready lanes to the local carrier until no lane is ready or all
 * CORE_DELIVERIES units are under way.  Does nothing while an operator has
 * paused local or all delivery, during the pause after a failure
 * (core_pause()), and once the writer is closed. */
void core_deliver(struct core *c);

/* Reads the next page of local lanes that have messages, adds to the schedule
 * the lanes that are due, and submits the release of scheduled messages if one
 * is due.  Returns the monotonic time in ms at which the next lane (also one to
 * another server) or scheduled message becomes due; 0: none does, a scheduled
 * message is due already, or the database cannot be read. */
int64_t core_poll_local(struct core *c);

/* ---- core_lease.c ---- */

/* Returns the length of a lease in ms. */
int64_t core_lease_ms(const struct core *c);

/* ${p} was claimed: starts the renewal of the leases of its lanes. */
void core_lease_begin(struct core *c, struct parcel_job *p);

/* Submits one unit that renews all leases that are due: a third of the length
 * has passed since the claim or the last renewal.  Submits nothing while such a
 * unit is with the writer, for relay_pause_ms after one has failed or was
 * refused, and once the writer is closed.  Returns the monotonic time in ms of
 * the next renewal or attempt; 0 if none is known, or if a renewal is with the
 * writer. */
int64_t core_renew(struct core *c);

/* ---- core_known.c ---- */

/* Reads the row of destination ${id}: adds the destination to memory or, if it
 * is there already, updates its pause and rate; the caller then reviews it
 * (core_destination_review()).  On RC_OK it may still be missing in memory: its
 * row does not exist, or destinations_most are in memory and none of them can
 * be evicted. */
enum rc core_read_destination(
    struct core *c, int64_t id, struct err *err) MUST_USE;
/* Updates all destinations in memory, after a change by an operator. */
enum rc core_read_destinations(struct core *c, struct err *err) MUST_USE;
/* At the start: calls core_read_pauses(), then reads into memory the
 * destinations that have messages to send, then those whose breaker is not
 * closed, until destinations_most are in memory. */
enum rc core_read_start(struct core *c, struct err *err) MUST_USE;
/* Reads whether all sending, or delivery to inboxes here, is paused. */
enum rc core_read_pauses(struct core *c, struct err *err) MUST_USE;

/* Adds the destination of ${row} to memory or, if it is there already, updates
 * its pause and rate; the caller then reviews it.  While destinations_most are
 * in memory, a new destination is skipped (RC_OK) if nothing could be sent to
 * it now, or if no other can be evicted; while it has messages to send, a later
 * safety poll finds it again. */
enum rc core_take_ready(struct core *c, const struct store_destination_row *row,
    struct err *err) MUST_USE;

/* ${d} was woken, or a claim for it was submitted: sets the time of its last
 * use to now, and moves it to the end of the list of all destinations, which is
 * ordered by that time. */
void core_destination_used(struct core *c, struct destination *d);

/* Evicts the destinations that have not been used for relay_forget_ms and need
 * not be in memory: no job is under way, no message waits, the breaker is
 * closed and stored, and the pause that the destination asked for is over.  If
 * the breaker still counts a failure, the destination must also have been
 * unused for BREAKER_CALM_MS. */
void core_forget_idle(struct core *c);

/* ---- core_destination.c ---- */

/* Destination ${id} may have messages to send. */
void core_wake_destination(struct core *c, int64_t id);

/* A request of destination ${id} has arrived here, or an operator has changed
 * the settings of that peer.  So a probe of the destination may leave at once,
 * without waiting for its open breaker or its postponed heartbeat;
 * relay_contact() in relay.h gives the limits.  ${alone}: the request was only
 * a heartbeat, and counts only if messages wait for the destination.  Does
 * nothing if the destination is not in memory. */
void core_contact(struct core *c, int64_t id, bool alone);

/* Returns true if an operator has paused ${d} or all destinations. */
bool core_destination_paused(const struct core *c, const struct destination *d);

/* Returns true if the next parcel to the destination of ${row} may well get no
 * answer: its breaker is not closed or still counts a failure, or it has never
 * answered ("doubtful"). */
bool core_destination_doubtful(const struct store_destination_row *row);

/* Computes the state of ${d} (destination_state.h) from its present data and
 * the time, moves ${d} to that state and into or out of its queue, and notes
 * when it must be reviewed or probed next.  Call it after each change of
 * ${d}. */
void core_destination_review(struct core *c, struct destination *d);

/* Makes ${d} idle, which takes it out of its queue, before it is evicted. */
void core_destination_rest(struct core *c, struct destination *d);

/* If the earliest end of a wait of a parked destination (next_parked_ms) has
 * come, reviews all parked destinations and sets next_parked_ms anew; else does
 * nothing. */
void core_destinations_unpark(struct core *c);

/* Submits a unit that stores the breaker of ${d}; while one is with the writer,
 * the next is submitted when that one comes back.  If the unit is refused or
 * fails, the breaker is stored by the next call or by a later safety poll, and
 * ${d} is not evicted before.  If the process ends first, the next start reads
 * the older breaker of the row. */
void core_breaker_save(struct core *c, struct destination *d);

/* The safety poll for other servers: calls core_read_pauses(), and reads the
 * next page of destinations with ready lanes, in case a wake-up was lost.  Also
 * stores breakers that could not be stored before, evicts idle destinations
 * when it begins with the first page, and makes core_destinations_unpark()
 * review all parked destinations. */
void core_poll_remote(struct core *c);

/* ---- core_parcel.c ---- */

/* Claims parcels as far as breakers, windows, rates and pauses allow. */
void core_send(struct core *c);

/* Submits again the settlings that were refused or failed before. */
void core_settle_again(struct core *c);

/* Returns a parcel that is not under way, without taking it; NULL if all
 * CORE_PARCELS are under way. */
struct parcel_job *core_parcel_idle(struct core *c);

/* Takes ${p}, which core_parcel_idle() has returned, for a heartbeat to
 * ${d}. */
void core_parcel_begin(
    struct core *c, struct destination *d, struct parcel_job *p);

/* Gives ${p} to the carrier, and notes in the breaker of its destination that a
 * parcel leaves.  When the carrier has returned ${p}, a later turn calls
 * ${back} with its job. */
void core_parcel_send(struct core *c, struct parcel_job *p,
    void (*back)(struct core *c, struct core_job *job));

/* ${p} has come back.  If the destination asked for a pause, or this server
 * itself failed (parcel.park_ms), sets the time before which no parcel may
 * leave for the destination; otherwise counts the result in the breaker, for
 * which a parcel that was answered only in part is a failure.  Also notes how
 * many requests the destination accepts at once, if the answer says so.  Does
 * not review the destination: core_parcel_done() does, which the caller calls
 * at the end. */
void core_parcel_heard(struct core *c, struct parcel_job *p);

/* Makes ${p} idle, ends the renewal of its leases, frees its text, and reviews
 * its destination.  ${next_due}, which the destination keeps: the wall time in
 * ms at which its next lane is due; 0: none or unknown. */
void core_parcel_done(struct core *c, struct parcel_job *p, int64_t next_due);

/* ---- core_heartbeat.c ---- */

/* ${d} has changed: sets the time of its heartbeat if it needs one. */
void core_heartbeat_review(struct core *c, const struct destination *d);

/* Sends the heartbeats that are due. */
void core_heartbeat(struct core *c);

#endif
