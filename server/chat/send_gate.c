/* SPDX-License-Identifier: MIT */
/*
 * See send_gate.h.
 */
#include "chat/send_gate.h"
#include "base/lock.h"

#include "base/mem.h"

struct send_gate {
	struct send_gate_options o;
	struct usage *usage;
	atomic_size_t busy;
	struct lock lock; /* protects ids */
	struct uuid_gen ids;
};

enum rc
send_gate_new(const struct send_gate_options *options, struct send_gate **ret,
    struct err *err)
{
	struct usage_options usage = {.clk = options->clk,
	    .readers = options->readers,
	    .shared = options->shared,
	    .messages_most = options->quota_messages,
	    .bytes_most = options->quota_bytes};
	struct send_gate *gate;

	if ((gate = mem_zalloc(1, sizeof(*gate))) == NULL)
		return (err_set(err, RC_NO_MEMORY, "send gate"));
	gate->o = *options;
	lock_init(&gate->lock, LOCK_SEND_GATE);
	uuid_gen_init(&gate->ids, options->clk, options->rnd);
	usage.under_way = &gate->busy;
	if ((gate->usage = usage_new(&usage)) == NULL) {
		send_gate_free(gate);
		return (err_set(err, RC_NO_MEMORY, "send gate"));
	}
	*ret = gate;
	return (RC_OK);
}

void
send_gate_free(struct send_gate *gate)
{

	if (gate == NULL)
		return;
	usage_free(gate->usage);
	lock_fini(&gate->lock);
	mem_free(gate);
}

size_t
send_gate_busy(const struct send_gate *gate)
{

	return (atomic_load(&gate->busy));
}

const struct addressing *
send_gate_addressing(const struct send_gate *gate)
{

	return (&gate->o.addressing);
}

struct uuid
send_gate_id(struct send_gate *gate)
{
	struct uuid id;

	lock_take(&gate->lock);
	id = uuid_gen_next(&gate->ids);
	lock_drop(&gate->lock);
	return (id);
}

bool
send_gate_take(struct send_gate *gate, int64_t user_id,
    const struct usage_amount *amount, struct refusal *refusal)
{
	int wait_s;

	if (gate->o.disk_low != NULL && atomic_load(gate->o.disk_low)) {
		metrics_add(gate->o.metrics, METRIC_SENDS_NO_ROOM, 1);
		refusal_set(refusal, PROBLEM_STORAGE_FULL, "",
		    "the server's disk is nearly full: it takes no new "
		    "messages");
		return (false);
	}
	if (usage_take(gate->usage, user_id, amount, &wait_s))
		return (true);
	metrics_add(gate->o.metrics, METRIC_SENDS_OVER_QUOTA, 1);
	refusal_set(refusal, PROBLEM_QUOTA_USED, "",
	    "a user may send %lld messages and %lld bytes a day (UTC)",
	    (long long)gate->o.quota_messages, (long long)gate->o.quota_bytes);
	refusal->retry_after_s = wait_s;
	return (false);
}

void
send_gate_return(
    struct send_gate *gate, int64_t user_id, const struct usage_amount *amount)
{

	usage_return(gate->usage, user_id, amount);
}
