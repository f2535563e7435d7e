/* SPDX-License-Identifier: MIT */
/*
 * Servers elsewhere and the network to them.
 *
 * A parcel is what the relay sends in one request.  It may be lost, come late
 * or twice; its answer too.  A peer takes a message and remembers that it has,
 * in one transaction, and may die before or after it.
 */
#ifndef SIM_PEER_H
#define SIM_PEER_H

#include "sim/sim.h"

#define CARGO_MOST 100
#define PEER_TAKEN 256
#define SIM_URGENT 16
#define SIM_TURNS 16

enum verdict {
	VERDICT_NONE, /* it says nothing of it */
	VERDICT_TAKEN,
	VERDICT_LATER,       /* taken, but whether it is good comes later */
	VERDICT_RETRY,       /* refused for now */
	VERDICT_PREDECESSOR, /* not looked at, one before it was refused */
	VERDICT_REJECTED,    /* refused for good */
	VERDICT_TOO_LARGE    /* the same */
};

enum cargo_answer {
	CARGO_ITEMS,
	CARGO_GONE,     /* no connection, or it broke; time-out */
	CARGO_FAULT,    /* 5xx for all of it */
	CARGO_BUSY,     /* 429 or 503, with Retry-After */
	CARGO_DENIED,   /* 401 */
	CARGO_TOO_LARGE /* 413 */
};

struct cargo_item {
	int64_t outbox_id;
	int64_t lane_id;
	int64_t attempt;
	struct uuid event_id;
	int64_t mid;
	int64_t sender_id;
	int64_t conversation_seq;
	enum verdict verdict;
	bool duplicate;
	int64_t taken_seq; /* duplicate: where it was taken; 0: not said */
};

struct post;

struct cargo {
	struct cargo *next;
	struct sim *s;
	int peer;
	uint64_t incarnation; /* of the server that sent it */
	size_t number;
	int64_t sent_at; /* simulated ms */
	bool answered;
	size_t n;
	struct cargo_item items[CARGO_MOST];
	enum cargo_answer answer;
	int64_t retry_after_ms;
	void *ref; /* the heart's */

	/* To a real server (fed.h). */
	int status;        /* of HTTP */
	int64_t park_ms;   /* it wants to be left alone; 0: it does not */
	struct post *post; /* the request */
	bool signed_anew;  /* … after a repeated nonce */
	bool reconnect;    /* it was asked to come back later */
};

/* What a peer has taken, in its order. */
struct taken {
	struct uuid event_id;
	int64_t mid, sender_id, conversation_seq, outbox_id;
};

struct peer {
	struct taken inbox[PEER_TAKEN];
	size_t ninbox;
	struct uuid known[PEER_TAKEN]; /* its memory of what it has taken */
	size_t nknown;
	int64_t gone_until; /* simulated ms */
	enum cargo_answer gone_as;
	int knocks;        /* parcels since it is gone */
	bool careless;     /* looks at what stands behind what it refused */
	bool failing;      /* its last answer was none that can be read */
	int64_t free_from; /* wall: that answer, or when it may be sent to */
	/* Messages that it refuses: how often it said so. */
	struct refused {
		struct uuid event_id;
		unsigned left;  /* so often it still says "not now" */
		unsigned times; /* it has said so, or nothing, or "later" */
		bool rejects;   /* in the end it says "never" */
		bool too_large; /* and that this is why */
		bool rejected;
		bool later;  /* it says "later" */
		bool poison; /* it chokes on it and says nothing for long */
	} refused[PEER_TAKEN];
	size_t nrefused;
	struct cargo *cargoes;

	/* What has left for it (leaving.c): under a rate, and with something
	 * urgent left behind. */
	struct pace {
		int64_t rate;
		int64_t from_ms; /* simulated: since then it holds */
		struct {
			int64_t at_ms, messages;
		} left[PEER_TAKEN];
		size_t n;
	} pace;
	struct urgency {
		uint64_t incarnation;
		int64_t at_ms; /* wall: when the last parcel left */
		struct urgent {
			int64_t lane_id, updated_at;
			unsigned passed_over;
		} lanes[SIM_URGENT];
		size_t n;
	} urgency;

	/* Lanes that were ready when the last parcel left, and which lanes have
	 * left since they wait (turns.c). */
	struct turns {
		uint64_t incarnation;
		int64_t at_ms; /* wall */
		struct waiting_lane {
			int64_t lane_id, updated_at;
			int priority;
			struct {
				int64_t lane_id;
				unsigned times;
			} others[SIM_TURNS];
			size_t n;
		} lanes[SIM_TURNS];
		size_t n;
	} turns;
};

struct peer *peers_new(void);
void peers_free(struct sim *s);

/* A parcel to be filled and sent; the world keeps it. */
struct cargo *cargo_new(struct sim *s, int peer);

/* It leaves; heart_answer() is called with it once, or never. */
void cargo_send(struct sim *s, struct cargo *p);

/* ${c} is received by its peer, a simulated one: inbox and memory are written
 * in one transaction, or the peer dies before it; each item has a verdict.
 * False: the peer died before it could answer. */
bool peer_receive(struct sim *s, struct cargo *c);

/* ${peer} will not have what it has taken and called "later". */
void peer_rejects(struct sim *s, int peer, const struct uuid *event_id);

/* It says nothing of an event in its answer. */
void peer_forgets(struct sim *s, int peer, const struct uuid *event_id);

/* ${peer} is unavailable for ${ms}, in a way of its own. */
void peer_goes(struct sim *s, size_t peer, int64_t ms);

/* What ${peer} thought of an event; NULL: it never saw it. */
const struct refused *peer_refused(
    const struct sim *s, int peer, const struct uuid *event_id);

/* How often ${peer} has an event in its inbox. */
size_t peer_has(const struct sim *s, int peer, const struct uuid *event_id);

#endif
