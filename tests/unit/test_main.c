/* SPDX-License-Identifier: MIT */
/*
 * The data directory and its lock, and the control socket, with a real database
 * in a fresh directory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rnd.h"
#include "base/thr.h"
#include "log/log.h"
#include "main/main_internal.h"
#include "main_world.h"
#include "skip.h"
#include "wire/wire.h"

/* ---- tests ---- */

static void
test_directory(void **state)
{
	struct world *w = *state;
	struct data second;
	struct err err = ERR_INIT;
	struct stat st;

	assert_int_equal(0, stat(w->config.data, &st));
	assert_int_equal(0700, st.st_mode & 07777);
	assert_non_null(strstr(w->data.url, "/a/data/twinbox.db"));
	/* One process has the lock.  Another one gets RC_BUSY, with the
	 * directory open, so that it can use the control socket. */
	assert_int_equal(RC_BUSY, data_open(&w->config, &second, &err));
	assert_non_null(strstr(err.text, "in use"));
	assert_true(second.dir_fd >= 0);
	assert_int_equal(-1, second.lock_fd);
	data_close(&second);
	/* Closing the second one does not release the lock of the first. */
	assert_int_equal(RC_BUSY, data_open(&w->config, &second, &err));
	data_close(&second);
}

/* Opens ${config}'s directory, which must fail because another directory's
 * process has the lock of the database file. */
static void
assert_taken(const struct config *config)
{
	struct data data;
	struct err err = ERR_INIT;

	assert_int_equal(RC_CONFLICT, data_open(config, &data, &err));
	assert_non_null(strstr(err.text, "twinbox.db is in use"));
	assert_non_null(strstr(err.text, "/a/data/twinbox.db-lock"));
	assert_int_equal(-1, data.lock_fd);
}

/* Only one process writes to a database file, whatever its data directory is
 * and however the file is named. */
static void
test_two_directories(void **state)
{
	struct world *w = *state;
	struct config other = w->config;
	struct data second;
	struct err err = ERR_INIT;
	char link[sizeof(w->dir) + 8], kept[sizeof(w->dir) + 8];
	char lock[sizeof(other.data) + 16];

	(void)snprintf(link, sizeof(link), "%s/link", w->dir);
	(void)snprintf(kept, sizeof(kept), "%s/kept", w->dir);
	(void)snprintf(other.data, sizeof(other.data), "%s/b", w->dir);
	(void)snprintf(
	    other.db, sizeof(other.db), "sqlite:%s/a/data/twinbox.db", w->dir);
	assert_taken(&other);

	/* Through a link to the folder, before the file exists and after. */
	assert_int_equal(0, symlink(w->config.data, link));
	(void)snprintf(
	    other.db, sizeof(other.db), "sqlite:%s/twinbox.db", link);
	assert_int_equal(0, rename(data_database(&w->data), kept));
	assert_taken(&other);
	assert_int_equal(0, rename(kept, data_database(&w->data)));
	assert_taken(&other);

	/* A relative path. */
	assert_int_equal(0, chdir(w->config.data));
	(void)snprintf(other.db, sizeof(other.db), "sqlite:twinbox.db");
	assert_taken(&other);
	assert_int_equal(0, chdir("/"));

	/* Another file in the same folder is free, and so is this one once the
	 * first process has let it go. */
	(void)snprintf(other.db, sizeof(other.db), "sqlite:%s/c.db", link);
	assert_int_equal(RC_OK, data_open(&other, &second, &err));
	data_close(&second);
	(void)snprintf(
	    other.db, sizeof(other.db), "sqlite:%s/a/data/twinbox.db", w->dir);
	data_close(&w->data);
	assert_int_equal(RC_OK, data_open(&other, &second, &err));
	data_close(&second);

	(void)snprintf(lock, sizeof(lock), "%s/c.db-lock", w->config.data);
	assert_int_equal(0, unlink(lock));
	(void)snprintf(lock, sizeof(lock), "%s/lock", other.data);
	assert_int_equal(0, unlink(lock));
	assert_int_equal(0, rmdir(other.data));
	assert_int_equal(0, unlink(link));
}

#define SOMEBODY 65534

/* In a child process: root opens another user's directory, and becomes this
 * user; the files that it makes belong to the user as well. */
