/* SPDX-License-Identifier: MIT */
/*
 * See peers.h.  On a multi-writer database the domain is locked before anything
 * is read, so that two nodes that have fetched a peer's document at the same
 * time change the peer's rows one after the other.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "delivery/peers.h"
#include "store/audit.h"
#include "store/destination.h"
#include "txn/lockset.h"
#include "txn/verb.h"

/* The longest detail of an audit entry. */
#define DETAIL_SIZE 1025
/* Number of bytes of a public key in an audit entry, enough to distinguish
 * keys. */
#define SHOWN_BYTES 4

static enum rc
audit(struct tx *tx, const struct peer_unit *u, const char *action,
    const char *detail, struct err *err)
{
	/* Without an operator the actor is the peer itself. */
	const struct store_audit a = {
	    u->by[0] != '\0' ? u->by : u->domain, action, u->domain, detail};

	return (store_audit_insert(tx->db, &a, tx->now_ms, err));
}

/* Appends ${text} to the ${size} bytes at ${detail}, as far as it fits. */
static void
append(char *detail, size_t size, const char *text)
{
	size_t n = strlen(detail);

	(void)snprintf(detail + n, size - n, "%s", text);
}

/* Appends the id of ${key} and the beginning of the key. */
static void
append_key(char *detail, size_t size, const struct store_peer_key *key)
{
	char hex[2 * SHOWN_BYTES + 1];
	size_t i;

	for (i = 0; i < SHOWN_BYTES; i++)
		(void)snprintf(hex + 2 * i, 3, "%02x", key->public[i]);
	append(detail, size, key->key_id);
	append(detail, size, " (");
	append(detail, size, hex);
	append(detail, size, ")");
}

static void
append_keys(char *detail, size_t size, const struct store_peer_known *known)
{
	size_t i;

	for (i = 0; i < known->nkeys; i++) {
		if (i > 0)
			append(detail, size, ", ");
		append_key(detail, size, &known->keys[i]);
	}
}

/* ---- the peer ---- */

/* Finds the peer of ${u}, and adds a missing one. */
static enum rc
find_or_make(struct tx *tx, const struct peer_unit *u,
    struct store_peer_row *ret, struct err *err)
{
	struct store_destination_row d;
	enum rc rc;

	rc = store_peer_get(tx->db, u->domain, ret, err);
	if (rc != RC_NOT_FOUND)
		return (rc);
	rc = store_destination_by_name(tx->db, u->domain, &d, err);
	if (rc == RC_NOT_FOUND)
		rc = store_destination_insert(tx->db, u->domain, false,
		    tx->now_ms, &d.destination_id, err);
	if (rc == RC_OK)
		rc = store_peer_insert(tx->db, d.destination_id, err);
	if (rc == RC_OK)
		rc = store_peer_get(tx->db, u->domain, ret, err);
	return (rc == RC_NOT_FOUND
		    ? err_set(err, RC_INTERNAL, "a peer that was made")
		    : rc);
}

/* Finds the peer of ${u}, or sets a refusal. */
static enum rc
find(struct tx *tx, struct peer_unit *u, struct store_peer_row *ret,
    struct err *err)
{
	enum rc rc;

	rc = store_peer_get(tx->db, u->domain, ret, err);
	if (rc != RC_NOT_FOUND)
		return (rc);
	refusal_set(&u->refusal, PROBLEM_NOT_FOUND, "",
	    "nothing is known of a server called \"%s\"", u->domain);
	return (RC_OK);
}

/* ---- what a document says ---- */

static bool
has_key(const struct peer_unit *u, const char *key_id)
{
	size_t i;

	for (i = 0; i < u->nkeys; i++)
		if (strcmp(u->keys[i].key_id, key_id) == 0)
			return (true);
	return (false);
}

/* Returns the pinned key ${key_id}, or NULL. */
static const struct store_peer_key *
pinned_key(const struct store_peer_keys *keys, const char *key_id)
{
	const struct store_peer_key *key;
	size_t i;

	for (i = 0; i < keys->n; i++) {
		key = &keys->rows[i].key;
		if (strcmp(key->key_id, key_id) == 0)
			return (key->pinned_by[0] != '\0' ? key : NULL);
	}
	return (NULL);
}

