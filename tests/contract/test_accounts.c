/* SPDX-License-Identifier: MIT */
/*
 * Operations on accounts: for each operation the full text of its refusals, its
 * entries in the audit log, and the devices whose tokens it revokes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/limits.h"
#include "chat/account.h"
#include "chat/auth.h"
#include "contract/rig.h"

static struct rig rig;

static void
finished(struct unit *base)
{
	struct account_unit *u = CONTAINER_OF(base, struct account_unit, unit);

	*(bool *)u->arg = true;
}

/* Runs the unit.  Returns the refusal's pointer and text, or "". */
static const char *
run(struct account_unit *u)
{
	static char said[REFUSAL_POINTER_SIZE + REFUSAL_DETAIL_SIZE + 16];
	bool done = false;

	u->unit.finish = finished;
	u->arg = &done;
	assert_int_equal(writer_submit(rig.writer, &u->unit), RC_OK);
	while (!done)
		(void)writer_run_once(rig.writer);
	assert_int_equal(u->unit.rc, RC_OK);
	if (u->refusal.problem == PROBLEM_NONE)
		return ("");
	(void)snprintf(said, sizeof(said), "%d %s: %s",
	    problem_status(u->refusal.problem), u->refusal.pointer,
	    u->refusal.detail);
	return (said);
}

static const char *
add(struct account_unit *u, const char *name, bool admin, const char *operator)
{

	account_unit_init(u, ACCOUNT_ADD);
	(void)snprintf(u->user.name, sizeof(u->user.name), "%s", name);
	(void)snprintf(u->user.display_name, sizeof(u->user.display_name),
	    "%s the first", name);
	(void)snprintf(u->user.password_hash, sizeof(u->user.password_hash),
	    "hash of %s", name);
	u->user.admin = admin;
	u->operator= operator;
	return (run(u));
}

/* Logs in with a token whose bytes are ${fill}. */
static const char *
log_in(struct account_unit *u, int64_t user, uint8_t fill)
{

	account_unit_init(u, ACCOUNT_LOGIN);
	u->user.user_id = user;
	(void)snprintf(u->device.name, sizeof(u->device.name), "d%d", fill);
	memset(u->token_hash, fill, sizeof(u->token_hash));
	return (run(u));
}

/* Returns the owner of the token whose bytes are ${fill}: "name device admin",
 * or "" if it is not valid. */
static const char *
owner(uint8_t fill)
{
	static char said[sizeof(((struct principal *)0)->name) + 64];
	uint8_t hash[STORE_HASH_LEN];
	struct err err = ERR_INIT;
	struct principal p;

	memset(hash, fill, sizeof(hash));
	memset(&p, 0x55, sizeof(p));
	if (auth_load(rig.db, hash, &p, &err) != RC_OK)
		return ("");
	(void)snprintf(said, sizeof(said), "%s %d %d %d", p.name,
	    (int)p.user_id, (int)p.device_id, p.admin);
	return (said);
}

static const char *
audits(void)
{

	return (rig_list(&rig,
	    "SELECT (at - 1700000000000) || '/' || actor || '/' || action || "
	    "'/' || object || '/' || coalesce(detail, '-') FROM audit_log "
	    "ORDER BY audit_id"));
}

static void
test_add(void **state)
{
	struct account_unit u;

	(void)state;
	rig_open(&rig);
	assert_string_equal(add(&u, "ann", true, "root"), "");
	assert_int_equal(u.user.user_id, 1);
	clk_fake_advance(&rig.clk, 1);
	assert_string_equal(add(&u, "ben", false, "ann"), "");
	clk_fake_advance(&rig.clk, 1);
	/* A user who registers is not in the audit log. */
	assert_string_equal(add(&u, "cat", false, NULL), "");
	assert_string_equal(add(&u, "ben", true, "ann"),
	    "409 /name: the name \"ben\" is taken (names are never given "
	    "twice)");
	assert_string_equal(
	    rig_list(&rig, "SELECT user_id || '/' || name || '/' || "
			   "display_name || '/' || password_hash || '/' "
			   "|| CAST(admin AS INTEGER) || '/' || "
			   "(created_at - 1700000000000) FROM users "
			   "ORDER BY user_id"),
	    "1/ann/ann the first/hash of ann/1/0 "
	    "2/ben/ben the first/hash of ben/0/1 "
	    "3/cat/cat the first/hash of cat/0/2");
	assert_string_equal(audits(), "0/root/user_add/ann/administrator "
				      "1/ann/user_add/ben/-");
	rig_check_promises(&rig);
	rig_close(&rig);
}

