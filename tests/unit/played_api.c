/* SPDX-License-Identifier: MIT */
/*
 * See played_api.h.
 */
#include "played_api.h"

#include <string.h>

#include "chat/account.h"
#include "chat/ack.h"
#include "chat/cancel.h"
#include "chat/entry.h"
#include "chat/read.h"
#include "chat/send.h"
#include "crypt/crypt.h"
#include "delivery/operator.h"
#include "store/account.h"
#include "store/conversation.h"
#include "store/inbox.h"
#include "store/message.h"

struct played_api world;

__typeof__(db_multi_writer) __wrap_db_multi_writer;
__typeof__(entry_get) __wrap_entry_get;
__typeof__(entry_list) __wrap_entry_list;
__typeof__(store_counter_get) __wrap_store_counter_get;
__typeof__(store_device_acked_get) __wrap_store_device_acked_get;
__typeof__(store_unread_total) __wrap_store_unread_total;
__typeof__(store_unread_list) __wrap_store_unread_list;
__typeof__(store_inbox_page) __wrap_store_inbox_page;
__typeof__(store_conversation_one) __wrap_store_conversation_one;
__typeof__(store_conversation_list) __wrap_store_conversation_list;
__typeof__(store_conversation_recent) __wrap_store_conversation_recent;
__typeof__(store_conversation_by_id) __wrap_store_conversation_by_id;
__typeof__(store_participants) __wrap_store_participants;
__typeof__(store_history) __wrap_store_history;
__typeof__(store_message_visible) __wrap_store_message_visible;
__typeof__(store_device_list) __wrap_store_device_list;
__typeof__(store_user_by_name) __wrap_store_user_by_name;
__typeof__(store_user_by_id) __wrap_store_user_by_id;
__typeof__(push_wait) __wrap_push_wait;
__typeof__(pool_submit) __wrap_pool_submit;
__typeof__(crypt_password_hash) __wrap_crypt_password_hash;
__typeof__(crypt_password_verify) __wrap_crypt_password_verify;
__typeof__(crypt_password_dummy) __wrap_crypt_password_dummy;
__typeof__(crypt_token_new) __wrap_crypt_token_new;

static struct uuid
id_of(const char *text)
{
	struct uuid id;

	assert_true(uuid_parse(text, strlen(text), &id));
	return (id);
}

/* ---- entries ---- */

static enum rc
give_entry(int64_t mid, entry_fn each, void *arg, struct err *err)
{
	struct destination_view d[2] = {
	    {"bob", world.state, 2, world.retry_count, NOW + 1, NOW + 2,
		NOW + 3, NOW + 4, NOW + 5, NOW + 6, "slow"},
	    {"cy", world.state, 1, 0, 0, NOW + 9, 0, NOW + 8, 0, NOW + 7,
		NULL}};
	struct entry_view e = {.event_type = "message.send",
	    .conversation = id_of(UUID_B),
	    .conversation_seq = world.scheduled ? 0 : 4,
	    .to = "bob",
	    .max_retries = 20,
	    .created_at = NOW + 1,
	    .deliver_at = world.scheduled ? NOW + 50 : 0,
	    .message = {.id = id_of(UUID_A)},
	    .destinations = d,
	    .ndestinations = world.group ? 2 : 1};

	e.message.id.b[15] = (uint8_t)mid;
	return (each(arg, &e, mid, err));
}

enum rc
__wrap_entry_get(struct db *db, const struct entry_of *of,
    const struct uuid *id, entry_fn each, void *arg, struct err *err)
{
	enum rc rc;

	(void)db;
	played_note("entry ..%02x of %lld, retries %d", id->b[15],
	    (long long)of->sender_id, of->max_retries);
	if (world.found != RC_OK)
		return (world.found);
	if ((rc = played_store(err)) != RC_OK)
		return (rc);
	return (give_entry(9, each, arg, err));
}

