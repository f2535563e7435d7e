/* SPDX-License-Identifier: MIT */
/*
 * The relay's work for other servers, by hand, on a rig: sends messages to
 * people there, claims, answers, settles and rescues them.
 */
#ifndef CONTRACT_FAR_H
#define CONTRACT_FAR_H

#include "contract/rig.h"
#include "delivery/claim.h"
#include "delivery/reclaim.h"
#include "delivery/settle.h"

/* The lease of far_claim(), in ms. */
#define FAR_LEASE_MS 60000

/* Sends to ${to} (NAME@SERVER), at ${deliver_at} (0: now).  The message must be
 * accepted.  Returns its id. */
struct uuid far_send(struct rig *r, int64_t from, const char *to, int priority,
    int64_t deliver_at);

/* Sends to ${to} now.  Returns the refusal, if there is one. */
struct refusal far_send_try(struct rig *r, int64_t from, const char *to);

/* Fills ${p} with what may be sent to server ${name} now, at most ${most}
 * messages, those of ${priority} first.  ${p} is zeroed before the first call
 * and may be used again.  Returns ${p}.  The caller frees its text at the end
 * (buf_fini). */
struct parcel *far_claim(struct rig *r, struct parcel *p, const char *name,
    size_t most, int priority);

/* Claims like far_claim(), and continues the ${passes} of the call before. */
struct parcel *far_claim_on(struct rig *r, struct parcel *p, const char *name,
    size_t most, int priority, struct claim_passes *passes);

/* Stores the answers of ${p} and empties it.  Returns the number of its lanes
 * whose lease another node holds. */
size_t far_settle(struct rig *r, struct parcel *p);

/* Settles ${p} with ${answer} for all its messages.  ANSWER_NONE: the server
 * was not reached. */
size_t far_answer(struct rig *r, struct parcel *p, enum answer answer);

/* Ends the leases that have run out (${all}: all leases, as a start does), and
 * expires messages.  Returns the number of lanes. */
size_t far_rescue(struct rig *r, bool all);

#endif