static void
test_devices(void **state)
{
	struct account_unit u, v;
	int i;

	(void)state;
	rig_open(&rig);
	assert_string_equal(add(&u, "ann", true, NULL), "");
	assert_string_equal(add(&u, "ben", false, NULL), "");
	clk_fake_advance(&rig.clk, 5);
	assert_string_equal(log_in(&u, 1, 1), "");
	assert_string_equal(u.device.user_name, "ann");
	assert_int_equal(u.device.user_id, 1);
	assert_int_equal(u.device.created_at, RIG_START_MS + 5);
	assert_int_equal(u.device.last_seen_at, RIG_START_MS + 5);
	assert_int_equal(u.device.acked_seq, 0);
	assert_string_equal(log_in(&v, 2, 2), "");
	assert_string_equal(owner(1), "ann 1 1 1");
	assert_string_equal(owner(2), "ben 2 2 0");
	assert_string_equal(owner(3), "");
	assert_string_equal(log_in(&v, 3, 3), "401 : wrong name or password");

	/* The last device that is allowed, and one more.  A revoked device
	 * makes room. */
	for (i = 1; i < LIMIT_DEVICES_PER_USER; i++)
		assert_string_equal(log_in(&v, 1, (uint8_t)(100 + i)), "");
	assert_string_equal(log_in(&v, 1, 3),
	    "409 /device: you have 64 devices, the most there may be: revoke "
	    "one with DELETE /v1/tokens/{id}");
	assert_string_equal(log_in(&v, 2, 4), "");
	account_unit_init(&v, ACCOUNT_REVOKE);
	v.user.user_id = 1;
	v.device.public_id = u.device.public_id;
	assert_string_equal(run(&v), "");
	assert_string_equal(owner(1), "");
	assert_string_equal(run(&v), "404 : you have no such device");
	assert_string_equal(log_in(&v, 1, 3), "");

	/* The name changes for the owner's device only. */
	account_unit_init(&u, ACCOUNT_RENAME);
	u.user.user_id = 1;
	u.device.public_id = v.device.public_id;
	(void)snprintf(u.device.name, sizeof(u.device.name), "desk");
	assert_string_equal(run(&u), "");
	assert_int_equal(u.device.device_id, v.device.device_id);
	assert_string_equal(rig_text(&rig, "SELECT name FROM devices "
					   "ORDER BY device_id DESC LIMIT 1"),
	    "desk");
	u.user.user_id = 2;
	assert_string_equal(run(&u), "404 : you have no such device");
	account_unit_init(&u, ACCOUNT_REVOKE);
	u.user.user_id = 2;
	u.device.public_id = v.device.public_id;
	assert_string_equal(run(&u), "404 : you have no such device");
	assert_string_equal(audits(), "");
	rig_close(&rig);
}

