/* SPDX-License-Identifier: MIT */
/*
 * Before the first write of a batch, where there are several writers: what its
 * units will work with is read and locked at once, a statement a kind of thing
 * however many units there are, conversations first, then devices, each in the
 * order of their ids; inboxes come when all else is written (inbox.c).  So
 * batches of several writers wait for one another, and not in a circle, and a
 * unit finds in the ledger what it would have asked for.
 *
 * What is to be made has no row to wait for: its name is held instead, before
 * all rows.  That something is missing shows only when these are held; then the
 * transaction, which has written nothing, begins anew with the names.
 *
 * A unit that needs what was not foreseen asks itself, and never waits: what
 * another writer has is remembered, and the transaction tried again, which
 * gathers that, too.
 */
#include <string.h>

#include "base/mem.h"
#include "domain/cancel.h"
#include "domain/deliver.h"
#include "domain/desk.h"
#include "domain/domain_internal.h"
#include "domain/gather_names.h"
#include "domain/ledger_internal.h"
#include "domain/mark.h"
#include "domain/order.h"
#include "domain/release.h"
#include "domain/renew.h"
#include "domain/send.h"
#include "domain/settle.h"
#include "store/hold.h"
#include "store/outbox.h"

/* A list of ids that is large enough from the beginning, or grows. */
struct ids {
	int64_t *v;
	size_t n, cap;
};

struct gather {
	struct ledger *l;
	struct tx *tx;
	struct store_holder holder; /* that we are */
	struct unit **units;
	size_t nunits;
	struct ids users, conversations, inboxes, devices;
	struct store_user_key *names;
	struct store_conversation_key *keys;
	struct store_about *about;
	struct uuid *messages;
	size_t nnames, nkeys, keys_cap, nabout, about_cap, nacks, nmessages;
	bool releases; /* what is scheduled and due */
	bool has_ids;  /* numbers, which nobody takes back */
};

static enum rc
add(struct ids *ids, int64_t id, struct err *err)
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
static enum rc
add_key(
    struct gather *g, const struct store_conversation_key *key, struct err *err)
{
	size_t cap = g->keys_cap == 0 ? 64 : g->keys_cap * 2;
	struct store_conversation_key *keys;

	if (g->nkeys == g->keys_cap) {
		keys = mem_realloc(g->keys, cap * sizeof(*keys));
		if (keys == NULL)
			return (err_set(err, RC_NO_MEMORY, "gather"));
		g->keys = keys;
		g->keys_cap = cap;
	}
	g->keys[g->nkeys++] = *key;
	return (RC_OK);
}

/* A conversation that is known by a message of it, or (NULL) a dead letter. */
static enum rc
add_about(struct gather *g, const struct uuid *message_id, int64_t dead_id,
    struct err *err)
{
	size_t cap = g->about_cap == 0 ? 16 : g->about_cap * 2;
	struct store_about *about;

	if (g->nabout == g->about_cap) {
		about = mem_realloc(g->about, cap * sizeof(*about));
		if (about == NULL)
			return (err_set(err, RC_NO_MEMORY, "gather"));
		g->about = about;
		g->about_cap = cap;
	}
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
	rc = add(&g->users, u->sender_id, err);
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
	return (add_key(g, &key, err));
}

static enum rc
want_lane(struct gather *g, int64_t lane_id, struct err *err)
{
	const struct store_conversation_key key = {.lane_id = lane_id};

	return (add_key(g, &key, err));
}

static enum rc
want_deliver(struct gather *g, const struct deliver_unit *u, struct err *err)
{
	enum rc rc = RC_OK;
	size_t i;

	for (i = 0; i < u->nlanes && rc == RC_OK; i++)
		rc = want_lane(g, u->lanes[i], err);
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
	struct store_conversation_key key = {.conversation_id = 0};
	enum rc rc = RC_OK;
	size_t i;

	for (i = 0; i < met->n && rc == RC_OK; i++) {
		key.conversation_id = met->ids[i];
		rc = add_key(g, &key, err);
	}
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
		rc = add_key(g, key, err);
	}
	if (rc == RC_OK)
		rc = add(&g->users, user_id, err);
	if (rc == RC_OK)
		rc = add(&g->inboxes, user_id, err);
	if (rc == RC_OK)
		rc = add(&g->devices, device_id, err);
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
		rc = add_key(g, &conversation, err);
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

/* ---- what comes back ---- */

static enum rc
take_user(void *arg, const struct store_user *row, struct err *err)
{
	struct gather *g = arg;
	struct ledger_user *user;

	if (htab_find(g->l->users_by_id, &row->user_id) != NULL)
		return (RC_OK);
	return (ledger_keep_user(g->l, row, &user, err));
}

