/* SPDX-License-Identifier: MIT */
/*
 * Transcripts: requests and their answers, in a file (played.h).
 */
#include "played.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX 8192
#define HEADERS_MAX 6

struct exchange {
	char line[LINE_MAX]; /* "request …", split into words */
	char path[512], value[512], body[LINE_MAX];
	char headers[HEADERS_MAX][512];
	int nheaders;
	bool open; /* a request is not answered yet */
	struct question q;
	http_handler_fn handler;
	int number; /* its line number */
	struct buf want;
	int requests, wrong;
	FILE *out; /* NULL: compare */
};

static void
copy(char *ret, size_t size, const char *text)
{

	assert_true(strlen(text) < size);
	memcpy(ret, text, strlen(text) + 1);
}

static char *
next_word(char **at)
{
	char *word = *at;

	*at += strcspn(*at, " ");
	if (**at == ' ')
		*(*at)++ = '\0';
	return (word);
}

/* Parses "/a/{id=5}?q=1". */
static void
begin(struct exchange *a, const struct http_route *routes, const char *line)
{
	char *at, *method, *eq, *end;

	a->q = (struct question){.path = a->path};
	a->nheaders = 0;
	copy(a->line, sizeof(a->line), line);
	at = a->line;
	method = next_word(&at);
	a->q.method = method;
	if ((end = strchr(at, '?')) != NULL) {
		*end = '\0';
		a->q.query = end + 1;
	}
	copy(a->path, sizeof(a->path), at);
	if ((eq = strchr(a->path, '=')) != NULL) {
		end = strrchr(a->path, '}');
		(void)snprintf(a->value, sizeof(a->value), "%.*s",
		    (int)(end - eq - 1), eq + 1);
		memmove(eq, end, strlen(end) + 1);
		*strchr(at, '=') = '\0';
		a->q.params[0] = strchr(at, '{') + 1;
		a->q.params[1] = a->value;
	}
	a->handler = played_route(routes, method, a->path);
	a->open = true;
}

/* Runs the open request, and compares or writes its answer. */
static void
finish(struct exchange *a)
{
	const char *text, *at, *end;

	if (!a->open)
		return;
	a->open = false;
	a->requests++;
	text = played_ask(a->handler, &a->q);
	buf_addc(&a->want, '\0');
	assert_true(buf_ok(&a->want));
	if (a->out != NULL) {
		for (at = text; *at != '\0'; at = end + (*end == '\n')) {
			end = strchrnul(at, '\n');
			(void)fprintf(a->out, "> %.*s\n", (int)(end - at), at);
		}
		(void)fprintf(a->out, "\n");
	} else if (strcmp(text, a->want.data) != 0) {
		a->wrong++;
		print_error("line %d: the answer is\n%snot\n%s", a->number,
		    text, a->want.data);
	}
	buf_reset(&a->want);
}

/* Takes a further line of the request: a header, a body, a line of the
 * answer. */
static bool
take_part(struct exchange *a, const char *line)
{
	char *colon;

	if (strncmp(line, "> ", 2) == 0) {
		buf_adds(&a->want, line + 2);
		buf_addc(&a->want, '\n');
		return (true);
	}
	if (strncmp(line, "body ", 5) == 0) {
		copy(a->body, sizeof(a->body), line + 5);
		a->q.body = a->body;
	} else if (strcmp(line, "stranger") == 0) {
		a->q.stranger = true;
	} else if (strncmp(line, "header ", 7) == 0) {
		assert_in_range(a->nheaders, 0, HEADERS_MAX / 2 - 1);
		copy(a->headers[a->nheaders], sizeof(a->headers[0]), line + 7);
		colon = strstr(a->headers[a->nheaders], ": ");
		assert_non_null(colon);
		*colon = '\0';
		a->q.headers[2 * a->nheaders] = a->headers[a->nheaders];
		a->q.headers[2 * a->nheaders + 1] = colon + 2;
		a->nheaders++;
	} else {
		return (false);
	}
	if (a->out != NULL)
		(void)fprintf(a->out, "%s\n", line);
	return (true);
}

static void
take_line(struct exchange *a, const struct http_route *routes, char *line,
    bool (*set)(const char *name, int64_t value))
{
	char *at, *word;

	if (line[0] == '\0' || take_part(a, line))
		return;
	finish(a);
	if (a->out != NULL)
		(void)fprintf(a->out, "%s\n", line);
	if (line[0] == '#')
		return;
	at = line;
	word = next_word(&at);
	if (strcmp(word, "request") == 0) {
		begin(a, routes, at);
	} else {
		assert_string_equal(word, "set");
		word = next_word(&at);
		if (!set(word, strtoll(at, NULL, 10)))
			fail_msg("there is no switch %s", word);
	}
}

void
played_transcript(const char *name, const struct http_route *routes,
    bool (*set)(const char *name, int64_t value))
{
	static struct exchange a;
	const char *source = getenv("TWINBOX_SOURCE");
	const char *write = getenv("TWINBOX_WRITE_TRANSCRIPTS");
	static char line[LINE_MAX];
	char path[1024];
	int number;
	FILE *f;

	memset(&a, 0, sizeof(a));
	(void)snprintf(path, sizeof(path), "%s/tests/unit/%s",
	    source == NULL ? "." : source, name);
	if ((f = fopen(path, "r")) == NULL)
		fail_msg("cannot open %s", path);
	if (write != NULL) {
		(void)snprintf(line, sizeof(line), "%s/%s.new", write, name);
		assert_non_null(a.out = fopen(line, "w"));
	}
	for (number = 1; fgets(line, sizeof(line), f) != NULL; number++) {
		line[strcspn(line, "\n")] = '\0';
		take_line(&a, routes, line, set);
		if (strncmp(line, "request ", 8) == 0)
			a.number = number;
	}
	finish(&a);
	(void)fclose(f);
	if (a.out != NULL)
		(void)fclose(a.out);
	buf_fini(&a.want);
	assert_true(a.requests > 0);
	assert_int_equal(a.wrong, 0);
}
