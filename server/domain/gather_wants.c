/* SPDX-License-Identifier: MIT */
/*
 * What the units of a batch will ask for, by their kinds (gather.c).
 */
#include <string.h>

#include "base/mem.h"
#include "domain/cancel.h"
#include "domain/deliver.h"
#include "domain/desk.h"
#include "domain/gather_internal.h"
#include "domain/ledger_internal.h"
#include "domain/mark.h"
#include "domain/order.h"
#include "domain/release.h"
#include "domain/renew.h"
#include "domain/send.h"
#include "domain/settle.h"
#include "store/outbox.h"

enum rc
gather_add_id(struct ids *ids, int64_t id, struct err *err)
{
	size_t cap = ids->cap == 0 ? 64 : ids->cap * 2;
	int64_t *v;

	if (ids->n == ids->cap) {
		v = mem_realloc(ids->v, cap * sizeof(*v));
		if (v == NULL)
			return (err_set(err, RC_NO_MEMORY, "gather"));
		ids->v = v;
		ids->cap = cap;
	}
	ids->v[ids->n++] = id;
	return (RC_OK);
}

/* There are as many as lanes: more than units. */
enum rc
gather_add_key(
    struct gather *g, const struct store_conversation_key *key, struct err *err)
{
	const size_t cap = g->keys_cap == 0 ? 64 : g->keys_cap * 2;
	struct store_conversation_key *keys;
	struct gather_owner *owners;

	if (g->nkeys == g->keys_cap) {
		keys = mem_realloc(g->keys, cap * sizeof(*keys));
		if (keys != NULL)
			g->keys = keys;
		owners = mem_realloc(g->key_owners, cap * sizeof(*owners));
		if (owners != NULL)
			g->key_owners = owners;
		if (keys == NULL || owners == NULL)
			return (err_set(err, RC_NO_MEMORY, "gather"));
		g->keys_cap = cap;
	}
	g->key_owners[g->nkeys] = g->owner;
	g->keys[g->nkeys++] = *key;
	return (RC_OK);
}

enum rc
gather_add_need(
    struct gather *g, enum held_kind kind, int64_t id, struct err *err)
{
	const size_t cap = g->needs_cap == 0 ? 64 : g->needs_cap * 2;
	struct gather_need *needs;

	if (!g->picky)
		return (RC_OK);
	if (g->nneeds == g->needs_cap) {
		needs = mem_realloc(g->needs, cap * sizeof(*needs));
		if (needs == NULL)
			return (err_set(err, RC_NO_MEMORY, "gather"));
		g->needs = needs;
		g->needs_cap = cap;
	}
	g->needs[g->nneeds++] =
	    (struct gather_need){{(int64_t)kind, id}, g->owner};
	return (RC_OK);
}

/* A conversation that is known by a message of it, or (NULL) a dead letter. */
static enum rc
add_about(struct gather *g, const struct uuid *message_id, int64_t dead_id,
    struct err *err)
{
	const size_t cap = g->about_cap == 0 ? 16 : g->about_cap * 2;
	struct gather_owner *owners;
	struct store_about *about;

	if (g->nabout == g->about_cap) {
		about = mem_realloc(g->about, cap * sizeof(*about));
		if (about != NULL)
			g->about = about;
		owners = mem_realloc(g->about_owners, cap * sizeof(*owners));
		if (owners != NULL)
			g->about_owners = owners;
		if (about == NULL || owners == NULL)
			return (err_set(err, RC_NO_MEMORY, "gather"));
		g->about_cap = cap;
	}
	g->about_owners[g->nabout] = g->owner;
	g->about[g->nabout++] = (struct store_about){message_id, dead_id};
	return (RC_OK);
}

/* ---- what the units will ask for ---- */

