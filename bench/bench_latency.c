/* SPDX-License-Identifier: MIT */
/*
 * loadgen latency: an open loop.  Messages are due at a fixed rate, whatever
 * happened to earlier ones.  Each goes by POST on a free connection, and is
 * timed from the moment at which it was due until its frame arrives at the
 * recipient's WebSocket.  If no connection is free, the message waits, and its
 * wait counts.  Recipients ack each event.
 */
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/mem.h"

#include "bench.h"
#include "httpc.h"
#include "loop.h"
#include "people.h"
#include "util.h"
#include "wsc.h"

#define LATENCY_WAIT_NS (20 * NS_PER_S)

struct latency_run;

struct lane {
	struct latency_run *run;
	struct conn http;
	struct wsc recipient;
	struct letter letter;
	bool busy;
};

struct latency_run {
	struct bench *b;
	struct loop *loop;
	struct lane *lanes;
	struct person *people; /* senders first, then recipients */
	int n;
	int next; /* the next lane to use */
	int ready;
	int64_t begin_ns; /* start of the measured time */
	int64_t end_ns;
	int64_t due_ns; /* when the next message is due */
	int64_t sent;
	int64_t answered;
	int64_t received;
	int64_t other;
	char first_other[200];
	struct hist late;    /* due -> written: busy connections, own delay */
	struct hist answer;  /* due -> 201 */
	struct hist latency; /* due -> frame */
};

static bool
measured(const struct latency_run *run, int64_t due_ns)
{

	return (due_ns >= run->begin_ns && due_ns < run->end_ns);
}

static size_t
on_http_input(struct conn *conn, const char *p, size_t n)
{
	struct lane *lane = conn->owner;
	struct latency_run *run = lane->run;
	struct httpc_reply reply;
	size_t used = httpc_parse(p, n, &reply);
	int64_t due;

	if (used == 0)
		return (0);
	lane->busy = false;
	run->answered++;
	if (!scan_hex(lane->letter.text.data + lane->letter.stamp_at, &due))
		bench_die("a letter without a stamp");
	if (reply.status != 201) {
		if (run->other++ == 0)
			snprintf(run->first_other, sizeof(run->first_other),
			    "%d %.*s", reply.status, (int)reply.body_len,
			    reply.body);
	} else if (measured(run, due)) {
		hist_add(&run->answer, mono_ns() - due);
	}
	return (used);
}

