/* SPDX-License-Identifier: MIT */
/*
 * Settings: each source and which has precedence, each type, each rule, and
 * that every error names its place and its cure.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "config/config.h"
#include "log/log.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define ARGS_MAX 16

/* The environment of a test: "NAME=value", with NULL at the end. */
static const char *const *environment;

static char *
lookup(const char *name)
{
	static char value[CONFIG_TEXT_SIZE];
	const char *const *e;
	size_t n;

	n = strlen(name);
	for (e = environment; e != NULL && *e != NULL; e++) {
		if (strncmp(*e, name, n) == 0 && (*e)[n] == '=') {
			(void)snprintf(value, sizeof(value), "%s", *e + n + 1);
			return (value);
		}
	}
	return (NULL);
}

/* Parses ${line}, arguments with one blank between them. */
static enum rc
parse(const char *line, struct config *config, struct err *err)
{
	static char text[1024];
	char *argv[ARGS_MAX], *save;
	int argc;

	(void)snprintf(text, sizeof(text), "%s", line);
	argc = 0;
	for (argv[0] = strtok_r(text, " ", &save); argv[argc] != NULL;
	     argv[argc] = strtok_r(NULL, " ", &save))
		assert_true(++argc < ARGS_MAX);
	return (config_parse(argc, argv, lookup, config, err));
}

static void
assert_contains(const char *text, const char *piece)
{

	if (strstr(text, piece) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", text, piece);
}

static void
accepted(const char *line, struct config *config)
{
	struct err err = ERR_INIT;

	if (parse(line, config, &err) != RC_OK)
		fail_msg("%s: %s", line, err.text);
}

static void
refused(const char *line, const char *says)
{
	struct err err = ERR_INIT;
	struct config config;

	if (parse(line, &config, &err) != RC_INVALID)
		fail_msg("%s is not refused", line);
	assert_contains(err.text, says);
}

/* A file name that fits is accepted, a longer one is refused and not cut. */
static void
test_long_file_name(void **state)
{
	char line[CONFIG_TEXT_SIZE + 16];
	struct err err = ERR_INIT;
	struct config config;
	size_t n;

	(void)state;
	for (n = CONFIG_TEXT_SIZE - 1; n <= CONFIG_TEXT_SIZE; n++) {
		(void)snprintf(
		    line, sizeof(line), "--config=/%0*d", (int)n - 1, 0);
		assert_int_not_equal(RC_OK, parse(line, &config, &err));
		assert_contains(err.text, n < CONFIG_TEXT_SIZE
					      ? "cannot read the settings"
					      : "--config needs the name");
	}
}

static char path[64];

static void
write_file(const char *text)
{
	FILE *f;

	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(strlen(text), fwrite(text, 1, strlen(text), f));
	assert_int_equal(0, fclose(f));
}

/* A file that cannot contain settings is not read to its end. */
static void
test_other_files(void **state)
{
	struct err err = ERR_INIT;
	struct config config;
	char line[96], *text;

	(void)state;
	assert_int_equal(
	    parse("--config=/dev/zero", &config, &err), RC_INVALID);
	assert_string_equal(
	    err.text, "/dev/zero is a device: name a regular file");
	text = malloc(1024 * 1024 + 2);
	assert_non_null(text);
	memset(text, '#', 1024 * 1024 + 1);
	text[1024 * 1024 + 1] = '\0';
	write_file(text);
	(void)snprintf(line, sizeof(line), "--config=%s", path);
	assert_int_equal(parse(line, &config, &err), RC_INVALID);
	assert_contains(err.text, " is larger than 1024 KiB: ");
	text[1024 * 1024] = '\0';
	write_file(text);
	assert_int_equal(parse(line, &config, &err), RC_OK);
	free(text);
}

static int
setup(void **state)
{
	int fd;

	(void)state;
	memcpy(path, "/tmp/test_config.XXXXXX", 24);
	if ((fd = mkstemp(path)) < 0)
		return (-1);
	return (close(fd));
}

static int
teardown(void **state)
{

	(void)state;
	return (unlink(path));
}

/* R98 R315: the default values.  Among others, acked messages are purged after
 * seven days. */
static void
test_defaults(void **state)
{
	struct config c;

	(void)state;
	accepted("", &c);
	assert_string_equal("127.0.0.1:8080", c.listen);
	assert_string_equal("./twinbox-data", c.data);
	assert_string_equal("sqlite:./twinbox-data/twinbox.db", c.db);
	assert_string_equal("localhost", c.domain);
	assert_false(c.demo);
	assert_int_equal(REGISTRATION_CLOSED, c.registration);
	assert_int_equal(CONFIG_RATE_DEFAULT, c.rate_limit);
	assert_int_equal(60, c.registration_rate);
	assert_int_equal(1000, c.max_pending);
	assert_int_equal(2, c.http_loops);
	assert_int_equal(2, c.readers);
	assert_int_equal(1, c.argon2_threads);
	assert_int_equal(LVL_INFO, c.log_level);
	assert_int_equal(LOG_FMT_TEXT, c.log_format);
	assert_int_equal(0, c.behind_proxy.n);
	assert_int_equal(15000, c.request_deadline_ms);
	assert_int_equal(60000, c.idle_deadline_ms);
	assert_int_equal(10000, c.drain_deadline_ms);
	assert_int_equal(10000, c.connection_limit);
	assert_int_equal(20000, c.ws_limit);
	assert_int_equal(INT64_C(5) * 86400000, c.expiry_ms);
	assert_int_equal(INT64_C(7) * 86400000, c.requeue_window_ms);
	assert_int_equal(INT64_C(14) * 86400000, c.dedup_retention_ms);
	assert_int_equal(INT64_C(7) * 86400000, c.retention_ms);
	assert_int_equal(128 * 1048576, c.checkpoint_size_bytes);
	assert_true(c.is_loopback);
	assert_int_equal(CONFIG_FROM_DEFAULT, c.source[CONFIG_listen]);
}

/* The choices equal the enums of the log, in their order. */
static void
test_choices(void **state)
{
	static const char *const levels[] = {"debug", "info", "warn", "error"};
	struct config c;
	char line[64];
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(levels); i++) {
		(void)snprintf(line, sizeof(line), "--log-level %s", levels[i]);
		accepted(line, &c);
		assert_int_equal(log_level_parse(levels[i]), c.log_level);
	}
	accepted("--log-format json", &c);
	assert_int_equal(LOG_FMT_JSON, c.log_format);
	accepted("--registration open", &c);
	assert_int_equal(REGISTRATION_OPEN, c.registration);
	refused("--registration opened", "not one of open|closed");
	refused("--log-format tex", "--log-format: \"tex\" is not one of");
	refused("--log-format open", "not one of");
}

