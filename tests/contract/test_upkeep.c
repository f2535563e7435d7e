/* SPDX-License-Identifier: MIT */
/*
 * The parts of upkeep besides the purger and the scrubber: the archive, the
 * position, the log that is cut, and the turns that run them.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "contract/rig.h"
#include "schema/sql.h"
#include "upkeep/archive.h"
#include "upkeep/position.h"
#include "upkeep/upkeep.h"

#define SECOND INT64_C(1000)
#define DAY (86400 * SECOND)
#define EPOCH "0123456789abcdef0123456789abcdef"

/* ---- folders and files ---- */

static void
make_folder(char ret[64])
{

	(void)snprintf(ret, 64, "/tmp/twinbox-upkeep-XXXXXX");
	assert_non_null(mkdtemp(ret));
}

static void
remove_folder(const char *path)
{
	struct dirent *entry;
	char name[400];
	DIR *dir;

	assert_non_null(dir = opendir(path));
	while ((entry = readdir(dir)) != NULL) {
		(void)snprintf(
		    name, sizeof(name), "%s/%s", path, entry->d_name);
		(void)unlink(name);
	}
	(void)closedir(dir);
	assert_int_equal(rmdir(path), 0);
}

/* Returns the file's text, or "" if there is no file.  Static storage. */
static const char *
text_of(const char *folder, const char *name)
{
	static char text[1 << 20];
	char path[128];
	size_t n = 0;
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	if ((f = fopen(path, "r")) != NULL) {
		n = fread(text, 1, sizeof(text) - 1, f);
		(void)fclose(f);
	}
	text[n] = '\0';
	return (text);
}

static void
put_text(
    const char *folder, const char *name, const char *mode, const char *text)
{
	char path[128];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	assert_non_null(f = fopen(path, mode));
	(void)fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

/* ---- the archive ---- */

static void
archive(struct archive *a, const char *line, int64_t at)
{
	struct err err = ERR_INIT;

	assert_int_equal(archive_add(a, line, strlen(line), &err), RC_OK);
	assert_int_equal(archive_write(a, at, &err), RC_OK);
}

/* A file for each day of UTC, whole lines only, whatever a crash has left. */
static void
test_archive_file(void **state)
{
	static char torn[20000];
	char dir[64], path[80];
	struct err err = ERR_INIT;
	struct archive *a;
	struct stat st;

	(void)state;
	make_folder(dir);
	(void)snprintf(path, sizeof(path), "%s/deep", dir);
	assert_int_equal(archive_open(path, &a, &err), RC_OK);
	assert_int_equal(archive_write(a, RIG_START_MS, &err), RC_OK);
	assert_string_equal(text_of(path, "twinbox-2023-11-14.jsonl"), "");
	archive(a, "{\"n\":1}", RIG_START_MS);
	archive(a, "{\"n\":2}", RIG_START_MS);
	archive(a, "{\"n\":3}", RIG_START_MS + DAY);
	archive_close(a);
	assert_string_equal(text_of(path, "twinbox-2023-11-14.jsonl"),
	    "{\"n\":1}\n{\"n\":2}\n");
	assert_string_equal(
	    text_of(path, "twinbox-2023-11-15.jsonl"), "{\"n\":3}\n");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);

	/* A line that broke off, shorter and longer than what is read. */
	assert_int_equal(archive_open(path, &a, &err), RC_OK);
	put_text(path, "twinbox-2023-11-14.jsonl", "a", "{\"n\":");
	archive(a, "{\"n\":4}", RIG_START_MS);
	memset(torn, 'x', sizeof(torn) - 1);
	put_text(path, "twinbox-2023-11-14.jsonl", "a", torn);
	archive(a, "{\"n\":5}", RIG_START_MS);
	assert_string_equal(text_of(path, "twinbox-2023-11-14.jsonl"),
	    "{\"n\":1}\n{\"n\":2}\n{\"n\":4}\n{\"n\":5}\n");
	put_text(path, "twinbox-2023-11-14.jsonl", "w", torn);
	archive(a, "{\"n\":6}", RIG_START_MS);
	assert_string_equal(
	    text_of(path, "twinbox-2023-11-14.jsonl"), "{\"n\":6}\n");
	archive_close(a);
	remove_folder(path);
	remove_folder(dir);

	assert_int_equal(archive_open("/proc/none", &a, &err), RC_NOT_FOUND);
}

