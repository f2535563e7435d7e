/* SPDX-License-Identifier: MIT */
/*
 * The push thread: a libuv loop that serves libwebsockets' sockets and, woken
 * by one async handle, the mailboxes.
 *
 * Why nothing is lost between a waiter and the effects: the thread takes the
 * effects first and the notes (registrations) second, and works in the other
 * order.  A registration that was put before some effects is therefore
 * always worked on before it.
 *
 * When more is told than the thread can pass on, effects are dropped and that
 * is remembered: everybody who is here then reads the store, which has it all.
 * The mark of that is taken before the notes, too.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thr.h"
#include "push/push_internal.h"
#include "wire/json.h"

#define LEAVE_TICK_MS 20
/* A library that has lost no connection closes its handles at once. */
#define LIBRARY_CLOSE_MS 1000

/* ---- the mailboxes, from any thread ---- */

void
push_post(struct push *p, struct push_note *note)
{

	/* The box has no limit and is closed only after the last sender. */
	if (mbox_put(p->notes, &note->node) == RC_OK)
		(void)uv_async_send(&p->async);
}

/* Takes ${effects} in, if need be without what the store says as well.  NULL:
 * all of it, and it is freed.  Lost tokens are told always: they are few, and
 * no reading would find them. */
static struct effects *
admit(struct push *p, struct effects *effects)
{
	size_t n = effects_size(effects);

	if (atomic_fetch_add(&p->effects_bytes, n) + n <=
		p->options.effects_limit &&
	    !FAULT_FAILS("push.effects"))
		return (effects);
	atomic_fetch_sub(&p->effects_bytes, n);
	effects_shed(effects);
	atomic_store(&p->overflowed, true);
	if (effects->nrevoked == 0) {
		effects_free(effects);
		return (NULL);
	}
	atomic_fetch_add(&p->effects_bytes, effects_size(effects));
	return (effects);
}

void
push_effects(struct push *p, struct effects *effects)
{

	if (!hub_wants(p->hub, effects)) {
		effects_free(effects);
		return;
	}
	effects = admit(p, effects);
	if (effects != NULL && mbox_put(p->effects, &effects->node) != RC_OK)
		effects_free(effects);
	(void)uv_async_send(&p->async);
}

static void
adopt(struct push *p, struct push_note *note)
{

	rx_arrive(p, (struct adopt_note *)(void *)note);
}

void
push_adopt(struct push *p, int fd, const struct push_peer *peer)
{
	struct adopt_note *a;

	a = mem_zalloc(1, sizeof(*a));
	if (a == NULL) {
		(void)close(fd);
		return;
	}
	a->note.run = adopt;
	a->fd = fd;
	a->peer = *peer;
	push_post(p, &a->note);
}

/* ---- sessions ---- */

struct session *
push_session(struct push *p, int64_t no)
{

	thr_assert(THR_PUSH);
	return (htab_find(p->sessions, &no));
}

struct buf *
tx_begin(struct push *p)
{

	buf_reset(&p->tx);
	if (buf_reserve(&p->tx, LWS_PRE) != NULL)
		p->tx.len = LWS_PRE;
	return (&p->tx);
}

bool
session_writable(const struct session *s)
{

	return (s->out_frames == 0 && lws_partial_buffered(s->wsi) == 0);
}

static void
write_now(struct session *s, char *frame, size_t n)
{

	if (lws_write(s->wsi, (unsigned char *)frame, n, LWS_WRITE_TEXT) < 0)
		session_close(s, 1011, "");
}

void
session_write(struct session *s)
{
	struct buf *tx = &s->push->tx;

	thr_assert(THR_PUSH);
	if (!buf_ok(tx)) {
		session_close(s, 1013, "out of memory");
		return;
	}
	write_now(s, tx->data + LWS_PRE, tx->len - LWS_PRE);
}

void
session_reply(struct session *s)
{
	struct buf *tx = &s->push->tx;
	struct out_frame *f;
	size_t n;

	if (s->state == SESSION_CLOSING)
		return;
	if (session_writable(s)) {
		session_write(s);
		return;
	}
	n = tx->len - LWS_PRE;
	f = NULL;
	if (buf_ok(tx) && s->out_frames < OUT_FRAMES &&
	    s->out_bytes + n <= OUT_BYTES)
		f = mem_alloc(sizeof(*f) + LWS_PRE + n);
	if (f == NULL) {
		session_close(s, 1013, "you read too slowly");
		return;
	}
	f->len = n;
	memcpy(f->data + LWS_PRE, tx->data + LWS_PRE, n);
	STAILQ_INSERT_TAIL(&s->out, f, entry);
	s->out_frames++;
	s->out_bytes += n;
	(void)lws_callback_on_writable(s->wsi);
}

