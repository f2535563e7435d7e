/* SPDX-License-Identifier: MIT */
/*
 * The waiting room: answers requests on the port while the node waits for its
 * database.  /healthz answers 200, because the node is alive.  Every other
 * route, also /readyz, is refused with 503 and the reason.  A proxy and a
 * service manager therefore see a node that waits, instead of one that does not
 * listen.
 *
 * Promises: no handler touches anything but its request.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "federation/inbound.h"
#include "log/log.h"
#include "main/server.h"

struct room {
	struct http *http;
	struct http_route *routes;
};

static void
refuse(struct http_request *req, void *arg)
{
	struct refusal r = REFUSAL_INIT;

	(void)arg;
	refusal_set(&r, PROBLEM_BUSY, "",
	    "the database is away; this node waits for it since its start");
	http_answer_refusal(req, &r);
}

static void
alive(struct http_request *req, void *arg)
{
	struct buf b = BUF_INIT;

	(void)arg;
	buf_adds(&b, "ok\n");
	http_answer(req, 200, "text/plain; charset=utf-8", &b);
}

/* Appends to ${all} a copy of each route of the list ${route}, with a handler
 * that answers 503, or 200 for /healthz.  No token can be verified without the
 * database, so every copy is public.  Public routes have a small limit for the
 * size of a body; the copy of a route that needs a token keeps the larger limit
 * of that route.  So the answer to a long message is 503, after which clients
 * repeat the message, and not 413. */
static void
add_routes(struct buf *all, const struct http_route *route)
{
	struct http_route one;

	for (; route->method != NULL; route++) {
		one = *route;
		one.handler =
		    strcmp(one.path, "/healthz") == 0 ? alive : refuse;
		if ((one.flags & HTTP_PUBLIC) == 0)
			one.flags |= HTTP_FULL_BODY;
		one.flags = (one.flags & ~(unsigned)HTTP_ADMIN) | HTTP_PUBLIC;
		buf_add(all, &one, sizeof(one));
	}
}

static struct http_route *
make_routes(void)
{
	static const struct http_route end = {.method = NULL},
				       ws[] = {{"GET", "/v1/ws", refuse,
						   HTTP_PUBLIC | HTTP_NO_BODY},
					   {NULL, NULL, NULL, 0}};
	struct buf all = BUF_INIT;

	add_routes(&all, api_routes());
	add_routes(&all, admin_routes());
	add_routes(&all, inbound_route_list());
	add_routes(&all, ws);
	buf_add(&all, &end, sizeof(end));
	return ((struct http_route *)(void *)buf_take(&all, NULL));
}

/* Stores the address with the port in config.listen.  If the setting is port 0,
 * the server must later listen on the port that the system has chosen now. */
static void
keep_port(struct server *s, const struct http *http)
{
	char address[CONFIG_TEXT_SIZE];

	server_address(s, http, address, sizeof(address));
	(void)snprintf(
	    s->config.listen, sizeof(s->config.listen), "%s", address);
	log_event(LOG_EV_STORE_WAIT, "url=http://%s", address);
}

enum rc
room_open(struct server *s, struct room **ret, struct err *err)
{
	struct http_routes routes[] = {{NULL, NULL, NULL}, {NULL, NULL, NULL}};
	struct http_options options;
	struct room *room;
	enum rc rc;

	if ((room = mem_zalloc(1, sizeof(*room))) == NULL)
		return (err_set(err, RC_NO_MEMORY, "waiting room"));
	if ((room->routes = make_routes()) == NULL) {
		room_close(s, room);
		return (err_set(err, RC_NO_MEMORY, "waiting room"));
	}
	server_http_options(s, &options);
	options.loops = 1;
	routes[0].list = room->routes;
	options.routes = routes;
	if ((rc = http_new(&options, &room->http, err)) == RC_OK)
		rc = http_start(room->http, err);
	if (rc != RC_OK) {
		room_close(s, room);
		return (rc);
	}
	keep_port(s, room->http);
	*ret = room;
	return (RC_OK);
}

void
room_close(struct server *s, struct room *room)
{

	if (room == NULL)
		return;
	if (room->http != NULL) {
		s->listener = http_keep_listener(room->http);
		http_drain(room->http);
	}
	http_stop(room->http);
	mem_free(room->routes);
	mem_free(room);
}
