/* SPDX-License-Identifier: MIT */
/*
 * See lineage.h.
 *
 * Why a node's last heartbeat, found in the database after a failover, proves
 * that no earlier commit is missing: a standby has a prefix of its leader's
 * log, without holes.  The heartbeat proves nothing about later commits.  In
 * the mode "sync", each later commit waited until a standby had it before a
 * node published it.
 */
#include <stdio.h>
#include <string.h>

#include "cluster/lineage.h"
#include "store/account.h"
#include "store/epoch.h"

#define ROW "line"
#define EPOCH "epoch"
#define TEXT_SIZE (DB_LINEAGE_SIZE + 16)
/* The number of heartbeats in a row, including the one whose transaction sets
 * the mode to "sync", whose commits must wait for a standby.  One is not
 * enough: a changed setting of synchronous standbys takes a moment to reach all
 * backends of PostgreSQL, so other commits may not have waited yet. */
#define WAITED 2

/* The mode says whether the commits that nodes published on the lineage of the
 * row "line" are on a standby, too.  SYNC: all are.  ASYNC: some may be only on
 * the leader.  LOCAL: the same as ASYNC, and final on this lineage, because the
 * commits of some node did not wait although synchronous standbys are
 * configured. */
enum mode { MODE_ASYNC, MODE_SYNC, MODE_LOCAL, MODES };

static const char *const modes[MODES] = {
    [MODE_ASYNC] = "async", [MODE_SYNC] = "sync", [MODE_LOCAL] = "local"};

struct recorded {
	char name[DB_LINEAGE_SIZE];
	enum mode mode;
};

/* ---- the rows ---- */

/* A text that cannot be parsed matches no lineage. */
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

/* Replaces the epoch of the database by the fresh one of ${node}, and writes
 * ${lineage} with the mode "async" to the row "line".  Runs in the caller's
 * transaction; ${node} itself does not change. */
static enum rc
make_epoch(struct db *db, const struct lineage_node *node,
    const struct db_lineage *lineage, int64_t now_ms, struct err *err)
{
	enum rc rc;

	rc = store_epoch_renew(db, node->fresh_epoch, now_ms, err);
	return (rc == RC_OK ? record(db, lineage->name, MODE_ASYNC, err) : rc);
}

static bool
same(const char *a, const char *b)
{

	return (strcmp(a, b) == 0);
}

/* Returns true if ${a} and ${b} name the same server and database, perhaps on
 * different timelines. */
static bool
same_database(const char *a, const char *b)
{
	const char *end = strrchr(a, '/');

	return (end != NULL && strncmp(a, b, (size_t)(end - a) + 1) == 0 &&
		strchr(b + (end - a) + 1, '/') == NULL);
}

/* ---- starting ---- */

/* Reads the row "line" into *ret and the row "epoch" into ${node}->epoch.
 * Creates a row that is missing: "line" from the lineage of ${node} with the
 * mode "async", "epoch" from its fresh epoch.  The row "line" stays locked
 * until the transaction ends. */
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
    enum lineage_start asked, int64_t now_ms, enum lineage_decision *ret,
    struct err *err)
{
	struct recorded recorded;
	enum rc rc;

	rc = db_lineage_get(db, &node->lineage, err);
	if (rc == RC_OK)
		rc = read_rows(db, node, &recorded, err);
	if (rc != RC_OK)
		return (rc);
	node->heartbeat_at = node->waited_heartbeats = 0;
	node->replicated = false;
	node->reason = "an operator says so";
	if (same(recorded.name, node->lineage.name) &&
	    asked != LINEAGE_START_ROLLBACK) {
		*ret = LINEAGE_SAME;
		return (RC_OK);
	}
	if (asked == LINEAGE_START_WAIT && recorded.mode == MODE_SYNC &&
	    same_database(recorded.name, node->lineage.name)) {
		*ret = LINEAGE_WAIT;
		return (RC_OK);
	}
	*ret = LINEAGE_EPOCH_CHANGED;
	if (asked != LINEAGE_START_ROLLBACK)
		node->reason = recorded.mode == MODE_SYNC
				   ? "no node that was there has come back"
				   : "commits did not wait for a standby";
	if (!same_database(recorded.name, node->lineage.name))
		node->reason = "it is another database";
	(void)snprintf(
	    node->epoch, sizeof(node->epoch), "%s", node->fresh_epoch);
	return (make_epoch(db, node, &node->lineage, now_ms, err));
}

