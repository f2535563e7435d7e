/* SPDX-License-Identifier: MIT */
/*
 * Destinations (servers that messages go to, this server included) as the store
 * keeps them.
 * Thread: the owner of ${db}, for all functions.
 */
#ifndef STORE_DESTINATION_H
#define STORE_DESTINATION_H

#include "base/limits.h"
#include "db/db.h"
#include "model/breaker.h"

struct store_destination_row {
	int64_t destination_id;
	char name[LIMIT_DOMAIN_LEN + 1];
	struct breaker breaker;
	char last_error[513];
	int64_t paused_at; /* 0: not paused */
	char paused_by[LIMIT_ADDRESS_LEN + 1];
	char pause_reason[513];
	int64_t per_second; /* messages that may be sent to it; 0: no limit */
};

/* Find the destination called ${name}, or the one with the id.  RC_NOT_FOUND:
 * there is none. */
enum rc store_destination_by_name(struct db *db, const char *name,
    struct store_destination_row *ret, struct err *err) MUST_USE;
enum rc store_destination_by_id(struct db *db, int64_t destination_id,
    struct store_destination_row *ret, struct err *err) MUST_USE;

/* Adds a destination called ${name}, and sets *ret_id to its id.  If it exists
 * already, adds nothing, and *ret_id is the id of the existing one.  ${used}:
 * marks the destination, new or existing, as used, because users of it are
 * known here, or an operator has set something for it.  A destination that is
 * not marked as used may be purged (upkeep/purge_rows.h). */
enum rc store_destination_insert(struct db *db, const char *name, bool used,
    int64_t now_ms, int64_t *ret_id, struct err *err) MUST_USE;

/* Marks a destination as used. */
enum rc store_destination_use(struct db *db, int64_t destination_id,
    int64_t now_ms, struct err *err) MUST_USE;

typedef enum rc (*store_destination_fn)(
    void *arg, const struct store_destination_row *row, struct err *err);

/* Calls ${each} for at most ${limit} destinations with ids above ${after}, in
 * ascending order. */
enum rc store_destinations_after(struct db *db, int64_t after, int64_t limit,
    store_destination_fn each, void *arg, struct err *err) MUST_USE;

/* Calls ${each} for at most ${limit} destinations with ids above ${after} that
 * have ready lanes, in ascending order of ids.  A ready lane has rows to send
 * and is not leased, but may be due only later.  The cost is one step in the
 * index of ready lanes for each destination that is found; it depends neither
 * on the number of its lanes nor on the number of destinations without ready
 * lanes. */
enum rc store_destinations_ready(struct db *db, int64_t after, int64_t limit,
    store_destination_fn each, void *arg, struct err *err) MUST_USE;

/* Stores the breaker and the last error of ${row}. */
enum rc store_destination_breaker_set(struct db *db,
    const struct store_destination_row *row, int64_t now_ms,
    struct err *err) MUST_USE;

/* Stores whether the destination is paused, by whom and why. */
enum rc store_destination_pause_set(struct db *db,
    const struct store_destination_row *row, int64_t now_ms,
    struct err *err) MUST_USE;

/* Stores the rate limit of a destination, messages per second. */
enum rc store_destination_rate_set(struct db *db, int64_t destination_id,
    int64_t per_second, int64_t now_ms, struct err *err) MUST_USE;

#endif
