/* SPDX-License-Identifier: MIT */
/*
 * Locks only the rows of a batch that are free, and defers the units that need
 * a row that another transaction has locked (see lockset.c).  Nothing in this
 * file waits for a lock.
 *
 * Promises: of two units of the same kind that need the same contended row, the
 * one that arrived later never overtakes the earlier one.  Rows that could not
 * be locked stay in the set of contended rows until a probe finds them free or
 * forgets them; then the deferred units come first (engine/writer_deferred.c).
 */
#include "base/mem.h"
#include "txn/cache_internal.h"
#include "txn/lockset_internal.h"

/* ---- deferred units ---- */

/* Returns a pointer to the flag that says whether ${owner} is deferred: the
 * flag of one part of its unit or, if the kind of the unit has no parts, of the
 * whole unit.  ${owner} must not be LOCK_NOBODY. */
static bool *
deferred_flag(const struct lockset *set, const struct lock_owner *owner)
{
	struct unit *unit = set->units[owner->unit];
	size_t nparts;

	return (unit->kind->parts == NULL
		    ? &unit->deferred
		    : &unit->kind->parts(unit, &nparts)[owner->part]);
}

static bool
is_deferred(const struct lockset *set, const struct lock_owner *owner)
{

	return (owner->unit != LOCK_NOBODY && *deferred_flag(set, owner));
}

static void
defer(struct lockset *set, const struct lock_owner *owner)
{

	if (owner->unit != LOCK_NOBODY)
		*deferred_flag(set, owner) = true;
}

/* Defers all units that need a row that is known to be contended. */
static void
defer_contended(struct lockset *set)
{
	const struct lock_need *needs = set->needs.v;
	size_t i;

	for (i = 0; i < set->needs.n; i++)
		if (contended_has(set->contended, &needs[i].row))
			defer(set, &needs[i].owner);
}

static enum rc
add_contended(
    struct lockset *set, const struct contended_row *row, struct err *err)
{

	return (contended_add(set->contended, row) == RC_OK
		    ? RC_OK
		    : err_set(err, RC_NO_MEMORY, "lock set"));
}

/* ---- the rows that the units need ---- */

enum rc
lockset_find(struct lockset *set, struct err *err)
{
	struct db *db = set->tx->db;
	enum rc rc;

	rc = lockset_find_about(set, err);
	if (rc == RC_OK)
		rc = store_lock_find(
		    db, set->keys.v, set->keys.n, &set->handler, err);
	if (rc == RC_OK)
		rc = store_lock_answers(db, err);
	if (rc == RC_OK)
		defer_contended(set);
	return (rc);
}

/* ---- names ---- */

/* Defers the unit that listed name ${number}, because another transaction has
 * locked the name, and adds to the contended rows the sends that the unit
 * listed (lockset_send_order()).  So later units that list the same sends, also
 * in later batches, are deferred and stay behind it. */
static enum rc
on_name_taken(void *arg, size_t number, struct err *err)
{
	struct lockset *set = arg;
	const struct lock_name *name =
	    &((const struct lock_name *)set->names.v)[number];
	const struct lock_owner owner = {name->unit, 0};
	const struct lock_need *needs = set->needs.v;
	enum rc rc = RC_OK;
	size_t i;

	defer(set, &owner);
	for (i = 0; i < set->needs.n && rc == RC_OK; i++)
		if (needs[i].owner.unit == name->unit &&
		    needs[i].row.kind == CONTENDED_SEND)
			rc = add_contended(set, &needs[i].row, err);
	return (rc);
}

enum rc
lockset_skip_names(struct lockset *set, struct err *err)
{
	const struct store_lock_handler h = {
	    .name_taken = on_name_taken, .arg = set};
	struct db *db = set->tx->db;
	const char **names;
	enum rc rc;

	names = lockset_name_list(set, err);
	if (names == NULL)
		return (RC_NO_MEMORY);
	rc = store_lock_names_skip(db, names, set->names.n, &h, err);
	if (rc == RC_OK)
		rc = store_lock_answers(db, err);
	mem_free(names);
	if (rc == RC_OK)
		defer_contended(set);
	return (rc);
}

/* ---- rows ---- */

/* Appends to ${ret} the ids of the rows of ${kind} that units (or parts of
 * units) need, unless the unit or part is deferred.  An id that several of them
 * need is appended several times. */
static enum rc
list_needs(struct lockset *set, enum contended_kind kind, struct list *ret,
    struct err *err)
{
	const struct lock_need *need, *needs = set->needs.v;
	enum rc rc = RC_OK;
	size_t i;

	for (i = 0; i < set->needs.n && rc == RC_OK; i++) {
		need = &needs[i];
		if (need->row.kind == (int64_t)kind &&
		    !is_deferred(set, &need->owner))
			rc = lockset_add_id(ret, need->row.id, err);
	}
	return (rc);
}

enum rc
lockset_skip_conversations(struct lockset *set, struct err *err)
{
	struct list ids = {.n = 0};
	enum rc rc;

	rc = list_needs(set, CONTENDED_CONVERSATION, &ids, err);
	if (rc == RC_OK)
		rc = store_lock_conversations_skip(
		    set->tx->db, ids.v, ids.n, &set->handler, err);
	mem_free(ids.v);
	return (rc);
}