static void
test_password(void **state)
{
	struct account_unit u, phone;

	(void)state;
	rig_open(&rig);
	assert_string_equal(add(&u, "ann", false, NULL), "");
	assert_string_equal(log_in(&phone, 1, 1), "");
	assert_string_equal(log_in(&u, 1, 2), "");

	account_unit_init(&u, ACCOUNT_PASSWORD);
	u.user.user_id = 1;
	u.device.device_id = phone.device.device_id;
	(void)snprintf(u.verified, sizeof(u.verified), "hash of ben");
	(void)snprintf(
	    u.user.password_hash, sizeof(u.user.password_hash), "new");
	assert_string_equal(
	    run(&u), "403 /password: this is not your password");
	assert_string_equal(owner(2), "ann 1 2 0");
	(void)snprintf(u.verified, sizeof(u.verified), "hash of ann");
	assert_string_equal(run(&u), "");
	assert_string_equal(owner(1), "ann 1 1 0");
	assert_string_equal(owner(2), "");
	assert_string_equal(
	    rig_text(&rig, "SELECT password_hash FROM users"), "new");
	assert_string_equal(audits(), "");

	/* An operator needs neither password nor device, and all devices are
	 * revoked. */
	clk_fake_advance(&rig.clk, 7);
	account_unit_init(&u, ACCOUNT_PASSWORD);
	u.user.user_id = 1;
	(void)snprintf(u.user.name, sizeof(u.user.name), "ann");
	(void)snprintf(
	    u.user.password_hash, sizeof(u.user.password_hash), "newer");
	u.operator= "root";
	assert_string_equal(run(&u), "");
	assert_string_equal(owner(1), "");
	assert_string_equal(
	    rig_text(&rig, "SELECT password_hash FROM users"), "newer");
	assert_string_equal(audits(), "7/root/user_passwd/ann/-");

	/* From a device that was revoked, with the right password. */
	u.operator= NULL;
	u.device.device_id = phone.device.device_id;
	(void)snprintf(u.verified, sizeof(u.verified), "newer");
	assert_string_equal(run(&u), "401 : this device has been revoked");
	rig_close(&rig);
}

/* Makes ${u} a log-in of user 1 with the password whose hash is ${hash}.  The
 * bytes of its token are ${fill}. */
static void
log_in_with(struct account_unit *u, const char *hash, uint8_t fill)
{

	account_unit_init(u, ACCOUNT_LOGIN);
	u->user.user_id = 1;
	(void)snprintf(u->verified, sizeof(u->verified), "%s", hash);
	(void)snprintf(u->device.name, sizeof(u->device.name), "d%d", fill);
	memset(u->token_hash, fill, sizeof(u->token_hash));
}

/* An operator gives user ${user} a one-time password, whose hash is ${hash}. */
static const char *
give_once(int64_t user, const char *hash, int64_t *ret_until)
{
	static struct account_unit u;
	const char *said;

	account_unit_init(&u, ACCOUNT_PASSWORD_ONCE);
	u.user.user_id = user;
	(void)snprintf(u.user.name, sizeof(u.user.name), "ann");
	(void)snprintf(
	    u.user.password_hash, sizeof(u.user.password_hash), "%s", hash);
	u.operator= "root";
	said = run(&u);
	*ret_until = u.user.password_once_until;
	return (said);
}

#define ONCE                                                                   \
	"SELECT password_hash || '/' || coalesce(password_once_until, -1) "    \
	"FROM users WHERE user_id = 1"
#define OVER(what)                                                             \
	"401 : this one-time password " what ": ask an administrator for a "   \
	"new one"

