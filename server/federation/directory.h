/* SPDX-License-Identifier: MIT */
/*
 * The directory: other servers as this process knows them.  It has the keys
 * that verify their signatures and the URLs to which messages for them are
 * sent, and it decides which servers this server exchanges messages with at
 * all.
 *
 * Strangers choose the names that this server looks up.  So the directory holds
 * a bounded number of names (the least recently used are dropped), remembers
 * failures as well as successes, and starts one look-up for a domain at a time.
 * lookup.c limits the documents that are fetched for strangers (LOOKUP_FETCHES,
 * LOOKUP_FETCHES_MINUTE).
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

/* Returns true if this server may exchange messages with ${domain}.  The name
 * must be valid, must not be this server's own, and must not be in
 * ${policy->deny}.  In the mode DIRECTORY_LIST it must also be in
 * ${policy->allow} or ${policy->peers}.  In the mode DIRECTORY_OFF the result
 * is always false. */
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

/* Finds the key ${key_id} of ${domain}, with which a request claims to be
 * signed; a stranger may have invented both names.  Starts a look-up if the
 * server or the key is not known, if the database row of the server was read at
 * least directory_reload_ms ago, or if the document of the server may be
 * outdated.  For a server that an operator has blocked, only the row is read
 * again; if the policy refuses ${domain}, or the limits for look-ups forbid
 * one, no look-up is started.  Only later calls see the result of the look-up.
 * Sets ${ret} only if it returns DIRECTORY_KNOWN. */
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

/* Finds where messages for ${domain} are sent.  Sets ${ret} only if it returns
 * DIRECTORY_OPEN_WAY.  May start to read the database row of ${domain} again,
 * but fetches no document: after DIRECTORY_NO_WAY (there is no document here,
 * or its lifetime has ended) the caller starts the look-up that fetches it. */
enum directory_way directory_contact(
    struct directory *d, const char *domain, struct directory_contact *ret);

/* The epoch of a server changes when the server is restored from a backup.
 * ${then} was the contact of ${domain} when a request was sent, and ${epoch} is
 * the epoch in the answer.  Returns true if the answer comes from before such a
 * restore: this server has meanwhile read a document of ${domain} whose epoch
 * is neither that of ${then} nor ${epoch}.  Returns false if that document or
 * ${then} has no epoch. */
bool directory_epoch_past(struct directory *d, const char *domain,
    const struct directory_contact *then, const char *epoch);

/* Returns true if this server may accept messages of its own users to users of
 * ${domain}: the policy allows the domain, and no database row in memory says
 * that an operator has blocked the domain.  May start to read the row of
 * ${domain} again; only later calls see the result. */
bool directory_reaches(struct directory *d, const char *domain);

/* Returns the entry of ${domain} in the policy if an operator has pinned its
 * URL there (--federation-peer); NULL: no URL is pinned.  Borrowed from the
 * policy. */
const struct domain_peer *directory_pinned(
    const struct directory *d, const char *domain);

/* ---- what is learnt ---- */

/* Stores a copy of the database row ${known} of a domain in memory.  A look-up
 * of the domain no longer counts as under way (one that still runs is not
 * stopped), so another may start; one starts now if directory_changed() was
 * called meanwhile.  ${asked_ms} is the monotonic time at which the database
 * was asked for the row.  If the row in memory was asked for later, that row
 * stays.  Does nothing if the domain is new and memory is short. */
void directory_stored(struct directory *d, const struct store_peer_known *known,
    int64_t asked_ms);

/* As directory_stored(), with the document ${doc}, which is fresh for
 * ${lifetime_s} seconds. */
void directory_learned(struct directory *d,
    const struct store_peer_known *known, int64_t asked_ms,
    const struct document *doc, int64_t lifetime_s);

/* Another node has changed the database row of ${domain}.  Adds the domain to
 * memory if it is not there, and starts to read its row, so that this node
 * learns of a block even if it does not use the domain.  If a look-up of the
 * domain is under way, reads the row after that.  Does nothing if the policy
 * refuses the domain. */
void directory_changed(struct directory *d, const char *domain);

/* The database does not have ${domain}, or no longer: removes it from
 * memory. */
void directory_unknown(struct directory *d, const char *domain);

/* The look-up of ${domain} has ended without a result, for a reason on this
 * side, such as a full queue, a limit, a lack of memory or a database that is
 * away.  This is not counted as a failure of the domain: the next request that
 * needs a look-up of it may start one. */
void directory_later(struct directory *d, const char *domain);

/* The document of ${domain} could not be fetched or is not valid.  For
 * directory_failed_ms (10 minutes), no incoming request starts another fetch,
 * but sending a parcel may.  If an older document was read less than
 * DOCUMENT_LIFETIME_MAX_S ago and directory_stale() was not called since,
 * messages are sent to the URL in the older document for at least
 * DOCUMENT_LIFETIME_MIN_S more. */
void directory_failed(struct directory *d, const char *domain);

/* An answer of ${domain} suggests that its document has changed.  Ends the
 * lifetime of the document in memory: the next parcel to ${domain} waits until
 * the document was fetched again, and the next request of ${domain} may start
 * the fetch.  A parcel that is being sent continues with the URL and the limits
 * that it has. */
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

	/* Starts a look-up.  Its result comes later, never during this call, by
	 * directory_learned(), directory_unknown(), directory_later(),
	 * directory_failed() or directory_stored().  After directory_stored()
	 * another of these calls may follow for the same look-up.  Returns
	 * false if no look-up can be started: there is no room, memory is
	 * short, or the server stops.  Thread: any.  Never blocks. */
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
