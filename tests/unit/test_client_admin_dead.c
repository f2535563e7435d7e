/* SPDX-License-Identifier: MIT */
/*
 * The admin commands for dead letters: batches and their limits, the question
 * before many are changed, refused dead letters, and exports.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dirent.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "unit/cli_stage.h"

#define LETTERS "/v1/admin/dead-letters"
#define REQUEUE "POST " LETTERS "/requeue\n"
#define DISCARD "POST " LETTERS "/discard\n"

/* ---- by id ---- */

static void
test_numbers(void **state)
{
	struct stage *s = *state;

	played_say(s->played, 200,
	    "{'requeued': 2, 'refused': [],"
	    " 'remaining': 40, 'more': true}");
	SHOWS(s, REQUEUE "{\"dead_ids\":[1,17]}\n", "requeued 2\n", "", "admin",
	    "requeue", "1", "17");
	played_say(s->played, 200, "{'discarded': 1}");
	SHOWS(s, DISCARD "{\"dead_ids\":[9]}\n", "discarded 1\n", "", "admin",
	    "discard", "9");
	played_say(s->played, 200, "{'requeued': 1, 'remaining': -1}");
	SHOWS(s, REQUEUE "{\"dead_ids\":[9]}\n",
	    "{\"requeued\":1,\"refused\":[],\"remaining\":0}\n", "", "admin",
	    "requeue", "9", "--json");
	played_say(s->played, 200, "{'requeued': 1, 'remaining': 1}");
	SHOWS(s, REQUEUE "{\"dead_ids\":[9]}\n",
	    "{\"requeued\":1,\"refused\":[],\"remaining\":1}\n", "", "admin",
	    "requeue", "9", "--json");
	REFUSES(s, "", EX_USAGE,
	    "either DEAD_ID... or --all is needed; see twinbox admin requeue "
	    "--help",
	    "admin", "requeue");
	REFUSES(s, "", EX_USAGE,
	    "either DEAD_ID... or --all is needed; see twinbox admin discard "
	    "--help",
	    "admin", "discard", "--all", "1");
	REFUSES(s, "", EX_USAGE,
	    "\"0\" is not the number of a dead letter; twinbox admin dlq lists "
	    "them",
	    "admin", "requeue", "1", "0", "2");
	REFUSES(s, "", EX_USAGE,
	    "\"a\\x1b\" is not the number of a dead letter; twinbox admin dlq "
	    "lists them",
	    "admin", "requeue", "a\033");
	REFUSES(s, "", EX_USAGE,
	    "--limit takes a whole number from 1 to 100000, not \"0\"; see "
	    "twinbox admin requeue --help",
	    "admin", "requeue", "--all", "--limit", "0");
}

/* Refused dead letters are printed, and the command fails. */
static void
test_refused(void **state)
{
	struct stage *s = *state;

	played_say(s->played, 200,
	    "{'requeued': 1, 'refused': ["
	    "{'dead_id': 17, 'detail': 'too\\u001b old'},"
	    "{'dead_id': 18, 'detail': 'gone'}]}");
	REFUSES(s, REQUEUE "{\"dead_ids\":[1,17,18]}\n", EX_DATAERR,
	    "2 refused; 17: too\\x1b old; twinbox admin dlq shows how they "
	    "are",
	    "admin", "requeue", "1", "17", "18");
	assert_string_equal(s->out, "requeued 1\n");
	played_say(s->played, 200,
	    "{'requeued': 0, 'refused': ["
	    "{'dead_id': 5, 'detail': 7}]}");
	REFUSES(s, REQUEUE "{\"dead_ids\":[5]}\n", EX_DATAERR,
	    "1 refused; 5: ?; twinbox admin dlq shows how they are", "admin",
	    "requeue", "5", "--json");
	assert_string_equal(s->out,
	    "{\"requeued\":0,\"refused\":[{\"dead_id\":5,\"detail\":7}],"
	    "\"remaining\":0}\n");
}

/* ---- by filter ---- */

