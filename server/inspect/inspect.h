/* SPDX-License-Identifier: MIT */
/*
 * The queries for operators: outbox rows, attempts, dead letters, destinations,
 * lanes (queues of outbox rows), users, and the audit log.  Every list is read
 * in bounded steps: it has a limit of rows, or it is a walk along an index that
 * reads at most INSPECT_WALK rows and returns where to go on, or whether it has
 * read all.
 *
 * A function that lists rows calls ${each} for each row; an error of ${each}
 * ends the list and is returned.  Texts of rows are borrowed until ${each}
 * returns, and NULL if there is no text.  A time of 0 means that there is none.
 * Thread: the owner of ${db}, for all functions.
 */
#ifndef INSPECT_INSPECT_H
#define INSPECT_INSPECT_H

#include <stdbool.h>

#include "db/db.h"
#include "store/totals.h"

/* Rows that one walk, or one set of rows, examines at most. */
#define INSPECT_WALK 20000
/* The most ids of rows that are kept in memory for a page.  It must be larger
 * than LIMIT_PAGE_MAX (the most rows that a page shows), because one more id
 * than the page shows is kept, to find out whether there are more rows. */
#define INSPECT_PAGE 256
/* Open dead letters that are counted, at most. */
#define INSPECT_COUNT 100000

#define INSPECT_AGES 8
/* The upper limits of all age classes except the last. */
extern const int64_t inspect_age_limits_ms[INSPECT_AGES - 1];

/* ---- outbox rows (outbox.c) ---- */

struct inspect_outbox_filter {
	int state;      /* enum outbox_state, -1: any */
	bool scheduled; /* with OUTBOX_PENDING: without a place in a lane */
	int64_t destination_id; /* -1: any */
	int64_t sender_id;      /* 0: any */
	/* In state sending since this time or longer; 0: any. */
	int64_t unchanged_since;
	/* Pending or sending, after at least this many retries; 0: any. */
	int64_t retry_count;
};

struct inspect_outbox_row {
	int64_t id;
	struct uuid message_id;
	int kind; /* enum event_kind */
	const char *from, *to, *destination;
	const char *state, *reason;
	int64_t priority, attempts, retry_count, rescue_count, requeues;
	int64_t event_time, created_at, last_attempt_at, last_status_at;
	int64_t next_retry_at, deliver_at, expires_at, sent_at, acked_at;
	int64_t read_at; /* 0 also if the reader hides read receipts */
	const char *last_error;
	int64_t lane_id;  /* 0: none */
	int64_t lane_seq; /* 0: none (scheduled) */
};

typedef enum rc (*inspect_outbox_row_fn)(
    void *arg, const struct inspect_outbox_row *row, struct err *err);

/* Calls ${each} with the outbox rows of messages (not of receipts) that match
 * ${filter} and have ids below ${before}, newest first, at most ${limit} (below
 * INSPECT_PAGE).  *ret_next: the ${before} of the next page; 0: there are no
 * more.  A walk that has examined INSPECT_WALK rows ends the page early,
 * perhaps without a row; *ret_next is then not 0. */
enum rc inspect_outbox(struct db *db,
    const struct inspect_outbox_filter *filter, int64_t before, int64_t limit,
    inspect_outbox_row_fn each, void *arg, int64_t *ret_next,
    struct err *err) MUST_USE;

/* Calls ${each} with the row ${id}.  RC_NOT_FOUND: there is no such row. */
enum rc inspect_outbox_row(struct db *db, int64_t id,
    inspect_outbox_row_fn each, void *arg, struct err *err) MUST_USE;

/* A message without its text. */
struct inspect_message {
	struct uuid id, conversation;
	const char *from, *correlation_id;
	int64_t conversation_seq; /* 0: not released */
	int64_t event_time, created_at;
};

/* Calls ${each} with the message ${id}.  RC_NOT_FOUND: there is no such
 * message. */
enum rc inspect_message(struct db *db, const struct uuid *id,
    enum rc (*each)(
	void *arg, const struct inspect_message *m, struct err *err),
    void *arg, struct err *err) MUST_USE;

struct inspect_attempt {
	int64_t attempt, started_at, finished_at;
	const char *outcome, *error, *owner;
	int64_t status; /* 0: none */
};

/* Lists the newest ${limit} attempts of a row, newest first. */
enum rc inspect_attempts(struct db *db, int64_t outbox_id, int64_t limit,
    enum rc (*each)(
	void *arg, const struct inspect_attempt *a, struct err *err),
    void *arg, struct err *err) MUST_USE;

/* ---- dead letters (dead_letters.c) ---- */

