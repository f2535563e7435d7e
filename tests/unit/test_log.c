/* SPDX-License-Identifier: MIT */
/*
 * The log: lines as text and JSON, values that try to break out of a line, a
 * pipe that nobody reads (no caller waits, lost lines are counted and
 * reported), a descriptor that cannot be written, and a stop with a time limit.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/thr.h"
#include "base/utf8.h"
#include "log/log.h"

#define WALL INT64_C(1795256430123) /* 2026-11-21T10:20:30.123Z */
#define PREFIX "2026-11-21T10:20:30.123Z "

static struct clk_fake fake;
static char got[1 << 21];
static size_t got_len;

static void
start_with(const struct log_options *options)
{
	struct err err = ERR_INIT;

	clk_fake_init(&fake, WALL);
	assert_int_equal(log_start(options, &err), RC_OK);
}

/* On a busy machine the stop may need more than log_stop_ms to write the lines
 * that wait; then they would be dropped. */
static void
start_on(int fd, enum log_format format, enum log_level level)
{
	static struct timing timing;
	const struct log_options options = {.fd = fd,
	    .level = level,
	    .format = format,
	    .clk = &fake.clk,
	    .timing = &timing};

	timing = *timing_real();
	timing.log_stop_ms = 60000;
	start_with(&options);
}

/* Reads until the other side is closed. */
static const char *
read_all(int fd)
{
	size_t len = 0;
	ssize_t n;

	while ((n = read(fd, got + len, sizeof(got) - 1 - len)) > 0)
		len += (size_t)n;
	got[len] = '\0';
	got_len = len;
	return (got);
}

/* Cuts off the next line of ${got}, which begins at *at.  Returns NULL if there
 * is none.  It uses no string functions: under the sanitizer each of them would
 * read the whole rest to check that the string ends. */
static char *
next_line(size_t *at)
{
	char *line = got + *at;
	char *end = memchr(line, '\n', got_len - *at);

	if (end == NULL)
		return (NULL);
	*end = '\0';
	*at = (size_t)(end + 1 - got);
	return (line);
}

/* begin() starts a log that writes to a pipe; finish() stops it and returns the
 * text. */
static int pipe_fd[2];

static void
begin(enum log_format format, enum log_level level)
{

	assert_int_equal(pipe2(pipe_fd, O_CLOEXEC), 0);
	start_on(pipe_fd[1], format, level);
}

static const char *
finish(void)
{

	log_stop();
	(void)close(pipe_fd[1]);
	(void)read_all(pipe_fd[0]);
	(void)close(pipe_fd[0]);
	return (got);
}

static void
test_text_lines(void **state)
{
	struct err err = ERR_INIT;

	(void)state;
	begin(LOG_FMT_TEXT, LVL_DEBUG);
	log_event(LOG_EV_SERVER_READY, "url=%s port=%d", "http://a b", 80);
	log_event(LOG_EV_PUSH_OPEN, "%s user=%s", "0192-ab", "eve");
	log_event_bare(LOG_EV_SERVER_STOP);
	err_set(&err, RC_IO, "disk: it broke");
	log_error(LOG_EV_STORE_FAIL, &err, "batch=%d", 3);
	log_error_bare(LOG_EV_STORE_FAIL, &err);
	log_error(LOG_EV_STORE_FAIL, NULL, "n=%d", 1);
	err_set(&err, RC_BUSY, "%s", "");
	log_error_bare(LOG_EV_STORE_FAIL, &err);
	assert_string_equal(finish(), PREFIX
	    "info server.ready url=http://a b port=80\n" PREFIX
	    "debug push.open 0192-ab user=eve\n" PREFIX
	    "info server.stop\n" PREFIX
	    "error store.fail batch=3 error=disk: it broke\n" PREFIX
	    "error store.fail error=disk: it broke\n" PREFIX
	    "error store.fail n=1\n" PREFIX "error store.fail error=busy\n");
}

static void
log_late(void *arg)
{

	(void)arg;
	log_event_bare(LOG_EV_SERVER_START);
}

/* The last line of a program that ends gives the reason, whatever other threads
 * still log: in the ring, and on stderr after the log has stopped. */
