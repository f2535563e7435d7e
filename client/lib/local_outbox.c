/* SPDX-License-Identifier: MIT */
/*
 * The client's outbox: drafts that wait for the server, and those that it has
 * answered or refused.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "lib/dump.h"
#include "lib/local_internal.h"

/* Steps ${s}, which has the columns of OUTBOX_NEXT, reads its row into ${ret},
 * and resets ${s}; a NULL ${s} is a failure.  Returns RC_NOT_FOUND if there is
 * no row, and RC_CORRUPT, with the other members of ${ret} set, if the draft's
 * request is damaged. */
static enum rc
read_draft(struct local *local, sqlite3_stmt *s, struct local_draft *ret,
    struct fail *fail)
{
	int code = s == NULL ? SQLITE_ERROR : sqlite3_step(s);
	enum rc rc = RC_NOT_FOUND;

	if (code == SQLITE_ROW) {
		memset(ret, 0, sizeof(*ret));
		ret->row = sqlite3_column_int64(s, 0);
		local_column_copy(s, 1, ret->ref, sizeof(ret->ref));
		local_column_copy(s, 2, ret->key, sizeof(ret->key));
		local_column_copy(s, 3, ret->recipient, sizeof(ret->recipient));
		rc = local_column_json(s, 4, &ret->request, fail);
		ret->created_at = sqlite3_column_int64(s, 5);
		ret->attempts = sqlite3_column_int(s, 6);
		local_column_copy(
		    s, 7, ret->last_error, sizeof(ret->last_error));
		local_column_copy(s, 8, ret->state, sizeof(ret->state));
		if (rc == RC_PEER) {
			(void)fail_set(fail, FAIL_INPUT_OUTPUT,
			    "%.150s: a damaged draft", local->path);
			rc = fail->rc = RC_CORRUPT;
		}
	} else if (code != SQLITE_DONE)
		rc = local_failed(local, fail);
	if (s != NULL)
		(void)sqlite3_reset(s);
	return (rc);
}

enum rc
local_outbox_find(struct local *local, const char *ref, struct local_draft *ret,
    struct fail *fail)
{

	return (read_draft(local,
	    local_bound(local, LOCAL_OUTBOX_FIND, ref, NULL, NULL), ret, fail));
}

enum rc
local_outbox_next(struct local *local, int64_t row, struct local_draft *ret,
    struct fail *fail)
{
	sqlite3_stmt *s = local_statement(local, LOCAL_OUTBOX_NEXT);

	if (s != NULL)
		(void)sqlite3_bind_int64(s, 1, row);
	return (read_draft(local, s, ret, fail));
}

void
local_draft_fini(struct local_draft *draft)
{

	json_decref(draft->request);
	draft->request = NULL;
}

/* Handles a ${draft} whose ref is stored already, in any state, in the caller's
 * transaction.  If the stored request is equal, marks the stored draft as
 * waiting.  Returns RC_EXISTS if the stored request differs, and RC_CORRUPT if
 * it is damaged. */
static enum rc
wait_again(
    struct local *local, const struct local_draft *draft, struct fail *fail)
{
	struct local_draft old;
	bool same;
	enum rc rc;

	rc = local_outbox_find(local, draft->ref, &old, fail);
	if (rc != RC_OK)
		return (rc);
	same = json_equal(old.request, draft->request);
	local_draft_fini(&old);
	if (!same)
		return (RC_EXISTS);
	return (local_run(local,
	    local_bound(
		local, LOCAL_OUTBOX_SETTLE, draft->ref, "waiting", NULL),
	    fail));
}

enum rc
local_outbox_add(
    struct local *local, const struct local_draft *draft, struct fail *fail)
{
	char *text = dump_json(draft->request, JSON_COMPACT, NULL);
	sqlite3_stmt *s;
	enum rc rc;

	if (text == NULL)
		return (fail_set(fail, FAIL_MEMORY, "out of memory"));
	rc = local_begin(local, fail);
	if (rc == RC_OK) {
		s = local_bound(local, LOCAL_OUTBOX_ADD, draft->ref,
		    draft->key[0] != '\0' ? draft->key : NULL,
		    draft->recipient);
		if (s != NULL) {
			(void)sqlite3_bind_text(s, 4, text, -1, SQLITE_STATIC);
			(void)sqlite3_bind_int64(s, 5, draft->created_at);
		}
		rc = local_run(local, s, fail);
		if (rc == RC_OK && sqlite3_changes(local->db) == 0)
			rc = wait_again(local, draft, fail);
		rc = local_finish(local, rc, fail);
	}
	mem_free(text);
	return (rc);
}

/* Runs one statement with up to three texts in its own transaction. */
static enum rc
write_one(struct local *local, enum local_sql which, const char *const text[3],
    struct fail *fail)
{
	enum rc rc = local_begin(local, fail);

	if (rc != RC_OK)
		return (rc);
	rc = local_run(
	    local, local_bound(local, which, text[0], text[1], text[2]), fail);
	return (local_finish(local, rc, fail));
}

enum rc
local_outbox_tried(
    struct local *local, const char *ref, const char *error, struct fail *fail)
{

	return (write_one(local, LOCAL_OUTBOX_TRIED,
	    (const char *const[3]){ref, error, NULL}, fail));
}

enum rc
local_outbox_answered(struct local *local, const char *ref, struct fail *fail)
{

	return (write_one(local, LOCAL_OUTBOX_SETTLE,
	    (const char *const[3]){ref, "answered", NULL}, fail));
}

enum rc
local_outbox_refused(
    struct local *local, const char *ref, const char *error, struct fail *fail)
{

	return (write_one(local, LOCAL_OUTBOX_SETTLE,
	    (const char *const[3]){ref, "refused", error}, fail));
}

enum rc
local_outbox_again(struct local *local, const char *ref, struct fail *fail)
{

	return (write_one(local, LOCAL_OUTBOX_SETTLE,
	    (const char *const[3]){ref, "waiting", NULL}, fail));
}

enum rc
local_outbox_remove(struct local *local, const char *ref, struct fail *fail)
{

	return (write_one(local, LOCAL_OUTBOX_REMOVE,
	    (const char *const[3]){ref, NULL, NULL}, fail));
}
