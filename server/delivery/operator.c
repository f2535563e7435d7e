/* SPDX-License-Identifier: MIT */
/*
 * See operator.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "delivery/dead_letter.h"
#include "delivery/destination.h"
#include "delivery/operator.h"
#include "store/account.h"
#include "store/audit.h"
#include "store/dead_letter.h"
#include "store/message.h"
#include "txn/lockset.h"
#include "txn/verb.h"

/* Maximum number of outbox rows of one message. */
#define ROWS_MAX 256
#define DETAIL_SIZE 1025

typedef enum rc (*row_fn)(struct tx *tx, int64_t outbox_id, const char *by,
    struct refusal *ret, struct err *err);

static enum rc
audit(struct tx *tx, const struct operator_unit *u, const char *action,
    const struct uuid *message, const char *detail, struct err *err)
{
	char object[UUID_TEXT_LEN + 1];
	const struct store_audit audit = {u->by, action, object, detail};

	uuid_format(message, object);
	return (store_audit_insert(tx->db, &audit, tx->now_ms, err));
}

/* ---- messages ---- */

static enum rc
found_own(void *arg, const struct store_entry *e, struct err *err)
{

	(void)arg;
	(void)e;
	(void)err;
	return (RC_OK);
}

/* Sets the refusal of ${u}, whose message has no outbox rows.  The refusal says
 * which case it is: the message is settled for all recipients and its rows are
 * purged, it came from another server and never had any, or there is no such
 * message. */
static enum rc
refuse_without_rows(struct tx *tx, struct operator_unit *u, struct err *err)
{
	struct store_message_key key;
	struct store_user sender;
	enum rc rc;

	rc = store_message_key(tx->db, &u->message, &key, err);
	if (rc == RC_OK)
		rc = store_user_by_id(tx->db, key.sender_id, &sender, err);
	if (rc == RC_OK)
		refusal_set(&u->refusal, PROBLEM_CONFLICT, "",
		    "%s: there is nothing to %s",
		    sender.destination_id != 0
			? "it came from another server, which has its outbox "
			  "rows"
			: "everybody has it, and its outbox rows are purged",
		    u->op == OPERATOR_DISCARD ? "give up" : "try again");
	else if (rc == RC_NOT_FOUND)
		refusal_set(&u->refusal, PROBLEM_NOT_FOUND, "",
		    "there is no such message");
	return (rc == RC_NOT_FOUND ? RC_OK : rc);
}

/* Applies ${each} to all outbox rows of the message of ${u}, and counts in
 * u->done those that ${each} does not refuse.  If ${each} refuses all rows,
 * u->refusal is that of the row that was tried first.  If it refuses only some,
 * u->refusal stays empty.  A message without rows is refused. */
static enum rc
each_row(struct tx *tx, struct operator_unit *u, row_fn each, struct err *err)
{
	struct refusal r;
	int64_t ids[ROWS_MAX];
	size_t i, n;
	enum rc rc;

	rc = store_message_rows(tx->db, &u->message, ids, ROWS_MAX, &n, err);
	for (i = 0; i < n && rc == RC_OK; i++) {
		r = (struct refusal)REFUSAL_INIT;
		rc = each(tx, ids[i], u->by, &r, err);
		if (r.problem == PROBLEM_NONE)
			u->done++;
		else if (u->refusal.problem == PROBLEM_NONE)
			u->refusal = r;
	}
	if (rc != RC_OK)
		return (rc);
	if (n == 0)
		return (refuse_without_rows(tx, u, err));
	if (u->done > 0)
		u->refusal = (struct refusal)REFUSAL_INIT;
	return (RC_OK);
}

static enum rc
do_message(struct tx *tx, struct operator_unit *u, struct err *err)
{
	char detail[64];
	bool discard = u->op == OPERATOR_DISCARD;
	enum rc rc;

	rc = each_row(
	    tx, u, discard ? dead_letter_discard : dead_letter_retry, err);
	if (rc != RC_OK || u->done == 0)
		return (rc);
	(void)snprintf(
	    detail, sizeof(detail), "for %zu of its recipients", u->done);
	return (audit(
	    tx, u, discard ? "discard" : "retry", &u->message, detail, err));
}

/* Retries one outbox row for the sender of its message.  A failed or expired
 * row would count as a waiting message of the sender again.  So the retry of
 * such a row is refused in ${ret} if the sender has the maximum number of
 * waiting messages already (txn_sender_has_room()). */
static enum rc
retry_own(struct tx *tx, int64_t outbox_id, const char *by, struct refusal *ret,
    struct err *err)
{
	struct store_row row;
	enum rc rc;

	rc = store_row_get(tx->db, outbox_id, &row, err);
	if (rc == RC_OK &&
	    (row.state == OUTBOX_FAILED || row.state == OUTBOX_EXPIRED) &&
	    !txn_sender_has_room(txn_env_of(tx), row.sender_id, ret))
		return (RC_OK);
	return (rc == RC_OK || rc == RC_NOT_FOUND
		    ? dead_letter_retry(tx, outbox_id, by, ret, err)
		    : rc);
}

/* A retry by the sender is not in the audit log. */
static enum rc
do_own_retry(struct tx *tx, struct operator_unit *u, struct err *err)
{
	enum rc rc;

	rc = store_entry_get(
	    tx->db, u->sender_id, &u->message, found_own, NULL, err);
	if (rc == RC_NOT_FOUND) {
		refusal_set(&u->refusal, PROBLEM_NOT_FOUND, "",
		    "you have sent no such message");
		return (RC_OK);
	}
	if (rc != RC_OK)
		return (rc);
	return (each_row(tx, u, retry_own, err));
}

