/* SPDX-License-Identifier: MIT */
/*
 * Where messages come in, whatever the wire: ids for those that come without,
 * the quota of their sender, and the room on the disk.  One of a server.
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

/* What is pointed to is kept. */
struct send_gate_options {
	const struct clk *clk;
	struct rnd *rnd;
	struct metrics *metrics;
	struct readers *readers;
	struct addressing addressing;
	bool shared; /* other nodes accept messages, too */
	int64_t quota_messages, quota_bytes; /* a day and user; 0: any */
	/* Set while the disk has too little room for new messages; may be NULL.
	 */
	const atomic_bool *disk_low;
};

struct send_gate;

/* Makes the gate.  RC_NO_MEMORY. */
enum rc send_gate_new(const struct send_gate_options *options,
    struct send_gate **ret, struct err *err) MUST_USE;

/* Frees; nothing may come any more, and send_gate_busy() is 0.  NULL is
 * allowed. */
void send_gate_free(struct send_gate *gate);

/* Jobs of readers that are under way. */
size_t send_gate_busy(const struct send_gate *gate);

/* Whose addresses are taken.  Borrowed. */
const struct addressing *send_gate_addressing(const struct send_gate *gate);

/* A new id. */
struct uuid send_gate_id(struct send_gate *gate);

/* Whether ${user_id} may send ${amount} now, which is then counted; if not,
 * ${refusal} says why. */
bool send_gate_take(struct send_gate *gate, int64_t user_id,
    const struct usage_amount *amount, struct refusal *refusal);

/* ${amount} was not accepted after all, or had been before. */
void send_gate_return(
    struct send_gate *gate, int64_t user_id, const struct usage_amount *amount);

#endif
