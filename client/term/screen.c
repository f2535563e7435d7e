/* SPDX-License-Identifier: MIT */
/*
 * The chat's terminal.  This file knows where the cursor is.  The line being
 * edited is below all printed lines, where libedit draws it; this file prints
 * everything above.  So each print first erases the edited line and redraws it
 * afterwards.  The texts of the last prints (at most ITEMS_MAX) that are still
 * on the screen are remembered, so that one of them can be replaced: that text
 * and all below it are printed again.
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
#define ROWS_DEFAULT 24
#define ITEMS_MAX 64

/* Lines that are on the screen. */
struct item {
	char tag[TAG_SIZE]; /* "": none */
	int rows;           /* that the text takes */
	char *text;
	size_t n;
};

struct screen {
	char *prompt;
	screen_line_fn fn;
	void *arg;
	int columns, rows;
	bool editing; /* the prompt is on the screen */
	bool gone;    /* end of input was reported */

	/* The last texts printed or adopted above the edited line, one item for
	 * each call, from the top of the screen down.  remember() and
	 * screen_resize() drop the highest items that do not fit on the screen;
	 * after screen_replace() with a longer text, the items may take more
	 * rows than the terminal has. */
	struct item items[ITEMS_MAX];
	int nitems;
};

/* libedit's callbacks have no argument for the screen. */
static struct screen *the_screen;

/* Queries the size of the terminal. */
static void
measure(struct screen *screen)
{
	struct winsize size;

	screen->columns = COLUMNS_DEFAULT;
	screen->rows = ROWS_DEFAULT;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
		return;
	if (size.ws_col > 0)
		screen->columns = size.ws_col;
	if (size.ws_row > 0)
		screen->rows = size.ws_row;
}

/* Writes all ${n} bytes at ${p}. */
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

/* Returns the row of the position that is ${columns} columns after the end of
 * the prompt, in the edited text.  Row 0 is the one in which the prompt
 * begins. */
static int
rows_to(const struct screen *screen, int columns)
{
	int prompt = safe_width(screen->prompt, strlen(screen->prompt));

	return ((prompt + columns) / screen->columns);
}

/* Appends the sequence that moves the cursor up by ${rows} rows, to the
 * beginning of that row, and erases everything from there on. */
static void
add_wipe(struct buf *b, int rows)
{

	if (rows > 0)
		buf_addf(b, "\033[%dA", rows);
	buf_adds(b, "\r\033[J");
}

/* Erases the edited line, which may take several rows. */
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

/* libedit's callback: ${line} was entered and the cursor is on the row below
 * it, or ${line} is NULL because the input has ended.  Erases an entered line
 * from the screen and, unless it is empty, adds it to the history.  Then calls
 * screen->fn with ${line}, frees ${line} and, unless the input has ended, shows
 * the prompt again. */
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
		/* Install the handler again, because that shows the prompt. */
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
	rl_catch_signals = 0; /* signals are read from a signalfd */
	(void)rl_initialize();
	using_history();
	(void)rl_bind_key('\t', rl_insert);
	screen->editing = true;
	rl_callback_handler_install(screen->prompt, line_entered);
	return (screen);
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

/* Redraws the edited line below the printed lines. */
static void
redraw(const struct screen *screen)
{

	if (screen->editing)
		rl_forced_update_display();
	(void)fflush(stdout);
}

/* Appends the first line of the ${n} bytes at ${p} to ${ret}, without colour
 * sequences and line end.  Returns the number of bytes that the line takes at
 * ${p}, with its colour sequences and line end. */
static size_t
plain_line(const char *p, size_t n, struct buf *ret)
{
	size_t i;

	for (i = 0; i < n && p[i] != '\n'; i++) {
		if (p[i] == '\033') {
			while (i < n && p[i] != 'm')
				i++;
		} else
			buf_addc(ret, p[i]);
	}
	return (i < n ? i + 1 : n);
}

/* Returns the number of rows that the lines in ${n} bytes at ${p} take. */
static int
count_rows(const struct screen *screen, const char *p, size_t n)
{
	struct buf line = BUF_INIT;
	size_t used, cut;
	int rows = 0;

	while (n > 0) {
		used = plain_line(p, n, &line);
		p += used;
		n -= used;
		rows++;
		for (used = 0; used < line.len; used += cut) {
			cut = safe_cut(
			    line.data + used, line.len - used, screen->columns);
			if (cut == 0)
				break;
			rows += used > 0;
		}
		buf_reset(&line);
	}
	buf_fini(&line);
	return (rows);
}

/* Drops the ${n} highest items. */
static void
forget_items(struct screen *screen, int n)
{
	int i;

	for (i = 0; i < n; i++)
		mem_free(screen->items[i].text);
	screen->nitems -= n;
	memmove(screen->items, screen->items + n,
	    (size_t)screen->nitems * sizeof(screen->items[0]));
}

