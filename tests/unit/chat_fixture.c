/* SPDX-License-Identifier: MIT */
/*
 * See chat_fixture.h.
 */
#include "unit/chat_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <signal.h>
#include <unistd.h>

#include <cmocka.h>

#include "term/screen.h"

/* ---- in the place of term/screen.c ---- */

struct screen {
	screen_line_fn fn;
	void *arg;
	char tags[32][64]; /* the tag of each line on it, the oldest first */
	int ntags;
};

static struct screen the_screen;
struct chat_screen chat_screen;

int __wrap_isatty(int fd);

int
__wrap_isatty(int fd)
{

	return (fd == STDIN_FILENO ? chat_screen.terminal_in
				   : chat_screen.terminal_out);
}

/* Prints the lines of ${b} with ${mark} before each, and empties ${b}. */
static void
put_lines(const char *mark, struct buf *b)
{
	const char *p = b->data, *end = p + b->len;

	while (p < end) {
		size_t n =
		    (size_t)((const char *)memchr(p, '\n', (size_t)(end - p)) -
			     p);

		stage_note("%s%.*s", mark, (int)n, p);
		p += n + 1;
	}
	buf_fini(b);
}

struct screen *
screen_open(const char *prompt, screen_line_fn fn, void *arg)
{

	stage_note("| (open) %s", prompt);
	the_screen.fn = fn;
	the_screen.arg = arg;
	the_screen.ntags = 0;
	return (&the_screen);
}

void
screen_close(struct screen *screen)
{

	if (screen != NULL)
		stage_note("| (close)");
}

bool
screen_read(struct screen *screen)
{

	(void)screen;
	return (!chat_screen.hung_up);
}

static void
add_tag(struct screen *screen, const char *tag)
{

	assert_true(screen->ntags < 32);
	(void)snprintf(screen->tags[screen->ntags++], sizeof(screen->tags[0]),
	    "%s", tag != NULL ? tag : "");
}

void
screen_print(struct screen *screen, struct buf *b, const char *tag)
{

	put_lines("| ", b);
	add_tag(screen, tag);
}

void
screen_adopt(struct screen *screen, struct buf *b, const char *tag)
{

	buf_fini(b);
	add_tag(screen, tag);
}

bool
screen_replace(struct screen *screen, struct buf *b, const char *tag)
{

	int i = screen->ntags - 1;

	while (i >= 0 && strcmp(screen->tags[i], tag) != 0)
		i--;
	if (chat_screen.scrolled || i < 0)
		return (false);
	put_lines("|=", b);
	return (true);
}

void
screen_resize(struct screen *screen)
{

	(void)screen;
	stage_note("| (resized)");
}

void
screen_stop(struct screen *screen)
{

	(void)screen;
	stage_note("| (stopped)");
}

void
screen_continue(struct screen *screen)
{

	(void)screen;
	stage_note("| (goes on)");
}

bool
screen_clear_line(struct screen *screen)
{
	bool had = chat_screen.typing;

	(void)screen;
	chat_screen.typing = false;
	return (had);
}

/* ---- events of the test ---- */

int
chat_set_up(void **state)
{

	memset(&chat_screen, 0, sizeof(chat_screen));
	chat_screen.terminal_in = chat_screen.terminal_out = true;
	return (stage_set_up(state));
}

void
chat_type(const char *line)
{

	the_screen.fn(the_screen.arg, line);
}

void
chat_said(struct stage *s, const char *with, int seq, const char *from,
    const char *to, const char *body)
{
	char json[512];

	(void)snprintf(json, sizeof(json),
	    "{'seq':%d,'event_id':'e%d%s','kind':'message','own':%s,"
	    "'id':'m%d','conversation':'%s','conversation_seq':%d,"
	    "'from':'%s','to':'%s','body':'%s'}",
	    seq, seq, body, strcmp(from, "ann") == 0 ? "true" : "false", seq,
	    with, seq, from, to, body);
	stage_event(s, json);
}

void
chat_receipt(struct stage *s, const char *with, const char *by,
    const char *what, int upto)
{
	char json[256];

	(void)snprintf(json, sizeof(json),
	    "{'seq':99,'kind':'receipt','by':'%s','conversation':'%s',"
	    "'state':'%s','upto':%d}",
	    by, with, what, upto);
	stage_event(s, json);
}

void
chat_taken(struct stage *s, int re, const char *to)
{
	json_t *frame = json_pack("{s{ss ss}}", "entry", "to", to,
	    "conversation", strcmp(to, "bob") == 0 ? WITH_BOB : WITH_EVE);

	s->ops->sent(s->arg, re, frame);
	json_decref(frame);
}

void
chat_refused(struct stage *s, int re, int status, const char *problem)
{
	struct fail why = FAIL_INIT;
	json_t *json = stage_json(problem);

	(void)fail_problem(&why, status, json, 0);
	json_decref(json);
	s->ops->refused(s->arg, re, &why);
}

void
chat_signalled(struct stage *s, int number)
{

	(void)raise(number);
	stage_readable(s, 0);
}

void
chat_connect(struct stage *s)
{

	stage_welcome(s, "E", 0);
	s->ops->caught_up(s->arg);
}
