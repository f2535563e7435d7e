/* SPDX-License-Identifier: MIT */
/*
 * loadgen send: a closed loop of POST /v1/messages over keep-alive connections,
 * one request in flight on each.  User i writes to user i + 1; if there are
 * more connections than users, they share the users.  A run counts only if
 * afterwards every inbox has exactly the accepted messages: the recipient's
 * copy and the sender's.  A message whose answer was lost may be there as well.
 *
 * With --domain the users write to people on another server, each user to one
 * person.  With --faults the fault carrier stands in for that server, and its
 * log must have every message (peer.h).  With --outage that server is
 * unreachable until all messages are accepted, and the rates of delivery and
 * the figures of the processes are measured from its return.  Without --faults
 * the other server is a real one, with users of the same names; then the caller
 * checks the inboxes there, and only the senders' copies are checked here.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#include "bench.h"
#include "httpc.h"
#include "loop.h"
#include "peer.h"
#include "people.h"
#include "util.h"

#define DELIVERY_LIMIT_NS (60 * NS_PER_S)
#define SILENCE_LIMIT_NS (20 * NS_PER_S)
/* How long to wait for the next message at the other server.  The first one
 * after an outage comes when the circuit breaker tries the server again; its
 * waits double up to 10 min, so the outage must be short enough. */
#define RETURN_LIMIT_NS (120 * NS_PER_S)

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
	bool going; /* new requests are sent */
	bool measuring;
	int busy;
	int64_t begun_ns; /* the first request */
	int64_t issued;   /* during the whole run */
	int64_t accepted; /* during the whole run */
	int64_t measured; /* 201 during the measured time */
	int64_t other;    /* answers other than 201 */
	int64_t unknown;  /* connection lost before the answer */
	int64_t last_ns;  /* time of the last answer */
	int64_t gap_ns;   /* longest time without any answer */
	char first_other[200];
	struct hist latency;

	/* The other server, if the fault carrier stands in for it. */
	struct peer peer;
	int64_t back_ns; /* end of the outage; 0: there was none */

	int64_t last_delivered_ns;
};

static bool
elsewhere(const struct send_run *run)
{

	return (run->b->domain != NULL);
}

/* Returns true if the fault carrier stands in for the other server. */
static bool
played(const struct send_run *run)
{

	return (run->b->faults != NULL);
}

