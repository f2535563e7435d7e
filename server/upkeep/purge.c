/* SPDX-License-Identifier: MIT */
/*
 * The batch verb `purge`.
 */
#include "upkeep/purge.h"
#include "base/fault.h"
#include "txn/env.h"
#include "txn/lockset.h"

static enum rc
purge_apply(struct tx *tx, struct unit *unit, struct err *err)
{
	struct purge_unit *u = CONTAINER_OF(unit, struct purge_unit, unit);
	enum rc rc;

	rc = purge_rows_delete(tx->db, &u->list, &u->deleted, err);
	if (rc == RC_OK && FAULT_FAILS("purge.deleted"))
		rc = err_set(err, RC_INTERNAL, "a fault");
	if (rc == RC_OK && u->list.mid != 0)
		rc = purge_rows_mark_set(tx->db, u->list.mid, err);
	return (rc);
}

/* Adds to ${set}, which is locked before the batch's first write, the names of
 * the servers that ${unit} purges (a list of PURGE_DESTINATIONS; for other
 * lists it adds nothing).  Reason: at the same time another node may make a row
 * for such a server, or for one of its users.  Every unit of work that makes
 * such a row locks the server's name first (delivery/peers.c,
 * delivery/receive.c, chat/send.c). */
static enum rc
purge_locks(struct unit *unit, struct lockset *set, struct err *err)
{
	const struct purge_list *l =
	    &CONTAINER_OF(unit, struct purge_unit, unit)->list;
	enum rc rc = RC_OK;
	size_t i;

	if (l->table != PURGE_DESTINATIONS)
		return (RC_OK);
	for (i = 0; i < l->n && rc == RC_OK; i++)
		rc = lockset_name(set, l->names[i], err);
	return (rc);
}

UNIT_KIND(purge, purge_locks, .queue = UNIT_UPKEEP, .order = ORDER_UPKEEP,
    .apply_one = purge_apply);

void
purge_unit_init(struct purge_unit *u)
{

	u->unit.kind = &purge_kind;
	u->unit.bytes = 4096;
	u->deleted = 0;
}