enum rc
__wrap_entry_list(struct db *db, const struct entry_of *of, int64_t before,
    int64_t limit, entry_fn each, void *arg, struct err *err)
{
	enum rc rc = played_store(err);
	int64_t mid = before > world.rows ? world.rows : before - 1;

	(void)db;
	played_note("entries of %lld before %lld, %lld at most",
	    (long long)of->sender_id, (long long)before, (long long)limit);
	for (; mid > 0 && limit > 0 && rc == RC_OK; mid--, limit--)
		rc = give_entry(mid, each, arg, err);
	return (rc);
}

/* ---- the inbox ---- */

bool
__wrap_db_multi_writer(const struct db *db)
{

	(void)db;
	return (world.shared);
}

enum rc
__wrap_store_counter_get(
    struct db *db, int64_t user_id, struct store_counter *ret, struct err *err)
{

	(void)db;
	assert_int_equal(user_id, 7);
	if (world.found != RC_OK)
		return (world.found);
	*ret = (struct store_counter){world.head, world.oldest, 0, 0};
	return (played_store(err));
}

enum rc
__wrap_store_device_acked_get(
    struct db *db, int64_t device_id, int64_t *ret, struct err *err)
{

	(void)db;
	assert_int_equal(device_id, 70);
	*ret = world.acked;
	return (played_store(err));
}

enum rc
__wrap_store_unread_total(
    struct db *db, int64_t user_id, int64_t *ret, struct err *err)
{

	(void)db;
	assert_int_equal(user_id, 7);
	*ret = 17;
	return (played_store(err));
}

enum rc
__wrap_store_unread_list(struct db *db, int64_t user_id,
    void (*each)(void *arg, const struct uuid *conversation, int64_t unread,
	int64_t last),
    void *arg, struct err *err)
{
	const struct uuid a = id_of(UUID_A), b = id_of(UUID_B);

	(void)db;
	assert_int_equal(user_id, 7);
	if (world.rows > 0)
		each(arg, &a, 2, 5);
	if (world.rows > 1)
		each(arg, &b, 3, 9);
	return (played_store(err));
}

enum rc
__wrap_store_inbox_page(struct db *db, int64_t user_id,
    const struct store_range *range, store_event_fn each, void *arg,
    struct err *err)
{
	struct event_view e = {.kind = EVENT_MESSAGE,
	    .event_id = id_of(UUID_A),
	    .conversation = id_of(UUID_B),
	    .conversation_seq = 3,
	    .from = "bob",
	    .to = "ann",
	    .message = {.id = id_of(UUID_A), .body = "hi", .body_len = 2},
	    .event_time = NOW,
	    .delivered_at = NOW + 1};
	enum rc rc = played_store(err);
	int64_t seq, n = 0;

	(void)db;
	assert_int_equal(user_id, 7);
	played_note("inbox after %lld up to %lld, %lld at most",
	    (long long)range->after, (long long)range->upto,
	    (long long)range->limit);
	for (seq = range->after + 1; rc == RC_OK && seq <= range->upto &&
				     seq <= world.head && n < range->limit;
	     seq++, n++) {
		e.seq = seq;
		rc = each(arg, &e, err);
	}
	return (rc);
}

/* ---- conversations ---- */

static struct store_conversation_item
item_of(int64_t id)
{
	struct store_conversation_item item = {.conversation_id = id,
	    .public_id = id_of(UUID_B),
	    .direct = !world.group,
	    .created_at = NOW,
	    .delivered_upto = 8,
	    .unread = 2,
	    .last_seq = 9,
	    .last_at = NOW + 1000 * id};

	item.public_id.b[15] = (uint8_t)id;
	return (item);
}

enum rc
__wrap_store_conversation_one(struct db *db, int64_t user_id,
    const struct uuid *public_id, struct store_conversation_item *ret,
    struct err *err)
{

