/* SPDX-License-Identifier: MIT */
/*
 * The data directory and the locks of a process that writes there.  Each lock
 * is a flock(), which the kernel releases when the process ends, so a server
 * that was killed leaves no lock behind:
 *
 *	DATA/lock	one process uses the data directory (control socket,
 *			mark)
 *	FILE-lock	one process writes to the SQLite database FILE, whatever
 *			its data directory is
 *
 * With a PostgreSQL database only DATA/lock is taken: other nodes, which have
 * data directories of their own, write to the database, too.
 *
 * A user who can write to the directory or to the files of an SQLite database
 * can make an account an administrator's.  So data_open(), and data_look() on
 * SQLite, return RC_DENIED if the mode of one of these lets group or others
 * write.  data_open() also checks the folder of the files (check_folder()).
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/regular_file.h"
#include "log/log.h"
#include "main/main_internal.h"
#include "schema/sql.h"

/* The path of an SQLite file's lock is that of the file with this suffix. */
#define LOCK_TAIL "-lock"

/* Returns the error for ${sys}, the errno value with which making or opening
 * the data directory, or opening a lock, has failed: RC_SETTING if the
 * path does not or cannot exist, so that the setting `data` is wrong, else as
 * rc_of_opening(). */
static enum rc
rc_of_place(int sys)
{
	const enum rc rc = rc_of_opening(sys);

	return (rc == RC_INVALID || rc == RC_NOT_FOUND ? RC_SETTING : rc);
}

/* Makes ${path} and its missing parents. */
static enum rc
make_directory(const char *path, struct err *err)
{
	char text[CONFIG_TEXT_SIZE], *slash;

	(void)snprintf(text, sizeof(text), "%s", path);
	for (slash = strchr(text + 1, '/'); slash != NULL;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(text, 0700) != 0 && errno != EEXIST)
			return (err_set_sys(err, rc_of_place(errno), errno,
			    "data: cannot make %s", text));
		*slash = '/';
	}
	if (mkdir(text, 0700) != 0 && errno != EEXIST)
		return (err_set_sys(err, rc_of_place(errno), errno,
		    "data: cannot make %s", text));
	return (RC_OK);
}

/* If the process runs as root, it gives up root for good and runs on as the
 * user and the group that own the data directory; if root owns it, it stays
 * root.  So the files that a command makes there belong to the server's user
 * (`twinboxd user add` before the first start, say), and a command has no more
 * rights than the server.  RC_DENIED: the system refuses the change of user;
 * RC_IO: the owner cannot be read. */
static enum rc
become_owner(const struct data *data, struct err *err)
{
	struct stat st;

	if (geteuid() != 0)
		return (RC_OK);
	if (fstat(data->dir_fd, &st) != 0)
		return (err_set_sys(
		    err, RC_IO, errno, "data: cannot look at %s", data->dir));
	if (st.st_uid == 0)
		return (RC_OK);
	if (setgroups(0, NULL) != 0 || setgid(st.st_gid) != 0 ||
	    setuid(st.st_uid) != 0)
		return (err_set_sys(err, RC_DENIED, errno,
		    "data: cannot become the owner of %s, user %lu", data->dir,
		    (unsigned long)st.st_uid));
	return (RC_OK);
}

/* Returns whether an earlier call had the same file or directory as ${st}
 * (device and inode).  If not, remembers the file, so that the log names each
 * file once, although `twinboxd copy` opens a file twice.  Only the first 8
 * files are remembered; for all others the result is always false, and the log
 * names them each time. */
static bool
is_told(const struct stat *st)
{
	static struct {
		dev_t dev;
		ino_t ino;
	} told[8]; /* main thread only */
	static size_t n;
	size_t i;

	for (i = 0; i < n; i++)
		if (told[i].dev == st->st_dev && told[i].ino == st->st_ino)
			return (true);
	if (n < sizeof(told) / sizeof(told[0])) {
		told[n].dev = st->st_dev;
		told[n++].ino = st->st_ino;
	}
	return (false);
}

/* Returns RC_DENIED if the mode ${st} of ${path}, a file or directory, lets
 * group or others write.  If it only lets them read, logs that, once for each
 * file (is_told()), and returns RC_OK.  The mode is not corrected: the operator
 * has set it, and knows who is in the group. */