static void
test_precedence(void **state)
{
	static const char *const both[] = {"TWINBOX_READERS=5",
	    "TWINBOX_MAX_PENDING=6", "TWINBOX_DOMAIN=", NULL};
	struct config c;
	char line[128];

	(void)state;
	write_file("readers = 3\nmax-pending=4\n\n  http-loops =  7 ; seven\n"
		   "# domain = x\ndomain = file.example\n");
	(void)snprintf(line, sizeof(line), "--config %s --max-pending=8", path);
	environment = both;
	accepted(line, &c);
	environment = NULL;
	assert_int_equal(7, c.http_loops);
	assert_int_equal(5, c.readers);
	assert_int_equal(8, c.max_pending);
	assert_string_equal("file.example", c.domain);
	assert_int_equal(CONFIG_FROM_FILE, c.source[CONFIG_http_loops]);
	assert_int_equal(4, c.line[CONFIG_http_loops]);
	assert_int_equal(CONFIG_FROM_ENVIRONMENT, c.source[CONFIG_readers]);
	assert_int_equal(CONFIG_FROM_FLAG, c.source[CONFIG_max_pending]);
	assert_int_equal(CONFIG_FROM_FILE, c.source[CONFIG_domain]);
	assert_string_equal(path, c.file);
}

static void
test_config_variable(void **state)
{
	const char *vars[] = {NULL, NULL};
	char var[96];
	struct config c;

	(void)state;
	write_file("readers = 3\n");
	(void)snprintf(var, sizeof(var), "TWINBOX_CONFIG=%s", path);
	vars[0] = var;
	environment = vars;
	accepted("", &c);
	environment = NULL;
	assert_int_equal(3, c.readers);
}