static void
test_last_line(void **state)
{
	int fd[2], saved;
	struct thr *thr;
	char late[64];

	(void)state;
	begin(LOG_FMT_TEXT, LVL_INFO);
	log_event_bare(LOG_EV_SERVER_READY);
	log_last(LOG_EV_STORE_FAIL, NULL, "exit=%d", 74);
	assert_int_equal(
	    thr_start(THR_OTHER, 0, log_late, NULL, &thr, NULL), RC_OK);
	thr_join(&thr);
	assert_string_equal(finish(),
	    PREFIX "info server.ready\n" PREFIX "error store.fail exit=74\n");

	assert_int_equal(pipe2(fd, O_CLOEXEC | O_NONBLOCK), 0);
	saved = dup(STDERR_FILENO);
	assert_true(saved >= 0 && dup2(fd[1], STDERR_FILENO) >= 0);
	log_late(NULL);
	assert_true(dup2(saved, STDERR_FILENO) >= 0);
	assert_int_equal(read(fd[0], late, sizeof(late)), -1);
	(void)close(saved);
	(void)close(fd[0]);
	(void)close(fd[1]);

	begin(LOG_FMT_TEXT, LVL_INFO);
	log_late(NULL);
	assert_string_equal(finish(), PREFIX "info server.start\n");

	/* Even a last line below the log's level closes the log. */
	begin(LOG_FMT_TEXT, LVL_ERROR);
	log_last_bare(LOG_EV_SERVER_STOPPED);
	log_error_bare(LOG_EV_STORE_FAIL, NULL);
	assert_string_equal(finish(), "");
}

static void
test_json_lines(void **state)
{

	(void)state;
	begin(LOG_FMT_JSON, LVL_INFO);
	log_event(LOG_EV_SERVER_READY, "url=%s port=%d", "a \"b\" \\c", 80);
	log_event(LOG_EV_AUTH_LOGIN, "%s event=%s", "an-id", "x");
	log_event(LOG_EV_AUTH_LOGIN, "az.AZ-0_9=%d z=%d Z=%d 9=%d", 1, 2, 3, 4);
	log_event(LOG_EV_AUTH_LOGIN, "%s empty=%s", "some words", "");
	assert_string_equal(finish(),
	    "{\"time\":\"2026-11-21T10:20:30.123Z\",\"level\":\"info\","
	    "\"event\":\"server.ready\",\"thread\":\"other\","
	    "\"url\":\"a \\\"b\\\" \\\\c\",\"port\":80}\n"
	    "{\"time\":\"2026-11-21T10:20:30.123Z\",\"level\":\"info\","
	    "\"event\":\"auth.login\",\"thread\":\"other\","
	    "\"id\":\"an-id\",\"event_\":\"x\"}\n"
	    "{\"time\":\"2026-11-21T10:20:30.123Z\",\"level\":\"info\","
	    "\"event\":\"auth.login\",\"thread\":\"other\","
	    "\"az.AZ-0_9\":1,\"z\":2,\"Z\":3,\"9\":4}\n"
	    "{\"time\":\"2026-11-21T10:20:30.123Z\",\"level\":\"info\","
	    "\"event\":\"auth.login\",\"thread\":\"other\","
	    "\"text\":\"some words\",\"empty\":\"\"}\n");
}

/* A line is written at once: it does not wait for the next one, or for the
 * end. */
static void
test_at_once(void **state)
{
	struct pollfd pfd;
	int i;

	(void)state;
	begin(LOG_FMT_TEXT, LVL_INFO);
	pfd.fd = pipe_fd[0];
	pfd.events = POLLIN;
	for (i = 0; i < 100; i++) {
		log_event(LOG_EV_SERVER_READY, "n=%d", i);
		assert_int_equal(poll(&pfd, 1, 10000), 1);
		assert_true(read(pipe_fd[0], got, sizeof(got)) > 0);
	}
	assert_string_equal(finish(), "");
}

static void
log_one(void *arg)
{

	(void)arg;
	log_event(LOG_EV_SERVER_READY, "n=%d", 1);
}

