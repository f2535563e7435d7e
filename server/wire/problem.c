/* SPDX-License-Identifier: MIT */
/*
 * Writes problem documents (RFC 9457) and the pages that their types point to.
 */
#include <string.h>

#include "wire/json.h"
#include "wire/wire_internal.h"

/* Writes the slug in snake_case as the member code. */
static void
add_code(struct buf *b, enum problem p)
{
	const char *s;

	jw_member(b, "code");
	buf_addc(b, '"');
	for (s = problem_slug(p); *s != '\0'; s++)
		buf_addc(b, *s == '-' ? '_' : *s);
	buf_addc(b, '"');
}

void
wire_problem_members(struct buf *b, const struct refusal *r,
    const char *instance, const char *request_id)
{

	jw_member(b, "type");
	buf_adds(b, "\"/problems/");
	buf_adds(b, problem_slug(r->problem));
	buf_addc(b, '"');
	jw_str(b, "title", problem_title(r->problem));
	jw_int(b, "status", problem_status(r->problem));
	jw_str(b, "detail",
	    r->detail[0] != '\0' ? r->detail : problem_cause(r->problem));
	if (instance != NULL)
		jw_str(b, "instance", instance);
	add_code(b, r->problem);
	if (request_id != NULL)
		jw_str(b, "request_id", request_id);
	if (r->retry_after_s > 0)
		jw_int(b, "retry_after", r->retry_after_s);
	if (r->oldest >= 0)
		jw_int(b, "oldest", r->oldest);
	if (r->head >= 0)
		jw_int(b, "head", r->head);
	if (r->epoch[0] != '\0')
		jw_str(b, "epoch", r->epoch);
	if (r->pointer[0] != '\0')
		jw_str(b, "pointer", r->pointer);
}

void
wire_problem(struct buf *b, const struct refusal *r, const char *instance,
    const char *request_id)
{

	buf_addc(b, '{');
	wire_problem_members(b, r, instance, request_id);
	buf_addc(b, '}');
}

static void
add_html(struct buf *b, const char *s)
{

	for (; *s != '\0'; s++) {
		switch (*s) {
		case '&':
			buf_adds(b, "&amp;");
			break;
		case '<':
			buf_adds(b, "&lt;");
			break;
		case '>':
			buf_adds(b, "&gt;");
			break;
		case '"':
			buf_adds(b, "&quot;");
			break;
		default:
			buf_addc(b, *s);
			break;
		}
	}
}

static void
add_html_page(struct buf *b, enum problem p)
{

	buf_adds(b,
	    "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
	    "<meta name=\"viewport\" content=\"width=device-width\">\n"
	    "<title>");
	add_html(b, problem_title(p));
	buf_adds(b, "</title>\n<h1>");
	add_html(b, problem_title(p));
	buf_adds(b, "</h1>\n<p><code>");
	add_html(b, problem_slug(p));
	buf_adds(b, "</code>, HTTP status ");
	buf_addi(b, problem_status(p));
	buf_adds(b, "</p>\n<h2>Cause</h2>\n<p>");
	add_html(b, problem_cause(p));
	buf_adds(b, "</p>\n<h2>Cure</h2>\n<p>");
	add_html(b, problem_cure(p));
	buf_adds(b, "</p>\n</html>\n");
}

void
wire_problem_page(struct buf *b, enum problem p, bool html)
{

	if (html) {
		add_html_page(b, p);
		return;
	}
	buf_adds(b, "# ");
	buf_adds(b, problem_title(p));
	buf_adds(b, "\n\n`");
	buf_adds(b, problem_slug(p));
	buf_adds(b, "`, HTTP status ");
	buf_addi(b, problem_status(p));
	buf_adds(b, "\n\n## Cause\n\n");
	buf_adds(b, problem_cause(p));
	buf_adds(b, "\n\n## Cure\n\n");
	buf_adds(b, problem_cure(p));
	buf_adds(b, "\n");
}
