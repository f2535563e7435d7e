/* SPDX-License-Identifier: MIT */
/*
 * loadgen idle: many authenticated WebSockets without traffic.  It measures
 * their cost in resident memory of the server, and the time of a circle
 * (circle.h) while they are open.  They connect from several addresses, 5,000
 * from each.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/mem.h"

#include "circle.h"
#include "util.h"

#define OPENING_MAX 256
#define PER_ADDRESS 5000
#define FIRST_ADDRESS 2
#define WARM_ROUNDS 200
#define OPEN_LIMIT_NS (120 * NS_PER_S)

struct idle_run;

struct idler {
	struct idle_run *run;
	struct wsc ws;
	char instance[16];
};

struct idle_run {
	struct bench *b;
	struct loop *loop;
	struct idler *idlers;
	struct person *people;
	int begun;
	int open;
	int64_t frames; /* frames sent to idle sockets */
};

static void
on_welcome(struct wsc *ws)
{
	struct idler *idler = ws->owner;

	idler->run->open++;
}

static void
on_text(struct wsc *ws, const char *p, size_t n)
{
	struct idler *idler = ws->owner;

	if (scan_has(p, n, "\"type\":\"error\""))
		bench_die("an idle session got %.*s", (int)n, p);
	idler->run->frames++;
}

static void
on_ended(struct wsc *ws, const char *why)
{
	struct idler *idler = ws->owner;

	bench_die("idle session %d of %d (%d are open) ended: %s",
	    (int)(idler - idler->run->idlers), idler->run->b->sockets,
	    idler->run->open, why);
}

static const struct wsc_ops ops = {on_welcome, on_text, on_ended};

static void
raise_file_limit(int wanted)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
		bench_die("setrlimit: %s", strerror(errno));
	if (limit.rlim_cur < (rlim_t)wanted)
		bench_die("%d files are needed, %llu are allowed", wanted,
		    (unsigned long long)limit.rlim_cur);
}

static void
open_one(struct idle_run *run, int i)
{
	struct idler *idler = &run->idlers[i];
	int each = run->b->instances;

	idler->run = run;
	snprintf(idler->instance, sizeof(idler->instance), "%d", i % each);
	idler->ws.ops = &ops;
	idler->ws.owner = idler;
	idler->ws.token = run->people[i / each].token;
	idler->ws.instance = idler->instance;
	wsc_open(run->loop, &idler->ws, bench_node(run->b, i),
	    FIRST_ADDRESS + i / PER_ADDRESS);
}

static void
open_all(struct idle_run *run)
{
	struct bench *b = run->b;
	int64_t until = mono_ns() + OPEN_LIMIT_NS;

	run->idlers = bench_zalloc((size_t)b->sockets, sizeof(*run->idlers));
	while (run->open < b->sockets) {
		while (run->begun < b->sockets &&
		       run->begun - run->open < OPENING_MAX)
			open_one(run, run->begun++);
		loop_step(run->loop, 100 * NS_PER_MS);
		if (mono_ns() > until)
			bench_die("only %d of %d are open after two minutes",
			    run->open, b->sockets);
	}
}

static void
hold(struct loop *loop, int64_t ns)
{
	int64_t until = mono_ns() + ns, now;

	while ((now = mono_ns()) < until)
		loop_step(loop, until - now);
}

static void
make_rounds(struct circles *run, int64_t rounds)
{

	run->limit = run->begun + rounds;
	circles_run(run, INT64_MAX);
	circles_drain(run);
}

int
bench_idle(struct bench *b)
{
	struct idle_run *idle = bench_zalloc(1, sizeof(*idle));
	struct circles *run = bench_zalloc(1, sizeof(*run));
	struct loop *loop = loop_new();
	int64_t before, after, open_ns;
	struct proc_sample a, z;

	if (b->pid == 0)
		bench_die("idle needs --pid");
	raise_file_limit(b->sockets + 64);
	/* Get the users before opening sessions.  Registering many users takes
	 * a long time, in which a session sends nothing, so the server would
	 * close it as silent. */
	idle->people = people_get(b->nodes, b->tokens, b->first_user + 2,
	    (b->sockets + b->instances - 1) / b->instances);
	circles_open(run, b, loop, 1);
	make_rounds(run, WARM_ROUNDS);
	before = proc_rss_bytes(b->pid);
	idle->b = b;
	idle->loop = loop;
	open_ns = mono_ns();
	open_all(idle);
	open_ns = mono_ns() - open_ns;
	hold(loop, b->hold_ns);
	after = proc_rss_bytes(b->pid);
	proc_sample(b->pid, &a);
	run->measuring = true;
	make_rounds(run, b->rounds);
	proc_sample(b->pid, &z);

	report_begin("idle");
	report_i64("sockets", idle->open);
	report_f64("open_seconds", (double)open_ns / (double)NS_PER_S);
	report_i64("rss_before_bytes", before);
	report_i64("rss_open_bytes", after);
	report_f64(
	    "bytes_per_socket", (double)(after - before) / (double)b->sockets);
	report_i64("frames_to_idle", idle->frames);
	report_i64("rounds", run->closed);
	report_hist("answer", &run->answer);
	report_hist("event", &run->event);
	report_hist("circle", &run->circle);
	report_proc(&a, &z, run->closed);
	report_end();
	for (int i = 0; i < b->sockets; i++)
		wsc_close(&idle->idlers[i].ws);
	circles_close(run);
	mem_free(run);
	mem_free(idle->idlers);
	mem_free(idle->people);
	mem_free(idle);
	loop_free(loop);
	return (0);
}