/* Returns the number of rows of the items from ${i} on. */
static int
rows_from(const struct screen *screen, int i)
{
	int rows = 0;

	for (; i < screen->nitems; i++)
		rows += screen->items[i].rows;
	return (rows);
}

/* Remembers the lines in ${b}, and drops those that leave the screen. */
static void
remember(struct screen *screen, const struct buf *b, const char *tag)
{
	struct item *item;
	int n = 0;

	if (screen->nitems == ITEMS_MAX)
		forget_items(screen, 1);
	item = &screen->items[screen->nitems];
	item->text = mem_alloc(b->len);
	if (item->text == NULL) {
		/* Rows above a missing item cannot be counted: drop them. */
		forget_items(screen, screen->nitems);
		return;
	}
	memcpy(item->text, b->data, b->len);
	item->n = b->len;
	item->rows = count_rows(screen, b->data, b->len);
	(void)snprintf(
	    item->tag, sizeof(item->tag), "%s", tag != NULL ? tag : "");
	screen->nitems++;
	while (n < screen->nitems && rows_from(screen, n) > screen->rows)
		n++;
	forget_items(screen, n);
}

void
screen_print(struct screen *screen, struct buf *b, const char *tag)
{

	wipe_line(screen);
	if (buf_ok(b) && b->len > 0) {
		write_all(b->data, b->len);
		remember(screen, b, tag);
	}
	buf_fini(b);
	redraw(screen);
}

void
screen_adopt(struct screen *screen, struct buf *b, const char *tag)
{

	if (buf_ok(b) && b->len > 0)
		remember(screen, b, tag);
	buf_fini(b);
}

/* Returns the number of rows of the edited line. */
static int
edited_rows(const struct screen *screen)
{
	size_t n = rl_line_buffer != NULL ? strlen(rl_line_buffer) : 0;

	if (!screen->editing)
		return (0);
	return (1 + rows_to(screen, n > 0 ? safe_width(rl_line_buffer, n) : 0));
}

/* Returns the index of the last item with ${tag}, or -1. */
static int
find_item(const struct screen *screen, const char *tag)
{
	int i = screen->nitems - 1;

	while (i >= 0 && strcmp(screen->items[i].tag, tag) != 0)
		i--;
	return (i);
}

/* Prints the items from ${i} on again, over the last ${rows} rows. */
static void
print_again(struct screen *screen, int i, int rows)
{
	struct buf b = BUF_INIT;

	wipe_line(screen);
	add_wipe(&b, rows);
	if (buf_ok(&b))
		write_all(b.data, b.len);
	buf_fini(&b);
	for (; i < screen->nitems; i++)
		write_all(screen->items[i].text, screen->items[i].n);
	redraw(screen);
}

bool
screen_replace(struct screen *screen, struct buf *b, const char *tag)
{
	int i = find_item(screen, tag), rows;
	struct item *item;
	char *text;

	if (i < 0 || !buf_ok(b) || b->len == 0 || b->data[b->len - 1] != '\n')
		return (false);
	rows = rows_from(screen, i);
	if (rows + edited_rows(screen) > screen->rows)
		return (false); /* its first row has left the screen */
	text = mem_alloc(b->len);
	if (text == NULL)
		return (false);
	memcpy(text, b->data, b->len);
	item = &screen->items[i];
	mem_free(item->text);
	item->text = text;
	item->n = b->len;
	item->rows = count_rows(screen, b->data, b->len);
	buf_fini(b);
	print_again(screen, i, rows);
	return (true);
}

void
screen_resize(struct screen *screen)
{
	int i;

	measure(screen);
	/* After a resize some terminals wrap the rows again and some do not, so
	 * all positions are unknown.  Clear the screen and print those
	 * remembered items that fit above the edited line. */
	for (i = 0; i < screen->nitems; i++)
		screen->items[i].rows = count_rows(
		    screen, screen->items[i].text, screen->items[i].n);
	for (i = 0; i < screen->nitems &&
		    rows_from(screen, i) + edited_rows(screen) > screen->rows;
	     i++)
		;
	forget_items(screen, i);
	write_all("\033[H\033[J", 6);
	for (i = 0; i < screen->nitems; i++)
		write_all(screen->items[i].text, screen->items[i].n);
	rl_resize_terminal();
	redraw(screen);
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
	/* The shell may have written, and the window may have a new size. */
	measure(screen);
	forget_items(screen, screen->nitems);
	rl_resize_terminal();
	redraw(screen);
}

bool
screen_clear_line(struct screen *screen)
{
	bool had = rl_end > 0;

	wipe_line(screen);
	rl_point = rl_end = 0;
	/* Installing the handler again begins an empty line. */
	rl_callback_handler_remove();
	rl_callback_handler_install(screen->prompt, line_entered);
	return (had);
}

void
screen_close(struct screen *screen)
{

	if (screen == NULL)
		return;
	wipe_line(screen);
	rl_callback_handler_remove();
	the_screen = NULL;
	forget_items(screen, screen->nitems);
	mem_free(screen->prompt);
	mem_free(screen);
}
