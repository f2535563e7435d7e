/* SPDX-License-Identifier: MIT */
/*
 * Admin routes of users and of the audit log: the lists.
 */
#include <stdlib.h>
#include <string.h>

#include "admin/routes_internal.h"

/* ---- users ---- */

struct counted {
	int64_t user_id, pending;
	size_t end; /* end of the user's object in text, without its brace */
};

struct users_call {
	struct call call; /* first */
	const char *after;
	int64_t limit;

	/* While reading. */
	struct counted users[LIMIT_PAGE_MAX];
	struct counted *order[LIMIT_PAGE_MAX]; /* sorted by user_id */
	size_t n;
	int64_t looked;
	char last[LIMIT_ADDRESS_LEN + 1];
	struct buf text;
};

void
admin_user_members(struct buf *b, const struct inspect_user *u)
{

	buf_addc(b, '{');
	jw_str(b, "name", u->name);
	jw_str(b, "display_name", u->display_name);
	jw_bool(b, "admin", u->admin);
	jw_time(b, "disabled_at", u->disabled_at);
	jw_time(b, "created_at", u->created_at);
	jw_int(b, "devices", u->devices);
}

/* RC_LIMIT ends the page, because there are more. */
static enum rc
on_row_user(void *arg, const struct inspect_user *u, struct err *err)
{
	struct users_call *a = arg;
	struct buf *b = &a->text;

	(void)err;
	if (a->looked == a->limit)
		return (RC_LIMIT);
	a->looked++;
	(void)snprintf(a->last, sizeof(a->last), "%s", u->name);
	if (!u->local)
		return (RC_OK);
	/* No comma here: write_users() copies the objects one by one. */
	admin_user_members(b, u);
	a->users[a->n] = (struct counted){u->user_id, 0, b->len};
	a->order[a->n] = &a->users[a->n];
	a->n++;
	return (RC_OK);
}

static int
compare_users(const void *x, const void *y)
{
	const struct counted *const *a = x, *const *b = y;

	return (
	    (*a)->user_id < (*b)->user_id ? -1 : (*a)->user_id > (*b)->user_id);
}

static void
count_sender(void *arg, int64_t sender_id)
{
	struct counted key = {.user_id = sender_id}, *wanted = &key, **found;
	struct users_call *a = arg;

	found = bsearch(
	    &wanted, a->order, a->n, sizeof(a->order[0]), compare_users);
	if (found != NULL)
		(*found)->pending++;
}

static void
write_users(struct users_call *a, struct buf *b)
{
	size_t i, start = 0;

	for (i = 0; i < a->n && buf_ok(&a->text); i++) {
		jw_comma(b);
		buf_add(b, a->text.data + start, a->users[i].end - start);
		jw_int(b, "pending", a->users[i].pending);
		buf_addc(b, '}');
		start = a->users[i].end;
	}
}

static enum rc
read_users(struct call *call, struct db *db, struct err *err)
{
	struct users_call *a = CONTAINER_OF(call, struct users_call, call);
	struct buf b = BUF_INIT;
	bool all = true, more;
	enum rc rc;

	rc = inspect_users(db, a->after, a->limit + 1, on_row_user, a, err);
	more = rc == RC_LIMIT;
	if (rc == RC_OK || rc == RC_LIMIT) {
		qsort(a->order, a->n, sizeof(a->order[0]), compare_users);
		rc = inspect_senders(db, count_sender, a, &all, err);
	}
	if (rc == RC_OK) {
		buf_adds(&b, "{\"users\":[");
		write_users(a, &b);
		buf_addc(&b, ']');
		jw_bool(&b, "truncated", !all);
		admin_next_text(call, &b, "after", more ? a->last : NULL);
		buf_addc(&b, '}');
		if (!buf_ok(&a->text))
			rc = err_set(err, RC_NO_MEMORY, "admin");
	}
	buf_fini(&a->text);
	if (rc == RC_OK)
		call_json(call, 200, &b);
	buf_fini(&b);
	return (rc);
}

void
admin_users_get(struct http_request *req, void *arg)
{
	static const char *const allowed[] = {"after", "limit", NULL};
	struct users_call *a;

	if ((a = call_new(arg, req, sizeof(*a))) == NULL ||
	    !call_query_check(&a->call, allowed) ||
	    !call_query_limit(&a->call, &a->limit))
		return;
	a->after = http_query(req, "after");
	if (a->after == NULL)
		a->after = "";
	call_read(&a->call, read_users);
}

/* ---- audit ---- */

struct audit_call {
	struct call call; /* first */
	int64_t before, limit;
	int64_t n, last;
	struct buf *out;
};

/* RC_LIMIT ends the page, because there are more. */
static enum rc
on_row_audit(void *arg, const struct inspect_audit *e, struct err *err)
{
	struct audit_call *a = arg;
	struct buf *b = a->out;

	(void)err;
	if (a->n == a->limit || call_page_full(&a->call, b))
		return (RC_LIMIT);
	a->n++;
	a->last = e->audit_id;
	jw_comma(b);
	buf_addc(b, '{');
	jw_int(b, "audit_id", e->audit_id);
	jw_time(b, "at", e->at);
	jw_str(b, "actor", e->actor);
	jw_str(b, "action", e->action);
	jw_str(b, "object", e->object);
	jw_str(b, "detail", e->detail);
	buf_addc(b, '}');
	return (RC_OK);
}

static enum rc
add_audit(struct call *call, struct db *db, struct buf *b, int64_t *ret_next,
    struct err *err)
{
	struct audit_call *a = CONTAINER_OF(call, struct audit_call, call);
	enum rc rc;

	a->out = b;
	rc = inspect_audit(db, a->before, a->limit + 1, on_row_audit, a, err);
	*ret_next = rc == RC_LIMIT ? a->last : 0;
	return (rc == RC_LIMIT ? RC_OK : rc);
}

static enum rc
read_audit(struct call *call, struct db *db, struct err *err)
{
	static const struct admin_list list = {"entries", "before", add_audit};

	return (admin_list_read(call, db, &list, err));
}

void
admin_audit_get(struct http_request *req, void *arg)
{
	static const char *const allowed[] = {"before", "limit", NULL};
	struct audit_call *a;

	if ((a = call_new(arg, req, sizeof(*a))) == NULL ||
	    !call_query_check(&a->call, allowed) ||
	    !admin_query_cursor(&a->call, "before", INT64_MAX, &a->before) ||
	    !call_query_limit(&a->call, &a->limit))
		return;
	call_read(&a->call, read_audit);
}
