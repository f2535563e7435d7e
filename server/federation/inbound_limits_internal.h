/* SPDX-License-Identifier: MIT */
/*
 * Limits what one other server may cause here in a minute.  A second limit is
 * for all unpinned servers together (those of which no operator has pinned a
 * key or the URL), because one attacker can have ten thousand subdomains.
 *
 * Each limit is a token bucket that holds the amount of a minute.  The buckets
 * of requests, envelopes and bytes admit or refuse whole requests: a request is
 * admitted if each of the three holds at least 1 (those of the peer, and, for
 * an unpinned peer, also those of all unpinned peers together) and the peer has
 * fewer than INBOUND_UNDER_WAY requests under way.  The envelopes and bytes of
 * the request are known only afterwards; they are charged then, and a bucket
 * may go below zero.  Until it holds 1 again, requests are refused by their
 * heads (429) without a transaction, and the answer has the seconds to wait.
 * Refusing single envelopes of a request instead would make later envelopes of
 * the same sender wait.  The buckets of new conversations and of unknown
 * recipients do limit single envelopes: those that would add a conversation,
 * and those whose recipient does not exist.  Beyond such a limit, the envelope
 * is not taken, and the peer is asked to repeat it later.
 *
 * Thread: any, in all of these but new and free.
 */
#ifndef FEDERATION_INBOUND_LIMITS_INTERNAL_H
#define FEDERATION_INBOUND_LIMITS_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "federation/document.h"

/*
 * X(id, limit of one peer, limit of all unpinned peers together), both for a
 * minute.
 *
 * The reasons for the limits of one peer, as amounts for a second.  Envelopes:
 * 20,000 are more than a server takes in (bench/README.md, "Servers that
 * deliver to each other").  Requests: 1,000, enough for these envelopes in
 * requests of 20.  Bytes: 20,000 envelopes of 1.7 KiB.  New conversations: 10,
 * as on a busy day of a large server; the limit stops strangers who only create
 * rows.  Unknown recipients: 2; typing errors need few, and the limit stops an
 * attacker who tries out names.
 */
#define INBOUND_LIMIT_TABLE(X)                                                 \
	X(INBOUND_REQUESTS, 60000, 180000)                                     \
	X(INBOUND_ENVELOPES, 1200000, 2400000)                                 \
	X(INBOUND_BYTES, INT64_C(1) << 31, INT64_C(4) << 30)                   \
	X(INBOUND_CONVERSATIONS, 600, 1800)                                    \
	X(INBOUND_UNKNOWN, 120, 600)

enum inbound_limit {
#define X(id, each, all) id,
	INBOUND_LIMIT_TABLE(X)
#undef X
	    INBOUND_LIMITS
};

/* Limit of the requests of one peer that are under way: admitted by their head
 * and not yet freed.  Beyond it, a request is refused (429) and the peer should
 * wait at least a second.  The limit is twice DOCUMENT_REQUESTS, the most that
 * this server's document ever allows, because requests that the peer has given
 * up may still be here.  Even so they fill only a small part of the writer's
 * queue.  The memory for bodies has its own limit for each peer, see
 * requests_offered() in inbound.c. */
#define INBOUND_UNDER_WAY (2 * (int64_t)DOCUMENT_REQUESTS)

/* Limit of accounts (one for each peer) in memory.  When another account is
 * needed at the limit, those with full buckets and without a request under way
 * are removed.  If that leaves half of the limit or more, all accounts without
 * a request under way are removed.  Accounts with a request under way are never
 * removed, so they may exceed the limit. */
#define INBOUND_PEERS 4096

struct inbound_limits;

/* Creates the limits.  NULL: no memory. */
struct inbound_limits *inbound_limits_new(void);
void inbound_limits_free(struct inbound_limits *l);

/* The sender of a request. */
struct inbound_peer {
	int64_t destination_id;
	bool pinned; /* not part of the total */
};

/* Admits a request of ${peer} at monotonic ${now_ms}, and charges 1 to the
 * buckets of requests; *ret_wait_s is then 0, and the caller calls
 * inbound_limits_leave() when the request ends.  Returns false, and charges
 * nothing, if a bucket of requests, envelopes or bytes holds less than 1 (of
 * the peer, or of all unpinned peers together, unless ${peer} is pinned) or the
 * peer has INBOUND_UNDER_WAY requests under way; then the peer should wait
 * *ret_wait_s seconds.  If there is no memory for an account of ${peer}, only
 * the limit of all unpinned peers together can refuse the request. */
bool inbound_limits_enter(struct inbound_limits *l,
    const struct inbound_peer *peer, int64_t now_ms, int *ret_wait_s);

/* A request that was admitted is finished.  Call it once for each. */
void inbound_limits_leave(
    struct inbound_limits *l, const struct inbound_peer *peer);

/* Charges ${n} units of ${what}. */
void inbound_limits_charge(struct inbound_limits *l,
    const struct inbound_peer *peer, int64_t now_ms, enum inbound_limit what,
    int64_t n);

/* Returns how many units of ${what} are left to ${peer}; 0 or less: none. */
int64_t inbound_limits_left(struct inbound_limits *l,
    const struct inbound_peer *peer, int64_t now_ms, enum inbound_limit what);

#endif
