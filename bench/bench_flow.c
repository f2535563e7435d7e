/* SPDX-License-Identifier: MIT */
/*
 * loadgen flow: pairs of senders and online recipients.  A sender sends its
 * next message when the server has answered the one before, without waiting for
 * the recipient.  The figure counts the frames that reach recipients.  At the
 * end each accepted message must have arrived once and in order.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#include "bench.h"
#include "httpc.h"
#include "loop.h"
#include "people.h"
#include "util.h"
#include "wsc.h"

#define FLOW_WAIT_NS (20 * NS_PER_S)
/* The window of a session is 256 events: both ack well before it is full. */
#define FLOW_ACK_EVERY 64

struct flow_run;

struct flow {
	struct flow_run *run;
	struct wsc sender;
	struct conn http; /* the sender's, if it sends by POST */
	struct wsc recipient;
	struct letter letter;
	bool busy;
	int64_t sent_ns;     /* the stamp of the message in flight */
	int64_t accepted;    /* messages */
	int64_t received;    /* of them at the recipient */
	int64_t received_ns; /* time of sending of the last one */
	int unacked[2];      /* events of sender and recipient */
};

struct flow_run {
	struct bench *b;
	struct loop *loop;
	struct flow *flows;
	struct person *people; /* senders first, then recipients */
	int n;
	int ready;
	bool going;
	bool measuring;
	int busy;
	int64_t measured; /* frames at recipients, measured time */
	struct hist answer;
	struct hist event;
};

static void
begin(struct flow *f)
{
	struct flow_run *run = f->run;

	if (!run->going)
		return;
	f->busy = true;
	run->busy++;
	f->sent_ns = mono_ns();
	letter_renew(run->b, &f->letter, f->sent_ns);
	if (run->b->http)
		conn_write(&f->http, f->letter.text.data, f->letter.text.len);
	else
		wsc_send(&f->sender, f->letter.text.data, f->letter.text.len);
}

static void
answered(struct flow *f)
{

	if (!f->busy)
		bench_die("an answer without a request");
	if (f->run->measuring)
		hist_add(&f->run->answer, mono_ns() - f->sent_ns);
	f->busy = false;
	f->run->busy--;
	f->accepted++;
	begin(f);
}

/* Acks the event at ${p} if FLOW_ACK_EVERY events are not acked. */
static void
maybe_ack(struct wsc *ws, int *unacked, const char *p, size_t n)
{
	int64_t seq;

	if (++*unacked < FLOW_ACK_EVERY)
		return;
	if (!scan_i64(p, n, "seq", &seq))
		bench_die("event without seq: %.*s", (int)n, p);
	*unacked = 0;
	wsc_ack(ws, seq);
}

static bool
is_event(const char *p, size_t n)
{

	if (scan_has(p, n, "\"type\":\"error\""))
		bench_die("a session got %.*s", (int)n, p);
	return (scan_has(p, n, "{\"type\":\"event\""));
}

static void
on_sender_text(struct wsc *ws, const char *p, size_t n)
{
	struct flow *f = ws->owner;

	if (is_event(p, n))
		maybe_ack(ws, &f->unacked[0], p, n);
	else if (scan_has(p, n, "{\"type\":\"sent\""))
		answered(f);
}

static void
on_recipient_text(struct wsc *ws, const char *p, size_t n)
{
	struct flow *f = ws->owner;
	struct flow_run *run = f->run;
	int64_t stamp;

	if (!is_event(p, n))
		return;
	maybe_ack(ws, &f->unacked[1], p, n);
	/* Ignore a receipt for a message of an earlier run. */
	if (!scan_has(p, n, "\"kind\":\"message\""))
		return;
	if (!letter_stamp(p, n, &stamp) || stamp <= f->received_ns)
		bench_die("twice or out of order: %.*s", (int)n, p);
	f->received_ns = stamp;
	f->received++;
	if (run->measuring) {
		run->measured++;
		hist_add(&run->event, mono_ns() - stamp);
	}
}

static void
on_welcome(struct wsc *ws)
{
	struct flow *f = ws->owner;

	f->run->ready++;
}

static void
on_ended(struct wsc *ws, const char *why)
{

	(void)ws;
	bench_die("a session ended: %s", why);
}

static const struct wsc_ops sender_ops = {on_welcome, on_sender_text, on_ended};
static const struct wsc_ops recipient_ops = {
    on_welcome, on_recipient_text, on_ended};

static void
on_http_connected(struct conn *conn)
{
	struct flow *f = conn->owner;

	f->run->ready++;
}