static void
test_flags(void **state)
{
	struct config c;

	(void)state;
	accepted("--demo", &c);
	assert_true(c.demo);
	accepted("--no-demo", &c);
	assert_false(c.demo);
	accepted("--demo=off", &c);
	assert_false(c.demo);
	accepted("--demo=yes file", &c);
	assert_true(c.demo);
	assert_int_equal(1, c.noperands);
	assert_string_equal("file", c.operands[0]);
	accepted("a -- --demo -x", &c);
	assert_false(c.demo);
	assert_int_equal(3, c.noperands);
	assert_string_equal("-x", c.operands[2]);
	accepted("--help --nonsense", &c);
	assert_true(c.help);
	accepted("--version", &c);
	assert_true(c.version);

	refused("--readers 3 --readers=4",
	    "--readers is given twice; leave one of them out");
	refused("--demo --no-demo", "--demo is given twice;");
	refused("--config a --config=b", "--config is given twice;");
	refused("--readers", "--readers needs a value: --readers N");
	refused("--config", "--config needs a value: --config FILE");
	refused("--config=", "--config needs the name of a file");
	refused("--lisen 1", "no setting \"lisen\"; did you mean \"listen\"?");
	refused("--max-pendings=1", "did you mean \"max-pending\"?");
	refused("--xyzzy", "--help lists them");
	refused("--no-readers", "no setting \"no-readers\"");
	refused("-x", "there is no flag -x");
	refused("--demo=maybe", "--demo: \"maybe\" is not true or false");
	refused("1 2 3 4 5 6 7 8 9", "too many arguments at \"9\"");
}

static void
test_values(void **state)
{
	struct config c;

	(void)state;
	accepted(
	    "--expiry 36h --request-deadline 20 --checkpoint-size 2097152", &c);
	assert_int_equal(129600000, c.expiry_ms);
	assert_int_equal(20000, c.request_deadline_ms);
	assert_int_equal(2097152, c.checkpoint_size_bytes);
	accepted("--checkpoint-size 1GiB --rate-limit off", &c);
	assert_int_equal(1073741824, c.checkpoint_size_bytes);
	assert_int_equal(0, c.rate_limit);
	accepted("--rate-limit 20/s", &c);
	assert_int_equal(20, c.rate_limit);

	refused("--readers 0", "--readers: it must lie between 1 and 64");
	refused("--readers 65", "between 1 and 64");
	refused("--readers -1", "\"-1\" is not a whole number");
	refused("--readers 2x", "\"2x\" is not a whole number");
	refused("--readers 99999999999999999999", "is not a whole number");
	refused("--expiry 5w", "a time such as 90s, 30m, 2h or 5d");
	refused("--expiry 1s", "between 1m and 366d");
	refused("--expiry d", "a time such as");
	refused("--expiry 9999999999999999d", "a time such as");
	refused("--checkpoint-size 16MB", "16MiB");
	refused("--checkpoint-size 1B", "between 1MiB and 1GiB");
	refused("--rate-limit 0/s", "off, default, or a rate such as 20/s");
	refused("--rate-limit 20", "off, default");
	refused("--rate-limit 9999999/s", "between 1 and 1000000");
	refused("--data=", "data: it must name a directory");
	refused("--db mysql://x", "neither sqlite:PATH nor");
	refused("--db postgresql://", "neither sqlite:PATH nor");
	refused("--db postgresql://ann:secret@host/chat", "PGPASSWORD");
	/* libpq takes the part before the question mark for the password, too,
	 * and quotes the url if it cannot read it. */
	refused("--db postgresql://ann:se?c%ret@host/chat", "PGPASSWORD");
	refused("--db other://ann:secret@host/chat", "PGPASSWORD");
	refused("--db postgresql://host/chat?password=secret", "passfile");
	accepted(
	    "--db postgresql://ann@host:5432/chat?sslmode=verify-full", &c);
	accepted(
	    "--db postgresql:///chat?host=/run/postgresql&passfile=/x", &c);
	refused("--db sqlite:", "neither sqlite:PATH nor");
	refused("--domain Example.org", "not a domain name in lower case");
	refused("--domain a..b", "not a domain name");
	refused("--domain=", "not a domain name");
}

