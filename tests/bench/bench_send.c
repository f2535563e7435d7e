/* SPDX-License-Identifier: MIT */
/*
 * loadgen send: closed loop of POST /v1/messages over keep-alive connections,
 * one request in flight on each.  User i writes to user i + 1; more
 * connections than users share them.  A run counts only if afterwards every
 * inbox has exactly what was accepted: the recipient's copy and the sender's.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#include "bench.h"
#include "httpc.h"
#include "loop.h"
#include "people.h"
#include "util.h"

#define DELIVERY_LIMIT_NS (60 * NS_PER_S)
#define SILENCE_LIMIT_NS (20 * NS_PER_S)

struct send_run;

struct sender {
	struct send_run *run;
	struct conn conn;
	struct letter letter;
	int from, to; /* users */
	bool busy;
	int64_t started_ns;
};

struct send_run {
	struct bench *b;
	struct loop *loop;
	struct person *people;
	struct sender *senders;
	int nusers;
	bool going; /* new requests are made */
	bool measuring;
	int busy;
	int64_t issued;   /* in all */
	int64_t accepted; /* in all */
	int64_t measured; /* 201 in the measured time */
	int64_t other;    /* answers that are not 201 */
	int64_t unknown;  /* connection lost before the answer */
	int64_t last_ns;  /* when the last answer came */
	int64_t gap_ns;   /* the longest time without any answer */
	char first_other[200];
	struct hist latency;
};

static void
issue(struct sender *s)
{
	struct send_run *run = s->run;

	if (!run->going ||
	    (run->b->messages > 0 && run->issued >= run->b->messages))
		return;
	s->started_ns = mono_ns();
	letter_renew(run->b, &s->letter, s->started_ns);
	s->busy = true;
	run->busy++;
	run->issued++;
	conn_write(&s->conn, s->letter.text.data, s->letter.text.len);
}

static void
count_answer(struct sender *s, const struct httpc_reply *reply)
{
	struct send_run *run = s->run;
	int64_t now = mono_ns();

	if (run->measuring && now - run->last_ns > run->gap_ns)
		run->gap_ns = now - run->last_ns;
	run->last_ns = now;
	if (reply->status == 201) {
		run->accepted++;
		run->people[s->from].expected++;
		run->people[s->to].expected++;
		if (run->measuring) {
			run->measured++;
			hist_add(&run->latency, now - s->started_ns);
		}
		return;
	}
	if (run->other++ == 0)
		snprintf(run->first_other, sizeof(run->first_other), "%d %.*s",
		    reply->status, (int)reply->body_len, reply->body);
}

static size_t
on_input(struct conn *c, const char *p, size_t n)
{
	struct sender *s = c->owner;
	struct httpc_reply reply;
	size_t used = httpc_parse(p, n, &reply);

	if (used == 0)
		return (0);
	if (!s->busy)
		bench_die("answer without a request: %.*s", (int)n, p);
	s->busy = false;
	s->run->busy--;
	count_answer(s, &reply);
	/* Then closed() opens a new one, which goes on. */
	if (reply.close)
		conn_shutdown(c);
	else
		issue(s);
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
	struct sender *s = c->owner;

	if (s->busy) {
		s->busy = false;
		s->run->busy--;
		s->run->unknown++;
	}
	if (s->run->unknown > 1000)
		bench_die("the server closes connections: %s", strerror(error));
	conn_open(s->run->loop, c, &s->run->b->to, 0);
}

static const struct conn_ops ops = {on_connected, on_input, on_closed};

/* Handles what comes until ${until_ns}, or until nothing is in flight. */
static void
run_until(struct send_run *run, int64_t until_ns, bool drain)
{
	int64_t now;

	while ((now = mono_ns()) < until_ns) {
		if (drain && run->busy == 0)
			return;
		if (run->b->messages > 0 && run->busy == 0 &&
		    run->issued >= run->b->messages)
			return;
		loop_step(run->loop, until_ns - now);
		if (run->busy > 0 && now - run->last_ns > SILENCE_LIMIT_NS)
			bench_die("no answer for 20 s, %d requests in flight",
			    run->busy);
	}
}

