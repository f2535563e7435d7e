/* SPDX-License-Identifier: MIT */
/*
 * See transfer.h.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <unistd.h>

#include "base/fault.h"
#include "federation/address.h"
#include "federation/transfer.h"

/* Limit in ms of the time to connect.  Without it a host that drops packets
 * would use up the whole time-out of the request. */
#define CONNECT_MS 10000L
/* How long in ms sent data may stay without a TCP acknowledgement before the
 * kernel closes the connection as dead. */
#define SILENCE_MS 10000

enum rc
transfer_header(
    struct transfer *t, const char *name, const char *value, struct err *err)
{
	struct curl_slist *list = NULL;
	struct buf b = BUF_INIT;

	buf_addf(&b, "%s: %s", name, value);
	buf_addc(&b, '\0');
	if (buf_ok(&b))
		list = curl_slist_append(t->headers, b.data);
	buf_fini(&b);
	if (list == NULL)
		return (err_set(err, RC_NO_MEMORY, "headers of a request"));
	t->headers = list;
	return (RC_OK);
}

/* ---- what libcurl calls ---- */

static curl_socket_t
open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
	const unsigned silence_ms = SILENCE_MS;
	struct transfer *t = arg;
	int fd;

	if (purpose != CURLSOCKTYPE_IPCXN ||
	    !address_allowed(&address->addr, t->allowed)) {
		t->forbidden = true;
		return (CURL_SOCKET_BAD);
	}
	t->opened = true;
	fd = socket(address->family, address->socktype | SOCK_CLOEXEC,
	    address->protocol);
	/* A connection is used by several requests (HTTP/2) and outlives each
	 * of them.  If its other end is gone, the data of a request stays
	 * without acknowledgement; the TCP time-out then closes the connection,
	 * so that the request after that one does not reuse it. */
	if (fd >= 0)
		(void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &silence_ms,
		    sizeof(silence_ms));
	return (fd);
}

static size_t
take_answer(char *p, size_t size, size_t n, void *arg)
{
	struct transfer *t = arg;

	n *= size;
	if (t->answer.len + n > t->limit) {
		t->too_long = true;
		return (0);
	}
	buf_add(&t->answer, p, n);
	if (buf_ok(&t->answer) && !FAULT_FAILS("transfer.answer.memory"))
		return (n);
	t->no_memory = true;
	return (0);
}

/* ---- begin ---- */

/* If t->authorities is not NULL, makes libcurl trust only the certificate
 * authorities in it; else libcurl trusts those of the system.  CAPATH must be
 * set to NULL, otherwise libcurl also trusts the certificates in the system's
 * folder. */
static CURLcode
set_authorities(const struct transfer *t)
{
	struct curl_blob blob = {.flags = CURL_BLOB_NOCOPY};
	CURLcode rc;

	if (t->authorities == NULL)
		return (CURLE_OK);
	blob.data = t->authorities->data;
	blob.len = t->authorities->len;
	rc = curl_easy_setopt(t->easy, CURLOPT_CAINFO_BLOB, &blob);
	if (rc == CURLE_OK)
		rc = curl_easy_setopt(t->easy, CURLOPT_CAPATH, NULL);
	return (rc);
}

