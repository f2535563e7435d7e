/* SPDX-License-Identifier: MIT */
/*
 * loadgen redis-send, redis-flow, redis-circle, redis-latency: the same loads
 * on redis Streams as the commands without "redis-" (send, flow, e2e, latency)
 * put on twinbox.  One stream is the inbox of one recipient: a sender adds to
 * the stream (XADD), and its reader waits for entries (XREAD BLOCK).  In a
 * circle the recipient adds a receipt to the stream of the sender, and the next
 * message is sent when the receipt has arrived.  With appendfsync always an
 * answer of redis means "on disk", as it does with twinbox.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/mem.h"

#include "bench.h"
#include "loop.h"
#include "resp.h"
#include "util.h"

#define REDIS_WAIT_NS (20 * NS_PER_S)
#define STAMP_LEN 16
/* Length of an id of an entry: two numbers of 64 bits with "-" between. */
#define STREAM_ID_LEN 44
/* Length of a name: "receipts:", a time in hex, ":" and a number. */
#define STREAM_NAME_LEN 40

enum redis_mode {
	REDIS_SEND,   /* the next message after the answer; no reader */
	REDIS_FLOW,   /* the next message after the answer */
	REDIS_CIRCLE, /* the next message after the receipt */
	REDIS_LATENCY /* the next message when it is due */
};

struct redis_run;
struct redis_pair;

/* A reader that waits for entries of a stream. */
struct reader {
	struct redis_pair *pair;
	struct conn conn;
	char stream[STREAM_NAME_LEN + 1];
	char after[STREAM_ID_LEN + 1];
	int64_t stamp; /* of the last entry */
};

struct redis_pair {
	struct redis_run *run;
	struct conn sender;
	struct letter letter;
	bool busy;
	bool answered, received; /* in a circle */
	int64_t sent_ns;         /* the stamp of the message in flight */
	int64_t accepted, taken; /* messages; those at the recipient */
	struct reader recipient;
	struct conn receipts; /* the recipient adds receipts on it */
	struct letter receipt;
	struct reader back; /* the sender, waiting for receipts */
};

struct redis_run {
	struct bench *b;
	enum redis_mode mode;
	struct loop *loop;
	struct redis_pair *pairs;
	int n, next;
	int ready, wanted; /* connections */
	int64_t opened_ns;
	bool going, measuring;
	int64_t begin_ns, end_ns, due_ns; /* REDIS_LATENCY */
	int64_t measured;                 /* count of the mode, measured time */
	struct hist answer, event, circle, late;
};

static void
letter_redis(struct letter *l, const char *stream)
{
	char text[BENCH_BODY_LEN + 1];

	letter_text(text, 0);
	buf_init(&l->text, 0);
	resp_command(&l->text, 7);
	resp_words(&l->text, "XADD");
	resp_words(&l->text, stream);
	resp_words(&l->text, "*");
	resp_words(&l->text, "id");
	l->id_at = resp_word(
	    &l->text, "00000000-0000-7000-8000-000000000000", UUID_TEXT_LEN);
	resp_words(&l->text, "body");
	l->stamp_at = resp_word(&l->text, text, BENCH_BODY_LEN);
	if (!buf_ok(&l->text))
		bench_die("out of memory");
}

static void
wait_at(struct reader *r)
{
	struct buf b = BUF_INIT;

	resp_command(&b, 6);
	resp_words(&b, "XREAD");
	resp_words(&b, "BLOCK");
	resp_words(&b, "0");
	resp_words(&b, "STREAMS");
	resp_words(&b, r->stream);
	resp_words(&b, r->after);
	if (!buf_ok(&b))
		bench_die("out of memory");
	conn_write(&r->conn, b.data, b.len);
	buf_fini(&b);
}

/* ---- sending ---- */

static bool
measured(const struct redis_run *run, int64_t stamp)
{

	return (run->mode == REDIS_LATENCY
		    ? stamp >= run->begin_ns && stamp < run->end_ns
		    : run->measuring);
}

