/* SPDX-License-Identifier: MIT */
/*
 * Other servers as this process knows them: which keys verify their signatures,
 * where their messages are sent, and which servers may be in contact at all.
 *
 * Strangers choose the names that this server looks up.  So the directory holds
 * a bounded number of names (LRU), remembers failures as well as successes, and
 * starts one look-up for a domain at a time. lookup.c limits the documents that
 * are fetched for strangers (LOOKUP_FETCHES, LOOKUP_FETCHES_MINUTE).
 *
 * Thread: any, in all of these but new and free.  Never blocks.
 */
#ifndef FEDERATION_DIRECTORY_H
#define FEDERATION_DIRECTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clk.h"
#include "base/err.h"
#include "base/timing.h"
#include "federation/document.h"
#include "net/domain.h"
#include "store/peer.h"

struct directory;

/* Which servers may be in contact (--federation, --federation-allow, -deny). */
enum directory_mode { DIRECTORY_OFF, DIRECTORY_LIST, DIRECTORY_OPEN };

struct directory_policy {
	enum directory_mode mode;
	char domain[LIMIT_DOMAIN_LEN +
		    1];                 /* this server, which is never a peer */
	struct domain_list allow, deny; /* deny has precedence */
	int npeers;
	struct domain_peer *peers; /* --federation-peer; borrowed */
};

/* Returns true if ${domain} may be in contact: it is valid, not this server's,
 * and not denied; in the mode DIRECTORY_LIST it must also be listed or pinned.
 * Always false in the mode DIRECTORY_OFF. */
bool directory_policy_allows(
    const struct directory_policy *policy, const char *domain);

/* The answer to a query for a key. */
enum directory_answer {
	DIRECTORY_KNOWN,
	/* Not known now; a look-up may have been started. */
	DIRECTORY_UNKNOWN,
	DIRECTORY_REFUSED /* by the policy, or blocked by an operator */
};

struct directory_signer {
	int64_t destination_id;
	/* An operator has pinned the key, or the URL of the server
	 * (--federation-peer). */
	bool pinned;
	uint8_t public[SIGN_PUBLIC_SIZE];
};

/* Finds key ${key_id} of ${domain}, and starts a look-up if the key or the
 * server is not known or what is known is old.  A stranger may have invented
 * both.  ${ret} is set with DIRECTORY_KNOWN. */
enum directory_answer directory_signer(struct directory *d, const char *domain,
    const char *key_id, struct directory_signer *ret);

/* ---- sending ---- */

/* Where the messages for a peer are sent, and how many at a time. */
struct directory_contact {
	char deliver[DOCUMENT_DELIVER_SIZE];
	char authority[DOCUMENT_AUTHORITY_SIZE];
	size_t items, bytes; /* limits of a request */
	int requests;        /* limit of requests under way */
	char epoch[ENVELOPE_EPOCH_LEN + 1];
};

enum directory_way {
	DIRECTORY_OPEN_WAY,  /* ${ret} is the contact */
	DIRECTORY_NO_WAY,    /* its document must be fetched first */
	DIRECTORY_CLOSED_WAY /* by the policy, or blocked by an operator */
};

/* Finds where messages for ${domain} are sent.  ${ret} is set with
 * DIRECTORY_OPEN_WAY.  Fetches no document. */
enum directory_way directory_contact(
    struct directory *d, const char *domain, struct directory_contact *ret);

/* Returns true if ${epoch}, in the answer to a request that was sent to the
 * contact ${then}, is of a time before ${domain} was restored from a backup:
 * its document has shown another epoch since the request was sent. */
bool directory_epoch_past(struct directory *d, const char *domain,
    const struct directory_contact *then, const char *epoch);

/* Returns true if messages to users of ${domain} may be accepted: the policy
 * allows it, and it is not known to be blocked. */
bool directory_reaches(struct directory *d, const char *domain);

/* Returns the URL that an operator has pinned for ${domain} (borrowed from the
 * policy); NULL: none. */
const struct domain_peer *directory_pinned(
    const struct directory *d, const char *domain);

/* ---- what is learnt ---- */

/* Stores the row ${known}, which the database was asked for at monotonic
 * ${asked_ms}.  A row that is older than the one in memory is ignored.  Ends a
 * look-up. */
void directory_stored(struct directory *d, const struct store_peer_known *known,
    int64_t asked_ms);

/* As directory_stored(), with the document ${doc}, which is fresh for
 * ${lifetime_s} seconds. */
void directory_learned(struct directory *d,
    const struct store_peer_known *known, int64_t asked_ms,
    const struct document *doc, int64_t lifetime_s);

/* The row of ${domain} was changed elsewhere.  Starts a look-up even if it is
 * not in memory, so that a block is known soon, and not only after the next
 * use.  Does nothing if the policy refuses the domain. */
void directory_changed(struct directory *d, const char *domain);

/* The database does not have ${domain}, or no longer: removes it from
 * memory. */
void directory_unknown(struct directory *d, const char *domain);

/* The look-up of ${domain} has ended without a result: there was no room, or
 * the database is away.  The next request for it starts another one. */
void directory_later(struct directory *d, const char *domain);

/* The document of ${domain} could not be fetched or is not valid: for
 * directory_failed_ms (10 minutes) strangers cannot start another try.  An
 * older document is still used for sending, for up to DOCUMENT_LIFETIME_MAX_S
 * after it was read. */
void directory_failed(struct directory *d, const char *domain);

/* An answer shows that the document has changed: it is fetched before anything
 * else is sent. */
void directory_stale(struct directory *d, const char *domain);

/* ---- look-ups ---- */

/* The goal of a look-up. */
enum directory_want {
	DIRECTORY_WANT_STORED,  /* the row of the database only */
	DIRECTORY_WANT_PEER,    /* the row; the document if there is no row */
	DIRECTORY_WANT_DOCUMENT /* the row and the document */
};

struct directory_options {
	const struct directory_policy *policy; /* borrowed */
	const struct clk *clk;
	const struct timing *timing; /* borrowed; NULL: timing_real() */

	/* Starts a look-up, which ends with a later call of one of the
	 * functions above, never during this call.  Returns false if there is
	 * no room for it.  Thread: any.  Never blocks. */
	bool (*want)(void *arg, const char *domain, enum directory_want what);
	void *arg;
};

/* Creates an empty directory. */
enum rc directory_new(const struct directory_options *options,
    struct directory **ret, struct err *err) MUST_USE;
/* Frees ${d}, after the thread that does the look-ups has ended.  NULL is
 * allowed. */
void directory_free(struct directory *d);

#endif
