/* SPDX-License-Identifier: MIT */
/*
 * REST over libcurl: one easy handle for each struct rest, whose connection
 * stays open between calls.  This file owns the handle and the interpretation
 * of libcurl's errors.  If nothing was sent, the request was not done.  If the
 * request failed after a part of it was sent, and it changes something, the
 * change may have been done.
 */
#include "lib/rest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include <curl/curl.h>

#include "base/mem.h"
#include "lib/dump.h"
#include "lib/parse.h"
#include "lib/safe.h"

#define CONNECT_TIMEOUT_MS 5000
/* The largest body of an answer, 64 MiB; a larger one fails with kind PROTOCOL.
 * A body that goes to a sink has no limit.  A page of a twinbox server has at
 * most 1 MiB (LIMIT_PAGE_BYTES); even without that limit, 200 events with texts
 * of 16 KiB, each byte escaped as six bytes (\u0061), would have 19 MiB. */
#define REPLY_LIMIT (64u << 20)

struct rest {
	CURL *curl;
	CURLM *multi; /* NULL until a request has an idle function */
	char *server;
	char *token;
	char error[CURL_ERROR_SIZE];
};

/* The results of one exchange. */
struct exchange {
	const struct rest *rest;
	const struct rest_request *request;
	struct buf body;
	int64_t date_ms;
	char etag[128];
	bool replayed;
	int retry_after_s;
};

void
rest_sleep(int64_t ms)
{
	struct timespec ts = {
	    .tv_sec = ms / 1000, .tv_nsec = (ms % 1000) * 1000000};

	if (ms > 0)
		(void)nanosleep(&ts, NULL);
}

/* libcurl's write callback: hands a piece of the answer's body to the sink, if
 * the request has one and the answer is 2xx, and else appends it to x->body.
 * Returns the piece's size, or 0, which stops the transfer with
 * CURLE_WRITE_ERROR, if the sink has returned false, x->body would exceed
 * REPLY_LIMIT, or memory has run out. */
static size_t
keep_body(char *p, size_t size, size_t n, void *arg)
{
	struct exchange *x = arg;
	long status = 0;

	curl_easy_getinfo(x->rest->curl, CURLINFO_RESPONSE_CODE, &status);
	if (x->request->sink != NULL && status >= 200 && status < 300)
		return (x->request->sink(x->request->sink_arg, p, size * n)
			    ? size * n
			    : 0);
	buf_add(&x->body, p, size * n);
	return (buf_ok(&x->body) ? size * n : 0);
}

/* Returns the value of header ${name} in line ${p}, or NULL for another
 * header. */
static const char *
header_value(const char *p, size_t n, const char *name, size_t *ret_n)
{
	size_t len = strlen(name);

	if (n <= len || strncasecmp(p, name, len) != 0 || p[len] != ':')
		return (NULL);
	p += len + 1;
	n -= len + 1;
	while (n > 0 && (*p == ' ' || *p == '\t')) {
		p++;
		n--;
	}
	while (n > 0 && strchr("\r\n \t", p[n - 1]) != NULL)
		n--;
	*ret_n = n;
	return (p);
}

/* libcurl's header callback, called for each line. */
static size_t
keep_header(char *p, size_t size, size_t n, void *arg)
{
	struct exchange *x = arg;
	const char *value;
	char date[40];
	size_t len, i;
	time_t then;

	n *= size;
	value = header_value(p, n, "ETag", &len);
	if (value != NULL && len < sizeof(x->etag)) {
		memcpy(x->etag, value, len);
		x->etag[len] = '\0';
	}
	value = header_value(p, n, "Idempotency-Replayed", &len);
	if (value != NULL)
		x->replayed = len == 4 && strncasecmp(value, "true", 4) == 0;
	value = header_value(p, n, "Date", &len);
	if (value != NULL && len < sizeof(date)) {
		memcpy(date, value, len);
		date[len] = '\0';
		then = curl_getdate(date, NULL);
		x->date_ms = then > 0 ? (int64_t)then * 1000 : 0;
	}
	value = header_value(p, n, "Retry-After", &len);
	if (value != NULL) {
		x->retry_after_s = 0;
		for (i = 0; i < len && i < 6; i++) {
			if (value[i] < '0' || value[i] > '9')
				break;
			x->retry_after_s =
			    x->retry_after_s * 10 + (value[i] - '0');
		}
	}
	return (n);
}

