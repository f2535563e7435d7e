/* SPDX-License-Identifier: MIT */
/*
 * A list of other servers whose clock is off by more than PEER_CLOCKS_OFF_MS,
 * according to the times in their answers and signed requests.
 *
 * The list is in memory only; after a restart the next contact with a server
 * reports its clock again.  A server is removed from the list when a report
 * shows that its clock is right again, or when no report has come for an hour.
 * If the list is full, the server that was reported least recently makes room
 * for a new one.
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

/* Returns by how many ms another server's clock is at least ahead of this
 * server's; negative: by how many it is at least behind; 0: it may be right.
 * The other server wrote its time ${date_ms}, which may lack the milliseconds,
 * into the answer to a request.  By the wall clock here, the request was sent
 * at ${sent_ms} and the answer arrived at ${got_ms}.  If the other server wrote
 * its time into a request of its own, callers pass the arrival of that request
 * as ${sent_ms} and as ${got_ms}; a slow request then looks like a clock that
 * is behind. */
int64_t peer_clocks_ahead_ms(int64_t date_ms, int64_t sent_ms, int64_t got_ms);

/* Reports that the clock of the server ${domain} is ahead by ${ahead_ms};
 * negative: behind.  A difference of more than PEER_CLOCKS_OFF_MS either way
 * puts the server into the list, if need be in place of the server that was
 * reported least recently; any other removes the server from the list.  Does
 * nothing if ${p} is NULL.  Call it only for a server of which at least one
 * user is in this database, so that strangers cannot fill the list. */
void peer_clocks_hear(
    struct peer_clocks *p, const char *domain, int64_t ahead_ms);

/* Returns the length of the list, at most PEER_CLOCKS_MAX.  If it is not 0,
 * sets ${ret_domain} (LIMIT_DOMAIN_LEN + 1 bytes) to the server whose clock is
 * off most, ahead or behind, and ${ret_ahead_ms} to its difference (negative:
 * behind).  If it is 0, sets nothing. */
size_t peer_clocks_off(
    struct peer_clocks *p, char *ret_domain, int64_t *ret_ahead_ms);

#endif
