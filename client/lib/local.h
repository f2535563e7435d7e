/* SPDX-License-Identifier: MIT */
/*
 * The client's own database: SQLite in WAL mode with synchronous=FULL.  It
 * holds the messages to be sent (drafts, in the client's outbox), the events
 * that were shown, the cursors (each the position in the user's inbox up to
 * which events were shown), and the server's epoch (the name of the history of
 * its database, which changes, for example, after a restore from a backup).
 *
 *  1. A message is stored here, on disk, before it is sent, and waits here
 *     until the server has accepted or finally refused it, unless the user
 *     removes it, or its row is damaged and the client gives it up.
 *  2. A cursor is stored after its event was shown, never before.
 *  3. Several processes of one account may use the database at the same time.
 *
 * All times are wall-clock milliseconds since 1970.  Each failure fills
 * ${fail}; RC_EXISTS and RC_NOT_FOUND do not.  Thread: only the one that opened
 * the database uses a struct local.
 */
#ifndef LIB_LOCAL_H
#define LIB_LOCAL_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/limits.h"
#include "lib/fail.h"

struct local;

#define LOCAL_EPOCH_SIZE 40
#define LOCAL_REF_SIZE (4 + LIMIT_IDEMPOTENCY_KEY_LEN + 1)

/* A message of the client's own outbox. */
struct local_draft {
	int64_t row;                             /* order of submission */
	char ref[LOCAL_REF_SIZE];                /* message id or "key:KEY" */
	char key[LIMIT_IDEMPOTENCY_KEY_LEN + 1]; /* "" if none */
	char recipient[LIMIT_ADDRESS_LEN + 1];   /* address or conversation */
	char state[12];                          /* waiting answered refused */
	char last_error[256];
	int64_t created_at;
	int attempts;
	json_t *request; /* body of POST /v1/messages */
};

/* Opens the database at ${path} and creates it, for its owner only, if it does
 * not exist.  Deletes answered and refused drafts that were created more than
 * 14 days ago, and keeps at most the newest 20,000 events.  Waits while another
 * process has the lock of the database, which a process holds only while it
 * opens, writes, checkpoints or closes the database.  Sets *ret only on
 * success; close it with local_close(). */
enum rc local_open(
    const char *path, struct local **ret, struct fail *fail) MUST_USE;

/* Closes ${local}, which may be NULL. */
void local_close(struct local *local);

/* Stores ${draft} (ref, key, recipient, request, created_at) as waiting.  If a
 * draft with the same ref and an equal request exists, marks that one as
 * waiting, even if it was answered or refused before.  If the stored request
 * differs, leaves the stored draft unchanged and returns RC_EXISTS, without
 * setting ${fail}.  If the stored request is damaged, leaves the stored draft
 * unchanged, fills ${fail}, and returns RC_CORRUPT.  All of this is one
 * transaction, so that another process cannot delete the stored draft
 * meanwhile. */
enum rc local_outbox_add(struct local *local, const struct local_draft *draft,
    struct fail *fail) MUST_USE;

/* Finds the draft with ${ref}, in any state.  Returns RC_NOT_FOUND if there is
 * none, and RC_CORRUPT, with the other members of ${ret} set, if its request is
 * damaged.  After RC_OK and RC_CORRUPT, free ${ret} with local_draft_fini();
 * after any other result, do not use or free ${ret}. */
enum rc local_outbox_find(struct local *local, const char *ref,
    struct local_draft *ret, struct fail *fail) MUST_USE;

/* Finds the first waiting draft with a row number above ${row} (0: from the
 * start).  Returns RC_NOT_FOUND if there is none, and RC_CORRUPT, with the
 * other members of ${ret} set, if its request is damaged.  After RC_OK and
 * RC_CORRUPT, free ${ret} with local_draft_fini(); after any other result, do
 * not use or free ${ret}. */
enum rc local_outbox_next(struct local *local, int64_t row,
    struct local_draft *ret, struct fail *fail) MUST_USE;

