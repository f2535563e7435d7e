/* SPDX-License-Identifier: MIT */
/*
 * libwebsockets behind the sessions: handshake checks, frames in and out.
 *
 * The library (4.1.6) is guarded where it is lenient or worse: every upgrade
 * other than a WebSocket one by GET with version 13 is refused in the
 * confirmation callback, without touching what it hands us there; extensions
 * are off; fragments and sizes are counted by us.
 */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "push/push_internal.h"

#define RX_BUFFER 4096

/* What the library keeps for a connection: a pointer to our session. */
struct slot {
	struct session *session;
};

static struct push *
push_of(struct lws *wsi)
{

	return (lws_context_user(lws_get_context(wsi)));
}

/* A copy of a header; false if it is absent, too long or given in parts. */
static bool
header(struct lws *wsi, enum lws_token_indexes token, char *ret, int size)
{

	if (lws_hdr_total_length(wsi, token) <= 0 ||
	    lws_hdr_copy(wsi, ret, size, token) <= 0)
		return (false);
	return (true);
}

/* ---- the handshake ---- */

static int
confirm_upgrade(struct lws *wsi)
{
	char upgrade[24], version[8], uri[64];

	/* `in` is not touched: it may point to freed memory (NN-2025-0102). */
	if (!header(wsi, WSI_TOKEN_UPGRADE, upgrade, sizeof(upgrade)) ||
	    strcasecmp(upgrade, "websocket") != 0)
		return (-1);
	if (!header(wsi, WSI_TOKEN_VERSION, version, sizeof(version)) ||
	    strcmp(version, "13") != 0)
		return (-1);
	if (!header(wsi, WSI_TOKEN_GET_URI, uri, sizeof(uri)) ||
	    strcmp(uri, "/v1/ws") != 0)
		return (-1);
	return (0);
}

/* Whether ${origin} is ${host} with ${scheme} in front; "": any scheme, as a
 * proxy that is not believed, or does not tell, may be in front of us. */
static bool
same_origin(const char *origin, const char *scheme, const char *host)
{
	const char *p;
	size_t n;

	if ((p = strstr(origin, "://")) == NULL)
		return (false);
	n = (size_t)(p - origin);
	if (scheme[0] != '\0' &&
	    (strlen(scheme) != n || strncasecmp(origin, scheme, n) != 0))
		return (false);
	return (strcasecmp(p + 3, host) == 0);
}

/* Whether ${origin} is one word of ${list}. */
static bool
listed_origin(const char *origin, const char *list)
{
	size_t n, len;

	n = strlen(origin);
	while (list != NULL && *list != '\0') {
		len = strcspn(list, " ,");
		if (len == n && strncasecmp(list, origin, n) == 0)
			return (true);
		list += len;
		list += strspn(list, " ,");
	}
	return (false);
}

/* Browsers name where the page came from; programs do not. */
static bool
origin_allowed(struct lws *wsi, const struct push *p)
{
	const struct adopt_note *from = lws_get_opaque_user_data(wsi);
	char origin[300], host[280];

	if (lws_hdr_total_length(wsi, WSI_TOKEN_ORIGIN) <= 0)
		return (true);
	if (!header(wsi, WSI_TOKEN_ORIGIN, origin, sizeof(origin)))
		return (false);
	if (from != NULL && from->peer.host[0] != '\0')
		(void)snprintf(host, sizeof(host), "%s", from->peer.host);
	else if (!header(wsi, WSI_TOKEN_HOST, host, sizeof(host)))
		host[0] = '\0';
	if (host[0] != '\0' &&
	    same_origin(origin, from == NULL ? "" : from->peer.scheme, host))
		return (true);
	return (listed_origin(origin, p->allow_origin));
}

static int
refuse_upgrade(struct lws *wsi, int status, const char *why)
{

	(void)lws_return_http_status(wsi, (unsigned)status, why);
	return (-1);
}

/* ---- one connection ---- */

/* What is known of the peer is not needed any more. */
static void
forget_peer(struct lws *wsi)
{

	mem_free(lws_get_opaque_user_data(wsi));
	lws_set_opaque_user_data(wsi, NULL);
}

static int
established(struct lws *wsi, struct slot *slot)
{
	const struct adopt_note *from = lws_get_opaque_user_data(wsi);
	struct push *p = push_of(wsi);
	char authorization[160];
	struct session *s;

	s = mem_alloc(sizeof(*s));
	if (s == NULL)
		return (-1);
	session_init(s, p, wsi);
	if (htab_set(p->sessions, &s->no, s) != RC_OK) {
		session_fini(s);
		mem_free(s);
		return (-1);
	}
	TAILQ_INSERT_TAIL(&p->all, s, all);
	atomic_fetch_add(&p->nsessions, 1);
	slot->session = s;
	if (header(wsi, WSI_TOKEN_HTTP_AUTHORIZATION, authorization,
		sizeof(authorization)) &&
	    strncasecmp(authorization, "bearer ", 7) == 0)
		session_set_token(
		    s, authorization + 7, strlen(authorization + 7));
	log_event(LOG_EV_PUSH_OPEN, "session=s%lld peer=%s", (long long)s->no,
	    from == NULL ? "" : from->peer.address);
	forget_peer(wsi);
	return (0);
}

