/* SPDX-License-Identifier: MIT */
/*
 * The batch verb `send`.  A unit of work is one message.  First come the checks
 * that may refuse it: its id, send_unit.refuse_new (quota or full disk), the
 * number of scheduled messages, the recipient, and the number of messages that
 * wait for delivery.  Nothing is written for the unit before all of these have
 * passed.  The rows of all units are gathered in one buffer for each table and
 * written together after the last unit, or earlier if a buffer is full or a
 * later unit must see the rows of an earlier one (write_rows()).  On a
 * multi-writer database the inbox rows are written in the last step of the
 * transaction instead.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/fault.h"
#include "base/htab.h"
#include "chat/send_internal.h"
#include "crypt/crypt.h"
#include "crypt/digest.h"
#include "model/event.h"
#include "txn/add.h"
#include "txn/local.h"
#include "txn/lockset.h"
#include "txn/verb.h"

/* ---- keys ---- */

void
send_fingerprint(const struct message_draft *draft, const char *to,
    uint8_t ret[STORE_FINGERPRINT_LEN])
{
	uint8_t full[CRYPT_HASH_SIZE];
	struct crypt_hash h;

	crypt_hash_init(&h);
	crypt_hash_field(&h, to, strlen(to));
	crypt_hash_field(&h,
	    draft->has_conversation ? draft->conversation.b : NULL,
	    sizeof(draft->conversation.b));
	crypt_hash_field(&h, draft->body.p, draft->body.n);
	crypt_hash_field(&h, draft->content_type.p, draft->content_type.n);
	crypt_hash_field(&h, draft->metadata.p, draft->metadata.n);
	crypt_hash_field(&h, draft->correlation_id.p, draft->correlation_id.n);
	crypt_hash_field(&h, draft->has_reply_to ? draft->reply_to.b : NULL,
	    sizeof(draft->reply_to.b));
	crypt_hash_i64(&h, draft->priority);
	/* A repeated "in an hour" is the same message, although the time
	 * differs. */
	crypt_hash_i64(&h, draft->deliver_in_ms != 0 ? -draft->deliver_in_ms
						     : draft->deliver_at_ms);
	crypt_hash_i64(&h, draft->expires_in_ms);
	crypt_hash_final(&h, full);
	memcpy(ret, full, STORE_FINGERPRINT_LEN);
}

struct uuid
send_id_of_key(int64_t sender_id, const char *key, size_t n)
{
	uint8_t full[CRYPT_HASH_SIZE];
	struct crypt_hash h;

	crypt_hash_init(&h);
	crypt_hash_field(&h, "idempotency-key", 15);
	crypt_hash_i64(&h, sender_id);
	crypt_hash_field(&h, key, n);
	crypt_hash_final(&h, full);
	return (uuid_from_hash(full));
}

/* ---- asking and answering ---- */

/* Returns true if messages to users of ${domain} are accepted here. */
static bool
reached(const struct addressing *where, const char *domain)
{

	return (where->reaches != NULL && where->reaches(where->arg, domain));
}

bool
send_unit_ask(struct send_unit *u, int64_t sender_id,
    struct message_draft *draft, const struct addressing *where)
{
	struct span *type = &draft->content_type;
	char name[LIMIT_NAME_LEN + 1], domain[LIMIT_DOMAIN_LEN + 1];

	u->sender_id = sender_id;
	u->draft = draft;
	u->unit.bytes = SEND_UNIT_BYTES + draft->body.n + draft->metadata.n;
	u->to[0] = '\0';
	if (type->p != NULL &&
	    type->n == strlen(MESSAGE_CONTENT_TYPE_DEFAULT) &&
	    memcmp(type->p, MESSAGE_CONTENT_TYPE_DEFAULT, type->n) == 0)
		*type = (struct span){NULL, 0};
	if (!draft->has_conversation) {
		if (!model_address_parse(draft->to.p, draft->to.n,
			where->domain, name, domain)) {
			refusal_set(&u->refusal, PROBLEM_BAD_REQUEST, "/to",
			    "\"to\" is not a valid address: write a name");
			return (false);
		}
		if (domain[0] != '\0' && !reached(where, domain)) {
			refusal_set(&u->refusal, PROBLEM_UNKNOWN_RECIPIENT,
			    "/to",
			    "this server does not deliver to %.100s; its "
			    "operator decides that (twinboxd --federation)",
			    domain);
			return (false);
		}
		(void)snprintf(u->to, sizeof(u->to), "%s%s%s", name,
		    domain[0] != '\0' ? "@" : "", domain);
	}
	send_fingerprint(draft, u->to, u->fingerprint);
	return (true);
}

