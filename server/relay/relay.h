/* SPDX-License-Identifier: MIT */
/*
 * The relay: the background worker that takes what outboxes owe to where it
 * belongs.  Commits wake it with the lanes they wrote; a safety poll of the
 * store each second is the correctness behind that (a lost wake-up costs a
 * second, never a message).
 */
#ifndef RELAY_RELAY_H
#define RELAY_RELAY_H

#include "base/clk.h"
#include "base/err.h"
#include "domain/news.h"
#include "relay/carrier.h"
#include "store/writer.h"

struct relay;

struct relay_options {
	const struct db_options *db; /* for a read-only connection of its own */
	struct carrier carrier;
	struct writer *writer; /* takes the release of scheduled messages */
	const struct clk *clk;
	int64_t poll_ms; /* safety poll */
};

/* Opens its connection; no thread yet. */
enum rc relay_new(const struct relay_options *options, struct relay **ret,
    struct err *err) MUST_USE;

/* Frees a stopped relay.  NULL is allowed. */
void relay_free(struct relay *r);

/* Takes up what is pending and starts the thread. */
enum rc relay_start(struct relay *r, struct err *err) MUST_USE;

/* Ends the thread after what is under way has come back.  The writer must
 * still run. */
void relay_stop(struct relay *r);

/* Lanes have work; takes ${wake}.  Thread: any.  Blocks: never. */
void relay_wake(struct relay *r, struct wake *wake);

#endif
