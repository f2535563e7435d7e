/* SPDX-License-Identifier: MIT */
/*
 * The operations on the keys with which this server signs its requests to other
 * servers.  A new key is made in the process whose writer stores the key (the
 * running server, or the command if no server runs), so the private seed of the
 * key never crosses the control socket.
 */
#include <stdio.h>
#include <string.h>

#include "base/clk.h"
#include "main/operation.h"
#include "wire/json.h"
#include "wire/wire.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

bool
operation_key_id_valid(const char *text, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (text[i] == '\0' ||
		    strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			   "abcdefghijklmnopqrstuvwxyz0123456789-_",
			text[i]) == NULL)
			return (false);
	return (n >= 1 && n <= STORE_SERVER_KEY_ID_LEN);
}

static void
keys_write(const struct operation *o, struct buf *out)
{

	if (o->id != OPERATION_KEYS_ROTATE)
		jw_str(out, "key", o->asked.key.key_id);
}

static enum rc
keys_read(struct operation *o, json_t *root, struct err *err)
{
	struct span command, key = {NULL, 0};
	struct refusal r = REFUSAL_INIT;
	const struct wire_field fields[] = {
	    {.name = "command",
		.type = WIRE_SPAN,
		.required = true,
		.ret = &command},
	    {.name = "key", .type = WIRE_SPAN, .required = true, .ret = &key},
	};
	/* A rotation names no key. */
	const size_t n = o->id == OPERATION_KEYS_ROTATE ? 1 : COUNT(fields);

	if (wire_object(root, "", fields, n, &r) != RC_OK)
		return (err_set(err, RC_INVALID, "%s", r.detail));
	if (key.p == NULL)
		return (RC_OK);
	if (!operation_key_id_valid(key.p, key.n))
		return (err_set(err, RC_INVALID, "bad key id"));
	memcpy(o->asked.key.key_id, key.p, key.n);
	return (RC_OK);
}

static const char *
keys_about(const struct operation *o)
{

	return (o->id == OPERATION_KEYS_ROTATE ? o->work.keys.candidate.key_id
					       : o->asked.key.key_id);
}

static enum rc
keys_prepare(struct operation *o, struct db *db, struct err *err)
{
	struct server_keys_unit *unit = &o->work.keys;

	(void)db;
	(void)err;
	server_keys_unit_init(unit,
	    o->id == OPERATION_KEYS_ROTATE   ? SERVER_KEYS_ROTATE
	    : o->id == OPERATION_KEYS_RETIRE ? SERVER_KEYS_RETIRE
					     : SERVER_KEYS_RETIRE_NOW,
	    "operator", rnd_system());
	(void)snprintf(
	    unit->key_id, sizeof(unit->key_id), "%s", o->asked.key.key_id);
	return (RC_OK);
}

/* Writes to ${ret}, of ${size} bytes, when the new ${key} begins to sign:
 * "signs at once" if its signs_at is not after its created_at, else "signs from
 * TIME" (RFC 3339). */
static void
write_start(const struct store_server_key *key, char *ret, size_t size)
{
	char at[CLK_RFC3339_SIZE];

	clk_format_rfc3339(key->signs_at, at);
	if (key->signs_at <= key->created_at)
		(void)snprintf(ret, size, "signs at once");
	else
		(void)snprintf(ret, size, "signs from %s", at);
}

static void
write_text(struct operation *o)
{
	const struct server_keys_unit *u = &o->work.keys;
	const struct store_server_key *made = &u->candidate;
	char at[CLK_RFC3339_SIZE], start[64];

	clk_format_rfc3339(u->retires_at, at);
	write_start(made, start, sizeof(start));
	if (u->op == SERVER_KEYS_RETIRE)
		(void)snprintf(o->text, sizeof(o->text),
		    "key %s leaves the document at %s", u->key_id, at);
	else if (u->op == SERVER_KEYS_RETIRE_NOW && u->made)
		(void)snprintf(o->text, sizeof(o->text),
		    "key %s is retired; key %s takes its place and %s",
		    u->key_id, made->key_id, start);
	else if (u->op == SERVER_KEYS_RETIRE_NOW)
		(void)snprintf(
		    o->text, sizeof(o->text), "key %s is retired", u->key_id);
	else
		(void)snprintf(o->text, sizeof(o->text),
		    "key %s is published and %s%s%s", made->key_id, start,
		    u->retires_at != 0 ? "; the others leave the document by "
				       : "",
		    u->retires_at != 0 ? at : "");
}

static enum rc
keys_result(struct operation *o, struct err *err)
{
	const struct refusal *r = &o->work.keys.refusal;

	if (r->problem == PROBLEM_NONE) {
		write_text(o);
		return (RC_OK);
	}
	return (err_set(err,
	    r->problem == PROBLEM_NOT_FOUND ? RC_NOT_FOUND : RC_CONFLICT, "%s",
	    r->detail));
}

const struct operation_kind operation_keys = {
    .write = keys_write,
    .read = keys_read,
    .about = keys_about,
    .prepare = keys_prepare,
    .result = keys_result,
};
