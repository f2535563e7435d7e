/* SPDX-License-Identifier: MIT */
/*
 * See keyring.h.
 *
 * keyring_new() reads the key rows itself; later a reader thread reads them
 * with the job that is embedded in the keyring.  While the flag `reading` is
 * set, the job belongs to the reader and must not be submitted again.  Each
 * copy of a secret seed is wiped when it is no longer needed.
 */
#include <assert.h>
#include <string.h>

#include "base/lock.h"
#include "base/mem.h"
#include "base/owner.h"
#include "crypt/crypt.h"
#include "delivery/server_keys.h"
#include "federation/keyring.h"

static_assert(STORE_SERVER_KEYS == DOCUMENT_KEYS, "all keys are published");
static_assert(STORE_SERVER_KEY_ID_LEN == SIGNATURE_KEY_ID_MAX, "ids of keys");
static_assert(STORE_SERVER_KEY_SEED_SIZE == SIGN_SEED_SIZE, "Ed25519");
static_assert(STORE_SERVER_KEY_PUBLIC_SIZE == SIGN_PUBLIC_SIZE, "Ed25519");

struct keyring {
	const struct clk *clk;
	const struct timing *timing;
	struct rnd *rnd;
	struct readers *readers;
	struct writer *writer;
	struct read_job job;
	struct server_keys_unit unit; /* the writer's, if ${retiring} */

	struct lock lock; /* protects what follows */
	bool reading;
	bool retiring;
	int64_t asked_ms; /* monotonic: when rows were read last */
	size_t n;
	struct store_server_key keys[STORE_SERVER_KEYS]; /* newest first */
};

/* ---- reading ---- */

/* Replaces the keys by ${keys}, and wipes ${keys}. */
static void
replace(struct keyring *k, struct store_server_key *keys, size_t n)
{

	lock_take(&k->lock);
	memcpy(k->keys, keys, sizeof(k->keys));
	k->n = n;
	lock_drop(&k->lock);
	crypt_wipe(keys, sizeof(k->keys));
}

static enum rc
load(struct keyring *k, struct db *db, struct err *err)
{
	struct store_server_key keys[STORE_SERVER_KEYS];
	size_t n;
	enum rc rc;

	memset(keys, 0, sizeof(keys));
	rc = store_server_keys_list(db, keys, &n, err);
	if (rc == RC_OK)
		replace(k, keys, n);
	else
		crypt_wipe(keys, sizeof(keys));
	return (rc);
}

/* ---- keys whose time is over ---- */

/* Returns true if the keyring has a key that is no longer published, so that
 * its row should be marked as retired.  Call it under the lock. */
static bool
has_expired(const struct keyring *k)
{
	const int64_t now = clk_wall_ms(k->clk);
	size_t i;

	for (i = 0; i < k->n; i++)
		if (!server_keys_published(&k->keys[i], now))
			return (true);
	return (false);
}

static void
retired(struct keyring *k)
{

	server_keys_unit_fini(&k->unit);
	lock_take(&k->lock);
	k->retiring = false;
	lock_drop(&k->lock);
}

/* Thread: sync or writer.  If the unit failed, the next reading tries again. */
static void
unit_finished(struct unit *base)
{
	struct server_keys_unit *u =
	    CONTAINER_OF(base, struct server_keys_unit, unit);

	retired(u->arg);
}

/* If the keyring has keys that are no longer published, and no unit of this
 * function is under way, submits a unit of work that retires these keys, and so
 * erases their seeds.  Without such a unit the seeds would stay in the database
 * until an operator changes keys.  If the writer does not take the unit, or the
 * unit fails, the next reading of the keys tries again.  Thread: reader. */
static void
retire_expired(struct keyring *k)
{
	bool retires;

	lock_take(&k->lock);
	retires = !k->retiring && has_expired(k);
	k->retiring = k->retiring || retires;
	lock_drop(&k->lock);
	if (!retires)
		return;
	server_keys_unit_init(&k->unit, SERVER_KEYS_ENSURE, "", k->rnd);
	k->unit.unit.finish = unit_finished;
	k->unit.arg = k;
	if (writer_submit(k->writer, &k->unit.unit) != RC_OK)
		retired(k);
}

/* Replaces the keys in memory by those of the database, and then calls
 * retire_expired().  After an error the keys in memory stay as they are; the
 * next reading begins keyring_refresh_ms after this one, because the loop of
 * outbound.c calls keyring_refresh() at each turn.  The error is not reported
 * here: while the database is away, readers_can_begin() is false, so that
 * /readyz answers 503.
 * Thread: reader. */
