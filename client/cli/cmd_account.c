/* SPDX-License-Identifier: MIT */
/*
 * The commands register, login, passwd, logout, whoami and devices.  They store
 * no password, and a token only in the profile.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/cli.h"
#include "lib/safe.h"
#include "model/message.h"

/* Writes the default name of this device. */
static void
default_device(char ret[LIMIT_DEVICE_NAME_LEN + 1])
{
	char host[48];

	if (gethostname(host, sizeof(host)) != 0)
		(void)snprintf(host, sizeof(host), "?");
	host[sizeof(host) - 1] = '\0';
	(void)snprintf(ret, LIMIT_DEVICE_NAME_LEN + 1, "twinbox on %s", host);
}

/* Checks that ${name} is valid for a user, or for a ${new} one. */
static enum rc
check_name(const char *name, bool new, struct fail *fail)
{
	size_t n = strlen(name);
	char safe[60];

	if (new ? model_name_fits(name, n) : model_name_valid(name, n))
		return (RC_OK);
	safe_line(name, n, safe, sizeof(safe));
	(void)fail_set(
	    fail, FAIL_USAGE, "\"%s\" is not a valid user name", safe);
	return (fail_cure(fail, "a name is %s",
	    new ? MODEL_NAME_RULE : "1 to 32 of a-z, 0-9, '.', '_', '-'"));
}

/* Fails if the profile has a token, unless it is a token of user ${name} on the
 * server of this command: a login must not overwrite the token of another
 * account by accident.  Two servers for which rest_server_local() returns true
 * (loopback addresses) count as the same server, whatever their ports. */
static enum rc
check_free(struct cli *cli, const char *name, struct fail *fail)
{
	const struct profile *p = &cli->profile;

	if (p->token[0] == '\0' ||
	    (strcmp(p->user, name) == 0 &&
		(strcmp(p->server, rest_server(cli->rest)) == 0 ||
		    (rest_server_local(p->server) &&
			rest_server_local(rest_server(cli->rest))))))
		return (RC_OK);
	(void)fail_set(fail, FAIL_CONFIG, "profile %s is %s at %.100s already",
	    p->name, p->user, p->server);
	return (fail_cure(
	    fail, "add --profile %s, or log out first: twinbox logout", name));
}

/* Returns string member ${name} of ${json}, or "" if there is none. */
static const char *
text_of(const json_t *json, const char *name)
{
	const char *text = json_string_value(json_object_get(json, name));

	return (text != NULL ? text : "");
}

/* Revokes token ${id}. */
static enum rc
revoke_token(struct cli *cli, const char *id, struct fail *fail)
{
	char *path = rest_path("/v1/tokens/", id, "");
	json_t *answer = NULL;
	enum rc rc;

	rc = cli_call(cli, "DELETE", path, NULL, &answer, fail);
	mem_free(path);
	json_decref(answer);
	return (rc);
}

/* Revokes all other tokens of the user and, if ${everywhere}, this one as
 * well. */
static enum rc
revoke_others(struct cli *cli, bool everywhere, struct fail *fail)
{
	json_t *answer = NULL;
	enum rc rc;

	rc = cli_call(cli, "DELETE",
	    everywhere ? "/v1/tokens?all=true" : "/v1/tokens", NULL, &answer,
	    fail);
	json_decref(answer);
	return (rc);
}

/* Revokes token ${id} and ignores a failure. */
static void
revoke_quietly(struct cli *cli, const char *id)
{
	struct fail ignored = FAIL_INIT;
	enum rc rc = revoke_token(cli, id, &ignored);

	(void)rc;
}

/* Stores the new token from ${answer} and its account in the profile, then
 * revokes the token that the profile had before; a failure to revoke is
 * ignored.  If ${answer} has no token that fits, or if the profile cannot be
 * saved, fails and revokes neither token. */
