/* SPDX-License-Identifier: MIT */
/*
 * loadgen: drives a running server and reports figures as one line of JSON.  It
 * shares the processors with the server that it measures, so it is cheap: one
 * thread, one epoll loop, requests built once and patched, answers searched
 * instead of parsed.
 */
#include <arpa/inet.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "util.h"

static const char usage[] =
    "usage: loadgen COMMAND --url http://127.0.0.1:PORT [option ...]\n"
    "  send      durable sends: --connections N --seconds S | --messages M\n"
    "            to another server: --domain NAME\n"
    "            to one that the fault carrier plays: --faults DIR\n"
    "            [--latency MS], and is away until all is sent: --outage\n"
    "  flow      send to frame, the next send at the answer: --pairs N\n"
    "            --seconds S [--http]\n"
    "  e2e       send, event, ack, receipt: --pairs N --seconds S [--http]\n"
    "            beside N polls of inboxes a second: --reads N\n"
    "  latency   send to frame at a fixed rate: --rate N --pairs N --seconds S\n"
    "  idle      idle WebSockets: --sockets N --rounds N --hold S --pid PID\n"
    "  fill      a large database by arrays: --messages M --users N\n"
    "  redis-send redis-flow redis-circle redis-latency\n"
    "            the same (redis-circle: e2e) with streams of a redis at --url\n"
    "  postgres-send\n"
    "            messages with outbox rows: --connections N --conninfo TEXT\n"
    "options\n"
    "  --url URL         again for each further node of one deployment: the\n"
    "                    connections are spread over them, and a recipient's\n"
    "                    is on the node after their sender's\n"
    "  --pid PID         of the server, for its processor time and memory\n"
    "  --domain NAME     of the recipients' server; without --faults they\n"
    "                    have the senders' names, and only what their senders'\n"
    "                    server accepts is counted\n"
    "  --faults DIR      the fault carrier's files, DATA/fault\n"
    "  --tokens FILE     lines \"name token\"; users that are not in it are\n"
    "                    registered, logged in and added\n"
    "  --users N         that send uses at most (64)\n"
    "  --first-user N    the first user's number (0)\n"
    "  --ids 4           messages have UUIDs of version 4 (7)\n"
    "  --warmup MS       before measuring (300)\n"
    "  --instances N     idle sessions of one token, 1 to 8 (1)\n";

static const struct command {
	const char *name;
	int (*run)(struct bench *b);
} commands[] = {
    {"send", bench_send},
    {"flow", bench_flow},
    {"e2e", bench_e2e},
    {"latency", bench_latency},
    {"idle", bench_idle},
    {"fill", bench_fill},
    {"redis-send", bench_redis_send},
    {"redis-flow", bench_redis_flow},
    {"redis-circle", bench_redis_circle},
    {"redis-latency", bench_redis_latency},
    {"postgres-send", bench_postgres_send},
};

#define MEMBER(m) offsetof(struct bench, m), sizeof(((struct bench *)0)->m)

/* Options with a number: the member, the least value, the unit. */
static const struct number_option {
	const char *name;
	size_t offset;
	size_t size; /* of an int or an int64_t */
	int64_t least;
	int64_t unit;
} numbers[] = {
    {"pid", MEMBER(pid), 1, 1},
    {"users", MEMBER(users), 1, 1},
    {"first-user", MEMBER(first_user), 0, 1},
    {"warmup", MEMBER(warmup_ns), 0, NS_PER_MS},
    {"connections", MEMBER(connections), 1, 1},
    {"seconds", MEMBER(run_ns), 1, NS_PER_S},
    {"messages", MEMBER(messages), 1, 1},
    {"pairs", MEMBER(pairs), 1, 1},
    {"rate", MEMBER(rate), 1, 1},
    {"reads", MEMBER(reads), 1, 1},
    {"sockets", MEMBER(sockets), 1, 1},
    {"rounds", MEMBER(rounds), 1, 1},
    {"hold", MEMBER(hold_ns), 0, NS_PER_S},
    {"instances", MEMBER(instances), 1, 1},
    {"ids", MEMBER(id_version), 4, 1},
    {"latency", MEMBER(latency_ms), 0, 1},
};

#define NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

