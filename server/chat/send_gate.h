/* SPDX-License-Identifier: MIT */
/*
 * The checks and services that all sends share, over REST and WebSocket: ids
 * for messages without one, the addresses that are accepted, the quota of the
 * sender, and free disk space.  A server has one send gate.
 *
 * Thread: any.
 */
#ifndef CHAT_SEND_GATE_H
#define CHAT_SEND_GATE_H

#include <stdatomic.h>

#include "base/clk.h"
#include "base/rnd.h"
#include "base/uuid.h"
#include "chat/send.h"
#include "chat/usage.h"
#include "engine/reader.h"
#include "metrics/metrics.h"
#include "model/refusal.h"

/* The objects that are pointed to are kept. */
struct send_gate_options {
	const struct clk *clk;
	struct rnd *rnd;
	struct metrics *metrics;
	struct readers *readers;
	struct addressing addressing;
	bool shared; /* other nodes accept messages, too */
	int64_t quota_messages, quota_bytes; /* per user and day; 0: no limit */
	/* Points to a flag that is true while the disk has too little free
	 * space for new messages; the gate then refuses them.  NULL: the gate
	 * does not check this. */
	const atomic_bool *disk_low;
};

struct send_gate;

/* Makes a send gate.  Fails with RC_NO_MEMORY only. */
enum rc send_gate_new(const struct send_gate_options *options,
    struct send_gate **ret, struct err *err) MUST_USE;

/* Frees ${gate}.  It must no longer be used by other threads, and
 * send_gate_busy() must be 0.  NULL is allowed. */
void send_gate_free(struct send_gate *gate);

/* Returns the number of reader jobs of the gate that wait or are running. */
size_t send_gate_busy(const struct send_gate *gate);

/* Returns which addresses are accepted.  Borrowed. */
const struct addressing *send_gate_addressing(const struct send_gate *gate);

/* Returns a new message id. */
struct uuid send_gate_id(struct send_gate *gate);

/* Returns true if ${user_id} may send ${amount} now, and then adds ${amount} to
 * the user's usage of today if there is a quota; the caller must subtract the
 * messages that are not accepted as new ones, with send_gate_return().
 * Otherwise returns false, adds nothing and sets ${refusal}: the disk is nearly
 * full, or ${amount} would exceed the quota. */
bool send_gate_take(struct send_gate *gate, int64_t user_id,
    const struct usage_amount *amount, struct refusal *refusal);

/* Undoes send_gate_take(), because ${amount} was not accepted, or had been
 * accepted before. */
void send_gate_return(
    struct send_gate *gate, int64_t user_id, const struct usage_amount *amount);

#endif