static int
open_as_root(struct world *w)
{
	struct err err = ERR_INIT;
	struct data data;
	struct stat st;

	if (data_open(&w->config, &data, &err) != RC_OK)
		return (1);
	if (getuid() != SOMEBODY || geteuid() != SOMEBODY ||
	    getgid() != SOMEBODY || getgroups(0, NULL) != 0)
		return (2);
	if (fstat(data.lock_fd, &st) != 0 || st.st_uid != SOMEBODY)
		return (3);
	if (setuid(0) == 0)
		return (4);
	return (0);
}

static void
test_root_becomes_owner(void **state)
{
	struct world *w = *state;
	char path[200];
	int status;
	pid_t pid;

	data_close(&w->data);
	(void)snprintf(path, sizeof(path), "%s/a/data/lock", w->dir);
	assert_int_equal(0, unlink(path));
	(void)snprintf(path, sizeof(path), "%s/a/data/twinbox.db-lock", w->dir);
	assert_int_equal(0, unlink(path));
	assert_int_equal(0, chown(w->config.data, SOMEBODY, SOMEBODY));
	/* The user may pass through the folders above. */
	(void)snprintf(path, sizeof(path), "%s/a", w->dir);
	assert_int_equal(0, chmod(path, 0711));
	assert_int_equal(0, chmod(w->dir, 0711));
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(open_as_root(w));
	assert_int_equal(pid, waitpid(pid, &status, 0));
	assert_true(WIFEXITED(status));
	assert_int_equal(0, WEXITSTATUS(status));
}

static void
test_directory_that_is_none(void **state)
{
	struct world *w = *state;
	struct config config = w->config;
	struct err err = ERR_INIT;
	struct data data = DATA_INIT;

	(void)snprintf(
	    config.data, sizeof(config.data), "%s/a/data/lock/x", w->dir);
	assert_int_equal(RC_SETTING, data_open(&config, &data, &err));
	assert_int_equal(-1, data.dir_fd);
}

static void
test_control(void **state)
{
	struct world *w = *state;
	struct operation o =
	    world_user_operation(OPERATION_USER_ADD, "ann", HASH);
	struct err err = ERR_INIT;
	struct stat st;
	char path[200];

	/* No server listens yet. */
	assert_int_equal(RC_PEER, control_call(&w->data, &o, &err));

	world_serve(w);
	(void)snprintf(path, sizeof(path), "%s/a/data/control", w->dir);
	assert_int_equal(0, stat(path, &st));
	assert_int_equal(0600, st.st_mode & 07777);
	o.asked.user.admin = true;
	assert_int_equal(RC_OK, control_call(&w->data, &o, &err));
	assert_int_equal(RC_EXISTS, control_call(&w->data, &o, &err));
	assert_non_null(strstr(err.text, "ann"));
	o = world_user_operation(OPERATION_USER_DISABLE, "bob", "");
	assert_int_equal(RC_NOT_FOUND, control_call(&w->data, &o, &err));
	/* Names that only users of before may have are refused for new
	 * users. */
	o = world_user_operation(OPERATION_USER_ADD, "ann.", HASH);
	assert_int_equal(RC_INVALID, control_call(&w->data, &o, &err));
	assert_non_null(strstr(err.text, "a name is " MODEL_NAME_RULE));
	o = world_user_operation(OPERATION_USER_DISABLE, "ann.", "");
	assert_int_equal(RC_NOT_FOUND, control_call(&w->data, &o, &err));
	/* A text that is not a hash is not stored. */
	o = world_user_operation(OPERATION_USER_PASSWD, "ann", "secret");
	assert_int_equal(RC_INVALID, control_call(&w->data, &o, &err));

	control_stop(w->control);
	w->control = NULL;
	assert_int_not_equal(0, stat(path, &st));
	assert_true(world_user(w, "ann").admin);
	assert_string_equal(HASH, world_user(w, "ann").password_hash);
}

/* A false server, which answers the next connection with ${answer}, whatever
 * the request is. */
struct liar {
	int fd;
	const char *answer;
	char asked[2000];
};

static void
lie(void *arg)
{
	struct liar *liar = arg;
	size_t n = 0;
	ssize_t got;
	int fd;

	fd = accept(liar->fd, NULL, NULL);
	while (
	    fd >= 0 && memchr(liar->asked, '\n', n) == NULL &&
	    (got = read(fd, liar->asked + n, sizeof(liar->asked) - 1 - n)) > 0)
		n += (size_t)got;
	liar->asked[n] = '\0';
	n = strlen(liar->answer);
	if (fd < 0 || write(fd, liar->answer, n) != (ssize_t)n)
		liar->asked[0] = '\0';
	(void)close(fd);
}

/* Runs the operation ${o} against the answer ${answer}, and checks the request
 * and the result. */
