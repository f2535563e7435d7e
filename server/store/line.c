/* SPDX-License-Identifier: MIT */
/*
 * See line.h.
 *
 * Why a beat that is there proves that nothing told before it is missing: a
 * standby has a beginning of its leader's log, without holes.  What was told
 * after the last beat is what "sync" is for.
 */
#include <stdio.h>
#include <string.h>

#include "store/account.h"
#include "store/line.h"

#define ROW "line"
#define EPOCH "epoch"
#define TEXT_SIZE (DB_LINE_SIZE + 16)
/* Standbys that are set are waited for by all that commits a moment later. */
#define WAITED 2

/* What the row says of what is told on its line: perhaps on the leader alone;
 * on a standby, too; on the leader alone, because a node has it so. */
enum mode { MODE_ASYNC, MODE_SYNC, MODE_LOCAL, MODES };

static const char *const modes[MODES] = {
    [MODE_ASYNC] = "async", [MODE_SYNC] = "sync", [MODE_LOCAL] = "local"};

struct recorded {
	char name[DB_LINE_SIZE];
	enum mode mode;
};

/* ---- the rows ---- */

/* What cannot be read is of no line that there is. */
static void
parse(const char *text, struct recorded *ret)
{
	const char *space = strrchr(text, ' ');
	int mode;

	*ret = (struct recorded){"", MODE_LOCAL};
	if (space == NULL)
		return;
	(void)snprintf(
	    ret->name, sizeof(ret->name), "%.*s", (int)(space - text), text);
	for (mode = 0; mode < MODES; mode++)
		if (strcmp(space + 1, modes[mode]) == 0)
			ret->mode = (enum mode)mode;
}

static void
print(const char *name, enum mode mode, char ret[TEXT_SIZE])
{

	(void)snprintf(ret, TEXT_SIZE, "%s %s", name, modes[mode]);
}

static enum rc
record(struct db *db, const char *name, enum mode mode, struct err *err)
{
	char text[TEXT_SIZE];

	print(name, mode, text);
	return (store_meta_set(db, ROW, text, err));
}

/* Gives ${node}'s spare to the database, which is on ${line} now. */
static enum rc
make_epoch(struct db *db, const struct store_line_node *node,
    const struct db_line *line, struct err *err)
{
	enum rc rc;

	rc = store_meta_set(db, EPOCH, node->spare, err);
	return (rc == RC_OK ? record(db, line->name, MODE_ASYNC, err) : rc);
}

static bool
same(const char *a, const char *b)
{

	return (strcmp(a, b) == 0);
}

/* Whether ${a} and ${b} differ by their timeline at most. */
static bool
same_database(const char *a, const char *b)
{
	const char *end = strrchr(a, '/');

	return (end != NULL && strncmp(a, b, (size_t)(end - a) + 1) == 0 &&
		strchr(b + (end - a) + 1, '/') == NULL);
}

/* ---- starting ---- */

/* Reads both rows, made if there are none; the first stays locked. */
static enum rc
read_rows(struct db *db, struct store_line_node *node, struct recorded *ret,
    struct err *err)
{
	char text[TEXT_SIZE];
	enum rc rc;

	print(node->line.name, MODE_ASYNC, text);
	rc = store_meta_make(db, ROW, text, err);
	if (rc == RC_OK)
		rc = store_meta_lock(db, ROW, text, sizeof(text), err);
	if (rc == RC_OK)
		rc = store_meta_make(db, EPOCH, node->spare, err);
	if (rc == RC_OK)
		rc = store_meta_get(
		    db, EPOCH, node->epoch, sizeof(node->epoch), err);
	parse(text, ret);
	return (rc);
}

enum rc
store_line_begin(struct db *db, struct store_line_node *node,
    enum store_line_doubt asked, enum store_line_verdict *ret, struct err *err)
{
	struct recorded recorded;
	enum rc rc;

	rc = db_line_get(db, &node->line, err);
	if (rc == RC_OK)
		rc = read_rows(db, node, &recorded, err);
	if (rc != RC_OK)
		return (rc);
	node->beat_at = node->waited = 0;
	node->sure = false;
	node->why = "an operator says so";
	if (same(recorded.name, node->line.name) &&
	    asked != STORE_LINE_ROLLBACK) {
		*ret = STORE_LINE_SAME;
		return (RC_OK);
	}
	if (asked == STORE_LINE_ASK && recorded.mode == MODE_SYNC &&
	    same_database(recorded.name, node->line.name)) {
		*ret = STORE_LINE_WAIT;
		return (RC_OK);
	}
	*ret = STORE_LINE_OTHER;
	if (asked != STORE_LINE_ROLLBACK)
		node->why = recorded.mode == MODE_SYNC
				? "no node that was there has come back"
				: "commits did not wait for a standby";
	if (!same_database(recorded.name, node->line.name))
		node->why = "it is another database";
	(void)snprintf(node->epoch, sizeof(node->epoch), "%s", node->spare);
	return (make_epoch(db, node, &node->line, err));
}

/* ---- beating ---- */

/* What is to be recorded by a node on ${here}, which is ${sure} that commits
 * wait for a standby; false: it stands there. */
static bool
to_record(const struct recorded *recorded, const struct db_line *here,
    bool sure, enum mode *ret)
{
	const bool here_now = same(recorded->name, here->name);

	if (!here_now)
		*ret = MODE_ASYNC;
	else if (here->waits)
		*ret = sure && recorded->mode != MODE_LOCAL ? MODE_SYNC
							    : recorded->mode;
	else if (here->standbys)
		*ret = MODE_LOCAL;
	else
		*ret =
		    recorded->mode == MODE_SYNC ? MODE_ASYNC : recorded->mode;
	return (!here_now || *ret != recorded->mode);
}

