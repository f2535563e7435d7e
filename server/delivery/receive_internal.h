/* SPDX-License-Identifier: MIT */
/*
 * Functions that receive.c (the verb and its writes), receive_judge.c (its
 * decisions), receive_look.c (what they stand on) and receive_make.c (new
 * people) share.
 */
#ifndef DELIVERY_RECEIVE_INTERNAL_H
#define DELIVERY_RECEIVE_INTERNAL_H

#include "delivery/receive.h"
#include "store/incoming.h"

/* How long after its first sending a copy of a request may come: a signature
 * lives for 300 s, and clocks may differ by as much. */
#define RECEIVE_LATE_COPY_MS (11 * 60 * 1000)

/* Decides all envelopes of ${u} by reading: reason, duplicate and plan of each;
 * or that the request is refused.  Thread: writer. */
enum rc receive_judge(
    struct tx *tx, struct receive_unit *u, struct err *err) MUST_USE;

/* Reads what the store knows of the envelopes of ${u} without a reason: `known`
 * of each; and whether the request is refused.  The people of each are known.
 * With a new person of the signing peer its name is locked by now
 * (receive_locks_names), so that purging the peer waits, or is seen here.
 * Thread: writer. */
enum rc receive_look(
    struct tx *tx, struct receive_unit *u, struct err *err) MUST_USE;

/* Whether the request as a whole is refused. */
static inline bool
receive_refused(const struct receive_unit *u)
{

	return (u->repeated || u->unknown || u->blocked);
}

/* Makes the people and the conversations that the planned messages of ${u} need
 * and that are not here.  Thread: writer. */
enum rc receive_make(
    struct tx *tx, struct receive_unit *u, struct err *err) MUST_USE;

/* The class of the sequence that an event of ${kind} belongs to: enum
 * lane_class. */
int receive_class(int kind);

/* Whether ${address} is of ${domain}. */
bool receive_is_of(const struct span *address, const char *domain);

/* The length of the name in ${address}, "name@domain". */
size_t receive_name_len(const struct span *address);

/* The name in ${address}; "": nobody here can have it. */
void receive_local_name(
    const struct span *address, char ret[LIMIT_NAME_LEN + 1]);

#endif
