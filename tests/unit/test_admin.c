/* SPDX-License-Identifier: MIT */
/*
 * What admin has of its own: the documents inside the program, the process's
 * metrics, and its routes beside those of the api.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "admin/admin_internal.h"

/* ${document} is the file docs/${name}, byte for byte. */
static void
same_as_file(const struct document *document, const char *name)
{
	const char *source = getenv("TWINBOX_SOURCE");
	char path[1024];
	size_t i;
	FILE *f;
	int c;

	(void)snprintf(path, sizeof(path), "%s/docs/%s",
	    source == NULL ? "." : source, name);
	if ((f = fopen(path, "rb")) == NULL)
		fail_msg("cannot open %s", path);
	for (i = 0; (c = fgetc(f)) != EOF; i++) {
		assert_true(i < document->len);
		assert_int_equal(c, document->data[i]);
	}
	(void)fclose(f);
	assert_int_equal(document->len, i);
	assert_true(i > 1000);
}

static void
test_documents(void **state)
{

	(void)state;
	same_as_file(&document_openapi, "openapi.yaml");
	same_as_file(&document_asyncapi, "asyncapi.yaml");
}

/* The value of metric ${name}. */
static double
value_of(const char *text, const char *name)
{
	char line[100];
	const char *at;

	(void)snprintf(line, sizeof(line), "\n%s ", name);
	at = strstr(text, line);
	assert_non_null(at);
	return (strtod(at + strlen(line), NULL));
}

static void
test_process(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	process_metrics_write(&b, 1700000000500);
	buf_addc(&b, '\0');
	assert_true(buf_ok(&b));
	assert_true(value_of(b.data, "process_resident_memory_bytes") > 1e5);
	assert_true(value_of(b.data, "process_open_fds") >= 3);
	assert_true(value_of(b.data, "process_max_fds") >= 3);
	assert_true(value_of(b.data, "process_cpu_seconds_total") >= 0);
	assert_true(
	    value_of(b.data, "process_start_time_seconds") == 1700000000.5);
	buf_fini(&b);
}

/* Both tables go into one: no route stands in both, and each has a handler. */
static void
test_routes(void **state)
{
	const struct http_route *a, *b;

	(void)state;
	for (a = admin_routes(); a->method != NULL; a++) {
		assert_non_null(a->handler);
		for (b = api_routes(); b->method != NULL; b++) {
			assert_non_null(b->handler);
			assert_false(strcmp(a->method, b->method) == 0 &&
				     strcmp(a->path, b->path) == 0);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_documents),
	    cmocka_unit_test(test_process),
	    cmocka_unit_test(test_routes),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
