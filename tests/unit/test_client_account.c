/* SPDX-License-Identifier: MIT */
/*
 * register, login, logout, whoami, devices: the requests, the profile
 * afterwards, and which other account is not overwritten.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sysexits.h>
#include <unistd.h>

#include "model/message.h"
#include "unit/cli_stage.h"

#define LOGGED_IN "{'token': 'tb_new', 'device': {'id': 'd2', 'name': 'x'}}"
#define INTERNAL "{'code': 'internal', 'detail': 'oh'}"
#define TOKENS "POST /v1/tokens\n"

#define X32 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define X64 X32 X32

/* The request with which ann logs in from device ${device}. */
#define LOGIN(device)                                                          \
	TOKENS "{\"name\":\"ann\",\"password\":\"secret 12\","                 \
	       "\"device\":\"" device "\"}\n"

/* The stored profile has these values.  An empty token: there is no profile. */
static void
assert_stored(struct stage *s, const char *user, const char *token,
    const char *token_id, const char *device)
{
	struct profile p;
	struct fail why;

	assert_int_equal(profile_load("default", &p, &why), RC_OK);
	assert_string_equal(p.user, user);
	assert_string_equal(p.token, token);
	assert_string_equal(p.token_id, token_id);
	assert_string_equal(p.device, device);
	assert_string_equal(
	    p.server, token[0] != '\0' ? played_url(s->played) : "");
}

/* Makes a profile in which no user is logged in. */
static void
forget(struct stage *s)
{

	s->profile.server[0] = s->profile.user[0] = s->profile.token[0] = '\0';
	s->profile.token_id[0] = s->profile.device[0] = '\0';
}

/* ---- login ---- */

static void
test_login(void **state)
{
	struct stage *s = *state;
	char said[200];

	forget(s);
	s->input = "secret 12\r\nmore\n";
	played_say(s->played, 201, LOGGED_IN);
	(void)snprintf(said, sizeof(said),
	    "logged in as ann at %s (profile default)\n",
	    played_url(s->played));
	SHOWS(s, LOGIN("lap"), said, "", "login", "ann", "--device", "lap",
	    "--password-stdin");
	assert_null(strstr(played_head(s->played), "Authorization"));
	assert_stored(s, "ann", "tb_new", "d2", "lap");
	/* A second log-in revokes the token that the profile had before. */
	assert_int_equal(profile_load("default", &s->profile, &s->fail), RC_OK);
	played_say(s->played, 201, "{'token': 'tb_3', 'device': {'id': 'd3'}}");
	played_say(s->played, 204, "");
	(void)snprintf(said, sizeof(said),
	    "{\"user\":\"ann\",\"device\":\"lap\",\"server\":\"%s\","
	    "\"profile\":\"default\"}\n",
	    played_url(s->played));
	SHOWS(s, LOGIN("lap") "DELETE /v1/tokens/d2\n", said, "", "login",
	    "ann", "--device", "lap", "--password-stdin", "--json");
	assert_non_null(
	    strstr(played_head(s->played), "Authorization: Bearer tb_3\r\n"));
	assert_stored(s, "ann", "tb_3", "d3", "lap");
	/* The log-in succeeds even if the old token cannot be revoked. */
	played_say(s->played, 201, "{'token': 'tb_4', 'device': {'id': 'd4'}}");
	played_say(s->played, 500, INTERNAL);
	SHOWS(s, LOGIN("lap") "DELETE /v1/tokens/d2\n", said, "", "login",
	    "ann", "--device", "lap", "--password-stdin", "--json");
	/* A token for the same device is not revoked. */
	played_say(s->played, 201, "{'token': 'tb_5', 'device': {'id': 'd2'}}");
	SHOWS(s, LOGIN("lap"), said, "", "login", "ann", "--device", "lap",
	    "--password-stdin", "--json");
	assert_stored(s, "ann", "tb_5", "d2", "lap");
}

/* A one-time password is good for one log-in, and a script sees that in the
 * answer.  When it is used up, the server says whom to ask. */