enum rc
lockset_skip_rest(struct lockset *set, struct err *err)
{
	struct list devices = {.n = 0}, inboxes = {.n = 0};
	struct db *db = set->tx->db;
	enum rc rc;

	contended_clear(set->got);
	rc = list_needs(set, CONTENDED_DEVICE, &devices, err);
	if (rc == RC_OK)
		rc = list_needs(set, CONTENDED_INBOX, &inboxes, err);
	if (rc == RC_OK)
		rc = store_lock_devices_exist(
		    db, devices.v, devices.n, &set->handler, err);
	if (rc == RC_OK)
		rc = store_lock_devices_skip(
		    db, devices.v, devices.n, &set->handler, err);
	if (rc == RC_OK)
		rc = store_lock_inboxes_skip(
		    db, inboxes.v, inboxes.n, &set->handler, err);
	mem_free(devices.v);
	mem_free(inboxes.v);
	return (rc);
}

/* Returns true if another transaction has locked ${row}: this batch has tried
 * to lock the row and did not get it.  A device that does not exist is not
 * locked by anyone: its unit reports the error. */
static bool
is_taken(const struct lockset *set, const struct contended_row *row)
{

	switch ((enum contended_kind)row->kind) {
	case CONTENDED_CONVERSATION:
		return (htab_find(set->cache->conversations_by_id, &row->id) ==
			NULL);
	case CONTENDED_INBOX:
		return (!contended_has(set->got, row));
	case CONTENDED_DEVICE:
		return (htab_find(set->cache->devices, &row->id) == NULL &&
			contended_has(set->got, row));
	case CONTENDED_SEND:
	default:
		return (false);
	}
}

enum rc
lockset_defer(struct lockset *set, bool rest, struct err *err)
{
	const struct lock_need *need, *needs = set->needs.v;
	enum rc rc = RC_OK;
	size_t i;

	for (i = 0; i < set->needs.n && rc == RC_OK; i++) {
		need = &needs[i];
		if ((need->row.kind == CONTENDED_CONVERSATION) == rest ||
		    is_deferred(set, &need->owner) ||
		    !is_taken(set, &need->row))
			continue;
		defer(set, &need->owner);
		rc = add_contended(set, &need->row, err);
	}
	return (rc);
}

/* ---- rows that are free again ---- */

static enum rc
free_conversation(
    void *arg, const struct store_conversation *row, struct err *err)
{
	const struct contended_row key = {
	    CONTENDED_CONVERSATION, row->conversation_id};

	(void)err;
	contended_remove(arg, &key);
	return (RC_OK);
}

static enum rc
free_inbox(void *arg, int64_t user_id, const struct store_counter *counter,
    struct err *err)
{
	const struct contended_row key = {CONTENDED_INBOX, user_id};

	(void)counter;
	(void)err;
	contended_remove(arg, &key);
	return (RC_OK);
}

static enum rc
free_device(void *arg, int64_t device_id, int64_t acked, struct err *err)
{
	const struct contended_row key = {CONTENDED_DEVICE, device_id};

	(void)acked;
	(void)err;
	contended_remove(arg, &key);
	return (RC_OK);
}

static enum rc
list_contended(const struct contended *rows, enum contended_kind kind,
    struct list *ret, struct err *err)
{
	const struct contended_row *row;
	enum rc rc = RC_OK;
	size_t pos = 0;

	while (rc == RC_OK && (row = contended_next(rows, &pos)) != NULL)
		if (row->kind == (int64_t)kind)
			rc = lockset_add_id(ret, row->id, err);
	return (rc);
}

/* Tries to lock all ${rows} except CONTENDED_SEND, and removes those that were
 * free. */
static enum rc
probe_rows(struct db *db, struct contended *rows, struct err *err)
{
	const struct store_lock_handler h = {.conversation = free_conversation,
	    .counter = free_inbox,
	    .device = free_device,
	    .arg = rows};
	struct list ids[CONTENDED_SEND] = {{.n = 0}};
	enum rc rc = RC_OK;
	int kind;

	for (kind = 0; kind < CONTENDED_SEND && rc == RC_OK; kind++)
		rc = list_contended(
		    rows, (enum contended_kind)kind, &ids[kind], err);
	if (rc == RC_OK)
		rc = store_lock_conversations_skip(db,
		    ids[CONTENDED_CONVERSATION].v,
		    ids[CONTENDED_CONVERSATION].n, &h, err);
	if (rc == RC_OK)
		rc = store_lock_inboxes_skip(db, ids[CONTENDED_INBOX].v,
		    ids[CONTENDED_INBOX].n, &h, err);
	if (rc == RC_OK)
		rc = store_lock_devices_skip(db, ids[CONTENDED_DEVICE].v,
		    ids[CONTENDED_DEVICE].n, &h, err);
	if (rc == RC_OK)
		rc = store_lock_answers(db, err);
	for (kind = 0; kind < CONTENDED_SEND; kind++)
		mem_free(ids[kind].v);
	return (rc);
}

enum rc
lockset_probe(struct tx *tx, bool forget, bool *ret_freed, struct err *err)
{
	struct contended *rows = txn_env_of(tx)->contended;
	const size_t before = contended_count(rows);
	enum rc rc = RC_OK;

	if (forget)
		contended_clear(rows);
	else
		rc = probe_rows(tx->db, rows, err);
	*ret_freed = contended_count(rows) < before;
	return (rc);
}
