/* SPDX-License-Identifier: MIT */
/*
 * The domain's life within the writer's: a transaction begins with a clean
 * ledger and fresh news, ends with a flush, and is told to the others only
 * once it is committed.
 */
#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "txn/lockset.h"
#include "txn/verb.h"

static void
drop_rows(struct domain *d)
{

	d->messages.n = d->outbox.n = d->inbox.n = 0;
	d->sent.n = d->acked.n = 0;
	d->acked.changed = 0;
}

/* ---- messages in memory ---- */

const struct recent *
recent_find(struct domain *d, int64_t mid)
{
	struct recent *r = &d->recent[mid % RECENT_SIZE];

	return (r->mid == mid ? r : NULL);
}

void
recent_put(
    struct domain *d, int64_t mid, const struct uuid *id, struct text *message)
{
	struct recent *r = &d->recent[mid % RECENT_SIZE];

	text_unref(r->message);
	r->mid = mid;
	r->id = *id;
	r->message = message != NULL ? text_ref(message) : NULL;
}

static void
recent_clear(struct domain *d)
{
	size_t i;

	for (i = 0; i < RECENT_SIZE; i++) {
		text_unref(d->recent[i].message);
		d->recent[i].message = NULL;
		d->recent[i].mid = -1;
	}
}

/* ---- hooks ---- */

/* Sees whether the wall clock has run ahead of the monotonic one. */
static void
watch_clock(struct domain *d, int64_t wall_ms)
{
	int64_t mono_ms = clk_mono_ms(d->options.clk);

	if (d->seen_wall_ms != 0 &&
	    wall_ms - d->seen_wall_ms >
		mono_ms - d->seen_mono_ms + CLOCK_JUMP_MS)
		d->expiry_from_ms = mono_ms + CLOCK_JUMP_MS;
	d->seen_wall_ms = wall_ms;
	d->seen_mono_ms = mono_ms;
}

bool
expired(const struct tx *tx, int64_t expires_at)
{
	const struct domain *d = domain_of(tx);

	return (expires_at != 0 && expires_at <= tx->now_ms &&
		d->seen_mono_ms >= d->expiry_from_ms);
}

static enum rc
on_begin(void *arg, struct tx *tx, struct err *err)
{
	struct domain *d = arg;

	tx->domain = d;
	ledger_begin(d->ledger, tx);
	d->walk_left = WALK_ROWS;
	watch_clock(d, tx->now_ms);
	return (tally_begin(d->tally, tx, err));
}

enum rc
need_news(struct domain *d, struct err *err)
{

	if (d->news == NULL)
		d->news = news_new();
	if (d->wake == NULL)
		d->wake = wake_new();
	if (d->news == NULL || d->wake == NULL)
		return (err_set(err, RC_NO_MEMORY, "news"));
	return (RC_OK);
}

static enum rc
on_lock(
    void *arg, struct tx *tx, struct unit **units, size_t n, struct err *err)
{

	(void)arg;
	return (lockset_lock(tx, units, n, err));
}

static enum rc
on_probe(void *arg, struct tx *tx, bool names, bool *ret_freed, struct err *err)
{

	(void)arg;
	return (lockset_probe(tx, names, ret_freed, err));
}

static bool
on_contended(void *arg)
{
	const struct domain *d = arg;

	return (contended_count(d->contended) > 0);
}

static enum rc
on_flush(void *arg, struct tx *tx, struct err *err)
{
	struct domain *d = arg;
	enum rc rc;

	assert(d->messages.n == 0 && d->outbox.n == 0);
	rc = ledger_flush(d->ledger, tx, err);
	if (rc == RC_OK)
		rc = tally_flush(d->tally, tx, err);
	/* What others wait for most is held for the shortest time. */
	return (rc == RC_OK ? inbox_flush(tx, err) : rc);
}

/* The relay may begin at once: what it delivers comes in a later transaction,
 * which is never on disk without this one.  All else waits for the disk. */
