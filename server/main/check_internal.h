/* SPDX-License-Identifier: MIT */
/*
 * The steps of `twinboxd check-federation`: settings, database and DNS
 * (check_federation.c); what is asked of servers (check_servers.c).
 * Thread: main.
 */
#ifndef MAIN_CHECK_INTERNAL_H
#define MAIN_CHECK_INTERNAL_H

#include "federation/explain.h"
#include "federation/transfer_sign.h"
#include "main/server.h"

/* "https://" and an authority. */
#define BASE_SIZE (sizeof("https://") + DOMAIN_AUTHORITY_SIZE)

struct check {
	struct config config;
	const char *domain; /* that is tried */
	struct directory_policy policy;
	const struct domain_peer *pinned; /* NULL: its URL is not fixed */
	struct net_networks networks;     /* private ones that it may be in */
	struct buf authorities; /* of federation-ca; empty: the system's */
	char base[BASE_SIZE];   /* of its document's URL */

	/* What the database says. */
	bool is_known, signs;
	struct store_peer_known known;
	struct keyring_signer signer; /* wiped at the end */
	struct document_key signer_public;

	CURLM *multi;
	struct document document; /* of the other server */
	bool tried;               /* the settings allow it */
	bool failed;              /* one of the steps */
	bool over;                /* the next step is impossible */
};

/* Prints ${out} and frees it. */
enum rc check_print(struct buf *out, struct err *err) MUST_USE;

/* Prints what came of the step ${what}; check_say_or_end() also remembers that
 * nothing can be tried after its failure. */
enum rc check_say(struct check *c, const char *what, const struct explain *e,
    struct err *err) MUST_USE;
enum rc check_say_or_end(struct check *c, const char *what,
    const struct explain *e, struct err *err) MUST_USE;

/* The host of the other server's document. */
static inline const char *
check_host(const struct check *c)
{

	return (c->pinned != NULL ? c->pinned->url.host : c->domain);
}

/* ---- steps: RC_OK, whatever came of them, if they could be tried ---- */

/* The connection, the document of the other server, and its clock. */
enum rc check_document(struct check *c, struct err *err) MUST_USE;

/* The document of this server, as others see it. */
enum rc check_own(struct check *c, struct err *err) MUST_USE;

/* A signed request to the other server. */
enum rc check_request(struct check *c, struct err *err) MUST_USE;

#endif
