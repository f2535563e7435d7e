/* SPDX-License-Identifier: MIT */
/*
 * Each metric begins on a cache line of its own, so that threads that update
 * different metrics do not slow each other down.  Each bucket of a histogram
 * counts only the observations between the bound of the bucket before it and
 * its own; the cumulative counts that Prometheus expects are computed when they
 * are shown.  A reader may see an observation in one number of a histogram and
 * not yet in another one (bucket and sum); Prometheus allows this.
 */
#include "metrics/metrics.h"

#include <assert.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

#define CACHE_LINE 64

/* X(bound, text): the inclusive upper bounds of the buckets of each
 * METRIC_HISTOGRAM, in microseconds, and the same in seconds, as the text of
 * the label "le".  The lowest is 100 us, for a single commit; a day is for a
 * delivery that an outage has delayed; the highest is 5 days, the default
 * expiry of a message, and the last bucket has no bound.  300 s is the
 * threshold of an alert (contrib/prometheus/alerts.yaml). */
#define SECONDS_TABLE(X)                                                       \
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
	X(30000000, "30")                                                      \
	X(60000000, "60")                                                      \
	X(300000000, "300")                                                    \
	X(900000000, "900")                                                    \
	X(3600000000, "3600")                                                  \
	X(21600000000, "21600")                                                \
	X(86400000000, "86400")                                                \
	X(432000000000, "432000")                                              \
	X(INT64_MAX, "+Inf")

#define SIZES_TABLE(X)                                                         \
	X(0, "0")                                                              \
	X(1, "1")                                                              \
	X(2, "2")                                                              \
	X(5, "5")                                                              \
	X(10, "10")                                                            \
	X(20, "20")                                                            \
	X(50, "50")                                                            \
	X(100, "100")                                                          \
	X(200, "200")                                                          \
	X(500, "500")                                                          \
	X(1000, "1000")                                                        \
	X(INT64_MAX, "+Inf")

struct bucket {
	int64_t upto;
	const char *text;
};

static const struct bucket of_seconds[] = {
#define X(upto, text) {upto, text},
    SECONDS_TABLE(X)
#undef X
};

static const struct bucket of_sizes[] = {
#define X(upto, text) {upto, text},
    SIZES_TABLE(X)
#undef X
};

#define BUCKETS (sizeof(of_seconds) / sizeof(of_seconds[0]))

_Static_assert(sizeof(of_sizes) <= sizeof(of_seconds), "room for both");

static const struct {
	const char *name;
	enum metric_type type;
	const char *help;
} table[METRIC_COUNT] = {
#define X(id, name, type, help) {name, type, help},
    METRICS_TABLE(X)
#undef X
};

#define WORDS 12

static const struct {
	const char *name;
	const char *label;
	const char *words[WORDS + 1]; /* NULL after the last one */
	const char *help;
} by_table[METRIC_BY_COUNT] = {
#define WORD(word) word,
#define X(id, name, label, words, help) {name, label, {words(WORD)}, help},
    METRICS_BY_TABLE(X)
#undef X
#undef WORD
};

struct value {
	alignas(CACHE_LINE) atomic_int_least64_t n; /* of a histogram: sum */
	atomic_int_least64_t bucket[BUCKETS];       /* histograms only */
};

struct value_by {
	alignas(CACHE_LINE) atomic_int_least64_t n[WORDS];
};

struct metrics {
	struct value value[METRIC_COUNT];
	struct value_by by[METRIC_BY_COUNT];
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

/* ---- counting ---- */

static bool
is_histogram(enum metric id)
{

	return (table[id].type == METRIC_HISTOGRAM ||
		table[id].type == METRIC_SIZES);
}

void
metrics_add(struct metrics *m, enum metric id, int64_t n)
{

	assert(id < METRIC_COUNT && !is_histogram(id));
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

static void
observe(struct value *v, const struct bucket *buckets, int64_t n)
{
	size_t i;

	if (n < 0)
		n = 0; /* the wall clock was set back */
	for (i = 0; n > buckets[i].upto; i++)
		continue;
	atomic_fetch_add_explicit(&v->bucket[i], 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&v->n, n, memory_order_relaxed);
}

void
metrics_observe_us(struct metrics *m, enum metric id, int64_t us)
{

	assert(id < METRIC_COUNT && table[id].type == METRIC_HISTOGRAM);
	if (m != NULL)
		observe(&m->value[id], of_seconds, us);
}

void
metrics_observe_size(struct metrics *m, enum metric id, int64_t n)
{

	assert(id < METRIC_COUNT && table[id].type == METRIC_SIZES);
	if (m != NULL)
		observe(&m->value[id], of_sizes, n);
}

/* Returns the index of ${word} among the words of ${id}, or the index of the
 * last word if ${word} is not one of them. */
static size_t
place_of(enum metric_by id, const char *word)
{
	size_t i;

	for (i = 0; by_table[id].words[i + 1] != NULL; i++)
		if (strcmp(by_table[id].words[i], word) == 0)
			break;
	return (i);
}

void
metrics_add_by(
    struct metrics *m, enum metric_by id, const char *word, int64_t n)
{

	assert(id < METRIC_BY_COUNT);
	if (m != NULL)
		atomic_fetch_add_explicit(
		    &m->by[id].n[place_of(id, word)], n, memory_order_relaxed);
}

/* ---- reading ---- */

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
	if (!is_histogram(id))
		return (load(&m->value[id].n));
	for (i = 0; i < BUCKETS; i++)
		sum += load(&m->value[id].bucket[i]);
	return (sum);
}

int64_t
metrics_sum(const struct metrics *m, enum metric id)
{

	assert(id < METRIC_COUNT && is_histogram(id));
	return (m == NULL ? 0 : load(&m->value[id].n));
}

int64_t
metrics_get_by(const struct metrics *m, enum metric_by id, const char *word)
{

	assert(id < METRIC_BY_COUNT);
	return (m == NULL ? 0 : load(&m->by[id].n[place_of(id, word)]));
}

/* ---- showing ---- */

void
metrics_family(
    struct buf *out, const char *name, enum metric_type type, const char *help)
{
	static const char *const types[] = {
	    "counter", "gauge", "histogram", "histogram"};