static void
test_all(void **state)
{
	struct stage *s = *state;

	played_say(s->played, 200,
	    "{'requeued': 1000, 'remaining': 5, 'more': false}");
	played_say(
	    s->played, 200, "{'requeued': 5, 'remaining': 0, 'more': true}");
	played_say(
	    s->played, 200, "{'requeued': 1, 'remaining': 0, 'more': false}");
	SHOWS(s,
	    REQUEUE "{\"filter\":{\"reason\":\"poison\",\"destination\":\"d\","
		    "\"sender\":\"u\"},\"limit\":1000}\n" REQUEUE
		    "{\"filter\":{\"reason\":\"poison\",\"destination\":\"d\","
		    "\"sender\":\"u\"},\"limit\":1000}\n" REQUEUE
		    "{\"filter\":{\"reason\":\"poison\",\"destination\":\"d\","
		    "\"sender\":\"u\"},\"limit\":1000}\n",
	    "requeued 1006\n", "", "admin", "requeue", "--all", "--yes",
	    "--reason", "poison", "--destination", "d", "--sender", "u");
	/* The wanted number, with no call more than it takes. */
	played_say(s->played, 200, "{'requeued': 1000, 'remaining': 9}");
	played_say(s->played, 200, "{'requeued': 1, 'remaining': 1}");
	SHOWS(s,
	    REQUEUE "{\"filter\":{},\"limit\":1000}\n" REQUEUE
		    "{\"filter\":{},\"limit\":1}\n",
	    "requeued 1001; there are more\n", "", "admin", "requeue", "--all",
	    "--yes", "--limit", "1001");
	/* After a call that changes nothing there is no other. */
	played_say(s->played, 200, "{'discarded': 0, 'more': true}");
	SHOWS(s, DISCARD "{\"filter\":{},\"limit\":1000}\n", "discarded 0\n",
	    "", "admin", "discard", "--all", "--yes");
	played_say(s->played, 200, "{'requeued': 0, 'remaining': 3}");
	SHOWS(s, REQUEUE "{\"filter\":{},\"limit\":1000}\n",
	    "requeued 0; there are more\n", "", "admin", "requeue", "--all",
	    "--yes");
}

static void
test_all_fails(void **state)
{
	struct stage *s = *state;

	played_say(s->played, 200, "{'requeued': 1, 'more': true}");
	played_say(s->played, 500, "{'code': 'internal', 'detail': 'oh'}");
	REFUSES(s,
	    REQUEUE "{\"filter\":{},\"limit\":1000}\n" REQUEUE
		    "{\"filter\":{},\"limit\":1000}\n",
	    EX_SOFTWARE,
	    "oh; repeat with the same id, which is safe; tell the operator",
	    "admin", "requeue", "--all", "--yes");
	assert_string_equal(s->out, "");
	assert_string_equal(
	    s->err, "twinbox: admin requeue: requeued 1 before it failed\n");
	played_say(s->played, 500, "{'code': 'internal', 'detail': 'oh'}");
	REFUSES(s, REQUEUE "{\"filter\":{},\"limit\":1000}\n", EX_SOFTWARE,
	    "oh; repeat with the same id, which is safe; tell the operator",
	    "admin", "requeue", "--all", "--yes");
	assert_string_equal(s->err, "");
}

/* More ids than one call accepts. */
static void
test_many_numbers(void **state)
{
	static const int counts[] = {1000, 1001};
	static char group[] = "admin", command[] = "discard", number[] = "7";
	struct stage *s = *state;
	struct cli cli;
	struct fail why = FAIL_INIT;
	char *asked;
	size_t i;
	int k;

	for (i = 0; i < 2; i++) {
		char **argv = test_calloc((size_t)counts[i] + 4, sizeof(*argv));

		argv[0] = argv[1] = group;
		argv[2] = command;
		for (k = 0; k < counts[i]; k++)
			argv[3 + k] = number;
		memset(&cli, 0, sizeof(cli));
		cli.json = true;
		assert_int_equal(args_parse(counts[i] + 3, argv, cli_commands,
				     &cli.args, &why),
		    RC_OK);
		assert_int_equal(
		    rest_new(played_url(s->played), "t", &cli.rest, &why),
		    RC_OK);
		played_say(s->played, 200, "{'discarded': 1000}");
		if (i == 1)
			played_say(s->played, 200, "{'discarded': 1}");
		assert_int_equal(cli.args.command->run(&cli, &why), RC_OK);
		asked = strdup(played_asked(s->played));
		assert_non_null(asked);
		/* One line for the request, and one for its body with 1000
		 * ids. */
		assert_int_equal(strlen(asked),
		    (i == 0 ? 1 : 2) * strlen(DISCARD) +
			strlen("{\"dead_ids\":[]}\n") + 2 * 1000 - 1 +
			(i == 0 ? 0 : strlen("{\"dead_ids\":[7]}\n")));
		free(asked);
		args_fini(&cli.args);
		rest_free(cli.rest);
		test_free(argv);
	}
}

