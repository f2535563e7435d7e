/* SPDX-License-Identifier: MIT */
/*
 * Destinations as the store keeps them.
 * Thread: the owner of ${db}, in all of these.
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
	int64_t paused_at; /* 0: it is not */
	char paused_by[LIMIT_ADDRESS_LEN + 1];
	char pause_reason[513];
	int64_t per_second; /* messages that it may be sent; 0: no limit */
};

/* The destination called ${name}, or the one with that id; RC_NOT_FOUND. */
enum rc store_destination_by_name(struct db *db, const char *name,
    struct store_destination_row *ret, struct err *err) MUST_USE;
enum rc store_destination_by_id(struct db *db, int64_t destination_id,
    struct store_destination_row *ret, struct err *err) MUST_USE;

/* Adds one, or finds it.  ${used}: people of it are known here, or an operator
 * has said something of it; else purging may take it (upkeep/purge_rows.h). */
enum rc store_destination_insert(struct db *db, const char *name, bool used,
    int64_t now_ms, int64_t *ret_id, struct err *err) MUST_USE;

/* From now on it is used. */
enum rc store_destination_use(struct db *db, int64_t destination_id,
    int64_t now_ms, struct err *err) MUST_USE;

typedef enum rc (*store_destination_fn)(
    void *arg, const struct store_destination_row *row, struct err *err);

/* Those after ${after} by id, at most ${limit}. */
enum rc store_destinations_after(struct db *db, int64_t after, int64_t limit,
    store_destination_fn each, void *arg, struct err *err) MUST_USE;

/* Those after ${after} by id that have ready lanes, at most ${limit}: one step
 * in the index of ready lanes for each, however many lanes it has and however
 * many destinations have none. */
enum rc store_destinations_ready(struct db *db, int64_t after, int64_t limit,
    store_destination_fn each, void *arg, struct err *err) MUST_USE;

/* Stores breaker and last error of ${row}. */
enum rc store_destination_breaker_set(struct db *db,
    const struct store_destination_row *row, int64_t now_ms,
    struct err *err) MUST_USE;

/* Stores whether it is paused, by whom and why. */
enum rc store_destination_pause_set(struct db *db,
    const struct store_destination_row *row, int64_t now_ms,
    struct err *err) MUST_USE;

/* Stores its rate. */
enum rc store_destination_rate_set(struct db *db, int64_t destination_id,
    int64_t per_second, int64_t now_ms, struct err *err) MUST_USE;

#endif
