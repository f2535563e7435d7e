/* SPDX-License-Identifier: MIT */
/*
 * A batch that takes what is free, and lays aside the units that need what
 * somebody else holds (gather.c).  Nothing here waits for a row.
 *
 * Promises: of units that need the same row a later one never passes an earlier
 * one.  Rows that were not to be had stay in the set of held ones until they
 * are seen to be free, and then those that were laid aside come first
 * (writer.c).
 */
#include "base/mem.h"
#include "domain/deliver.h"
#include "domain/gather_internal.h"
#include "domain/gather_names.h"
#include "domain/ledger_internal.h"
#include "domain/order.h"
#include "domain/send.h"

/* ---- who is laid aside ---- */

static struct deliver_unit *
delivery(struct unit *unit)
{

	return (unit->kind->order == ORDER_DELIVER
		    ? (struct deliver_unit *)(void *)unit
		    : NULL);
}

static bool
is_aside(const struct gather *g, const struct gather_owner *owner)
{
	struct unit *unit;

	if (owner->unit == GATHER_NOBODY)
		return (false);
	unit = g->units[owner->unit];
	return (delivery(unit) != NULL ? delivery(unit)->held[owner->lane]
				       : unit->aside);
}

/* Of a delivery only the lane: the others go on. */
static void
lay_aside(struct gather *g, const struct gather_owner *owner)
{
	struct unit *unit;

	if (owner->unit == GATHER_NOBODY)
		return;
	unit = g->units[owner->unit];
	if (delivery(unit) != NULL)
		delivery(unit)->held[owner->lane] = true;
	else
		unit->aside = true;
}

static enum rc
hold_back(struct gather *g, const struct held_row *row, struct err *err)
{

	return (held_add(g->held, row) == RC_OK
		    ? RC_OK
		    : err_set(err, RC_NO_MEMORY, "gather"));
}

/* ---- what the units need ---- */

enum rc
gather_find(struct gather *g, struct err *err)
{
	struct db *db = g->tx->db;
	enum rc rc = RC_OK;
	size_t i;

	if (g->nabout > 0) {
		rc = store_hold_about(db, g->about, g->nabout, &g->holder, err);
		if (rc == RC_OK)
			rc = store_hold_answers(db, err);
	}
	if (rc == RC_OK)
		rc = store_hold_find(db, g->keys, g->nkeys, &g->holder, err);
	if (rc == RC_OK)
		rc = store_hold_answers(db, err);
	for (i = 0; i < g->nneeds && rc == RC_OK; i++)
		if (held_has(g->held, &g->needs[i].row))
			lay_aside(g, &g->needs[i].owner);
	return (rc);
}

/* ---- names ---- */

struct name_list {
	struct gather *g;
	const struct gather_names *names;
};

static enum rc
take_name_held(void *arg, size_t number, struct err *err)
{
	const struct name_list *list = arg;
	const struct gather_owner owner = {list->names->units[number], 0};
	struct unit *unit = list->g->units[owner.unit];
	const struct send_unit *u = (const struct send_unit *)(void *)unit;
	struct held_row row = {HELD_SEND, 0};

	lay_aside(list->g, &owner);
	if (unit->kind->order != ORDER_SEND)
		return (RC_OK);
	row.id = held_send_id(u->sender_id, u->to);
	return (hold_back(list->g, &row, err));
}

enum rc
gather_free_names(
    struct gather *g, const struct gather_names *names, struct err *err)
{
	struct name_list list = {g, names};
	const struct store_holder h = {
	    .name_held = take_name_held, .arg = &list};
	struct db *db = g->tx->db;
	enum rc rc;
	size_t i;

	rc = store_hold_names_free(db, names->list, names->n, &h, err);
	if (rc == RC_OK)
		rc = store_hold_answers(db, err);
	/* Those of the same sender and recipient behind it, too. */
	for (i = 0; i < g->nneeds && rc == RC_OK; i++)
		if (held_has(g->held, &g->needs[i].row))
			lay_aside(g, &g->needs[i].owner);
	return (rc);
}

/* ---- rows ---- */

/* Of ${kind}, all that is needed by whoever is not laid aside. */
static enum rc
list_needs(
    struct gather *g, enum held_kind kind, struct ids *ret, struct err *err)
{
	const struct gather_need *need;
	enum rc rc = RC_OK;
	size_t i;

	for (i = 0; i < g->nneeds && rc == RC_OK; i++) {
		need = &g->needs[i];
		if (need->row.kind == (int64_t)kind &&
		    !is_aside(g, &need->owner))
			rc = gather_add_id(ret, need->row.id, err);
	}
	return (rc);
}

enum rc
gather_free_conversations(struct gather *g, struct err *err)
{
	struct ids ids = {.n = 0};
	enum rc rc;

	rc = list_needs(g, HELD_CONVERSATION, &ids, err);
	if (rc == RC_OK)
		rc = store_hold_conversations_free(
		    g->tx->db, ids.v, ids.n, &g->holder, err);
	mem_free(ids.v);
	return (rc);
}