/* Frees the members of ${draft}. */
void local_draft_fini(struct local_draft *draft);

/* Adds 1 to the attempts of draft ${ref} and stores ${error} as its last_error,
 * because an attempt to send it has failed; its state does not change.  This
 * function and local_outbox_answered(), _refused(), _again() and _remove()
 * return RC_OK and do nothing if no draft has this ref. */
enum rc local_outbox_tried(struct local *local, const char *ref,
    const char *error, struct fail *fail) MUST_USE;

/* Marks ${ref} as answered: the server has the message. */
enum rc local_outbox_answered(
    struct local *local, const char *ref, struct fail *fail) MUST_USE;

/* Marks ${ref} as refused: the server will never accept it, because of
 * ${error}. */
enum rc local_outbox_refused(struct local *local, const char *ref,
    const char *error, struct fail *fail) MUST_USE;

/* Marks ${ref} as waiting again. */
enum rc local_outbox_again(
    struct local *local, const char *ref, struct fail *fail) MUST_USE;

/* Deletes the draft ${ref}. */
enum rc local_outbox_remove(
    struct local *local, const char *ref, struct fail *fail) MUST_USE;

/* Reads cursor ${name} into ${ret_epoch} and *ret_seq.  If the cursor is not
 * stored, returns RC_OK and sets *ret_seq to -1 and ${ret_epoch} to "". */
enum rc local_cursor_get(struct local *local, const char *name,
    char ret_epoch[LOCAL_EPOCH_SIZE], int64_t *ret_seq,
    struct fail *fail) MUST_USE;

/* Stores the events in array ${events}, which were shown to the user, and sets
 * cursor ${name} (NULL: no cursor) to ${epoch} and ${seq}, the position of the
 * last of these events.  Does this in one transaction.  Skips events that have
 * no event_id or are stored already.  If the stored cursor has the same epoch
 * and a higher seq, the cursor does not change. */
enum rc local_shown(struct local *local, const json_t *events, const char *name,
    const char *epoch, int64_t seq, struct fail *fail) MUST_USE;

/* Returns true if ${event} was shown before: an event with the same event_id
 * that the same server made is stored.  Returns false if ${event} has no
 * event_id, if local_open() has deleted the stored event as one of the oldest,
 * or on a failure. */
bool local_has_shown(struct local *local, const json_t *event);

/* Stores the server's ${epoch}.  If a different epoch was stored before (as
 * after a restore of the server from a backup), deletes all cursors, makes
 * every answered draft wait again (the draft's id or key makes a second
 * submission harmless), and sets *ret_changed to true.  Otherwise, also if no
 * epoch was stored, sets *ret_changed to false.  Ignores an epoch of
 * LOCAL_EPOCH_SIZE bytes or more, and returns RC_OK.  On failure *ret_changed
 * is false or not set. */
enum rc local_epoch_seen(struct local *local, const char *epoch,
    bool *ret_changed, struct fail *fail) MUST_USE;

/* Sets *ret to an array, which the caller decrefs, of the recipients of the
 * stored drafts and the senders and recipients of the stored events, each once,
 * the user's own name included.  Leaves out the ids of conversations.  Does not
 * use refused drafts, because a refused address may be misspelt.  On failure
 * *ret is not set. */
enum rc local_names(
    struct local *local, json_t **ret, struct fail *fail) MUST_USE;

/* Sets *ret to an array, which the caller decrefs, of the newest ${limit}
 * stored events for which ${wanted} returns true, oldest first, by the order in
 * which they were stored.  Calls ${wanted} with ${arg} for each event from the
 * newest on, until ${limit} are found.  Skips damaged rows.  On failure *ret is
 * not set. */
enum rc local_history(struct local *local,
    bool (*wanted)(const json_t *event, void *arg), void *arg, int limit,
    json_t **ret, struct fail *fail) MUST_USE;

#endif
