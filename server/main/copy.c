/* SPDX-License-Identifier: MIT */
/*
 * `twinboxd copy`: copies a whole database into an empty one, from SQLite to
 * PostgreSQL, back, or between two databases of PostgreSQL.
 *
 * Promises: the source is read in one snapshot on a connection that cannot
 * write.  An SQLite database, source or target, is locked against servers
 * meanwhile (data.c).  A source of PostgreSQL is not locked: the copy is
 * refused if a node serves the source at the beginning, or if, at the end, the
 * number of rows of a table or the sum of the times of the nodes' last
 * heartbeats has changed.  The target gets all rows in one transaction, which
 * commits only after the rows of every table have been counted on both sides
 * and the numbers are equal.  A copy that fails or is interrupted before the
 * commit therefore adds nothing to the target but the schema, and can be run
 * again; after the commit the target has everything, and never half of a copy.
 * Then fsck verifies the target.
 *
 * The epoch, all ids and all sequence numbers are copied unchanged, so clients'
 * cursors stay valid.  Outbox rows that were being sent become pending
 * (copy_rescue()).
 */
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/fault.h"
#include "cluster/node.h"
#include "log/log.h"
#include "main/main_internal.h"
#include "upkeep/copy.h"
#include "upkeep/preflight.h"

/* A node of the source that is not marked as left (by itself when it stops, or
 * by another node) and whose last heartbeat is younger than this, in
 * milliseconds, counts as serving.  Nodes write a heartbeat every 2 s; the
 * limit is higher because a heartbeat has the time of the node's clock, which
 * may differ from this program's.  After a node was killed, the copy is refused
 * for about this long, unless another node has marked the killed one as
 * left. */
#define NODE_QUIET_MS 30000
#define SQLITE "sqlite:"

struct side {
	const char *word; /* "source" */
	const char *flag; /* "--from" */
	struct config config;
	struct data data;
	struct db *db;
	int64_t counts[STORE_COPY_TABLES];
	int64_t
	    heartbeats; /* the sum of those of the nodes that have not left */
};

/* ---- opening ---- */

/* Sets ${side} to the database at ${url}, or to that of the settings if ${url}
 * is NULL, and opens nothing.  Also chooses the directory in which side_lock()
 * locks an SQLite database: the data directory of the settings if ${url} is
 * NULL or the same text as the setting `db`, else the folder of the file.
 * RC_INVALID: config_check_url() refuses ${url}, or it is too long. */
static enum rc
side_init(struct side *side, const struct config *config, const char *url,
    struct err *err)
{
	char path[CONFIG_TEXT_SIZE];
	char *folder;
	enum rc rc;

	side->config = *config;
	side->data = (struct data)DATA_INIT;
	side->db = NULL;
	if (url == NULL || strcmp(url, config->db) == 0)
		return (RC_OK);
	rc = config_check_url(side->flag, url, err);
	if (rc == RC_OK && strlen(url) >= sizeof(side->config.db))
		rc = err_set(
		    err, RC_INVALID, "%s: the url is too long", side->flag);
	if (rc != RC_OK)
		return (rc);
	memcpy(side->config.db, url, strlen(url) + 1);
	if (db_url_multi_writer(url))
		return (RC_OK);
	memcpy(path, url + strlen(SQLITE), strlen(url + strlen(SQLITE)) + 1);
	folder = dirname(path);
	memcpy(side->config.data, folder, strlen(folder) + 1);
	return (RC_OK);
}

/* Takes the locks of the directory that side_init() has chosen and of the
 * SQLite file, until side_close(): meanwhile no server can serve this file,
 * whichever data directory that server has.  RC_BUSY: another twinboxd holds a
 * lock.  Does nothing on PostgreSQL, where refuse_served() checks the source
 * and copy_alone() locks the target. */
static enum rc
side_lock(struct side *side, struct err *err)
{
	enum rc rc;

	if (db_url_multi_writer(side->config.db))
		return (RC_OK);
	rc = data_open(&side->config, &side->data, err);
	if (rc == RC_BUSY)
		return (err_set(err, rc,
		    "the %s is being served (%s/lock is held): stop that "
		    "twinboxd first",
		    side->word, side->config.data));
	if (rc == RC_CONFLICT)
		return (err_set(err, RC_BUSY,
		    "the %s is being served (its file's lock is held, with "
		    "another data directory): stop that twinboxd first",
		    side->word));
	return (rc);
}

static void
side_close(struct side *side)
{

	db_close(side->db);
	data_close(&side->data);
}

