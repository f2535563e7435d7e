/* SPDX-License-Identifier: MIT */
/*
 * What the files of the program share: the data directory, the database before
 * it serves, the commands, the control socket, the server.
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
	/* Set when a migration waits for another node's.  NULL: not wanted. */
	atomic_bool *waiting;
	char url[URL_SIZE];
};

#define DATA_INIT                                                              \
	{                                                                      \
		.dir = NULL, .dir_fd = -1, .lock_fd = -1, .waiting = NULL,     \
		.url = ""                                                      \
	}

/* Says where ${config}'s database is; opens nothing. */
void data_name(const struct config *config, struct data *ret);

/* What ${data}'s database is called for people: its file. */
const char *data_database(const struct data *data);

/* Opens the database that is there for looking at it (${mode}: DB_READER or
 * DB_COPIER), even if a server serves it: without the lock, and without making
 * any. RC_INVALID: it is of another schema than this program's. */
enum rc data_look(const struct config *config, enum db_mode mode,
    struct db **ret, struct err *err) MUST_USE;

/* The same of the database at ${url}, which is not this server's: others may
 * write to it. */
enum rc data_look_elsewhere(
    const char *url, struct db **ret, struct err *err) MUST_USE;

/* A new name for the times of a database; it changes when its inboxes may have
 * other events under the same numbers. */
void data_new_epoch(struct rnd *rnd, char ret[EPOCH_LEN + 1]);

/* Opens ${config}'s directory, made if need be (0700), and takes its lock;
 * root becomes its owner for good.  RC_BUSY: a server holds it (the directory
 * is open then). */
enum rc data_open(
    const struct config *config, struct data *ret, struct err *err) MUST_USE;
void data_close(struct data *data);

/* Opens the write connection, and no more; then also migrates. */
enum rc data_connect(
    const struct data *data, struct db **ret, struct err *err) MUST_USE;
enum rc data_open_db(
    const struct data *data, struct db **ret, struct err *err) MUST_USE;

/* Brings the schema up to date (migrate.c); a database with content is copied
 * before.  RC_FULL: there is no room for that. */
enum rc migrate_data(
    const struct data *data, struct db *db, struct err *err) MUST_USE;

/* Compares ${db} with DATA/mark (rollback.c).  RC_INVALID: it is not the one
 * that was served last, or not all of it; with ${accept} it is taken and
 * ${ret_rollback} says so: it must be given another epoch. */
enum rc rollback_check(const struct data *data, struct db *db, bool accept,
    bool *ret_rollback, struct err *err) MUST_USE;

/* Writes the mark of ${db}, all of which is on disk. */
enum rc rollback_set_position(
    const struct data *data, struct db *db, struct err *err) MUST_USE;

/* Logs what a start waits for, at most once each log_wait_ms.  ${err}: what
 * went wrong; may be NULL.  Thread: one. */
void data_waits(const struct err *err, const char *what);

/* For readers: the same database, any mode. */
struct db_options data_db_options(const struct data *data);

/* ---- files (files.c) ---- */

/* Waits until ${path} (opened with ${flags}) is on disk; until the entry of
 * ${path} in its folder is; renames for good. */
enum rc files_sync(const char *path, int flags, struct err *err) MUST_USE;
enum rc files_sync_folder_of(const char *path, struct err *err) MUST_USE;
enum rc files_rename_synced(
    const char *from, const char *to, struct err *err) MUST_USE;

/* The same, but replaces nothing: RC_EXISTS when there is a ${to}. */
enum rc files_rename_new_synced(
    const char *from, const char *to, struct err *err) MUST_USE;

/* Makes ${ret} of ${size} bytes the name of a new empty file beside ${path}
 * (0600), which was nobody's before. */
enum rc files_make_part_of(
    const char *path, char *ret, size_t size, struct err *err) MUST_USE;

/* ---- signals that end a command (interrupt.c) ---- */

/* From now on SIGINT, SIGTERM and SIGHUP end the process, those that are
 * ignored excepted.  For commands only; thread: main. */
void interrupt_allow(void);

/* A signal removes ${path} (copied) and what SQLite has beside it; no more.  At
 * most 4 at a time. */
void interrupt_removes(const char *path);
void interrupt_keeps(const char *path);

