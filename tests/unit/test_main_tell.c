/* SPDX-License-Identifier: MIT */
/*
 * Texts of twinboxd for others: messages to the service manager's socket, with
 * names and texts that just fit, and the help that is made from the table of
 * commands.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "main/commands.h"
#include "main/main_internal.h"

/* ---- the service manager ---- */

/* A service manager at ${name} ("@" for an abstract socket).  ${ret} is the
 * datagram that it got. */
static void
hear(const char *name, char *ret, size_t size)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	size_t n = strlen(name);
	ssize_t got;
	int fd;

	memcpy(addr.sun_path, name, n);
	if (name[0] == '@')
		addr.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	assert_int_equal(
	    0, bind(fd, (struct sockaddr *)&addr,
		   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)));
	assert_int_equal(0, setenv("NOTIFY_SOCKET", name, 1));
	assert_true(notify_manager("READY=1\nSTATUS=at %s", "port"));
	got = recv(fd, ret, size - 1, MSG_DONTWAIT);
	assert_true(got >= 0);
	ret[got] = '\0';
	(void)close(fd);
	/* The socket is closed now. */
	assert_false(notify_manager("READY=1"));
}

static void
test_notify(void **state)
{
	static const char *const bad[] = {
	    "", "/", "@", "relative", "vsock:2:1"};
	char long_name[300], name[200], text[100];
	char dir[] = "/tmp/twinbox-main-XXXXXX";
	size_t i;

	(void)state;
	assert_non_null(mkdtemp(dir));
	(void)snprintf(name, sizeof(name), "%s/notify", dir);
	hear(name, text, sizeof(text));
	assert_string_equal("READY=1\nSTATUS=at port", text);
	assert_int_equal(0, unlink(name));
	assert_int_equal(0, rmdir(dir));
	(void)snprintf(name, sizeof(name), "@twinbox-test-%ld", (long)getpid());
	hear(name, text, sizeof(text));
	assert_string_equal("READY=1\nSTATUS=at port", text);

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(0, setenv("NOTIFY_SOCKET", bad[i], 1));
		assert_false(notify_manager("READY=1"));
	}
	memset(long_name, 'x', sizeof(long_name) - 1);
	long_name[0] = '/';
	long_name[sizeof(long_name) - 1] = '\0';
	assert_int_equal(0, setenv("NOTIFY_SOCKET", long_name, 1));
	assert_false(notify_manager("READY=1"));
	assert_int_equal(0, unsetenv("NOTIFY_SOCKET"));
	assert_false(notify_manager("READY=1"));
}

/* The longest name and the longest text are sent.  One byte more is not,
 * although the socket exists. */
static void
test_notify_room(void **state)
{
	struct sockaddr_un addr;
	char name[sizeof(addr.sun_path) + 1], text[600];
	size_t n;
	int fd, k;

	(void)state;
	for (n = sizeof(addr.sun_path) - 1; n <= sizeof(addr.sun_path); n++) {
		(void)snprintf(
		    name, sizeof(name), "@%0*ld", (int)n - 1, (long)getpid());
		addr = (struct sockaddr_un){.sun_family = AF_UNIX};
		memcpy(addr.sun_path, name, n);
		addr.sun_path[0] = '\0';
		fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		assert_true(fd >= 0);
		assert_int_equal(
		    0, bind(fd, (struct sockaddr *)&addr,
			   (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
				       n)));
		assert_int_equal(0, setenv("NOTIFY_SOCKET", name, 1));
		for (k = 510; k <= 512; k++) {
			assert_int_equal(notify_manager("%0*d", k, 7),
			    n < sizeof(addr.sun_path) && k < 512);
			assert_int_equal(
			    recv(fd, text, sizeof(text), MSG_DONTWAIT),
			    n < sizeof(addr.sun_path) && k < 512 ? k : -1);
		}
		(void)close(fd);
	}
	assert_int_equal(0, unsetenv("NOTIFY_SOCKET"));
}

/* ---- the table of commands ---- */