static void *
on_committed(void *arg, struct tx *tx)
{
	struct domain *d = arg;
	struct news *news;

	(void)tx;
	if (d->wake != NULL && !wake_empty(d->wake)) {
		publisher_wake(&d->publisher, d->wake);
		d->wake = NULL;
	}
	if (d->news == NULL || news_empty(d->news))
		return (NULL);
	news = d->news;
	d->news = NULL;
	return (news);
}

/* Counts what is on disk now.  False: there is nothing more to tell. */
static bool
count_news(struct domain *d, struct news *news)
{
	struct metrics *m = d->options.metrics;

	metrics_add(m, METRIC_INBOX_EVENTS, (int64_t)news->nevents);
	metrics_add(m, METRIC_MESSAGES_ACCEPTED, news->accepted);
	metrics_add(m, METRIC_MESSAGES_REPLAYED, news->replayed);
	news->accepted = news->replayed = 0;
	return (!news_empty(news));
}

static void
on_published(void *arg, void *told, size_t units, int64_t commit_us)
{
	struct domain *d = arg;
	struct metrics *m = d->options.metrics;
	struct news *news = told;

	(void)units;
	metrics_add(m, METRIC_BATCHES, 1);
	metrics_observe_us(m, METRIC_COMMIT_SECONDS, commit_us);
	if (news != NULL && count_news(d, news))
		publisher_news(&d->publisher, news);
	else
		news_free(news);
}

/* A subscriber like any other: counts the events that it is told. */
static void
on_change(void *arg, const struct domain_change *change)
{
	struct domain *d = arg;

	metrics_add_by(d->options.metrics, METRIC_BY_OUTBOX_EVENTS,
	    outbox_event_name(change->event), 1);
}

static void
on_lost(void *arg, void *told)
{

	(void)arg;
	news_free(told);
}

static void
on_aborted(void *arg, struct tx *tx)
{
	struct domain *d = arg;

	(void)tx;
	metrics_add(d->options.metrics, METRIC_BATCHES_ABANDONED, 1);
	drop_rows(d);
	ledger_abort(d->ledger);
	tally_abort(d->tally);
	recent_clear(d);
	news_free(d->news);
	wake_free(d->wake);
	d->news = NULL;
	d->wake = NULL;
}

static void
on_fatal(void *arg, const struct err *err)
{
	struct domain *d = arg;

	d->options.fatal(d->options.fatal_arg, err);
}

/* ---- adding events ---- */

enum rc
count_accepted(struct tx *tx, bool replayed, struct err *err)
{
	struct domain *d = domain_of(tx);
	enum rc rc;

	rc = need_news(d, err);
	if (rc == RC_OK && replayed)
		d->news->replayed++;
	else if (rc == RC_OK)
		d->news->accepted++;
	return (rc);
}

enum rc
tell_change(struct tx *tx, int64_t sender_id, int64_t mid,
    enum outbox_event event, struct err *err)
{
	struct domain_change change = {sender_id, mid, event};
	struct domain *d = domain_of(tx);
	enum rc rc;

	rc = need_news(d, err);
	return (rc == RC_OK ? news_add_change(d->news, &change, err) : rc);
}

enum rc
wake_lane(struct tx *tx, const struct ledger_lane *lane, int priority,
    struct err *err)
{
	struct domain *d = domain_of(tx);
	enum rc rc;

	rc = need_news(d, err);
	if (rc != RC_OK)
		return (rc);
	if (ledger_lane_remote(lane))
		return (wake_add_destination(
		    d->wake, lane->lane.destination_id, err));
	return (wake_add(d->wake, lane->lane.lane_id, priority, err));
}

enum rc
wait_add(struct tx *tx, const struct ledger_lane *lane,
    const struct store_row *row, int64_t n, struct err *err)
{
	struct tally_key key = {row->sender_id, lane->lane.destination_id};

	if (row->kind != EVENT_MESSAGE)
		return (RC_OK);
	return (tally_wait(domain_of(tx)->tally, &key, n, err));
}

/* A message was accepted: where it stands. */
static void
count_new(struct domain *d, const struct outbox_new *o)
{

	tally_add(d->tally, TOTAL_EVER_ACCEPTED, 1);
	if (o->lane == NULL) {
		tally_add(d->tally, TOTAL_EVER_SENT, 1);
		tally_add(d->tally, TOTAL_EVER_ACKED, 1);
	} else {
		tally_add(d->tally,
		    o->deliver_at != 0 ? TOTAL_SCHEDULED : TOTAL_PENDING, 1);
	}
}

