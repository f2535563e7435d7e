/* SPDX-License-Identifier: MIT */
/*
 * `twinboxd backup FILE` and `twinboxd restore FILE`.
 *
 * Both are for SQLite only.  A backup is a snapshot, made whether or not a
 * server runs, on a connection that cannot write.  The snapshot is written to a
 * file with another name, synced, and verified by fsck, before it gets the name
 * FILE.  A restore takes the lock of the data directory, so it fails while a
 * server runs.
 *
 * A restored database gets a new epoch, a name of its history that is a part of
 * each client's cursor.  From the epoch clients learn that their cursors are no
 * longer valid, and they send again, with the same ids, the messages that they
 * have sent.  So the messages that were accepted after the backup come back, if
 * their senders still have them, and no message is stored twice.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/clk.h"
#include "base/fault.h"
#include "base/rnd.h"
#include "config/regular_file.h"
#include "log/log.h"
#include "main/main_internal.h"
#include "store/account.h"
#include "store/epoch.h"
#include "store/outbox.h"
#include "upkeep/fsck.h"
#include "upkeep/position.h"

#define COPY_SIZE 65536
/* The longest write-ahead log during a backup, as a multiple of
 * checkpoint-size.  The backup's snapshot keeps the log from being emptied; a
 * longer log ends the backup (RC_BUSY). */
#define LOG_FACTOR 8

/* ---- files ---- */

static enum rc
copy_bytes(int from, int to, const char *name, struct err *err)
{
	char piece[COPY_SIZE];
	ssize_t n, done, wrote;

	for (;;) {
		n = read(from, piece, sizeof(piece));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return (err_set_sys(
			    err, RC_IO, errno, "cannot read %s", name));
		if (n == 0)
			return (RC_OK);
		for (done = 0; done < n; done += wrote) {
			wrote = write(to, piece + done, (size_t)(n - done));
			if (wrote < 0 && errno == EINTR)
				wrote = 0;
			if (wrote < 0)
				return (err_set_sys(err,
				    errno == ENOSPC || errno == EDQUOT ? RC_FULL
								       : RC_IO,
				    errno, "cannot write the copy of %s",
				    name));
		}
	}
}

static enum rc
copy_file(int in, const char *from, const char *to, struct err *err)
{
	enum rc rc;
	int out;

	out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (out < 0)
		return (err_set_sys(
		    err, rc_of_opening(errno), errno, "cannot make %s", to));
	rc = copy_bytes(in, out, from, err);
	(void)close(out);
	return (rc);
}

/* ---- verification ---- */

/* Verifies with fsck that ${path} is an intact database of twinbox, rows and
 * schema, fills ${report}, and prints at most FSCK_PLACES violations of each
 * kind to standard error.  ${name} is the file's name in the error text about
 * violations.  RC_CORRUPT: there are violations, or the file is too damaged to
 * be opened; any other error means that not everything could be read. */
static enum rc
prove(const char *path, const char *name, struct fsck_report *report,
    struct err *err)
{
	char url[URL_SIZE + 8];
	struct data data = DATA_INIT;
	struct db_options options;
	struct db *db;
	enum rc rc;

	(void)snprintf(url, sizeof(url), "sqlite:%s", path);
	options = data_db_options(&data);
	options.url = url;
	if ((rc = db_open(&options, &db, err)) != RC_OK)
		return (rc);
	rc = fsck_run(db, fsck_print_found, stderr, report, err);
	if (rc == RC_OK)
		rc = fsck_schema(db, fsck_print_found, stderr, report, err);
	db_close(db);
	if (rc == RC_OK && report->violations > 0)
		rc = err_set(err, RC_CORRUPT,
		    "%s has %" PRId64 " violation%s (see `twinboxd fsck`)",
		    name, report->violations,
		    report->violations == 1 ? "" : "s");
	return (rc);
}

static int
report_done(const char *what, const char *path, const struct fsck_report *r)
{

	(void)printf("%s %s: %" PRId64 " users, %" PRId64 " messages, %" PRId64
		     " inbox events; fsck found nothing wrong\n",
	    what, path, r->census.users, r->census.messages, r->census.events);
	return (fflush(stdout) == 0 ? EX_OK : EX_IOERR);
}

/* ---- backup ---- */

static enum rc
make_copy(const struct config *config, const char *path, struct err *err)
{
	struct db *db;
	enum rc rc;

	if ((rc = data_look(config, DB_COPIER, &db, err)) != RC_OK)
		return (rc);
	rc = db_backup(
	    db, path, LOG_FACTOR * config->checkpoint_size_bytes, err);
	db_close(db);
	return (rc);
}

static enum rc
backup(const struct config *config, const char *path,
    struct fsck_report *report, struct err *err)
{
	char part[URL_SIZE];
	struct stat st;
	enum rc rc;

