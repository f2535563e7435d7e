/* SPDX-License-Identifier: MIT */
/*
 * A loop: a thread that drives one libmicrohttpd daemon from its own epoll set.
 * The library's own waiting is never used, because it can stall when 128
 * connections are ready at once.  The loop takes connections and answers from
 * its mailbox, keeps the absolute deadlines of its connections and the timers
 * of waiting requests, and notices clients that close their side while a
 * request waits.
 *
 * Deadlines: the loop checks each connection at intervals of an eighth of the
 * time limit for a request (request_deadline_ms), so no list has to be
 * reordered when a connection's phase changes.  A connection is therefore cut
 * up to one interval after its deadline.  libmicrohttpd reports a request only
 * when its request line is complete.  If a further request on a kept connection
 * has arrived only in part, the loop notices this through TCP_INFO, by the time
 * at which the kernel last received data.
 */
#include <sys/epoll.h>

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

#include "base/container.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/rnd.h"
#include "http/answer_internal.h"
#include "http/http_internal.h"
#include "http/loop_internal.h"
#include "log/log.h"

#define EVENTS_MAX 64
/* The kernel counts time in ticks of up to 10 ms. */
#define TICK_SLACK_MS 20

static _Thread_local struct loop *self;

struct loop *
loop_self(void)
{

	return (self);
}

/* ---- making and ending ---- */

static enum rc
loop_watch(struct loop *loop, int fd, struct source *source, struct err *err)
{
	struct epoll_event ev = {.events = EPOLLIN};

	ev.data.ptr = source;
	if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &ev) != 0)
		return (err_set_sys(err, RC_IO, errno, "epoll_ctl"));
	return (RC_OK);
}

enum rc
loop_init(struct loop *loop, struct http *http, int index, struct err *err)
{
	const union MHD_DaemonInfo *info;
	enum rc rc;

	loop->http = http;
	loop->index = index;
	loop->epoll_fd = -1;
	loop->wake_msg.kind = MSG_WAKE;
	loop->source_mhd.kind = SOURCE_MHD;
	loop->source_mbox.kind = SOURCE_MBOX;
	loop->ready_tail = &loop->ready;
	loop->now_ms = clk_mono_ms(http->options.clk);
	lock_init(&loop->timer_lock, LOCK_HTTP_TIMER);
	uuid_gen_init(&loop->ids, http->options.clk, rnd_system());
	if ((loop->mbox = mbox_new(0, true)) == NULL)
		return (err_set(err, RC_NO_MEMORY, "http mailbox"));
	if ((loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC)) < 0)
		return (err_set_sys(err, RC_IO, errno, "epoll_create1"));
	if ((rc = daemon_start(loop, err)) != RC_OK)
		return (rc);
	info = MHD_get_daemon_info(loop->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	if (info == NULL)
		return (err_set(err, RC_INTERNAL, "libmicrohttpd: no epoll"));
	rc = loop_watch(loop, info->epoll_fd, &loop->source_mhd, err);
	if (rc == RC_OK)
		rc = loop_watch(
		    loop, mbox_fd(loop->mbox), &loop->source_mbox, err);
	return (rc);
}

void
loop_fini(struct loop *loop)
{
	struct http_request *req;

	if (loop->http == NULL)
		return; /* never initialized */
	if (loop->daemon != NULL)
		MHD_stop_daemon(loop->daemon);
	if (loop->no_memory != NULL)
		MHD_destroy_response(loop->no_memory);
	linger_expire(loop, true);
	if (loop->epoll_fd >= 0)
		(void)close(loop->epoll_fd);
	if (loop->mbox != NULL)
		(void)mbox_take_all(loop->mbox); /* at most a wake-up */
	mbox_free(loop->mbox);
	while ((req = loop->spare) != NULL) {
		loop->spare = req->next;
		mem_free(req->body.data);
		mem_free(req);
	}
	lock_fini(&loop->timer_lock);
}

/* ---- requests that wait ---- */

void
loop_timer_cancel(struct loop *loop, struct http_request *req)
{

	if (req->timer.node.queued) {
		timer_heap_remove(&loop->timers, &req->timer.node);
		metrics_add(loop->http->options.metrics, METRIC_LONG_POLLS, -1);
	}
	if (req->timer.watching) {
		req->timer.watching = false;
		(void)epoll_ctl(
		    loop->epoll_fd, EPOLL_CTL_DEL, req->conn->fd, NULL);
	}
}

void
loop_ready(struct loop *loop, struct http_request *req)
{

	loop_timer_cancel(loop, req);
	req->answer_msg.node.next = NULL;
	*loop->ready_tail = &req->answer_msg.node;
	loop->ready_tail = &req->answer_msg.node.next;
}

