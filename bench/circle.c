/* SPDX-License-Identifier: MIT */
/*
 * Circles; see circle.h.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#include "circle.h"
#include "httpc.h"
#include "util.h"

/* The window is 256 events.  The sender acks its own copies and receipts well
 * before the window is full. */
#define SENDER_ACK_EVERY 64
#define STUCK_NS (20 * NS_PER_S)

static void
begin(struct circle *c)
{
	struct circles *run = c->run;

	if (!run->going || (run->limit > 0 && run->begun >= run->limit))
		return;
	run->begun++;
	run->busy++;
	c->busy = true;
	c->answered = c->received = c->receipt = false;
	c->started_ns = mono_ns();
	letter_renew(run->b, &c->letter, c->started_ns);
	if (run->b->http)
		conn_write(&c->http, c->letter.text.data, c->letter.text.len);
	else
		wsc_send(&c->sender, c->letter.text.data, c->letter.text.len);
}

/* Begins the next circle if this one is closed. */
static void
go_on(struct circle *c)
{
	struct circles *run = c->run;

	if (!c->answered || !c->received || !c->receipt)
		return;
	if (run->measuring) {
		run->closed++;
		hist_add(&run->circle, mono_ns() - c->started_ns);
	}
	c->busy = false;
	run->busy--;
	begin(c);
}

/* Handles a refused message: it is not repeated, and the pair continues with a
 * new one. */
static void
refuse(struct circle *c, const char *p, size_t n)
{
	struct circles *run = c->run;

	if (run->refused++ == 0)
		snprintf(run->first_refused, sizeof(run->first_refused), "%.*s",
		    (int)n, p);
	if (run->refused > 10000)
		bench_die("refused ten thousand times: %s", run->first_refused);
	if (!c->busy)
		return;
	c->busy = false;
	run->busy--;
	begin(c);
}

static void
answered(struct circle *c)
{

	if (!c->busy || c->answered)
		bench_die("an answer too many");
	c->answered = true;
	if (c->run->measuring)
		hist_add(&c->run->answer, mono_ns() - c->started_ns);
	go_on(c);
}

static bool
is_type(const char *p, size_t n, const char *type)
{
	size_t len = strlen(type);

	return (n > 9 + len && strncmp(p, "{\"type\":\"", 9) == 0 &&
		strncmp(p + 9, type, len) == 0 && p[9 + len] == '"');
}

static bool
has_id(struct circle *c, const char *p, size_t n)
{

	return (memmem(p, n, letter_id(&c->letter), UUID_TEXT_LEN) != NULL);
}

static int64_t
seq_of(const char *p, size_t n)
{
	int64_t seq;

	if (!scan_i64(p, n, "seq", &seq))
		bench_die("event without seq: %.*s", (int)n, p);
	return (seq);
}

static void
on_sender_event(struct circle *c, const char *p, size_t n)
{

	if (++c->unacked >= SENDER_ACK_EVERY) {
		c->unacked = 0;
		wsc_ack(&c->sender, seq_of(p, n));
	}
	if (!scan_has(p, n, "\"kind\":\"receipt\"") ||
	    !scan_has(p, n, "\"state\":\"delivered\"") || !c->busy ||
	    c->receipt || !has_id(c, p, n))
		return;
	c->receipt = true;
	go_on(c);
}

static void
on_sender_text(struct wsc *ws, const char *p, size_t n)
{
	struct circle *c = ws->owner;

	if (is_type(p, n, "event"))
		on_sender_event(c, p, n);
	else if (is_type(p, n, "sent"))
		answered(c);
	else if (is_type(p, n, "error"))
		refuse(c, p, n);
	else if (is_type(p, n, "stalled"))
		c->run->stalled++;
	else if (is_type(p, n, "reconnect"))
		bench_die("the server is going down");
}

static void
on_recipient_text(struct wsc *ws, const char *p, size_t n)
{
	struct circle *c = ws->owner;

	if (is_type(p, n, "error"))
		bench_die("the recipient got %.*s", (int)n, p);
	if (is_type(p, n, "stalled"))
		c->run->stalled++;
	if (!is_type(p, n, "event"))
		return;
	if (!c->busy || c->received || !has_id(c, p, n))
		bench_die("not the message in flight: %.*s", (int)n, p);
	c->received = true;
	if (c->run->measuring)
		hist_add(&c->run->event, mono_ns() - c->started_ns);
	wsc_ack(ws, seq_of(p, n));
	go_on(c);
}

static void
on_welcome(struct wsc *ws)
{
	struct circle *c = ws->owner;

	c->run->ready++;
}