/* ---- the question before changes ---- */

/* An answer with ${n} dead letters and ${next}. */
static void
say_letters(struct stage *s, int n, const char *next)
{
	char text[8192];
	size_t at = 0;
	int i;

	at += (size_t)snprintf(text, sizeof(text), "{'dead_letters': [");
	for (i = 0; i < n; i++)
		at += (size_t)snprintf(
		    text + at, sizeof(text) - at, "%s{}", i > 0 ? "," : "");
	(void)snprintf(text + at, sizeof(text) - at, "], 'next': %s}", next);
	played_say(s->played, 200, text);
}

/* Without a terminal there is no question: --yes is needed. */
static void
test_question(void **state)
{
	struct stage *s = *state;

	say_letters(s, 10, "null");
	played_say(s->played, 200, "{'requeued': 10}");
	SHOWS(s,
	    "GET " LETTERS "?sender=u&limit=200\n" REQUEUE
	    "{\"filter\":{\"sender\":\"u\"},\"limit\":1000}\n",
	    "requeued 10\n", "", "admin", "requeue", "--all", "--sender", "u");
	say_letters(s, 11, "null");
	REFUSES(s, "GET " LETTERS "?limit=200\n", EX_USAGE,
	    "this would requeue 11 dead letters; add --yes if it is meant",
	    "admin", "requeue", "--all");
	say_letters(s, 0, "null");
	played_say(s->played, 200, "{'discarded': 0}");
	SHOWS(s,
	    "GET " LETTERS "?limit=200\n" DISCARD
	    "{\"filter\":{},\"limit\":1000}\n",
	    "discarded 0\n", "", "admin", "discard", "--all");
	say_letters(s, 1, "null");
	REFUSES(s, "GET " LETTERS "?limit=200\n", EX_USAGE,
	    "this would discard 1 dead letter; add --yes if it is meant",
	    "admin", "discard", "--all");
	say_letters(s, 2, "null");
	REFUSES(s, "GET " LETTERS "?limit=2\n", EX_USAGE,
	    "this would discard 2 dead letters; add --yes if it is meant",
	    "admin", "discard", "--all", "--limit", "2");
	played_say(s->played, 403, "{'code': 'forbidden', 'detail': 'no'}");
	REFUSES(s, "GET " LETTERS "?limit=200\n", EX_NOPERM,
	    "no; log in as an administrator (the operator makes one: "
	    "twinboxd user promote NAME)",
	    "admin", "discard", "--all");
}

/* The question counts one page of dead letters, and no more. */
static void
test_question_about_many(void **state)
{
	struct stage *s = *state;

	say_letters(s, 200, "7");
	say_letters(s, 0, "null");
	REFUSES(s,
	    "GET " LETTERS "?limit=200\nGET " LETTERS "?before=7&limit=1\n",
	    EX_USAGE,
	    "this would discard 200 dead letters; add --yes if it is meant",
	    "admin", "discard", "--all");
	say_letters(s, 200, "7");
	say_letters(s, 1, "6");
	REFUSES(s,
	    "GET " LETTERS "?limit=200\nGET " LETTERS "?before=7&limit=1\n",
	    EX_USAGE,
	    "this would discard more than 200 dead letters; add --yes if it "
	    "is meant",
	    "admin", "discard", "--all", "--limit", "300");
	say_letters(s, 200, "7");
	REFUSES(s, "GET " LETTERS "?limit=200\n", EX_USAGE,
	    "this would discard 200 dead letters; add --yes if it is meant",
	    "admin", "discard", "--all", "--limit", "200");
}

/* ---- lists and exports ---- */

static void
test_list(void **state)
{
	struct stage *s = *state;

	played_say(s->played, 200,
	    "{'dead_letters': [{'dead_id': 7, 'from': 'ann'}],"
	    " 'next': null}");
	SHOWS(s, "GET " LETTERS "?limit=50\n",
	    "DEAD  REASON  TRIES  DIED  AGE  FROM → TO\n"
	    "   7  -           -     -    -  ann → group\n",
	    "", "admin", "dlq");
}

/* Returns the number of entries in the folder ${path}. */
static int
entries(const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;
	int n = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir)) != NULL)
		n += entry->d_name[0] != '.';
	(void)closedir(dir);
	return (n);
}

