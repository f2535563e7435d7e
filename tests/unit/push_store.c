/* SPDX-License-Identifier: MIT */
/*
 * Stand-ins for the modules below push.  The readers and the writer keep
 * requests until the test runs them; the reads of store and chat answer from
 * the scene.  See push_fixture.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "chat/entry.h"
#include "chat/send_gate.h"
#include "store/conversation.h"
#include "store/inbox.h"
#include "unit/push_fixture.h"

/* ---- readers ---- */

enum rc
readers_submit(struct readers *readers, struct read_job *job)
{

	(void)readers;
	if (scene->readers_rc != RC_OK)
		return (scene->readers_rc);
	assert_in_range(scene->njobs, 0, JOBS - 1);
	scene->jobs[scene->njobs++] = job;
	return (RC_OK);
}

void
job_read(void)
{
	struct read_job *job = scene->jobs[0];
	struct err err = ERR_INIT;

	assert_in_range(scene->njobs, 1, JOBS);
	scene->njobs--;
	memmove(&scene->jobs[0], &scene->jobs[1],
	    (size_t)scene->njobs * sizeof(scene->jobs[0]));
	/* Only the functions below get this pointer, and none of them
	 * dereferences it. */
	job->run(job, (struct db *)(void *)scene, &err);
}

void
jobs_run(void)
{

	turn();
	while (scene->njobs > 0) {
		job_read();
		turn();
	}
}

/* ---- reads ---- */

bool
db_multi_writer(const struct db *db)
{

	(void)db;
	return (scene->shared);
}

static enum rc
store_says(struct err *err)
{

	if (scene->store_rc == RC_OK)
		return (RC_OK);
	return (err_set(err, scene->store_rc, "on purpose"));
}

enum rc
store_inbox_page(struct db *db, int64_t user_id,
    const struct store_range *range, store_event_fn each, void *arg,
    struct err *err)
{
	static char body[64 * 1024];
	const struct inbox *in = &scene->inboxes[user_id];
	struct event_view e = {.kind = EVENT_MESSAGE, .from = "u1"};
	int64_t n = 0;
	enum rc rc = store_says(err);

	(void)db;
	assert_in_range(scene->body, 0, sizeof(body));
	memset(body, 'x', scene->body);
	e.message.body = body;
	e.message.body_len = scene->body;
	e.seq = range->after + 1 > in->oldest ? range->after + 1 : in->oldest;
	for (; rc == RC_OK && n < range->limit && e.seq <= in->head; e.seq++) {
		if (e.seq > range->upto)
			break;
		rc = each(arg, &e, err);
		n++;
	}
	return (rc);
}

enum rc
store_device_acked_get(
    struct db *db, int64_t device_id, int64_t *ret, struct err *err)
{

	(void)db;
	*ret = scene->acked[device_id];
	return (store_says(err));
}

enum rc
store_counter_get(
    struct db *db, int64_t user_id, struct store_counter *ret, struct err *err)
{

	(void)db;
	memset(ret, 0, sizeof(*ret));
	ret->head = scene->inboxes[user_id].head;
	ret->oldest = scene->inboxes[user_id].oldest;
	return (store_says(err));
}

enum rc
store_unread_total(
    struct db *db, int64_t user_id, int64_t *ret, struct err *err)
{

	(void)db;
	*ret = scene->inboxes[user_id].unread;
	return (store_says(err));
}

enum rc
store_conversation_by_public(struct db *db, const struct uuid *id,
    struct store_conversation *ret, struct err *err)
{
	struct uuid known;

	(void)db;
	assert_true(uuid_parse(CONVERSATION, strlen(CONVERSATION), &known));
	memset(ret, 0, sizeof(*ret));
	if (memcmp(&known, id, sizeof(known)) != 0)
		return (RC_NOT_FOUND);
	return (store_says(err));
}

