/* SPDX-License-Identifier: MIT */
/*
 * One request to another server by libcurl, with the rules that hold for all of
 * them: https unless the address is pinned, certificates verified, no redirect,
 * no proxy, no cookie, a bounded answer, and no connection to an address that
 * may not be contacted (address.h).  That is judged for each socket, after DNS,
 * so that a name that changes its address gains nothing.
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

/* Values of headers, with their NUL; a longer one counts as absent. */
#define TRANSFER_HEADER_SIZE 256

struct transfer {
	/* Asked. */
	const char *url; /* libcurl keeps a copy */
	bool http;       /* the URL is pinned and may be http */
	const struct net_networks *allowed; /* kept */
	/* Of the authorities that are trusted, as PEM; kept.  NULL: the
	 * system's. */
	const struct buf *authorities;
	const struct buf *body; /* of a POST; kept.  NULL: a GET */
	int64_t timeout_ms;
	size_t limit;     /* bytes of the answer */
	bool certificate; /* CURLINFO_CERTINFO is asked for afterwards */
	/* The transfer is over and no longer libcurl's. */
	void (*done)(struct transfer *t);

	/* Answered. */
	enum classify_transport transport;
	int status;                  /* of HTTP; 0: none */
	struct buf answer;           /* freed by transfer_fini() */
	char error[CURL_ERROR_SIZE]; /* what libcurl says; "": nothing */

	/* Its own. */
	CURL *easy;
	struct curl_slist *headers;
	bool forbidden,
	    opened; /* addresses that may not be contacted; others */
	bool too_long, active;
};

/* Adds a header of the request. */
enum rc transfer_header(struct transfer *t, const char *name, const char *value,
    struct err *err) MUST_USE;

/* Begins ${t}, which is zeroed but for what is asked and its headers.
 * ${multi} NULL: there was no memory for it, and there is none for ${t}. */
enum rc transfer_begin(
    struct transfer *t, CURLM *multi, struct err *err) MUST_USE;

/* libcurl is through with ${easy}: the result is in its transfer, which is
 * done. */
void transfer_finish(CURLM *multi, CURL *easy, CURLcode code);

/* Copies the header ${name} of the answer to ${ret}.  False: it is absent, too
 * long, or there several times. */
bool transfer_answer_header(
    const struct transfer *t, const char *name, char ret[TRANSFER_HEADER_SIZE]);

/* Frees what it holds, and ends it if it is under way: then it is not done.
 * Zeroes it. */
void transfer_fini(struct transfer *t, CURLM *multi);

#endif
