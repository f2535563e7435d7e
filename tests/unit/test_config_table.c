/* SPDX-License-Identifier: MIT */
/*
 * Every setting of the table, so that none can be left out: it can be given by
 * a flag, by the environment and by a file; its range ends where the table
 * says; what is written can be read again; and the fuzzer's dictionary has its
 * name.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "config/config_internal.h"

#define SECOND 1000

static const char *variable; /* the only one in the environment */
static char *variable_value;
static bool with_domain;
static char path[] = "/tmp/test_config_table.XXXXXX";

static char *
lookup(const char *name)
{

	return (variable != NULL && strcmp(name, variable) == 0 ? variable_value
								: NULL);
}

/* Parses ${arguments}, which ends with NULL, and, with_domain, the domain that
 * federation needs. */
static enum rc
parse(char **arguments, struct config *config, struct err *err)
{
	char domain[] = "--domain=chat.example", *argv[4];
	int n = 0;

	*err = (struct err)ERR_INIT;
	if (with_domain)
		argv[n++] = domain;
	while (*arguments != NULL)
		argv[n++] = *arguments++;
	return (config_parse(n, argv, lookup, config, err));
}

static enum rc
parse_flag(const struct config_row *row, const char *value,
    struct config *config, struct err *err)
{
	static char text[CONFIG_TEXT_SIZE + 64];
	char *argv[] = {text, NULL};

	(void)snprintf(text, sizeof(text), "--%s=%s", row->name, value);
	return (parse(argv, config, err));
}

static enum rc
parse_variable(const struct config_row *row, const char *value,
    struct config *config, struct err *err)
{
	static char text[CONFIG_TEXT_SIZE];
	char name[CONFIG_VARIABLE_SIZE], *argv[] = {NULL};
	enum rc rc;

	config_row_variable(row, name);
	(void)snprintf(text, sizeof(text), "%s", value);
	variable = name;
	variable_value = text;
	rc = parse(argv, config, err);
	variable = NULL;
	return (rc);
}

static enum rc
parse_file(const char *text, size_t n, struct config *config, struct err *err)
{
	char flag[] = "--config";
	char *argv[] = {flag, path, NULL};
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, n, file), n);
	assert_int_equal(fclose(file), 0);
	return (parse(argv, config, err));
}

static enum rc
parse_line(const struct config_row *row, const char *value,
    struct config *config, struct err *err)
{
	char line[CONFIG_TEXT_SIZE + 64];
	int n;

	n = snprintf(line, sizeof(line), "%s = %s\n", row->name, value);
	return (parse_file(line, (size_t)n, config, err));
}

/* Returns a valid value of ${row} that is not its default. */
static const char *
other_value(const struct config_row *row)
{
	static char text[64];
	size_t n;

	switch (row->type) {
	case CONFIG_BOOL:
		return (strcmp(row->value, "true") == 0 ? "false" : "true");
	case CONFIG_CHOICE:
		n = strcspn(row->argument, "|");
		(void)snprintf(
		    text, sizeof(text), "%.*s", (int)n, row->argument);
		return (strcmp(text, row->value) != 0
			    ? text
			    : strrchr(row->argument, '|') + 1);
	case CONFIG_RATE:
		return ("7/s");
	case CONFIG_CIDRS:
		return ("192.0.2.0/24");
	case CONFIG_ORIGINS:
		return ("https://chat.example");
	case CONFIG_URL:
		return ("https://chat.example");
	case CONFIG_DOMAINS:
		return ("other.example");
	case CONFIG_PEERS:
		return ("other.example=https://other.example");
	case CONFIG_INT:
		(void)snprintf(
		    text, sizeof(text), "%lld", (long long)row->min + 2);
		return (text);
	case CONFIG_DURATION:
		/* Near the default, because durations depend on each other. */
		(void)snprintf(text, sizeof(text), "%s", row->value);
		if (strcmp(row->name, "delivery-timeout") == 0)
			text[0]--;
		else
			text[0]++;
		return (text);
	case CONFIG_SIZE:
		(void)snprintf(
		    text, sizeof(text), "%lldB", (long long)row->min + 2);
		return (text);
	case CONFIG_TEXT:
	default:
		if (strcmp(row->name, "listen") == 0)
			return ("127.0.0.1:81");
		return (strcmp(row->name, "db") == 0 ? "sqlite:other"
						     : "other.example");
	}
}

static void
show(const struct config_row *row, const struct config *config, struct buf *b)
{

	buf_reset(b);
	config_value_write(row, config, b);
	buf_addc(b, '\0');
	assert_true(buf_ok(b));
}

/* Fails unless ${rc} is RC_OK and ${row} has ${value} from ${source}. */
static void
assert_value(enum rc rc, const struct config_row *row,
    const struct config *config, const char *value, enum config_source source,
    const struct err *err)
{
	struct buf b = BUF_INIT;

	if (rc != RC_OK)
		fail_msg("%s = %s: %s", row->name, value, err->text);
	assert_int_equal(config->source[row - config_rows], source);
	show(row, config, &b);
	if (row->type != CONFIG_SIZE && row->type != CONFIG_DURATION)
		assert_string_equal(b.data, value);
	buf_fini(&b);
}

