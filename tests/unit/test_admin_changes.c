/* SPDX-License-Identifier: MIT */
/*
 * The answers of the admin routes to changes, byte for byte
 * (admin_changes.txt), and their answers when something goes wrong.
 */
#include "played_admin.h"

#include <stdio.h>
#include <string.h>

/* 32 bytes of 0. */
#define PUBLIC "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

static bool
set(const char *name, int64_t value)
{

	if (strcmp(name, "bare") == 0)
		admin_store.bare = value != 0;
	else if (strcmp(name, "letters") == 0)
		admin_store.letters = value;
	else if (strcmp(name, "looked") == 0)
		admin_store.looked = value;
	else if (strcmp(name, "apart") == 0)
		admin_store.apart = value;
	else if (strcmp(name, "more") == 0)
		admin_store.more = value != 0;
	else if (strcmp(name, "refused") == 0)
		admin_store.refused = value != 0;
	else if (strcmp(name, "missing") == 0)
		admin_store.message_rc = value != 0 ? RC_NOT_FOUND : RC_OK;
	else if (strcmp(name, "pool_busy") == 0)
		admin_store.pool_rc = value != 0 ? RC_BUSY : RC_OK;
	else if (strcmp(name, "unit_rc") == 0)
		played.unit_rc = (enum rc)value;
	else if (strcmp(name, "revoked") == 0)
		played.revoked = value != 0;
	else if (strcmp(name, "demoted") == 0)
		played.demoted = value != 0;
	else
		return (false);
	return (true);
}

static void
test_changes(void **state)
{

	(void)state;
	played_transcript("admin_changes.txt", admin_routes(), set);
}

/* All routes with which operators change a server. */
static bool
changing(const struct http_route *route, struct question *q)
{
	const char *end = strrchr(route->path, '/');

	if (strcmp(route->method, "GET") == 0)
		return (false);
	q->params[0] = strstr(route->path, "{name}") != NULL     ? "name"
		       : strstr(route->path, "{domain}") != NULL ? "domain"
								 : "id";
	q->params[1] = "far.example";
	if (strstr(route->path, "outbox") != NULL)
		q->params[1] = UUID_A;
	if (strstr(route->path, "lanes") != NULL)
		q->params[1] = "5";
	if (strstr(route->path, "users") != NULL)
		q->params[1] = "ann";
	if (strcmp(end, "/rewind") == 0)
		q->body = "{\"seq\":1}";
	else if (strcmp(end, "/pin") == 0)
		q->body = "{\"key_id\":\"k1\",\"public\":\"" PUBLIC "\"}";
	else if (strcmp(end, "/unpin") == 0)
		q->body = "{\"key_id\":\"k1\"}";
	else if (strcmp(route->method, "PATCH") == 0)
		q->body = "{\"per_second\":1}";
	else if (strstr(route->path, "dead-letters") != NULL)
		q->body = "{\"filter\":{\"sender\":\"bob\"}}";
	return (true);
}

static void
test_failures(void **state)
{

	(void)state;
	admin_store.letters = 2;
	played_failures(admin_routes(), changing, NULL);
}

/* Requests that ${n} dead letters are requeued by id. */
static const char *
requeue(int n)
{
	static struct buf b = BUF_INIT;
	struct question q = {.method = "POST"};
	const char *text;
	int i;

	buf_reset(&b);
	buf_adds(&b, "{\"dead_ids\":[");
	for (i = 0; i < n; i++)
		buf_addf(&b, "%s%d", i == 0 ? "" : ",", i + 1);
	buf_adds(&b, "]}");
	buf_addc(&b, '\0');
	assert_true(buf_ok(&b));
	q.body = b.data;
	text = played_ask(played_route(admin_routes(), "POST",
			      "/v1/admin/dead-letters/requeue"),
	    &q);
	buf_fini(&b);
	return (text);
}

static void
test_most(void **state)
{

	(void)state;
	assert_non_null(strstr(requeue(99), "'requeued':89,"));
	assert_non_null(strstr(requeue(100), "'requeued':90,"));
	assert_non_null(strstr(requeue(101), "'requeued':91,"));
	assert_non_null(strstr(requeue(1000), "'requeued':900,"));
	assert_non_null(strstr(requeue(1000), "'remaining':100,"));
	assert_string_equal(requeue(1001),
	    "400 bad-request: /dead_ids: 'dead_ids' must be a list of 1 to "
	    "1000 numbers\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		test_changes, admin_setup, played_teardown),
	    cmocka_unit_test_setup_teardown(
		test_failures, admin_setup, played_teardown),
	    cmocka_unit_test_setup_teardown(
		test_most, admin_setup, played_teardown),
	};

	return (
	    cmocka_run_group_tests_name("admin_changes", tests, NULL, NULL));
}
