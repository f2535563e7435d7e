/* SPDX-License-Identifier: MIT */
/*
 * The values stand on cache lines of their own, so that threads which count
 * different things do not disturb each other.  A histogram's buckets are
 * counted apart and summed up when they are shown; a reader may see an
 * observation in one figure and not yet in another, as Prometheus allows.
 */
#include "metrics/metrics.h"

#include <assert.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "base/mem.h"

#define CACHE_LINE 64

/* Upper bounds in microseconds, with the text that Prometheus shows. */
#define BUCKET_TABLE(X)                                                        \
	X(100, "0.0001")                                                       \
	X(250, "0.00025")                                                      \
	X(500, "0.0005")                                                       \
	X(1000, "0.001")                                                       \
	X(2500, "0.0025")                                                      \
	X(5000, "0.005")                                                       \
	X(10000, "0.01")                                                       \
	X(25000, "0.025")                                                      \
	X(50000, "0.05")                                                       \
	X(100000, "0.1")                                                       \
	X(250000, "0.25")                                                      \
	X(500000, "0.5")                                                       \
	X(1000000, "1")                                                        \
	X(2500000, "2.5")                                                      \
	X(5000000, "5")                                                        \
	X(10000000, "10")                                                      \
	X(60000000, "60")                                                      \
	X(INT64_MAX, "+Inf")

static const struct {
	int64_t us;
	const char *text;
} buckets[] = {
#define X(us, text) {us, text},
    BUCKET_TABLE(X)
#undef X
};

#define BUCKETS (sizeof(buckets) / sizeof(buckets[0]))

static const struct {
	const char *name;
	enum metric_type type;
	const char *help;
} table[METRIC_COUNT] = {
#define X(id, name, type, help) {name, type, help},
    METRICS_TABLE(X)
#undef X
};

struct value {
	alignas(CACHE_LINE) atomic_int_least64_t n; /* or a sum, in µs */
	atomic_int_least64_t bucket[BUCKETS];       /* histograms only */
};

struct metrics {
	struct value value[METRIC_COUNT];
	void *memory; /* as allocated, before alignment */
};

struct metrics *
metrics_new(void)
{
	struct metrics *m;
	uintptr_t at;
	void *memory;

	if ((memory = mem_zalloc(1, sizeof(*m) + CACHE_LINE)) == NULL)
		return (NULL);
	at = (uintptr_t)memory;
	at += (CACHE_LINE - at % CACHE_LINE) % CACHE_LINE;
	m = (struct metrics *)at;
	m->memory = memory;
	return (m);
}

void
metrics_free(struct metrics *m)
{

	if (m != NULL)
		mem_free(m->memory);
}

void
metrics_add(struct metrics *m, enum metric id, int64_t n)
{

	assert(id < METRIC_COUNT && table[id].type != METRIC_HISTOGRAM);
	if (m != NULL)
		atomic_fetch_add_explicit(
		    &m->value[id].n, n, memory_order_relaxed);
}

void
metrics_set(struct metrics *m, enum metric id, int64_t v)
{

	assert(id < METRIC_COUNT && table[id].type == METRIC_GAUGE);
	if (m != NULL)
		atomic_store_explicit(&m->value[id].n, v, memory_order_relaxed);
}

void
metrics_observe_us(struct metrics *m, enum metric id, int64_t us)
{
	size_t i;

	assert(id < METRIC_COUNT && table[id].type == METRIC_HISTOGRAM);
	if (m == NULL)
		return;
	if (us < 0)
		us = 0; /* a wall clock went back */
	for (i = 0; us > buckets[i].us; i++)
		continue;
	atomic_fetch_add_explicit(
	    &m->value[id].bucket[i], 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&m->value[id].n, us, memory_order_relaxed);
}

static int64_t
load(const atomic_int_least64_t *n)
{

	return (atomic_load_explicit(n, memory_order_relaxed));
}

int64_t
metrics_get(const struct metrics *m, enum metric id)
{
	int64_t sum = 0;
	size_t i;

	assert(id < METRIC_COUNT);
	if (m == NULL)
		return (0);
	if (table[id].type != METRIC_HISTOGRAM)
		return (load(&m->value[id].n));
	for (i = 0; i < BUCKETS; i++)
		sum += load(&m->value[id].bucket[i]);
	return (sum);
}

static void
write_histogram(const struct value *v, const char *name, struct buf *out)
{
	int64_t sum = 0, us = load(&v->n);
	size_t i;

	for (i = 0; i < BUCKETS; i++) {
		sum += load(&v->bucket[i]);
		buf_addf(out, "twinbox_%s_bucket{le=\"%s\"} %lld\n", name,
		    buckets[i].text, (long long)sum);
	}
	buf_addf(out, "twinbox_%s_sum %lld.%06lld\n", name,
	    (long long)(us / 1000000), (long long)(us % 1000000));
	buf_addf(out, "twinbox_%s_count %lld\n", name, (long long)sum);
}

/* Of the name without its label. */
static int
name_len(int id)
{

	return ((int)strcspn(table[id].name, "{"));
}

void
metrics_write(const struct metrics *m, struct buf *out)
{
	static const char *const types[] = {"counter", "gauge", "histogram"};
	int i, n;

	for (i = 0; m != NULL && i < (int)METRIC_COUNT; i++) {
		n = name_len(i);
		if (i == 0 || name_len(i - 1) != n ||
		    memcmp(table[i].name, table[i - 1].name, (size_t)n) != 0) {
			buf_addf(out, "# HELP twinbox_%.*s %s\n", n,
			    table[i].name, table[i].help);
			buf_addf(out, "# TYPE twinbox_%.*s %s\n", n,
			    table[i].name, types[table[i].type]);
		}
		if (table[i].type == METRIC_HISTOGRAM)
			write_histogram(&m->value[i], table[i].name, out);
		else
			buf_addf(out, "twinbox_%s %lld\n", table[i].name,
			    (long long)load(&m->value[i].n));
	}
}
