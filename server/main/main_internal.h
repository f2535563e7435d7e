/* SPDX-License-Identifier: MIT */
/*
 * Shared by the files of the program: the data directory, the database before
 * it serves, the commands, the control socket, the server.  Functions about a
 * command run in the main thread unless they name another.
 */
#ifndef MAIN_MAIN_INTERNAL_H
#define MAIN_MAIN_INTERNAL_H

#include <stdatomic.h>
#include <termios.h>

#include "base/rnd.h"
#include "config/config.h"
#include "crypt/crypt.h"
#include "db/db.h"
#include "engine/reader.h"
#include "engine/writer.h"
#include "main/operation.h"
#include "txn/env.h"

#define URL_SIZE (2 * CONFIG_TEXT_SIZE)
#define EPOCH_LEN 32

/* ---- the data directory (data.c) ---- */

struct data {
	const char *dir; /* kept */
	int dir_fd;
	int lock_fd; /* -1: not held */
	/* Set when a migration waits for another node's migration.  NULL: no
	 * flag. */
	atomic_bool *waiting;
	char url[URL_SIZE];
};

#define DATA_INIT                                                              \
	{                                                                      \
		.dir = NULL, .dir_fd = -1, .lock_fd = -1, .waiting = NULL,     \
		.url = ""                                                      \
	}

/* Fills ${ret} with the place of ${config}'s database.  Opens nothing. */
void data_name(const struct config *config, struct data *ret);

/* Returns the path of ${data}'s SQLite file (borrowed from ${data}), or for a
 * PostgreSQL database the words "the PostgreSQL database", for error texts. */
const char *data_database(const struct data *data);

/* Opens an existing database for reading (${mode}: DB_READER or DB_COPIER),
 * even while a server serves it: takes no lock and creates no database (SQLite
 * may create the files -wal and -shm).  RC_INVALID: its schema is older or
 * newer than this program's.  RC_NOT_FOUND: it does not exist.  RC_DENIED: it
 * may not be read, or others may write to its files or to the data directory.
 * RC_SETTING: its path cannot be one, or is not a regular file. */
enum rc data_look(const struct config *config, enum db_mode mode,
    struct db **ret, struct err *err) MUST_USE;

/* Opens the existing database at ${url}, which belongs to another server, for
 * reading.  Does not check the modes of its files.  Errors: as data_look(), but
 * RC_INVALID also if ${url} is too long or its file is not a regular one. */
enum rc data_look_elsewhere(
    const char *url, struct db **ret, struct err *err) MUST_USE;

/* Makes a new epoch: EPOCH_LEN random hexadecimal digits, and the NUL.  A
 * database gets a new epoch when its inboxes may have other events under
 * numbers that clients have seen. */
void data_new_epoch(struct rnd *rnd, char ret[EPOCH_LEN + 1]);

/* data_open() opens ${config}'s directory, creates it (0700) if it does not
 * exist, and takes its lock.  If the program runs as root, it becomes the
 * directory's owner for good.  RC_BUSY: another twinboxd holds the lock; then
 * ${ret} is open, too, and must be closed.  RC_SETTING: the path cannot be a
 * directory, or the database is not a regular file.  RC_DENIED: a right is
 * missing, or others may write there.  ${ret} borrows the path of ${config}. */
enum rc data_open(
    const struct config *config, struct data *ret, struct err *err) MUST_USE;
void data_close(struct data *data);

/* data_connect() opens a connection for writing, and creates the SQLite file if
 * it does not exist.  RC_SETTING: the folder of the file does not exist.
 * data_open_db() also migrates the schema. */
enum rc data_connect(
    const struct data *data, struct db **ret, struct err *err) MUST_USE;
enum rc data_open_db(
    const struct data *data, struct db **ret, struct err *err) MUST_USE;

/* Brings the schema up to date.  Before a migration, copies an SQLite database
 * with content, unless ${data} has no open directory: then ${db} is a copy
 * itself (migrate.c).  RC_FULL: there is no space for the copy; RC_INVALID: the
 * schema is newer than this program's. */
enum rc migrate_data(
    const struct data *data, struct db *db, struct err *err) MUST_USE;

