/* SPDX-License-Identifier: MIT */
/*
 * See gather_names.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "domain/account.h"
#include "domain/gather_names.h"
#include "domain/ledger_internal.h"
#include "domain/order.h"
#include "domain/send.h"

/* ${u} of the batch, if it names its recipient. */
static const struct send_unit *
names_recipient(struct unit *unit)
{
	const struct send_unit *u = (const struct send_unit *)(void *)unit;

	return (
	    unit->kind->order == ORDER_SEND && !unit->aside && u->to[0] != '\0'
		? u
		: NULL);
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

/* A unit makes a conversation, and perhaps a person of another server and that
 * server. */
#define UNIT_MAKES 3

/* Room for all that ${n} units may name. */
static enum rc
need_room(struct gather_names *names, size_t n, struct err *err)
{

	if (names->names == NULL)
		names->names =
		    mem_alloc(n * UNIT_MAKES * sizeof(*names->names));
	if (names->list == NULL)
		names->list = mem_alloc(n * UNIT_MAKES * sizeof(*names->list));
	if (names->units == NULL)
		names->units =
		    mem_alloc(n * UNIT_MAKES * sizeof(*names->units));
	return (
	    names->names != NULL && names->list != NULL && names->units != NULL
		? RC_OK
		: err_set(err, RC_NO_MEMORY, "gather"));
}

static void
add(struct gather_names *names, const char *name, size_t unit)
{
	char *room = names->names[names->n];

	(void)snprintf(room, sizeof(names->names[0]), "%s", name);
	names->units[names->n] = unit;
	names->list[names->n++] = room;
}

enum rc
gather_names_accounts(
    struct unit **units, size_t n, struct gather_names *names, struct err *err)
{
	const struct account_unit *u;
	char number[24];
	enum rc rc = RC_OK;
	size_t i;

	for (i = 0; i < n && rc == RC_OK; i++) {
		if (units[i]->kind->order != ORDER_ACCOUNT || units[i]->aside)
			continue;
		u = (const struct account_unit *)(void *)units[i];
		/* No name has a "#". */
		(void)snprintf(
		    number, sizeof(number), "#%" PRId64, u->user.user_id);
		rc = need_room(names, n, err);
		if (rc == RC_OK)
			add(names, u->op == ACCOUNT_ADD ? u->user.name : number,
			    i);
	}
	return (rc);
}

enum rc
gather_names_missing(const struct ledger *l, struct unit **units, size_t n,
    struct gather_names *names, struct err *err)
{
	char key[STORE_DIRECT_KEY_SIZE];
	struct ledger_user *from, *to;
	const struct send_unit *u;
	enum rc rc = RC_OK;
	size_t i;

	for (i = 0; i < n && rc == RC_OK; i++) {
		u = names_recipient(units[i]);
		if (u == NULL || !makes_direct(l, u, &from, &to))
			continue;
		rc = need_room(names, n, err);
		if (rc != RC_OK)
			return (rc);
		store_direct_key(from->name->data, u->to, key);
		add(names, key, i);
		if (to == NULL) {
			add(names, u->to, i);
			add(names, strchr(u->to, '@') + 1, i);
		}
	}
	return (rc);
}

void
gather_names_free(struct gather_names *names)
{

	mem_free(names->names);
	mem_free(names->list);
	mem_free(names->units);
}