static bool
is_pinned(const struct store_peer_keys *keys, const char *key_id)
{

	return (pinned_key(keys, key_id) != NULL);
}

/* Replaces the keys that are not pinned by those of the document. */
static enum rc
learn_keys(struct tx *tx, const struct peer_unit *u, int64_t destination_id,
    struct err *err)
{
	struct store_peer_keys keys;
	struct store_peer_key key;
	const struct store_peer_key_row *k;
	enum rc rc;
	size_t i;

	rc = store_peer_keys(tx->db, destination_id, &keys, err);
	for (i = 0; i < u->nkeys && rc == RC_OK; i++) {
		if (is_pinned(&keys, u->keys[i].key_id))
			continue;
		key = u->keys[i];
		key.pinned_by[0] = '\0';
		rc = store_peer_key_put(
		    tx->db, destination_id, &key, tx->now_ms, err);
	}
	for (i = 0; rc == RC_OK && i < keys.n; i++) {
		k = &keys.rows[i];
		if (k->retired_at == 0 && k->key.pinned_by[0] == '\0' &&
		    !has_key(u, k->key.key_id))
			rc = store_peer_key_retire(tx->db, destination_id,
			    k->key.key_id, tx->now_ms, err);
	}
	return (rc == RC_OK ? store_peer_keys_trim(tx->db, destination_id, err)
			    : rc);
}

static bool
same_keys(const struct store_peer_known *a, const struct store_peer_known *b)
{
	const struct store_peer_key *x, *y;
	size_t i;

	if (a->nkeys != b->nkeys)
		return (false);
	for (i = 0; i < a->nkeys; i++) {
		x = &a->keys[i];
		y = &b->keys[i];
		if (strcmp(x->key_id, y->key_id) != 0 ||
		    memcmp(x->public, y->public, sizeof(x->public)) != 0)
			return (false);
	}
	return (true);
}

/* Records in the audit log which keys are trusted now, and which were
 * before. */
static enum rc
audit_keys(struct tx *tx, const struct peer_unit *u,
    const struct store_peer_known *before, struct err *err)
{
	char detail[DETAIL_SIZE] = "now ";

	append_keys(detail, sizeof(detail), &u->known);
	append(detail, sizeof(detail), "; before ");
	append_keys(detail, sizeof(detail), before);
	return (audit(tx, u, "peer-keys", detail, err));
}

static enum rc
audit_epoch(struct tx *tx, const struct peer_unit *u, const char *before,
    struct err *err)
{
	char detail[DETAIL_SIZE];

	(void)snprintf(
	    detail, sizeof(detail), "now %s; before %s", u->epoch, before);
	return (audit(tx, u, "peer-epoch", detail, err));
}

/* Updates the times and the epoch after a document was read. */
static void
learn_row(struct tx *tx, const struct peer_unit *u, struct store_peer_row *row)
{

	if (row->first_seen_at == 0)
		row->first_seen_at = tx->now_ms;
	if (row->last_seen_at < tx->now_ms)
		row->last_seen_at = tx->now_ms;
	if (u->epoch[0] != '\0')
		memcpy(row->epoch, u->epoch, sizeof(row->epoch));
}

static enum rc
do_learn(struct tx *tx, struct peer_unit *u, struct err *err)
{
	struct store_peer_known before;
	struct store_peer_row row;
	enum rc rc;

	rc = find_or_make(tx, u, &row, err);
	if (rc == RC_OK)
		rc = store_peer_known(tx->db, u->domain, &before, err);
	if (rc != RC_OK)
		return (rc);
	u->is_new = row.first_seen_at == 0;
	u->epoch_changed = before.epoch[0] != '\0' && u->epoch[0] != '\0' &&
			   strcmp(before.epoch, u->epoch) != 0;
	learn_row(tx, u, &row);
	rc = store_peer_set(tx->db, &row, err);
	if (rc == RC_OK)
		rc = learn_keys(tx, u, row.destination_id, err);
	if (rc == RC_OK)
		rc = store_peer_known(tx->db, u->domain, &u->known, err);
	if (rc != RC_OK)
		return (rc);
	u->keys_changed = !u->is_new && !same_keys(&before, &u->known);
	/* A server without known users and pinned keys must not fill the audit
	 * log. */
	if (!row.used && row.pinned == 0)
		return (RC_OK);
	if (u->keys_changed)
		rc = audit_keys(tx, u, &before, err);
	if (rc == RC_OK && u->epoch_changed)
		rc = audit_epoch(tx, u, before.epoch, err);
	return (rc);
}

