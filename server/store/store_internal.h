/* SPDX-License-Identifier: MIT */
/*
 * How rows become structs, where more than one statement gives the same
 * columns.  Only store/ includes this.
 */
#ifndef STORE_STORE_INTERNAL_H
#define STORE_STORE_INTERNAL_H

#include "store/account.h"
#include "store/conversation.h"
#include "store/lane.h"

/* The columns of user_by_id. */
void store_read_user(const struct db_row *row, struct store_user *ret);

/* The columns of conversation_by_id. */
enum rc store_read_conversation(const struct db_row *row,
    struct store_conversation *ret, struct err *err) MUST_USE;

/* The columns of participants_of. */
void store_read_participant(
    const struct db_row *row, struct store_participant *ret);

/* The columns of lane_get. */
void store_read_lane(const struct db_row *row, struct store_lane *ret);

#endif
