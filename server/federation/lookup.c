/* SPDX-License-Identifier: MIT */
/*
 * Looks up a peer: reads its database row, fetches its document if the look-up
 * wants it, and writes the keys and the epoch of the document to the database
 * (the epoch changes when the peer is restored from a backup).  Passes what it
 * has read to the directory, the peers in memory.
 *
 *	NEW --> READING --> (the end, if the row is all that is wanted, or
 *	                    the peer is blocked)
 *	        READING --> QUEUED --> FETCHING --> STORING --> the end
 *
 * In each phase a failure ends the look-up.  At most one look-up for a domain
 * runs at a time.  Parcels (messages and receipts to be sent to the peer) wait
 * for the end of the look-up.  A request of the peer does not wait: if its key
 * is not known, it is answered "key-unknown", and the peer repeats it.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/container.h"
#include "base/mem.h"
#include "federation/outbound_internal.h"
#include "log/log.h"

#define URL_SIZE (LIMIT_DOMAIN_LEN + 64)

static void begin(struct lookup *l);

static struct lookup *
find(struct outbound *o, const char *domain)
{
	struct lookup *l;

	TAILQ_FOREACH (l, &o->lookups, entry)
		if (strcmp(l->domain, domain) == 0)
			return (l);
	return (NULL);
}

/* Frees a stranger's look-up that has not begun. */
static void
drop(struct lookup *l)
{

	(void)atomic_fetch_sub(&l->outbound->nstrangers, 1);
	mem_free(l);
}

/* ---- the end ---- */

/* Ends and frees ${l}, and passes each parcel that waits for ${l} to
 * carry_go_on(): the parcel is sent if the directory has a fresh document of
 * the peer now and the peer is not blocked, and fails otherwise.  The reason is
 * then ${why} (NULL, if the look-up itself has not failed: "no document"),
 * unless the peer is blocked.  But if ${ours} is true or the server stops, all
 * these parcels fail by carry_fail_here(), so that the circuit breaker of the
 * peer does not count the failures.  At the end begins the look-up l->after, if
 * there is one; if the server stops, or another look-up of the domain has been
 * started meanwhile, frees l->after instead. */
static void
let_go(struct lookup *l, const char *why, bool ours)
{
	struct outbound *o = l->outbound;
	struct lookup *after = l->after;
	struct carry *c;

	TAILQ_REMOVE(&o->lookups, l, entry);
	o->nlookups--;
	if (l->stranger)
		(void)atomic_fetch_sub(&o->nstrangers, 1);
	while ((c = TAILQ_FIRST(&l->waiting)) != NULL) {
		TAILQ_REMOVE(&l->waiting, c, entry);
		if (ours || atomic_load(&o->stopping))
			carry_fail_here(
			    c, why != NULL ? why : "we are stopping");
		else
			carry_go_on(c, why);
	}
	transfer_fini(&l->transfer, o->multi);
	mem_free(l);
	if (after == NULL)
		return;
	/* If another look-up of this domain has been started in the meantime,
	 * it also reads the row.  Then ${after} is not needed and is freed. */
	if (atomic_load(&o->stopping) || find(o, after->domain) != NULL)
		drop(after);
	else
		begin(after);
}

static void
end(struct lookup *l)
{

	let_go(l, NULL, false);
}

/* Ends ${l} because this server cannot do the look-up now: it is short of
 * memory, overloaded, stopping or without its database, or the transaction
 * refused to store the document.  The parcels that wait for ${l} fail by
 * carry_fail_here(), so that the circuit breaker of the peer does not count the
 * failures.  The next request of the peer, or parcel for the peer, may start
 * another look-up. */
static void
put_off(struct lookup *l, const char *why)
{

	directory_later(l->outbound->directory, l->domain);
	let_go(l, why, true);
}

/* Ends ${l}: the document cannot be had, for the reason l->err. */
static void
fail(struct lookup *l)
{
	char why[PARCEL_ERROR_SIZE];

	(void)snprintf(
	    why, sizeof(why), "its document: %.*s", 200, l->err.text);
	log_event(LOG_EV_PEER_FAIL, "domain=%s why=%s", l->domain, l->err.text);
	directory_failed(l->outbound->directory, l->domain);
	let_go(l, why, false);
}

/* ---- storing ---- */

