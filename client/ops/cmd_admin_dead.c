/* SPDX-License-Identifier: MIT */
/*
 * The commands admin dlq, requeue and discard, for dead letters.  A change by
 * --all asks for a confirmation, unless --yes is given, nothing matches, or it
 * requeues at most ten; if it must ask but has no terminal, it fails.  Changes
 * are sent in requests of at most ADMIN_BATCH_MAX dead letters.  If the server
 * has refused to change some of them, the command reports these and fails.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/safe.h"
#include "ops/admin_command.h"
#include "term/admin_view.h"
#include "term/human.h"

/* Requeueing more dead letters than this by --all needs a confirmation. */
#define MANY 10
/* The longest pause of an export, in ms. */
#define EXPORT_SILENCE_MS 60000
#define TEMPORARY_SUFFIX ".XXXXXX"

static const struct admin_command_list dead_letters = {
    "dead-letters", "dead_letters", false, admin_view_dead};

/* The target of an export. */
struct export
{
	int fd;
	int64_t lines;
	int error;       /* errno of a failed write */
	struct buf got;  /* as received, not yet made safe */
	struct buf text; /* made safe, not yet written */
};

/* Writes and empties ${export}->text. */
static bool
write_text(struct export *export)
{
	size_t done = 0;
	ssize_t wrote;

	if (!buf_ok(&export->text)) {
		export->error = ENOMEM;
		return (false);
	}
	while (done < export->text.len) {
		wrote = write(export->fd, export->text.data + done,
		    export->text.len - done);
		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote < 0) {
			export->error = errno;
			return (false);
		}
		done += (size_t)wrote;
	}
	buf_reset(&export->text);
	return (true);
}

/* The sink of the export request.  Makes the ${n} bytes at ${p} safe for a
 * terminal, as --json does, because the detail of a dead letter comes from
 * another server, and writes them to export->fd.  If they end inside a UTF-8
 * character, its first bytes stay in export->got until the next call.  If a
 * write fails or memory runs out, sets export->error and returns false, which
 * ends the request. */
static bool
take_piece(void *arg, const char *p, size_t n)
{
	struct export *export = arg;
	size_t i, done;

	for (i = 0; i < n; i++)
		export->lines += p[i] == '\n';
	buf_add(&export->got, p, n);
	if (!buf_ok(&export->got)) {
		export->error = ENOMEM;
		return (false);
	}
	done = safe_json_add(&export->text, export->got.data, export->got.len);
	export->got.len -= done;
	memmove(export->got.data, export->got.data + done, export->got.len);
	return (write_text(export));
}

/* Writes the dead letters that ${filter} selects to ${export}. */
static enum rc
fetch_export(struct cli *cli, const struct admin_filter *filter,
    struct export *export, struct fail *fail)
{
	struct rest_request request = {.timeout_ms = EXPORT_SILENCE_MS,
	    .patience_ms = REST_TIMEOUT_MS,
	    .sink = take_piece,
	    .sink_arg = export};
	struct rest_reply reply;
	enum rc rc;

	rc = admin_call(cli->rest, &request,
	    admin_path("dead-letters/export", filter), &reply, fail);
	buf_fini(&export->got);
	buf_fini(&export->text);
	if (rc != RC_OK) {
		if (export->error != 0) {
			(void)fail_set(fail, FAIL_INPUT_OUTPUT,
			    "cannot write the export: %s",
			    strerror(export->error));
			(void)fail_cure(fail, "check where it goes");
		}
		return (fail->rc);
	}
	rest_reply_fini(&reply);
	return (RC_OK);
}

/* Fails because file ${safe} cannot be made, with errno ${error}. */
static enum rc
cannot_make(struct fail *fail, const char *safe, int error)
{

	(void)fail_set(fail, FAIL_CANNOT_CREATE, "cannot make %s: %s", safe,
	    strerror(error));
	if (error == EEXIST)
		(void)fail_cure(fail, "choose a name that is free");
	return (fail->rc);
}

/* Writes the export into a new file ${name}, by way of a temporary file beside
 * it.  The file gets ${name} only when it is complete.  Fails if ${name} exists
 * already, and never overwrites it.  Removes the temporary file, also on
 * failure. */