/* Opens ${dir}, or writes a line to ${held}.  Returns 1 if the error names the
 * place, the cure and the reason, 0 if not, 2 if there is no error. */
static int
cure_is_said(const char *dir, struct archive *held)
{
	struct err err = ERR_INIT;
	struct archive *a;
	enum rc rc, wanted = held == NULL ? RC_DENIED : RC_IO;

	if (held == NULL)
		rc = archive_open(dir, &a, &err);
	else if ((rc = archive_add(held, "{}", 2, &err)) == RC_OK)
		rc = archive_write(held, RIG_START_MS, &err);
	if (rc == RC_OK)
		return (2);
	return (rc == wanted && strstr(err.text, dir) != NULL &&
		strstr(err.text, "ReadWritePaths, ") != NULL &&
		strstr(err.text, strerror(err.sys)) != NULL);
}

#define SOMEBODY 65534
#define NO_NAMESPACE 77

/* In a child: ${dir} is another user's, or on a read-only file system. */
static int
refused(const char *dir, struct archive *held, bool read_only)
{

	if (!read_only)
		return (geteuid() == 0 && setuid(SOMEBODY) != 0
			    ? NO_NAMESPACE
			    : cure_is_said(dir, held));
	if (unshare(geteuid() == 0 ? CLONE_NEWNS
				   : CLONE_NEWUSER | CLONE_NEWNS) != 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount(dir, dir, NULL, MS_BIND, NULL) != 0 ||
	    mount(NULL, dir, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) != 0)
		return (NO_NAMESPACE);
	return (cure_is_said(dir, NULL));
}

static int
in_child(const char *dir, struct archive *held, bool read_only)
{
	int status;
	pid_t pid;

	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(refused(dir, held, read_only));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return (WEXITSTATUS(status));
}

/* An error names the place and the cure if the archive cannot be written, at
 * the start and when a directory is lost later. */
static void
test_archive_refused(void **state)
{
	struct err err = ERR_INIT;
	struct archive *a;
	char dir[64];
	int said;

	(void)state;
	make_folder(dir);
	assert_int_equal(archive_open(dir, &a, &err), RC_OK);
	assert_int_equal(chmod(dir, 0500), 0);
	assert_int_equal(in_child(dir, NULL, false), 1);
	assert_int_equal(in_child(dir, a, false), 1);
	assert_int_equal(chmod(dir, 0700), 0);
	said = in_child(dir, NULL, true);
	if (said == NO_NAMESPACE)
		print_message("# no namespace: read only is not tried\n");
	else
		assert_int_equal(said, 1);
	archive_close(a);
	remove_folder(dir);
}

/* ---- the position ---- */

static void
test_mark_file(void **state)
{
	static const char *const bad[] = {"", "twinbox", "twinbox mark 2\n",
	    "twinbox mark 1\nepoch 12\nnumber 1\n",
	    "twinbox mark 1\nepoch " EPOCH "\nnumber \n",
	    "twinbox mark 1\nepoch " EPOCH "\nnumber 1",
	    "twinbox mark 1\nepoch " EPOCH "\nnumber -1\n",
	    "twinbox mark 1\nepoch " EPOCH "\nnumber 99999999999999999999\n",
	    "twinbox mark 1\nepoch " EPOCH "\nnumber 1\n more\n"};
	struct position mark = {EPOCH, 4711}, got;
	struct err err = ERR_INIT;
	char dir[64];
	size_t i;
	int fd;

	(void)state;
	make_folder(dir);
	fd = open(dir, O_RDONLY | O_DIRECTORY);
	assert_int_equal(position_read(fd, &got, &err), RC_NOT_FOUND);
	assert_int_equal(position_write(fd, &mark, &err), RC_OK);
	assert_string_equal(text_of(dir, "mark"),
	    "twinbox mark 1\nepoch " EPOCH "\nnumber 4711\n");
	assert_string_equal(text_of(dir, "mark.new"), "");
	assert_int_equal(position_read(fd, &got, &err), RC_OK);
	assert_int_equal(position_compare(&got, &mark), POSITION_FITS);
	assert_int_equal(got.number, 4711);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		put_text(dir, "mark", "w", bad[i]);
		if (position_read(fd, &got, &err) != RC_INVALID)
			fail_msg("taken: %s", bad[i]);
	}
	assert_int_equal(position_remove(fd, &err), RC_OK);
	assert_int_equal(position_remove(fd, &err), RC_OK);
	assert_int_equal(position_read(fd, &got, &err), RC_NOT_FOUND);
	(void)close(fd);
	remove_folder(dir);

	got = mark;
	got.number--;
	assert_int_equal(position_compare(&mark, &got), POSITION_BEHIND);
	got.number += 2;
	assert_int_equal(position_compare(&mark, &got), POSITION_FITS);
	got.epoch[0] = 'f';
	assert_int_equal(position_compare(&mark, &got), POSITION_OTHER_EPOCH);
}

