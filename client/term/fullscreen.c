/* SPDX-License-Identifier: MIT */
/*
 * Controls the terminal with ANSI sequences that all current terminals support.
 * Each line is written at its own position, and lines do not wrap, so that a
 * character that is wider than the C library assumes damages at most one line.
 * A terminal that accepts no output (Ctrl-S, a stalled connection) does not
 * prevent a signal from ending the program.
 */
#include "term/fullscreen.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "term/grid.h"

/* A terminal that polls as writable accepts this many bytes without
 * blocking. */
#define PIECE 256
/* The time, in ms, for which put() waits until the terminal accepts more of the
 * sequence that takes the terminal over or restores it.  After that put() gives
 * up: the rest of the sequence is not written. */
#define PATIENCE_MS 300

#define TAKE "\033[?1049h\033[?25l\033[?7l\033[2J"
#define GIVE "\033[?7h\033[?25h\033[0m\033[?1049l"

#define KEY_CTRL_Z 26
#define KEY_ESCAPE 27

enum rc
fullscreen_check(const char *who, const char *instead, struct fail *fail)
{
	const char *term = getenv("TERM");

	if (isatty(STDIN_FILENO) != 1 || isatty(STDOUT_FILENO) != 1)
		(void)fail_set(fail, FAIL_USAGE, "%s needs a terminal", who);
	else if (term == NULL || term[0] == '\0' || strcmp(term, "dumb") == 0)
		(void)fail_set(fail, FAIL_USAGE,
		    "%s needs a terminal that can be drawn on, and TERM says "
		    "this one cannot",
		    who);
	else
		return (RC_OK);
	return (fail_cure(fail, "%s", instead));
}

/* Queries the size of the terminal. */
static void
measure(struct fullscreen *f)
{
	struct winsize size;

	f->columns = 80;
	f->rows = 24;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 &&
	    size.ws_row > 0) {
		f->columns = size.ws_col;
		f->rows = size.ws_row;
	}
}

/* Writes ${n} bytes at ${p} to the terminal.  Gives up, without a report to the
 * caller, after a write error or when the terminal has accepted nothing for
 * ${patience_ms}.  If ${patience_ms} is -1, waits without limit, but gives up
 * if one of the blocked signals is pending while the terminal accepts nothing.
 * Except after a write error, giving up makes the next fullscreen_draw() clear
 * the screen. */
static void
put(struct fullscreen *f, const char *p, size_t n, int patience_ms)
{
	struct pollfd fds[2] = {{.fd = STDOUT_FILENO, .events = POLLOUT},
	    {.fd = f->signals, .events = POLLIN}};
	ssize_t wrote;

	while (n > 0) {
		if (poll(fds, patience_ms < 0 ? 2 : 1, patience_ms) <= 0 ||
		    (fds[0].revents & POLLOUT) == 0) {
			/* The picture is incomplete: clear the screen next
			 * time. */
			f->clear = true;
			return;
		}
		wrote = write(STDOUT_FILENO, p, n < PIECE ? n : PIECE);
		if (wrote < 0 && errno != EINTR && errno != EAGAIN)
			return;
		if (wrote > 0) {
			p += wrote;
			n -= (size_t)wrote;
		}
	}
}

/* Takes the terminal over. */
static void
take(struct fullscreen *f)
{
	struct termios raw = f->before;

	cfmakeraw(&raw);
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	(void)tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	put(f, TAKE, sizeof(TAKE) - 1, PATIENCE_MS);
	f->taken = true;
	f->clear = true;
	measure(f);
}

/* Restores the terminal. */
static void
give(struct fullscreen *f)
{

	if (!f->taken)
		return;
	put(f, GIVE, sizeof(GIVE) - 1, PATIENCE_MS);
	(void)tcsetattr(STDIN_FILENO, TCSANOW, &f->before);
	f->taken = false;
}

enum rc
fullscreen_open(struct fullscreen *f, struct fail *fail)
{
	sigset_t set;

	memset(f, 0, sizeof(*f));
	f->signals = -1;
	if (tcgetattr(STDIN_FILENO, &f->before) != 0)
		return (fail_set(fail, FAIL_INTERNAL,
		    "the terminal cannot be asked how it is: %s",
		    strerror(errno)));
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGQUIT);
	(void)sigaddset(&set, SIGHUP);
	(void)sigaddset(&set, SIGWINCH);
	(void)sigaddset(&set, SIGTSTP);
	(void)sigaddset(&set, SIGCONT);
	(void)sigprocmask(SIG_BLOCK, &set, &f->mask_before);
	f->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (f->signals < 0) {
		(void)fail_set(
		    fail, FAIL_INTERNAL, "signalfd: %s", strerror(errno));
		(void)sigprocmask(SIG_SETMASK, &f->mask_before, NULL);
		return (fail->rc);
	}
	take(f);
	return (RC_OK);
}

void
fullscreen_close(struct fullscreen *f)
{

	give(f);
	if (f->signals < 0)
		return;
	(void)close(f->signals);
	f->signals = -1;
}