static enum rc
export_file(struct cli *cli, const struct admin_filter *filter,
    const char *name, struct fail *fail)
{
	struct export export = {.fd = -1};
	char temporary[4096], safe[160], lines[40];
	enum rc rc;

	safe_line(name, strlen(name), safe, sizeof(safe));
	if ((size_t)snprintf(temporary, sizeof(temporary), "%s%s", name,
		TEMPORARY_SUFFIX) >= sizeof(temporary))
		return (cannot_make(fail, safe, ENAMETOOLONG));
	if (access(name, F_OK) == 0)
		return (cannot_make(fail, safe, EEXIST));
	export.fd = mkstemp(temporary);
	if (export.fd < 0)
		return (cannot_make(fail, safe, errno));
	rc = fetch_export(cli, filter, &export, fail);
	if (rc == RC_OK && fsync(export.fd) != 0)
		rc = fail_set(fail, FAIL_INPUT_OUTPUT, "cannot write %s: %s",
		    safe, strerror(errno));
	if (close(export.fd) != 0 && rc == RC_OK)
		rc = fail_set(fail, FAIL_INPUT_OUTPUT, "cannot write %s: %s",
		    safe, strerror(errno));
	if (rc == RC_OK && link(temporary, name) != 0)
		rc = cannot_make(fail, safe, errno);
	(void)unlink(temporary);
	if (rc != RC_OK)
		return (rc);
	(void)snprintf(lines, sizeof(lines), "%" PRId64, export.lines);
	cli_note(cli, "%s dead letter%s in %s", lines,
	    export.lines == 1 ? "" : "s", safe);
	return (RC_OK);
}

enum rc
cmd_admin_dlq(struct cli *cli, struct fail *fail)
{
	const char *name = args_value(&cli->args, "export");
	struct export export = {.fd = STDOUT_FILENO};
	struct admin_filter filter;

	if (name == NULL)
		return (admin_command_show_list(cli, &dead_letters, fail));
	if (admin_command_filter(cli, &filter, fail) != RC_OK)
		return (fail->rc);
	if (strcmp(name, "-") == 0)
		return (fetch_export(cli, &filter, &export, fail));
	return (export_file(cli, &filter, name, fail));
}

/* A change of many dead letters. */
struct batch {
	const char *verb;   /* "requeue" */
	const char *done;   /* "requeued"; also a member of the answer */
	int64_t ask_beyond; /* more than this need a confirmation */
	json_t *ids;        /* NULL: select by filter */
	struct admin_filter filter;
	int64_t limit;     /* the most to change, by filter */
	int64_t changed;   /* number changed by all calls */
	json_t *refused;   /* detail by dead_id */
	int64_t remaining; /* in the last answer; -1: unknown */
};

/* Returns the ids that the operands name, or NULL on a failure. */
static json_t *
named_ids(struct cli *cli, struct fail *fail)
{
	json_t *ids = json_array();
	char safe[60];
	int64_t id;
	int i;

	for (i = 0; i < cli->args.noperands; i++) {
		if (args_number(cli->args.operands[i], 1, INT64_MAX, &id)) {
			if (json_array_append_new(
				ids, json_integer((json_int_t)id)) == 0)
				continue;
			(void)fail_set(fail, FAIL_MEMORY, "out of memory");
			json_decref(ids);
			return (NULL);
		}
		safe_line(cli->args.operands[i], strlen(cli->args.operands[i]),
		    safe, sizeof(safe));
		(void)fail_set(fail, FAIL_USAGE,
		    "\"%s\" is not the number of a dead letter", safe);
		(void)fail_cure(fail, "twinbox admin dlq lists them");
		json_decref(ids);
		return (NULL);
	}
	return (ids);
}

/* Counts the dead letters that ${batch} selects, up to ${most} + 1. */
static enum rc
count(struct cli *cli, const struct batch *batch, int64_t most, int64_t *ret,
    struct fail *fail)
{
	struct admin_filter filter = batch->filter;
	json_t *page;

	filter.limit = batch->limit <= most ? batch->limit : most + 1;
	if (admin_command_rows(cli, &dead_letters, &filter, &page, fail) !=
	    RC_OK)
		return (fail->rc);
	*ret =
	    (int64_t)json_array_size(json_object_get(page, dead_letters.array));
	json_decref(page);
	return (RC_OK);
}

/* Asks a person ${question}.  Returns true if the answer is yes. */
static bool
confirmed(const char *question)
{
	char line[16] = "";

	(void)fprintf(stderr, "%s? [y/N] ", question);
	(void)fflush(stderr);
	if (fgets(line, sizeof(line), stdin) == NULL) {
		(void)fputc('\n', stderr);
		return (false);
	}
	return (line[0] == 'y' || line[0] == 'Y');
}

