/* SPDX-License-Identifier: MIT */
/*
 * The server, loop and stream that the fixture plays for a command.
 */
#include "unit/cli_fixture.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <sqlite3.h>

#include "base/clk.h"
#include "base/mem.h"
#include "base/rnd.h"

struct rest {
	int nothing;
};

struct loop {
	bool stopped;
};

struct loop_timer {
	loop_fn fn;
	void *arg;
};

struct stream {
	char epoch[LOCAL_EPOCH_SIZE];
	int64_t seq;
	int64_t sent;
	enum stream_state state;
};

static struct rest the_rest;
static struct loop the_loop;
static struct loop_timer the_timer;
static struct stream the_stream;
static struct stage *stage;
static int64_t passed_ms;

/* ---- the clock and random numbers ---- */

const struct clk *__wrap_clk_system(void);
struct rnd *__wrap_rnd_system(void);
uint64_t __wrap_rnd_below(struct rnd *rnd, uint64_t bound);

static int64_t
wall_ms(const struct clk *clk)
{

	(void)clk;
	return (STAGE_NOW_MS + passed_ms);
}

static int64_t
mono_us(const struct clk *clk)
{

	(void)clk;
	return ((1000000 + passed_ms) * 1000);
}

const struct clk *
__wrap_clk_system(void)
{
	static const struct clk clk = {.wall_ms = wall_ms, .mono_us = mono_us};

	return (&clk);
}

static void
fill(struct rnd *rnd, void *p, size_t n)
{

	(void)rnd;
	memset(p, 0, n);
}

struct rnd *
__wrap_rnd_system(void)
{
	static struct rnd rnd = {.fill = fill};

	return (&rnd);
}

uint64_t
__wrap_rnd_below(struct rnd *rnd, uint64_t bound)
{

	(void)rnd;
	return (bound - 1);
}

void
stage_pass(int64_t ms)
{

	passed_ms += ms;
}

/* ---- the output ---- */

void
stage_note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vprintf(fmt, ap);
	va_end(ap);
	(void)printf("\n");
	(void)fflush(stdout);
}

void
stage_listen(struct stage *s)
{

	(void)fflush(stdout);
	(void)fflush(stderr);
	s->heard = tmpfile();
	assert_non_null(s->heard);
	s->out = dup(STDOUT_FILENO);
	s->err = dup(STDERR_FILENO);
	(void)dup2(fileno(s->heard), STDOUT_FILENO);
	(void)dup2(fileno(s->heard), STDERR_FILENO);
}

/* Directs standard output and error to where they went before. */
static void
stop_listening(struct stage *s)
{

	(void)fflush(stdout);
	(void)fflush(stderr);
	(void)dup2(s->out, STDOUT_FILENO);
	(void)dup2(s->err, STDERR_FILENO);
	(void)close(s->out);
	(void)close(s->err);
}

const char *
stage_heard(struct stage *s)
{
	size_t n;
	char *p;

	stop_listening(s);
	rewind(s->heard);
	n = fread(s->text, 1, sizeof(s->text) - 1, s->heard);
	s->text[n] = '\0';
	(void)fclose(s->heard);
	s->heard = NULL;
	/* The folder's name differs in each run, so the text has DIR
	 * instead. */
	while ((p = strstr(s->text, s->scratch.dir)) != NULL) {
		n = strlen(s->scratch.dir);
		memcpy(p, "DIR", 3);
		memmove(p + 3, p + n, strlen(p + n) + 1);
	}
	return (s->text);
}

json_t *
stage_json(const char *text)
{
	char copy[4096], *p;
	json_t *ret;

	(void)snprintf(copy, sizeof(copy), "%s", text);
	for (p = copy; *p != '\0'; p++)
		if (*p == '\'')
			*p = '"';
	ret = json_loads(copy, 0, NULL);
	if (ret == NULL)
		stage_note("! no JSON: %s", text);
	return (ret);
}

/* ---- in the place of lib/rest.c ---- */

struct stage_answer *
stage_answer(struct stage *s, int status, const char *json)
{
	struct stage_answer *answer = &s->answers[s->nanswers++];

	assert_true(s->nanswers <= STAGE_ANSWERS_MAX);
	memset(answer, 0, sizeof(*answer));
	answer->status = status;
	answer->json = json;
	return (answer);
}