/* ---- heartbeats ---- */

/* *ret: the mode that a node on the lineage ${current} must write to the row
 * "line", in which it has read ${recorded}.  ${sure}: all that this node has
 * published is on a standby; used only if commits wait for one.  Returns true
 * if the row must be written, false if it has this lineage and mode already. */
static bool
to_record(const struct recorded *recorded, const struct db_lineage *current,
    bool sure, enum mode *ret)
{
	const bool is_recorded = same(recorded->name, current->name);

	if (!is_recorded)
		*ret = MODE_ASYNC;
	else if (current->waits)
		*ret = sure && recorded->mode != MODE_LOCAL ? MODE_SYNC
							    : recorded->mode;
	else if (current->standbys)
		*ret = MODE_LOCAL;
	else
		*ret =
		    recorded->mode == MODE_SYNC ? MODE_ASYNC : recorded->mode;
	return (!is_recorded || *ret != recorded->mode);
}

/* Handles a heartbeat while the database is still on the lineage of ${node}:
 * computes the members replicated and waited_heartbeats, and changes the mode
 * in the row "line" if needed.  If commits do not wait for a standby, both
 * members are reset in ${node} at once, even if this transaction fails.  All
 * other changes of members are made only in ${next}, which replaces ${node}
 * after the commit. */
static enum rc
check_same_lineage(struct db *db, struct lineage_node *node,
    const struct db_lineage *current, struct lineage_node *next,
    struct err *err)
{
	struct recorded recorded;
	char text[TEXT_SIZE];
	enum mode mode;
	enum rc rc;

	next->lineage = *current;
	if (!current->waits) {
		node->replicated = next->replicated = false;
		node->waited_heartbeats = next->waited_heartbeats = 0;
	}
	if ((rc = store_meta_get(db, ROW, text, sizeof(text), err)) != RC_OK)
		return (rc);
	parse(text, &recorded);
	if (current->waits && recorded.mode != MODE_LOCAL &&
	    same(recorded.name, current->name)) {
		next->waited_heartbeats++;
		next->replicated = recorded.mode == MODE_SYNC ||
				   next->waited_heartbeats >= WAITED;
	}
	if (!to_record(&recorded, current, next->replicated, &mode))
		return (RC_OK);
	/* Decide again under the lock: another node may have changed the
	 * row. */
	rc = store_meta_lock(db, ROW, text, sizeof(text), err);
	if (rc != RC_OK)
		return (rc);
	parse(text, &recorded);
	if (recorded.mode == MODE_LOCAL || !same(recorded.name, current->name))
		next->replicated = node->replicated;
	return (to_record(&recorded, current, next->replicated, &mode)
		    ? record(db, current->name, mode, err)
		    : RC_OK);
}

/* Decides whether ${node} confirms that the database, now on the lineage
 * ${current}, lacks no commit that clients may have seen.  *ret_reason, set
 * only with RC_OK: NULL if it confirms, otherwise the reason why not (a
 * constant text). */
static enum rc
confirm(struct db *db, const struct lineage_node *node,
    const struct recorded *recorded, const struct db_lineage *current,
    const char **ret_reason, struct err *err)
{
	int64_t heartbeat_at = 0;
	enum rc rc;

	rc = node_get(db, node->node_id, &heartbeat_at, err);
	if (rc != RC_OK && rc != RC_NOT_FOUND)
		return (rc);
	if (!same_database(current->name, node->lineage.name))
		*ret_reason = "it is another database";
	else if (!node->replicated)
		*ret_reason = "commits did not wait for a standby";
	else if (heartbeat_at < node->heartbeat_at || node->heartbeat_at == 0)
		*ret_reason = "what this node has written last is missing";
	else if (!same(recorded->name, current->name) &&
		 (!same(recorded->name, node->lineage.name) ||
		     recorded->mode != MODE_SYNC))
		*ret_reason = "others have served since, or did not wait";
	else
		*ret_reason = NULL;
	return (RC_OK);
}

