/* SPDX-License-Identifier: MIT */
/*
 * `twinboxd keys list|rotate|retire`: the keys that this server signs with.
 */
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "base/clk.h"
#include "crypt/sign.h"
#include "delivery/server_keys.h"
#include "log/log.h"
#include "main/main_internal.h"

/* Size of the text about a key's state. */
#define STATE_SIZE 128

/* ---- keys list ---- */

/* Describes the state of ${key} at ${now_ms} in words.  ${signer}: the key that
 * signs. */
static void
describe(const struct store_server_key *key,
    const struct store_server_key *signer, int64_t now_ms, char ret[STATE_SIZE])
{
	char at[CLK_RFC3339_SIZE];
	int n;

	if (key == signer)
		n = snprintf(ret, STATE_SIZE, "signs");
	else
		n = snprintf(ret, STATE_SIZE, "published");
	if (key->signs_at > now_ms) {
		clk_format_rfc3339(key->signs_at, at);
		n += snprintf(
		    ret + n, STATE_SIZE - (size_t)n, ", signs at %s", at);
	}
	if (key->retires_at != 0) {
		clk_format_rfc3339(key->retires_at, at);
		(void)snprintf(ret + n, STATE_SIZE - (size_t)n,
		    ", leaves the document at %s", at);
	}
}

static int
width_of(const char *text, int width)
{
	const int n = (int)strlen(text);

	return (n > width ? n : width);
}

/* Prints the ${n} keys, all of which are published. */
static void
print_keys(const struct store_server_key *keys, size_t n, int64_t now_ms)
{
	const struct store_server_key *signer =
	    server_keys_signer(keys, n, now_ms);
	char states[STORE_SERVER_KEYS][STATE_SIZE];
	char public[SIGN_BASE64_SIZE(STORE_SERVER_KEY_PUBLIC_SIZE)];
	int id_width = width_of("KEY ID", 0),
	    state_width = width_of("STATE", 0);
	size_t i;

	for (i = 0; i < n; i++) {
		describe(&keys[i], signer, now_ms, states[i]);
		id_width = width_of(keys[i].key_id, id_width);
		state_width = width_of(states[i], state_width);
	}
	(void)printf("%-*s  %-*s  PUBLIC KEY\n", id_width, "KEY ID",
	    state_width, "STATE");
	for (i = 0; i < n; i++) {
		sign_base64_write(keys[i].public, sizeof(keys[i].public),
		    public, sizeof(public));
		(void)printf("%-*s  %-*s  %s\n", id_width, keys[i].key_id,
		    state_width, states[i], public);
	}
}

/* Removes from the array ${keys} the keys that are no longer published at
 * ${now_ms}; the others keep their order, and the database does not change.
 * Returns how many are left. */
static size_t
keep_published(struct store_server_key *keys, size_t n, int64_t now_ms)
{
	size_t i, kept = 0;

	for (i = 0; i < n; i++)
		if (server_keys_published(&keys[i], now_ms))
			keys[kept++] = keys[i];
	return (kept);
}

static enum rc
read_keys(const struct config *config,
    struct store_server_key keys[STORE_SERVER_KEYS], size_t *ret_n,
    struct err *err)
{
	struct db *db;
	enum rc rc;

	if ((rc = data_look(config, DB_READER, &db, err)) != RC_OK)
		return (rc);
	rc = store_server_keys_list(db, keys, ret_n, err);
	db_close(db);
	return (rc);
}

static int
list(const struct config *config)
{
	struct store_server_key keys[STORE_SERVER_KEYS];
	const int64_t now_ms = clk_wall_ms(clk_system());
	struct err err = ERR_INIT;
	size_t n;
	enum rc rc;

	rc = read_keys(config, keys, &n, &err);
	if (rc == RC_OK && (n = keep_published(keys, n, now_ms)) > 0)
		print_keys(keys, n, now_ms);
	else if (rc == RC_OK)
		(void)puts("there are no keys: \"twinboxd keys rotate\" makes "
			   "one, and so does a server that federates");
	crypt_wipe(keys, sizeof(keys));
	if (rc != RC_OK)
		return (main_complain(main_file_code(rc), "%s", err.text));
	return (fflush(stdout) == 0 ? EX_OK : EX_IOERR);
}

/* ---- keys rotate, keys retire ---- */

static int
perform(const struct config *config, struct operation *o)
{
	struct err err = ERR_INIT;
	int code = EX_OK;

	if (crypt_init(&err) != RC_OK ||
	    operation_perform(o, config, &err) != RC_OK)
		code = main_complain(rc_exit_code(err.rc), "%s", err.text);
	else
		(void)puts(o->text);
	operation_fini(o);
	if (code == EX_OK && fflush(stdout) != 0)
		code = EX_IOERR;
	return (code);
}

static int
rotate(const struct config *config)
{
	struct operation o;

	operation_init(&o, OPERATION_KEYS_ROTATE);
	return (perform(config, &o));
}

static int
retire(const struct config *config, const char *key_id, bool now)
{
	struct operation o;

	if (!operation_key_id_valid(key_id, strlen(key_id)))
		return (main_complain(EX_DATAERR,
		    "\"%s\" is not a valid key id: 1 to %d of letters, digits, "
		    "\"-\" and \"_\"; see twinboxd keys list",
		    key_id, STORE_SERVER_KEY_ID_LEN));
	operation_init(
	    &o, now ? OPERATION_KEYS_RETIRE_NOW : OPERATION_KEYS_RETIRE);
	(void)snprintf(
	    o.asked.key.key_id, sizeof(o.asked.key.key_id), "%s", key_id);
	return (perform(config, &o));
}

/* ---- the command ---- */

int
keys_main(int argc, char **argv)
{
	struct config config;
	const char *word;
	bool now = false;
	int code;

	argc = main_take_flag(argc, argv, "--now", &now);
	if ((code = main_settings(argc, argv, &config)) >= 0)
		return (code);
	log_set_level(LVL_WARN);
	word = config.noperands > 0 ? config.operands[0] : "";
	if (strcmp(word, "retire") == 0 && config.noperands == 2)
		return (retire(&config, config.operands[1], now));
	if (config.noperands != 1 || now)
		return (main_usage("keys "));
	if (strcmp(word, "list") == 0)
		return (list(&config));
	if (strcmp(word, "rotate") == 0)
		return (rotate(&config));
	return (main_usage("keys "));
}
