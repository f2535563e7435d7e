/* SPDX-License-Identifier: MIT */
/*
 * See server_keys.h.
 *
 * At most STORE_SERVER_KEYS keys are not retired, so each unit reads all of
 * these.  On a multi-writer database one name is locked for the whole table,
 * because each operation depends on all of these keys: two nodes that start at
 * the same time must not both make the first key.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clk.h"
#include "crypt/crypt.h"
#include "crypt/sign.h"
#include "delivery/server_keys.h"
#include "store/audit.h"
#include "txn/lockset.h"
#include "txn/verb.h"

/* The name that is locked for the table of keys (lockset_name()).  The names of
 * users and servers are locked in the same way; none of them begins with "#".
 * Lock names made of "#" and a user id have a digit after the "#". */
#define LOCK_NAME "#server_keys"
/* Random bytes in a key id. */
#define ID_BYTES 4

/* The keys that are not retired. */
struct ring {
	struct tx *tx;
	struct server_keys_unit *u;
	struct store_server_key keys[STORE_SERVER_KEYS];
	size_t n;
};

/* ---- what a key may do ---- */

bool
server_keys_published(const struct store_server_key *key, int64_t now_ms)
{

	return (key->retires_at == 0 || now_ms < key->retires_at);
}

/* Returns the newest published key that may sign already, or NULL. */
static const struct store_server_key *
newest_due(const struct store_server_key *keys, size_t n, int64_t now_ms)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (keys[i].signs_at <= now_ms &&
		    server_keys_published(&keys[i], now_ms))
			return (&keys[i]);
	return (NULL);
}

/* If no published key may sign yet, the clock was put back to before the
 * signs_at of all of them.  Then the one with the earliest signs_at signs,
 * because peers have known it for the longest time.  Waiting for the clock to
 * catch up would mean that the server sends nothing until then. */
const struct store_server_key *
server_keys_signer(
    const struct store_server_key *keys, size_t n, int64_t now_ms)
{
	const struct store_server_key *key;

	key = newest_due(keys, n, now_ms);
	for (; key == NULL && n > 0; n--)
		if (server_keys_published(&keys[n - 1], now_ms))
			key = &keys[n - 1];
	return (key);
}

/* Returns true if a key other than ${but} (NULL: any key) has no retires_at, so
 * that it stays published, and a signs_at that is ${by_ms} or earlier. */
static bool
one_stays(
    const struct ring *g, const struct store_server_key *but, int64_t by_ms)
{
	size_t i;

	for (i = 0; i < g->n; i++)
		if (&g->keys[i] != but && g->keys[i].retires_at == 0 &&
		    g->keys[i].signs_at <= by_ms)
			return (true);
	return (false);
}

/* ---- changing the ring ---- */

/* Removes key ${i}; the others keep their order. */
static void
drop(struct ring *g, size_t i)
{

	g->n--;
	memmove(&g->keys[i], &g->keys[i + 1], (g->n - i) * sizeof(g->keys[0]));
	crypt_wipe(&g->keys[g->n], sizeof(g->keys[0]));
}

static enum rc
retire(struct ring *g, size_t i, struct err *err)
{
	enum rc rc;

	rc = store_server_key_retired_set(
	    g->tx->db, g->keys[i].key_id, g->tx->now_ms, err);
	if (rc == RC_OK)
		drop(g, i);
	return (rc);
}

/* Retires the keys whose time has passed. */
static enum rc
retire_expired(struct ring *g, struct err *err)
{
	enum rc rc = RC_OK;
	size_t i;

	for (i = g->n; i > 0 && rc == RC_OK; i--)
		if (!server_keys_published(&g->keys[i - 1], g->tx->now_ms))
			rc = retire(g, i - 1, err);
	return (rc);
}

/* Makes key ${i} leave the document at ${at}, unless it leaves earlier. */
static enum rc
leave(struct ring *g, size_t i, int64_t at, struct err *err)
{

	if (g->keys[i].retires_at != 0 && g->keys[i].retires_at <= at)
		return (RC_OK);
	g->keys[i].retires_at = at;
	return (store_server_key_retires_set(
	    g->tx->db, g->keys[i].key_id, at, err));
}

