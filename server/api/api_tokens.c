/* SPDX-License-Identifier: MIT */
/*
 * Devices: each token belongs to one device.  List, rename, revoke one device,
 * revoke all others, revoke all.
 */
#include <string.h>

#include "api/api_internal.h"
#include "chat/account.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define NO_DEVICE "you have no such device"

struct token_call {
	struct call call; /* first */
	struct wire_doc doc;
	struct account_unit unit;
};

struct listing {
	struct buf b;
	int64_t current;         /* the device that asks */
	const struct uuid *only; /* NULL: all */
};

static void
add_device(void *arg, const struct store_device *d)
{
	struct listing *l = arg;

	if (l->only != NULL && !uuid_equal(&d->public_id, l->only))
		return;
	if (l->only == NULL)
		jw_comma(&l->b);
	buf_addc(&l->b, '{');
	jw_uuid(&l->b, "id", &d->public_id);
	jw_str(&l->b, "name", d->name);
	jw_int(&l->b, "acked", d->acked_seq);
	jw_time(&l->b, "created_at", d->created_at);
	jw_time(&l->b, "last_seen_at", d->last_seen_at);
	jw_bool(&l->b, "current", d->device_id == l->current);
	buf_addc(&l->b, '}');
}

static enum rc
read_devices(struct call *call, struct db *db, struct err *err)
{
	struct listing l = {BUF_INIT, call->principal->device_id, NULL};
	enum rc rc;

	buf_adds(&l.b, "{\"devices\":[");
	rc = store_device_list(
	    db, call->principal->user_id, add_device, &l, err);
	buf_adds(&l.b, "]}");
	if (rc == RC_OK)
		call_json(call, 200, &l.b);
	buf_fini(&l.b);
	return (rc);
}

void
api_tokens_get(struct http_request *req, void *arg)
{
	static const char *const allowed[] = {NULL};
	struct call *call;

	if ((call = call_new(arg, req, sizeof(*call))) != NULL &&
	    call_query_check(call, allowed))
		call_read(call, read_devices);
}

/* ---- revoking ---- */

/* Thread: sync, or writer when refused. */
static void
revoked(struct unit *base)
{
	struct account_unit *u = CONTAINER_OF(base, struct account_unit, unit);
	struct token_call *a = u->arg;

	if (call_unit_ok(&a->call, &u->unit, &u->refusal))
		call_empty(&a->call, 204);
}

void
api_token_delete(struct http_request *req, void *arg)
{
	static const char *const allowed[] = {NULL};
	struct token_call *a;
	struct uuid id;

	if ((a = call_new(arg, req, sizeof(*a))) == NULL ||
	    !call_query_check(&a->call, allowed) ||
	    !call_path_uuid(&a->call, NO_DEVICE, &id))
		return;
	account_unit_init(&a->unit, ACCOUNT_REVOKE);
	a->unit.user.user_id = a->call.principal->user_id;
	a->unit.device.public_id = id;
	a->unit.unit.finish = revoked;
	a->unit.arg = a;
	(void)call_submit(&a->call, &a->unit.unit);
}

/* Sets *ret to the value of the query parameter "all", or to false if it is
 * absent, and returns true.  If *ret is true, the device that sends the request
 * is to be revoked as well, and not only the user's other devices.  If the
 * parameter is neither "true" nor "false", answers the request with 400 and
 * returns false. */
static bool
parse_all(struct call *call, bool *ret)
{
	const char *text = http_query(call->req, "all");

	*ret = text != NULL && strcmp(text, "true") == 0;
	if (text == NULL || *ret || strcmp(text, "false") == 0)
		return (true);
	call_problem(call, PROBLEM_BAD_REQUEST, "",
	    "parameter \"all\" must be true or false");
	return (false);
}

void
api_tokens_delete(struct http_request *req, void *arg)
{
	static const char *const allowed[] = {"all", NULL};
	struct token_call *a;
	bool all;

	if ((a = call_new(arg, req, sizeof(*a))) == NULL ||
	    !call_query_check(&a->call, allowed) || !parse_all(&a->call, &all))
		return;
	account_unit_init(&a->unit, ACCOUNT_REVOKE_OTHERS);
	a->unit.user.user_id = a->call.principal->user_id;
	a->unit.device.device_id = a->call.principal->device_id;
	a->unit.everywhere = all;
	a->unit.unit.finish = revoked;
	a->unit.arg = a;
	(void)call_submit(&a->call, &a->unit.unit);
}

/* ---- renaming ---- */

static enum rc
read_renamed(struct call *call, struct db *db, struct err *err)
{
	struct token_call *a = CONTAINER_OF(call, struct token_call, call);
	struct listing l = {
	    BUF_INIT, call->principal->device_id, &a->unit.device.public_id};
	enum rc rc;

	rc = store_device_list(
	    db, call->principal->user_id, add_device, &l, err);
	if (rc == RC_OK && l.b.len == 0 && buf_ok(&l.b))
		call_problem(call, PROBLEM_NOT_FOUND, "", NO_DEVICE);
	else if (rc == RC_OK)
		call_json(call, 200, &l.b);
	buf_fini(&l.b);
	return (rc);
}

/* Thread: sync, or writer when refused. */
static void
renamed(struct unit *base)
{
	struct account_unit *u = CONTAINER_OF(base, struct account_unit, unit);
	struct token_call *a = u->arg;

	if (call_unit_ok(&a->call, &u->unit, &u->refusal))
		call_read(&a->call, read_renamed);
}

void
api_token_patch(struct http_request *req, void *arg)
{
	static const char *const allowed[] = {NULL};
	struct token_call *a;
	struct span name;
	struct uuid id;
	const struct wire_field fields[] = {{.name = "device",
	    .type = WIRE_SPAN,
	    .required = true,
	    .min_len = 1,
	    .max_len = LIMIT_DEVICE_NAME_LEN,
	    .ret = &name}};

	if ((a = call_new(arg, req, sizeof(*a))) == NULL ||
	    !call_query_check(&a->call, allowed) ||
	    !call_path_uuid(&a->call, NO_DEVICE, &id) ||
	    !call_body(&a->call, &a->doc, fields, COUNT(fields)))
		return;
	account_unit_init(&a->unit, ACCOUNT_RENAME);
	a->unit.user.user_id = a->call.principal->user_id;
	a->unit.device.public_id = id;
	memcpy(a->unit.device.name, name.p, name.n);
	a->unit.device.name[name.n] = '\0';
	a->unit.unit.finish = renamed;
	a->unit.arg = a;
	(void)call_submit(&a->call, &a->unit.unit);
}
