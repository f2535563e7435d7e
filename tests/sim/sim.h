/* SPDX-License-Identifier: MIT */
/*
 * The simulator: model, verbs and relay under one seed, in one thread.
 *
 * A world has a clock that stands still until the next event, dice, a disk in
 * memory (fault/plvfs.h), one server on it, people who use it, two servers
 * elsewhere that receive from it, an operator, and bad weather (faults).
 * Everything that happens is an event at a simulated time.  Nothing else
 * changes the world, so a seed determines the whole story, and a run with the
 * same seed is the same run.
 *
 * A run has two parts: first weather, then calm.  When calm comes, everything
 * is repaired, and time passes until nothing is under way.  Then the oracle
 * compares the database with what people, peers and the operator know
 * (sim_judge).
 *
 * In a run of several servers the peers are servers of the same kind (fed.h):
 * there is a struct sim for each, and one struct world for all.
 */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clk.h"
#include "base/rnd.h"
#include "base/uuid.h"
#include "fault/plvfs.h"
#include "model/retry.h"

#define SIM_START_MS INT64_C(1700000000000)
#define SIM_MINUTE_MS INT64_C(60000)
#define SIM_HOUR_MS INT64_C(3600000)
#define SIM_DAY_MS INT64_C(86400000)

#define SIM_CLIENTS 4
#define SIM_PEERS 2
/* In a run of several servers the peers of each server are the others and a
 * hostile one. */
#define SIM_SERVERS (SIM_PEERS + 1)
#define SIM_HOSTILE SIM_PEERS
#define SIM_MESSAGES 160

struct client;
struct fed;
struct operator_unit;
struct op;
struct peer;
struct server;
struct sim;
struct world;

/* ---- events ---- */

/* Called at the event's time.  ${arg} and ${n} are the event's own. */
typedef void (*sim_event_fn)(struct sim *s, void *arg, int64_t n);

/* The counters of a run, summed over all runs.  A counter that stays 0 names
 * something that the simulator does not do. */
#define SIM_COUNTS(X)                                                          \
	X(sends, "sends asked for")                                            \
	X(accepted, "messages accepted")                                       \
	X(replayed, "sends repeated and known")                                \
	X(scheduled, "messages for later")                                     \
	X(piled, "messages in a long lane")                                    \
	X(lost_asks, "requests lost")                                          \
	X(lost_answers, "answers lost")                                        \
	X(acks, "acks")                                                        \
	X(reads, "reads by inbox number")                                      \
	X(talks_read, "reads in a conversation")                               \
	X(ids_read, "reads by ids")                                            \
	X(secrets, "private reads")                                            \
	X(receipts, "receipts shown")                                          \
	X(cancels, "messages canceled")                                        \
	X(polls, "looks into an inbox")                                        \
	X(kills, "kills")                                                      \
	X(power_cuts, "power cuts")                                            \
	X(deaths_at_io, "deaths at a disk call")                               \
	X(disk_errors, "exits for a disk error")                               \
	X(full_disks, "batches refused for a full disk")                       \
	X(starved, "allocations that failed")                                  \
	X(failed_starts, "starts that failed")                                 \
	X(looks, "databases judged after a crash")                             \
	X(jumps, "clock jumps")                                                \
	X(parcels, "parcels to peers")                                         \
	X(taken, "messages that peers took")                                   \
	X(duplicates, "duplicates that peers met")                             \
	X(retryable, "messages refused for now")                               \
	X(refused_behind, "messages refused behind one that waits")            \
	X(rejected, "messages refused for good")                               \
	X(unavailable, "parcels to somebody unavailable")                      \
	X(late_answers, "answers later than a lease")                          \
	X(peer_crashes, "crashes of peers")                                    \
	X(choked, "parcels that a peer choked on")                             \
	X(poisoned, "messages taken out as poison")                            \
	X(sent, "rows sent")                                                   \
	X(acked, "rows acked")                                                 \
	X(failed, "rows failed")                                               \
	X(expired, "rows expired")                                             \
	X(canceled, "rows canceled")                                           \
	X(bounces, "bounces")                                                  \
	X(retries, "retries charged")                                          \
	X(rescues, "leases rescued")                                           \
	X(fenced, "late settles fenced")                                       \
	X(requeues, "dead letters requeued")                                   \
	X(discards, "dead letters discarded")                                  \
	X(pauses, "destinations paused")                                       \
	X(rewinds, "lanes rewound")                                            \
	X(replayed_rows, "messages offered again after a rewind")              \
	X(confirms, "messages that a peer confirmed later")                    \
	X(confirmed, "of these, those that waited for it")                     \
	X(paced, "parcels under a rate")                                       \
	X(again, "messages that left after a refusal, or as poison")           \
	X(urgent, "times that an urgent lane was passed over once")            \
	X(at_once, "messages that left unhindered")                            \
	X(turns, "times that a lane waited for another one's second turn")     \
	X(prompt, "deliveries here that nothing was in the way of")            \
	X(requests, "requests to real servers")                                \
	X(shuffled, "requests with their envelopes out of order")              \
	X(twice, "requests that came twice")                                   \
	X(cut, "requests and answers on a link that was cut")                  \
	X(garbled, "answers that a proxy gave")                                \
	X(signed_anew, "requests signed anew after a repeated nonce")          \
	X(untimely, "requests refused for a clock")                            \
	X(strangers, "requests refused for an unknown key")                    \
	X(unsigned_, "requests refused for their signature")                   \
	X(unlike, "requests refused for their digest")                         \
	X(repeated, "requests refused for a repeated nonce")                   \
	X(unread, "requests refused as no JSON of the protocol")               \
	X(foreign, "envelopes refused for a foreign sender")                   \
	X(unknown_people, "envelopes refused for an unknown recipient")        \
	X(unknown_messages, "receipts refused for an unknown message")         \
	X(ids_taken, "envelopes refused for an id that was taken")             \
	X(full_inboxes, "envelopes refused for want of room")                  \
	X(limited, "envelopes refused for a limit")                            \
	X(rotations, "keys rotated")                                           \
	X(pairs, "pairs of databases compared")                                \
	X(promised, "messages that a foreign peer called later")               \
	X(acks_in, "acks of a later request")                                  \
	X(acks_early, "of these, those of rows that did not wait")             \
	X(put_later, "promises kept by a refusal for now")                     \
	X(never, "promises kept by a refusal for good")                        \
	X(reconnects, "requests asked to come back later")                     \
	X(short_of, "requests and answers lost for want of memory")            \
	X(backups, "backups kept")                                             \
	X(restores, "servers restored from a backup")                          \
	X(offered, "messages offered again by their people")                   \
	X(learned, "restored servers found out by an answer")                  \
	X(mended, "lanes rewound to a restored server")                        \
	X(lost_again, "messages that a restored server got again")             \
	X(put_off, "replayed rows refused for now")                            \
	X(went_back, "sequences that went back")                               \
	X(excused, "differences of restored servers explained")                \
	X(known_events, "envelopes that were known")                           \
	X(received, "messages received")                                       \
	X(receipts_in, "receipts received")                                    \
	X(hostile, "requests of the hostile peer")                             \
	X(replays, "requests replayed by the hostile peer")                    \
	X(far_acked, "messages acked on another server")                       \
	X(far_read, "conversations read on another server")                    \
	X(days, "days simulated")                                              \
	X(events, "events")