static void
test_thread_is_named(void **state)
{
	struct thr *thr;

	(void)state;
	begin(LOG_FMT_JSON, LVL_INFO);
	assert_int_equal(
	    thr_start(THR_HTTP, 2, log_one, NULL, &thr, NULL), RC_OK);
	thr_join(&thr);
	assert_non_null(strstr(finish(), "\"thread\":\"http2\",\"n\":1"));
}

/* Characters that change the direction of a line, or end it on some terminals,
 * become '?' as control characters do.  Their neighbours in the code table are
 * kept. */
static void
test_formats_are_replaced(void **state)
{
	static const char path[] =
	    "/\xe2\x80\xae"     /* U+202E, right-to-left override */
	    "a\xe2\x81\xa6"     /* U+2066, isolate */
	    "b\xe2\x80\xa8"     /* U+2028, line separator */
	    "c\xe2\x80\xa9"     /* U+2029, paragraph separator */
	    "d\xe2\x80\x8b"     /* U+200B, zero width space */
	    "e\xef\xbb\xbf"     /* U+FEFF, byte order mark */
	    "f\xd8\x9c"         /* U+061C, Arabic letter mark */
	    "g\xf3\xa0\x81\xa1" /* U+E0061, tag */
	    "h\xc2\xad"         /* U+00AD, soft hyphen */
	    "i\xe2\x80\xaf"     /* U+202F, a space */
	    "j\xf0\x9f\xa6\x8a";

	(void)state;
	begin(LOG_FMT_TEXT, LVL_INFO);
	log_event(LOG_EV_AUTH_LOGIN, "path=%s", path);
	assert_string_equal(finish(),
	    PREFIX "info auth.login path=/?a?b?c?d?e?f?g?h?i\xe2\x80\xaf"
		   "j\xf0\x9f\xa6\x8a\n");
	begin(LOG_FMT_JSON, LVL_INFO);
	log_event(LOG_EV_AUTH_LOGIN, "path=%s", path);
	assert_non_null(
	    strstr(finish(), "\"path\":\"/?a?b?c?d?e?f?g?h?i\xe2\x80\xaf"
			     "j\xf0\x9f\xa6\x8a\""));
}

static void
test_values_cannot_break_out(void **state)
{

	(void)state;
	begin(LOG_FMT_TEXT, LVL_INFO);
	log_event(LOG_EV_AUTH_LOGIN, "user=%s ok=%d", "eve ok=1 admin=1", 0);
	log_event(LOG_EV_AUTH_LOGIN, "user=%s",
	    "a\nb\r\t\x1b[31m\x7f\xc2\x85\xc2\xa0z=1");
	log_event(LOG_EV_AUTH_LOGIN, "user=%s", "\xff\xc3\xa4\xed\xa0\x80");
	log_event(LOG_EV_AUTH_LOGIN, "%s n=%d", "admin=1 x=2", 3);
	log_event(LOG_EV_AUTH_LOGIN, "q=%s", "a=b&c=d = e");
	assert_string_equal(finish(),
	    PREFIX "info auth.login user=eve ok?1 admin?1 ok=0\n" PREFIX
		   "info auth.login user=a?b???[31m??\xc2\xa0z=1\n" PREFIX
		   "info auth.login user=?\xc3\xa4???\n" PREFIX
		   "info auth.login admin?1 x?2 n=3\n" PREFIX
		   "info auth.login q=a=b&c=d = e\n");
	begin(LOG_FMT_JSON, LVL_INFO);
	log_event(LOG_EV_AUTH_LOGIN, "user=%s ok=%d",
	    "eve ok=1\n\"}\x1f"
	    "12345678ok=7",
	    0);
	assert_non_null(strstr(
	    finish(), ",\"user\":\"eve ok=1?\\\"}?12345678ok=7\",\"ok\":0}\n"));
}