/* A signal gives the terminal ${fd} its ${settings} (copied) back; -1: none. */
void interrupt_resets_terminal(int fd, const struct termios *settings);

/* ---- commands about users (users.c) ---- */

/* Prints how the commands are called that begin with ${word}: EX_USAGE. */
int main_usage(const char *word);

/* Takes ${flag} out of the arguments: how many are left.  *ret, which is false
 * before: it was there.  -1: it was there twice, which is reported; the other
 * main_take_ functions keep ${argc} -1, and main_settings() returns EX_USAGE
 * for it. */
int main_take_flag(int argc, char **argv, const char *flag, bool *ret);

/* The same of a flag with a value, "--flag VALUE" or "--flag=VALUE"; *ret is
 * NULL before, untouched if it is not there, "" without a value. */
int main_take_value(int argc, char **argv, const char *flag, const char **ret);

/* `twinboxd user …`: the exit code. */
int users_main(int argc, char **argv);

/* `twinboxd user list`: the exit code (users_list.c). */
int users_list(const struct config *config, bool json);

/* ---- commands about keys (keys.c) ---- */

/* `twinboxd keys …`: the exit code. */
int keys_main(int argc, char **argv);

/* ---- back-ups (backup.c) ---- */

/* `twinboxd backup …`, `twinboxd restore …`: the exit code. */
int backup_main(int argc, char **argv);
int restore_main(int argc, char **argv);

/* ---- looking at the database (fsck.c) ---- */

/* Prints a violation to ${arg}, a FILE.  Its place may hold bytes of a damaged
 * database. */
void fsck_print_found(void *arg, const char *what, const char *place);

/* `twinboxd fsck …`: the exit code. */
int fsck_main(int argc, char **argv);

/* Looks at ${config}'s database and prints what was found, as fsck does: the
 * exit code. */
int fsck_show(const struct config *config);

/* ---- looking at the way to another server (check_federation.c) ---- */

/* `twinboxd check-federation …`: the exit code. */
int check_federation_main(int argc, char **argv);

/* ---- into another database (copy.c) ---- */

/* `twinboxd copy …`: the exit code. */
int copy_main(int argc, char **argv);

/* ---- the control socket (control.c) ---- */

struct control;

/* Listens at DATA/control (0600) and starts its thread. */
enum rc control_start(const struct data *data, struct writer *writer,
    struct readers *readers, struct control **ret, struct err *err) MUST_USE;
/* Ends the thread, removes the socket.  NULL is allowed. */
void control_stop(struct control *control);

/* Has the running server do ${o}, and fills its text.  RC_PEER: there is none
 * that answers; RC_UNCERTAIN: it did not answer in time. */
enum rc control_call(
    const struct data *data, struct operation *o, struct err *err) MUST_USE;

/* ---- the server (server.c, stop.c, start.c) ---- */

/* `twinboxd serve …`: the exit code. */
int serve_main(int argc, char **argv);

/* ---- the service manager (notify.c) ---- */

/* Tells the service manager that has started us (NOTIFY_SOCKET) the lines that
 * ${fmt} makes, "READY=1" and the like.  False: there is none, or it could not
 * be told; nothing depends on it. */
bool notify_manager(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* ---- messages for people (main.c, version.c) ---- */

/* Appends the version and those of the libraries, a line each. */
void version_write(struct buf *out);

/* Prints "twinboxd: text" to stderr; returns ${code}. */
int main_complain(int code, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* The exit code of a command that ends because of ${rc}: RC_NOT_FOUND means
 * that a file or database is missing (EX_NOINPUT). */
int main_file_code(enum rc rc);

/* The same where RC_INVALID is about the settings or the database that they
 * name (EX_CONFIG). */
int main_config_code(enum rc rc);

/* Parses settings for a subcommand; -1: go on, else the exit code (also after
 * --help and --version). */
int main_settings(int argc, char **argv, struct config *ret);

/* Reads the file of federation-ca into ${ret}, which stays empty without that
 * setting or without federation.  RC_INVALID, with the setting's name, if it
 * cannot be read or has no certificate; RC_NO_MEMORY (federate.c). */
enum rc federate_authorities(
    const struct config *config, struct buf *ret, struct err *err) MUST_USE;

/* Refuses operands; -1: there are none. */
int main_no_operands(const struct config *config);

#endif