/* Copies ${s} to ${room}, NUL-terminated.  Returns NULL if ${s} is absent. */
static const char *
copy_span(const struct span *s, char *room, size_t size)
{
	size_t n;

	if (s->p == NULL)
		return (NULL);
	n = s->n < size - 1 ? s->n : size - 1;
	memcpy(room, s->p, n);
	room[n] = '\0';
	return (room);
}

void
send_unit_view(const struct send_unit *u, struct send_view *ret)
{
	struct destination_view *d = &ret->destination;
	const struct message_draft *m = u->draft;
	struct entry_view *e = &ret->entry;

	memset(e, 0, sizeof(*e));
	memset(d, 0, sizeof(*d));
	e->event_type = event_kind_type(EVENT_MESSAGE);
	e->conversation = u->conversation;
	e->conversation_seq = u->conversation_seq;
	e->to = u->recipient;
	e->priority = m->priority;
	e->max_retries = u->max_retries;
	e->event_time = e->created_at = u->created_at;
	e->deliver_at = u->deliver_at;
	e->expires_at = u->expires_at;
	e->message.id = m->id;
	e->message.content_type = copy_span(
	    &m->content_type, ret->content_type, sizeof(ret->content_type));
	if (e->message.content_type == NULL)
		e->message.content_type = MESSAGE_CONTENT_TYPE_DEFAULT;
	e->message.metadata = m->metadata.p;
	e->message.metadata_len = m->metadata.n;
	e->message.correlation_id = copy_span(&m->correlation_id,
	    ret->correlation_id, sizeof(ret->correlation_id));
	e->message.has_reply_to = m->has_reply_to;
	e->message.reply_to = m->reply_to;
	e->destinations = d;
	e->ndestinations = 1;
	d->address = u->recipient;
	d->state = OUTBOX_PENDING;
	d->last_status_at = u->created_at;
	if (u->to_self) {
		d->state = OUTBOX_ACKED;
		d->sent_at = d->acked_at = u->created_at;
	} else if (u->delivered) {
		d->state = OUTBOX_SENT;
		d->attempts = 1;
		d->sent_at = d->last_attempt_at = u->created_at;
	}
}

/* ---- deciding ---- */

/* Sets *ret_done to whether a message with this id exists.  If one exists and
 * is the same message (its sender and fingerprint are equal), sets
 * ${u}->replayed and ${u}->mid; if it is another message, sets the refusal. */
static enum rc
check_key(struct tx *tx, struct send_unit *u, bool *ret_done, struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	struct store_message_key key;
	enum rc rc;

	*ret_done = false;
	if (!u->repeated && cache_id_free(env->cache, &u->draft->id))
		return (RC_OK);
	rc = store_message_key(tx->db, &u->draft->id, &key, err);
	if (rc == RC_NOT_FOUND)
		return (RC_OK);
	if (rc != RC_OK)
		return (rc);
	*ret_done = true;
	if (key.sender_id != u->sender_id) {
		refusal_set(&u->refusal, PROBLEM_CONFLICT, "/id",
		    "this message id belongs to another sender; make ids at "
		    "random (UUIDv7)");
	} else if (memcmp(key.fingerprint, u->fingerprint,
		       sizeof(key.fingerprint)) != 0) {
		refusal_set(&u->refusal, PROBLEM_KEY_REUSED,
		    u->draft->key.p != NULL ? "/key" : "/id",
		    "a message with this %s was accepted before with another "
		    "content",
		    u->draft->key.p != NULL ? "key" : "id");
	} else {
		u->replayed = true;
		u->mid = key.mid;
	}
	return (RC_OK);
}

/* ---- writing ---- */

static struct db_val
v_span(const struct span *s)
{

	return (s->p != NULL ? db_v_text(s->p, s->n) : DB_V_NULL);
}

static enum rc
add_message(struct tx *tx, struct send_unit *u, struct cached_conversation *c,
    struct scratch *s, struct err *err)
{
	const struct message_draft *m = u->draft;
	struct txn_env *env = txn_env_of(tx);
	struct sql_message_insert *v;
	enum rc rc;

