/* SPDX-License-Identifier: MIT */
/*
 * Writes a message as JSON for operators: its outbox rows, each with its
 * attempts and with a timeline, which lists the steps of the row in the order
 * of their times.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admin/routes_internal.h"
#include "base/mem.h"
#include "model/outbox.h"
#include "store/message.h"

#define ROWS_MAX 256
/* The most steps of one row's timeline: two for each attempt (begin and end),
 * two for each dead letter (death and resolution), and 8 for the rest. */
#define STEPS_MAX (2 * ADMIN_ATTEMPTS + 2 * ADMIN_DEAD_LETTERS + 8)

struct step {
	int64_t at;
	int order, place; /* order of steps with the same time */
	const char *event;
	size_t detail, detail_len; /* in details; length 0: none */
};

struct showing {
	struct step steps[STEPS_MAX];
	int nsteps;
	struct buf details;
	struct buf attempts;
	size_t ends[ADMIN_ATTEMPTS + 1]; /* ends in attempts, newest first */
	int nattempts;
	bool died; /* a dead letter has its end */
	struct buf *out;
};

/* ---- the timeline ---- */

/* Returns the order of events that have the same time, as clocks are coarse. */
static int
rank_of(const char *event)
{
	static const char *const order[] = {"accepted", "scheduled", "requeued",
	    "attempt", "outcome", "sent", "acked", "read"};
	int i, n = (int)(sizeof(order) / sizeof(order[0]));

	for (i = 0; i < n && strcmp(order[i], event) != 0; i++)
		;
	/* Then the ends of a row, and last that an operator discarded it. */
	return (strcmp(event, "discarded") == 0 ? n + 1 : i);
}

/* Adds a step, unless ${at} is 0 or the timeline is full.  Its detail is the
 * concatenation of the texts up to NULL. */
static void __attribute__((sentinel))
add_step(struct showing *s, int64_t at, const char *event, ...)
{
	struct step *step = &s->steps[s->nsteps];
	const char *text;
	va_list ap;

	if (at == 0 || s->nsteps == STEPS_MAX)
		return;
	step->at = at;
	step->order = rank_of(event);
	step->place = s->nsteps++;
	step->event = event;
	step->detail = s->details.len;
	va_start(ap, event);
	while ((text = va_arg(ap, const char *)) != NULL)
		buf_adds(&s->details, text);
	va_end(ap);
	step->detail_len = s->details.len - step->detail;
}

static int
compare_steps(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	if (x->at != y->at)
		return (x->at < y->at ? -1 : 1);
	if (x->order != y->order)
		return (x->order - y->order);
	return (x->place - y->place);
}

static void
write_timeline(struct showing *s)
{
	const struct step *step;
	struct buf *b = s->out;
	int i;

	qsort(s->steps, (size_t)s->nsteps, sizeof(s->steps[0]), compare_steps);
	jw_member(b, "timeline");
	buf_addc(b, '[');
	for (i = 0; i < s->nsteps && buf_ok(&s->details); i++) {
		step = &s->steps[i];
		jw_comma(b);
		buf_addc(b, '{');
		jw_time(b, "at", step->at);
		jw_str(b, "event", step->event);
		jw_strn(b, "detail",
		    step->detail_len > 0 ? s->details.data + step->detail
					 : NULL,
		    step->detail_len);
		buf_addc(b, '}');
	}
	buf_addc(b, ']');
}

/* ---- attempts ---- */

static enum rc
on_row_attempt(void *arg, const struct inspect_attempt *a, struct err *err)
{
	struct showing *s = arg;
	char number[24], status[24];

	(void)err;
	(void)snprintf(number, sizeof(number), "%" PRId64, a->attempt);
	status[0] = '\0';
	if (a->status != 0)
		(void)snprintf(status, sizeof(status), " %" PRId64, a->status);
	add_step(s, a->started_at, "attempt", "attempt ", number, " by ",
	    a->owner, NULL);
	add_step(s, a->finished_at, "outcome",
	    a->outcome != NULL ? a->outcome : "unknown", status,
	    a->error != NULL ? ": " : "", a->error, NULL);

	buf_addc(&s->attempts, '{');
	jw_int(&s->attempts, "attempt", a->attempt);
	jw_time(&s->attempts, "started_at", a->started_at);
	jw_time(&s->attempts, "finished_at", a->finished_at);
	jw_str(&s->attempts, "outcome", a->outcome);
	if (a->status != 0)
		jw_int(&s->attempts, "status", a->status);
	else
		jw_null(&s->attempts, "status");
	jw_str(&s->attempts, "error", a->error);
	jw_str(&s->attempts, "owner", a->owner);
	buf_addc(&s->attempts, '}');
	s->ends[++s->nattempts] = s->attempts.len;
	return (RC_OK);
}

