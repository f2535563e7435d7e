/* SPDX-License-Identifier: MIT */
/*
 * The life of the api and its table of routes.
 */
#include <stdio.h>
#include <string.h>

#include "api/api_internal.h"
#include "base/mem.h"

/* The limit on registrations from one network (an IPv4 address, or the /64 of
 * an IPv6 address), where registration is open: a token bucket with this rate,
 * in users per second, and this burst, in users.  A school class of 50 may
 * register at once; after that one user in 6 s may, which slows down a script
 * that would fill the table of users. */
#define NETWORK_REGISTRATIONS_RATE (1.0 / 6)
#define NETWORK_REGISTRATIONS_BURST 50
/* New users of all networks together: the burst is worth this many minutes. */
#define REGISTRATIONS_BURST_MIN 5

/* ---- life ---- */

enum rc
api_new(const struct api_options *options, struct api **ret, struct err *err)
{
	const double rate = options->rate_limit;
	const double registrations = rate > 0 ? options->registration_rate : 0;
	struct api *api;

	if ((api = mem_zalloc(1, sizeof(*api))) == NULL)
		return (err_set(err, RC_NO_MEMORY, "api"));
	api->o = *options;
	api->throttle = login_throttle_new();
	if (rate > 0)
		api->registrations_by_network = limiter_new(
		    NETWORK_REGISTRATIONS_RATE, NETWORK_REGISTRATIONS_BURST);
	if (registrations > 0)
		api->registrations = limiter_new(registrations / 60,
		    registrations * REGISTRATIONS_BURST_MIN);
	if (api->throttle == NULL ||
	    (registrations > 0 && api->registrations == NULL) ||
	    (rate > 0 && api->registrations_by_network == NULL)) {
		api_free(api);
		return (err_set(err, RC_NO_MEMORY, "api"));
	}
	*ret = api;
	return (RC_OK);
}

void
api_free(struct api *api)
{

	if (api == NULL)
		return;
	limiter_free(api->registrations_by_network);
	limiter_free(api->registrations);
	login_throttle_free(api->throttle);
	mem_free(api);
}

/* ---- routes ---- */

void
api_not_implemented(struct http_request *req, void *arg)
{
	struct rest *rest = arg;
	struct call *call;

	/* A request without a principal has not passed rest_authorize(), which
	 * calls rest_enter(). */
	if (http_principal(req) == NULL && !rest_enter(rest, req))
		return;
	if ((call = call_new(rest, req, sizeof(*call))) != NULL)
		call_problem(call, PROBLEM_NOT_IMPLEMENTED, "",
		    "%s %s comes with a later version", http_method(req),
		    http_path(req));
}

/* An entry of the table for a route of the API contract (docs/openapi.yaml)
 * that only a later version will serve: its handler answers 501.  Authorization
 * comes first, as it will when the route is served: a request without a valid
 * token gets 401, and on a route of NOT_IMPLEMENTED_ADMIN() a user who is not
 * an administrator gets 403. */
#define NOT_IMPLEMENTED(method, path)                                          \
	{                                                                      \
		method, path, api_not_implemented, HTTP_ANY_BODY               \
	}
#define NOT_IMPLEMENTED_ADMIN(method, path)                                    \
	{                                                                      \
		method, path, api_not_implemented, HTTP_ANY_BODY | HTTP_ADMIN  \
	}

static const struct http_route routes[] = {
    {"GET", "/v1", api_root_get, HTTP_PUBLIC | HTTP_NO_BODY},
    {"POST", "/v1/users", api_users_post, HTTP_PUBLIC},
    {"POST", "/v1/tokens", api_tokens_post, HTTP_PUBLIC},
    {"GET", "/v1/tokens", api_tokens_get, HTTP_NO_BODY},
    {"DELETE", "/v1/tokens", api_tokens_delete, HTTP_NO_BODY},
    {"PATCH", "/v1/tokens/{id}", api_token_patch, 0},
    {"DELETE", "/v1/tokens/{id}", api_token_delete, HTTP_NO_BODY},
    {"POST", "/v1/me/password", api_password_post, 0},
    NOT_IMPLEMENTED("DELETE", "/v1/me"),
    NOT_IMPLEMENTED("PUT", "/v1/me/blocks/{address}"),
    NOT_IMPLEMENTED("DELETE", "/v1/me/blocks/{address}"),
    {"POST", "/v1/messages", api_messages_post, HTTP_LARGE_BODY},
    {"POST", "/v1/to/{address}", api_to_post, HTTP_TEXT_BODY},
    {"GET", "/v1/messages/{id}", api_message_get, HTTP_NO_BODY},
    NOT_IMPLEMENTED("PATCH", "/v1/messages/{id}"),
    NOT_IMPLEMENTED("DELETE", "/v1/messages/{id}"),
    NOT_IMPLEMENTED("PUT", "/v1/messages/{id}/reactions/{emoji}"),
    NOT_IMPLEMENTED("DELETE", "/v1/messages/{id}/reactions/{emoji}"),
    {"GET", "/v1/inbox", api_inbox_get, HTTP_NO_BODY},
    {"GET", "/v1/inbox/{seq}", api_event_get, HTTP_NO_BODY},
    {"POST", "/v1/inbox/ack", api_ack_post, 0},
    {"POST", "/v1/inbox/read", api_read_post, 0},
    {"GET", "/v1/inbox/unread", api_unread_get, HTTP_NO_BODY},
    {"GET", "/v1/outbox", api_outbox_get, HTTP_NO_BODY},
    {"GET", "/v1/outbox/{id}", api_entry_get, HTTP_NO_BODY},
    {"DELETE", "/v1/outbox/{id}", api_entry_delete, HTTP_NO_BODY},
    {"POST", "/v1/outbox/{id}/retry", api_entry_retry_post, 0},
    {"GET", "/v1/conversations", api_conversations_get, HTTP_NO_BODY},
    NOT_IMPLEMENTED("POST", "/v1/conversations"),
    {"GET", "/v1/conversations/{id}", api_conversation_get, HTTP_NO_BODY},
    NOT_IMPLEMENTED("PATCH", "/v1/conversations/{id}"),
    NOT_IMPLEMENTED("PUT", "/v1/conversations/{id}/members/{address}"),
    NOT_IMPLEMENTED("DELETE", "/v1/conversations/{id}/members/{address}"),
    NOT_IMPLEMENTED("PUT", "/v1/conversations/{id}/mute"),
    {"GET", "/v1/conversations/{id}/messages", api_history_get, HTTP_NO_BODY},
    NOT_IMPLEMENTED("GET", "/v1/search"),
    NOT_IMPLEMENTED("POST", "/v1/blobs"),
    NOT_IMPLEMENTED("GET", "/v1/blobs/{hash}"),
    NOT_IMPLEMENTED("GET", "/v1/export"),
    NOT_IMPLEMENTED_ADMIN("POST", "/v1/import"),
    NOT_IMPLEMENTED("PUT", "/v1/push-subscriptions/{id}"),
    NOT_IMPLEMENTED("DELETE", "/v1/push-subscriptions/{id}"),
    {NULL, NULL, NULL, 0},
};

const struct http_route *
api_routes(void)
{

	return (routes);
}