	buf_addf(out, "# HELP twinbox_%s %s\n", name, help);
	buf_addf(out, "# TYPE twinbox_%s %s\n", name, types[type]);
}

/* Appends the value of a label.  Backslash, quote and line feed are escaped,
 * and bytes that are not UTF-8 become '?'. */
static void
add_label_value(struct buf *out, const char *value)
{
	size_t n = strlen(value), good, i;

	while (n > 0) {
		good = n;
		(void)utf8_valid(value, n, &good);
		if (good > n)
			good = n;
		for (i = 0; i < good; i++) {
			if (value[i] == '\n')
				buf_adds(out, "\\n");
			else if (value[i] == '\\' || value[i] == '"')
				buf_addf(out, "\\%c", value[i]);
			else
				buf_addc(out, value[i]);
		}
		if (good < n) {
			buf_addc(out, '?');
			good++;
		}
		value += good;
		n -= good;
	}
}

void
metrics_sample(struct buf *out, const char *name,
    const struct metric_label *labels, size_t n, int64_t value)
{
	size_t i;

	buf_addf(out, "twinbox_%s", name);
	for (i = 0; i < n; i++) {
		buf_addf(out, "%s%s=\"", i == 0 ? "{" : ",", labels[i].name);
		add_label_value(out, labels[i].value);
		buf_addc(out, '"');
	}
	buf_addf(out, "%s %lld\n", n > 0 ? "}" : "", (long long)value);
}

static void
write_buckets(const struct value *v, const char *name,
    const struct bucket *buckets, struct buf *out)
{
	int64_t sum = 0;
	size_t i = 0;

	do {
		sum += load(&v->bucket[i]);
		buf_addf(out, "twinbox_%s_bucket{le=\"%s\"} %lld\n", name,
		    buckets[i].text, (long long)sum);
	} while (buckets[i++].upto != INT64_MAX);
	buf_addf(out, "twinbox_%s_count %lld\n", name, (long long)sum);
}

static void
write_value(const struct value *v, int i, struct buf *out)
{
	const char *name = table[i].name;
	int64_t n = load(&v->n);

	switch (table[i].type) {
	case METRIC_HISTOGRAM:
		buf_addf(out, "twinbox_%s_sum %lld.%06lld\n", name,
		    (long long)(n / 1000000), (long long)(n % 1000000));
		write_buckets(v, name, of_seconds, out);
		break;
	case METRIC_SIZES:
		buf_addf(out, "twinbox_%s_sum %lld\n", name, (long long)n);
		write_buckets(v, name, of_sizes, out);
		break;
	case METRIC_COUNTER:
	case METRIC_GAUGE:
		metrics_sample(out, name, NULL, 0, n);
		break;
	}
}

static void
write_by(const struct value_by *v, int id, struct buf *out)
{
	struct metric_label label = {.name = by_table[id].label};
	size_t i;

	if (id == 0 || strcmp(by_table[id].name, by_table[id - 1].name) != 0)
		metrics_family(
		    out, by_table[id].name, METRIC_COUNTER, by_table[id].help);
	for (i = 0; by_table[id].words[i] != NULL; i++) {
		label.value = by_table[id].words[i];
		metrics_sample(
		    out, by_table[id].name, &label, 1, load(&v->n[i]));
	}
}

void
metrics_write(const struct metrics *m, struct buf *out)
{
	int i;

	for (i = 0; m != NULL && i < (int)METRIC_COUNT; i++) {
		metrics_family(
		    out, table[i].name, table[i].type, table[i].help);
		write_value(&m->value[i], i, out);
	}
	for (i = 0; m != NULL && i < (int)METRIC_BY_COUNT; i++)
		write_by(&m->by[i], i, out);
}