static void
issue(struct sender *s)
{
	struct send_run *run = s->run;

	if (!run->going ||
	    (run->b->messages > 0 && run->issued >= run->b->messages))
		return;
	s->started_ns = mono_ns();
	if (run->begun_ns == 0)
		run->begun_ns = s->started_ns;
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
		if (!elsewhere(run))
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
	/* closed() opens a new connection, which continues. */
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
open_conn(struct sender *s)
{
	struct send_run *run = s->run;

	conn_open(run->loop, &s->conn,
	    bench_node(run->b, (int)(s - run->senders)), 0);
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
	open_conn(s);
}

static const struct conn_ops ops = {on_connected, on_input, on_closed};

/* Handles events until ${until_ns}.  With ${drain}, also stops when nothing is
 * in flight; with --messages, when all are answered.  Ends the program if no
 * answer comes for 20 s. */
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

/* Makes the other server reachable, with its latency. */
static void
peer_works(const struct send_run *run)
{
	char wishes[40];

	snprintf(wishes, sizeof(wishes), "latency %d\n", run->b->latency_ms);
	peer_does(&run->peer, wishes);
}

static void
start_peer(struct send_run *run)
{
	struct bench *b = run->b;

	peer_open(&run->peer, b->faults, b->domain, run->nusers);
	run->peer.ids_ascend =
	    b->id_version == 7 && b->connections <= run->nusers;
	if (b->outage)
		peer_does(&run->peer, "down 1\n");
	else
		peer_works(run);
}

static void
address(const struct send_run *run, const struct sender *s, char *ret, size_t n)
{

	if (played(run))
		snprintf(ret, n, "p%d@%s", s->from, run->b->domain);
	else if (elsewhere(run))
		snprintf(
		    ret, n, "%s@%s", run->people[s->from].name, run->b->domain);
	else
		snprintf(ret, n, "%s", run->people[s->to].name);
}

static void
start(struct send_run *run)
{
	struct bench *b = run->b;
	int n = b->users < b->connections ? b->users : b->connections;

	if (n < 2)
		n = 2;
	run->nusers = n;
	run->people = people_get(b->nodes, b->tokens, b->first_user, n);
	people_heads(b->nodes, run->people, n);
	for (int i = 0; i < n; i++)
		run->people[i].expected = run->people[i].head;
	if (played(run))
		start_peer(run);
	run->senders =
	    bench_zalloc((size_t)b->connections, sizeof(*run->senders));
	run->loop = loop_new();
	run->going = true;
	run->last_ns = mono_ns();
	for (int i = 0; i < b->connections; i++) {
		struct sender *s = &run->senders[i];
		char to[120];

		s->run = run;
		s->from = i % n;
		s->to = (i + 1) % n;
		address(run, s, to, sizeof(to));
		letter_http(&s->letter, run->people[s->from].token, to);
		s->conn.ops = &ops;
		s->conn.owner = s;
		open_conn(s);
	}
}

/* Waits until all messages have arrived.  With an outage, samples its end in
 * ${a} and the end of delivery in ${z}.  Returns the number of missing
 * messages. */
static int64_t
deliver(struct send_run *run, struct proc_sample *a, struct proc_sample *z)
{
	int64_t missing = 0;

	if (played(run)) {
		peer_read(&run->peer);
		if (run->b->outage && run->peer.taken > 0)
			bench_die("a server that is away took something");
		if (run->b->outage) {
			proc_sample(run->b->pid, a);
			run->back_ns = a->at_ns;
			peer_works(run);
		}
		peer_wait(&run->peer, run->accepted, RETURN_LIMIT_NS);
		missing = run->accepted - run->peer.taken;
		run->last_delivered_ns = run->peer.last_ns;
	}
	if (run->b->outage)
		proc_sample(run->b->pid, z);
	missing += people_wait(
	    run->b->nodes, run->people, run->nusers, DELIVERY_LIMIT_NS);
	if (!elsewhere(run))
		run->last_delivered_ns = mono_ns();
	return (missing);
}

static double
per_second(int64_t n, int64_t ns)
{

	return (ns > 0 ? (double)n * 1e9 / (double)ns : 0);
}

static void
report_peer(const struct send_run *run)
{
	const struct peer *p = &run->peer;

	report_i64("taken", p->taken);
	report_i64("out_of_order", p->wrong);
	if (p->wrong > 0)
		report_text("first_out_of_order", p->first_wrong);
	if (run->back_ns == 0)
		return;
	report_f64(
	    "found_after_ms", (double)(p->first_ns - run->back_ns) / 1e6);
	report_f64(
	    "rate_from_found", per_second(p->taken, p->last_ns - p->first_ns));
	report_f64(
	    "rate_from_back", per_second(p->taken, p->last_ns - run->back_ns));
}

static void
report_deliveries(const struct send_run *run)
{

	report_f64("all_delivered_after_ms",
	    (double)(run->last_delivered_ns - run->last_ns) / 1e6);
	report_f64("delivered_rate",
	    per_second(run->accepted, run->last_delivered_ns - run->begun_ns));
}

static void
report(struct send_run *run, double s, const struct proc_sample *a,
    const struct proc_sample *z, int64_t missing)
{

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
	if (played(run) || !elsewhere(run))
		report_deliveries(run);
	if (played(run))
		report_peer(run);
	report_proc(a, z, run->back_ns != 0 ? run->accepted : run->measured);
	report_end();
}

/* Returns the number of messages in inboxes, or at the other server, beyond the
 * accepted ones.  A message whose answer was lost may be among them. */
static int64_t
surplus(const struct send_run *run)
{
	int64_t n = 0;

	for (int i = 0; i < run->nusers; i++)
		n += run->people[i].head - run->people[i].expected;
	if (played(run) && run->peer.taken > run->accepted)
		n += run->peer.taken - run->accepted;
	return (n);
}

static void
finish(struct send_run *run)
{

	for (int i = 0; i < run->b->connections; i++) {
		conn_close(&run->senders[i].conn);
		buf_fini(&run->senders[i].letter.text);
	}
	if (played(run))
		peer_close(&run->peer);
	loop_free(run->loop);
	mem_free(run->senders);
	mem_free(run->people);
	mem_free(run);
}

int
bench_send(struct bench *b)
{
	struct send_run *run = bench_zalloc(1, sizeof(*run));
	struct proc_sample a, z;
	int64_t missing, until;
	double seconds;
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
	seconds = (double)(z.at_ns - a.at_ns) / (double)NS_PER_S;
	run->measuring = run->going = false;
	run_until(run, mono_ns() + SILENCE_LIMIT_NS, true);
	missing = deliver(run, &a, &z);
	report(run, seconds, &a, &z, missing);
	if (missing > 0 || surplus(run) > 2 * run->unknown ||
	    run->peer.wrong > 0) {
		fprintf(stderr,
		    "loadgen: %lld deliveries missing, %lld too many, %lld "
		    "out of order\n",
		    (long long)missing, (long long)surplus(run),
		    (long long)run->peer.wrong);
		rc = 1;
	}
	finish(run);
	return (rc);
}