	(void)db;
	played_note("conversation ..%02x of %lld", public_id->b[15],
	    (long long)user_id);
	if (world.found != RC_OK)
		return (world.found);
	*ret = item_of(5);
	return (played_store(err));
}

enum rc
__wrap_store_conversation_list(struct db *db, int64_t user_id, int64_t before,
    int64_t limit,
    enum rc (*each)(
	void *arg, const struct store_conversation_item *item, struct err *err),
    void *arg, struct err *err)
{
	struct store_conversation_item item;
	enum rc rc = played_store(err);
	int64_t id;

	(void)db;
	played_note("conversations of %lld before %lld, %lld at most",
	    (long long)user_id, (long long)before, (long long)limit);
	for (id = world.rows; id > 0 && limit > 0 && rc == RC_OK;
	     id--, limit--) {
		item = item_of(id);
		rc = each(arg, &item, err);
	}
	return (rc);
}

enum rc
__wrap_store_conversation_recent(struct db *db,
    const struct store_recent_query *query,
    enum rc (*each)(
	void *arg, const struct store_conversation_item *item, struct err *err),
    void *arg, struct err *err)
{
	struct store_conversation_item item;
	enum rc rc = played_store(err);
	int64_t id, limit = query->limit;

	(void)db;
	played_note("recent of %lld before %lld ..%02x, %lld at most",
	    (long long)query->user_id, (long long)query->before_at,
	    query->before_id.b[15], (long long)limit);
	for (id = world.rows; id > 0 && limit > 0 && rc == RC_OK;
	     id--, limit--) {
		item = item_of(id);
		rc = each(arg, &item, err);
	}
	return (rc);
}

enum rc
__wrap_store_conversation_by_id(
    struct db *db, int64_t id, struct store_conversation *ret, struct err *err)
{

	(void)db;
	played_note("conversation %lld", (long long)id);
	*ret = (struct store_conversation){.direct = !world.group};
	return (played_store(err));
}

enum rc
__wrap_store_participants(struct db *db, int64_t conversation_id,
    enum rc (*each)(
	void *arg, const struct store_participant *p, struct err *err),
    void *arg, struct err *err)
{
	static const char *const names[] = {"ann", "bob", "cy"};
	struct store_participant p = {.user_id = 7, .acked_upto = 4};
	enum rc rc = played_store(err);
	int i;

	(void)db;
	played_note("members of %lld", (long long)conversation_id);
	for (i = 0; i < world.members && rc == RC_OK; i++) {
		p.user_id = 7 + i;
		p.shown_upto = 3 - i;
		memcpy(p.name, names[i], strlen(names[i]) + 1);
		rc = each(arg, &p, err);
	}
	return (rc);
}

static struct store_history
history_of(int64_t seq)
{
	struct store_history h = {.event_id = id_of(UUID_A),
	    .conversation_seq = seq,
	    .sender_id = seq % 2 == 0 ? 7 : 8,
	    .sender = seq % 2 == 0 ? "ann" : "bob",
	    .event_time = NOW,
	    .message = {.id = id_of(UUID_A), .body = "hi", .body_len = 2},
	    .conversation = id_of(UUID_B),
	    .conversation_id = 5};

	return (h);
}

enum rc
__wrap_store_history(struct db *db, const struct store_history_query *q,
    store_history_fn each, void *arg, struct err *err)
{
	struct store_history h;
	enum rc rc = played_store(err);
	int64_t i;

	(void)db;
	played_note("history of %lld for %lld, %s %lld, delivered %lld, %lld "
		    "at most",
	    (long long)q->conversation_id, (long long)q->user_id,
	    q->before ? "before" : "after", (long long)q->seq,
	    (long long)q->delivered_upto, (long long)q->limit);
	for (i = 1; i <= world.rows && i <= q->limit && rc == RC_OK; i++) {
		h = history_of(i);
		rc = each(arg, &h, err);
	}
	return (rc);
}

