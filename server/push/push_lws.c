/* SPDX-License-Identifier: MIT */
/*
 * libwebsockets behind the sessions.  It answers handshakes that push_rx.c has
 * checked, and writes to the sockets the frames that session_write.c has made.
 *
 * The library (4.1.6) must not read the input of a session, because it accepts
 * unmasked frames, lengths that are not in their shortest form and fragments
 * without end, and hides pings.  Its reading is therefore switched off
 * (lws_rx_flow_control) as soon as a session begins.  The check in
 * LWS_CALLBACK_HTTP_CONFIRM_UPGRADE is a second line of defence behind
 * ws/handshake.c.  Extensions are off.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "log/log.h"
#include "push/push_internal.h"

#define RX_BUFFER 4096
/* The most bytes of one lws_write() that the library hands to the socket at
 * once.  It keeps the rest until the socket is reported writable, although the
 * socket may take more now.  The value lets most batches go in one call. */
#define TX_BYTES (4 * BATCH_BYTES)
/* Bytes of a session that the kernel may hold unsent. */
#define UNSENT_BYTES (64 * 1024)

/* The library's user data of a connection: a pointer to our session. */
struct slot {
	struct session *session;
};

static struct push *
push_of(struct lws *wsi)
{

	return (lws_context_user(lws_get_context(wsi)));
}

/* Copies a header; one that came in several parts is joined.  Returns false if
 * it is absent or empty, or does not fit into ${size} bytes with its NUL. */
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

	/* Do not use `in`: it may point to freed memory (NN-2025-0102). */
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

/* ---- one connection ---- */

/* Frees the adopt_task of a connection, and no longer counts the connection in
 * p->adopting: it has become a session, or ends without one.  Does nothing when
 * called again for the same connection. */
static void
forget_peer(struct lws *wsi)
{
	struct adopt_task *task = lws_get_opaque_user_data(wsi);

	if (task == NULL)
		return;
	push_of(wsi)->adopting--;
	mem_free(task);
	lws_set_opaque_user_data(wsi, NULL);
}

static int
established(struct lws *wsi, struct slot *slot)
{
	const struct adopt_task *from = lws_get_opaque_user_data(wsi);
	struct push *p = push_of(wsi);
	char authorization[160];
	struct session *s;

	s = mem_alloc(sizeof(*s));
	if (s == NULL)
		return (-1);
	session_init(s, p, wsi);
	if (from != NULL)
		s->owner = owner_peer(from->peer.address);
	if (newcomers_add(s) != RC_OK ||
	    push_rx_begin(s, lws_get_socket_fd(wsi)) != RC_OK ||
	    htab_set(p->sessions, &s->no, s) != RC_OK) {
		push_rx_end(s);
		session_fini(s);
		mem_free(s);
		return (-1);
	}
	(void)lws_rx_flow_control(wsi, 0);
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
	if (p->drain_begun)
		push_drain_session(s);
	return (0);
}

static void
closed(struct slot *slot)
{
	struct session *s = slot->session;
	struct push *p = s->push;

	slot->session = NULL;
	log_event(LOG_EV_PUSH_CLOSE, "session=s%lld code=%d", (long long)s->no,
	    s->close.code);
	(void)htab_remove(p->sessions, &s->no);
	TAILQ_REMOVE(&p->all, s, all);
	if (s->state != SESSION_ENDED)
		session_move(s, SESSION_ENDED);
	atomic_fetch_sub(&p->nsessions, 1);
	push_rx_end(s);
	session_fini(s);
	mem_free(s);
}

void
push_lws_adopt(struct push *p, struct adopt_task *task)
{
	lws_sock_file_fd_type fd;
	struct lws *wsi;
	int sock = task->fd;

	fd.sockfd = sock;
	/* Turn off Nagle's algorithm.  Frames are small, and a whole batch of
	 * them is given to the kernel at once.  The algorithm would delay it by
	 * some 40 ms when the client's TCP delays its acknowledgments. */
	(void)setsockopt(
	    sock, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
	/* The socket takes no more while the kernel holds UNSENT_BYTES that are
	 * not sent yet; further events wait in the store.  Without this limit
	 * the kernel would buffer some 3 MB for each client that does not
	 * read. */
	(void)setsockopt(sock, IPPROTO_TCP, TCP_NOTSENT_LOWAT,
	    &(int){UNSENT_BYTES}, sizeof(int));
	/* On failure the library has closed the socket.  On success it reads
	 * the socket only in a later turn of the loop, so its callbacks find
	 * the task, which is attached to the connection below. */
	wsi = lws_adopt_descriptor_vhost(
	    p->vhost, LWS_ADOPT_SOCKET | LWS_ADOPT_HTTP, fd, NULL, NULL);
	if (wsi == NULL) {
		mem_free(task);
		return;
	}
	p->adopting++;
	lws_set_opaque_user_data(wsi, task);
}

void
push_lws_kill(struct session *s)
{

	if (s->state == SESSION_ENDED)
		return;
	if (!session_state_over(s->state))
		s->close.code = 1006;
	session_move(s, SESSION_ENDED);
	/* Remove ${s} from the newcomers now: newcomers_make_room(), which
	 * calls this function in a loop, must not find ${s} again if the
	 * library frees ${s} some time after this function has returned. */
	newcomers_remove(s);
	/* Until the library closes the socket, it may still write what it has
	 * buffered.  Input that comes by then is not read. */
	push_rx_pause(s);
	(void)session_flush(s);
	lws_set_timeout(s->wsi, PENDING_TIMEOUT_CLOSE_SEND, LWS_TO_KILL_SYNC);
}

static void
writeable(struct session *s)
{

	/* Woken up, the loop closes it (session_close_pending()). */
	if (session_state_over(s->state))
		(void)uv_async_send(&s->push->async);
	else
		session_unblocked(s);
}

static int
callback(struct lws *wsi, enum lws_callback_reasons reason, void *user,
    void *in, size_t len)
{
	struct slot *slot = user;
	/* When the library has no memory for the slot, ${user} is NULL. */
	struct session *s = slot != NULL ? slot->session : NULL;

	/* The library has many more reasons than we need. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wswitch-enum"
	switch (reason) {
	case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE:
		return (confirm_upgrade(wsi));
	case LWS_CALLBACK_HTTP:
		/* A plain HTTP request on a connection for WebSockets. */
		(void)lws_return_http_status(
		    wsi, HTTP_STATUS_BAD_REQUEST, "a WebSocket upgrade only");
		return (-1);
	case LWS_CALLBACK_ESTABLISHED:
		return (slot != NULL ? established(wsi, slot) : -1);
	case LWS_CALLBACK_RECEIVE:
		/* The client sent frames before the handshake was answered. */
		if (s != NULL)
			session_close(s, 1002, "too early");
		return (0);
	case LWS_CALLBACK_SERVER_WRITEABLE:
		if (s != NULL)
			writeable(s);
		return (0);
	case LWS_CALLBACK_WSI_DESTROY:
		forget_peer(wsi);
		return (0);
	case LWS_CALLBACK_CLOSED:
		if (s != NULL)
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
    {"twinbox.v1", callback, sizeof(struct slot), RX_BUFFER, 0, NULL, TX_BYTES},
    {NULL, NULL, 0, 0, 0, NULL, 0}};

/* All zero: the library sends no pings and has no idle time-outs.  It does not
 * read the input of sessions, so it would take every client for silent. */
static const lws_retry_bo_t retry;

enum rc
push_lws_open(struct push *p, struct err *err)
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
	info.fd_limit_per_thread =
	    (unsigned)(p->options.session_limit + newcomers_limit(p)) + 64;
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