static void
test_sources(void **state)
{
	const struct config_row *row;
	struct buf was = BUF_INIT, now = BUF_INIT;
	char *none[] = {NULL};
	struct config c, plain;
	const char *value;
	struct err err;
	enum rc rc;
	int i;

	(void)state;
	assert_int_equal(parse(none, &plain, &err), RC_OK);
	for (i = 0; i < CONFIG_COUNT; i++) {
		row = &config_rows[i];
		value = other_value(row);
		with_domain = i != CONFIG_domain;
		rc = parse_flag(row, value, &c, &err);
		assert_value(rc, row, &c, value, CONFIG_FROM_FLAG, &err);
		show(row, &plain, &was);
		show(row, &c, &now);
		if (strcmp(was.data, now.data) == 0)
			fail_msg("%s has no effect", row->name);
		rc = parse_variable(row, value, &c, &err);
		assert_value(rc, row, &c, value, CONFIG_FROM_ENVIRONMENT, &err);
		rc = parse_line(row, value, &c, &err);
		assert_value(rc, row, &c, value, CONFIG_FROM_FILE, &err);
		assert_int_equal(c.line[i], 1);
	}
	buf_fini(&was);
	buf_fini(&now);
}

/* ---- ranges ---- */

/* Reads ${v}, in the smallest unit of ${row}. */
static bool
reads(const struct config_row *row, int64_t v, char ret_why[CONFIG_WHY_SIZE])
{
	struct config c;
	char text[32];

	(void)snprintf(text, sizeof(text), "%lld%s", (long long)v,
	    row->type == CONFIG_RATE ? "/s" : "");
	return (config_value_read(row, text, &c, ret_why));
}

static void
test_ranges(void **state)
{
	const struct config_row *row;
	char why[CONFIG_WHY_SIZE];
	int64_t unit;
	int i, numbers = 0;

	(void)state;
	for (i = 0; i < CONFIG_COUNT; i++) {
		row = &config_rows[i];
		if (row->type != CONFIG_INT && row->type != CONFIG_RATE &&
		    row->type != CONFIG_SIZE && row->type != CONFIG_DURATION)
			continue;
		numbers++;
		unit = row->type == CONFIG_DURATION ? SECOND : 1;
		if (!reads(row, row->min / unit, why) ||
		    !reads(row, row->max / unit, why))
			fail_msg("%s: %s", row->name, why);
		if (reads(row, row->max / unit + 1, why))
			fail_msg("%s is above its maximum", row->name);
		assert_non_null(strstr(why, "it must lie between "));
		if (row->type != CONFIG_RATE && row->min > 0 &&
		    reads(row, row->min / unit - 1, why))
			fail_msg("%s is below its minimum", row->name);
	}
	assert_in_range(numbers, 30, CONFIG_COUNT);
}

/* ---- what is written ---- */

/* Asserts that a reader gets ${value} of the setting data back from the output
 * of config_write() or, if a file cannot have ${value}, the default. */
static void
assert_written(const char *value, bool kept)
{
	const struct config_row *row = &config_rows[CONFIG_data];
	struct config c, again;
	struct buf b = BUF_INIT;
	struct err err;

	assert_int_equal(parse_variable(row, value, &c, &err), RC_OK);
	assert_string_equal(c.data, value);
	/* By default it contains the value of data. */
	(void)snprintf(c.db, sizeof(c.db), "sqlite:x");
	config_write(&c, &b);
	assert_true(buf_ok(&b));
	if (parse_file(b.data, b.len, &again, &err) != RC_OK)
		fail_msg("%s: %s", value, err.text);
	assert_string_equal(again.data, kept ? value : "./twinbox-data");
	assert_false(again.insecure);
	assert_int_equal(again.source[CONFIG_data],
	    kept ? CONFIG_FROM_FILE : CONFIG_FROM_DEFAULT);
	buf_addc(&b, '\0');
	assert_true(kept == (strstr(b.data,
				 "# A file cannot have this value") == NULL));
	buf_fini(&b);
}

static void
test_strange_texts(void **state)
{

	(void)state;
	assert_written("/a b;c", true);
	assert_written(";c", true);
	assert_written("#c", true);
	assert_written("/a\tb\x01", true);
	assert_written("/a ;b", false);
	assert_written("/a\t;b", false);
	assert_written(" a", false);
	assert_written("a ", false);
	assert_written("a\ninsecure = true", false);
}

/* ---- the fuzzer ---- */

static void
test_dictionary(void **state)
{
	const char *source = getenv("TWINBOX_SOURCE");
	char text[16384], name[80];
	FILE *file;
	size_t n;
	int i;

	(void)state;
	(void)snprintf(text, sizeof(text), "%s/tests/fuzz/dict/config.dict",
	    source != NULL ? source : ".");
	file = fopen(text, "r");
	if (file == NULL)
		fail_msg("%s: %s", text, strerror(errno));
	n = fread(text, 1, sizeof(text) - 1, file);
	text[n] = '\0';
	assert_int_equal(fclose(file), 0);
	for (i = 0; i < CONFIG_COUNT; i++) {
		(void)snprintf(
		    name, sizeof(name), "\n\"%s = \"\n", config_rows[i].name);
		if (strstr(text, name) == NULL)
			fail_msg("%s is missing", config_rows[i].name);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_sources),
	    cmocka_unit_test(test_ranges),
	    cmocka_unit_test(test_strange_texts),
	    cmocka_unit_test(test_dictionary),
	};
	int fd, failed;

	fd = mkstemp(path);
	if (fd < 0)
		return (1);
	(void)close(fd);
	failed = cmocka_run_group_tests_name("config_table", tests, NULL, NULL);
	(void)unlink(path);
	return (failed);
}