enum rc
__wrap_store_message_visible(struct db *db, int64_t user_id,
    const struct uuid *id, store_history_fn each, void *arg, struct err *err)
{
	const struct store_history h = history_of(world.scheduled ? 0 : 3);
	enum rc rc;

	(void)db;
	played_note("message ..%02x for %lld", id->b[15], (long long)user_id);
	if (world.found != RC_OK)
		return (world.found);
	if ((rc = played_store(err)) != RC_OK)
		return (rc);
	return (each(arg, &h, err));
}

/* ---- people ---- */

enum rc
__wrap_store_device_list(struct db *db, int64_t user_id,
    void (*each)(void *arg, const struct store_device *device), void *arg,
    struct err *err)
{
	struct store_device d = {
	    70, id_of(UUID_A), 7, "ann", "phone", false, 5, NOW + 1, NOW + 2};

	(void)db;
	played_note("devices of %lld", (long long)user_id);
	if (world.found == RC_OK)
		each(arg, &d);
	d = (struct store_device){
	    .device_id = 71, .public_id = id_of(UUID_B), .name = "desk"};
	each(arg, &d);
	return (played_store(err));
}

static enum rc
give_user(struct store_user *ret, struct err *err)
{

	if (world.found != RC_OK)
		return (world.found);
	*ret = (struct store_user){.user_id = 7,
	    .name = "ann",
	    .password_hash = "stored",
	    .disabled = world.disabled};
	if (world.no_password)
		ret->password_hash[0] = '\0';
	return (played_store(err));
}

enum rc
__wrap_store_user_by_name(struct db *db, const char *name, size_t n,
    struct store_user *ret, struct err *err)
{

	(void)db;
	played_note("user %.*s", (int)n, name);
	return (give_user(ret, err));
}

enum rc
__wrap_store_user_by_id(
    struct db *db, int64_t user_id, struct store_user *ret, struct err *err)
{

	(void)db;
	played_note("user %lld", (long long)user_id);
	return (give_user(ret, err));
}

enum rc
__wrap_pool_submit(struct pool *pool, struct pool_job *job)
{

	(void)pool;
	if (world.pool_rc == RC_OK)
		job->run(job);
	return (world.pool_rc);
}

enum rc
__wrap_crypt_password_hash(const char *password, size_t n,
    char ret[CRYPT_PASSWORD_SIZE], struct err *err)
{

	(void)err;
	played_note("hash %.*s", (int)n, password);
	memcpy(ret, "hashed", 7);
	return (RC_OK);
}

enum rc
__wrap_crypt_password_verify(
    const char *stored, const char *password, size_t n, struct err *err)
{

	played_note("verify %.*s with %s", (int)n, password, stored);
	if (n == 6 && memcmp(password, "broken", 6) == 0)
		return (err_set(err, RC_INTERNAL, "argon2"));
	return (
	    n == 5 && memcmp(password, "right", 5) == 0 ? RC_OK : RC_DENIED);
}

enum rc
__wrap_crypt_password_dummy(const char *password, size_t n, struct err *err)
{

	(void)err;
	played_note("dummy %.*s", (int)n, password);
	return (RC_DENIED);
}

void
__wrap_crypt_token_new(struct rnd *rnd, char ret[CRYPT_TOKEN_LEN + 1],
    uint8_t ret_hash[CRYPT_HASH_SIZE])
{

	(void)rnd;
	memcpy(ret, "token", 6);
	memset(ret_hash, 0xab, CRYPT_HASH_SIZE);
}

enum rc
__wrap_push_wait(struct push *p, struct push_waiter *w)
{

	(void)p;
	played_note("wait of %lld on %lld, after %lld, outbox %d",
	    (long long)w->user_id, (long long)w->device_id, (long long)w->after,
	    w->outbox);
	return (RC_CLOSED);
}

/* ---- the writer ---- */

