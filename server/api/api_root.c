/* SPDX-License-Identifier: MIT */
/*
 * GET /v1: what this server is and, with a token, who is asking.
 */
#include "api/api_internal.h"

static void
add_limits(struct buf *b)
{

	jw_member(b, "limits");
	buf_addc(b, '{');
	jw_int(b, "text", LIMIT_BODY_LEN);
	jw_int(b, "request", LIMIT_REQUEST_LEN);
	jw_int(b, "array", LIMIT_ARRAY_REQUEST_LEN);
	jw_int(b, "array_items", LIMIT_ARRAY_ITEMS);
	jw_int(b, "page", LIMIT_PAGE_MAX);
	jw_int(b, "page_default", LIMIT_PAGE_DEFAULT);
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

void
api_root_get(struct http_request *req, void *arg)
{
	static const char *const allowed[] = {NULL};
	struct api *api = arg;
	struct buf b = BUF_INIT;
	const struct principal *who = http_principal(req);
	struct ask *ask;

	/* The route is public: a token, when there is one, is looked at now,
	 * and then we come here again. */
	if (who == NULL && http_header(req, "Authorization") != NULL) {
		api_authorize(req, arg);
		return;
	}
	if (who == NULL && !api_enter(api, req))
		return;
	if ((ask = ask_new(api, req, sizeof(*ask))) == NULL ||
	    !ask_query_check(ask, allowed))
		return;
	buf_addc(&b, '{');
	jw_str(&b, "name", "twinbox");
	jw_str(&b, "version", api->o.version);
	jw_str(&b, "domain", api->o.domain);
	jw_str(&b, "epoch", api->o.epoch);
	jw_str(&b, "registration",
	    api->o.registration_open ? "open" : "closed");
	if (who != NULL) {
		jw_str(&b, "user", who->name);
		jw_bool(&b, "admin", who->admin);
		jw_uuid(&b, "device", &who->device);
	} else {
		jw_null(&b, "user");
		jw_bool(&b, "admin", false);
		jw_null(&b, "device");
	}
	add_limits(&b);
	add_links(&b);
	buf_addc(&b, '}');
	ask_json(ask, 200, &b);
}
