/* SPDX-License-Identifier: MIT */
/*
 * See gather_names.h.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "domain/gather_names.h"
#include "domain/ledger_internal.h"
#include "domain/order.h"
#include "domain/send.h"

/* ${u} of the batch, if it names its recipient. */
static const struct send_unit *
names_recipient(struct unit *unit)
{
	const struct send_unit *u = (const struct send_unit *)(void *)unit;

	return (unit->kind->order == ORDER_SEND && u->to[0] != '\0' ? u : NULL);
}

/* Whether ${u} will make the direct conversation of its sender and recipient:
 * *ret_to is he, or NULL if he is still to be made, too. */
static bool
makes_direct(const struct ledger *l, const struct send_unit *u,
    struct ledger_user **ret_from, struct ledger_user **ret_to)
{
	struct ledger_user *from, *to;

	from = htab_find(l->users_by_id, &u->sender_id);
	to = ledger_user_known(l, u->to);
	*ret_from = from;
	*ret_to = to;
	if (from == NULL)
		return (false);
	if (to == NULL)
		return (strchr(u->to, '@') != NULL);
	return (!to->disabled && ledger_direct_known(l, from, to) == NULL);
}

static void
add(struct gather_names *names, const char *name)
{
	char *room = names->names[names->n];

	(void)snprintf(room, sizeof(names->names[0]), "%s", name);
	names->list[names->n++] = room;
}

/* A unit makes a conversation, and perhaps a person of another server and that
 * server. */
#define UNIT_MAKES 3

enum rc
gather_names(const struct ledger *l, struct unit **units, size_t n,
    struct gather_names *ret, struct err *err)
{
	char key[STORE_DIRECT_KEY_SIZE];
	struct ledger_user *from, *to;
	const struct send_unit *u;
	size_t i, made = 0;

	for (i = 0; i < n; i++) {
		u = names_recipient(units[i]);
		if (u != NULL && makes_direct(l, u, &from, &to))
			made++;
	}
	if (made == 0)
		return (RC_OK);
	ret->names = mem_zalloc(made * UNIT_MAKES, sizeof(*ret->names));
	ret->list = mem_zalloc(made * UNIT_MAKES, sizeof(*ret->list));
	if (ret->names == NULL || ret->list == NULL)
		return (err_set(err, RC_NO_MEMORY, "gather"));
	for (i = 0; i < n; i++) {
		u = names_recipient(units[i]);
		if (u == NULL || !makes_direct(l, u, &from, &to))
			continue;
		store_direct_key(from->name->data, u->to, key);
		add(ret, key);
		if (to == NULL) {
			add(ret, u->to);
			add(ret, strchr(u->to, '@') + 1);
		}
	}
	return (RC_OK);
}

void
gather_names_free(struct gather_names *names)
{

	mem_free(names->names);
	mem_free(names->list);
}
