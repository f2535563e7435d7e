/* SPDX-License-Identifier: MIT */
/*
 * loadgen fill: fills a large database through the API, by arrays of 100
 * messages, so that the server itself writes every row.  Each user writes to
 * the next four users.  At the end each user acks nine tenths of their inbox,
 * which makes receipts and settles rows.  An array that meets a full queue or a
 * busy server is sent again with the same ids.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#include "bench.h"
#include "httpc.h"
#include "loop.h"
#include "people.h"
#include "util.h"

#define ARRAY_ITEMS 100
#define NEIGHBOURS 4
#define FILL_WAIT_NS (120 * NS_PER_S)
#define QUIET_NS (500 * NS_PER_MS)

struct fill_run;

struct filler {
	struct fill_run *run;
	struct conn conn;
	int user; /* sender of the array in flight */
	int items;
	struct buf request;
};

struct fill_run {
	struct bench *b;
	struct loop *loop;
	struct person *people;
	int n;
	int next_user;
	int busy;
	int64_t issued;
	int64_t again;
};

static void
transmit(struct filler *f)
{

	conn_write(&f->conn, f->request.data, f->request.len);
}

static void
issue(struct filler *f)
{
	struct fill_run *run = f->run;
	struct buf body = BUF_INIT;

	f->items = ARRAY_ITEMS;
	if (run->b->messages - run->issued < f->items)
		f->items = (int)(run->b->messages - run->issued);
	if (f->items == 0)
		return;
	f->user = run->next_user;
	run->next_user = (run->next_user + 1) % run->n;
	run->issued += f->items;
	run->busy++;
	buf_addc(&body, '[');
	for (int i = 0; i < f->items; i++) {
		int to = (f->user + 1 + i % NEIGHBOURS) % run->n;

		if (i > 0)
			buf_addc(&body, ',');
		letter_item(run->b, &body, run->people[to].name);
		run->people[f->user].expected++;
		run->people[to].expected++;
	}
	buf_addc(&body, ']');
	if (!buf_ok(&body))
		bench_die("out of memory");
	buf_reset(&f->request);
	httpc_request(&f->request, "POST", "/v1/messages",
	    run->people[f->user].token, body.data, body.len);
	buf_fini(&body);
	transmit(f);
}

/* Returns true if the array, or some of its items, must be sent again. */
static bool
is_busy(const struct httpc_reply *r)
{

	if (r->status == 429 || r->status == 503)
		return (true);
	return (scan_has(r->body, r->body_len, "\"code\":\"busy\"") ||
		scan_has(r->body, r->body_len, "\"code\":\"queue_full\""));
}

static size_t
on_input(struct conn *c, const char *p, size_t n)
{
	static const struct timespec pause = {0, 20 * NS_PER_MS};
	struct filler *f = c->owner;
	struct httpc_reply reply;
	size_t used = httpc_parse(p, n, &reply);

	if (used == 0)
		return (0);
	if (is_busy(&reply)) {
		f->run->again++;
		nanosleep(&pause, NULL);
		transmit(f);
		return (used);
	}
	if (reply.status < 200 || reply.status > 299 ||
	    scan_has(reply.body, reply.body_len, "\"problem\":{"))
		bench_die("an array was answered %d %.*s", reply.status,
		    (int)reply.body_len, reply.body);
	f->run->busy--;
	issue(f);
	return (used);
}

static void
on_connected(struct conn *c)
{

	issue(c->owner);
}

static void
on_closed(struct conn *c, int error)
{

	(void)c;
	bench_die("the server closed a connection: %s", strerror(error));
}

static const struct conn_ops ops = {on_connected, on_input, on_closed};

/* Acks nine tenths of each inbox, and waits until no inbox grows any more. */
static void
ack_most(struct fill_run *run)
{
	static const struct timespec pause = {0, QUIET_NS};
	struct httpc_reply reply;
	struct httpc http;
	char body[64];
	int64_t before, sum = 0;

	httpc_init(&http, run->b->nodes);
	for (int i = 0; i < run->n; i++) {
		snprintf(body, sizeof(body), "{\"upto\":%lld}",
		    (long long)(run->people[i].head * 9 / 10));
		httpc_call(&http, "POST", "/v1/inbox/ack", run->people[i].token,
		    body, &reply);
		if (reply.status != 200)
			bench_die("POST /v1/inbox/ack: %d %.*s", reply.status,
			    (int)reply.body_len, reply.body);
	}
	httpc_fini(&http);
	do {
		before = sum;
		nanosleep(&pause, NULL);
		people_heads(run->b->nodes, run->people, run->n);
		sum = 0;
		for (int i = 0; i < run->n; i++)
			sum += run->people[i].head;
	} while (sum != before);
}

int
bench_fill(struct bench *b)
{
	struct fill_run *run = bench_zalloc(1, sizeof(*run));
	struct filler *fillers;
	int64_t begin, answered, missing;

	if (b->messages == 0)
		bench_die("fill needs --messages");
	run->b = b;
	run->n = b->users > NEIGHBOURS ? b->users : NEIGHBOURS + 1;
	run->people = people_get(b->nodes, b->tokens, b->first_user, run->n);
	people_heads(b->nodes, run->people, run->n);
	for (int i = 0; i < run->n; i++)
		run->people[i].expected = run->people[i].head;
	run->loop = loop_new();
	fillers = bench_zalloc((size_t)b->connections, sizeof(*fillers));
	begin = mono_ns();
	for (int i = 0; i < b->connections; i++) {
		fillers[i].run = run;
		fillers[i].conn.ops = &ops;
		fillers[i].conn.owner = &fillers[i];
		conn_open(run->loop, &fillers[i].conn, bench_node(b, i), 0);
	}
	do {
		loop_step(run->loop, NS_PER_S);
	} while (run->busy > 0 || run->issued < b->messages);
	answered = mono_ns() - begin;
	missing = people_wait(b->nodes, run->people, run->n, FILL_WAIT_NS);
	if (missing > 0)
		bench_die("%lld deliveries are missing", (long long)missing);
	ack_most(run);
	report_begin("fill");
	report_i64("messages", b->messages);
	report_i64("users", run->n);
	report_f64("rate", (double)b->messages * 1e9 / (double)answered);
	report_i64("sent_again", run->again);
	report_f64("seconds", (double)(mono_ns() - begin) / (double)NS_PER_S);
	report_end();
	for (int i = 0; i < b->connections; i++) {
		conn_close(&fillers[i].conn);
		buf_fini(&fillers[i].request);
	}
	loop_free(run->loop);
	mem_free(fillers);
	mem_free(run->people);
	mem_free(run);
	return (0);
}
