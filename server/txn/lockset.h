/* SPDX-License-Identifier: MIT */
/*
 * The lock set of a batch: the rows that its units will read and write.  On a
 * multi-writer database they are read and locked before the batch's first
 * write, except users, which are only read, and inboxes, which are locked at
 * the end (lockset.c).
 *
 * Each kind of unit lists the rows of a unit in unit_kind.locks, with the
 * functions below.  Listing too many rows costs concurrency.  If a row is
 * missing in the list and another transaction has locked it, the whole
 * transaction is tried again and then locks that row, too.
 *
 * Arguments that are passed by pointer are borrowed until the transaction ends.
 * Thread: writer.
 */
#ifndef TXN_LOCKSET_H
#define TXN_LOCKSET_H

#include "base/uuid.h"
#include "engine/writer.h"

/* The rows that are listed from now on belong to part ${part} of the unit.  If
 * one of these rows is contended, only this part is deferred
 * (unit_kind.parts). */
void lockset_part(struct lockset *set, size_t part);

/* Lists a user, by id or by the name or address in the ${n} bytes at ${name}.
 * The row is read but not locked. */
enum rc lockset_user(
    struct lockset *set, int64_t user_id, struct err *err) MUST_USE;
enum rc lockset_user_named(
    struct lockset *set, const char *name, size_t n, struct err *err) MUST_USE;

/* List a conversation, identified by its public id, by its two users (user
 * ${user_id} and the user called ${with}, who is read as well), by its direct
 * key, by one of its lanes, messages, or dead letters.  The lock on a
 * conversation also protects the members' watermarks, the messages, the lanes
 * and their outbox rows. */
enum rc lockset_conversation(
    struct lockset *set, const struct uuid *id, struct err *err) MUST_USE;
enum rc lockset_direct(struct lockset *set, int64_t user_id, const char *with,
    struct err *err) MUST_USE;
enum rc lockset_direct_key(
    struct lockset *set, const char *key, struct err *err) MUST_USE;
enum rc lockset_lane(
    struct lockset *set, int64_t lane_id, struct err *err) MUST_USE;
enum rc lockset_message(
    struct lockset *set, const struct uuid *id, struct err *err) MUST_USE;
enum rc lockset_dead_letter(
    struct lockset *set, int64_t dead_id, struct err *err) MUST_USE;

/* Lists a new message with ${id}.  The lock set checks whether the id is taken
 * and reserves internal ids for its rows. */
enum rc lockset_new_message(
    struct lockset *set, const struct uuid *id, struct err *err) MUST_USE;

/* Keeps sends from ${sender_id} to ${to} in order even when one of them is
 * deferred.  ${to} is "" for a send to a conversation. */
enum rc lockset_send_order(struct lockset *set, int64_t sender_id,
    const char *to, struct err *err) MUST_USE;

/* List the inbox of ${user_id}, or of the local user called ${name}, to which
 * events will be added.  It is locked only when they are written, at the end of
 * the batch; in a transaction that locks only free rows (tx->search), before
 * the first write. */
enum rc lockset_inbox_events(
    struct lockset *set, int64_t user_id, struct err *err) MUST_USE;
enum rc lockset_inbox_events_named(
    struct lockset *set, const char *name, struct err *err) MUST_USE;

/* Lists the watermarks in an inbox and in a device of its user. */
enum rc lockset_inbox_watermarks(struct lockset *set, int64_t user_id,
    int64_t device_id, struct err *err) MUST_USE;

/* Lists the conversations of two ranges of messages of others in the inbox of
 * ${user_id}: those that the user has not acked, up to seq ${acked_upto}, and
 * those that the user has not read, up to seq ${read_upto} (0: no such range).
 * Only the first 2000 messages (WALK_ROWS) of each range count.  Also reserves
 * the internal id of one receipt. */
enum rc lockset_inbox_range(struct lockset *set, int64_t user_id,
    int64_t acked_upto, int64_t read_upto, struct err *err) MUST_USE;

/* Lists the conversations of the first ${most} scheduled messages that are due,
 * except conversations that another transaction has locked. */
void lockset_due(struct lockset *set, int most);

/* Lists the name of a thing that has no row yet, or whose row is not locked:
 * the name of a user, "#" and the id of a user, "#" and a word for a whole set,
 * the direct key of a conversation, or the name of a server (also for the users
 * of that server and conversations with them).  Names are locked before all
 * rows. */
enum rc lockset_name(
    struct lockset *set, const char *name, struct err *err) MUST_USE;

/* Locks and reads the rows of ${n} units (the hook `lock` of the writer). */
enum rc lockset_lock(
    struct tx *tx, struct unit **units, size_t n, struct err *err) MUST_USE;

/* The hook `probe` of the writer.  Tries to lock the contended rows without
 * waiting, and removes from the set those that were free.  A CONTENDED_SEND is
 * not a row and stays.  With ${forget} empties the whole set without a query,
 * so that the next batch waits for the locks.  *ret_freed is true if anything
 * was removed. */
enum rc lockset_probe(
    struct tx *tx, bool forget, bool *ret_freed, struct err *err) MUST_USE;

#endif
