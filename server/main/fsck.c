/* SPDX-License-Identifier: MIT */
/*
 * `twinboxd fsck`: whether a database keeps the promises.  It reads in one
 * snapshot on a connection that cannot write, so it takes no lock and runs
 * beside the server as well as without one.
 */
#include <inttypes.h>
#include <stdio.h>
#include <sysexits.h>

#include "base/escape.h"
#include "base/fault.h"
#include "base/log.h"
#include "main/main_internal.h"
#include "upkeep/fsck.h"

/* Of a place as the checks give it, each byte as an escape. */
#define PLACE_SIZE 4096

void
fsck_print_found(void *arg, const char *what, const char *place)
{
	char shown[PLACE_SIZE];

	(void)fprintf(
	    arg, "%s: %s\n", what, escape_text(place, shown, sizeof(shown)));
}

static enum rc
run(const struct config *config, struct fsck_report *report, struct err *err)
{
	struct db *db;
	enum rc rc;

	if ((rc = data_look(config, DB_READER, &db, err)) != RC_OK)
		return (rc);
	rc = db_allow_long_statements(db, err);
	FAULT("fsck.opened");
	if (rc == RC_OK)
		rc = fsck_run(db, fsck_print_found, stdout, report, err);
	if (rc == RC_OK)
		rc = fsck_schema(db, fsck_print_found, stdout, report, err);
	db_close(db);
	return (rc);
}

/* A damaged file is what is looked for here, no failure of the disk. */
static int
exit_code(enum rc rc)
{

	return (rc == RC_NOT_FOUND ? EX_NOINPUT
		: rc == RC_CORRUPT ? EX_DATAERR
				   : rc_exit_code(rc));
}

int
fsck_show(const struct config *config)
{
	struct fsck_report report = {.violations = 0};
	struct err err = ERR_INIT;

	if (crypt_init(&err) != RC_OK || run(config, &report, &err) != RC_OK)
		return (main_complain(exit_code(err.rc),
		    "fsck could not look at everything: %s", err.text));
	(void)printf("%" PRId64 " users, %" PRId64 " messages, %" PRId64
		     " outbox rows, %" PRId64 " inbox events, %" PRId64
		     " links of chains: ",
	    report.census.users, report.census.messages,
	    report.census.outbox_rows, report.census.events, report.links);
	if (report.violations == 0) {
		(void)printf("%d kinds of violation looked for, none found\n",
		    report.kinds);
		return (fflush(stdout) == 0 ? EX_OK : EX_IOERR);
	}
	(void)printf("%" PRId64 " violation%s (of each kind at most %d are "
		     "named)\n",
	    report.violations, report.violations == 1 ? "" : "s", FSCK_PLACES);
	(void)fflush(stdout);
	return (EX_DATAERR);
}

int
fsck_main(int argc, char **argv)
{
	struct config config;
	int code;

	if ((code = main_settings(argc, argv, &config)) >= 0 ||
	    (code = main_no_operands(&config)) >= 0)
		return (code);
	log_set_level(LVL_WARN);
	return (fsck_show(&config));
}
