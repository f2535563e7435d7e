/* SPDX-License-Identifier: MIT */
/*
 * URLs for REST: checks the URL of a server and writes it in its normal form,
 * recognizes a server on this machine, and builds paths with a percent-encoded
 * part.
 */
#include "lib/rest.h"

#include <stdio.h>
#include <string.h>

#include <curl/curl.h>

#include "lib/safe.h"

bool
rest_server_local(const char *server)
{
	const char *host = strstr(server, "://");
	size_t n;

	if (host == NULL)
		return (false);
	host += 3;
	if (strncmp(host, "[::1]", 5) == 0)
		return (true);
	n = strcspn(host, ":");
	return ((n == 9 && strncmp(host, "localhost", n) == 0) ||
		(strncmp(host, "127.", 4) == 0 &&
		    strspn(host, "0123456789.") == n));
}

/* Returns part ${what} of ${url}, which the caller frees; NULL if ${url} has
 * none. */
static char *
url_part(CURLU *url, CURLUPart what)
{
	char *part = NULL;

	if (curl_url_get(url, what, &part, 0) != CURLUE_OK)
		return (NULL);
	return (part);
}

/* Returns true if ${host} is printable ASCII.  An international name must be
 * given in its xn-- form, because letters of other alphabets can look like
 * ASCII and so imitate the name of another server. */
static bool
host_plain(const char *host)
{

	for (; *host != '\0'; host++)
		if (*host <= ' ' || *host >= 0x7f)
			return (false);
	return (true);
}

/* Writes the parsed ${url} as SCHEME://HOST[:PORT] into ${ret}.  Returns false,
 * after which ${ret} is not valid, if the scheme is not http or https, HOST is
 * not ASCII, ${url} has another part (a user, a path other than "/", a query, a
 * fragment, a zone), or the text does not fit into ${size} bytes. */
static bool
server_format(CURLU *url, char *ret, size_t size)
{
	char *scheme = url_part(url, CURLUPART_SCHEME);
	char *host = url_part(url, CURLUPART_HOST);
	char *port = url_part(url, CURLUPART_PORT);
	char *path = url_part(url, CURLUPART_PATH);
	char *user = url_part(url, CURLUPART_USER);
	char *query = url_part(url, CURLUPART_QUERY);
	char *fragment = url_part(url, CURLUPART_FRAGMENT);
	char *zone = url_part(url, CURLUPART_ZONEID); /* [fe80::1%eth0] */
	bool ok;
	int n;

	ok = scheme != NULL && host != NULL && host_plain(host) &&
	     user == NULL && query == NULL && fragment == NULL &&
	     zone == NULL &&
	     (strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0) &&
	     (path == NULL || path[0] == '\0' || strcmp(path, "/") == 0);
	if (ok) {
		n = snprintf(ret, size, "%s://%s%s%s", scheme, host,
		    port != NULL ? ":" : "", port != NULL ? port : "");
		ok = n > 0 && (size_t)n < size;
	}
	curl_free(scheme);
	curl_free(host);
	curl_free(port);
	curl_free(path);
	curl_free(user);
	curl_free(query);
	curl_free(fragment);
	curl_free(zone);
	return (ok);
}

enum rc
rest_server_parse(const char *text, char *ret, size_t size, struct fail *fail)
{
	CURLU *url = curl_url();
	char safe[120];
	bool ok;

	if (url == NULL)
		return (fail_set(fail, FAIL_MEMORY, "out of memory"));
	ok = curl_url_set(url, CURLUPART_URL, text, 0) == CURLUE_OK &&
	     server_format(url, ret, size);
	curl_url_cleanup(url);
	if (ok)
		return (RC_OK);
	safe_line(text, strlen(text), safe, sizeof(safe));
	(void)fail_set(fail, FAIL_USAGE, "\"%s\" is not a valid server", safe);
	return (fail_cure(fail, "write it as http://HOST:PORT"));
}

void
rest_path_add(struct buf *b, const char *text)
{

	for (; *text != '\0'; text++) {
		if (strchr("-._~", *text) != NULL ||
		    (*text >= '0' && *text <= '9') ||
		    (*text >= 'a' && *text <= 'z') ||
		    (*text >= 'A' && *text <= 'Z'))
			buf_addc(b, *text);
		else
			buf_addf(b, "%%%02X", (unsigned char)*text);
	}
}

char *
rest_path(const char *prefix, const char *text, const char *suffix)
{
	struct buf b = BUF_INIT;

	buf_adds(&b, prefix);
	rest_path_add(&b, text);
	buf_adds(&b, suffix);
	return (buf_take(&b, NULL));
}