static void
test_login_once(void **state)
{
	struct stage *s = *state;
	char said[200];

	forget(s);
	s->input = "secret 12\n";
	played_say(s->played, 201,
	    "{'token': 'tb_new', 'device': {'id': 'd2'}, 'password_once': "
	    "true}");
	(void)snprintf(said, sizeof(said),
	    "logged in as ann at %s (profile default)\n",
	    played_url(s->played));
	SHOWS(s, LOGIN("lap"), said,
	    "this was a one-time password, which works only once: set a "
	    "password with twinbox passwd\n",
	    "login", "ann", "--device", "lap", "--password-stdin");
	assert_stored(s, "ann", "tb_new", "d2", "lap");
	played_say(s->played, 401,
	    "{'code': 'one_time_password', 'detail': 'it was used'}");
	REFUSES(s, LOGIN("lap"), EX_NOPERM,
	    "it was used; log in with that one: twinbox login NAME", "login",
	    "ann", "--device", "lap", "--password-stdin");
}

static void
test_login_device(void **state)
{
	struct stage *s = *state;
	char host[48], asked[200];

	forget(s);
	s->input = "secret 12";
	played_say(s->played, 201, LOGGED_IN);
	assert_int_equal(RUN(s, "login", "ann", "--password-stdin"), RC_OK);
	assert_int_equal(gethostname(host, sizeof(host)), 0);
	(void)snprintf(asked, sizeof(asked), LOGIN("twinbox on %s"), host);
	assert_string_equal(played_asked(s->played), asked);
	played_say(s->played, 201, LOGGED_IN);
	assert_int_equal(
	    RUN(s, "login", "ann", "--password-stdin", "--device", X64), RC_OK);
	assert_string_equal(played_asked(s->played), LOGIN(X64));
	assert_stored(s, "ann", "tb_new", "d2", X64);
	REFUSES(s, "", EX_USAGE,
	    "the device's name is longer than 64 bytes; see twinbox --help",
	    "login", "ann", "--password-stdin", "--device", X64 "x");
}

static void
test_login_refused(void **state)
{
	struct stage *s = *state;

	forget(s);
	s->input = "secret 12\n";
	played_say(s->played, 401, "{'code': 'wrong_password'}");
	REFUSES(s, LOGIN("lap"), EX_NOPERM,
	    "wrong name or password; check both; twinbox register NAME makes "
	    "an account",
	    "login", "ann", "--device", "lap", "--password-stdin");
	played_say(s->played, 500, INTERNAL);
	REFUSES(s, LOGIN("lap"), EX_SOFTWARE,
	    "oh; repeat with the same id, which is safe; tell the operator",
	    "login", "ann", "--device", "lap", "--password-stdin");
	assert_stored(s, "", "", "", "");
	REFUSES(s, "", EX_USAGE,
	    "\"An\\x1b\" is not a valid user name; a name is 1 to 32 of a-z, "
	    "0-9, '.', '_', '-'",
	    "login", "An\033", "--password-stdin");
	s->input = "\n";
	REFUSES(s, "", EX_DATAERR,
	    "the password is empty; choose one of at least 8 characters",
	    "login", "ann", "--password-stdin");
}

/* A token that is too long for the profile, and no token at all. */
static void
test_login_token(void **state)
{
	struct stage *s = *state;
	char token[257], answer[300];

	forget(s);
	s->input = "secret 12\n";
	memset(token, 't', sizeof(token));
	token[256] = '\0';
	(void)snprintf(answer, sizeof(answer), "{'token': '%s'}", token);
	played_say(s->played, 201, answer);
	REFUSES(s, LOGIN("lap"), EX_PROTOCOL,
	    "the server gave no token; check that --server names a twinbox "
	    "server",
	    "login", "ann", "--device", "lap", "--password-stdin");
	played_say(s->played, 201, "{'device': {'id': 'd2'}}");
	REFUSES(s, LOGIN("lap"), EX_PROTOCOL,
	    "the server gave no token; check that --server names a twinbox "
	    "server",
	    "login", "ann", "--device", "lap", "--password-stdin");
	assert_stored(s, "", "", "", "");
	token[255] = '\0';
	(void)snprintf(answer, sizeof(answer), "{'token': '%s'}", token);
	played_say(s->played, 201, answer);
	assert_int_equal(
	    RUN(s, "login", "ann", "--device", "lap", "--password-stdin"),
	    RC_OK);
	assert_stored(s, "ann", token, "", "lap");
}

/* A profile with another account is not overwritten.  The same account may log
 * in again, also at another port of this machine. */
