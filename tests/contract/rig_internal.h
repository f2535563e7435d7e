/* SPDX-License-Identifier: MIT */
/*
 * What the parts of the rig share.  Only rig*.c includes this.
 */
#ifndef CONTRACT_RIG_INTERNAL_H
#define CONTRACT_RIG_INTERNAL_H

#include "contract/rig.h"

/* Sets r->pg and the url to a fresh schema of PostgreSQL, if that is asked for;
 * drops it. */
void rig_schema_make(struct rig *r);
void rig_schema_drop(struct rig *r);

/* The statements of the backend. */
const struct db_schema *rig_schema(const struct rig *r);

/* Starts and holds the thread that syncs; ends it when all is answered
 * (nothing, if it is not held). */
void rig_hold(struct rig *r);
void rig_let_go(struct rig *r);

#endif
