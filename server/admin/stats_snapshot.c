/* SPDX-License-Identifier: MIT */
/*
 * The snapshot of statistics for GET /metrics and for the alerts: the gauges of
 * the store, the statistics of the relay, the size of the database's log, and
 * readiness.  Taking it also copies the statistics that are counted outside of
 * this module into struct metrics.  stats_snapshot_metrics_write() appends, to
 * the text of GET /metrics, the metrics that are not in struct metrics: some
 * from the snapshot, and those of the alerts.
 */
#include <stddef.h>
#include <string.h>

#include "admin/admin_internal.h"
#include "base/lock.h"
#include "log/log.h"

/* ---- taking a snapshot ---- */

/* Raises counter ${id} to ${value}.  Under the lock. */
static void
catch_up(struct metrics *m, enum metric id, int64_t value)
{

	metrics_add(m, id, value - metrics_get(m, id));
}

void
stats_snapshot_totals(struct metrics *m, const struct gauges_totals *t)
{

	metrics_set(m, METRIC_OUTBOX_PENDING, t->pending);
	metrics_set(m, METRIC_OUTBOX_SCHEDULED, t->scheduled);
	metrics_set(m, METRIC_OUTBOX_SENDING, t->sending);
	metrics_set(m, METRIC_OUTBOX_SENT_NOW, t->sent);
	metrics_set(m, METRIC_OUTBOX_FAILED_NOW, t->failed);
	metrics_set(m, METRIC_OUTBOX_EXPIRED_NOW, t->expired);
	catch_up(m, METRIC_OUTBOX_SENT, t->sent_total);
	catch_up(m, METRIC_OUTBOX_ACKED, t->acked_total);
	catch_up(m, METRIC_OUTBOX_RETRIES, t->retries_total);
	catch_up(m, METRIC_OUTBOX_EXPIRED, t->expired_total);
	catch_up(m, METRIC_OUTBOX_CANCELED, t->canceled_total);
	catch_up(m, METRIC_OUTBOX_REQUEUED, t->requeued_total);
	catch_up(m, METRIC_OUTBOX_RESCUES, t->rescues_total);
	catch_up(m, METRIC_OUTBOX_FENCED, t->fenced_total);
}

/* Copies the statistics that are counted outside of this module into the
 * metrics. */
static void
update_metrics(struct admin *admin, const struct stats_snapshot *s)
{
	struct metrics *m = admin->o.metrics;
	struct writer_stats w = writer_stats_get(admin->o.writer);
	int64_t sending_ms = 0;

	if (s->gauges.oldest_sending_at != 0)
		sending_ms =
		    clk_wall_ms(admin->o.clk) - s->gauges.oldest_sending_at;
	lock_take(&admin->lock);
	stats_snapshot_totals(m, &s->gauges.totals);
	metrics_set(m, METRIC_OUTBOX_OLDEST_SENDING, sending_ms / 1000);
	metrics_set(m, METRIC_LANES_READY, s->gauges.lanes_ready);
	metrics_set(m, METRIC_WAL_BYTES, s->log_bytes);
	metrics_set(m, METRIC_RELAY_TURN,
	    s->relay_age_ms < 0 ? 0 : s->relay_age_ms / 1000);
	metrics_set(m, METRIC_RELAY_IN_FLIGHT, (int64_t)s->relay.in_flight);
	metrics_set(m, METRIC_UNITS_DEFERRED, (int64_t)w.deferred);
	catch_up(m, METRIC_BATCH_UNITS, (int64_t)w.units);
	catch_up(m, METRIC_BATCHES_ABANDONED, (int64_t)w.abandoned);
	catch_up(m, METRIC_CHECKPOINTS, (int64_t)w.checkpoints);
	catch_up(m, METRIC_LOG_DROPPED, (int64_t)log_dropped());
	lock_drop(&admin->lock);
}

enum rc
stats_snapshot_take(struct admin *admin, struct db *db,
    struct stats_snapshot *ret, struct err *err)
{
	const struct admin_options *o = &admin->o;
	const char *why;
	enum rc rc;

	memset(ret, 0, sizeof(*ret));
	if ((rc = gauges_read(db, &ret->gauges, err)) != RC_OK)
		return (rc);
	if (o->relay != NULL)
		relay_stats(o->relay, &ret->relay);
	ret->relay_age_ms = -1;
	if (ret->relay.last_turn_ms != 0)
		ret->relay_age_ms =
		    clk_mono_ms(o->clk) - ret->relay.last_turn_ms;
	ret->log_bytes = writer_stats_get(o->writer).log_bytes;
	ret->ready = o->ready(o->ready_arg, &why);
	update_metrics(admin, ret);
	return (RC_OK);
}

/* ---- writing it ---- */

static void
write_one(struct buf *out, const char *name, const char *help, int64_t value)
{

	metrics_family(out, name, METRIC_GAUGE, help);
	metrics_sample(out, name, NULL, 0, value);
}

