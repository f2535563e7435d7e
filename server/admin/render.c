/* SPDX-License-Identifier: MIT */
/*
 * Writes the rows, lists and next-page links of the admin routes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "admin/routes_internal.h"
#include "model/event.h"
#include "model/message.h"

/* ---- the next page ---- */

struct linking {
	struct buf link;
	const char *cursor;
};

static void
add_encoded(struct buf *b, const char *text)
{

	for (; *text != '\0'; text++) {
		if ((*text >= 'a' && *text <= 'z') ||
		    (*text >= 'A' && *text <= 'Z') ||
		    (*text >= '0' && *text <= '9') ||
		    strchr("-._~", *text) != NULL)
			buf_addc(b, *text);
		else
			buf_addf(b, "%%%02X", (unsigned)(unsigned char)*text);
	}
}

static void
add_parameter(struct buf *b, const char *name, const char *value)
{

	buf_addc(b, memchr(b->data, '?', b->len) == NULL ? '?' : '&');
	buf_adds(b, name);
	buf_addc(b, '=');
	add_encoded(b, value);
}

/* Called for each query parameter of the request: adds it to the link to the
 * next page, except the cursor, whose new value add_link() adds.
 * call_query_check() has checked the names, so only values need escapes.
 * Returns false, which ends the calls, if there is no memory. */
static bool
link_parameter(void *arg, const char *name, const char *value)
{
	struct linking *l = arg;

	if (strcmp(name, l->cursor) != 0)
		add_parameter(&l->link, name, value);
	return (buf_ok(&l->link));
}

static void
add_link(struct call *call, const char *cursor, const char *next)
{
	struct linking l = {.link = BUF_INIT, .cursor = cursor};

	buf_addc(&l.link, '<');
	buf_adds(&l.link, http_path(call->req));
	if (buf_ok(&l.link))
		http_query_each(call->req, link_parameter, &l);
	if (buf_ok(&l.link))
		add_parameter(&l.link, cursor, next);
	buf_adds(&l.link, ">; rel=\"next\"");
	buf_addc(&l.link, '\0');
	if (buf_ok(&l.link))
		http_answer_header(call->req, "Link", l.link.data);
	buf_fini(&l.link);
}

void
admin_next_text(
    struct call *call, struct buf *b, const char *cursor, const char *next)
{

	jw_str(b, "next", next);
	if (next != NULL)
		add_link(call, cursor, next);
}

void
admin_next(struct call *call, struct buf *b, const char *cursor, int64_t next)
{
	char text[24];

	if (next == 0) {
		jw_null(b, "next");
		return;
	}
	jw_int(b, "next", next);
	(void)snprintf(text, sizeof(text), "%" PRId64, next);
	add_link(call, cursor, text);
}

enum rc
admin_list_read(struct call *call, struct db *db, const struct admin_list *list,
    struct err *err)
{
	struct buf b = BUF_INIT;
	int64_t next = 0;
	enum rc rc;

	buf_addf(&b, "{\"%s\":[", list->name);
	rc = list->rows(call, db, &b, &next, err);
	if (rc == RC_OK) {
		buf_addc(&b, ']');
		admin_next(call, &b, list->cursor, next);
		buf_addc(&b, '}');
		call_json(call, 200, &b);
	}
	buf_fini(&b);
	return (rc == RC_NOT_FOUND ? RC_OK : rc);
}

/* ---- rows ---- */

void
admin_number(struct buf *b, const char *name, int64_t number)
{

	if (number != 0)
		jw_int(b, name, number);
	else
		jw_null(b, name);
}

static void
add_label(struct buf *b, const char *label)
{

	jw_comma(b);
	jw_string(b, label, strlen(label));
}

static void
add_times(struct buf *b, const struct inspect_outbox_row *row)
{

	jw_time(b, "event_time", row->event_time);
	jw_time(b, "created_at", row->created_at);
	jw_time(b, "last_attempt_at", row->last_attempt_at);
	jw_time(b, "last_status_at", row->last_status_at);
	jw_time(b, "next_retry_at", row->next_retry_at);
	jw_time(b, "deliver_at", row->deliver_at);
	jw_time(b, "expires_at", row->expires_at);
	jw_time(b, "sent_at", row->sent_at);
	jw_time(b, "acked_at", row->acked_at);
}

void
admin_row_members(
    struct buf *b, const struct inspect_outbox_row *row, const char *count)
{
	bool pending = strcmp(row->state, "pending") == 0;

	jw_int(b, "outbox_id", row->id);
	jw_uuid(b, "id", &row->message_id);
	jw_str(b, "event_type", event_kind_type(row->kind));
	jw_str(b, "from", row->from);
	jw_str(b, "to", row->to);
	jw_str(b, "destination", row->destination);
	jw_str(b, "state", row->state);
	jw_str(b, "reason", row->reason);
	jw_str(b, "priority", priority_name((int)row->priority));
	jw_int(b, count, row->attempts);
	jw_int(b, "retry_count", row->retry_count);
	jw_int(b, "rescue_count", row->rescue_count);
	add_times(b, row);
	jw_str(b, "last_error", row->last_error);
	admin_number(b, "lane_id", row->lane_id);
	admin_number(b, "lane_seq", row->lane_seq);
	jw_member(b, "labels");
	buf_addc(b, '[');
	if (pending && row->lane_seq == 0)
		add_label(b, "scheduled");
	if (row->retry_count > 0 &&
	    (pending || strcmp(row->state, "sending") == 0))
		add_label(b, "retrying");
	if (row->read_at != 0)
		add_label(b, "read");
	buf_addc(b, ']');
}

void
admin_dead_letter(struct buf *b, const struct inspect_dead_letter *dead)
{

	buf_addc(b, '{');
	jw_int(b, "dead_id", dead->dead_id);
	jw_int(b, "outbox_id", dead->outbox_id);
	jw_uuid(b, "id", &dead->message_id);
	jw_str(b, "from", dead->from);
	jw_str(b, "to", dead->to);
	jw_str(b, "destination", dead->destination);
	jw_str(b, "state", dead->state);
	jw_str(b, "reason", dead->reason);
	jw_str(b, "last_error", dead->last_error);
	jw_int(b, "attempts", dead->attempts);
	jw_int(b, "retry_count", dead->retry_count);
	jw_time(b, "event_time", dead->event_time);
	jw_time(b, "created_at", dead->created_at);
	jw_time(b, "dead_at", dead->dead_at);
	jw_str(b, "resolution", dead->resolution);
	jw_time(b, "resolved_at", dead->resolved_at);
	jw_str(b, "resolved_by", dead->resolved_by);
	buf_addc(b, '}');
}
