/* SPDX-License-Identifier: MIT */
/*
 * The fault carrier plays other servers that behave as a test wants.  The
 * carrier exists only in builds with --enable-faults, and gets the messages to
 * name@*.fault.test, or all messages if no other carrier is given.
 *
 * Each destination has two files in the directory of the carrier, DOMAIN and
 * DOMAIN.log (such as far.fault.test and far.fault.test.log).  DOMAIN is read
 * before each parcel.  Each line is a word and a number; a word that is missing
 * counts as 0, and so does a missing file:
 *
 *	down N        1: it cannot be reached
 *	silent N      1: it does not answer before our time-out
 *	latency N     milliseconds until it answers
 *	status N      it answers the whole request with this HTTP status;
 *	              200: as if the line were missing
 *	retry N       percent of messages that it refuses for now
 *	reject N      percent that it refuses for good
 *	none N        percent that it does not answer
 *	later N       percent that it promises to take, and never confirms
 *	lost N        percent of answers that are lost after it has taken all in
 *	double N      percent of parcels that reach it twice
 *	wait N        milliseconds of its Retry-After
 *	large N       bytes from which on a text is too large; 0: no limit
 *	forget N      1: it does not recognise messages that it has
 *
 * A message that the destination has taken in before is accepted as a
 * duplicate, unless forget is set.  Another is tested for retry, large, reject,
 * none and later in this order; each percentage counts for the messages that
 * are left.  After a message with retry or none, the destination takes no later
 * message of the same lane from that parcel.
 *
 * DOMAIN.log gets one line each time the destination takes a message in.  A new
 * process learns from it which messages the destination has.  PLACE is the
 * lane_seq:
 *
 *	MESSAGE-ID RECIPIENT SENDER PLACE ATTEMPT
 */
#ifndef RELAY_CARRIER_FAULT_H
#define RELAY_CARRIER_FAULT_H

#include "base/clk.h"
#include "base/err.h"
#include "base/rnd.h"
#include "relay/carrier.h"

struct carrier_fault;

/* Starts the carrier's thread, with its files in ${dir}, which is created if it
 * is missing.  Parcels to other domains go to ${other} (copied).  Borrows
 * ${clk} and ${rnd} until carrier_fault_free().  RC_IO: ${dir} cannot be
 * created. */
enum rc carrier_fault_start(const char *dir, const struct carrier_remote *other,
    const struct clk *clk, struct rnd *rnd, struct carrier_fault **ret,
    struct err *err) MUST_USE;

/* Finishes waiting parcels as not reached, ends the thread, stops the other
 * carrier, and frees ${f}.  NULL is allowed. */
void carrier_fault_free(struct carrier_fault *f);

/* Returns the carrier to put into the relay's options. */
struct carrier_remote carrier_fault(struct carrier_fault *f);

#endif
