/* SPDX-License-Identifier: MIT */
/*
 * Admin routes of peers, that is other servers: the list, one peer with its
 * keys and the names of the operators who have pinned a key or blocked the
 * peer, and the changes: pin and unpin a key; forget, block and unblock a peer.
 */
#include <string.h>

#include "admin/routes_internal.h"
#include "crypt/sign.h"
#include "delivery/peers.h"
#include "net/domain.h"
#include "store/peer.h"

#define NO_PEER "nothing is known of a server called \"%.253s\""
#define KEY_ID_CHARACTERS                                                      \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

/* ---- writing ---- */

/* Writes the members of ${row} without its braces. */
static void
write_row(struct buf *b, const struct store_peer_row *row)
{

	jw_str(b, "domain", row->domain);
	jw_time(b, "first_seen_at", row->first_seen_at);
	jw_time(b, "last_seen_at", row->last_seen_at);
	jw_str(b, "epoch", row->epoch[0] != '\0' ? row->epoch : NULL);
	jw_time(b, "blocked_at", row->blocked_at);
	jw_str(b, "blocked_by",
	    row->blocked_by[0] != '\0' ? row->blocked_by : NULL);
	jw_int(b, "live_keys", row->live);
	jw_int(b, "pinned_keys", row->pinned);
}

static void
write_key(struct buf *b, const struct store_peer_key_row *k)
{
	char public[SIGN_BASE64_SIZE(STORE_PEER_PUBLIC_SIZE)];

	sign_base64_write(
	    k->key.public, sizeof(k->key.public), public, sizeof(public));
	jw_comma(b);
	buf_addc(b, '{');
	jw_str(b, "id", k->key.key_id);
	jw_str(b, "public", public);
	jw_str(b, "pinned_by",
	    k->key.pinned_by[0] != '\0' ? k->key.pinned_by : NULL);
	jw_time(b, "first_seen_at", k->first_seen_at);
	jw_time(b, "last_seen_at", k->last_seen_at);
	jw_time(b, "retired_at", k->retired_at);
	jw_bool(b, "verifies", k->verifies);
	buf_addc(b, '}');
}

static void
write_peer(struct buf *b, const struct store_peer_row *row,
    const struct store_peer_keys *keys)
{
	size_t i;

	buf_addc(b, '{');
	write_row(b, row);
	jw_member(b, "keys");
	buf_addc(b, '[');
	for (i = 0; i < keys->n; i++)
		write_key(b, &keys->rows[i]);
	buf_adds(b, "]}");
}

/* ---- the list ---- */

struct list_call {
	struct call call; /* first */
	int64_t after, limit;
	int64_t n, last;
	struct buf *out;
};

/* RC_LIMIT ends the page, because there are more. */
static enum rc
on_row_peer(void *arg, const struct store_peer_row *row, struct err *err)
{
	struct list_call *a = arg;

	(void)err;
	if (a->n == a->limit)
		return (RC_LIMIT);
	a->n++;
	a->last = row->destination_id;
	jw_comma(a->out);
	buf_addc(a->out, '{');
	write_row(a->out, row);
	buf_addc(a->out, '}');
	return (RC_OK);
}

static enum rc
add_rows(struct call *call, struct db *db, struct buf *b, int64_t *ret_next,
    struct err *err)
{
	struct list_call *a = CONTAINER_OF(call, struct list_call, call);
	enum rc rc;

	a->out = b;
	rc = store_peers_after(db, a->after, a->limit + 1, on_row_peer, a, err);
	*ret_next = rc == RC_LIMIT ? a->last : 0;
	return (rc == RC_LIMIT ? RC_OK : rc);
}

static enum rc
read_list(struct call *call, struct db *db, struct err *err)
{
	static const struct admin_list list = {"peers", "after", add_rows};

	return (admin_list_read(call, db, &list, err));
}

void
admin_peers_get(struct http_request *req, void *arg)
{
	static const char *const allowed[] = {"after", "limit", NULL};
	struct list_call *a;

	if ((a = call_new(arg, req, sizeof(*a))) == NULL ||
	    !call_query_check(&a->call, allowed) ||
	    !admin_query_cursor(&a->call, "after", 0, &a->after) ||
	    !call_query_limit(&a->call, &a->limit))
		return;
	call_read(&a->call, read_list);
}

/* ---- one ---- */

struct peer_call {
	struct call call; /* first */
	const struct admin *admin;
	struct wire_doc doc;
	struct peer_unit unit; /* for GET, only its domain is used */
	bool forgotten;
	struct store_peer_row row;
	struct store_peer_keys keys;
};

static enum rc
read_one(struct call *call, struct db *db, struct err *err)
{
	struct peer_call *a = CONTAINER_OF(call, struct peer_call, call);
	struct buf b = BUF_INIT;
	enum rc rc;

	rc = store_peer_get(db, a->unit.domain, &a->row, err);
	if (rc == RC_OK)
		rc = store_peer_keys(db, a->row.destination_id, &a->keys, err);
	if (rc == RC_NOT_FOUND && a->forgotten) {
		memset(&a->row, 0, sizeof(a->row));
		memcpy(a->row.domain, a->unit.domain, sizeof(a->row.domain));
		a->keys.n = 0;
		rc = RC_OK;
	}
	if (rc == RC_OK) {
		write_peer(&b, &a->row, &a->keys);
		call_json(call, 200, &b);
	} else if (rc == RC_NOT_FOUND) {
		call_problem(
		    call, PROBLEM_NOT_FOUND, "", NO_PEER, a->unit.domain);
		rc = RC_OK;
	}
	buf_fini(&b);
	return (rc);
}

/* Makes a struct peer_call, in the request's memory, for the peer named in the
 * path, and sets its unit of work to ${op}, but does not submit the unit.  Does
 * not check that the peer is known.  Returns NULL if the request was wrong or
 * there is no memory; this function has then answered the request. */
