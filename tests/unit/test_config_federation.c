/* SPDX-License-Identifier: MIT */
/*
 * The settings about other servers: the values that each accepts and refuses,
 * the rules between them, their warnings, and that the output can be read
 * again.
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

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define ARGS_MAX 16
#define TEXT_SIZE 32768
#define L10 "abcdefghij"
#define L63 L10 L10 L10 L10 L10 L10 "abc"
#define N253 L63 "." L63 "." L63 "." L10 L10 L10 L10 L10 L10 "a"
/* Options with which federation may be on. */
#define ON "--domain a.example --federation list "
#define OPEN "--domain a.example --federation open "

static const char *variable; /* in the environment of a test; NULL: none */
static char variable_value[TEXT_SIZE];

static char *
lookup(const char *name)
{

	return (variable != NULL && strcmp(name, variable) == 0 ? variable_value
								: NULL);
}

/* Parses ${line}, arguments with one space between them. */
static enum rc
parse(const char *line, struct config *config, struct err *err)
{
	static char text[TEXT_SIZE];
	char *argv[ARGS_MAX], *save;
	int argc;

	*err = (struct err)ERR_INIT;
	assert_true(strlen(line) < sizeof(text));
	memcpy(text, line, strlen(line) + 1);
	argc = 0;
	for (argv[0] = strtok_r(text, " ", &save); argv[argc] != NULL;
	     argv[argc] = strtok_r(NULL, " ", &save))
		assert_true(++argc < ARGS_MAX);
	return (config_parse(argc, argv, lookup, config, err));
}

static void
accepted(const char *line, struct config *config)
{
	struct err err;

	if (parse(line, config, &err) != RC_OK)
		fail_msg("%s: %s", line, err.text);
}

/* ${line} must be refused, with a text that begins with ${begin} and contains
 * ${cure}. */
static void
refused(const char *line, const char *begin, const char *cure)
{
	struct config config;
	struct err err;

	if (parse(line, &config, &err) != RC_INVALID)
		fail_msg("%s is not refused", line);
	if (strncmp(err.text, begin, strlen(begin)) != 0 ||
	    strstr(err.text, cure) == NULL)
		fail_msg("%s: %s", line, err.text);
	/* The text must not fill its room, or the cure might be cut. */
	assert_true(strlen(err.text) < sizeof(err.text) - 1);
}

static void
test_off(void **state)
{
	struct config c;

	(void)state;
	accepted("", &c);
	assert_int_equal(FEDERATION_OFF, c.federation);
	assert_string_equal("", c.federation_url.host);
	assert_int_equal(0, c.federation_allow.n);
	assert_int_equal(0, c.federation_deny.n);
	assert_int_equal(0, c.federation_networks.n);
	assert_string_equal("", c.federation_ca);
	assert_int_equal(0, c.federation_peer.n);
	/* The rules apply only while federation is on. */
	accepted("--domain a.example", &c);
	assert_string_equal("", c.federation_url.host);
	accepted("--federation off --federation-url https://b.example "
		 "--federation-peer localhost.x=http://localhost "
		 "--behind-proxy 127.0.0.1",
	    &c);
}

static void
test_modes(void **state)
{
	struct config c;

	(void)state;
	accepted(ON, &c);
	assert_int_equal(FEDERATION_LIST, c.federation);
	accepted(OPEN, &c);
	assert_int_equal(FEDERATION_OPEN, c.federation);
	accepted("--domain a.example --federation off", &c);
	assert_int_equal(FEDERATION_OFF, c.federation);
	refused("--federation on", "--federation: \"on\" is not one of",
	    "off|list|open");
	refused("--federation=", "--federation: \"\" is not one of", "list");
	/* Every form of a domain that no other server can contact. */
	refused("--federation open", "domain: other servers", "chat.example");
	refused("--federation list", "domain: other", "\"localhost\"");
	refused("--federation open --domain chat", "domain: ", "\"chat\"");
	refused("--federation open --domain 127.0.0.1",
	    "domain: ", "federation to off");
	refused("--federation open --domain a.1", "domain: ", "\"a.1\"");
	refused("--federation open --domain .a", "domain: \".a\" is not",
	    "lower case");
}

