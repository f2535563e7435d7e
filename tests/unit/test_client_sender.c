/* SPDX-License-Identifier: MIT */
/*
 * The client's sender of drafts, with a server that the test plays: when drafts
 * are sent and in which order, which wait for later, and which are refused for
 * good.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <sqlite3.h>

#include "base/mem.h"
#include "lib/sender.h"
#include "unit/fake_time.h"
#include "unit/scratch.h"

/* The server's answer to one POST. */
struct answer {
	int status;       /* 0: the connection breaks before an answer */
	const char *code; /* "CODE" or "CODE /POINTER" of the problem; NULL: no
			   * document */
	int retry_after_s;
};

/* The end of a list of answers: from here on every POST is accepted. */
#define ACCEPTED                                                               \
	{                                                                      \
		.status = 201                                                  \
	}

struct rest {
	const struct answer
	    *answers;   /* until ACCEPTED; NULL: all are accepted */
	bool no_memory; /* the allocation after a refusal fails */
	char log[1024]; /* "ID@MS " of each POST */
};

struct fixture {
	struct scratch scratch;
	struct local *local;
	struct rest rest;
	struct rnd rnd;
	struct sender sender;
	char told[256];   /* "ID answered; ", "ID refused CODE; " */
	char reason[512]; /* of the last refusal: "what; cure" */
	struct fail fail;
};

/* ---- in the place of lib/rest.c ---- */

enum rc
rest_call(struct rest *rest, const struct rest_request *request,
    struct rest_reply *ret, struct fail *fail)
{
	const struct answer *a = rest->answers;
	const char *id =
	    json_string_value(json_object_get(request->body, "id"));
	size_t n = strlen(rest->log);
	json_t *problem = NULL;

	assert_string_equal(request->method, "POST");
	assert_string_equal(request->path, "/v1/messages");
	/* rest_call() must not wait: the sender waits itself, for all its
	 * drafts. */
	assert_int_equal(request->patience_ms, 0);
	(void)snprintf(rest->log + n, sizeof(rest->log) - n, "%s@%lld ",
	    request->key != NULL ? request->key : id,
	    (long long)fake_time_ms());
	memset(ret, 0, sizeof(*ret));
	if (a == NULL || a->status == 201) {
		ret->status = 201;
		ret->json = json_pack("{ss}", "state", "pending");
		return (RC_OK);
	}
	rest->answers++;
	if (a->status == 0)
		return (fail_set(fail, FAIL_UNCERTAIN, "no answer"));
	if (a->code != NULL)
		problem = json_pack("{ss# ss ss*}", "code", a->code,
		    (int)strcspn(a->code, " "), "detail", a->code, "pointer",
		    strchr(a->code, '/'));
	(void)fail_problem(fail, a->status, problem, a->retry_after_s);
	json_decref(problem);
	if (rest->no_memory)
		mem_fail_at(1);
	return (fail->rc);
}

void
rest_reply_fini(struct rest_reply *reply)
{

	json_decref(reply->json);
	reply->json = NULL;
}

void
rest_sleep(int64_t ms)
{

	assert_true(ms >= 0);
	fake_time_move(ms);
}

/* ---- the test's side ---- */

static void
on_settled(void *arg, const struct local_draft *draft,
    enum sender_outcome outcome, const struct rest_reply *reply,
    const struct fail *why)
{
	struct fixture *f = arg;
	size_t n = strlen(f->told);

	if (outcome == SENDER_ANSWERED) {
		assert_null(why);
		assert_non_null(reply->json);
		(void)snprintf(f->told + n, sizeof(f->told) - n,
		    "%s answered; ", draft->ref);
	} else {
		assert_null(reply);
		(void)snprintf(f->told + n, sizeof(f->told) - n,
		    "%s refused %s; ", draft->ref, why->code);
		(void)snprintf(f->reason, sizeof(f->reason), "%s; %s",
		    why->what, why->cure);
	}
}

static int
setup(void **state)
{
	struct fixture *f = test_calloc(1, sizeof(*f));

	fake_time_start();
	scratch_open(&f->scratch);
	if (local_open(f->scratch.path, &f->local, &f->fail) != RC_OK)
		return (-1);
	f->sender.local = f->local;
	f->sender.rest = &f->rest;
	f->sender.rnd = &f->rnd;
	f->sender.fn = on_settled;
	f->sender.arg = f;
	*state = f;
	return (0);
}

static int
teardown(void **state)
{
	struct fixture *f = *state;

	local_close(f->local);
	scratch_close(&f->scratch);
	test_free(f);
	return (0);
}

