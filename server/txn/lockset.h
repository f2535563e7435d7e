/* SPDX-License-Identifier: MIT */
/*
 * The lock set of a batch (one transaction for many units of work): the rows
 * that the units will read and write.  On a multi-writer database they are read
 * and locked before the batch's first write, except users, which are only read,
 * and inboxes, which are usually locked at the end (lockset.c).
 *
 * Each kind of unit lists the rows of a unit in unit_kind.locks, with the
 * functions below.  Listing too many rows costs concurrency.  If a conversation
 * is missing in the list and another transaction has locked it, the whole
 * transaction is tried again and then locks that conversation, too.
 *
 * Arguments that are passed by pointer are borrowed until lockset_lock() has
 * returned, except the name that lockset_name() copies.
 * Thread: writer.
 */
#ifndef TXN_LOCKSET_H
#define TXN_LOCKSET_H

#include "base/uuid.h"
#include "engine/writer.h"

/* The rows that this unit lists from now on, until its next call, belong to its
 * part ${part}: an index into the array of flags that unit_kind.parts returns.
 * Rows that the unit lists before its first call belong to part 0.  If a row of
 * a part is contended, only that part of the unit is deferred. */
void lockset_part(struct lockset *set, size_t part);

/* List a user, if there is one: lockset_user() by id, lockset_user_named() by
 * the name or the address in the ${n} bytes at ${name}.  The row is read but
 * not locked. */
enum rc lockset_user(
    struct lockset *set, int64_t user_id, struct err *err) MUST_USE;
enum rc lockset_user_named(
    struct lockset *set, const char *name, size_t n, struct err *err) MUST_USE;

/* List a conversation, if it exists: by its public id; as the direct one of
 * user ${user_id} and the user with the name or address ${with}, who is listed
 * as by lockset_user_named(); by its direct key; or as that of a lane, a
 * message or a dead letter.  The lock on a conversation also protects the
 * members' watermarks, the messages, the lanes and their outbox rows. */
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

/* Lists the id of a message that the unit will add.  The lock set checks
 * whether a message has this id already (cache_id_free()), and reserves
 * internal ids for one message row and one outbox row. */
enum rc lockset_new_message(
    struct lockset *set, const struct uuid *id, struct err *err) MUST_USE;

/* Lists the sends from ${sender_id} to ${to}, so that they stay in order.
 * While such a send is deferred because another transaction has locked a name
 * that the send needs (lockset_name()), later units that list the same
 * ${sender_id} and ${to} are deferred, too.  ${to} is "" for a send to any
 * conversation.  For a message from another server ${sender_id} is 0 and ${to}
 * is the direct key of the conversation. */
enum rc lockset_send_order(struct lockset *set, int64_t sender_id,
    const char *to, struct err *err) MUST_USE;

/* List the inbox of ${user_id}, or of the local user called ${name}, to which
 * events will be added.  If the inbox is known to be contended, the unit is
 * deferred.  A transaction that locks only free rows (tx->search) locks the
 * inbox before the first write.  Any other transaction locks it only when the
 * events are written (cache_lock_inboxes()), usually at the end of the batch.
 */
enum rc lockset_inbox_events(
    struct lockset *set, int64_t user_id, struct err *err) MUST_USE;
enum rc lockset_inbox_events_named(
    struct lockset *set, const char *name, struct err *err) MUST_USE;

/* Lists the watermarks in an inbox and in a device of its user. */
enum rc lockset_inbox_watermarks(struct lockset *set, int64_t user_id,
    int64_t device_id, struct err *err) MUST_USE;

/* Lists the conversations of two ranges of messages of others in the inbox of
 * ${user_id}: those after the seq up to which the user's devices have acked, up
 * to seq ${acked_upto}, and those after the seq up to which the user has read,
 * up to seq ${read_upto} (0: no such range).  Of each range only the 2000
 * messages (WALK_ROWS) with the lowest seqs count.  Unless both are 0, also
 * reserves the internal id of one outbox row, for a receipt. */
enum rc lockset_inbox_range(struct lockset *set, int64_t user_id,
    int64_t acked_upto, int64_t read_upto, struct err *err) MUST_USE;

/* Lists the conversations of the ${most} scheduled messages that have been due
 * longest, except conversations that another transaction has locked (their
 * messages count towards ${most}, too). */
void lockset_due(struct lockset *set, int most);

/* Lists a name that is locked (an advisory lock) before all rows.  The lock
 * stands for something that has no row yet, or whose row is not locked.  The
 * name is one of these: the name of a user; "#" and the id of a user; "#" and a
 * word for a whole set ("#admins"); the direct key of a conversation; the name
 * of a server (also for the users of that server and conversations with them).
 * ${name} is copied. */
enum rc lockset_name(
    struct lockset *set, const char *name, struct err *err) MUST_USE;

/* Locks and reads the rows of ${n} units (the hook `lock` of the writer). */
enum rc lockset_lock(
    struct tx *tx, struct unit **units, size_t n, struct err *err) MUST_USE;

/* The hook `probe` of the writer.  Tries to lock the contended rows without
 * waiting, and removes from the set of contended rows those that it could lock;
 * the caller rolls back, which unlocks them.  A CONTENDED_SEND is not a row and
 * stays.  With ${forget} it instead empties the whole set, including
 * CONTENDED_SEND, without a query, so that the next batch waits for the locks.
 * Sets *ret_freed to whether anything was removed. */
enum rc lockset_probe(
    struct tx *tx, bool forget, bool *ret_freed, struct err *err) MUST_USE;

#endif
