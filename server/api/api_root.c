/* SPDX-License-Identifier: MIT */
/*
 * GET /v1: describes this server and, with a token, the user who asks.
 */
#include "api/api_internal.h"
#include "store/account.h"

static void
add_limits(struct buf *b)
{

	jw_member(b, "limits");
	buf_addc(b, '{');
	jw_int(b, "text", LIMIT_BODY_LEN);
	jw_int(b, "request", LIMIT_REQUEST_LEN);
	jw_int(b, "array", LIMIT_ARRAY_REQUEST_LEN);
	jw_int(b, "array_items", LIMIT_ARRAY_ITEMS);
	jw_int(b, "page", LIMIT_PAGE_DEFAULT);
	jw_int(b, "page_max", LIMIT_PAGE_MAX);
	jw_int(b, "wait", LIMIT_WAIT_S);
	jw_int(b, "window", LIMIT_WINDOW);
	jw_int(b, "metadata", LIMIT_METADATA_LEN);
	jw_int(b, "devices", LIMIT_DEVICES_PER_USER);
	jw_int(b, "scheduled", LIMIT_SCHEDULED);
	buf_addc(b, '}');
}

static void
add_links(struct buf *b)
{

	jw_member(b, "links");
	buf_addc(b, '{');
	jw_str(b, "messages", "/v1/messages");
	jw_str(b, "inbox", "/v1/inbox");
	jw_str(b, "outbox", "/v1/outbox");
	jw_str(b, "conversations", "/v1/conversations");
	jw_str(b, "tokens", "/v1/tokens");
	jw_str(b, "websocket", "/v1/ws");
	jw_str(b, "openapi", "/openapi.yaml");
	jw_str(b, "asyncapi", "/asyncapi.yaml");
	jw_str(b, "problems", "/problems");
	buf_addc(b, '}');
}

static void
add_head(struct buf *b, const struct api *api)
{

	buf_addc(b, '{');
	jw_str(b, "name", "twinbox");
	jw_str(b, "version", api->o.version);
	jw_str(b, "domain", api->o.domain);
	jw_str(b, "epoch", api->o.epoch);
	jw_str(b, "registration", api->o.registration_open ? "open" : "closed");
}

static void
answer_root(struct call *call, struct buf *b)
{

	add_limits(b);
	add_links(b);
	buf_addc(b, '}');
	call_json(call, 200, b);
	buf_fini(b);
}

/* ---- the user and the device ---- */

struct finding {
	struct buf *b;
	int64_t device_id;
};

static void
add_device(void *arg, const struct store_device *d)
{
	struct finding *f = arg;

	if (d->device_id != f->device_id)
		return;
	jw_member(f->b, "device");
	buf_addc(f->b, '{');
	jw_uuid(f->b, "id", &d->public_id);
	jw_str(f->b, "name", d->name);
	buf_addc(f->b, '}');
}

static enum rc
read_root(struct call *call, struct db *db, struct err *err)
{
	struct buf b = BUF_INIT;
	struct finding f = {&b, call->principal->device_id};
	enum rc rc;

	add_head(&b, api_of(call));
	jw_member(&b, "user");
	buf_addc(&b, '{');
	jw_str(&b, "name", call->principal->name);
	jw_bool(&b, "admin", call->principal->admin);
	buf_addc(&b, '}');
	rc = store_device_list(
	    db, call->principal->user_id, add_device, &f, err);
	if (rc == RC_OK)
		answer_root(call, &b);
	else
		buf_fini(&b);
	return (rc);
}

void
api_root_get(struct http_request *req, void *arg)
{
	static const char *const allowed[] = {NULL};
	struct buf b = BUF_INIT;
	struct call *call;

	/* The route is public, so this handler is called before any token is
	 * checked.  If there is a token, rest_authorize() checks it and then
	 * calls this handler again with the principal set, or refuses the
	 * request. */
	if (http_principal(req) == NULL) {
		if (http_header(req, "Authorization") != NULL) {
			rest_authorize(req, arg);
			return;
		}
		if (!rest_enter(arg, req))
			return;
	}
	if ((call = call_new(arg, req, sizeof(*call))) == NULL ||
	    !call_query_check(call, allowed))
		return;
	if (call->principal != NULL) {
		call_read(call, read_root);
		return;
	}
	add_head(&b, api_of(call));
	jw_null(&b, "user");
	jw_null(&b, "device");
	answer_root(call, &b);
}