struct warnings {
	int n;
	char last[512];
};

static void
note_warning(void *arg, const char *text)
{
	struct warnings *w = arg;

	w->n++;
	(void)snprintf(w->last, sizeof(w->last), "%s", text);
}

/* A proxy network that contains everybody causes a warning.  Networks that
 * proxies can have do not. */
static void
test_warnings(void **state)
{
	static const struct {
		const char *argument;
		const char *wide; /* the last network that causes a warning */
		int n;
	} rows[] = {
	    {"--insecure", NULL, 0},
	    {"--behind-proxy 10.0.0.0/8,172.16.0.0/12,127.0.0.1,::1,fc00::/7",
		NULL, 0},
	    {"--behind-proxy ::/97,2001:db8::/32", NULL, 0},
	    {"--behind-proxy 0.0.0.0/0", "0.0.0.0/0", 1},
	    {"--behind-proxy ::/0", "::/0", 1},
	    {"--behind-proxy 127.0.0.1,0.0.0.0/1,128.0.0.0/1", "128.0.0.0/1",
		2},
	    {"--behind-proxy 10.0.0.0/7", "10.0.0.0/7", 1},
	    {"--behind-proxy 2000::/3", "2000::/3", 1},
	    {"--behind-proxy fc00::/6", "fc00::/6", 1},
	    /* All of IPv4. */
	    {"--behind-proxy ::/80", "::/80", 1},
	    {"--behind-proxy ::fff0:0:0/92", "::fff0:0:0/92", 1},
	};
	struct config c;
	char want[64];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct warnings w = {0, ""};

		accepted(rows[i].argument, &c);
		assert_int_equal(RC_OK, config_warn(&c, note_warning, &w));
		assert_int_equal(rows[i].n, w.n);
		if (rows[i].wide == NULL)
			continue;
		(void)snprintf(want, sizeof(want),
		    "behind-proxy: %s is wider than", rows[i].wide);
		assert_memory_equal(w.last, want, strlen(want));
		assert_contains(w.last, "name only the addresses");
	}
}

static void
test_networks(void **state)
{
	static const uint8_t ten[16] = {[10] = 0xff, [11] = 0xff, [12] = 10};
	struct buf b = BUF_INIT;
	struct config c;

	(void)state;
	accepted("--behind-proxy 10.0.0.0/8,::1,192.168.1.7", &c);
	assert_int_equal(3, c.behind_proxy.n);
	assert_memory_equal(ten, c.behind_proxy.list[0].address, 16);
	assert_int_equal(104, c.behind_proxy.list[0].bits);
	assert_int_equal(128, c.behind_proxy.list[1].bits);
	config_write(&c, &b);
	buf_addc(&b, '\0');
	assert_contains(b.data,
	    "behind-proxy = 10.0.0.0/8,::1/128,192.168.1.7/32 ; --behind");
	buf_fini(&b);
	accepted("--behind-proxy 0.0.0.0/0", &c);
	assert_int_equal(96, c.behind_proxy.list[0].bits);

	refused("--behind-proxy 10.0.0.1/8", "no bits beyond the length");
	refused("--behind-proxy 10.0.0.0/33", "up to 16 networks");
	refused("--behind-proxy 10.0.0.0/", "up to 16 networks");
	refused("--behind-proxy proxy.example", "up to 16 networks");
	refused("--behind-proxy ::1/129", "up to 16 networks");
	refused("--behind-proxy 1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,"
		"1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,"
		"1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1",
	    "up to 16 networks");
}

static void
test_origins(void **state)
{
	struct config c;

	(void)state;
	accepted("--allow-origin https://a.example,http://localhost:5173", &c);
	assert_int_equal(2, c.allow_origin.n);
	assert_string_equal("https://a.example", c.allow_origin.list[0]);
	assert_string_equal("http://localhost:5173", c.allow_origin.list[1]);
	refused("--allow-origin *", "https://chat.example");
	refused("--allow-origin a.example", "https://chat.example");
	refused("--allow-origin https://", "https://chat.example");
	refused("--allow-origin https://a.example/", "https://chat.example");
}

