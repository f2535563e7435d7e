/* SPDX-License-Identifier: MIT */
/*
 * The lists of rows that the units of a batch need; see lockset.h.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "txn/cache_internal.h"
#include "txn/lockset_internal.h"

#define FIRST_CAP 64

enum rc
lockset_push(struct list *list, const void *item, size_t width, struct err *err)
{
	const size_t cap = list->cap == 0 ? FIRST_CAP : list->cap * 2;
	void *v;

	if (list->n == list->cap) {
		v = mem_realloc(list->v, cap * width);
		if (v == NULL)
			return (err_set(err, RC_NO_MEMORY, "lock set"));
		list->v = v;
		list->cap = cap;
	}
	memcpy((char *)list->v + list->n++ * width, item, width);
	return (RC_OK);
}

enum rc
lockset_add_id(struct list *ids, int64_t id, struct err *err)
{

	return (lockset_push(ids, &id, sizeof(id), err));
}

/* Appends ${item} to ${items} and its owner to ${owners}. */
static enum rc
push_owned(struct lockset *set, struct list *items, struct list *owners,
    const void *item, size_t width, struct err *err)
{
	enum rc rc;

	rc = lockset_push(owners, &set->owner, sizeof(set->owner), err);
	if (rc != RC_OK)
		return (rc);
	rc = lockset_push(items, item, width, err);
	if (rc != RC_OK)
		owners->n--;
	return (rc);
}

enum rc
lockset_add_key(struct lockset *set, const struct store_conversation_key *key,
    struct err *err)
{

	return (push_owned(
	    set, &set->keys, &set->key_owners, key, sizeof(*key), err));
}

enum rc
lockset_add_need(
    struct lockset *set, enum contended_kind kind, int64_t id, struct err *err)
{
	const struct lock_need need = {{(int64_t)kind, id}, set->owner};

	return (set->selective
		    ? lockset_push(&set->needs, &need, sizeof(need), err)
		    : RC_OK);
}

/* Lists the conversation of a message or, if ${message_id} is NULL, of a dead
 * letter. */
static enum rc
add_about(struct lockset *set, const struct uuid *message_id, int64_t dead_id,
    struct err *err)
{
	const struct store_about about = {message_id, dead_id};

	return (push_owned(
	    set, &set->about, &set->about_owners, &about, sizeof(about), err));
}

static enum rc
add_user(struct lockset *set, const struct store_user_key *key, struct err *err)
{

	return (lockset_push(&set->users, key, sizeof(*key), err));
}

/* ---- for the kinds of units ---- */

void
lockset_part(struct lockset *set, size_t part)
{

	set->owner.part = part;
}

enum rc
lockset_user(struct lockset *set, int64_t user_id, struct err *err)
{
	const struct store_user_key key = {user_id, NULL, 0};

	return (add_user(set, &key, err));
}

enum rc
lockset_user_named(
    struct lockset *set, const char *name, size_t n, struct err *err)
{
	const struct store_user_key key = {0, name, n};

	return (add_user(set, &key, err));
}

enum rc
lockset_conversation(
    struct lockset *set, const struct uuid *id, struct err *err)
{
	const struct store_conversation_key key = {.public_id = id};

	return (lockset_add_key(set, &key, err));
}

enum rc
lockset_direct(
    struct lockset *set, int64_t user_id, const char *with, struct err *err)
{
	const struct store_conversation_key key = {
	    .user_id = user_id, .with = with};
	enum rc rc;

	rc = lockset_user_named(set, with, strlen(with), err);
	return (rc == RC_OK ? lockset_add_key(set, &key, err) : rc);
}

enum rc
lockset_direct_key(struct lockset *set, const char *key, struct err *err)
{
	const struct store_conversation_key direct = {.direct_key = key};

	return (lockset_add_key(set, &direct, err));
}

enum rc
lockset_lane(struct lockset *set, int64_t lane_id, struct err *err)
{
	const struct store_conversation_key key = {.lane_id = lane_id};

	return (lockset_add_key(set, &key, err));
}

enum rc
lockset_message(struct lockset *set, const struct uuid *id, struct err *err)
{

	return (add_about(set, id, 0, err));
}

enum rc
lockset_dead_letter(struct lockset *set, int64_t dead_id, struct err *err)
{

	return (add_about(set, NULL, dead_id, err));
}

enum rc
lockset_new_message(struct lockset *set, const struct uuid *id, struct err *err)
{

	return (lockset_push(&set->messages, id, sizeof(*id), err));
}

enum rc
lockset_send_order(
    struct lockset *set, int64_t sender_id, const char *to, struct err *err)
{

	return (lockset_add_need(
	    set, CONTENDED_SEND, contended_send_id(sender_id, to), err));
}