enum rc
rest_new(
    const char *server, const char *token, struct rest **ret, struct fail *fail)
{
	struct rest *rest = mem_zalloc(1, sizeof(*rest));

	if (rest != NULL && curl_global_init(CURL_GLOBAL_DEFAULT) == 0) {
		rest->server = mem_strdup(server);
		rest->token = mem_strdup(token);
		rest->curl = curl_easy_init();
	}
	if (rest == NULL || rest->server == NULL || rest->token == NULL ||
	    rest->curl == NULL) {
		rest_free(rest);
		return (fail_set(fail, FAIL_MEMORY, "out of memory"));
	}
	*ret = rest;
	return (RC_OK);
}

void
rest_free(struct rest *rest)
{

	if (rest == NULL)
		return;
	curl_easy_cleanup(rest->curl);
	if (rest->multi != NULL)
		(void)curl_multi_cleanup(rest->multi);
	mem_free(rest->server);
	if (rest->token != NULL)
		explicit_bzero(rest->token, strlen(rest->token));
	mem_free(rest->token);
	mem_free(rest);
}

void
rest_token_set(struct rest *rest, const char *token)
{
	char *copy;

	if (token[0] == '\0') {
		explicit_bzero(rest->token, strlen(rest->token));
		return;
	}
	copy = mem_strdup(token);
	if (copy == NULL)
		return;
	explicit_bzero(rest->token, strlen(rest->token));
	mem_free(rest->token);
	rest->token = copy;
}

const char *
rest_server(const struct rest *rest)
{

	return (rest->server);
}

/* Appends "name: value" to *list.  Returns false when memory runs out. */
static bool
add_header(struct curl_slist **list, const char *name, const char *value)
{
	struct buf b = BUF_INIT;
	struct curl_slist *longer;
	char *line;

	buf_addf(&b, "%s: %s", name, value);
	line = buf_take(&b, NULL);
	if (line == NULL)
		return (false);
	longer = curl_slist_append(*list, line);
	mem_free(line);
	if (longer == NULL)
		return (false);
	*list = longer;
	return (true);
}

/* Returns the request's headers, or NULL when memory runs out. */
static struct curl_slist *
make_headers(const struct rest *rest, const struct rest_request *request)
{
	struct curl_slist *list = NULL;
	struct buf bearer = BUF_INIT;
	bool ok;

	ok = add_header(
	    &list, "Accept", "application/json, application/problem+json");
	/* Disable "Expect: 100-continue", which costs a round trip. */
	ok = ok && add_header(&list, "Expect", "");
	if (rest->token[0] != '\0') {
		buf_addf(&bearer, "Bearer %s", rest->token);
		buf_addc(&bearer, '\0');
		ok = ok && buf_ok(&bearer) &&
		     add_header(&list, "Authorization", bearer.data);
		buf_fini(&bearer);
	}
	if (request->body != NULL)
		ok =
		    ok && add_header(&list, "Content-Type", "application/json");
	if (request->key != NULL)
		ok = ok && add_header(&list, "Idempotency-Key", request->key);
	if (request->if_none_match != NULL)
		ok = ok &&
		     add_header(&list, "If-None-Match", request->if_none_match);
	if (ok)
		return (list);
	curl_slist_free_all(list);
	return (NULL);
}

/* Returns true if at least one byte of the request was sent, on any connection.
 * If the server closes a kept connection without an answer, libcurl makes a new
 * one and sends the request again; bytes sent on the old connection count even
 * if the new one fails, because the server may have done the request. */
static bool
was_sent(const struct rest *rest)
{
	long size = 0;

	curl_easy_getinfo(rest->curl, CURLINFO_REQUEST_SIZE, &size);
	return (size > 0);
}

/* Fills ${fail} from libcurl's ${code} and returns its rc.  The kind is
 * PROTOCOL if ${code} means an answer that is not HTTP, an unsupported protocol
 * or a transfer that keep_body() has stopped, MEMORY if memory has run out, and
 * UNTRUSTED if TLS failed before a part of the request was sent.  Otherwise the
 * kind is UNREACHABLE if the request does not change anything (${changes} is
 * false), or if no part of it was sent and its idle function did not abandon
 * it; else UNCERTAIN. */
