/* SPDX-License-Identifier: MIT */
/*
 * Declarations shared by the files of the program twinboxd: the data
 * directory, opening and migrating the database, the commands, the control
 * socket, the server.  The main thread calls these functions, except that for a
 * PostgreSQL database the thread `open` of a starting server (opening.c) calls
 * those that open and migrate it and make its epoch.
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
	int lock_fd;    /* of the directory; -1: not held */
	int db_lock_fd; /* of the SQLite file; -1: not held */
	/* Set when a migration waits for another node's migration.  NULL: no
	 * flag. */
	atomic_bool *waiting;
	char url[URL_SIZE];
};

#define DATA_INIT                                                              \
	{                                                                      \
		.dir = NULL, .dir_fd = -1, .lock_fd = -1, .db_lock_fd = -1,    \
		.waiting = NULL, .url = ""                                     \
	}

/* Fills ${ret} with the place of ${config}'s database.  Opens nothing. */
void data_name(const struct config *config, struct data *ret);

/* Returns the path of ${data}'s SQLite file (borrowed from ${data}), or for a
 * PostgreSQL database the words "the PostgreSQL database", for error texts. */
const char *data_database(const struct data *data);

/* Opens the existing database of ${config} for reading, even while a server
 * serves it: does not take the lock of the data directory, and creates no
 * database (SQLite may create the files -wal and -shm).  ${mode}: DB_READER, or
 * DB_COPIER for SQLite.  ${*ret} is set only if RC_OK; db_close() frees it.
 * RC_INVALID: the schema is older or newer than this program's, or as
 * db_open().  For SQLite, RC_NOT_FOUND: the file does not exist; RC_DENIED: the
 * file may not be read, or the group or others may write to it, to -wal, to
 * -shm or to the data directory; RC_SETTING: one of the three files is not a
 * regular file, or the path cannot name a file (a part of it is not a folder,
 * say).  Other errors: as db_open(). */
enum rc data_look(const struct config *config, enum db_mode mode,
    struct db **ret, struct err *err) MUST_USE;

/* As data_look() with DB_READER, but opens the database at ${url}, which
 * belongs to another server, and checks neither modes nor the files -wal and
 * -shm.  If ${url} has URL_SIZE bytes or more, or names an SQLite file that is
 * not a regular file, the result is RC_INVALID (not RC_SETTING). */
enum rc data_look_elsewhere(
    const char *url, struct db **ret, struct err *err) MUST_USE;

/* Fills ${ret} with a new epoch, EPOCH_LEN random hexadecimal digits and the
 * NUL; the caller stores it in the database.  A database gets a new epoch when
 * its inboxes may have other events under numbers that clients have seen. */
void data_new_epoch(struct rnd *rnd, char ret[EPOCH_LEN + 1]);

/* data_open() opens ${config}'s data directory, creates it and its missing
 * parents (0700) if they do not exist, and takes its lock and that of the
 * SQLite file (data.c).  A program that runs as root changes its user and
 * group, for good, to those of the directory's owner after the directory is
 * opened and before the locks are taken.  After the locks are taken,
 * data_open() calls replaced_undo(), which gives the database its log back if a
 * restore was interrupted.  RC_BUSY: another twinboxd holds the lock of the
 * directory; ${ret} is then open without locks, and must be closed with
 * data_close(), as after RC_OK.  After other errors there is nothing to close.
 * RC_CONFLICT: a twinboxd with another data directory holds the lock of the
 * SQLite file.  RC_SETTING: the path does not or cannot name a directory, or
 * the SQLite file, its -wal or its -shm is not a regular file.  RC_DENIED: a
 * right is missing, or the group or others may write to the directory, to these
 * files or to their folder.  ${ret} borrows the path of ${config}. */
enum rc data_open(
    const struct config *config, struct data *ret, struct err *err) MUST_USE;
/* Releases the locks; the caller has closed the database. */
void data_close(struct data *data);

/* data_connect() opens a connection for writing to the database of ${data}, and
 * creates the SQLite file if it does not exist.  data_open_db() does the same
 * and then calls migrate_data().  ${*ret} is set only if RC_OK; db_close()
 * frees it.  RC_SETTING: the folder of the SQLite file does not exist; other
 * errors: as db_open(), and for data_open_db() also as migrate_data(). */
enum rc data_connect(
    const struct data *data, struct db **ret, struct err *err) MUST_USE;
enum rc data_open_db(
    const struct data *data, struct db **ret, struct err *err) MUST_USE;

/* Brings the schema of ${db} up to date.  Before a migration, copies an SQLite
 * database that has users (migrate.c); if the copy fails, migrates nothing.
 * Makes no copy if ${data} has no open directory (dir_fd is -1): ${db} is then
 * the copy that a restore works on.  RC_FULL: there is no space for the copy or
 * for the migration; RC_INVALID: the schema is newer than this program's; other
 * errors: as db_migrate(), or of making the copy. */
