/* SPDX-License-Identifier: MIT */
/*
 * One request to another server by libcurl, with the rules that all requests
 * obey: https unless the URL is pinned, verified certificates, no redirect, no
 * proxy, no cookie, a bounded answer, and no connection to an address that is
 * not allowed (address.h).  The address is checked for each socket, after DNS,
 * so a name that changes its address does not get around the check.
 *
 * Thread: the one that runs the CURLM, in all of these.
 */
#ifndef FEDERATION_TRANSFER_H
#define FEDERATION_TRANSFER_H

#include <stdbool.h>
#include <stdint.h>

#include <curl/curl.h>

#include "base/buf.h"
#include "base/err.h"
#include "federation/classify.h"
#include "net/forwarded.h"

/* Size of a header's value, with the NUL.  A longer value counts as absent. */
#define TRANSFER_HEADER_SIZE 256

struct transfer {
	/* Set by the caller. */
	const char *url; /* libcurl copies it */
	bool http;       /* the URL is pinned and may be http */
	const struct net_networks *allowed; /* borrowed */
	/* PEM of the certificate authorities to trust; borrowed.  NULL: the
	 * system's. */
	const struct buf *authorities;
	const struct buf *body; /* of a POST; borrowed.  NULL: a GET */
	int64_t timeout_ms;
	size_t limit;     /* of the answer, in bytes */
	bool certificate; /* make CURLINFO_CERTINFO available */
	/* Called when the transfer has ended and libcurl no longer uses it. */
	void (*done)(struct transfer *t);

	/* Set when it is done. */
	enum classify_transport transport;
	int status;                  /* HTTP status; 0: none */
	struct buf answer;           /* freed by transfer_fini() */
	char error[CURL_ERROR_SIZE]; /* libcurl's text; "": none */

	/* Private. */
	CURL *easy;
	struct curl_slist *headers;
	bool forbidden, opened; /* a socket was refused; one was opened */
	bool too_long, active;
};

/* Adds a header to the request. */
enum rc transfer_header(struct transfer *t, const char *name, const char *value,
    struct err *err) MUST_USE;

/* Begins ${t}.  Its other members, except those that the caller sets and the
 * headers, must be zero.  ${multi} may be NULL if it could not be made.
 * RC_NO_MEMORY: nothing was begun, done is not called, and transfer_fini() must
 * still be called. */
enum rc transfer_begin(
    struct transfer *t, CURLM *multi, struct err *err) MUST_USE;

/* libcurl has ended ${easy}: stores the result in its transfer, and calls
 * done. */
void transfer_finish(CURLM *multi, CURL *easy, CURLcode code);

/* Copies the header ${name} of the answer to ${ret}.  False: it is absent, too
 * long, or repeated.  Call it after the end and before transfer_fini(). */
bool transfer_answer_header(
    const struct transfer *t, const char *name, char ret[TRANSFER_HEADER_SIZE]);

/* Frees and zeroes ${t}, also what the caller has set.  If it is under way it
 * is cancelled, and done is not called. */
void transfer_fini(struct transfer *t, CURLM *multi);

#endif