/* Stores a message under ${id} with ${name} "to" or "conversation". */
static void
submit(struct fixture *f, const char *id, const char *name, const char *value)
{
	json_t *message =
	    json_pack("{ss ss ss}", "id", id, name, value, "body", "hello");
	char ref[LOCAL_REF_SIZE];

	assert_int_equal(
	    sender_submit(f->local, message, NULL, ref, &f->fail), RC_OK);
	json_decref(message);
}

/* Sends the drafts to a server with ${answers}.  The time starts at 0. */
static enum rc
flush(struct fixture *f, const struct answer *answers, int64_t patience_ms)
{

	fake_time_start();
	f->rest.answers = answers;
	f->rest.log[0] = '\0';
	f->told[0] = '\0';
	memset(&f->fail, 0, sizeof(f->fail));
	return (sender_flush(&f->sender, patience_ms, &f->fail));
}

/* Draft ${ref} is in ${state}, and ${attempts} attempts have failed, the last
 * one with ${error}. */
static void
assert_draft(struct fixture *f, const char *ref, const char *state,
    int attempts, const char *error)
{
	struct local_draft draft;
	struct fail fail;

	assert_int_equal(
	    local_outbox_find(f->local, ref, &draft, &fail), RC_OK);
	assert_string_equal(draft.state, state);
	assert_int_equal(draft.attempts, attempts);
	assert_string_equal(draft.last_error, error);
	local_draft_fini(&draft);
}

/* ---- order ---- */

static void
test_in_order(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(flush(f, NULL, 0), RC_OK);
	assert_string_equal(f->rest.log, "");
	submit(f, "c", "to", "bob");
	submit(f, "a", "to", "eve");
	submit(f, "b", "conversation", "talk");
	assert_int_equal(flush(f, NULL, 0), RC_OK);
	assert_string_equal(f->rest.log, "c@0 a@0 b@0 ");
	assert_string_equal(f->told, "c answered; a answered; b answered; ");
	assert_draft(f, "a", "answered", 0, "");
	/* An answered draft is not sent again. */
	assert_int_equal(flush(f, NULL, 0), RC_OK);
	assert_string_equal(f->rest.log, "");
}

/* A full inbox holds back the later drafts for the same recipient, and keeps
 * their order.  Drafts for other recipients go out. */
static void
test_inbox_full(void **state)
{
	static const struct answer full[] = {{507, "inbox_full", 0}, ACCEPTED};
	struct fixture *f = *state;

	submit(f, "a", "to", "bob");
	submit(f, "b", "to", "bob");
	submit(f, "c", "to", "eve");
	submit(f, "d", "to", "bob");
	submit(f, "e", "to", "eve");
	assert_int_equal(flush(f, full, 0), RC_FULL);
	assert_string_equal(f->rest.log, "a@0 c@0 e@0 ");
	assert_string_equal(f->told, "c answered; e answered; ");
	assert_string_equal(f->fail.code, "inbox_full");
	assert_draft(f, "a", "waiting", 1, "inbox_full");
	assert_draft(f, "b", "waiting", 0, "");
	assert_draft(f, "d", "waiting", 0, "");
	assert_int_equal(flush(f, NULL, 0), RC_OK);
	assert_string_equal(f->rest.log, "a@0 b@0 d@0 ");
}

/* If one draft is wanted, a draft for another recipient is tried but not waited
 * for, and the failure is that of the wanted draft. */
static void
test_wanted(void **state)
{
	static const struct answer first_full[] = {
	    {507, "inbox_full", 0}, ACCEPTED};
	static const struct answer both_full[] = {{507, "inbox_full", 0},
	    {507, "inbox_full", 9}, {507, "inbox_full", 0}, ACCEPTED};
	static const struct answer busy[] = {
	    {507, "inbox_full", 0}, {503, "busy", 0}, ACCEPTED};
	struct fixture *f = *state;

	submit(f, "a", "to", "bob");
	submit(f, "b", "to", "eve");
	f->sender.wanted = "b";
	assert_int_equal(flush(f, first_full, 60000), RC_OK);
	assert_string_equal(f->rest.log, "a@0 b@0 ");
	assert_string_equal(f->told, "b answered; ");
	assert_draft(f, "a", "waiting", 1, "inbox_full");
	/* Another process has settled the wanted draft: the others are tried
	 * once. */
	assert_int_equal(flush(f, first_full, 60000), RC_OK);
	assert_string_equal(f->rest.log, "a@0 ");
	f->sender.wanted = "gone";
	assert_int_equal(flush(f, first_full, 60000), RC_OK);
	assert_string_equal(f->rest.log, "a@0 ");
	/* The wanted draft waits behind another one for the same recipient. */
	submit(f, "c", "to", "eve");
	submit(f, "d", "to", "eve");
	submit(f, "e", "to", "joe");
	f->sender.wanted = "d";
	assert_int_equal(flush(f, both_full, 0), RC_FULL);
	assert_string_equal(f->rest.log, "a@0 c@0 e@0 ");
	assert_int_equal(f->fail.retry_after_s, 9);
	/* A failure that holds all drafts holds the wanted one as well. */
	assert_int_equal(flush(f, busy, 500), RC_OK);
	assert_string_equal(f->rest.log, "a@0 c@0 a@500 c@500 d@500 e@500 ");
	f->sender.wanted = NULL;
	assert_int_equal(flush(f, NULL, 0), RC_OK);
}