/* Asks for a confirmation of ${batch}, if it needs one. */
static enum rc
confirm_batch(struct cli *cli, const struct batch *batch, struct fail *fail)
{
	char question[160];
	int64_t n = 0;

	if (batch->ids != NULL || args_has(&cli->args, "yes"))
		return (RC_OK);
	if (count(cli, batch, LIMIT_PAGE_MAX, &n, fail) != RC_OK)
		return (fail->rc);
	if (n <= batch->ask_beyond)
		return (RC_OK);
	(void)snprintf(question, sizeof(question),
	    "%s %s%" PRId64 " dead letter%s", batch->verb,
	    n > LIMIT_PAGE_MAX ? "more than " : "",
	    n > LIMIT_PAGE_MAX ? (int64_t)LIMIT_PAGE_MAX : n,
	    n == 1 ? "" : "s");
	if (isatty(STDIN_FILENO) != 1 || isatty(STDERR_FILENO) != 1) {
		(void)fail_set(fail, FAIL_USAGE, "this would %s", question);
		return (fail_cure(fail, "add --yes if it is meant"));
	}
	if (confirmed(question))
		return (RC_OK);
	(void)fail_set(fail, FAIL_DATA, "nothing was %s", batch->done);
	return (fail_cure(fail, "answer y if it is meant"));
}

/* Adds the results in ${answer}, the server's answer to one call, to ${batch}:
 * the number changed and the refused ones; batch->remaining becomes that of
 * this answer.  Sets *ret_changed to the number of dead letters that this call
 * changed.  Fails only without memory. */
static enum rc
take_answer(struct batch *batch, const json_t *answer, int64_t *ret_changed,
    struct fail *fail)
{
	const json_t *list = json_object_get(answer, "refused"), *one;
	json_t *detail;
	char key[24];
	size_t i;

	*ret_changed = admin_view_integer(answer, batch->done, 0);
	batch->changed += *ret_changed;
	batch->remaining = admin_view_integer(answer, "remaining", -1);
	for (i = 0; i < json_array_size(list); i++) {
		one = json_array_get(list, i);
		(void)snprintf(key, sizeof(key), "%lld",
		    (long long)admin_view_integer(one, "dead_id", 0));
		detail = json_object_get(one, "detail");
		if (cli_set(batch->refused, key,
			detail != NULL ? json_incref(detail) : json_string("?"),
			fail) != RC_OK)
			return (fail->rc);
	}
	return (RC_OK);
}

/* Returns the body of the next call, which the caller owns.  With batch->ids:
 * up to ADMIN_BATCH_MAX of them from index *at on; advances *at beyond these.
 * Without ids: the filter, with a limit of ADMIN_BATCH_MAX or, if that is less,
 * what is left of batch->limit; *at stays.  Returns NULL without memory. */
static json_t *
next_body(const struct batch *batch, size_t *at)
{
	json_t *some, *body;
	int64_t left = batch->limit - batch->changed;
	size_t end = *at + ADMIN_BATCH_MAX;

	if (batch->ids == NULL)
		return (admin_batch(NULL, &batch->filter,
		    left < ADMIN_BATCH_MAX ? left : ADMIN_BATCH_MAX));
	some = json_array();
	for (; *at < json_array_size(batch->ids) && *at < end; (*at)++)
		if (json_array_append(some, json_array_get(batch->ids, *at)) !=
		    0) {
			json_decref(some);
			return (NULL);
		}
	body = admin_batch(some, NULL, 0);
	json_decref(some);
	return (body);
}

/* Sends ${batch}, call by call: all ids or, by filter, until batch->limit dead
 * letters are changed, nothing more matches, or a call changes nothing.  If a
 * call fails, sends no further call; the changes of the earlier calls remain,
 * and batch->changed has their number. */