struct sim_counts {
#define X(name, text) uint64_t name;
	SIM_COUNTS(X)
#undef X
};

/* A message as its sender knows it. */
struct message {
	size_t client; /* the sender */
	struct uuid id;
	char to[64];
	int peer; /* -1: the recipient is on this server */
	char body[48];
	int64_t deliver_at;
	int64_t expires_in;
	int priority;
	bool dressed;        /* it has metadata and other optional parts */
	int64_t asked_us;    /* the first request */
	int64_t promised_us; /* accepted: finish was called; 0: not yet */
	int64_t mid;
	bool refused; /* according to an answer */
	bool cancel_asked;
	bool canceled; /* according to an answer */
};

/* The weather of a run, drawn at random.  Numbers are parts of 1000. */
struct weather {
	unsigned lost;       /* of requests and answers, each way */
	unsigned crash;      /* of an action: the server dies */
	unsigned disk;       /* of an action: the disk has a fault */
	unsigned memory;     /* of an action: an allocation will fail */
	unsigned jump;       /* of an action: the clock jumps */
	unsigned outage;     /* of an action: a peer becomes unavailable */
	unsigned slow;       /* of a parcel: its answer takes very long */
	unsigned refuse;     /* of a message: its peer refuses it */
	unsigned poison;     /* of a message: its peer chokes on it */
	unsigned later;      /* of a message: its peer says "later" */
	unsigned peer_crash; /* of a parcel: its peer dies when it takes it */
	unsigned twice;      /* of a parcel: it arrives twice */
	unsigned operator_acts; /* of an action: the operator does something */
	unsigned remote;        /* of a message: it goes to a peer */
	unsigned garble;        /* of an answer: a proxy replaces it */
	unsigned hostile; /* of an action: the hostile peer does something */
	bool paced;       /* peers have rates from the start */
	bool piled;       /* one long lane here, and no other action */
	int64_t gap_ms;   /* between actions, on average */
	int actions;
};

/* The settings of the server of a run, drawn at random. */
struct setup {
	int64_t poll_ms, lease_ms, expiry_ms;
	int64_t pending_most; /* 0: no limit */
	enum retry_profile retry;
	bool at_once; /* deliver in the transaction of the send */
};

struct sim_event;

