/* SPDX-License-Identifier: MIT */
/*
 * See verb.h.
 */
#include "txn/verb.h"

enum rc
txn_need_effects(struct txn_env *env, struct err *err)
{

	if (env->effects == NULL)
		env->effects = effects_new();
	if (env->wake == NULL)
		env->wake = wake_new();
	if (env->effects == NULL || env->wake == NULL)
		return (err_set(err, RC_NO_MEMORY, "effects"));
	return (RC_OK);
}

enum rc
txn_count_accepted(struct tx *tx, bool replayed, struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	enum rc rc;

	rc = txn_need_effects(env, err);
	if (rc == RC_OK && replayed)
		env->effects->replayed++;
	else if (rc == RC_OK)
		env->effects->accepted++;
	return (rc);
}

enum rc
txn_notify_change(struct tx *tx, int64_t sender_id, int64_t mid,
    enum outbox_event event, struct err *err)
{
	struct effect_change change = {sender_id, mid, event};
	struct txn_env *env = txn_env_of(tx);
	enum rc rc;

	rc = txn_need_effects(env, err);
	return (
	    rc == RC_OK ? effects_add_change(env->effects, &change, err) : rc);
}

bool
txn_expired(const struct tx *tx, int64_t expires_at)
{
	const struct txn_env *env = txn_env_of(tx);

	return (expires_at != 0 && expires_at <= tx->now_ms &&
		env->seen_mono_ms >= env->expiry_from_ms);
}

bool
txn_sender_has_room(struct txn_env *env, int64_t sender_id, struct refusal *ret)
{
	const int64_t most = env->options.pending_most;

	if (most == 0 || backlog_of_sender(env->backlog, sender_id) < most)
		return (true);
	refusal_set(ret, PROBLEM_QUEUE_FULL, "",
	    "%lld of your messages wait for delivery, the most there may be",
	    (long long)most);
	metrics_add(env->options.metrics, METRIC_QUEUE_FULL, 1);
	return (false);
}