/* ---- what operators say ---- */

static enum rc
do_pin(struct tx *tx, struct peer_unit *u, struct err *err)
{
	struct store_peer_key key = u->keys[0];
	struct store_peer_row row;
	struct store_peer_keys keys;
	char detail[DETAIL_SIZE] = "";
	enum rc rc;

	rc = find_or_make(tx, u, &row, err);
	if (rc == RC_OK)
		rc = store_peer_keys(tx->db, row.destination_id, &keys, err);
	if (rc != RC_OK)
		return (rc);
	if (row.pinned >= STORE_PEER_KEYS && !is_pinned(&keys, key.key_id)) {
		refusal_set(&u->refusal, PROBLEM_CONFLICT, "",
		    "%d keys of \"%s\" are pinned, and more are not "
		    "supported; forget it and pin those that it still uses",
		    STORE_PEER_KEYS, u->domain);
		return (RC_OK);
	}
	(void)snprintf(key.pinned_by, sizeof(key.pinned_by), "%s", u->by);
	rc = store_peer_key_put(
	    tx->db, row.destination_id, &key, tx->now_ms, err);
	append_key(detail, sizeof(detail), &key);
	return (rc == RC_OK ? audit(tx, u, "peer-pin", detail, err) : rc);
}

/* Sets a refusal if ${key}, which may be NULL, cannot be unpinned. */
static void
check_unpin(struct peer_unit *u, const struct store_peer_row *row,
    const struct store_peer_key *key)
{

	if (key == NULL)
		refusal_set(&u->refusal, PROBLEM_CONFLICT, "",
		    "key \"%s\" of \"%s\" is not pinned", u->keys[0].key_id,
		    u->domain);
	else if (row->live - row->pinned >= STORE_PEER_KEYS)
		refusal_set(&u->refusal, PROBLEM_CONFLICT, "",
		    "%d keys of \"%s\" are known that are not pinned, and more "
		    "are not supported; forget it to believe its document",
		    STORE_PEER_KEYS, u->domain);
}

static enum rc
do_unpin(struct tx *tx, struct peer_unit *u, struct err *err)
{
	char detail[DETAIL_SIZE] = "";
	struct store_peer_key key;
	const struct store_peer_key *was;
	struct store_peer_row row;
	struct store_peer_keys keys;
	enum rc rc;

	rc = find(tx, u, &row, err);
	if (rc != RC_OK || u->refusal.problem != PROBLEM_NONE)
		return (rc);
	rc = store_peer_keys(tx->db, row.destination_id, &keys, err);
	if (rc != RC_OK)
		return (rc);
	was = pinned_key(&keys, u->keys[0].key_id);
	check_unpin(u, &row, was);
	if (was == NULL || u->refusal.problem != PROBLEM_NONE)
		return (RC_OK);
	key = *was;
	key.pinned_by[0] = '\0';
	rc = store_peer_key_put(
	    tx->db, row.destination_id, &key, tx->now_ms, err);
	append_key(detail, sizeof(detail), &key);
	return (rc == RC_OK ? audit(tx, u, "peer-unpin", detail, err) : rc);
}

static enum rc
do_forget(struct tx *tx, struct peer_unit *u, struct err *err)
{
	struct store_peer_row row;
	enum rc rc;

	rc = find(tx, u, &row, err);
	if (rc != RC_OK || u->refusal.problem != PROBLEM_NONE)
		return (rc);
	rc = store_peer_keys_delete(tx->db, row.destination_id, err);
	row.first_seen_at = row.last_seen_at = 0;
	row.epoch[0] = '\0';
	if (rc == RC_OK)
		rc = row.blocked_at != 0
			 ? store_peer_set(tx->db, &row, err)
			 : store_peer_delete(tx->db, row.destination_id, err);
	if (rc != RC_OK)
		return (rc);
	/* If the peer stays because it is blocked, read_known() reads this
	 * again. */
	u->known.destination_id = row.destination_id;
	memcpy(u->known.domain, row.domain, sizeof(u->known.domain));
	return (audit(tx, u, "peer-forget", NULL, err));
}