static void
closed(struct slot *slot)
{
	struct session *s = slot->session;
	struct push *p;

	if (s == NULL)
		return;
	slot->session = NULL;
	p = s->push;
	log_event(LOG_EV_PUSH_CLOSE, "session=s%lld code=%d", (long long)s->no,
	    s->state == SESSION_CLOSING ? s->close_code : 0);
	(void)htab_remove(p->sessions, &s->no);
	TAILQ_REMOVE(&p->all, s, all);
	if (s->state == SESSION_CLOSING && !s->told_close)
		TAILQ_REMOVE(&p->closing, s, closing);
	atomic_fetch_sub(&p->nsessions, 1);
	session_fini(s);
	mem_free(s);
}

/* A whole message has come; small buffers are kept, large ones are not. */
static void
message_complete(struct session *s)
{

	session_received(s, s->rx.data != NULL ? s->rx.data : "", s->rx.len);
	s->fragments = 0;
	buf_fini(&s->rx);
	buf_init(&s->rx, LIMIT_REQUEST_LEN);
}

static void
received(struct lws *wsi, struct session *s, const char *p, size_t n)
{
	bool whole;

	if (s->state == SESSION_CLOSING)
		return;
	if (lws_frame_is_binary(wsi) != 0) {
		session_close(s, 4400, "text frames only");
		return;
	}
	whole = lws_is_final_fragment(wsi) != 0 &&
		lws_remaining_packet_payload(wsi) == 0;
	if (whole && s->rx.len == 0) {
		if (n > LIMIT_REQUEST_LEN)
			session_close(s, 1009, "message too large");
		else
			session_received(s, p, n);
		s->fragments = 0;
		return;
	}
	if (lws_remaining_packet_payload(wsi) == 0 &&
	    ++s->fragments > FRAGMENTS_MAX) {
		session_close(s, 1009, "too many fragments");
		return;
	}
	buf_add(&s->rx, p, n);
	if (!buf_ok(&s->rx)) {
		session_close(s, 1009, "message too large");
		return;
	}
	if (whole)
		message_complete(s);
}

static void
writeable(struct session *s)
{

	if (s->state == SESSION_CLOSING)
		(void)uv_async_send(&s->push->async); /* closes it */
	else
		session_unblocked(s);
}

static int
callback(struct lws *wsi, enum lws_callback_reasons reason, void *user,
    void *in, size_t len)
{
	struct slot *slot = user;

	/* The library has many more reasons than we need. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wswitch-enum"
	switch (reason) {
	case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE:
		return (confirm_upgrade(wsi));
	case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION:
		if (!origin_allowed(wsi, push_of(wsi)))
			return (refuse_upgrade(wsi, 403, "foreign origin"));
		return (0);
	case LWS_CALLBACK_HTTP:
		/* Plain HTTP on a connection for WebSockets. */
		(void)lws_return_http_status(
		    wsi, HTTP_STATUS_BAD_REQUEST, "a WebSocket upgrade only");
		return (-1);
	case LWS_CALLBACK_ESTABLISHED:
		return (established(wsi, slot));
	case LWS_CALLBACK_RECEIVE:
		if (slot->session != NULL)
			received(wsi, slot->session, in, len);
		return (0);
	case LWS_CALLBACK_SERVER_WRITEABLE:
		if (slot->session != NULL)
			writeable(slot->session);
		return (0);
	case LWS_CALLBACK_WSI_DESTROY:
		forget_peer(wsi);
		return (0);
	case LWS_CALLBACK_CLOSED:
		closed(slot);
		return (0);
	default:
		return (lws_callback_http_dummy(wsi, reason, user, in, len));
	}
#pragma GCC diagnostic pop
}

/* ---- the context ---- */

static void
library_log(int level, const char *line)
{

	(void)level;
	log_event(
	    LOG_EV_PUSH_LIBRARY, "text=%.*s", (int)strcspn(line, "\r\n"), line);
}

static const struct lws_protocols protocols[] = {
    {"twinbox.v1", callback, sizeof(struct slot), RX_BUFFER, 0, NULL, 0},
    {NULL, NULL, 0, 0, 0, NULL, 0}};

static const lws_retry_bo_t retry = {
    .secs_since_valid_ping = PING_S, .secs_since_valid_hangup = SILENCE_S};

enum rc
lws_glue_open(struct push *p, struct err *err)
{
	struct lws_context_creation_info info;
	void *loops[1];

	lws_set_log_level(LLL_ERR, library_log);
	memset(&info, 0, sizeof(info));
	loops[0] = &p->loop;
	info.foreign_loops = loops;
	info.port = CONTEXT_PORT_NO_LISTEN_SERVER;
	info.protocols = protocols;
	info.user = p;
	info.options = LWS_SERVER_OPTION_LIBUV |
		       LWS_SERVER_OPTION_VALIDATE_UTF8 |
		       LWS_SERVER_OPTION_DISABLE_OS_CA_CERTS |
		       LWS_SERVER_OPTION_EXPLICIT_VHOSTS;
	info.pt_serv_buf_size = RX_BUFFER;
	info.max_http_header_data = 4096;
	info.max_http_header_pool2 = 1024;
	info.fd_limit_per_thread = (unsigned)p->options.session_limit + 64;
	info.timeout_secs = 5;
	info.keepalive_timeout = 5;
	info.retry_and_idle_policy = &retry;
	p->context = lws_create_context(&info);
	if (p->context == NULL)
		return (err_set(err, RC_INTERNAL,
		    "libwebsockets: no context (is the package "
		    "libwebsockets-evlib-uv installed?)"));
	p->vhost = lws_create_vhost(p->context, &info);
	if (p->vhost == NULL)
		return (err_set(err, RC_INTERNAL, "libwebsockets: no vhost"));
	return (RC_OK);
}
