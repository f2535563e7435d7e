/* SPDX-License-Identifier: MIT */
/*
 * Other servers whose clock is off, according to the times in their answers and
 * signed requests.
 *
 * Kept in memory only: after a restart the next contact reports it again.  A
 * server is removed when its clock is right again, or after an hour without a
 * report.
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

/* Returns by how many ms at least another clock is ahead of this server's;
 * negative: behind; 0: it may be right.  The other clock said ${date_ms}, cut
 * to a second, in the answer to a request that was sent at ${sent_ms} and
 * answered at ${got_ms} by the wall clock here. */
int64_t peer_clocks_ahead_ms(int64_t date_ms, int64_t sent_ms, int64_t got_ms);

/* Reports that the clock of ${domain} is ahead by ${ahead_ms}; negative:
 * behind.  A difference of PEER_CLOCKS_OFF_MS or less removes the server from
 * the list.  ${p} NULL: does nothing.  Call it only for a server of which at
 * least one user is in this database, so that strangers cannot fill the
 * list. */
void peer_clocks_hear(
    struct peer_clocks *p, const char *domain, int64_t ahead_ms);

/* Returns how many clocks are off by more than PEER_CLOCKS_OFF_MS, at most
 * PEER_CLOCKS_MAX.  If there is one, ${ret_domain} (LIMIT_DOMAIN_LEN + 1 bytes)
 * and ${ret_ahead_ms} are set to the one that is off most. */
size_t peer_clocks_off(
    struct peer_clocks *p, char *ret_domain, int64_t *ret_ahead_ms);

#endif