static void
test_password_once(void **state)
{
	struct account_unit u, phone;
	int64_t until = 0;

	(void)state;
	rig_open(&rig);
	assert_string_equal(add(&u, "ann", true, NULL), "");
	assert_string_equal(add(&u, "ben", false, NULL), "");
	assert_string_equal(log_in(&u, 1, 1), "");
	assert_string_equal(log_in(&u, 2, 2), "");
	assert_string_equal(rig_text(&rig, ONCE), "hash of ann/-1");
	log_in_with(&u, "hash of ann", 9);
	assert_string_equal(run(&u), "");
	assert_false(u.user.password_once);

	/* A one-time password revokes all devices of the user, and is in the
	 * audit log. */
	clk_fake_advance(&rig.clk, 5);
	assert_string_equal(give_once(1, "once", &until), "");
	assert_int_equal(until, RIG_START_MS + 5 + 86400000);
	assert_string_equal(rig_text(&rig, ONCE), "once/1700086400005");
	assert_string_equal(owner(1), "");
	assert_string_equal(owner(9), "");
	assert_string_equal(owner(2), "ben 2 2 0");
	assert_string_equal(audits(), "5/root/user_password_once/ann/-");

	/* It is good for one log-in, which learns that the password is a
	 * one-time password. */
	log_in_with(&phone, "once", 3);
	assert_string_equal(run(&phone), "");
	assert_true(phone.user.password_once);
	assert_string_equal(owner(3), "ann 1 4 1");
	assert_string_equal(rig_text(&rig, ONCE), "once/0");
	log_in_with(&u, "once", 4);
	assert_string_equal(run(&u), OVER("was used for a log-in"));
	assert_string_equal(owner(4), "");

	/* Once spent, it is still the current password for setting another
	 * one. */
	account_unit_init(&u, ACCOUNT_PASSWORD);
	u.user.user_id = 1;
	u.device.device_id = phone.device.device_id;
	(void)snprintf(u.verified, sizeof(u.verified), "once");
	(void)snprintf(
	    u.user.password_hash, sizeof(u.user.password_hash), "mine");
	assert_string_equal(run(&u), "");
	assert_string_equal(rig_text(&rig, ONCE), "mine/-1");
	log_in_with(&u, "mine", 5);
	assert_string_equal(run(&u), "");
	assert_false(u.user.password_once);
	log_in_with(&u, "mine", 6);
	assert_string_equal(run(&u), "");
	rig_check_promises(&rig);
	rig_close(&rig);
}

static void
test_password_once_ends(void **state)
{
	struct account_unit u;
	int64_t until = 0;

	(void)state;
	rig_open(&rig);
	assert_string_equal(add(&u, "ann", false, NULL), "");
	assert_string_equal(give_once(1, "once", &until), "");
	clk_fake_advance(&rig.clk, 86400000);
	log_in_with(&u, "once", 1);
	assert_string_equal(run(&u), OVER("has expired"));
	assert_string_equal(owner(1), "");
	/* It is valid until its last millisecond. */
	assert_string_equal(give_once(1, "once more", &until), "");
	clk_fake_advance(&rig.clk, 86399999);
	log_in_with(&u, "once more", 1);
	assert_string_equal(run(&u), "");

	/* A password that an operator sets by a command is an ordinary one. */
	assert_string_equal(give_once(1, "third", &until), "");
	account_unit_init(&u, ACCOUNT_PASSWORD);
	u.user.user_id = 1;
	(void)snprintf(u.user.name, sizeof(u.user.name), "ann");
	(void)snprintf(
	    u.user.password_hash, sizeof(u.user.password_hash), "plain");
	u.operator= "root";
	assert_string_equal(run(&u), "");
	assert_string_equal(rig_text(&rig, ONCE), "plain/-1");

	/* After a refusal nothing has changed. */
	assert_string_equal(
	    give_once(7, "no", &until), "404 : there is no such user");
	account_unit_init(&u, ACCOUNT_DISABLE);
	u.user.user_id = 1;
	assert_string_equal(run(&u), "");
	assert_string_equal(give_once(1, "no", &until),
	    "409 : user \"ann\" is disabled: enable this user first");
	assert_string_equal(rig_text(&rig, ONCE), "plain/-1");
	rig_close(&rig);
}

/* Of two log-ins in one batch, the first uses the password up. */
static void
test_password_once_of_two(void **state)
{
	struct account_unit first, second, u;
	bool one = false, two = false;
	int64_t until = 0;

	(void)state;
	rig_open(&rig);
	assert_string_equal(add(&u, "ann", false, NULL), "");
	assert_string_equal(give_once(1, "once", &until), "");
	log_in_with(&first, "once", 1);
	log_in_with(&second, "once", 2);
	first.unit.finish = second.unit.finish = finished;
	first.arg = &one;
	second.arg = &two;
	assert_int_equal(writer_submit(rig.writer, &first.unit), RC_OK);
	assert_int_equal(writer_submit(rig.writer, &second.unit), RC_OK);
	assert_true(writer_run_once(rig.writer) > 0);
	assert_true(one && two);
	assert_int_equal(first.refusal.problem, PROBLEM_NONE);
	assert_int_equal(second.refusal.problem, PROBLEM_ONE_TIME_PASSWORD);
	assert_string_equal(owner(1), "ann 1 1 0");
	assert_string_equal(owner(2), "");
	rig_close(&rig);
}