/* Inserts the candidate (the new key in the unit), which is published at once.
 * It signs in an hour, or at once if no other key signs. */
static enum rc
add_candidate(struct ring *g, struct err *err)
{
	struct store_server_key *key = &g->u->candidate;
	const int64_t now = g->tx->now_ms;

	key->created_at = now;
	key->signs_at = newest_due(g->keys, g->n, now) == NULL
			    ? now
			    : now + SERVER_KEYS_SIGN_AFTER_MS;
	key->retires_at = 0;
	g->u->made = true;
	return (store_server_key_insert(g->tx->db, key, err));
}

/* ---- the operations ---- */

/* Records ${action} of the operator on ${key_id} in the audit log. */
static enum rc
audit(const struct ring *g, const char *action, const char *key_id,
    const char *detail, struct err *err)
{
	const struct store_audit audit = {g->u->by, action, key_id, detail};

	return (store_audit_insert(g->tx->db, &audit, g->tx->now_ms, err));
}

static enum rc
ensure(struct ring *g, struct err *err)
{

	return (g->n > 0 ? RC_OK : add_candidate(g, err));
}

/* Returns the time at which the next key leaves the document; 0: none does. */
static int64_t
next_leaving(const struct ring *g)
{
	int64_t next = 0;
	size_t i;

	for (i = 0; i < g->n; i++)
		if (g->keys[i].retires_at != 0 &&
		    (next == 0 || g->keys[i].retires_at < next))
			next = g->keys[i].retires_at;
	return (next);
}

/* Refuses another key: a document has room for STORE_SERVER_KEYS. */
static void
refuse_more(struct ring *g)
{
	char at[CLK_RFC3339_SIZE];

	clk_format_rfc3339(next_leaving(g), at);
	refusal_set(&g->u->refusal, PROBLEM_CONFLICT, "",
	    "%d keys are published, and there can be no more: the next one "
	    "leaves the document at %s",
	    STORE_SERVER_KEYS, at);
}

static enum rc
rotate(struct ring *g, struct err *err)
{
	struct server_keys_unit *u = g->u;
	char at[CLK_RFC3339_SIZE], detail[64];
	enum rc rc;
	size_t i;

	if (g->n == STORE_SERVER_KEYS) {
		refuse_more(g);
		return (RC_OK);
	}
	if ((rc = add_candidate(g, err)) != RC_OK)
		return (rc);
	if (g->n > 0)
		u->retires_at =
		    u->candidate.signs_at + SERVER_KEYS_LEAVE_AFTER_MS;
	for (i = 0; i < g->n && rc == RC_OK; i++)
		rc = leave(g, i, u->retires_at, err);
	if (rc != RC_OK)
		return (rc);
	clk_format_rfc3339(u->candidate.signs_at, at);
	(void)snprintf(detail, sizeof(detail), "signs at %s", at);
	return (audit(g, "key_rotate", u->candidate.key_id, detail, err));
}

static enum rc
retire_later(struct ring *g, size_t i, struct err *err)
{
	struct server_keys_unit *u = g->u;
	char at[CLK_RFC3339_SIZE], detail[64];
	int64_t leaves = g->tx->now_ms + SERVER_KEYS_LEAVE_AFTER_MS;
	enum rc rc;

	if (g->keys[i].retires_at != 0 && g->keys[i].retires_at <= leaves) {
		clk_format_rfc3339(g->keys[i].retires_at, at);
		refusal_set(&u->refusal, PROBLEM_CONFLICT, "",
		    "key %s leaves the document already, at %s; retire --now "
		    "takes it out at once",
		    u->key_id, at);
		return (RC_OK);
	}
	if (!one_stays(g, &g->keys[i], leaves)) {
		refusal_set(&u->refusal, PROBLEM_CONFLICT, "",
		    "no other key would be left to sign: run \"twinboxd keys "
		    "rotate\" first");
		return (RC_OK);
	}
	u->retires_at = leaves;
	if ((rc = leave(g, i, leaves, err)) != RC_OK)
		return (rc);
	clk_format_rfc3339(leaves, at);
	(void)snprintf(detail, sizeof(detail), "leaves at %s", at);
	return (audit(g, "key_retire", u->key_id, detail, err));
}

