/* SPDX-License-Identifier: MIT */
/*
 * The rig.  See rig.h.  Every function asserts: a rig that cannot do its work
 * fails the test.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "contract/rig_internal.h"
#include "crypt/crypt.h"
#include "store/outbox.h"
#include "store/recovery.h"
#include "unit/folder.h"

/* ---- subscribers ---- */

static void
on_wake(void *arg, struct wake *wake)
{
	struct rig *r = arg;
	size_t i;

	for (i = 0; i < wake->nlanes && r->nlanes < 512; i++)
		r->lanes[r->nlanes++] = wake->lanes[i].lane_id;
	wake_free(wake);
}

static void
keep_event(struct rig *r, const struct effect_event *e)
{
	struct text *texts[] = {e->from, e->to, e->message};
	size_t i;

	for (i = 0; i < 3; i++)
		if (texts[i] != NULL)
			(void)text_ref(texts[i]);
	r->events[r->nevents++] = *e;
}

static void
on_effects(void *arg, struct effects *effects)
{
	struct rig *r = arg;
	size_t i;

	for (i = 0; i < effects->nevents && r->nevents < 512; i++) {
		r->stamps[r->nevents] =
		    r->options.stamp != NULL
			? r->options.stamp(r->options.stamp_arg)
			: 0;
		keep_event(r, &effects->events[i]);
	}
	if (effects->nacked > 0)
		r->acked = effects->acked[effects->nacked - 1];
	effects_free(effects);
}

static void
on_change(void *arg, const struct effect_change *change)
{
	struct rig *r = arg;

	if (r->nchanges < 512)
		r->changes[r->nchanges++] = *change;
}

static void
on_fatal(void *arg, const struct err *err)
{
	struct rig *r = arg;

	(void)err;
	r->fatal++;
}

static bool
is_fault_test(void *arg, const char *domain)
{
	const char *end = strstr(domain, ".fault.test");

	(void)arg;
	return (end != NULL && end != domain && end[11] == '\0');
}

const struct addressing rig_addressing = {
    .domain = "localhost", .reaches = is_fault_test};

/* ---- opening and closing ---- */

enum rc
rig_boot(struct db *db, int64_t now_ms, struct err *err)
{
	struct store_recovery how = {0};
	struct clk_fake clk;

	clk_fake_init(&clk, now_ms);
	how.clk = &clk.clk;
	return (store_recover(db, &how, err));
}

/* Returns the times of the writer.  By default a batch waits longer for locks
 * than in the product: the server process of a connection that was given up
 * keeps its locks until it has ended, on a busy machine for longer than
 * db_patience_ms.  The writer would then defer the unit, and the test, which
 * runs the writer once, would continue without its result. */
static const struct timing *
writer_timing(const struct rig *r)
{
	static struct timing patient;

	if (r->options.timing != NULL)
		return (r->options.timing);
	patient = *timing_real();
	patient.db_patience_ms = 20000;
	return (&patient);
}

static enum rc
start(struct rig *r, struct err *err)
{
	struct txn_env_options o = {0};
	struct writer_options w = {0};
	struct db_options db = {0};
	enum rc rc;

	db.url = r->url;
	db.mode = DB_WRITER;
	db.sync = r->options.sync;
	db.vfs = r->options.vfs;
	db.schema = rig_schema(r);
	rc = db_open(&db, &r->db, err);
	if (rc != RC_OK)
		return (rc);
	if (!r->options.unsafe_start)
		rc = rig_boot(r->db, r->clk.wall_ms, err);
	if (rc != RC_OK) {
		db_close(r->db);
		return (rc);
	}
	o.clk = &r->clk.clk;
	o.rnd = &r->rnd.rnd;
	o.expiry_ms = INT64_C(5) * 86400 * 1000;
	o.pending_most_total = r->options.pending_most_total;
	o.new_domains_most = r->options.new_domains_most;
	o.at_once = r->options.at_once;
	o.fatal = on_fatal;
	o.fatal_arg = r;
	assert_int_equal(txn_env_new(&o, &r->env, err), RC_OK);
	assert_int_equal(txn_env_subscribe(r->env,
			     &(struct subscriber){.arg = r,
				 .on_change = on_change,
				 .events = EVENTS_ALL,
				 .take_wake = on_wake,
				 .take_effects = on_effects},
			     err),
	    RC_OK);
	w.db = r->db;
	w.clk = &r->clk.clk;
	w.hooks = txn_env_hooks(r->env);
	w.queue_limit = 10000;
	w.timing = writer_timing(r);
	w.syncs_beside = r->options.held;
	w.checkpoint_bytes = r->options.checkpoint_bytes;
	assert_int_equal(writer_new(&w, &r->writer, err), RC_OK);
	if (r->options.held)
		rig_hold(r);
	if (r->pg == NULL)
		assert_int_equal(sqlite3_open_v2(r->path, &r->look,
				     SQLITE_OPEN_READONLY, r->options.vfs),
		    SQLITE_OK);
	return (RC_OK);
}

