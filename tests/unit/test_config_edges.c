/* SPDX-License-Identifier: MIT */
/*
 * Settings at their edges: the longest and the shortest value that is accepted,
 * and one more or less; the name that an error proposes; the texts that are
 * made from the table; lines that just fit.
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

#include "base/mem.h"
#include "config/config.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
/* The longest line of a file. */
#define LINE_LEN 198

static const char *variable; /* the only one in the environment */
static char *variable_value;

static char *
lookup(const char *name)
{

	return (variable != NULL && strcmp(name, variable) == 0 ? variable_value
								: NULL);
}

/* Parses the one argument ${arg}, or none if that is NULL. */
static enum rc
parse(const char *arg, struct config *config, struct err *err)
{
	static char text[2048];
	char *argv[2] = {text, NULL};

	*err = (struct err)ERR_INIT;
	(void)snprintf(text, sizeof(text), "%s", arg != NULL ? arg : "");
	return (config_parse(arg != NULL ? 1 : 0, argv, lookup, config, err));
}

static void
accepted(const char *arg, struct config *config)
{
	struct err err;

	if (parse(arg, config, &err) != RC_OK)
		fail_msg("%s: %s", arg, err.text);
}

static void
refused(const char *arg, const char *text)
{
	struct config config;
	struct err err;

	assert_int_equal(RC_INVALID, parse(arg, &config, &err));
	assert_string_equal(err.text, text);
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

/* Reads the file into ${config}. */
static enum rc
parse_file(struct config *config, struct err *err)
{
	char arg[80];

	(void)snprintf(arg, sizeof(arg), "--config=%s", path);
	return (parse(arg, config, err));
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

#define FORTY "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

static void
test_names(void **state)
{

	(void)state;
	/* The first setting of the table is treated as all others are. */
	refused("--listen", "--listen needs a value: --listen HOST:PORT");
	/* The nearest name is proposed; of two at the same distance, the
	 * first. */
	refused("--dead-retention=1", "--dead-retention: there is no setting "
				      "\"dead-retention\"; did you mean "
				      "\"dedup-retention\"?");
	refused("--scrge-rate=1", "--scrge-rate: there is no setting "
				  "\"scrge-rate\"; did you mean "
				  "\"purge-rate\"?");
	/* A name of this length is still compared, a longer one is not. */
	refused("--dead-letter-retentionxxxxxxxxxxx",
	    "--dead-letter-retentionxxxxxxxxxxx: there is no setting "
	    "\"dead-letter-retentionxxxxxxxxxxx\"; did you mean "
	    "\"dead-letter-retention\"?");
	refused("--dead-letter-retentionxxxxxxxxxxxx",
	    "--dead-letter-retentionxxxxxxxxxxxx: there is no setting "
	    "\"dead-letter-retentionxxxxxxxxxxxx\"; --help lists them");
	refused("--no-demos", "--no-demos: there is no setting \"no-demos\"; "
			      "--help lists them");
	refused("--no-demo=true", "--no-demo: there is no setting "
				  "\"no-demo\"; did you mean \"demo\"?");
	/* Longer than any name, and the value does not appear in the error. */
	refused("--" FORTY FORTY "=secret",
	    "--" FORTY ": there is no setting \"" FORTY
	    "\"; --help lists them");
}

static void
test_domains(void **state)
{
	char arg[300];
	struct config c;
	struct err err;
	size_t n;
	static const char *const good[] = {"--domain=az.09", "--domain=0",
	    "--domain=a-z.9-a", "--domain=a--b"};
	static const char *const bad[] = {"--domain=a_b", "--domain=a{",
	    "--domain=a/b", "--domain=a:b", "--domain=`", "--domain=-a",
	    "--domain=a.-b", "--domain=a-", "--domain=a-.b", "--domain=.a",
	    "--domain=a.", "--domain=A"};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(good); i++)
		accepted(good[i], &c);
	for (i = 0; i < COUNT(bad); i++)
		if (parse(bad[i], &c, &err) != RC_INVALID)
			fail_msg("%s is not refused", bad[i]);
	/* A name of one label. */
	for (n = 62; n <= 64; n++) {
		(void)snprintf(arg, sizeof(arg), "--domain=%0*d.a", (int)n, 0);
		assert_int_equal(
		    parse(arg, &c, &err), n <= 63 ? RC_OK : RC_INVALID);
	}
	/* A name: labels of 9 digits with their dots, and the rest. */
	for (n = 252; n <= 254; n++) {
		memcpy(arg, "--domain=", 9);
		memset(arg + 9, '7', n);
		for (i = 9; i < n; i += 10)
			arg[9 + i] = '.';
		arg[9 + n] = '\0';
		assert_int_equal(
		    parse(arg, &c, &err), n <= 253 ? RC_OK : RC_INVALID);
	}
}

static void
test_places(void **state)
{
	static const char *const bad[] = {"--listen=127.0.0.1:65536",
	    "--listen=127.0.0.1:655350", "--listen=127.0.0.1:99999999999",
	    "--listen=127.0.0.1:/", "--listen=127.0.0.1:1;",
	    "--listen=127.0.0.1", "--listen=localhost", "--listen=[::1:80",
	    "--listen=::1]:80", "--listen=[]:80", "--listen=]:80",
	    "--listen=[:80", "--listen="};
	char arg[80];
	struct config c;
	struct err err;
	size_t i;
	int n;

	(void)state;
	accepted("--listen=127.0.0.1:65535", &c);
	accepted("--listen=127.0.0.1:9090", &c);
	accepted("--listen=127.0.0.1:00000", &c);
	accepted("--listen=[0000:0000:0000:0000:0000:0000:0000:0001]:80", &c);
	assert_true(c.is_loopback);
	for (i = 0; i < COUNT(bad); i++)
		if (parse(bad[i], &c, &err) != RC_INVALID)
			fail_msg("%s is not refused", bad[i]);
	/* As long as an IPv6 address can be, and longer. */
	for (n = 40; n < 52; n++) {
		(void)snprintf(arg, sizeof(arg), "--listen=[%0*d]:80", n, 1);
		assert_int_equal(RC_INVALID, parse(arg, &c, &err));
	}
}

static void
test_numbers(void **state)
{
	struct config c;

	(void)state;
	accepted("--readers=1", &c);
	assert_int_equal(1, c.readers);
	accepted("--readers=64", &c);
	assert_int_equal(64, c.readers);
	accepted("--readers=09", &c);
	assert_int_equal(9, c.readers);
	accepted("--expiry=60", &c);
	assert_int_equal(60000, c.expiry_ms);
	refused("--expiry=59", "--expiry: it must lie between 1m and 366d");
	refused("--expiry=8785h", "--expiry: it must lie between 1m and 366d");
	refused("--checkpoint-size=1048575",
	    "--checkpoint-size: it must lie between 1MiB and 1GiB");
	accepted("--checkpoint-size=1024KiB", &c);
	assert_int_equal(1048576, c.checkpoint_size_bytes);
	accepted("--checkpoint-size=1048576B", &c);
	assert_int_equal(1048576, c.checkpoint_size_bytes);
	refused("--readers=", "--readers: \"\" is not a whole number");
	refused("--readers=1:", "--readers: \"1:\" is not a whole number");
	refused("--readers=/", "--readers: \"/\" is not a whole number");
	/* The largest number of milliseconds, and more. */
	refused("--expiry=106751991167d",
	    "--expiry: it must lie between 1m and 366d");
	refused("--expiry=106751991168d",
	    "--expiry: \"106751991168d\" is not a "
	    "time such as 90s, 30m, 2h or 5d");
	accepted("--rate-limit=1/s", &c);
	assert_int_equal(1, c.rate_limit);
	accepted("--rate-limit=1000000/s", &c);
	accepted("--rate-limit=default", &c);
	assert_int_equal(CONFIG_RATE_DEFAULT, c.rate_limit);
	refused("--rate-limit=1000001/s",
	    "--rate-limit: it must lie between 1 and 1000000");
	refused("--rate-limit=x/s",
	    "--rate-limit: \"x/s\" is not off, default, "
	    "or a rate such as 20/s");
}

static void
test_switches(void **state)
{
	static const char *const on[] = {"true", "yes", "on", "1"};
	static const char *const off[] = {"false", "no", "off", "0"};
	static const char *const none[] = {"", "tru", "truex", "2", "|", "n"};
	struct config c;
	struct err err;
	char arg[40];
	size_t i;

	(void)state;
	for (i = 0; i < 4; i++) {
		(void)snprintf(arg, sizeof(arg), "--demo=%s", on[i]);
		accepted(arg, &c);
		assert_true(c.demo);
		(void)snprintf(arg, sizeof(arg), "--demo=%s", off[i]);
		accepted(arg, &c);
		assert_false(c.demo);
	}
	for (i = 0; i < COUNT(none); i++) {
		(void)snprintf(arg, sizeof(arg), "--demo=%s", none[i]);
		assert_int_equal(RC_INVALID, parse(arg, &c, &err));
	}
}

/* An origin is what browsers write: another text would never match. */
static void
test_origin_forms(void **state)
{
	static const char *const good[] = {"http://az-09.example",
	    "http://127.0.0.1:8080", "https://[2001:db8::80]", "http://a:443",
	    "https://a:80", "http://[::1]:5173"};
	static const char *const bad[] = {"http://", "http://a{", "http://`",
	    "http://a;b", "http://A", "https://:::", "https://:8080",
	    "https://a:", "https://a:65536", "https://[]", "https://a]",
	    "https://a..b", "https://a:443", "http://a:80", "ftp://a",
	    "https://a/"};
	char arg[128];
	struct config c;
	struct err err;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		(void)snprintf(arg, sizeof(arg), "--allow-origin=%s", good[i]);
		accepted(arg, &c);
		assert_string_equal(c.allow_origin.list[0], good[i]);
	}
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		(void)snprintf(arg, sizeof(arg), "--allow-origin=%s", bad[i]);
		if (parse(arg, &c, &err) != RC_INVALID)
			fail_msg("%s", bad[i]);
	}
}