static void
on_http_connected(struct conn *conn)
{
	struct lane *lane = conn->owner;

	lane->run->ready++;
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
on_text(struct wsc *ws, const char *p, size_t n)
{
	struct lane *lane = ws->owner;
	struct latency_run *run = lane->run;
	int64_t due, seq, now = mono_ns();

	if (!scan_has(p, n, "\"kind\":\"message\""))
		return;
	if (!letter_stamp(p, n, &due) || !scan_i64(p, n, "seq", &seq))
		bench_die("not our message: %.*s", (int)n, p);
	run->received++;
	if (measured(run, due))
		hist_add(&run->latency, now - due);
	wsc_ack(ws, seq);
}

static void
on_welcome(struct wsc *ws)
{
	struct lane *lane = ws->owner;

	lane->run->ready++;
}

static void
on_ended(struct wsc *ws, const char *why)
{

	(void)ws;
	bench_die("a recipient's session ended: %s", why);
}

static const struct wsc_ops ws_ops = {on_welcome, on_text, on_ended};

static void
open_lanes(struct latency_run *run)
{
	struct bench *b = run->b;
	int64_t until = mono_ns() + LATENCY_WAIT_NS;
	int n = run->n = b->pairs;

	run->people = people_get(b->nodes, b->tokens, b->first_user, 2 * n);
	people_heads(b->nodes, run->people, 2 * n);
	run->lanes = bench_zalloc((size_t)n, sizeof(*run->lanes));
	for (int i = 0; i < n; i++) {
		struct lane *lane = &run->lanes[i];
		struct wsc *ws = &lane->recipient;
		struct person *to = &run->people[n + i];

		lane->run = run;
		lane->http.ops = &http_ops;
		lane->http.owner = lane;
		ws->ops = &ws_ops;
		ws->owner = lane;
		ws->token = to->token;
		ws->instance = "";
		snprintf(ws->after, sizeof(ws->after), "%s:%lld", to->epoch,
		    (long long)to->head);
		letter_http(&lane->letter, run->people[i].token, to->name);
		conn_open(run->loop, &lane->http, bench_node(b, i), 0);
		wsc_open(run->loop, ws, bench_node(b, i + 1), 0);
	}
	while (run->ready < 2 * n) {
		loop_step(run->loop, 100 * NS_PER_MS);
		if (mono_ns() > until)
			bench_die("only %d connections after 20 s", run->ready);
	}
}

/* Sends the messages that are due, as long as a lane is free. */
static void
send_due(struct latency_run *run, int64_t interval_ns)
{
	int64_t now;

	while (run->due_ns < run->end_ns && (now = mono_ns()) >= run->due_ns) {
		struct lane *lane = NULL;

		for (int i = 0; i < run->n && lane == NULL; i++)
			if (!run->lanes[(run->next + i) % run->n].busy)
				lane = &run->lanes[(run->next + i) % run->n];
		if (lane == NULL)
			return;
		run->next = (int)(lane - run->lanes + 1) % run->n;
		lane->busy = true;
		run->sent++;
		letter_renew(run->b, &lane->letter, run->due_ns);
		if (measured(run, run->due_ns))
			hist_add(&run->late, now - run->due_ns);
		conn_write(
		    &lane->http, lane->letter.text.data, lane->letter.text.len);
		run->due_ns += interval_ns;
	}
}

/* Sends at the rate until the end, then waits for answers and frames. */
static void
run_lanes(struct latency_run *run)
{
	int64_t interval = NS_PER_S / run->b->rate, now;

	for (;;) {
		send_due(run, interval);
		now = mono_ns();
		if (run->due_ns < run->end_ns && run->due_ns > now)
			loop_step(run->loop, run->due_ns - now);
		else
			loop_step(run->loop, 10 * NS_PER_MS);
		if (run->due_ns >= run->end_ns && run->answered == run->sent &&
		    run->received + run->other >= run->sent)
			return;
		if (now > run->end_ns + LATENCY_WAIT_NS)
			bench_die("of %lld sent %lld were answered and %lld "
				  "came to their recipients",
			    (long long)run->sent, (long long)run->answered,
			    (long long)run->received);
	}
}

static void
report(struct latency_run *run, const struct proc_sample *a,
    const struct proc_sample *z)
{

	report_begin("latency");
	report_i64("asked_rate", run->b->rate);
	report_f64("rate",
	    (double)run->latency.count /
		((double)(run->end_ns - run->begin_ns) / (double)NS_PER_S));
	report_i64("messages", run->received);
	report_hist("latency", &run->latency);
	report_hist("answer", &run->answer);
	report_hist("late", &run->late);
	report_i64("not_201", run->other);
	if (run->other > 0)
		report_text("first_not_201", run->first_other);
	report_proc(a, z, run->sent);
	report_end();
}

int
bench_latency(struct bench *b)
{
	struct latency_run *run = bench_zalloc(1, sizeof(*run));
	struct proc_sample a, z;

	/* The default timer slack of 50 us would delay each wake-up. */
	prctl(PR_SET_TIMERSLACK, 1);
	run->b = b;
	run->loop = loop_new();
	open_lanes(run);
	proc_sample(b->pid, &a);
	run->due_ns = mono_ns() + NS_PER_MS;
	run->begin_ns = run->due_ns + b->warmup_ns;
	run->end_ns = run->begin_ns + b->run_ns;
	run_lanes(run);
	proc_sample(b->pid, &z);
	report(run, &a, &z);
	for (int i = 0; i < run->n; i++) {
		conn_close(&run->lanes[i].http);
		wsc_close(&run->lanes[i].recipient);
		buf_fini(&run->lanes[i].letter.text);
	}
	loop_free(run->loop);
	mem_free(run->lanes);
	mem_free(run->people);
	mem_free(run);
	return (0);
}
