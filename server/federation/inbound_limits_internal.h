/* SPDX-License-Identifier: MIT */
/*
 * Limits of what one other server may cause here in a minute; and of what all
 * unpinned servers together may cause, because one owner can have ten thousand
 * subdomains.
 *
 * Each limit is a token bucket that holds the amount of a minute.  The buckets
 * of requests, envelopes and bytes admit or refuse whole requests.  A request
 * is admitted while none of them is empty.  Its envelopes and bytes are known
 * only afterwards; they are charged then, and may leave a debt.  So a request
 * over a limit is refused by its head (429) without a transaction, and the peer
 * learns how long to wait.  Refusing single envelopes of a request instead
 * would make the later ones of their sequences wait.  The buckets of
 * conversations and of unknown recipients apply to the single envelopes that
 * would use them.
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
 * X(id, limit of one peer in a minute, limit of all unpinned peers together)
 *
 * Requests and envelopes: 20,000 envelopes a second are more than a server can
 * take in (14,400 on two cores, bench/README.md).  They come in requests of 50,
 * or in smaller ones if little is to be sent.  Bytes: 20,000 envelopes of 1.7
 * KB a second.  Conversations: 10 new ones a second are a busy day of a large
 * server; the limit stops strangers who create rows for nothing.  Unknown
 * recipients: typing errors, or an attacker who tries out names.
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

/* Limit of requests of one peer from head to answer: twice the most that this
 * server's document allows (DOCUMENT_REQUESTS), since requests that the peer
 * has given up may still be here.  They are far less than a quarter of the
 * writer's queue.  One address may use a quarter of the memory for requests;
 * the requests that the document allows fit into it (requests_offered() in
 * inbound.c). */
#define INBOUND_UNDER_WAY (2 * (int64_t)DOCUMENT_REQUESTS)

/* Limit of accounts in memory.  At the limit, accounts with full buckets are
 * removed; if that leaves half of the limit or more, all without a request
 * under way.  Accounts with one may exceed the limit. */
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

/* Admits and charges a request of ${peer} at monotonic ${now_ms}.  False: a
 * bucket is empty, or too many requests are under way; the peer should wait
 * *ret_wait_s seconds.  If there is no memory for an account, only the total
 * can refuse the request.  *ret_wait_s is 0 if the request is admitted. */
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
