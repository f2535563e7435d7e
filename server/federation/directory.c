/* SPDX-License-Identifier: MIT */
/*
 * See directory.h.
 *
 * There are two LRU lists: peers, whose database rows are in memory, and names:
 * domains that are not known (yet) to be in the database.  A name that is added
 * evicts at most another name, so a stranger who invents names cannot evict a
 * peer.
 */
#include <stdio.h>
#include <string.h>
#include <sys/queue.h>

#include "base/htab.h"
#include "base/lock.h"
#include "base/mem.h"
#include "federation/directory.h"

/* Limits of peers and of names in memory; about 3 KB each. */
#define PEERS_MAX 2048
#define NAMES_MAX 1024
/* When this time in ms has passed since the end of the lifetime of a peer's
 * document, the keys of the peer count as outdated (is_old()).  The next
 * request that claims to be signed with one of these keys then starts a fetch
 * of the document, in case the keys have changed.  Until a fetch succeeds, the
 * known keys still verify.  Sending is stricter: from the end of the lifetime
 * it does not use the document, and fetches it first. */
#define KEYS_TRUSTED_MS INT64_C(3600000)

struct entry {
	TAILQ_ENTRY(entry) link; /* in peers or names */
	uint64_t hash;           /* of the domain; the key of by_domain */
	char domain[LIMIT_DOMAIN_LEN + 1];
	bool stored; /* the database has it, as ${known} */
	struct store_peer_known known;
	int64_t stored_ms; /* monotonic: when the database was read */

	bool has_contact;
	struct directory_contact contact;
	int64_t fresh_until_ms; /* monotonic: end of the document's lifetime */
	/* Monotonic: until then, a failed fetch of the document extends
	 * ${fresh_until_ms} by DOCUMENT_LIFETIME_MIN_S. */
	int64_t usable_until_ms;

	bool looking;             /* a look-up is under way */
	bool again;               /* the row has changed: read it (again) */
	int64_t failed_until_ms;  /* monotonic: no look-up for strangers */
	int64_t next_document_ms; /* the same, for an unknown key of a peer */
};

TAILQ_HEAD(entries, entry);

struct directory {
	struct directory_options o;
	struct lock lock;
	struct htab *by_domain; /* by the hash of the domain */
	struct entries peers, names;
	size_t npeers, nnames;
};

/* ---- the policy ---- */

static const struct domain_peer *
pinned(const struct directory_policy *policy, const char *domain)
{

	return (domain_peer_find(policy->peers, policy->npeers, domain));
}

bool
directory_policy_allows(
    const struct directory_policy *policy, const char *domain)
{

	if (policy->mode == DIRECTORY_OFF ||
	    !domain_valid(domain, strlen(domain)) ||
	    strcmp(domain, policy->domain) == 0 ||
	    domain_listed(&policy->deny, domain))
		return (false);
	return (policy->mode == DIRECTORY_OPEN ||
		domain_listed(&policy->allow, domain) ||
		pinned(policy, domain) != NULL);
}

const struct domain_peer *
directory_pinned(const struct directory *d, const char *domain)
{

	return (pinned(d->o.policy, domain));
}

/* ---- entries ---- */

/* Returns the entry of ${domain}, or NULL.  Entries are found by a hash, so the
 * name is compared as well.  Two domains with the same hash cannot both be in
 * memory: find_or_add() replaces the earlier one.  The hash has a secret key,
 * so an attacker cannot search for such a pair. */
static struct entry *
find(struct directory *d, const char *domain)
{
	const uint64_t hash = htab_hash(domain, strlen(domain));
	struct entry *e = htab_find(d->by_domain, &hash);

	return (e != NULL && strcmp(e->domain, domain) == 0 ? e : NULL);
}

static void
unlink_entry(struct directory *d, struct entry *e)
{

	if (e->stored) {
		TAILQ_REMOVE(&d->peers, e, link);
		d->npeers--;
	} else {
		TAILQ_REMOVE(&d->names, e, link);
		d->nnames--;
	}
}

static void
link_entry(struct directory *d, struct entry *e)
{

	if (e->stored) {
		TAILQ_INSERT_TAIL(&d->peers, e, link);
		d->npeers++;
	} else {
		TAILQ_INSERT_TAIL(&d->names, e, link);
		d->nnames++;
	}
}

static void
drop(struct directory *d, struct entry *e)
{

	unlink_entry(d, e);
	(void)htab_remove(d->by_domain, &e->hash);
	mem_free(e);
}

