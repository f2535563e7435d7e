/* SPDX-License-Identifier: MIT */
/*
 * Profiles: readable for the owner alone, refused if others may read them, and
 * the form of the server's address in a path.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/stat.h>
#include <unistd.h>

#include "lib/profile.h"
#include "lib/rest.h"

static char folder[] = "/tmp/twinbox-XXXXXX";

static int
setup(void **state)
{

	(void)state;
	return (mkdtemp(folder) == NULL ||
			setenv("XDG_CONFIG_HOME", folder, 1) != 0 ||
			setenv("XDG_STATE_HOME", folder, 1) != 0
		    ? -1
		    : 0);
}

static int
teardown(void **state)
{
	char path[128];

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/twinbox/desk", folder);
	(void)rmdir(path);
	(void)snprintf(path, sizeof(path), "%s/twinbox/desk.json", folder);
	(void)unlink(path);
	(void)snprintf(path, sizeof(path), "%s/twinbox", folder);
	(void)rmdir(path);
	return (rmdir(folder));
}

static void
test_round_trip(void **state)
{
	struct profile p, q;
	struct fail fail;
	struct stat st;
	char path[128], state_path[PATH_MAX];

	(void)state;
	assert_int_equal(profile_load("desk", &p, &fail), RC_OK);
	assert_string_equal(p.name, "desk");
	assert_string_equal(p.token, "");
	(void)snprintf(p.server, sizeof(p.server), "http://[::1]:8080");
	(void)snprintf(p.user, sizeof(p.user), "alice");
	(void)snprintf(p.token, sizeof(p.token), "tb_secret");
	(void)snprintf(p.token_id, sizeof(p.token_id), "7");
	(void)snprintf(p.device, sizeof(p.device), "desk \"1\"");
	assert_int_equal(profile_save(&p, &fail), RC_OK);
	assert_int_equal(profile_load("desk", &q, &fail), RC_OK);
	assert_memory_equal(&p, &q, sizeof(p));
	(void)snprintf(path, sizeof(path), "%s/twinbox/desk.json", folder);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(profile_state_path(&p, state_path, &fail), RC_OK);
	assert_non_null(strstr(state_path, "/desk/alice@[__1]_8080.db"));

	/* A file that others may read is refused. */
	assert_int_equal(chmod(path, 0640), 0);
	assert_int_equal(profile_load("desk", &q, &fail), RC_INVALID);
	assert_non_null(strstr(fail.cure, "chmod 600"));
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(truncate(path, 20), 0);
	assert_int_equal(profile_load("desk", &q, &fail), RC_INVALID);
	assert_int_equal(profile_remove(&p, &fail), RC_OK);
	assert_string_equal(p.token, "");
	assert_int_equal(profile_load("desk", &q, &fail), RC_OK);
	assert_string_equal(q.user, "");
}

/* Writes ${n} bytes as the file of profile "desk". */
static void
write_file(const char *text, size_t n)
{
	char path[128];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/twinbox", folder);
	(void)mkdir(path, 0700);
	(void)snprintf(path, sizeof(path), "%s/twinbox/desk.json", folder);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, n, file), n);
	(void)fclose(file);
	assert_int_equal(chmod(path, 0600), 0);
}

#define X16 "xxxxxxxxxxxxxxxx"
#define X64 X16 X16 X16 X16

/* Members that are missing, null, of the greatest length, too long, or not a
 * text. */
static void
test_members(void **state)
{
	static const struct {
		const char *text;
		const char *user; /* NULL: damaged */
	} table[] = {
	    {"{}", ""},
	    {"{\"user\": null}", ""},
	    {"{\"user\": \"" X16 X16 "\"}", X16 X16},
	    {"{\"user\": \"" X16 X16 "x\"}", NULL},
	    {"{\"user\": 7}", NULL},
	    {"{\"server\": 7}", NULL},
	    {"{\"token\": 7}", NULL},
	    {"{\"token\": \"" X64 X64 X64 X64 "\"}", NULL},
	    {"{\"token_id\": 7}", NULL},
	    {"{\"token_id\": \"" X64 "\"}", NULL},
	    {"{\"device\": 7}", NULL},
	    {"{\"device\": \"" X64 "\"}", ""},
	    {"{\"device\": \"" X64 "x\"}", NULL},
	    {"{\"user\": \"a\", \"user\": \"b\"}", NULL},
	    {"[]", NULL},
	    {"", NULL},
	};
	struct profile p;
	struct fail fail;
	char what[200];
	size_t i;

	(void)state;
	(void)snprintf(
	    what, sizeof(what), "%s/twinbox/desk.json is damaged", folder);
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		write_file(table[i].text, strlen(table[i].text));
		if (table[i].user != NULL) {
			assert_int_equal(
			    profile_load("desk", &p, &fail), RC_OK);
			assert_string_equal(p.user, table[i].user);
			continue;
		}
		assert_int_equal(profile_load("desk", &p, &fail), RC_INVALID);
		assert_string_equal(fail.what, what);
		assert_string_equal(fail.cure, "remove it and log in again");
	}
	assert_int_equal(profile_remove(&p, &fail), RC_OK);
	/* Removing a profile that is gone already succeeds. */
	assert_int_equal(profile_remove(&p, &fail), RC_OK);
}

