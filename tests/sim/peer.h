/* SPDX-License-Identifier: MIT */
/*
 * Simulated peers and the network to them.
 *
 * A parcel is what the relay sends in one request.  The network may lose, delay
 * or double the parcel and its answer.  A peer adds a message to its inbox and
 * to its memory in one transaction, and may die before or after it.
 */
#ifndef SIM_PEER_H
#define SIM_PEER_H

#include "sim/sim.h"

#define CARGO_MOST 100
#define PEER_TAKEN 256
#define SIM_URGENT 16
#define SIM_TURNS 16

enum verdict {
	VERDICT_NONE, /* no verdict in the answer */
	VERDICT_TAKEN,
	VERDICT_LATER,       /* taken, but the final verdict comes later */
	VERDICT_RETRY,       /* refused for now */
	VERDICT_PREDECESSOR, /* not checked: one before it was refused */
	VERDICT_REJECTED,    /* refused for good */
	VERDICT_TOO_LARGE    /* the same */
};

enum cargo_answer {
	CARGO_ITEMS,
	CARGO_GONE,     /* no connection, a broken one, or a time-out */
	CARGO_FAULT,    /* 5xx for the whole request */
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

	/* For a real server (fed.h). */
	int status;        /* of HTTP */
	int64_t park_ms;   /* how long the peer asks for a pause; 0: none */
	struct post *post; /* the request */
	bool signed_anew;  /* … after a repeated nonce */
	bool reconnect;    /* the sender was asked to come back later */
};

/* A message that a peer has taken; a list of them is in the order of taking. */
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
	int knocks;        /* parcels since it became unavailable */
	bool careless;     /* checks what stands behind what it refused */
	bool failing;      /* its last answer was unusable */
	int64_t free_from; /* wall: of that answer, or end of a pause */
	/* Its opinion of each event that it has met. */
	struct refused {
		struct uuid event_id;
		unsigned left;  /* how many times it will still say "not now" */
		unsigned times; /* how many times it said so, or nothing, or
				   "later" */
		bool rejects;   /* in the end it refuses for good */
		bool too_large; /* because the message is too large */
		bool rejected;
		bool later;  /* it says "later" */
		bool poison; /* it chokes on it: no answer for long */
	} refused[PEER_TAKEN];
	size_t nrefused;
	struct cargo *cargoes;

	/* Deliveries that have left for it (leaving.c): the parcels under a
	 * rate, and the urgent lanes that were left behind. */
	struct pace {
		int64_t rate;
		int64_t from_ms; /* simulated: the rate holds since then */
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

	/* Lanes that were ready when the last parcel left, and the lanes that
	 * have left since (turns.c). */
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

/* Makes a parcel, which the caller fills and sends.  The world keeps it. */
struct cargo *cargo_new(struct sim *s, int peer);

/* Sends it.  Then heart_answer() is called with it once, or never. */
void cargo_send(struct sim *s, struct cargo *p);

/* A simulated peer receives ${c}.  It writes its inbox and its memory in one
 * transaction, or dies before.  Each item gets a verdict.  Returns false if the
 * peer died before it could answer. */
bool peer_receive(struct sim *s, struct cargo *c);

/* ${peer} rejects what it has taken and answered with "later". */
void peer_rejects(struct sim *s, int peer, const struct uuid *event_id);

/* The answer of ${peer} has no verdict for an event. */
void peer_forgets(struct sim *s, int peer, const struct uuid *event_id);

/* ${peer} is unavailable for ${ms}, in a way that is drawn. */
void peer_goes(struct sim *s, size_t peer, int64_t ms);

/* Returns the opinion of ${peer} about an event, or NULL if it never met it. */
const struct refused *peer_refused(
    const struct sim *s, int peer, const struct uuid *event_id);

/* Returns how many times ${peer} has an event in its inbox. */
size_t peer_has(const struct sim *s, int peer, const struct uuid *event_id);

#endif