/* Evicts the least recently used entries beyond the limits. */
static void
make_room(struct directory *d)
{

	while (d->npeers > PEERS_MAX)
		drop(d, TAILQ_FIRST(&d->peers));
	while (d->nnames > NAMES_MAX)
		drop(d, TAILQ_FIRST(&d->names));
}

/* Moves ${e} to the end of its LRU list. */
static void
touch(struct directory *d, struct entry *e)
{

	unlink_entry(d, e);
	link_entry(d, e);
}

/* Finds the entry of ${domain}, or adds an empty one to the names, and makes it
 * the most recently used one of its list.  Adding an entry may free another
 * one: the least recently used name, or an entry with the same hash.  Returns
 * NULL if memory is short; then the next request for the domain tries again. */
static struct entry *
find_or_add(struct directory *d, const char *domain)
{
	const uint64_t hash = htab_hash(domain, strlen(domain));
	struct entry *e = htab_find(d->by_domain, &hash);

	if (e != NULL && strcmp(e->domain, domain) == 0) {
		touch(d, e);
		return (e);
	}
	if (e != NULL)
		drop(d, e);
	if ((e = mem_zalloc(1, sizeof(*e))) == NULL)
		return (NULL);
	e->hash = hash;
	(void)snprintf(e->domain, sizeof(e->domain), "%s", domain);
	if (htab_set(d->by_domain, &e->hash, e) != RC_OK) {
		mem_free(e);
		return (NULL);
	}
	link_entry(d, e);
	make_room(d);
	return (e);
}

static int64_t
now_ms(const struct directory *d)
{

	return (clk_mono_ms(d->o.clk));
}

/* ---- asking ---- */

/* Starts a look-up of ${e} by the callback d->o.want, unless one is under way.
 * Sets e->looking if the callback accepts the look-up; it may have no room for
 * one.  The callback must not report the result during the call:
 * directory_stored() and the like take the lock, which the caller of ask()
 * holds. */
static void
ask(struct directory *d, struct entry *e, enum directory_want what)
{

	if (e->looking)
		return;
	e->looking = d->o.want(d->o.arg, e->domain, what);
}

/* The database row of ${e} was changed.  Starts to read it.  If a look-up of
 * ${e} is already under way, sets e->again, and the row is read when that
 * look-up has ended.  If no look-up can be started, also sets e->again, and the
 * next refresh() of ${e} tries again to read the row. */
static void
reread(struct directory *d, struct entry *e)
{
	const bool was_looking = e->looking;

	ask(d, e, DIRECTORY_WANT_STORED);
	e->again = was_looking || !e->looking;
}

/* The look-up of ${e} has ended. */
static void
looked(struct directory *d, struct entry *e)
{

	e->looking = false;
	if (e->again)
		reread(d, e);
}

/* Starts to read the database row of ${e} again if it was read at least
 * directory_reload_ms ago or is known to have changed.  An operator or another
 * node may have changed the row. */
static void
refresh(struct directory *d, struct entry *e)
{

	if (e->again)
		reread(d, e);
	else if (now_ms(d) - e->stored_ms >= d->o.timing->directory_reload_ms)
		ask(d, e, DIRECTORY_WANT_STORED);
}

static bool
key_of(const struct directory *d, const struct entry *e, const char *key_id,
    struct directory_signer *ret)
{
	size_t i;

	for (i = 0; i < e->known.nkeys; i++) {
		if (strcmp(e->known.keys[i].key_id, key_id) != 0)
			continue;
		ret->destination_id = e->known.destination_id;
		ret->pinned = e->known.keys[i].pinned_by[0] != '\0' ||
			      pinned(d->o.policy, e->domain) != NULL;
		memcpy(
		    ret->public, e->known.keys[i].public, sizeof(ret->public));
		return (true);
	}
	return (false);
}

/* Starts a look-up of ${e}, a domain that is not known to be in the database:
 * its row is read and, if there is none, its document is fetched.  Does nothing
 * while a look-up of ${e} is under way, and for directory_failed_ms after a
 * fetch of the document has failed (directory_failed()). */
static void
ask_unknown(struct directory *d, struct entry *e)
{

	if (now_ms(d) >= e->failed_until_ms)
		ask(d, e, DIRECTORY_WANT_PEER);
}