void
fullscreen_draw(struct fullscreen *f, const struct buf *frame)
{
	const char *line = frame->data, *end;
	struct buf b = BUF_INIT;
	size_t left = frame->len;
	int row;

	if (!buf_ok(frame))
		return;
	if (f->clear)
		buf_adds(&b, "\033[2J");
	f->clear = false;
	for (row = 1; row <= f->rows; row++) {
		buf_addf(&b, "\033[%d;1H\033[K", row);
		if (left == 0)
			continue;
		end = memchr(line, '\n', left);
		if (end == NULL)
			end = line + left;
		grid_clip(&b, line, (size_t)(end - line), f->columns);
		left -= (size_t)(end - line);
		line = end;
		if (left > 0) {
			line++;
			left--;
		}
	}
	if (buf_ok(&b))
		put(f, b.data, b.len, -1);
	buf_fini(&b);
}

/* Stops the program, as Ctrl-Z does.  The next signal is SIGCONT. */
static void
stop(struct fullscreen *f)
{

	give(f);
	(void)kill(getpid(), SIGSTOP);
}

/* Handles a signal and returns its event. */
static int
take_signal(struct fullscreen *f, int number)
{

	switch (number) {
	case SIGWINCH:
		measure(f);
		f->clear = true;
		return (FULLSCREEN_CHANGED);
	case SIGTSTP:
		stop(f);
		return (FULLSCREEN_CHANGED);
	case SIGCONT:
		take(f);
		return (FULLSCREEN_CHANGED);
	default:
		return (FULLSCREEN_END);
	}
}

/* Removes the first ${n} bytes of the typed bytes. */
static void
drop(struct fullscreen *f, size_t n)
{

	f->nkeys -= n;
	memmove(f->keys, f->keys + n, f->nkeys);
}

/* Returns the key for "ESC [ ${number} ${last}" or "ESC O ${last}". */
static int
escape_meaning(char number, char last)
{

	switch (last) {
	case 'A':
		return (FULLSCREEN_UP);
	case 'B':
		return (FULLSCREEN_DOWN);
	case 'C':
		return (FULLSCREEN_RIGHT);
	case 'D':
		return (FULLSCREEN_LEFT);
	case 'H':
		return (FULLSCREEN_HOME);
	case '~':
		break;
	default:
		return (FULLSCREEN_OTHER);
	}
	if (number == '5')
		return (FULLSCREEN_PAGE_UP);
	if (number == '6')
		return (FULLSCREEN_PAGE_DOWN);
	return (number == '1' ? FULLSCREEN_HOME : FULLSCREEN_OTHER);
}

/* Removes the first key from f->keys, which must not be empty, and returns it;
 * FULLSCREEN_OTHER for an escape sequence that is not known.  If f->keys has
 * only the beginning of an escape sequence and is not full, removes nothing and
 * returns FULLSCREEN_NONE.  If ESC is followed by neither "[" nor "O", removes
 * only the ESC and returns FULLSCREEN_OTHER. */
static int
take_key(struct fullscreen *f)
{
	const char *keys = f->keys;
	size_t i = 2;
	int key = (unsigned char)keys[0];

	if (key != KEY_ESCAPE) {
		drop(f, 1);
		return (key);
	}
	if (f->nkeys == 1)
		return (FULLSCREEN_NONE);
	if (keys[1] != '[' && keys[1] != 'O') {
		drop(f, 1);
		return (FULLSCREEN_OTHER);
	}
	while (i < f->nkeys &&
	       ((keys[i] >= '0' && keys[i] <= '9') || keys[i] == ';'))
		i++;
	if (i == f->nkeys && i < sizeof(f->keys))
		return (FULLSCREEN_NONE);
	key =
	    i < f->nkeys ? escape_meaning(keys[2], keys[i]) : FULLSCREEN_OTHER;
	drop(f, i < f->nkeys ? i + 1 : i);
	return (key);
}

/* Reads typed bytes.  Returns false when the terminal is gone. */
static bool
read_keys(struct fullscreen *f)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	ssize_t n;

	if (f->nkeys == sizeof(f->keys))
		return (true);
	if (poll(&input, 1, 0) <= 0)
		return (true);
	n = read(STDIN_FILENO, f->keys + f->nkeys, sizeof(f->keys) - f->nkeys);
	if (n > 0)
		f->nkeys += (size_t)n;
	return (n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN)));
}

int
fullscreen_next(struct fullscreen *f)
{
	struct signalfd_siginfo info;
	int key;

	if (read(f->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
		return (take_signal(f, (int)info.ssi_signo));
	if (!read_keys(f))
		return (FULLSCREEN_END);
	if (f->nkeys == 0)
		return (FULLSCREEN_NONE);
	key = take_key(f);
	if (key != KEY_CTRL_Z)
		return (key);
	stop(f);
	return (FULLSCREEN_CHANGED);
}
