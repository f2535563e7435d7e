/* SPDX-License-Identifier: MIT */
/*
 * Other servers whose clock is off, as far as this process has heard of it:
 * their answers and signed requests say what time it is there.
 *
 * In memory only: the next contact says it again after a restart.  A server is
 * forgotten when its clock is right again, and when nothing was heard of it for
 * an hour.
 *
 * Thread: any, in all of these but new and free.  Blocks: never.
 */
#ifndef FEDERATION_PEER_CLOCKS_H
#define FEDERATION_PEER_CLOCKS_H

#include <stddef.h>
#include <stdint.h>

#include "base/clk.h"
#include "base/limits.h"

/* The clocks of two servers may be as far apart as this. */
#define PEER_CLOCKS_OFF_MS 60000
/* So many servers are remembered: those that were heard of last. */
#define PEER_CLOCKS_MAX 64
#define PEER_CLOCKS_FORGET_MS INT64_C(3600000)

struct peer_clocks;

/* Makes one that knows of nobody; ${clk} is kept.  NULL: no memory. */
struct peer_clocks *peer_clocks_new(const struct clk *clk);
/* Frees it.  NULL is allowed. */
void peer_clocks_free(struct peer_clocks *p);

/* By how much a clock that said ${date_ms}, cut to a second, in an answer to a
 * request that was sent at ${sent_ms} and answered at ${got_ms} by the wall
 * clock here, is ahead of the one here at least; negative: behind. */
int64_t peer_clocks_ahead_ms(int64_t date_ms, int64_t sent_ms, int64_t got_ms);

/* The clock of ${domain} is ahead of the one here by ${ahead_ms}; negative:
 * behind.  ${p} NULL: nothing is remembered.  The caller knows that ${domain}
 * is no stranger: somebody of it is known here. */
void peer_clocks_hear(
    struct peer_clocks *p, const char *domain, int64_t ahead_ms);

/* How many clocks are off by more than PEER_CLOCKS_OFF_MS.  If there is one:
 * ${ret_domain} (LIMIT_DOMAIN_LEN + 1 bytes) and ${ret_ahead_ms} are of the one
 * that is off most. */
size_t peer_clocks_off(
    struct peer_clocks *p, char *ret_domain, int64_t *ret_ahead_ms);

#endif
