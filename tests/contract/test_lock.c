/* SPDX-License-Identifier: MIT */
/*
 * The locks of a batch before its first write, on a multi-writer database:
 * which conversations it locks, and that it sees them as the last owner of the
 * lock has left them.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "contract/pg.h"
#include "store/conversation.h"
#include "store/lock.h"

static struct err err = ERR_INIT;

#define NAMES 4

/* In byte order '-' is before digits, and digits are before letters.  The order
 * of a language would ignore '-'. */
static const char *const names[NAMES] = {"a-b", "a1", "aa", "ab"};

struct scene {
	struct pg_two t;
	int64_t users[NAMES];
	int64_t direct[NAMES][NAMES]; /* conversation ids */
};

static int64_t
make_direct(struct scene *s, int i, int k)
{
	char key[STORE_DIRECT_KEY_SIZE];
	struct store_new_conversation c = {.direct_key = key};

	memset(&c.public_id, 16 * i + k, sizeof(c.public_id));
	store_direct_key(names[i], names[k], key);
	must(store_conversations_insert(s->t.a, &c, 1, 1, &err));
	return (c.conversation_id);
}

static void
open_scene(struct scene *s)
{
	struct store_user u = {0};
	int i, k;

	pg_two_open(&s->t);
	for (i = 0; i < NAMES; i++) {
		(void)snprintf(u.name, sizeof(u.name), "%s", names[i]);
		must(store_user_insert(s->t.a, &u, 1, &s->users[i], &err));
	}
	pg_exec(&s->t.pg, "INSERT INTO inboxes (user_id) SELECT user_id "
			  "FROM users ON CONFLICT DO NOTHING");
	for (i = 0; i < NAMES; i++)
		for (k = i; k < NAMES; k++)
			s->direct[i][k] = s->direct[k][i] =
			    make_direct(s, i, k);
}

struct found {
	struct store_conversation c[8];
	size_t n;
};

static enum rc
take(void *arg, const struct store_conversation *c, struct err *e)
{
	struct found *f = arg;

	(void)e;
	if (f->n < sizeof(f->c) / sizeof(f->c[0]))
		f->c[f->n++] = *c;
	return (RC_OK);
}

static enum rc
hold(struct db *db, const struct store_conversation_key *keys, size_t n,
    struct found *ret, struct err *e)
{
	const struct store_lock_handler h = {.conversation = take, .arg = ret};
	enum rc rc;

	ret->n = 0;
	rc = store_lock_conversations(db, keys, n, &h, e);
	return (rc == RC_OK ? store_lock_answers(db, e) : rc);
}

static void
test_direct(void **state)
{
	struct store_conversation_key key = {.public_id = NULL};
	struct found f;
	struct scene s;
	int i, k;

	(void)state;
	open_scene(&s);
	for (i = 0; i < NAMES; i++)
		for (k = 0; k < NAMES; k++) {
			key.user_id = s.users[i];
			key.with = names[k];
			must(hold(s.t.b, &key, 1, &f, &err));
			assert_int_equal(f.n, 1);
			assert_int_equal(
			    f.c[0].conversation_id, s.direct[i][k]);
		}
	key.with = "nobody";
	must(hold(s.t.b, &key, 1, &f, &err));
	assert_int_equal(f.n, 0);
	pg_two_close(&s.t);
}

/* Each kind of key, mixed, some for the same conversation: each conversation is
 * locked once, in the order of ids. */
static void
test_kinds(void **state)
{
	struct store_conversation_key keys[5] = {{.public_id = NULL}};
	struct uuid id;
	struct found f;
	struct scene s;

	(void)state;
	open_scene(&s);
	pg_exec(&s.t.pg,
	    "INSERT INTO outbox_lanes (lane_id, conversation_id, dest_kind, "
	    "dest_id, updated_at, destination_id, state) "
	    "VALUES (50, 3, 'user', 1, 1, 1, 'local')");
	pg_exec(&s.t.pg,
	    "INSERT INTO inbox (user_id, seq, kind, own, event_id, mid, "
	    "conversation_id, conversation_seq, actor_id, event_time, "
	    "delivered_at, attempt) SELECT 1, n, 1, 0, gen_random_uuid(), n, "
	    "CASE WHEN n > 4 THEN 6 ELSE 4 END, n, 2, 1, 1, 1 "
	    "FROM generate_series(1, 6) n");
	pg_exec(&s.t.pg, "UPDATE inboxes SET acked = 2 WHERE user_id = 1");
	memset(&id, 16 * 0 + 1, sizeof(id)); /* conversation 2 */
	keys[0].user_id = s.users[0];
	keys[0].acked_upto = 4;
	keys[1].lane_id = 50;
	keys[2].public_id = &id;
	keys[3].user_id = s.users[1];
	keys[3].with = names[0];
	keys[4].lane_id = 51;
	must(hold(s.t.b, keys, 5, &f, &err));
	assert_int_equal(f.n, 3);
	assert_int_equal(f.c[0].conversation_id, 2);
	assert_int_equal(f.c[1].conversation_id, 3);
	assert_int_equal(f.c[2].conversation_id, 4);
	/* A message that was acked before does not matter, and one beyond the
	 * ack does not matter yet. */
	keys[0].acked_upto = 2;
	must(hold(s.t.b, keys, 1, &f, &err));
	assert_int_equal(f.n, 0);
	keys[0].acked_upto = 6;
	must(hold(s.t.b, keys, 1, &f, &err));
	assert_int_equal(f.n, 2);
	pg_two_close(&s.t);
}

