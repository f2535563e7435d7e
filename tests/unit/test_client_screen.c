/* SPDX-License-Identifier: MIT */
/*
 * The screen of a chat: output above the line that is being edited, which is
 * wiped before and drawn again after, and whether an earlier line can be
 * replaced.  The test replaces libedit; its calls appear as <words>.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <locale.h>
#include <unistd.h>

#include <editline/readline.h>

#include "term/screen.h"

static int in, out;      /* the real ones */
static int typed, shown; /* the test's ends of the pipes */
static char text[4096];
static rl_vcpfunc_t *handler;

static void
note(const char *word)
{

	assert_int_equal(
	    write(STDOUT_FILENO, word, strlen(word)), strlen(word));
}

/* ---- in the place of libedit ---- */

const char *rl_readline_name;
int rl_catch_signals = 1;
char *rl_line_buffer;
int rl_point, rl_end;

int
rl_initialize(void)
{

	return (0);
}

void
using_history(void)
{
}

int
add_history(const char *line)
{

	note("<history ");
	note(line);
	note(">");
	return (0);
}

int
rl_insert(int count, int c)
{

	(void)count;
	(void)c;
	return (0);
}

int
rl_bind_key(int key, rl_command_func_t *fn)
{

	assert_int_equal(key, '\t');
	assert_ptr_equal(fn, rl_insert);
	return (0);
}

void
rl_callback_handler_install(const char *prompt, rl_vcpfunc_t *fn)
{

	handler = fn;
	note("<");
	note(prompt);
	note(">");
}

void
rl_callback_handler_remove(void)
{

	note("<remove>");
}

void
rl_callback_read_char(void)
{
	char c;

	assert_int_equal(read(STDIN_FILENO, &c, 1), 1);
	note("<key>");
}

void
rl_forced_update_display(void)
{

	note("<draw>");
}

void
rl_prep_terminal(int meta)
{

	assert_int_equal(meta, 1);
	note("<prepare>");
}

void
rl_deprep_terminal(void)
{

	note("<give back>");
}

void
rl_resize_terminal(void)
{

	note("<resize>");
}

/* ---- */

static void
entered(void *arg, const char *line)
{

	assert_ptr_equal(arg, text);
	note("<line ");
	note(line != NULL ? line : "end");
	note(">");
}

