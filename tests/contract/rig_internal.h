/* SPDX-License-Identifier: MIT */
/*
 * Functions that the parts of the rig share.  Only rig*.c includes this.
 */
#ifndef CONTRACT_RIG_INTERNAL_H
#define CONTRACT_RIG_INTERNAL_H

#include "contract/rig.h"

/* If the rig is on PostgreSQL, make a new schema and set r->pg and the url;
 * drop the schema. */
void rig_schema_make(struct rig *r);
void rig_schema_drop(struct rig *r);

/* Returns the statements and migrations of the backend. */
const struct db_schema *rig_schema(const struct rig *r);

/* Start and stop the thread that syncs. rig_let_go() waits until all units are
 * answered.  Without "held" both do nothing. */
void rig_hold(struct rig *r);
void rig_let_go(struct rig *r);

#endif
