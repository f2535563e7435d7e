/* SPDX-License-Identifier: MIT */
/*
 * Explains the result of each step of a contact with another server, with
 * advice, to an operator who runs "twinboxd check-federation".  These functions
 * use neither the network nor the database; the command uses both and passes
 * the results.
 *
 * Texts may quote what another server says.  explain_write() and
 * explain_write_text() escape them for a terminal.
 *
 * Thread: any, in all of these.  The caller owns the structs and buffers that
 * they write to.
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

/* A larger difference between two clocks is reported as a fault. */
#define EXPLAIN_SKEW_MS PEER_CLOCKS_OFF_MS

/* The result of a step. */
struct explain {
	bool ok;
	char result[EXPLAIN_SIZE];
	/* The cure of a fault; with ${ok}, a note.  "": none. */
	char cure[EXPLAIN_SIZE];
};

/* explain_ok() and explain_fault() set ${ret} to a step that went well or
 * failed, and empty its cure.  explain_cure() then sets the cure and changes
 * nothing else.  A text of more than EXPLAIN_SIZE - 1 bytes is cut. */
void explain_ok(struct explain *ret, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void explain_fault(struct explain *ret, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void explain_cure(struct explain *ret, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Appends ${e}, the result of step ${what}, in lines of at most 79 bytes
 * (unless one word is longer).  If the step went well, "ok" stands in place of
 * "fails", and "Note:" in place of "Cure:".  An empty cure has no line.
 *
 *	fails  DNS: b.example has no address (Name or service not known)
 *	       Cure: Check the spelling. ... */
void explain_write(struct buf *out, const char *what, const struct explain *e);

/* Appends ${text}, escaped, in such lines, each indented by ${indent}
 * spaces. */
void explain_write_text(struct buf *out, const char *text, size_t indent);

/* The indent of text below a step. */
#define EXPLAIN_INDENT 7

/* ---- the steps ---- */

/* Explains whether the settings allow a contact with ${domain}, which may be
 * any text. */
void explain_policy(const struct directory_policy *policy, const char *domain,
    struct explain *ret);

/* Sets ${ret} to a failed step: DNS gave no address for ${host}, for the reason
 * ${why}.  If ${again} is true, the failure is temporary, and the cure advises
 * to try again. */
void explain_no_address(
    const char *host, const char *why, bool again, struct explain *ret);

/* DNS gave ${n} addresses (at least one), of which ${nallowed} may be
 * contacted. */
void explain_addresses(
    const char *host, size_t n, size_t nallowed, struct explain *ret);

/* Sets ${ret} to a failed step: explains why ${authority}, "HOST" or
 * "HOST:PORT", gave no answer that can be used, and what the cure is.  The
 * caller makes sure that ${transport} is not CLASSIFY_ANSWERED.  ${error} is
 * the text of libcurl and may be "". */
void explain_transport(const char *authority, enum classify_transport transport,
    const char *error, struct explain *ret);

/* Sets ${ret} to a failed step: the request for the document was answered with
 * the HTTP status ${status}, not with 200.  ${said} is the problem document of
 * the answer; NULL: none. */
void explain_document_status(
    int status, const struct classify_said *said, struct explain *ret);

/* Explains the document ${d}, which was read.  ${known} is the database row of
 * its server; NULL: none.  The step fails if operators have pinned keys in that
 * row and ${d} has none of these keys. */
void explain_document(const struct document *d,
    const struct store_peer_known *known, struct explain *ret);

/* Compares the clock of another server with this server's.  By the wall clock
 * here, a request was sent at ${sent_ms} and answered at ${got_ms}.  ${date} is
 * the header Date of the answer (NULL: absent).  The step fails if the clocks
 * certainly differ by more than EXPLAIN_SKEW_MS.  It does not fail if the
 * header is absent or not a date: then the text says that the clocks were not
 * compared. */
void explain_clock(
    const char *date, int64_t sent_ms, int64_t got_ms, struct explain *ret);

/* Explains whether ${d}, this server's own document as others get it, has the
 * key ${signer}, with which this server signs, and a deliver URL whose host and
 * port are ${authority}.  Otherwise the step fails. */
void explain_own(const struct document *d, const struct document_key *signer,
    const char *authority, struct explain *ret);

/* The answer to a signed request with a ping and without envelopes. */
struct explain_answer {
	int status;
	const struct classify_said *said; /* the problem document; NULL: none */
	/* The parsed answer of a 200; NULL: it could not be parsed. */
	const struct envelope_answer *answer;
	const char *ping;
	int64_t took_ms;
};
void explain_answer(const struct explain_answer *a, struct explain *ret);

#endif
