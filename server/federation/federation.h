/* SPDX-License-Identifier: MIT */
/*
 * Federation: deliveries between this server and others (docs/federation.md).
 * This module creates its parts and connects them:
 *
 *	keyring    this server's keys, in memory
 *	directory  other servers, in memory
 *	outbound   parcels and documents: requests to others, by a thread
 *	inbound    requests of others: routes of HTTP
 *	clocks     how far the clocks of other servers are off
 */
#ifndef FEDERATION_FEDERATION_H
#define FEDERATION_FEDERATION_H

#include "federation/inbound.h"
#include "federation/outbound.h"

struct federation;

struct federation_options {
	const struct clk *clk;
	const struct timing *timing; /* borrowed; NULL: timing_real() */
	struct rnd *rnd;
	struct metrics *metrics;
	struct writer *writer; /* its thread must not run yet */
	struct readers *readers;
	/* The writer's connection.  Only federation_new() uses it. */
	struct db *db;
	/* Borrowed.  If its mode is DIRECTORY_OFF, there is no outbound thread,
	 * and the two HTTP routes answer that federation is off. */
	const struct directory_policy *policy;
	struct domain_url url; /* the URL at which others reach this server */
	struct net_networks networks; /* private ones that may be contacted */
	/* PEM of certificate authorities; borrowed.  NULL: the system's. */
	const struct buf *authorities;
	const char *epoch;           /* of the database; borrowed */
	size_t body_bytes;           /* http_options.body_bytes */
	const atomic_bool *disk_low; /* borrowed */
	/* See inbound_options.contact. */
	void (*contact)(void *arg, int64_t destination_id, bool alone);
	void *contact_arg;
};

/* Creates ${ret}, which is unchanged after an error.  Unless federation is off,
 * also makes a key for this server if it has none that is published, and reads
 * the known peers (at most 2000) into memory.  Starts no thread. */
enum rc federation_new(const struct federation_options *options,
    struct federation **ret, struct err *err) MUST_USE;

/* Starts the outbound thread. */
enum rc federation_start(struct federation *f, struct err *err) MUST_USE;

/* The server begins to stop: from now on, a request of another server that
 * passes the checks (signature, limits, digest) is answered with a request to
 * come back later, and none of its messages and acks is taken.  Requests that
 * were submitted to the writer before get their usual answers.  Thread: any. */
void federation_drain(struct federation *f);

/* Frees ${f}, after the relay, HTTP, readers and writer have stopped.  NULL is
 * allowed. */
void federation_free(struct federation *f);

/* Returns the carrier for the relay, which stops it. */
struct carrier_remote federation_carrier(struct federation *f);

/* Returns the routes for HTTP. */
struct http_routes federation_routes(struct federation *f);

/* Returns how many peers have a clock that is off: see peer_clocks_off().
 * Thread: any. */
size_t federation_clocks_off(
    struct federation *f, char *ret_domain, int64_t *ret_ahead_ms);

/* An operator has changed the database row of a peer through this node: puts
 * the new row, ${known}, into the directory at once.  A peer that has no keys
 * and is not blocked is removed from the directory, that is from memory.  Does
 * nothing if federation is off.  Thread: any.  Never blocks. */
void federation_peer_changed(
    struct federation *f, const struct store_peer_known *known);

/* Another node has changed the database row of the peer ${domain}: starts to
 * read the row, even if the peer is not in memory (see directory_changed()).
 * Does nothing if federation is off.  Thread: any.  Never blocks. */
void federation_peer_noted(struct federation *f, const char *domain);

#endif