static void
stored(struct outbound *o, struct outbound_job *job)
{
	struct lookup *l = CONTAINER_OF(job, struct lookup, job);
	const struct peer_unit *u = &l->unit;

	if (u->unit.rc != RC_OK || u->refusal.problem != PROBLEM_NONE) {
		put_off(l, u->unit.rc != RC_OK ? rc_text(u->unit.rc)
					       : u->refusal.detail);
		return;
	}
	log_event(LOG_EV_PEER_LEARN, "domain=%s keys=%zu new=%s", l->domain,
	    l->document.nkeys, u->is_new ? "yes" : "no");
	if (u->keys_changed)
		log_event(LOG_EV_PEER_KEYS, "domain=%s", l->domain);
	if (u->epoch_changed)
		log_event(LOG_EV_PEER_EPOCH, "domain=%s epoch=%s", l->domain,
		    l->document.epoch);
	directory_learned(
	    o->directory, &u->known, l->asked_ms, &l->document, l->lifetime_s);
	end(l);
}

/* Thread: sync or writer. */
static void
unit_finished(struct unit *base)
{
	struct peer_unit *u = CONTAINER_OF(base, struct peer_unit, unit);
	struct lookup *l = u->arg;

	l->job.run = stored;
	/* outbound_post() cannot fail: the outbound thread ends, and closes its
	 * mailbox, only when neither a reader nor the writer has a look-up. */
	if (outbound_post(l->outbound, &l->job) != RC_OK)
		assert(!"the outbound thread has ended before its look-ups");
}

static void
store(struct lookup *l)
{
	struct peer_unit *u = &l->unit;
	struct store_peer_key *key;
	enum rc rc;
	size_t i;

	_Static_assert(STORE_PEER_KEYS >= DOCUMENT_KEYS, "room for all");
	peer_unit_init(u, PEER_LEARN, l->domain, "");
	for (i = 0; i < l->document.nkeys; i++) {
		key = &u->keys[i];
		(void)snprintf(key->key_id, sizeof(key->key_id), "%s",
		    l->document.keys[i].id);
		memcpy(key->public, l->document.keys[i].public,
		    sizeof(key->public));
	}
	u->nkeys = l->document.nkeys;
	(void)snprintf(u->epoch, sizeof(u->epoch), "%s", l->document.epoch);
	u->unit.finish = unit_finished;
	u->arg = l;
	l->phase = LOOKUP_STORING;
	l->asked_ms = clk_mono_ms(l->outbound->o.clk);
	rc = writer_submit(l->outbound->o.writer, &u->unit);
	if (rc == RC_OK)
		return;
	put_off(l, rc_text(rc));
}

/* ---- fetching ---- */

static enum rc
read_document(struct lookup *l)
{
	const struct domain_peer *peer =
	    directory_pinned(l->outbound->directory, l->domain);
	const struct transfer *t = &l->transfer;
	char pinned[DOMAIN_AUTHORITY_SIZE + sizeof("https://")];
	char value[TRANSFER_HEADER_SIZE];

	if (t->no_memory)
		return (err_set(&l->err, RC_NO_MEMORY, "out of memory"));
	if (t->transport != CLASSIFY_ANSWERED)
		return (err_set(&l->err, RC_PEER, "%s%s%s",
		    classify_transport_words(t->transport),
		    t->error[0] != '\0' ? ": " : "", t->error));
	if (t->status != 200)
		return (err_set(&l->err, RC_PEER, "HTTP %d", t->status));
	if (peer != NULL)
		(void)snprintf(pinned, sizeof(pinned), "%s://%s",
		    peer->url.https ? "https" : "http", peer->url.authority);
	l->lifetime_s = document_lifetime_s(
	    transfer_answer_header(t, "Cache-Control", value) ? value : NULL);
	return (document_read(t->answer.data, t->answer.len, l->domain,
	    peer != NULL ? pinned : NULL, &l->document, &l->err));
}

static void
fetched(struct transfer *t)
{
	struct lookup *l = CONTAINER_OF(t, struct lookup, transfer);
	enum rc rc;

	l->outbound->fetching -= l->stranger ? 1 : 0;
	rc = read_document(l);
	if (rc == RC_OK)
		store(l);
	else if (rc == RC_NO_MEMORY)
		put_off(l, l->err.text);
	else
		fail(l);
}