static enum rc
retire_now(struct ring *g, size_t i, struct err *err)
{
	struct server_keys_unit *u = g->u;
	char detail[STORE_SERVER_KEY_ID_LEN + 32] = "now";
	enum rc rc;

	if ((rc = retire(g, i, err)) != RC_OK)
		return (rc);
	u->retires_at = g->tx->now_ms;
	if (newest_due(g->keys, g->n, g->tx->now_ms) == NULL ||
	    !one_stays(g, NULL, INT64_MAX))
		rc = add_candidate(g, err);
	if (u->made)
		(void)snprintf(detail, sizeof(detail), "now, replaced by %s",
		    u->candidate.key_id);
	return (
	    rc == RC_OK ? audit(g, "key_retire", u->key_id, detail, err) : rc);
}

static enum rc
retire_one(struct ring *g, struct err *err)
{
	struct server_keys_unit *u = g->u;
	size_t i;

	for (i = 0; i < g->n; i++)
		if (strcmp(g->keys[i].key_id, u->key_id) == 0)
			break;
	if (i == g->n) {
		refusal_set(&u->refusal, PROBLEM_NOT_FOUND, "",
		    "there is no key \"%s\", or it is retired already",
		    u->key_id);
		return (RC_OK);
	}
	return (u->op == SERVER_KEYS_RETIRE ? retire_later(g, i, err)
					    : retire_now(g, i, err));
}

/* ---- the unit ---- */

static enum rc
operate(struct ring *g, struct err *err)
{

	switch (g->u->op) {
	case SERVER_KEYS_ENSURE:
		return (ensure(g, err));
	case SERVER_KEYS_ROTATE:
		return (rotate(g, err));
	case SERVER_KEYS_RETIRE:
	case SERVER_KEYS_RETIRE_NOW:
	default:
		return (retire_one(g, err));
	}
}

static enum rc
work(struct ring *g, struct err *err)
{
	enum rc rc;

	rc = store_server_keys_list(g->tx->db, g->keys, &g->n, err);
	if (rc == RC_OK)
		rc = retire_expired(g, err);
	if (rc == RC_OK)
		rc = operate(g, err);
	return (rc == RC_OK ? store_server_keys_wipe(g->tx->db, err) : rc);
}

static enum rc
server_keys_apply(struct tx *tx, struct unit *unit, struct err *err)
{
	struct server_keys_unit *u =
	    CONTAINER_OF(unit, struct server_keys_unit, unit);
	struct ring g = {.tx = tx, .u = u, .n = 0};
	enum rc rc;

	/* Reset the output, because the unit may be applied again after an
	 * abandoned transaction. */
	u->refusal = (struct refusal)REFUSAL_INIT;
	u->made = false;
	u->retires_at = 0;
	rc = work(&g, err);
	crypt_wipe(g.keys, sizeof(g.keys));
	return (rc);
}

static enum rc
server_keys_locks(struct unit *unit, struct lockset *set, struct err *err)
{

	(void)unit;
	return (lockset_name(set, LOCK_NAME, err));
}

UNIT_KIND(server_key, server_keys_locks, .queue = UNIT_CLIENT,
    .order = ORDER_SERVER_KEYS, .apply_one = server_keys_apply);

void
server_keys_unit_init(struct server_keys_unit *u, enum server_keys_op op,
    const char *by, struct rnd *rnd)
{
	struct store_server_key *key = &u->candidate;
	uint8_t id[ID_BYTES];
	size_t i;

	memset(u, 0, sizeof(*u));
	u->unit.kind = &server_key_kind;
	u->unit.bytes = sizeof(*u);
	u->op = op;
	(void)snprintf(u->by, sizeof(u->by), "%s", by);
	u->refusal = (struct refusal)REFUSAL_INIT;
	rnd_fill(rnd, id, sizeof(id));
	key->key_id[0] = 'k';
	for (i = 0; i < sizeof(id); i++)
		(void)snprintf(key->key_id + 1 + 2 * i, 3, "%02x", id[i]);
	rnd_fill(rnd, key->seed, sizeof(key->seed));
	sign_public(key->seed, key->public);
}

void
server_keys_unit_fini(struct server_keys_unit *u)
{

	crypt_wipe(&u->candidate, sizeof(u->candidate));
}