static void
check_answer(struct world *w, struct operation *o, const char *asked,
    const char *answer, enum rc rc, const char *text)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	struct liar liar = {.answer = answer};
	struct err err = ERR_INIT;
	struct thr *thr;

	(void)snprintf(
	    addr.sun_path, sizeof(addr.sun_path), "%s/a/data/control", w->dir);
	liar.fd = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_true(liar.fd >= 0);
	assert_int_equal(
	    0, bind(liar.fd, (struct sockaddr *)(void *)&addr, sizeof(addr)));
	assert_int_equal(0, listen(liar.fd, 1));
	assert_int_equal(
	    RC_OK, thr_start(THR_OTHER, 0, lie, &liar, &thr, NULL));
	assert_int_equal(rc, control_call(&w->data, o, &err));
	thr_join(&thr);
	(void)close(liar.fd);
	assert_int_equal(0, unlink(addr.sun_path));
	assert_string_equal(text, err.text);
	assert_string_equal(asked, liar.asked);
}

static void
test_control_answers(void **state)
{
	struct world *w = *state;
	struct operation o =
	    world_user_operation(OPERATION_USER_ADD, "ann", HASH);
	const char *const add =
	    "{\"command\":\"user.add\",\"name\":\"ann\","
	    "\"password_hash\":\"" HASH "\",\"admin\":true}\n";
	const char *const disable =
	    "{\"command\":\"user.disable\",\"name\":\"ann\",\"admin\":false}\n";
	char line[200];

	o.asked.user.admin = true;
	check_answer(w, &o, add, "{\"ok\":true,\"rc\":0}\n", RC_OK, "");
	o = world_user_operation(OPERATION_USER_DISABLE, "ann", "");
	check_answer(w, &o, disable,
	    "{\"ok\":false,\"rc\":1,\"error\":\"it is so\"}\n", (enum rc)1,
	    "it is so");
	(void)snprintf(
	    line, sizeof(line), "{\"ok\":false,\"rc\":%d}\n", RC_COUNT - 1);
	check_answer(w, &o, disable, line, (enum rc)(RC_COUNT - 1), "");
	o = world_key_operation(OPERATION_KEYS_ROTATE, "");
	check_answer(w, &o, "{\"command\":\"keys.rotate\"}\n",
	    "{\"ok\":true,\"rc\":0,\"error\":null,\"text\":\"it is so\"}\n",
	    RC_OK, "");
	assert_string_equal("it is so", o.text);
	o = world_key_operation(OPERATION_KEYS_RETIRE, "k1");
	check_answer(w, &o, "{\"command\":\"keys.retire\",\"key\":\"k1\"}\n",
	    "{\"ok\":true,\"rc\":0}\n", RC_OK, "");
	o = world_user_operation(OPERATION_USER_DISABLE, "ann", "");
	/* Result codes that do not exist. */
	(void)snprintf(
	    line, sizeof(line), "{\"ok\":false,\"rc\":%d}\n", RC_COUNT);
	check_answer(w, &o, disable, line, RC_PEER, "");
	check_answer(w, &o, disable, "{\"ok\":false,\"rc\":0}\n", RC_PEER, "");
	check_answer(w, &o, disable, "{\"ok\":false,\"rc\":-1}\n", RC_PEER, "");
	check_answer(w, &o, disable, "", RC_UNCERTAIN,
	    "the server did not answer in time");
	check_answer(w, &o, disable, "{\"ok\":true", RC_UNCERTAIN,
	    "the server did not answer in time");
}

/* A text that is not a valid answer is reported as such. */
static void
test_control_no_answers(void **state)
{
	static const char *const bad[] = {
	    "\n", "x\n", "{}\n", "[]\n", "{\"ok\":true}\n", "{\"rc\":0}\n"};
	struct world *w = *state;
	struct operation o =
	    world_user_operation(OPERATION_USER_DISABLE, "ann", "");
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	struct err err;
	struct thr *thr;
	size_t i;

	(void)snprintf(
	    addr.sun_path, sizeof(addr.sun_path), "%s/a/data/control", w->dir);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct liar liar = {.answer = bad[i]};

		liar.fd = socket(AF_UNIX, SOCK_STREAM, 0);
		assert_int_equal(
		    0, bind(liar.fd, (struct sockaddr *)(void *)&addr,
			   sizeof(addr)));
		assert_int_equal(0, listen(liar.fd, 1));
		assert_int_equal(
		    RC_OK, thr_start(THR_OTHER, 0, lie, &liar, &thr, NULL));
		assert_int_equal(RC_PEER, control_call(&w->data, &o, &err));
		assert_memory_equal(err.text, "the server's answer: ", 21);
		thr_join(&thr);
		(void)close(liar.fd);
		assert_int_equal(0, unlink(addr.sun_path));
	}
}

