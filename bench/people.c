/* SPDX-License-Identifier: MIT */
/*
 * Users, tokens and the heads of their inboxes; see people.h.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#include "httpc.h"
#include "people.h"
#include "util.h"

#define PASSWORD "a bench's password"
#define POLL_NS (2 * NS_PER_MS)

/* Reads the tokens of the wanted users from the file and skips other users.  A
 * user who is not in the file keeps an empty token. */
static void
read_tokens(const char *path, struct person *people, int first, int n)
{
	char line[300];
	FILE *f = fopen(path, "re");

	if (f == NULL && errno == ENOENT)
		return;
	if (f == NULL)
		bench_die("%s: %s", path, strerror(errno));
	while (fgets(line, sizeof(line), f) != NULL) {
		char *space = strchr(line, ' ');
		int64_t number;

		line[strcspn(line, "\n")] = '\0';
		if (line[0] != 'u' || space == NULL)
			bench_die("%s: not a line of names and tokens", path);
		*space++ = '\0';
		number = bench_number("a user's number", line + 1, 0);
		if (number < first || number >= first + n)
			continue;
		snprintf(people[number - first].token, sizeof(people[0].token),
		    "%s", space);
	}
	fclose(f);
}

static void
log_in(struct httpc *http, struct person *p)
{
	struct httpc_reply reply;
	char body[256];

	snprintf(body, sizeof(body),
	    "{\"name\":\"%s\",\"password\":\"" PASSWORD "\"}", p->name);
	httpc_call(http, "POST", "/v1/users", NULL, body, &reply);
	if (reply.status != 201 && reply.status != 409)
		bench_die("POST /v1/users: %d %.*s", reply.status,
		    (int)reply.body_len, reply.body);
	snprintf(body, sizeof(body),
	    "{\"name\":\"%s\",\"password\":\"" PASSWORD
	    "\",\"device\":\"bench\"}",
	    p->name);
	httpc_call(http, "POST", "/v1/tokens", NULL, body, &reply);
	if (reply.status != 201 || !scan_text(reply.body, reply.body_len,
				       "token", p->token, sizeof(p->token)))
		bench_die("POST /v1/tokens: %d %.*s", reply.status,
		    (int)reply.body_len, reply.body);
}

struct person *
people_get(const struct sockaddr_in *to, const char *path, int first, int n)
{
	struct person *people = bench_zalloc((size_t)n, sizeof(*people));
	struct httpc http;
	FILE *f = NULL;

	for (int i = 0; i < n; i++)
		snprintf(
		    people[i].name, sizeof(people[i].name), "u%d", first + i);
	if (path != NULL)
		read_tokens(path, people, first, n);
	httpc_init(&http, to);
	for (int i = 0; i < n; i++) {
		if (people[i].token[0] != '\0')
			continue;
		log_in(&http, &people[i]);
		if (path == NULL)
			continue;
		if (f == NULL && (f = fopen(path, "ae")) == NULL)
			bench_die("%s: %s", path, strerror(errno));
		fprintf(f, "%s %s\n", people[i].name, people[i].token);
	}
	if (f != NULL && fclose(f) != 0)
		bench_die("%s: %s", path, strerror(errno));
	httpc_fini(&http);
	return (people);
}

static void
ask_head(struct httpc *http, struct person *p)
{
	struct httpc_reply reply;

	httpc_call(http, "GET", "/v1/inbox?limit=1", p->token, NULL, &reply);
	if (reply.status != 200 ||
	    !scan_i64(reply.body, reply.body_len, "head", &p->head) ||
	    !scan_text(reply.body, reply.body_len, "epoch", p->epoch,
		sizeof(p->epoch)))
		bench_die("GET /v1/inbox: %d %.*s", reply.status,
		    (int)reply.body_len, reply.body);
}

void
people_heads(const struct sockaddr_in *to, struct person *people, int n)
{
	struct httpc http;

	httpc_init(&http, to);
	for (int i = 0; i < n; i++)
		ask_head(&http, &people[i]);
	httpc_fini(&http);
}

int64_t
people_wait(const struct sockaddr_in *to, struct person *people, int n,
    int64_t timeout_ns)
{
	int64_t until = mono_ns() + timeout_ns, missing;
	struct timespec pause = {0, POLL_NS};
	struct httpc http;

	httpc_init(&http, to);
	for (;;) {
		missing = 0;
		for (int i = 0; i < n; i++) {
			if (people[i].head < people[i].expected)
				ask_head(&http, &people[i]);
			if (people[i].head < people[i].expected)
				missing += people[i].expected - people[i].head;
		}
		if (missing == 0 || mono_ns() > until)
			break;
		nanosleep(&pause, NULL);
	}
	httpc_fini(&http);
	return (missing);
}
