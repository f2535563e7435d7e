/* SPDX-License-Identifier: MIT */
/*
 * The alerts: each is a line of ALERTS_TABLE and a function that returns
 * whether its condition holds, and writes the reason for operators.  The
 * monotonic clock measures how long a condition has held.  The wall clock gives
 * the time at which the condition began, for display, and the age of a message
 * that is being sent (stuck_sending()); and check_clock() compares the two
 * clocks.
 */
#include "admin/alerts.h"
#include "base/lock.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "log/log.h"
#include "wire/json.h"

#define TEXT_SIZE 1536
/* One mark per minute for the last hour. */
#define MARKS 60
#define HOUR_MS (60 * ALERTS_MINUTE_MS)

static const struct {
	const char *name;
	enum alert_severity severity;
	int64_t hold_ms;
} table[ALERT_COUNT] = {
#define X(id, name, severity, hold_ms) {name, severity, hold_ms},
    ALERTS_TABLE(X)
#undef X
};

static const char *const severities[] = {"warning", "error", "critical"};

struct one {
	bool holds;       /* the condition, at the last evaluation */
	bool raised;      /* the condition has held for hold_ms */
	int64_t begin_ms; /* monotonic: start of the condition */
	int64_t since_ms; /* wall clock: the same */
	char text[TEXT_SIZE];
};

/* The sums at one time. */
struct mark {
	int64_t at_ms; /* monotonic */
	int64_t sent, retries, delivered, delivered_us;
};

/* A destination whose circuit breaker is not closed.  since_ms is monotonic:
 * the time of the first evaluation of the current unbroken series that found
 * the breaker not closed. */
struct open_breaker {
	int64_t destination_id;
	int64_t since_ms;
};

struct alerts {
	const struct clk *clk;
	struct metrics *metrics;

	/* Used by the evaluating thread only. */
	struct mark marks[MARKS];
	size_t nmarks; /* made so far; the last MARKS are kept */
	struct open_breaker open[GAUGES_DESTINATIONS];
	size_t nopen;
	int64_t offset_ms; /* wall clock minus monotonic clock */
	bool evaluated;

	struct lock lock; /* protects what follows */
	struct one one[ALERT_COUNT];
	struct alerts_rates rates;
};

struct alerts *
alerts_new(const struct clk *clk, struct metrics *m)
{
	struct alerts *a;

	if ((a = mem_zalloc(1, sizeof(*a))) == NULL)
		return (NULL);
	a->clk = clk;
	a->metrics = m;
	a->rates.latency_ms = -1;
	lock_init(&a->lock, LOCK_ALERTS);
	return (a);
}

void
alerts_free(struct alerts *a)
{

	if (a == NULL)
		return;
	lock_fini(&a->lock);
	mem_free(a);
}

/* ---- the last hour ---- */

/* Compares the sums in ${now} with an earlier mark (the sums at an earlier
 * evaluation): the oldest mark that is kept and at most an hour old or, if all
 * are older, the newest mark.  Returns the time between the mark and ${now},
 * the growth of the sums, and the average time of the deliveries between (-1:
 * no delivery).  Without a mark, window_ms and the growth are 0.  Then stores
 * ${now} as a mark, if there is no mark that is less than a minute old. */
static struct alerts_rates
last_hour(struct alerts *a, const struct mark *now)
{
	struct alerts_rates r = {.latency_ms = -1};
	const struct mark *m, *oldest = now;
	size_t i;

	for (i = a->nmarks < MARKS ? 0 : a->nmarks - MARKS; i < a->nmarks;
	     i++) {
		m = &a->marks[i % MARKS];
		if (now->at_ms - m->at_ms <= HOUR_MS) {
			oldest = m;
			break;
		}
	}
	/* With evaluations an hour apart no mark is younger than that. */
	if (oldest == now && a->nmarks > 0)
		oldest = &a->marks[(a->nmarks - 1) % MARKS];
	r.window_ms = now->at_ms - oldest->at_ms;
	r.sent = now->sent - oldest->sent;
	r.retries = now->retries - oldest->retries;
	r.delivered = now->delivered - oldest->delivered;
	if (r.delivered > 0)
		r.latency_ms = (now->delivered_us - oldest->delivered_us) /
			       r.delivered / 1000;
	if (a->nmarks == 0 ||
	    now->at_ms - a->marks[(a->nmarks - 1) % MARKS].at_ms >=
		ALERTS_MINUTE_MS)
		a->marks[a->nmarks++ % MARKS] = *now;
	return (r);
}

