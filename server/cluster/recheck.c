/* SPDX-License-Identifier: MIT */
/*
 * Reads from the store, for the users connected to this node, the ends of
 * inboxes, the acks and the revoked tokens: the node may have missed them
 * because a note of another node, or the answer to one of its own commits, was
 * lost.
 */
#include "cluster/cluster_internal.h"
#include "model/event.h"
#include "store/account.h"
#include "store/inbox.h"

static enum rc
add_head(void *arg, int64_t user_id, int64_t head, struct err *err)
{
	const struct effect_event e = {
	    .user_id = user_id, .seq = head, .kind = EVENT_MESSAGE};

	return (head > 0 ? effects_add_event(arg, &e, err) : RC_OK);
}

static enum rc
add_device(void *arg, const struct store_device_now *now, struct err *err)
{
	const struct effect_acked acked = {.user_id = now->user_id,
	    .device_id = now->device_id,
	    .seq = now->acked};

	if (now->gone != NULL)
		return (
		    effects_add_revoked(arg, now->device_id, now->gone, err));
	return (acked.seq > 0 ? effects_add_acked(arg, &acked, err) : RC_OK);
}

enum rc
recheck_read(struct cluster *c, struct err *err)
{
	struct effects *effects = effects_new();
	enum rc rc = RC_OK;

	/* A note about a revoked token may have been lost. */
	auth_forget_all(c->options.auth);
	if (effects == NULL || c->ask.users == NULL || c->ask.devices == NULL) {
		/* Memory was short, here or in push. */
		effects_free(effects);
		c->missed = true;
		goto done;
	}
	rc = store_inbox_heads(
	    c->db, c->ask.users, c->ask.n, add_head, effects, err);
	if (rc == RC_OK)
		rc = store_devices_now(
		    c->db, c->ask.devices, c->ask.n, add_device, effects, err);
	if (rc == RC_OK && !effects_empty(effects))
		push_effects(c->options.push, effects);
	else
		effects_free(effects);
done:
	push_present_free(&c->ask);
	return (rc);
}