/* Adds the request to the text. */
static void
note_request(const struct rest_request *request)
{
	char *body = json_dumps(request->body, JSON_COMPACT);

	stage_note("> %s %s%s%s%s%s%s%s timeout=%lld patience=%lld%s",
	    request->method != NULL ? request->method : "GET", request->path,
	    request->key != NULL ? " key=" : "",
	    request->key != NULL ? request->key : "",
	    request->if_none_match != NULL ? " if-none-match=" : "",
	    request->if_none_match != NULL ? request->if_none_match : "",
	    body != NULL ? " " : "", body != NULL ? body : "",
	    (long long)request->timeout_ms, (long long)request->patience_ms,
	    request->idle == NULL      ? ""
	    : request->idle->nfds == 2 ? " beside"
				       : " beside nothing");
	free(body); /* jansson's own memory */
}

enum rc
rest_call(struct rest *rest, const struct rest_request *request,
    struct rest_reply *ret, struct fail *fail)
{
	static const struct stage_answer nobody = {.status = 0};
	const struct stage_answer *answer = stage->nasked < stage->nanswers
						? &stage->answers[stage->nasked]
						: &nobody;
	json_t *json = NULL;

	(void)rest;
	if (stage->asked != NULL)
		stage->asked();
	note_request(request);
	if (answer == &nobody)
		stage_note("! nobody has an answer");
	stage->nasked++;
	passed_ms += answer->took_ms;
	if (answer->slow && !request->idle->fn(request->idle->arg))
		return (fail_set(fail, FAIL_UNREACHABLE, "given up"));
	if (answer->status == 0)
		return (fail_set(
		    fail, FAIL_UNREACHABLE, "cannot reach http://home"));
	if (answer->json != NULL)
		json = stage_json(answer->json);
	if (answer->status >= 400) {
		(void)fail_problem(
		    fail, answer->status, json, answer->retry_after_s);
		json_decref(json);
		return (fail->rc);
	}
	memset(ret, 0, sizeof(*ret));
	ret->status = answer->status;
	ret->json = json;
	ret->date_ms = answer->date_ms;
	if (answer->etag != NULL)
		(void)snprintf(
		    ret->etag, sizeof(ret->etag), "%s", answer->etag);
	if (stage->answered != NULL)
		stage->answered();
	return (RC_OK);
}

void
rest_reply_fini(struct rest_reply *reply)
{

	json_decref(reply->json);
	reply->json = NULL;
}

enum rc
rest_get(struct rest *rest, const char *path, json_t **ret, struct fail *fail)
{
	struct rest_request request = {.path = path};
	struct rest_reply reply;

	if (rest_call(rest, &request, &reply, fail) != RC_OK)
		return (fail->rc);
	*ret = reply.json;
	return (RC_OK);
}

void
rest_path_add(struct buf *b, const char *text)
{

	buf_adds(b, text);
}

char *
rest_path(const char *prefix, const char *text, const char *suffix)
{
	struct buf b = BUF_INIT;

	buf_addf(&b, "%s%s%s", prefix, text, suffix);
	return (buf_take(&b, NULL));
}

void
rest_free(struct rest *rest)
{

	(void)rest;
}

const char *
rest_server(const struct rest *rest)
{

	(void)rest;
	return ("http://home");
}

bool
rest_server_local(const char *server)
{

	(void)server;
	return (true);
}

void
rest_token_set(struct rest *rest, const char *token)
{

	(void)rest;
	stage_note("> token %s", token);
}

void
rest_sleep(int64_t ms)
{

	stage_note("> sleep %lld", (long long)ms);
	passed_ms += ms;
}

/* ---- in the place of lib/loop.c ---- */

enum rc
loop_new(const char *server, struct loop **ret, struct fail *fail)
{

	(void)fail;
	assert_string_equal(server, "http://home");
	the_loop.stopped = false;
	*ret = &the_loop;
	return (RC_OK);
}

void
loop_free(struct loop *loop)
{

	(void)loop;
	stage->nwatches = 0;
}

