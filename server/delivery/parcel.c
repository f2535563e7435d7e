/* SPDX-License-Identifier: MIT */
/*
 * See parcel.h.
 */
#include "delivery/parcel.h"
#include "txn/verb.h"

static const char *const outcomes[ANSWERS] = {
#define X(id, outcome) outcome,
    ANSWER_TABLE(X)
#undef X
};

const char *
parcel_answer_outcome(enum answer answer)
{

	return (outcomes[answer]);
}

enum rc
parcel_next_due(
    struct tx *tx, const struct parcel *parcel, int64_t *ret, struct err *err)
{
	enum rc rc;

	rc = cache_flush_lanes(txn_env_of(tx)->cache, tx, err);
	return (rc == RC_OK ? store_lanes_ready_next(
				  tx->db, parcel->destination_id, ret, err)
			    : rc);
}
