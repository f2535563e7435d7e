/* SPDX-License-Identifier: MIT */
/*
 * Serves the pages: chooses the encoding, answers 304 if the browser has the
 * file already, and sets the Content-Security-Policy, which limits what an HTML
 * page or the service worker may do.
 */
#include <string.h>

#include "page/page.h"
#include "page/page_internal.h"

/*
 * A page may load only what this server serves, without inline scripts and
 * styles.  It may not contain a frame, be shown in a frame, or submit a form.
 * Its scripts may not make HTML from strings (trusted types).  Only the chat
 * may create a policy of trusted types: one, for the address of its service
 * worker.
 *
 * 'self' includes the WebSocket of the same origin.  data: is for the icon.
 * The API reference may not run any script.
 */
#define REFERENCE_CSP                                                          \
	"default-src 'none'; style-src 'self'; img-src 'self' data:; "         \
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
#define PAGE_CSP                                                               \
	REFERENCE_CSP "; script-src 'self'; connect-src 'self'; "              \
		      "require-trusted-types-for 'script'; "
#define ADMIN_CSP PAGE_CSP "trusted-types 'none'"
#define CHAT_CSP                                                               \
	PAGE_CSP "worker-src 'self'; manifest-src 'self'; "                    \
		 "trusted-types twinbox-worker"
/* The worker may send requests to this server, and nothing else. */
#define WORKER_CSP "default-src 'none'; connect-src 'self'"

#define FOR_EVER "public, max-age=31536000, immutable"

/* Returns true if the parameters ${p} of a coding, ${n} bytes, contain q=0. */
static bool
is_refused(const char *p, size_t n)
{
	size_t i;

	for (i = 0; i + 2 < n; i++)
		if (strncasecmp(p + i, "q=", 2) == 0)
			return (
			    p[i + 2] == '0' && strspn(p + i + 2, "0.") ==
						   strcspn(p + i + 2, " \t,;"));
	return (false);
}

bool
page_accepts(const char *list, const char *coding)
{
	bool any = false;
	size_t item, name;

	for (; list != NULL && *list != '\0'; list += item) {
		list += strspn(list, ", \t");
		item = strcspn(list, ",");
		name = strcspn(list, ";, \t");
		if (name == strlen(coding) &&
		    strncasecmp(list, coding, name) == 0)
			return (!is_refused(list + name, item - name));
		if (name == 1 && list[0] == '*')
			any = !is_refused(list + name, item - name);
	}
	return (any);
}

const struct page_file *
page_find(const char *name, const char *list)
{
	const struct page_file *file;
	size_t i;

	for (i = 0; i < page_file_count; i++) {
		file = &page_files[i];
		if (strcmp(file->name, name) == 0 &&
		    (file->encoding[0] == '\0' ||
			page_accepts(list, file->encoding)))
			return (file);
	}
	return (NULL);
}

/* Answers with ${file}, or with 304 if the browser has it. */
static void
answer_file(struct http_request *req, const struct page_file *file)
{

	http_answer_header(req, "ETag", file->etag);
	if (http_etag_listed(http_header(req, "If-None-Match"), file->etag)) {
		http_answer(req, 304, NULL, NULL);
		return;
	}
	if (file->encoding[0] != '\0')
		http_answer_header(req, "Content-Encoding", file->encoding);
	http_answer_static(req, 200, file->type, file->data, file->len);
}

/* Answers with the document ${name} and, among others, the headers Vary:
 * ${vary} and Content-Security-Policy: ${policy} (NULL: without this header).
 * Returns false, without an answer, if there is no such document. */
static bool
answer_document(struct http_request *req, const char *name, const char *vary,
    const char *policy)
{
	const struct page_file *file =
	    page_find(name, http_header(req, "Accept-Encoding"));

	if (file == NULL)
		return (false);
	http_answer_header(req, "Vary", vary);
	http_answer_header(req, "Cache-Control", "no-cache");
	if (policy != NULL)
		http_answer_header(req, "Content-Security-Policy", policy);
	http_answer_header(req, "Referrer-Policy", "no-referrer");
	http_answer_header(req, "Cross-Origin-Opener-Policy", "same-origin");
	http_answer_header(req, "Cross-Origin-Resource-Policy", "same-origin");
	answer_file(req, file);
	return (true);
}

bool
page_is_built(void)
{

	return (page_file_count > 0);
}

bool
page_index(struct http_request *req)
{

	return (answer_document(
	    req, "index.html", "Accept, Accept-Encoding", CHAT_CSP));
}

/* Answers with the document ${name} by answer_document() or, if there is none
 * because the program was built without the pages, with 404. */
static void
answer_or_refuse(struct http_request *req, const char *name, const char *policy)
{
	struct refusal r = REFUSAL_INIT;

	if (answer_document(req, name, "Accept-Encoding", policy))
		return;
	refusal_set(&r, PROBLEM_NOT_FOUND, "",
	    "this server was built without its pages");
	http_answer_refusal(req, &r);
}

void
page_admin(struct http_request *req, void *arg)
{

	(void)arg;
	answer_or_refuse(req, "admin.html", ADMIN_CSP);
}

void
page_reference(struct http_request *req, void *arg)
{

	(void)arg;
	answer_or_refuse(req, "docs.html", REFERENCE_CSP);
}

void
page_manifest(struct http_request *req, void *arg)
{

	(void)arg;
	answer_or_refuse(req, "manifest.webmanifest", NULL);
}

void
page_worker(struct http_request *req, bool enabled)
{

	answer_or_refuse(
	    req, enabled ? "worker.js" : "worker-off.js", WORKER_CSP);
}

/* Returns true if ${name} is a file that has a URL outside /assets/, such as
 * /admin.  Such a file is not served below /assets/, because browsers keep what
 * they find there for a year without asking for a newer version. */
static bool
is_document(const char *name)
{
	static const char *const documents[] = {"index.html", "admin.html",
	    "docs.html", "manifest.webmanifest", "worker.js", "worker-off.js"};
	size_t i;

	for (i = 0; i < sizeof(documents) / sizeof(documents[0]); i++)
		if (strcmp(name, documents[i]) == 0)
			return (true);
	return (false);
}

void
page_asset(struct http_request *req, void *arg)
{
	const char *name = http_path_param(req, "name");
	const struct page_file *file =
	    page_find(name, http_header(req, "Accept-Encoding"));
	struct refusal r = REFUSAL_INIT;

	(void)arg;
	if (file == NULL || is_document(name)) {
		refusal_set(&r, PROBLEM_NOT_FOUND, "",
		    "the page has no such file; it may be from another "
		    "version: load the page again");
		http_answer_refusal(req, &r);
		return;
	}
	http_answer_header(req, "Vary", "Accept-Encoding");
	http_answer_header(req, "Cache-Control", FOR_EVER);
	http_answer_header(req, "Cross-Origin-Resource-Policy", "same-origin");
	answer_file(req, file);
}