static void
test_login_over_another(void **state)
{
	struct stage *s = *state;
	char said[200];

	s->input = "secret 12\n";
	(void)snprintf(said, sizeof(said),
	    "profile default is ann at %s already; add --profile bob, or log "
	    "out first: twinbox logout",
	    played_url(s->played));
	REFUSES(s, "", EX_CONFIG, said, "login", "bob", "--password-stdin");
	REFUSES(s, "", EX_CONFIG, said, "register", "bob", "--password-stdin");
	(void)snprintf(
	    s->profile.server, sizeof(s->profile.server), "http://far.test");
	REFUSES(s, "", EX_CONFIG,
	    "profile default is ann at http://far.test already; add --profile "
	    "ann, or log out first: twinbox logout",
	    "login", "ann", "--password-stdin");
	(void)snprintf(
	    s->profile.server, sizeof(s->profile.server), "http://localhost:1");
	s->profile.token_id[0] = '\0';
	played_say(s->played, 201, LOGGED_IN);
	assert_int_equal(
	    RUN(s, "login", "ann", "--device", "lap", "--password-stdin"),
	    RC_OK);
	assert_string_equal(played_asked(s->played), LOGIN("lap"));
	/* A profile whose user has logged out may be overwritten. */
	s->profile.token[0] = '\0';
	played_say(s->played, 201, LOGGED_IN);
	assert_int_equal(
	    RUN(s, "login", "bob", "--device", "lap", "--password-stdin"),
	    RC_OK);
	assert_stored(s, "bob", "tb_new", "d2", "lap");
	(void)played_asked(s->played);
}

/* ---- register ---- */

#define USERS(more)                                                            \
	"POST /v1/users\n{\"name\":\"ann\",\"password\":\"secret 12\"" more    \
	"}\n"

static void
test_register(void **state)
{
	struct stage *s = *state;
	char said[200];

	forget(s);
	s->input = "secret 12\n";
	(void)snprintf(said, sizeof(said),
	    "logged in as ann at %s (profile default)\n",
	    played_url(s->played));
	played_say(s->played, 201, "{'name': 'ann'}");
	played_say(s->played, 201, LOGGED_IN);
	SHOWS(s, USERS("") LOGIN("lap"), said, "", "register", "ann",
	    "--device", "lap", "--password-stdin");
	assert_stored(s, "ann", "tb_new", "d2", "lap");
	assert_int_equal(unlink(stage_path(s, "twinbox/default.json")), 0);
	played_say(s->played, 201, "{'name': 'ann'}");
	SHOWS(s, USERS(",\"display_name\":\"Ann\""), "registered ann\n", "",
	    "register", "ann", "--display-name", "Ann", "--no-login",
	    "--password-stdin");
	assert_stored(s, "", "", "", "");
	played_say(s->played, 201, "{'name': 'ann'}");
	SHOWS(s, USERS(""), "{\"name\":\"ann\"}\n", "", "register", "ann",
	    "--no-login", "--password-stdin", "--json");
	played_say(s->played, 403, "{'code': 'forbidden', 'detail': 'no'}");
	REFUSES(s, USERS(""), EX_NOPERM,
	    "no; this server is closed: ask its operator for an account",
	    "register", "ann", "--password-stdin");
	played_say(s->played, 409, "{'code': 'conflict', 'detail': 'taken'}");
	REFUSES(s, USERS(""), EX_CANTCREAT,
	    "taken; choose another name, or log in: twinbox login ann",
	    "register", "ann", "--password-stdin");
	played_say(
	    s->played, 400, "{'code': 'bad_request', 'detail': 'short'}");
	REFUSES(s, USERS(""), EX_DATAERR, "short; correct what is named",
	    "register", "ann", "--no-login", "--password-stdin");
	REFUSES(s, "", EX_USAGE,
	    "\"A\" is not a valid user name; a name is " MODEL_NAME_RULE,
	    "register", "A", "--no-login", "--password-stdin");
	REFUSES(s, "", EX_USAGE,
	    "\".ann\" is not a valid user name; a name is " MODEL_NAME_RULE,
	    "register", ".ann", "--no-login", "--password-stdin");
	assert_stored(s, "", "", "", "");
}

/* Registering alone does not use the profile. */
static void
test_register_another(void **state)
{
	struct stage *s = *state;

	s->input = "secret 12\n";
	played_say(s->played, 201, "{'name': 'bob'}");
	SHOWS(s,
	    "POST /v1/users\n"
	    "{\"name\":\"bob\",\"password\":\"secret 12\"}\n",
	    "registered bob\n", "", "register", "bob", "--no-login",
	    "--password-stdin");
}

