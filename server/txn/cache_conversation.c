/* SPDX-License-Identifier: MIT */
/*
 * Conversations and their members; see cache.h.
 */
#include <string.h>

#include "base/mem.h"
#include "txn/cache_internal.h"

enum rc
cache_keep_member(struct cached_conversation *c, struct cached_user *user,
    const struct store_participant *p, struct err *err)
{
	struct cached_member *m;
	size_t cap;
	void *list;

	/* The capacity of the array is not stored.  The first member allocates
	 * room for 2 members; after that a full array is doubled, and it is
	 * full when nmembers is 2, 4, 8 and so on. */
	if (c->nmembers == 0 ||
	    (c->nmembers > 1 && (c->nmembers & (c->nmembers - 1)) == 0)) {
		cap = c->nmembers == 0 ? 2 : c->nmembers * 2;
		list = mem_realloc(c->members, cap * sizeof(*c->members));
		if (list == NULL)
			return (err_set(err, RC_NO_MEMORY, "cache: member"));
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
cache_keep_conversation(struct cache *cache,
    const struct store_conversation *row, struct cached_conversation **ret,
    struct err *err)
{
	struct cached_conversation *c;
	enum rc rc;

	c = mem_zalloc(1, sizeof(*c));
	if (c == NULL)
		return (err_set(err, RC_NO_MEMORY, "cache: conversation"));
	c->id = row->conversation_id;
	c->public_id = row->public_id;
	c->direct = row->direct;
	c->last_seq = row->last_seq;
	memcpy(c->digest, row->digest, sizeof(c->digest));
	rc = htab_set(cache->conversations_by_public, &c->public_id, c);
	if (rc == RC_OK) {
		rc = htab_set(cache->conversations_by_id, &c->id, c);
		if (rc != RC_OK)
			(void)htab_remove(
			    cache->conversations_by_public, &c->public_id);
	}
	if (rc != RC_OK) {
		mem_free(c);
		return (err_set(err, rc, "cache: conversation"));
	}
	*ret = c;
	return (RC_OK);
}

struct member_load {
	struct cache *cache;
	struct tx *tx;
	struct cached_conversation *c;
};

static enum rc
load_member(void *arg, const struct store_participant *p, struct err *err)
{
	struct member_load *load = arg;
	struct cached_user *user;
	enum rc rc;

	rc = cache_user_by_id(load->cache, load->tx, p->user_id, &user, err);
	if (rc == RC_NOT_FOUND)
		rc = err_set(err, RC_CORRUPT, "a participant without a user");
	return (rc == RC_OK ? cache_keep_member(load->c, user, p, err) : rc);
}

/* Adds the conversation of ${row} to the cache, with its members, which are
 * read from the store.  If that fails, the conversation is removed from the
 * cache again, and *ret is not set. */
static enum rc
keep_conversation(struct cache *cache, struct tx *tx,
    const struct store_conversation *row, struct cached_conversation **ret,
    struct err *err)
{
	struct cached_conversation *c;
	struct member_load load;
	enum rc rc;

	rc = cache_keep_conversation(cache, row, &c, err);
	if (rc != RC_OK)
		return (rc);
	load = (struct member_load){cache, tx, c};
	rc = store_participants(tx->db, c->id, load_member, &load, err);
	if (rc == RC_OK) {
		*ret = c;
		return (RC_OK);
	}
	(void)htab_remove(cache->conversations_by_public, &c->public_id);
	(void)htab_remove(cache->conversations_by_id, &c->id);
	mem_free(c->members);
	mem_free(c);
	return (rc);
}

enum rc
cache_conversation_by_public(struct cache *cache, struct tx *tx,
    const struct uuid *id, struct cached_conversation **ret, struct err *err)
{
	struct store_conversation row;
	enum rc rc;

	if ((*ret = htab_find(cache->conversations_by_public, id)) != NULL)
		return (RC_OK);
	rc = store_conversation_by_public(tx->db, id, &row, err);
	return (
	    rc == RC_OK ? keep_conversation(cache, tx, &row, ret, err) : rc);
}

enum rc
cache_conversation_by_id(struct cache *cache, struct tx *tx, int64_t id,
    struct cached_conversation **ret, struct err *err)
{
	struct store_conversation row;
	enum rc rc;

	if ((*ret = htab_find(cache->conversations_by_id, &id)) != NULL)
		return (RC_OK);
	rc = store_conversation_by_id(tx->db, id, &row, err);
	cache_contended_add(&cache->contended_conversations, id, tx->db, rc);
	return (
	    rc == RC_OK ? keep_conversation(cache, tx, &row, ret, err) : rc);
}

enum rc
cache_conversation_if_free(struct cache *cache, struct tx *tx, int64_t id,
    struct cached_conversation **ret, struct err *err)
{
	struct store_conversation row;
	enum rc rc;

	if ((*ret = htab_find(cache->conversations_by_id, &id)) != NULL)
		return (RC_OK);
	rc = store_conversation_if_free(tx->db, id, &row, err);
	return (
	    rc == RC_OK ? keep_conversation(cache, tx, &row, ret, err) : rc);
}

static struct pair_key
pair_key(const struct cached_user *a, const struct cached_user *b)
{
	const bool ordered = a->user_id < b->user_id;

	return ((struct pair_key){ordered ? a->user_id : b->user_id,
	    ordered ? b->user_id : a->user_id});
}

struct cached_conversation *
cache_direct_known(const struct cache *cache, const struct cached_user *a,
    const struct cached_user *b)
{
	const struct pair_key key = pair_key(a, b);

	return (htab_find(cache->direct, &key));
}

/* Adds the direct conversation ${row} of the pair ${key} to the cache. */
static enum rc
keep_direct(struct cache *cache, struct tx *tx, const struct pair_key *key,
    const struct store_conversation *row, struct cached_conversation **ret,
    struct err *err)
{
	enum rc rc = RC_OK;

	*ret = htab_find(cache->conversations_by_id, &row->conversation_id);
	if (*ret == NULL)
		rc = keep_conversation(cache, tx, row, ret, err);
	if (rc == RC_OK && htab_set(cache->direct, key, *ret) != RC_OK)
		rc = err_set(err, RC_NO_MEMORY, "cache: direct");
	return (rc);
}

enum rc
cache_direct_find(struct cache *cache, struct tx *tx, struct cached_user *a,
    struct cached_user *b, struct cached_conversation **ret, struct err *err)
{
	const struct pair_key key = pair_key(a, b);
	char text[STORE_DIRECT_KEY_SIZE];
	struct store_conversation row;
	enum rc rc;

	*ret = htab_find(cache->direct, &key);
	if (*ret != NULL)
		return (RC_OK);
	if (cache->gathered)
		return (RC_NOT_FOUND);
	store_direct_key(a->name->data, b->name->data, text);
	rc = store_conversation_by_key(tx->db, text, &row, err);
	return (
	    rc == RC_OK ? keep_direct(cache, tx, &key, &row, ret, err) : rc);
}

/* Conversations that are being added. */
struct making {
	const struct cached_pair *pairs;
	size_t n;
	struct store_new_conversation *rows;
	struct store_new_member *members; /* at most two for each pair */
	char (*keys)[STORE_DIRECT_KEY_SIZE];
};

/* Sets ${ret} to the members of pair ${p}, the one with the lower id first.
 * Returns their number: 1 for a conversation with oneself. */
static size_t
members_of(const struct cached_pair *p, struct cached_user *ret[2])
{
	const bool ordered = p->a->user_id < p->b->user_id;

	ret[0] = ordered ? p->a : p->b;
	ret[1] = ordered ? p->b : p->a;
	return (p->a == p->b ? 1 : 2);
}

/* Adds a new conversation with its members to the cache. */
static enum rc
keep_new(struct cache *cache, const struct cached_pair *pair,
    const struct store_new_conversation *row, struct err *err)
{
	const struct store_conversation made = {
	    .conversation_id = row->conversation_id,
	    .public_id = row->public_id,
	    .direct = true};
	const struct store_participant fresh = {.user_id = 0};
	const struct pair_key key = pair_key(pair->a, pair->b);
	struct cached_conversation *c;
	struct cached_user *members[2];
	size_t i, n = members_of(pair, members);
	enum rc rc;

	rc = cache_keep_conversation(cache, &made, &c, err);
	for (i = 0; i < n && rc == RC_OK; i++)
		rc = cache_keep_member(c, members[i], &fresh, err);
	if (rc == RC_OK && htab_set(cache->direct, &key, c) != RC_OK)
		rc = err_set(err, RC_NO_MEMORY, "cache: direct");
	return (rc);
}

/* Inserts the conversations, then their members. */
static enum rc
make_all(struct cache *cache, struct tx *tx, struct making *m, struct err *err)
{
	struct cached_user *members[2];
	size_t i, k, n, nmembers = 0;
	enum rc rc;

	for (i = 0; i < m->n; i++) {
		store_direct_key(m->pairs[i].a->name->data,
		    m->pairs[i].b->name->data, m->keys[i]);
		m->rows[i].public_id = uuid_gen_next(cache->ids);
		m->rows[i].direct_key = m->keys[i];
	}
	rc = store_conversations_insert(tx->db, m->rows, m->n, tx->now_ms, err);
	for (i = 0; i < m->n && rc == RC_OK; i++) {
		n = members_of(&m->pairs[i], members);
		for (k = 0; k < n; k++)
			m->members[nmembers++] = (struct store_new_member){
			    m->rows[i].conversation_id, members[k]->user_id};
		rc = keep_new(cache, &m->pairs[i], &m->rows[i], err);
	}
	return (rc == RC_OK
		    ? store_members_insert(tx->db, m->members, nmembers, err)
		    : rc);
}

enum rc
cache_directs_make(struct cache *cache, struct tx *tx,
    const struct cached_pair *pairs, size_t n, struct err *err)
{
	struct making m = {.pairs = pairs, .n = n};
	enum rc rc;

	m.rows = mem_zalloc(n + 1, sizeof(*m.rows));
	m.members = mem_zalloc(2 * n + 1, sizeof(*m.members));
	m.keys = mem_zalloc(n + 1, sizeof(*m.keys));
	if (m.rows == NULL || m.members == NULL || m.keys == NULL)
		rc = err_set(err, RC_NO_MEMORY, "cache: conversations");
	else
		rc = make_all(cache, tx, &m, err);
	mem_free(m.rows);
	mem_free(m.members);
	mem_free(m.keys);
	return (rc);
}

enum rc
cache_direct(struct cache *cache, struct tx *tx, struct cached_user *a,
    struct cached_user *b, struct cached_conversation **ret, struct err *err)
{
	const struct cached_pair pair = {a, b};
	enum rc rc;

	rc = cache_direct_find(cache, tx, a, b, ret, err);
	if (rc != RC_NOT_FOUND)
		return (rc);
	rc = cache_directs_make(cache, tx, &pair, 1, err);
	if (rc == RC_OK)
		*ret = cache_direct_known(cache, a, b);
	return (rc);
}

bool
cache_conversation_ours(const struct cache *cache, int64_t id)
{

	return (!cache->shared ||
		htab_find(cache->conversations_by_id, &id) != NULL);
}

struct cached_member *
cache_member_find(struct cached_conversation *c, int64_t user_id)
{
	size_t i;

	for (i = 0; i < c->nmembers; i++)
		if (c->members[i].user->user_id == user_id)
			return (&c->members[i]);
	return (NULL);
}

struct cached_member *
cache_member_other(struct cached_conversation *c, int64_t user_id)
{

	if (!c->direct || c->nmembers == 0)
		return (NULL);
	if (c->nmembers == 1 || c->members[0].user->user_id != user_id)
		return (&c->members[0]);
	return (&c->members[1]);
}

void
cache_member_touch(
    struct cache *cache, struct cached_conversation *c, struct cached_member *m)
{

	m->dirty = true;
	if (c->listed)
		return;
	c->listed = true;
	c->next_dirty = cache->dirty_conversations;
	cache->dirty_conversations = c;
}