	rc = store_next_message_insert(tx->db, &env->messages, &v, err);
	if (rc != RC_OK)
		return (rc);
	v->mid = db_v_i64(u->mid);
	v->message_id = db_v_uuid(&m->id);
	v->event_id = db_v_uuid(&s->event_id);
	v->conversation_id = db_v_i64(c->id);
	v->conversation_seq = db_v_i64_or_null(u->conversation_seq, 0);
	v->sender_id = db_v_i64(u->sender_id);
	v->body = v_span(&m->body);
	v->content_type = v_span(&m->content_type);
	v->metadata = v_span(&m->metadata);
	v->correlation_id = v_span(&m->correlation_id);
	v->reply_to = m->has_reply_to ? db_v_uuid(&m->reply_to) : DB_V_NULL;
	v->priority = db_v_i64(m->priority);
	v->event_time = db_v_i64(tx->now_ms);
	v->now = db_v_i64(tx->now_ms);
	v->fingerprint = db_v_blob(u->fingerprint, sizeof(u->fingerprint));
	v->salt = db_v_blob(s->salt, sizeof(s->salt));
	v->digest =
	    u->conversation_seq != 0 ? db_v_blob(s->digest, 32) : DB_V_NULL;
	return (RC_OK);
}

/* Finds the lane and decides whether this transaction delivers the message. */
static enum rc
find_lane(
    struct tx *tx, struct send_unit *u, struct outbox_new *o, struct err *err)
{
	enum rc rc;

	if (u->to_self)
		return (RC_OK);
	rc = cache_lane_to(txn_env_of(tx)->cache, tx, o->conversation, o->dest,
	    LANE_MESSAGES, &o->lane, err);
	if (rc == RC_OK && u->deliver_at == 0)
		rc = txn_local_at_once(tx, o->lane, &o->at_once, err);
	u->delivered = o->at_once;
	return (rc);
}

/* Returns outbox row ${id}, which was just added for ${o}, as the struct that
 * txn_local_deliver() takes.  Members that it does not need are 0. */
static struct store_claimed
added_row(const struct outbox_new *o, int64_t id)
{

	return ((struct store_claimed){.id = id,
	    .kind = o->kind,
	    .mid = o->mid,
	    .conversation_seq = o->conversation_seq,
	    .sender_id = o->sender_id,
	    .lane_seq = o->lane->lane.tail_seq,
	    .event_time = o->event_time,
	    .created_at = o->event_time});
}

/* Adds the outbox row.  If this transaction delivers the message (find_lane()
 * decides that), also adds the recipient's inbox row. */
static enum rc
add_outbox(struct tx *tx, struct send_unit *u, struct cached_user *to,
    struct cached_conversation *c, struct scratch *s, struct err *err)
{
	struct store_claimed row;
	struct outbox_new o;
	int64_t id = 0;
	enum rc rc;

	memset(&o, 0, sizeof(o));
	o.kind = EVENT_MESSAGE;
	o.mid = u->mid;
	o.conversation = c;
	o.conversation_seq = u->conversation_seq;
	o.sender_id = u->sender_id;
	o.dest = to;
	o.priority = u->draft->priority;
	o.deliver_at = u->deliver_at;
	o.expires_at = u->expires_at;
	o.event_time = tx->now_ms;
	rc = find_lane(tx, u, &o, err);
	if (rc == RC_OK)
		rc = txn_add_outbox(tx, &o, &s->event_id, &id, err);
	if (rc != RC_OK || !o.at_once)
		return (rc);
	row = added_row(&o, id);
	return (txn_local_deliver(tx, o.lane, &row, &s->event_id, -1, err));
}

static enum rc
add_own_copy(struct tx *tx, struct send_unit *u, struct cached_user *from,
    struct cached_conversation *c, struct scratch *s, struct err *err)
{
	struct inbox_new i;

	memset(&i, 0, sizeof(i));
	i.user = from;
	i.kind = EVENT_MESSAGE;
	i.own = true;
	i.event_id = &s->event_id;
	i.mid = u->mid;
	i.conversation = c;
	i.conversation_seq = u->conversation_seq;
	i.actor = from;
	i.event_time = tx->now_ms;
	i.attempt = 1;
	i.message_id = &u->draft->id;
	i.message = u->message;
	return (txn_add_inbox(tx, &i, err));
}

