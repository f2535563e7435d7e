/* SPDX-License-Identifier: MIT */
/*
 * The fault carrier plays other servers that behave as a test wants.  The
 * carrier exists only in builds with --enable-faults, and gets the messages
 * (here also: receipts) to name@*.fault.test, or all messages if `send` of the
 * other carrier is NULL (carrier_fault_start()).
 *
 * Each destination has two files in the directory of the carrier, DOMAIN and
 * DOMAIN.log (such as far.fault.test and far.fault.test.log).  DOMAIN is read
 * whenever a parcel is sent to the destination.  Each line is a word and a
 * number; a word that is missing counts as 0, and so does a missing file.  Of
 * down, silent and status, the first that is set counts:
 *
 *	down N        1: it cannot be reached
 *	silent N      1: it does not answer before our time-out
 *	latency N     milliseconds until it answers, even after our time-out
 *	status N      it answers the whole request with this HTTP status;
 *	              200: as if the line were missing
 *	retry N       percent of messages that it refuses for now
 *	reject N      percent that it refuses for good
 *	none N        percent that it does not answer
 *	later N       percent that it promises to take, and never confirms
 *	lost N        percent of parcels whose answer is lost after the
 *	              destination has tested all messages as below
 *	double N      percent of parcels that reach it twice
 *	wait N        milliseconds of Retry-After, for the parcel (also with
 *	              down and silent) and for each message
 *	large N       bytes from which on a text is too large; 0: no limit
 *	forget N      1: it does not recognise messages that it has
 *
 * A message that the destination has taken in before is accepted as a
 * duplicate, unless forget is set.  Any other message is tested for retry,
 * large, reject, none and later in this order; each percentage counts for the
 * messages that are left.  The destination takes in a message that passes all
 * tests.  After a message with retry or none, it takes no later message of the
 * same lane from that parcel.
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

/* Creates a carrier that has its files in the directory ${dir}, which is
 * created if it is missing, and starts the carrier's thread.  Parcels to
 * domains other than *.fault.test go to ${other} (copied), or are played as
 * well if other->send is NULL.  Borrows ${clk}, ${rnd} and what ${other} points
 * to until carrier_fault_free().  On failure *ret is not set: RC_IO if ${dir}
 * cannot be created, RC_NO_MEMORY, or the result of thr_start(). */
enum rc carrier_fault_start(const char *dir, const struct carrier_remote *other,
    const struct clk *clk, struct rnd *rnd, struct carrier_fault **ret,
    struct err *err) MUST_USE;

/* Finishes waiting parcels as not reached, ends the thread, stops the carrier
 * ${other} of carrier_fault_start(), and frees ${f}.  NULL is allowed. */
void carrier_fault_free(struct carrier_fault *f);

/* Returns the carrier to put into the relay's options. */
struct carrier_remote carrier_fault(struct carrier_fault *f);

#endif
