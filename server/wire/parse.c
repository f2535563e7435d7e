/* SPDX-License-Identifier: MIT */
/*
 * Parses bytes into a JSON tree, and refuses wrong input in words that a person
 * can act on.  The depth and the number of values are checked before jansson
 * builds the tree, so that a small text cannot cost much stack or memory.
 */
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "wire/wire_internal.h"

/* Memory allocated while reading, in a list that is freed with the document. */
struct scratch {
	struct scratch *next;
	char data[];
};

/*
 * Parsing when memory runs out.  jansson 2.14 collects the text of a token in a
 * buffer, and ignores that the buffer could not grow (lex_save() in load.c).
 * The byte is then lost.  If it was the closing quote of a string, jansson
 * reads beyond the buffer and writes beyond its block; if it was another byte,
 * an assertion fails.
 *
 * Therefore parser_alloc() serves the first allocation that fails from a
 * reserve that load() has allocated before, so that jansson keeps the byte that
 * it is processing.  It loses no other byte: it gets one byte at a time, and
 * none after a failed allocation.  So the text ends early for jansson, and
 * wire_parse_within() returns RC_NO_MEMORY because alloc_failed is set.
 */
static _Thread_local bool alloc_failed;
static _Thread_local void *reserve;
static _Thread_local size_t reserve_bytes;

static void *
parser_alloc(size_t n)
{
	void *p;

	if ((p = mem_alloc(n)) != NULL)
		return (p);
	alloc_failed = true;
	if (n <= reserve_bytes) {
		p = reserve;
		reserve = NULL;
		reserve_bytes = 0;
	}
	return (p);
}

/* The text that jansson has not read yet. */
struct feed {
	const char *text;
	size_t n;
};

static size_t
feed_byte(void *to, size_t size, void *arg)
{
	struct feed *feed = arg;

	(void)size;
	if (alloc_failed || feed->n == 0)
		return (0);
	*(char *)to = *feed->text++;
	feed->n--;
	return (1);
}

/* Like json_loadb().  Sets alloc_failed. */
static json_t *
load(const char *text, size_t n, size_t flags, json_error_t *error)
{
	struct feed feed = {text, n};
	json_t *root;

	/* jansson doubles its buffer, which is never longer than twice the
	 * text. */
	reserve = mem_alloc(2 * n + 16);
	alloc_failed = reserve == NULL;
	if (alloc_failed)
		return (NULL);
	reserve_bytes = 2 * n + 16;
	root = json_load_callback(feed_byte, &feed, flags, error);
	reserve_bytes = 0;
	mem_free(reserve);
	reserve = NULL;
	return (root);
}

void
wire_init(void)
{

	json_set_alloc_funcs(parser_alloc, mem_free);
	json_object_seed(0);
}

/* Sets line and column of byte ${at} of ${text} as an editor shows them: both
 * count from 1, and columns count characters, not bytes. */
static void
place_of(const char *text, size_t at, int *ret_line, int *ret_column)
{
	size_t i;

	*ret_line = 1;
	*ret_column = 1;
	for (i = 0; i < at; i++) {
		if (text[i] == '\n') {
			(*ret_line)++;
			*ret_column = 1;
		} else if (((unsigned char)text[i] & 0xc0) != 0x80) {
			(*ret_column)++;
		}
	}
}

/* Returns the index behind the string that begins at ${at}, at most ${n}. */
static size_t
skip_string(const char *text, size_t n, size_t at)
{

	for (at++; at < n && text[at] != '"'; at++) {
		if (text[at] == '\\')
			at++;
	}
	return (at < n ? at + 1 : n);
}

/* Refuses a text that is nested too deep or has too many values.  Counts
 * brackets and commas outside strings.  If the text is not JSON, the counts are
 * meaningless, but jansson refuses that text anyway. */
static enum rc
check_size(const char *text, size_t n, int depth_most, int values_most,
    struct refusal *r)
{
	int column, depth, line, values;
	size_t i;