static enum rc
run_batch(struct cli *cli, struct batch *batch, struct fail *fail)
{
	json_t *body, *answer;
	int64_t changed;
	size_t at = 0;
	bool more;
	enum rc rc;

	do {
		if ((body = next_body(batch, &at)) == NULL)
			return (fail_set(fail, FAIL_MEMORY, "out of memory"));
		if (admin_command_change(cli, "POST",
			admin_path_of("dead-letters", batch->verb, ""), body,
			&answer, fail) != RC_OK)
			return (fail->rc);
		rc = take_answer(batch, answer, &changed, fail);
		more = json_is_true(json_object_get(answer, "more")) ||
		       batch->remaining > 0;
		json_decref(answer);
		if (rc != RC_OK)
			return (rc);
		if (batch->ids != NULL)
			more = at < json_array_size(batch->ids);
		else
			more = more && changed > 0 &&
			       batch->changed < batch->limit;
	} while (more);
	return (RC_OK);
}

/* Prints the result of ${batch}.  Fails if some dead letters were refused. */
static enum rc
report_batch(struct cli *cli, const struct batch *batch, struct fail *fail)
{
	json_t *refused = json_array(), *detail, *answer;
	char safe[120] = "?";
	const char *key;
	size_t n;
	enum rc rc;

	json_object_foreach (batch->refused, key, detail)
		if (json_array_append_new(
			refused, json_pack("{sI sO}", "dead_id",
				     (json_int_t)strtoll(key, NULL, 10),
				     "detail", detail)) != 0) {
			json_decref(refused);
			return (fail_set(fail, FAIL_MEMORY, "out of memory"));
		}
	n = json_array_size(refused);
	answer = json_pack("{sI so sI}", batch->done,
	    (json_int_t)batch->changed, "refused", refused, "remaining",
	    (json_int_t)(batch->remaining > 0 ? batch->remaining : 0));
	rc = cli_result(cli, answer, fail, "%s %" PRId64 "%s", batch->done,
	    batch->changed,
	    batch->remaining > 0 && batch->ids == NULL ? "; there are more"
						       : "");
	if (rc == RC_OK && n > 0) {
		detail = json_object_get(json_array_get(refused, 0), "detail");
		if (json_is_string(detail))
			safe_line(json_string_value(detail),
			    json_string_length(detail), safe, sizeof(safe));
		(void)fail_set(fail, FAIL_DATA, "%zu refused; %lld: %s", n,
		    (long long)admin_view_integer(
			json_array_get(refused, 0), "dead_id", 0),
		    safe);
		rc = fail_cure(fail, "twinbox admin dlq shows how they are");
	}
	json_decref(answer);
	return (rc);
}

/* Fills ${batch} from the arguments and runs it. */
static enum rc
change_dead(struct cli *cli, struct batch *batch, struct fail *fail)
{
	bool all = args_has(&cli->args, "all");
	enum rc rc;

	if (all == (cli->args.noperands > 0)) {
		(void)fail_set(
		    fail, FAIL_USAGE, "either DEAD_ID... or --all is needed");
		return (fail_cure(
		    fail, "see twinbox admin %s --help", batch->verb));
	}
	if (admin_command_filter(cli, &batch->filter, fail) != RC_OK)
		return (fail->rc);
	batch->limit =
	    batch->filter.limit > 0 ? batch->filter.limit : INT64_MAX;
	batch->remaining = -1;
	if (!all && (batch->ids = named_ids(cli, fail)) == NULL)
		return (fail->rc);
	batch->refused = json_object();
	rc = confirm_batch(cli, batch, fail);
	if (rc == RC_OK) {
		rc = run_batch(cli, batch, fail);
		if (rc != RC_OK && batch->changed > 0)
			cli_note(cli, "%s %lld before it failed", batch->done,
			    (long long)batch->changed);
	}
	if (rc == RC_OK)
		rc = report_batch(cli, batch, fail);
	json_decref(batch->refused);
	json_decref(batch->ids);
	return (rc);
}

enum rc
cmd_admin_requeue(struct cli *cli, struct fail *fail)
{
	struct batch batch = {
	    .verb = "requeue", .done = "requeued", .ask_beyond = MANY};

	return (change_dead(cli, &batch, fail));
}

/* Returns true if the only operand is a message's id. */
static bool
names_message(const struct cli *cli)
{
	struct uuid id;

	return (cli->args.noperands == 1 &&
		uuid_parse(
		    cli->args.operands[0], strlen(cli->args.operands[0]), &id));
}

enum rc
cmd_admin_discard(struct cli *cli, struct fail *fail)
{
	struct batch batch = {.verb = "discard", .done = "discarded"};

	if (names_message(cli))
		return (cmd_admin_discard_message(cli, fail));
	return (change_dead(cli, &batch, fail));
}