/* Sends ${text} to the socket unchanged.  True if the answer contains
 * ${answer}. */
static bool
raw_call(struct world *w, const char *text, const char *answer)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	char line[1000];
	ssize_t n;
	int fd;

	(void)snprintf(
	    addr.sun_path, sizeof(addr.sun_path), "%s/a/data/control", w->dir);
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_true(fd >= 0);
	assert_int_equal(
	    0, connect(fd, (struct sockaddr *)(void *)&addr, sizeof(addr)));
	assert_int_equal((ssize_t)strlen(text), write(fd, text, strlen(text)));
	(void)shutdown(fd, SHUT_WR);
	n = read(fd, line, sizeof(line) - 1);
	(void)close(fd);
	line[n > 0 ? n : 0] = '\0';
	return (strstr(line, answer) != NULL);
}

static void
test_control_nonsense(void **state)
{
	struct world *w = *state;
	struct operation o =
	    world_user_operation(OPERATION_USER_ADD, "ann", HASH);
	struct err err = ERR_INIT;
	static const char *const bad[] = {"\n", "x\n", "{}\n", "[]\n",
	    "{\"command\":\"user.add\"}\n",
	    "{\"command\":\"user.shave\",\"name\":\"ann\"}\n",
	    "{\"command\":\"user.add\",\"name\":\"A N\","
	    "\"password_hash\":\"" HASH "\"}\n",
	    "{\"command\":\"user.add\",\"name\":\"ann\"}\n"};
	size_t i;

	world_serve(w);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_true(raw_call(w, bad[i], "\"ok\":false"));
	assert_true(raw_call(w, "{\"command\":\"user.bad\",\"name\":\"ann\"}\n",
	    "\"error\":\"this server does not know that command\"}\n"));
	assert_true(raw_call(w, "{\"command\":\"user.ad\",\"name\":\"ann\"}\n",
	    "\"error\":\"this server does not know that command\"}\n"));
	assert_true(raw_call(w, "{\"command\":\"user.add\",\"name\":\"A N\"}\n",
	    "\"error\":\"bad name\"}\n"));
	assert_true(raw_call(w, "{\"command\":\"user.add\",\"name\":\"ann\"}\n",
	    "\"error\":\"no argon2id hash\"}\n"));
	assert_true(
	    raw_call(w, "{\"command\":\"user.disable\",\"name\":\"bob\"}\n",
		"\"error\":\"there is no user \\\"bob\\\"\"}\n"));
	assert_true(
	    raw_call(w, "{\"command\":\"keys.retire\",\"key\":\"a b\"}\n",
		"\"error\":\"bad key id\"}\n"));
	assert_true(raw_call(
	    w, "{\"command\":\"keys.retire\"}\n", "\"ok\":false,\"rc\":2,"));
	assert_true(
	    raw_call(w, "{\"command\":\"keys.rotate\",\"key\":\"k1\"}\n",
		"\"ok\":false,\"rc\":2,"));
	/* A request without a line end gets no answer, and the next one is
	 * served. */
	assert_true(raw_call(w, "{\"command\"", ""));
	assert_int_equal(RC_OK, control_call(&w->data, &o, &err));
}

int
main(void)
{
	struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		test_root_becomes_owner, world_open, world_remove),
	    cmocka_unit_test_setup_teardown(
		test_directory, world_open, world_remove),
	    cmocka_unit_test_setup_teardown(
		test_two_directories, world_open, world_remove),
	    cmocka_unit_test_setup_teardown(
		test_directory_that_is_none, world_open, world_remove),
	    cmocka_unit_test_setup_teardown(
		test_control, world_open, world_remove),
	    cmocka_unit_test_setup_teardown(
		test_control_answers, world_open, world_remove),
	    cmocka_unit_test_setup_teardown(
		test_control_no_answers, world_open, world_remove),
	    cmocka_unit_test_setup_teardown(
		test_control_nonsense, world_open, world_remove),
	};

	thr_init_main();
	wire_init();
	(void)umask(077);
	log_set_level(LVL_ERROR);
	if (geteuid() != 0)
		SKIP_TEST(tests, test_root_becomes_owner,
		    "only root can become another");
	return (cmocka_run_group_tests(tests, NULL, NULL));
}