	if (lstat(path, &st) == 0)
		return (err_set(err, RC_EXISTS,
		    "%s is there already: a back-up replaces nothing", path));
	if ((rc = files_make_part_of(path, part, sizeof(part), err)) != RC_OK)
		return (rc);
	interrupt_removes(part);
	rc = make_copy(config, part, err);
	FAULT("backup.copied");
	if (rc == RC_OK)
		rc = files_sync(part, O_RDONLY, err);
	if (rc == RC_OK)
		rc = prove(part, path, report, err);
	if (rc == RC_OK)
		rc = files_rename_new_synced(part, path, err);
	if (rc != RC_OK)
		(void)unlink(part);
	interrupt_keeps(part);
	return (rc);
}

/* Stores the command's operand, a file name borrowed from ${config}, in ${*ret}
 * and returns -1: the command may go on.  If there is not exactly one operand,
 * or it is longer than URL_SIZE - 64 bytes (the rest of URL_SIZE is room for
 * what is appended to the name), prints a message and returns EX_USAGE. */
static int
one_file(const struct config *config, const char *usage, const char **ret)
{

	if (config->noperands != 1)
		return (main_complain(EX_USAGE, "usage: %s", usage));
	*ret = config->operands[0];
	if (strlen(*ret) > URL_SIZE - 64)
		return (main_complain(
		    EX_USAGE, "the name of the file is too long"));
	return (-1);
}

int
backup_main(int argc, char **argv)
{
	struct fsck_report report = {.violations = 0};
	struct err err = ERR_INIT;
	struct config config;
	const char *path = "";
	int code;

	if ((code = main_settings(argc, argv, &config)) >= 0 ||
	    (code = one_file(
		 &config, "twinboxd backup FILE [SETTING...]", &path)) >= 0)
		return (code);
	log_set_level(LVL_WARN);
	if (crypt_init(&err) != RC_OK ||
	    backup(&config, path, &report, &err) != RC_OK)
		return (main_complain(main_file_code(err.rc), "%s", err.text));
	return (report_done("backed up to", path, &report));
}

/* ---- restore ---- */

static void
count_found(void *arg, const char *what, const char *place)
{

	fsck_print_found(stderr, what, place);
	(*(int *)arg)++;
}

/* Returns RC_INVALID unless ${path}, a copy of the file ${name}, has the schema
 * of twinbox, of this version or an older one; prints where the schema differs,
 * at most FSCK_PLACES places.  RC_INVALID also if the file cannot be opened
 * because it is damaged or not a database; rows are not checked here (see
 * prove()).  Without this check the migration would turn an empty file into a
 * database. */
static enum rc
check_backup(const char *path, const char *name, struct err *err)
{
	char url[URL_SIZE + 8];
	struct data data = DATA_INIT;
	struct db_options options;
	struct db *db;
	int has, newest, n = 0;
	enum rc rc;

	(void)snprintf(url, sizeof(url), "sqlite:%s", path);
	options = data_db_options(&data);
	options.url = url;
	rc = db_open(&options, &db, err);
	/* Return RC_INVALID: the operator has named a file that is not a good
	 * backup.  RC_CORRUPT would report a damaged disk of this server. */
	if (rc == RC_CORRUPT)
		rc = err_set(err, RC_INVALID,
		    "%s is not a back-up: it is not a database, or is "
		    "damaged; name a file that `twinboxd backup` has made",
		    name);
	if (rc != RC_OK)
		return (rc);
	rc = db_schema_number(db, &has, &newest, err);
	FAULT("restore.copied");
	if (rc == RC_OK && has == 0)
		rc = err_set(err, RC_INVALID,
		    "%s is not a back-up: it holds no tables of twinbox; name a "
		    "file that `twinboxd backup` has made",
		    name);
	/* Check the schema before any statement of ours could fire a foreign
	 * trigger. */
	if (rc == RC_OK)
		rc = check_schema_run(db, FSCK_PLACES, count_found, &n, err);
	db_close(db);
	if (rc == RC_OK && n > 0)
		rc = err_set(err, RC_INVALID,
		    "%s is not as `twinboxd backup` has made it: its schema "
		    "was changed in %d place%s",
		    name, n, n == 1 ? "" : "s");
	return (rc);
}

/* Migrates ${path}, a copy of a backup, to this program's schema, which fsck
 * needs, and gives it a new epoch; moves the write-ahead log into the file.
 * ${ret}: the database's position (the new epoch and the id of the newest
 * outbox row), which the caller stores in the file DATA/mark: the next start of
 * a server compares the database with it.  After an error ${path} may be half
 * changed. */