static enum rc
take_about(void *arg, int64_t conversation_id, struct err *err)
{
	const struct store_conversation_key key = {
	    .conversation_id = conversation_id};

	return (add_key(arg, &key, err));
}

static enum rc
take_conversation(
    void *arg, const struct store_conversation *row, struct err *err)
{
	struct gather *g = arg;
	struct ledger_conversation *c;
	enum rc rc;

	if (htab_find(g->l->conversations_by_id, &row->conversation_id) != NULL)
		return (RC_OK);
	rc = ledger_keep_conversation(g->l, row, &c, err);
	return (rc == RC_OK ? add(&g->conversations, c->id, err) : rc);
}

static enum rc
take_member(void *arg, const struct store_held_member *m, struct err *err)
{
	struct gather *g = arg;
	struct ledger_conversation *c;
	struct ledger_user *user;
	enum rc rc;

	rc = take_user(g, &m->user, err);
	c = htab_find(g->l->conversations_by_id, &m->conversation_id);
	user = htab_find(g->l->users_by_id, &m->user.user_id);
	if (rc != RC_OK || c == NULL)
		return (rc);
	return (ledger_keep_member(c, user, &m->participant, err));
}

static enum rc
take_lane(void *arg, const struct store_lane *row, struct err *err)
{
	struct gather *g = arg;
	struct ledger_lane *lane;

	return (ledger_keep_lane(g->l, g->tx, row, &lane, err));
}

static enum rc
take_counter(void *arg, int64_t user_id, const struct store_counter *counter,
    struct err *err)
{
	struct gather *g = arg;
	struct ledger_user *user = htab_find(g->l->users_by_id, &user_id);

	(void)err;
	if (user != NULL) {
		user->counter = *counter;
		user->counted = true;
	}
	return (RC_OK);
}

static enum rc
take_device(void *arg, int64_t device_id, int64_t acked, struct err *err)
{
	struct gather *g = arg;

	return (ledger_keep_device(g->l, device_id, acked, err));
}

static enum rc
take_key(void *arg, const struct uuid *id, struct err *err)
{
	struct gather *g = arg;

	if (htab_set(g->l->taken, id, g->l) != RC_OK)
		return (err_set(err, RC_NO_MEMORY, "gather"));
	return (RC_OK);
}

static enum rc
take_message_id(void *arg, int64_t id, struct err *err)
{
	struct gather *g = arg;

	return (ledger_keep_id(&g->l->mids, id, err));
}

static enum rc
take_outbox_id(void *arg, int64_t id, struct err *err)
{
	struct gather *g = arg;

	return (ledger_keep_id(&g->l->outbox_ids, id, err));
}

static const struct store_holder holding = {.user = take_user,
    .about = take_about,
    .conversation = take_conversation,
    .member = take_member,
    .lane = take_lane,
    .counter = take_counter,
    .device = take_device,
    .key = take_key,
    .message_id = take_message_id,
    .outbox_id = take_outbox_id};

/* ---- in order ---- */

/* Direct conversations are found by their members. */
static enum rc
note_direct(struct gather *g, struct err *err)
{
	const struct ledger_conversation *c;
	struct pair_key key;
	size_t pos = 0;

	while ((c = htab_next(g->l->conversations_by_id, &pos)) != NULL) {
		if (!c->direct || c->nmembers == 0)
			continue;
		key.low = c->members[0].user->user_id;
		key.high = c->members[c->nmembers - 1].user->user_id;
		if (htab_set(g->l->direct, &key, (void *)(uintptr_t)c) != RC_OK)
			return (err_set(err, RC_NO_MEMORY, "gather"));
	}
	return (RC_OK);
}

/* Who takes part, and the conversations, locked. */
static enum rc
ask_conversations(struct gather *g, struct err *err)
{
	struct db *db = g->tx->db;
	enum rc rc;

	rc = store_hold_users(db, g->names, g->nnames, &g->holder, err);
	if (rc == RC_OK)
		rc = store_hold_conversations(
		    db, g->keys, g->nkeys, &g->holder, err);
	/* It waits for nobody: after what does. */
	if (rc == RC_OK && g->releases)
		rc = store_hold_due(
		    db, g->tx->now_ms, RELEASE_ROWS, &g->holder, err);
	return (rc == RC_OK ? store_hold_answers(db, err) : rc);
}

/* What hangs on conversations that are locked now; what was being accepted
 * elsewhere is there. */
