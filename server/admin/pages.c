/* SPDX-License-Identifier: MIT */
/*
 * Pages: the explanations of the problems (the types of error answers) and the
 * front page, as HTML for browsers and as text for all other clients; the
 * formal documents (OpenAPI and AsyncAPI); and the service worker of the chat
 * page.  If the program was built with the chat page, a browser gets the chat
 * page instead of the front page.
 */
#include <string.h>

#include "admin/admin_internal.h"
#include "page/page.h"
#include "wire/wire.h"

#define TEXT_HTML "text/html; charset=utf-8"
#define TEXT_PLAIN "text/plain; charset=utf-8"
#define PAGE_CSP "default-src 'none'; style-src 'unsafe-inline'"

/* Returns true if the header Accept contains text/html, as that of browsers
 * does.  Returns false for curl and other programs, whose Accept is absent, or
 * allows any type without naming text/html. */
static bool
wants_html(struct http_request *req)
{
	const char *accept = http_header_list(req, "Accept");

	return (accept != NULL && strcasestr(accept, "text/html") != NULL);
}

/* Answers with a formal document (OpenAPI or AsyncAPI), as application/yaml.  A
 * browser gets it as text/plain, which browsers display; they would save
 * application/yaml as a file instead. */
static void
answer_document(struct http_request *req, const struct document *document)
{

	http_answer_header(req, "Vary", "Accept");
	http_answer_static(req, 200,
	    wants_html(req) ? TEXT_PLAIN : "application/yaml", document->data,
	    document->len);
}

void
admin_openapi(struct http_request *req, void *arg)
{

	(void)arg;
	answer_document(req, &document_openapi);
}

void
admin_asyncapi(struct http_request *req, void *arg)
{

	(void)arg;
	answer_document(req, &document_asyncapi);
}

static void
answer_page(struct http_request *req, bool html, struct buf *b)
{

	http_answer_header(req, "Vary", "Accept");
	if (html)
		http_answer_header(req, "Content-Security-Policy", PAGE_CSP);
	http_answer(req, 200, html ? TEXT_HTML : TEXT_PLAIN, b);
}

void
admin_problem(struct http_request *req, void *arg)
{
	enum problem p = problem_find(http_path_param(req, "slug"));
	struct refusal r = REFUSAL_INIT;
	struct buf b = BUF_INIT;
	bool html = wants_html(req);

	(void)arg;
	if (p == PROBLEM_NONE) {
		refusal_set(&r, PROBLEM_NOT_FOUND, "",
		    "there is no problem of that name; GET /problems lists "
		    "them");
		http_answer_refusal(req, &r);
		return;
	}
	wire_problem_page(&b, p, html);
	answer_page(req, html, &b);
}

static void
page_head(struct buf *b, const char *title)
{

	buf_addf(b,
	    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
	    "<meta name=\"viewport\" content=\"width=device-width\">"
	    "<title>%s</title><style>body{font:16px/1.5 sans-serif;"
	    "max-width:42em;margin:3em auto;padding:0 1em}</style></head>"
	    "<body><h1>%s</h1>\n",
	    title, title);
}

void
admin_problems(struct http_request *req, void *arg)
{
	struct buf b = BUF_INIT;
	bool html = wants_html(req);
	enum problem p;

	(void)arg;
	if (html)
		page_head(&b, "Problems");
	if (html)
		buf_adds(&b, "<ul>\n");
	for (p = PROBLEM_NONE + 1; p < PROBLEM_COUNT; p++)
		buf_addf(&b,
		    html ? "<li><a href=\"/problems/%s\">%d %s</a></li>\n"
			 : "/problems/%s  %d  %s\n",
		    problem_slug(p), problem_status(p), problem_title(p));
	if (html)
		buf_adds(&b, "</ul></body></html>\n");
	answer_page(req, html, &b);
}

void
admin_worker(struct http_request *req, void *arg)
{
	const struct admin *admin = http_route_module(req);

	(void)arg;
	page_worker(req, admin->o.page_worker);
}

void
admin_front_page(struct http_request *req, void *arg)
{
	static const struct {
		const char *path;
		const char *what;
	} links[] = {{"/docs", "the API reference, for a browser"},
	    {"/v1", "the API: limits and entry points"},
	    {"/openapi.yaml", "its formal description (OpenAPI)"},
	    {"/asyncapi.yaml", "the WebSocket's (AsyncAPI)"},
	    {"/problems", "what the problems mean"}, {"/healthz", "health"},
	    {"/metrics", "metrics"}};
	const struct admin *admin = http_route_module(req);
	struct buf b = BUF_INIT;
	bool html = wants_html(req);
	size_t i;

	(void)arg;
	if (html && page_index(req))
		return;
	if (html) {
		page_head(&b, "twinbox");
		buf_adds(&b, "<p>A message server. Version ");
	} else {
		buf_adds(&b, "twinbox, a message server, version ");
	}
	buf_adds(&b, admin->o.version);
	buf_adds(&b, html ? ".</p>\n<ul>\n" : "\n");
	/* The reference is one of the pages. */
	for (i = !page_is_built(); i < sizeof(links) / sizeof(links[0]); i++)
		buf_addf(&b,
		    html ? "<li><a href=\"%s\">%s</a></li>\n" : "%s  %s\n",
		    links[i].path, links[i].what);
	if (html)
		buf_adds(&b, "</ul></body></html>\n");
	answer_page(req, html, &b);
}