enum rc
store_participants(struct db *db, int64_t conversation_id,
    enum rc (*each)(
	void *arg, const struct store_participant *p, struct err *err),
    void *arg, struct err *err)
{
	struct store_participant p = {.user_id = 1};
	enum rc rc = RC_OK;

	(void)db;
	(void)conversation_id;
	for (; p.user_id <= 3 && rc == RC_OK; p.user_id++)
		rc = each(arg, &p, err);
	return (rc);
}

/* ---- entries ---- */

enum rc
store_message_uuid(
    struct db *db, int64_t mid, struct uuid *ret, struct err *err)
{

	(void)db;
	memset(ret, 0, sizeof(*ret));
	ret->b[15] = (uint8_t)mid;
	return (store_says(err));
}

enum rc
entry_append(
    void *arg, const struct entry_view *e, int64_t mid, struct err *err)
{

	(void)mid;
	(void)err;
	wire_entry(arg, e);
	return (RC_OK);
}

/* The recipient of an entry has the same number as the message. */
enum rc
entry_get(struct db *db, const struct entry_of *of, const struct uuid *id,
    entry_fn each, void *arg, struct err *err)
{
	const struct destination_view to = {.state = OUTBOX_SENT};
	struct entry_view e = {.event_type = "message.send",
	    .max_retries = of->max_retries,
	    .destinations = &to,
	    .ndestinations = 1};
	char name[8];

	(void)db;
	if (id->b[15] == scene->gone)
		return (RC_NOT_FOUND);
	(void)snprintf(name, sizeof(name), "%d", id->b[15]);
	e.to = name;
	return (each(arg, &e, id->b[15], err));
}

/* ---- tokens ---- */

bool
auth_token_hash(const char *text, size_t n, uint8_t ret[STORE_HASH_LEN])
{

	if (n != 4)
		return (false);
	memset(ret, 0, STORE_HASH_LEN);
	memcpy(ret, text, n);
	return (true);
}

/* The cache is empty, so that push reads every token from the store. */
bool
auth_find(struct auth *auth, const uint8_t hash[STORE_HASH_LEN],
    struct principal *ret)
{

	(void)auth;
	(void)hash;
	(void)ret;
	return (false);
}

uint64_t
auth_generation(struct auth *auth)
{

	(void)auth;
	return (1);
}

void
auth_put(struct auth *auth, const uint8_t hash[STORE_HASH_LEN],
    const struct principal *principal, uint64_t generation)
{

	(void)auth;
	(void)hash;
	(void)principal;
	assert_int_equal(generation, 1);
}

enum rc
auth_load(struct db *db, const uint8_t hash[STORE_HASH_LEN],
    struct principal *ret, struct err *err)
{
	int user = hash[1] - '0', device = hash[3] - '0';

	(void)db;
	if (hash[0] != 'u' || user < 1 || user >= USERS || hash[2] != 'd' ||
	    device < 1 || device > 9 || scene->revoked[device])
		return (RC_NOT_FOUND);
	memset(ret, 0, sizeof(*ret));
	ret->user_id = user;
	ret->device_id = device;
	(void)snprintf(ret->name, sizeof(ret->name), "u%d", user);
	return (store_says(err));
}

/* ---- the writer ---- */

enum rc
writer_submit(struct writer *w, struct unit *unit)
{

	(void)w;
	if (scene->writer_rc != RC_OK)
		return (scene->writer_rc);
	assert_in_range(scene->nunits, 0, UNITS - 1);
	scene->units[scene->nunits++] = unit;
	return (RC_OK);
}

static const struct unit_kind ack_kind = {.name = "ack"};
static const struct unit_kind read_kind = {.name = "read"};
static const struct unit_kind send_kind = {.name = "send"};

void
ack_unit_init(struct ack_unit *u)
{

	memset(u, 0, sizeof(*u));
	u->unit.kind = &ack_kind;
}

void
read_unit_init(struct read_unit *u)
{

	memset(u, 0, sizeof(*u));
	u->unit.kind = &read_kind;
}

struct uuid
send_gate_id(struct send_gate *gate)
{

	(void)gate;
	return (uuid_gen_next(&scene->push->ids));
}