/* ${device} revokes the user's other devices, or with ${everywhere} itself as
 * well. */
static const char *
revoke_others(int64_t device, bool everywhere)
{
	struct account_unit u;

	account_unit_init(&u, ACCOUNT_REVOKE_OTHERS);
	u.user.user_id = 1;
	u.device.device_id = device;
	u.everywhere = everywhere;
	return (run(&u));
}

static void
test_revoke_others(void **state)
{
	struct account_unit u;

	(void)state;
	rig_open(&rig);
	assert_string_equal(add(&u, "ann", false, NULL), "");
	assert_string_equal(add(&u, "ben", false, NULL), "");
	assert_string_equal(log_in(&u, 1, 1), "");
	assert_string_equal(log_in(&u, 1, 2), "");
	assert_string_equal(log_in(&u, 2, 3), "");
	assert_string_equal(log_in(&u, 1, 4), "");
	clk_fake_advance(&rig.clk, 9);
	assert_string_equal(revoke_others(2, false), "");
	assert_string_equal(owner(1), "");
	assert_string_equal(owner(2), "ann 1 2 0");
	assert_string_equal(owner(3), "ben 2 3 0");
	assert_string_equal(owner(4), "");
	/* No other device is left, which is not an error. */
	assert_string_equal(revoke_others(2, false), "");
	/* A revoked device cannot revoke any device, not even with
	 * "everywhere". */
	assert_string_equal(
	    revoke_others(1, false), "401 : this device has been revoked");
	assert_string_equal(
	    revoke_others(1, true), "401 : this device has been revoked");
	assert_string_equal(owner(2), "ann 1 2 0");
	assert_string_equal(log_in(&u, 1, 5), "");
	clk_fake_advance(&rig.clk, 1);
	assert_string_equal(revoke_others(2, true), "");
	assert_string_equal(owner(2), "");
	assert_string_equal(owner(3), "ben 2 3 0");
	assert_string_equal(owner(5), "");
	assert_string_equal(
	    rig_list(&rig, "SELECT coalesce(revoked_at - 1700000000000, 0) "
			   "FROM devices ORDER BY device_id"),
	    "9 10 0 9 10");
	assert_string_equal(audits(), "");
	rig_check_promises(&rig);
	rig_close(&rig);
}

static void
test_disable(void **state)
{
	struct account_unit u;

	(void)state;
	rig_open(&rig);
	assert_string_equal(add(&u, "ann", false, NULL), "");
	assert_string_equal(add(&u, "ben", false, NULL), "");
	assert_string_equal(log_in(&u, 1, 1), "");
	assert_string_equal(log_in(&u, 1, 2), "");
	assert_string_equal(log_in(&u, 2, 3), "");
	clk_fake_advance(&rig.clk, 9);
	account_unit_init(&u, ACCOUNT_DISABLE);
	u.user.user_id = 1;
	u.device.device_id = 1;
	(void)snprintf(u.user.name, sizeof(u.user.name), "ann");
	u.operator= "root";
	assert_string_equal(run(&u), "");
	assert_string_equal(owner(1), "");
	assert_string_equal(owner(2), "");
	assert_string_equal(owner(3), "ben 2 3 0");
	assert_string_equal(
	    rig_list(&rig, "SELECT coalesce(revoked_at, 0) FROM devices "
			   "ORDER BY device_id"),
	    "1700000000009 1700000000009 0");
	assert_string_equal(audits(), "9/root/user_disable/ann/-");
	/* A second time, and for an unknown user: refused, and not in the audit
	 * log. */
	assert_string_equal(run(&u), "409 : user \"ann\" is disabled already");
	u.user.user_id = 77;
	assert_string_equal(run(&u), "404 : there is no such user");
	assert_string_equal(audits(), "9/root/user_disable/ann/-");
	assert_string_equal(log_in(&u, 1, 4), "401 : wrong name or password");
	/* A server that starts afterwards refuses the log-in, too. */
	rig_restart(&rig);
	assert_string_equal(log_in(&u, 1, 4), "401 : wrong name or password");
	assert_string_equal(log_in(&u, 2, 4), "");
	rig_close(&rig);
}

