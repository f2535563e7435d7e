/* SPDX-License-Identifier: MIT */
/*
 * See domain.h.
 */
#include <sys/socket.h>

#include <arpa/inet.h>

#include <stdio.h>
#include <string.h>

#include "net/domain.h"

#define HTTPS "https://"
#define HTTP "http://"
#define HTTPS_PORT 443
#define HTTP_PORT 80

static bool
is_digit(char c)
{

	return (c >= '0' && c <= '9');
}

static bool
is_letter_or_digit(char c)
{

	return ((c >= 'a' && c <= 'z') || is_digit(c));
}

bool
domain_host_valid(const char *text, size_t n)
{
	size_t i, label;

	if (n < 1 || n > LIMIT_DOMAIN_LEN)
		return (false);
	for (i = 0, label = 0; i < n; i++) {
		if (text[i] == '.') {
			if (label == 0 || text[i - 1] == '-')
				return (false);
			label = 0;
			continue;
		}
		if (!is_letter_or_digit(text[i]) &&
		    (text[i] != '-' || label == 0))
			return (false);
		if (++label > 63)
			return (false);
	}
	return (label > 0 && text[n - 1] != '-');
}

/* Returns true if the last label of the host name ${host}, of ${n} bytes,
 * begins with a digit.  Some resolvers read such a name as an IPv4 address
 * ("127.1", "0x7f.1", "2130706433"). */
static bool
is_numeric(const char *host, size_t n)
{
	const char *dot = memrchr(host, '.', n);

	return (is_digit(dot == NULL ? host[0] : dot[1]));
}

bool
domain_valid(const char *text, size_t n)
{

	return (domain_host_valid(text, n) && memchr(text, '.', n) != NULL &&
		!is_numeric(text, n));
}

bool
domain_within(const char *host, const char *domain)
{
	const size_t h = strlen(host), d = strlen(domain);

	return (h >= d && strcmp(host + h - d, domain) == 0 &&
		(h == d || host[h - d - 1] == '.'));
}

/* ---- lists ---- */

static bool
entry_valid(const char *entry, size_t n)
{

	if (n == 0 || entry[0] != '.')
		return (domain_valid(entry, n));
	entry++;
	n--;
	return (domain_host_valid(entry, n) && !is_numeric(entry, n));
}

enum rc
domain_list_parse(const char *text, struct domain_list *ret, struct err *err)
{
	static const char between[] = ", ";
	struct domain_list list = {.n = 0};
	size_t n;

	for (text += strspn(text, between); *text != '\0';
	     text += n, text += strspn(text, between)) {
		n = strcspn(text, between);
		if (!entry_valid(text, n))
			return (err_set(err, RC_INVALID,
			    "\"%.*s\" is not a valid domain (b.example) or "
			    "suffix (.example.org)",
			    n < 80 ? (int)n : 80, text));
		if (list.n == DOMAIN_LIST_MAX)
			return (err_set(err, RC_INVALID,
			    "\"%.*s\" is one domain too many: at most %d are "
			    "supported",
			    n < 80 ? (int)n : 80, text, DOMAIN_LIST_MAX));
		memcpy(list.entry[list.n], text, n);
		list.entry[list.n++][n] = '\0';
	}
	*ret = list;
	return (RC_OK);
}

/* Returns true if ${text} ends with ${suffix} and is longer. */
static bool
ends_with(const char *text, const char *suffix)
{
	const size_t n = strlen(text), k = strlen(suffix);

	return (n > k && memcmp(text + n - k, suffix, k) == 0);
}

bool
domain_listed(const struct domain_list *list, const char *domain)
{
	const char *entry;
	int i;

	for (i = 0; i < list->n; i++) {
		entry = list->entry[i];
		if (entry[0] == '.' ? ends_with(domain, entry)
				    : strcmp(domain, entry) == 0)
			return (true);
	}
	return (false);
}

/* ---- URLs ---- */

/* The result of classify() or classify_v6() for the host of a URL.  If valid is
 * false, is_loopback has no meaning.  is_loopback: the host is "localhost", an
 * address in 127.0.0.0/8 or ::1, so the URL can only mean this machine. */
struct host {
	bool valid, is_loopback, is_v6;
};

/* Classifies an IPv6 address.  Only the form of RFC 5952 is valid. */
static struct host
classify_v6(const char *text)
{
	struct host host = {.valid = false, .is_v6 = true};
	char again[INET6_ADDRSTRLEN];
	struct in6_addr v6;

	if (inet_pton(AF_INET6, text, &v6) == 1 &&
	    inet_ntop(AF_INET6, &v6, again, sizeof(again)) != NULL) {
		host.valid = strcmp(again, text) == 0;
		host.is_loopback = IN6_IS_ADDR_LOOPBACK(&v6);
	}
	return (host);
}