enum rc migrate_data(
    const struct data *data, struct db *db, struct err *err) MUST_USE;

/* Compares ${db} with DATA/mark, which holds the epoch and the last outbox id
 * of the database that was served last (rollback.c).  RC_INVALID: ${db} has
 * another epoch than the mark, or a lower last outbox id, or it has no epoch
 * (it is empty) although there is a mark, intact or damaged.  If the mark
 * cannot be opened or read, errors as position_read().  If ${accept} is true,
 * all these errors are logged instead of returned: the result is RC_OK, and
 * ${*ret_rollback} is true, so the caller must give ${db} a new epoch.  The
 * same happens, even without ${accept}, if the mark is damaged and ${db} is not
 * empty.  A missing mark gives RC_OK, and is logged unless ${db} is empty.  An
 * error of reading ${db} is always returned.  ${*ret_rollback} is true only if
 * ${db} needs a new epoch. */
enum rc rollback_check(const struct data *data, struct db *db, bool accept,
    bool *ret_rollback, struct err *err) MUST_USE;

/* Writes DATA/mark for ${db}, all of whose rows are on disk. */
enum rc rollback_set_position(
    const struct data *data, struct db *db, struct err *err) MUST_USE;

/* Logs that the start of a server, or a command that migrates a PostgreSQL
 * database, waits for ${what}.  A call less than log_wait_ms (milliseconds,
 * base/timing.h) after the newest call that logged does nothing, even if
 * ${what} differs.  ${err}: the newest failure; NULL: none is known.  Thread:
 * main, or `open` (opening.c) while main waits for it. */
void data_waits(const struct err *err, const char *what);

/* Returns options with which db_open() opens the database of ${data}.  The mode
 * is DB_READER; the caller may change the mode and every other member.  The
 * options borrow the URL of ${data}. */
struct db_options data_db_options(const struct data *data);

/* ---- files (files.c) ---- */

/* files_sync() opens ${path} with the open(2) flags ${flags}, syncs and closes
 * it.  files_sync_folder_of() syncs the folder that contains ${path}, and with
 * it the directory entry of ${path}.  files_rename_synced() renames ${from} to
 * ${to}, replacing ${to} if it exists, and then syncs the folder of ${to}; if
 * this sync fails, the rename is not undone.  Errors: RC_IO for a failed sync,
 * else as rc_of_opening(). */
enum rc files_sync(const char *path, int flags, struct err *err) MUST_USE;
enum rc files_sync_folder_of(const char *path, struct err *err) MUST_USE;
enum rc files_rename_synced(
    const char *from, const char *to, struct err *err) MUST_USE;

/* The same, but replaces nothing: RC_EXISTS if ${to} exists. */
enum rc files_rename_new_synced(
    const char *from, const char *to, struct err *err) MUST_USE;

/* Creates a new empty file (0600) beside ${path}, called PATH.XXXXXXXX.part
 * with eight random hexadecimal digits, and closes it.  Stores the name in
 * ${ret}, an array of ${size} bytes; the caller checks that the name fits.
 * Errors: as rc_of_opening(). */
enum rc files_make_part_of(
    const char *path, char *ret, size_t size, struct err *err) MUST_USE;

/* ---- the old database of a restore (replaced.c) ---- */

/* The steps of a restore that replaces the SQLite database PATH of ${data},
 * whose locks the caller has.  replaced_keep() moves the write-ahead log into
 * the file, if it can, and gives the file the second name PATH.replaced (a hard
 * link); an older PATH.replaced is removed first.  The name PATH stays until
 * the caller renames the new database to it: if there were no database for a
 * moment, a server that starts then would make a new one.  replaced_take_log()
 * renames the log, if it still exists, to PATH.replaced-wal; the caller renames
 * the new database next.  Both functions do nothing if PATH does not exist.
 * Errors: RC_IO for a failed sync, else as rc_of_opening(). */
enum rc replaced_keep(const struct data *data, struct err *err) MUST_USE;
enum rc replaced_take_log(const struct data *data, struct err *err) MUST_USE;

/* Gives the old database its log back (renames PATH.replaced-wal to PATH-wal)
 * if a restore has ended, by a crash or an error, between replaced_take_log()
 * and the renaming of the new database to PATH.  Otherwise, and on PostgreSQL,
 * does nothing.  Errors: as replaced_take_log(). */
enum rc replaced_undo(const struct data *data, struct err *err) MUST_USE;

/* ---- signals that end a command (interrupt.c) ---- */

/* From now on each of SIGINT, SIGTERM and SIGHUP does what the functions below
 * have registered, and then ends the process; a signal that the process ignores
 * at this call (because of nohup, say) stays ignored.  For commands, not for
 * the server; thread: main. */
void interrupt_allow(void);

