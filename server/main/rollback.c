/* SPDX-License-Identifier: MIT */
/*
 * Checks that an SQLite database is the one that was served last, by the file
 * DATA/mark, which has the epoch of that database (the name of its history) and
 * the id of the newest outbox row that the database had when the mark was
 * written.  An older database that was put in place by hand would use numbers
 * again that clients have seen already.  The start refuses such a database, and
 * one that is empty or of another epoch, and does not change the refused
 * database.  With --accept-rollback the start goes on with the content that is
 * there, and gives the database a new epoch.  A missing mark is accepted.
 *
 * A damaged mark proves nothing about the database, which is sound in most
 * cases.  So the start goes on, but with a new epoch: clients load their inbox
 * again, and cannot mistake a number that is used again for one that they have
 * seen.  Beside a damaged mark, too, an empty database is refused unless
 * --accept-rollback is given.
 */
#include <stdio.h>

#include "log/log.h"
#include "main/main_internal.h"
#include "upkeep/position.h"
#include "upkeep/preflight.h"

#define CURE                                                                   \
	"put back the right one, or start once with --accept-rollback, which " \
	"gives this one another epoch"

/* Reads the position of ${db}.  The epoch of an empty database is "". */
static enum rc
read_state(struct db *db, struct position *ret, struct err *err)
{
	struct preflight before;
	enum rc rc;

	rc = preflight_get(db, &before, err);
	if (rc != RC_OK)
		return (rc);
	(void)snprintf(ret->epoch, sizeof(ret->epoch), "%.*s",
	    POSITION_EPOCH_LEN, before.epoch);
	ret->number = before.last_id;
	return (RC_OK);
}

static enum rc
refuse(const struct position *mark, const struct position *db, struct err *err)
{

	if (db->epoch[0] == '\0')
		return (err_set(err, RC_INVALID,
		    "the database is empty, but DATA/mark knows one with outbox "
		    "row %lld: " CURE,
		    (long long)mark->number));
	if (position_compare(mark, db) == POSITION_OTHER_EPOCH)
		return (err_set(err, RC_INVALID,
		    "the database is of epoch %.8s, but DATA/mark is of %.8s: it "
		    "was put in place by hand; " CURE,
		    db->epoch, mark->epoch));
	return (err_set(err, RC_INVALID,
	    "the database ends with outbox row %lld, but DATA/mark knows row "
	    "%lld: it is an older copy; " CURE,
	    (long long)db->number, (long long)mark->number));
}

enum rc
rollback_check(const struct data *data, struct db *db, bool accept,
    bool *ret_rollback, struct err *err)
{
	struct position mark, state;
	bool empty, damaged;
	enum rc rc;

	*ret_rollback = false;
	if ((rc = read_state(db, &state, err)) != RC_OK)
		return (rc);
	empty = state.epoch[0] == '\0';
	rc = position_read(data->dir_fd, &mark, err);
	if (rc == RC_NOT_FOUND) {
		/* Early versions of twinbox wrote no mark, so a missing mark is
		 * not refused. */
		if (!empty)
			log_event(LOG_EV_MARK_MADE, "dir=%s", data->dir);
		return (RC_OK);
	}
	if (rc == RC_OK && position_compare(&mark, &state) == POSITION_FITS)
		return (RC_OK);
	/* Without ${accept} refuse a start whose mark cannot be opened or read,
	 * instead of treating the mark as damaged: the operator can repair the
	 * cause, and the server would overwrite the mark. */
	damaged = rc == RC_INVALID && !empty;
	if (rc == RC_OK)
		rc = refuse(&mark, &state, err);
	else if (rc == RC_INVALID && empty)
		rc = err_set(err, RC_INVALID,
		    "the database is empty, but there is a damaged DATA/mark: " CURE);
	if (!damaged && !accept)
		return (rc);
	log_error_bare(LOG_EV_MARK_ROLLBACK, err);
	*err = (struct err)ERR_INIT;
	*ret_rollback = true;
	return (RC_OK);
}

enum rc
rollback_set_position(const struct data *data, struct db *db, struct err *err)
{
	struct position state;
	enum rc rc;

	rc = read_state(db, &state, err);
	return (rc == RC_OK ? position_write(data->dir_fd, &state, err) : rc);
}