/* Returns true if ${req} may still be woken by a timer: it is not answered, or
 * it waits for the next piece of its answer. */
static bool
request_waits(const struct http_request *req)
{

	/* A request whose answer has begun is suspended only between two
	 * pieces. */
	return (req->phase < REQUEST_ANSWERED || req->suspended);
}

void
loop_timer_set(struct loop *loop, struct http_request *req, int64_t at_ms,
    void (*wake)(struct http_request *req, void *arg), void *arg)
{
	struct epoll_event ev = {.events = EPOLLRDHUP | EPOLLONESHOT};

	loop_timer_cancel(loop, req);
	if (at_ms == 0 || !request_waits(req))
		return;
	req->timer.wake = wake;
	req->timer.wake_arg = arg;
	timer_heap_add(&loop->timers, &req->timer.node, at_ms);
	metrics_add(loop->http->options.metrics, METRIC_LONG_POLLS, 1);
	/* A loop whose long_poll is false is meant for requests that do not
	 * wait.  If a request waits here, its connection is closed after the
	 * answer: the client then opens a new connection, which the front gives
	 * to the loop for long-polls if its first request may wait.  Between
	 * two pieces it is too late: the Connection header has been sent. */
	if (!loop->long_poll && req->phase < REQUEST_ANSWERED)
		req->answer.close = true;
	ev.data.ptr = &req->timer.gone;
	req->timer.watching =
	    epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, req->conn->fd, &ev) == 0;
}

void
http_set_timer(struct http_request *req, int64_t at_ms,
    void (*wake)(struct http_request *req, void *arg), void *arg)
{
	struct loop *loop = req->loop;
	bool put;

	assert(req->magic == REQUEST_MAGIC);
	if (loop == self) {
		loop_timer_set(loop, req, at_ms, wake, arg);
		return;
	}
	lock_take(&loop->timer_lock);
	req->timer.want_at_ms = at_ms;
	req->timer.want_wake = wake;
	req->timer.want_arg = arg;
	put = !req->timer.queued;
	req->timer.queued = true;
	lock_drop(&loop->timer_lock);
	if (put)
		(void)!mbox_put_urgent(loop->mbox, &req->timer.msg.node);
}

/* Cancels the timer of ${req} and calls its function: the time is up, draining
 * has begun, or the client has closed its side. */
static void
loop_wake(struct loop *loop, struct http_request *req)
{

	assert(req->magic == REQUEST_MAGIC);
	loop_timer_cancel(loop, req);
	req->timer.wake(req, req->timer.wake_arg);
}

/* ---- messages ---- */

static void
adopt_conn(struct loop *loop, struct conn *conn)
{
	int64_t period = loop->http->options.request_deadline_ms / 8 + 1;

	conn->loop = loop;
	conn->check_ms = loop->now_ms + period;
	conn_list_add(&loop->conns, conn);
	loop->adding = conn;
	(void)MHD_add_connection(loop->daemon, conn->fd,
	    (const struct sockaddr *)&conn->addr, conn->addr_len);
	if (loop->adding == NULL)
		return; /* libmicrohttpd has accepted the connection */
	loop->adding = NULL;
	conn_list_remove(&loop->conns, conn);
	atomic_fetch_sub(&loop->connections, 1);
	conn_free(conn);
}

static void
apply_timer(struct loop *loop, struct http_request *req)
{
	void (*wake)(struct http_request *, void *);
	int64_t at_ms;
	void *arg;

	lock_take(&loop->timer_lock);
	req->timer.queued = false;
	at_ms = req->timer.want_at_ms;
	wake = req->timer.want_wake;
	arg = req->timer.want_arg;
	lock_drop(&loop->timer_lock);
	loop_timer_set(loop, req, at_ms, wake, arg);
}

static void
handle_messages(struct loop *loop)
{
	struct mbox_node *node, *next;
	struct loop_msg *msg;

	for (node = mbox_take_all(loop->mbox); node != NULL; node = next) {
		next = node->next;
		msg = CONTAINER_OF(node, struct loop_msg, node);
		switch (msg->kind) {
		case MSG_CONN:
			adopt_conn(loop, CONTAINER_OF(msg, struct conn, msg));
			break;
		case MSG_ANSWER:
			loop_ready(loop,
			    CONTAINER_OF(msg, struct http_request, answer_msg));
			break;
		case MSG_TIMER:
			apply_timer(loop,
			    CONTAINER_OF(msg, struct http_request, timer.msg));
			break;
		case MSG_WAKE:
			break;
		default:
			assert(!"message kind");
		}
	}
}

