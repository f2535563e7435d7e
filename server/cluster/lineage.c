/* SPDX-License-Identifier: MIT */
/*
 * See lineage.h.
 *
 * Why a heartbeat that is in the database proves that no earlier commit is
 * missing: a standby has a prefix of its leader's log, without holes.  The mode
 * "sync" covers the commits after the last heartbeat.
 */
#include <stdio.h>
#include <string.h>

#include "cluster/lineage.h"
#include "store/account.h"

#define ROW "line"
#define EPOCH "epoch"
#define TEXT_SIZE (DB_LINEAGE_SIZE + 16)
/* Standbys that are set are waited for by all that commits a moment later. */
#define WAITED 2

/* Where commits are that nodes published on the row's lineage: perhaps on the
 * leader alone; on a standby, too; on the leader alone, because a node is
 * configured so. */
enum mode { MODE_ASYNC, MODE_SYNC, MODE_LOCAL, MODES };

static const char *const modes[MODES] = {
    [MODE_ASYNC] = "async", [MODE_SYNC] = "sync", [MODE_LOCAL] = "local"};

struct recorded {
	char name[DB_LINEAGE_SIZE];
	enum mode mode;
};

/* ---- the rows ---- */

/* A text that cannot be parsed belongs to no lineage. */
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

/* Makes ${node}'s fresh epoch that of the database, on ${lineage}. */
static enum rc
make_epoch(struct db *db, const struct lineage_node *node,
    const struct db_lineage *lineage, struct err *err)
{
	enum rc rc;

	rc = store_meta_set(db, EPOCH, node->fresh_epoch, err);
	return (rc == RC_OK ? record(db, lineage->name, MODE_ASYNC, err) : rc);
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
read_rows(struct db *db, struct lineage_node *node, struct recorded *ret,
    struct err *err)
{
	char text[TEXT_SIZE];
	enum rc rc;

	print(node->lineage.name, MODE_ASYNC, text);
	rc = store_meta_make(db, ROW, text, err);
	if (rc == RC_OK)
		rc = store_meta_lock(db, ROW, text, sizeof(text), err);
	if (rc == RC_OK)
		rc = store_meta_make(db, EPOCH, node->fresh_epoch, err);
	if (rc == RC_OK)
		rc = store_meta_get(
		    db, EPOCH, node->epoch, sizeof(node->epoch), err);
	parse(text, ret);
	return (rc);
}

enum rc
lineage_begin(struct db *db, struct lineage_node *node,
    enum lineage_start asked, enum lineage_verdict *ret, struct err *err)
{
	struct recorded recorded;
	enum rc rc;

	rc = db_lineage_get(db, &node->lineage, err);
	if (rc == RC_OK)
		rc = read_rows(db, node, &recorded, err);
	if (rc != RC_OK)
		return (rc);
	node->beat_at = node->waited_beats = 0;
	node->replicated = false;
	node->reason = "an operator says so";
	if (same(recorded.name, node->lineage.name) &&
	    asked != LINEAGE_START_ROLLBACK) {
		*ret = LINEAGE_SAME;
		return (RC_OK);
	}
	if (asked == LINEAGE_START_ASK && recorded.mode == MODE_SYNC &&
	    same_database(recorded.name, node->lineage.name)) {
		*ret = LINEAGE_WAIT;
		return (RC_OK);
	}
	*ret = LINEAGE_OTHER;
	if (asked != LINEAGE_START_ROLLBACK)
		node->reason = recorded.mode == MODE_SYNC
				   ? "no node that was there has come back"
				   : "commits did not wait for a standby";
	if (!same_database(recorded.name, node->lineage.name))
		node->reason = "it is another database";
	(void)snprintf(
	    node->epoch, sizeof(node->epoch), "%s", node->fresh_epoch);
	return (make_epoch(db, node, &node->lineage, err));
}

/* ---- heartbeats ---- */

/* The mode that a node on ${here} has to record, if it is ${sure} that commits
 * wait for a standby.  False: the row has it already. */
static bool
to_record(const struct recorded *recorded, const struct db_lineage *here,
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

/* The lineage is the one that ${node} knows.  A loss of confidence takes effect
 * at once, a gain (in ${next}) when this transaction is committed. */
static enum rc
stay(struct db *db, struct lineage_node *node, const struct db_lineage *here,
    struct lineage_node *next, struct err *err)
{
	struct recorded recorded;
	char text[TEXT_SIZE];
	enum mode mode;
	enum rc rc;

	next->lineage = *here;
	if (!here->waits) {
		node->replicated = next->replicated = false;
		node->waited_beats = next->waited_beats = 0;
	}
	if ((rc = store_meta_get(db, ROW, text, sizeof(text), err)) != RC_OK)
		return (rc);
	parse(text, &recorded);
	if (here->waits && recorded.mode != MODE_LOCAL &&
	    same(recorded.name, here->name)) {
		next->waited_beats++;
		next->replicated =
		    recorded.mode == MODE_SYNC || next->waited_beats >= WAITED;
	}
	if (!to_record(&recorded, here, next->replicated, &mode))
		return (RC_OK);
	/* Another may have recorded something since. */
	rc = store_meta_lock(db, ROW, text, sizeof(text), err);
	if (rc != RC_OK)
		return (rc);
	parse(text, &recorded);
	if (recorded.mode == MODE_LOCAL || !same(recorded.name, here->name))
		next->replicated = node->replicated;
	return (to_record(&recorded, here, next->replicated, &mode)
		    ? record(db, here->name, mode, err)
		    : RC_OK);
}

/* The reason why ${node} cannot confirm that the database on lineage ${here} is
 * complete; NULL: it can. */
static enum rc
doubt(struct db *db, const struct lineage_node *node,
    const struct recorded *recorded, const struct db_lineage *here,
    const char **ret, struct err *err)
{
	int64_t beat_at = 0;
	enum rc rc;

	rc = node_get(db, node->node_id, &beat_at, err);
	if (rc != RC_OK && rc != RC_NOT_FOUND)
		return (rc);
	if (!same_database(here->name, node->lineage.name))
		*ret = "it is another database";
	else if (!node->replicated)
		*ret = "commits did not wait for a standby";
	else if (beat_at < node->beat_at || node->beat_at == 0)
		*ret = "what this node has written last is missing";
	else if (!same(recorded->name, here->name) &&
		 (!same(recorded->name, node->lineage.name) ||
		     recorded->mode != MODE_SYNC))
		*ret = "others have served since, or did not wait";
	else
		*ret = NULL;
	return (RC_OK);
}

/* The lineage is not the one that ${node} knows. */
static enum rc
move(struct db *db, const struct lineage_node *node,
    const struct db_lineage *here, struct lineage_node *next,
    enum lineage_verdict *ret, struct err *err)
{
	struct recorded recorded;
	char text[TEXT_SIZE], epoch[LINEAGE_EPOCH_SIZE];
	enum rc rc;

	rc = store_meta_lock(db, ROW, text, sizeof(text), err);
	/* Who held it may have made another. */
	if (rc == RC_OK)
		rc = store_meta_get(db, EPOCH, epoch, sizeof(epoch), err);
	if (rc != RC_OK)
		return (rc);
	*ret = LINEAGE_OTHER;
	next->lineage = *here;
	next->reason = "another node says so";
	if (!same(epoch, node->epoch))
		return (RC_OK);
	parse(text, &recorded);
	rc = doubt(db, node, &recorded, here, &next->reason, err);
	if (rc != RC_OK)
		return (rc);
	if (next->reason != NULL)
		return (make_epoch(db, next, here, err));
	*ret = LINEAGE_KEPT;
	next->replicated = false;
	next->waited_beats = 0;
	return (same(recorded.name, here->name)
		    ? RC_OK
		    : record(db, here->name, MODE_ASYNC, err));
}

/* In a transaction. */
static enum rc
look(struct db *db, struct lineage_node *node, bool reconnected,
    struct lineage_node *next, enum lineage_verdict *ret, struct err *err)
{
	char epoch[LINEAGE_EPOCH_SIZE];
	struct db_lineage here;
	enum rc rc;

	rc = db_lineage_get(db, &here, err);
	if (rc == RC_OK)
		rc = store_meta_get(db, EPOCH, epoch, sizeof(epoch), err);
	if (rc != RC_OK)
		return (rc);
	*ret = LINEAGE_SAME;
	if (!same(epoch, node->epoch)) {
		next->reason = "another node says so";
		*ret = LINEAGE_OTHER;
		return (RC_OK);
	}
	if (!same(here.name, node->lineage.name))
		return (move(db, node, &here, next, ret, err));
	/* A leader that was away may show what no standby has. */
	if (reconnected)
		node->replicated = next->replicated = false;
	return (stay(db, node, &here, next, err));
}

enum rc
lineage_heartbeat(struct db *db, struct lineage_node *node, int64_t now_ms,
    bool reconnected, enum lineage_verdict *ret, struct err *err)
{
	struct lineage_node next = *node;
	enum rc rc;

	next.beat_at = now_ms > node->beat_at ? now_ms : node->beat_at + 1;
	if ((rc = db_begin(db, err)) != RC_OK)
		return (rc);
	rc = look(db, node, reconnected, &next, ret, err);
	if (rc == RC_OK && *ret != LINEAGE_OTHER)
		rc = node_heartbeat(
		    db, node->node_id, node->name, next.beat_at, err);
	if (rc == RC_OK)
		rc = db_commit(db, err);
	if (rc != RC_OK)
		db_rollback(db);
	else
		*node = next;
	return (rc);
}