static void
read_keys(struct read_job *job, struct db *db, struct err *err)
{
	struct keyring *k = CONTAINER_OF(job, struct keyring, job);

	if (db != NULL && load(k, db, err) == RC_OK)
		retire_expired(k);
	lock_take(&k->lock);
	k->reading = false;
	lock_drop(&k->lock);
}

void
keyring_refresh(struct keyring *k)
{
	const int64_t now = clk_mono_ms(k->clk);
	bool asks;

	lock_take(&k->lock);
	asks =
	    !k->reading && now - k->asked_ms >= k->timing->keyring_refresh_ms;
	if (asks) {
		k->reading = true;
		k->asked_ms = now;
	}
	lock_drop(&k->lock);
	if (!asks || readers_submit(k->readers, &k->job) == RC_OK)
		return;
	lock_take(&k->lock);
	k->reading = false;
	lock_drop(&k->lock);
}

/* ---- the first key ---- */

static void
finish(struct unit *base)
{
	struct server_keys_unit *u =
	    CONTAINER_OF(base, struct server_keys_unit, unit);

	*(bool *)u->arg = true;
}

static bool
has_published(struct keyring *k)
{
	struct document_key keys[DOCUMENT_KEYS];

	return (keyring_published(k, keys) > 0);
}

/* Called if the database has no key that is published: makes one there, which
 * the caller then reads into the keyring.  The thread of the writer does not
 * run yet, so this function itself calls writer_run_once() until the unit that
 * makes the key is finished.  Returns the result of the unit, or of submitting
 * it. */
static enum rc
make_first(const struct keyring_options *o, struct err *err)
{
	struct server_keys_unit u;
	bool done = false;
	enum rc rc;

	server_keys_unit_init(&u, SERVER_KEYS_ENSURE, "", o->rnd);
	u.unit.finish = finish;
	u.arg = &done;
	rc = writer_submit(o->writer, &u.unit);
	while (rc == RC_OK && !done)
		(void)writer_run_once(o->writer);
	server_keys_unit_fini(&u);
	if (rc == RC_OK)
		rc = u.unit.rc;
	return (rc == RC_OK
		    ? RC_OK
		    : err_set(err, rc, "the first key of this server: %s",
			  rc_text(rc)));
}

/* ---- the whole ---- */

enum rc
keyring_new(const struct keyring_options *options, struct db *db,
    struct keyring **ret, struct err *err)
{
	struct keyring *k;
	enum rc rc;

	if ((k = mem_zalloc(1, sizeof(*k))) == NULL)
		return (err_set(err, RC_NO_MEMORY, "keyring"));
	k->clk = options->clk;
	k->timing = timing_or_real(options->timing);
	k->rnd = options->rnd;
	k->readers = options->readers;
	k->writer = options->writer;
	k->job.owner = OWNER_SERVER;
	k->job.run = read_keys;
	k->asked_ms = clk_mono_ms(k->clk);
	lock_init(&k->lock, LOCK_KEYRING);
	rc = load(k, db, err);
	if (rc == RC_OK && !has_published(k) &&
	    (rc = make_first(options, err)) == RC_OK)
		rc = load(k, db, err);
	if (rc != RC_OK)
		keyring_free(k);
	else
		*ret = k;
	return (rc);
}

void
keyring_free(struct keyring *k)
{

	if (k == NULL)
		return;
	lock_fini(&k->lock);
	crypt_wipe(k->keys, sizeof(k->keys));
	mem_free(k);
}

bool
keyring_signer(struct keyring *k, struct keyring_signer *ret)
{
	const int64_t now = clk_wall_ms(k->clk);
	const struct store_server_key *key;

	lock_take(&k->lock);
	key = server_keys_signer(k->keys, k->n, now);
	if (key != NULL) {
		memcpy(ret->key_id, key->key_id, sizeof(ret->key_id));
		memcpy(ret->seed, key->seed, sizeof(ret->seed));
	}
	lock_drop(&k->lock);
	return (key != NULL);
}

size_t
keyring_published(struct keyring *k, struct document_key ret[DOCUMENT_KEYS])
{
	const int64_t now = clk_wall_ms(k->clk);
	const struct store_server_key *key;
	size_t n = 0;

	lock_take(&k->lock);
	for (key = k->keys; key < k->keys + k->n; key++) {
		if (!server_keys_published(key, now))
			continue;
		memcpy(ret[n].id, key->key_id, sizeof(ret[n].id));
		memcpy(ret[n].public, key->public, sizeof(ret[n].public));
		n++;
	}
	lock_drop(&k->lock);
	return (n);
}
