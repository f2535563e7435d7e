/* SPDX-License-Identifier: MIT */
/*
 * The table of operations, and what all kinds of them share.
 */
#include <string.h>

#include "main/operation.h"
#include "wire/json.h"

static const struct {
	const char *name;
	const struct operation_kind *kind;
} table[OPERATIONS] = {
#define X(id, name_, kind_) [id] = {.name = (name_), .kind = &(kind_)},
    OPERATION_TABLE(X)
#undef X
};

void
operation_init(struct operation *o, enum operation_id id)
{

	memset(o, 0, sizeof(*o));
	o->id = id;
}

void
operation_fini(struct operation *o)
{

	crypt_wipe(o, sizeof(*o));
}

const char *
operation_name(const struct operation *o)
{

	return (o->id < OPERATIONS ? table[o->id].name : "unknown");
}

const char *
operation_about(const struct operation *o)
{

	return (o->id < OPERATIONS ? table[o->id].kind->about(o) : "");
}

void
operation_write(const struct operation *o, struct buf *out)
{

	buf_addc(out, '{');
	jw_str(out, "command", operation_name(o));
	table[o->id].kind->write(o, out);
	buf_addc(out, '}');
}

enum rc
operation_read(json_t *root, struct operation *ret, struct err *err)
{
	const char *name = json_string_value(json_object_get(root, "command"));
	size_t i;

	for (i = 0; name != NULL && i < OPERATIONS; i++) {
		if (strcmp(table[i].name, name) != 0)
			continue;
		operation_init(ret, (enum operation_id)i);
		return (table[i].kind->read(ret, root, err));
	}
	operation_init(ret, OPERATIONS);
	return (
	    err_set(err, RC_INVALID, "this server does not know that command"));
}

enum rc
operation_prepare(struct operation *o, struct db *db,
    void (*finish)(struct unit *unit), struct err *err)
{
	enum rc rc;

	rc = table[o->id].kind->prepare(o, db, err);
	o->work.unit.finish = finish;
	return (rc);
}

enum rc
operation_result(struct operation *o, struct err *err)
{
	const enum rc rc = o->work.unit.rc;

	if (rc == RC_OK)
		return (table[o->id].kind->result(o, err));
	return (err_set(err, rc, "the database: %s%s", rc_text(rc),
	    rc == RC_FULL ? "; free room on the disk of the database" : ""));
}
