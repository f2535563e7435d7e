/* SPDX-License-Identifier: MIT */
/*
 * Functions that turn a row into a struct, for rows that more than one
 * statement returns.  Only store/ includes this.
 */
#ifndef STORE_STORE_INTERNAL_H
#define STORE_STORE_INTERNAL_H

#include "store/account.h"
#include "store/conversation.h"
#include "store/lane.h"

/* From a row `user` (schema/common/user.sql). */
void store_read_user(const struct db_row *row, struct store_user *ret);

/* From a row `conversation`.  RC_CORRUPT: its digest is damaged. */
enum rc store_read_conversation(const struct db_row *row,
    struct store_conversation *ret, struct err *err) MUST_USE;

/* From a row `participant`. */
void store_read_participant(
    const struct db_row *row, struct store_participant *ret);

/* From a row `lane`. */
void store_read_lane(const struct db_row *row, struct store_lane *ret);

#endif