/* ---- conditions ---- */

/* The input of a condition, and the buffer for its reason. */
struct judging {
	struct alerts *alerts;
	const struct alerts_input *input;
	const struct alerts_rates *rates;
	int64_t mono_ms, wall_ms;
	char *text; /* of TEXT_SIZE bytes */
};

static bool
depth_high(const struct judging *j)
{
	int64_t n = j->input->gauges->totals.pending;

	(void)snprintf(j->text, TEXT_SIZE, "%lld messages wait for delivery",
	    (long long)n);
	return (n > ALERTS_DEPTH);
}

static bool
backlog(const struct judging *j)
{
	int64_t n = j->input->gauges->totals.pending;

	(void)snprintf(j->text, TEXT_SIZE,
	    "%lld messages have been waiting for delivery", (long long)n);
	return (n > ALERTS_BACKLOG);
}

static bool
failed(const struct judging *j)
{
	const struct gauges_dead *d = &j->input->gauges->dead;

	(void)snprintf(j->text, TEXT_SIZE,
	    "%s%lld dead letters are unresolved: %lld rejected, %lld out "
	    "of retries, %lld expired, %lld for other reasons",
	    d->all < GAUGES_ROWS ? "" : "at least ", (long long)d->all,
	    (long long)d->rejected, (long long)d->max_retries,
	    (long long)d->expired,
	    (long long)(d->all - d->rejected - d->max_retries - d->expired));
	return (d->all > 0);
}

static bool
failed_many(const struct judging *j)
{

	(void)failed(j); /* writes the same reason */
	return (j->input->gauges->dead.all > ALERTS_FAILED_MANY);
}

static bool
stuck_sending(const struct judging *j)
{
	int64_t at = j->input->gauges->oldest_sending_at;
	int64_t age = at == 0 ? 0 : j->wall_ms - at;

	(void)snprintf(j->text, TEXT_SIZE,
	    "a message has been in the state sending for %lld minutes",
	    (long long)(age / ALERTS_MINUTE_MS));
	return (age > ALERTS_STUCK_MS);
}

static bool
delivery_slow(const struct judging *j)
{

	(void)snprintf(j->text, TEXT_SIZE,
	    "%lld messages of the last hour took %lld s on the average",
	    (long long)j->rates->delivered,
	    (long long)(j->rates->latency_ms / 1000));
	return (j->rates->latency_ms > ALERTS_SLOW_MS);
}

static bool
retry_rate_high(const struct judging *j)
{
	int64_t retries = j->rates->retries;
	int64_t all = j->rates->sent + retries;

	(void)snprintf(j->text, TEXT_SIZE,
	    "%lld of %lld attempts of the last hour have failed",
	    (long long)retries, (long long)all);
	return (retries * 100 > all * ALERTS_RETRY_PERCENT);
}

/* Called for a destination whose breaker is not closed now.  Returns the
 * monotonic time of the first evaluation of the unbroken series that found the
 * breaker not closed; this is ${now_ms} if the previous evaluation found the
 * breaker closed or did not list the destination. */
static int64_t
open_since(const struct alerts *a, int64_t destination_id, int64_t now_ms)
{
	size_t i;

	for (i = 0; i < a->nopen; i++)
		if (a->open[i].destination_id == destination_id)
			return (a->open[i].since_ms);
	return (now_ms);
}

static bool
breaker_open(const struct judging *j)
{
	const struct gauges *f = j->input->gauges;
	const struct gauges_destination *first = NULL;
	struct alerts *a = j->alerts;
	struct open_breaker open[GAUGES_DESTINATIONS];
	size_t i, n = 0, late = 0;

	for (i = 0; i < f->n; i++) {
		if (f->list[i].breaker == GAUGES_CLOSED)
			continue;
		open[n].destination_id = f->list[i].destination_id;
		open[n].since_ms =
		    open_since(a, f->list[i].destination_id, j->mono_ms);
		if (j->mono_ms - open[n++].since_ms <= ALERTS_BREAKER_MS)
			continue;
		if (late++ == 0)
			first = &f->list[i];
	}
	memcpy(a->open, open, n * sizeof(open[0]));
	a->nopen = n;
	if (first != NULL)
		(void)snprintf(j->text, TEXT_SIZE,
		    "%zu servers have not answered for more than 10 minutes, "
		    "among them %.128s",
		    late, first->name);
	return (late > 0);
}