/* Resumes the connections of the requests in the list ready: they have an
 * answer, the next piece, or the result of the look-up of their sender.  After
 * a look-up, first lets the body be read or writes the refusal to the socket
 * (sender_go_on()). */
static void
resume_ready(struct loop *loop)
{
	struct mbox_node *node, *next;
	struct http_request *req;

	for (node = loop->ready; node != NULL; node = next) {
		next = node->next;
		req = CONTAINER_OF(node, struct http_request, answer_msg.node);
		if (req->phase == REQUEST_CHECKING)
			sender_go_on(req);
		else if (req->phase < REQUEST_QUEUED)
			req->phase = REQUEST_ANSWERED;
		if (req->suspended) {
			req->suspended = false;
			MHD_resume_connection(req->mhd);
		}
	}
	loop->ready = NULL;
	loop->ready_tail = &loop->ready;
}

/* ---- deadlines ---- */

/* Checks a connection between two requests.  If bytes have arrived since it
 * became idle, starts the deadline of a request, unless the idle deadline is
 * earlier.  If the client has closed the connection after its last request,
 * sets the deadline to now: libmicrohttpd gets the event of the close only once
 * and may have overlooked it. */
static void
conn_look(struct loop *loop, struct conn *conn)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);
	int64_t deadline;

	if (getsockopt(conn->fd, IPPROTO_TCP, TCP_INFO, &info, &len) != 0)
		return;
	if ((int64_t)info.tcpi_last_data_recv + TICK_SLACK_MS <
	    loop->now_ms - conn->idle_since_ms) {
		conn->partial = true;
		deadline =
		    loop->now_ms + loop->http->options.request_deadline_ms;
		if (deadline < conn->deadline_ms)
			conn->deadline_ms = deadline;
	} else if (info.tcpi_state == TCP_CLOSE_WAIT) {
		conn->deadline_ms = loop->now_ms;
	}
}

/* Logs that a connection is cut because its deadline has passed.  Each loop
 * logs this at most once a second, because a stranger may have thousands of
 * connections; the next line has the number of cuts that were not logged. */
static void
log_deadline(struct loop *loop, const struct conn *conn)
{

	if (loop->deadline_log_ms != 0 &&
	    loop->now_ms - loop->deadline_log_ms < 1000) {
		loop->deadlines_unlogged++;
		return;
	}
	log_event(LOG_EV_HTTP_DEADLINE, "peer=%s phase=%s more=%d", conn->peer,
	    conn->phase == CONN_SENDING ? "sending" : "receiving",
	    loop->deadlines_unlogged);
	loop->deadline_log_ms = loop->now_ms;
	loop->deadlines_unlogged = 0;
}

/* Returns true if the client has closed its side and all its bytes have been
 * read.  Called while a request is arriving, which then cannot become complete.
 * libmicrohttpd may miss the client's end when it arrives together with the
 * last bytes. */
