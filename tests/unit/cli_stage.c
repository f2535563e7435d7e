/* SPDX-License-Identifier: MIT */
/*
 * The stage on which commands of the client run.  See cli_stage.h.
 */
#include "unit/cli_stage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <ftw.h>
#include <locale.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "unit/folder.h"

#define WORDS_MAX 32
#define OUTPUT_MAX (256 * 1024)

static struct stage *stage;

/* ---- in the place of the C library's ---- */

static int64_t slept_ms;

/* The wall clock moves only with waits.  The other clocks are the real ones. */
int
clock_gettime(clockid_t id, struct timespec *ret)
{
	int rc = 0;

	if (id == CLOCK_REALTIME) {
		ret->tv_sec = (time_t)(STAGE_NOW_MS / 1000);
		ret->tv_nsec = 0;
	} else
		rc = (int)syscall(SYS_clock_gettime, id, ret);
	ret->tv_sec += (time_t)(slept_ms / 1000);
	return (rc);
}

/* Adds the time to slept_ms and does not wait. */
int
nanosleep(const struct timespec *wanted, struct timespec *left)
{
	int64_t ms = wanted->tv_sec * 1000 + wanted->tv_nsec / 1000000;
	size_t n = strlen(stage->waits);

	(void)left;
	(void)snprintf(
	    stage->waits + n, OUTPUT_MAX - n, "%lld ", (long long)ms);
	slept_ms += ms;
	return (0);
}

/* ---- the test's side ---- */

int
stage_set_up(void **state)
{
	struct stage *s = test_calloc(1, sizeof(*s));

	(void)setenv("TZ", "UTC", 1);
	tzset();
	(void)setlocale(LC_CTYPE, "C.UTF-8");
	if (!folder_make("client", s->folder, sizeof(s->folder)) ||
	    setenv("XDG_CONFIG_HOME", s->folder, 1) != 0 ||
	    setenv("XDG_STATE_HOME", s->folder, 1) != 0)
		return (-1);
	slept_ms = 0;
	s->out = test_calloc(1, OUTPUT_MAX);
	s->err = test_calloc(1, OUTPUT_MAX);
	s->waits = test_calloc(1, OUTPUT_MAX);
	s->played = played_start();
	(void)snprintf(s->profile.name, sizeof(s->profile.name), "default");
	(void)snprintf(s->profile.user, sizeof(s->profile.user), "ann");
	(void)snprintf(s->profile.token, sizeof(s->profile.token), "tb_x");
	(void)snprintf(s->profile.token_id, sizeof(s->profile.token_id), "t1");
	(void)snprintf(s->profile.device, sizeof(s->profile.device), "desk");
	(void)snprintf(s->profile.server, sizeof(s->profile.server), "%s",
	    played_url(s->played));
	stage = s;
	*state = s;
	return (0);
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{

	(void)st;
	(void)type;
	(void)ftw;
	return (remove(path));
}

int
stage_tear_down(void **state)
{
	struct stage *s = *state;

	played_stop(s->played);
	if (nftw(s->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS) != 0)
		return (-1);
	test_free(s->out);
	test_free(s->err);
	test_free(s->waits);
	test_free(s);
	return (0);
}

/* Puts ${fd} in the place of ${standard}; returns what was there. */
static int
replace(int standard, int fd)
{
	int saved = fcntl(standard, F_DUPFD_CLOEXEC, 10);

	assert_true(saved >= 0);
	assert_int_equal(dup2(fd, standard), standard);
	return (saved);
}

/* Puts ${saved} back into the place of ${standard}. */
static void
restore(int standard, int saved)
{

	assert_int_equal(dup2(saved, standard), standard);
	(void)close(saved);
}

/* Reads all of ${fd} into ${ret} and closes it. */
static void
read_all(int fd, char *ret)
{
	ssize_t n = pread(fd, ret, OUTPUT_MAX - 1, 0);

	ret[n > 0 ? n : 0] = '\0';
	(void)close(fd);
}

/* Runs the command whose arguments ${cli} has parsed. */
static enum rc
run_command(struct stage *s, struct cli *cli)
{
	enum rc rc;

	cli->json = args_has(&cli->args, "json");
	cli->terminal = s->terminal;
	cli->profile = s->profile;
	cli->look.now_ms = STAGE_NOW_MS;
	cli->look.me = cli->profile.user;
	cli->look.columns = 80;
	rc = rest_new(
	    played_url(s->played), s->profile.token, &cli->rest, &s->fail);
	assert_int_equal(rc, RC_OK);
	rc = cli->args.command->run(cli, &s->fail);
	cli_fini(cli);
	return (rc);
}

enum rc
stage_run(struct stage *s, ...)
{
	char *argv[WORDS_MAX + 2] = {(char[]){"twinbox"}};
	int in, out, err, saved[3], argc = 1;
	struct cli cli;
	va_list ap;
	enum rc rc;

	va_start(ap, s);
	while ((argv[argc] = va_arg(ap, char *)) != NULL)
		assert_true(++argc <= WORDS_MAX);
	va_end(ap);
	memset(&cli, 0, sizeof(cli));
	memset(&s->fail, 0, sizeof(s->fail));
	s->waits[0] = '\0';
	in = memfd_create("in", MFD_CLOEXEC);
	out = s->output == NULL ? memfd_create("out", MFD_CLOEXEC)
				: open(s->output, O_WRONLY | O_CLOEXEC);
	err = memfd_create("err", MFD_CLOEXEC);
	assert_true(in >= 0 && out >= 0 && err >= 0);
	if (s->input != NULL)
		assert_int_equal(pwrite(in, s->input, strlen(s->input), 0),
		    (ssize_t)strlen(s->input));
	(void)fflush(stdout);
	saved[0] = replace(STDIN_FILENO, in);
	saved[1] = replace(STDOUT_FILENO, out);
	saved[2] = replace(STDERR_FILENO, err);
	(void)close(in);
	rc = args_parse(argc, argv, cli_commands, &cli.args, &s->fail);
	if (rc == RC_OK)
		rc = run_command(s, &cli);
	args_fini(&cli.args);
	(void)fflush(stdout);
	(void)fflush(stderr);
	restore(STDIN_FILENO, saved[0]);
	restore(STDOUT_FILENO, saved[1]);
	restore(STDERR_FILENO, saved[2]);
	read_all(out, s->out);
	read_all(err, s->err);
	return (rc);
}

void
stage_assert_fail(struct stage *s, int code, const char *said)
{
	char all[sizeof(s->fail.what) + sizeof(s->fail.cure) + 4];

	(void)snprintf(all, sizeof(all), "%s%s%s", s->fail.what,
	    s->fail.cure[0] != '\0' ? "; " : "", s->fail.cure);
	assert_string_equal(all, said);
	assert_int_equal(s->fail.exit, code);
}

const char *
stage_path(const struct stage *s, const char *name)
{
	static char path[256];

	(void)snprintf(path, sizeof(path), "%s/%s", s->folder, name);
	return (path);
}