static enum rc
want_send(struct gather *g, const struct send_unit *u, struct err *err)
{
	struct store_conversation_key key = {.public_id = NULL};
	enum rc rc;

	g->messages[g->nmessages++] = u->draft->id;
	rc = gather_add_id(&g->users, u->sender_id, err);
	if (rc == RC_OK)
		rc = gather_add_need(g, HELD_INBOX, u->sender_id, err);
	if (rc == RC_OK)
		rc = gather_add_need(
		    g, HELD_SEND, held_send_id(u->sender_id, u->to), err);
	if (rc != RC_OK)
		return (rc);
	if (u->to[0] == '\0') {
		key.public_id = &u->draft->conversation;
	} else {
		key.user_id = u->sender_id;
		key.with = u->to;
		g->names[g->nnames++] =
		    (struct store_user_key){0, u->to, strlen(u->to)};
	}
	return (gather_add_key(g, &key, err));
}

static enum rc
want_lane(struct gather *g, int64_t lane_id, struct err *err)
{
	const struct store_conversation_key key = {.lane_id = lane_id};

	return (gather_add_key(g, &key, err));
}

static enum rc
want_deliver(struct gather *g, const struct deliver_unit *u, struct err *err)
{
	enum rc rc = RC_OK;
	size_t i;

	for (i = 0; i < u->nlanes && rc == RC_OK; i++) {
		g->owner.lane = i;
		if (!u->held[i])
			rc = want_lane(g, u->lanes[i], err);
	}
	return (rc);
}

/* The items of a lane follow one another. */
static enum rc
want_settle(struct gather *g, const struct settle_unit *u, struct err *err)
{
	const struct parcel *p = u->parcel;
	enum rc rc = RC_OK;
	size_t i;

	for (i = 0; i < p->n && rc == RC_OK; i++)
		if (i == 0 ||
		    p->items[i].row.lane_id != p->items[i - 1].row.lane_id)
			rc = want_lane(g, p->items[i].row.lane_id, err);
	return (rc);
}

static enum rc
want_renew(struct gather *g, const struct renew_unit *u, struct err *err)
{
	enum rc rc = RC_OK;
	size_t i;

	for (i = 0; i < u->n && rc == RC_OK; i++)
		rc = want_lane(g, u->leases[i].lane_id, err);
	return (rc);
}

static enum rc
want_desk(struct gather *g, const struct desk_unit *u, struct err *err)
{
	enum rc rc = RC_OK;
	size_t i;

	switch (u->op) {
	case DESK_OWN_RETRY:
	case DESK_RETRY:
	case DESK_DISCARD:
		return (add_about(g, &u->message, 0, err));
	case DESK_REQUEUE_LETTERS:
	case DESK_DISCARD_LETTERS:
		for (i = 0; i < u->nletters && rc == RC_OK; i++)
			rc = add_about(g, NULL, u->letters[i].dead_id, err);
		return (rc);
	case DESK_REWIND:
		return (want_lane(g, u->lane_id, err));
	case DESK_PAUSE:
	case DESK_RESUME:
	case DESK_RATE:
	default:
		return (RC_OK);
	}
}

/* What an earlier try of this transaction met that another writer had. */
static enum rc
want_met(struct gather *g, struct err *err)
{
	const struct ledger_met *met = &g->l->met_conversations;
	const struct ledger_met *inboxes = &g->l->met_inboxes;
	struct store_conversation_key key = {.conversation_id = 0};
	enum rc rc = RC_OK;
	size_t i;

	/* A unit alone has met it itself. */
	g->owner = (struct gather_owner){GATHER_NOBODY, 0};
	if (g->nunits == 1 && g->units[0]->kind->order != ORDER_DELIVER)
		g->owner.unit = 0;
	for (i = 0; i < met->n && rc == RC_OK; i++) {
		key.conversation_id = met->ids[i];
		rc = gather_add_key(g, &key, err);
	}
	for (i = 0; i < inboxes->n && rc == RC_OK; i++)
		rc = gather_add_need(g, HELD_INBOX, inboxes->ids[i], err);
	return (rc);
}