static const char only_that[] =
    "SELECT 1 FROM conversations WHERE direct_key = 'a-b ab' FOR UPDATE NOWAIT";
static const char others[] =
    "SELECT 1 FROM conversations WHERE direct_key <> 'a-b ab' "
    "FOR UPDATE NOWAIT";

/* The conversations that were found stay locked until the transaction ends, and
 * no others. */
static void
test_locks(void **state)
{
	struct store_conversation_key key = {.with = names[0]};
	struct found f;
	struct scene s;

	(void)state;
	open_scene(&s);
	key.user_id = s.users[3];
	must(db_begin(s.t.a, &err));
	must(hold(s.t.a, &key, 1, &f, &err));
	assert_string_equal(pg_state(&s.t.pg, only_that), "55P03");
	assert_string_equal(pg_state(&s.t.pg, others), "");
	must(db_commit(s.t.a, &err));
	assert_string_equal(pg_state(&s.t.pg, only_that), "");
	pg_two_close(&s.t);
}

static void
wait_until_waits(struct pg *pg)
{

	while (pg_number(
		   pg, "SELECT count(*) FROM pg_locks WHERE NOT granted") == 0)
		continue;
}

struct waiter {
	struct db *db;
	const char *name; /* of a lock to take first; may be NULL */
	struct store_conversation_key key;
	struct found found;
	enum rc rc;
};

static void *
hold_waiting(void *arg)
{
	struct waiter *w = arg;
	struct err e = ERR_INIT;

	w->rc = db_begin(w->db, &e);
	if (w->rc == RC_OK && w->name != NULL)
		w->rc = store_lock_names(w->db, &w->name, 1, &e);
	if (w->rc == RC_OK)
		w->rc = hold(w->db, &w->key, 1, &w->found, &e);
	if (w->rc == RC_OK)
		w->rc = db_commit(w->db, &e);
	return (NULL);
}

/* A writer that waits for a conversation then sees its present end, not the end
 * at the time when it began to wait. */
static void
test_waits(void **state)
{
	struct waiter w = {.rc = RC_INTERNAL, .key.with = names[0]};
	pthread_t thread;
	struct scene s;

	(void)state;
	open_scene(&s);
	w.db = s.t.a;
	w.key.user_id = s.users[3];
	pg_exec(&s.t.pg, "BEGIN");
	pg_exec(&s.t.pg, "UPDATE conversations SET last_seq = 7, last_digest = "
			 "sha256('7') WHERE direct_key = 'a-b ab'");
	assert_int_equal(pthread_create(&thread, NULL, hold_waiting, &w), 0);
	wait_until_waits(&s.t.pg);
	pg_exec(&s.t.pg, "COMMIT");
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(w.rc, RC_OK);
	assert_int_equal(w.found.n, 1);
	assert_int_equal(w.found.c[0].last_seq, 7);
	pg_two_close(&s.t);
}

/* The owner of the lock on a name is the only one that may make the
 * conversation.  A writer that waits for the lock finds the conversation
 * afterwards.  Other names are not locked. */
static void
test_names(void **state)
{
	const char *const made[] = {"z a-b", "a-b z"}, *other = "a-b y";
	struct waiter w = {.rc = RC_INTERNAL, .key.with = "z", .name = "a-b z"};
	struct store_new_conversation c = {{.b = {9}}, made[1], 0};
	pthread_t thread;
	struct scene s;

	(void)state;
	open_scene(&s);
	w.db = s.t.b;
	w.key.user_id = s.users[0];
	must(db_begin(s.t.a, &err));
	must(store_lock_names(s.t.a, made, 2, &err));
	must(store_lock_answers(s.t.a, &err));
	must(db_begin(s.t.b, &err));
	must(store_lock_names(s.t.b, &other, 1, &err));
	must(store_lock_answers(s.t.b, &err));
	must(db_commit(s.t.b, &err));
	assert_int_equal(pthread_create(&thread, NULL, hold_waiting, &w), 0);
	wait_until_waits(&s.t.pg);
	must(store_conversations_insert(s.t.a, &c, 1, 1, &err));
	must(db_commit(s.t.a, &err));
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(w.rc, RC_OK);
	assert_int_equal(w.found.n, 1);
	assert_int_equal(w.found.c[0].conversation_id, c.conversation_id);
	pg_two_close(&s.t);
}