static enum rc
renew(const char *path, struct position *ret, struct err *err)
{
	struct data data = DATA_INIT;
	struct db *db;
	enum rc rc;

	(void)snprintf(
	    data.url, sizeof(data.url), "sqlite:%.*s", URL_SIZE - 8, path);
	if ((rc = data_open_db(&data, &db, err)) != RC_OK)
		return (rc);
	data_new_epoch(rnd_system(), ret->epoch);
	rc = db_begin(db, err);
	if (rc == RC_OK)
		rc = store_outbox_last_id(db, &ret->number, err);
	if (rc == RC_OK)
		rc = store_epoch_renew(
		    db, ret->epoch, clk_wall_ms(clk_system()), err);
	if (rc == RC_OK)
		rc = db_commit(db, err);
	if (rc == RC_OK)
		rc = db_checkpoint(db, true, NULL, err);
	/* Closing the last connection removes the log. */
	db_close(db);
	return (rc);
}

/* Returns RC_EXISTS, which ends the restore, if a write-ahead log that is not
 * empty lies beside ${path}, but there is no database ${path}.  The former
 * database has been moved or removed then.  SQLite would apply its log to the
 * restored database, and the log may hold the newest messages of the former
 * one.  An empty log, which readers leave, does no harm. */
static enum rc
check_no_stray_log(const char *path, struct err *err)
{
	char log[URL_SIZE + 8];
	struct stat st;

	(void)snprintf(log, sizeof(log), "%s-wal", path);
	if (access(path, F_OK) == 0 || stat(log, &st) != 0 || st.st_size == 0)
		return (RC_OK);
	return (err_set(err, RC_EXISTS,
	    "%s is there without its database, whose newest messages it may "
	    "hold: move it to where that database is, then restore again",
	    log));
}

/* Removes an unfinished database. */
static void
remove_all(const char *path)
{
	static const char *const tails[] = {"", "-wal", "-shm"};
	char name[URL_SIZE + 8];
	size_t i;

	for (i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
		(void)snprintf(name, sizeof(name), "%s%s", path, tails[i]);
		(void)unlink(name);
	}
}

/* The backup to restore.  It is opened before the program changes from root to
 * the owner of the data, who may not be allowed to read it. */
struct source {
	const char *name;
	int fd;
};

static enum rc
restore_into(const struct data *data, const struct source *from, bool replace,
    struct fsck_report *report, struct err *err)
{
	const char *path = data_database(data);
	struct err ignored = ERR_INIT;
	char part[URL_SIZE];
	struct position mark;
	enum rc rc;

	if (db_url_multi_writer(data->url))
		return (err_set(err, RC_INVALID,
		    "a PostgreSQL database is restored by its own tools"));
	if (access(path, F_OK) == 0 && !replace)
		return (err_set(err, RC_EXISTS,
		    "%s is there already: --replace keeps it as %s.replaced",
		    path, path));
	if ((rc = check_no_stray_log(path, err)) != RC_OK)
		return (rc);
	(void)snprintf(
	    part, sizeof(part), "%.*s.restoring", URL_SIZE - 64, path);
	/* A log that an interrupted restore left does not belong to this
	 * copy. */
	remove_all(part);
	interrupt_removes(part);
	if ((rc = copy_file(from->fd, from->name, part, err)) == RC_OK &&
	    (rc = check_backup(part, from->name, err)) == RC_OK &&
	    (rc = renew(part, &mark, err)) == RC_OK &&
	    (rc = prove(part, from->name, report, err)) == RC_OK &&
	    (rc = files_sync(part, O_RDONLY, err)) == RC_OK &&
	    (rc = replaced_keep(data, err)) == RC_OK &&
	    (rc = position_remove(data->dir_fd, err)) == RC_OK &&
	    (rc = replaced_take_log(data, err)) == RC_OK)
		rc = files_rename_synced(part, path, err);
	if (rc != RC_OK)
		(void)!replaced_undo(data, &ignored);
	/* Readers leave an empty log. */
	remove_all(part);
	interrupt_keeps(part);
	/* A failure does no harm: without a mark the next start makes one. */
	if (rc == RC_OK)
		(void)!position_write(data->dir_fd, &mark, &ignored);
	return (rc);
}

int
restore_main(int argc, char **argv)
{
	struct fsck_report report = {.violations = 0};
	struct err err = ERR_INIT;
	struct config config;
	bool replace = false;
	struct data data;
	struct source from = {"", -1};
	int code;
	enum rc rc;

	argc = main_take_flag(argc, argv, "--replace", &replace);
	if ((code = main_settings(argc, argv, &config)) >= 0 ||
	    (code = one_file(&config,
		 "twinboxd restore FILE [--replace] [SETTING...]",
		 &from.name)) >= 0)
		return (code);
	log_set_level(LVL_WARN);
	rc = crypt_init(&err);
	if (rc == RC_OK)
		rc = regular_file_open(from.name, &from.fd, &err);
	if (rc == RC_OK && (rc = data_open(&config, &data, &err)) == RC_OK) {
		rc = restore_into(&data, &from, replace, &report, &err);
		data_close(&data);
	}
	if (from.fd >= 0)
		(void)close(from.fd);
	if (rc != RC_OK)
		return (main_complain(main_file_code(rc), "%s", err.text));
	return (report_done("restored from", from.name, &report));
}