static void
test_lists(void **state)
{
	char arg[1024], origin[CONFIG_ORIGIN_SIZE + 8];
	struct buf b = BUF_INIT;
	struct config c;
	struct err err;
	size_t len;
	int i, n;

	(void)state;
	/* Sixteen networks, the largest number, and one more. */
	for (n = 15; n <= 17; n++) {
		len = (size_t)snprintf(arg, sizeof(arg), "--behind-proxy=");
		for (i = 0; i < n; i++)
			len += (size_t)snprintf(arg + len, sizeof(arg) - len,
			    "%s10.0.0.%d", i > 0 ? "," : "", i);
		assert_int_equal(
		    parse(arg, &c, &err), n <= 16 ? RC_OK : RC_INVALID);
		len = (size_t)snprintf(arg, sizeof(arg), "--allow-origin=");
		for (i = 0; i < n; i++)
			len += (size_t)snprintf(arg + len, sizeof(arg) - len,
			    "%shttp://a%d", i > 0 ? " " : "", i);
		assert_int_equal(
		    parse(arg, &c, &err), n <= 16 ? RC_OK : RC_INVALID);
	}
	/* The longest origin that fits. */
	for (n = CONFIG_ORIGIN_SIZE - 2; n <= CONFIG_ORIGIN_SIZE; n++) {
		(void)snprintf(origin, sizeof(origin), "http://%0*d", n - 7, 0);
		memcpy(origin + 60, ".a", 2);
		memcpy(origin + 100, ".a", 2);
		(void)snprintf(arg, sizeof(arg), "--allow-origin=%s", origin);
		assert_int_equal(parse(arg, &c, &err),
		    n < CONFIG_ORIGIN_SIZE ? RC_OK : RC_INVALID);
		if (n < CONFIG_ORIGIN_SIZE)
			assert_string_equal(c.allow_origin.list[0], origin);
	}
	/* Every form of a network, and the form in which it is printed. */
	accepted("--behind-proxy=0.0.0.0/0, ::/0 ,10.0.0.0/8,10.1.2.3/32,fe80::"
		 "/10,::ffff:0.0.0.0/96,::/1",
	    &c);
	config_write(&c, &b);
	buf_addc(&b, '\0');
	assert_non_null(strstr(b.data,
	    "\nbehind-proxy = 0.0.0.0/0,::/0,10.0.0.0/8,10.1.2.3/32,fe80::/10,"
	    "0.0.0.0/0,::/1 ; --behind-proxy\n"));
	buf_fini(&b);
	/* A bit that is set beyond the length: the last one, and the first. */
	assert_int_equal(
	    RC_INVALID, parse("--behind-proxy=10.1.2.3/31", &c, &err));
	assert_int_equal(RC_INVALID, parse("--behind-proxy=::1/127", &c, &err));
	assert_int_equal(
	    RC_INVALID, parse("--behind-proxy=128.0.0.0/0", &c, &err));
	assert_int_equal(RC_OK, parse("--behind-proxy=128.0.0.0/1", &c, &err));
	assert_int_equal(
	    RC_INVALID, parse("--behind-proxy=10.0.0.0/8x", &c, &err));
}