static void
test_exposure(void **state)
{
	struct config c;

	(void)state;
	accepted("--listen [::1]:0", &c);
	assert_true(c.is_loopback);
	accepted("--listen 127.9.9.9:65535", &c);
	accepted("--listen localhost:99", &c);
	assert_string_equal("127.0.0.1:99", c.listen);
	accepted("--listen 0.0.0.0:80 --insecure", &c);
	assert_false(c.is_loopback);
	accepted("--listen [::]:80 --behind-proxy 10.0.0.0/8", &c);
	accepted("--listen 127.0.0.1:80 --behind-proxy 127.0.0.1", &c);

	refused("--listen 0.0.0.0:80", "behind-proxy, or say insecure");
	refused("--listen [::]:80", "behind-proxy, or say insecure");
	refused("--listen [::ffff:127.0.0.1]:80", "behind-proxy, or say");
	refused("--listen 0.0.0.0:80 --insecure --demo", "listen on 127.0.0.1");
	refused("--demo --behind-proxy 127.0.0.1", "leave one of them out");
	refused("--listen :80", "not HOST:PORT");
	refused("--listen 80", "not HOST:PORT");
	refused("--listen 127.0.0.1:", "not HOST:PORT");
	refused("--listen 127.0.0.1:65536", "not HOST:PORT");
	refused("--listen 127.0.0.1:8o", "not HOST:PORT");
	refused("--listen ::1:80", "not HOST:PORT");
	refused("--listen example.org:80", "not HOST:PORT");
}

static void
test_demo(void **state)
{
	struct config c;

	(void)state;
	accepted("--demo", &c);
	assert_int_equal(REGISTRATION_OPEN, c.registration);
	assert_int_equal(CONFIG_FROM_DEMO, c.source[CONFIG_registration]);
	accepted("--demo --registration closed", &c);
	assert_int_equal(REGISTRATION_CLOSED, c.registration);
}

static void
test_retention(void **state)
{
	struct config c;

	(void)state;
	accepted("--dedup-retention 12d", &c);
	refused("--dedup-retention 11d", "make it at least 1036800s");
	refused("--expiry 8d", "dedup-retention: it is shorter");
	accepted("--expiry 8d --requeue-window 6d", &c);
}

static void
test_file_faults(void **state)
{
	static const struct {
		const char *text;
		const char *says;
	} rows[] = {
	    {"readers = 3\nreders = 4\n",
		":2: there is no setting \"reders\"; did you mean "
		"\"readers\"?"},
	    {"readers = 3\n\nreaders = 4\n",
		":3: readers stands on line 1 already"},
	    {"readers = many\n", ":1: readers: \"many\" is not a whole"},
	    {"\n\nreaders\n", ":3: the line is not \"name = value\""},
	    {"[server]\nreaders = 3\n", "no sections such as [server]"},
	    {"readers = 3\n [alone]\n",
		":2: there are no sections such as [alone]"},
	    {"[", "no sections such as []"},
	    {"readers = 3\n  4\n", ":2: the line is not"},
	};
	struct err err = ERR_INIT;
	char line[96], longest[400];
	struct config c;
	size_t i;

	(void)state;
	(void)snprintf(line, sizeof(line), "--config %s", path);
	for (i = 0; i < COUNT(rows); i++) {
		write_file(rows[i].text);
		refused(line, rows[i].says);
		refused(line, path);
	}
	/* Long remarks are allowed, long lines are an error. */
	memset(longest, 'x', sizeof(longest));
	memcpy(longest, "  # ", 4);
	memcpy(longest + 300, "\nreaders = 3\n", 14);
	write_file(longest);
	accepted(line, &c);
	assert_int_equal(3, c.readers);
	assert_int_equal(2, c.line[CONFIG_readers]);
	memcpy(longest, "data", 4);
	longest[4] = '=';
	write_file(longest);
	refused(line, ":1: the line is longer than 198 characters");

	assert_int_equal(
	    RC_NOT_FOUND, parse("--config /nonexistent/x.conf", &c, &err));
	assert_contains(err.text, "/nonexistent/x.conf");
	refused("--config /tmp", "/tmp is a directory: name a regular file");
}