static void
fetch(struct lookup *l)
{
	struct outbound *o = l->outbound;
	const struct domain_peer *peer =
	    directory_pinned(o->directory, l->domain);
	struct transfer *t = &l->transfer;
	char url[URL_SIZE];
	enum rc rc;

	(void)snprintf(url, sizeof(url), "%s://%s%s",
	    peer != NULL && !peer->url.https ? "http" : "https",
	    peer != NULL ? peer->url.authority : l->domain, DOCUMENT_PATH);
	t->url = url;
	t->allowed = outbound_allowed(o, l->domain, &t->http);
	t->authorities = o->o.authorities;
	t->timeout_ms = o->o.timing->document_fetch_ms;
	t->limit = DOCUMENT_LEN;
	t->done = fetched;
	l->phase = LOOKUP_FETCHING;
	o->fetching += l->stranger ? 1 : 0;
	rc = transfer_header(t, "Accept", "application/json", &l->err);
	if (rc == RC_OK)
		rc = transfer_begin(t, outbound_multi(o), &l->err);
	t->url = NULL;
	if (rc == RC_OK)
		return;
	o->fetching -= l->stranger ? 1 : 0;
	put_off(l, l->err.text);
}

/* ---- turns ---- */

/* Refills the bucket of fetches for strangers (LOOKUP_FETCHES_MINUTE). */
static void
refill(struct outbound *o)
{
	const int64_t now = clk_mono_ms(o->o.clk);

	o->fetches_left +=
	    (double)(now - o->fetches_at_ms) * LOOKUP_FETCHES_MINUTE / 60000.0;
	if (o->fetches_left > LOOKUP_FETCHES_MINUTE)
		o->fetches_left = LOOKUP_FETCHES_MINUTE;
	o->fetches_at_ms = now;
}

/* Fetches the document at once if a parcel waits, or has waited, for the
 * look-up.  A look-up for which no parcel has waited (a stranger's) is limited.
 * If the bucket of LOOKUP_FETCHES_MINUTE fetches is empty, the look-up ends
 * with put_off(), so that the queue stays short.  Otherwise it takes 1 from the
 * bucket, and fetches now if fewer than LOOKUP_FETCHES fetches for strangers
 * are under way; if not, it stays in the phase LOOKUP_QUEUED until
 * lookup_turn() starts its fetch. */
static void
queue(struct lookup *l)
{
	struct outbound *o = l->outbound;

	l->phase = LOOKUP_QUEUED;
	if (!l->stranger) {
		fetch(l);
		return;
	}
	refill(o);
	if (o->fetches_left < 1) {
		put_off(l, "too many documents are asked for");
		return;
	}
	o->fetches_left--;
	if (o->fetching < LOOKUP_FETCHES)
		fetch(l);
}

static void
give_up_late(struct lookup *l, int64_t now)
{
	struct carry *c, *next;

	for (c = TAILQ_FIRST(&l->waiting); c != NULL; c = next) {
		next = TAILQ_NEXT(c, entry);
		if (now < c->until_ms)
			continue;
		TAILQ_REMOVE(&l->waiting, c, entry);
		carry_fail(c, classify_transport_words(CLASSIFY_TIME_OUT));
	}
}

void
lookup_turn(struct outbound *o)
{
	const int64_t now = clk_mono_ms(o->o.clk);
	struct lookup *l, *next;

	for (l = TAILQ_FIRST(&o->lookups); l != NULL; l = next) {
		next = TAILQ_NEXT(l, entry);
		give_up_late(l, now);
		if (l->phase == LOOKUP_QUEUED && o->fetching < LOOKUP_FETCHES)
			fetch(l);
	}
}

/* ---- reading ---- */

static void
read_done(struct outbound *o, struct outbound_job *job)
{
	struct lookup *l = CONTAINER_OF(job, struct lookup, job);

	if (l->err.rc != RC_OK) {
		/* The database is away: that is not a fault of the peer. */
		put_off(l, l->err.text);
		return;
	}
	if (l->found)
		directory_stored(o->directory, &l->known, l->asked_ms);
	else if (l->what == DIRECTORY_WANT_STORED)
		directory_unknown(o->directory, l->domain);
	if (l->what == DIRECTORY_WANT_STORED ||
	    (l->what == DIRECTORY_WANT_PEER && l->found) ||
	    (l->found && l->known.blocked) || atomic_load(&o->stopping))
		end(l);
	else
		queue(l);
}

