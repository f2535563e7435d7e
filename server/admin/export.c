/* SPDX-License-Identifier: MIT */
/*
 * Admin route that exports all dead letters of a filter, one JSON object per
 * line.  It reads page by page, so the server holds one page in memory, however
 * many dead letters there are and however slowly the client reads.
 */
#include "admin/routes_internal.h"

#define NDJSON "application/x-ndjson"

struct export_call {
	struct call call; /* first */
	struct admin_dead_query query;
	int64_t before;
};

static enum rc
write_line(void *arg, const struct inspect_dead_letter *dead, struct err *err)
{

	(void)err;
	admin_dead_letter(arg, dead);
	buf_addc(arg, '\n');
	return (RC_OK);
}

/* Reads a page.  a->before is 0 after the last one. */
static enum rc
read_page(struct export_call *a, struct db *db, struct buf *b, struct err *err)
{

	return (inspect_dead_letters(db, &a->query.filter, a->before,
	    LIMIT_PAGE_MAX, write_line, b, &a->before, err));
}

static enum rc
read_next(struct call *call, struct db *db, struct err *err)
{
	struct export_call *a = CONTAINER_OF(call, struct export_call, call);
	struct buf b = BUF_INIT;
	enum rc rc = RC_OK;

	if (a->before != 0)
		rc = read_page(a, db, &b, err);
	if (rc == RC_OK)
		call_piece(call,
		    a->before != 0 ? HTTP_PIECE_MORE : HTTP_PIECE_LAST, &b);
	buf_fini(&b);
	return (rc);
}

static enum rc
read_first(struct call *call, struct db *db, struct err *err)
{
	struct export_call *a = CONTAINER_OF(call, struct export_call, call);
	struct admin_dead_query *q = &a->query;
	struct buf b = BUF_INIT;
	enum rc rc;

	rc = admin_resolve(call, db, &q->names, &q->filter.sender_id,
	    &q->filter.destination_id, err);
	if (rc != RC_OK)
		return (rc == RC_NOT_FOUND ? RC_OK : rc);
	if ((rc = read_page(a, db, &b, err)) == RC_OK) {
		if (a->before != 0)
			call_pieces(call, NDJSON, &b, read_next);
		else
			call_page(call, 200, NDJSON, &b);
	}
	buf_fini(&b);
	return (rc);
}

void
admin_export_get(struct http_request *req, void *arg)
{
	static const char *const allowed[] = {
	    "reason", "destination", "sender", "resolved", NULL};
	struct export_call *a;

	if ((a = call_new(arg, req, sizeof(*a))) == NULL ||
	    !call_query_check(&a->call, allowed) ||
	    !admin_dead_query(&a->call, &a->query))
		return;
	a->before = INT64_MAX;
	call_read(&a->call, read_first);
}
