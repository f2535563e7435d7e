/* SPDX-License-Identifier: MIT */
/*
 * sim: runs seeds and reports the results in TAP.
 *
 *	sim --seed N [--trace]   runs one seed; prints its story
 *	sim --seeds A-B          runs a range.  For a seed that fails, prints
 *	                         the end of its story and runs it again: it
 *	                         must fail in the same way
 *	--several                several servers that deliver to each other,
 *	                         instead of one and simulated peers
 *	--break WHAT             with a defect on purpose: ok when a seed of
 *	                         the range finds it
 *	--break-list             prints the defects, one a line
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "log/log.h"
#include "sim/sim.h"

struct args {
	uint64_t from, to;
	bool trace, several;
	const char *broken;
};

static struct sim_counts totals;
static uint64_t story; /* hash of all seeds together */

static void
add(const struct sim_counts *c)
{

#define X(name, text) totals.name += c->name;
	SIM_COUNTS(X)
#undef X
}

static void
print_counts(void)
{

#define X(name, text) (void)printf("# %" PRIu64 " " text "\n", totals.name);
	SIM_COUNTS(X)
#undef X
	(void)printf("# story %016" PRIx64 "\n", story);
}

/* Runs a seed.  Returns true if all promises were kept. */
static bool
run(const struct args *a, uint64_t seed, bool trace, struct world *w)
{
	struct sim_options o = {seed, trace, a->broken, a->several};

	sim_run(&o, w);
	return (w->bad[0] == '\0');
}

/* A seed has failed: runs it again and prints its story.  It must fail in the
 * same way. */
static void
tell(const struct args *a, const struct world *failed)
{
	static struct world w;

	(void)printf("# seed %" PRIu64 ": %s\n", failed->seed, failed->bad);
	(void)run(a, failed->seed, a->trace, &w);
	(void)printf("%s - seed %" PRIu64 " fails the same way again\n",
	    w.hash == failed->hash ? "ok" : "not ok", failed->seed);
	(void)printf("# sim --seed %" PRIu64 " --trace%s%s%s\n", failed->seed,
	    a->several ? " --several" : "",
	    a->broken != NULL ? " --break " : "",
	    a->broken != NULL ? a->broken : "");
}

static int
run_range(const struct args *a)
{
	static struct world w;
	uint64_t seed, bad = 0, first = 0;
	size_t i;

	for (seed = a->from; seed <= a->to; seed++) {
		if (!run(a, seed, a->trace, &w)) {
			if (bad++ == 0)
				first = seed;
			if (bad <= 5)
				tell(a, &w);
			if (a->broken != NULL)
				break;
		}
		for (i = 0; i < w.nsims; i++)
			add(&w.sims[i].counts);
		story = story * UINT64_C(1099511628211) ^ w.hash;
	}
	if (a->broken != NULL) {
		(void)printf("%s - %s broken: found by seed %" PRIu64 "\n",
		    bad > 0 ? "ok" : "not ok", a->broken, first);
		return (bad > 0 ? 0 : 1);
	}
	print_counts();
	(void)printf("%s - seeds %" PRIu64 " to %" PRIu64
		     " keep the promises (%" PRIu64 " do not)\n",
	    bad == 0 ? "ok" : "not ok", a->from, a->to, bad);
	return (bad == 0 ? 0 : 1);
}

/* ---- arguments ---- */

static void
usage(void)
{

	(void)fprintf(stderr,
	    "usage: sim (--seed N | --seeds A-B) [--several] [--trace]\n"
	    "           [--break WHAT]\n"
	    "       sim --break-list\n");
	exit(2);
}

static uint64_t
number(const char *text, char **end)
{
	uint64_t n;

	errno = 0;
	n = strtoull(text, end, 10);
	if (errno != 0 || *end == text)
		usage();
	return (n);
}

static void
parse_range(struct args *a, const char *text, bool one)
{
	char *end;

	a->from = a->to = number(text, &end);
	if (!one && *end == '-')
		a->to = number(end + 1, &end);
	if (*end != '\0' || a->to < a->from)
		usage();
}

static void
parse_broken(struct args *a, const char *text)
{
	size_t i;

	for (i = 0; sim_breakable[i] != NULL; i++)
		if (strcmp(sim_breakable[i], text) == 0)
			a->broken = sim_breakable[i];
	if (a->broken == NULL)
		usage();
	a->several = a->several || sim_breaks_several(a->broken);
}

int
main(int argc, char **argv)
{
	static const struct option options[] = {
	    {"seed", required_argument, NULL, 's'},
	    {"seeds", required_argument, NULL, 'r'},
	    {"several", no_argument, NULL, 'n'},
	    {"trace", no_argument, NULL, 't'},
	    {"break", required_argument, NULL, 'b'},
	    {"break-list", no_argument, NULL, 'l'}, {NULL, 0, NULL, 0}};
	struct args a = {0};
	int c, i;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1)
		switch (c) {
		case 's':
		case 'r':
			parse_range(&a, optarg, c == 's');
			break;
		case 't':
			a.trace = true;
			break;
		case 'n':
			a.several = true;
			break;
		case 'b':
			parse_broken(&a, optarg);
			break;
		case 'l':
			for (i = 0; sim_breakable[i] != NULL; i++)
				(void)printf("%s\n", sim_breakable[i]);
			return (0);
		default:
			usage();
		}
	if (optind != argc || a.to == 0)
		usage();
	/* There is only one thread, and memory statistics are not used: both
	 * settings save time. */
	(void)sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
	(void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	/* The server's log has real times and is not part of the story. */
	log_set_level((enum log_level)(LVL_ERROR + 1));
	return (run_range(&a));
}