static bool
conn_is_over(const struct conn *conn)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);
	char byte;

	return (getsockopt(conn->fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0 &&
		info.tcpi_state == TCP_CLOSE_WAIT &&
		recv(conn->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0);
}

static void
conn_check(struct loop *loop, struct conn *conn)
{
	struct http *http = loop->http;
	bool over;

	if (conn->cut || conn->phase == CONN_HANDLING)
		return;
	if (conn->phase == CONN_IDLE && !conn->partial)
		conn_look(loop, conn);
	over = conn->phase == CONN_RECEIVING && conn_is_over(conn);
	if (loop->now_ms < conn->deadline_ms && !over)
		return;
	conn->cut = true;
	if (!over && (conn->phase != CONN_IDLE || conn->partial)) {
		metrics_add(http->options.metrics, METRIC_HTTP_DEADLINES, 1);
		log_deadline(loop, conn);
	}
	(void)shutdown(conn->fd, SHUT_RDWR);
}

static void
check_conns(struct loop *loop)
{
	int64_t period = loop->http->options.request_deadline_ms / 8 + 1;
	struct conn *conn;

	while ((conn = loop->conns.head) != NULL &&
	       conn->check_ms <= loop->now_ms) {
		conn_list_remove(&loop->conns, conn);
		conn->check_ms = loop->now_ms + period;
		conn_list_add(&loop->conns, conn);
		conn_check(loop, conn);
	}
}

/* Wakes the requests whose timer is due, and all of them when draining begins.
 */
static void
wake_due(struct loop *loop)
{
	struct timer_node *node;
	bool all = !loop->drain_seen && atomic_load(&loop->http->draining);

	loop->drain_seen |= all;
	while ((node = timer_heap_first(&loop->timers)) != NULL &&
	       (all || node->at_ms <= loop->now_ms))
		loop_wake(
		    loop, CONTAINER_OF(node, struct http_request, timer.node));
}

/* ---- the loop ---- */

static int
loop_timeout(const struct loop *loop)
{
	const struct timer_node *first = timer_heap_first(&loop->timers);
	MHD_UNSIGNED_LONG_LONG mhd_ms;
	int64_t at = INT64_MAX, now;

	if (loop->ready != NULL ||
	    (MHD_get_timeout(loop->daemon, &mhd_ms) == MHD_YES && mhd_ms == 0))
		return (0);
	if (first != NULL)
		at = first->at_ms;
	if (loop->conns.head != NULL && loop->conns.head->check_ms < at)
		at = loop->conns.head->check_ms;
	if (loop->lingers != NULL && loop->now_ms + 500 < at)
		at = loop->now_ms + 500;
	if (at == INT64_MAX)
		return (-1);
	now = clk_mono_ms(loop->http->options.clk);
	/* Add one, as now is rounded down. */
	return (at <= now ? 0 : at - now > 60000 ? 60000 : (int)(at - now) + 1);
}

static void
handle_event(struct loop *loop, struct source *source)
{
	struct http_request *req;

	switch (source->kind) {
	case SOURCE_MHD:
		break;
	case SOURCE_MBOX:
		handle_messages(loop);
		break;
	case SOURCE_GONE:
		req = CONTAINER_OF(source, struct http_request, timer.gone);
		if (req->timer.watching)
			loop_wake(loop, req);
		break;
	case SOURCE_LEFTOVER:
		linger_read(
		    loop, CONTAINER_OF(source, struct leftover, source));
		break;
	default:
		assert(!"source kind");
	}
}

/* Returns true if an answer is still going out. */
static bool
has_answers(const struct loop *loop)
{
	const struct http_request *req;

	for (req = loop->requests; req != NULL; req = req->next)
		if (req->phase >= REQUEST_ANSWERED)
			return (true);
	return (false);
}

/* Ends every suspended request: one without an answer gets a refusal (503), and
 * an answer that waits for its next piece is cut off.  The caller then resumes
 * their connections (resume_ready()): MHD_stop_daemon() would abort the process
 * if a connection were still suspended. */
static void
end_suspended(struct loop *loop)
{
	struct refusal r = REFUSAL_INIT;
	struct http_request *req;

	refusal_set(&r, PROBLEM_DRAINING, "", "this server has stopped");
	for (req = loop->requests; req != NULL; req = req->next) {
		if (req->suspended && req->phase == REQUEST_CHECKING) {
			/* sender_go_on() refuses it. */
			req->answer.refusal = r;
			req->answer.refused = req->answer.close = true;
			loop_ready(loop, req);
		} else if (req->suspended && req->answer.status == 0) {
			http_answer_refusal(req, &r);
		} else if (req->suspended && req->answer.more != NULL) {
			req->answer.piece = HTTP_PIECE_CUT;
			loop_ready(loop, req);
		}
	}
}

/* Called when the loop ends.  Handles the last messages in the mailbox, refuses
 * the suspended requests that no thread has answered, cuts off answers that
 * wait for their next piece, and goes on sending answers for at most
 * http_stop_ms (1 s).  Does not close the connections: loop_fini() does. */
static void
loop_stop(struct loop *loop)
{
	struct http *http = loop->http;
	int64_t end =
	    clk_mono_ms(http->options.clk) + http->options.timing->http_stop_ms;

	handle_messages(loop);
	wake_due(loop);
	resume_ready(loop);
	end_suspended(loop);
	resume_ready(loop);
	do {
		(void)MHD_run(loop->daemon);
		loop->now_ms = clk_mono_ms(http->options.clk);
		(void)usleep(1000);
	} while (has_answers(loop) && loop->now_ms < end);
}

bool
loop_turn(struct loop *loop, int wait_ms)
{
	struct epoll_event events[EVENTS_MAX];
	int i, n;

	self = loop;
	n = epoll_wait(loop->epoll_fd, events, EVENTS_MAX, wait_ms);
	loop->now_ms = clk_mono_ms(loop->http->options.clk);
	for (i = 0; i < n; i++)
		handle_event(loop, events[i].data.ptr);
	wake_due(loop);
	check_conns(loop);
	linger_expire(loop, false);
	resume_ready(loop);
	(void)MHD_run(loop->daemon);
	return (n > 0 || loop_timeout(loop) == 0);
}

void
loop_main(void *arg)
{
	struct loop *loop = arg;

	self = loop;
	while (!atomic_load(&loop->http->loops_stop))
		(void)loop_turn(loop, loop_timeout(loop));
	loop_stop(loop);
	self = NULL;
}