void
session_write_control(struct session *s, const char *payload, int n)
{
	struct buf *tx;

	if (!session_writable(s)) {
		if (n >= 0) {
			memcpy(s->pong, payload, (size_t)n);
			s->pong_len = n;
		}
		(void)lws_callback_on_writable(s->wsi);
		return;
	}
	tx = tx_begin(s->push);
	if (n > 0)
		buf_add(tx, payload, (size_t)n);
	if (!buf_ok(tx) ||
	    lws_write(s->wsi, (unsigned char *)tx->data + LWS_PRE,
		tx->len - LWS_PRE, n < 0 ? LWS_WRITE_PING : LWS_WRITE_PONG) < 0)
		session_close(s, 1011, "");
}

void
session_flush_one(struct session *s)
{
	struct out_frame *f;

	f = STAILQ_FIRST(&s->out);
	STAILQ_REMOVE_HEAD(&s->out, entry);
	s->out_frames--;
	s->out_bytes -= f->len;
	write_now(s, f->data + LWS_PRE, f->len);
	mem_free(f);
}

void
session_unblocked(struct session *s)
{

	if (lws_partial_buffered(s->wsi) == 0)
		s->stuck_ms = 0;
	while (s->out_frames > 0 && lws_partial_buffered(s->wsi) == 0)
		session_flush_one(s);
	if (!session_writable(s)) {
		(void)lws_callback_on_writable(s->wsi);
		return;
	}
	if (s->pong_len >= 0) {
		session_write_control(s, s->pong, s->pong_len);
		s->pong_len = -1;
	}
	rx_resume(s);
	session_kick(s);
}

/*
 * A session is closed from the loop, never from within one of the library's
 * callbacks: libwebsockets as Debian builds it with libuv closes a connection
 * twice when a callback returns -1.  The close frame is ours; the library is
 * only told to end the connection, when the peer has answered or time is up.
 */
void
session_close(struct session *s, int code, const char *reason)
{

	thr_assert(THR_PUSH);
	if (s->state == SESSION_CLOSING)
		return;
	s->state = SESSION_CLOSING;
	s->close_code = code;
	s->close_by_ms = clk_mono_ms(s->push->options.clk) +
			 s->push->options.timing->push_close_ms;
	(void)snprintf(s->close_reason, sizeof(s->close_reason), "%s", reason);
	hub_leave(s->push->hub, &s->member);
	TAILQ_INSERT_TAIL(&s->push->closing, s, closing);
	(void)uv_async_send(&s->push->async);
}

/* The library keeps close frames to itself: this is one, raw (LWS_WRITE_HTTP
 * writes bytes as they are). */
static bool
write_close(struct session *s)
{
	size_t n = s->close_code == 1005 ? 0 : 2 + strlen(s->close_reason);
	struct buf *tx;

	tx = tx_begin(s->push);
	buf_addc(tx, (char)0x88);
	buf_addc(tx, (char)n);
	if (n > 0) {
		buf_addc(tx, (char)(s->close_code >> 8));
		buf_addc(tx, (char)(s->close_code & 0xff));
		buf_adds(tx, s->close_reason);
	}
	return (
	    buf_ok(tx) && lws_write(s->wsi, (unsigned char *)tx->data + LWS_PRE,
			      tx->len - LWS_PRE, LWS_WRITE_HTTP) >= 0);
}

/* What was queued before the close goes out first. */
static void
close_now(struct session *s)
{
	bool writable;

	while (s->out_frames > 0 && lws_partial_buffered(s->wsi) == 0)
		session_flush_one(s);
	writable = session_writable(s);
	if (!writable && clk_mono_ms(s->push->options.clk) < s->close_by_ms) {
		(void)lws_callback_on_writable(s->wsi);
		return;
	}
	TAILQ_REMOVE(&s->push->closing, s, closing);
	s->told_close = true;
	if (!writable || !write_close(s) || s->peer_closed)
		lws_glue_kill(s);
	else
		rx_closing(s);
}

static void
close_sessions(struct push *p)
{
	struct session *s, *next;

	for (s = TAILQ_FIRST(&p->closing); s != NULL; s = next) {
		next = TAILQ_NEXT(s, closing);
		close_now(s);
	}
}

/* ---- the thread ---- */