static void
stop(struct rig *r)
{

	(void)sqlite3_close(r->look);
	r->look = NULL;
	db_close(r->eyes);
	r->eyes = NULL;
	rig_let_go(r);
	writer_stop(r->writer);
	writer_free(r->writer);
	txn_env_free(r->env);
	db_close(r->db);
}

static void
remove_folder(struct rig *r)
{
	static const char *const tails[] = {"", "-wal", "-shm"};
	char path[128];
	size_t i;

	if (r->pg != NULL)
		rig_schema_drop(r);
	if (r->options.path != NULL)
		return;
	for (i = 0; i < 3; i++) {
		(void)snprintf(path, sizeof(path), "%s%s", r->path, tails[i]);
		(void)unlink(path);
	}
	(void)rmdir(r->dir);
}

enum rc
rig_open_try(struct rig *r, const struct rig_options *options, struct err *err)
{
	enum rc rc;

	memset(r, 0, sizeof(*r));
	r->options = *options;
	if (r->options.checkpoint_bytes == 0)
		r->options.checkpoint_bytes = 1 << 20;
	assert_int_equal(crypt_init(err), RC_OK);
	if (options->path == NULL) {
		assert_true(folder_make("rig", r->dir, sizeof(r->dir)));
		(void)snprintf(r->path, sizeof(r->path), "%s/db", r->dir);
	} else {
		(void)snprintf(r->path, sizeof(r->path), "%s", options->path);
	}
	(void)snprintf(r->url, sizeof(r->url), "sqlite:%s", r->path);
	rig_schema_make(r);
	clk_fake_init(
	    &r->clk, options->now_ms != 0 ? options->now_ms : RIG_START_MS);
	rnd_seeded_init(&r->rnd, options->seed != 0 ? options->seed : 42);
	uuid_gen_init(&r->ids, &r->clk.clk, &r->rnd.rnd);
	rc = start(r, err);
	if (rc != RC_OK)
		remove_folder(r);
	return (rc);
}

void
rig_open_with(struct rig *r, const struct rig_options *options)
{
	struct err err = ERR_INIT;

	if (rig_open_try(r, options, &err) != RC_OK)
		fail_msg("rig: %s", err.text);
}

void
rig_open(struct rig *r)
{
	static const struct rig_options none;

	rig_open_with(r, &none);
}

/* Frees the names in the events.  Their numbers stay, for tests that look after
 * the close. */
static void
free_texts(struct rig *r)
{
	struct effect_event *e;

	for (e = r->events; e < r->events + r->nevents; e++) {
		text_unref(e->from);
		text_unref(e->to);
		text_unref(e->message);
		e->from = e->to = e->message = NULL;
	}
}

void
rig_close(struct rig *r)
{

	stop(r);
	free_texts(r);
	remove_folder(r);
}

void
rig_restart(struct rig *r)
{
	struct err err = ERR_INIT;

	stop(r);
	if (start(r, &err) != RC_OK)
		fail_msg("restart: %s", err.text);
}

void
rig_forget(struct rig *r)
{

	free_texts(r);
	r->nevents = r->nchanges = r->nlanes = 0;
}

/* Submits a unit and waits until it is answered. */
static void
submit(struct rig *r, struct unit *unit)
{

	assert_int_equal(writer_submit(r->writer, unit), RC_OK);
	rig_run(r, 1);
	rig_turn(r);
}