static void
add_url(struct bench *b, const char *url)
{
	static const char scheme[] = "http://";
	char host[64];
	const char *colon;
	struct sockaddr_in *to;

	if (strncmp(url, scheme, strlen(scheme)) != 0 ||
	    (colon = strchr(url + strlen(scheme), ':')) == NULL)
		bench_die("not http://ADDRESS:PORT: %s", url);
	url += strlen(scheme);
	snprintf(host, sizeof(host), "%.*s", (int)(colon - url), url);
	if (b->nnodes == BENCH_NODES)
		bench_die("at most %d nodes", BENCH_NODES);
	to = &b->nodes[b->nnodes++];
	to->sin_family = AF_INET;
	to->sin_port = htons((uint16_t)bench_number("the port", colon + 1, 1));
	if (inet_pton(AF_INET, host, &to->sin_addr) != 1)
		bench_die("not an IPv4 address: %s", host);
}

static void
set_number(struct bench *b, const struct number_option *o, const char *value)
{
	int64_t v = bench_number(o->name, value, o->least) * o->unit;
	char *at = (char *)b + o->offset;
	int n = (int)v;

	if (o->size == sizeof(v))
		memcpy(at, &v, sizeof(v));
	else if (v == n)
		memcpy(at, &n, sizeof(n));
	else
		bench_die("%s is too large", o->name);
}

/* Returns the member for an option without a value, or NULL if ${name} is not
 * such an option. */
static bool *
flag_of(struct bench *b, const char *name)
{

	return (strcmp(name, "http") == 0     ? &b->http
		: strcmp(name, "outage") == 0 ? &b->outage
					      : NULL);
}

static const char **
text_of(struct bench *b, const char *name)
{

	return (strcmp(name, "conninfo") == 0 ? &b->conninfo
		: strcmp(name, "tokens") == 0 ? &b->tokens
		: strcmp(name, "domain") == 0 ? &b->domain
		: strcmp(name, "faults") == 0 ? &b->faults
					      : NULL);
}

/* Sets option ${name}.  Returns false if it is unknown or ${value} is NULL. */
static bool
set_option(struct bench *b, const char *name, const char *value)
{

	if (value == NULL)
		return (false);
	if (strcmp(name, "url") == 0) {
		add_url(b, value);
		return (true);
	}
	if (text_of(b, name) != NULL) {
		*text_of(b, name) = value;
		return (true);
	}
	for (size_t i = 0; i < NUMBERS; i++)
		if (strcmp(name, numbers[i].name) == 0) {
			set_number(b, &numbers[i], value);
			return (true);
		}
	return (false);
}

/* Reads options of the forms "--name value" and "--flag". */
static bool
read_options(struct bench *b, char **argv)
{

	while (*argv != NULL) {
		const char *name = *argv++, *value = NULL;

		if (strncmp(name, "--", 2) != 0)
			return (false);
		if (flag_of(b, name + 2) != NULL) {
			*flag_of(b, name + 2) = true;
			continue;
		}
		if (*argv != NULL)
			value = *argv++;
		if (!set_option(b, name + 2, value))
			return (false);
	}
	return (b->nnodes > 0 || b->conninfo != NULL);
}

int
main(int argc, char **argv)
{
	struct bench b = {
	    .users = 64,
	    .connections = 64,
	    .pairs = 64,
	    .sockets = 15000,
	    .rate = 500,
	    .rounds = 1000,
	    .hold_ns = 2 * NS_PER_S,
	    .instances = 1,
	    .id_version = 7,
	    .run_ns = 5 * NS_PER_S,
	    .warmup_ns = 300 * NS_PER_MS,
	};
	const struct command *command = NULL;

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (argc > 1 && strcmp(argv[1], commands[i].name) == 0)
			command = &commands[i];
	if (command == NULL || !read_options(&b, argv + 2)) {
		fputs(usage, stderr);
		return (64);
	}
	if (b.domain == NULL && b.faults != NULL)
		bench_die("--faults needs --domain");
	if (b.faults == NULL && b.outage)
		bench_die("--outage needs --faults");
	if (b.id_version != 4 && b.id_version != 7)
		bench_die("--ids is 4 or 7");
	if (b.messages > 0)
		b.warmup_ns = 0;
	uuid_gen_init(&b.ids, clk_system(), rnd_system());
	return (command->run(&b));
}