static void
test_long_values(void **state)
{
	struct err err = {.rc = RC_IO, .text = "the story"};
	char value[6001], want[2000];
	const char *line;
	size_t i;

	(void)state;
	memset(value, 'v', sizeof(value) - 1);
	value[sizeof(value) - 1] = '\0';
	value[600] = '\0';
	begin(LOG_FMT_TEXT, LVL_INFO);
	log_event(LOG_EV_AUTH_LOGIN, "a=%s b=%s c=%d", value, value, 7);
	line = finish();
	assert_int_equal(strlen(line),
	    strlen(PREFIX "info auth.login a= b= c=7\n") + 2 * 512);
	/* Values are cut between characters. */
	for (i = 1; i < 600; i += 2)
		memcpy(value + i, "\xc3\xa4", 2);
	value[601] = '\0';
	begin(LOG_FMT_TEXT, LVL_INFO);
	log_event(LOG_EV_AUTH_LOGIN, "a=%s c=%d", value, 7);
	(void)snprintf(
	    want, sizeof(want), PREFIX "info auth.login a=%.511s c=7\n", value);
	assert_string_equal(finish(), want);
	/* A line longer than a record is cut, but the error is still in it. */
	memset(value, 'w', sizeof(value) - 1);
	for (i = 3700; i < 4200; i++) {
		value[i] = '\0';
		begin(LOG_FMT_JSON, LVL_INFO);
		log_error(LOG_EV_STORE_FAIL, &err, "a=%s b=%d", value, 7);
		line = finish();
		value[i] = 'w';
		assert_non_null(strstr(line, ",\"error\":\"the story\"}\n"));
		assert_true(utf8_valid(line, strlen(line), NULL));
		assert_null(strpbrk(line, "\x1f\r\t"));
	}
	/* A line of any length is logged in some form. */
	memset(value, 'f', sizeof(value) - 1);
	begin(LOG_FMT_TEXT, LVL_INFO);
	log_event(LOG_EV_AUTH_LOGIN, "%s%s%s%s%s%s", value, value, value, value,
	    value, value);
	assert_int_equal(
	    strlen(finish()), strlen(PREFIX "info auth.login \n") + 512);
}

static void
test_levels(void **state)
{

	(void)state;
	begin(LOG_FMT_TEXT, LVL_WARN);
	assert_false(log_enabled(LVL_INFO));
	assert_true(log_enabled(LVL_WARN));
	log_event(LOG_EV_SERVER_READY, "n=%d", 1);
	log_event(LOG_EV_RELAY_FAIL, "n=%d", 2);
	log_set_level(LVL_DEBUG);
	log_event(LOG_EV_HTTP_REQUEST, "n=%d", 3);
	log_set_level(LVL_ERROR);
	log_event(LOG_EV_RELAY_FAIL, "n=%d", 4);
	assert_string_equal(finish(),
	    PREFIX "warn relay.fail n=2\n" PREFIX "debug http.request n=3\n");
	log_set_level(LVL_INFO);
	assert_int_equal(log_level_parse("debug"), LVL_DEBUG);
	assert_int_equal(log_level_parse("info"), LVL_INFO);
	assert_int_equal(log_level_parse("warn"), LVL_WARN);
	assert_int_equal(log_level_parse("error"), LVL_ERROR);
	assert_int_equal(log_level_parse("Error"), -1);
	assert_int_equal(log_level_parse(""), -1);
}

/* Without a thread, before the start and after the stop, lines go to stderr. */
static void
test_direct(void **state)
{
	int fd[2], saved, round;

	(void)state;
	for (round = 0; round < 2; round++) {
		assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
		saved = dup(STDERR_FILENO);
		(void)dup2(fd[1], STDERR_FILENO);
		(void)close(fd[1]);
		errno = EDOM;
		log_event(LOG_EV_SERVER_START, "n=%d", round);
		assert_int_equal(errno, EDOM);
		(void)dup2(saved, STDERR_FILENO);
		(void)close(saved);
		(void)read_all(fd[0]);
		(void)close(fd[0]);
		assert_int_equal(got[23], 'Z');
		assert_string_equal(got + 24, round == 0
						  ? " info server.start n=0\n"
						  : " info server.start n=1\n");
		begin(LOG_FMT_TEXT, LVL_INFO);
		assert_string_equal(finish(), "");
		log_stop();
	}
}

static void
log_many(void *arg)
{
	int i;

	for (i = 0; i < 2000; i++)
		log_event(LOG_EV_SERVER_READY, "n=%d from=%d", i, *(int *)arg);
}

