/* SPDX-License-Identifier: MIT */
/*
 * See reads.h.
 */
#include <string.h>

#include "base/mem.h"

#include "httpc.h"
#include "reads.h"
#include "util.h"

#define READS_WAIT_NS (20 * NS_PER_S)

struct reader {
	struct reads *run;
	struct conn http;
	struct buf text; /* the request */
	bool busy;
	int64_t due_ns; /* of the poll in flight */
};

static size_t
on_input(struct conn *conn, const char *p, size_t n)
{
	struct reader *reader = conn->owner;
	struct reads *r = reader->run;
	struct httpc_reply reply;
	size_t used = httpc_parse(p, n, &reply);

	if (used == 0)
		return (0);
	if (reply.status != 200)
		bench_die("a poll is answered %d %.*s", reply.status,
		    (int)reply.body_len, reply.body);
	reader->busy = false;
	r->busy--;
	if (r->measuring) {
		r->answered++;
		r->bytes += (int64_t)reply.body_len;
		hist_add(&r->latency, mono_ns() - reader->due_ns);
	}
	return (used);
}

static void
on_connected(struct conn *conn)
{
	struct reader *reader = conn->owner;

	reader->run->ready++;
}

static void
on_closed(struct conn *conn, int error)
{

	(void)conn;
	bench_die("the server closed the connection of a reader: %s",
	    strerror(error));
}

static const struct conn_ops http_ops = {on_connected, on_input, on_closed};

void
reads_open(struct reads *r, struct bench *b, struct loop *loop,
    const struct person *people, int n)
{
	int64_t until = mono_ns() + READS_WAIT_NS;

	r->b = b;
	r->loop = loop;
	if (b->reads == 0)
		return;
	r->n = n;
	r->readers = bench_zalloc((size_t)n, sizeof(*r->readers));
	for (int i = 0; i < n; i++) {
		struct reader *reader = &r->readers[i];

		reader->run = r;
		reader->http.ops = &http_ops;
		reader->http.owner = reader;
		httpc_request(&reader->text, "GET", "/v1/inbox",
		    people[i].token, NULL, 0);
		conn_open(loop, &reader->http, bench_node(b, i), 0);
	}
	while (r->ready < n) {
		loop_step(loop, 100 * NS_PER_MS);
		if (mono_ns() > until)
			bench_die(
			    "only %d readers are open after 20 s", r->ready);
	}
	r->due_ns = mono_ns();
}

int64_t
reads_due(struct reads *r, int64_t now)
{

	if (r->n == 0)
		return (INT64_MAX);
	while (r->due_ns <= now) {
		struct reader *reader = NULL;

		for (int i = 0; i < r->n && reader == NULL; i++)
			if (!r->readers[(r->next + i) % r->n].busy)
				reader = &r->readers[(r->next + i) % r->n];
		if (reader == NULL)
			return (INT64_MAX);
		r->next = (int)(reader - r->readers + 1) % r->n;
		reader->busy = true;
		r->busy++;
		reader->due_ns = r->due_ns;
		conn_write(&reader->http, reader->text.data, reader->text.len);
		r->due_ns += NS_PER_S / r->b->reads;
	}
	return (r->due_ns);
}

void
reads_drain(struct reads *r)
{
	int64_t until = mono_ns() + READS_WAIT_NS;

	while (r->busy > 0) {
		loop_step(r->loop, NS_PER_S);
		if (mono_ns() > until)
			bench_die(
			    "%d polls are not answered after 20 s", r->busy);
	}
}

void
reads_report(const struct reads *r, double seconds)
{

	if (r->n == 0)
		return;
	report_i64("asked_reads", r->b->reads);
	report_f64("reads", (double)r->answered / seconds);
	report_f64("read_bytes",
	    r->answered > 0 ? (double)r->bytes / (double)r->answered : 0);
	report_hist("read", &r->latency);
}

void
reads_close(struct reads *r)
{

	for (int i = 0; i < r->n; i++) {
		conn_close(&r->readers[i].http);
		buf_fini(&r->readers[i].text);
	}
	mem_free(r->readers);
}
