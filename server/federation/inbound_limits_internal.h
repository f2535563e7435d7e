/* SPDX-License-Identifier: MIT */
/*
 * What one other server may make this one do in a minute, and what all of them
 * together may that no operator has pinned: one owner can have ten thousand
 * subdomains.
 *
 * Each limit is a bucket that holds what may be used in a minute and fills at
 * that rate.  A request passes while no bucket of its peer is empty, and only
 * then is its cost known: it is charged afterwards, and may leave a debt.  So a
 * request over a limit is refused by its head (429), costs no transaction, and
 * the peer knows how long to wait; a single envelope over a limit is never
 * refused inside of a request, where its sequence would have to wait.
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
 * X(id, of one peer in a minute, of all unpinned peers together)
 *
 * Requests and envelopes: 20,000 envelopes a second are more than a server of
 * this kind takes in (14,400 on two cores, bench/README.md); they come in
 * requests of 50, and in smaller ones where little is to be sent.  Bytes:
 * 20,000 envelopes of 1.7 KB a second.  Conversations: 10 new ones a second are
 * a busy day of a large server; a stranger who makes rows for nothing gets no
 * further.  Unknown recipients: they are typing errors, or somebody who tries
 * out names.
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

/* Requests of one peer from head to answer: twice what its document allows
 * (DOCUMENT_REQUESTS), since requests that the peer has given up may still be
 * here.  They are far less than a quarter of the writer's queue; of the memory
 * for requests an address has a quarter, into which those fit that the document
 * allows (requests_offered() in inbound.c). */
#define INBOUND_UNDER_WAY (2 * (int64_t)DOCUMENT_REQUESTS)

/* Peers that are remembered.  With more of them those whose buckets are full go
 * first, then all that have no request under way. */
#define INBOUND_PEERS 4096

struct inbound_limits;

/* NULL: no memory. */
struct inbound_limits *inbound_limits_new(void);
void inbound_limits_free(struct inbound_limits *l);

/* Whose request it is. */
struct inbound_peer {
	int64_t destination_id;
	bool pinned; /* the totals are not for it */
};

/* Lets a request of ${peer} in at monotonic ${now_ms}, and charges it.  False:
 * a bucket is empty, or too many requests are under way; *ret_wait_s is how
 * many seconds the peer should wait.  Where there is no memory to count,
 * requests are let in. */
bool inbound_limits_enter(struct inbound_limits *l,
    const struct inbound_peer *peer, int64_t now_ms, int *ret_wait_s);

/* A request that was let in is over. */
void inbound_limits_leave(
    struct inbound_limits *l, const struct inbound_peer *peer);

/* Charges ${n} of ${what}. */
void inbound_limits_charge(struct inbound_limits *l,
    const struct inbound_peer *peer, int64_t now_ms, enum inbound_limit what,
    int64_t n);

/* How many of ${what} are left to ${peer}; 0 and less: none. */
int64_t inbound_limits_left(struct inbound_limits *l,
    const struct inbound_peer *peer, int64_t now_ms, enum inbound_limit what);

#endif
