/* SPDX-License-Identifier: MIT */
/*
 * The client's database: the events that the client has shown, the cursors
 * (each the position in the inbox up to which events were shown, with the epoch
 * to which the position belongs), and the server's present epoch.
 */
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "base/uuid.h"
#include "lib/dump.h"
#include "lib/local_internal.h"

enum rc
local_cursor_get(struct local *local, const char *name,
    char ret_epoch[LOCAL_EPOCH_SIZE], int64_t *ret_seq, struct fail *fail)
{
	sqlite3_stmt *s =
	    local_bound(local, LOCAL_CURSOR_GET, name, NULL, NULL);
	int code = s == NULL ? SQLITE_ERROR : sqlite3_step(s);
	enum rc rc = RC_OK;

	if (code == SQLITE_ROW) {
		local_column_copy(s, 0, ret_epoch, LOCAL_EPOCH_SIZE);
		*ret_seq = sqlite3_column_int64(s, 1);
	} else if (code == SQLITE_DONE) {
		ret_epoch[0] = '\0';
		*ret_seq = -1;
	} else
		rc = local_failed(local, fail);
	if (s != NULL)
		(void)sqlite3_reset(s);
	return (rc);
}

#define EVENT_KEY_SIZE (UUID_TEXT_LEN + 1 + LIMIT_DOMAIN_LEN + 1)

/* Writes the key of ${event} into ${ret}: its event_id, followed by "@domain"
 * if the address in its member "from" (or, without "from", in "by") has a
 * domain, because then another server made the event.  An event_id is unique
 * only within one server: two servers may use the same event_id, and without
 * the domain the second of the two events would not be stored.  Returns false
 * if the event has no event_id. */
static bool
event_key(const json_t *event, char ret[EVENT_KEY_SIZE])
{
	const char *id = json_string_value(json_object_get(event, "event_id"));
	const char *who = json_string_value(json_object_get(event, "from"));
	const char *at;

	if (id == NULL)
		return (false);
	if (who == NULL)
		who = json_string_value(json_object_get(event, "by"));
	at = who != NULL ? strchr(who, '@') : NULL;
	(void)snprintf(ret, EVENT_KEY_SIZE, "%.*s%s", UUID_TEXT_LEN, id,
	    at != NULL ? at : "");
	return (true);
}

/* Stores one shown event.  The caller has begun a transaction. */
static enum rc
add_event(struct local *local, const json_t *event, struct fail *fail)
{
	const char *conversation =
	    json_string_value(json_object_get(event, "conversation"));
	char key[EVENT_KEY_SIZE], *text;
	enum rc rc;

	if (!event_key(event, key))
		return (RC_OK);
	text = dump_json(event, JSON_COMPACT, NULL);
	if (text == NULL)
		return (fail_set(fail, FAIL_MEMORY, "out of memory"));
	rc = local_run(local,
	    local_bound(local, LOCAL_EVENT_ADD, key, conversation, text), fail);
	mem_free(text);
	return (rc);
}

enum rc
local_shown(struct local *local, const json_t *events, const char *name,
    const char *epoch, int64_t seq, struct fail *fail)
{
	sqlite3_stmt *s;
	size_t i;
	enum rc rc;

	rc = local_begin(local, fail);
	if (rc != RC_OK)
		return (rc);
	for (i = 0; i < json_array_size(events) && rc == RC_OK; i++)
		rc = add_event(local, json_array_get(events, i), fail);
	if (rc == RC_OK && name != NULL) {
		s = local_bound(local, LOCAL_CURSOR_SET, name, epoch, NULL);
		if (s != NULL)
			(void)sqlite3_bind_int64(s, 3, seq);
		rc = local_run(local, s, fail);
	}
	return (local_finish(local, rc, fail));
}

bool
local_has_shown(struct local *local, const json_t *event)
{
	char key[EVENT_KEY_SIZE];
	sqlite3_stmt *s;
	bool has;

	if (!event_key(event, key))
		return (false);
	s = local_bound(local, LOCAL_EVENT_HAS, key, NULL, NULL);
	has = s != NULL && sqlite3_step(s) == SQLITE_ROW;
	if (s != NULL)
		(void)sqlite3_reset(s);
	return (has);
}

/* Stores ${epoch}, the name of the present history of the server's database,
 * which by the caller's check differs from the stored epoch.  Unless ${first}
 * is set (no epoch was stored before), the server may have been restored: then
 * also deletes all cursors and marks the answered drafts as waiting, so that
 * these drafts are sent again.  Does all this in one transaction. */
static enum rc
change_epoch(
    struct local *local, const char *epoch, bool first, struct fail *fail)
{
	enum rc rc = local_begin(local, fail);

