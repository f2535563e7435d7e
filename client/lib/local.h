/* SPDX-License-Identifier: MIT */
/*
 * The client's own database: what is to be sent (its own outbox), what was
 * shown (cursors and events).  SQLite in WAL mode with synchronous=FULL.
 *
 *  1. What is to be sent is here, on disk, before it is sent, and is waiting
 *     until the server has answered.
 *  2. A cursor is stored after its event was shown, never before.
 *  3. Several processes of one account may use it at once.
 *
 * Times are wall_ms.
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
	char ref[LOCAL_REF_SIZE];                /* its id, or "key:KEY" */
	char key[LIMIT_IDEMPOTENCY_KEY_LEN + 1]; /* "" without */
	char recipient[LIMIT_ADDRESS_LEN + 1];   /* or a conversation's id */
	char state[12];                          /* waiting answered refused */
	char last_error[256];
	int64_t created_at;
	int attempts;
	json_t *request; /* as POST /v1/messages takes it */
};

/* Opens the database at ${path}, making it if need be. */
enum rc local_open(
    const char *path, struct local **ret, struct fail *fail) MUST_USE;

/* Closes it.  NULL is allowed. */
void local_close(struct local *local);

/* Stores ${draft} (ref, key, recipient, request, created_at) as waiting.  One
 * with this ref that is there already stays as it is: RC_EXISTS then. */
enum rc local_outbox_add(struct local *local, const struct local_draft *draft,
    struct fail *fail) MUST_USE;

/* The draft with ${ref}: RC_NOT_FOUND if there is none.  To be freed by
 * local_draft_fini(). */
enum rc local_outbox_find(struct local *local, const char *ref,
    struct local_draft *ret, struct fail *fail) MUST_USE;

/* The first waiting draft after ${row} (0: the first of all): RC_NOT_FOUND
 * after the last.  To be freed by local_draft_fini(). */
enum rc local_outbox_next(struct local *local, int64_t row,
    struct local_draft *ret, struct fail *fail) MUST_USE;

/* Frees what ${draft} holds. */
void local_draft_fini(struct local_draft *draft);

/* Counts a try of ${ref} that ended with ${error}. */
enum rc local_outbox_tried(struct local *local, const char *ref,
    const char *error, struct fail *fail) MUST_USE;

/* The server has ${ref}. */
enum rc local_outbox_answered(
    struct local *local, const char *ref, struct fail *fail) MUST_USE;

/* The server will never take ${ref}, because of ${error}. */
enum rc local_outbox_refused(struct local *local, const char *ref,
    const char *error, struct fail *fail) MUST_USE;

/* ${ref} waits again. */
enum rc local_outbox_again(
    struct local *local, const char *ref, struct fail *fail) MUST_USE;

/* Forgets ${ref}. */
enum rc local_outbox_remove(
    struct local *local, const char *ref, struct fail *fail) MUST_USE;

/* Cursor ${name}: *ret_seq is -1 if there is none (yet). */
enum rc local_cursor_get(struct local *local, const char *name,
    char ret_epoch[LOCAL_EPOCH_SIZE], int64_t *ret_seq,
    struct fail *fail) MUST_USE;

/* Stores in one transaction the array ${events} that was shown and cursor
 * ${name} (NULL: none) behind them; within an epoch a cursor never goes
 * back. */
enum rc local_shown(struct local *local, const json_t *events, const char *name,
    const char *epoch, int64_t seq, struct fail *fail) MUST_USE;

/* Whether ${event} was shown before: one with its id, of the same server. */
bool local_has_shown(struct local *local, const json_t *event);

/* Tells the epoch that the server has.  When it is another one than before,
 * all cursors are forgotten, every answered draft waits again (its id makes a
 * second submission harmless), and *ret_changed is true. */
enum rc local_epoch_seen(struct local *local, const char *epoch,
    bool *ret_changed, struct fail *fail) MUST_USE;

/* The people that messages went to or came from here, by address, as a sorted
 * array that the caller decrefs.  Drafts that were refused do not count: their
 * address may be a misspelt one. */
enum rc local_names(struct local *local, json_t **ret) MUST_USE;

/* Up to ${limit} events that were shown and that ${wanted} accepts, oldest
 * first, as an array that the caller decrefs. */
enum rc local_history(struct local *local,
    bool (*wanted)(const json_t *event, void *arg), void *arg, int limit,
    json_t **ret) MUST_USE;

#endif
