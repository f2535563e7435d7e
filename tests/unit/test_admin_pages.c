/* SPDX-License-Identifier: MIT */
/*
 * The answers of the admin routes to queries, byte for byte (admin_pages.txt),
 * and their answers when something goes wrong.
 */
#include "played_admin.h"

#include <string.h>

static bool
set(const char *name, int64_t value)
{

	if (strcmp(name, "empty") == 0)
		admin_store.empty = value != 0;
	else if (strcmp(name, "more") == 0)
		admin_store.more = value != 0;
	else if (strcmp(name, "old") == 0)
		admin_store.old = value != 0;
	else if (strcmp(name, "counted") == 0)
		admin_store.counted = value != 0;
	else if (strcmp(name, "shift") == 0)
		admin_store.shift_ms = value;
	else if (strcmp(name, "relay") == 0)
		played.admin->o.relay =
		    value != 0 ? (struct relay *)(void *)&admin_store : NULL;
	else if (strcmp(name, "dead_pages") == 0)
		admin_store.dead_pages = (int)value;
	else if (strcmp(name, "died") == 0)
		admin_store.died = value != 0;
	else if (strcmp(name, "failed") == 0)
		admin_store.shown.state = "failed";
	else if (strcmp(name, "expired") == 0) {
		admin_store.shown.state = "expired";
		admin_store.shown.deliver_at = 0;
	} else if (strcmp(name, "seq") == 0)
		admin_store.conversation_seq = value;
	else if (strcmp(name, "message_rc") == 0)
		admin_store.message_rc = RC_NOT_FOUND;
	else
		return (false);
	return (true);
}

static void
test_pages(void **state)
{

	(void)state;
	played_transcript("admin_pages.txt", admin_routes(), set);
}

/* All GET routes that need an administrator's token. */
static bool
reading(const struct http_route *route, struct question *q)
{

	if (strcmp(route->method, "GET") != 0 ||
	    (route->flags & HTTP_ADMIN) == 0)
		return (false);
	q->params[0] = "id";
	q->params[1] = UUID_A;
	if (strstr(route->path, "{domain}") != NULL) {
		q->params[0] = "domain";
		q->params[1] = "far.example";
	}
	q->query = NULL;
	return (true);
}

static void
test_failures(void **state)
{

	(void)state;
	played_failures(admin_routes(), reading, NULL);
}

/* An export is cut off if, between two pieces, its token is revoked, a read of
 * the store fails, or the readers' queue is full. */
static void
test_export_is_cut(void **state)
{
	static const struct question q;
	const http_handler_fn get = played_route(
	    admin_routes(), "GET", "/v1/admin/dead-letters/export");
	const char *text;
	int k;

	(void)state;
	played.revoked = true;
	admin_store.dead_pages = 1;
	text = played_ask(get, &q);
	assert_string_equal(text + strlen(text) - 12, "\npiece: cut\n");
	played.revoked = false;
	for (k = 2; k <= 3; k++) {
		played.store_fails = k;
		admin_store.dead_pages = 1;
		text = played_ask(get, &q);
		assert_string_equal(text + strlen(text) - 12, "\npiece: cut\n");
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		test_pages, admin_setup, played_teardown),
	    cmocka_unit_test_setup_teardown(
		test_failures, admin_setup, played_teardown),
	    cmocka_unit_test_setup_teardown(
		test_export_is_cut, admin_setup, played_teardown),
	};

	return (cmocka_run_group_tests_name("admin_pages", tests, NULL, NULL));
}