	depth = 0;
	values = 1;
	for (i = 0; i < n;) {
		switch (text[i]) {
		case '"':
			i = skip_string(text, n, i);
			continue;
		case '{':
		case '[':
			depth++;
			values++;
			break;
		case '}':
		case ']':
			depth--;
			break;
		case ',':
			values++;
			break;
		default:
			break;
		}
		if (depth > depth_most || values > values_most)
			break;
		i++;
	}
	if (i >= n)
		return (RC_OK);
	place_of(text, i, &line, &column);
	if (depth > depth_most)
		refusal_set(r, PROBLEM_BAD_REQUEST, "",
		    "the JSON is nested deeper than %d levels at line %d, "
		    "column %d",
		    depth_most, line, column);
	else
		refusal_set(r, PROBLEM_BAD_REQUEST, "",
		    "the JSON has more than %d values at line %d, column %d",
		    values_most, line, column);
	return (RC_INVALID);
}

static enum rc
refuse_nul(const char *text, size_t at, struct refusal *r)
{
	int column, line;

	place_of(text, at, &line, &column);
	refusal_set(r, PROBLEM_BAD_REQUEST, "",
	    "not valid JSON at line %d, column %d: a NUL byte", line, column);
	return (RC_INVALID);
}

enum rc
wire_no_memory(struct refusal *r)
{

	refusal_set(r, PROBLEM_BUSY, "", "the server is short of memory");
	return (RC_NO_MEMORY);
}

static enum rc
explain(const json_error_t *e, struct refusal *r)
{
	/* Cut jansson's " near '...'" off: the quoted text may be a password.
	 */
	const char *near = strstr(e->text, " near '");
	int n =
	    (int)(near != NULL ? (size_t)(near - e->text) : strlen(e->text));

	if (json_error_code(e) == json_error_out_of_memory)
		return (wire_no_memory(r));
	if (json_error_code(e) == json_error_null_character)
		refusal_set(r, PROBLEM_BAD_REQUEST, "",
		    "a text holds a NUL character (\\u0000), which is not "
		    "supported: line %d, column %d",
		    e->line, e->column);
	else
		refusal_set(r, PROBLEM_BAD_REQUEST, "",
		    "not valid JSON at line %d, column %d: %.*s", e->line,
		    e->column, n, e->text);
	return (RC_INVALID);
}

enum rc
wire_parse_within(const char *text, size_t n, int depth, int values,
    struct wire_doc *doc, struct refusal *refusal)
{
	json_error_t error;
	const char *nul;
	size_t i;

	doc->root = NULL;
	doc->scratch = NULL;
	for (i = 0; i < n; i++) {
		if (strchr(" \t\r\n", text[i]) == NULL || text[i] == '\0')
			break;
	}
	if (i == n) {
		refusal_set(refusal, PROBLEM_BAD_REQUEST, "",
		    "JSON is expected, but there is nothing");
		return (RC_INVALID);
	}
	if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
		refusal_set(refusal, PROBLEM_BAD_REQUEST, "",
		    "the JSON begins with a byte order mark at line 1, "
		    "column 1; send it without");
		return (RC_INVALID);
	}
	/* jansson ignores a NUL byte behind a number or a word. */
	if ((nul = memchr(text, '\0', n)) != NULL)
		return (refuse_nul(text, (size_t)(nul - text), refusal));
	if (check_size(text, n, depth, values, refusal) != RC_OK)
		return (RC_INVALID);
	doc->root =
	    load(text, n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
	if (alloc_failed) {
		wire_doc_fini(doc);
		return (wire_no_memory(refusal));
	}
	if (doc->root == NULL)
		return (explain(&error, refusal));
	return (RC_OK);
}

enum rc
wire_parse(
    const char *text, size_t n, struct wire_doc *doc, struct refusal *refusal)
{

	return (wire_parse_within(
	    text, n, LIMIT_JSON_DEPTH, LIMIT_JSON_VALUES, doc, refusal));
}

void
wire_doc_fini(struct wire_doc *doc)
{
	struct scratch *next, *s;

	json_decref(doc->root);
	doc->root = NULL;
	for (s = doc->scratch; s != NULL; s = next) {
		next = s->next;
		mem_free(s);
	}
	doc->scratch = NULL;
}

char *
wire_doc_alloc(struct wire_doc *doc, size_t n)
{
	struct scratch *s;

	if ((s = mem_alloc(sizeof(*s) + n)) == NULL)
		return (NULL);
	s->next = doc->scratch;
	doc->scratch = s;
	return (s->data);
}