/* Its sessions end; its long-polls look again, and see that they may not. */
static void
tell_revoked(struct push *p, int64_t device_id)
{
	struct session *s;

	TAILQ_FOREACH (s, &p->all, all)
		if (s->device_id == device_id)
			session_close(s, 4401, "token revoked");
	waiters_revoked(p, device_id);
}

static void
tell(struct push *p, const struct effects *effects)
{
	size_t i;

	thr_assert(THR_PUSH);
	for (i = 0; i < effects->nevents; i++)
		hub_event(p->hub, &effects->events[i]);
	for (i = 0; i < effects->nchanges; i++)
		hub_change(p->hub, &effects->changes[i]);
	for (i = 0; i < effects->nacked; i++)
		hub_acked(p->hub, &effects->acked[i]);
	for (i = 0; i < effects->nrevoked; i++)
		tell_revoked(p, effects->revoked[i].device_id);
}

static void on_tick(uv_timer_t *timer);

static void
tell_reconnect(struct push *p)
{

	p->drained = true;
	rx_drain(p);
	waiters_release(p, false);
	leave_all(p);
	(void)uv_timer_start(&p->timer, on_tick, LEAVE_TICK_MS, LEAVE_TICK_MS);
}

/* News have been dropped: everybody looks for himself. */
static void
overflow(struct push *p)
{
	struct session *s;

	metrics_add(p->options.metrics, METRIC_PUSH_OVERFLOWS, 1);
	waiters_release(p, true);
	TAILQ_FOREACH (s, &p->all, all)
		session_overflow(s);
}

static void
run_notes(struct push *p, struct mbox_node *notes)
{
	struct push_note *note;
	struct mbox_node *next;

	thr_assert(THR_PUSH);
	for (; notes != NULL; notes = next) {
		next = notes->next;
		note = (struct push_note *)(void *)notes;
		note->run(p, note);
	}
}

static void
on_async(uv_async_t *async)
{
	struct push *p = async->data;
	struct mbox_node *nodes, *notes, *next;
	struct effects *effects;
	bool overflowed;

	overflowed = atomic_exchange(&p->overflowed, false);
	nodes = mbox_take_all(p->effects);
	notes = mbox_take_all(p->notes);
	run_notes(p, notes);
	if (overflowed)
		overflow(p);
	for (; nodes != NULL; nodes = next) {
		next = nodes->next;
		effects = (struct effects *)(void *)nodes;
		tell(p, effects);
		atomic_fetch_sub(&p->effects_bytes, effects_size(effects));
		effects_free(effects);
	}
	if (atomic_load(&p->draining) && !p->drained)
		tell_reconnect(p);
	close_sessions(p);
	if (atomic_load(&p->stopping))
		uv_stop(&p->loop);
}

void
push_tick(struct push *p)
{
	struct session *s, *next;
	int64_t now;

	now = clk_mono_ms(p->options.clk);
	for (s = TAILQ_FIRST(&p->all); s != NULL; s = next) {
		next = TAILQ_NEXT(s, all);
		session_tick(s, now);
		rx_session_tick(s, now);
	}
	rx_tick(p, now);
	if (p->drained)
		leave_tick(p, now);
	close_sessions(p);
	metrics_set(p->options.metrics, METRIC_WS_SESSIONS,
	    (int64_t)atomic_load(&p->nsessions));
	metrics_set(
	    p->options.metrics, METRIC_WS_NEWCOMERS, (int64_t)p->nnewcomers);
}

static void
on_tick(uv_timer_t *timer)
{

	push_tick(timer->data);
}

static void
loop(void *arg)
{
	struct push *p = arg;

	(void)uv_run(&p->loop, UV_RUN_DEFAULT);
}

/* ---- life ---- */

static void
on_library_late(uv_timer_t *timer)
{

	uv_stop(timer->loop);
}

/* Runs the loop until the library has closed its handles; false: it has not.
 * A connection that it gave up for want of memory keeps its handle for ever
 * (lws_ensure_user_space()), and the stop must not wait for it. */
static bool
library_closes(struct push *p)
{
	bool closed;

	(void)uv_timer_start(&p->timer, on_library_late, LIBRARY_CLOSE_MS, 0);
	uv_unref((uv_handle_t *)&p->timer);
	closed = uv_run(&p->loop, UV_RUN_DEFAULT) == 0;
	uv_close((uv_handle_t *)&p->timer, NULL);
	(void)uv_run(&p->loop, UV_RUN_NOWAIT);
	if (!closed)
		log_event(LOG_EV_PUSH_LIBRARY,
		    "text=connections that it lost keep their memory");
	return (closed);
}