/* ---- what is free ---- */

struct free_rows {
	int64_t conversations[8], inboxes[8], devices[8], found[8];
	size_t numbers[8], names[8];
	size_t nconversations, ninboxes, ndevices, nfound, nnames;
};

static enum rc
take_free(void *arg, const struct store_conversation *c, struct err *e)
{
	struct free_rows *f = arg;

	(void)e;
	f->conversations[f->nconversations++] = c->conversation_id;
	return (RC_OK);
}

static enum rc
take_inbox(
    void *arg, int64_t user_id, const struct store_counter *c, struct err *e)
{
	struct free_rows *f = arg;

	(void)c;
	(void)e;
	f->inboxes[f->ninboxes++] = user_id;
	return (RC_OK);
}

static enum rc
take_device(void *arg, int64_t device_id, int64_t acked, struct err *e)
{
	struct free_rows *f = arg;

	(void)acked;
	(void)e;
	f->devices[f->ndevices++] = device_id;
	return (RC_OK);
}

static enum rc
take_found(void *arg, size_t number, int64_t conversation_id, int64_t dest,
    struct err *e)
{
	struct free_rows *f = arg;

	(void)e;
	assert_int_equal(dest, 0);
	f->numbers[f->nfound] = number;
	f->found[f->nfound++] = conversation_id;
	return (RC_OK);
}

static enum rc
take_name(void *arg, size_t number, struct err *e)
{
	struct free_rows *f = arg;

	(void)e;
	f->names[f->nnames++] = number;
	return (RC_OK);
}

/* One writer locks a row of each kind and a name.  Another writer that does not
 * wait gets all other rows, and finds all of them. */
static void
test_lock_skip(void **state)
{
	static const char *const two[] = {"a b", "a c"};
	struct free_rows f = {.nfound = 0};
	const struct store_lock_handler h = {.conversation = take_free,
	    .counter = take_inbox,
	    .device = take_device,
	    .found = take_found,
	    .name_taken = take_name,
	    .arg = &f};
	struct store_conversation_key keys[2] = {{.public_id = NULL}};
	const int64_t devices[2] = {1, 2};
	int64_t ids[2];
	struct scene s;
	int i;

	(void)state;
	open_scene(&s);
	pg_exec(&s.t.pg,
	    "INSERT INTO devices (device_id, public_id, user_id, name, "
	    "token_hash, created_at, last_seen_at) SELECT n, gen_random_uuid(), 1, 'd' || n, "
	    "sha256(n::text::bytea), 1, 1 FROM generate_series(1, 2) AS n");
	ids[0] = s.direct[0][1];
	ids[1] = s.direct[0][2];
	must(db_begin(s.t.a, &err));
	must(store_lock_names(s.t.a, two, 1, &err));
	must(store_lock_conversations_skip(s.t.a, ids, 1, &h, &err));
	must(store_lock_inboxes_skip(s.t.a, s.users, 1, &h, &err));
	must(store_lock_devices_skip(s.t.a, devices, 1, &h, &err));
	must(store_lock_answers(s.t.a, &err));
	assert_int_equal(f.nconversations + f.ninboxes + f.ndevices, 3);

	f = (struct free_rows){.nfound = 0};
	keys[0] = (struct store_conversation_key){
	    .user_id = s.users[0], .with = names[1]};
	keys[1] = (struct store_conversation_key){.conversation_id = ids[1]};
	must(db_begin(s.t.b, &err));
	must(store_lock_names_skip(s.t.b, two, 2, &h, &err));
	must(store_lock_find(s.t.b, keys, 2, &h, &err));
	must(store_lock_conversations_skip(s.t.b, ids, 2, &h, &err));
	must(store_lock_inboxes_skip(s.t.b, s.users, 2, &h, &err));
	must(store_lock_devices_skip(s.t.b, devices, 2, &h, &err));
	must(store_lock_answers(s.t.b, &err));
	assert_int_equal(f.nnames, 1);
	assert_int_equal(f.names[0], 0);
	assert_int_equal(f.nconversations, 1);
	assert_int_equal(f.conversations[0], ids[1]);
	assert_int_equal(f.ninboxes, 1);
	assert_int_equal(f.inboxes[0], s.users[1]);
	assert_int_equal(f.ndevices, 1);
	assert_int_equal(f.devices[0], 2);
	assert_int_equal(f.nfound, 2);
	for (i = 0; i < 2; i++) {
		assert_true(f.numbers[i] < 2);
		assert_int_equal(f.found[i], ids[f.numbers[i]]);
	}
	assert_int_equal(f.numbers[0] + f.numbers[1], 1);
	db_rollback(s.t.b);
	db_rollback(s.t.a);
	pg_two_close(&s.t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_lock_skip),
	    cmocka_unit_test(test_direct),
	    cmocka_unit_test(test_kinds),
	    cmocka_unit_test(test_locks),
	    cmocka_unit_test(test_waits),
	    cmocka_unit_test(test_names),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