/* Sets the output of ${u} for an accepted message, and gathers its rows, which
 * write_rows() writes: the message, the sender's own copy (unless the message
 * is scheduled), the outbox row and, if this transaction delivers the message,
 * the recipient's inbox row.  The own copy comes before that inbox row. */
static enum rc
accept_message(struct tx *tx, struct send_unit *u, struct cached_user *from,
    struct cached_user *to, struct cached_conversation *c, struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	uint8_t body[DIGEST_LEN];
	struct scratch *s;
	enum rc rc;

	assert(to != NULL && env->messages.n < BATCH_ROWS);
	s = &env->scratch[env->messages.n];
	s->event_id = uuid_gen_next(&env->ids);
	rnd_fill(env->options.rnd, s->salt, sizeof(s->salt));
	u->created_at = tx->now_ms;
	u->deliver_at =
	    u->draft->deliver_at_ms > tx->now_ms ? u->draft->deliver_at_ms : 0;
	/* A scheduled note to oneself waits like any scheduled message. */
	u->to_self = from == to && u->deliver_at == 0;
	u->remote = to->destination_id != 0;
	u->expires_at = u->deliver_at != 0 ? u->deliver_at : tx->now_ms;
	u->expires_at += u->draft->expires_in_ms > 0 ? u->draft->expires_in_ms
						     : env->options.expiry_ms;
	u->conversation = c->public_id;
	memcpy(u->recipient, to->name->data, to->name->len + 1);
	rc = cache_next_mid(env->cache, tx, &u->mid, err);
	if (rc != RC_OK)
		return (rc);
	if (u->deliver_at == 0) {
		u->conversation_seq = ++c->last_seq;
		digest_body(s->salt, u->draft->body.p, u->draft->body.n, body);
		digest_next(c->digest, u->conversation_seq, &u->draft->id,
		    from->name->data, body);
		memcpy(s->digest, c->digest, sizeof(s->digest));
	}
	rc = add_message(tx, u, c, s, err);
	if (rc != RC_OK)
		return (rc);
	message_cache_put(
	    &env->message_cache, u->mid, &u->draft->id, u->message);
	if (u->deliver_at == 0)
		rc = add_own_copy(tx, u, from, c, s, err);
	return (rc == RC_OK ? add_outbox(tx, u, to, c, s, err) : rc);
}

static void
clear_answer(struct send_unit *u)
{

	u->refusal = (struct refusal)REFUSAL_INIT;
	u->replayed = false;
	u->to_self = false;
	u->delivered = false;
	u->remote = false;
	u->mid = 0;
	u->conversation_seq = 0;
}

/* Writes the gathered rows.  On a multi-writer database txn_write_inbox()
 * leaves the inbox rows for the last step of the transaction.  Called after the
 * last unit of the batch; before a unit whose message id an earlier unit of the
 * batch has, so that the query for the id finds the earlier message; and before
 * a sender's scheduled messages are counted. */
static enum rc
write_rows(struct tx *tx, struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	enum rc rc;

	FAULT("send.message.before");
	rc = store_rows_write(tx->db, &env->messages, true, err);
	FAULT("send.outbox.before");
	if (rc == RC_OK)
		rc = store_rows_write(tx->db, &env->outbox, true, err);
	FAULT("send.copy.before");
	if (rc == RC_OK)
		rc = txn_write_inbox(tx, err);
	FAULT("send.copy.after");
	return (rc);
}

/* Refuses a scheduled message if the sender has LIMIT_SCHEDULED of them. */
static enum rc
check_scheduled(struct tx *tx, struct send_unit *u, struct err *err)
{
	int64_t n;
	enum rc rc;

	if (u->draft->deliver_at_ms <= tx->now_ms)
		return (RC_OK);
	/* The scheduled messages of this batch count, too. */
	rc = write_rows(tx, err);
	if (rc == RC_OK)
		rc =
		    store_outbox_scheduled_count(tx->db, u->sender_id, &n, err);
	if (rc == RC_OK && n >= LIMIT_SCHEDULED)
		refusal_set(&u->refusal, PROBLEM_QUEUE_FULL, "/deliver_at",
		    "you have %d scheduled messages, the most there may be",
		    LIMIT_SCHEDULED);
	return (rc);
}

