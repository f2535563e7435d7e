/* SPDX-License-Identifier: MIT */
/*
 * The steps of `twinboxd check-federation`: settings, database, DNS and key are
 * in check_federation.c; the requests to servers are in check_servers.c.
 * Thread: main.
 */
#ifndef MAIN_CHECK_INTERNAL_H
#define MAIN_CHECK_INTERNAL_H

#include "federation/explain.h"
#include "federation/transfer_sign.h"
#include "main/server.h"

/* Size of "https://" and an authority, with the NUL. */
#define BASE_SIZE (sizeof("https://") + DOMAIN_AUTHORITY_SIZE)

struct check {
	struct config config;
	const char *domain; /* of the server that is checked */
	struct directory_policy policy;
	/* NULL: federation-peer does not fix its URL. */
	const struct domain_peer *pinned;
	struct net_networks networks; /* private networks that it may be in */
	struct buf authorities; /* PEM of federation-ca; empty: the system's */
	char base[BASE_SIZE];   /* scheme and authority of the document's URL */

	/* From the database. */
	bool is_known, signs;
	struct store_peer_known known;
	struct keyring_signer signer; /* wiped at the end */
	struct document_key signer_public;

	CURLM *multi;
	struct document document; /* of the other server */
	bool tried;               /* the settings allow a contact */
	bool failed;              /* a step has failed */
	bool over;                /* the next step is impossible */
};

/* Prints ${out} and frees it. */
enum rc check_print(struct buf *out, struct err *err) MUST_USE;

/* check_say() and check_say_or_end() print ${e}, the result of the step
 * ${what}, and set ${c}->failed if the step failed.  check_say_or_end() then
 * also sets ${c}->over, so that no later step is tried.  Both return RC_OK also
 * for a step that failed.  Errors: RC_NO_MEMORY; RC_IO: standard output cannot
 * be written. */
enum rc check_say(struct check *c, const char *what, const struct explain *e,
    struct err *err) MUST_USE;
enum rc check_say_or_end(struct check *c, const char *what,
    const struct explain *e, struct err *err) MUST_USE;

/* Returns the host of the other server's document. */
static inline const char *
check_host(const struct check *c)
{

	return (c->pinned != NULL ? c->pinned->url.host : c->domain);
}

/* ---- steps: RC_OK if the step could be tried, whatever its result ---- */

/* Fetches the document of the other server; prints the steps connection,
 * document and clock. */
enum rc check_document(struct check *c, struct err *err) MUST_USE;

/* Fetches the document of this server as other servers do. */
enum rc check_own(struct check *c, struct err *err) MUST_USE;

/* Sends a signed request to the other server. */
enum rc check_request(struct check *c, struct err *err) MUST_USE;

#endif
