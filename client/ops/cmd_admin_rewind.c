/* SPDX-License-Identifier: MIT */
/*
 * admin rewind: makes a lane (the queue of one conversation to one recipient on
 * another server) send its messages again, beginning at a place (the number of
 * a message in the lane) or at the first message that the other server accepted
 * at or after a given time.  Such a time can also be given for all lanes of a
 * destination (another server).
 *
 * The server rewinds one lane in one request, so this program reads the lanes
 * of a destination page by page and sends one request for each lane.  A command
 * that fails half-way can be repeated: a lane that is rewound twice to the same
 * time begins at the same message, and receivers ignore messages that they have
 * already.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <sysexits.h>

#include "base/clk.h"
#include "cli/args.h"
#include "ops/admin_command.h"

static enum rc
wrong_usage(struct fail *fail)
{

	(void)fail_set(fail, FAIL_USAGE,
	    "it takes LANE SEQ, or LANE or NAME with --since WHEN");
	return (fail_cure(fail, "see twinbox admin rewind --help"));
}

/* Rewinds ${lane} as ${body} (taken) says. */
static enum rc
rewind_lane(struct cli *cli, int64_t lane, json_t *body, json_t **ret,
    struct fail *fail)
{
	char name[24];

	(void)snprintf(name, sizeof(name), "%" PRId64, lane);
	return (admin_command_change(cli, "POST",
	    admin_path_of("lanes", name, "/rewind"), body, ret, fail));
}

/* Rewinds one lane and prints the start ${from}. */
static enum rc
rewind_one(struct cli *cli, int64_t lane, json_t *body, const char *from,
    struct fail *fail)
{
	json_t *answer;
	enum rc rc;

	if (rewind_lane(cli, lane, body, &answer, fail) != RC_OK) {
		if (fail->status == 404 || fail->status == 409)
			(void)fail_cure(
			    fail, "twinbox admin lanes shows how they are");
		if (fail->status == 409)
			fail->exit = EX_DATAERR;
		return (fail->rc);
	}
	rc = cli_result(cli, answer, fail, "lane %" PRId64 " %s", lane, from);
	json_decref(answer);
	return (rc);
}

/* Rewinds the lanes of ${page} and adds their number to *ret_n. */
static enum rc
rewind_page(struct cli *cli, const json_t *page, const char *since,
    int64_t *ret_n, struct fail *fail)
{
	const json_t *lane, *lanes = json_object_get(page, "lanes");
	json_t *answer;
	size_t i;

	if (!json_is_array(lanes))
		return (fail_set(
		    fail, FAIL_PROTOCOL, "the server's answer has no lanes"));
	json_array_foreach (lanes, i, lane) {
		if (rewind_lane(cli,
			json_integer_value(json_object_get(lane, "lane_id")),
			json_pack("{ss}", "since", since), &answer,
			fail) == RC_OK) {
			json_decref(answer);
			(*ret_n)++;
		} else if (fail->status != 404 && fail->status != 409) {
			/* Skip the lane: after a 404 it has been purged since
			 * the page was read; after a 409 it leads to an inbox
			 * on the server that was asked, and cannot be
			 * rewound. */
			return (fail->rc);
		}
	}
	return (RC_OK);
}

static enum rc
rewind_all(
    struct cli *cli, const char *name, const char *since, struct fail *fail)
{
	struct admin_filter filter = ADMIN_FILTER_INIT;
	int64_t last = 0, before, n = 0;
	char after[24] = "";
	json_t *page, *result;
	enum rc rc;

	filter.destination = name;
	filter.limit = LIMIT_PAGE_MAX;
	do {
		filter.after = after[0] != '\0' ? after : NULL;
		if (admin_command_get(cli, admin_path("lanes", &filter), &page,
			fail) != RC_OK)
			return (fail->rc);
		rc = rewind_page(cli, page, since, &n, fail);
		before = last;
		last = json_integer_value(json_object_get(page, "next"));
		(void)snprintf(after, sizeof(after), "%" PRId64, last);
		json_decref(page);
		/* Stop when the cursor does not advance. */
	} while (rc == RC_OK && last > before);
	if (rc != RC_OK)
		return (rc);
	if (n == 0) {
		(void)fail_set(
		    fail, FAIL_DATA, "no lane leads to a server of that name");
		return (fail_cure(
		    fail, "twinbox admin destinations has the names"));
	}
	result = json_pack("{sI}", "lanes", (json_int_t)n);
	rc = cli_result(cli, result, fail,
	    "%" PRId64 " %s of %s %s again what was sent since %s", n,
	    n == 1 ? "lane" : "lanes", name, n == 1 ? "offers" : "offer",
	    since);
	json_decref(result);
	return (rc);
}

enum rc
cmd_admin_rewind(struct cli *cli, struct fail *fail)
{
	const char *when = args_value(&cli->args, "since");
	const char *name = cli->args.operands[0];
	char since[CLK_RFC3339_SIZE], from[80];
	int64_t lane, seq, since_ms;

	if ((cli->args.noperands == 2) == (when != NULL))
		return (wrong_usage(fail));
	if (when != NULL) {
		if (clk_parse_rfc3339(when, &since_ms) != 0)
			return (fail_set(fail, FAIL_USAGE,
			    "--since takes a time such as "
			    "2030-01-31T09:00:00Z"));
		clk_format_rfc3339(since_ms, since);
		if (!args_number(name, 1, INT64_MAX, &lane))
			return (rewind_all(cli, name, since, fail));
		(void)snprintf(from, sizeof(from),
		    "offers again what was sent since %s", since);
		return (rewind_one(
		    cli, lane, json_pack("{ss}", "since", since), from, fail));
	}
	if (!args_number(name, 1, INT64_MAX, &lane) ||
	    !args_number(cli->args.operands[1], 1, INT64_MAX, &seq)) {
		(void)fail_set(
		    fail, FAIL_USAGE, "LANE and SEQ are whole numbers");
		return (fail_cure(fail, "take them from twinbox admin lanes"));
	}
	(void)snprintf(
	    from, sizeof(from), "is offered again from %" PRId64, seq);
	return (rewind_one(
	    cli, lane, json_pack("{sI}", "seq", (json_int_t)seq), from, fail));
}