#define INSPECT_REASON_SIZE 33

enum inspect_resolved { INSPECT_OPEN, INSPECT_RESOLVED, INSPECT_BOTH };

struct inspect_dead_letter_filter {
	enum inspect_resolved resolved;
	char reason[INSPECT_REASON_SIZE]; /* "": any */
	int64_t destination_id;           /* -1: any */
	int64_t sender_id;                /* 0: any */
};

struct inspect_dead_letter {
	int64_t dead_id, outbox_id;
	struct uuid message_id;
	const char *from, *to, *destination;
	const char *state, *reason, *last_error;
	int64_t attempts, retry_count, event_time, created_at, dead_at;
	const char *resolution, *resolved_by;
	int64_t resolved_at;
};

typedef enum rc (*inspect_dead_letter_fn)(
    void *arg, const struct inspect_dead_letter *dead, struct err *err);

/* Calls ${each} with the dead letters that match ${filter} and have ids below
 * ${before}, newest first, at most ${limit} (below INSPECT_PAGE).  *ret_next:
 * the ${before} of the next page; 0: there are no more.  A walk that has
 * examined INSPECT_WALK dead letters ends the page early, perhaps without one;
 * *ret_next is then not 0. */
enum rc inspect_dead_letters(struct db *db,
    const struct inspect_dead_letter_filter *filter, int64_t before,
    int64_t limit, inspect_dead_letter_fn each, void *arg, int64_t *ret_next,
    struct err *err) MUST_USE;

/* Stores in ${ret} the ids above ${after} of open dead letters that match
 * ${filter}, lowest first, at most ${max} and at most INSPECT_PAGE; *ret_n:
 * their number.  Examines at most INSPECT_WALK dead letters.  *ret_last: the
 * last id that was examined, which is the ${after} of the next call; 0: the end
 * was reached. */
enum rc inspect_dead_letter_ids(struct db *db,
    const struct inspect_dead_letter_filter *filter, int64_t after,
    int64_t *ret, size_t max, size_t *ret_n, int64_t *ret_last,
    struct err *err) MUST_USE;

/* Counts in *ret the dead letters that match ${filter} among the INSPECT_WALK
 * open ones with the lowest ids above ${after}.  *ret_all: true if fewer than
 * INSPECT_WALK are open there, so all were examined. */
enum rc inspect_dead_letters_left(struct db *db,
    const struct inspect_dead_letter_filter *filter, int64_t after,
    int64_t *ret, bool *ret_all, struct err *err) MUST_USE;

/* Calls ${each} with the newest ${limit} dead letters of an outbox row, newest
 * first.  Only dead_id, state, reason, dead_at, resolution, resolved_at and
 * resolved_by are set; the other members are 0 or NULL. */
enum rc inspect_dead_letters_of(struct db *db, int64_t outbox_id, int64_t limit,
    inspect_dead_letter_fn each, void *arg, struct err *err) MUST_USE;

/* ---- numbers and destinations (destinations.c) ---- */

struct inspect_stats {
	struct store_totals totals;
	int64_t dead_open; /* at most INSPECT_COUNT */
	/* Since when the oldest row could be delivered; 0: none. */
	int64_t oldest_at;
	/* In state sending since ${stuck_before} or longer. */
	int64_t stuck_sending;
	int64_t near_failure;  /* retried at least ${retry_count} times */
	int64_t latency_count; /* of the newest INSPECT_WALK / 2 rows */
	int64_t latency_ms;    /* their sum */
};

/* Reads the numbers of the whole outbox.  latency_ms is the sum of the times
 * from when a message could be delivered until it was sent, in milliseconds,
 * over the latency_count messages that were sent at ${since} or later and are
 * among the newest INSPECT_WALK / 2 outbox rows. */
enum rc inspect_stats(struct db *db, int64_t stuck_before, int64_t retry_count,
    int64_t since, struct inspect_stats *ret, struct err *err) MUST_USE;

struct inspect_destination {
	int64_t destination_id;
	const char *name, *breaker;
	int64_t failures, successes;
	int64_t next_probe_at, failing_since, last_success_at, last_failure_at;
	const char *last_error;
	int64_t paused_at;
	const char *paused_by, *pause_reason;
	int64_t per_second; /* 0: no limit */
};

typedef enum rc (*inspect_destination_fn)(
    void *arg, const struct inspect_destination *d, struct err *err);

/* Calls ${each} with at most ${limit} destinations after the name ${after} ("":
 * from the first), by name.  ${each} must not use ${db}, whose query is still
 * running. */