static void
free_all(struct push *p)
{
	struct mbox_node *n, *next;
	bool closed = true;

	if (p->context != NULL)
		lws_context_destroy(p->context);
	if (p->rx_poll.data != NULL)
		uv_close((uv_handle_t *)&p->rx_poll, NULL);
	rx_close(p);
	if (p->loop_ready) {
		uv_close((uv_handle_t *)&p->async, NULL);
		closed = library_closes(p);
	}
	/* On a loop that is not its own the library closes its handles first;
	 * only when the loop has run does a second call free the rest. */
	if (p->context != NULL && closed)
		lws_context_destroy(p->context);
	if (p->loop_ready)
		(void)uv_loop_close(&p->loop);
	for (n = p->effects != NULL ? mbox_take_all(p->effects) : NULL;
	     n != NULL; n = next) {
		next = n->next;
		effects_free((struct effects *)(void *)n);
	}
	mbox_free(p->effects);
	mbox_free(p->notes);
	htab_free(p->sessions);
	htab_free(p->crowds);
	hub_free(p->hub);
	buf_fini(&p->tx);
	mem_free(p->allow_origin);
	mem_free(p);
}

enum rc
push_new(const struct push_options *options, struct push **ret, struct err *err)
{
	struct push *p;
	uint64_t tick_ms;
	enum rc rc;

	p = mem_zalloc(1, sizeof(*p));
	if (p == NULL)
		return (err_set(err, RC_NO_MEMORY, "push"));
	p->options = *options;
	p->options.timing = timing_or_real(options->timing);
	TAILQ_INIT(&p->all);
	TAILQ_INIT(&p->closing);
	TAILQ_INIT(&p->newcomers);
	TAILQ_INIT(&p->arrivals);
	p->rx_fd = -1;
	uuid_gen_init(&p->ids, options->clk, rnd_system());
	TAILQ_INIT(&p->waiters);
	buf_init(&p->tx, 0);
	p->effects = mbox_new(0, false);
	p->notes = mbox_new(0, false);
	p->sessions = htab_new(sizeof(int64_t));
	p->crowds = htab_new(sizeof(uint64_t));
	p->hub = hub_new();
	p->allow_origin = mem_strdup(
	    options->allow_origin != NULL ? options->allow_origin : "");
	if (p->allow_origin == NULL || p->effects == NULL || p->notes == NULL ||
	    p->sessions == NULL || p->crowds == NULL || p->hub == NULL ||
	    uv_loop_init(&p->loop) != 0) {
		free_all(p);
		return (err_set(err, RC_NO_MEMORY, "push"));
	}
	(void)uv_async_init(&p->loop, &p->async, on_async);
	(void)uv_timer_init(&p->loop, &p->timer);
	p->async.data = p;
	p->timer.data = p;
	p->loop_ready = true;
	tick_ms = (uint64_t)p->options.timing->push_tick_ms;
	(void)uv_timer_start(&p->timer, on_tick, tick_ms, tick_ms);
	rc = rx_open(p, err);
	if (rc == RC_OK)
		rc = lws_glue_open(p, err);
	if (rc != RC_OK) {
		free_all(p);
		return (rc);
	}
	*ret = p;
	return (RC_OK);
}

enum rc
push_start(struct push *p, struct err *err)
{

	return (thr_start(THR_PUSH, 0, loop, p, &p->thread, err));
}

void
push_drain(struct push *p)
{

	atomic_store(&p->draining, true);
	(void)uv_async_send(&p->async);
}

bool
push_drained(const struct push *p)
{

	return (p->thread == NULL || atomic_load(&p->left));
}

size_t
push_sessions(const struct push *p)
{

	return (atomic_load(&p->nsessions));
}

void
push_end(struct push *p)
{

	if (p == NULL)
		return;
	atomic_store(&p->draining, true);
	if (p->thread == NULL)
		return;
	atomic_store(&p->stopping, true);
	(void)uv_async_send(&p->async);
	thr_join(&p->thread);
}

void
push_stop(struct push *p)
{

	if (p == NULL)
		return;
	push_end(p);
	/* What the thread did not see any more: whoever waits is told, and
	 * connections are closed. */
	if (!p->drained)
		tell_reconnect(p);
	run_notes(p, mbox_take_all(p->notes));
	free_all(p);
}

static void
on_effects(void *arg, struct effects *effects)
{

	push_effects(arg, effects);
}

struct subscriber
push_subscriber(struct push *p)
{

	return ((struct subscriber){.arg = p, .take_effects = on_effects});
}