static void
test_texts(void **state)
{
	char arg[CONFIG_TEXT_SIZE + 40];
	struct config c;
	struct err err;
	int n;

	(void)state;
	for (n = CONFIG_TEXT_SIZE - 2; n <= CONFIG_TEXT_SIZE; n++) {
		(void)snprintf(arg, sizeof(arg), "--db=sqlite:%0*d", n - 7, 0);
		assert_int_equal(parse(arg, &c, &err),
		    n < CONFIG_TEXT_SIZE ? RC_OK : RC_INVALID);
	}
	assert_memory_equal(err.text, "--db: \"sqlite:", 14);
	/* "sqlite:" before and "/twinbox.db" after the folder need room,
	 * too. */
	for (n = CONFIG_TEXT_SIZE - 20; n <= CONFIG_TEXT_SIZE - 18; n++) {
		(void)snprintf(arg, sizeof(arg), "--data=%0*d", n, 0);
		assert_int_equal(parse(arg, &c, &err),
		    n + 18 < CONFIG_TEXT_SIZE ? RC_OK : RC_INVALID);
	}
	assert_string_equal(err.text, "data: the path is too long");
}

static void
test_urls(void **state)
{
	static const struct {
		const char *arg;
		enum rc rc;
	} rows[] = {
	    {"--db=postgres://host/chat", RC_OK},
	    {"--db=postgresql://ann@[::1]:5432/chat", RC_OK},
	    {"--db=postgresql://host/a@b:c", RC_OK},
	    /* For libpq the user is "host?application_name=a". */
	    {"--db=postgresql://host?application_name=a:b@c", RC_INVALID},
	    {"--db=postgresql://host?application_name=a:b", RC_OK},
	    {"--db=postgres://ann:secret@host/chat", RC_INVALID},
	    {"--db=postgres://:@host", RC_INVALID},
	    {"--db=sqlite:a://b:c@d?password=x", RC_OK},
	    {"--db=sqlite", RC_INVALID},
	    {"--db=postgres://", RC_INVALID},
	    {"--db=postgres:host", RC_INVALID},
	};
	struct config c;
	struct err err;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(rows); i++)
		if (parse(rows[i].arg, &c, &err) != rows[i].rc)
			fail_msg("%s: %s", rows[i].arg, err.text);
}