/* Files that cannot be a profile: with a NUL byte, with more depth than a
 * server's JSON may have, or far too large. */
static void
test_damaged(void **state)
{
	static const char nul[] = "{\"user\": null, \"x\": 1\0}";
	static char text[1 << 20];
	struct profile p;
	struct fail fail;

	(void)state;
	write_file(nul, sizeof(nul) - 1);
	assert_int_equal(profile_load("desk", &p, &fail), RC_INVALID);
	assert_non_null(strstr(fail.what, "desk.json is damaged"));
	memcpy(text, "{\"x\":", 5);
	memset(text + 5, '[', 40);
	memset(text + 45, ']', 40);
	text[85] = '}';
	write_file(text, 86);
	assert_int_equal(profile_load("desk", &p, &fail), RC_INVALID);
	assert_non_null(strstr(fail.what, "desk.json is damaged"));
	memset(text, ' ', sizeof(text));
	memcpy(text, "{}", 2);
	write_file(text, 16384);
	assert_int_equal(profile_load("desk", &p, &fail), RC_OK);
	write_file(text, sizeof(text));
	assert_int_equal(profile_load("desk", &p, &fail), RC_INVALID);
	assert_non_null(strstr(fail.what, "desk.json is damaged"));
	assert_int_equal(profile_remove(&p, &fail), RC_OK);
}