/* ---- the log ---- */

static int64_t
log_size(struct rig *r)
{
	struct stat st;
	char path[128];

	(void)snprintf(path, sizeof(path), "%s-wal", r->path);
	return (stat(path, &st) == 0 ? (int64_t)st.st_size : 0);
}

static void
test_log_is_cut(void **state)
{
	int64_t alice;
	struct rig r;
	int i;

	(void)state;
	rig_open(&r);
	alice = rig_user(&r, "alice", NULL);
	(void)rig_user(&r, "bob", NULL);
	for (i = 0; i < 50; i++)
		(void)rig_send(&r, alice, "bob", "hello", NULL);
	assert_true(log_size(&r) > 0);
	/* A reader prevents it: nothing waits, nothing is lost. */
	assert_int_equal(
	    sqlite3_exec(r.look, "BEGIN; SELECT * FROM meta", 0, 0, 0),
	    SQLITE_OK);
	writer_truncate_log(r.writer);
	assert_int_equal(writer_run_once(r.writer), 0);
	assert_true(log_size(&r) > 0);
	assert_int_equal(sqlite3_exec(r.look, "ROLLBACK", 0, 0, 0), SQLITE_OK);
	assert_int_equal(writer_run_once(r.writer), 0);
	assert_true(log_size(&r) > 0); /* one request is one attempt */
	writer_truncate_log(r.writer);
	assert_int_equal(writer_run_once(r.writer), 0);
	assert_int_equal(log_size(&r), 0);
	assert_int_equal(writer_stats_get(r.writer).log_bytes, 0);
	/* All verbs work. */
	(void)rig_send(&r, alice, "bob", "hello again", NULL);
	assert_int_equal(rig_deliver(&r), 51);
	rig_restart(&r);
	rig_check_promises(&r);
	rig_close(&r);
}

/* ---- all parts ---- */

struct kept {
	struct rig r;
	char dir[64], archive[80];
	int fd, hooked;
	struct metrics *metrics;
	struct upkeep *upkeep;
};

static void
count_hook(void *arg, struct db *db)
{
	struct kept *k = arg;

	assert_false(db_in_transaction(db));
	k->hooked++;
}

static void
make_upkeep(struct kept *k)
{
	struct db_options db = {
	    .url = k->r.url, .mode = DB_READER, .schema = &sql_sqlite_schema};
	struct upkeep_options o = {.db = &db,
	    .clk = &k->r.clk.clk,
	    .writer = k->r.writer,
	    .metrics = k->metrics,
	    .dir_fd = k->fd,
	    .epoch = EPOCH,
	    .retention_ms = {DAY, DAY, DAY, DAY, DAY, DAY, DAY},
	    .purge_rate = 2000,
	    .scrub_rate = 200,
	    .archive = k->archive,
	    .hooks = {{count_hook, k, 5 * SECOND}},
	    .nhooks = 1};
	struct err err = ERR_INIT;

	if (upkeep_new(&o, &k->upkeep, &err) != RC_OK)
		fail_msg("%s", err.text);
}