/* Two recipients are held, each separately.  A conversation counts as a
 * recipient. */
static void
test_inbox_full_twice(void **state)
{
	static const struct answer full[] = {
	    {507, "inbox_full", 0}, {507, "inbox_full", 0}, ACCEPTED};
	struct fixture *f = *state;

	submit(f, "a", "conversation", "talk");
	submit(f, "b", "to", "bob");
	submit(f, "c", "conversation", "talk");
	submit(f, "d", "to", "bob");
	submit(f, "e", "conversation", "other");
	assert_int_equal(flush(f, full, 500), RC_OK);
	/* The next pass starts with all drafts: there may be room by now. */
	assert_string_equal(
	    f->rest.log, "a@0 b@0 e@0 a@500 b@500 c@500 d@500 ");
}

/* A quota for new servers holds back the drafts for this server, for the time
 * that the server gives, and no others. */
static void
test_new_server(void **state)
{
	static const struct answer quota[] = {
	    {429, "quota_used /to", 1728}, ACCEPTED};
	struct fixture *f = *state;

	submit(f, "a", "to", "x@new.example");
	submit(f, "b", "to", "bob");
	submit(f, "c", "to", "x@new.example");
	submit(f, "d", "conversation", "talk");
	assert_int_equal(flush(f, quota, 60000), RC_LIMIT);
	assert_string_equal(f->rest.log, "a@0 b@0 d@0 ");
	assert_string_equal(f->told, "b answered; d answered; ");
	assert_int_equal(f->fail.retry_after_s, 1728);
	assert_draft(f, "a", "waiting", 1, "quota_used /to");
	assert_draft(f, "c", "waiting", 0, "");
	assert_int_equal(flush(f, NULL, 0), RC_OK);
	assert_string_equal(f->rest.log, "a@0 c@0 ");
}

/* The daily quota belongs to the sender: all drafts wait. */
static void
test_quota_of_the_day(void **state)
{
	static const struct answer quota[] = {{429, "quota_used", 0}, ACCEPTED};
	struct fixture *f = *state;

	submit(f, "a", "to", "bob");
	submit(f, "b", "to", "eve");
	assert_int_equal(flush(f, quota, 0), RC_LIMIT);
	assert_string_equal(f->rest.log, "a@0 ");
	assert_draft(f, "b", "waiting", 0, "");
}

/* ---- refused for good ---- */

static void
test_refused(void **state)
{
	static const struct answer answers[] = {
	    {422, "unknown_recipient", 0},
	    {422, "key_reused", 0},
	    {501, "not_implemented", 0},
	    ACCEPTED,
	};
	struct fixture *f = *state;

	submit(f, "a", "to", "nobody");
	submit(f, "b", "to", "bob");
	submit(f, "c", "to", "bob");
	submit(f, "d", "to", "nobody");
	assert_int_equal(flush(f, answers, 60000), RC_OK);
	assert_string_equal(f->rest.log, "a@0 b@0 c@0 d@0 ");
	assert_string_equal(f->told,
	    "a refused unknown_recipient; b refused key_reused; "
	    "c refused not_implemented; d answered; ");
	assert_draft(f, "a", "refused", 0, "unknown_recipient");
	assert_draft(f, "d", "answered", 0, "");
	assert_int_equal(flush(f, NULL, 0), RC_OK);
	assert_string_equal(f->rest.log, "");
}

/* An id or a key that stands for another text is refused here, and the first
 * text is kept. */