static const char help_text[] =
    "usage: twinboxd [COMMAND] [SETTING...]\n\nCommands:\n"
    "  serve [SETTING...]\n"
    "      Serve until SIGTERM or SIGINT; what is done without a "
    "command.\n"
    "  check-config [SETTING...]\n"
    "      Print every setting, its value and where that came from.\n"
    "  sample-config\n"
    "      Print a file with every setting, its meaning and its "
    "default.\n"
    "  migrate [SETTING...]\n"
    "      Bring the database up to date.\n"
    "  fsck [--with-peer FILE] [--peer-domain DOMAIN] [SETTING...]\n"
    "      Prove that the database is whole; also while it serves.\n"
    "  backup FILE [SETTING...]\n"
    "      Copy the database and prove the copy; also while it "
    "serves.\n"
    "  restore FILE [--replace] [SETTING...]\n"
    "      Begin again with a copy that backup has made.\n"
    "  copy [--from URL] [--to URL] [SETTING...]\n"
    "      Copy all into an empty database, between SQLite and "
    "PostgreSQL.\n"
    "  check-federation DOMAIN [SETTING...]\n"
    "      Try each step of the way to another server; also while it serves.\n"
    "  user list [--json] [SETTING...]\n"
    "      List the users of this server; also while it serves.\n"
    "  user add NAME [--admin] [--display-name TEXT] [--password-stdin] "
    "[SETTING...]\n"
    "      Make a user; the password is asked for.\n"
    "  user passwd NAME [--password-stdin] [SETTING...]\n"
    "      Change a user's password and end the user's sessions.\n"
    "  user disable NAME [SETTING...]\n"
    "      Lock a user out and end the user's sessions.\n"
    "  user enable NAME [SETTING...]\n"
    "      Let a user who was disabled log in again.\n"
    "  user promote NAME [SETTING...]\n"
    "      Make a user an administrator.\n"
    "  user demote NAME [SETTING...]\n"
    "      Take the rights of an administrator from a user, at once.\n"
    "  keys list [SETTING...]\n"
    "      List the keys that this server signs with; also while it "
    "serves.\n"
    "  keys rotate [SETTING...]\n"
    "      Make a new key, which signs in an hour; the others leave a "
    "day later.\n"
    "  keys retire KEY-ID [--now] [SETTING...]\n"
    "      Take a key out of the document of this server, in a day.\n"
    "\nFlags:\n"
    "  -h, --help\n"
    "      Print this text.\n"
    "  --version\n"
    "      Print the version, and those of the libraries.\n"
    "  --with-peer FILE\n"
    "      Compare with the database of another server as well: a copy "
    "of its file, or a URL.\n"
    "  --peer-domain DOMAIN\n"
    "      The domain of that server.\n"
    "  --replace\n"
    "      Keep the database that is there under another name.\n"
    "  --from URL\n"
    "      The database to copy; without it that of the settings.\n"
    "  --to URL\n"
    "      The empty database that it is copied into.\n"
    "  --json\n"
    "      Print a JSON object for each, a line each.\n"
    "  --admin\n"
    "      Make an administrator.\n"
    "  --display-name TEXT\n"
    "      The name that others see beside the account name.\n"
    "  --password-stdin\n"
    "      Read the password from the first line of standard input.\n"
    "  --now\n"
    "      Retire the key at once, since it was stolen.\n"
    "\n";

static void
test_commands_help(void **state)
{
	const struct main_command *command;
	const struct main_option *option;
	struct buf help = BUF_INIT;
	char word[40];
	int n = 0;

	(void)state;
	commands_write_help(&help);
	buf_addc(&help, '\0');
	assert_true(buf_ok(&help));
	for (command = main_commands; command->words != NULL; command++) {
		n++;
		assert_non_null(strstr(help.data, command->words));
		assert_non_null(strstr(help.data, command->summary));
		option = command->options;
		for (; option != NULL && option->name != NULL; option++) {
			(void)snprintf(word, sizeof(word), "\n  --%s%s%s\n",
			    option->name, option->value != NULL ? " " : "",
			    option->value != NULL ? option->value : "");
			assert_non_null(strstr(help.data, word));
		}
	}
	assert_true(n >= 7);
	assert_string_equal(help.data, help_text);
	buf_fini(&help);
}

/* The usage has the commands of one word, and no others. */
static void
test_commands_usage(void **state)
{
	struct buf usage = BUF_INIT;

	(void)state;
	commands_write_usage("user ", &usage);
	buf_addc(&usage, '\0');
	assert_string_equal(usage.data,
	    "usage: twinboxd user list [--json] [SETTING...]\n"
	    "       twinboxd user add NAME [--admin] [--display-name TEXT] "
	    "[--password-stdin] [SETTING...]\n"
	    "       twinboxd user passwd NAME [--password-stdin] "
	    "[SETTING...]\n"
	    "       twinboxd user disable NAME [SETTING...]\n"
	    "       twinboxd user enable NAME [SETTING...]\n"
	    "       twinboxd user promote NAME [SETTING...]\n"
	    "       twinboxd user demote NAME [SETTING...]\n");
	buf_fini(&usage);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_notify),
	    cmocka_unit_test(test_notify_room),
	    cmocka_unit_test(test_commands_help),
	    cmocka_unit_test(test_commands_usage),
	};

	return (cmocka_run_group_tests_name("main_tell", tests, NULL, NULL));
}
