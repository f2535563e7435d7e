/* SPDX-License-Identifier: MIT */
/*
 * Migrates the schema of a database.  If a migration is needed, an SQLite
 * database that has users is copied before anything changes (except for a
 * restore): the copy is synced and kept as DATA/before-schema-N.db, where N is
 * the number of the newest schema, to which the migration leads.  After a new
 * copy, all copies but the two with the highest N are removed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "log/log.h"
#include "main/main_internal.h"
#include "upkeep/preflight.h"

#define PREFIX "before-schema-"
#define KEPT 2

/* Returns the N of ${name}, "before-schema-N.db"; 0: not such a name. */
static int
number_of(const char *name)
{
	size_t n = strlen(PREFIX);
	char *end;
	long number;

	if (strncmp(name, PREFIX, n) != 0)
		return (0);
	errno = 0;
	number = (long)strtoll(name + n, &end, 10);
	if (errno != 0 || number < 1 || number > 9999 ||
	    strcmp(end, ".db") != 0)
		return (0);
	return ((int)number);
}

/* Removes all copies but the KEPT newest.  A failure does no harm. */
static void
remove_old(const struct data *data)
{
	int newest[KEPT] = {0, 0}, n, fd;
	struct dirent *entry;
	DIR *dir;

	fd = openat(data->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	if ((dir = fdopendir(fd)) == NULL) {
		(void)close(fd);
		return;
	}
	while ((entry = readdir(dir)) != NULL) {
		n = number_of(entry->d_name);
		if (n > newest[0]) {
			newest[1] = newest[0];
			newest[0] = n;
		} else if (n > newest[1]) {
			newest[1] = n;
		}
	}
	rewinddir(dir);
	while ((entry = readdir(dir)) != NULL) {
		n = number_of(entry->d_name);
		if (n > 0 && n < newest[1])
			(void)unlinkat(data->dir_fd, entry->d_name, 0);
	}
	(void)closedir(dir);
}

/* Replaces ${err} by a text that says how much space the copy needs. */
static enum rc
no_room(const struct data *data, struct err *err)
{
	struct stat st;
	long long mib = 0;

	if (stat(strchr(data->url, ':') + 1, &st) == 0)
		mib = (long long)st.st_size / (1024 * 1024) + 1;
	*err = (struct err)ERR_INIT;
	return (err_set(err, RC_FULL,
	    "the database is copied before its schema changes, and %s has no "
	    "room for that: make %lld MiB free",
	    data->dir, mib));
}

static enum rc
make_copy(const struct data *data, const char *path, struct err *err)
{
	struct db_options options = data_db_options(data);
	struct db *db;
	enum rc rc;

	options.mode = DB_COPIER;
	if ((rc = db_open(&options, &db, err)) != RC_OK)
		return (rc);
	/* No other process writes meanwhile: this one has the lock. */
	rc = db_backup(db, path, INT64_MAX, err);
	db_close(db);
	return (rc == RC_OK ? files_sync(path, O_RDONLY, err) : rc);
}

static enum rc
copy_before(const struct data *data, int number, struct err *err)
{
	char path[URL_SIZE], part[URL_SIZE + 8];
	enum rc rc;

	(void)snprintf(path, sizeof(path), "%.*s/" PREFIX "%d.db",
	    CONFIG_TEXT_SIZE, data->dir, number);
	(void)snprintf(part, sizeof(part), "%s.part", path);
	if (unlink(part) != 0 && errno != ENOENT)
		return (err_set_sys(err, rc_of_opening(errno), errno,
		    "cannot remove %s", part));
	interrupt_removes(part);
	rc = make_copy(data, part, err);
	FAULT("migrate.copied");
	if (rc == RC_OK)
		rc = files_rename_synced(part, path, err);
	interrupt_keeps(part);
	if (rc != RC_OK) {
		(void)unlink(part);
		return (rc == RC_FULL || err->sys == ENOSPC ? no_room(data, err)
							    : rc);
	}
	log_event(LOG_EV_STORE_COPY, "file=%s", path);
	remove_old(data);
	return (RC_OK);
}

enum rc
migrate_data(const struct data *data, struct db *db, struct err *err)
{
	struct preflight before;
	int from, to;
	enum rc rc;

	rc = preflight_get(db, &before, err);
	/* Make no copy for a restore (dir_fd is -1), which already works on a
	 * copy, and none on PostgreSQL, which has its own backups. */
	if (rc == RC_OK && before.schema < before.newest && before.content &&
	    data->dir_fd >= 0 && !db_multi_writer(db))
		rc = copy_before(data, before.newest, err);
	if (rc == RC_OK)
		rc = db_migrate(db, clk_wall_ms(clk_system()), &from, &to, err);
	if (rc != RC_OK)
		return (rc);
	log_event(LOG_EV_STORE_OPEN, "url=%s schema=%d", data->url, to);
	if (from != to)
		log_event(LOG_EV_STORE_MIGRATE, "from=%d to=%d", from, to);
	return (RC_OK);
}