/* What ${user_id} does with device ${device_id}. */
static enum rc
want_inbox(struct gather *g, int64_t user_id, int64_t device_id,
    const struct store_conversation_key *key, struct err *err)
{
	enum rc rc = RC_OK;

	if (key->acked_upto > 0 || key->read_upto > 0) {
		g->nacks++;
		rc = gather_add_key(g, key, err);
	}
	if (rc == RC_OK)
		rc = gather_add_id(&g->users, user_id, err);
	if (rc == RC_OK)
		rc = gather_add_id(&g->inboxes, user_id, err);
	if (rc == RC_OK)
		rc = gather_add_need(g, HELD_INBOX, user_id, err);
	if (rc == RC_OK)
		rc = gather_add_id(&g->devices, device_id, err);
	if (rc == RC_OK)
		rc = gather_add_need(g, HELD_DEVICE, device_id, err);
	return (rc);
}

static enum rc
want_ack(struct gather *g, const struct ack_unit *u, struct err *err)
{
	const struct store_conversation_key key = {
	    .user_id = u->user_id, .acked_upto = u->upto};

	return (want_inbox(g, u->user_id, u->device_id, &key, err));
}

/* A read up to a number of the inbox acks, too. */
static enum rc
want_read(struct gather *g, const struct read_unit *u, struct err *err)
{
	const struct store_conversation_key conversation = {
	    .public_id = &u->conversation};
	struct store_conversation_key key = {.user_id = u->user_id};
	enum rc rc = RC_OK;
	size_t i;

	switch (u->form) {
	case READ_UPTO:
		key.acked_upto = key.read_upto = u->upto;
		break;
	case READ_CONVERSATION:
		rc = gather_add_key(g, &conversation, err);
		break;
	case READ_IDS:
	default:
		for (i = 0; i < u->nids && rc == RC_OK; i++)
			rc = add_about(g, &u->ids[i], 0, err);
		break;
	}
	return (rc == RC_OK ? want_inbox(g, u->user_id, u->device_id, &key, err)
			    : rc);
}

static enum rc
want(struct gather *g, struct unit *unit, struct err *err)
{

	switch (unit->kind->order) {
	case ORDER_SEND:
		return (
		    want_send(g, (const struct send_unit *)(void *)unit, err));
	case ORDER_DELIVER:
		return (want_deliver(
		    g, (const struct deliver_unit *)(void *)unit, err));
	case ORDER_ACK:
		return (
		    want_ack(g, (const struct ack_unit *)(void *)unit, err));
	case ORDER_READ:
		return (
		    want_read(g, (const struct read_unit *)(void *)unit, err));
	case ORDER_SETTLE:
		return (want_settle(
		    g, (const struct settle_unit *)(void *)unit, err));
	case ORDER_RENEW:
		return (want_renew(
		    g, (const struct renew_unit *)(void *)unit, err));
	case ORDER_CANCEL:
		return (add_about(g,
		    &((const struct cancel_unit *)(void *)unit)->id, 0, err));
	case ORDER_DESK:
		return (
		    want_desk(g, (const struct desk_unit *)(void *)unit, err));
	case ORDER_RELEASE:
		g->releases = true;
		return (RC_OK);
	default:
		return (RC_OK);
	}
}

/* Users by id go with those by name. */
static void
names_of_users(struct gather *g)
{
	size_t i;

	for (i = 0; i < g->users.n; i++)
		g->names[g->nnames++] =
		    (struct store_user_key){g->users.v[i], NULL, 0};
}

enum rc
gather_want_all(struct gather *g, struct err *err)
{
	enum rc rc = RC_OK;
	size_t i;

	g->users.n = g->conversations.n = g->inboxes.n = g->devices.n = 0;
	g->nnames = g->nkeys = g->nabout = g->nacks = g->nmessages = 0;
	g->nneeds = 0;
	g->releases = false;
	for (i = 0; i < g->nunits && rc == RC_OK; i++) {
		g->owner = (struct gather_owner){i, 0};
		if (!g->units[i]->aside)
			rc = want(g, g->units[i], err);
	}
	if (rc == RC_OK)
		rc = want_met(g, err);
	names_of_users(g);
	return (rc);
}
