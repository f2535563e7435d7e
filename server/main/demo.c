/* SPDX-License-Identifier: MIT */
/*
 * Three people whose passwords everybody knows: loopback only.
 */
#include <stdio.h>

#include "main/demo.h"

static const struct {
	const char *name, *password;
} users[] = {
    {"alice", "alice-demo"}, {"bob", "bob-demo"}, {"carol", "carol-demo"}};

#define USERS (sizeof(users) / sizeof(users[0]))

enum rc
demo_make_users(struct core *core, struct err *err)
{
	enum rc rc;
	size_t i;

	for (i = 0; i < USERS; i++) {
		rc = core_user_add(
		    core, users[i].name, users[i].password, false, err);
		if (rc != RC_OK)
			return (err_wrap(err, "demo"));
	}
	return (RC_OK);
}

void
demo_say(const char *host, bool fresh)
{
	size_t i;

	if (fresh)
		for (i = 0; i < USERS; i++)
			printf("demo user: %-5s  password: %s\n",
			    users[i].name, users[i].password);
	printf("\nTry it; copy line by line:\n"
	       "  TOKEN=$(curl -s http://%s/v1/tokens -H 'Content-Type: "
	       "application/json' -d '{\"name\":\"alice\",\"password\":"
	       "\"alice-demo\",\"device\":\"curl\"}' | sed 's/.*\"token\":\"\\"
	       "([^\"]*\\).*/\\1/')\n"
	       "  curl http://%s/v1/to/bob -H \"Authorization: Bearer "
	       "$TOKEN\" -d 'Hello Bob'\n"
	       "  BOB=$(curl -s http://%s/v1/tokens -H 'Content-Type: "
	       "application/json' -d '{\"name\":\"bob\",\"password\":"
	       "\"bob-demo\",\"device\":\"curl\"}' | sed 's/.*\"token\":\"\\"
	       "([^\"]*\\).*/\\1/')\n"
	       "  curl http://%s/v1/inbox -H \"Authorization: Bearer "
	       "$BOB\"\n",
	    host, host, host, host);
	printf("\nOr with the client, in two terminals:\n"
	       "  echo bob-demo | build/twinbox --server http://%s --profile "
	       "bob login bob --password-stdin && build/twinbox --profile bob "
	       "tail\n"
	       "  echo alice-demo | build/twinbox --server http://%s "
	       "--profile alice login alice --password-stdin && build/twinbox "
	       "--profile alice send bob 'Hello Bob'\n\n",
	    host, host);
}
