/* SPDX-License-Identifier: MIT */
/*
 * Keys as a terminal sends them, in one piece and in several, and the bytes
 * that draw a picture.  Pipes replace the terminal.
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

#include "term/fullscreen.h"

struct world {
	struct fullscreen f;
	int in, out;      /* the real ones */
	int typed, drawn; /* the test's ends of the pipes */
	char text[4096];
};

static int
set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	int in[2], out[2];

	assert_non_null(w);
	if (setlocale(LC_CTYPE, "C.UTF-8") == NULL || pipe(in) != 0 ||
	    pipe(out) != 0)
		return (-1);
	w->in = dup(STDIN_FILENO);
	w->out = dup(STDOUT_FILENO);
	(void)dup2(in[0], STDIN_FILENO);
	(void)close(in[0]);
	w->typed = in[1];
	w->drawn = out[0];
	(void)fcntl(w->drawn, F_SETFL, O_NONBLOCK);
	(void)fflush(stdout);
	(void)dup2(out[1], STDOUT_FILENO);
	(void)close(out[1]);
	w->f.signals = -1;
	w->f.columns = 5;
	w->f.rows = 3;
	*state = w;
	return (0);
}

static int
tear_down(void **state)
{
	struct world *w = *state;

	(void)dup2(w->in, STDIN_FILENO);
	(void)dup2(w->out, STDOUT_FILENO);
	(void)close(w->in);
	(void)close(w->out);
	(void)close(w->drawn);
	if (w->typed >= 0)
		(void)close(w->typed);
	free(w);
	return (0);
}

/* Types ${bytes} and returns the names of the keys that were read. */
static const char *
keys(struct world *w, const char *bytes)
{
	static const char *const names[] = {"up", "down", "right", "left",
	    "page-up", "page-down", "home", "other", "changed", "end"};
	size_t n = 0;
	int key, i;

	assert_int_equal(write(w->typed, bytes, strlen(bytes)), strlen(bytes));
	w->text[0] = '\0';
	for (i = 0; i < 200; i++) {
		key = fullscreen_next(&w->f);
		if (key == FULLSCREEN_NONE)
			return (w->text);
		if (key < FULLSCREEN_UP)
			n += (size_t)snprintf(
			    w->text + n, sizeof(w->text) - n, "%c ", key);
		else
			n += (size_t)snprintf(w->text + n, sizeof(w->text) - n,
			    "%s ", names[key - FULLSCREEN_UP]);
	}
	return ("there is no end");
}

static void
test_keys(void **state)
{
	struct world *w = *state;

	assert_string_equal(keys(w, ""), "");
	assert_string_equal(keys(w, "aq1"), "a q 1 ");
	assert_string_equal(keys(w, "\033[A\033[B\033[C\033[D\033[H"),
	    "up down right left home ");
	assert_string_equal(keys(w, "\033OA\033OB\033OC\033OD\033OH"),
	    "up down right left home ");
	assert_string_equal(keys(w, "\033[5~\033[6~\033[1~\033[4~"),
	    "page-up page-down home other ");
	assert_string_equal(
	    keys(w, "\033[1;5Aa\033[10~b\033[99~c"), "up a home b other c ");
	assert_string_equal(keys(w, "\033[Za\033[Pb"), "other a other b ");
	assert_string_equal(keys(w, "\033xa"), "other x a ");
	assert_string_equal(keys(w, "\033\033[A"), "other up ");
	assert_int_equal(w->f.nkeys, 0);
}

/* A sequence may come in pieces; keys before it are not a part of it. */
static void
test_pieces(void **state)
{
	struct world *w = *state;

	assert_string_equal(keys(w, "\033[5~"), "page-up ");
	assert_string_equal(keys(w, "\033"), "");
	assert_string_equal(keys(w, "["), "");
	assert_string_equal(keys(w, "6"), "");
	assert_string_equal(keys(w, "~x"), "page-down x ");
	assert_string_equal(keys(w, "\033[5~"), "page-up ");
	assert_string_equal(keys(w, "\033["), "");
	assert_string_equal(keys(w, "Bx"), "down x ");
}