static enum rc
keep_login(struct cli *cli, const json_t *answer, const char *name,
    const char *device, struct fail *fail)
{
	struct profile *p = &cli->profile;
	const char *token = text_of(answer, "token");
	char old_id[sizeof(p->token_id)];
	enum rc rc;

	if (token[0] == '\0' || strlen(token) >= sizeof(p->token))
		return (
		    fail_set(fail, FAIL_PROTOCOL, "the server gave no token"));
	(void)snprintf(old_id, sizeof(old_id), "%s", p->token_id);
	(void)snprintf(
	    p->server, sizeof(p->server), "%s", rest_server(cli->rest));
	(void)snprintf(p->user, sizeof(p->user), "%s", name);
	(void)snprintf(p->token, sizeof(p->token), "%s", token);
	(void)snprintf(p->device, sizeof(p->device), "%s", device);
	(void)snprintf(p->token_id, sizeof(p->token_id), "%s",
	    text_of(json_object_get(answer, "device"), "id"));
	rc = profile_save(p, fail);
	if (rc != RC_OK)
		return (rc);
	rest_token_set(cli->rest, p->token);
	if (old_id[0] != '\0' && strcmp(old_id, p->token_id) != 0)
		revoke_quietly(cli, old_id);
	return (RC_OK);
}

/* If ${fail} is the refusal of a login with 401, replaces its text by "wrong
 * name or password", and its cure (the advice to the user).  But if the reason
 * is a one-time password that was used before or has expired, the server's text
 * stays.  Returns the rc of ${fail}. */
static enum rc
login_refused(struct fail *fail)
{

	if (fail->status == 401 &&
	    strcmp(fail->code, "one_time_password") != 0) {
		(void)fail_set(
		    fail, FAIL_NOT_LOGGED_IN, "wrong name or password");
		(void)fail_cure(fail, "check both; twinbox register NAME "
				      "makes an account");
	}
	return (fail->rc);
}

/* Logs ${name} in, stores the token in the profile, and prints the result.
 * Sets *ret_once to whether the password was a one-time password; after a
 * failure *ret_once may be unset. */
static enum rc
log_in(struct cli *cli, const char *name, const char *password, bool *ret_once,
    struct fail *fail)
{
	char device[LIMIT_DEVICE_NAME_LEN + 1];
	const char *wanted = args_value(&cli->args, "device");
	json_t *answer = NULL;
	enum rc rc;

	default_device(device);
	if (wanted != NULL && strlen(wanted) >= sizeof(device))
		return (fail_set(fail, FAIL_USAGE,
		    "the device's name is longer than %d bytes",
		    LIMIT_DEVICE_NAME_LEN));
	if (wanted != NULL)
		(void)snprintf(device, sizeof(device), "%s", wanted);
	rc = cli_call(cli, "POST", "/v1/tokens",
	    json_pack("{ss ss ss}", "name", name, "password", password,
		"device", device),
	    &answer, fail);
	if (rc != RC_OK)
		return (login_refused(fail));
	*ret_once = json_is_true(json_object_get(answer, "password_once"));
	rc = keep_login(cli, answer, name, device, fail);
	json_decref(answer);
	if (rc != RC_OK)
		return (rc);
	answer = json_pack("{ss ss ss ss}", "user", name, "device", device,
	    "server", cli->profile.server, "profile", cli->profile.name);
	if (*ret_once)
		rc = cli_set(answer, "password_once", json_true(), fail);
	if (rc == RC_OK)
		rc = cli_result(cli, answer, fail,
		    "logged in as %s at %s (profile %s)", name,
		    cli->profile.server, cli->profile.name);
	json_decref(answer);
	return (rc);
}

/* Changes the user's password from ${old} to ${new}. */
static enum rc
change_password(
    struct cli *cli, const char *old, const char *new, struct fail *fail)
{
	const char *user = cli->profile.user;
	json_t *answer = NULL;
	enum rc rc;

	rc = cli_call(cli, "POST", "/v1/me/password",
	    json_pack("{ss ss}", "password", old, "new_password", new), &answer,
	    fail);
	json_decref(answer);
	if (rc != RC_OK && fail->status == 403) {
		(void)snprintf(fail->what, sizeof(fail->what),
		    "that is not the current password of %s", user);
		return (fail_cure(fail, "try once more"));
	}
	if (rc != RC_OK)
		return (rc);
	answer =
	    json_pack("{ss ss}", "user", user, "profile", cli->profile.name);
	rc = cli_result(cli, answer, fail,
	    "the password of %s is changed; all other devices were logged out",
	    user);
	json_decref(answer);
	return (rc);
}

/* After a login with the one-time password ${once}, which works for no other
 * login, asks on the terminal for a new password and sets it.  With
 * --password-stdin there is no way to ask: prints a hint and returns RC_OK.
 * After a failure the user stays logged in. */
