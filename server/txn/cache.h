/* SPDX-License-Identifier: MIT */
/*
 * The ledger: the counters and facts that a transaction works with, each read
 * once and written back once, however many units of a batch touch it.
 *
 * Invariants
 * 1. Between transactions nothing is dirty: what the ledger holds equals what
 *    is committed.  The embedded database has one writer, so that it stays
 *    true from one transaction to the next; where others write, too, each
 *    transaction begins with an empty ledger, and what it reads is locked
 *    until it ends: a conversation with all that belongs to it (messages,
 *    members' marks, lanes, outbox rows) by its row; an inbox by its own, but
 *    only when it is written.
 * 2. An abandoned transaction empties it.
 * 3. Names, conversations' members and lanes' keys never change once made.
 *
 * Pointers it gives stay valid until the next ledger_begin().
 * Thread: writer.
 */
#ifndef TXN_CACHE_H
#define TXN_CACHE_H

#include <stdbool.h>

#include "base/text.h"
#include "base/uuid.h"
#include "engine/writer.h"
#include "store/account.h"
#include "store/conversation.h"
#include "store/outbox.h"

struct ledger_user {
	int64_t user_id;
	struct text *name;
	bool disabled;
	int64_t destination_id;       /* 0: he is here */
	struct store_counter counter; /* of his inbox here, once counted */
	bool counted;
	bool dirty;
	struct ledger_user *next_dirty;
	bool filling; /* his inbox gets events, or his marks in it move */
	struct ledger_user *next_filling;
};

struct ledger_device {
	int64_t device_id;
	int64_t acked; /* never goes back */
	bool dirty;
	struct ledger_device *next_dirty;
};

struct ledger_member {
	struct ledger_user *user;
	int64_t delivered_upto;
	int64_t acked_upto;
	int64_t read_upto;
	int64_t acked_at;
	int64_t read_at;
	int64_t shown_upto;
	int64_t shown_at;
	bool dirty;
};

struct ledger_conversation {
	int64_t id;
	struct uuid public_id;
	bool direct;
	int64_t last_seq;
	uint8_t digest[STORE_DIGEST_LEN];
	struct ledger_member *members; /* ascending by user id */
	size_t nmembers;
	bool listed; /* in the dirty list: some member's marks changed */
	struct ledger_conversation *next_dirty;

	/* While an inbox range is walked (ack, read): the last of the others'
	 * messages met here. */
	bool marked;
	int64_t mark_seq, mark_mid, mark_sender;
	struct ledger_conversation *next_marked;
};

struct ledger_lane {
	struct store_lane lane;
	struct ledger_conversation *conversation;
	struct ledger_user *dest;
	bool fell;    /* its priority may be too high */
	bool in_turn; /* it is being delivered (deliver.c) */
	bool dirty;
	struct ledger_lane *next_dirty;
};

struct ledger;

/* An empty ledger that makes public ids with ${ids} (kept). */
struct ledger *ledger_new(struct uuid_gen *ids);
void ledger_free(struct ledger *l);

/* A transaction begins: forgets what is too much, and where others write to the
 * database, too, everything. */
void ledger_begin(struct ledger *l, struct tx *tx);

/* The transaction was abandoned: forgets everything. */
void ledger_abort(struct ledger *l);

/* Writes what is dirty. */
enum rc ledger_flush(struct ledger *l, struct tx *tx, struct err *err) MUST_USE;

/* A user; RC_NOT_FOUND (without a text) if there is none. */
enum rc ledger_user_by_name(struct ledger *l, struct tx *tx, const char *name,
    size_t n, struct ledger_user **ret, struct err *err) MUST_USE;
enum rc ledger_user_by_id(struct ledger *l, struct tx *tx, int64_t user_id,
    struct ledger_user **ret, struct err *err) MUST_USE;

/* Without a query: the user with this id, or with the name or address ${to},
 * who is in the cache; NULL: it has none. */
struct ledger_user *ledger_user_known_by_id(
    const struct ledger *l, int64_t user_id);
struct ledger_user *ledger_user_known(const struct ledger *l, const char *to);

/* The person with ${address} (name@domain) on another server; he and the
 * destination are made if there are none. */
enum rc ledger_user_remote(struct ledger *l, struct tx *tx, const char *address,
    struct ledger_user **ret, struct err *err) MUST_USE;

/* The counters of ${user}'s inbox: must be called before they are looked at.
 * They only grow; where others write as well, they may have done so since. */
enum rc ledger_inbox(
    struct tx *tx, struct ledger_user *user, struct err *err) MUST_USE;

/* ${user}'s inbox will be written. */
void ledger_inbox_touch(struct ledger *l, struct ledger_user *user);

