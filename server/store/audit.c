/* SPDX-License-Identifier: MIT */
/*
 * See audit.h.
 */
#include "store/audit.h"
#include "schema/sql.h"

enum rc
store_audit_insert(
    struct db *db, const struct store_audit *a, int64_t now_ms, struct err *err)
{
	const struct sql_audit_insert v = {.now = db_v_i64(now_ms),
	    .actor = db_v_text_most(a->actor, 286),
	    .action = db_v_text_most(a->action, 64),
	    .object = db_v_text_most(a->object, 286),
	    .detail = db_v_text_most(a->detail, 1024)};

	return (
	    db_run(db, SQL_AUDIT_INSERT, DB_PARAMS(v), NULL, NULL, NULL, err));
}
