/* SPDX-License-Identifier: MIT */
/*
 * Defects on purpose in the receiving server that cannot be made by an edit of
 * a statement (broken.c).
 */
#ifndef SIM_FED_BROKEN_H
#define SIM_FED_BROKEN_H

#include "sim/fed_internal.h"

/* Applies the defect of this run to the unit of ${h}, which is about to be
 * submitted. */
void fed_break(struct hearing *h);

/* dedup-here: notes the events of ${h}, which is committed, in a separate
 * transaction. */
void fed_broken_note(struct hearing *h);

#endif