static void
test_url(void **state)
{
	struct config c;

	(void)state;
	accepted(ON, &c);
	assert_true(c.federation_url.https);
	assert_string_equal("a.example", c.federation_url.host);
	assert_string_equal("a.example", c.federation_url.authority);
	assert_int_equal(443, c.federation_url.port);
	assert_int_equal(CONFIG_FROM_DEFAULT, c.source[CONFIG_federation_url]);
	accepted("--federation open --domain " N253, &c);
	assert_string_equal(N253, c.federation_url.host);
	accepted(ON "--federation-url https://fed.a.example:443", &c);
	assert_string_equal("fed.a.example", c.federation_url.authority);
	accepted(ON "--federation-url=", &c);
	assert_string_equal("a.example", c.federation_url.host);
	/* In tests and closed networks the other servers have pinned this
	 * URL. */
	accepted(ON "--federation-url http://[::1]:8080", &c);
	assert_string_equal("[::1]:8080", c.federation_url.authority);
	accepted(ON "--federation-url https://10.0.0.5:8443 "
		    "--federation-peer b.example=https://10.0.0.6:8443",
	    &c);
	assert_string_equal("10.0.0.5:8443", c.federation_url.authority);

	refused(ON "--federation-url https://b.example",
	    "federation-url: other servers refuse b.example, because",
	    "port 443 of a.example or of a name below it; leave");
	refused(ON "--federation-url https://example",
	    "federation-url: ", "refuse example,");
	refused(ON "--federation-url https://ba.example",
	    "federation-url: ", "refuse ba.example,");
	refused(ON "--federation-url https://a.example:8443",
	    "federation-url: ", "refuse a.example:8443,");
	refused(ON "--federation-url https://localhost",
	    "federation-url: ", "refuse localhost,");
	refused(ON "--federation-url http://a.example",
	    "--federation-url: \"http://a.example\" is not encrypted",
	    "write https");
	refused(ON "--federation-url a.example",
	    "--federation-url: \"a.example\" is not a valid URL",
	    "https://HOST");
	refused("--federation-url https://" N253 "/x",
	    "--federation-url: \"https://" L63, "query and fragment");
}

static void
test_lists(void **state)
{
	struct config c;

	(void)state;
	accepted(ON "--federation-allow b.example,.example.org "
		    "--federation-deny .b.example",
	    &c);
	assert_int_equal(2, c.federation_allow.n);
	assert_true(domain_listed(&c.federation_allow, "b.example"));
	assert_true(domain_listed(&c.federation_allow, "x.example.org"));
	assert_false(domain_listed(&c.federation_allow, "x.b.example"));
	assert_int_equal(1, c.federation_deny.n);
	assert_true(domain_listed(&c.federation_deny, "x.b.example"));
	accepted(ON "--federation-allow=", &c);
	assert_int_equal(0, c.federation_allow.n);

	refused("--federation-allow b.example,localhost",
	    "--federation-allow: \"localhost\" is not a valid domain",
	    ".example.org");
	refused("--federation-allow *.example",
	    "--federation-allow: \"*.example\" is not", "suffix");
	refused("--federation-deny B.example",
	    "--federation-deny: \"B.example\" is not a valid domain",
	    "b.example");
	refused("--federation-deny 10.0.0.1",
	    "--federation-deny: \"10.0.0.1\" is not", "valid domain");
}

/* Lists that are longer than a line of a file may come from the environment, as
 * for other settings. */
static void
test_long_list(void **state)
{
	struct config c;
	struct err err;
	size_t n = 0;
	int i;

	(void)state;
	for (i = 0; i < DOMAIN_LIST_MAX; i++)
		n += (size_t)snprintf(variable_value + n,
		    sizeof(variable_value) - n, "%s%d.%s", i == 0 ? "" : ",",
		    100 + i, N253 + 4);
	variable = "TWINBOX_FEDERATION_DENY";
	accepted("", &c);
	assert_int_equal(DOMAIN_LIST_MAX, c.federation_deny.n);
	assert_memory_equal("163.", c.federation_deny.entry[63], 4);
	assert_int_equal(253, strlen(c.federation_deny.entry[63]));
	(void)snprintf(
	    variable_value + n, sizeof(variable_value) - n, ",c.example");
	assert_int_equal(RC_INVALID, parse("", &c, &err));
	assert_string_equal("TWINBOX_FEDERATION_DENY: \"c.example\" is one "
			    "domain too many: at most 64 are supported",
	    err.text);
	variable = NULL;
}

static void
test_networks(void **state)
{
	static const uint8_t ten[16] = {[10] = 0xff, [11] = 0xff, [12] = 10};
	struct config c;

	(void)state;
	accepted(ON "--federation-networks 10.0.0.0/8,fd00::/8", &c);
	assert_int_equal(2, c.federation_networks.n);
	assert_memory_equal(ten, c.federation_networks.list[0].address, 16);
	assert_int_equal(104, c.federation_networks.list[0].bits);
	assert_int_equal(8, c.federation_networks.list[1].bits);
	refused("--federation-networks b.example",
	    "--federation-networks: \"b.example\" is not", "10.0.0.0/8");
}

