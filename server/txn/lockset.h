/* SPDX-License-Identifier: MIT */
/*
 * The lock set of a batch: which rows its units will read and write.  Where
 * several nodes write to one database, all of them are read and locked before
 * the batch's first write (lockset.c).
 *
 * Each kind of unit lists the rows of a unit in unit_kind.locks, with the
 * functions below.  A list that is too long costs concurrency; a row that is
 * missing costs a retry of the whole transaction, which locks it, too.
 *
 * What is passed by pointer is borrowed until the transaction ends.
 * Thread: writer.
 */
#ifndef TXN_LOCKSET_H
#define TXN_LOCKSET_H

#include "base/uuid.h"
#include "engine/writer.h"

/* The rows that follow are those of part ${part} of the unit
 * (unit_kind.parts). */
void lockset_part(struct lockset *set, size_t part);

/* A user by id, or by the ${n} characters at ${name}, a name or an address. The
 * row is read, and not locked. */
enum rc lockset_user(
    struct lockset *set, int64_t user_id, struct err *err) MUST_USE;
enum rc lockset_user_named(
    struct lockset *set, const char *name, size_t n, struct err *err) MUST_USE;

/* A conversation: by its public id, as the direct one of user ${user_id} with
 * the user called ${with}, who is read as well, by its direct key, by a lane of
 * it, by a message of it, or by a dead letter of it.  What belongs to a
 * conversation is locked with it: members' marks, messages, lanes, and their
 * outbox rows. */
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

/* A message that will be made under ${id}: whether the id is taken is read, and
 * internal ids are reserved for its rows. */
enum rc lockset_new_message(
    struct lockset *set, const struct uuid *id, struct err *err) MUST_USE;

/* Sends from ${sender_id} to ${to} ("": to a conversation) stay in order also
 * when one of them is deferred. */
enum rc lockset_send_order(struct lockset *set, int64_t sender_id,
    const char *to, struct err *err) MUST_USE;

/* The inbox of ${user_id}, or of the user here called ${name}, gets events.  It
 * is locked when they are written, at the end of the batch. */
enum rc lockset_inbox_events(
    struct lockset *set, int64_t user_id, struct err *err) MUST_USE;
enum rc lockset_inbox_events_named(
    struct lockset *set, const char *name, struct err *err) MUST_USE;

/* The watermarks in the rows of an inbox and of a device of its user. */
enum rc lockset_inbox_watermarks(struct lockset *set, int64_t user_id,
    int64_t device_id, struct err *err) MUST_USE;

/* The conversations of all messages in the inbox of ${user_id} up to seq
 * ${acked_upto} (0: none) that the user has not acked, and up to ${read_upto}
 * that the user has not read; and internal ids for a receipt. */
enum rc lockset_inbox_range(struct lockset *set, int64_t user_id,
    int64_t acked_upto, int64_t read_upto, struct err *err) MUST_USE;

/* The conversations of ${most} scheduled messages that are due and that no
 * other transaction has locked. */
void lockset_due(struct lockset *set, int most);

/* The name of something that has no row yet, or whose row is not locked: a
 * user's name, "#" and a user's id, a conversation's direct key, a server (for
 * that server's people, and conversations with them, too).  Names are locked
 * before all rows. */
enum rc lockset_name(
    struct lockset *set, const char *name, struct err *err) MUST_USE;

/* Locks and reads the rows of ${n} units (see the hook `lock` of the writer).
 */
enum rc lockset_lock(
    struct tx *tx, struct unit **units, size_t n, struct err *err) MUST_USE;

/* Locks, without waiting, the rows that other transactions held; *ret_freed:
 * some of them are free now, and no more remembered (the hook `probe`).
 * ${forget}: all are forgotten instead, so that the next batch waits for them.
 */
enum rc lockset_probe(
    struct tx *tx, bool forget, bool *ret_freed, struct err *err) MUST_USE;

#endif