static struct host
classify(const char *text)
{
	struct host host = {.is_v6 = false};
	struct in_addr v4;

	host.valid = domain_host_valid(text, strlen(text));
	host.is_loopback = strcmp(text, "localhost") == 0;
	if (host.valid && is_numeric(text, strlen(text))) {
		host.valid = inet_pton(AF_INET, text, &v4) == 1;
		host.is_loopback = host.valid && ntohl(v4.s_addr) >> 24 == 127;
	}
	return (host);
}

/* Sets ${*ret} to the decimal port from 1 to 65535, without leading zeros, that
 * is the whole of ${text}.  Returns false if ${text} is anything else; then
 * ${*ret} is undefined. */
static bool
read_port(const char *text, uint16_t *ret)
{
	unsigned v = 0;

	if (*text == '0')
		return (false);
	for (; is_digit(*text) && v <= UINT16_MAX; text++)
		v = v * 10 + (unsigned)(*text - '0');
	*ret = (uint16_t)v;
	return (*text == '\0' && v >= 1 && v <= UINT16_MAX);
}

/* Splits "HOST[:PORT]", where an IPv6 HOST is in brackets, into the members
 * host and port of ${url}, and sets ${*ret_host} to the class of HOST.  Without
 * a PORT, the member port stays as it is.  Returns false if HOST or PORT is not
 * valid; then ${url} and ${*ret_host} are undefined. */
static bool
split(const char *text, struct domain_url *url, struct host *ret_host)
{
	const bool is_v6 = *text == '[';
	const char *end;
	size_t n;

	text += is_v6;
	end = strchrnul(text, is_v6 ? ']' : ':');
	n = (size_t)(end - text);
	if (n >= sizeof(url->host) || (is_v6 && *end == '\0'))
		return (false);
	memcpy(url->host, text, n);
	url->host[n] = '\0';
	*ret_host = is_v6 ? classify_v6(url->host) : classify(url->host);
	end += is_v6;
	return (
	    ret_host->valid &&
	    (*end == '\0' || (*end == ':' && read_port(end + 1, &url->port))));
}

static void
write_authority(struct domain_url *url, bool is_v6)
{
	const int usual = url->https ? HTTPS_PORT : HTTP_PORT;
	char port[sizeof(":65535")] = "";

	if (url->port != usual)
		(void)snprintf(port, sizeof(port), ":%u", url->port);
	(void)snprintf(url->authority, sizeof(url->authority), "%s%s%s%s",
	    is_v6 ? "[" : "", url->host, is_v6 ? "]" : "", port);
}

enum rc
domain_url_parse(const char *text, struct domain_url *ret, struct err *err)
{
	struct domain_url url = {.https = true, .port = HTTPS_PORT};
	const char *rest = text;
	struct host host;

	if (strncmp(text, HTTPS, strlen(HTTPS)) == 0) {
		rest += strlen(HTTPS);
	} else if (strncmp(text, HTTP, strlen(HTTP)) == 0) {
		rest += strlen(HTTP);
		url.https = false;
		url.port = HTTP_PORT;
	}
	if (rest == text || !split(rest, &url, &host))
		return (err_set(err, RC_INVALID,
		    "\"%.80s\" is not a valid URL of a server: write "
		    "https://HOST or https://HOST:PORT in lower case, without "
		    "user, path, query and fragment",
		    text));
	if (!url.https && !host.is_loopback)
		return (err_set(err, RC_INVALID,
		    "\"%.80s\" is not encrypted: http is supported for "
		    "localhost, 127.0.0.1 and [::1] only, write https",
		    text));
	write_authority(&url, host.is_v6);
	*ret = url;
	return (RC_OK);
}

bool
domain_url_public(const struct domain_url *url, const char *domain)
{

	return (url->https && url->port == HTTPS_PORT &&
		domain_within(url->host, domain));
}

enum rc
domain_peer_parse(const char *text, struct domain_peer *ret, struct err *err)
{
	const char *equals = strchrnul(text, '=');
	const size_t n = (size_t)(equals - text);
	struct domain_peer peer;
	enum rc rc;

	if (*equals == '\0')
		return (err_set(err, RC_INVALID,
		    "\"%.80s\" is not a valid peer: write DOMAIN=URL", text));
	if (!domain_valid(text, n))
		return (err_set(err, RC_INVALID,
		    "\"%.*s\" is not a valid domain (b.example)",
		    n < 80 ? (int)n : 80, text));
	memcpy(peer.domain, text, n);
	peer.domain[n] = '\0';
	if ((rc = domain_url_parse(equals + 1, &peer.url, err)) != RC_OK)
		return (rc);
	*ret = peer;
	return (RC_OK);
}

const struct domain_peer *
domain_peer_find(const struct domain_peer *list, int n, const char *domain)
{
	int i;

	for (i = 0; i < n; i++)
		if (strcmp(list[i].domain, domain) == 0)
			return (&list[i]);
	return (NULL);
}
