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
 * A row that somebody else holds for long (an operator's session, a node that
 * stands still) would make the whole batch wait.  When a batch has waited for
 * db_patience_ms, it is tried again and takes only what is free
 * (gather_free.c): who needs another row is laid aside, and so are later units
 * that need it, until it is free.
 *
 * A unit that needs what was not foreseen asks itself, and never waits: what
 * another writer has is remembered, and the transaction tried again, which
 * gathers that, too.
 */
#include <string.h>

#include "base/mem.h"
#include "domain/deliver.h"
#include "domain/gather_internal.h"
#include "domain/gather_names.h"
#include "domain/ledger_internal.h"
#include "domain/order.h"
#include "domain/release.h"

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
take_about(void *arg, size_t number, int64_t conversation_id, struct err *err)
{
	const struct store_conversation_key key = {
	    .conversation_id = conversation_id};
	struct gather *g = arg;

	g->owner = g->about_owners[number];
	return (gather_add_key(g, &key, err));
}

static enum rc
take_found(void *arg, size_t number, int64_t conversation_id, int64_t dest_user,
    struct err *err)
{
	struct gather *g = arg;
	enum rc rc;

	g->owner = g->key_owners[number];
	rc = gather_add_need(g, HELD_CONVERSATION, conversation_id, err);
	return (rc == RC_OK && dest_user != 0
		    ? gather_add_need(g, HELD_INBOX, dest_user, err)
		    : rc);
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
	return (
	    rc == RC_OK ? gather_add_id(&g->conversations, c->id, err) : rc);
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
	const struct held_row row = {HELD_INBOX, user_id};

	if (user != NULL) {
		user->counter = *counter;
		user->counted = true;
	}
	if (g->got != NULL && held_add(g->got, &row) != RC_OK)
		return (err_set(err, RC_NO_MEMORY, "gather"));
	return (RC_OK);
}

static enum rc
take_device(void *arg, int64_t device_id, int64_t acked, struct err *err)
{
	struct gather *g = arg;

	return (ledger_keep_device(g->l, device_id, acked, err));
}

static enum rc
take_device_there(void *arg, int64_t device_id, struct err *err)
{
	const struct held_row row = {HELD_DEVICE, device_id};
	struct gather *g = arg;

	return (held_add(g->got, &row) == RC_OK
		    ? RC_OK
		    : err_set(err, RC_NO_MEMORY, "gather"));
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
    .found = take_found,
    .conversation = take_conversation,
    .member = take_member,
    .lane = take_lane,
    .counter = take_counter,
    .device = take_device,
    .device_there = take_device_there,
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
		rc = g->tx->search ? gather_free_conversations(g, err)
				   : store_hold_conversations(db, g->keys,
					 g->nkeys, &g->holder, err);
	/* It waits for nobody: after what does. */
	if (rc == RC_OK && g->releases)
		rc = store_hold_due(
		    db, g->tx->now_ms, RELEASE_ROWS, &g->holder, err);
	if (rc == RC_OK)
		rc = store_hold_answers(db, err);
	return (rc == RC_OK && g->tx->search ? gather_lay_aside(g, false, err)
					     : rc);
}

/* What acks and reads change. */
static enum rc
hold_marks(struct gather *g, struct err *err)
{
	struct db *db = g->tx->db;
	enum rc rc;

	rc =
	    store_hold_devices(db, g->devices.v, g->devices.n, &g->holder, err);
	return (rc == RC_OK ? store_hold_counters(db, g->inboxes.v,
				  g->inboxes.n, &g->holder, err)
			    : rc);
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
		rc = g->tx->search ? gather_free_rest(g, err)
				   : hold_marks(g, err);
	if (rc == RC_OK)
		rc = store_hold_keys(db, g->messages, g->nmessages, h, err);
	if (rc == RC_OK && !g->has_ids)
		rc = store_hold_message_ids(db, g->nmessages, h, err);
	if (rc == RC_OK && !g->has_ids)
		rc = store_hold_outbox_ids(
		    db, ledger_ids_room(g->nmessages + g->nacks), h, err);
	if (rc == RC_OK)
		rc = store_hold_answers(db, err);
	return (
	    rc == RC_OK && g->tx->search ? gather_lay_aside(g, true, err) : rc);
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

static enum rc
hold_names(struct gather *g, const struct gather_names *names, struct err *err)
{

	return (g->tx->search
		    ? gather_free_names(g, names, err)
		    : store_hold_names(g->tx->db, names->list, names->n, err));
}

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
		rc = hold_names(g, names, err);
	g->l->mids = mids;
	g->l->outbox_ids = outbox_ids;
	g->has_ids = true;
	/* What is free now may have been made meanwhile. */
	if (rc == RC_OK && g->tx->search)
		rc = gather_want_all(g, err);
	if (rc == RC_OK && g->tx->search)
		rc = gather_find(g, err);
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
		rc = hold_names(g, &names, err);
	if (rc == RC_OK && g->nabout > 0 && !g->tx->search)
		rc = store_hold_about(db, g->about, g->nabout, &g->holder, err);
	if (rc == RC_OK && g->nabout > 0 && !g->tx->search)
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

/* Nothing of an earlier try is left in the units. */
static void
take_back(struct unit **units, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		units[i]->aside = false;
		if (units[i]->kind->order == ORDER_DELIVER)
			deliver_unit_free(
			    (struct deliver_unit *)(void *)units[i]);
	}
}

static enum rc
prepare(struct gather *g, struct err *err)
{
	enum rc rc;

	/* A unit names one person, besides itself one. */
	g->names = mem_zalloc(2 * g->nunits + 1, sizeof(*g->names));
	g->messages = mem_zalloc(g->nunits + 1, sizeof(*g->messages));
	if (g->names == NULL || g->messages == NULL ||
	    (g->tx->search && (g->got = held_new()) == NULL))
		return (err_set(err, RC_NO_MEMORY, "gather"));
	rc = gather_want_all(g, err);
	if (rc == RC_OK && g->picky)
		rc = gather_find(g, err);
	/* Without what those need that are laid aside. */
	if (rc == RC_OK && g->picky && !g->tx->search)
		rc = gather_want_all(g, err);
	return (rc);
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
	mem_free(g->key_owners);
	mem_free(g->about);
	mem_free(g->about_owners);
	mem_free(g->messages);
	mem_free(g->needs);
	held_free(g->got);
}

enum rc
gather(struct tx *tx, struct unit **units, size_t n, struct err *err)
{
	struct domain *d = domain_of(tx);
	struct gather g = {.l = d->ledger,
	    .held = d->held,
	    .tx = tx,
	    .holder = holding,
	    .units = units,
	    .nunits = n,
	    .picky = tx->search || held_count(d->held) > 0};
	enum rc rc;

	g.holder.arg = &g;
	take_back(units, n);
	rc = prepare(&g, err);
	if (rc == RC_OK)
		rc = hold(&g, err);
	/* The inboxes that the units need; another one is not waited for. */
	d->ledger->holds_inboxes = rc == RC_OK && tx->search;
	d->ledger->gathered = rc == RC_OK;
	release(&g);
	return (rc);
}
