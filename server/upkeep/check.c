/* SPDX-License-Identifier: MIT */
/*
 * The table of invariants: each statement returns the places where one is
 * violated.
 */
#include "upkeep/check.h"
#include "schema/sql.h"

static const struct {
	int stmt;
	const char *what;
} kinds[] = {
    {SQL_CHECK_FILE, "the file is damaged"},
    {SQL_CHECK_REFERENCE, "a row refers to nothing"},
    {SQL_CHECK_NO_OUTBOX, "accepted, but there is no outbox row"},
    {SQL_CHECK_NO_OWN_COPY, "accepted, but not in its sender's inbox"},
    {SQL_CHECK_NOT_DELIVERED, "called sent, but not in the inbox"},
    {SQL_CHECK_STILL_OWED, "in the inbox, but still owed"},
    {SQL_CHECK_TWICE, "twice in an inbox"},
    {SQL_CHECK_INBOX_HOLE, "an inbox has a hole"},
    {SQL_CHECK_CONVERSATION_HOLE, "a conversation has a hole"},
    {SQL_CHECK_ORDER, "out of order"},
    {SQL_CHECK_LANE, "a row that its lane has passed over, or has not reached"},
    {SQL_CHECK_FORGOTTEN, "a pending row that its lane does not reach"},
    {SQL_CHECK_LANE_PRIORITY, "its lane is not as urgent as what waits in it"},
    {SQL_CHECK_DEAD,
	"failed without a bounce, or a dead letter of a live message"},
    {SQL_CHECK_TOTALS, "the totals are wrong"},
    {SQL_CHECK_STATE, "times that contradict the state"},
    {SQL_CHECK_MARK, "a watermark beyond the last event"},
    {SQL_CHECK_EVENT, "an event differs from its message"},
    {SQL_CHECK_EVENT_ROW, "an event differs from its outbox row"},
    {SQL_CHECK_EVENT_MARK, "an event differs from the marks"},
    {SQL_CHECK_RECEIPT, "a receipt without a reason, or given twice"},
    {SQL_CHECK_ROW, "an outbox row differs from its message"},
    {SQL_CHECK_ROW_LANE, "an outbox row differs from its lane"},
    {SQL_CHECK_ROW_EVENT, "an outbox row differs from its event"},
    {SQL_CHECK_ROW_MARK, "an outbox row differs from the marks"},
    {SQL_CHECK_ROW_STORY, "an outbox row differs from its history"},
    {SQL_CHECK_MEMBER, "a member's marks differ from the inboxes"},
};

struct finding {
	const char *what;
	check_found_fn found;
	void *arg;
};

static enum rc
on_row_place(void *arg, const struct db_row *row, struct err *err)
{
	const struct finding *f = arg;
	char place[256];

	(void)err;
	db_row_copy_text(row, COL_PLACE_PLACE, place, sizeof(place));
	f->found(f->arg, f->what, place);
	return (RC_OK);
}

enum rc
check_run(struct db *db, int64_t limit, check_found_fn found, void *arg,
    int *ret_kinds, struct err *err)
{
	const struct db_val most = db_v_i64(limit);
	struct finding f = {.found = found, .arg = arg};
	enum rc rc = RC_OK;
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		f.what = kinds[i].what;
		rc = db_run(
		    db, kinds[i].stmt, &most, 1, on_row_place, &f, NULL, err);
		if (rc != RC_OK)
			return (rc);
	}
	*ret_kinds = (int)i;
	return (rc);
}

struct walk {
	check_link_fn each;
	void *arg;
};

enum rc
check_link_call(
    const struct db_row *row, check_link_fn each, void *arg, struct err *err)
{
	struct check_link link;
	char sender[512];

	db_row_copy_text(row, COL_LINK_SENDER, sender, sizeof(sender));
	link.conversation_id = db_row_i64(row, COL_LINK_CONVERSATION_ID);
	link.conversation_seq = db_row_i64(row, COL_LINK_CONVERSATION_SEQ);
	link.id = db_row_uuid(row, COL_LINK_MESSAGE_ID);
	link.sender = sender;
	link.salt = db_row_blob(row, COL_LINK_SALT, &link.salt_len);
	link.body = db_row_text(row, COL_LINK_BODY, &link.body_len);
	link.digest = db_row_blob(row, COL_LINK_DIGEST, &link.digest_len);
	return (each(arg, &link, err));
}

static enum rc
on_row_link(void *arg, const struct db_row *row, struct err *err)
{
	const struct walk *w = arg;

	return (check_link_call(row, w->each, w->arg, err));
}

enum rc
check_links(struct db *db, check_link_fn each, void *arg, struct err *err)
{
	struct walk w = {.each = each, .arg = arg};

	return (
	    db_run(db, SQL_CHECK_CHAIN, NULL, 0, on_row_link, &w, NULL, err));
}

static enum rc
on_row_census(void *arg, const struct db_row *row, struct err *err)
{
	struct check_census *c = arg;

	(void)err;
	c->users = db_row_i64(row, COL_CHECK_CENSUS_USERS);
	c->messages = db_row_i64(row, COL_CHECK_CENSUS_MESSAGES);
	c->outbox_rows = db_row_i64(row, COL_CHECK_CENSUS_OUTBOX_ROWS);
	c->events = db_row_i64(row, COL_CHECK_CENSUS_EVENTS);
	return (RC_OK);
}

enum rc
check_census(struct db *db, struct check_census *ret, struct err *err)
{

	return (db_run(
	    db, SQL_CHECK_CENSUS, NULL, 0, on_row_census, ret, NULL, err));
}
