/* SPDX-License-Identifier: MIT */
/*
 * loadgen e2e: pairs of senders and online recipients.  Each pair has one
 * message in flight, from the send to the delivered receipt; see circle.h.
 */
#include "base/mem.h"

#include "circle.h"
#include "util.h"

int
bench_e2e(struct bench *b)
{
	struct circles *run = bench_zalloc(1, sizeof(*run));
	struct loop *loop = loop_new();
	struct proc_sample a, z;
	double s;

	circles_open(run, b, loop, b->pairs);
	circles_run(run, mono_ns() + b->warmup_ns);
	proc_sample(b->pid, &a);
	run->measuring = run->reads.measuring = true;
	circles_run(run, a.at_ns + b->run_ns);
	proc_sample(b->pid, &z);
	run->measuring = run->reads.measuring = false;
	circles_drain(run);

	s = (double)(z.at_ns - a.at_ns) / (double)NS_PER_S;
	report_begin(b->http ? "e2e-http" : "e2e");
	report_i64("pairs", b->pairs);
	report_f64("seconds", s);
	report_i64("circles", run->begun - run->refused);
	report_f64("rate", (double)run->closed / s);
	report_hist("answer", &run->answer);
	report_hist("event", &run->event);
	report_hist("circle", &run->circle);
	report_i64("refused", run->refused);
	if (run->refused > 0)
		report_text("first_refused", run->first_refused);
	report_i64("stalled", run->stalled);
	reads_report(&run->reads, s);
	report_proc(&a, &z, run->closed);
	report_end();
	circles_close(run);
	mem_free(run);
	loop_free(loop);
	return (0);
}
