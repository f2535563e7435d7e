/* SPDX-License-Identifier: MIT */
/*
 * What the ledger holds.  Only ledger*.c include this.
 */
#ifndef TXN_CACHE_INTERNAL_H
#define TXN_CACHE_INTERNAL_H

#include "base/htab.h"
#include "store/rows.h"
#include "txn/cache.h"

/* Keys of fixed size, zero-padded. */
struct name_key {
	char name[LIMIT_NAME_LEN + 8];
};

struct pair_key {
	int64_t low, high;
};

struct lane_key {
	int64_t conversation_id, dest_user, class;
};

/* Internal ids to be given. */
#define LEDGER_IDS 512
struct ledger_ids {
	int64_t last; /* where only we give them; -1: not read yet */
	int64_t list[LEDGER_IDS]; /* where others do, too: taken … */
	size_t n, at;             /* … and given */
};

/* Ids of what a unit met that another writer had: the next try of the
 * transaction holds it from the beginning, or with the first of its kind.
 * Without memory it is met again. */
struct ledger_met {
	int64_t *ids;
	size_t n, cap;
};

struct ledger {
	struct uuid_gen *ids;
	bool shared; /* others write as well */
	struct htab *users_by_name, *users_by_id;
	struct htab *users_by_address; /* of other servers, by its hash */
	struct htab *direct, *conversations_by_public, *conversations_by_id;
	struct htab *lanes_by_key, *lanes_by_id;
	struct htab *devices;
	struct ledger_device *dirty_devices;
	struct ledger_user *dirty_users;
	struct ledger_user *filling;
	struct ledger_conversation *dirty_conversations;
	struct ledger_lane *dirty_lanes;
	struct ledger_ids mids, outbox_ids;
	struct htab *taken; /* of the batch's message ids, once gathered */
	bool gathered;
	bool holds_inboxes;
	struct ledger_met met_conversations, met_inboxes;
	struct store_rows device_rows, counter_rows, mark_rows, lane_rows;
	struct store_rows remote_rows;
};

/* Rows that were read become objects of the ledger: a user, a conversation
 * without its members, a member (ascending by user), a device, a lane whose
 * conversation and user are kept. */
enum rc ledger_keep_user(struct ledger *l, const struct store_user *row,
    struct ledger_user **ret, struct err *err) MUST_USE;
enum rc ledger_keep_conversation(struct ledger *l,
    const struct store_conversation *row, struct ledger_conversation **ret,
    struct err *err) MUST_USE;
enum rc ledger_keep_member(struct ledger_conversation *c,
    struct ledger_user *user, const struct store_participant *p,
    struct err *err) MUST_USE;
enum rc ledger_keep_device(struct ledger *l, int64_t device_id, int64_t acked,
    struct err *err) MUST_USE;
enum rc ledger_keep_lane(struct ledger *l, struct tx *tx,
    const struct store_lane *row, struct ledger_lane **ret,
    struct err *err) MUST_USE;

/* ${id} was met, if ${rc} and ${db} say so. */
void ledger_meet(
    struct ledger_met *met, int64_t id, const struct db *db, enum rc rc);

/* Of ${n} ids that may be needed as many as there is room for. */
size_t ledger_ids_room(size_t n);

/* An id to be given. */
enum rc ledger_keep_id(
    struct ledger_ids *ids, int64_t id, struct err *err) MUST_USE;

#endif