static enum rc
judge(const struct rest *rest, bool changes, CURLcode code, struct fail *fail)
{
	const char *why =
	    rest->error[0] != '\0' ? rest->error : curl_easy_strerror(code);
	bool sent = was_sent(rest) || code == CURLE_ABORTED_BY_CALLBACK;
	char safe[160];
	long sys = 0;

	/* The system's text is shorter than libcurl's. */
	if (code == CURLE_COULDNT_CONNECT &&
	    curl_easy_getinfo(rest->curl, CURLINFO_OS_ERRNO, &sys) ==
		CURLE_OK &&
	    sys != 0)
		why = strerror((int)sys);
	safe_line(why, strlen(why), safe, sizeof(safe));
	/* Only some codes need a failure of their own. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wswitch-enum"
	switch (code) {
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_ISSUER_ERROR:
		if (sent)
			break;
		return (fail_set(fail, FAIL_UNTRUSTED,
		    "no secure connection to "
		    "%.80s: %s",
		    rest->server, safe));
	case CURLE_WEIRD_SERVER_REPLY:
	case CURLE_UNSUPPORTED_PROTOCOL:
	case CURLE_HTTP2:
	case CURLE_WRITE_ERROR:
		return (fail_set(fail, FAIL_PROTOCOL,
		    "%.80s does not speak HTTP "
		    "as a server should: %s",
		    rest->server, safe));
	case CURLE_OUT_OF_MEMORY:
		return (fail_set(fail, FAIL_MEMORY, "out of memory"));
	default:
		break;
	}
#pragma GCC diagnostic pop
	if (!sent)
		return (fail_set(fail, FAIL_UNREACHABLE,
		    "cannot reach %.80s: %s", rest->server, safe));
	return (fail_set(fail, changes ? FAIL_UNCERTAIN : FAIL_UNREACHABLE,
	    "no answer from %.80s: %s", rest->server, safe));
}

const char *
rest_authorities(void)
{
	static const char *const names[] = {"CURL_CA_BUNDLE", "SSL_CERT_FILE"};
	const char *value;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if ((value = getenv(names[i])) != NULL && *value != '\0')
			return (value);
	return (NULL);
}

/* Sets the handle up for ${request}. */
static void
prepare(struct rest *rest, const struct rest_request *request,
    struct exchange *x, const char *url, const struct curl_slist *headers)
{
	CURL *c = rest->curl;
	long timeout = (long)(request->timeout_ms > 0 ? request->timeout_ms
						      : REST_TIMEOUT_MS);

	curl_easy_reset(c);
	rest->error[0] = '\0';
	curl_easy_setopt(c, CURLOPT_URL, url);
	curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(c, CURLOPT_USERAGENT, "twinbox");
	curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c, CURLOPT_ERRORBUFFER, rest->error);
	curl_easy_setopt(
	    c, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_TIMEOUT_MS);
	if (request->sink == NULL)
		curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, timeout);
	else {
		curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, 1L);
		curl_easy_setopt(
		    c, CURLOPT_LOW_SPEED_TIME, (timeout + 999) / 1000);
	}
	curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, keep_body);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, x);
	curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, keep_header);
	curl_easy_setopt(c, CURLOPT_HEADERDATA, x);
	if (rest_server_local(rest->server))
		curl_easy_setopt(c, CURLOPT_NOPROXY, "*");
	if (rest_authorities() != NULL)
		curl_easy_setopt(c, CURLOPT_CAINFO, rest_authorities());
}

/* Does the work of curl_easy_perform() and serves ${idle} meanwhile. */
static CURLcode
perform_beside(struct rest *rest, const struct rest_idle *idle)
{
	struct curl_waitfd fds[REST_IDLE_FDS] = {{0}};
	CURLcode code = CURLE_OUT_OF_MEMORY;
	struct CURLMsg *message;
	int i, running = 1, left;

	if (rest->multi == NULL)
		rest->multi = curl_multi_init();
	if (rest->multi == NULL ||
	    curl_multi_add_handle(rest->multi, rest->curl) != CURLM_OK)
		return (code);
	for (i = 0; i < idle->nfds; i++) {
		fds[i].fd = idle->fds[i];
		fds[i].events = CURL_WAIT_POLLIN;
	}
	while (running > 0 &&
	       curl_multi_perform(rest->multi, &running) == CURLM_OK) {
		if (running > 0 &&
		    curl_multi_poll(rest->multi, fds, (unsigned)idle->nfds,
			1000, NULL) != CURLM_OK)
			break;
		if (running > 0 && !idle->fn(idle->arg)) {
			code = CURLE_ABORTED_BY_CALLBACK;
			break;
		}
	}
	while ((message = curl_multi_info_read(rest->multi, &left)) != NULL)
		if (message->msg == CURLMSG_DONE)
			code = message->data.result;
	(void)curl_multi_remove_handle(rest->multi, rest->curl);
	return (code);
}

/* Sends ${request} once and receives the answer into ${x}.  Returns RC_OK for
 * any HTTP status.  Sets *ret_status to the status of the answer, also if the
 * transfer of the body then fails.  If no status came, *ret_status stays 0, as
 * the caller has set it. */
