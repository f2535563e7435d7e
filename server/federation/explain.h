/* SPDX-License-Identifier: MIT */
/*
 * What came of each step of a contact with another server, in plain words, and
 * what an operator does about it (twinboxd check-federation).  Nothing here
 * asks the network or the database: the command does, and hands over what it
 * got.
 *
 * Texts may quote what another server says: explain_write() makes them fit for
 * a terminal.
 *
 * Thread: any, in all of these.  Memory: the caller's.
 */
#ifndef FEDERATION_EXPLAIN_H
#define FEDERATION_EXPLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "federation/classify.h"
#include "federation/directory.h"
#include "federation/document.h"
#include "federation/peer_clocks.h"
#include "model/envelope.h"
#include "store/peer.h"

#define EXPLAIN_SIZE 768

/* The clocks of two servers may be as far apart as this. */
#define EXPLAIN_SKEW_MS PEER_CLOCKS_OFF_MS

/* What came of a step. */
struct explain {
	bool ok;
	char result[EXPLAIN_SIZE];
	/* What to do about it; with ${ok}, what is worth knowing.  "": none. */
	char cure[EXPLAIN_SIZE];
};

/* Makes ${ret} a step that went well, or one that failed. */
void explain_ok(struct explain *ret, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void explain_fault(struct explain *ret, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void explain_cure(struct explain *ret, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Appends ${e}, the step ${what}, in lines of at most 79 bytes, longer words
 * excepted:
 *
 *	fails  DNS: b.example has no address (Name or service not known)
 *	       Cure: Check the spelling. ...
 */
void explain_write(struct buf *out, const char *what, const struct explain *e);

/* Appends ${text} in such lines, each of which begins with ${indent} spaces.
 */
void explain_write_text(struct buf *out, const char *text, size_t indent);

/* The same, where it stands below a step. */
#define EXPLAIN_INDENT 7

/* ---- the steps ---- */

/* The settings: whether ${domain}, any text, may be in contact. */
void explain_policy(const struct directory_policy *policy, const char *domain,
    struct explain *ret);

/* DNS gave no address for ${host}, because of ${why}; ${again}: the same
 * question may have another answer soon. */
void explain_no_address(
    const char *host, const char *why, bool again, struct explain *ret);

/* DNS gave ${n} addresses, at least one, of which ${nallowed} may be
 * contacted. */
void explain_addresses(
    const char *host, size_t n, size_t nallowed, struct explain *ret);

/* No answer came from ${authority}, "HOST" or "HOST:PORT": ${transport} is not
 * CLASSIFY_ANSWERED.  ${error}: what libcurl says of it, may be "". */
void explain_transport(const char *authority, enum classify_transport transport,
    const char *error, struct explain *ret);

/* The document was answered with ${status}, which is not 200.  ${said}: the
 * problem document of the answer; NULL: none. */
void explain_document_status(
    int status, const struct classify_said *said, struct explain *ret);

/* The document ${d} was read.  ${known}: what the database says of its server;
 * NULL: nothing. */
void explain_document(const struct document *d,
    const struct store_peer_known *known, struct explain *ret);

/* The answer to a request that was sent at ${sent_ms} and answered at
 * ${got_ms}, by the wall clock here, had the header Date: ${date} (NULL: none
 * that can be read). */
void explain_clock(
    const char *date, int64_t sent_ms, int64_t got_ms, struct explain *ret);

/* The document ${d} of this server, which signs with ${signer} and takes
 * envelopes at ${authority}. */
void explain_own(const struct document *d, const struct document_key *signer,
    const char *authority, struct explain *ret);

/* The answer to a signed request with a ping and without envelopes. */
struct explain_answer {
	int status;
	const struct classify_said *said; /* its problem document; NULL: none */
	/* What wire_answer_read() made of a 200; NULL: it took it not. */
	const struct envelope_answer *answer;
	const char *ping;
	int64_t took_ms;
};
void explain_answer(const struct explain_answer *a, struct explain *ret);

#endif