/* Compares ${db} with DATA/mark (rollback.c).  RC_INVALID: ${db} is not the
 * database that was served last, or lacks rows of it, or is empty although
 * there is a mark, which may be damaged.  If the mark cannot be read, errors as
 * position_read().  If ${accept} is true, returns RC_OK instead of all these
 * errors and sets ${*ret_rollback}: the caller must give ${db} a new epoch.  If
 * the mark is damaged and ${db} is not empty, does the same without ${accept}.
 * A missing mark is only logged.  An error of reading ${db} is always
 * returned. */
enum rc rollback_check(const struct data *data, struct db *db, bool accept,
    bool *ret_rollback, struct err *err) MUST_USE;

/* Writes DATA/mark for ${db}, all of whose rows are on disk. */
enum rc rollback_set_position(
    const struct data *data, struct db *db, struct err *err) MUST_USE;

/* Logs that a start waits for ${what}, at most once in log_wait_ms, whatever
 * ${what} is.  ${err}: the last failure, or NULL.  Thread: the one that
 * starts. */
void data_waits(const struct err *err, const char *what);

/* Returns the options to open the same database, with the mode DB_READER, which
 * the caller may change.  Borrows the URL of ${data}. */
struct db_options data_db_options(const struct data *data);

/* ---- files (files.c) ---- */

/* files_sync() syncs ${path}, opened with ${flags}.  files_sync_folder_of()
 * syncs the folder of ${path}, and with it the entry of ${path}.
 * files_rename_synced() renames, replacing ${to}, and syncs the folder of
 * ${to}.  Errors: RC_IO for a failed sync, else as rc_of_opening(). */
enum rc files_sync(const char *path, int flags, struct err *err) MUST_USE;
enum rc files_sync_folder_of(const char *path, struct err *err) MUST_USE;
enum rc files_rename_synced(
    const char *from, const char *to, struct err *err) MUST_USE;

/* The same, but replaces nothing: RC_EXISTS if ${to} exists. */
enum rc files_rename_new_synced(
    const char *from, const char *to, struct err *err) MUST_USE;

/* Creates a new empty file beside ${path} (0600) and stores its name,
 * PATH.XXXXXXXX.part, in ${ret}, of ${size} bytes.  Errors: as
 * rc_of_opening(). */
enum rc files_make_part_of(
    const char *path, char *ret, size_t size, struct err *err) MUST_USE;

/* ---- signals that end a command (interrupt.c) ---- */

/* From now on SIGINT, SIGTERM and SIGHUP end the process, except those that are
 * ignored.  For commands only; thread: main. */
void interrupt_allow(void);

/* After interrupt_removes() a signal that ends the command removes ${path}
 * (copied) and the files that SQLite puts beside it; at most 4 paths at a time.
 * interrupt_keeps() cancels this for ${path}. */
void interrupt_removes(const char *path);
void interrupt_keeps(const char *path);

/* A signal restores the ${settings} (copied) of the terminal ${fd}; -1: no
 * terminal. */
void interrupt_resets_terminal(int fd, const struct termios *settings);

/* ---- commands about users (users.c) ---- */

/* Prints the usage of the commands that begin with ${word}.  Returns
 * EX_USAGE. */
int main_usage(const char *word);

/* Removes ${flag} from the arguments and returns how many are left.  ${*ret},
 * which must be false before, becomes true if the flag was given.  Returns -1,
 * after a message, if it was given twice.  An ${argc} of -1 is returned as it
 * is, and main_settings() returns EX_USAGE for it. */
int main_take_flag(int argc, char **argv, const char *flag, bool *ret);

/* Removes ${flag} and its value, "--flag VALUE" or "--flag=VALUE", from the
 * arguments.  Returns the same as main_take_flag().  ${*ret}, which must be
 * NULL before, becomes the value, or "" if the flag has none; it stays NULL if
 * the flag was not given. */
int main_take_value(int argc, char **argv, const char *flag, const char **ret);

/* `twinboxd user …`.  Returns the exit code. */
int users_main(int argc, char **argv);

/* `twinboxd user list` (users_list.c).  Returns the exit code. */
int users_list(const struct config *config, bool json);