enum rc
gather_free_rest(struct gather *g, struct err *err)
{
	struct ids devices = {.n = 0}, inboxes = {.n = 0};
	struct db *db = g->tx->db;
	enum rc rc;

	held_clear(g->got);
	rc = list_needs(g, HELD_DEVICE, &devices, err);
	if (rc == RC_OK)
		rc = list_needs(g, HELD_INBOX, &inboxes, err);
	if (rc == RC_OK)
		rc = store_hold_devices_there(
		    db, devices.v, devices.n, &g->holder, err);
	if (rc == RC_OK)
		rc = store_hold_devices_free(
		    db, devices.v, devices.n, &g->holder, err);
	if (rc == RC_OK)
		rc = store_hold_inboxes_free(
		    db, inboxes.v, inboxes.n, &g->holder, err);
	mem_free(devices.v);
	mem_free(inboxes.v);
	return (rc);
}

/* Whether ${row}, which was asked for, is somebody else's.  A device may be
 * gone: its unit says so. */
static bool
is_held(const struct gather *g, const struct held_row *row)
{

	switch ((enum held_kind)row->kind) {
	case HELD_CONVERSATION:
		return (htab_find(g->l->conversations_by_id, &row->id) == NULL);
	case HELD_INBOX:
		return (!held_has(g->got, row));
	case HELD_DEVICE:
		return (htab_find(g->l->devices, &row->id) == NULL &&
			held_has(g->got, row));
	case HELD_SEND:
	default:
		return (false);
	}
}

enum rc
gather_lay_aside(struct gather *g, bool rest, struct err *err)
{
	const struct gather_need *need;
	enum rc rc = RC_OK;
	size_t i;

	for (i = 0; i < g->nneeds && rc == RC_OK; i++) {
		need = &g->needs[i];
		if ((need->row.kind == HELD_CONVERSATION) == rest ||
		    is_aside(g, &need->owner) || !is_held(g, &need->row))
			continue;
		lay_aside(g, &need->owner);
		rc = hold_back(g, &need->row, err);
	}
	return (rc);
}

/* ---- what is free again ---- */

static enum rc
free_conversation(
    void *arg, const struct store_conversation *row, struct err *err)
{
	const struct held_row held = {HELD_CONVERSATION, row->conversation_id};

	(void)err;
	held_remove(arg, &held);
	return (RC_OK);
}

static enum rc
free_inbox(void *arg, int64_t user_id, const struct store_counter *counter,
    struct err *err)
{
	const struct held_row held = {HELD_INBOX, user_id};

	(void)counter;
	(void)err;
	held_remove(arg, &held);
	return (RC_OK);
}

static enum rc
free_device(void *arg, int64_t device_id, int64_t acked, struct err *err)
{
	const struct held_row held = {HELD_DEVICE, device_id};

	(void)acked;
	(void)err;
	held_remove(arg, &held);
	return (RC_OK);
}

static enum rc
list_held(const struct held *held, enum held_kind kind, struct ids *ret,
    struct err *err)
{
	const struct held_row *row;
	enum rc rc = RC_OK;
	size_t pos = 0;

	while (rc == RC_OK && (row = held_next(held, &pos)) != NULL)
		if (row->kind == (int64_t)kind)
			rc = gather_add_id(ret, row->id, err);
	return (rc);
}

/* Asks for all rows of ${held}: those that come are free. */
static enum rc
ask_held(struct db *db, struct held *held, struct err *err)
{
	const struct store_holder h = {.conversation = free_conversation,
	    .counter = free_inbox,
	    .device = free_device,
	    .arg = held};
	struct ids ids[HELD_SEND] = {{.n = 0}};
	enum rc rc = RC_OK;
	int kind;

	for (kind = 0; kind < HELD_SEND && rc == RC_OK; kind++)
		rc = list_held(held, (enum held_kind)kind, &ids[kind], err);
	if (rc == RC_OK)
		rc = store_hold_conversations_free(db, ids[HELD_CONVERSATION].v,
		    ids[HELD_CONVERSATION].n, &h, err);
	if (rc == RC_OK)
		rc = store_hold_inboxes_free(
		    db, ids[HELD_INBOX].v, ids[HELD_INBOX].n, &h, err);
	if (rc == RC_OK)
		rc = store_hold_devices_free(
		    db, ids[HELD_DEVICE].v, ids[HELD_DEVICE].n, &h, err);
	if (rc == RC_OK)
		rc = store_hold_answers(db, err);
	for (kind = 0; kind < HELD_SEND; kind++)
		mem_free(ids[kind].v);
	return (rc);
}

enum rc
gather_look(struct tx *tx, bool names, bool *ret_freed, struct err *err)
{
	struct held *held = domain_of(tx)->held;
	const size_t before = held_count(held);
	const struct held_row *row;
	size_t pos = 0;
	enum rc rc;

	rc = ask_held(tx->db, held, err);
	/* A name cannot be asked for alone: its units try again. */
	while (names && (row = held_next(held, &pos)) != NULL)
		if (row->kind == HELD_SEND)
			held_remove(held, row);
	*ret_freed = held_count(held) < before;
	return (rc);
}