static bool
relay_silent(const struct judging *j)
{

	(void)snprintf(j->text, TEXT_SIZE,
	    "the relay has not turned for %lld s",
	    (long long)(j->input->relay_age_ms / 1000));
	return (j->input->relay_age_ms > ALERTS_SILENT_MS);
}

static bool
log_large(const struct judging *j)
{

	(void)snprintf(j->text, TEXT_SIZE, "the write-ahead log holds %lld MiB",
	    (long long)(j->input->log_bytes >> 20));
	return (j->input->log_bytes > ALERTS_LOG_BYTES);
}

/* ---- other servers ---- */

/* Appends to the reason. */
static void append(const struct judging *j, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void
append(const struct judging *j, const char *fmt, ...)
{
	const size_t n = strlen(j->text);
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(j->text + n, TEXT_SIZE - n, fmt, ap);
	va_end(ap);
}

/* Appends how many servers there are in addition to the one that was named. */
static void
append_others(const struct judging *j, size_t all)
{

	if (all > 1)
		append(j, "; the same of %zu more", all - 1);
}

static bool
peer_keys_changed(const struct judging *j)
{
	const struct peer_changes *c = j->input->changes;

	if (c->keys == 0)
		return (false);
	(void)snprintf(j->text, TEXT_SIZE,
	    "%s has other keys: %s; look at them with: twinbox admin peers "
	    "show %s",
	    c->keys_domain, c->keys_detail, c->keys_domain);
	append_others(j, c->keys);
	return (true);
}

static bool
peer_restored(const struct judging *j)
{
	const struct peer_changes *c = j->input->changes;
	size_t i;

	if (c->restored == 0)
		return (false);
	(void)snprintf(j->text, TEXT_SIZE,
	    "%s was restored from a backup and may have lost what was sent to "
	    "it; if you know the time of the backup: twinbox admin rewind %s "
	    "--since TIME; if not, ",
	    c->restored_domain, c->restored_domain);
	if (c->nlanes > 0)
		append(j, "offer its lanes again with:");
	else
		append(j,
		    "look at its lanes with: twinbox admin lanes "
		    "--destination %s",
		    c->restored_domain);
	for (i = 0; i < c->nlanes && i < PEER_CHANGES_NAMED; i++)
		append(j, "%s twinbox admin rewind %lld %lld",
		    i == 0 ? "" : ";", (long long)c->lanes[i].lane_id,
		    (long long)c->lanes[i].seq);
	if (c->nlanes > i)
		append(j, "; and %zu more lanes", c->nlanes - i);
	if (c->more)
		append(j, "; there are too many lanes to check all of them");
	append_others(j, c->restored);
	return (true);
}

static bool
peer_clock_off(const struct judging *j)
{
	const struct alerts_clocks *c = &j->input->clocks;
	int64_t seconds = c->ahead_ms / 1000;

	if (c->n == 0)
		return (false);
	(void)snprintf(j->text, TEXT_SIZE,
	    "the clock of %s is %lld s %s the one here", c->domain,
	    (long long)(seconds < 0 ? -seconds : seconds),
	    seconds < 0 ? "behind" : "ahead of");
	append_others(j, c->n);
	return (true);
}

static bool (*const conditions[ALERT_COUNT])(const struct judging *) = {
    [ALERT_DEPTH_HIGH] = depth_high,
    [ALERT_BACKLOG] = backlog,
    [ALERT_FAILED] = failed,
    [ALERT_FAILED_MANY] = failed_many,
    [ALERT_STUCK_SENDING] = stuck_sending,
    [ALERT_DELIVERY_SLOW] = delivery_slow,
    [ALERT_RETRY_RATE_HIGH] = retry_rate_high,
    [ALERT_BREAKER_OPEN] = breaker_open,
    [ALERT_RELAY_SILENT] = relay_silent,
    [ALERT_LOG_LARGE] = log_large,
    [ALERT_PEER_KEYS_CHANGED] = peer_keys_changed,
    [ALERT_PEER_RESTORED] = peer_restored,
    [ALERT_PEER_CLOCK_OFF] = peer_clock_off,
};

/* ---- an evaluation ---- */

static void
tell_raised(enum alert id, const struct one *one)
{

	log_event(table[id].severity == ALERT_WARNING ? LOG_EV_ALERT_WARNING
						      : LOG_EV_ALERT_ERROR,
	    "%s severity=%s text=%s", table[id].name,
	    severities[table[id].severity], one->text);
}

static void
tell_cleared(enum alert id, int64_t begin_ms, int64_t now_ms)
{

	log_event(LOG_EV_ALERT_CLEARED, "%s seconds=%lld", table[id].name,
	    (long long)((now_ms - begin_ms) / 1000));
}

/* Updates the state of one alert.  Logs it when it is raised or cleared. */
static void
judge(struct alerts *a, enum alert id, const struct judging *j)
{
	struct one *one = &a->one[id];
	bool holds = conditions[id](j);

	if (holds && !one->holds) {
		one->begin_ms = j->mono_ms;
		one->since_ms = j->wall_ms;
	}
	if (!holds && one->raised)
		tell_cleared(id, one->begin_ms, j->mono_ms);
	one->holds = holds;
	if (!holds) {
		one->raised = false;
		return;
	}
	memcpy(one->text, j->text, TEXT_SIZE);
	if (!one->raised && j->mono_ms - one->begin_ms >= table[id].hold_ms) {
		one->raised = true;
		tell_raised(id, one);
	}
}

/* Counts and logs a jump of the wall clock, which makes ages and due times
 * wrong: the wall clock minus the monotonic clock has changed by more than
 * ALERTS_JUMP_MS, up or down, since the previous evaluation.  The first
 * evaluation only stores this difference. */
static void
check_clock(struct alerts *a, int64_t wall_ms, int64_t mono_ms)
{
	int64_t moved = wall_ms - mono_ms - a->offset_ms;

	if (a->evaluated &&
	    (moved > ALERTS_JUMP_MS || moved < -ALERTS_JUMP_MS)) {
		metrics_add(a->metrics, METRIC_CLOCK_JUMPS, 1);
		log_event(LOG_EV_CLOCK_JUMP, "moved_ms=%lld", (long long)moved);
	}
	a->offset_ms += moved;
	a->evaluated = true;
}

void
alerts_evaluate(struct alerts *a, const struct alerts_input *input)
{
	struct judging j = {.alerts = a,
	    .input = input,
	    .mono_ms = clk_mono_ms(a->clk),
	    .wall_ms = clk_wall_ms(a->clk)};
	struct mark now = {.at_ms = j.mono_ms,
	    .sent = input->gauges->totals.sent_total,
	    .retries = input->gauges->totals.retries_total,
	    .delivered = input->delivered,
	    .delivered_us = input->delivered_us};
	char text[TEXT_SIZE] = "";
	int id;

	check_clock(a, j.wall_ms, j.mono_ms);
	j.text = text;
	lock_take(&a->lock);
	a->rates = last_hour(a, &now);
	j.rates = &a->rates;
	for (id = 0; id < (int)ALERT_COUNT; id++)
		judge(a, (enum alert)id, &j);
	lock_drop(&a->lock);
}

/* ---- showing ---- */

void
alerts_write(struct alerts *a, struct buf *out)
{
	const struct one *one;
	int id;

	buf_addc(out, '[');
	lock_take(&a->lock);
	for (id = 0; id < (int)ALERT_COUNT; id++) {
		one = &a->one[id];
		if (!one->raised)
			continue;
		jw_comma(out);
		buf_addc(out, '{');
		jw_str(out, "name", table[id].name);
		jw_str(out, "severity", severities[table[id].severity]);
		jw_time(out, "since", one->since_ms);
		jw_str(out, "text", one->text);
		buf_addc(out, '}');
	}
	lock_drop(&a->lock);
	buf_addc(out, ']');
}

void
alerts_metrics_write(struct alerts *a, struct buf *out)
{
	struct metric_label labels[2] = {{"alert", ""}, {"severity", ""}};
	bool raised[ALERT_COUNT];
	int id;

	lock_take(&a->lock);
	for (id = 0; id < (int)ALERT_COUNT; id++)
		raised[id] = a->one[id].raised;
	lock_drop(&a->lock);
	metrics_family(out, "alert", METRIC_GAUGE,
	    "1 while the server itself raises this alert");
	for (id = 0; id < (int)ALERT_COUNT; id++) {
		labels[0].value = table[id].name;
		labels[1].value = severities[table[id].severity];
		metrics_sample(out, "alert", labels, 2, raised[id] ? 1 : 0);
	}
}

void
alerts_rates(struct alerts *a, struct alerts_rates *ret)
{

	lock_take(&a->lock);
	*ret = a->rates;
	lock_drop(&a->lock);
}