/* An operator runs ${op} on user ${user}, called ${name}. */
static const char *
operate(enum account_op op, int64_t user, const char *name)
{
	struct account_unit u;

	account_unit_init(&u, op);
	u.user.user_id = user;
	(void)snprintf(u.user.name, sizeof(u.user.name), "%s", name);
	u.operator= "root";
	return (run(&u));
}

static void
test_enable(void **state)
{
	struct account_unit u;

	(void)state;
	rig_open(&rig);
	assert_string_equal(add(&u, "ann", false, NULL), "");
	assert_string_equal(log_in(&u, 1, 1), "");
	assert_string_equal(operate(ACCOUNT_ENABLE, 1, "ann"),
	    "409 : user \"ann\" is not disabled");
	assert_string_equal(operate(ACCOUNT_DISABLE, 1, "ann"), "");
	clk_fake_advance(&rig.clk, 3);
	assert_string_equal(operate(ACCOUNT_ENABLE, 1, "ann"), "");
	assert_string_equal(
	    operate(ACCOUNT_ENABLE, 7, "gus"), "404 : there is no such user");
	/* The revoked device stays revoked; a new log-in succeeds. */
	assert_string_equal(owner(1), "");
	assert_string_equal(log_in(&u, 1, 2), "");
	assert_string_equal(owner(2), "ann 1 2 0");
	assert_string_equal(
	    audits(), "0/root/user_disable/ann/- 3/root/user_enable/ann/-");
	rig_check_promises(&rig);
	rig_close(&rig);
}

/* An administrator's rights change, and the tokens stay valid. */
static void
test_rights(void **state)
{
	struct account_unit u;

	(void)state;
	rig_open(&rig);
	assert_string_equal(add(&u, "ann", true, NULL), "");
	assert_string_equal(add(&u, "ben", false, NULL), "");
	assert_string_equal(log_in(&u, 2, 1), "");
	assert_string_equal(log_in(&u, 2, 2), "");
	clk_fake_advance(&rig.clk, 4);
	assert_string_equal(operate(ACCOUNT_PROMOTE, 2, "ben"), "");
	assert_string_equal(owner(1), "ben 2 1 1");
	assert_string_equal(owner(2), "ben 2 2 1");
	assert_string_equal(operate(ACCOUNT_PROMOTE, 2, "ben"),
	    "409 : user \"ben\" is an administrator already");
	assert_string_equal(operate(ACCOUNT_DEMOTE, 1, "ann"), "");
	assert_string_equal(operate(ACCOUNT_DEMOTE, 1, "ann"),
	    "409 : user \"ann\" is not an administrator");
	assert_string_equal(
	    operate(ACCOUNT_PROMOTE, 7, "gus"), "404 : there is no such user");
	assert_string_equal(
	    operate(ACCOUNT_DEMOTE, 7, "gus"), "404 : there is no such user");
	assert_string_equal(owner(1), "ben 2 1 1");
	assert_string_equal(
	    rig_list(&rig, "SELECT name || '/' || CAST(admin AS INTEGER) "
			   "FROM users ORDER BY user_id"),
	    "ann/0 ben/1");
	assert_string_equal(
	    audits(), "4/root/user_promote/ben/- 4/root/user_demote/ann/-");
	rig_close(&rig);
}

