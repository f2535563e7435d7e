/* SPDX-License-Identifier: MIT */
/*
 * Conversations and their members; see ledger.h.
 */
#include <string.h>

#include "base/mem.h"
#include "txn/cache_internal.h"

enum rc
ledger_keep_member(struct ledger_conversation *c, struct ledger_user *user,
    const struct store_participant *p, struct err *err)
{
	struct ledger_member *m;
	size_t cap;
	void *list;

	/* Two, then twice as many whenever a power of two is full. */
	if (c->nmembers == 0 ||
	    (c->nmembers > 1 && (c->nmembers & (c->nmembers - 1)) == 0)) {
		cap = c->nmembers == 0 ? 2 : c->nmembers * 2;
		list = mem_realloc(c->members, cap * sizeof(*c->members));
		if (list == NULL)
			return (err_set(err, RC_NO_MEMORY, "ledger: member"));
		c->members = list;
	}
	m = &c->members[c->nmembers++];
	memset(m, 0, sizeof(*m));
	m->user = user;
	m->delivered_upto = p->delivered_upto;
	m->acked_upto = p->acked_upto;
	m->read_upto = p->read_upto;
	m->acked_at = p->acked_at;
	m->read_at = p->read_at;
	m->shown_upto = p->shown_upto;
	m->shown_at = p->shown_at;
	return (RC_OK);
}

enum rc
ledger_keep_conversation(struct ledger *l, const struct store_conversation *row,
    struct ledger_conversation **ret, struct err *err)
{
	struct ledger_conversation *c;
	enum rc rc;

	c = mem_zalloc(1, sizeof(*c));
	if (c == NULL)
		return (err_set(err, RC_NO_MEMORY, "ledger: conversation"));
	c->id = row->conversation_id;
	c->public_id = row->public_id;
	c->direct = row->direct;
	c->last_seq = row->last_seq;
	memcpy(c->digest, row->digest, sizeof(c->digest));
	rc = htab_set(l->conversations_by_public, &c->public_id, c);
	if (rc == RC_OK) {
		rc = htab_set(l->conversations_by_id, &c->id, c);
		if (rc != RC_OK)
			(void)htab_remove(
			    l->conversations_by_public, &c->public_id);
	}
	if (rc != RC_OK) {
		mem_free(c);
		return (err_set(err, rc, "ledger: conversation"));
	}
	*ret = c;
	return (RC_OK);
}

struct member_load {
	struct ledger *l;
	struct tx *tx;
	struct ledger_conversation *c;
};

static enum rc
load_member(void *arg, const struct store_participant *p, struct err *err)
{
	struct member_load *load = arg;
	struct ledger_user *user;
	enum rc rc;

	rc = ledger_user_by_id(load->l, load->tx, p->user_id, &user, err);
	if (rc == RC_NOT_FOUND)
		rc = err_set(err, RC_CORRUPT, "a participant without a user");
	return (rc == RC_OK ? ledger_keep_member(load->c, user, p, err) : rc);
}

/* Keeps a conversation with its members.  One whose members cannot be read is
 * not kept. */
static enum rc
keep_conversation(struct ledger *l, struct tx *tx,
    const struct store_conversation *row, struct ledger_conversation **ret,
    struct err *err)
{
	struct ledger_conversation *c;
	struct member_load load;
	enum rc rc;

	rc = ledger_keep_conversation(l, row, &c, err);
	if (rc != RC_OK)
		return (rc);
	load = (struct member_load){l, tx, c};
	rc = store_participants(tx->db, c->id, load_member, &load, err);
	if (rc == RC_OK) {
		*ret = c;
		return (RC_OK);
	}
	(void)htab_remove(l->conversations_by_public, &c->public_id);
	(void)htab_remove(l->conversations_by_id, &c->id);
	mem_free(c->members);
	mem_free(c);
	return (rc);
}

enum rc
ledger_conversation_by_public(struct ledger *l, struct tx *tx,
    const struct uuid *id, struct ledger_conversation **ret, struct err *err)
{
	struct store_conversation row;
	enum rc rc;

	*ret = htab_find(l->conversations_by_public, id);
	if (*ret != NULL)
		return (RC_OK);
	rc = store_conversation_by_public(tx->db, id, &row, err);
	if (rc == RC_OK)
		rc = keep_conversation(l, tx, &row, ret, err);
	return (rc);
}