static void
apply_send(struct send_unit *u)
{
	const struct message_draft *d = u->draft;
	char id[UUID_TEXT_LEN + 1];

	uuid_format(&d->id, id);
	played_note("send by %lld to %s: id ..%s priority %d at %lld expires "
		    "%lld reply %d bytes %zu",
	    (long long)u->sender_id, u->to, id + 24, d->priority,
	    (long long)d->deliver_at_ms, (long long)d->expires_in_ms,
	    d->has_reply_to, u->unit.bytes);
	buf_add(&played.text, u->message->data, u->message->len);
	buf_addc(&played.text, '\n');
	u->replayed = world.replayed;
	u->conversation = id_of(UUID_B);
	u->conversation_seq = 4;
	u->created_at = NOW + 1;
	u->max_retries = 20;
	memcpy(u->recipient, u->to, sizeof(u->recipient));
}

static void
apply_account(struct account_unit *u)
{
	char id[UUID_TEXT_LEN + 1];

	uuid_format(&u->device.public_id, id);
	played_note("account %d user=%lld %s (%s) hash=%s device=%lld %s %s "
		    "token=%02x verified=%s%s",
	    (int)u->op, (long long)u->user.user_id, u->user.name,
	    u->user.display_name, u->user.password_hash,
	    (long long)u->device.device_id, id, u->device.name,
	    u->token_hash[0], u->verified, u->everywhere ? " everywhere" : "");
	if (u->op == ACCOUNT_LOGIN) {
		memcpy(u->device.user_name, "ann", 4);
		u->device.public_id = id_of(UUID_B);
		u->user.password_once = world.once;
	}
}

void
world_apply(struct unit *unit)
{
	const char *kind = unit->kind->name;
	struct refusal *refusal = NULL;
	struct read_unit *read = (void *)unit;
	struct ack_unit *ack = (void *)unit;
	struct operator_unit *command = (void *)unit;
	struct cancel_unit *cancel = (void *)unit;

	if (strcmp(kind, "send") == 0) {
		refusal = &((struct send_unit *)(void *)unit)->refusal;
		apply_send((void *)unit);
	} else if (strcmp(kind, "account") == 0) {
		refusal = &((struct account_unit *)(void *)unit)->refusal;
		apply_account((void *)unit);
	} else if (strcmp(kind, "ack") == 0) {
		refusal = &ack->refusal;
		played_note("ack %lld by %lld on %lld", (long long)ack->upto,
		    (long long)ack->user_id, (long long)ack->device_id);
		ack->acked = 11;
		ack->head = 12;
	} else if (strcmp(kind, "read") == 0) {
		refusal = &read->refusal;
		played_note("read form %d upto %lld in ..%02x, %zu ids, "
			    "private %d, by %lld on %lld",
		    (int)read->form, (long long)read->upto,
		    read->conversation.b[15], read->nids, read->is_private,
		    (long long)read->user_id, (long long)read->device_id);
	} else if (strcmp(kind, "cancel") == 0) {
		refusal = &cancel->refusal;
		played_note("cancel ..%02x by %lld", cancel->id.b[15],
		    (long long)cancel->sender_id);
	} else {
		refusal = &command->refusal;
		played_note("operator %d ..%02x of %lld by %s",
		    (int)command->op, command->message.b[15],
		    (long long)command->sender_id, command->by);
	}
	if (world.refused)
		refusal_set(refusal, PROBLEM_CONFLICT, "/p", "not so");
}

int
world_setup(void **state)
{

	world = (struct played_api){
	    .head = 9, .oldest = 3, .rows = 2, .members = 2};
	if (played_setup(state) != 0)
		return (-1);
	played.apply = world_apply;
	played.module = &played.api;
	played.api.throttle = login_throttle_new();
	assert_non_null(played.api.throttle);
	return (0);
}

int
world_teardown(void **state)
{

	login_throttle_free(played.api.throttle);
	return (played_teardown(state));
}