/* ---- commands about keys (keys.c) ---- */

/* `twinboxd keys …`.  Returns the exit code. */
int keys_main(int argc, char **argv);

/* ---- backups (backup.c) ---- */

/* `twinboxd backup …` and `twinboxd restore …`.  Return the exit code. */
int backup_main(int argc, char **argv);
int restore_main(int argc, char **argv);

/* ---- checking the database (fsck.c) ---- */

/* Prints a violation to ${arg}, a FILE.  Escapes ${place}, which may hold bytes
 * of a damaged database. */
void fsck_print_found(void *arg, const char *what, const char *place);

/* `twinboxd fsck …`.  Returns the exit code. */
int fsck_main(int argc, char **argv);

/* Checks ${config}'s database and prints the findings, as fsck does.  Returns
 * the exit code; EX_DATAERR: there are violations, or the file is damaged. */
int fsck_show(const struct config *config);

/* ---- checking the way to another server (check_federation.c) ---- */

/* `twinboxd check-federation …`.  Returns the exit code. */
int check_federation_main(int argc, char **argv);

/* ---- copying into another database (copy.c) ---- */

/* `twinboxd copy …`.  Returns the exit code. */
int copy_main(int argc, char **argv);

/* ---- the control socket (control.c) ---- */

struct control;

/* Listens at DATA/control (0600) and starts the control thread; replaces a
 * socket that a killed server has left.  ${data} must be open until
 * control_stop().  Errors: RC_NO_MEMORY, also if the thread cannot be started;
 * for the socket as rc_of_opening(). */
enum rc control_start(const struct data *data, struct writer *writer,
    struct readers *readers, struct control **ret, struct err *err) MUST_USE;
/* Ends the thread and removes the socket.  NULL is allowed. */
void control_stop(struct control *control);

/* Sends ${o} to the running server and stores the answer's text in ${o}.
 * RC_PEER: no server answers at the socket, or its answer is not valid;
 * RC_UNCERTAIN: the server did not answer in 5 s, or the connection failed, and
 * it may have done ${o}; any other error is the server's. */
enum rc control_call(
    const struct data *data, struct operation *o, struct err *err) MUST_USE;

/* ---- the server (serve.c, start.c, stop.c) ---- */

/* `twinboxd serve …`.  Returns the exit code. */
int serve_main(int argc, char **argv);

/* ---- the service manager (notify.c) ---- */

/* Sends the lines that ${fmt} makes ("READY=1" and the like) to the service
 * manager that NOTIFY_SOCKET names.  Returns false if there is no such manager,
 * if the lines have more than 511 bytes, or if sending failed; nothing depends
 * on it. */
bool notify_manager(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* ---- messages for people (main.c, version.c) ---- */

/* Appends the versions of twinboxd and of the libraries, one per line. */
void version_write(struct buf *out);

/* Prints "twinboxd: text" to stderr; returns ${code}. */
int main_complain(int code, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Returns the exit code of a command that ends because of ${rc}, where
 * RC_NOT_FOUND means that a file or database is missing (EX_NOINPUT). */
int main_file_code(enum rc rc);

/* Returns the exit code as main_file_code() does, but EX_CONFIG for RC_INVALID:
 * for commands where RC_INVALID is about the settings or the database that they
 * name. */
int main_config_code(enum rc rc);

/* Parses the settings of a subcommand.  Returns -1 if the command may go on, or
 * the exit code with which it ends (also after --help and --version). */
int main_settings(int argc, char **argv, struct config *ret);

/* Reads the file of federation-ca into ${ret}, which stays empty if that
 * setting is empty or federation is off (federate.c).  ${ret} is empty before,
 * and the caller frees it.  RC_INVALID, with the setting's name: the file
 * cannot be read, is larger than AUTHORITIES_LEN, or has no certificate or a
 * damaged one; RC_NO_MEMORY. */
enum rc federate_authorities(
    const struct config *config, struct buf *ret, struct err *err) MUST_USE;

/* Refuses operands.  Returns -1 if there are none, or the exit code. */
int main_no_operands(const struct config *config);

#endif
