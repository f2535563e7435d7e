/* SPDX-License-Identifier: MIT */
/*
 * Federation: deliveries between this server and others (docs/federation.md).
 * Here its parts are put together:
 *
 *	keyring    this server's keys, in memory
 *	directory  other servers, in memory
 *	outbound   parcels and documents: requests to others, by a thread
 *	inbound    requests of others: routes of HTTP
 */
#ifndef FEDERATION_FEDERATION_H
#define FEDERATION_FEDERATION_H

#include "federation/inbound.h"
#include "federation/outbound.h"

struct federation;

struct federation_options {
	const struct clk *clk;
	const struct timing *timing; /* kept; NULL: timing_real() */
	struct rnd *rnd;
	struct metrics *metrics;
	struct writer *writer; /* its thread has not begun */
	struct readers *readers;
	struct db *db; /* the writer's connection; for the start alone */
	/* Its mode may be DIRECTORY_OFF: then there are two routes that say so,
	 * and no thread.  Kept. */
	const struct directory_policy *policy;
	struct domain_url url;         /* where others reach this server */
	struct net_networks networks;  /* private ones that may be contacted */
	const struct buf *authorities; /* of certificates; kept.  NULL: the
					* system's */
	const char *epoch;             /* of the database; kept */
	size_t body_bytes;             /* http_options.body_bytes */
	const atomic_bool *disk_low;   /* kept */
	/* inbound_options.contact */
	void (*contact)(void *arg, int64_t destination_id, bool alone);
	void *contact_arg;
};

/* Makes it and, with the first start, a key; no thread yet. */
enum rc federation_new(const struct federation_options *options,
    struct federation **ret, struct err *err) MUST_USE;

/* Starts its thread. */
enum rc federation_start(struct federation *f, struct err *err) MUST_USE;

/* Requests of others are asked to come back later.  Thread: any. */
void federation_drain(struct federation *f);

/* Frees it after the relay, HTTP, readers and writer have stopped.  NULL is
 * allowed. */
void federation_free(struct federation *f);

/* For the relay, which stops it. */
struct carrier_remote federation_carrier(struct federation *f);

/* For HTTP. */
struct http_routes federation_routes(struct federation *f);

/* Peers whose clock is off: peer_clocks_off().  Thread: any. */
size_t federation_clocks_off(
    struct federation *f, char *ret_domain, int64_t *ret_ahead_ms);

/* An operator has changed what is known of a peer to ${known}: it holds at
 * once on this node.  Thread: any.  Blocks: never. */
void federation_peer_changed(
    struct federation *f, const struct store_peer_known *known);

/* Another node has changed what is known of ${domain}.  Thread: any.  Blocks:
 * never. */
void federation_peer_noted(struct federation *f, const char *domain);

#endif