enum rc inspect_destinations(struct db *db, const char *after, int64_t limit,
    inspect_destination_fn each, void *arg, struct err *err) MUST_USE;

/* Calls ${each} with the destination ${name}.  RC_NOT_FOUND: there is none. */
enum rc inspect_destination(struct db *db, const char *name,
    inspect_destination_fn each, void *arg, struct err *err) MUST_USE;

/* The backlog of a destination. */
struct inspect_backlog {
	int64_t pending; /* rows */
	int64_t lanes_ready;
	/* Since when the oldest row could be delivered; 0: none. */
	int64_t oldest_at;
	int64_t ages[INSPECT_AGES];
	bool truncated; /* only ${budget} rows were examined */
};

/* Reads the backlog of a destination.  Examines at most ${budget} rows. */
enum rc inspect_backlog(struct db *db, int64_t destination_id, int64_t now_ms,
    int64_t budget, struct inspect_backlog *ret, struct err *err) MUST_USE;

/* ---- lanes (lanes.c) ---- */

struct inspect_lane {
	int64_t lane_id;
	struct uuid conversation;
	const char *to, *destination, *state, *lease_owner;
	int64_t class, priority, next_seq, last_published_seq, tail_seq;
	int64_t due_at, lease_until, lease_token, updated_at, replay_seq;
};

typedef enum rc (*inspect_lane_fn)(
    void *arg, const struct inspect_lane *lane, struct err *err);

struct inspect_lane_filter {
	int64_t destination_id; /* -1: any */
	const char *state;      /* NULL: any */
};

/* Calls ${each} with at most ${limit} (below INSPECT_PAGE) lanes that match
 * ${filter} and have ids above ${after}, by id.  *ret_next: the ${after} of the
 * next page; 0: there are no more.  A walk that has examined INSPECT_WALK lanes
 * ends the page early, perhaps without a lane; *ret_next is then not 0. */
enum rc inspect_lanes(struct db *db, const struct inspect_lane_filter *filter,
    int64_t after, int64_t limit, inspect_lane_fn each, void *arg,
    int64_t *ret_next, struct err *err) MUST_USE;

/* Calls ${each} with the lane ${lane_id}.  RC_NOT_FOUND: there is no such
 * lane. */
enum rc inspect_lane(struct db *db, int64_t lane_id, inspect_lane_fn each,
    void *arg, struct err *err) MUST_USE;

/* Stores in *ret_seq a place (lane_seq) in the lane ${lane_id}, a queue of rows
 * to another server: the lowest place below the lane's cursor whose row the
 * other server accepted at ${since_ms} (by the clock of this server) or later.
 * Only rows that are still kept count.  RC_NOT_FOUND: there is no such row, or
 * no such lane; *ret_seq is unchanged. */
enum rc inspect_lane_sent_since(struct db *db, int64_t lane_id,
    int64_t since_ms, int64_t *ret_seq, struct err *err) MUST_USE;

/* ---- users, and the audit log (people.c) ---- */

struct inspect_user {
	int64_t user_id;
	const char *name, *display_name;
	bool admin;
	bool local; /* not an address on another server */
	int64_t disabled_at, created_at, devices;
};

/* Lists at most ${limit} users after the name ${after}, by name. */
enum rc inspect_users(struct db *db, const char *after, int64_t limit,
    enum rc (*each)(void *arg, const struct inspect_user *u, struct err *err),
    void *arg, struct err *err) MUST_USE;

/* Calls ${each} with the user ${user_id}, if there is one. */
enum rc inspect_user(struct db *db, int64_t user_id,
    enum rc (*each)(void *arg, const struct inspect_user *u, struct err *err),
    void *arg, struct err *err) MUST_USE;

/* Calls ${each} with the sender of each pending outbox row of a message, unless
 * it is scheduled: once for each row, so a sender may come several times.
 * Reads at most INSPECT_WALK pending rows, receipts included, for local inboxes
 * and as many for other servers.  *ret_all: true if neither limit was reached,
 * so all were read. */
enum rc inspect_senders(struct db *db,
    void (*each)(void *arg, int64_t sender_id), void *arg, bool *ret_all,
    struct err *err) MUST_USE;

struct inspect_audit {
	int64_t audit_id, at;
	const char *actor, *action, *object, *detail;
};

/* Calls ${each} with at most ${limit} entries of the audit log that have ids
 * below ${before}, newest first. */
enum rc inspect_audit(struct db *db, int64_t before, int64_t limit,
    enum rc (*each)(void *arg, const struct inspect_audit *a, struct err *err),
    void *arg, struct err *err) MUST_USE;

#endif