struct uuid
send_id_of_key(int64_t sender_id, const char *key, size_t n)
{
	struct uuid id = {{0}};

	assert_int_equal(sender_id, 1);
	memcpy(id.b, key, n < sizeof(id.b) ? n : sizeof(id.b));
	return (id);
}

const struct addressing *
send_gate_addressing(const struct send_gate *gate)
{
	static const struct addressing local = {.domain = "localhost"};

	(void)gate;
	return (&local);
}

bool
send_gate_take(struct send_gate *gate, int64_t user_id,
    const struct usage_amount *amount, struct refusal *refusal)
{

	(void)gate;
	assert_int_equal(user_id, 1);
	assert_int_equal(amount->messages, 1);
	if (scene->no_quota) {
		refusal_set(refusal, PROBLEM_QUOTA_USED, "", "none left");
		return (false);
	}
	scene->counted += amount->bytes;
	return (true);
}

void
send_gate_return(
    struct send_gate *gate, int64_t user_id, const struct usage_amount *amount)
{

	(void)gate;
	assert_int_equal(user_id, 1);
	scene->counted -= amount->bytes;
}

void
send_unit_init(struct send_unit *u)
{

	memset(u, 0, sizeof(*u));
	u->unit.kind = &send_kind;
}

static struct unit *
take_unit(const struct unit_kind *kind, enum rc rc)
{
	struct unit *unit = scene->units[0];

	assert_in_range(scene->nunits, 1, UNITS);
	assert_string_equal(unit->kind->name, kind->name);
	scene->nunits--;
	memmove(&scene->units[0], &scene->units[1],
	    (size_t)scene->nunits * sizeof(scene->units[0]));
	unit->rc = rc;
	return (unit);
}

void
finish_ack(int64_t upto, enum rc rc)
{
	struct unit *unit = take_unit(&ack_kind, rc);
	struct ack_unit *u = (struct ack_unit *)(void *)unit;
	int64_t *acked = &scene->acked[u->device_id];

	assert_int_equal(u->upto, upto);
	/* The effects of a commit are published before its units finish. */
	if (rc == RC_OK && upto > *acked)
		publish_acked(u->user_id, u->device_id, upto);
	u->acked = *acked;
	u->head = scene->inboxes[u->user_id].head;
	unit->finish(unit);
	turn();
}

void
finish_read(int64_t upto, enum rc rc)
{
	struct unit *unit = take_unit(&read_kind, rc);
	struct read_unit *u = (struct read_unit *)(void *)unit;

	assert_int_equal(u->upto, upto);
	if (rc == RC_OK && u->form == READ_UPTO)
		publish_acked(u->user_id, u->device_id, upto);
	unit->finish(unit);
	turn();
}

void
finish_send(enum rc rc)
{
	struct unit *unit = take_unit(&send_kind, rc);
	struct send_unit *u = (struct send_unit *)(void *)unit;

	u->replayed = scene->replayed;
	unit->finish(unit);
	turn();
}

/* ---- sending ---- */

bool
send_unit_ask(struct send_unit *u, int64_t sender_id,
    struct message_draft *draft, const struct addressing *where)
{

	assert_string_equal(where->domain, "localhost");
	u->sender_id = sender_id;
	u->draft = draft;
	if (!scene->bad_recipient)
		return (true);
	refusal_set(&u->refusal, PROBLEM_BAD_REQUEST, "/to", "no address");
	return (false);
}

void
send_unit_view(const struct send_unit *u, struct send_view *ret)
{

	memset(ret, 0, sizeof(*ret));
	ret->entry.event_type = "message.send";
	ret->entry.message.id = u->draft->id;
	ret->entry.message.metadata = u->draft->metadata.p;
	ret->entry.message.metadata_len = u->draft->metadata.n;
	ret->entry.to = "new";
	ret->destination.state = OUTBOX_PENDING;
	ret->entry.destinations = &ret->destination;
	ret->entry.ndestinations = 1;
}
