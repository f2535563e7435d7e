/* SPDX-License-Identifier: MIT */
/*
 * One request to another server by libcurl, with the rules that all such
 * requests obey: https, or http if an operator has pinned an http URL; verified
 * certificates; no redirect, no proxy and no cookie; a bounded answer; and no
 * connection to an address that is not allowed (address.h).  The address of
 * each socket is checked after DNS, so a name whose address changes does not
 * get around the check.
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
	bool no_memory;              /* this server had none for the answer */
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

/* Starts the request ${t}; when it has ended, transfer_finish() calls the
 * member done.  Before the start, ${t} must be zero apart from the members that
 * the caller sets and the headers of transfer_header().  ${multi} may be NULL,
 * which counts as a lack of memory.  RC_NO_MEMORY, the only error: nothing was
 * started and done is not called, but the caller must still call
 * transfer_fini(). */
enum rc transfer_begin(
    struct transfer *t, CURLM *multi, struct err *err) MUST_USE;

/* libcurl has ended ${easy}: stores the result in its transfer, and calls
 * done. */
void transfer_finish(CURLM *multi, CURL *easy, CURLcode code);

/* Copies the value of the header ${name} of the answer to ${ret}.  Returns
 * false if the header is absent, repeated, or too long for ${ret}.  Call it
 * after the transfer has ended and before transfer_fini(). */
bool transfer_answer_header(
    const struct transfer *t, const char *name, char ret[TRANSFER_HEADER_SIZE]);

/* Frees what ${t} owns and sets all of ${t} to zero, also the members that the
 * caller has set.  If the transfer is under way, it is cancelled, and the
 * member done is not called. */
void transfer_fini(struct transfer *t, CURLM *multi);

#endif
