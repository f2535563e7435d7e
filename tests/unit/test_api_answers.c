/* SPDX-License-Identifier: MIT */
/*
 * For the routes of the API: the calls to the store and to the writer, the
 * answers byte for byte (api_answers.txt), and the answers when something goes
 * wrong.
 */
#include "played_api.h"

#include <stdio.h>
#include <string.h>

#include "base/htab.h"
#include "model/outbox.h"

static atomic_bool epoch_changed;

static bool
set(const char *name, int64_t value)
{
	static const struct {
		const char *name;
		bool *flag;
	} flags[] = {{"group", &world.group}, {"refused", &world.refused},
	    {"replayed", &world.replayed}, {"no_password", &world.no_password},
	    {"disabled", &world.disabled}, {"once", &world.once},
	    {"scheduled", &world.scheduled}, {"shared", &world.shared},
	    {"open", &played.api.o.registration_open}};
	static const struct {
		const char *name;
		int64_t *number;
	} numbers[] = {{"rows", &world.rows}, {"head", &world.head},
	    {"oldest", &world.oldest}, {"acked", &world.acked}};
	size_t i;

	for (i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (strcmp(name, flags[i].name) == 0) {
			*flags[i].flag = value != 0;
			return (true);
		}
	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (strcmp(name, numbers[i].name) == 0) {
			*numbers[i].number = value;
			return (true);
		}
	if (strcmp(name, "missing") == 0)
		world.found = value != 0 ? RC_NOT_FOUND : RC_OK;
	else if (strcmp(name, "members") == 0)
		world.members = (int)value;
	else if (strcmp(name, "state") == 0)
		world.state = (int)value;
	else if (strcmp(name, "retries") == 0)
		world.retry_count = (int)value;
	else if (strcmp(name, "pool_busy") == 0)
		world.pool_rc = value != 0 ? RC_BUSY : RC_OK;
	else if (strcmp(name, "writer_busy") == 0)
		played.writer_rc = value != 0 ? RC_BUSY : RC_OK;
	else if (strcmp(name, "epoch_changed") == 0)
		atomic_store(&epoch_changed, value != 0);
	else if (strcmp(name, "store_fails") == 0)
		played.store_fails = (int)value;
	else if (strcmp(name, "unit_full") == 0)
		played.unit_rc = value != 0 ? RC_FULL : RC_OK;
	else
		return (false);
	return (true);
}

static void
test_answers(void **state)
{

	(void)state;
	played.api.o.epoch_changed = &epoch_changed;
	played_transcript("api_answers.txt", api_routes(), set);
}

/* The routes that need a token, except those that send a message, which have
 * tests of their own. */
static bool
known(const struct http_route *route, struct question *q)
{
	static const char *const bodies[][2] = {
	    {"/v1/inbox/ack", "{\"upto\":1}"},
	    {"/v1/inbox/read", "{\"upto\":1}"},
	    {"/v1/tokens/{id}", "{\"device\":\"desk\"}"},
	    {"/v1/me/password",
		"{\"password\":\"right\",\"new_password\":\"long enough\"}"}};
	size_t i;

	if ((route->flags & HTTP_PUBLIC) != 0 ||
	    route->handler == api_not_implemented ||
	    strstr(route->path, "/v1/messages") != NULL ||
	    strstr(route->path, "/v1/to/") != NULL)
		return (false);
	q->params[0] = strstr(route->path, "{seq}") != NULL ? "seq" : "id";
	q->params[1] = q->params[0][0] == 's' ? "4" : UUID_A;
	for (i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++)
		if (strcmp(route->path, bodies[i][0]) == 0)
			q->body = bodies[i][1];
	return (true);
}

/* A route that can long-poll reports full readers as a read that failed. */
static const char *
full_readers(const struct http_route *route)
{

	return (
	    route->handler == api_inbox_get || route->handler == api_entry_get
		? "error reading\n"
		: PLAYED_FULL);
}

static void
test_failures(void **state)
{

	(void)state;
	played_failures(api_routes(), known, full_readers);
}

/* A stream for which there is no memory is refused, and its device keeps its
 * free places for streams. */
static void
test_stream_without_memory(void **state)
{
	const struct question q = {.headers = {"Accept", "text/event-stream"}};
	const http_handler_fn get =
	    played_route(api_routes(), "GET", "/v1/inbox");
	const char *no_memory = "503 busy: out of memory\nretry after 1\n";
	int k;

	(void)state;
	played.alloc_fails = 1;
	played_expect(get, &q, no_memory);
	played.alloc_fails = 0;
	for (k = 1; k <= 2; k++) {
		played.on_free_fails = k;
		played_expect(get, &q, no_memory);
		assert_int_equal(htab_count(played.rest.streams), 0);
	}
	played.on_free_fails = 0;
	assert_non_null(strstr(played_ask(get, &q), "event: welcome"));
}

/* Sends an array of ${n} messages. */
static const char *
send_array(int n)
{
	static struct buf b = BUF_INIT;
	struct question q = {.method = "POST"};
	const char *text;
	int i;

	buf_reset(&b);
	buf_addc(&b, '[');
	for (i = 0; i < n; i++)
		buf_addf(&b,
		    "%s{\"to\":\"bob\",\"body\":\"x\",\"id\":"
		    "\"01890a5d-ac96-774b-bcce-b30209900%03d\"}",
		    i == 0 ? "" : ",", i);
	buf_addc(&b, ']');
	buf_addc(&b, '\0');
	assert_true(buf_ok(&b));
	q.body = b.data;
	text =
	    played_ask(played_route(api_routes(), "POST", "/v1/messages"), &q);
	buf_fini(&b);
	return (text);
}

static void
test_arrays(void **state)
{
	char want[128];

	(void)state;
	(void)snprintf(want, sizeof(want),
	    "400 bad-request: an array has 1 to %d messages, this one has ",
	    LIMIT_ARRAY_ITEMS);
	assert_memory_equal(send_array(0), want, strlen(want));
	assert_non_null(strstr(send_array(LIMIT_ARRAY_ITEMS), "\n200 "));
	assert_memory_equal(
	    send_array(LIMIT_ARRAY_ITEMS + 1), want, strlen(want));
}

/* A filtered list without a match stops after 5000 entries and says where the
 * next page begins.  A list that ends exactly where the query ended has no next
 * page. */
static void
test_scan(void **state)
{
	const struct question q = {.query = "state=failed"};
	const http_handler_fn get =
	    played_route(api_routes(), "GET", "/v1/outbox");
	const char *text;

	(void)state;
	world.rows = 6000;
	text = played_ask(get, &q);
	assert_non_null(strstr(text, "entries of 7 before 1251, 250 at most"));
	assert_null(strstr(text, "entries of 7 before 1001, "));
	assert_non_null(strstr(text, "{'entries':[],'next':'"));
	assert_non_null(strstr(text, "'has_more':true}"));
	world.rows = 249;
	text = played_ask(get, &q);
	assert_non_null(strstr(text, "'next':null,'has_more':false}"));
	assert_null(strstr(text, "before 0, "));
	world.rows = 250;
	text = played_ask(get, &q);
	assert_non_null(strstr(text, "entries of 7 before 1, 250 at most"));
	assert_non_null(strstr(text, "'next':null,'has_more':false}"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		test_answers, world_setup, world_teardown),
	    cmocka_unit_test_setup_teardown(
		test_failures, world_setup, world_teardown),
	    cmocka_unit_test_setup_teardown(
		test_stream_without_memory, world_setup, world_teardown),
	    cmocka_unit_test_setup_teardown(
		test_arrays, world_setup, world_teardown),
	    cmocka_unit_test_setup_teardown(
		test_scan, world_setup, world_teardown),
	};

	return (cmocka_run_group_tests_name("api_answers", tests, NULL, NULL));
}