/* Starts a fetch of the document of ${e}, a known peer.  Either a request names
 * a key of the peer that is not known here, or is_old() has found that the
 * known keys may be outdated.  Does nothing while a look-up of ${e} is under
 * way, for directory_again_ms after this function has last started one, and for
 * directory_failed_ms after a fetch of the document has failed.
 * directory_later() ends the time directory_again_ms early. */
static void
ask_document(struct directory *d, struct entry *e)
{
	const int64_t now = now_ms(d);

	if (e->looking || now < e->next_document_ms || now < e->failed_until_ms)
		return;
	ask(d, e, DIRECTORY_WANT_DOCUMENT);
	if (e->looking)
		e->next_document_ms = now + d->o.timing->directory_again_ms;
}

/* Returns true if the keys of ${e} may be outdated: this process has read no
 * document of the peer since it added ${e}, the lifetime of the document ended
 * at least KEYS_TRUSTED_MS ago, or directory_stale() has marked the document.
 * Keys that an operator has pinned are never outdated, because the document
 * does not change them. */
static bool
is_old(const struct directory *d, const struct entry *e)
{

	if (e->known.nkeys > 0 && e->known.keys[0].pinned_by[0] != '\0')
		return (false);
	return (!e->has_contact ||
		now_ms(d) >= e->fresh_until_ms + KEYS_TRUSTED_MS);
}

enum directory_answer
directory_signer(struct directory *d, const char *domain, const char *key_id,
    struct directory_signer *ret)
{
	enum directory_answer answer = DIRECTORY_UNKNOWN;
	struct entry *e;

	if (!directory_policy_allows(d->o.policy, domain))
		return (DIRECTORY_REFUSED);
	lock_take(&d->lock);
	e = find_or_add(d, domain);
	if (e == NULL) {
		lock_drop(&d->lock);
		return (DIRECTORY_UNKNOWN);
	}
	if (!e->stored) {
		ask_unknown(d, e);
	} else if (e->known.blocked) {
		answer = DIRECTORY_REFUSED;
		refresh(d, e);
	} else if (key_of(d, e, key_id, ret)) {
		answer = DIRECTORY_KNOWN;
		refresh(d, e);
		if (is_old(d, e))
			ask_document(d, e);
	} else {
		ask_document(d, e);
	}
	lock_drop(&d->lock);
	return (answer);
}

enum directory_way
directory_contact(
    struct directory *d, const char *domain, struct directory_contact *ret)
{
	enum directory_way way = DIRECTORY_NO_WAY;
	struct entry *e;

	if (!directory_policy_allows(d->o.policy, domain))
		return (DIRECTORY_CLOSED_WAY);
	lock_take(&d->lock);
	e = find(d, domain);
	if (e != NULL && e->stored) {
		touch(d, e);
		refresh(d, e);
		if (e->known.blocked) {
			way = DIRECTORY_CLOSED_WAY;
		} else if (e->has_contact && now_ms(d) < e->fresh_until_ms) {
			*ret = e->contact;
			way = DIRECTORY_OPEN_WAY;
		}
	}
	lock_drop(&d->lock);
	return (way);
}

bool
directory_reaches(struct directory *d, const char *domain)
{
	struct entry *e;
	bool blocked = false;

	if (!directory_policy_allows(d->o.policy, domain))
		return (false);
	lock_take(&d->lock);
	e = find(d, domain);
	if (e != NULL && e->stored) {
		blocked = e->known.blocked;
		refresh(d, e);
	}
	lock_drop(&d->lock);
	return (!blocked);
}

/* ---- what is learnt ---- */

/* Stores in the entry of ${known} what the database says.  NULL: no memory. */
static struct entry *
store(
    struct directory *d, const struct store_peer_known *known, int64_t asked_ms)
{
	struct entry *e = find_or_add(d, known->domain);

	if (e == NULL)
		return (NULL);
	looked(d, e);
	if (e->stored && asked_ms < e->stored_ms)
		return (e);
	unlink_entry(d, e);
	e->stored = true;
	link_entry(d, e);
	make_room(d);
	e->known = *known;
	e->stored_ms = asked_ms;
	return (e);
}

void
directory_stored(
    struct directory *d, const struct store_peer_known *known, int64_t asked_ms)
{

	lock_take(&d->lock);
	(void)store(d, known, asked_ms);
	lock_drop(&d->lock);
}