/* Returns the output since the last call. */
static const char *
written(void)
{
	ssize_t n = read(shown, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	return (text);
}

/* ${line} is being edited, with the cursor before byte ${point}. */
static void
edit(const char *line, int point)
{
	static char buffer[256];

	(void)snprintf(buffer, sizeof(buffer), "%s", line);
	rl_line_buffer = buffer;
	rl_point = point;
	rl_end = (int)strlen(line);
}

static int
set_up(void **state)
{
	int a[2], b[2];

	if (setlocale(LC_CTYPE, "C.UTF-8") == NULL || pipe(a) != 0 ||
	    pipe(b) != 0)
		return (-1);
	in = dup(STDIN_FILENO);
	out = dup(STDOUT_FILENO);
	(void)fflush(stdout);
	(void)dup2(a[0], STDIN_FILENO);
	(void)dup2(b[1], STDOUT_FILENO);
	(void)close(a[0]);
	(void)close(b[1]);
	typed = a[1];
	shown = b[0];
	(void)fcntl(shown, F_SETFL, O_NONBLOCK);
	edit("", 0);
	*state = screen_open("> ", entered, text);
	return (*state == NULL ? -1 : 0);
}

static int
tear_down(void **state)
{

	screen_close(*state);
	(void)dup2(in, STDIN_FILENO);
	(void)dup2(out, STDOUT_FILENO);
	(void)close(in);
	(void)close(out);
	(void)close(shown);
	if (typed >= 0)
		(void)close(typed);
	return (0);
}

static void
print(struct screen *screen, const char *lines, const char *tag)
{
	struct buf b = BUF_INIT;

	buf_adds(&b, lines);
	screen_print(screen, &b, tag);
	assert_null(b.data);
}

static void
adopt(struct screen *screen, const char *lines, const char *tag)
{
	struct buf b = BUF_INIT;

	buf_adds(&b, lines);
	screen_adopt(screen, &b, tag);
	assert_null(b.data);
}

/* Returns whether ${line} replaced the line with ${tag}. */
static bool
replace(struct screen *screen, const char *line, const char *tag)
{
	struct buf b = BUF_INIT;
	bool ret;

	buf_adds(&b, line);
	ret = screen_replace(screen, &b, tag);
	assert_true(!ret || b.data == NULL);
	buf_fini(&b);
	return (ret);
}

/* The terminal has 80 columns, of which the prompt takes two. */
static void
test_print(void **state)
{
	static char long_line[200];
	struct screen *screen = *state;
	struct buf b = BUF_INIT;

	memset(long_line, 'x', sizeof(long_line) - 1);
	assert_string_equal(written(), "<> >");
	print(screen, "one\n", NULL);
	assert_string_equal(written(), "\r\033[Jone\n<draw>");
	print(screen, "", NULL);
	assert_string_equal(written(), "\r\033[J<draw>");
	/* A text that is incomplete for want of memory is not printed. */
	buf_adds(&b, "half");
	b.failed = true;
	screen_print(screen, &b, NULL);
	assert_string_equal(written(), "\r\033[J<draw>");
	edit(long_line, 77);
	print(screen, "a\n", NULL);
	assert_string_equal(written(), "\r\033[Ja\n<draw>");
	edit(long_line, 78);
	print(screen, "b\n", NULL);
	assert_string_equal(written(), "\033[1A\r\033[Jb\n<draw>");
	edit(long_line, 158);
	print(screen, "c\n", NULL);
	assert_string_equal(written(), "\033[2A\r\033[Jc\n<draw>");
	/* The cursor is outside of the line. */
	edit("short", 78);
	print(screen, "d\n", NULL);
	assert_string_equal(written(), "\r\033[Jd\n<draw>");
	edit("short", -1);
	print(screen, "e\n", NULL);
	assert_string_equal(written(), "\r\033[Je\n<draw>");
}

static void
test_lines(void **state)
{
	static char long_line[100];
	struct screen *screen = *state;

	(void)written();
	handler(strdup("hi"));
	assert_string_equal(
	    written(), "\033[1A\r\033[J<history hi><line hi><> >");
	handler(strdup(""));
	assert_string_equal(written(), "\033[1A\r\033[J<line ><> >");
	memset(long_line, 'x', 78);
	handler(strdup(long_line));
	assert_memory_equal(written(), "\033[2A\r\033[J<history xx", 18);
	assert_true(screen_read(screen));
	handler(NULL);
	assert_string_equal(written(), "<line end>");
	/* After the end of input there is no edited line. */
	print(screen, "a\n", NULL);
	assert_string_equal(written(), "a\n");
	assert_int_equal(write(typed, "k", 1), 1);
	assert_false(screen_read(screen));
	assert_string_equal(written(), "");
}

static void
test_replace(void **state)
{
	struct screen *screen = *state;

	print(screen, "one\n", "m1");
	(void)written();
	assert_false(replace(screen, "two\n", "m2"));
	assert_false(replace(screen, "", "m1"));
	assert_false(replace(screen, "two", "m1"));
	assert_string_equal(written(), "");
	edit("abc", 3);
	assert_true(replace(screen, "two\n", "m1"));
	assert_string_equal(written(), "\r\033[J\033[1A\r\033[Jtwo\n<draw>");
	/* The lines below are printed again unchanged. */
	print(screen, "a\nb\n", NULL);
	print(screen, "three\n", "m3");
	(void)written();
	assert_true(replace(screen, "one\n", "m1"));
	assert_string_equal(
	    written(), "\r\033[J\033[4A\r\033[Jone\na\nb\nthree\n<draw>");
	assert_true(replace(screen, "four\n", "m3"));
	assert_string_equal(written(), "\r\033[J\033[1A\r\033[Jfour\n<draw>");
	/* If two lines have the same tag, the last one is replaced. */
	print(screen, "again\n", "m1");
	(void)written();
	assert_true(replace(screen, "again!\n", "m1"));
	assert_string_equal(written(), "\r\033[J\033[1A\r\033[Jagain!\n<draw>");
	/* After a change of size all lines are printed again, and can still be
	 * replaced. */
	screen_resize(screen);
	assert_string_equal(
	    written(), "\033[H\033[Jone\na\nb\nfour\nagain!\n<resize><draw>");
	assert_true(replace(screen, "end\n", "m1"));
}

/* A line of more than 80 columns takes more rows.  Colours take no columns, and
 * a wide character that does not fit begins the next row. */
static void
test_replace_wrapped(void **state)
{
	static const struct {
		int rows, zeros;
		const char *before, *behind;
	} cases[] = {
	    {1, 80, "\033[31m", "\033[0m\n"},
	    {2, 81, "\033[31m", "\033[0m\n"},
	    {3, 161, "", "\n"},
	    {3, 160, "", "\n\n"},
	    {1, 78, "", "\xe6\x97\xa5\n"},
	    {2, 79, "", "\xe6\x97\xa5\n"},
	};
	struct screen *screen = *state;
	char line[200], wipe[40];
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		(void)snprintf(line, sizeof(line), "%s%0*d%s", cases[i].before,
		    cases[i].zeros, 0, cases[i].behind);
		print(screen, line, "m");
		(void)written();
		assert_true(replace(screen, "x\n", "m"));
		(void)snprintf(wipe, sizeof(wipe),
		    "\r\033[J\033[%dA\r\033[Jx\n<draw>", cases[i].rows);
		assert_string_equal(written(), wipe);
	}
}