#define LAST(name)                                                             \
	"409 : user \"" name "\" is the last administrator: promote another "  \
	"user first"

static void
test_last_administrator(void **state)
{
	struct account_unit u;

	(void)state;
	rig_open(&rig);
	assert_string_equal(add(&u, "ann", true, NULL), "");
	assert_string_equal(add(&u, "ben", false, NULL), "");
	assert_string_equal(add(&u, "cat", true, NULL), "");
	assert_string_equal(operate(ACCOUNT_DISABLE, 3, "cat"), "");
	/* A disabled administrator does not count, nor does one of another
	 * server. */
	(void)rig_exec(&rig, "INSERT INTO users (name, admin, created_at, "
			     "destination_id) VALUES ('x@b.example', 1, 1, 1)");
	assert_string_equal(operate(ACCOUNT_DEMOTE, 1, "ann"), LAST("ann"));
	assert_string_equal(operate(ACCOUNT_DISABLE, 1, "ann"), LAST("ann"));
	/* The others are not active administrators, so their loss is
	 * allowed. */
	assert_string_equal(operate(ACCOUNT_DEMOTE, 3, "cat"), "");
	assert_string_equal(operate(ACCOUNT_DISABLE, 2, "ben"), "");
	assert_string_equal(operate(ACCOUNT_ENABLE, 2, "ben"), "");
	assert_string_equal(operate(ACCOUNT_PROMOTE, 2, "ben"), "");
	assert_string_equal(operate(ACCOUNT_DISABLE, 1, "ann"), "");
	assert_string_equal(operate(ACCOUNT_DEMOTE, 2, "ben"), LAST("ben"));
	assert_string_equal(audits(),
	    "0/root/user_disable/cat/- 0/root/user_demote/cat/- "
	    "0/root/user_disable/ben/- 0/root/user_enable/ben/- "
	    "0/root/user_promote/ben/- 0/root/user_disable/ann/-");
	rig_close(&rig);
}

/* Submits ${op} on user ${user}. */
static void
submit(struct account_unit *u, enum account_op op, int64_t user, bool *done)
{

	account_unit_init(u, op);
	u->user.user_id = user;
	(void)snprintf(u->user.name, sizeof(u->user.name), "u%d", (int)user);
	u->operator= "root";
	u->unit.finish = finished;
	u->arg = done;
	assert_int_equal(writer_submit(rig.writer, &u->unit), RC_OK);
}

/* The second unit of a batch sees what the first has done. */
static void
test_last_of_a_batch(void **state)
{
	static const enum account_op ops[] = {ACCOUNT_DEMOTE, ACCOUNT_DISABLE};
	struct account_unit u, first, second;
	bool one, two;
	size_t i, j;

	(void)state;
	for (i = 0; i < 2; i++)
		for (j = 0; j < 2; j++) {
			rig_open(&rig);
			assert_string_equal(add(&u, "u1", true, NULL), "");
			assert_string_equal(add(&u, "u2", true, NULL), "");
			one = two = false;
			submit(&first, ops[i], 1, &one);
			submit(&second, ops[j], 2, &two);
			assert_true(writer_run_once(rig.writer) > 0);
			assert_true(one && two);
			assert_int_equal(first.refusal.problem, PROBLEM_NONE);
			assert_int_equal(
			    second.refusal.problem, PROBLEM_CONFLICT);
			rig_close(&rig);
		}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_add),
	    cmocka_unit_test(test_devices),
	    cmocka_unit_test(test_password),
	    cmocka_unit_test(test_password_once),
	    cmocka_unit_test(test_password_once_ends),
	    cmocka_unit_test(test_password_once_of_two),
	    cmocka_unit_test(test_revoke_others),
	    cmocka_unit_test(test_disable),
	    cmocka_unit_test(test_enable),
	    cmocka_unit_test(test_rights),
	    cmocka_unit_test(test_last_administrator),
	    cmocka_unit_test(test_last_of_a_batch),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
