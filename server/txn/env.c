/* SPDX-License-Identifier: MIT */
/*
 * The environment, which one transaction after another works with, and its
 * hooks for the writer: how a transaction begins and ends.  A transaction
 * begins with no dirty object in the cache and no effects, and writes
 * everything that is only in memory before its commit.  Its wake-up (new work
 * for the relay) is handed over after the commit, its effects (changes for
 * clients and other nodes) when the commit is on disk.
 */
#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/thr.h"
#include "txn/add.h"
#include "txn/lockset.h"
#include "txn/verb.h"

static void
drop_rows(struct txn_env *env)
{

	env->receipts = NULL;
	env->messages.n = env->outbox.n = env->inbox.n = 0;
	env->sent.n = env->acked.n = 0;
	env->acked.changed = 0;
}

/* ---- hooks ---- */

/* Detects that the wall clock has run ahead of the monotonic clock by more
 * than CLOCK_JUMP_MS since the previous transaction began.  txn_expired() then
 * returns false for the next CLOCK_JUMP_MS. */
static void
watch_clock(struct txn_env *env, int64_t wall_ms)
{
	int64_t mono_ms = clk_mono_ms(env->options.clk);

	if (env->seen_wall_ms != 0 &&
	    wall_ms - env->seen_wall_ms >
		mono_ms - env->seen_mono_ms + CLOCK_JUMP_MS)
		env->expiry_from_ms = mono_ms + CLOCK_JUMP_MS;
	env->seen_wall_ms = wall_ms;
	env->seen_mono_ms = mono_ms;
}

static enum rc
on_begin(void *arg, struct tx *tx, struct err *err)
{
	struct txn_env *env = arg;

	thr_assert(THR_WRITER);
	tx->env = env;
	cache_begin(env->cache, tx);
	env->walk_left = WALK_ROWS;
	watch_clock(env, tx->now_ms);
	new_domains_begin(env->new_domains);
	return (backlog_begin(env->backlog, tx, err));
}

static enum rc
on_lock(
    void *arg, struct tx *tx, struct unit **units, size_t n, struct err *err)
{

	thr_assert(THR_WRITER);
	(void)arg;
	return (lockset_lock(tx, units, n, err));
}

static enum rc
on_probe(
    void *arg, struct tx *tx, bool forget, bool *ret_freed, struct err *err)
{

	thr_assert(THR_WRITER);
	(void)arg;
	return (lockset_probe(tx, forget, ret_freed, err));
}

static bool
on_contended(void *arg)
{
	const struct txn_env *env = arg;

	return (contended_count(env->contended) > 0);
}

static enum rc
on_flush(void *arg, struct tx *tx, struct err *err)
{
	struct txn_env *env = arg;
	enum rc rc;

	thr_assert(THR_WRITER);
	assert(env->messages.n == 0 && env->outbox.n == 0);
	rc = txn_write_receipts(tx, err);
	if (rc == RC_OK)
		rc = cache_flush(env->cache, tx, err);
	if (rc == RC_OK)
		rc = backlog_flush(env->backlog, tx, err);
	/* On a multi-writer database, the inbox rows that are still in memory
	 * are written last.  Writing them locks inboxes until the commit, and
	 * other nodes wait for these locks most often, so the locks are taken
	 * as late as possible. */
	return (rc == RC_OK ? txn_flush_inbox(tx, err) : rc);
}

/* Hands the wake-up to its subscribers (the relay, other nodes) without waiting
 * for the sync: a delivery is a later transaction, which cannot be on disk
 * without this one.  Returns the effects, or NULL if there are none; the writer
 * passes them to on_published() when this transaction is on disk, or to
 * on_lost() if the store fails before that. */
static void *
on_committed(void *arg, struct tx *tx)
{
	struct txn_env *env = arg;
	struct effects *effects;

	thr_assert(THR_WRITER);
	(void)tx;
	if (env->wake != NULL && !wake_empty(env->wake)) {
		publisher_wake(&env->publisher, env->wake);
		env->wake = NULL;
	}
	if (env->effects == NULL || effects_empty(env->effects))
		return (NULL);
	effects = env->effects;
	env->effects = NULL;
	return (effects);
}

/* Adds three numbers of ${effects}, whose commit is on disk, to the metrics:
 * inbox events, accepted messages and replayed messages.  Sets the two numbers
 * of messages to 0.  Returns true if ${effects} still holds something to
 * publish. */
static bool
count_effects(struct txn_env *env, struct effects *effects)
{
	struct metrics *m = env->options.metrics;

	metrics_add(m, METRIC_INBOX_EVENTS, (int64_t)effects->nevents);
	metrics_add(m, METRIC_MESSAGES_ACCEPTED, effects->accepted);
	metrics_add(m, METRIC_MESSAGES_REPLAYED, effects->replayed);
	effects->accepted = effects->replayed = 0;
	return (!effects_empty(effects));
}