static void
test_variable_faults(void **state)
{
	static const char *const bad[] = {"TWINBOX_HTTP_LOOPS=x", NULL};

	(void)state;
	environment = bad;
	refused("", "TWINBOX_HTTP_LOOPS: \"x\" is not a whole number");
	environment = NULL;
}

/* The output of check-config is a file that gives the same settings. */
static void
test_write_and_read(void **state)
{
	struct buf b = BUF_INIT, again = BUF_INIT;
	struct config c;
	char line[96];

	(void)state;
	accepted("--expiry 90m --checkpoint-size 1536KiB --rate-limit off "
		 "--allow-origin https://a.example --log-level debug "
		 "--behind-proxy ::1/128,10.0.0.0/8 --db sqlite:x --no-demo",
	    &c);
	config_write(&c, &b);
	buf_addc(&b, '\0');
	assert_contains(b.data, "expiry = 90m ; --expiry\n");
	assert_contains(b.data, "checkpoint-size = 1536KiB ;");
	assert_contains(b.data, "allow-origin = https://a.example ;");
	assert_contains(b.data, "readers = 2 ; default\n");
	write_file(b.data);
	(void)snprintf(line, sizeof(line), "--config %s", path);
	accepted(line, &c);
	config_write(&c, &again);
	buf_addc(&again, '\0');
	assert_contains(again.data, "expiry = 90m ; /tmp/test_config.");
	assert_contains(again.data, "behind-proxy = ::1/128,10.0.0.0/8 ;");
	assert_contains(again.data, "rate-limit = off ;");
	buf_fini(&b);
	buf_fini(&again);
}

static void
test_help_and_sample(void **state)
{
	struct buf b = BUF_INIT;
	struct config c;
	char line[96], *p;

	(void)state;
	config_write_help(&b);
	buf_addc(&b, '\0');
	assert_contains(
	    b.data, "  --listen HOST:PORT  [TWINBOX_LISTEN]  (default 127");
	assert_contains(b.data, "  --demo  [TWINBOX_DEMO]\n");
	assert_contains(b.data, "[TWINBOX_REQUEUE_WINDOW]");
	buf_reset(&b);

	/* The sample file changes no setting, neither as it is nor without the
	 * '#' of every setting. */
	config_write_sample(&b);
	buf_addc(&b, '\0');
	write_file(b.data);
	(void)snprintf(line, sizeof(line), "--config %s", path);
	accepted(line, &c);
	assert_int_equal(CONFIG_FROM_DEFAULT, c.source[CONFIG_readers]);
	for (p = b.data; (p = strstr(p, "\n#")) != NULL; p++) {
		if (p[2] != ' ')
			p[1] = ' ';
	}
	write_file(b.data);
	accepted(line, &c);
	assert_int_equal(CONFIG_FROM_FILE, c.source[CONFIG_readers]);
	assert_int_equal(2, c.readers);
	buf_fini(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_defaults),
	    cmocka_unit_test(test_choices),
	    cmocka_unit_test(test_precedence),
	    cmocka_unit_test(test_config_variable),
	    cmocka_unit_test(test_flags),
	    cmocka_unit_test(test_long_file_name),
	    cmocka_unit_test(test_values),
	    cmocka_unit_test(test_warnings),
	    cmocka_unit_test(test_networks),
	    cmocka_unit_test(test_origins),
	    cmocka_unit_test(test_exposure),
	    cmocka_unit_test(test_demo),
	    cmocka_unit_test(test_retention),
	    cmocka_unit_test(test_other_files),
	    cmocka_unit_test(test_file_faults),
	    cmocka_unit_test(test_variable_faults),
	    cmocka_unit_test(test_write_and_read),
	    cmocka_unit_test(test_help_and_sample),
	};

	return (cmocka_run_group_tests_name("config", tests, setup, teardown));
}