static enum rc
check_mode(const char *path, const struct stat *st, struct err *err)
{
	const unsigned mode = st->st_mode & 07777;

	if ((mode & (S_IWGRP | S_IWOTH)) != 0)
		return (err_set(err, RC_DENIED,
		    "data: others may write to %s (mode %04o): run chmod go-w "
		    "%s, and see who could have",
		    path, mode, path));
	if ((mode & (S_IRGRP | S_IROTH)) != 0 && !is_told(st))
		log_event(LOG_EV_DATA_READABLE,
		    "path=%s mode=%04o cure=chmod go-r %s", path, mode, path);
	return (RC_OK);
}

/* Returns RC_DENIED if group or others may write to the folder of an SQLite
 * file, which may be another than the data directory: they can put another
 * file, or another write-ahead log, in the place of the database.  The sticky
 * bit does not prevent this, because the log does not always exist.  Returns
 * RC_OK if stat() of the folder fails (it does not exist, say), and on
 * PostgreSQL. */
static enum rc
check_folder(const struct data *data, struct err *err)
{
	char folder[URL_SIZE];
	struct stat st;
	char *slash;

	if (db_url_multi_writer(data->url))
		return (RC_OK);
	(void)snprintf(folder, sizeof(folder), "%s", data_database(data));
	slash = strrchr(folder, '/');
	if (slash == NULL)
		(void)snprintf(folder, sizeof(folder), ".");
	else
		slash[slash == folder ? 1 : 0] = '\0';
	if (stat(folder, &st) != 0 || (st.st_mode & (S_IWGRP | S_IWOTH)) == 0)
		return (RC_OK);
	return (err_set(err, RC_DENIED,
	    "db: others may write to %s (mode %04o), and so replace the "
	    "database: put it into a folder of its own",
	    folder, st.st_mode & 07777));
}

/* Checks the mode of the directory, if it exists. */
static enum rc
check_directory(const struct data *data, struct err *err)
{
	struct stat st;

	return (stat(data->dir, &st) == 0 ? check_mode(data->dir, &st, err)
					  : RC_OK);
}

/* Checks the file of an SQLite database, and the files -wal and -shm that
 * SQLite puts beside it, as far as they exist: each must be a regular file
 * (RC_SETTING), and its mode must not let group or others write (RC_DENIED); a
 * mode that lets them read is only logged.  Returns RC_OK on PostgreSQL. */
static enum rc
check_files(const struct data *data, struct err *err)
{
	static const char *const tails[] = {"", "-wal", "-shm"};
	char path[URL_SIZE + 8];
	struct stat st;
	enum rc rc = RC_OK;
	size_t i;

	if (db_url_multi_writer(data->url))
		return (RC_OK);
	for (i = 0; i < 3 && rc == RC_OK; i++) {
		(void)snprintf(
		    path, sizeof(path), "%s%s", data_database(data), tails[i]);
		if ((rc = regular_file_check(path, err)) == RC_INVALID)
			rc = err->rc = RC_SETTING;
		if (rc == RC_OK && stat(path, &st) == 0)
			rc = check_mode(path, &st, err);
	}
	return (rc);
}

/* Opens ${path}, which is created if it does not exist, and takes its lock.
 * ${*ret} is set only if RC_OK; the caller closes it, which releases the lock.
 * RC_BUSY, without a text in ${err}: another process holds the lock. */
static enum rc
lock_file(const char *path, int *ret, struct err *err)
{
	enum rc rc = RC_BUSY;
	int fd;

	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return (err_set_sys(err, rc_of_place(errno), errno,
		    "data: cannot open %s", path));
	if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
		*ret = fd;
		return (RC_OK);
	}
	if (errno != EWOULDBLOCK)
		rc = err_set_sys(
		    err, RC_IO, errno, "data: cannot lock %s", path);
	(void)close(fd);
	return (rc);
}

/* Stores in ${ret}, an array of ${size} bytes, the absolute path of the SQLite
 * file without symbolic links, so that every way to name the file gives the
 * same path.  If the file does not exist, only the links in the path of its
 * folder are resolved.  Returns false if the path of the folder cannot be
 * resolved (the folder does not exist, say). */