/* The shortest value that is long enough. */
static void
test_sums(void **state)
{
	char file[200];
	struct config c;
	struct err err;
	int s;

	(void)state;
	for (s = 89; s <= 91; s++) {
		(void)snprintf(file, sizeof(file),
		    "delivery-timeout = 30s\nlease = %ds\n", s);
		write_file(file);
		assert_int_equal(
		    parse_file(&c, &err), s >= 90 ? RC_OK : RC_INVALID);
		if (s < 90)
			assert_string_equal(err.text,
			    "lease: it is shorter than three times "
			    "delivery-timeout, so messages could be taken over "
			    "while they are on their way; make it at least "
			    "90s");
	}
	for (s = 172799; s <= 172801; s++) {
		(void)snprintf(file, sizeof(file),
		    "expiry = 1d\nrequeue-window = 1d\ndedup-retention = "
		    "%ds\n",
		    s);
		write_file(file);
		assert_int_equal(
		    parse_file(&c, &err), s >= 172800 ? RC_OK : RC_INVALID);
	}
}

/* The last line needs no line end.  The longest line has 198 characters. */
static void
test_lines(void **state)
{
	char line[LINE_LEN + 8];
	struct config c;
	struct err err;
	int n;

	(void)state;
	write_file("readers = 3\nhttp-loops = 4");
	assert_int_equal(RC_OK, parse_file(&c, &err));
	assert_int_equal(3, c.readers);
	assert_int_equal(4, c.http_loops);
	for (n = LINE_LEN - 1; n <= LINE_LEN + 1; n++) {
		(void)snprintf(line, sizeof(line), "domain=%0*d\n", n - 7, 0);
		memcpy(line + 60, ".a", 2);
		memcpy(line + 120, ".a", 2);
		memcpy(line + 180, ".a", 2);
		write_file(line);
		assert_int_equal(
		    parse_file(&c, &err), n <= LINE_LEN ? RC_OK : RC_INVALID);
		if (n <= LINE_LEN)
			assert_int_equal(strlen(c.domain), n - 7);
	}
	write_file("");
	assert_int_equal(RC_OK, parse_file(&c, &err));
	variable = "TWINBOX_CONFIG";
	variable_value = path;
	write_file("readers = 5");
	accepted(NULL, &c);
	assert_int_equal(5, c.readers);
	/* An empty variable counts as not set. */
	variable_value = line;
	line[0] = '\0';
	accepted(NULL, &c);
	assert_int_equal(2, c.readers);
	assert_string_equal("", c.file);
	variable = NULL;
}

