/* SPDX-License-Identifier: MIT */
/*
 * Reads a configuration file of any bytes.  Claims that each accepted value
 * lies in its range, and that config_write() writes the settings in a form that
 * is read again as the same settings.  A second, slow reader checks the
 * networks.  A refusal names the place in the file.
 */
#include <sys/mman.h>

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/config_internal.h"
#include "fuzz/fuzz.h"

static char path[64];
static int fd;

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{

	(void)argc;
	(void)argv;
	fd = memfd_create("config", MFD_CLOEXEC);
	MUST(fd >= 0);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return (0);
}

static char *
no_environment(const char *name)
{

	(void)name;
	return (NULL);
}

static enum rc
parse(const void *data, size_t size, struct config *ret, struct err *err)
{
	char flag[] = "--config";
	char *argv[] = {flag, path, NULL};

	MUST(ftruncate(fd, 0) == 0);
	MUST(pwrite(fd, data, size, 0) == (ssize_t)size);
	return (config_parse(2, argv, no_environment, ret, err));
}

static void
check_ranges(const struct config *c)
{
	const struct config_row *row;
	const int64_t *number;
	int i;

	for (i = 0; i < CONFIG_COUNT; i++) {
		row = &config_rows[i];
		number = (const void *)((const char *)c + row->offset);
		if (row->type != CONFIG_INT && row->type != CONFIG_DURATION &&
		    row->type != CONFIG_SIZE && row->type != CONFIG_RATE)
			continue;
		if (row->type == CONFIG_RATE && *number == 0)
			continue;
		MUST(*number >= row->min && *number <= row->max);
	}
}

/* Claims that no network has a bit set beyond its prefix length. */
static void
check_networks(const struct config_cidrs *list)
{
	const struct config_cidr *c;
	uint8_t rest;
	int i, byte;

	MUST(list->n >= 0 && list->n <= CONFIG_LIST_MAX);
	for (i = 0; i < list->n; i++) {
		c = &list->list[i];
		MUST(c->bits >= 0 && c->bits <= 128);
		for (byte = 0; byte < 16; byte++) {
			if (c->bits >= 8 * byte + 8)
				rest = 0;
			else if (c->bits <= 8 * byte)
				rest = 0xff;
			else
				rest = (uint8_t)(0xffu >> (c->bits - 8 * byte));
			MUST((c->address[byte] & rest) == 0);
		}
	}
}

static void
check_origins(const struct config_origins *list)
{
	const char *text;
	int i;

	MUST(list->n >= 0 && list->n <= CONFIG_LIST_MAX);
	for (i = 0; i < list->n; i++) {
		text = list->list[i];
		MUST(strncmp(text, "http://", 7) == 0 ||
		     strncmp(text, "https://", 8) == 0);
		MUST(strpbrk(text, " \t\r\n,;\"'<>\\") == NULL);
	}
}

/* Claims that a server with federation has a name and a URL and is not its own
 * peer, and that a plain http URL is accepted only for a host that can only be
 * this machine. */
static void
check_federation(const struct config *c)
{
	const struct config_peers *peers = &c->federation_peer;
	const char *host = c->federation_url.host;
	int i, k;

	MUST(c->federation_allow.n <= DOMAIN_LIST_MAX);
	MUST(c->federation_deny.n <= DOMAIN_LIST_MAX);
	MUST(peers->n >= 0 && peers->n <= CONFIG_LIST_MAX);
	for (i = 0; i < peers->n; i++) {
		MUST(strchr(peers->list[i].domain, '.') != NULL);
		for (k = 0; k < i; k++)
			MUST(strcmp(peers->list[i].domain,
				 peers->list[k].domain) != 0);
	}
	if (c->federation == FEDERATION_OFF)
		return;
	MUST(strchr(c->domain, '.') != NULL && host[0] != '\0');
	MUST(peers->n == 0 || c->behind_proxy.n == 0);
	for (i = 0; i < peers->n; i++)
		MUST(strcmp(peers->list[i].domain, c->domain) != 0);
	if (!c->federation_url.https)
		MUST(strcmp(host, "localhost") == 0 ||
		     strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0);
}

