/* SPDX-License-Identifier: MIT */
/*
 * The old database of a restore that replaces one.  The file PATH is kept as
 * PATH.replaced and, if its write-ahead log cannot be moved into it, the log as
 * PATH.replaced-wal.
 *
 * A restore that ends at any moment, by a crash or a signal, leaves either the
 * old database with its log or the new database:
 *
 *	replaced_keep()         PATH.replaced becomes a second name (a hard
 *	                        link) of the file PATH
 *	replaced_take_log()     PATH-wal is renamed to PATH.replaced-wal: SQLite
 *	                        would apply it to the new database
 *	files_rename_synced()   the new database gets the name PATH
 *
 * Between the last two steps the old database is without its log.  If the
 * restore ends there, the next data_open() calls replaced_undo(), which
 * recognizes this state, because PATH and PATH.replaced are still the same
 * file, and renames PATH.replaced-wal to PATH-wal again.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "main/main_internal.h"

#define NAME_SIZE (URL_SIZE + 32)

/* Stores ${path}${tail} in ${ret}. */
static void
name_with(char ret[NAME_SIZE], const char *path, const char *tail)
{

	(void)snprintf(ret, NAME_SIZE, "%s%s", path, tail);
}

/* Removes ${path}${tail} if it exists. */
static enum rc
remove_tail(const char *path, const char *tail, struct err *err)
{
	char name[NAME_SIZE];

	name_with(name, path, tail);
	if (unlink(name) == 0 || errno == ENOENT)
		return (RC_OK);
	return (err_set_sys(
	    err, rc_of_opening(errno), errno, "cannot remove %s", name));
}

/* Moves the write-ahead log of the database into its file and removes the log.
 * A failure (the file is damaged, say) is ignored: the log then stays, and
 * replaced_take_log() keeps it. */
static void
empty_log(const struct data *data)
{
	struct db_options options = data_db_options(data);
	struct err ignored = ERR_INIT;
	struct db *db;

	options.mode = DB_WRITER;
	if (db_open(&options, &db, &ignored) != RC_OK)
		return;
	(void)!db_checkpoint(db, true, NULL, &ignored);
	/* Closing the last connection removes the log. */
	db_close(db);
}

enum rc
replaced_keep(const struct data *data, struct err *err)
{
	const char *path = data_database(data);
	char kept[NAME_SIZE];
	enum rc rc;

	if (access(path, F_OK) != 0)
		return (RC_OK);
	empty_log(data);
	/* Remove the PATH.replaced-wal of an earlier restore before
	 * PATH.replaced becomes a name of the current database: replaced_undo()
	 * would take that log for the log of the current database. */
	if ((rc = remove_tail(path, ".replaced-wal", err)) != RC_OK ||
	    (rc = remove_tail(path, ".replaced-shm", err)) != RC_OK ||
	    (rc = remove_tail(path, ".replaced", err)) != RC_OK ||
	    (rc = files_sync_folder_of(path, err)) != RC_OK)
		return (rc);
	name_with(kept, path, ".replaced");
	if (link(path, kept) != 0)
		return (err_set_sys(err, rc_of_opening(errno), errno,
		    "cannot keep %s as %s", path, kept));
	return (files_sync_folder_of(path, err));
}

enum rc
replaced_take_log(const struct data *data, struct err *err)
{
	const char *path = data_database(data);
	char log[NAME_SIZE], kept[NAME_SIZE];
	enum rc rc;

	name_with(log, path, "-wal");
	name_with(kept, path, ".replaced-wal");
	if (access(path, F_OK) != 0 || access(log, F_OK) != 0)
		return (RC_OK);
	if ((rc = files_rename_synced(log, kept, err)) == RC_OK)
		rc = remove_tail(path, "-shm", err);
	FAULT("restore.log-taken");
	return (rc);
}

enum rc
replaced_undo(const struct data *data, struct err *err)
{
	const char *path = data_database(data);
	char log[NAME_SIZE], kept[NAME_SIZE], kept_log[NAME_SIZE];
	struct stat now, old, st;

	if (db_url_multi_writer(data->url))
		return (RC_OK);
	name_with(log, path, "-wal");
	name_with(kept, path, ".replaced");
	name_with(kept_log, path, ".replaced-wal");
	/* A reader that opens the database meanwhile leaves an empty log. */
	if (access(kept_log, F_OK) != 0 ||
	    (stat(log, &st) == 0 && st.st_size > 0) || stat(path, &now) != 0 ||
	    stat(kept, &old) != 0 || now.st_dev != old.st_dev ||
	    now.st_ino != old.st_ino)
		return (RC_OK);
	return (files_rename_synced(kept_log, log, err));
}
