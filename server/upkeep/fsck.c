/* SPDX-License-Identifier: MIT */
/*
 * fsck: the checks of check.h, and a walk along the digest chains.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "upkeep/fsck.h"

static const char changed[] =
    "not what was accepted: its digest does not follow from the one before";

struct walk {
	check_found_fn found;
	void *arg;
	struct fsck_report *report;
	int64_t conversation;
	uint8_t digest[DIGEST_LEN]; /* of the previous message */
	int broken;
};

static void
count(void *arg, const char *what, const char *place)
{
	struct walk *w = arg;

	w->report->violations++;
	w->found(w->arg, what, place);
}

bool
fsck_link_holds(const struct check_link *link, const uint8_t before[DIGEST_LEN])
{
	uint8_t body[DIGEST_LEN], expected[DIGEST_LEN];

	if (link->digest_len != DIGEST_LEN)
		return (false);
	/* An erased message has no text left to hash, so its stored digest
	 * counts as right here.  If that digest is wrong, the check of the next
	 * message fails, unless that one is erased, too. */
	if (link->salt == NULL && link->body == NULL)
		return (true);
	if (link->salt_len != DIGEST_SALT_LEN || link->body == NULL)
		return (false);
	memcpy(expected, before, DIGEST_LEN);
	digest_body(link->salt, link->body, link->body_len, body);
	digest_next(
	    expected, link->conversation_seq, &link->id, link->sender, body);
	return (memcmp(expected, link->digest, DIGEST_LEN) == 0);
}

static enum rc
on_link(void *arg, const struct check_link *link, struct err *err)
{
	struct walk *w = arg;
	char place[96];

	(void)err;
	w->report->links++;
	if (link->conversation_id != w->conversation) {
		w->conversation = link->conversation_id;
		memset(w->digest, 0, sizeof(w->digest));
	}
	if (!fsck_link_holds(link, w->digest) && w->broken++ < FSCK_PLACES) {
		(void)snprintf(place, sizeof(place),
		    "message %" PRId64 " of conversation %" PRId64,
		    link->conversation_seq, link->conversation_id);
		count(w, changed, place);
	}
	/* Go on with the stored digest of this message, even if it is wrong, so
	 * that after a changed message not all later ones are reported, too.
	 * (If the stored digest itself was changed, the next message is
	 * reported, too.) */
	if (link->digest_len == DIGEST_LEN)
		memcpy(w->digest, link->digest, DIGEST_LEN);
	return (RC_OK);
}

static enum rc
look(struct db *db, struct walk *w, struct err *err)
{
	enum rc rc;

	rc = check_run(db, FSCK_PLACES, count, w, &w->report->kinds, err);
	if (rc == RC_OK)
		rc = check_links(db, on_link, w, err);
	w->report->kinds++;
	if (rc == RC_OK)
		rc = check_census(db, &w->report->census, err);
	return (rc);
}

static enum rc
look_at_schema(struct db *db, struct walk *w, struct err *err)
{

	w->report->kinds++;
	return (check_schema_run(db, FSCK_PLACES, count, w, err));
}

/* Runs ${what} in one snapshot: a transaction that is begun here and rolled
 * back at the end.  If ${what} fails with RC_CORRUPT, because the file is
 * damaged and rows cannot be read, reports this as one violation and returns
 * RC_OK; the rest of ${what} is not run. */
static enum rc
run(struct db *db, enum rc (*what)(struct db *, struct walk *, struct err *),
    struct walk *w, struct err *err)
{
	enum rc rc;

	if ((rc = db_begin(db, err)) != RC_OK)
		return (rc);
	rc = what(db, w, err);
	db_rollback(db);
	if (rc == RC_CORRUPT) {
		count(w, "the file is damaged", err->text);
		*err = (struct err)ERR_INIT;
		rc = RC_OK;
	}
	return (rc);
}

enum rc
fsck_run(struct db *db, check_found_fn found, void *arg,
    struct fsck_report *ret, struct err *err)
{
	struct walk w = {.found = found, .arg = arg, .report = ret};

	memset(ret, 0, sizeof(*ret));
	return (run(db, look, &w, err));
}

enum rc
fsck_schema(struct db *db, check_found_fn found, void *arg,
    struct fsck_report *report, struct err *err)
{
	struct walk w = {.found = found, .arg = arg, .report = report};

	return (run(db, look_at_schema, &w, err));
}
