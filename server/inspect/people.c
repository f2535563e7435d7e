/* SPDX-License-Identifier: MIT */
/*
 * Users, the senders of waiting messages, and the audit log.
 */
#include <string.h>

#include "inspect/inspect_internal.h"
#include "model/event.h"
#include "schema/sql.h"

struct user_each {
	enum rc (*each)(void *, const struct inspect_user *, struct err *);
	void *arg;
};

static enum rc
take_user(void *arg, const struct db_row *row, struct err *err)
{
	struct user_each *e = arg;
	struct inspect_user u;

	u.user_id = db_row_i64(row, COL_INSPECTED_USER_USER_ID);
	u.name = inspect_text(row, COL_INSPECTED_USER_NAME);
	u.display_name = inspect_text(row, COL_INSPECTED_USER_DISPLAY_NAME);
	u.admin = db_row_i64(row, COL_INSPECTED_USER_ADMIN) != 0;
	u.disabled_at = db_row_i64(row, COL_INSPECTED_USER_DISABLED_AT);
	u.created_at = db_row_i64(row, COL_INSPECTED_USER_CREATED_AT);
	u.local = db_row_null(row, COL_INSPECTED_USER_DESTINATION_ID);
	u.devices = db_row_i64(row, COL_INSPECTED_USER_DEVICES);
	return (e->each(e->arg, &u, err));
}

enum rc
inspect_users(struct db *db, const char *after, int64_t limit,
    enum rc (*each)(void *arg, const struct inspect_user *u, struct err *err),
    void *arg, struct err *err)
{
	struct user_each e = {each, arg};
	const struct sql_inspect_users v = {
	    .after = db_v_str(after), .limit = db_v_i64(limit)};

	return (db_run(
	    db, SQL_INSPECT_USERS, DB_PARAMS(v), take_user, &e, NULL, err));
}

enum rc
inspect_user(struct db *db, int64_t user_id,
    enum rc (*each)(void *arg, const struct inspect_user *u, struct err *err),
    void *arg, struct err *err)
{
	struct user_each e = {each, arg};
	const struct sql_inspect_user v = {.user_id = db_v_i64(user_id)};

	return (db_run(
	    db, SQL_INSPECT_USER, DB_PARAMS(v), take_user, &e, NULL, err));
}

struct sender_each {
	void (*each)(void *arg, int64_t sender_id);
	void *arg;
	int64_t looked;
};

static enum rc
take_sender(void *arg, const struct db_row *row, struct err *err)
{
	struct sender_each *e = arg;

	(void)err;
	e->looked++;
	if (db_row_i64(row, COL_BACKLOG_KIND) == EVENT_MESSAGE)
		e->each(e->arg, db_row_i64(row, COL_BACKLOG_SENDER_ID));
	return (RC_OK);
}

enum rc
inspect_senders(struct db *db, void (*each)(void *arg, int64_t sender_id),
    void *arg, bool *ret_all, struct err *err)
{
	static const int stmts[] = {
	    SQL_INSPECT_BACKLOG_LOCAL, SQL_INSPECT_BACKLOG_REMOTE};
	struct sender_each e = {each, arg, 0};
	const struct sql_inspect_backlog_local v = {
	    .limit = db_v_i64(INSPECT_WALK)};
	enum rc rc = RC_OK;
	int i;

	*ret_all = true;
	for (i = 0; i < 2 && rc == RC_OK; i++) {
		e.looked = 0;
		rc = db_run(
		    db, stmts[i], DB_PARAMS(v), take_sender, &e, NULL, err);
		*ret_all = *ret_all && e.looked < INSPECT_WALK;
	}
	return (rc);
}

/* ---- audit log ---- */

struct audit_each {
	enum rc (*each)(void *, const struct inspect_audit *, struct err *);
	void *arg;
};

static enum rc
take_audit(void *arg, const struct db_row *row, struct err *err)
{
	struct audit_each *e = arg;
	struct inspect_audit a;

	a.audit_id = db_row_i64(row, COL_INSPECT_AUDIT_AUDIT_ID);
	a.at = db_row_i64(row, COL_INSPECT_AUDIT_AT);
	a.actor = inspect_text(row, COL_INSPECT_AUDIT_ACTOR);
	a.action = inspect_text(row, COL_INSPECT_AUDIT_ACTION);
	a.object = inspect_text(row, COL_INSPECT_AUDIT_OBJECT);
	a.detail = inspect_text(row, COL_INSPECT_AUDIT_DETAIL);
	return (e->each(e->arg, &a, err));
}

enum rc
inspect_audit(struct db *db, int64_t before, int64_t limit,
    enum rc (*each)(void *arg, const struct inspect_audit *a, struct err *err),
    void *arg, struct err *err)
{
	struct audit_each e = {each, arg};
	const struct sql_inspect_audit v = {
	    .before = db_v_i64(before), .limit = db_v_i64(limit)};

	return (db_run(
	    db, SQL_INSPECT_AUDIT, DB_PARAMS(v), take_audit, &e, NULL, err));
}
