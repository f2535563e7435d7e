/* SPDX-License-Identifier: MIT */
/*
 * The chat's terminal.  Owns the knowledge of where the cursor is: libedit
 * keeps the lowest rows, everything above is printed here, so before each
 * print the edited line is wiped, and drawn again after it.
 */
#include "term/screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <editline/readline.h>

#include "base/mem.h"
#include "lib/safe.h"

#define TAG_SIZE 64
#define COLUMNS_DEFAULT 80

struct screen {
	char *prompt;
	screen_line_fn fn;
	void *arg;
	int columns;
	bool editing;       /* the prompt is on the screen */
	bool gone;          /* end of input was told */
	char tag[TAG_SIZE]; /* of the lowest line, "": none */
};

/* libedit's callbacks carry no argument. */
static struct screen *the_screen;

/* Asks the terminal for its size. */
static void
measure(struct screen *screen)
{
	struct winsize size;

	screen->columns = COLUMNS_DEFAULT;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		screen->columns = size.ws_col;
}

/* Writes all of ${n} bytes at ${p}. */
static void
write_all(const char *p, size_t n)
{
	struct pollfd writable = {.fd = STDOUT_FILENO, .events = POLLOUT};
	ssize_t wrote;

	(void)fflush(stdout);
	while (n > 0) {
		wrote = write(STDOUT_FILENO, p, n);
		if (wrote < 0 && errno == EAGAIN)
			(void)poll(&writable, 1, 1000);
		else if (wrote < 0 && errno != EINTR)
			return;
		if (wrote > 0) {
			p += wrote;
			n -= (size_t)wrote;
		}
	}
}

/* How many rows below the first the column ${columns} of the line is. */
static int
rows_to(const struct screen *screen, int columns)
{
	int prompt = safe_width(screen->prompt, strlen(screen->prompt));

	return ((prompt + columns) / screen->columns);
}

/* Appends what wipes the edited line: the cursor is ${rows} below its
 * beginning. */
static void
add_wipe(struct buf *b, int rows)
{

	if (rows > 0)
		buf_addf(b, "\033[%dA", rows);
	buf_adds(b, "\r\033[J");
}

/* Wipes the line being edited, however many rows it has. */
static void
wipe_line(const struct screen *screen)
{
	struct buf b = BUF_INIT;
	size_t point = rl_point > 0 ? (size_t)rl_point : 0;
	int columns = 0;

	if (!screen->editing)
		return;
	if (rl_line_buffer != NULL && strlen(rl_line_buffer) >= point)
		columns = safe_width(rl_line_buffer, point);
	add_wipe(&b, rows_to(screen, columns));
	if (buf_ok(&b))
		write_all(b.data, b.len);
	buf_fini(&b);
}

/* A line was entered, or input has ended; the cursor is below it. */
static void
line_entered(char *line)
{
	struct screen *screen = the_screen;
	struct buf b = BUF_INIT;

	screen->editing = false;
	if (line != NULL) {
		add_wipe(
		    &b, 1 + rows_to(screen, safe_width(line, strlen(line))));
		if (buf_ok(&b))
			write_all(b.data, b.len);
		buf_fini(&b);
		if (line[0] != '\0')
			(void)add_history(line);
	} else
		screen->gone = true;
	screen->fn(screen->arg, line);
	free(line); /* libedit's own memory */
	if (!screen->gone) {
		screen->editing = true;
		/* Again, because libedit shows the prompt only then. */
		rl_callback_handler_install(screen->prompt, line_entered);
	}
}

struct screen *
screen_open(const char *prompt, screen_line_fn fn, void *arg)
{
	struct screen *screen = mem_zalloc(1, sizeof(*screen));

	if (screen == NULL)
		return (NULL);
	screen->prompt = mem_strdup(prompt);
	if (screen->prompt == NULL) {
		mem_free(screen);
		return (NULL);
	}
	screen->fn = fn;
	screen->arg = arg;
	measure(screen);
	the_screen = screen;
	rl_readline_name = "twinbox";
	rl_catch_signals = 0; /* they are read from a descriptor */
	(void)rl_initialize();
	using_history();
	(void)rl_bind_key('\t', rl_insert);
	screen->editing = true;
	rl_callback_handler_install(screen->prompt, line_entered);
	return (screen);
}

void
screen_close(struct screen *screen)
{

	if (screen == NULL)
		return;
	wipe_line(screen);
	rl_callback_handler_remove();
	the_screen = NULL;
	mem_free(screen->prompt);
	mem_free(screen);
}

bool
screen_read(struct screen *screen)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};

	if (poll(&input, 1, 0) > 0 && (input.revents & POLLIN) != 0 &&
	    !screen->gone)
		rl_callback_read_char();
	return (!screen->gone && (input.revents & (POLLHUP | POLLERR)) == 0);
}

/* Draws the edited line again below what was printed. */
static void
redraw(const struct screen *screen)
{

	if (screen->editing)
		rl_forced_update_display();
	(void)fflush(stdout);
}

void
screen_print(struct screen *screen, struct buf *b, const char *tag)
{

	wipe_line(screen);
	if (buf_ok(b) && b->len > 0)
		write_all(b->data, b->len);
	buf_fini(b);
	(void)snprintf(
	    screen->tag, sizeof(screen->tag), "%s", tag != NULL ? tag : "");
	redraw(screen);
}

/* The columns that the line in ${b} takes, without its colours. */
static int
visible_width(const struct buf *b)
{
	struct buf plain = BUF_INIT;
	size_t i;
	int width;

	for (i = 0; i < b->len && b->data[i] != '\n'; i++) {
		if (b->data[i] == '\033') {
			while (i < b->len && b->data[i] != 'm')
				i++;
		} else
			buf_addc(&plain, b->data[i]);
	}
	width = plain.len > 0 ? safe_width(plain.data, plain.len) : 0;
	buf_fini(&plain);
	return (width);
}

bool
screen_replace(struct screen *screen, struct buf *b, const char *tag)
{
	const char *end;

	if (!buf_ok(b) || b->len == 0 || strcmp(screen->tag, tag) != 0)
		return (false);
	end = memchr(b->data, '\n', b->len);
	if (end != b->data + b->len - 1 || visible_width(b) >= screen->columns)
		return (false);
	wipe_line(screen);
	write_all("\033[1A\r\033[J", 8);
	write_all(b->data, b->len);
	buf_fini(b);
	redraw(screen);
	return (true);
}

void
screen_resize(struct screen *screen)
{

	measure(screen);
	/* Rows may have been broken anew: nothing above is where it was. */
	screen->tag[0] = '\0';
	rl_resize_terminal();
}

void
screen_stop(struct screen *screen)
{

	wipe_line(screen);
	rl_deprep_terminal();
	(void)kill(getpid(), SIGSTOP);
}

void
screen_continue(struct screen *screen)
{

	rl_prep_terminal(1);
	/* The shell has written, and the window may have changed. */
	measure(screen);
	screen->tag[0] = '\0';
	rl_resize_terminal();
	redraw(screen);
}

bool
screen_clear_line(struct screen *screen)
{
	bool had = rl_end > 0;

	wipe_line(screen);
	rl_point = rl_end = 0;
	/* Installing the handler anew begins a new line. */
	rl_callback_handler_remove();
	rl_callback_handler_install(screen->prompt, line_entered);
	return (had);
}