static void
on_ended(struct wsc *ws, const char *why)
{
	struct circle *c = ws->owner;

	bench_die(
	    "session of pair %d ended: %s", (int)(c - c->run->circles), why);
}

static const struct wsc_ops sender_ops = {on_welcome, on_sender_text, on_ended};
static const struct wsc_ops recipient_ops = {
    on_welcome, on_recipient_text, on_ended};

static void
on_http_connected(struct conn *conn)
{
	struct circle *c = conn->owner;

	c->run->ready++;
}

static size_t
on_http_input(struct conn *conn, const char *p, size_t n)
{
	struct circle *c = conn->owner;
	struct httpc_reply reply;
	size_t used = httpc_parse(p, n, &reply);

	if (used == 0)
		return (0);
	if (reply.status == 201)
		answered(c);
	else
		refuse(c, reply.body, reply.body_len);
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
open_session(struct circles *run, struct wsc *ws, struct person *p, int node)
{

	ws->token = p->token;
	ws->instance = "";
	snprintf(ws->after, sizeof(ws->after), "%s:%lld", p->epoch,
	    (long long)p->head);
	wsc_open(run->loop, ws, bench_node(run->b, node), 0);
}

void
circles_open(struct circles *run, struct bench *b, struct loop *loop, int n)
{
	int64_t until;

	run->b = b;
	run->loop = loop;
	run->n = n;
	run->people = people_get(b->nodes, b->tokens, b->first_user, 2 * n);
	people_heads(b->nodes, run->people, 2 * n);
	until = mono_ns() + STUCK_NS;
	run->circles = bench_zalloc((size_t)n, sizeof(*run->circles));
	for (int i = 0; i < n; i++) {
		struct circle *c = &run->circles[i];
		struct person *from = &run->people[i];
		struct person *to = &run->people[n + i];

		c->run = run;
		c->sender.ops = &sender_ops;
		c->recipient.ops = &recipient_ops;
		c->sender.owner = c->recipient.owner = c->http.owner = c;
		c->http.ops = &http_ops;
		c->http.fd = -1;
		open_session(run, &c->sender, from, i);
		open_session(run, &c->recipient, to, i + 1);
		if (b->http) {
			conn_open(loop, &c->http, bench_node(b, i), 0);
			letter_http(&c->letter, from->token, to->name);
		} else {
			letter_ws(&c->letter, to->name);
		}
	}
	while (run->ready < n * (b->http ? 3 : 2)) {
		loop_step(loop, 100 * NS_PER_MS);
		if (mono_ns() > until)
			bench_die(
			    "only %d sessions are open after 20 s", run->ready);
	}
	reads_open(&run->reads, b, loop, &run->people[n], n);
}

/* Ends the program if a circle is not closed after 20 s: then something was
 * lost. */
static void
check_stuck(const struct circles *run, int64_t now)
{

	for (int i = 0; i < run->n; i++) {
		const struct circle *c = &run->circles[i];

		if (c->busy && now - c->started_ns > STUCK_NS)
			bench_die("pair %d waits for 20 s: %s%s%s", i,
			    c->answered ? "" : "no answer; ",
			    c->received ? "" : "not delivered; ",
			    c->receipt ? "" : "no delivered receipt");
	}
}

void
circles_run(struct circles *run, int64_t until_ns)
{
	int64_t now = mono_ns(), check = now + NS_PER_S;

	run->going = true;
	for (int i = 0; i < run->n; i++)
		if (!run->circles[i].busy)
			begin(&run->circles[i]);
	for (; now < until_ns && run->busy > 0; now = mono_ns()) {
		int64_t wake = check < until_ns ? check : until_ns;
		int64_t due = reads_due(&run->reads, now);

		if (now >= check) {
			check_stuck(run, now);
			check = now + NS_PER_S;
			continue;
		}
		if (due < wake)
			wake = due;
		loop_step(run->loop, wake > now ? wake - now : 0);
	}
}

void
circles_drain(struct circles *run)
{

	run->going = false;
	while (run->busy > 0) {
		loop_step(run->loop, NS_PER_S);
		check_stuck(run, mono_ns());
	}
	reads_drain(&run->reads);
}

void
circles_close(struct circles *run)
{

	reads_close(&run->reads);
	for (int i = 0; i < run->n; i++) {
		wsc_close(&run->circles[i].sender);
		wsc_close(&run->circles[i].recipient);
		conn_close(&run->circles[i].http);
		buf_fini(&run->circles[i].letter.text);
	}
	mem_free(run->circles);
	mem_free(run->people);
}