static void
send_one(struct redis_pair *p, int64_t stamp)
{

	p->busy = true;
	p->answered = p->received = false;
	p->sent_ns = stamp;
	letter_renew(p->run->b, &p->letter, stamp);
	conn_write(&p->sender, p->letter.text.data, p->letter.text.len);
}

static void
go_on(struct redis_pair *p)
{
	struct redis_run *run = p->run;

	p->busy = false;
	if (run->going && run->mode != REDIS_LATENCY)
		send_one(p, mono_ns());
}

static size_t
on_answer(struct conn *c, const char *p, size_t n)
{
	struct redis_pair *pair = c->owner;
	struct redis_run *run = pair->run;
	size_t used = resp_reply(p, n);

	if (used == 0)
		return (0);
	pair->answered = true;
	pair->accepted++;
	if (measured(run, pair->sent_ns)) {
		hist_add(&run->answer, mono_ns() - pair->sent_ns);
		if (run->mode == REDIS_SEND)
			run->measured++;
	}
	if (run->mode != REDIS_CIRCLE)
		go_on(pair);
	return (used);
}

/* The recipient's receipt is on disk.  The sender gets it as a reader. */
static size_t
on_receipt_answer(struct conn *c, const char *p, size_t n)
{

	(void)c;
	return (resp_reply(p, n));
}

/* ---- reading ---- */

static void
on_message(struct redis_pair *p, int64_t stamp)
{
	struct redis_run *run = p->run;

	p->taken++;
	p->received = true;
	if (measured(run, stamp)) {
		hist_add(&run->event, mono_ns() - stamp);
		if (run->mode == REDIS_FLOW || run->mode == REDIS_LATENCY)
			run->measured++;
	}
	if (run->mode != REDIS_CIRCLE)
		return;
	letter_renew(run->b, &p->receipt, stamp);
	conn_write(&p->receipts, p->receipt.text.data, p->receipt.text.len);
}

static void
on_receipt(struct redis_pair *p, int64_t stamp)
{
	struct redis_run *run = p->run;

	if (stamp != p->sent_ns || !p->received)
		bench_die("not the receipt of the message in flight");
	if (run->measuring) {
		run->measured++;
		hist_add(&run->circle, mono_ns() - stamp);
	}
	go_on(p);
}

/* Handles a reply to XREAD.  Its first string is the name of the stream.  An
 * entry has its id and the fields "id" and "body", each with a value. */
static size_t
on_entries(struct conn *c, const char *p, size_t n)
{
	struct reader *r = c->owner;
	size_t used = resp_reply(p, n), at = 0, len;
	const char *word;
	int64_t stamp;
	int i;

	if (used == 0 || !resp_string(p, used, &at, &word, &len))
		return (used);
	for (i = 0; resp_string(p, used, &at, &word, &len); i++) {
		if (i % 5 == 0)
			snprintf(
			    r->after, sizeof(r->after), "%.*s", (int)len, word);
		if (i % 5 != 4)
			continue;
		if (len < STAMP_LEN || !scan_hex(word, &stamp) ||
		    stamp <= r->stamp)
			bench_die(
			    "twice or out of order: %.*s", (int)len, word);
		r->stamp = stamp;
		if (r == &r->pair->back)
			on_receipt(r->pair, stamp);
		else
			on_message(r->pair, stamp);
	}
	wait_at(r);
	return (used);
}

/* ---- connections ---- */

static void
on_sender_connected(struct conn *c)
{
	struct redis_pair *p = c->owner;

	p->run->ready++;
}

static void
on_reader_connected(struct conn *c)
{
	struct reader *r = c->owner;

	r->pair->run->ready++;
	wait_at(r);
}

static void
on_closed(struct conn *c, int error)
{

	(void)c;
	bench_die("redis closed a connection: %s", strerror(error));
}

static const struct conn_ops sender_ops = {
    on_sender_connected, on_answer, on_closed};