	if (rc != RC_OK)
		return (rc);
	rc = local_run(local,
	    local_bound(local, LOCAL_META_SET, "epoch", epoch, NULL), fail);
	if (rc == RC_OK && !first)
		rc = local_run(
		    local, local_statement(local, LOCAL_CURSOR_RESET), fail);
	if (rc == RC_OK && !first)
		rc = local_run(
		    local, local_statement(local, LOCAL_OUTBOX_AGAIN), fail);
	return (local_finish(local, rc, fail));
}

enum rc
local_epoch_seen(struct local *local, const char *epoch, bool *ret_changed,
    struct fail *fail)
{
	sqlite3_stmt *s =
	    local_bound(local, LOCAL_META_GET, "epoch", NULL, NULL);
	char stored[LOCAL_EPOCH_SIZE] = "";
	int code = s == NULL ? SQLITE_ERROR : sqlite3_step(s);
	enum rc rc;

	if (code == SQLITE_ROW)
		local_column_copy(s, 0, stored, sizeof(stored));
	if (s != NULL)
		(void)sqlite3_reset(s);
	if (code != SQLITE_ROW && code != SQLITE_DONE)
		return (local_failed(local, fail));
	*ret_changed = false;
	if (strcmp(stored, epoch) == 0 || strlen(epoch) >= sizeof(stored))
		return (RC_OK);
	rc = change_epoch(local, epoch, stored[0] == '\0', fail);
	*ret_changed = rc == RC_OK && stored[0] != '\0';
	return (rc);
}

/* Concludes a query whose rows were read into ${array}; the caller resets the
 * statement.  ${code} is the last result of sqlite3_step(), and ${rc} the
 * result of handling the last row.  Returns ${rc}, or a failure if ${code} is
 * an error.  On RC_OK sets *ret to ${array}, else frees ${array} and does not
 * set *ret. */
static enum rc
conclude(struct local *local, json_t *array, int code, enum rc rc, json_t **ret,
    struct fail *fail)
{

	if (rc == RC_OK && code != SQLITE_ROW && code != SQLITE_DONE)
		rc = local_failed(local, fail);
	if (rc == RC_OK)
		*ret = array;
	else
		json_decref(array);
	return (rc);
}

enum rc
local_history(struct local *local,
    bool (*wanted)(const json_t *event, void *arg), void *arg, int limit,
    json_t **ret, struct fail *fail)
{
	sqlite3_stmt *s = local_statement(local, LOCAL_EVENT_RECENT);
	json_t *array, *event;
	enum rc rc = RC_OK;
	int code = SQLITE_ROW;

	if (s == NULL)
		return (local_failed(local, fail));
	array = json_array();
	if (array == NULL)
		return (fail_set(fail, FAIL_MEMORY, "out of memory"));
	while (rc == RC_OK && (int)json_array_size(array) < limit &&
	       (code = sqlite3_step(s)) == SQLITE_ROW) {
		rc = local_column_json(s, 0, &event, fail);
		if (rc == RC_OK && !wanted(event, arg))
			json_decref(event);
		else if (rc == RC_OK &&
			 json_array_insert_new(array, 0, event) != 0)
			rc = fail_set(fail, FAIL_MEMORY, "out of memory");
		else if (rc == RC_PEER)
			rc = RC_OK; /* skip a damaged row */
	}
	rc = conclude(local, array, code, rc, ret, fail);
	(void)sqlite3_reset(s);
	return (rc);
}

enum rc
local_names(struct local *local, json_t **ret, struct fail *fail)
{
	sqlite3_stmt *s = local_statement(local, LOCAL_NAMES);
	json_t *array;
	struct uuid conversation;
	const char *name;
	enum rc rc = RC_OK;
	int code = SQLITE_ROW;

	if (s == NULL)
		return (local_failed(local, fail));
	array = json_array();
	if (array == NULL)
		return (fail_set(fail, FAIL_MEMORY, "out of memory"));
	while (rc == RC_OK && (code = sqlite3_step(s)) == SQLITE_ROW) {
		name = (const char *)sqlite3_column_text(s, 0);
		/* Skip a recipient that is the id of a conversation: it is not
		 * the name of a user.  Skip a name that is not UTF-8, which a
		 * damaged database may have: json_string() would fail. */
		if (name != NULL && utf8_valid(name, strlen(name), NULL) &&
		    !uuid_parse(name, strlen(name), &conversation) &&
		    json_array_append_new(array, json_string(name)) != 0)
			rc = fail_set(fail, FAIL_MEMORY, "out of memory");
	}
	rc = conclude(local, array, code, rc, ret, fail);
	(void)sqlite3_reset(s);
	return (rc);
}