/* After interrupt_removes(), a signal of interrupt_allow() removes ${path}
 * (copied) and its -journal, -wal and -shm before it ends the command.  At most
 * 4 paths may be registered at a time (a fifth is a failed assertion).
 * interrupt_keeps() cancels the registration of ${path} and touches no file. */
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
 * NULL before, becomes the value (borrowed from ${argv}), or "" if ${flag} is
 * the last argument; the argument after ${flag} is its value even if it begins
 * with "--".  ${*ret} stays NULL if the flag was not given. */
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

/* Checks ${config}'s database as `twinboxd fsck` does (without --with-peer),
 * and prints the violations (at most FSCK_PLACES of each kind) and the totals.
 * Returns the exit code.  EX_OK: there are no violations; EX_DATAERR: there are
 * violations, the file is damaged, or data_look() returned RC_INVALID (another
 * schema, say); after other errors, as main_file_code(). */
int fsck_show(const struct config *config);

/* ---- checking the way to another server (check_federation.c) ---- */

/* `twinboxd check-federation …`.  Returns the exit code. */
int check_federation_main(int argc, char **argv);

/* ---- copying into another database (copy.c) ---- */

/* `twinboxd copy …`.  Returns the exit code. */
int copy_main(int argc, char **argv);

/* ---- the control socket (control.c) ---- */

struct control;

/* Listens at DATA/control (0600) and starts the control thread, which does the
 * operations of commands with ${readers} and ${writer}; replaces a socket that
 * a killed server has left.  ${data} must hold the lock of the data directory.
 * ${data}, ${readers} and ${writer} must live until control_stop(), which also
 * frees ${*ret}.  Errors: RC_NO_MEMORY, also if the thread cannot be started;
 * for the socket as rc_of_opening(). */
enum rc control_start(const struct data *data, struct writer *writer,
    struct readers *readers, struct control **ret, struct err *err) MUST_USE;
/* Ends the thread and removes the socket.  NULL is allowed. */
void control_stop(struct control *control);

/* Sends ${o} to the server that holds the lock of ${data}, and waits for the
 * answer.  RC_OK: the server has done ${o}; the answer's text is in o->text.
 * RC_PEER: no server accepts the connection, so ${o} was not sent, or the
 * answer is not valid, and ${o} may be done or not.  RC_UNCERTAIN: the request
 * could not be sent, or no complete answer came (5 s passed without a byte, or
 * the connection failed), and ${o} may be done or not.  Any other error is the
 * one with which the operation failed at the server, with its text in
 * ${err}. */
enum rc control_call(
    const struct data *data, struct operation *o, struct err *err) MUST_USE;

/* ---- the server (serve.c, start.c, stop.c) ---- */

/* `twinboxd serve …`.  Returns the exit code. */
int serve_main(int argc, char **argv);

/* ---- the service manager (notify.c) ---- */

/* Sends the lines that ${fmt} makes ("READY=1" and the like), in one datagram,
 * to the socket of the service manager, which the environment variable
 * NOTIFY_SOCKET names.  Returns true if the datagram was sent; false if the
 * variable is not set or not valid, if the lines have more than 511 bytes, or
 * if sending failed.  Callers ignore the result. */
bool notify_manager(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* ---- messages for people (main.c, version.c) ---- */

/* Appends the versions of twinboxd and of the libraries, one per line. */
void version_write(struct buf *out);

/* Prints "twinboxd: text" to stderr; returns ${code}. */
int main_complain(int code, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Returns the exit code of a command that ends because of ${rc}: EX_NOINPUT for
 * RC_NOT_FOUND, else rc_exit_code().  For commands where RC_NOT_FOUND means
 * that a file or a database is missing. */
int main_file_code(enum rc rc);

/* Returns the exit code as main_file_code() does, but EX_CONFIG for RC_INVALID:
 * for commands where RC_INVALID is about the settings or the database that they
 * name. */
int main_config_code(enum rc rc);

/* Parses the settings of a subcommand into ${ret}.  Returns -1 if the command
 * may go on.  Otherwise the command ends with the exit code that is returned:
 * this function has printed the error, or the text of --help or --version, or
 * nothing if ${argc} is -1 (EX_USAGE; see main_take_flag()). */
int main_settings(int argc, char **argv, struct config *ret);

/* Reads the file that the setting federation-ca names into ${ret}, which stays
 * empty if that setting is empty or federation is off (federate.c).  ${ret}
 * must be empty before; the caller frees it after RC_OK, and it is empty after
 * an error.  RC_INVALID, with the setting's name in ${err}: the file does not
 * exist, cannot be read, is not a regular file, is larger than AUTHORITIES_LEN
 * bytes, or has no certificate or a damaged one; RC_NO_MEMORY. */
enum rc federate_authorities(
    const struct config *config, struct buf *ret, struct err *err) MUST_USE;

/* Refuses operands.  Returns -1 if there are none, or the exit code. */
int main_no_operands(const struct config *config);

#endif