static const struct conn_ops receipts_ops = {
    on_sender_connected, on_receipt_answer, on_closed};
static const struct conn_ops reader_ops = {
    on_reader_connected, on_entries, on_closed};

static void
open_conn(struct redis_run *run, struct conn *c, const struct conn_ops *how,
    void *owner)
{

	c->ops = how;
	c->owner = owner;
	conn_open(run->loop, c, bench_node(run->b, 0), 0);
	run->wanted++;
}

static void
open_reader(struct redis_pair *p, struct reader *r, const char *stream)
{

	r->pair = p;
	snprintf(r->stream, sizeof(r->stream), "%s", stream);
	snprintf(r->after, sizeof(r->after), "0");
	open_conn(p->run, &r->conn, &reader_ops, r);
}

static void
open_pair(struct redis_run *run, int i)
{
	struct redis_pair *p = &run->pairs[i];
	char stream[STREAM_NAME_LEN + 1];

	p->run = run;
	snprintf(stream, sizeof(stream), "inbox:%" PRIx64 ":%d",
	    (uint64_t)run->opened_ns, i);
	letter_redis(&p->letter, stream);
	open_conn(run, &p->sender, &sender_ops, p);
	if (run->mode != REDIS_SEND)
		open_reader(p, &p->recipient, stream);
	if (run->mode != REDIS_CIRCLE)
		return;
	snprintf(stream, sizeof(stream), "receipts:%" PRIx64 ":%d",
	    (uint64_t)run->opened_ns, i);
	letter_redis(&p->receipt, stream);
	open_conn(run, &p->receipts, &receipts_ops, p);
	open_reader(p, &p->back, stream);
}

static void
open_all(struct redis_run *run, int n)
{
	int64_t until;

	/* Part of the streams' names: each run has its own streams. */
	run->opened_ns = mono_ns();
	until = run->opened_ns + REDIS_WAIT_NS;
	run->n = n;
	run->pairs = bench_zalloc((size_t)n, sizeof(*run->pairs));
	for (int i = 0; i < n; i++)
		open_pair(run, i);
	while (run->ready < run->wanted) {
		loop_step(run->loop, 100 * NS_PER_MS);
		if (mono_ns() > until)
			bench_die("only %d connections after 20 s", run->ready);
	}
}

static void
close_all(struct redis_run *run)
{

	for (int i = 0; i < run->n; i++) {
		struct redis_pair *p = &run->pairs[i];

		conn_close(&p->sender);
		buf_fini(&p->letter.text);
		buf_fini(&p->receipt.text);
		if (run->mode != REDIS_SEND)
			conn_close(&p->recipient.conn);
		if (run->mode == REDIS_CIRCLE) {
			conn_close(&p->receipts);
			conn_close(&p->back.conn);
		}
	}
	loop_free(run->loop);
	mem_free(run->pairs);
	mem_free(run);
}

/* ---- the run ---- */

/* Returns the number of outstanding answers and entries. */
static int64_t
open_work(const struct redis_run *run)
{
	int64_t n = 0;

	for (int i = 0; i < run->n; i++) {
		n += run->pairs[i].busy;
		if (run->mode != REDIS_SEND)
			n += run->pairs[i].accepted - run->pairs[i].taken;
	}
	return (n);
}

/* Waits up to 20 s for outstanding answers and entries.  Returns how many are
 * missing after the wait. */
static int64_t
drain(struct redis_run *run)
{
	int64_t until = mono_ns() + REDIS_WAIT_NS, missing;

	run->going = false;
	while ((missing = open_work(run)) != 0 && mono_ns() < until)
		loop_step(run->loop, 10 * NS_PER_MS);
	return (missing);
}

static void
run_until(struct redis_run *run, int64_t until_ns)
{
	int64_t now;

	while ((now = mono_ns()) < until_ns)
		loop_step(run->loop, until_ns - now);
}

