/* SPDX-License-Identifier: MIT */
/*
 * What the parts of gather share: what a batch will work with, and whose it is.
 * Only gather*.c include this.
 */
#ifndef DOMAIN_GATHER_INTERNAL_H
#define DOMAIN_GATHER_INTERNAL_H

#include "domain/domain_internal.h"
#include "domain/held.h"
#include "store/hold.h"

/* A list of ids that is large enough from the beginning, or grows. */
struct ids {
	int64_t *v;
	size_t n, cap;
};

/* A unit of the batch, and which of its lanes, if it delivers. */
struct gather_owner {
	size_t unit; /* GATHER_NOBODY: an earlier try has met it */
	size_t lane;
};

#define GATHER_NOBODY SIZE_MAX

/* A row that an owner cannot do without. */
struct gather_need {
	struct held_row row;
	struct gather_owner owner;
};

struct gather {
	struct ledger *l;
	struct held *held;
	struct tx *tx;
	struct store_holder holder; /* that we are */
	struct unit **units;
	size_t nunits;
	struct gather_owner owner; /* of what is being wanted */

	struct ids users, conversations, inboxes, devices;
	struct store_user_key *names;
	struct store_conversation_key *keys;
	struct gather_owner *key_owners;
	struct store_about *about;
	struct gather_owner *about_owners;
	struct uuid *messages;
	size_t nnames, nkeys, keys_cap, nabout, about_cap, nacks, nmessages;
	bool releases; /* what is scheduled and due */
	bool has_ids;  /* numbers, which nobody takes back */

	/* Only where some rows may be held by others for long. */
	bool picky;
	struct gather_need *needs;
	size_t nneeds, needs_cap;
	struct held *got; /* inboxes that are ours, devices that there are */
};

/* ---- gather_wants.c ---- */

/* One more id. */
enum rc gather_add_id(struct ids *ids, int64_t id, struct err *err) MUST_USE;

/* A conversation, for g->owner. */
enum rc gather_add_key(struct gather *g,
    const struct store_conversation_key *key, struct err *err) MUST_USE;

/* Row ${id} of ${kind}, for g->owner; nothing unless g->picky. */
enum rc gather_add_need(struct gather *g, enum held_kind kind, int64_t id,
    struct err *err) MUST_USE;

/* Lists anew what the units will ask for that are not laid aside. */
enum rc gather_want_all(struct gather *g, struct err *err) MUST_USE;

/* ---- gather_free.c ---- */

/* Finds which rows the units need, and lays aside those that need one of
 * g->held. */
enum rc gather_find(struct gather *g, struct err *err) MUST_USE;

/* Holds the names of ${names} that nobody else does; who needs another one is
 * laid aside. */
struct gather_names;
enum rc gather_free_names(struct gather *g, const struct gather_names *names,
    struct err *err) MUST_USE;

/* Asks for the conversations, or for the inboxes and devices, that are needed
 * and free, … */
enum rc gather_free_conversations(struct gather *g, struct err *err) MUST_USE;
enum rc gather_free_rest(struct gather *g, struct err *err) MUST_USE;

/* … and when they have come lays aside who needs others, which are held. */
enum rc gather_lay_aside(struct gather *g, bool rest, struct err *err) MUST_USE;

#endif
