/* SPDX-License-Identifier: MIT */
/*
 * claim-cost: the cost of finding the next parcel for a destination.  It runs
 * the reading statements of a claim: the destination's lanes that are due, each
 * lane, the rows at its head and their messages, and the time when the next
 * lane is due.  The figure is the lowest processor time of this thread in 500
 * rounds, so that other programs on the machine hardly change it.  The database
 * belongs to a stopped server and is only read.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "delivery/parcel.h"
#include "model/message.h"
#include "schema/sql.h"
#include "store/destination.h"
#include "store/lane.h"

#include "bench.h"
#include "util.h"

#define ROUNDS 500

struct found {
	int64_t lanes, rows, bytes;
};

static void
must(enum rc rc, const struct err *err)
{

	if (rc != RC_OK)
		bench_die("claim-cost: %s: %s", rc_text(rc), err->text);
}

static int64_t
cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ((int64_t)ts.tv_sec * NS_PER_S + ts.tv_nsec);
}

static enum rc
take_letter(void *arg, const struct store_letter *letter, struct err *err)
{
	struct found *found = arg;

	(void)err;
	found->rows++;
	found->bytes += (int64_t)letter->message.body_len;
	return (RC_OK);
}

/* Reads one parcel in the same way as a claim does. */
static void
look(struct db *db, int64_t destination_id, int64_t now_ms, struct found *ret)
{
	const struct store_pass pass = {.upto_ms = now_ms, .due_at = -1};
	struct store_row rows[PARCEL_LANE_ROWS];
	struct err err = ERR_INIT;
	struct store_lanes lanes;
	struct store_lane lane;
	size_t n, room = PARCEL_ITEMS;
	int64_t due;

	for (int p = PRIORITY_HIGH; p >= PRIORITY_LOW && room > 0; p--) {
		must(store_lanes_ready(
			 db, destination_id, p, &pass, &lanes, &err),
		    &err);
		for (size_t i = 0; i < lanes.n && room > 0; i++) {
			must(store_lane_get(db, lanes.ids[i], &lane, &err),
			    &err);
			must(store_remote_claim(db, lane.lane_id, lane.next_seq,
				 rows, room, &n, &err),
			    &err);
			ret->lanes++;
			room -= n;
			for (size_t k = 0; k < n; k++)
				must(store_letter_get(
					 db, &rows[k], take_letter, ret, &err),
				    &err);
		}
	}
	must(store_lanes_ready_next(db, destination_id, &due, &err), &err);
}

static void
measure(const char *path, const char *domain)
{
	struct db_options options = {
	    .mode = DB_READER, .schema = &sql_sqlite_schema};
	struct store_destination_row row;
	struct found found = {0, 0, 0};
	struct err err = ERR_INIT;
	int64_t least = INT64_MAX, ns, now_ms = clk_wall_ms(clk_system());
	char url[1024];
	struct db *db;

	snprintf(url, sizeof(url), "sqlite:%s", path);
	options.url = url;
	must(db_open(&options, &db, &err), &err);
	must(store_destination_by_name(db, domain, &row, &err), &err);
	must(db_begin(db, &err), &err);
	for (int i = 0; i < ROUNDS; i++) {
		found = (struct found){0, 0, 0};
		ns = cpu_ns();
		look(db, row.destination_id, now_ms, &found);
		ns = cpu_ns() - ns;
		if (ns < least)
			least = ns;
	}
	db_rollback(db);
	db_close(db);
	report_begin("claim-cost");
	report_i64("lanes", found.lanes);
	report_i64("rows", found.rows);
	report_f64("us", (double)least / 1000.0);
	report_end();
	if (found.rows == 0)
		bench_die("nothing waits for %s", domain);
}

int
main(int argc, char **argv)
{
	static const struct option options[] = {
	    {"db", required_argument, NULL, 'd'},
	    {"domain", required_argument, NULL, 'D'},
	    {NULL, 0, NULL, 0},
	};
	const char *path = NULL, *domain = NULL;
	int key;

	while ((key = getopt_long(argc, argv, "", options, NULL)) != -1)
		if (key == 'd')
			path = optarg;
		else if (key == 'D')
			domain = optarg;
		else
			path = NULL;
	if (path == NULL || domain == NULL || optind < argc) {
		fputs("usage: claim-cost --db FILE --domain NAME\n", stderr);
		return (64);
	}
	measure(path, domain);
	return (0);
}