/* A sequence that fills the buffer for keys is not a sequence. */
static void
test_flood(void **state)
{
	struct world *w = *state;
	char bytes[101];

	memset(bytes, '9', sizeof(bytes));
	bytes[0] = '\033';
	bytes[1] = '[';
	bytes[sizeof(w->f.keys) - 1] = '\0';
	assert_string_equal(keys(w, bytes), "");
	assert_int_equal(w->f.nkeys, sizeof(w->f.keys) - 1);
	assert_string_equal(keys(w, "9"), "other ");
	assert_string_equal(keys(w, "a"), "a ");
	/* The last byte that fits ends a sequence. */
	assert_string_equal(keys(w, bytes), "");
	assert_string_equal(keys(w, "Aa"), "up a ");
	memset(bytes, 'z', 100);
	bytes[100] = '\0';
	assert_int_equal(strlen(keys(w, bytes)), 200);
	assert_int_equal(w->f.nkeys, 0);
}

static void
test_terminal_is_gone(void **state)
{
	struct world *w = *state;
	int signals[2];

	/* The pipe of signals is empty: its EAGAIN must not be taken for one of
	 * the terminal. */
	assert_int_equal(pipe2(signals, O_NONBLOCK), 0);
	w->f.signals = signals[0];
	assert_string_equal(keys(w, "a"), "a ");
	(void)close(w->typed);
	w->typed = -1;
	assert_int_equal(fullscreen_next(&w->f), FULLSCREEN_END);
	(void)close(signals[0]);
	(void)close(signals[1]);
}

/* Draws ${frame} and returns the output. */
static const char *
drawn(struct world *w, const char *frame)
{
	struct buf b = BUF_INIT;
	ssize_t n;

	buf_adds(&b, frame);
	fullscreen_draw(&w->f, &b);
	buf_fini(&b);
	n = read(w->drawn, w->text, sizeof(w->text) - 1);
	w->text[n > 0 ? n : 0] = '\0';
	return (w->text);
}

static void
test_draw(void **state)
{
	struct world *w = *state;
	char frame[1000], *p;
	struct buf failed = {.failed = true};

	w->f.clear = true;
	assert_string_equal(drawn(w, "abcdefg\n\033[1mx\033[0m\n"),
	    "\033[2J\033[1;1H\033[Kabcd…\033[2;1H\033[K\033[1mx\033[0m\033[0m"
	    "\033[3;1H\033[K");
	assert_false(w->f.clear);
	assert_string_equal(drawn(w, "a\n\nabcde"),
	    "\033[1;1H\033[Ka\033[2;1H\033[K\033[3;1H\033[Kabcde");
	assert_string_equal(
	    drawn(w, "a"), "\033[1;1H\033[Ka\033[2;1H\033[K\033[3;1H\033[K");
	assert_string_equal(drawn(w, "1\n2\n3\n4\n"),
	    "\033[1;1H\033[K1\033[2;1H\033[K2\033[3;1H\033[K3");
	assert_string_equal(
	    drawn(w, ""), "\033[1;1H\033[K\033[2;1H\033[K\033[3;1H\033[K");
	/* More bytes than one write takes. */
	w->f.columns = 999;
	w->f.rows = 1;
	memset(frame, 'x', sizeof(frame) - 1);
	frame[sizeof(frame) - 1] = '\0';
	(void)drawn(w, frame);
	p = strchr(w->text, 'x');
	assert_non_null(p);
	assert_string_equal(p, frame);
	fullscreen_draw(&w->f, &failed);
	assert_int_equal(read(w->drawn, w->text, 1), -1);
}

/* A terminal that accepts no bytes must not delay a signal.  A picture that was
 * drawn in part is drawn again. */
static void
test_stalled(void **state)
{
	struct world *w = *state;
	static char much[4096];
	int signals[2], flags = fcntl(STDOUT_FILENO, F_GETFL);
	struct buf b = BUF_INIT;

	assert_int_equal(pipe(signals), 0);
	assert_int_equal(write(signals[1], "x", 1), 1);
	(void)fcntl(STDOUT_FILENO, F_SETFL, flags | O_NONBLOCK);
	while (write(STDOUT_FILENO, much, sizeof(much)) > 0)
		;
	(void)fcntl(STDOUT_FILENO, F_SETFL, flags);
	w->f.signals = signals[0];
	buf_adds(&b, "a");
	fullscreen_draw(&w->f, &b);
	buf_fini(&b);
	assert_true(w->f.clear);
	(void)close(signals[0]);
	(void)close(signals[1]);
}

static void
test_no_terminal(void **state)
{
	struct fail fail = FAIL_INIT;

	(void)state;
	assert_int_equal(
	    fullscreen_check("top", "do this instead", &fail), RC_INVALID);
	assert_string_equal(fail.what, "top needs a terminal");
	assert_string_equal(fail.cure, "do this instead");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_keys, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_pieces, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_flood, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(
		test_terminal_is_gone, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_draw, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_stalled, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(
		test_no_terminal, set_up, tear_down),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