/* Thread: reader. */
static void
run_read(struct read_job *job, struct db *db, struct err *err)
{
	struct lookup *l = CONTAINER_OF(job, struct lookup, read);
	enum rc rc;

	if (db == NULL) {
		l->err = *err;
	} else {
		rc = store_peer_known(db, l->domain, &l->known, &l->err);
		l->found = rc == RC_OK;
		if (rc == RC_NOT_FOUND)
			l->err = (struct err)ERR_INIT;
	}
	l->job.run = read_done;
	if (outbound_post(l->outbound, &l->job) != RC_OK)
		assert(!"the outbound thread has ended before its look-ups");
}

static void
read_row(struct lookup *l)
{
	enum rc rc;

	l->phase = LOOKUP_READING;
	l->asked_ms = clk_mono_ms(l->outbound->o.clk);
	l->read.run = run_read;
	rc = readers_submit(l->outbound->o.readers, &l->read);
	if (rc != RC_OK)
		put_off(l, rc_text(rc));
}

/* ---- begin ---- */

static struct lookup *new (
    struct outbound *o, const char *domain, enum directory_want what)
{
	struct lookup *l;

	if ((l = mem_zalloc(1, sizeof(*l))) == NULL)
		return (NULL);
	l->outbound = o;
	(void)snprintf(l->domain, sizeof(l->domain), "%s", domain);
	l->what = what;
	l->err = (struct err)ERR_INIT;
	TAILQ_INIT(&l->waiting);
	return (l);
}

static void
begin(struct lookup *l)
{

	TAILQ_INSERT_TAIL(&l->outbound->lookups, l, entry);
	l->outbound->nlookups++;
	read_row(l);
}

/* Begins a stranger's look-up, which lookup_want() has posted. */
static void
run(struct outbound *o, struct outbound_job *job)
{
	struct lookup *l = CONTAINER_OF(job, struct lookup, job);
	struct lookup *other = find(o, l->domain);

	if (other == NULL && !atomic_load(&o->stopping)) {
		begin(l);
		return;
	}
	/* Another look-up of this domain is under way, and its result will
	 * reach the directory, so ${l} is not needed, with one exception: if
	 * ${l} only reads the row again, the row may have changed after
	 * ${other} has read it.  Then ${l} waits in ${other->after} until
	 * ${other} has ended; if a look-up waits there already, ${l} is freed.
	 */
	if (other != NULL && l->what == DIRECTORY_WANT_STORED &&
	    other->after == NULL && !atomic_load(&o->stopping)) {
		other->after = l;
		return;
	}
	if (other != NULL && other->phase <= LOOKUP_READING &&
	    other->what < l->what)
		other->what = l->what;
	drop(l);
}

bool
lookup_want(void *arg, const char *domain, enum directory_want what)
{
	struct outbound *o = arg;
	struct lookup *l;

	if (atomic_fetch_add(&o->nstrangers, 1) >= LOOKUPS_MAX ||
	    atomic_load(&o->stopping) || (l = new (o, domain, what)) == NULL) {
		(void)atomic_fetch_sub(&o->nstrangers, 1);
		return (false);
	}
	l->stranger = true;
	l->job.run = run;
	if (outbound_post(o, &l->job) == RC_OK)
		return (true);
	(void)atomic_fetch_sub(&o->nstrangers, 1);
	mem_free(l);
	return (false);
}

void
lookup_for(struct outbound *o, struct carry *c)
{
	struct lookup *l = find(o, c->parcel->name);

	if (l == NULL) {
		l = new (o, c->parcel->name, DIRECTORY_WANT_DOCUMENT);
		if (l == NULL) {
			carry_fail_here(c, "out of memory");
			return;
		}
		TAILQ_INSERT_TAIL(&l->waiting, c, entry);
		begin(l);
		return;
	}
	TAILQ_INSERT_TAIL(&l->waiting, c, entry);
	/* A look-up that a parcel waits for is not limited as a stranger's. */
	if (l->stranger) {
		l->stranger = false;
		(void)atomic_fetch_sub(&o->nstrangers, 1);
		o->fetching -= l->phase == LOOKUP_FETCHING ? 1 : 0;
	}
	l->what = DIRECTORY_WANT_DOCUMENT;
	if (l->phase == LOOKUP_QUEUED)
		fetch(l);
}

void
lookup_stop(struct outbound *o)
{
	struct lookup *l, *next;

	for (l = TAILQ_FIRST(&o->lookups); l != NULL; l = next) {
		next = TAILQ_NEXT(l, entry);
		if (l->phase == LOOKUP_QUEUED || l->phase == LOOKUP_FETCHING)
			put_off(l, "we are stopping");
	}
}