/* Handles a heartbeat on another lineage than that of ${node}.  If another node
 * has replaced the epoch already, changes nothing in the database and sets *ret
 * to LINEAGE_EPOCH_CHANGED.  Otherwise, if ${node} confirms that no commit is
 * missing (confirm()), the epoch stays and the row "line" gets the new lineage
 * (LINEAGE_EPOCH_KEPT); if not, ${node} replaces the epoch by its fresh one
 * (LINEAGE_EPOCH_CHANGED). */
static enum rc
check_other_lineage(struct db *db, const struct lineage_node *node,
    const struct db_lineage *current, struct lineage_node *next,
    enum lineage_decision *ret, struct err *err)
{
	struct recorded recorded;
	char text[TEXT_SIZE], epoch[LINEAGE_EPOCH_SIZE];
	enum rc rc;

	rc = store_meta_lock(db, ROW, text, sizeof(text), err);
	/* The node that held the lock may have made another epoch. */
	if (rc == RC_OK)
		rc = store_meta_get(db, EPOCH, epoch, sizeof(epoch), err);
	if (rc != RC_OK)
		return (rc);
	*ret = LINEAGE_EPOCH_CHANGED;
	next->lineage = *current;
	next->reason = "another node says so";
	if (!same(epoch, node->epoch))
		return (RC_OK);
	parse(text, &recorded);
	rc = confirm(db, node, &recorded, current, &next->reason, err);
	if (rc != RC_OK)
		return (rc);
	if (next->reason != NULL)
		return (make_epoch(db, next, current, next->heartbeat_at, err));
	*ret = LINEAGE_EPOCH_KEPT;
	next->replicated = false;
	next->waited_heartbeats = 0;
	return (same(recorded.name, current->name)
		    ? RC_OK
		    : record(db, current->name, MODE_ASYNC, err));
}

/* Runs inside a transaction. */
static enum rc
check(struct db *db, struct lineage_node *node, bool reconnected,
    struct lineage_node *next, enum lineage_decision *ret, struct err *err)
{
	char epoch[LINEAGE_EPOCH_SIZE];
	struct db_lineage current;
	enum rc rc;

	rc = db_lineage_get(db, &current, err);
	if (rc == RC_OK)
		rc = store_meta_get(db, EPOCH, epoch, sizeof(epoch), err);
	if (rc != RC_OK)
		return (rc);
	*ret = LINEAGE_SAME;
	if (!same(epoch, node->epoch)) {
		next->reason = "another node says so";
		*ret = LINEAGE_EPOCH_CHANGED;
		return (RC_OK);
	}
	if (!same(current.name, node->lineage.name))
		return (
		    check_other_lineage(db, node, &current, next, ret, err));
	/* A leader that could not be reached for some time may show commits
	 * that no standby has.  So ${node} counts as replicated again only
	 * after the commit of this heartbeat or of a later one, which waits for
	 * a standby. */
	if (reconnected)
		node->replicated = next->replicated = false;
	return (check_same_lineage(db, node, &current, next, err));
}

enum rc
lineage_heartbeat(struct db *db, struct lineage_node *node, int64_t now_ms,
    bool reconnected, enum lineage_decision *ret, struct err *err)
{
	struct lineage_node next = *node;
	enum rc rc;

	next.heartbeat_at =
	    now_ms > node->heartbeat_at ? now_ms : node->heartbeat_at + 1;
	if ((rc = db_begin(db, err)) != RC_OK)
		return (rc);
	rc = check(db, node, reconnected, &next, ret, err);
	if (rc == RC_OK && *ret != LINEAGE_EPOCH_CHANGED)
		rc = node_heartbeat(
		    db, node->node_id, node->name, next.heartbeat_at, err);
	if (rc == RC_OK)
		rc = db_commit(db, err);
	if (rc != RC_OK)
		db_rollback(db);
	else
		*node = next;
	return (rc);
}