/* Each line that is printed can be read again, whatever remark follows it. */
static void
test_long_lines(void **state)
{
	char data[LINE_LEN + 1], arg[LINE_LEN + 16], want[LINE_LEN * 2];
	struct buf b = BUF_INIT;
	struct config c, again;
	struct err err;
	int n;

	(void)state;
	for (n = 181; n <= 183; n++) {
		(void)snprintf(data, sizeof(data), "%0*d", n, 0);
		(void)snprintf(arg, sizeof(arg), "--data=%s", data);
		accepted(arg, &c);
		config_write(&c, &b);
		buf_addc(&b, '\0');
		(void)snprintf(want, sizeof(want), "\ndata = %s%s--data\n",
		    data, n <= 182 ? " ; " : "\n; ");
		assert_non_null(strstr(b.data, want));
		write_file(b.data);
		assert_int_equal(RC_INVALID, parse_file(&again, &err));
		/* The line of db is too long: its value contains the value of
		 * data. */
		assert_non_null(strstr(err.text, "longer than 198"));
		buf_reset(&b);
	}
	accepted("--demo", &c);
	config_write(&c, &b);
	buf_addc(&b, '\0');
	assert_memory_equal(b.data,
	    "listen = 127.0.0.1:8080 ; default\n"
	    "data = ./twinbox-data ; default\n"
	    "db = sqlite:./twinbox-data/twinbox.db ; default\n"
	    "database-wait = 5m ; default\n"
	    "domain = localhost ; default\n"
	    "demo = true ; --demo\n"
	    "registration = open ; because of demo\n"
	    "rate-limit = ",
	    34 + 32 + 48 + 29 + 29 + 21 + 38 + 13);
	buf_fini(&b);
	variable = "TWINBOX_INSECURE";
	variable_value = data;
	memcpy(data, "yes", 4);
	accepted("--rate-limit=20/s", &c);
	config_write(&c, &b);
	buf_addc(&b, '\0');
	assert_non_null(strstr(b.data, "\nrate-limit = 20/s ; --rate-limit\n"));
	buf_fini(&b);
	accepted("--allow-origin=", &c);
	variable = NULL;
	config_write(&c, &b);
	buf_addc(&b, '\0');
	assert_non_null(
	    strstr(b.data, "\ninsecure = true ; TWINBOX_INSECURE\n"));
	assert_non_null(strstr(b.data, "\nallow-origin =  ; --allow-origin\n"));
	buf_fini(&b);
}