static enum rc
do_block(struct tx *tx, struct peer_unit *u, struct err *err)
{
	struct store_peer_row row;
	enum rc rc;

	rc = find_or_make(tx, u, &row, err);
	if (rc != RC_OK)
		return (rc);
	if (row.blocked_at == 0)
		row.blocked_at = tx->now_ms;
	(void)snprintf(row.blocked_by, sizeof(row.blocked_by), "%s", u->by);
	rc = store_peer_set(tx->db, &row, err);
	return (rc == RC_OK ? audit(tx, u, "peer-block", u->reason, err) : rc);
}

static enum rc
do_unblock(struct tx *tx, struct peer_unit *u, struct err *err)
{
	struct store_peer_row row;
	enum rc rc;

	rc = find(tx, u, &row, err);
	if (rc != RC_OK || u->refusal.problem != PROBLEM_NONE)
		return (rc);
	row.blocked_at = 0;
	row.blocked_by[0] = '\0';
	rc = store_peer_set(tx->db, &row, err);
	return (rc == RC_OK ? audit(tx, u, "peer-unblock", NULL, err) : rc);
}

/* ---- the unit ---- */

/* Sets u->known to the state of the peer after the change.  After PEER_FORGET a
 * peer that is not blocked has no row; then u->known stays as do_forget() has
 * set it. */
static enum rc
read_known(struct tx *tx, struct peer_unit *u, struct err *err)
{
	enum rc rc;

	rc = store_peer_known(tx->db, u->domain, &u->known, err);
	return (rc == RC_NOT_FOUND && u->op == PEER_FORGET ? RC_OK : rc);
}

static enum rc
peer_apply(struct tx *tx, struct unit *unit, struct err *err)
{
	static enum rc (*const verbs[])(struct tx *, struct peer_unit *,
	    struct err *) = {[PEER_LEARN] = do_learn,
	    [PEER_PIN] = do_pin,
	    [PEER_FORGET] = do_forget,
	    [PEER_BLOCK] = do_block,
	    [PEER_UNBLOCK] = do_unblock,
	    [PEER_UNPIN] = do_unpin};
	struct peer_unit *u = CONTAINER_OF(unit, struct peer_unit, unit);
	enum rc rc;

	/* "local" and "*" are destinations, too, but not peers. */
	assert(strchr(u->domain, '.') != NULL);
	assert(u->op != PEER_LEARN || u->nkeys > 0);
	/* Reset the output, because a transaction may be tried again. */
	u->refusal = (struct refusal)REFUSAL_INIT;
	memset(&u->known, 0, sizeof(u->known));
	u->is_new = u->keys_changed = u->epoch_changed = false;
	rc = verbs[u->op](tx, u, err);
	return (rc == RC_OK && u->refusal.problem == PROBLEM_NONE
		    ? read_known(tx, u, err)
		    : rc);
}

static enum rc
peer_locks(struct unit *unit, struct lockset *set, struct err *err)
{

	return (lockset_name(
	    set, CONTAINER_OF(unit, struct peer_unit, unit)->domain, err));
}

UNIT_KIND(peer, peer_locks, .queue = UNIT_CLIENT, .order = ORDER_PEER,
    .apply_one = peer_apply);

void
peer_unit_init(
    struct peer_unit *u, enum peer_op op, const char *domain, const char *by)
{

	memset(u, 0, sizeof(*u));
	u->unit.kind = &peer_kind;
	u->unit.bytes = sizeof(*u);
	u->op = op;
	(void)snprintf(u->domain, sizeof(u->domain), "%s", domain);
	(void)snprintf(u->by, sizeof(u->by), "%s", by);
	u->refusal = (struct refusal)REFUSAL_INIT;
}