static enum rc
send_one(struct tx *tx, struct send_unit *u, struct err *err)
{
	struct cached_conversation *c;
	struct cached_user *from, *to;
	bool done;
	enum rc rc;

	rc = check_key(tx, u, &done, err);
	if (rc == RC_OK && !done && u->refuse_new != NULL)
		u->refusal = *u->refuse_new;
	else if (rc == RC_OK && !done)
		rc = check_scheduled(tx, u, err);
	if (rc != RC_OK || done || u->refusal.problem != PROBLEM_NONE)
		return (rc);
	from = to = NULL;
	rc = send_resolve(tx, u, &from, &to, &c, err);
	if (rc == RC_OK && c != NULL)
		rc = accept_message(tx, u, from, to, c, err);
	return (rc);
}

static enum rc
send_apply(struct tx *tx, struct unit **units, size_t n, struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	struct send_unit *u;
	enum rc rc;
	size_t i;

	htab_clear(env->batch_ids);
	for (i = 0; i < n; i++) {
		u = CONTAINER_OF(units[i], struct send_unit, unit);
		clear_answer(u);
		u->max_retries = retry_most(env->options.retry);
		u->repeated = htab_find(env->batch_ids, &u->draft->id) != NULL;
		if (u->repeated) {
			rc = write_rows(tx, err);
			if (rc != RC_OK)
				return (rc);
		} else if (htab_set(env->batch_ids, &u->draft->id, u) !=
			   RC_OK) {
			return (err_set(err, RC_NO_MEMORY, "send"));
		}
		rc = send_one(tx, u, err);
		if (rc != RC_OK)
			return (rc);
		if (u->refusal.problem == PROBLEM_NONE) {
			rc = txn_count_accepted(tx, u->replayed, err);
			if (rc != RC_OK)
				return (rc);
		}
	}
	return (write_rows(tx, err));
}

static enum rc
send_locks(struct unit *unit, struct lockset *set, struct err *err)
{
	const struct send_unit *u = CONTAINER_OF(unit, struct send_unit, unit);
	enum rc rc;

	rc = lockset_new_message(set, &u->draft->id, err);
	if (rc == RC_OK)
		rc = lockset_user(set, u->sender_id, err);
	if (rc == RC_OK)
		rc = lockset_inbox_events(set, u->sender_id, err);
	if (rc == RC_OK)
		rc = lockset_send_order(set, u->sender_id, u->to, err);
	if (rc != RC_OK)
		return (rc);
	return (u->to[0] == '\0'
		    ? lockset_conversation(set, &u->draft->conversation, err)
		    : lockset_direct(set, u->sender_id, u->to, err));
}

/* Lists the name whose advisory lock the transaction takes, if the message will
 * add a conversation.  The first message between two users of this server adds
 * their direct conversation: its key is locked.  If the recipient is on another
 * server, the rows of the recipient and of that server may be new, too: only
 * the domain of the server is locked, which covers the conversation as well. */
static enum rc
send_locks_names(
    struct unit *unit, struct tx *tx, struct lockset *set, struct err *err)
{
	const struct send_unit *u = CONTAINER_OF(unit, struct send_unit, unit);
	const struct cache *cache = txn_env_of(tx)->cache;
	const char *at = strchr(u->to, '@');
	const struct cached_user *from, *to;
	char key[STORE_DIRECT_KEY_SIZE];

	if (u->to[0] == '\0')
		return (RC_OK);
	from = cache_user_known_by_id(cache, u->sender_id);
	to = cache_user_known(cache, u->to);
	if (from == NULL ||
	    (to == NULL ? at == NULL
			: to->disabled ||
			      cache_direct_known(cache, from, to) != NULL))
		return (RC_OK);
	if (at != NULL)
		return (lockset_name(set, at + 1, err));
	store_direct_key(from->name->data, u->to, key);
	return (lockset_name(set, key, err));
}

UNIT_KIND(send, send_locks, .queue = UNIT_CLIENT, .order = ORDER_SEND,
    .apply = send_apply, .locks_names = send_locks_names);

void
send_unit_init(struct send_unit *u)
{

	u->unit.kind = &send_kind;
	u->unit.bytes = SEND_UNIT_BYTES;
	clear_answer(u);
}
