/* SPDX-License-Identifier: MIT */
/*
 * Makes the users of --demo, and writes the lines that the server prints for
 * the operator to paste into a shell.  The users' password is public, so
 * check_exposure() in config.c refuses --demo if the listen address is not
 * loopback, and together with behind-proxy.
 *
 * The lines must work in bash, zsh and fish.  So they have no comments,
 * functions or plain assignments (export works in all three); URLs are quoted,
 * because '?' and '[' are patterns in zsh; and there is no '!', which is
 * history in bash.  If the server's answer to the login has no token, that
 * answer goes to standard error, and the variable TOKEN is empty.
 */
#include <string.h>

#include "main/server.h"

#define DEMO_PASSWORD "twinbox-demo"

static const char *const names[] = {"alice", "bob", "carol"};

enum rc
demo_users(struct server *s, struct err *err)
{
	char hash[CRYPT_PASSWORD_SIZE];
	struct operation o;
	enum rc rc;
	size_t i;

	rc = crypt_password_hash(
	    DEMO_PASSWORD, strlen(DEMO_PASSWORD), hash, err);
	for (i = 0; i < sizeof(names) / sizeof(names[0]) && rc == RC_OK; i++) {
		operation_init(&o, OPERATION_USER_ADD);
		memcpy(o.asked.user.name, names[i], strlen(names[i]) + 1);
		memcpy(o.asked.user.password_hash, hash, sizeof(hash));
		rc = operation_run(&o, s->db, s->writer, err);
		operation_fini(&o);
		/* Another node, which starts on the same database, was
		 * first. */
		if (rc == RC_EXISTS && db_multi_writer(s->db))
			rc = RC_OK;
	}
	return (rc);
}

void
demo_write(const struct server *s, const char *url, struct buf *out)
{
	size_t i;

	(void)s;
	buf_adds(out, "demo users:");
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		buf_addf(out, "%s %s", i > 0 ? "," : "", names[i]);
	buf_addf(out,
	    " (password: %s)\n\n"
	    "With curl, in another terminal:\n"
	    "  export TOKEN=\"$(curl -sS '%s/v1/tokens' -H 'Content-Type: "
	    "application/json' \\\n"
	    "    -d '{\"name\":\"alice\",\"password\":\"%s\",\"device\":\"curl\"}"
	    "' \\\n"
	    "    | sed -e 's/.*\"token\":\"\\([^\"]*\\).*/\\1/' -e t "
	    "-e 'w /dev/stderr' -e d)\"\n"
	    "  curl -sS '%s/v1/to/bob' -H \"Authorization: Bearer $TOKEN\" "
	    "--data-binary 'Hello, Bob.'\n"
	    "  curl -sS '%s/v1/inbox?after=0' -H \"Authorization: Bearer "
	    "$TOKEN\"\n\n"
	    "With the client:\n"
	    "  echo %s | build/twinbox login bob --server '%s' "
	    "--password-stdin\n"
	    "  build/twinbox tail\n\n",
	    DEMO_PASSWORD, url, DEMO_PASSWORD, url, url, DEMO_PASSWORD, url);
}

void
demo_write_names(struct buf *out)
{
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		buf_addf(out, "%s%s", i > 0 ? "," : "", names[i]);
}