/* The file ${path} contains ${text}, and only its owner may read it. */
static void
assert_file(const char *path, const char *text)
{
	char got[256] = "";
	struct stat st;
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	got[fread(got, 1, sizeof(got) - 1, file)] = '\0';
	(void)fclose(file);
	assert_string_equal(got, text);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

static void
test_export(void **state)
{
	struct stage *s = *state;
	char path[128], said[256];

	played_say(s->played, 200, "{}\n{'a': 1}\n");
	SHOWS(s, "GET " LETTERS "/export?reason=poison&limit=7\n",
	    "{}\n{\"a\": 1}\n", "", "admin", "dlq", "--export", "-", "--reason",
	    "poison", "--limit", "7");
	(void)snprintf(path, sizeof(path), "%s", stage_path(s, "two"));
	(void)snprintf(said, sizeof(said),
	    "twinbox: admin dlq: 2 dead letters in %s\n", path);
	played_say(s->played, 200, "{}\n{'a': 1}\n");
	SHOWS(s, "GET " LETTERS "/export\n", "", said, "admin", "dlq",
	    "--export", path);
	assert_file(path, "{}\n{\"a\": 1}\n");
	/* An existing file is not overwritten. */
	(void)snprintf(said, sizeof(said),
	    "cannot make %s: File exists; choose a name that is free", path);
	REFUSES(s, "", EX_CANTCREAT, said, "admin", "dlq", "--export", path);
	assert_file(path, "{}\n{\"a\": 1}\n");
	(void)snprintf(path, sizeof(path), "%s", stage_path(s, "one"));
	(void)snprintf(said, sizeof(said),
	    "twinbox: admin dlq: 1 dead letter in %s\n", path);
	played_say(s->played, 200, "{}\n");
	SHOWS(s, "GET " LETTERS "/export\n", "", said, "admin", "dlq",
	    "--export", path);
	assert_int_equal(entries(s->folder), 2);
	REFUSES(s, "", EX_USAGE,
	    "--limit takes a whole number from 1 to 100000, not \"0\"; see "
	    "twinbox admin dlq --help",
	    "admin", "dlq", "--export", "-", "--limit", "0");
}

/* Texts of the server cannot reach a terminal as control characters, also when
 * a piece of the answer ends inside a character. */
static void
test_export_is_safe(void **state)
{
	struct stage *s = *state;

	played_say_raw(s->played,
	    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	    "8\r\n{\"a\":\"\xe2\x80\r\n"
	    "6\r\n\xae\xc2\x9b\"}\n\r\n"
	    "0\r\n\r\n");
	SHOWS(s, "GET " LETTERS "/export\n", "{\"a\":\"\\u202E\\u009B\"}\n", "",
	    "admin", "dlq", "--export", "-");
}

/* An export that cannot be read, or written, leaves no file behind. */
static void
test_export_fails(void **state)
{
	struct stage *s = *state;
	char path[128];

	(void)snprintf(path, sizeof(path), "%s", stage_path(s, "file"));
	played_say(s->played, 403, "{'code': 'forbidden', 'detail': 'no'}");
	REFUSES(s, "GET " LETTERS "/export\n", EX_NOPERM,
	    "no; log in as an administrator (the operator makes one: "
	    "twinboxd user promote NAME)",
	    "admin", "dlq", "--export", path);
	played_say_raw(
	    s->played, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}\n");
	assert_int_not_equal(RUN(s, "admin", "dlq", "--export", path), RC_OK);
	assert_int_equal(s->fail.exit, EX_UNAVAILABLE);
	assert_int_equal(entries(s->folder), 0);
	(void)played_asked(s->played);
	s->output = "/dev/full";
	played_say(s->played, 200, "{}\n");
	REFUSES(s, "GET " LETTERS "/export\n", EX_IOERR,
	    "cannot write the export: No space left on device; check where "
	    "it goes",
	    "admin", "dlq", "--export", "-");
	s->output = NULL;
	REFUSES(s, "", EX_CANTCREAT,
	    "cannot make /nowhere/\\x1b: No such file or directory; check "
	    "the folder and its permissions",
	    "admin", "dlq", "--export", "/nowhere/\033");
}

#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, stage_set_up, stage_tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_numbers),
	    TEST(test_refused),
	    TEST(test_all),
	    TEST(test_all_fails),
	    TEST(test_many_numbers),
	    TEST(test_question),
	    TEST(test_question_about_many),
	    TEST(test_list),
	    TEST(test_export),
	    TEST(test_export_is_safe),
	    TEST(test_export_fails),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