/* Sets the options of libcurl.  False: no memory, or an option is not known. */
static bool
set_options(struct transfer *t)
{
	CURL *c = t->easy;
	CURLcode rc = CURLE_OK;
	const long connect_ms =
	    t->timeout_ms < CONNECT_MS ? (long)t->timeout_ms : CONNECT_MS;

#define SET(option, value)                                                     \
	do {                                                                   \
		if (rc == CURLE_OK)                                            \
			rc = curl_easy_setopt(c, option, value);               \
	} while (0)
	SET(CURLOPT_URL, t->url);
	SET(CURLOPT_PROTOCOLS_STR, t->http ? "http,https" : "https");
	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_PROXY, "");
	SET(CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	SET(CURLOPT_FOLLOWLOCATION, 0L);
	/* Without this option libcurl waits at the end of a transfer for its
	 * resolver thread.  A name server that does not answer would then block
	 * all other requests. */
	SET(CURLOPT_QUICK_EXIT, 1L);
	SET(CURLOPT_USERAGENT, "twinbox");
	SET(CURLOPT_ERRORBUFFER, t->error);
	SET(CURLOPT_PRIVATE, t);
	SET(CURLOPT_OPENSOCKETFUNCTION, open_socket);
	SET(CURLOPT_OPENSOCKETDATA, t);
	SET(CURLOPT_WRITEFUNCTION, take_answer);
	SET(CURLOPT_WRITEDATA, t);
	SET(CURLOPT_HTTPHEADER, t->headers);
	SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
	/* Wait for a connection that another request is opening, if it can be
	 * shared. */
	SET(CURLOPT_PIPEWAIT, 1L);
	SET(CURLOPT_TIMEOUT_MS, (long)t->timeout_ms);
	SET(CURLOPT_CONNECTTIMEOUT_MS, connect_ms);
	SET(CURLOPT_CERTINFO, t->certificate ? 1L : 0L);
	if (t->body != NULL) {
		SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)t->body->len);
		SET(CURLOPT_POSTFIELDS, t->body->data);
	}
#undef SET
	return (rc == CURLE_OK && set_authorities(t) == CURLE_OK);
}

enum rc
transfer_begin(struct transfer *t, CURLM *multi, struct err *err)
{

	assert(!t->active);
	if (multi == NULL || (t->easy = curl_easy_init()) == NULL ||
	    !set_options(t) ||
	    curl_multi_add_handle(multi, t->easy) != CURLM_OK)
		return (err_set(err, RC_NO_MEMORY, "a request by libcurl"));
	t->active = true;
	return (RC_OK);
}

/* ---- end ---- */

static enum classify_transport
transport_of(const struct transfer *t, CURLcode code)
{

	if (t->too_long)
		return (CLASSIFY_TOO_LONG);
	if (code != CURLE_OK && t->forbidden && !t->opened)
		return (CLASSIFY_FORBIDDEN);
	/* All other codes are ways in which a connection breaks. */
	switch ((int)code) {
	case CURLE_OK:
		return (CLASSIFY_ANSWERED);
	case CURLE_COULDNT_RESOLVE_HOST:
		return (CLASSIFY_NO_ADDRESS);
	case CURLE_COULDNT_CONNECT:
		return (CLASSIFY_NO_CONNECTION);
	case CURLE_OPERATION_TIMEDOUT:
		return (CLASSIFY_TIME_OUT);
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CIPHER:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_ISSUER_ERROR:
	case CURLE_SSL_INVALIDCERTSTATUS:
		return (CLASSIFY_TLS);
	default:
		return (CLASSIFY_BROKEN);
	}
}

void
transfer_finish(CURLM *multi, CURL *easy, CURLcode code)
{
	struct transfer *t = NULL;
	long status = 0;

	(void)curl_easy_getinfo(easy, CURLINFO_PRIVATE, &t);
	assert(t != NULL && t->easy == easy);
	(void)curl_multi_remove_handle(multi, easy);
	t->active = false;
	t->transport = transport_of(t, code);
	t->no_memory = t->no_memory || code == CURLE_OUT_OF_MEMORY;
	(void)curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
	t->status = t->transport == CLASSIFY_ANSWERED ? (int)status : 0;
	t->done(t);
}

bool
transfer_answer_header(
    const struct transfer *t, const char *name, char ret[TRANSFER_HEADER_SIZE])
{
	struct curl_header *h;

	if (t->easy == NULL ||
	    curl_easy_header(t->easy, name, 0, CURLH_HEADER, -1, &h) !=
		CURLHE_OK ||
	    h->amount != 1 || strlen(h->value) >= TRANSFER_HEADER_SIZE)
		return (false);
	(void)snprintf(ret, TRANSFER_HEADER_SIZE, "%s", h->value);
	return (true);
}

void
transfer_fini(struct transfer *t, CURLM *multi)
{

	if (t->active)
		(void)curl_multi_remove_handle(multi, t->easy);
	curl_easy_cleanup(t->easy);
	curl_slist_free_all(t->headers);
	buf_fini(&t->answer);
	memset(t, 0, sizeof(*t));
}