static bool
real_path(const struct data *data, char *ret, size_t size)
{
	char folder[URL_SIZE], real[PATH_MAX];
	const char *path = data_database(data);
	const char *slash = strrchr(path, '/');

	if (realpath(path, real) != NULL) {
		(void)snprintf(ret, size, "%s", real);
		return (true);
	}
	(void)snprintf(folder, sizeof(folder), "%.*s",
	    slash == NULL ? 1 : (int)(slash - path) + 1,
	    slash == NULL ? "." : path);
	if (realpath(folder, real) == NULL)
		return (false);
	(void)snprintf(
	    ret, size, "%s/%s", real, slash == NULL ? path : slash + 1);
	return (true);
}

/* Takes the lock of the directory, and on SQLite that of the database file.  If
 * real_path() fails (the folder of the file does not exist, say), takes no lock
 * of the file and returns RC_OK: opening the database later reports the error.
 * RC_BUSY: another process holds the lock of the directory; RC_CONFLICT:
 * another process holds the lock of the file. */
static enum rc
take_locks(struct data *data, struct err *err)
{
	char path[PATH_MAX + URL_SIZE + 8];
	enum rc rc;

	(void)snprintf(path, sizeof(path), "%s/lock", data->dir);
	rc = lock_file(path, &data->lock_fd, err);
	if (rc == RC_BUSY)
		return (err_set(err, rc,
		    "data: %s is in use: another twinboxd holds its lock",
		    data->dir));
	if (rc != RC_OK || db_url_multi_writer(data->url) ||
	    !real_path(data, path, sizeof(path) - sizeof(LOCK_TAIL)))
		return (rc);
	memcpy(path + strlen(path), LOCK_TAIL, sizeof(LOCK_TAIL));
	rc = lock_file(path, &data->db_lock_fd, err);
	if (rc == RC_BUSY)
		return (err_set(err, RC_CONFLICT,
		    "db: %s is in use: a twinboxd with another data directory "
		    "holds %s",
		    data_database(data), path));
	return (rc);
}

void
data_name(const struct config *config, struct data *ret)
{

	*ret = (struct data)DATA_INIT;
	ret->dir = config->data;
	if (config->db[0] != '\0')
		(void)snprintf(ret->url, sizeof(ret->url), "%s", config->db);
	else
		(void)snprintf(ret->url, sizeof(ret->url),
		    "sqlite:%s/twinbox.db", config->data);
}

const char *
data_database(const struct data *data)
{

	return (db_url_multi_writer(data->url) ? "the PostgreSQL database"
					       : strchr(data->url, ':') + 1);
}

void
data_new_epoch(struct rnd *rnd, char ret[EPOCH_LEN + 1])
{
	static const char hex[] = "0123456789abcdef";
	uint8_t random[EPOCH_LEN / 2];
	size_t i;

	rnd_fill(rnd, random, sizeof(random));
	for (i = 0; i < EPOCH_LEN; i++)
		ret[i] = hex[random[i / 2] >> (i % 2 * 4) & 15];
	ret[EPOCH_LEN] = '\0';
}

