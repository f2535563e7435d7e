/* SPDX-License-Identifier: MIT */
/*
 * The limit of connections by address, and the answer to those that are refused
 * (conn_limit.c).
 */
#ifndef HTTP_CONN_LIMIT_INTERNAL_H
#define HTTP_CONN_LIMIT_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/lock.h"
#include "base/uuid.h"
#include "http/conn_internal.h"
#include "http/http.h"

struct htab;

struct conn_limit {
	size_t per_address;  /* connections; 0: no limit */
	struct uuid_gen ids; /* of the front's thread alone */
	struct lock lock;
	struct htab *counts; /* under lock: connections by address */
};

/* Makes a zeroed ${limit} ready. */
enum rc conn_limit_init(
    struct conn_limit *limit, const struct http_options *options) MUST_USE;

/* Frees what ${limit} holds; accepts half-made and zeroed ones. */
void conn_limit_fini(struct conn_limit *limit);

/* Counts ${conn} for its address.  Returns false, and does not count, if the
 * address has as many connections as it may have. */
bool conn_limit_enter(struct conn_limit *limit, struct conn *conn);

/* Ends the count of ${conn}, if it was counted.  Thread: any. */
void conn_limit_leave(struct conn_limit *limit, struct conn *conn);

/* Sends a problem document on the refused connection ${fd}, without waiting.
 * Returns whether it was sent.  Thread: the front's. */
bool conn_limit_refuse(
    struct conn_limit *limit, int fd, enum problem problem, const char *detail);

#endif