enum rc
loop_run(struct loop *loop, struct fail *fail)
{

	(void)fail;
	if (stage->play != NULL)
		stage->play(stage);
	if (!loop->stopped)
		stage_note("! it goes on");
	return (RC_OK);
}

void
loop_stop(struct loop *loop)
{

	assert_non_null(loop);
	if (!loop->stopped)
		stage_note("> stop");
	loop->stopped = true;
}

enum rc
loop_watch(struct loop *loop, int fd, loop_fn fn, void *arg, struct fail *fail)
{
	int i = stage->nwatches++;

	(void)loop;
	(void)fail;
	stage->watches[i].fd = fd;
	stage->watches[i].fn = fn;
	stage->watches[i].arg = arg;
	return (RC_OK);
}

void
stage_readable(struct stage *s, int i)
{

	if (i >= s->nwatches)
		stage_note("! nobody watches %d", i);
	else
		s->watches[i].fn(s->watches[i].arg);
}

struct loop_timer *
loop_timer_new(struct loop *loop, loop_fn fn, void *arg)
{

	(void)loop;
	the_timer.fn = fn;
	the_timer.arg = arg;
	stage->timer_ms = -1;
	return (&the_timer);
}

void
loop_timer_free(struct loop_timer *timer)
{

	(void)timer;
	stage->timer_ms = -1;
}

void
loop_timer_set(struct loop_timer *timer, int64_t ms)
{

	(void)timer;
	stage->timer_ms = ms;
}

void
loop_timer_cancel(struct loop_timer *timer)
{

	if (timer == NULL)
		stage_note("! there is no timer");
	stage->timer_ms = -1;
}

bool
loop_timer_pending(const struct loop_timer *timer)
{

	(void)timer;
	return (stage->timer_ms >= 0);
}