static enum rc
replace_once(struct cli *cli, const char *once, struct fail *fail)
{
	char new[LIMIT_PASSWORD_LEN + 2], prompt[80];
	enum rc rc;

	if (args_has(&cli->args, "password-stdin")) {
		cli_complain("this was a one-time password, which works only "
			     "once: set a password with twinbox passwd");
		return (RC_OK);
	}
	cli_complain("This was a one-time password, which works only once. "
		     "Choose a password of your own.");
	(void)snprintf(
	    prompt, sizeof(prompt), "new password for %s: ", cli->profile.user);
	rc = cli_password(cli, prompt, true, new, sizeof(new), fail);
	if (rc == RC_OK)
		rc = change_password(cli, once, new, fail);
	explicit_bzero(new, sizeof(new));
	if (rc != RC_OK)
		(void)fail_cure(fail,
		    "you are logged in: set a password with twinbox passwd, "
		    "where the one-time password is the current one");
	return (rc);
}

enum rc
cmd_login(struct cli *cli, struct fail *fail)
{
	const char *name = cli->args.operands[0];
	char password[LIMIT_PASSWORD_LEN + 2], prompt[80];
	bool once = false;
	enum rc rc;

	if (check_name(name, false, fail) != RC_OK ||
	    check_free(cli, name, fail) != RC_OK)
		return (fail->rc);
	/* An old token must not be sent with the request for a new one. */
	rest_token_set(cli->rest, "");
	(void)snprintf(prompt, sizeof(prompt), "password of %s: ", name);
	rc = cli_password(cli, prompt, false, password, sizeof(password), fail);
	if (rc == RC_OK)
		rc = log_in(cli, name, password, &once, fail);
	if (rc == RC_OK && once)
		rc = replace_once(cli, password, fail);
	explicit_bzero(password, sizeof(password));
	return (rc);
}

/* Registers ${name}. */
static enum rc
sign_up(
    struct cli *cli, const char *name, const char *password, struct fail *fail)
{
	const char *display = args_value(&cli->args, "display-name");
	json_t *body, *answer = NULL;
	enum rc rc;

	body = json_pack("{ss ss}", "name", name, "password", password);
	if (display != NULL && cli_set(body, "display_name",
				   json_string(display), fail) != RC_OK) {
		json_decref(body);
		return (fail->rc);
	}
	rc = cli_call(cli, "POST", "/v1/users", body, &answer, fail);
	if (rc == RC_OK && args_has(&cli->args, "no-login"))
		rc = cli_result(cli, answer, fail, "registered %s", name);
	else if (fail->status == 403)
		(void)fail_cure(fail, "this server is closed: ask its operator "
				      "for an account");
	else if (fail->status == 409)
		(void)fail_cure(fail,
		    "choose another name, or log in: twinbox "
		    "login %s",
		    name);
	json_decref(answer);
	return (rc);
}

enum rc
cmd_register(struct cli *cli, struct fail *fail)
{
	const char *name = cli->args.operands[0];
	char password[LIMIT_PASSWORD_LEN + 2], prompt[80];
	bool only = args_has(&cli->args, "no-login"), once;
	enum rc rc;

	if (check_name(name, true, fail) != RC_OK ||
	    (!only && check_free(cli, name, fail) != RC_OK))
		return (fail->rc);
	rest_token_set(cli->rest, "");
	(void)snprintf(prompt, sizeof(prompt), "new password for %s: ", name);
	rc = cli_password(cli, prompt, true, password, sizeof(password), fail);
	if (rc == RC_OK)
		rc = sign_up(cli, name, password, fail);
	if (rc == RC_OK && !only)
		rc = log_in(cli, name, password, &once, fail);
	explicit_bzero(password, sizeof(password));
	return (rc);
}

enum rc
cmd_passwd(struct cli *cli, struct fail *fail)
{
	char old[LIMIT_PASSWORD_LEN + 2], new[LIMIT_PASSWORD_LEN + 2];
	char prompt[80];
	enum rc rc;

	(void)snprintf(prompt, sizeof(prompt),
	    "current password of %s: ", cli->profile.user);
	rc = cli_password(cli, prompt, false, old, sizeof(old), fail);
	(void)snprintf(
	    prompt, sizeof(prompt), "new password for %s: ", cli->profile.user);
	if (rc == RC_OK)
		rc = cli_password(cli, prompt, true, new, sizeof(new), fail);
	if (rc == RC_OK)
		rc = change_password(cli, old, new, fail);
	explicit_bzero(old, sizeof(old));
	explicit_bzero(new, sizeof(new));
	return (rc);
}

