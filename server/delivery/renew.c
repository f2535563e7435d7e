/* SPDX-License-Identifier: MIT */
/*
 * The batch verb `renew`.  In a batch it runs after the units that settle,
 * because a lease that they have ended must not be renewed, and before the
 * units that reclaim, so that these find the renewed leases valid.
 */
#include "delivery/renew.h"
#include "txn/lockset.h"
#include "txn/verb.h"

static enum rc
renew_lease(struct tx *tx, struct renew_unit *u, struct renew_lease *lease,
    struct err *err)
{
	const int64_t until = tx->now_ms + u->lease_ms;
	struct txn_env *env = txn_env_of(tx);
	struct cached_lane *lane;
	enum rc rc;

	lease->lost = false;
	rc = cache_lane_by_id(env->cache, tx, lease->lane_id, &lane, err);
	if (rc == RC_NOT_FOUND)
		rc = err_set(err, RC_CORRUPT, "a lane that is not there");
	if (rc == RC_OK)
		rc = store_lane_renew(tx->db,
		    &(struct store_renewal){
			lease->lane_id, lease->token, until},
		    tx->now_ms, err);
	if (rc == RC_CONFLICT) {
		lease->lost = true;
		u->lost++;
		return (RC_OK);
	}
	if (rc == RC_OK)
		lane->lane.lease_until = until;
	return (rc);
}

static enum rc
renew_apply(struct tx *tx, struct unit *unit, struct err *err)
{
	struct renew_unit *u = CONTAINER_OF(unit, struct renew_unit, unit);
	enum rc rc;
	size_t i;

	u->lost = 0;
	/* First write the cached changes of lanes by earlier units of this
	 * batch, because the statement that renews compares the token and the
	 * state with the row in the database, not with the cache. */
	rc = cache_flush_lanes(txn_env_of(tx)->cache, tx, err);
	for (i = 0; i < u->n && rc == RC_OK; i++)
		rc = renew_lease(tx, u, &u->leases[i], err);
	return (rc);
}

static enum rc
renew_locks(struct unit *unit, struct lockset *set, struct err *err)
{
	const struct renew_unit *u =
	    CONTAINER_OF(unit, struct renew_unit, unit);
	enum rc rc = RC_OK;
	size_t i;

	for (i = 0; i < u->n && rc == RC_OK; i++)
		rc = lockset_lane(set, u->leases[i].lane_id, err);
	return (rc);
}

UNIT_KIND(renew, renew_locks, .queue = UNIT_DELIVERY, .order = ORDER_RENEW,
    .apply_one = renew_apply);

void
renew_unit_init(struct renew_unit *u)
{

	u->unit.kind = &renew_kind;
	u->unit.bytes = 4096;
	u->lost = 0;
}