/* Writes the attempts, oldest first. */
static void
write_attempts(struct showing *s)
{
	struct buf *b = s->out;
	int i;

	jw_member(b, "attempts");
	buf_addc(b, '[');
	for (i = s->nattempts; i > 0 && buf_ok(&s->attempts); i--) {
		jw_comma(b);
		buf_add(b, s->attempts.data + s->ends[i - 1],
		    s->ends[i] - s->ends[i - 1]);
	}
	buf_addc(b, ']');
}

/* ---- rows ---- */

/* Returns static storage: the texts of a row end with the row. */
static const char *
state_name(const char *state)
{

	return (outbox_state_name(outbox_state_parse(state)));
}

static const char *
resolution_name(const char *resolution)
{

	return (resolution != NULL && strcmp(resolution, "requeued") == 0
		    ? "requeued"
		    : "discarded");
}

static enum rc
on_row_dead_letter(
    void *arg, const struct inspect_dead_letter *d, struct err *err)
{
	struct showing *s = arg;

	(void)err;
	s->died = true;
	add_step(s, d->dead_at, state_name(d->state), d->reason, NULL);
	add_step(s, d->resolved_at, resolution_name(d->resolution), "by ",
	    d->resolved_by != NULL ? d->resolved_by : "nobody", NULL);
	return (RC_OK);
}

static enum rc
on_row_outbox(void *arg, const struct inspect_outbox_row *row, struct err *err)
{
	struct showing *s = arg;
	char until[CLK_RFC3339_SIZE];

	(void)err;
	admin_row_members(s->out, row, "attempt_count");
	add_step(s, row->created_at, "accepted", NULL);
	if (row->deliver_at != 0) {
		clk_format_rfc3339(row->deliver_at, until);
		add_step(s, row->created_at, "scheduled", until, NULL);
	}
	add_step(s, row->sent_at, "sent", NULL);
	add_step(s, row->acked_at, "acked", NULL);
	add_step(s, row->read_at, "read", NULL);
	if (strcmp(row->state, "canceled") == 0)
		add_step(s, row->last_status_at, "canceled", NULL);
	else if (!s->died && strcmp(row->state, "failed") == 0)
		add_step(s, row->last_status_at, "failed", row->reason, NULL);
	else if (!s->died && strcmp(row->state, "expired") == 0)
		add_step(s, row->last_status_at, "expired", row->reason, NULL);
	return (RC_OK);
}

static enum rc
show_row(struct showing *s, struct db *db, int64_t id, struct err *err)
{
	enum rc rc;

	s->nsteps = s->nattempts = 0;
	s->died = false;
	buf_reset(&s->details);
	buf_reset(&s->attempts);
	jw_comma(s->out);
	buf_addc(s->out, '{');
	rc = inspect_dead_letters_of(
	    db, id, ADMIN_DEAD_LETTERS, on_row_dead_letter, s, err);
	if (rc == RC_OK)
		rc = inspect_outbox_row(db, id, on_row_outbox, s, err);
	if (rc == RC_OK)
		rc = inspect_attempts(
		    db, id, ADMIN_ATTEMPTS, on_row_attempt, s, err);
	if (rc != RC_OK)
		return (rc);
	write_attempts(s);
	write_timeline(s);
	buf_addc(s->out, '}');
	return (RC_OK);
}

static enum rc
on_row_message(void *arg, const struct inspect_message *m, struct err *err)
{
	struct buf *b = arg;

	(void)err;
	jw_uuid(b, "id", &m->id);
	jw_str(b, "from", m->from);
	jw_uuid(b, "conversation", &m->conversation);
	if (m->conversation_seq != 0)
		jw_int(b, "conversation_seq", m->conversation_seq);
	else
		jw_null(b, "conversation_seq");
	jw_time(b, "event_time", m->event_time);
	jw_time(b, "created_at", m->created_at);
	jw_str(b, "correlation_id", m->correlation_id);
	return (RC_OK);
}

enum rc
admin_show(struct db *db, const struct uuid *id, struct buf *b, struct err *err)
{
	struct showing *s;
	int64_t ids[ROWS_MAX];
	size_t i, n = 0;
	enum rc rc;

	if ((s = mem_zalloc(1, sizeof(*s))) == NULL)
		return (err_set(err, RC_NO_MEMORY, "admin"));
	s->out = b;
	buf_addc(b, '{');
	rc = inspect_message(db, id, on_row_message, b, err);
	if (rc == RC_OK)
		rc = store_message_rows(db, id, ids, ROWS_MAX, &n, err);
	if (rc == RC_OK) {
		jw_member(b, "rows");
		buf_addc(b, '[');
	}
	for (i = 0; i < n && rc == RC_OK; i++)
		rc = show_row(s, db, ids[i], err);
	buf_adds(b, "]}");
	buf_fini(&s->details);
	buf_fini(&s->attempts);
	mem_free(s);
	return (rc);
}
