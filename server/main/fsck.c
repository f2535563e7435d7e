/* SPDX-License-Identifier: MIT */
/*
 * `twinboxd fsck`: checks that a database keeps its invariants and, with
 * --with-peer, that it agrees with the database of another server.  It reads
 * the rows in one snapshot and the schema in a second one; for --with-peer it
 * then reads each of the two databases in one more snapshot.  Its connections
 * cannot write.  So it does not take the lock of the data directory, and works
 * with and without a running server.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "base/escape.h"
#include "base/fault.h"
#include "log/log.h"
#include "main/main_internal.h"
#include "upkeep/fsck.h"
#include "upkeep/pair.h"

/* Size of a place as the checks name it, with each byte escaped. */
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

/* A damaged file is a finding of fsck, not a failure of the disk. */
static int
exit_code(enum rc rc)
{

	return (rc == RC_CORRUPT ? EX_DATAERR : main_file_code(rc));
}

/* Prints the verdict as the end of the line and returns the exit code. */
static int
conclude(int kinds, int64_t violations)
{

	if (violations == 0) {
		(void)printf("%d checks, no violations\n", kinds);
		return (fflush(stdout) == 0 ? EX_OK : EX_IOERR);
	}
	(void)printf("%" PRId64 " violation%s (of each kind at most %d are "
		     "named)\n",
	    violations, violations == 1 ? "" : "s", FSCK_PLACES);
	(void)fflush(stdout);
	return (EX_DATAERR);
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
	return (conclude(report.kinds, report.violations));
}

/* ---- with the database of another server ---- */

struct peer {
	const char *url; /* NULL: no other database */
	const char *domain;
};

/* Checks the values of --with-peer and --peer-domain in ${peer}; each flag
 * needs the other.  If peer->url is a file name, writes its URL to ${room} and
 * sets peer->url to ${room}.  Returns -1 if the command may go on, also if
 * neither flag was given, or EX_USAGE after a message. */
static int
read_peer(struct peer *peer, char room[URL_SIZE])
{
	struct err err = ERR_INIT;

	if (peer->url == NULL && peer->domain == NULL)
		return (-1);
	if (peer->url == NULL || *peer->url == '\0' || peer->domain == NULL)
		return (main_complain(EX_USAGE,
		    "usage: twinboxd fsck [--with-peer FILE --peer-domain "
		    "DOMAIN] [SETTING...]"));
	if (!domain_valid(peer->domain, strlen(peer->domain)))
		return (main_complain(EX_USAGE,
		    "--peer-domain: \"%.60s\" is not the domain of a server",
		    peer->domain));
	if (strlen(peer->url) > URL_SIZE - sizeof("sqlite:"))
		return (main_complain(
		    EX_USAGE, "the name of the file is too long"));
	if (strncmp(peer->url, "sqlite:", 7) != 0 &&
	    !db_url_multi_writer(peer->url)) {
		(void)snprintf(room, URL_SIZE, "sqlite:%.*s",
		    URL_SIZE - (int)sizeof("sqlite:"), peer->url);
		peer->url = room;
	}
	if (config_check_url("--with-peer", peer->url, &err) != RC_OK)
		return (main_complain(EX_USAGE, "%s", err.text));
	return (-1);
}

/* If there is a peer, checks that the setting `domain` is valid and is not the
 * domain of the peer.  The comparison needs the setting, because a database
 * holds the domains of other servers only, not its own.  Returns -1 if the
 * command may go on, or the exit code after a message. */
static int
check_own_domain(const struct config *config, const struct peer *peer)
{

	if (peer->url == NULL)
		return (-1);
	if (!domain_valid(config->domain, strlen(config->domain)))
		return (main_complain(EX_CONFIG,
		    "domain: no server is called \"%.60s\": name the one "
		    "that this database belongs to",
		    config->domain));
	if (strcmp(config->domain, peer->domain) == 0)
		return (main_complain(EX_USAGE,
		    "--peer-domain: %s is this server's own domain",
		    peer->domain));
	return (-1);
}

static enum rc
run_pair(const struct config *config, const struct peer *peer,
    struct pair_report *report, struct err *err)
{
	struct pair_side sides[2] = {
	    {NULL, config->domain}, {NULL, peer->domain}};
	enum rc rc;

	rc = data_look(config, DB_READER, &sides[0].db, err);
	if (rc == RC_OK)
		rc = data_look_elsewhere(peer->url, &sides[1].db, err);
	if (rc == RC_OK)
		rc = pair_run(sides, fsck_print_found, stdout, report, err);
	db_close(sides[1].db);
	db_close(sides[0].db);
	return (rc);
}

static int
show_pair(const struct config *config, const struct peer *peer)
{
	struct pair_report report = {.violations = 0};
	struct err err = ERR_INIT;

	if (run_pair(config, peer, &report, &err) != RC_OK)
		return (main_complain(exit_code(err.rc),
		    "fsck could not compare the two databases: %s", err.text));
	(void)printf("%" PRId64 " messages and %" PRId64
		     " events between %s and %s: ",
	    report.messages, report.events, config->domain, peer->domain);
	return (conclude(report.kinds, report.violations));
}

int
fsck_main(int argc, char **argv)
{
	struct peer peer = {.url = NULL, .domain = NULL};
	struct config config;
	char room[URL_SIZE];
	int code, with;

	argc = main_take_value(argc, argv, "--with-peer", &peer.url);
	argc = main_take_value(argc, argv, "--peer-domain", &peer.domain);
	if ((code = main_settings(argc, argv, &config)) >= 0 ||
	    (code = main_no_operands(&config)) >= 0 ||
	    (code = read_peer(&peer, room)) >= 0 ||
	    (code = check_own_domain(&config, &peer)) >= 0)
		return (code);
	log_set_level(LVL_WARN);
	code = fsck_show(&config);
	if (peer.url == NULL || (code != EX_OK && code != EX_DATAERR))
		return (code);
	with = show_pair(&config, &peer);
	return (with == EX_OK ? code : with);
}
