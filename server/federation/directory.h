/* SPDX-License-Identifier: MIT */
/*
 * Other servers as this process knows them: whose keys verify, where their
 * messages go, and which of them may be in contact at all.
 *
 * Strangers decide which names are asked for here.  So the directory holds a
 * bounded number of them (the least recently used one goes), remembers failures
 * as well as successes, and limits how many documents are fetched: one at a
 * time for each domain, DIRECTORY_FETCHES at once, DIRECTORY_FETCHES_MINUTE a
 * minute.
 *
 * Thread: any, in all of these but new and free.  Blocks: never.
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

/* Who may be in contact (--federation, --federation-allow, -deny). */
enum directory_mode { DIRECTORY_OFF, DIRECTORY_LIST, DIRECTORY_OPEN };

struct directory_policy {
	enum directory_mode mode;
	char domain[LIMIT_DOMAIN_LEN + 1]; /* of this server: never a peer */
	struct domain_list allow, deny;    /* deny wins */
	int npeers;
	struct domain_peer *peers; /* --federation-peer; kept */
};

/* Whether ${domain} may be in contact: a valid domain, not this server's, not
 * denied; and, where only listed ones may, listed or pinned. */
bool directory_policy_allows(
    const struct directory_policy *policy, const char *domain);

/* A key that a request names. */
enum directory_answer {
	DIRECTORY_KNOWN,
	/* Nothing is known of it now; a look-up has been asked for. */
	DIRECTORY_UNKNOWN,
	DIRECTORY_REFUSED /* by the policy, or an operator has blocked it */
};

struct directory_signer {
	int64_t destination_id;
	/* An operator has pinned its keys, or its address
	 * (--federation-peer). */
	bool pinned;
	uint8_t public[SIGN_PUBLIC_SIZE];
};

/* Finds key ${key_id} of ${domain}, both of which a stranger may have made
 * up. */
enum directory_answer directory_signer(struct directory *d, const char *domain,
    const char *key_id, struct directory_signer *ret);

/* ---- sending ---- */

/* Where the messages for a peer go, and how many at a time. */
struct directory_contact {
	char deliver[DOCUMENT_DELIVER_SIZE];
	char authority[DOCUMENT_AUTHORITY_SIZE];
	size_t items, bytes; /* of a request */
	int requests;        /* at once */
	char epoch[ENVELOPE_EPOCH_LEN + 1];
};

enum directory_way {
	DIRECTORY_OPEN_WAY,  /* ${ret} is the contact */
	DIRECTORY_NO_WAY,    /* its document is to be fetched first */
	DIRECTORY_CLOSED_WAY /* by the policy, or an operator has blocked it */
};

/* Where the messages for ${domain} go. */
enum directory_way directory_contact(
    struct directory *d, const char *domain, struct directory_contact *ret);

/* Whether ${epoch}, which answers a request that left with the contact ${then},
 * is of a time before ${domain} was restored from a backup: since the request
 * left, its document has shown another epoch. */
bool directory_epoch_past(struct directory *d, const char *domain,
    const struct directory_contact *then, const char *epoch);

/* Whether messages to people of ${domain} may be accepted: the policy allows it
 * and nobody is known to have blocked it. */
bool directory_reaches(struct directory *d, const char *domain);

/* The URL that an operator has pinned for ${domain}; NULL: none. */
const struct domain_peer *directory_pinned(
    const struct directory *d, const char *domain);

/* ---- what is learnt ---- */

/* What the database says of ${known}, asked at monotonic ${asked_ms}: also what
 * another node or an operator has changed.  An answer that was asked for before
 * what is known was is no news. */
void directory_stored(struct directory *d, const struct store_peer_known *known,
    int64_t asked_ms);

/* The same, and its document was read: ${doc}, kept for ${lifetime_s}. */
void directory_learned(struct directory *d,
    const struct store_peer_known *known, int64_t asked_ms,
    const struct document *doc, int64_t lifetime_s);

/* The row of ${domain} has been changed elsewhere: it is read again, also if it
 * was not in memory, so that a block is known before the next message. */
void directory_changed(struct directory *d, const char *domain);

/* The database does not know ${domain} (any more). */
void directory_unknown(struct directory *d, const char *domain);

/* The look-up of ${domain} has ended without a result: there was no room for
 * it, or the database is away.  The next who asks causes another. */
void directory_later(struct directory *d, const char *domain);

/* The document of ${domain} could not be read: strangers cannot cause another
 * try for ten minutes.  An older document goes on to hold for sending, for as
 * long as any may. */
void directory_failed(struct directory *d, const char *domain);

/* An answer shows that the document has changed: the next way begins with
 * fetching it. */
void directory_stale(struct directory *d, const char *domain);

/* ---- look-ups ---- */

/* What is to be looked up about a domain. */
enum directory_want {
	DIRECTORY_WANT_STORED,  /* the row of the database, no more */
	DIRECTORY_WANT_PEER,    /* that; the document if there is none */
	DIRECTORY_WANT_DOCUMENT /* both */
};

struct directory_options {
	const struct directory_policy *policy; /* kept */
	const struct clk *clk;
	const struct timing *timing; /* kept; NULL: timing_real() */

	/* Asks for a look-up; it ends with one of the functions above.  False:
	 * there is no room for it now.  Thread: any.  Never blocks. */
	bool (*want)(void *arg, const char *domain, enum directory_want what);
	void *arg;
};

/* Makes an empty one. */
enum rc directory_new(const struct directory_options *options,
    struct directory **ret, struct err *err) MUST_USE;
/* Frees it after the thread that looks up has ended.  NULL is allowed. */
void directory_free(struct directory *d);

#endif