/* ---- dead letters ---- */

/* Reads dead letter ${dead_id}; RC_NOT_FOUND: there is none.  If the dead
 * letter is open and the database is a multi-writer one, locks the conversation
 * of the message and then reads the dead letter again, because another node may
 * have resolved it before the lock. */
static enum rc
find_letter(struct tx *tx, int64_t dead_id, struct store_dead_letter *ret,
    struct err *err)
{
	enum rc rc;

	rc = store_dead_letter_get(tx->db, dead_id, ret, err);
	if (rc != RC_OK || !ret->open || !db_multi_writer(tx->db))
		return (rc);
	rc = dead_letter_lock(tx, ret->outbox_id, err);
	return (rc == RC_OK ? store_dead_letter_get(tx->db, dead_id, ret, err)
			    : rc);
}

static enum rc
do_dead_letter(struct tx *tx, struct operator_unit *u,
    struct operator_dead_letter *letter, struct err *err)
{
	bool discard = u->op == OPERATOR_DISCARD_DEAD_LETTERS;
	char detail[DETAIL_SIZE];
	struct store_dead_letter about;
	struct refusal r = REFUSAL_INIT;
	enum rc rc;

	letter->refused = false;
	rc = find_letter(tx, letter->dead_id, &about, err);
	if (rc == RC_NOT_FOUND) {
		refusal_set(
		    &r, PROBLEM_NOT_FOUND, "", "there is no such dead letter");
		rc = RC_OK;
	} else if (rc == RC_OK && !about.open) {
		refusal_set(&r, PROBLEM_CONFLICT, "", "it is resolved already");
	} else if (rc == RC_OK) {
		rc = (discard ? dead_letter_discard : dead_letter_requeue)(
		    tx, about.outbox_id, u->by, &r, err);
	}
	if (rc != RC_OK)
		return (rc);
	if (r.problem != PROBLEM_NONE) {
		letter->refused = true;
		memcpy(letter->detail, r.detail, sizeof(letter->detail));
		return (RC_OK);
	}
	u->done++;
	(void)snprintf(detail, sizeof(detail), "dead letter %" PRId64 " to %s",
	    letter->dead_id, about.to);
	return (audit(tx, u, discard ? "discard" : "requeue", &about.message_id,
	    detail, err));
}

static enum rc
do_letters(struct tx *tx, struct operator_unit *u, struct err *err)
{
	size_t i;
	enum rc rc = RC_OK;

	for (i = 0; i < u->ndead_letters && rc == RC_OK; i++)
		rc = do_dead_letter(tx, u, &u->dead_letters[i], err);
	return (rc);
}

/* ---- the unit ---- */

static enum rc
operator_one(struct tx *tx, struct operator_unit *u, struct err *err)
{

	u->refusal = (struct refusal)REFUSAL_INIT;
	u->done = 0;
	switch (u->op) {
	case OPERATOR_OWN_RETRY:
		return (do_own_retry(tx, u, err));
	case OPERATOR_RETRY:
	case OPERATOR_DISCARD:
		return (do_message(tx, u, err));
	case OPERATOR_REQUEUE_DEAD_LETTERS:
	case OPERATOR_DISCARD_DEAD_LETTERS:
		return (do_letters(tx, u, err));
	/* These functions write to the audit log themselves. */
	case OPERATOR_PAUSE:
		return (destination_pause(tx, u->name, u->by,
		    u->reason[0] != '\0' ? u->reason : NULL, &u->refusal, err));
	case OPERATOR_RESUME:
		return (
		    destination_resume(tx, u->name, u->by, &u->refusal, err));
	case OPERATOR_RATE:
		return (destination_rate(
		    tx, u->name, u->number, u->by, &u->refusal, err));
	case OPERATOR_REWIND:
	default:
		return (destination_rewind_lane(
		    tx, u->lane_id, u->number, u->by, &u->refusal, err));
	}
}

static enum rc
operator_apply(struct tx *tx, struct unit *unit, struct err *err)
{

	return (operator_one(
	    tx, CONTAINER_OF(unit, struct operator_unit, unit), err));
}

static enum rc
operator_locks(struct unit *unit, struct lockset *set, struct err *err)
{
	const struct operator_unit *u =
	    CONTAINER_OF(unit, struct operator_unit, unit);
	enum rc rc = RC_OK;
	size_t i;

	switch (u->op) {
	case OPERATOR_OWN_RETRY:
	case OPERATOR_RETRY:
	case OPERATOR_DISCARD:
		return (lockset_message(set, &u->message, err));
	case OPERATOR_REQUEUE_DEAD_LETTERS:
	case OPERATOR_DISCARD_DEAD_LETTERS:
		for (i = 0; i < u->ndead_letters && rc == RC_OK; i++)
			rc = lockset_dead_letter(
			    set, u->dead_letters[i].dead_id, err);
		return (rc);
	case OPERATOR_REWIND:
		return (lockset_lane(set, u->lane_id, err));
	case OPERATOR_PAUSE:
	case OPERATOR_RESUME:
	case OPERATOR_RATE:
	default:
		return (RC_OK);
	}
}

UNIT_KIND(operator, operator_locks, .queue = UNIT_CLIENT,
    .order = ORDER_OPERATOR, .apply_one = operator_apply, .any_order = true);

void
operator_unit_init(struct operator_unit *u, enum operator_op op, const char *by)
{

	memset(u, 0, sizeof(*u));
	u->unit.kind = &operator_kind;
	u->unit.bytes = sizeof(*u);
	u->op = op;
	(void)snprintf(u->by, sizeof(u->by), "%s", by);
	u->refusal = (struct refusal)REFUSAL_INIT;
}