struct serving {
	int64_t now_ms;
	/* A node that serves; name "": none. */
	struct node_row node;
	int64_t heartbeats; /* their sum */
};

static void
on_node(void *arg, const struct node_row *node)
{
	struct serving *s = arg;

	s->heartbeats += node->heartbeat_at;
	if (node->heartbeat_at > s->now_ms - NODE_QUIET_MS)
		s->node = *node;
}

/* Returns RC_BUSY if a node of the source has not left and its last heartbeat,
 * which has the time of the node's clock, is younger than NODE_QUIET_MS by this
 * program's clock.  Stores the sum of the times of the last heartbeats of all
 * nodes that have not left in ${side}, for refuse_changed().  A node whose
 * clock is more than NODE_QUIET_MS behind is not found here; refuse_changed()
 * finds that node if it writes a heartbeat during the copy. */
static enum rc
refuse_served(struct side *side, struct err *err)
{
	struct serving serving = {.now_ms = clk_wall_ms(clk_system())};
	enum rc rc;

	rc = node_each_alive(side->db, on_node, &serving, err);
	side->heartbeats = serving.heartbeats;
	if (rc == RC_OK && serving.node.name[0] != '\0')
		rc = err_set(err, RC_BUSY,
		    "the %s is being served by node %s: stop all nodes first, "
		    "and wait %d s for one that was killed",
		    side->word, serving.node.name, NODE_QUIET_MS / 1000);
	return (rc);
}

/* Opens the source and takes its snapshot. */
static enum rc
open_source(struct side *side, struct err *err)
{
	const char *path = side->config.db + strlen(SQLITE);
	enum rc rc;

	/* Check this first: side_lock() would create the directory. */
	if (!db_url_multi_writer(side->config.db) && access(path, F_OK) != 0)
		return (err_set(
		    err, RC_NOT_FOUND, "there is no database %s", path));
	if ((rc = side_lock(side, err)) != RC_OK ||
	    (rc = data_look(&side->config, DB_READER, &side->db, err)) !=
		RC_OK ||
	    (rc = refuse_served(side, err)) != RC_OK ||
	    (rc = db_allow_long_statements(side->db, err)) != RC_OK ||
	    (rc = db_begin(side->db, err)) != RC_OK)
		return (rc);
	return (copy_counts(side->db, side->counts, err));
}

/* Refuses a target that has, or once had, content. */
static enum rc
refuse_content(const struct side *side, struct err *err)
{
	enum copy_table i;

	for (i = 0; i < STORE_COPY_TABLES; i++)
		if (side->counts[i] > copy_born_with(i))
			return (err_set(err, RC_EXISTS,
			    "the target is not empty (%s: %" PRId64
			    "): copy into a new database",
			    copy_name(i), side->counts[i]));
	return (RC_OK);
}

/* Locks the target if it is SQLite (side_lock()), opens it, migrates its
 * schema, and begins the transaction that commit() ends.  RC_EXISTS: the target
 * has content, or a server has served it before, so that it has an epoch.
 * After RC_OK no server can begin to serve the target until that transaction
 * ends.  The caller calls side_close() after an error, too. */
static enum rc
open_target(struct side *side, struct err *err)
{
	struct preflight before;
	enum rc rc;

	if ((rc = side_lock(side, err)) != RC_OK)
		return (rc);
	if (db_url_multi_writer(side->config.db))
		data_name(&side->config, &side->data);
	if ((rc = data_connect(&side->data, &side->db, err)) != RC_OK ||
	    (rc = preflight_get(side->db, &before, err)) != RC_OK)
		return (rc);
	/* Refuse a target with content before it is migrated and its rows are
	 * counted. */
	if (before.content || before.epoch[0] != '\0')
		return (err_set(err, RC_EXISTS,
		    "the target is not empty: copy into a new database"));
	if ((rc = migrate_data(&side->data, side->db, err)) != RC_OK ||
	    (rc = db_allow_long_statements(side->db, err)) != RC_OK ||
	    (rc = db_begin(side->db, err)) != RC_OK ||
	    (rc = copy_alone(side->db, err)) != RC_OK ||
	    (rc = copy_counts(side->db, side->counts, err)) != RC_OK)
		return (rc);
	return (refuse_content(side, err));
}

/* ---- copying ---- */

/* Prints how many rows each table has on both sides.  Returns in how many
 * tables the numbers differ. */