/* Inboxes that will be written are ours from now on until the transaction ends,
 * and their heads are the last ones.  When some are ours already another
 * writer's are not waited for: RC_BUSY, and the next try holds them at once. */
enum rc ledger_hold_inboxes(
    struct ledger *l, struct tx *tx, struct err *err) MUST_USE;

/* The user's read mark has been changed (the others need no writing: the head
 * is the last row's seq, acked the highest of his devices'). */
void ledger_user_touch(struct ledger *l, struct ledger_user *user);

/* A device by its id; RC_NOT_FOUND if there is none. */
enum rc ledger_device_by_id(struct ledger *l, struct tx *tx, int64_t device_id,
    struct ledger_device **ret, struct err *err) MUST_USE;

/* The device's acked mark has been changed, or it has just been seen. */
void ledger_device_touch(struct ledger *l, struct ledger_device *device);

/* The direct conversation of two users (or of one with himself); made if
 * there is none. */
enum rc ledger_direct(struct ledger *l, struct tx *tx, struct ledger_user *a,
    struct ledger_user *b, struct ledger_conversation **ret,
    struct err *err) MUST_USE;

/* Without a query: the direct conversation of ${a} and ${b} that is in the
 * cache; NULL: it has none. */
struct ledger_conversation *ledger_direct_known(const struct ledger *l,
    const struct ledger_user *a, const struct ledger_user *b);

/* A conversation; RC_NOT_FOUND if there is none. */
enum rc ledger_conversation_by_public(struct ledger *l, struct tx *tx,
    const struct uuid *id, struct ledger_conversation **ret,
    struct err *err) MUST_USE;
enum rc ledger_conversation_by_id(struct ledger *l, struct tx *tx, int64_t id,
    struct ledger_conversation **ret, struct err *err) MUST_USE;

/* The same; RC_NOT_FOUND, too, while another writer has it. */
enum rc ledger_conversation_if_free(struct ledger *l, struct tx *tx, int64_t id,
    struct ledger_conversation **ret, struct err *err) MUST_USE;

/* Whether nobody else changes the conversation: there are no others, or we have
 * it, as what the batch has gathered or asked for. */
bool ledger_conversation_ours(const struct ledger *l, int64_t id);

/* The member of ${c} who is ${user_id}; NULL if he is none. */
struct ledger_member *ledger_member_find(
    struct ledger_conversation *c, int64_t user_id);

/* In a direct conversation the member other than ${user_id} (himself in a
 * note to oneself); NULL in groups. */
struct ledger_member *ledger_member_other(
    struct ledger_conversation *c, int64_t user_id);

/* Marks of ${m} in ${c} have changed. */
void ledger_member_touch(
    struct ledger *l, struct ledger_conversation *c, struct ledger_member *m);

/* The lane of ${c} to ${dest}, made if there is none; and one by its id,
 * RC_NOT_FOUND if there is none. */
enum rc ledger_lane_to(struct ledger *l, struct tx *tx,
    struct ledger_conversation *c, struct ledger_user *dest,
    enum lane_class class, struct ledger_lane **ret, struct err *err) MUST_USE;
enum rc ledger_lane_by_id(struct ledger *l, struct tx *tx, int64_t lane_id,
    struct ledger_lane **ret, struct err *err) MUST_USE;

/* Whether ${lane} leads to another server. */
static inline bool
ledger_lane_remote(const struct ledger_lane *lane)
{

	return (lane->lane.state != LANE_LOCAL);
}

/* Something of ${priority} waits no more in ${lane}, which goes on: when
 * nothing else is as urgent its priority falls, as it is written.  A lane that
 * is leased is not looked at: who ends its lease says so again. */
void ledger_lane_fell(struct ledger *l, struct ledger_lane *lane, int priority);

/* Writes the lanes that are dirty, so that statements which look for lanes see
 * them.  The rows of the outbox must have been written. */
enum rc ledger_flush_lanes(
    struct ledger *l, struct tx *tx, struct err *err) MUST_USE;

/* Forgets all lanes, which somebody else has changed; none may be dirty. */
void ledger_forget_lanes(struct ledger *l);

/* The lane's cursor has moved (a local one's tail needs no writing). */
void ledger_lane_touch(struct ledger *l, struct ledger_lane *lane);

/* Whether it is known, without asking, that no message has this id: what the
 * batch brings was asked at once (gather.c). */
bool ledger_id_free(const struct ledger *l, const struct uuid *id);

/* The next internal id of a message, of an outbox row. */
enum rc ledger_next_mid(
    struct ledger *l, struct tx *tx, int64_t *ret, struct err *err) MUST_USE;
enum rc ledger_next_outbox_id(
    struct ledger *l, struct tx *tx, int64_t *ret, struct err *err) MUST_USE;

#endif
