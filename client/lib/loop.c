/* SPDX-License-Identifier: MIT */
/*
 * The loop on a libwebsockets context.  This file owns the context, the watches
 * and the timers.
 *
 * Each watched descriptor is put into its own epoll set, and libwebsockets
 * adopts that set.  Why not the descriptor itself: libwebsockets makes what it
 * adopts non-blocking and closes it in the end, which would break a terminal
 * that the shell uses as well.
 */
#include "lib/loop.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/mem.h"
#include "lib/loop_internal.h"
#include "lib/rest.h"

#define WATCH_PROTOCOL "watch"

struct watch {
	loop_fn fn;
	void *arg;
};

struct loop_timer {
	lws_sorted_usec_list_t sul; /* first: the callback gets only this */
	struct loop *loop;
	loop_fn fn;
	void *arg;
	bool pending;
};

/* A watched descriptor is readable, has hung up, or is being closed. */
static int
watch_callback(struct lws *wsi, enum lws_callback_reasons reason, void *user,
    void *in, size_t len)
{
	struct watch *watch = lws_get_opaque_user_data(wsi);

	(void)user;
	(void)in;
	(void)len;
	if (watch == NULL)
		return (0);
	if (reason == LWS_CALLBACK_RAW_RX_FILE)
		watch->fn(watch->arg);
	else if (reason == LWS_CALLBACK_RAW_CLOSE_FILE) {
		(void)lws_set_opaque_user_data(wsi, NULL);
		mem_free(watch);
	}
	return (0);
}

static const struct lws_protocols protocols[] = {
    {.name = LOOP_PROTOCOL, .callback = stream_callback},
    {.name = WATCH_PROTOCOL, .callback = watch_callback},
    {.name = NULL},
};

enum rc
loop_new(const char *server, struct loop **ret, struct fail *fail)
{
	struct lws_context_creation_info info;
	struct loop *loop = mem_zalloc(1, sizeof(*loop));

	if (loop == NULL)
		return (fail_set(fail, FAIL_MEMORY, "out of memory"));
	lws_set_log_level(0, NULL);
	/* libwebsockets uses http_proxy for every server, because it does not
	 * know no_proxy.  If the server is on this machine, remove http_proxy
	 * from the environment, so that the server is reached directly. */
	if (rest_server_local(server))
		(void)unsetenv("http_proxy");
	memset(&info, 0, sizeof(info));
	info.port = CONTEXT_PORT_NO_LISTEN;
	info.protocols = protocols;
	info.gid = -1;
	info.uid = -1;
	info.timeout_secs = 10;
	info.options = LWS_SERVER_OPTION_EXPLICIT_VHOSTS;
	if (strncmp(server, "https:", 6) == 0)
		info.options |= LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT;
	info.client_ssl_ca_filepath = rest_authorities();
	loop->context = lws_create_context(&info);
	if (loop->context != NULL)
		loop->vhost = lws_create_vhost(loop->context, &info);
	if (loop->vhost == NULL) {
		loop_free(loop);
		return (fail_set(
		    fail, FAIL_INTERNAL, "libwebsockets cannot start"));
	}
	*ret = loop;
	return (RC_OK);
}

void
loop_free(struct loop *loop)
{

	if (loop == NULL)
		return;
	if (loop->context != NULL)
		lws_context_destroy(loop->context);
	mem_free(loop);
}

enum rc
loop_run(struct loop *loop, struct fail *fail)
{

	loop->stopped = false;
	while (!loop->stopped) {
		if (lws_service(loop->context, 0) < 0)
			return (fail_set(fail, FAIL_INTERNAL,
			    "libwebsockets cannot go on: %s", strerror(errno)));
	}
	return (RC_OK);
}

void
loop_stop(struct loop *loop)
{

	loop->stopped = true;
	lws_cancel_service(loop->context);
}

enum rc
loop_watch(struct loop *loop, int fd, loop_fn fn, void *arg, struct fail *fail)
{
	struct epoll_event event = {.events = EPOLLIN};
	struct watch *watch = mem_zalloc(1, sizeof(*watch));
	lws_sock_file_fd_type adopted;
	struct lws *wsi;
	int set;

	if (watch == NULL)
		return (fail_set(fail, FAIL_MEMORY, "out of memory"));
	watch->fn = fn;
	watch->arg = arg;
	set = epoll_create1(EPOLL_CLOEXEC);
	if (set < 0 || epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) != 0) {
		(void)fail_set(fail, FAIL_INTERNAL,
		    "cannot watch descriptor %d: %s", fd, strerror(errno));
		goto undo_set;
	}
	adopted.filefd = set;
	wsi = lws_adopt_descriptor_vhost(loop->vhost, LWS_ADOPT_RAW_FILE_DESC,
	    adopted, WATCH_PROTOCOL, NULL);
	if (wsi == NULL) {
		mem_free(watch);
		return (fail_set(fail, FAIL_INTERNAL,
		    "libwebsockets cannot watch descriptor %d", fd));
	}
	(void)lws_set_opaque_user_data(wsi, watch);
	return (RC_OK);

undo_set:
	if (set >= 0)
		(void)close(set);
	mem_free(watch);
	return (fail->rc);
}

/* libwebsockets' timer callback. */
static void
timer_fired(lws_sorted_usec_list_t *sul)
{
	struct loop_timer *timer =
	    lws_container_of(sul, struct loop_timer, sul);

	timer->pending = false;
	timer->fn(timer->arg);
}

struct loop_timer *
loop_timer_new(struct loop *loop, loop_fn fn, void *arg)
{
	struct loop_timer *timer = mem_zalloc(1, sizeof(*timer));

	if (timer != NULL) {
		timer->loop = loop;
		timer->fn = fn;
		timer->arg = arg;
	}
	return (timer);
}

void
loop_timer_free(struct loop_timer *timer)
{

	if (timer == NULL)
		return;
	loop_timer_cancel(timer);
	mem_free(timer);
}

void
loop_timer_set(struct loop_timer *timer, int64_t ms)
{

	timer->pending = true;
	/* At least 1 µs: -1 would mean "cancel" to libwebsockets. */
	lws_sul_schedule(timer->loop->context, 0, &timer->sul, timer_fired,
	    ms > 0 ? ms * LWS_US_PER_MS : 1);
}

void
loop_timer_cancel(struct loop_timer *timer)
{

	if (timer->pending)
		lws_sul_cancel(&timer->sul);
	timer->pending = false;
}

bool
loop_timer_pending(const struct loop_timer *timer)
{

	return (timer->pending);
}