/* Whichever allocation fails, the output is complete or marked as failed. */
static void
test_no_memory(void **state)
{
	struct buf b = BUF_INIT, whole = BUF_INIT;
	struct config c;
	bool pending;
	int k, failures = 0;

	(void)state;
	accepted("--data=/some/where", &c);
	config_write(&c, &whole);
	assert_true(buf_ok(&whole));
	for (k = 1;; k++) {
		assert_true(k < 500);
		mem_fail_at(k);
		config_write(&c, &b);
		pending = mem_fail_pending();
		mem_fail_at(0);
		if (buf_ok(&b)) {
			assert_int_equal(b.len, whole.len);
			assert_memory_equal(b.data, whole.data, b.len);
		} else {
			failures++;
		}
		buf_fini(&b);
		if (pending)
			break;
	}
	assert_true(failures > 2);
	buf_fini(&whole);
}

/* The beginnings of the texts, and one setting of each kind. */
static void
test_printed(void **state)
{
	static const char *const help[] = {
	    "Settings (flags win, then the environment, then the file):\n"
	    "  --config FILE  [TWINBOX_CONFIG]\n"
	    "      A file with lines \"name = value\".\n"
	    "  --listen HOST:PORT  [TWINBOX_LISTEN]  (default "
	    "127.0.0.1:8080)\n"
	    "      Where to listen; port 0 takes a free one. Anything but "
	    "loopback needs\n"
	    "      behind-proxy or insecure\n"
	    "  --data DIR  [TWINBOX_DATA]  (default ./twinbox-data)\n",
	    "\n  --db URL  [TWINBOX_DB]\n"
	    "      The database, sqlite:PATH or postgresql://HOST/NAME; if "
	    "empty,\n"
	    "      sqlite:DATA/twinbox.db\n",
	    "\n  --demo  [TWINBOX_DEMO]\n"
	    "      Make demo users in an empty database and open registration; "
	    "only on\n"
	    "      loopback\n",
	    "\n  --checkpoint-size SIZE  [TWINBOX_CHECKPOINT_SIZE]  (default "
	    "128MiB)\n",
	};
	static const char *const sample[] = {
	    "# Settings of twinboxd.  Lines are \"name = value\"; flags and\n"
	    "# the environment win over them.  A line that is commented out here\n"
	    "# has the default.  twinboxd check-config shows what is in effect.\n"
	    "\n"
	    "# Where to listen; port 0 takes a free one. Anything but loopback "
	    "needs\n"
	    "# behind-proxy or insecure\n"
	    "#listen = 127.0.0.1:8080\n"
	    "\n"
	    "# Directory of the database, the lock and the control socket\n"
	    "#data = ./twinbox-data\n",
	    "\n#db =\n\n", "\n#demo = false\n\n", "\n#registration = closed\n"};
	struct buf b = BUF_INIT;
	char *line, *end;
	size_t i;

	(void)state;
	config_write_help(&b);
	buf_addc(&b, '\0');
	assert_memory_equal(b.data, help[0], strlen(help[0]));
	for (i = 0; i < COUNT(help); i++)
		if (strstr(b.data, help[i]) == NULL)
			fail_msg("the help lacks %s", help[i]);
	/* Words are not cut, and no line is too long. */
	for (line = b.data; (end = strchr(line, '\n')) != NULL; line = end + 1)
		if (line[2] == ' ')
			assert_true(end - line <= 78 && end[-1] != ' ');
	buf_reset(&b);
	config_write_sample(&b);
	buf_addc(&b, '\0');
	assert_memory_equal(b.data, sample[0], strlen(sample[0]));
	for (i = 0; i < COUNT(sample); i++)
		if (strstr(b.data, sample[i]) == NULL)
			fail_msg("the sample lacks %s", sample[i]);
	buf_fini(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_names),
	    cmocka_unit_test(test_domains),
	    cmocka_unit_test(test_places),
	    cmocka_unit_test(test_numbers),
	    cmocka_unit_test(test_switches),
	    cmocka_unit_test(test_origin_forms),
	    cmocka_unit_test(test_lists),
	    cmocka_unit_test(test_texts),
	    cmocka_unit_test(test_urls),
	    cmocka_unit_test(test_sums),
	    cmocka_unit_test(test_lines),
	    cmocka_unit_test(test_long_lines),
	    cmocka_unit_test(test_no_memory),
	    cmocka_unit_test(test_printed),
	};

	return (cmocka_run_group_tests_name(
	    "config_edges", tests, setup, teardown));
}