static void
test_peers(void **state)
{
	char line[1024], *end;
	struct config c;
	int i;

	(void)state;
	accepted(ON "--federation-peer "
		    "b.example=http://127.0.0.1:8081,c.example=https://[::1]",
	    &c);
	assert_int_equal(2, c.federation_peer.n);
	assert_string_equal("b.example", c.federation_peer.list[0].domain);
	assert_string_equal("127.0.0.1", c.federation_peer.list[0].url.host);
	assert_int_equal(8081, c.federation_peer.list[0].url.port);
	assert_false(c.federation_peer.list[0].url.https);
	assert_string_equal("c.example", c.federation_peer.list[1].domain);
	assert_string_equal("::1", c.federation_peer.list[1].url.host);
	accepted(ON "--federation-peer " N253 "=https://" N253 ":65535", &c);
	assert_string_equal(N253, c.federation_peer.list[0].url.host);

	end = line + snprintf(line, sizeof(line), ON "--federation-peer ");
	for (i = 0; i <= CONFIG_LIST_MAX; i++) {
		if (i == CONFIG_LIST_MAX)
			accepted(line, &c);
		end += snprintf(end, (size_t)(line + sizeof(line) - end),
		    "%sb%d.example=https://b", i == 0 ? "" : ",", i);
	}
	assert_int_equal(CONFIG_LIST_MAX, c.federation_peer.n);
	refused(line, "--federation-peer: b16.example is one server too many",
	    "at most 16");

	refused("--federation-peer b.example",
	    "--federation-peer: \"b.example\" is not a valid peer",
	    "DOMAIN=URL");
	refused("--federation-peer localhost=https://b.example",
	    "--federation-peer: \"localhost\" is not a valid domain",
	    "b.example");
	refused("--federation-peer b.example=http://10.0.0.1",
	    "--federation-peer: \"http://10.0.0.1\" is not encrypted",
	    "write https");
	refused("--federation-peer b.example=https://x,b.example=https://y",
	    "--federation-peer: b.example stands in the list twice",
	    "leave one of them out");
	refused("--federation-peer " N253 "=https://" N253 ":65535000",
	    "--federation-peer: \"" L63, "too long for DOMAIN=URL");
	refused(ON "--federation-peer b.example=https://b,a.example=https://a",
	    "federation-peer: a.example is this server's own domain",
	    "leave it out");
	refused(ON "--federation-peer b.example=https://b "
		   "--behind-proxy 127.0.0.1",
	    "federation-peer: ", "behind-proxy; leave one of them out");
}

struct warnings {
	int n;
	char text[4][256];
};

static void
note_warning(void *arg, const char *text)
{
	struct warnings *w = arg;

	assert_true(w->n < (int)COUNT(w->text));
	(void)snprintf(w->text[w->n++], sizeof(w->text[0]), "%s", text);
}

/* The warnings for each line of settings: how each begins, and a part of
 * each. */