enum rc
ledger_conversation_by_id(struct ledger *l, struct tx *tx, int64_t id,
    struct ledger_conversation **ret, struct err *err)
{
	struct store_conversation row;
	enum rc rc;

	*ret = htab_find(l->conversations_by_id, &id);
	if (*ret != NULL)
		return (RC_OK);
	rc = store_conversation_by_id(tx->db, id, &row, err);
	ledger_meet(&l->met_conversations, id, tx->db, rc);
	if (rc == RC_OK)
		rc = keep_conversation(l, tx, &row, ret, err);
	return (rc);
}

enum rc
ledger_conversation_if_free(struct ledger *l, struct tx *tx, int64_t id,
    struct ledger_conversation **ret, struct err *err)
{
	struct store_conversation row;
	enum rc rc;

	*ret = htab_find(l->conversations_by_id, &id);
	if (*ret != NULL)
		return (RC_OK);
	rc = store_conversation_if_free(tx->db, id, &row, err);
	if (rc == RC_OK)
		rc = keep_conversation(l, tx, &row, ret, err);
	return (rc);
}

/* Writes a new direct conversation with its one or two members. */
static enum rc
make_direct(struct ledger *l, struct tx *tx, const char *key,
    struct ledger_user *a, struct ledger_user *b,
    struct store_conversation *row, struct err *err)
{
	enum rc rc;

	memset(row, 0, sizeof(*row));
	row->public_id = uuid_gen_next(l->ids);
	row->direct = true;
	rc = store_conversation_insert(tx->db, &row->public_id, key, tx->now_ms,
	    &row->conversation_id, err);
	if (rc == RC_OK)
		rc = store_participant_insert(
		    tx->db, row->conversation_id, a->user_id, err);
	if (rc == RC_OK && a != b)
		rc = store_participant_insert(
		    tx->db, row->conversation_id, b->user_id, err);
	return (rc);
}

static struct pair_key
pair_key(const struct ledger_user *a, const struct ledger_user *b)
{
	const bool ordered = a->user_id < b->user_id;

	return ((struct pair_key){ordered ? a->user_id : b->user_id,
	    ordered ? b->user_id : a->user_id});
}

struct ledger_conversation *
ledger_direct_known(const struct ledger *l, const struct ledger_user *a,
    const struct ledger_user *b)
{
	const struct pair_key key = pair_key(a, b);

	return (htab_find(l->direct, &key));
}

enum rc
ledger_direct(struct ledger *l, struct tx *tx, struct ledger_user *a,
    struct ledger_user *b, struct ledger_conversation **ret, struct err *err)
{
	const struct pair_key key = pair_key(a, b);
	char text[STORE_DIRECT_KEY_SIZE];
	struct store_conversation row;
	enum rc rc;

	*ret = htab_find(l->direct, &key);
	if (*ret != NULL)
		return (RC_OK);
	store_direct_key(a->name->data, b->name->data, text);
	rc = store_conversation_by_key(tx->db, text, &row, err);
	if (rc == RC_NOT_FOUND)
		rc = make_direct(l, tx, text, a, b, &row, err);
	if (rc != RC_OK)
		return (rc);
	*ret = htab_find(l->conversations_by_id, &row.conversation_id);
	if (*ret == NULL)
		rc = keep_conversation(l, tx, &row, ret, err);
	if (rc == RC_OK && htab_set(l->direct, &key, *ret) != RC_OK)
		rc = err_set(err, RC_NO_MEMORY, "ledger: direct");
	return (rc);
}

bool
ledger_conversation_ours(const struct ledger *l, int64_t id)
{

	return (!l->shared || htab_find(l->conversations_by_id, &id) != NULL);
}

struct ledger_member *
ledger_member_find(struct ledger_conversation *c, int64_t user_id)
{
	size_t i;

	for (i = 0; i < c->nmembers; i++)
		if (c->members[i].user->user_id == user_id)
			return (&c->members[i]);
	return (NULL);
}

struct ledger_member *
ledger_member_other(struct ledger_conversation *c, int64_t user_id)
{

	if (!c->direct || c->nmembers == 0)
		return (NULL);
	if (c->nmembers == 1 || c->members[0].user->user_id != user_id)
		return (&c->members[0]);
	return (&c->members[1]);
}

void
ledger_member_touch(
    struct ledger *l, struct ledger_conversation *c, struct ledger_member *m)
{

	m->dirty = true;
	if (c->listed)
		return;
	c->listed = true;
	c->next_dirty = l->dirty_conversations;
	l->dirty_conversations = c;
}