enum rc
data_open(const struct config *config, struct data *ret, struct err *err)
{
	struct data data;
	enum rc rc;

	data_name(config, &data);
	if ((rc = make_directory(config->data, err)) != RC_OK)
		return (rc);
	data.dir_fd = open(config->data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (data.dir_fd < 0)
		return (err_set_sys(err, rc_of_place(errno), errno,
		    "data: cannot open %s", config->data));
	if ((rc = check_directory(&data, err)) == RC_OK &&
	    (rc = check_folder(&data, err)) == RC_OK &&
	    (rc = check_files(&data, err)) == RC_OK &&
	    (rc = become_owner(&data, err)) == RC_OK)
		rc = take_locks(&data, err);
	if (rc == RC_OK)
		rc = replaced_undo(&data, err);
	if (rc != RC_OK && rc != RC_BUSY)
		data_close(&data);
	*ret = data;
	return (rc);
}

void
data_close(struct data *data)
{

	if (data->db_lock_fd >= 0)
		(void)close(data->db_lock_fd);
	if (data->lock_fd >= 0)
		(void)close(data->lock_fd);
	if (data->dir_fd >= 0)
		(void)close(data->dir_fd);
	data->db_lock_fd = data->lock_fd = data->dir_fd = -1;
}

struct db_options
data_db_options(const struct data *data)
{

	return ((struct db_options){.url = data->url,
	    .timing = timing_process(),
	    .mode = DB_READER,
	    .sync = DB_SYNC_FULL,
	    .schema = db_url_multi_writer(data->url) ? &sql_postgres_schema
						     : &sql_sqlite_schema});
}

void
data_waits(const struct err *err, const char *what)
{
	static int64_t told_ms; /* a process starts only once */
	const int64_t now = clk_mono_ms(clk_system());

	if (told_ms != 0 && now - told_ms < timing_process()->log_wait_ms)
		return;
	told_ms = now;
	log_error(LOG_EV_STORE_WAIT, err, "for=%s", what);
}

static void
waits_for(void *arg, const char *what)
{
	atomic_bool *waiting = arg;

	if (waiting != NULL)
		atomic_store(waiting, true);
	data_waits(NULL, what);
}

enum rc
data_connect(const struct data *data, struct db **ret, struct err *err)
{
	struct db_options options = data_db_options(data);
	enum rc rc;

	options.mode = DB_WRITER;
	options.waits = waits_for;
	options.waits_arg = data->waiting;
	rc = db_open(&options, ret, err);
	/* A writer creates the file, so RC_NOT_FOUND means that its folder is
	 * missing. */
	return (rc == RC_NOT_FOUND ? (err->rc = RC_SETTING) : rc);
}

enum rc
data_open_db(const struct data *data, struct db **ret, struct err *err)
{
	struct db *db;
	enum rc rc;

	if ((rc = data_connect(data, &db, err)) != RC_OK)
		return (rc);
	rc = migrate_data(data, db, err);
	if (rc != RC_OK)
		db_close(db);
	else
		*ret = db;
	return (rc);
}

/* Opens the existing database of ${data} with ${mode}, DB_READER or DB_COPIER,
 * neither of which writes.  The caller closes ${*ret}, which is set on success
 * only.  RC_INVALID: its schema is older or newer than this program's; other
 * errors as db_open(). */
static enum rc
open_to_look(const struct data *data, enum db_mode mode, struct db **ret,
    struct err *err)
{
	struct db_options options = data_db_options(data);
	int has, newest;
	struct db *db;
	enum rc rc;

	options.mode = mode;
	if ((rc = db_open(&options, &db, err)) != RC_OK)
		return (rc);
	rc = db_schema_number(db, &has, &newest, err);
	if (rc == RC_OK && has < newest)
		rc = err_set(err, RC_INVALID,
		    "%s has schema %d, this program looks at %d: see twinboxd "
		    "migrate",
		    data_database(data), has, newest);
	if (rc != RC_OK)
		db_close(db);
	else
		*ret = db;
	return (rc);
}

/* Checks that the file of an SQLite database exists and can be read, because
 * SQLite's own error would not say why it cannot.  Errors: as rc_of_opening(),
 * but RC_SETTING if no file can have that path.  Returns RC_OK on
 * PostgreSQL. */
static enum rc
check_readable(const struct data *data, struct err *err)
{
	const char *path = data_database(data);
	enum rc rc;

	if (db_url_multi_writer(data->url) || access(path, R_OK) == 0)
		return (RC_OK);
	rc = rc_of_opening(errno);
	return (err_set_sys(err, rc == RC_INVALID ? RC_SETTING : rc, errno,
	    "cannot read the database %s", path));
}

enum rc
data_look(const struct config *config, enum db_mode mode, struct db **ret,
    struct err *err)
{
	struct data data;
	enum rc rc;

	data_name(config, &data);
	if ((rc = check_readable(&data, err)) != RC_OK)
		return (rc);
	if (!db_url_multi_writer(data.url) &&
	    ((rc = check_directory(&data, err)) != RC_OK ||
		(rc = check_files(&data, err)) != RC_OK))
		return (rc);
	return (open_to_look(&data, mode, ret, err));
}

enum rc
data_look_elsewhere(const char *url, struct db **ret, struct err *err)
{
	struct data data = DATA_INIT;
	enum rc rc;

	if (strlen(url) >= sizeof(data.url))
		return (err_set(err, RC_INVALID, "the url is too long"));
	memcpy(data.url, url, strlen(url) + 1);
	if ((rc = check_readable(&data, err)) != RC_OK)
		return (rc);
	if (!db_url_multi_writer(url) &&
	    (rc = regular_file_check(data_database(&data), err)) != RC_OK)
		return (rc);
	return (open_to_look(&data, DB_READER, ret, err));
}
