/* SPDX-License-Identifier: MIT */
/*
 * Devices: a token is a device.  List, rename, revoke.
 */
#include <string.h>

#include "api/api_internal.h"
#include "chat/account.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define NO_DEVICE "you have no such device"

struct token_ask {
	struct ask ask; /* first */
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
read_devices(struct ask *ask, struct db *db, struct err *err)
{
	struct listing l = {BUF_INIT, ask->who->device_id, NULL};
	enum rc rc;

	buf_adds(&l.b, "{\"devices\":[");
	rc = store_device_list(db, ask->who->user_id, add_device, &l, err);
	buf_adds(&l.b, "]}");
	if (rc == RC_OK)
		ask_json(ask, 200, &l.b);
	buf_fini(&l.b);
	return (rc);
}

void
api_tokens_get(struct http_request *req, void *arg)
{
	static const char *const allowed[] = {NULL};
	struct ask *ask;

	if ((ask = ask_new(arg, req, sizeof(*ask))) != NULL &&
	    ask_query_check(ask, allowed))
		ask_read(ask, read_devices);
}

/* ---- revoking ---- */

/* Thread: sync, or writer when refused. */
static void
revoked(struct unit *base)
{
	struct account_unit *u = CONTAINER_OF(base, struct account_unit, unit);
	struct token_ask *a = u->arg;

	if (ask_unit_ok(&a->ask, &u->unit, &u->refusal))
		ask_empty(&a->ask, 204);
}

void
api_token_delete(struct http_request *req, void *arg)
{
	static const char *const allowed[] = {NULL};
	struct token_ask *a;
	struct uuid id;

	if ((a = ask_new(arg, req, sizeof(*a))) == NULL ||
	    !ask_query_check(&a->ask, allowed) ||
	    !ask_path_uuid(&a->ask, NO_DEVICE, &id))
		return;
	account_unit_init(&a->unit, ACCOUNT_REVOKE);
	a->unit.user.user_id = a->ask.who->user_id;
	a->unit.device.public_id = id;
	a->unit.unit.finish = revoked;
	a->unit.arg = a;
	(void)ask_submit(&a->ask, &a->unit.unit);
}

/* ---- renaming ---- */

static enum rc
read_renamed(struct ask *ask, struct db *db, struct err *err)
{
	struct token_ask *a = (struct token_ask *)(void *)ask;
	struct listing l = {
	    BUF_INIT, ask->who->device_id, &a->unit.device.public_id};
	enum rc rc;

	rc = store_device_list(db, ask->who->user_id, add_device, &l, err);
	if (rc == RC_OK && l.b.len == 0 && buf_ok(&l.b))
		ask_problem(ask, PROBLEM_NOT_FOUND, "", NO_DEVICE);
	else if (rc == RC_OK)
		ask_json(ask, 200, &l.b);
	buf_fini(&l.b);
	return (rc);
}

/* Thread: sync, or writer when refused. */
static void
renamed(struct unit *base)
{
	struct account_unit *u = CONTAINER_OF(base, struct account_unit, unit);
	struct token_ask *a = u->arg;

	if (ask_unit_ok(&a->ask, &u->unit, &u->refusal))
		ask_read(&a->ask, read_renamed);
}

void
api_token_patch(struct http_request *req, void *arg)
{
	static const char *const allowed[] = {NULL};
	struct token_ask *a;
	struct span name;
	struct uuid id;
	const struct wire_field fields[] = {{.name = "device",
	    .type = WIRE_SPAN,
	    .required = true,
	    .min_len = 1,
	    .max_len = LIMIT_DEVICE_NAME_LEN,
	    .ret = &name}};

	if ((a = ask_new(arg, req, sizeof(*a))) == NULL ||
	    !ask_query_check(&a->ask, allowed) ||
	    !ask_path_uuid(&a->ask, NO_DEVICE, &id) ||
	    !ask_body(&a->ask, &a->doc, fields, COUNT(fields)))
		return;
	account_unit_init(&a->unit, ACCOUNT_RENAME);
	a->unit.user.user_id = a->ask.who->user_id;
	a->unit.device.public_id = id;
	memcpy(a->unit.device.name, name.p, name.n);
	a->unit.device.name[name.n] = '\0';
	a->unit.unit.finish = renamed;
	a->unit.arg = a;
	(void)ask_submit(&a->ask, &a->unit.unit);
}