/* ---- logout, whoami ---- */

static void
test_logout(void **state)
{
	static const int fine[] = {204, 401, 404};
	struct stage *s = *state;
	size_t i;

	for (i = 0; i < sizeof(fine) / sizeof(fine[0]); i++) {
		assert_int_equal(profile_save(&s->profile, &s->fail), RC_OK);
		played_say(s->played, fine[i],
		    fine[i] == 204 ? ""
				   : "{'code': 'not_found', 'detail': 'no'}");
		SHOWS(s, "DELETE /v1/tokens/t1\n", "logged out ann\n", "",
		    "logout");
		assert_stored(s, "", "", "", "");
	}
	assert_int_equal(profile_save(&s->profile, &s->fail), RC_OK);
	played_say(s->played, 500, INTERNAL);
	REFUSES(s, "DELETE /v1/tokens/t1\n", EX_SOFTWARE,
	    "oh; repeat with the same id, which is safe; tell the operator",
	    "logout");
	assert_stored(s, "ann", "tb_x", "t1", "desk");
	played_say(s->played, 204, "");
	SHOWS(s, "DELETE /v1/tokens/t1\n",
	    "{\"user\":\"ann\",\"profile\":\"default\"}\n", "", "logout",
	    "--json");
}

static void
test_whoami(void **state)
{
	struct stage *s = *state;
	char said[200];

	played_say(s->played, 200, "{'user': {'name': 'ann'}}");
	(void)snprintf(said, sizeof(said), "ann at %s (profile default)\n",
	    played_url(s->played));
	SHOWS(s, "GET /v1\n", said, "", "whoami");
	played_say(s->played, 200, "{'user': {'name': 'ann'}}");
	(void)snprintf(said, sizeof(said),
	    "{\"user\":\"ann\",\"device\":\"desk\",\"server\":\"%s\","
	    "\"profile\":\"default\"}\n",
	    played_url(s->played));
	SHOWS(s, "GET /v1\n", said, "", "whoami", "--json");
	played_say(s->played, 200, "{'user': null}");
	REFUSES(s, "GET /v1\n", EX_NOPERM,
	    "this device was logged out; log in again: twinbox login NAME",
	    "whoami");
	played_say(s->played, 500, INTERNAL);
	REFUSES(s, "GET /v1\n", EX_SOFTWARE,
	    "oh; repeat with the same id, which is safe; tell the operator",
	    "whoami");
}

/* ---- passwd ---- */

#define PASSWD                                                                 \
	"POST /v1/me/password\n{\"password\":\"old secret\","                  \
	"\"new_password\":\"new secret\"}\n"

static void
test_passwd(void **state)
{
	struct stage *s = *state;

	s->input = "old secret\nnew secret\n";
	played_say(s->played, 204, "");
	SHOWS(s, PASSWD,
	    "the password of ann is changed; all other devices were logged "
	    "out\n",
	    "", "passwd", "--password-stdin");
	played_say(s->played, 204, "");
	SHOWS(s, PASSWD, "{\"user\":\"ann\",\"profile\":\"default\"}\n", "",
	    "passwd", "--password-stdin", "--json");
	played_say(s->played, 403, "{'code': 'forbidden', 'detail': 'no'}");
	REFUSES(s, PASSWD, EX_NOPERM,
	    "that is not the current password of ann; try once more", "passwd",
	    "--password-stdin");
	played_say(s->played, 400,
	    "{'code': 'bad_request', 'detail': 'too short', "
	    "'pointer': '/new_password'}");
	REFUSES(s, PASSWD, EX_DATAERR, "too short; correct what is named",
	    "passwd", "--password-stdin");
	s->input = "old secret\n";
	REFUSES(s, "", EX_DATAERR,
	    "the password is empty; choose one of at least 8 characters",
	    "passwd", "--password-stdin");
	s->input = "\nnew secret\n";
	REFUSES(s, "", EX_DATAERR,
	    "the password is empty; choose one of at least 8 characters",
	    "passwd", "--password-stdin");
}

/* ---- devices ---- */

#define NEITHER                                                                \
	"expected \"devices\", \"devices revoke ID\" or \"devices revoke "     \
	"--others\"; see twinbox devices --help"

