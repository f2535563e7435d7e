/* SPDX-License-Identifier: MIT */
/*
 * Passwords: from the terminal, without echo, or from standard input.  While a
 * password is read from the terminal, the keys that send signals are ordinary
 * characters, so Ctrl-C ends the reading with a failure and the terminal's mode
 * is restored.  A signal from elsewhere that ends the program leaves the echo
 * off.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/terminal.h"
#include "cli/cli.h"

/* Prompts on terminal ${fd} and reads a line without echo. */
static enum rc
prompt_line(
    int fd, const char *prompt, char *ret, size_t size, struct fail *fail)
{
	struct termios old, quiet;
	bool ok;

	if (tcgetattr(fd, &old) != 0)
		return (fail_set(fail, FAIL_INPUT_OUTPUT, "the terminal: %s",
		    strerror(errno)));
	quiet = old;
	quiet.c_lflag &= ~(tcflag_t)(ECHO | ICANON | ISIG);
	quiet.c_cc[VMIN] = 1;
	quiet.c_cc[VTIME] = 0;
	(void)tcsetattr(fd, TCSAFLUSH, &quiet);
	(void)dprintf(fd, "%s", prompt);
	ok = terminal_read_line(fd, ret, size);
	(void)dprintf(fd, "\n");
	(void)tcsetattr(fd, TCSAFLUSH, &old);
	if (ok)
		return (RC_OK);
	(void)fail_set(fail, FAIL_USAGE, "no password was given");
	return (fail_cure(fail, "type it and press Enter"));
}

static enum rc
prompt_terminal(
    const char *prompt, bool twice, char *ret, size_t size, struct fail *fail)
{
	/* One byte more than a password has, as the callers' buffers. */
	char again[LIMIT_PASSWORD_LEN + 2];
	int fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
	enum rc rc;

	if (fd < 0) {
		(void)fail_set(fail, FAIL_USAGE,
		    "there is no terminal to ask for the password");
		return (fail_cure(fail, "use --password-stdin"));
	}
	rc = prompt_line(fd, prompt, ret, size, fail);
	if (rc == RC_OK && twice) {
		rc = prompt_line(
		    fd, "the same again: ", again, sizeof(again), fail);
		if (rc == RC_OK && strcmp(again, ret) != 0) {
			(void)fail_set(fail, FAIL_USAGE,
			    "the two passwords are not the same");
			rc = fail_cure(fail, "try once more");
		}
		explicit_bzero(again, sizeof(again));
	}
	(void)close(fd);
	return (rc);
}

enum rc
cli_password(struct cli *cli, const char *prompt, bool twice, char *ret,
    size_t size, struct fail *fail)
{
	enum rc rc;

	if (args_has(&cli->args, "password-stdin")) {
		if (terminal_read_plain(STDIN_FILENO, ret, size))
			rc = RC_OK;
		else
			rc = fail_set(fail, FAIL_DATA,
			    "no password could be "
			    "read from standard input");
	} else
		rc = prompt_terminal(prompt, twice, ret, size, fail);
	if (rc == RC_OK && ret[0] == '\0') {
		rc = fail_set(fail, FAIL_DATA, "the password is empty");
		(void)fail_cure(fail, "choose one of at least %d characters",
		    LIMIT_PASSWORD_MIN);
	}
	return (rc);
}