enum rc
cmd_logout(struct cli *cli, struct fail *fail)
{
	const bool everywhere = args_has(&cli->args, "everywhere");
	char user[LIMIT_NAME_LEN + 1];
	json_t *answer;
	enum rc rc;

	(void)snprintf(user, sizeof(user), "%s", cli->profile.user);
	rc = everywhere ? revoke_others(cli, true, fail)
			: revoke_token(cli, cli->profile.token_id, fail);
	/* 401 and 404 mean that the token is revoked already, which is what the
	 * user wants.  With --everywhere they are failures: the tokens of other
	 * devices may still be valid, and a revoked token cannot revoke
	 * them. */
	if (rc != RC_OK &&
	    (everywhere || (fail->status != 401 && fail->status != 404)))
		return (rc);
	if (profile_remove(&cli->profile, fail) != RC_OK)
		return (fail->rc);
	answer =
	    json_pack("{ss ss}", "user", user, "profile", cli->profile.name);
	rc = cli_result(cli, answer, fail, "logged out %s%s", user,
	    everywhere ? " on all devices" : "");
	json_decref(answer);
	return (rc);
}

enum rc
cmd_whoami(struct cli *cli, struct fail *fail)
{
	const struct profile *p = &cli->profile;
	const char *user;
	json_t *answer, *out;
	enum rc rc;

	if (rest_get(cli->rest, "/v1", &answer, fail) != RC_OK)
		return (fail->rc);
	user = json_string_value(
	    json_object_get(json_object_get(answer, "user"), "name"));
	if (user == NULL) {
		json_decref(answer);
		return (fail_logged_out(fail));
	}
	out = json_pack("{ss ss ss ss}", "user", user, "device", p->device,
	    "server", rest_server(cli->rest), "profile", p->name);
	rc = cli_result(cli, out, fail, "%s at %s (profile %s)", p->user,
	    rest_server(cli->rest), p->name);
	json_decref(out);
	json_decref(answer);
	return (rc);
}

/* devices without operands: lists the devices. */
static enum rc
list_devices(struct cli *cli, struct fail *fail)
{
	const json_t *list, *one;
	json_t *answer, *rows;
	struct buf b = BUF_INIT;
	size_t i;
	enum rc rc;

	if (rest_get(cli->rest, "/v1/tokens", &answer, fail) != RC_OK)
		return (fail->rc);
	if (cli->json) {
		rc = cli_print_list(cli, answer, "devices", fail);
		json_decref(answer);
		return (rc);
	}
	rows = json_pack("[[ssss]]", "ID", "DEVICE", "LAST SEEN", "");
	list = json_object_get(answer, "devices");
	for (i = 0; i < json_array_size(list); i++) {
		one = json_array_get(list, i);
		(void)json_array_append_new(
		    rows, json_pack("[soos]", text_of(one, "id"),
			      cli_cell(cli, one, "name"),
			      cli_cell(cli, one, "last_seen_at"),
			      json_is_true(json_object_get(one, "current"))
				  ? "this one"
				  : ""));
	}
	render_table(&b, &cli->look, rows);
	json_decref(rows);
	json_decref(answer);
	return (cli_print(&b, fail));
}

enum rc
cmd_devices(struct cli *cli, struct fail *fail)
{
	const struct args *args = &cli->args;
	const bool others = args_has(args, "others");
	json_t *answer;
	enum rc rc;

	if (args->noperands == 0 && !others)
		return (list_devices(cli, fail));
	if (args->noperands != (others ? 1 : 2) ||
	    strcmp(args->operands[0], "revoke") != 0) {
		(void)fail_set(fail, FAIL_USAGE,
		    "expected \"devices\", \"devices revoke ID\" or \"devices "
		    "revoke --others\"");
		return (fail_cure(fail, "see twinbox devices --help"));
	}
	rc = others ? revoke_others(cli, false, fail)
		    : revoke_token(cli, args->operands[1], fail);
	if (rc != RC_OK) {
		if (fail->status == 404 && !others)
			(void)fail_cure(fail, "twinbox devices lists them");
		return (rc);
	}
	answer =
	    json_pack("{ss}", "revoked", others ? "others" : args->operands[1]);
	rc = cli_result(cli, answer, fail,
	    others ? "revoked all other devices" : "revoked");
	json_decref(answer);
	return (rc);
}