static void
test_other_text(void **state)
{
	struct fixture *f = *state;
	json_t *one = json_pack("{ss ss}", "to", "bob", "body", "one");
	json_t *two = json_pack("{ss ss}", "to", "bob", "body", "two");
	char ref[LOCAL_REF_SIZE] = "none";

	assert_int_equal(
	    sender_submit(f->local, one, "k", ref, &f->fail), RC_OK);
	assert_string_equal(ref, "key:k");
	(void)snprintf(ref, sizeof(ref), "none");
	assert_int_equal(
	    sender_submit(f->local, two, "k", ref, &f->fail), RC_INVALID);
	assert_string_equal(ref, "none");
	assert_string_equal(f->fail.cure, "use a fresh --id or --key");
	assert_int_equal(flush(f, NULL, 0), RC_OK);
	assert_string_equal(f->rest.log, "k@0 ");
	/* It is refused even after the first text was sent.  The same text is
	 * sent again. */
	assert_int_equal(
	    sender_submit(f->local, two, "k", ref, &f->fail), RC_INVALID);
	assert_int_equal(flush(f, NULL, 0), RC_OK);
	assert_string_equal(f->rest.log, "");
	assert_int_equal(
	    sender_submit(f->local, one, "k", ref, &f->fail), RC_OK);
	assert_int_equal(flush(f, NULL, 0), RC_OK);
	assert_string_equal(f->rest.log, "k@0 ");
	json_decref(one);
	json_decref(two);
}

/* ---- kept for later ---- */

/* A draft that only the user can help is not repeated, and is kept. */
static void
test_kept(void **state)
{
	static const struct {
		struct answer answers[2];
		enum rc rc;
		const char *code;
	} cases[] = {
	    {{{401, "unauthenticated", 0}, ACCEPTED}, RC_DENIED,
		"unauthenticated"},
	    /* Answers of some other server. */
	    {{{404, NULL, 0}, ACCEPTED}, RC_PEER, "protocol"},
	    {{{302, NULL, 0}, ACCEPTED}, RC_PEER, "protocol"},
	};
	struct fixture *f = *state;
	struct local_draft draft;
	size_t i;

	submit(f, "a", "to", "bob");
	submit(f, "b", "to", "eve");
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(
		    flush(f, cases[i].answers, 60000), cases[i].rc);
		assert_string_equal(f->fail.code, cases[i].code);
		assert_string_equal(f->rest.log, "a@0 ");
		assert_string_equal(f->told, "");
		assert_int_equal(
		    local_outbox_find(f->local, "a", &draft, &f->fail), RC_OK);
		assert_string_equal(draft.state, "waiting");
		assert_int_equal(draft.attempts, i + 1);
		assert_string_not_equal(draft.last_error, "");
		local_draft_fini(&draft);
	}
	assert_draft(f, "b", "waiting", 0, "");
	assert_int_equal(flush(f, NULL, 0), RC_OK);
	assert_string_equal(f->rest.log, "a@0 b@0 ");
}

/* ---- repeated attempts ---- */

/* Without an answer the same draft is sent again, each time after a longer
 * wait, until the patience is used up. */
static void
test_backoff(void **state)
{
	static const struct answer lost[] = {{0, NULL, 0}, {0, NULL, 0},
	    {0, NULL, 0}, {0, NULL, 0}, {0, NULL, 0}, {0, NULL, 0},
	    {0, NULL, 0}, {0, NULL, 0}, ACCEPTED};
	struct fixture *f = *state;

	submit(f, "a", "to", "bob");
	submit(f, "b", "to", "eve");
	assert_int_equal(flush(f, lost, 600000), RC_OK);
	assert_string_equal(f->rest.log,
	    "a@0 a@500 a@1500 a@3500 a@7500 a@15500 a@31500 a@51500 "
	    "a@71500 b@71500 ");
	assert_string_equal(f->told, "a answered; b answered; ");
	assert_draft(f, "a", "answered", 8, "");
}

static void
test_patience(void **state)
{
	static const struct answer busy[] = {{503, "busy", 0}, {503, "busy", 0},
	    {503, "busy", 0}, {503, "busy", 0}, ACCEPTED};
	struct fixture *f = *state;

	submit(f, "a", "to", "bob");
	assert_int_equal(flush(f, busy, 0), RC_BUSY);
	assert_string_equal(f->rest.log, "a@0 ");
	assert_int_equal(fake_time_ms(), 0);
	/* A wait longer than the patience that is left is not begun. */
	assert_int_equal(flush(f, busy, 1499), RC_BUSY);
	assert_string_equal(f->rest.log, "a@0 a@500 ");
	assert_int_equal(fake_time_ms(), 500);
	assert_string_equal(f->fail.code, "busy");
	assert_int_equal(flush(f, busy, 1500), RC_BUSY);
	assert_string_equal(f->rest.log, "a@0 a@500 a@1500 ");
	assert_draft(f, "a", "waiting", 6, "busy");
}