static int
show_counts(const struct side *from, const struct side *to)
{
	enum copy_table i;
	int differ = 0;
	bool same;

	(void)printf("%-20s %12s %12s\n", "table", "source", "target");
	for (i = 0; i < STORE_COPY_TABLES; i++) {
		same = from->counts[i] == to->counts[i];
		(void)printf("%-20s %12" PRId64 " %12" PRId64 "%s\n",
		    copy_name(i), from->counts[i], to->counts[i],
		    same ? "" : "  differ");
		differ += same ? 0 : 1;
	}
	(void)fflush(stdout);
	return (differ);
}

/* Ends the snapshot of the source and compares the source of now with it.
 * Returns RC_CONFLICT if a table has another number of rows, or if the sum of
 * the heartbeat times is another than refuse_served() has stored: then a
 * server has served the source during the copy, one that refuse_served() did
 * not find or that started later.  A server that wrote no heartbeat and changed
 * no number of rows is not found. */
static enum rc
refuse_changed(struct side *from, struct err *err)
{
	struct serving serving = {.now_ms = INT64_MAX};
	int64_t now[STORE_COPY_TABLES];
	enum rc rc;

	db_rollback(from->db);
	if ((rc = db_begin(from->db, err)) != RC_OK ||
	    (rc = copy_counts(from->db, now, err)) != RC_OK ||
	    (rc = node_each_alive(from->db, on_node, &serving, err)) != RC_OK)
		return (rc);
	if (memcmp(now, from->counts, sizeof(now)) != 0 ||
	    serving.heartbeats != from->heartbeats)
		return (err_set(err, RC_CONFLICT,
		    "the source has changed while it was copied: stop whoever "
		    "serves it first"));
	return (RC_OK);
}

static enum rc
commit(struct side *to, struct err *err)
{
	enum rc rc;

	FAULT("copy.commit.before");
	rc = db_commit(to->db, err);
	if (rc == RC_UNCERTAIN || rc == RC_UNCONFIRMED)
		return (err_set(err, rc,
		    "the target may have the copy or not (the connection was "
		    "lost in the commit): copy once more, it is refused if it "
		    "has"));
	/* In SQLite, move everything from the log into the file. */
	if (rc == RC_OK)
		rc = db_checkpoint(to->db, true, NULL, err);
	return (rc);
}

static enum rc
copy(struct side *from, struct side *to, struct err *err)
{
	int differ;
	enum rc rc;

	if ((rc = open_source(from, err)) != RC_OK ||
	    (rc = open_target(to, err)) != RC_OK ||
	    (rc = copy_rows(from->db, to->db, err)) != RC_OK ||
	    (rc = copy_rescue(to->db, clk_wall_ms(clk_system()), err)) !=
		RC_OK ||
	    (rc = copy_counts(to->db, to->counts, err)) != RC_OK)
		return (rc);
	differ = show_counts(from, to);
	if (differ > 0)
		return (err_set(err, RC_INVALID,
		    "%d table%s would not have the rows of the source: nothing "
		    "was kept",
		    differ, differ == 1 ? "" : "s"));
	rc = refuse_changed(from, err);
	return (rc == RC_OK ? commit(to, err) : rc);
}

int
copy_main(int argc, char **argv)
{
	const char *from_url = NULL, *to_url = NULL;
	struct side from = {.word = "source", .flag = "--from"};
	struct side to = {.word = "target", .flag = "--to"};
	struct err err = ERR_INIT;
	struct config config;
	int code;
	enum rc rc;

	argc = main_take_value(argc, argv, "--from", &from_url);
	argc = main_take_value(argc, argv, "--to", &to_url);
	if ((code = main_settings(argc, argv, &config)) >= 0 ||
	    (code = main_no_operands(&config)) >= 0)
		return (code);
	if (to_url == NULL)
		return (main_complain(EX_USAGE,
		    "usage: twinboxd copy [--from URL] --to URL "
		    "[SETTING...]"));
	log_set_level(LVL_WARN);
	if (side_init(&from, &config, from_url, &err) != RC_OK ||
	    side_init(&to, &config, to_url, &err) != RC_OK)
		return (main_complain(EX_USAGE, "%s", err.text));
	if (!db_url_multi_writer(from.config.db) &&
	    !db_url_multi_writer(to.config.db))
		return (main_complain(
		    EX_USAGE, "from file to file is what backup is for"));
	rc = copy(&from, &to, &err);
	side_close(&from);
	side_close(&to);
	if (rc != RC_OK)
		return (main_complain(main_file_code(rc), "%s", err.text));
	(void)printf("copied; fsck of the target:\n");
	(void)fflush(stdout);
	return (fsck_show(&to.config));
}
