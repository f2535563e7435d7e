/* SPDX-License-Identifier: MIT */
/*
 * Other servers as the admin routes see them.  See played_admin.h.
 */
#include "played_admin.h"

#include <string.h>

#include "delivery/peers.h"

__typeof__(store_peer_get) __wrap_store_peer_get;
__typeof__(store_peer_keys) __wrap_store_peer_keys;
__typeof__(store_peers_after) __wrap_store_peers_after;

static const struct store_peer_row full = {
    9, "far.example", NOW + 1, NOW + 2, "e1", NOW + 3, "ann", 2, 1, true};
static const struct store_peer_row bare = {
    .destination_id = 12, .domain = "b.example"};

/* The server nowhere.example has no row. */
enum rc
__wrap_store_peer_get(struct db *db, const char *domain,
    struct store_peer_row *ret, struct err *err)
{
	enum rc rc;

	(void)db;
	played_note("peer %s", domain);
	if ((rc = played_store(err)) != RC_OK)
		return (rc);
	if (strcmp(domain, "nowhere.example") == 0)
		return (RC_NOT_FOUND);
	*ret = strcmp(domain, full.domain) == 0 ? full : bare;
	return (RC_OK);
}

enum rc
__wrap_store_peer_keys(struct db *db, int64_t destination_id,
    struct store_peer_keys *ret, struct err *err)
{
	static const struct store_peer_key_row rows[] = {
	    {{"k1", {1, 2, 3}, "ann"}, NOW + 1, NOW + 2, 0, true},
	    {{"k2", {255}, ""}, NOW + 3, NOW + 4, NOW + 5, false}};

	(void)db;
	played_note("keys of %lld", (long long)destination_id);
	ret->n = destination_id == full.destination_id ? 2 : 0;
	memcpy(ret->rows, rows, sizeof(rows));
	return (played_store(err));
}

enum rc
__wrap_store_peers_after(struct db *db, int64_t after, int64_t limit,
    store_peer_fn each, void *arg, struct err *err)
{
	enum rc rc = played_store(err);

	(void)db;
	played_note(
	    "peers after=%lld limit=%lld", (long long)after, (long long)limit);
	if (rc != RC_OK || admin_store.empty)
		return (rc);
	rc = each(arg, &full, err);
	return (rc == RC_OK ? each(arg, &bare, err) : rc);
}

void
peer_apply(struct unit *unit)
{
	struct peer_unit *u = (struct peer_unit *)(void *)unit;

	played_note("peer unit %d by %s: domain=%s reason=%s keys=%zu id=%s "
		    "public=%d..%d",
	    (int)u->op, u->by, u->domain, u->reason, u->nkeys,
	    u->keys[0].key_id, u->keys[0].public[0], u -> keys[0].public[31]);
	if (admin_store.refused)
		refusal_set(&u->refusal, PROBLEM_NOT_FOUND, "/p", "not here");
}
