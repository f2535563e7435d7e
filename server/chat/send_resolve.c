/* SPDX-License-Identifier: MIT */
/*
 * Finds the sender, the recipient and the conversation of a message, checks
 * whether the sender may send to this recipient now, and adds the rows that are
 * missing: of a recipient on another server, of that server, and of a direct
 * conversation.
 */
#include <string.h>

#include "chat/send_internal.h"
#include "store/destination.h"

/* Back-pressure: returns false, with a refusal in ${u}->refusal, if too many
 * messages wait for delivery: of this sender (pending_most), in total
 * (pending_most_total), or for ${destination} (80 % of pending_most_total); 0
 * means no limit.  A message to oneself is never refused here: it waits only if
 * it is scheduled.  For a scheduled message to another user only the limit of
 * its sender is checked, because it counts as waiting only when it is released;
 * check_scheduled() in send.c limits the number of scheduled messages. */
static bool
has_room(
    struct txn_env *env, struct send_unit *u, bool to_self, int64_t destination)
{
	const struct txn_env_options *o = &env->options;
	const int64_t total = o->pending_most_total;
	const int64_t waiting = backlog_waiting(env->backlog);

	if (to_self)
		return (true);
	if (!txn_sender_has_room(env, u->sender_id, &u->refusal))
		return (false);
	if (u->draft->deliver_at_ms > env->seen_wall_ms)
		return (true);
	if (total != 0 && waiting >= total)
		refusal_set(&u->refusal, PROBLEM_QUEUE_FULL, "",
		    "too many messages wait for delivery on this server");
	else if (total != 0 && backlog_of_destination(env->backlog,
				   destination) >= total - total / 5)
		refusal_set(&u->refusal, PROBLEM_QUEUE_FULL, "/to",
		    "too many messages wait for this destination");
	else
		return (true);
	metrics_add(o->metrics, METRIC_QUEUE_FULL, 1);
	return (false);
}

/* As has_room(), if the recipient has a row. */
static bool
has_room_between(struct txn_env *env, struct send_unit *u,
    const struct cached_user *from, const struct cached_user *to)
{

	return (has_room(env, u, from == to,
	    to->destination_id != 0 ? to->destination_id : DESTINATION_LOCAL));
}

/* Counts a server that has no row here yet against the sender's daily allowance
 * of such servers (a token bucket, new_domains.h), because each new server
 * costs rows and lookups.  Returns false, with a refusal in ${u}->refusal, if
 * the allowance is used up. */
static bool
may_meet(struct txn_env *env, struct send_unit *u)
{
	int wait_s;

	if (new_domains_take(
		env->new_domains, u->sender_id, env->seen_mono_ms, &wait_s))
		return (true);
	refusal_set(&u->refusal, PROBLEM_QUOTA_USED, "/to",
	    "you have written to %lld servers that were new here, the most "
	    "that a user may in a day; write to people of servers that are "
	    "known here, or wait (the operator sets it: "
	    "federation-new-domains)",
	    (long long)env->options.new_domains_most);
	u->refusal.retry_after_s = wait_s;
	metrics_add(env->options.metrics, METRIC_SENDS_OVER_QUOTA, 1);
	return (false);
}

/* Sets *ret_ok to whether the limits allow a message to ${u}->to, a user of
 * another server who has no row here: has_room(), and, if that server has no
 * row either, may_meet().  If they do not, also sets ${u}->refusal.  If the
 * result is not RC_OK, *ret_ok is unchanged. */
static enum rc
accept_stranger(
    struct tx *tx, struct send_unit *u, bool *ret_ok, struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	struct store_destination_row row;
	enum rc rc;

	rc = store_destination_by_name(
	    tx->db, strchr(u->to, '@') + 1, &row, err);
	if (rc == RC_OK)
		*ret_ok = has_room(env, u, false, row.destination_id);
	/* A new destination has no id (-1) and no waiting messages. */
	if (rc == RC_NOT_FOUND)
		*ret_ok = has_room(env, u, false, -1) && may_meet(env, u);
	return (rc == RC_NOT_FOUND ? RC_OK : rc);
}

/* Finds or adds a recipient on another server and the conversation. */
static enum rc
resolve_remote(struct tx *tx, struct send_unit *u, struct cached_user *from,
    struct cached_user **ret_to, struct cached_conversation **ret_c,
    struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	bool ok = false;
	enum rc rc;

	rc = cache_user_remote_find(env->cache, tx, u->to, ret_to, err);
	if (rc == RC_OK)
		ok = has_room_between(env, u, from, *ret_to);
	if (rc == RC_NOT_FOUND)
		rc = accept_stranger(tx, u, &ok, err);
	if (rc != RC_OK || !ok)
		return (rc);
	rc = cache_user_remote(env->cache, tx, u->to, ret_to, err);
	return (rc == RC_OK
		    ? cache_direct(env->cache, tx, from, *ret_to, ret_c, err)
		    : rc);
}

/* Finds a recipient on this server by name, and finds or adds the
 * conversation. */
static enum rc
resolve_local(struct tx *tx, struct send_unit *u, struct cached_user *from,
    struct cached_user **ret_to, struct cached_conversation **ret_c,
    struct err *err)
{
	struct cache *cache = txn_env_of(tx)->cache;
	enum rc rc;

	rc = cache_user_by_name(cache, tx, u->to, strlen(u->to), ret_to, err);
	if (rc == RC_NOT_FOUND || (rc == RC_OK && (*ret_to)->disabled)) {
		refusal_set(&u->refusal, PROBLEM_UNKNOWN_RECIPIENT, "/to",
		    "there is no user \"%s\" here", u->to);
		return (RC_OK);
	}
	if (rc == RC_OK && has_room_between(txn_env_of(tx), u, from, *ret_to))
		rc = cache_direct(cache, tx, from, *ret_to, ret_c, err);
	return (rc);
}

enum rc
send_resolve(struct tx *tx, struct send_unit *u, struct cached_user **ret_from,
    struct cached_user **ret_to, struct cached_conversation **ret_c,
    struct err *err)
{
	struct cache *cache = txn_env_of(tx)->cache;
	struct cached_member *other;
	enum rc rc;

	*ret_c = NULL;
	rc = cache_user_by_id(cache, tx, u->sender_id, ret_from, err);
	if (rc == RC_OK && u->to[0] != '\0')
		return (
		    strchr(u->to, '@') != NULL
			? resolve_remote(tx, u, *ret_from, ret_to, ret_c, err)
			: resolve_local(tx, u, *ret_from, ret_to, ret_c, err));
	if (rc == RC_OK)
		rc = cache_conversation_by_public(
		    cache, tx, &u->draft->conversation, ret_c, err);
	if (rc == RC_NOT_FOUND ||
	    (rc == RC_OK && cache_member_find(*ret_c, u->sender_id) == NULL)) {
		*ret_c = NULL;
		refusal_set(&u->refusal, PROBLEM_UNKNOWN_RECIPIENT,
		    "/conversation", "you are in no such conversation");
		return (RC_OK);
	}
	if (rc != RC_OK)
		return (rc);
	other = cache_member_other(*ret_c, u->sender_id);
	if (other == NULL)
		return (err_set(err, RC_INTERNAL, "a group without routes"));
	if (other->user->disabled) {
		*ret_c = NULL;
		refusal_set(&u->refusal, PROBLEM_UNKNOWN_RECIPIENT,
		    "/conversation", "the other one is here no more");
		return (RC_OK);
	}
	*ret_to = other->user;
	if (!has_room_between(txn_env_of(tx), u, *ret_from, *ret_to))
		*ret_c = NULL;
	return (RC_OK);
}