static size_t
on_http_input(struct conn *conn, const char *p, size_t n)
{
	struct httpc_reply reply;
	size_t used = httpc_parse(p, n, &reply);

	if (used == 0)
		return (0);
	if (reply.status != 201)
		bench_die("refused: %d %.*s", reply.status, (int)reply.body_len,
		    reply.body);
	answered(conn->owner);
	return (used);
}

static void
on_http_closed(struct conn *conn, int error)
{

	(void)conn;
	bench_die("the server closed a connection: %s", strerror(error));
}

static const struct conn_ops http_ops = {
    on_http_connected, on_http_input, on_http_closed};

static void
open_session(struct flow_run *run, struct wsc *ws, struct person *p, int node)
{

	ws->token = p->token;
	ws->instance = "";
	snprintf(ws->after, sizeof(ws->after), "%s:%lld", p->epoch,
	    (long long)p->head);
	wsc_open(run->loop, ws, bench_node(run->b, node), 0);
}

static void
open_flow(struct flow_run *run, int i)
{
	struct flow *f = &run->flows[i];
	struct person *from = &run->people[i], *to = &run->people[run->n + i];

	f->run = run;
	f->sender.ops = &sender_ops;
	f->recipient.ops = &recipient_ops;
	f->sender.owner = f->recipient.owner = f->http.owner = f;
	f->http.ops = &http_ops;
	f->http.fd = -1;
	open_session(run, &f->recipient, to, i + 1);
	if (run->b->http) {
		letter_http(&f->letter, from->token, to->name);
		conn_open(run->loop, &f->http, bench_node(run->b, i), 0);
	} else {
		letter_ws(&f->letter, to->name);
		open_session(run, &f->sender, from, i);
	}
}

static void
open_all(struct flow_run *run)
{
	struct bench *b = run->b;
	int64_t until = mono_ns() + FLOW_WAIT_NS;
	int n = run->n = b->pairs;

	run->people = people_get(b->nodes, b->tokens, b->first_user, 2 * n);
	people_heads(b->nodes, run->people, 2 * n);
	run->flows = bench_zalloc((size_t)n, sizeof(*run->flows));
	for (int i = 0; i < n; i++)
		open_flow(run, i);
	while (run->ready < 2 * n) {
		loop_step(run->loop, 100 * NS_PER_MS);
		if (mono_ns() > until)
			bench_die("only %d connections after 20 s", run->ready);
	}
}

static void
run_until(struct flow_run *run, int64_t until_ns)
{
	int64_t now;

	while ((now = mono_ns()) < until_ns)
		loop_step(run->loop, until_ns - now);
}

/* Waits up to 20 s for outstanding answers and frames.  Returns how many are
 * missing after the wait. */
static int64_t
drain(struct flow_run *run)
{
	int64_t until = mono_ns() + FLOW_WAIT_NS, missing;

	run->going = false;
	do {
		loop_step(run->loop, 10 * NS_PER_MS);
		missing = run->busy;
		for (int i = 0; i < run->n; i++)
			missing +=
			    run->flows[i].accepted - run->flows[i].received;
	} while (missing != 0 && mono_ns() < until);
	return (missing);
}

static void
close_all(struct flow_run *run)
{

	for (int i = 0; i < run->n; i++) {
		conn_close(&run->flows[i].http);
		if (!run->b->http)
			wsc_close(&run->flows[i].sender);
		wsc_close(&run->flows[i].recipient);
		buf_fini(&run->flows[i].letter.text);
	}
	loop_free(run->loop);
	mem_free(run->flows);
	mem_free(run->people);
	mem_free(run);
}

int
bench_flow(struct bench *b)
{
	struct flow_run *run = bench_zalloc(1, sizeof(*run));
	struct proc_sample a, z;
	int64_t missing;
	double s;

	run->b = b;
	run->loop = loop_new();
	open_all(run);
	run->going = true;
	for (int i = 0; i < run->n; i++)
		begin(&run->flows[i]);
	run_until(run, mono_ns() + b->warmup_ns);
	proc_sample(b->pid, &a);
	run->measuring = true;
	run_until(run, a.at_ns + b->run_ns);
	proc_sample(b->pid, &z);
	run->measuring = false;
	missing = drain(run);

	s = (double)(z.at_ns - a.at_ns) / (double)NS_PER_S;
	report_begin(b->http ? "flow-http" : "flow");
	report_i64("pairs", b->pairs);
	report_f64("seconds", s);
	report_f64("rate", (double)run->measured / s);
	report_hist("answer", &run->answer);
	report_hist("event", &run->event);
	report_i64("missing", missing);
	report_proc(&a, &z, run->measured);
	report_end();
	close_all(run);
	return (missing == 0 ? 0 : 1);
}
