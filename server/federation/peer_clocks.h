/* SPDX-License-Identifier: MIT */
/*
 * A list of other servers whose clock is off by more than PEER_CLOCKS_OFF_MS,
 * according to the times in their answers and signed requests.
 *
 * The list is in memory only; after a restart the next contact with a server
 * reports its clock again.  A server is removed from the list when its clock is
 * right again, or after an hour without a report.
 *
 * Thread: any, in all of these but new and free.  Never blocks.
 */
#ifndef FEDERATION_PEER_CLOCKS_H
#define FEDERATION_PEER_CLOCKS_H

#include <stddef.h>
#include <stdint.h>

#include "base/clk.h"
#include "base/limits.h"

/* A clock is off if it differs from this server's by more than this. */
#define PEER_CLOCKS_OFF_MS 60000
/* Limit of entries; the ones reported last are kept. */
#define PEER_CLOCKS_MAX 64
#define PEER_CLOCKS_FORGET_MS INT64_C(3600000)

struct peer_clocks;

/* Creates an empty list; borrows ${clk}.  NULL: no memory. */
struct peer_clocks *peer_clocks_new(const struct clk *clk);
/* Frees ${p}.  NULL is allowed. */
void peer_clocks_free(struct peer_clocks *p);

/* Returns a lower bound in ms for how far another server's clock is ahead of
 * this server's; negative: it is behind; 0: it may be right.  The other server
 * wrote its time ${date_ms}, with the milliseconds cut off, into the answer to
 * a request.  By the wall clock here, the request was sent at ${sent_ms} and
 * answered at ${got_ms}. */
int64_t peer_clocks_ahead_ms(int64_t date_ms, int64_t sent_ms, int64_t got_ms);

/* Reports that the clock of ${domain} is ahead by ${ahead_ms}; negative:
 * behind.  A difference of more than PEER_CLOCKS_OFF_MS puts the server into
 * the list; any other removes it.  Does nothing if ${p} is NULL.  Call it only
 * for a server of which at least one user is in this database, so that
 * strangers cannot fill the list. */
void peer_clocks_hear(
    struct peer_clocks *p, const char *domain, int64_t ahead_ms);

/* Returns the length of the list, at most PEER_CLOCKS_MAX.  If it is not 0,
 * sets ${ret_domain} (LIMIT_DOMAIN_LEN + 1 bytes) and ${ret_ahead_ms} to the
 * server whose clock is off most. */
size_t peer_clocks_off(
    struct peer_clocks *p, char *ret_domain, int64_t *ret_ahead_ms);

#endif