/* On the line that ${node} knows.  What is bad news it knows at once, what is
 * good (in ${next}) when this is committed. */
static enum rc
stay(struct db *db, struct store_line_node *node, const struct db_line *here,
    struct store_line_node *next, struct err *err)
{
	struct recorded recorded;
	char text[TEXT_SIZE];
	enum mode mode;
	enum rc rc;

	next->line = *here;
	if (!here->waits) {
		node->sure = next->sure = false;
		node->waited = next->waited = 0;
	}
	if ((rc = store_meta_get(db, ROW, text, sizeof(text), err)) != RC_OK)
		return (rc);
	parse(text, &recorded);
	if (here->waits && recorded.mode != MODE_LOCAL &&
	    same(recorded.name, here->name)) {
		next->waited++;
		next->sure =
		    recorded.mode == MODE_SYNC || next->waited >= WAITED;
	}
	if (!to_record(&recorded, here, next->sure, &mode))
		return (RC_OK);
	/* Another may have recorded something since. */
	rc = store_meta_lock(db, ROW, text, sizeof(text), err);
	if (rc != RC_OK)
		return (rc);
	parse(text, &recorded);
	if (recorded.mode == MODE_LOCAL || !same(recorded.name, here->name))
		next->sure = node->sure;
	return (to_record(&recorded, here, next->sure, &mode)
		    ? record(db, here->name, mode, err)
		    : RC_OK);
}

/* Why ${node} cannot say that the database on line ${here} lacks nothing; NULL:
 * it can. */
static enum rc
doubt(struct db *db, const struct store_line_node *node,
    const struct recorded *recorded, const struct db_line *here,
    const char **ret, struct err *err)
{
	int64_t beat_at = 0;
	enum rc rc;

	rc = store_node_get(db, node->node_id, &beat_at, err);
	if (rc != RC_OK && rc != RC_NOT_FOUND)
		return (rc);
	if (!same_database(here->name, node->line.name))
		*ret = "it is another database";
	else if (!node->sure)
		*ret = "commits did not wait for a standby";
	else if (beat_at < node->beat_at || node->beat_at == 0)
		*ret = "what this node has written last is missing";
	else if (!same(recorded->name, here->name) &&
		 (!same(recorded->name, node->line.name) ||
		     recorded->mode != MODE_SYNC))
		*ret = "others have served since, or did not wait";
	else
		*ret = NULL;
	return (RC_OK);
}

/* On another line than ${node} knows. */
static enum rc
move(struct db *db, const struct store_line_node *node,
    const struct db_line *here, struct store_line_node *next,
    enum store_line_verdict *ret, struct err *err)
{
	struct recorded recorded;
	char text[TEXT_SIZE], epoch[STORE_EPOCH_SIZE];
	enum rc rc;

	rc = store_meta_lock(db, ROW, text, sizeof(text), err);
	/* Who held it may have made another. */
	if (rc == RC_OK)
		rc = store_meta_get(db, EPOCH, epoch, sizeof(epoch), err);
	if (rc != RC_OK)
		return (rc);
	*ret = STORE_LINE_OTHER;
	next->line = *here;
	next->why = "another node says so";
	if (!same(epoch, node->epoch))
		return (RC_OK);
	parse(text, &recorded);
	rc = doubt(db, node, &recorded, here, &next->why, err);
	if (rc != RC_OK)
		return (rc);
	if (next->why != NULL)
		return (make_epoch(db, next, here, err));
	*ret = STORE_LINE_KEPT;
	next->sure = false;
	next->waited = 0;
	return (same(recorded.name, here->name)
		    ? RC_OK
		    : record(db, here->name, MODE_ASYNC, err));
}

/* In a transaction. */
static enum rc
look(struct db *db, struct store_line_node *node, bool again,
    struct store_line_node *next, enum store_line_verdict *ret, struct err *err)
{
	char epoch[STORE_EPOCH_SIZE];
	struct db_line here;
	enum rc rc;

	rc = db_line_get(db, &here, err);
	if (rc == RC_OK)
		rc = store_meta_get(db, EPOCH, epoch, sizeof(epoch), err);
	if (rc != RC_OK)
		return (rc);
	*ret = STORE_LINE_SAME;
	if (!same(epoch, node->epoch)) {
		next->why = "another node says so";
		*ret = STORE_LINE_OTHER;
		return (RC_OK);
	}
	if (!same(here.name, node->line.name))
		return (move(db, node, &here, next, ret, err));
	/* A leader that was away may show what no standby has. */
	if (again)
		node->sure = next->sure = false;
	return (stay(db, node, &here, next, err));
}

enum rc
store_line_beat(struct db *db, struct store_line_node *node, int64_t now_ms,
    bool again, enum store_line_verdict *ret, struct err *err)
{
	struct store_line_node next = *node;
	enum rc rc;

	next.beat_at = now_ms > node->beat_at ? now_ms : node->beat_at + 1;
	if ((rc = db_begin(db, err)) != RC_OK)
		return (rc);
	rc = look(db, node, again, &next, ret, err);
	if (rc == RC_OK && *ret != STORE_LINE_OTHER)
		rc = store_node_beat(
		    db, node->node_id, node->name, next.beat_at, err);
	if (rc == RC_OK)
		rc = db_commit(db, err);
	if (rc != RC_OK)
		db_rollback(db);
	else
		*node = next;
	return (rc);
}