/* A place was given: the lane to another server is ready, and as urgent as
 * what is in it. */
static void
lane_grown(struct domain *d, struct ledger_lane *lane, int priority)
{

	if (!ledger_lane_remote(lane))
		return;
	if (lane->lane.state == LANE_IDLE) {
		lane->lane.state = LANE_READY;
		lane->lane.due_at = 0;
		lane->lane.priority = priority;
	} else if (lane->lane.priority < priority) {
		lane->lane.priority = priority;
	}
	ledger_lane_touch(d->ledger, lane);
}

int64_t
lane_place(struct tx *tx, struct ledger_lane *lane, int priority)
{

	lane_grown(domain_of(tx), lane, priority);
	return (++lane->lane.tail_seq);
}

enum rc
lane_row_gone(struct tx *tx, struct ledger_lane *lane,
    const struct store_row *row, struct err *err)
{

	ledger_lane_fell(domain_of(tx)->ledger, lane, row->priority);
	if (!ledger_lane_remote(lane) || lane->lane.state != LANE_READY ||
	    lane->lane.next_seq != row->lane_seq ||
	    lane->lane.due_at <= tx->now_ms)
		return (RC_OK);
	lane->lane.due_at = 0;
	ledger_lane_touch(domain_of(tx)->ledger, lane);
	return (wake_lane(tx, lane, row->priority, err));
}

/* $1 id … $18 sent_at and acked_at of a row that is born acked. */
enum rc
outbox_add(struct tx *tx, const struct outbox_new *o,
    const struct uuid *event_id, int64_t *ret_id, struct err *err)
{
	struct domain *d = domain_of(tx);
	struct db_val *v;
	int64_t lane_seq;
	enum rc rc;

	rc = need_news(d, err);
	if (rc == RC_OK)
		rc = ledger_next_outbox_id(d->ledger, tx, ret_id, err);
	if (rc == RC_OK)
		rc = store_rows_next(tx->db, &d->outbox, &v, err);
	if (rc != RC_OK)
		return (rc);
	lane_seq = 0;
	if (o->lane != NULL && o->deliver_at == 0) {
		lane_seq = lane_place(tx, o->lane, o->priority);
		rc = wake_lane(tx, o->lane, o->priority, err);
	}
	if (o->kind == EVENT_MESSAGE)
		count_new(d, o);
	if (rc == RC_OK && o->kind == EVENT_MESSAGE && lane_seq != 0)
		rc = tally_wait(d->tally,
		    &(struct tally_key){
			o->sender_id, o->lane->lane.destination_id},
		    1, err);
	v[0] = db_v_i64(*ret_id);
	v[1] = db_v_uuid(event_id);
	v[2] = db_v_i64(o->kind);
	v[3] = db_v_i64(o->mid);
	v[4] = db_v_i64(o->conversation->id);
	v[5] = db_v_i64_or_null(o->conversation_seq, 0);
	v[6] = db_v_i64(o->sender_id);
	v[7] = o->lane != NULL ? db_v_i64(o->lane->lane.lane_id) : DB_V_NULL;
	v[8] = db_v_i64_or_null(lane_seq, 0);
	v[9] = o->lane != NULL && ledger_lane_remote(o->lane)
		   ? db_v_text("server", 6)
		   : db_v_text("user", 4);
	v[10] = db_v_i64(o->dest->user_id);
	v[11] = db_v_i64(o->priority);
	v[12] =
	    o->lane != NULL ? db_v_text("pending", 7) : db_v_text("acked", 5);
	v[13] = db_v_i64_or_null(o->deliver_at, 0);
	v[14] = db_v_i64_or_null(o->expires_at, 0);
	v[15] = db_v_i64(o->event_time);
	v[16] = db_v_i64(tx->now_ms);
	v[17] = o->lane != NULL ? DB_V_NULL : db_v_i64(tx->now_ms);
	return (rc);
}