void
directory_learned(struct directory *d, const struct store_peer_known *known,
    int64_t asked_ms, const struct document *doc, int64_t lifetime_s)
{
	struct directory_contact *c;
	struct entry *e;

	lock_take(&d->lock);
	if ((e = store(d, known, asked_ms)) != NULL) {
		c = &e->contact;
		memcpy(c->deliver, doc->deliver, sizeof(c->deliver));
		memcpy(c->authority, doc->authority, sizeof(c->authority));
		memcpy(c->epoch, doc->epoch, sizeof(c->epoch));
		c->items = (size_t)doc->items;
		c->bytes = (size_t)doc->bytes;
		c->requests = (int)doc->requests;
		e->has_contact = true;
		e->failed_until_ms = 0;
		e->fresh_until_ms = now_ms(d) + lifetime_s * 1000;
		e->usable_until_ms =
		    now_ms(d) + (int64_t)DOCUMENT_LIFETIME_MAX_S * 1000;
	}
	lock_drop(&d->lock);
}

void
directory_changed(struct directory *d, const char *domain)
{
	struct entry *e;

	if (!directory_policy_allows(d->o.policy, domain))
		return;
	lock_take(&d->lock);
	e = find_or_add(d, domain);
	if (e != NULL)
		reread(d, e);
	lock_drop(&d->lock);
}

void
directory_unknown(struct directory *d, const char *domain)
{
	struct entry *e;

	lock_take(&d->lock);
	if ((e = find(d, domain)) != NULL)
		drop(d, e);
	lock_drop(&d->lock);
}

void
directory_later(struct directory *d, const char *domain)
{
	struct entry *e;

	lock_take(&d->lock);
	if ((e = find(d, domain)) != NULL) {
		e->next_document_ms = 0;
		looked(d, e);
	}
	lock_drop(&d->lock);
}

void
directory_failed(struct directory *d, const char *domain)
{
	struct entry *e;
	int64_t now, again;

	lock_take(&d->lock);
	if ((e = find_or_add(d, domain)) != NULL) {
		now = now_ms(d);
		again = now + (int64_t)DOCUMENT_LIFETIME_MIN_S * 1000;
		e->failed_until_ms = now + d->o.timing->directory_failed_ms;
		/* A document with a longer rest of its lifetime keeps it. */
		if (e->has_contact && now < e->usable_until_ms &&
		    e->fresh_until_ms < again)
			e->fresh_until_ms = again;
		looked(d, e);
	}
	lock_drop(&d->lock);
}

bool
directory_epoch_past(struct directory *d, const char *domain,
    const struct directory_contact *then, const char *epoch)
{
	const struct entry *e;
	const char *now;
	bool past = false;

	lock_take(&d->lock);
	if ((e = find(d, domain)) != NULL && e->has_contact) {
		now = e->contact.epoch;
		past = now[0] != '\0' && then->epoch[0] != '\0' &&
		       strcmp(now, then->epoch) != 0 && strcmp(now, epoch) != 0;
	}
	lock_drop(&d->lock);
	return (past);
}

void
directory_stale(struct directory *d, const char *domain)
{
	struct entry *e;

	lock_take(&d->lock);
	if ((e = find(d, domain)) != NULL) {
		/* With fresh_until_ms = 0, is_old() would trust the keys in the
		 * first hour after a boot if the clock begins at 0 then. */
		e->fresh_until_ms = -KEYS_TRUSTED_MS;
		e->usable_until_ms = 0;
	}
	lock_drop(&d->lock);
}

/* ---- life ---- */

enum rc
directory_new(const struct directory_options *options, struct directory **ret,
    struct err *err)
{
	struct directory *d;

	if ((d = mem_zalloc(1, sizeof(*d))) == NULL)
		return (err_set(err, RC_NO_MEMORY, "directory"));
	d->o = *options;
	d->o.timing = timing_or_real(options->timing);
	lock_init(&d->lock, LOCK_DIRECTORY);
	TAILQ_INIT(&d->peers);
	TAILQ_INIT(&d->names);
	if ((d->by_domain = htab_new(sizeof(uint64_t))) == NULL) {
		directory_free(d);
		return (err_set(err, RC_NO_MEMORY, "directory"));
	}
	*ret = d;
	return (RC_OK);
}

void
directory_free(struct directory *d)
{
	struct entry *e;

	if (d == NULL)
		return;
	while ((e = TAILQ_FIRST(&d->peers)) != NULL)
		drop(d, e);
	while ((e = TAILQ_FIRST(&d->names)) != NULL)
		drop(d, e);
	htab_free(d->by_domain);
	lock_fini(&d->lock);
	mem_free(d);
}