/* The folders of the files come from the environment, or are below HOME. */
static void
test_folders(void **state)
{
	struct profile p = {.name = "desk", .user = "ann"};
	static const char *const made[] = {".local/state/twinbox/desk",
	    ".local/state/twinbox", ".local/state", ".local"};
	char path[PATH_MAX], wanted[PATH_MAX], *longest;
	struct fail fail;
	size_t i;

	(void)state;
	(void)snprintf(p.server, sizeof(p.server), "a/b:1");
	assert_int_equal(setenv("XDG_STATE_HOME", "relative", 1), 0);
	assert_int_equal(setenv("HOME", folder, 1), 0);
	assert_int_equal(profile_state_path(&p, path, &fail), RC_OK);
	(void)snprintf(wanted, sizeof(wanted),
	    "%s/.local/state/twinbox/desk/ann@a_b_1.db", folder);
	assert_string_equal(path, wanted);
	assert_int_equal(unsetenv("XDG_STATE_HOME"), 0);
	assert_int_equal(setenv("HOME", "relative", 1), 0);
	assert_int_equal(profile_state_path(&p, path, &fail), RC_INVALID);
	assert_string_equal(
	    fail.what, "neither XDG_STATE_HOME nor HOME names a folder");
	assert_string_equal(fail.cure, "set HOME");
	assert_int_equal(unsetenv("HOME"), 0);
	assert_int_equal(profile_state_path(&p, path, &fail), RC_INVALID);
	assert_int_equal(setenv("XDG_STATE_HOME", "/dev/null/x", 1), 0);
	assert_int_equal(profile_state_path(&p, path, &fail), RC_IO);
	assert_string_equal(
	    fail.what, "cannot make the folder /dev/null/x: Not a directory");
	/* File names need some room: 1024 bytes of PATH_MAX are left for
	 * them. */
	longest = test_calloc(1, PATH_MAX);
	memset(longest, '/', PATH_MAX - 1024 - 8);
	assert_int_equal(setenv("XDG_CONFIG_HOME", longest, 1), 0);
	assert_int_equal(profile_load("desk", &p, &fail), RC_INVALID);
	assert_string_equal(
	    fail.what, "the path in XDG_CONFIG_HOME or HOME is too long");
	longest[PATH_MAX - 1024 - 9] = '\0';
	assert_int_equal(setenv("XDG_CONFIG_HOME", longest, 1), 0);
	assert_int_equal(profile_load("desk", &p, &fail), RC_OK);
	test_free(longest);
	assert_int_equal(setenv("XDG_CONFIG_HOME", folder, 1), 0);
	assert_int_equal(setenv("XDG_STATE_HOME", folder, 1), 0);
	for (i = 0; i < sizeof(made) / sizeof(made[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", folder, made[i]);
		assert_int_equal(rmdir(path), 0);
	}
}

/* An error of a read or a write names the path. */
static void
test_files_that_fail(void **state)
{
	struct profile p = {.name = "desk", .user = "ann"};
	char path[128], what[300];
	struct fail fail;

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/twinbox", folder);
	(void)mkdir(path, 0700);
	(void)snprintf(path, sizeof(path), "%s/twinbox/desk.json", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(profile_save(&p, &fail), RC_IO);
	(void)snprintf(
	    what, sizeof(what), "cannot write %s: Is a directory", path);
	assert_string_equal(fail.what, what);
	assert_int_equal(profile_remove(&p, &fail), RC_IO);
	(void)snprintf(
	    what, sizeof(what), "cannot remove %s: Is a directory", path);
	assert_string_equal(fail.what, what);
	assert_string_equal(p.user, "ann");
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(symlink("desk.json", path), 0);
	assert_int_equal(profile_load("desk", &p, &fail), RC_INVALID);
	(void)snprintf(what, sizeof(what),
	    "cannot read %s: Too many levels of symbolic links", path);
	assert_string_equal(fail.what, what);
	assert_int_equal(unlink(path), 0);
	/* No temporary file may be left behind. */
	(void)snprintf(path, sizeof(path), "%s/twinbox", folder);
	assert_int_equal(rmdir(path), 0);
}

static void
test_names(void **state)
{
	static const char *const bad[] = {"", "../x", "a/b", ".hidden", "A",
	    "a b", "0123456789012345678901234567890123"};
	struct profile p;
	struct fail fail;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(profile_load(bad[i], &p, &fail), RC_INVALID);
}

static void
test_servers(void **state)
{
	static const struct {
		const char *text;
		const char *server; /* NULL: refused */
		bool local;
	} table[] = {
	    {"http://127.0.0.1:8080", "http://127.0.0.1:8080", true},
	    {"http://127.0.0.1:8080/", "http://127.0.0.1:8080", true},
	    {"https://chat.example", "https://chat.example", false},
	    {"http://localhost", "http://localhost", true},
	    {"http://localhost.example", "http://localhost.example", false},
	    {"http://[::1]:9", "http://[::1]:9", true},
	    {"http://127.example.org", "http://127.example.org", false},
	    {"ftp://127.0.0.1", NULL, false},
	    {"127.0.0.1:8080", NULL, false},
	    {"http://u:p@127.0.0.1", NULL, false},
	    {"http://127.0.0.1/x", NULL, false},
	    {"http://127.0.0.1?x", NULL, false},
	    {"http://", NULL, false},
	    {"", NULL, false},
	};
	char server[PROFILE_SERVER_SIZE];
	struct fail fail;
	enum rc rc;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		rc = rest_server_parse(
		    table[i].text, server, sizeof(server), &fail);
		if (table[i].server == NULL) {
			assert_int_equal(rc, RC_INVALID);
			continue;
		}
		assert_int_equal(rc, RC_OK);
		assert_string_equal(server, table[i].server);
		assert_int_equal(rest_server_local(server), table[i].local);
	}
}

static void
test_paths(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	rest_path_add(&b, "a-Z_0.~/?#%&= \xc3\xbc");
	buf_addc(&b, '\0');
	assert_string_equal(b.data, "a-Z_0.~%2F%3F%23%25%26%3D%20%C3%BC");
	buf_fini(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_files_that_fail),
	    cmocka_unit_test(test_round_trip),
	    cmocka_unit_test(test_members),
	    cmocka_unit_test(test_damaged),
	    cmocka_unit_test(test_folders),
	    cmocka_unit_test(test_names),
	    cmocka_unit_test(test_servers),
	    cmocka_unit_test(test_paths),
	};

	return (cmocka_run_group_tests(tests, setup, teardown));
}
