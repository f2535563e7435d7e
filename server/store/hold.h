/* SPDX-License-Identifier: MIT */
/*
 * What a batch works with, read and locked at once, where there are several
 * writers.  Each function is one statement for any number of rows; what does
 * not exist is not given.  Thread: owner of ${db}, in a transaction.
 */
#ifndef STORE_HOLD_H
#define STORE_HOLD_H

#include "store/account.h"
#include "store/conversation.h"
#include "store/lane.h"
#include "store/message.h"

/* A user by id or (0) by name. */
struct store_user_key {
	int64_t user_id;
	const char *name; /* borrowed */
	size_t n;
};

/* A conversation by internal id, public id or the key of a direct one; the
 * others are 0 or NULL. */
struct store_conversation_key {
	int64_t id;
	const struct uuid *public_id; /* borrowed */
	const char *direct;           /* borrowed */
};

/* Whose lane it is. */
struct store_lane_owner {
	int64_t lane_id;
	int64_t conversation_id;
	int64_t dest_user;
	int64_t destination_id;
};

/* The owners of lanes. */
enum rc store_hold_lanes(struct db *db, const int64_t *ids, size_t n,
    enum rc (*each)(
	void *arg, const struct store_lane_owner *lane, struct err *err),
    void *arg, struct err *err) MUST_USE;

/* Users, in no order. */
enum rc store_hold_users(struct db *db, const struct store_user_key *keys,
    size_t n,
    enum rc (*each)(void *arg, const struct store_user *user, struct err *err),
    void *arg, struct err *err) MUST_USE;

/* Locks them, in the order of their ids. */
enum rc store_hold_conversations(struct db *db,
    const struct store_conversation_key *keys, size_t n,
    enum rc (*each)(
	void *arg, const struct store_conversation *c, struct err *err),
    void *arg, struct err *err) MUST_USE;

/* A member of one of the conversations, with what is known of him as a user
 * (id, name, disabled, destination). */
struct store_held_member {
	int64_t conversation_id;
	struct store_participant participant;
	struct store_user user;
};

/* Their members, ascending by user in each. */
enum rc store_hold_members(struct db *db, const int64_t *conversations,
    size_t n,
    enum rc (*each)(
	void *arg, const struct store_held_member *m, struct err *err),
    void *arg, struct err *err) MUST_USE;

/* All of their lanes. */
enum rc store_hold_lanes_of(struct db *db, const int64_t *conversations,
    size_t n,
    enum rc (*each)(void *arg, const struct store_lane *lane, struct err *err),
    void *arg, struct err *err) MUST_USE;

typedef enum rc (*store_counter_fn)(void *arg, int64_t user_id,
    const struct store_counter *counter, struct err *err);

/* The counters of inboxes, which are not locked: they only grow. */
enum rc store_hold_counters(struct db *db, const int64_t *users, size_t n,
    store_counter_fn each, void *arg, struct err *err) MUST_USE;

/* The same of inboxes that are locked, in the order of their users. */
enum rc store_hold_inboxes(struct db *db, const int64_t *users, size_t n,
    store_counter_fn each, void *arg, struct err *err) MUST_USE;

/* Locks devices, in their order. */
enum rc store_hold_devices(struct db *db, const int64_t *devices, size_t n,
    enum rc (*each)(
	void *arg, int64_t device_id, int64_t acked, struct err *err),
    void *arg, struct err *err) MUST_USE;

/* Which of these message ids are taken. */
enum rc store_hold_keys(struct db *db, const struct uuid *ids, size_t n,
    enum rc (*each)(void *arg, const struct uuid *id, struct err *err),
    void *arg, struct err *err) MUST_USE;

/* An ack of an inbox up to a number. */
struct store_ack_key {
	int64_t user_id;
	int64_t upto;
};

/* The conversations whose messages the acks are about. */
enum rc store_hold_acked(struct db *db, const struct store_ack_key *keys,
    size_t n,
    enum rc (*each)(void *arg, int64_t conversation_id, struct err *err),
    void *arg, struct err *err) MUST_USE;

#endif