static void
read_pipe(void *arg)
{

	(void)read_all(*(int *)arg);
}

/* While the reader keeps up, no line is lost, torn or out of order. */
static void
test_many_threads(void **state)
{
	int ids[3] = {0, 1, 2}, next[3] = {0}, fd[2], i, n, from, total = 0;
	struct thr *thr[3], *reader;
	uint64_t before;
	char *line, *end;
	size_t at = 0;

	(void)state;
	before = log_dropped();
	assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
	start_on(fd[1], LOG_FMT_TEXT, LVL_INFO);
	assert_int_equal(
	    thr_start(THR_OTHER, 0, read_pipe, &fd[0], &reader, NULL), RC_OK);
	for (i = 0; i < 3; i++)
		assert_int_equal(
		    thr_start(THR_OTHER, i, log_many, &ids[i], &thr[i], NULL),
		    RC_OK);
	for (i = 0; i < 3; i++)
		thr_join(&thr[i]);
	log_stop();
	(void)close(fd[1]);
	thr_join(&reader);
	(void)close(fd[0]);
	assert_int_equal(log_dropped(), before);
	for (; (line = next_line(&at)) != NULL; total++) {
		end = strchr(line, '\0');
		line = strstr(line, " n=");
		assert_non_null(line);
		n = (int)strtoll(line + 3, &line, 10);
		assert_memory_equal(line, " from=", 6);
		from = line[6] - '0';
		assert_in_range(from, 0, 2);
		assert_ptr_equal(line + 7, end);
		assert_int_equal(n, next[from]);
		next[from]++;
	}
	assert_int_equal(total, 6000);
}

static int64_t
now_ms(void)
{

	return (clk_mono_ms(clk_system()));
}

/*
 * The reader sleeps: callers continue at once and lines are dropped.  Then the
 * reader wakes up: every line is either in the pipe or counted, and the log
 * reports the count.
 */
static void
fill_and_read(int write_fd, int read_fd)
{
	unsigned long long told = 0, lines;
	size_t at = 0;
	uint64_t before, lost;
	struct thr *reader;
	char *line;
	int i;

	before = log_dropped();
	start_on(write_fd, LOG_FMT_TEXT, LVL_INFO);
	/* A caller that waited for the pipe would wait for ever. */
	for (i = 0; i < 40000; i++)
		log_event(LOG_EV_SERVER_READY, "n=%d", i);
	lost = log_dropped() - before;
	assert_true(lost > 1000);
	assert_true(lost < 39000);
	assert_int_equal(
	    thr_start(THR_OTHER, 0, read_pipe, &read_fd, &reader, NULL), RC_OK);
	log_stop();
	(void)close(write_fd);
	thr_join(&reader);
	(void)close(read_fd);
	lost = log_dropped() - before;
	for (lines = 0; (line = next_line(&at)) != NULL;) {
		assert_memory_equal(line, PREFIX, strlen(PREFIX));
		line = strstr(line, "log.dropped n=");
		if (line == NULL)
			lines++;
		else
			told += strtoull(line + 14, NULL, 10);
	}
	assert_int_equal(told, lost);
	assert_int_equal(lines + lost, 40000);
}

static void
test_full_pipe(void **state)
{
	int fd[2];

	(void)state;
	assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
	fill_and_read(fd[1], fd[0]);
	assert_int_equal(pipe2(fd, O_CLOEXEC | O_NONBLOCK), 0);
	(void)fcntl(fd[0], F_SETFL, 0);
	fill_and_read(fd[1], fd[0]);
}