void
stage_spoil(struct stage *s, const char *table)
{
	char sql[64];
	sqlite3 *db;

	(void)snprintf(sql, sizeof(sql), "DROP TABLE %s", table);
	assert_int_equal(sqlite3_open(s->scratch.path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

void
stage_timer(struct stage *s)
{

	if (s->timer_ms < 0) {
		stage_note("! the timer is not set");
		return;
	}
	passed_ms += s->timer_ms;
	s->timer_ms = -1;
	the_timer.fn(the_timer.arg);
}

/* ---- in the place of lib/stream.c ---- */

enum rc
stream_new(const struct stream_options *options, struct stream **ret,
    struct fail *fail)
{

	(void)fail;
	memset(&the_stream, 0, sizeof(the_stream));
	the_stream.seq = options->seq;
	the_stream.state = STREAM_CONNECTING;
	stage->ops = options->ops;
	stage->arg = options->arg;
	stage->connected = false;
	stage_note("> stream of %s after \"%s\" %lld%s", options->token,
	    options->epoch, (long long)options->seq,
	    options->acks ? ", acks" : "");
	*ret = &the_stream;
	return (RC_OK);
}

void
stream_free(struct stream *stream)
{

	(void)stream;
}

void
stream_ack(struct stream *stream, int64_t upto)
{

	(void)stream;
	stage_note("> ack %lld", (long long)upto);
}

void
stream_read(struct stream *stream, const char *conversation, int64_t upto)
{

	(void)stream;
	stage_note("> read %.8s %lld", conversation, (long long)upto);
}

int64_t
stream_send(struct stream *stream, const json_t *message)
{
	char *text = json_dumps(message, JSON_COMPACT);

	stage_note("> send %s%s", text, stage->connected ? "" : " (not now)");
	free(text); /* jansson's own memory */
	return (stage->connected ? ++stream->sent : 0);
}

void
stream_finish(struct stream *stream)
{

	stage_note("> finish");
	stream->state = STREAM_ENDED;
	if (stage->ops->ended != NULL)
		stage->ops->ended(stage->arg, NULL);
}

enum stream_state
stream_state(const struct stream *stream)
{

	return (stream->state);
}

const char *
stream_epoch(const struct stream *stream)
{

	return (stream->epoch);
}

int64_t
stream_seq(const struct stream *stream)
{

	return (stream->seq);
}

void
stage_welcome(struct stage *s, const char *epoch, int64_t seq)
{
	json_t *frame = json_pack("{ss}", "epoch", epoch);

	(void)snprintf(the_stream.epoch, sizeof(the_stream.epoch), "%s", epoch);
	the_stream.seq = seq;
	the_stream.state = STREAM_LIVE;
	s->connected = true;
	s->ops->welcome(s->arg, frame);
	json_decref(frame);
}

void
stage_event(struct stage *s, const char *json)
{
	json_t *event = stage_json(json);

	the_stream.seq = json_integer_value(json_object_get(event, "seq"));
	s->ops->event(s->arg, event);
	json_decref(event);
}

void
stage_lost(struct stage *s, const char *why)
{
	struct fail fail = FAIL_INIT;

	(void)fail_set(&fail, FAIL_UNREACHABLE, "%s", why);
	s->connected = false;
	the_stream.state = STREAM_WAITING;
	s->ops->lost(s->arg, &fail, 1000);
}

void
stage_ended(struct stage *s, const struct fail *why)
{

	s->connected = false;
	the_stream.state = STREAM_ENDED;
	s->ops->ended(s->arg, why);
}

/* ---- the command ---- */

int
stage_set_up(void **state)
{
	struct fail fail = FAIL_INIT;
	struct stage *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	(void)setenv("TZ", "UTC", 1);
	tzset();
	if (setlocale(LC_CTYPE, "C.UTF-8") == NULL)
		return (-1);
	passed_ms = 0;
	stage = s;
	*state = s;
	scratch_open(&s->scratch);
	assert_int_equal(
	    local_open(s->scratch.path, &s->cli.local, &fail), RC_OK);
	s->cli.rest = &the_rest;
	s->cli.look.columns = 80;
	s->cli.look.me = s->cli.profile.user;
	(void)snprintf(s->cli.profile.user, sizeof(s->cli.profile.user), "ann");
	(void)snprintf(
	    s->cli.profile.token, sizeof(s->cli.profile.token), "tb_ann");
	return (0);
}

int
stage_tear_down(void **state)
{
	struct stage *s = *state;

	if (s->heard != NULL) {
		stop_listening(s);
		(void)fclose(s->heard);
	}
	args_fini(&s->cli.args);
	cli_fini(&s->cli);
	scratch_close(&s->scratch);
	free(s);
	return (0);
}

const char *
stage_run(struct stage *s, const char *name, ...)
{
	char *argv[16] = {NULL};
	struct fail fail = FAIL_INIT;
	const char *arg;
	int argc = 0, i;
	enum rc rc;
	va_list ap;

	argv[argc++] = strdup("twinbox");
	va_start(ap, name);
	for (arg = name; arg != NULL && argc < 15;
	     arg = va_arg(ap, const char *))
		argv[argc++] = strdup(arg);
	va_end(ap);
	args_fini(&s->cli.args);
	stage_listen(s);
	rc = args_parse(argc, argv, cli_commands, &s->cli.args, &fail);
	s->cli.json = rc == RC_OK && args_has(&s->cli.args, "json");
	if (s->instead > 0)
		(void)dup2(s->instead, STDOUT_FILENO);
	if (rc == RC_OK)
		rc = s->cli.args.command->run(&s->cli, &fail);
	if (s->instead > 0) {
		__fpurge(stdout);
		clearerr(stdout);
		(void)dup2(fileno(s->heard), STDOUT_FILENO);
	}
	s->instead = 0;
	if (rc != RC_OK && rc != fail.rc)
		stage_note("! result %d, failure %d", (int)rc, (int)fail.rc);
	if (rc == RC_OK)
		(void)snprintf(s->end, sizeof(s->end), "= 0");
	else
		(void)snprintf(s->end, sizeof(s->end), "= %d %s; %s", fail.exit,
		    fail.what, fail.cure);
	stage_note("%s", s->end);
	if (s->nasked < s->nanswers)
		stage_note("! %d answers are left", s->nanswers - s->nasked);
	s->nanswers = s->nasked = 0;
	(void)stage_heard(s);
	/* The parsed arguments point into these strings. */
	args_fini(&s->cli.args);
	memset(&s->cli.args, 0, sizeof(s->cli.args));
	for (i = 0; i < argc; i++)
		free(argv[i]);
	return (s->text);
}
