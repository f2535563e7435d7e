/* SPDX-License-Identifier: MIT */
/*
 * The receiving server broken on purpose, where that is not the text of a
 * statement (broken.c).
 */
#ifndef SIM_FED_BROKEN_H
#define SIM_FED_BROKEN_H

#include "sim/fed_internal.h"

/* Changes the unit of ${h}, which is about to be submitted, to what is broken
 * in this run. */
void fed_break(struct hearing *h);

/* dedup-here: the events of ${h}, which is committed, are noted in a
 * transaction of their own. */
void fed_broken_note(struct hearing *h);

#endif