/* A line that has left the screen of 24 rows, or would be under the edited
 * line, is not replaced. */
static void
test_replace_left(void **state)
{
	static char long_line[100];
	struct screen *screen = *state;
	int i;

	memset(long_line, 'x', 90);
	print(screen, "one\n", "m1");
	for (i = 0; i < 22; i++)
		print(screen, "more\n", NULL);
	assert_true(replace(screen, "one!\n", "m1"));
	edit(long_line, 90);
	assert_false(replace(screen, "one?\n", "m1"));
	edit("short", 5);
	assert_true(replace(screen, "one?\n", "m1"));
	print(screen, "more\n", NULL);
	assert_false(replace(screen, "one\n", "m1"));
	for (i = 0; i < 100; i++)
		print(screen, "more\n", "last");
	assert_true(replace(screen, "end\n", "last"));
	/* Lines that were printed before the screen existed count as well. */
	screen_continue(screen);
	assert_false(replace(screen, "end\n", "last"));
	adopt(screen, "old\nlines\n", "m2");
	print(screen, "new\n", NULL);
	(void)written();
	assert_true(replace(screen, "seen\n", "m2"));
	assert_string_equal(
	    written(), "\r\033[J\033[3A\r\033[Jseen\nnew\n<draw>");
}

/* While the program was stopped, others used the terminal: after that the
 * screen does not know the lines above the edited one. */
static void
test_continue(void **state)
{
	struct screen *screen = *state;

	print(screen, "one\n", "m1");
	edit("abc", 3);
	(void)written();
	screen_continue(screen);
	assert_string_equal(written(), "<prepare><resize><draw>");
	assert_false(replace(screen, "two\n", "m1"));
}

static void
test_keys(void **state)
{
	struct screen *screen = *state;

	(void)written();
	assert_true(screen_read(screen));
	assert_string_equal(written(), "");
	assert_int_equal(write(typed, "ab", 2), 2);
	assert_true(screen_read(screen));
	assert_string_equal(written(), "<key>");
	assert_true(screen_read(screen));
	(void)close(typed);
	typed = -1;
	assert_false(screen_read(screen));
}

static void
test_clear_line(void **state)
{
	struct screen *screen = *state;

	(void)written();
	assert_false(screen_clear_line(screen));
	assert_string_equal(written(), "\r\033[J<remove><> >");
	edit("a", 0);
	assert_true(screen_clear_line(screen));
	assert_int_equal(rl_end, 0);
	assert_int_equal(rl_point, 0);
	assert_string_equal(written(), "\r\033[J<remove><> >");
	assert_int_equal(rl_catch_signals, 0);
	assert_string_equal(rl_readline_name, "twinbox");
}

static void
test_close(void **state)
{

	(void)written();
	edit("half a line", 4);
	screen_close(*state);
	*state = NULL;
	assert_string_equal(written(), "\r\033[J<remove>");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_print, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_lines, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_replace, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(
		test_replace_wrapped, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(
		test_replace_left, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_continue, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_keys, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_clear_line, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_close, set_up, tear_down),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