static struct peer_call *
peer_new(struct http_request *req, void *arg, enum peer_op op)
{
	static const char *const allowed[] = {NULL};
	const char *domain = http_path_param(req, "domain");
	struct peer_call *a;

	if ((a = call_new(arg, req, sizeof(*a))) == NULL ||
	    !call_query_check(&a->call, allowed))
		return (NULL);
	if (domain == NULL || !domain_valid(domain, strlen(domain))) {
		call_problem(&a->call, PROBLEM_NOT_FOUND, "",
		    "\"%.253s\" is not a valid name of a server, such as "
		    "b.example",
		    domain != NULL ? domain : "");
		return (NULL);
	}
	a->admin = http_route_module(req);
	peer_unit_init(&a->unit, op, domain, a->call.principal->name);
	return (a);
}

void
admin_peer_get(struct http_request *req, void *arg)
{
	struct peer_call *a;

	/* The unit is not submitted; only its domain is used. */
	if ((a = peer_new(req, arg, PEER_PIN)) != NULL)
		call_read(&a->call, read_one);
}

/* Thread: sync, or writer when refused. */
static void
changed(struct unit *base)
{
	struct peer_unit *u = CONTAINER_OF(base, struct peer_unit, unit);
	struct peer_call *a = u->arg;

	a->forgotten = u->op == PEER_FORGET;
	if (!call_unit_ok(&a->call, &u->unit, &u->refusal))
		return;
	if (a->admin->o.peer_changed != NULL)
		a->admin->o.peer_changed(
		    a->admin->o.peer_changed_arg, &u->known);
	call_read(&a->call, read_one);
}

static void
change(struct peer_call *a)
{

	a->unit.unit.finish = changed;
	a->unit.arg = a;
	(void)call_submit(&a->call, &a->unit.unit);
}

/* ---- pin ---- */

/* Reads the id of a key.  Returns false if the request has been answered. */
static bool
read_key_id(struct peer_call *a, const struct span *id)
{
	struct store_peer_key *key = &a->unit.keys[0];

	memcpy(key->key_id, id->p, id->n);
	key->key_id[id->n] = '\0';
	a->unit.nkeys = 1;
	if (strspn(key->key_id, KEY_ID_CHARACTERS) == id->n)
		return (true);
	call_problem(&a->call, PROBLEM_BAD_REQUEST, "/key_id",
	    "\"key_id\" has 1 to %d letters, digits, '-' and '_'",
	    STORE_PEER_KEY_ID_LEN);
	return (false);
}

/* Reads the key to pin.  Returns false if the request has been answered. */
static bool
read_key(struct peer_call *a, const struct span *id, const struct span *public)
{
	struct store_peer_key *key = &a->unit.keys[0];

	if (!read_key_id(a, id))
		return (false);
	if (!sign_base64_read(
		public->p, public->n, key->public, sizeof(key->public))) {
		call_problem(&a->call, PROBLEM_BAD_REQUEST, "/public",
		    "\"public\" is not base64, with padding, of %d bytes",
		    STORE_PEER_PUBLIC_SIZE);
		return (false);
	}
	return (true);
}

void
admin_peer_pin_post(struct http_request *req, void *arg)
{
	struct span id = {NULL, 0}, public = {NULL, 0};
	const struct wire_field fields[] = {
	    {.name = "key_id",
		.type = WIRE_SPAN,
		.required = true,
		.min_len = 1,
		.max_len = STORE_PEER_KEY_ID_LEN,
		.ret = &id},
	    {.name = "public",
		.type = WIRE_SPAN,
		.required = true,
		.min_len = 1,
		.max_len = 100,
		.ret = &public}};
	struct peer_call *a;

	if ((a = peer_new(req, arg, PEER_PIN)) != NULL &&
	    call_body(&a->call, &a->doc, fields, 2) &&
	    read_key(a, &id, &public))
		change(a);
}

void
admin_peer_unpin_post(struct http_request *req, void *arg)
{
	struct span id = {NULL, 0};
	const struct wire_field fields[] = {{.name = "key_id",
	    .type = WIRE_SPAN,
	    .required = true,
	    .min_len = 1,
	    .max_len = STORE_PEER_KEY_ID_LEN,
	    .ret = &id}};
	struct peer_call *a;

	if ((a = peer_new(req, arg, PEER_UNPIN)) != NULL &&
	    call_body(&a->call, &a->doc, fields, 1) && read_key_id(a, &id))
		change(a);
}

/* ---- forget, block, unblock ---- */

void
admin_peer_forget_post(struct http_request *req, void *arg)
{
	struct peer_call *a;

	if ((a = peer_new(req, arg, PEER_FORGET)) != NULL &&
	    call_body_if_any(&a->call, &a->doc, NULL, 0))
		change(a);
}

void
admin_peer_block_post(struct http_request *req, void *arg)
{
	struct span reason = {NULL, 0};
	const struct wire_field fields[] = {{.name = "reason",
	    .type = WIRE_SPAN,
	    .max_len = PEER_REASON_LEN,
	    .ret = &reason}};
	struct peer_call *a;

	if ((a = peer_new(req, arg, PEER_BLOCK)) == NULL ||
	    !call_body_if_any(&a->call, &a->doc, fields, 1))
		return;
	if (reason.n > 0)
		memcpy(a->unit.reason, reason.p, reason.n);
	change(a);
}

void
admin_peer_unblock_post(struct http_request *req, void *arg)
{
	struct peer_call *a;

	if ((a = peer_new(req, arg, PEER_UNBLOCK)) != NULL &&
	    call_body_if_any(&a->call, &a->doc, NULL, 0))
		change(a);
}
