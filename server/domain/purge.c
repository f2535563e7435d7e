/* SPDX-License-Identifier: MIT */
/*
 * The batch verb `purge`.
 */
#include "domain/purge.h"
#include "base/fault.h"
#include "domain/order.h"

static enum rc
purge_apply(struct tx *tx, struct unit **units, size_t n, struct err *err)
{
	struct purge_unit *u;
	size_t i;
	enum rc rc;

	for (i = 0; i < n; i++) {
		u = (struct purge_unit *)(void *)units[i];
		rc = store_purge_delete(tx->db, &u->list, &u->deleted, err);
		if (rc == RC_OK && FAULT_FAILS("purge.deleted"))
			rc = err_set(err, RC_INTERNAL, "a fault");
		if (rc == RC_OK && u->list.mid != 0)
			rc = store_purge_mark_set(tx->db, u->list.mid, err);
		if (rc != RC_OK)
			return (err_wrap(err, "purge"));
	}
	return (RC_OK);
}

static void
purge_done(struct unit *unit)
{
	struct purge_unit *u = (struct purge_unit *)(void *)unit;

	u->finish(u);
}

static const struct unit_kind purge_kind = {
    "purge", UNIT_UPKEEP, ORDER_UPKEEP, purge_apply, purge_done, false};

void
purge_unit_init(struct purge_unit *u)
{

	u->unit.kind = &purge_kind;
	u->unit.bytes = 4096;
	u->deleted = 0;
}