static void
start(struct send_run *run)
{
	struct bench *b = run->b;
	int n = b->users < b->connections ? b->users : b->connections;

	if (n < 2)
		n = 2;
	run->nusers = n;
	run->people = people_get(&b->to, b->tokens, b->first_user, n);
	people_heads(&b->to, run->people, n);
	for (int i = 0; i < n; i++)
		run->people[i].expected = run->people[i].head;
	run->senders =
	    bench_zalloc((size_t)b->connections, sizeof(*run->senders));
	run->loop = loop_new();
	run->going = true;
	run->last_ns = mono_ns();
	for (int i = 0; i < b->connections; i++) {
		struct sender *s = &run->senders[i];

		s->run = run;
		s->from = i % n;
		s->to = (i + 1) % n;
		letter_http(&s->letter, run->people[s->from].token,
		    run->people[s->to].name);
		s->conn.ops = &ops;
		s->conn.owner = s;
		conn_open(run->loop, &s->conn, &b->to, 0);
	}
}

static void
report(struct send_run *run, const struct proc_sample *a,
    const struct proc_sample *z, int64_t deliver_ns, int64_t missing)
{
	double s = (double)(z->at_ns - a->at_ns) / (double)NS_PER_S;

	report_begin("send");
	report_i64("connections", run->b->connections);
	report_f64("seconds", s);
	report_i64("accepted", run->accepted);
	report_f64("rate", (double)run->measured / s);
	report_hist("latency", &run->latency);
	report_f64("longest_gap_ms", (double)run->gap_ns / 1e6);
	report_i64("not_201", run->other);
	report_i64("unknown", run->unknown);
	if (run->other > 0)
		report_text("first_not_201", run->first_other);
	report_i64("missing", missing);
	report_f64("all_delivered_after_ms", (double)deliver_ns / 1e6);
	report_proc(a, z, run->measured);
	report_end();
}

/* What inboxes have beyond what was accepted; a lost answer may be there. */
static int64_t
surplus(const struct send_run *run)
{
	int64_t n = 0;

	for (int i = 0; i < run->nusers; i++)
		n += run->people[i].head - run->people[i].expected;
	return (n);
}

int
bench_send(struct bench *b)
{
	struct send_run *run = bench_zalloc(1, sizeof(*run));
	struct proc_sample a, z;
	int64_t missing, deliver_ns, until;
	int rc = 0;

	run->b = b;
	start(run);
	run_until(run, mono_ns() + b->warmup_ns, false);
	proc_sample(b->pid, &a);
	run->measuring = true;
	run->last_ns = mono_ns();
	until = b->messages > 0 ? INT64_MAX : a.at_ns + b->run_ns;
	run_until(run, until, false);
	proc_sample(b->pid, &z);
	run->measuring = run->going = false;
	run_until(run, mono_ns() + SILENCE_LIMIT_NS, true);
	missing =
	    people_wait(&b->to, run->people, run->nusers, DELIVERY_LIMIT_NS);
	deliver_ns = mono_ns() - run->last_ns;
	report(run, &a, &z, deliver_ns, missing);
	if (missing > 0 || surplus(run) > 2 * run->unknown) {
		fprintf(stderr,
		    "loadgen: %lld deliveries missing, %lld too many\n",
		    (long long)missing, (long long)surplus(run));
		rc = 1;
	}
	for (int i = 0; i < b->connections; i++) {
		conn_close(&run->senders[i].conn);
		buf_fini(&run->senders[i].letter.text);
	}
	loop_free(run->loop);
	mem_free(run->senders);
	mem_free(run->people);
	mem_free(run);
	return (rc);
}
