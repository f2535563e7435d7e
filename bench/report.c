/* SPDX-License-Identifier: MIT */
/*
 * The report, one line of JSON on standard output; see bench.h.
 */
#include <inttypes.h>
#include <stdio.h>

#include "bench.h"
#include "util.h"

void
report_begin(const char *name)
{

	printf("{\"bench\":\"%s\"", name);
}

void
report_i64(const char *name, int64_t v)
{

	printf(",\"%s\":%" PRId64, name, v);
}

void
report_f64(const char *name, double v)
{

	printf(",\"%s\":%.3f", name, v);
}

void
report_text(const char *name, const char *v)
{

	printf(",\"%s\":\"", name);
	for (; *v != '\0'; v++)
		if (*v == '"' || *v == '\\')
			printf("\\%c", *v);
		else if ((unsigned char)*v >= ' ')
			putchar(*v);
	putchar('"');
}

void
report_hist(const char *name, const struct hist *h)
{
	char key[64];

	snprintf(key, sizeof(key), "%s_p50_us", name);
	report_f64(key, hist_us(h, 50));
	snprintf(key, sizeof(key), "%s_p99_us", name);
	report_f64(key, hist_us(h, 99));
	snprintf(key, sizeof(key), "%s_max_us", name);
	report_f64(key, hist_max_us(h));
}

void
report_proc(
    const struct proc_sample *a, const struct proc_sample *z, int64_t messages)
{
	double span = (double)(z->at_ns - a->at_ns);

	if (span <= 0)
		return;
	report_f64(
	    "cpu_loadgen", (double)(z->own_cpu_ns - a->own_cpu_ns) / span);
	if (z->server_cpu_ns == 0)
		return;
	report_f64(
	    "cpu_server", (double)(z->server_cpu_ns - a->server_cpu_ns) / span);
	if (messages > 0)
		report_f64("written_bytes_per_message",
		    (double)(z->server_written_bytes -
			     a->server_written_bytes) /
			(double)messages);
}

void
report_end(void)
{

	puts("}");
	fflush(stdout);
}
