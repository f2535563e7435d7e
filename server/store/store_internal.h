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

/* Of a row `user` (schema/common/user.sql). */
void store_read_user(const struct db_row *row, struct store_user *ret);

/* Of a row `conversation`. */
enum rc store_read_conversation(const struct db_row *row,
    struct store_conversation *ret, struct err *err) MUST_USE;

/* Of a row `participant`. */
void store_read_participant(
    const struct db_row *row, struct store_participant *ret);

/* Of a row `lane`. */
void store_read_lane(const struct db_row *row, struct store_lane *ret);

#endif