static void
test_full_socket(void **state)
{
	int fd[2];

	(void)state;
	assert_int_equal(
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
	fill_and_read(fd[1], fd[0]);
}

/* Fields are cut at every place, also in the middle of a separator. */
static void
test_cut_between_fields(void **state)
{
	char value[601];
	size_t n;

	(void)state;
	memset(value, 'v', sizeof(value));
	for (n = 440; n < 520; n++) {
		value[n] = '\0';
		begin(LOG_FMT_TEXT, LVL_INFO);
		log_event(LOG_EV_AUTH_LOGIN,
		    "a=%s b=%s c=%s d=%s e=%s f=%s g=%s h=%s i=%d", value,
		    value, value, value, value, value, value, value, 7);
		(void)finish();
		value[n] = 'v';
		assert_null(strchr(got, '?'));
		assert_true(strlen(got) > 3500);
	}
}

/* The pipe is never read: the stop ends after log_stop_ms and counts the lines
 * that are left. */
static void
test_stop_with_full_pipe(void **state)
{
	struct timing timing = *timing_real();
	struct log_options options = {.level = LVL_INFO,
	    .format = LOG_FMT_TEXT,
	    .clk = &fake.clk,
	    .timing = &timing};
	uint64_t before, lines = 0;
	int64_t start;
	size_t at = 0;
	int fd[2], i;

	(void)state;
	before = log_dropped();
	assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
	options.fd = fd[1];
	timing.log_stop_ms += 100;
	start_with(&options);
	for (i = 0; i < 5000; i++)
		log_event(LOG_EV_SERVER_READY, "n=%d", i);
	start = now_ms();
	log_stop();
	assert_true(now_ms() - start >= timing.log_stop_ms);
	/* All lost lines are counted, so no thread was left behind. */
	lines = log_dropped() - before;
	(void)close(fd[1]);
	(void)read_all(fd[0]);
	(void)close(fd[0]);
	while (next_line(&at) != NULL)
		lines++;
	assert_int_equal(lines, 5000);
}

/* The reader has gone: the program gets no signal, does not stop, and counts
 * the lines. */
static void
test_broken_pipe(void **state)
{
	uint64_t before;
	int fd[2], i;

	(void)state;
	before = log_dropped();
	assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
	(void)close(fd[0]);
	start_on(fd[1], LOG_FMT_TEXT, LVL_INFO);
	for (i = 0; i < 10; i++)
		log_event(LOG_EV_SERVER_READY, "n=%d", i);
	log_stop();
	(void)close(fd[1]);
	assert_true(log_dropped() - before >= 10);
}

static void
test_file(void **state)
{
	char path[] = "/tmp/test_log.XXXXXX";
	int fd, i, lines = 0;
	size_t at = 0;

	(void)state;
	fd = mkstemp(path);
	assert_true(fd >= 0);
	(void)unlink(path);
	start_on(fd, LOG_FMT_TEXT, LVL_INFO);
	for (i = 0; i < 5000; i++)
		log_event(LOG_EV_SERVER_READY, "n=%d", i);
	log_stop();
	(void)lseek(fd, 0, SEEK_SET);
	(void)read_all(fd);
	(void)close(fd);
	while (next_line(&at) != NULL)
		lines++;
	assert_int_equal(lines, 5000);
}

static void
test_no_memory(void **state)
{
	struct log_options options = {.fd = 2, .clk = clk_system()};
	struct err err = ERR_INIT;
	int k;

	(void)state;
	for (k = 1; k < 20; k++) {
		mem_fail_at(k);
		if (log_start(&options, &err) == RC_OK)
			break;
		assert_int_equal(err.rc, RC_NO_MEMORY);
		assert_false(mem_fail_pending());
	}
	mem_fail_at(0);
	assert_int_equal(k, 5);
	log_stop();
	log_set_level(LVL_INFO);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_direct),
	    cmocka_unit_test(test_text_lines),
	    cmocka_unit_test(test_last_line),
	    cmocka_unit_test(test_json_lines),
	    cmocka_unit_test(test_at_once),
	    cmocka_unit_test(test_thread_is_named),
	    cmocka_unit_test(test_formats_are_replaced),
	    cmocka_unit_test(test_values_cannot_break_out),
	    cmocka_unit_test(test_long_values),
	    cmocka_unit_test(test_cut_between_fields),
	    cmocka_unit_test(test_levels),
	    cmocka_unit_test(test_many_threads),
	    cmocka_unit_test(test_full_pipe),
	    cmocka_unit_test(test_full_socket),
	    cmocka_unit_test(test_stop_with_full_pipe),
	    cmocka_unit_test(test_broken_pipe),
	    cmocka_unit_test(test_file),
	    cmocka_unit_test(test_no_memory),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