static enum rc
perform(struct rest *rest, const struct rest_request *request,
    struct exchange *x, long *ret_status, struct fail *fail)
{
	struct curl_slist *headers = make_headers(rest, request);
	struct buf url = BUF_INIT;
	char *body = NULL;
	CURLcode code = CURLE_OUT_OF_MEMORY;

	buf_adds(&url, rest->server);
	buf_adds(&url, request->path);
	buf_addc(&url, '\0');
	if (request->body != NULL)
		body = dump_json(request->body, JSON_COMPACT, NULL);
	if (headers != NULL && buf_ok(&url) &&
	    (request->body == NULL || body != NULL)) {
		prepare(rest, request, x, url.data, headers);
		if (body != NULL)
			curl_easy_setopt(rest->curl, CURLOPT_POSTFIELDS, body);
		else if (request->method != NULL &&
			 strcmp(request->method, "POST") == 0)
			curl_easy_setopt(rest->curl, CURLOPT_POSTFIELDS, "");
		if (request->method != NULL)
			curl_easy_setopt(
			    rest->curl, CURLOPT_CUSTOMREQUEST, request->method);
		code = request->idle != NULL
			   ? perform_beside(rest, request->idle)
			   : curl_easy_perform(rest->curl);
		curl_easy_getinfo(
		    rest->curl, CURLINFO_RESPONSE_CODE, ret_status);
	}
	curl_slist_free_all(headers);
	if (body != NULL)
		explicit_bzero(body, strlen(body));
	mem_free(body);
	buf_fini(&url);
	if (code != CURLE_OK)
		return (judge(rest, request->method != NULL, code, fail));
	return (RC_OK);
}

/* Makes a reply, or a failure, from the answer in ${x}. */
static enum rc
conclude(const struct rest *rest, struct exchange *x, long status,
    struct rest_reply *ret, struct fail *fail)
{
	json_t *json = NULL;
	bool good = (status >= 200 && status < 300) || status == 304;
	char what[120];
	enum rc rc = RC_OK;

	(void)snprintf(what, sizeof(what),
	    "%.80s answers with what cannot be read", rest->server);
	if (x->body.len > 0 && status != 304)
		rc = parse_json(what, x->body.data, x->body.len, &json, fail);
	if (!good) {
		(void)fail_problem(fail, (int)status, json, x->retry_after_s);
		json_decref(json);
		return (fail->rc);
	}
	if (rc != RC_OK)
		return (rc);
	memset(ret, 0, sizeof(*ret));
	ret->status = (int)status;
	ret->json = json;
	ret->replayed = x->replayed;
	ret->date_ms = x->date_ms;
	(void)snprintf(ret->etag, sizeof(ret->etag), "%s", x->etag);
	return (RC_OK);
}

enum rc
rest_call(struct rest *rest, const struct rest_request *request,
    struct rest_reply *ret, struct fail *fail)
{
	struct exchange x;
	int64_t left_ms = request->patience_ms, wait_ms;
	long status;
	enum rc rc;

	if (request->path == NULL)
		return (fail_set(fail, FAIL_MEMORY, "out of memory"));
	for (;;) {
		memset(&x, 0, sizeof(x));
		x.rest = rest;
		x.request = request;
		buf_init(&x.body, REPLY_LIMIT);
		status = 0;
		rc = perform(rest, request, &x, &status, fail);
		if (rc == RC_OK)
			rc = conclude(rest, &x, status, ret, fail);
		buf_fini(&x.body);
		if (rc == RC_OK || (status != 429 && status != 503))
			return (rc);
		wait_ms = fail->retry_after_s > 0
			      ? (int64_t)fail->retry_after_s * 1000
			      : 1000;
		if (wait_ms > left_ms)
			return (rc);
		left_ms -= wait_ms;
		rest_sleep(wait_ms);
	}
}

void
rest_reply_fini(struct rest_reply *reply)
{

	json_decref(reply->json);
	reply->json = NULL;
}

enum rc
rest_get(struct rest *rest, const char *path, json_t **ret, struct fail *fail)
{
	struct rest_request request = {.path = path, .patience_ms = 10000};
	struct rest_reply reply;
	enum rc rc;

	rc = rest_call(rest, &request, &reply, fail);
	if (rc != RC_OK)
		return (rc);
	if (!json_is_object(reply.json)) {
		rest_reply_fini(&reply);
		return (fail_set(fail, FAIL_PROTOCOL,
		    "%.80s answers with something that is not a JSON object",
		    rest->server));
	}
	*ret = reply.json;
	return (RC_OK);
}