enum rc
receipt_add(struct tx *tx, const struct receipt_new *r, struct err *err)
{
	struct domain *d = domain_of(tx);
	struct ledger_lane *lane;
	struct outbox_new o;
	struct uuid event_id;
	int64_t id;
	enum rc rc;

	rc = ledger_lane_to(
	    d->ledger, tx, r->conversation, r->to, LANE_RECEIPTS, &lane, err);
	if (rc != RC_OK)
		return (rc);
	id = 0;
	if (lane->lane.next_seq <= lane->lane.tail_seq)
		rc = store_receipt_pending(tx->db, lane->lane.lane_id, r->kind,
		    r->by->user_id, &id, err);
	if (rc != RC_OK)
		return (rc);
	if (id != 0)
		return (store_receipt_move(
		    tx->db, id, r->mid, r->upto, tx->now_ms, err));
	memset(&o, 0, sizeof(o));
	o.kind = r->kind;
	o.mid = r->mid;
	o.conversation = r->conversation;
	o.conversation_seq = r->upto;
	o.sender_id = r->by->user_id;
	o.lane = lane;
	o.dest = r->to;
	o.event_time = tx->now_ms;
	event_id = uuid_gen_next(&d->ids);
	metrics_add(d->options.metrics, METRIC_RECEIPTS, 1);
	rc = outbox_add(tx, &o, &event_id, &id, err);
	/* A later receipt of this batch must find it. */
	if (rc == RC_OK)
		rc = store_rows_write(tx->db, &d->outbox, true, err);
	return (rc);
}

/* ---- life ---- */

enum rc
domain_new(
    const struct domain_options *options, struct domain **ret, struct err *err)
{
	struct domain *d;

	d = mem_zalloc(1, sizeof(*d));
	if (d == NULL)
		return (err_set(err, RC_NO_MEMORY, "domain"));
	d->options = *options;
	d->hooks = (struct writer_hooks){.arg = d,
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
	uuid_gen_init(&d->ids, options->clk, options->rnd);
	recent_clear(d);
	d->ledger = ledger_new(&d->ids);
	d->tally = tally_new();
	d->contended = contended_new();
	d->batch_ids = htab_new(sizeof(struct uuid));
	if (d->ledger == NULL || d->tally == NULL || d->contended == NULL ||
	    d->batch_ids == NULL ||
	    !store_rows_init(&d->messages, STORE_MESSAGE_INSERT, BATCH_ROWS) ||
	    !store_rows_init(&d->outbox, STORE_OUTBOX_INSERT, BATCH_ROWS) ||
	    !store_rows_init(&d->inbox, STORE_INBOX_INSERT, BATCH_ROWS) ||
	    !store_rows_init(&d->sent, STORE_OUTBOX_SETTLE_SENT, BATCH_ROWS) ||
	    !store_rows_init(
		&d->acked, STORE_OUTBOX_SETTLE_ACKED, BATCH_ROWS)) {
		domain_free(d);
		return (err_set(err, RC_NO_MEMORY, "domain"));
	}
	*ret = d;
	return (domain_subscribe(d,
	    &(struct subscriber){
		.arg = d, .changed = on_change, .events = EVENTS_ALL},
	    err));
}

enum rc
domain_subscribe(
    struct domain *d, const struct subscriber *subscriber, struct err *err)
{

	assert(!d->started);
	return (publisher_add(&d->publisher, subscriber, err));
}

enum rc
domain_start(struct domain *d, struct db *db, struct err *err)
{
	struct tx tx = {.db = db};

	d->started = true;
	return (tally_begin(d->tally, &tx, err));
}

void
domain_free(struct domain *d)
{

	if (d == NULL)
		return;
	recent_clear(d);
	ledger_free(d->ledger);
	tally_free(d->tally);
	contended_free(d->contended);
	htab_free(d->batch_ids);
	news_free(d->news);
	wake_free(d->wake);
	store_rows_fini(&d->messages);
	store_rows_fini(&d->outbox);
	store_rows_fini(&d->inbox);
	store_rows_fini(&d->sent);
	store_rows_fini(&d->acked);
	mem_free(d);
}

const struct writer_hooks *
domain_hooks(struct domain *d)
{

	return (&d->hooks);
}