static enum rc
ask_rest(struct gather *g, struct err *err)
{
	const struct store_holder *h = &g->holder;
	struct db *db = g->tx->db;
	enum rc rc;

	rc = store_hold_members(
	    db, g->conversations.v, g->conversations.n, h, err);
	if (rc == RC_OK)
		rc = store_hold_lanes_of(
		    db, g->conversations.v, g->conversations.n, h, err);
	if (rc == RC_OK)
		rc = store_hold_devices(db, g->devices.v, g->devices.n, h, err);
	if (rc == RC_OK)
		rc =
		    store_hold_counters(db, g->inboxes.v, g->inboxes.n, h, err);
	if (rc == RC_OK)
		rc = store_hold_keys(db, g->messages, g->nmessages, h, err);
	if (rc == RC_OK && !g->has_ids)
		rc = store_hold_message_ids(db, g->nmessages, h, err);
	if (rc == RC_OK && !g->has_ids)
		rc = store_hold_outbox_ids(
		    db, ledger_ids_room(g->nmessages + g->nacks), h, err);
	return (rc == RC_OK ? store_hold_answers(db, err) : rc);
}

/* Two journeys, however much is asked for. */
static enum rc
hold_all(struct gather *g, struct err *err)
{
	enum rc rc;

	rc = ask_conversations(g, err);
	if (rc == RC_OK)
		rc = ask_rest(g, err);
	return (rc == RC_OK ? note_direct(g, err) : rc);
}

/* ---- what is to be made ---- */

/* Nothing of the transaction is written yet: it lets go of all that it holds
 * but the numbers, and begins anew with the names. */
static enum rc
begin_with(struct gather *g, const struct gather_names *names, struct err *err)
{
	const struct ledger_ids mids = g->l->mids;
	const struct ledger_ids outbox_ids = g->l->outbox_ids;
	struct domain *d = domain_of(g->tx);
	struct db *db = g->tx->db;
	enum rc rc;

	db_rollback(db);
	ledger_abort(g->l);
	tally_abort(d->tally);
	g->conversations.n = 0;
	rc = db_begin(db, err);
	if (rc == RC_OK)
		rc = d->hooks.begin(d, g->tx, err);
	if (rc == RC_OK)
		rc = store_hold_names(db, names->list, names->n, err);
	g->l->mids = mids;
	g->l->outbox_ids = outbox_ids;
	g->has_ids = true;
	return (rc == RC_OK ? hold_all(g, err) : rc);
}

/* Holds all, and before it the names of accounts, and of what is missing: that
 * begins anew, for names have an order, too.  Something may be missing again
 * (who was to get it was made meanwhile): that is rare. */
static enum rc
hold(struct gather *g, struct err *err)
{
	struct gather_names names = {.n = 0};
	struct db *db = g->tx->db;
	size_t known;
	enum rc rc;

	rc = gather_names_accounts(g->units, g->nunits, &names, err);
	known = names.n;
	if (rc == RC_OK && known > 0)
		rc = store_hold_names(db, names.list, known, err);
	if (rc == RC_OK && g->nabout > 0)
		rc = store_hold_about(db, g->about, g->nabout, &g->holder, err);
	if (rc == RC_OK && g->nabout > 0)
		rc = store_hold_answers(db, err);
	if (rc == RC_OK)
		rc = hold_all(g, err);
	if (rc == RC_OK)
		rc = gather_names_missing(
		    g->l, g->units, g->nunits, &names, err);
	if (rc == RC_OK && names.n > known)
		rc = begin_with(g, &names, err);
	gather_names_free(&names);
	return (rc);
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

static void
release(struct gather *g)
{

	mem_free(g->users.v);
	mem_free(g->conversations.v);
	mem_free(g->inboxes.v);
	mem_free(g->devices.v);
	mem_free(g->names);
	mem_free(g->keys);
	mem_free(g->about);
	mem_free(g->messages);
}

enum rc
gather(struct tx *tx, struct unit **units, size_t n, struct err *err)
{
	struct domain *d = domain_of(tx);
	struct gather g = {.l = d->ledger,
	    .tx = tx,
	    .holder = holding,
	    .units = units,
	    .nunits = n};
	enum rc rc = RC_OK;
	size_t i;

	g.holder.arg = &g;
	/* A unit names one person, besides itself one. */
	g.names = mem_zalloc(2 * n + 1, sizeof(*g.names));
	g.messages = mem_zalloc(n + 1, sizeof(*g.messages));
	if (g.names == NULL || g.messages == NULL)
		rc = err_set(err, RC_NO_MEMORY, "gather");
	for (i = 0; i < n && rc == RC_OK; i++)
		rc = want(&g, units[i], err);
	if (rc == RC_OK)
		rc = want_met(&g, err);
	if (rc == RC_OK) {
		names_of_users(&g);
		rc = hold(&g, err);
	}
	d->ledger->gathered = rc == RC_OK;
	release(&g);
	return (rc);
}
