/* SPDX-License-Identifier: MIT */
/*
 * The fault carrier: other servers that do what a test wants, in builds with
 * --enable-faults only.  Messages to name@*.fault.test go through it.
 *
 * Each destination has two files in the directory that it is given.  NAME is
 * read before each parcel: words with a number each, a line a word; a word that
 * is missing is 0, and so is a file.  NAME.log gets a line for each message
 * that the destination has taken in, and is its memory of what it has:
 *
 *	MESSAGE-ID RECIPIENT SENDER PLACE ATTEMPT
 *
 *	down N        1: it cannot be reached
 *	silent N      1: it answers nothing until our patience ends
 *	latency N     milliseconds until it answers
 *	status N      it answers the whole with this status of HTTP
 *	retry N       percent of messages that it refuses for now
 *	reject N      percent that it refuses for good
 *	none N        percent that it says nothing of
 *	later N       percent that it takes for later, and never confirms
 *	lost N        percent of answers that are lost after it has taken all in
 *	double N      percent of parcels that reach it twice
 *	wait N        milliseconds that it asks us to wait (Retry-After)
 *	large N       bytes from which on a text is too large; 0: none
 *	forget N      1: it does not remember what it has
 */
#ifndef RELAY_CARRIER_FAULT_H
#define RELAY_CARRIER_FAULT_H

#include "base/clk.h"
#include "base/err.h"
#include "base/rnd.h"
#include "relay/carrier.h"

struct carrier_fault;

/* Starts it with its files in ${dir}, which is made.  Everybody else is
 * ${other}'s (copied).  The clock and the randomness are kept. */
enum rc carrier_fault_start(const char *dir, const struct carrier_remote *other,
    const struct clk *clk, struct rnd *rnd, struct carrier_fault **ret,
    struct err *err) MUST_USE;

/* Ends its thread and frees it; NULL is allowed. */
void carrier_fault_free(struct carrier_fault *f);

/* What the relay is given. */
struct carrier_remote carrier_fault(struct carrier_fault *f);

#endif