/* Runs turns for ${ms}.  The writer has no thread here. */
static void
keep_up(struct kept *k, int64_t ms)
{
	int64_t end = clk_mono_ms(&k->r.clk.clk) + ms, next, now;

	while ((now = clk_mono_ms(&k->r.clk.clk)) < end) {
		next = upkeep_turn(k->upkeep);
		(void)writer_run_once(k->r.writer);
		clk_fake_advance(
		    &k->r.clk, next > now && next < end ? next - now : 1);
	}
}

static int64_t
mark_number(struct kept *k)
{
	struct err err = ERR_INIT;
	struct position mark;

	assert_int_equal(position_read(k->fd, &mark, &err), RC_OK);
	assert_string_equal(mark.epoch, EPOCH);
	return (mark.number);
}

/* Returns how many times ${needle} is in ${text}. */
static int
times(const char *text, const char *needle)
{
	int n;

	for (n = 0; (text = strstr(text, needle)) != NULL; n++)
		text += strlen(needle);
	return (n);
}

/* Position, archive before deletion, log and hook, each at its time. */
static void
test_turns(void **state)
{
	int64_t alice, bob, phone;
	const char *text;
	struct uuid id;
	char id_text[UUID_TEXT_LEN + 1], day[CLK_RFC3339_SIZE], name[40];
	struct kept k;
	int i;

	(void)state;
	memset(&k, 0, sizeof(k));
	rig_open(&k.r);
	make_folder(k.dir);
	(void)snprintf(k.archive, sizeof(k.archive), "%s/archive", k.dir);
	k.fd = open(k.dir, O_RDONLY | O_DIRECTORY);
	k.metrics = metrics_new();
	make_upkeep(&k);
	keep_up(&k, 10);
	assert_int_equal(mark_number(&k), 0);

	alice = rig_user(&k.r, "alice", NULL);
	bob = rig_user(&k.r, "bob", &phone);
	id = uuid_gen_next(&k.r.ids);
	(void)rig_send(&k.r, alice, "bob", "a secret", &id);
	for (i = 0; i < 299; i++)
		(void)rig_send(&k.r, alice, "bob", "hello", NULL);
	keep_up(&k, 1100);
	assert_int_equal(mark_number(&k), 300);
	(void)rig_deliver(&k.r);
	(void)rig_ack(&k.r, bob, phone, 300);
	(void)rig_deliver(&k.r);
	keep_up(&k, 1100);
	assert_int_equal(mark_number(&k), 301); /* the receipt */
	assert_true(log_size(&k.r) > 256 * 1024);
	/* The log is cut 10 s after the turn that sees the last commit. */
	keep_up(&k, 10 * SECOND - 1100);
	assert_true(log_size(&k.r) > 0);
	keep_up(&k, SECOND + 1);
	assert_int_equal(log_size(&k.r), 0);
	keep_up(&k, 4 * SECOND);
	assert_in_range(k.hooked, 3, 5);

	clk_fake_advance(&k.r.clk, 8 * DAY);
	clk_format_rfc3339(k.r.clk.wall_ms, day);
	(void)snprintf(name, sizeof(name), "twinbox-%.10s.jsonl", day);
	keep_up(&k, 30 * SECOND);
	assert_int_equal(rig_number(&k.r, "SELECT count(*) FROM outbox"), 1);
	assert_int_equal(mark_number(&k), 301);
	assert_int_equal(
	    metrics_get_by(k.metrics, METRIC_BY_PURGED, "outbox"), 300);
	text = text_of(k.archive, name);
	uuid_format(&id, id_text);
	assert_int_equal(times(text, id_text), 1);
	assert_int_equal(times(text, "a secret"), 0);
	assert_int_equal(times(text, "\"from\":\"alice\",\"to\":\"bob\""), 300);
	assert_int_equal(times(text, "\n"), 300);
	upkeep_stop(k.upkeep);
	upkeep_free(k.upkeep);
	metrics_free(k.metrics);
	rig_check_promises(&k.r);
	rig_close(&k.r);
	(void)close(k.fd);
	remove_folder(k.archive);
	remove_folder(k.dir);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_archive_file),
	    cmocka_unit_test(test_archive_refused),
	    cmocka_unit_test(test_mark_file),
	    cmocka_unit_test(test_log_is_cut),
	    cmocka_unit_test(test_turns),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