static void
test_warnings(void **state)
{
	static const struct {
		const char *line;
		const char *warnings[2][2];
	} rows[] = {
	    {"", {{NULL}}},
	    {"--domain a.example", {{NULL}}},
	    {OPEN, {{NULL}}},
	    {OPEN "--federation-deny b.example --federation-networks "
		  "10.0.0.0/8,fc00::/7",
		{{NULL}}},
	    {ON "--federation-allow b.example", {{NULL}}},
	    {ON "--federation-peer b.example=https://b", {{NULL}}},
	    /* without effect */
	    {"--federation-url https://a.example",
		{{"federation-url: it has no effect while federation is off",
		    "set federation to list or open"}}},
	    {"--federation-allow b.example --federation-deny c.example",
		{{"federation-allow: it has no effect", "off"},
		    {"federation-deny: it has no effect", "off"}}},
	    {"--federation-networks 0.0.0.0/0",
		{{"federation-networks: it has no effect", "off"}}},
	    {"--federation-ca /x.pem",
		{{"federation-ca: it has no effect", "off"}}},
	    {OPEN "--federation-ca /x.pem", {{NULL}}},
	    {"--federation-peer b.example=https://b",
		{{"federation-peer: it has no effect", "or leave it out"}}},
	    {ON, {{"federation: no other server is allowed", "open or off"}}},
	    {ON "--federation-deny b.example",
		{{"federation: no other server is allowed",
		    "federation-allow"}}},
	    {OPEN "--federation-allow b.example",
		{{"federation-allow: it has no effect while federation is open",
		    "set federation to list"}}},
	    /* a URL for pinned peers alone */
	    {OPEN "--federation-url http://localhost:8080",
		{{"federation-url: only servers that name localhost:8080",
		    "leave the setting out"}}},
	    {OPEN "--federation-peer b.example=https://b "
		  "--federation-url https://a.example:444",
		{{"federation-url: only servers that name a.example:444 in",
		    "federation-peer"}}},
	    {OPEN "--federation-url https://x.a.example", {{NULL}}},
	    /* networks that contain everybody */
	    {OPEN "--federation-networks 10.0.0.0/8,0.0.0.0/0,::/0",
		{{"federation-networks: 0.0.0.0/0 is wider than any private",
		     "servers that you know"},
		    {"federation-networks: ::/0 is wider", "strangers"}}},
	};
	struct config c;
	size_t i;
	int k;

	(void)state;
	for (i = 0; i < COUNT(rows); i++) {
		struct warnings w = {.n = 0};

		accepted(rows[i].line, &c);
		assert_int_equal(RC_OK, config_warn(&c, note_warning, &w));
		for (k = 0; k < 2 && rows[i].warnings[k][0] != NULL; k++) {
			const char *begin = rows[i].warnings[k][0];

			if (strncmp(w.text[k], begin, strlen(begin)) != 0 ||
			    strstr(w.text[k], rows[i].warnings[k][1]) == NULL)
				fail_msg("%s: %s", rows[i].line, w.text[k]);
		}
		if (w.n != k)
			fail_msg("%s: %d warnings", rows[i].line, w.n);
	}
}

static void
assert_prints(const struct config *c, const char *want, struct buf *out)
{

	buf_reset(out);
	config_write(c, out);
	buf_addc(out, '\0');
	if (strstr(out->data, want) == NULL)
		fail_msg("%s\nlacks\n%s", out->data, want);
}

/* The output of check-config is a file that gives the same settings. */
static void
test_write_and_read(void **state)
{
	char path[] = "/tmp/test_config_federation.XXXXXX", line[96];
	struct buf b = BUF_INIT;
	struct config c;
	int fd;

	(void)state;
	accepted("", &c);
	assert_prints(&c,
	    "\nfederation = off ; default\n"
	    "federation-url =  ; default\n"
	    "federation-allow =  ; default\n"
	    "federation-deny =  ; default\n"
	    "federation-networks =  ; default\n"
	    "federation-ca =  ; default\n"
	    "federation-peer =  ; default\n",
	    &b);
	accepted(ON "--federation-allow b.example,,.example.org "
		    "--federation-peer "
		    "c.example=http://[::1]:80,d.example=https://[::1]:80",
	    &c);
	assert_prints(&c,
	    "\nfederation = list ; --federation\n"
	    "federation-url = https://a.example ; default\n"
	    "federation-allow = b.example,.example.org ; --federation-allow\n"
	    "federation-deny =  ; default\n"
	    "federation-networks =  ; default\n"
	    "federation-ca =  ; default\n"
	    "federation-peer = "
	    "c.example=http://[::1],d.example=https://[::1]:80 ; "
	    "--federation-peer\n",
	    &b);
	assert_true((fd = mkstemp(path)) >= 0);
	assert_int_equal(b.len - 1, write(fd, b.data, b.len - 1));
	assert_int_equal(0, close(fd));
	(void)snprintf(line, sizeof(line), "--config %s", path);
	accepted(line, &c);
	assert_int_equal(0, unlink(path));
	assert_int_equal(FEDERATION_LIST, c.federation);
	assert_int_equal(2, c.federation_allow.n);
	assert_int_equal(2, c.federation_peer.n);
	assert_int_equal(80, c.federation_peer.list[1].url.port);
	assert_int_equal(CONFIG_FROM_FILE, c.source[CONFIG_federation_peer]);
	buf_fini(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_off),
	    cmocka_unit_test(test_modes),
	    cmocka_unit_test(test_url),
	    cmocka_unit_test(test_lists),
	    cmocka_unit_test(test_long_list),
	    cmocka_unit_test(test_networks),
	    cmocka_unit_test(test_peers),
	    cmocka_unit_test(test_warnings),
	    cmocka_unit_test(test_write_and_read),
	};

	return (cmocka_run_group_tests_name(
	    "config_federation", tests, NULL, NULL));
}
