/* SPDX-License-Identifier: MIT */
/*
 * What the relay does for other servers, by hand: messages to people there are
 * sent, claimed, answered, settled and rescued, on a rig.
 */
#ifndef CONTRACT_FAR_H
#define CONTRACT_FAR_H

#include "contract/rig.h"
#include "delivery/claim.h"
#include "delivery/reclaim.h"
#include "delivery/settle.h"

/* How long far_claim() leases. */
#define FAR_LEASE_MS 60000

/* Sends to ${to} (NAME@SERVER), at ${deliver_at} (0: now); the message's id.
 * Must be accepted. */
struct uuid far_send(struct rig *r, int64_t from, const char *to, int priority,
    int64_t deliver_at);

/* The same at once, which may be refused: what became of it. */
struct refusal far_send_try(struct rig *r, int64_t from, const char *to);

/* Makes ${p} what server ${name} may be sent now, at most ${most} messages, of
 * ${priority} first.  Returns ${p}, whose text the caller frees at the end
 * (buf_fini); it may be used again, and begins as zeros. */
struct parcel *far_claim(struct rig *r, struct parcel *p, const char *name,
    size_t most, int priority);

/* The same, going on with ${passes}, which are kept for the next call. */
struct parcel *far_claim_on(struct rig *r, struct parcel *p, const char *name,
    size_t most, int priority, struct claim_passes *passes);

/* Stores the answers of ${p} and empties it; returns the number of its lanes
 * whose lease another node holds. */
size_t far_settle(struct rig *r, struct parcel *p);

/* The same with ${answer} to all of it; ANSWER_NONE: it was not reached. */
size_t far_answer(struct rig *r, struct parcel *p, enum answer answer);

/* Ends the leases that have run out, or ${all} as a start does, and takes out
 * what has expired; how many lanes. */
size_t far_rescue(struct rig *r, bool all);

#endif