/* The wait is the longer of the server's and the back-off. */
static void
test_retry_after(void **state)
{
	static const struct answer busy[] = {{503, "busy", 7},
	    {429, "rate_limited", 2}, {429, "queue_full", 1},
	    {507, "inbox_full", 30}, ACCEPTED};
	static const struct answer long_wait[] = {
	    {429, "rate_limited", 60}, ACCEPTED};
	struct fixture *f = *state;

	submit(f, "a", "to", "bob");
	assert_int_equal(flush(f, busy, 60000), RC_OK);
	assert_string_equal(f->rest.log, "a@0 a@7000 a@9000 a@11000 a@41000 ");
	/* A wait that is too long is not begun even in part. */
	submit(f, "b", "to", "bob");
	assert_int_equal(flush(f, long_wait, 59999), RC_LIMIT);
	assert_string_equal(f->rest.log, "b@0 ");
	assert_int_equal(fake_time_ms(), 0);
	assert_int_equal(f->fail.retry_after_s, 60);
}

/* ---- its own database ---- */

/* The answer cannot be stored: the draft waits, the owner gets no callback, and
 * the next draft is not sent. */
static void
test_answer_not_stored(void **state)
{
	static const struct answer refused[] = {
	    {422, "unknown_recipient", 0}, ACCEPTED};
	struct fixture *f = *state;
	sqlite3 *db;
	int i;

	submit(f, "a", "to", "bob");
	submit(f, "b", "to", "bob");
	assert_int_equal(sqlite3_open(f->scratch.path, &db), SQLITE_OK);
	assert_int_equal(
	    sqlite3_exec(db,
		"CREATE TRIGGER no BEFORE UPDATE OF state ON outbox"
		" BEGIN SELECT RAISE(ABORT, 'no'); END",
		NULL, NULL, NULL),
	    SQLITE_OK);
	for (i = 0; i < 2; i++) {
		assert_int_equal(
		    flush(f, i == 0 ? NULL : refused, 60000), RC_IO);
		assert_string_equal(f->rest.log, "a@0 ");
		assert_string_equal(f->told, "");
		assert_draft(f, "a", "waiting", 0, "");
	}
	assert_int_equal(
	    sqlite3_exec(db, "DROP TRIGGER no", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	assert_int_equal(flush(f, NULL, 0), RC_OK);
	assert_string_equal(f->rest.log, "a@0 b@0 ");
}

/* Without memory for the name of a recipient that is held back, no later draft
 * goes out before the earlier one. */
static void
test_no_memory(void **state)
{
	static const struct answer full[] = {{507, "inbox_full", 0}, ACCEPTED};
	struct fixture *f = *state;
	enum rc rc;

	submit(f, "a", "to", "bob");
	submit(f, "b", "to", "bob");
	f->rest.no_memory = true;
	rc = flush(f, full, 0);
	assert_false(mem_fail_pending());
	mem_fail_at(0);
	assert_int_equal(rc, RC_NO_MEMORY);
	assert_string_equal(f->rest.log, "a@0 ");
}

/* A damaged draft is given up, and those after it go out. */
static void
test_damaged(void **state)
{
	struct fixture *f = *state;
	sqlite3 *db;

	submit(f, "a", "to", "bob");
	submit(f, "b", "to", "bob");
	submit(f, "c", "to", "bob");
	assert_int_equal(sqlite3_open(f->scratch.path, &db), SQLITE_OK);
	assert_int_equal(
	    sqlite3_exec(db, "UPDATE outbox SET request = '{' WHERE ref <> 'c'",
		NULL, NULL, NULL),
	    SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	f->sender.wanted = "b";
	assert_int_equal(flush(f, NULL, 0), RC_OK);
	assert_string_equal(f->rest.log, "c@0 ");
	assert_string_equal(f->told,
	    "a refused input_output; b refused input_output; c answered; ");
	assert_string_equal(f->reason,
	    "its text on this computer is damaged; write it once more");
	assert_int_equal(flush(f, NULL, 0), RC_OK);
	assert_string_equal(f->told, "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_in_order),
	    TEST(test_damaged),
	    TEST(test_no_memory),
	    TEST(test_inbox_full),
	    TEST(test_wanted),
	    TEST(test_inbox_full_twice),
	    TEST(test_new_server),
	    TEST(test_quota_of_the_day),
	    TEST(test_refused),
	    TEST(test_other_text),
	    TEST(test_kept),
	    TEST(test_backoff),
	    TEST(test_patience),
	    TEST(test_retry_after),
	    TEST(test_answer_not_stored),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
