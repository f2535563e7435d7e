/* SPDX-License-Identifier: MIT */
/*
 * Admin route of the statistics.
 */
#include "admin/routes_internal.h"
#include "base/mem.h"

#define HOUR_MS (3600 * INT64_C(1000))

/* Writes the totals, whose members have other names in the store. */
static void
add_totals(struct buf *b, const struct store_totals *t)
{
	static const struct {
		const char *name;
		enum store_total total;
	} states[] = {{"pending", TOTAL_PENDING},
	    {"scheduled", TOTAL_SCHEDULED}, {"sending", TOTAL_SENDING},
	    {"sent", TOTAL_SENT}, {"failed", TOTAL_FAILED},
	    {"expired", TOTAL_EXPIRED}, {"canceled", TOTAL_CANCELED}},
	  totals[] = {{"accepted", TOTAL_EVER_ACCEPTED},
	      {"sent", TOTAL_EVER_SENT}, {"acked", TOTAL_EVER_ACKED},
	      {"retries", TOTAL_EVER_RETRIED}, {"failed", TOTAL_EVER_FAILED},
	      {"expired", TOTAL_EVER_EXPIRED},
	      {"canceled", TOTAL_EVER_CANCELED},
	      {"requeued", TOTAL_EVER_REQUEUED},
	      {"rescues", TOTAL_EVER_RESCUED}, {"fenced", TOTAL_EVER_FENCED}};
	size_t i;

	jw_member(b, "states");
	buf_addc(b, '{');
	for (i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		jw_int(b, states[i].name, t->n[states[i].total]);
	buf_addc(b, '}');
	jw_member(b, "totals");
	buf_addc(b, '{');
	for (i = 0; i < sizeof(totals) / sizeof(totals[0]); i++)
		jw_int(b, totals[i].name, t->n[totals[i].total]);
	buf_addc(b, '}');
	jw_int(b, "total_retries", t->n[TOTAL_EVER_RETRIED]);
}

/* Writes ${part} of ${whole} as a fraction with four digits. */
static void
add_share(struct buf *b, const char *name, int64_t part, int64_t whole)
{
	double share = whole > 0 ? (double)part / (double)whole : 0;

	jw_member(b, name);
	buf_addf(b, "%.4f", share);
}

static void
add_ages(struct buf *b, const struct inspect_stats *s, int64_t now_ms)
{
	int64_t retries;

	if (s->oldest_at != 0)
		jw_int(b, "oldest_pending_age_ms",
		    now_ms > s->oldest_at ? now_ms - s->oldest_at : 0);
	else
		jw_null(b, "oldest_pending_age_ms");
	jw_int(b, "stuck_sending", s->stuck_sending);
	jw_int(b, "near_failure", s->near_failure);
	if (s->latency_count > 0)
		jw_int(
		    b, "average_latency_ms", s->latency_ms / s->latency_count);
	else
		jw_null(b, "average_latency_ms");
	retries = s->totals.n[TOTAL_EVER_RETRIED];
	add_share(
	    b, "retry_rate", retries, s->totals.n[TOTAL_EVER_SENT] + retries);
}

static void
add_machine(struct buf *b, struct admin *admin, const struct relay_stats *relay)
{
	struct writer_stats w = writer_stats_get(admin->o.writer);

	jw_member(b, "relay");
	buf_addc(b, '{');
	if (relay->last_turn_ms != 0)
		jw_int(b, "last_turn_age_ms",
		    clk_mono_ms(admin->o.clk) - relay->last_turn_ms);
	else
		jw_null(b, "last_turn_age_ms");
	jw_int(b, "in_flight", (int64_t)relay->in_flight);
	buf_addc(b, '}');
	jw_int(b, "wal_bytes", w.log_bytes);
	jw_member(b, "queues");
	buf_addc(b, '{');
	jw_int(b, "writer_waiting", (int64_t)writer_waiting(admin->o.writer));
	buf_addc(b, '}');
	jw_member(b, "limits");
	buf_addc(b, '{');
	jw_int(b, "max_pending", admin->o.max_pending);
	jw_int(b, "max_pending_total", admin->o.max_pending_total);
	buf_addc(b, '}');
}

struct relay_stats *
admin_relay(struct admin *admin)
{
	struct relay_stats *stats = mem_zalloc(1, sizeof(*stats));

	if (stats != NULL && admin->o.relay != NULL)
		relay_stats(admin->o.relay, stats);
	return (stats);
}

static enum rc
read_stats(struct call *call, struct db *db, struct err *err)
{
	struct admin *admin = admin_of(call);
	int64_t now_ms = clk_wall_ms(admin->o.clk);
	struct relay_stats *relay;
	struct buf b = BUF_INIT;
	struct inspect_stats s;
	enum rc rc;

	rc = inspect_stats(db, now_ms - ADMIN_STUCK_MS,
	    admin->o.max_retries - ADMIN_NEAR_FAILURE, now_ms - HOUR_MS, &s,
	    err);
	if (rc != RC_OK)
		return (rc);
	if ((relay = admin_relay(admin)) == NULL)
		return (err_set(err, RC_NO_MEMORY, "admin"));
	buf_addc(&b, '{');
	jw_time(&b, "at", now_ms);
	add_totals(&b, &s.totals);
	jw_int(&b, "dead_letters_open", s.dead_open);
	add_ages(&b, &s, now_ms);
	add_machine(&b, admin, relay);
	jw_member(&b, "alerts");
	alerts_write(admin->alerts, &b);
	buf_addc(&b, '}');
	mem_free(relay);
	call_json(call, 200, &b);
	buf_fini(&b);
	return (RC_OK);
}

void
admin_stats_get(struct http_request *req, void *arg)
{
	static const char *const allowed[] = {NULL};
	struct call *call;

	if ((call = call_new(arg, req, sizeof(*call))) != NULL &&
	    call_query_check(call, allowed))
		call_read(call, read_stats);
}
