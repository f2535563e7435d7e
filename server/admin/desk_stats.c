/* SPDX-License-Identifier: MIT */
/*
 * The desk's figures.
 */
#include "admin/desk_internal.h"
#include "domain/entry.h"

#define HOUR_MS (3600 * INT64_C(1000))

static void
add_states(struct buf *b, const struct desk_stats *s)
{

	jw_member(b, "states");
	buf_addc(b, '{');
	jw_int(b, "pending", s->pending);
	jw_int(b, "scheduled", s->scheduled);
	jw_int(b, "sending", s->sending);
	jw_int(b, "sent", s->sent);
	jw_int(b, "failed", s->failed);
	jw_int(b, "expired", s->expired);
	jw_int(b, "canceled", s->canceled);
	buf_addc(b, '}');
	jw_member(b, "totals");
	buf_addc(b, '{');
	jw_int(b, "accepted", s->accepted_total);
	jw_int(b, "sent", s->sent_total);
	jw_int(b, "acked", s->acked_total);
	jw_int(b, "retries", s->retries_total);
	jw_int(b, "failed", s->failed_total);
	jw_int(b, "expired", s->expired_total);
	jw_int(b, "canceled", s->canceled_total);
	jw_int(b, "requeued", s->requeued_total);
	jw_int(b, "rescues", s->rescues_total);
	jw_int(b, "fenced", s->fenced_total);
	buf_addc(b, '}');
	jw_int(b, "total_retries", s->retries_total);
}

/* A share with four digits. */
static void
add_share(struct buf *b, const char *name, int64_t part, int64_t whole)
{
	double share = whole > 0 ? (double)part / (double)whole : 0;

	jw_member(b, name);
	buf_addf(b, "%.4f", share);
}

static void
add_ages(struct buf *b, const struct desk_stats *s, int64_t now_ms)
{

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
	add_share(b, "retry_rate", s->retries_total,
	    s->sent_total + s->retries_total);
}

static void
add_machine(struct buf *b, struct admin *admin)
{
	struct writer_stats w = writer_stats_get(admin->o.writer);

	jw_member(b, "relay");
	buf_addc(b, '{');
	jw_null(b, "last_turn_age_ms");
	jw_int(b, "in_flight", 0);
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

static enum rc
read_stats(struct ask *ask, struct db *db, struct err *err)
{
	struct admin *admin = api_admin(ask->api);
	int64_t now_ms = clk_wall_ms(admin->o.clk);
	struct buf b = BUF_INIT;
	struct desk_stats s;
	enum rc rc;

	rc = store_desk_stats(db, now_ms - DESK_STUCK_MS,
	    ENTRY_MAX_RETRIES - DESK_NEAR_FAILURE, now_ms - HOUR_MS, &s, err);
	if (rc != RC_OK)
		return (rc);
	buf_addc(&b, '{');
	jw_time(&b, "at", now_ms);
	add_states(&b, &s);
	jw_int(&b, "dead_letters_open", s.dead_open);
	add_ages(&b, &s, now_ms);
	add_machine(&b, admin);
	buf_addc(&b, '}');
	ask_json(ask, 200, &b);
	buf_fini(&b);
	return (RC_OK);
}

void
desk_stats_get(struct http_request *req, void *arg)
{
	static const char *const allowed[] = {NULL};
	struct ask *ask;

	if ((ask = ask_new(arg, req, sizeof(*ask))) != NULL &&
	    ask_query_check(ask, allowed))
		ask_read(ask, read_stats);
}