static void
test_devices(void **state)
{
	struct stage *s = *state;
	static const char devices[] =
	    "{'devices': [{'id': 'd1', 'name': 'desk', 'current': true,"
	    " 'last_seen_at': '2030-01-01T10:00:00Z'},"
	    " {'id': 'd2', 'name': 'l\\u001b', 'current': false,"
	    " 'last_seen_at': null}, {}]}";

	played_say(s->played, 200, devices);
	SHOWS(s, "GET /v1/tokens\n",
	    "ID  DEVICE  LAST SEEN  \n"
	    "d1  desk    10:00      this one\n"
	    "d2  l\\x1b              \n"
	    "                       \n",
	    "", "devices");
	played_say(s->played, 200, "{'devices': []}");
	SHOWS(s, "GET /v1/tokens\n", "{\"devices\":[]}\n", "", "devices",
	    "--json", "--page");
	played_say(s->played, 500, INTERNAL);
	REFUSES(s, "GET /v1/tokens\n", EX_SOFTWARE,
	    "oh; repeat with the same id, which is safe; tell the operator",
	    "devices");
	played_say(s->played, 204, "");
	SHOWS(s, "DELETE /v1/tokens/a%2Fb\n", "revoked\n", "", "devices",
	    "revoke", "a/b");
	played_say(s->played, 204, "");
	SHOWS(s, "DELETE /v1/tokens/d2\n", "{\"revoked\":\"d2\"}\n", "",
	    "devices", "revoke", "d2", "--json");
	played_say(s->played, 404, "{'code': 'not_found', 'detail': 'no'}");
	REFUSES(s, "DELETE /v1/tokens/d2\n", EX_DATAERR,
	    "no; twinbox devices lists them", "devices", "revoke", "d2");
	played_say(s->played, 500, INTERNAL);
	REFUSES(s, "DELETE /v1/tokens/d2\n", EX_SOFTWARE,
	    "oh; repeat with the same id, which is safe; tell the operator",
	    "devices", "revoke", "d2");
	REFUSES(s, "", EX_USAGE, NEITHER, "devices", "remove", "d2");
	REFUSES(s, "", EX_USAGE, NEITHER, "devices", "revoke");
}

static void
test_devices_others(void **state)
{
	struct stage *s = *state;

	played_say(s->played, 204, "");
	SHOWS(s, "DELETE /v1/tokens\n", "revoked all other devices\n", "",
	    "devices", "revoke", "--others");
	played_say(s->played, 204, "");
	SHOWS(s, "DELETE /v1/tokens\n", "{\"revoked\":\"others\"}\n", "",
	    "devices", "revoke", "--others", "--json");
	played_say(s->played, 404, "{'code': 'not_found', 'detail': 'no'}");
	REFUSES(s, "DELETE /v1/tokens\n", EX_DATAERR,
	    "no; check the id; lists show only what is yours", "devices",
	    "revoke", "--others");
	REFUSES(s, "", EX_USAGE, NEITHER, "devices", "--others");
	REFUSES(
	    s, "", EX_USAGE, NEITHER, "devices", "revoke", "d2", "--others");
	REFUSES(s, "", EX_USAGE, NEITHER, "devices", "remove", "--others");
}

static void
test_logout_everywhere(void **state)
{
	struct stage *s = *state;

	played_say(s->played, 204, "");
	SHOWS(s, "DELETE /v1/tokens?all=true\n",
	    "logged out ann on all devices\n", "", "logout", "--everywhere");
	assert_stored(s, "", "", "", "");
	/* A device that has been revoked has not revoked the others, so the
	 * profile stays. */
	assert_int_equal(profile_save(&s->profile, &s->fail), RC_OK);
	played_say(
	    s->played, 401, "{'code': 'unauthenticated', 'detail': 'no'}");
	REFUSES(s, "DELETE /v1/tokens?all=true\n", EX_NOPERM,
	    "this device was logged out; log in again: twinbox login NAME",
	    "logout", "--everywhere");
	assert_stored(s, "ann", "tb_x", "t1", "desk");
}

#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, stage_set_up, stage_tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_login),
	    TEST(test_login_once),
	    TEST(test_login_device),
	    TEST(test_login_refused),
	    TEST(test_login_token),
	    TEST(test_login_over_another),
	    TEST(test_register),
	    TEST(test_register_another),
	    TEST(test_logout),
	    TEST(test_logout_everywhere),
	    TEST(test_whoami),
	    TEST(test_passwd),
	    TEST(test_devices),
	    TEST(test_devices_others),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