/* Returns true if every line of ${b}, comments apart, is short enough for a
 * configuration file. */
static bool
lines_fit(const struct buf *b)
{
	const uint8_t *p = (const uint8_t *)b->data, *line;
	size_t n = b->len, len;

	while (n > 0) {
		line = fuzz_line(&p, &n, &len);
		if (len > CONFIG_LINE_LEN && line[0] != ';')
			return (false);
	}
	return (true);
}

static void
same_origins(const struct config_origins *a, const struct config_origins *b)
{
	int i;

	MUST(a->n == b->n);
	for (i = 0; i < a->n; i++)
		MUST(strcmp(a->list[i], b->list[i]) == 0);
}

static void
same_url(const struct domain_url *a, const struct domain_url *b)
{

	MUST(a->https == b->https && a->port == b->port);
	MUST(strcmp(a->host, b->host) == 0);
	MUST(strcmp(a->authority, b->authority) == 0);
}

static void
same_domains(const struct domain_list *a, const struct domain_list *b)
{
	int i;

	MUST(a->n == b->n);
	for (i = 0; i < a->n; i++)
		MUST(strcmp(a->entry[i], b->entry[i]) == 0);
}

static void
same_peers(const struct config_peers *a, const struct config_peers *b)
{
	int i;

	MUST(a->n == b->n);
	for (i = 0; i < a->n; i++) {
		MUST(strcmp(a->list[i].domain, b->list[i].domain) == 0);
		same_url(&a->list[i].url, &b->list[i].url);
	}
}

/* Writes the settings, reads them and writes them again: both texts are
 * equal. */
static void
check_round_trip(const struct config *c)
{
	static struct config again;
	struct buf one = BUF_INIT;
	struct err err = ERR_INIT;

	config_write(c, &one);
	MUST(buf_ok(&one));
	if (!lines_fit(&one)) {
		buf_fini(&one);
		return;
	}
	MUST(parse(one.data, one.len, &again, &err) == RC_OK);
	check_ranges(&again);
#define X(type, member, name, def, min, max, arg, help) SAME_##type(member)
#define SAME_NUMBER(member) MUST(c->member == again.member);
#define SAME_BOOL SAME_NUMBER
#define SAME_CHOICE SAME_NUMBER
#define SAME_RATE SAME_NUMBER
#define SAME_INT SAME_NUMBER
#define SAME_DURATION(member) SAME_NUMBER(member##_ms)
#define SAME_SIZE(member) SAME_NUMBER(member##_bytes)
#define SAME_TEXT(member) MUST(strcmp(c->member, again.member) == 0);
#define SAME_CIDRS(member)                                                     \
	MUST(memcmp(&c->member, &again.member, sizeof(c->member)) == 0);
#define SAME_ORIGINS(member) same_origins(&c->member, &again.member);
#define SAME_URL(member) same_url(&c->member, &again.member);
#define SAME_DOMAINS(member) same_domains(&c->member, &again.member);
#define SAME_PEERS(member) same_peers(&c->member, &again.member);
	CONFIG_TABLE(X)
#undef X
	buf_fini(&one);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct config c;
	struct err err = ERR_INIT;
	enum rc rc = parse(data, size, &c, &err);

	if (rc != RC_OK) {
		MUST(rc == RC_INVALID && err.rc == rc && err.text[0] != '\0');
		return (0);
	}
	check_ranges(&c);
	check_networks(&c.behind_proxy);
	check_networks(&c.federation_networks);
	check_origins(&c.allow_origin);
	check_federation(&c);
	MUST(strlen(c.listen) < CONFIG_TEXT_SIZE);
	MUST(c.is_loopback || c.insecure || c.behind_proxy.n > 0);
	check_round_trip(&c);
	return (0);
}
