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
	struct db_val v[5];

	v[0] = db_v_i64(now_ms);
	v[1] = db_v_text_most(a->actor, 286);
	v[2] = db_v_text_most(a->action, 64);
	v[3] = db_v_text_most(a->object, 286);
	v[4] = db_v_text_most(a->detail, 1024);
	return (db_run(db, SQL_AUDIT_INSERT, v, 5, NULL, NULL, NULL, err));
}