/* Sends the messages that are due, as long as a sender is free. */
static void
send_due(struct redis_run *run, int64_t interval_ns)
{
	struct redis_pair *p;
	int64_t now;
	int i;

	while (run->due_ns < run->end_ns && (now = mono_ns()) >= run->due_ns) {
		for (p = NULL, i = 0; i < run->n && p == NULL; i++)
			if (!run->pairs[(run->next + i) % run->n].busy)
				p = &run->pairs[(run->next + i) % run->n];
		if (p == NULL)
			return;
		run->next = (int)(p - run->pairs + 1) % run->n;
		if (measured(run, run->due_ns))
			hist_add(&run->late, now - run->due_ns);
		send_one(p, run->due_ns);
		run->due_ns += interval_ns;
	}
}

static void
run_at_rate(struct redis_run *run)
{
	int64_t interval = NS_PER_S / run->b->rate, now;

	/* The default timer slack of 50 us would delay each wake-up. */
	prctl(PR_SET_TIMERSLACK, 1);
	run->due_ns = mono_ns() + NS_PER_MS;
	run->begin_ns = run->due_ns + run->b->warmup_ns;
	run->end_ns = run->begin_ns + run->b->run_ns;
	while (run->due_ns < run->end_ns) {
		send_due(run, interval);
		now = mono_ns();
		loop_step(run->loop,
		    run->due_ns > now ? run->due_ns - now : 10 * NS_PER_MS);
	}
}

static void
report(struct redis_run *run, const char *name, int64_t missing,
    const struct proc_sample *a, const struct proc_sample *z)
{
	double s = (double)(z->at_ns - a->at_ns) / (double)NS_PER_S;
	int64_t all = run->measured;

	/* At a rate, the samples include the warm-up. */
	if (run->mode == REDIS_LATENCY) {
		s = (double)run->b->run_ns / (double)NS_PER_S;
		all = 0;
		for (int i = 0; i < run->n; i++)
			all += run->pairs[i].accepted;
	}
	report_begin(name);
	report_i64("pairs", run->n);
	report_f64("rate", (double)run->measured / s);
	report_hist("answer", &run->answer);
	if (run->mode == REDIS_LATENCY) {
		report_hist("latency", &run->event);
		report_hist("late", &run->late);
	} else {
		report_hist("event", &run->event);
	}
	if (run->mode == REDIS_CIRCLE)
		report_hist("circle", &run->circle);
	report_i64("missing", missing);
	report_proc(a, z, all);
	report_end();
}

static int
bench_redis(struct bench *b, enum redis_mode mode, const char *name, int pairs)
{
	struct redis_run *run = bench_zalloc(1, sizeof(*run));
	struct proc_sample a, z;
	int64_t missing;

	run->b = b;
	run->mode = mode;
	run->loop = loop_new();
	open_all(run, pairs);
	run->going = true;
	if (mode == REDIS_LATENCY) {
		proc_sample(b->pid, &a);
		run_at_rate(run);
	} else {
		for (int i = 0; i < run->n; i++)
			send_one(&run->pairs[i], mono_ns());
		run_until(run, mono_ns() + b->warmup_ns);
		proc_sample(b->pid, &a);
		run->measuring = true;
		run_until(run, a.at_ns + b->run_ns);
	}
	proc_sample(b->pid, &z);
	run->measuring = false;
	missing = drain(run);
	report(run, name, missing, &a, &z);
	close_all(run);
	return (missing == 0 ? 0 : 1);
}

int
bench_redis_send(struct bench *b)
{

	return (bench_redis(b, REDIS_SEND, "redis-send", b->connections));
}

int
bench_redis_flow(struct bench *b)
{

	return (bench_redis(b, REDIS_FLOW, "redis-flow", b->pairs));
}

int
bench_redis_circle(struct bench *b)
{

	return (bench_redis(b, REDIS_CIRCLE, "redis-circle", b->pairs));
}

int
bench_redis_latency(struct bench *b)
{

	return (bench_redis(b, REDIS_LATENCY, "redis-latency", b->pairs));
}