/* The callback's data of a unit, until the unit is answered. */
struct asked {
	struct rig *rig;
	bool done;
};

static void
done(void *arg, enum rc rc)
{
	struct asked *a = arg;

	a->done = true;
	rig_answered(a->rig, rc);
}

/* ---- verbs ---- */

static enum rc
fail_always(struct tx *tx, struct unit **units, size_t n, struct err *err)
{

	(void)tx;
	(void)units;
	(void)n;
	return (err_set(err, RC_CONFLICT, "a failing unit"));
}

static void
ignore(struct unit *unit)
{

	(void)unit;
}

UNIT_KIND(failing, unit_locks_nothing, .queue = UNIT_UPKEEP, .order = 99,
    .apply = fail_always);

struct unit
rig_failing(void)
{

	return (
	    (struct unit){.kind = &failing_kind, .finish = ignore, .bytes = 1});
}

static void
account_finished(struct unit *base)
{
	struct account_unit *u = CONTAINER_OF(base, struct account_unit, unit);

	done(u->arg, u->unit.rc);
}

int64_t
rig_user(struct rig *r, const char *name, int64_t *ret_device)
{
	struct account_unit u;
	struct asked asked = {r, false};
	int64_t id;

	account_unit_init(&u, ACCOUNT_ADD);
	(void)snprintf(u.user.name, sizeof(u.user.name), "%s", name);
	u.unit.finish = account_finished;
	u.arg = &asked;
	submit(r, &u.unit);
	assert_true(asked.done);
	assert_int_equal(u.unit.rc, RC_OK);
	assert_int_equal(u.refusal.problem, PROBLEM_NONE);
	id = u.user.user_id;
	account_unit_init(&u, ACCOUNT_LOGIN);
	u.user.user_id = id;
	(void)snprintf(u.device.name, sizeof(u.device.name), "phone");
	rnd_fill(&r->rnd.rnd, u.token_hash, sizeof(u.token_hash));
	u.unit.finish = account_finished;
	u.arg = &asked;
	submit(r, &u.unit);
	assert_int_equal(u.unit.rc, RC_OK);
	if (ret_device != NULL)
		*ret_device = u.device.device_id;
	return (id);
}

static void
send_finished(struct unit *base)
{
	struct send_unit *u = CONTAINER_OF(base, struct send_unit, unit);

	done(u->arg, u->unit.rc);
}

static struct send_unit
send_draft(struct rig *r, int64_t from, struct message_draft *draft)
{
	struct send_unit u;
	struct asked asked = {r, false};

	memset(&u, 0, sizeof(u));
	send_unit_init(&u);
	u.unit.finish = send_finished;
	u.arg = &asked;
	assert_true(send_unit_ask(&u, from, draft, &rig_addressing));
	submit(r, &u.unit);
	assert_true(asked.done);
	return (u);
}

struct send_unit
rig_send(struct rig *r, int64_t from, const char *to, const char *body,
    const struct uuid *id)
{
	struct message_draft draft = {0};

	draft.has_id = true;
	draft.id = id != NULL ? *id : uuid_gen_next(&r->ids);
	draft.to = (struct span){to, strlen(to)};
	draft.body = (struct span){body, strlen(body)};
	return (send_draft(r, from, &draft));
}

struct send_unit
rig_send_at(struct rig *r, int64_t from, const char *to, const char *body,
    int64_t deliver_at)
{
	struct message_draft draft = {0};

	draft.has_id = true;
	draft.id = uuid_gen_next(&r->ids);
	draft.to = (struct span){to, strlen(to)};
	draft.body = (struct span){body, strlen(body)};
	draft.deliver_at_ms = deliver_at;
	return (send_draft(r, from, &draft));
}

struct ready {
	int64_t lanes[DELIVER_LANES];
	size_t n;
};

static void
take_lane(void *arg, int64_t lane_id)
{
	struct ready *ready = arg;

	ready->lanes[ready->n++] = lane_id;
}

static void
deliver_finished(struct unit *base)
{
	struct deliver_unit *u = CONTAINER_OF(base, struct deliver_unit, unit);

	done(u->arg, u->unit.rc);
}

