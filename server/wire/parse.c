/* SPDX-License-Identifier: MIT */
/*
 * Bytes to a tree of JSON, with the refusals that a person can act on.  Depth
 * and number of values are counted before jansson builds anything, so that a
 * small text cannot cost much stack or memory.
 */
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "wire/wire_internal.h"

/* What is made while reading, in one list that dies with the document. */
struct scratch {
	struct scratch *next;
	char data[];
};

/* Short of memory, jansson says "invalid token", or even goes on with a text
 * that lacks a piece.  This tells that it was so. */
static _Thread_local bool alloc_failed;

static void *
take_memory(size_t n)
{
	void *p;

	if ((p = mem_alloc(n)) == NULL)
		alloc_failed = true;
	return (p);
}

void
wire_init(void)
{

	json_set_alloc_funcs(take_memory, mem_free);
	json_object_seed(0);
}

/* The place of byte ${at}, as an editor counts it: columns in characters. */
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

/* The byte after the string that begins at ${at}, or the end. */
static size_t
skip_string(const char *text, size_t n, size_t at)
{

	for (at++; at < n && text[at] != '"'; at++) {
		if (text[at] == '\\')
			at++;
	}
	return (at < n ? at + 1 : n);
}

/* Counts brackets and commas outside strings; on texts that are no JSON the
 * counts mean nothing, and jansson refuses those. */
static enum rc
check_size(const char *text, size_t n, struct refusal *r)
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
		if (depth > LIMIT_JSON_DEPTH || values > LIMIT_JSON_VALUES)
			break;
		i++;
	}
	if (i >= n)
		return (RC_OK);
	place_of(text, i, &line, &column);
	if (depth > LIMIT_JSON_DEPTH)
		refusal_set(r, PROBLEM_BAD_REQUEST, "",
		    "the JSON is nested deeper than %d levels at line %d, "
		    "column %d",
		    LIMIT_JSON_DEPTH, line, column);
	else
		refusal_set(r, PROBLEM_BAD_REQUEST, "",
		    "the JSON has more than %d values at line %d, column %d",
		    LIMIT_JSON_VALUES, line, column);
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
	/* Not what it stood near: that may be a password. */
	const char *near = strstr(e->text, " near '");
	int n =
	    (int)(near != NULL ? (size_t)(near - e->text) : strlen(e->text));

	if (json_error_code(e) == json_error_out_of_memory)
		return (wire_no_memory(r));
	if (json_error_code(e) == json_error_null_character)
		refusal_set(r, PROBLEM_BAD_REQUEST, "",
		    "a text holds a NUL character (\\u0000), which is not "
		    "taken: line %d, column %d",
		    e->line, e->column);
	else
		refusal_set(r, PROBLEM_BAD_REQUEST, "",
		    "not valid JSON at line %d, column %d: %.*s", e->line,
		    e->column, n, e->text);
	return (RC_INVALID);
}

enum rc
wire_parse(
    const char *text, size_t n, struct wire_doc *doc, struct refusal *refusal)
{
	json_error_t error;
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
	if (check_size(text, n, refusal) != RC_OK)
		return (RC_INVALID);
	alloc_failed = false;
	doc->root = json_loadb(
	    text, n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
	if (alloc_failed) {
		wire_doc_fini(doc);
		return (wire_no_memory(refusal));
	}
	if (doc->root == NULL)
		return (explain(&error, refusal));
	return (RC_OK);
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