static void
write_dead(const struct gauges_dead *d, struct buf *out)
{
	const struct {
		const char *reason;
		int64_t n;
	} rows[] = {{"max_retries", d->max_retries}, {"rejected", d->rejected},
	    {"expired", d->expired}, {"poison", d->poison},
	    {"too_large", d->too_large},
	    {"other", d->all - d->max_retries - d->rejected - d->expired -
			  d->poison - d->too_large}};
	struct metric_label label = {.name = "reason"};
	size_t i;

	metrics_family(out, "outbox_dead_letters", METRIC_GAUGE,
	    "Dead letters that nobody has dealt with, by reason; at most "
	    "10000 are counted");
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		label.value = rows[i].reason;
		metrics_sample(
		    out, "outbox_dead_letters", &label, 1, rows[i].n);
	}
}

static void
write_breakers(const struct gauges *g, struct buf *out)
{
	struct metric_label labels[2] = {{"destination", ""}, {"state", ""}};
	size_t i;
	int b;

	metrics_family(out, "destination_breaker", METRIC_GAUGE,
	    "1 for the state that the breaker is in; destinations with "
	    "trouble first, 100 at most");
	for (i = 0; i < g->n; i++) {
		if (g->list[i].destination_id == 0)
			continue; /* "*" stands for all destinations */
		labels[0].value = g->list[i].name;
		for (b = 0; b < (int)GAUGES_BREAKERS; b++) {
			labels[1].value =
			    gauges_breaker_word((enum gauges_breaker)b);
			metrics_sample(out, "destination_breaker", labels, 2,
			    (int)g->list[i].breaker == b ? 1 : 0);
		}
	}
}

/* Returns the statistics of ${destination_id} from ${r}, the relay's part of
 * the snapshot.  If ${r} does not contain the destination (most destinations
 * without messages are left out), all members of the result but destination_id
 * are 0. */
static struct core_destination
relay_of(const struct relay_stats *r, int64_t destination_id)
{
	size_t i;

	for (i = 0; i < r->n; i++)
		if (r->destinations[i].destination_id == destination_id)
			return (r->destinations[i]);
	return ((struct core_destination){.destination_id = destination_id});
}

enum gauge { PENDING_ROWS, OLDEST_SECONDS, WINDOW, IN_FLIGHT, PAUSED };

static int64_t
gauge_of(const struct stats_snapshot *s, const struct gauges_destination *d,
    enum gauge gauge, int64_t wall_ms)
{

	switch (gauge) {
	case PENDING_ROWS:
		return (d->pending_rows);
	case OLDEST_SECONDS:
		if (d->oldest_at == 0 || d->oldest_at > wall_ms)
			return (0);
		return ((wall_ms - d->oldest_at) / 1000);
	case WINDOW:
		return (relay_of(&s->relay, d->destination_id).window);
	case IN_FLIGHT:
		return (relay_of(&s->relay, d->destination_id).in_flight);
	case PAUSED:
		break;
	}
	return (d->paused ? 1 : 0);
}

static void
write_destinations(
    const struct stats_snapshot *s, int64_t wall_ms, struct buf *out)
{
	static const struct {
		enum gauge gauge;
		const char *name, *help;
	} rows[] = {
	    {PENDING_ROWS, "outbox_pending_rows",
		"Outbox rows (receipts, too) that wait for a destination, in "
		"its first 1000 lanes; of those for inboxes here at most "
		"10000 are counted"},
	    {OLDEST_SECONDS, "outbox_oldest_pending_seconds",
		"Since when the oldest of them waits: the oldest head of its "
		"first 1000 lanes, those first that are due first"},
	    {WINDOW, "destination_window",
		"Requests that may be under way to a destination"},
	    {IN_FLIGHT, "destination_in_flight",
		"Requests that are under way to a destination"},
	    {PAUSED, "destination_paused",
		"1 while an operator holds it; \"*\" holds all of them"},
	};
	struct metric_label label = {.name = "destination"};
	const struct gauges *g = &s->gauges;
	size_t i, k;

	for (k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
		metrics_family(out, rows[k].name, METRIC_GAUGE, rows[k].help);
		for (i = 0; i < g->n; i++) {
			if (g->list[i].destination_id == 0 &&
			    rows[k].gauge != PAUSED)
				continue;
			label.value = g->list[i].name;
			metrics_sample(out, rows[k].name, &label, 1,
			    gauge_of(s, &g->list[i], rows[k].gauge, wall_ms));
		}
	}
}

void
stats_snapshot_metrics_write(const struct admin *admin,
    const struct stats_snapshot *snapshot, struct buf *out)
{
	struct metric_label version = {"version", admin->o.version};
	int64_t wall_ms = clk_wall_ms(admin->o.clk);

	metrics_family(out, "build_info", METRIC_GAUGE, "The version; 1");
	metrics_sample(out, "build_info", &version, 1, 1);
	write_one(out, "ready", "1 while it serves, as /readyz says",
	    snapshot->ready ? 1 : 0);
	write_one(out, "time_seconds", "Its wall clock, in seconds since 1970",
	    wall_ms / 1000);
	write_one(out, "destinations", "Destinations that it knows",
	    snapshot->gauges.destinations);
	write_dead(&snapshot->gauges.dead, out);
	write_breakers(&snapshot->gauges, out);
	write_destinations(snapshot, wall_ms, out);
	alerts_metrics_write(admin->alerts, out);
}
