/* SPDX-License-Identifier: MIT */
/*
 * Units about other servers.  See learned.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "contract/learned.h"

void
learned_keys(struct peer_unit *u, const char *text)
{
	struct store_peer_key *key;
	size_t n;

	while (*text != '\0') {
		assert_true(u->nkeys < STORE_PEER_KEYS);
		key = &u->keys[u->nkeys++];
		n = strcspn(text, "=");
		(void)snprintf(
		    key->key_id, sizeof(key->key_id), "%.*s", (int)n, text);
		memset(key->public, text[n + 1] - '0', sizeof(key->public));
		text += n + 2;
		text += strspn(text, " ");
	}
}

void
learned(struct unit *unit)
{
	struct peer_unit *u = CONTAINER_OF(unit, struct peer_unit, unit);

	if (u->arg != NULL)
		*(bool *)u->arg = true;
}