/* A server with its people, its operator and its weather. */
struct sim {
	struct world *w;
	int number;      /* among the servers of the world */
	char domain[16]; /* "": the only server */
	struct clk_fake clk;
	int64_t latest_ms; /* the latest that the clock has ever shown */
	struct rnd_seeded secrets; /* the server's randomness */
	struct uuid_gen ids;       /* the clients' */
	struct weather weather;
	struct setup setup;
	bool rests; /* its weather is over */
	bool calm;

	struct server *server;
	struct client *clients;
	struct peer *peers;
	struct message messages[SIM_MESSAGES];
	size_t nmessages;
	struct op *ops;                       /* all requests of clients */
	struct operator_unit *operator_units; /* all actions of the operator */

	/* Wall time: since then nothing has delayed messages. */
	int64_t quiet_from;
	int paused_here; /* pauses of all destinations, or of those here */

	/* Outbox rows that a peer has confirmed, as answered. */
	int64_t confirmed[2 * SIM_MESSAGES];
	size_t nconfirmed;
	struct charge *charges; /* what peers have refused (charges.c) */
	size_t ncharges, charges_cap;

	struct sim_counts counts;
};

/* All servers of a run, and what they share. */
struct world {
	uint64_t seed;
	const char *broken; /* the defect on purpose; NULL: none */
	struct rnd_seeded dice;

	struct sim_event *events; /* a heap */
	size_t nevents, events_cap;
	uint64_t order;
	uint64_t steps; /* events that have happened */

	bool tracing;
	uint64_t hash; /* of the whole story */
	char bad[1024];

	size_t nsims;
	struct sim sims[SIM_SERVERS];
	struct fed *fed; /* NULL: a single server */
};

/* ---- sim.c: a run ---- */

struct sim_options {
	uint64_t seed;
	bool trace;
	const char *broken;
	bool several; /* several servers, which deliver to each other */
};

/* Runs one seed on the disks of this process.  ${ret} has the result: bad is ""
 * if every promise was kept. */
void sim_run(const struct sim_options *options, struct world *ret);

/* ---- world.c: time, dice, the story ---- */

/* Calls ${fn} for ${s} in ${after_ms}. */
void sim_after(
    struct sim *s, int64_t after_ms, sim_event_fn fn, void *arg, int64_t n);

/* Runs the next event.  Returns false if there is none. */
bool sim_step(struct world *w);

/* Drops all events and frees them. */
void sim_events_free(struct world *w);

/* Returns a random number in [0, bound). */
uint64_t sim_dice(struct sim *s, uint64_t bound);

/* Returns true with a probability of ${parts} in 1000. */
bool sim_chance(struct sim *s, unsigned parts);

/* Returns a random delay of a network or of a person: mostly almost none, so
 * that things collide, seldom seconds. */
int64_t sim_delay(struct sim *s);

/* Returns the simulated milliseconds since the start. */
int64_t sim_now(const struct sim *s);

/* Called before the clock changes: notes the latest time that it has shown. */
void sim_note_time(struct sim *s);

/* Something delays messages until ${ms} from now. */
void sim_disturb(struct sim *s, int64_t ms);

/* Returns true if the store has never refused anything in this run.  After a
 * refusal the relay may not know the store's content, or may have lost a
 * turn. */
bool sim_undisturbed(const struct sim *s);

/* Adds one line to the story. */
void sim_tell(struct sim *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* A promise is broken.  The first call counts and ends the run. */
void sim_bad(struct sim *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* The weather of ${s} is over.  Calm comes when it is over on all servers. */
void sim_rests(struct sim *s);

/* ---- weather.c: the actions of people, and the faults ---- */

/* Draws the weather and the settings of the server. */
void weather_draw(struct sim *s);

/* Starts the actions. */
void weather_begin(struct sim *s);

/* ---- broken.c: defects on purpose ---- */

struct db_schema;

/* The names of all defects.  The list ends with NULL. */
extern const char *const sim_breakable[];

/* Returns the schema with the defect of the world's ${broken}.  Ends the
 * program if the text to replace is absent. */
const struct db_schema *sim_schema(const struct sim *s);

/* Returns true if only a run of several servers can find the defect ${what}. */
bool sim_breaks_several(const char *what);

/* Returns true if this run has the defect ${what}. */
bool sim_is_broken(const struct sim *s, const char *what);

/* ---- judge.c: the oracle ---- */

/* Returns true if nothing is under way any more. */
bool sim_settled(struct sim *s);

/* Returns true if something waits that is not scheduled for later, and
 * describes it in ${ret}. */
bool sim_late(struct sim *s, char *ret, size_t size);

/* Describes in ${ret} what is not settled. */
void sim_unsettled(struct sim *s, char *ret, size_t size);

/* After a crash: checks that everything accepted, shown and acked is still
 * there, and that the database is sound. */
void sim_judge_kept(struct sim *s);

/* At the end: checks the same, and how everything has ended.  Reports defects
 * with sim_bad(). */
void sim_judge(struct sim *s);

#endif
