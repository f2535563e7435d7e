/* SPDX-License-Identifier: MIT */
/*
 * The driver side of db.h: struct db_driver, the table of the functions that a
 * backend provides, and struct db, the first member of each backend's own
 * connection struct.  A function in the table has the contract of the function
 * of db.h that calls it and, as a rule, has its name (begin: db_begin()).  If a
 * backend lacks a function, the pointer is NULL, and db.c calls other functions
 * instead, does nothing, or returns RC_INTERNAL.  Only db/ and tests include
 * this.
 */
#ifndef DB_DB_INTERNAL_H
#define DB_DB_INTERNAL_H

#include "db/db.h"

struct db_driver {
	bool multi_writer;
	bool (*retryable)(const struct db *db); /* NULL: never */
	enum rc (*run)(struct db *db, int stmt, const struct db_val *params,
	    size_t n, db_row_fn each, void *arg, int64_t *ret_changed,
	    struct err *err);
	enum rc (*exec_many)(struct db *db, int stmt,
	    const struct db_val *params, size_t n, size_t nrows,
	    int64_t *ret_changed, struct err *err);
	enum rc (*run_many)(struct db *db, int stmt, const struct db_set *set,
	    db_row_fn each, void *arg, struct err *err); /* NULL: row by row */
	/* NULL: there is no pipeline; each statement runs at once. */
	enum rc (*pipeline_write)(
	    struct db *db, int stmt, const struct db_set *set, struct err *err);
	enum rc (*pipeline_query)(struct db *db, int stmt,
	    const struct db_set *set, db_row_fn each, void *arg,
	    struct err *err);
	enum rc (*pipeline_flush)(struct db *db, struct err *err);
	enum rc (*allow_long_statements)(
	    /* NULL: the backend limits no statement. */
	    struct db *db, struct err *err);
	/* NULL on a backend with one writer. */
	enum rc (*set_node)(struct db *db, int64_t node, struct err *err);
	enum rc (*lineage_get)(
	    struct db *db, struct db_lineage *ret, struct err *err);
	enum rc (*waits_for_standby)(struct db *db, bool *ret, struct err *err);
	enum rc (*notification_listen)(
	    struct db *db, const char *channel, struct err *err);
	enum rc (*notification_send)(struct db *db, const char *channel,
	    const char *text, struct err *err);
	int (*notification_fd)(const struct db *db);
	enum rc (*notification_poll)(
	    struct db *db, db_notification_fn each, void *arg, struct err *err);
	enum rc (*begin)(struct db *db, struct err *err);
	enum rc (*commit)(struct db *db, struct err *err);
	enum rc (*commit_early)(struct db *db, bool *ret_owed, struct err *err);
	enum rc (*sync)(struct db *db, struct err *err);
	void (*rollback)(struct db *db);
	bool (*in_transaction)(const struct db *db);
	enum rc (*checkpoint)(struct db *db, bool truncate,
	    struct db_checkpoint *ret, struct err *err);
	enum rc (*log_cut)(struct db *db, struct err *err);
	enum rc (*backup)(struct db *db, const char *path, int64_t log_limit,
	    struct err *err);
	int64_t (*log_bytes)(struct db *db);
	enum rc (*schema_number)(
	    struct db *db, int *ret_has, int *ret_newest, struct err *err);
	enum rc (*migrate)(struct db *db, int64_t now_ms, int *ret_from,
	    int *ret_to, struct err *err);
	/* NULL: the backend cannot make one. */
	enum rc (*fresh)(
	    struct db *db, int number, struct db **ret, struct err *err);
	enum rc (*describe)(struct db *db, int stmt, struct db_description *ret,
	    char *plan, size_t plan_size, struct err *err);
	void (*close)(struct db *db);
	bool (*col_null)(const struct db_row *row, int col);
	int64_t (*col_i64)(const struct db_row *row, int col);
	const void *(*col_bytes)(
	    const struct db_row *row, int col, bool text, size_t *ret_n);
};

/* The beginning of every backend's connection. */
struct db {
	const struct db_driver *driver;
	const struct db_schema *schema;
	enum db_mode mode;
	const atomic_int_fast64_t *lineage; /* may be NULL */
	bool lock_timed_out;                /* db_lock_timed_out() */
	int64_t
	    lock_timeout_ms; /* db_set_lock_timeout(); 0: as it was opened */
	uint64_t statements;
};

struct db_row {
	const struct db *db;
	void *handle;
};

/* Appends ${name} to ${ret->columns} and counts it. */
void db_describe_column(struct db_description *ret, const char *name);

/* Gives what db_schema_number() does, of a database with schema ${number}. */
enum rc db_schema_check(const struct db *db, int64_t number, int *ret_has,
    int *ret_newest, struct err *err) MUST_USE;

/* Opens SQLite file ${path}; as db_open(). */
enum rc db_sqlite_open(const struct db_options *options, const char *path,
    struct db **ret, struct err *err) MUST_USE;

/* Opens the PostgreSQL database of ${options->url}; as db_open(). */
enum rc db_postgres_open(const struct db_options *options, struct db **ret,
    struct err *err) MUST_USE;

#endif