enum rc
rig_deliver_unit(
    struct rig *r, struct deliver_unit *ret, bool *ret_none, struct err *err)
{
	struct ready ready = {.n = 0};
	int64_t last;
	enum rc rc;

	rc = store_lanes_pending(r->db, r->clk.wall_ms, 0, DELIVER_LANES,
	    take_lane, &ready, &last, err);
	deliver_unit_init(ret);
	memcpy(ret->lanes, ready.lanes, sizeof(ret->lanes));
	ret->nlanes = ready.n;
	*ret_none = ready.n == 0;
	return (rc);
}

enum rc
rig_deliver_try(struct rig *r, size_t *ret)
{
	struct err err = ERR_INIT;
	struct deliver_unit u;
	struct asked asked;
	bool none;
	size_t n;
	enum rc rc;

	for (n = 0;; n += u.delivered) {
		rc = rig_deliver_unit(r, &u, &none, &err);
		if (rc != RC_OK || none)
			break;
		u.unit.finish = deliver_finished;
		u.arg = &asked;
		asked = (struct asked){r, false};
		submit(r, &u.unit);
		assert_true(asked.done);
		rc = u.unit.rc;
		if (rc != RC_OK)
			break;
	}
	*ret = n;
	return (rc);
}

size_t
rig_deliver(struct rig *r)
{
	size_t n;
	enum rc rc;

	rc = rig_deliver_try(r, &n);
	if (rc != RC_OK)
		fail_msg("deliver: %s", rc_text(rc));
	return (n);
}

static void
ack_finished(struct unit *base)
{
	struct ack_unit *u = CONTAINER_OF(base, struct ack_unit, unit);

	done(u->arg, u->unit.rc);
}

struct ack_unit
rig_ack(struct rig *r, int64_t user, int64_t device, int64_t upto)
{
	struct ack_unit u;
	struct asked asked = {r, false};

	memset(&u, 0, sizeof(u));
	ack_unit_init(&u);
	u.user_id = user;
	u.device_id = device;
	u.upto = upto;
	u.unit.finish = ack_finished;
	u.arg = &asked;
	submit(r, &u.unit);
	assert_true(asked.done);
	return (u);
}

static void
read_finished(struct unit *base)
{
	struct read_unit *u = CONTAINER_OF(base, struct read_unit, unit);

	done(u->arg, u->unit.rc);
}

struct read_unit
rig_read(
    struct rig *r, int64_t user, int64_t device, int64_t upto, bool is_private)
{
	struct read_unit u;
	struct asked asked = {r, false};

	memset(&u, 0, sizeof(u));
	read_unit_init(&u);
	u.user_id = user;
	u.device_id = device;
	u.form = READ_UPTO;
	u.upto = upto;
	u.is_private = is_private;
	u.unit.finish = read_finished;
	u.arg = &asked;
	submit(r, &u.unit);
	assert_true(asked.done);
	return (u);
}

static void
cancel_finished(struct unit *base)
{
	struct cancel_unit *u = CONTAINER_OF(base, struct cancel_unit, unit);

	done(u->arg, u->unit.rc);
}

struct cancel_unit
rig_cancel(struct rig *r, int64_t user, const struct uuid *id)
{
	struct cancel_unit u;
	struct asked asked = {r, false};

	memset(&u, 0, sizeof(u));
	cancel_unit_init(&u);
	u.sender_id = user;
	u.id = *id;
	u.unit.finish = cancel_finished;
	u.arg = &asked;
	submit(r, &u.unit);
	assert_true(asked.done);
	return (u);
}

static void
release_finished(struct unit *base)
{
	struct release_unit *u = CONTAINER_OF(base, struct release_unit, unit);

	done(u->arg, u->unit.rc);
}

size_t
rig_release(struct rig *r)
{
	struct release_unit u;
	struct asked asked = {r, false};

	memset(&u, 0, sizeof(u));
	release_unit_init(&u);
	u.unit.finish = release_finished;
	u.arg = &asked;
	submit(r, &u.unit);
	assert_true(asked.done);
	assert_int_equal(u.unit.rc, RC_OK);
	return (u.released);
}