static void
on_published(void *arg, void *told, size_t units, int64_t commit_us)
{
	struct txn_env *env = arg;
	struct metrics *m = env->options.metrics;
	struct effects *effects = told;

	thr_assert_either(THR_SYNC, THR_WRITER);
	(void)units;
	metrics_add(m, METRIC_BATCHES, 1);
	metrics_observe_us(m, METRIC_COMMIT_SECONDS, commit_us);
	if (effects != NULL && count_effects(env, effects))
		publisher_effects(&env->publisher, effects);
	else
		effects_free(effects);
}

/* A subscriber: counts the outbox events in the metrics. */
static void
on_change(void *arg, const struct effect_change *change)
{
	struct txn_env *env = arg;

	metrics_add_by(env->options.metrics, METRIC_BY_OUTBOX_EVENTS,
	    effects_outbox_event_name(change->event), 1);
}

static void
on_lost(void *arg, void *told)
{

	thr_assert_either(THR_SYNC, THR_WRITER);
	(void)arg;
	effects_free(told);
}

static void
on_aborted(void *arg, struct tx *tx)
{
	struct txn_env *env = arg;

	thr_assert(THR_WRITER);
	(void)tx;
	drop_rows(env);
	env->pauses_known = false;
	cache_abort(env->cache);
	backlog_abort(env->backlog);
	new_domains_abort(env->new_domains);
	message_cache_clear(&env->message_cache);
	effects_free(env->effects);
	wake_free(env->wake);
	env->effects = NULL;
	env->wake = NULL;
}

static void
on_fatal(void *arg, const struct err *err)
{
	struct txn_env *env = arg;

	env->options.fatal(env->options.fatal_arg, err);
}

/* ---- life ---- */

enum rc
txn_env_new(const struct txn_env_options *options, struct txn_env **ret,
    struct err *err)
{
	struct txn_env *env;

	env = mem_zalloc(1, sizeof(*env));
	if (env == NULL)
		return (err_set(err, RC_NO_MEMORY, "txn"));
	env->options = *options;
	env->hooks = (struct writer_hooks){.arg = env,
	    .begin = on_begin,
	    .lock = on_lock,
	    .probe = on_probe,
	    .contended = on_contended,
	    .flush = on_flush,
	    .committed = on_committed,
	    .published = on_published,
	    .lost = on_lost,
	    .aborted = on_aborted,
	    .fatal = on_fatal};
	uuid_gen_init(&env->ids, options->clk, options->rnd);
	message_cache_clear(&env->message_cache);
	env->cache = cache_new(&env->ids);
	env->backlog = backlog_new();
	env->new_domains = new_domains_new(options->new_domains_most);
	env->contended = contended_new();
	env->batch_ids = htab_new(sizeof(struct uuid));
	if (env->cache == NULL || env->backlog == NULL ||
	    env->new_domains == NULL || env->contended == NULL ||
	    env->batch_ids == NULL ||
	    !store_rows_init(
		&env->messages, STORE_MESSAGE_INSERT, BATCH_ROWS) ||
	    !store_rows_init(&env->outbox, STORE_OUTBOX_INSERT, BATCH_ROWS) ||
	    /* A message that is delivered at once has two inbox rows. */
	    !store_rows_init(&env->inbox, STORE_INBOX_INSERT, 2 * BATCH_ROWS) ||
	    !store_rows_init(
		&env->sent, STORE_OUTBOX_SETTLE_SENT, BATCH_ROWS) ||
	    !store_rows_init(
		&env->acked, STORE_OUTBOX_SETTLE_ACKED, BATCH_ROWS)) {
		txn_env_free(env);
		return (err_set(err, RC_NO_MEMORY, "txn"));
	}
	*ret = env;
	return (txn_env_subscribe(env,
	    &(struct subscriber){
		.arg = env, .on_change = on_change, .events = EVENTS_ALL},
	    err));
}

enum rc
txn_env_subscribe(
    struct txn_env *env, const struct subscriber *subscriber, struct err *err)
{

	assert(!env->started);
	return (publisher_add(&env->publisher, subscriber, err));
}

enum rc
txn_env_start(struct txn_env *env, struct db *db, struct err *err)
{
	struct tx tx = {.db = db, .now_ms = clk_wall_ms(env->options.clk)};

	env->started = true;
	return (backlog_begin(env->backlog, &tx, err));
}

void
txn_env_free(struct txn_env *env)
{

	if (env == NULL)
		return;
	message_cache_clear(&env->message_cache);
	cache_free(env->cache);
	backlog_free(env->backlog);
	new_domains_free(env->new_domains);
	contended_free(env->contended);
	htab_free(env->batch_ids);
	effects_free(env->effects);
	wake_free(env->wake);
	store_rows_fini(&env->messages);
	store_rows_fini(&env->outbox);
	store_rows_fini(&env->inbox);
	store_rows_fini(&env->sent);
	store_rows_fini(&env->acked);
	mem_free(env);
}

const struct writer_hooks *
txn_env_hooks(struct txn_env *env)
{

	return (&env->hooks);
}