enum rc
lockset_inbox_events(struct lockset *set, int64_t user_id, struct err *err)
{

	return (lockset_add_need(set, CONTENDED_INBOX, user_id, err));
}

enum rc
lockset_inbox_events_named(
    struct lockset *set, const char *name, struct err *err)
{
	const struct store_conversation_key key = {.with = name};

	return (set->selective ? lockset_add_key(set, &key, err) : RC_OK);
}

enum rc
lockset_inbox_watermarks(
    struct lockset *set, int64_t user_id, int64_t device_id, struct err *err)
{
	enum rc rc;

	rc = lockset_user(set, user_id, err);
	if (rc == RC_OK)
		rc = lockset_add_id(&set->inboxes, user_id, err);
	if (rc == RC_OK)
		rc = lockset_add_need(set, CONTENDED_INBOX, user_id, err);
	if (rc == RC_OK)
		rc = lockset_add_id(&set->devices, device_id, err);
	if (rc == RC_OK)
		rc = lockset_add_need(set, CONTENDED_DEVICE, device_id, err);
	return (rc);
}

enum rc
lockset_inbox_range(struct lockset *set, int64_t user_id, int64_t acked_upto,
    int64_t read_upto, struct err *err)
{
	const struct store_conversation_key key = {.user_id = user_id,
	    .acked_upto = acked_upto,
	    .read_upto = read_upto};

	if (acked_upto <= 0 && read_upto <= 0)
		return (RC_OK);
	set->nreceipts++;
	return (lockset_add_key(set, &key, err));
}

void
lockset_due(struct lockset *set, int most)
{

	set->due = most;
}

enum rc
lockset_name(struct lockset *set, const char *name, struct err *err)
{
	struct lock_name item = {.unit = set->owner.unit};

	(void)snprintf(item.name, sizeof(item.name), "%s", name);
	return (lockset_push(&set->names, &item, sizeof(item), err));
}

/* ---- of a whole batch ---- */

/* Lists the conversations and inboxes that an earlier try of this transaction
 * could not lock when it was too late to wait (cache_contended_add()): a
 * conversation that no unit had listed, or an inbox that was needed after other
 * inboxes had been locked. */
static enum rc
add_unforeseen(struct lockset *set, struct err *err)
{
	const struct contended_ids *conversations =
	    &set->cache->contended_conversations;
	const struct contended_ids *inboxes = &set->cache->contended_inboxes;
	struct store_conversation_key key = {.conversation_id = 0};
	enum rc rc = RC_OK;
	size_t i;

	/* If the batch has only one unit, that unit needed them. */
	set->owner = (struct lock_owner){LOCK_NOBODY, 0};
	if (set->nunits == 1 && set->units[0]->kind->parts == NULL)
		set->owner.unit = 0;
	for (i = 0; i < conversations->n && rc == RC_OK; i++) {
		key.conversation_id = conversations->ids[i];
		rc = lockset_add_key(set, &key, err);
	}
	for (i = 0; i < inboxes->n && rc == RC_OK; i++)
		rc = lockset_add_need(
		    set, CONTENDED_INBOX, inboxes->ids[i], err);
	return (rc);
}

enum rc
lockset_add_all(struct lockset *set, struct err *err)
{
	struct unit *unit;
	enum rc rc = RC_OK;
	size_t i;

	set->conversations.n = set->inboxes.n = set->devices.n = 0;
	set->users.n = set->keys.n = set->key_owners.n = 0;
	set->about.n = set->about_owners.n = set->messages.n = 0;
	set->names.n = set->needs.n = set->nreceipts = 0;
	set->due = 0;
	for (i = 0; i < set->nunits && rc == RC_OK; i++) {
		unit = set->units[i];
		set->owner = (struct lock_owner){i, 0};
		if (!unit->deferred)
			rc = unit->kind->locks(unit, set, err);
	}
	return (rc == RC_OK ? add_unforeseen(set, err) : rc);
}

enum rc
lockset_add_names(struct lockset *set, struct err *err)
{
	struct unit *unit;
	enum rc rc = RC_OK;
	size_t i;

	for (i = 0; i < set->nunits && rc == RC_OK; i++) {
		unit = set->units[i];
		set->owner = (struct lock_owner){i, 0};
		if (!unit->deferred && unit->kind->locks_names != NULL)
			rc = unit->kind->locks_names(unit, set->tx, set, err);
	}
	return (rc);
}

const char **
lockset_name_list(const struct lockset *set, struct err *err)
{
	const struct lock_name *names = set->names.v;
	const char **list;
	size_t i;

	list = mem_alloc((set->names.n + 1) * sizeof(*list));
	if (list == NULL) {
		(void)err_set(err, RC_NO_MEMORY, "lock set");
		return (NULL);
	}
	for (i = 0; i < set->names.n; i++)
		list[i] = names[i].name;
	return (list);
}
