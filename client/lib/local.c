/* SPDX-License-Identifier: MIT */
/*
 * The client's database.  This file owns the connection and the lock file
 * beside the database.
 *
 * A process holds an exclusive flock of the lock file during every transaction
 * that writes, every checkpoint (which a commit may trigger), opening and
 * closing.  SQLite before 3.51.3 can lose a commit when one connection
 * checkpoints while another one commits, and several processes of one account
 * use the same database at once.
 */
#include "lib/local.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/clk.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "base/uuid.h"
#include "lib/dump.h"
#include "lib/local_sql.h"
#include "lib/parse.h"

/* local_open() deletes answered and refused drafts that were created more than
 * 14 days ago, and all but the newest 20,000 events.  14 days is also the
 * default of the server's setting dedup-retention, the time for which a server
 * stores the ids of events that it has accepted from other servers. */
#define KEEP_DRAFTS_MS (14ll * 86400 * 1000)
#define KEEP_EVENTS 20000

struct local {
	sqlite3 *db;
	sqlite3_stmt *stmt[LOCAL_SQL_COUNT];
	int lock_fd;
	char path[256]; /* for failure texts; may be cut */
};

static const char *const sql_text[LOCAL_SQL_COUNT] = {
#define X(name, sql) [LOCAL_##name] = sql,
    LOCAL_SQL_TABLE(X)
#undef X
};

/* Fills ${fail} from the last error of SQLite.  Returns the rc. */
static enum rc
failed(const struct local *local, struct fail *fail)
{
	int code = sqlite3_errcode(local->db);

	if (code == SQLITE_NOMEM)
		return (fail_set(fail, FAIL_MEMORY, "out of memory"));
	(void)fail_set(fail, FAIL_INPUT_OUTPUT, "%.120s: %.100s", local->path,
	    sqlite3_errmsg(local->db));
	if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT)
		(void)fail_cure(fail, "move the file away; it is made again");
	return (fail->rc);
}

/* Returns statement ${which}, prepared and ready to be bound; NULL on
 * failure. */
static sqlite3_stmt *
statement(struct local *local, enum local_sql which)
{

	if (local->stmt[which] == NULL &&
	    sqlite3_prepare_v3(local->db, sql_text[which], -1,
		SQLITE_PREPARE_PERSISTENT, &local->stmt[which],
		NULL) != SQLITE_OK)
		return (NULL);
	return (local->stmt[which]);
}

/* Returns statement ${which} with the texts ${a}, ${b} and ${c} bound to
 * parameters 1 to 3 (NULL binds SQL NULL; texts beyond the last parameter of
 * the statement are ignored), or NULL on failure.  The texts must live until
 * the statement is reset. */
static sqlite3_stmt *
bound(struct local *local, enum local_sql which, const char *a, const char *b,
    const char *c)
{
	sqlite3_stmt *s = statement(local, which);
	const char *text[3] = {a, b, c};
	int i, n;

	if (s == NULL)
		return (NULL);
	n = sqlite3_bind_parameter_count(s);
	for (i = 0; i < 3 && i < n; i++) {
		if (text[i] == NULL)
			(void)sqlite3_bind_null(s, i + 1);
		else if (sqlite3_bind_text(
			     s, i + 1, text[i], -1, SQLITE_STATIC) != SQLITE_OK)
			return (NULL);
	}
	return (s);
}

/* Runs ${s} to its end and ignores the rows that a PRAGMA may return. */
static enum rc
run(struct local *local, sqlite3_stmt *s, struct fail *fail)
{
	int code;
	enum rc rc = RC_OK;

	if (s == NULL)
		return (failed(local, fail));
	do {
		code = sqlite3_step(s);
	} while (code == SQLITE_ROW);
	if (code != SQLITE_DONE)
		rc = failed(local, fail);
	(void)sqlite3_reset(s);
	return (rc);
}

/* Takes the lock that all processes share, then begins a transaction. */
static enum rc
begin(struct local *local, struct fail *fail)
{
	enum rc rc;

	while (flock(local->lock_fd, LOCK_EX) != 0) {
		if (errno != EINTR)
			return (fail_set(fail, FAIL_INPUT_OUTPUT,
			    "cannot lock %.150s: %s", local->path,
			    strerror(errno)));
	}
	rc = run(local, statement(local, LOCAL_BEGIN), fail);
	if (rc != RC_OK)
		(void)flock(local->lock_fd, LOCK_UN);
	return (rc);
}

/* Ends the transaction: commits if ${rc} is RC_OK; if it is not, or if the
 * commit fails, rolls back.  Releases the lock in every case.  Returns ${rc},
 * or the failure of the commit. */
static enum rc
finish(struct local *local, enum rc rc, struct fail *fail)
{
	struct fail ignored;

	if (rc == RC_OK)
		rc = run(local, statement(local, LOCAL_COMMIT), fail);
	if (!sqlite3_get_autocommit(local->db))
		(void)run(local, statement(local, LOCAL_ROLLBACK), &ignored);
	(void)flock(local->lock_fd, LOCK_UN);
	return (rc);
}

/* Returns the integer that statement ${which} selects, or -1. */
static int64_t
integer_of(struct local *local, enum local_sql which)
{
	sqlite3_stmt *s = statement(local, which);
	int64_t value = -1;

	if (s != NULL && sqlite3_step(s) == SQLITE_ROW)
		value = sqlite3_column_int64(s, 0);
	if (s != NULL)
		(void)sqlite3_reset(s);
	return (value);
}

/* In one transaction, creates the tables if the file has none, deletes answered
 * and refused drafts that are older than KEEP_DRAFTS_MS, and keeps at most the
 * newest KEEP_EVENTS events.  Fails if a newer twinbox has made the file. */
static enum rc
make_ready(struct local *local, struct fail *fail)
{
	sqlite3_stmt *s;
	int64_t version, old;
	enum rc rc;

	rc = begin(local, fail);
	if (rc != RC_OK)
		return (rc);
	version = integer_of(local, LOCAL_VERSION);
	if (version < 0 || integer_of(local, LOCAL_SYNCHRONOUS) != 2)
		rc = failed(local, fail);
	else if (version > LOCAL_SQL_VERSION) {
		rc = fail_set(fail, FAIL_CONFIG,
		    "%.150s was made by a newer twinbox", local->path);
		(void)fail_cure(fail, "use that one");
	} else if (version == 0 && sqlite3_exec(local->db, LOCAL_SQL_SCHEMA,
				       NULL, NULL, NULL) != SQLITE_OK)
		rc = failed(local, fail);
	old = clk_wall_ms(clk_system()) - KEEP_DRAFTS_MS;
	if (rc == RC_OK && (s = statement(local, LOCAL_OUTBOX_PURGE)) != NULL) {
		(void)sqlite3_bind_int64(s, 1, old);
		rc = run(local, s, fail);
	}
	if (rc == RC_OK && (s = statement(local, LOCAL_EVENT_PURGE)) != NULL) {
		(void)sqlite3_bind_int64(s, 1, KEEP_EVENTS);
		rc = run(local, s, fail);
	}
	return (finish(local, rc, fail));
}

/* Opens the lock file of the database at ${path}, creates the lock file if it
 * does not exist, and waits until this process has the exclusive lock.  The
 * name of the lock file is ${path} and ".lock".  Sets ${local}->lock_fd.  The
 * caller releases the lock. */
static enum rc
open_lock(struct local *local, const char *path, struct fail *fail)
{
	char lock_path[PATH_MAX + 8];

	(void)snprintf(lock_path, sizeof(lock_path), "%s.lock", path);
	local->lock_fd =
	    open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (local->lock_fd < 0 || flock(local->lock_fd, LOCK_EX) != 0)
		return (fail_set(fail, FAIL_CANNOT_CREATE,
		    "cannot lock %.150s: %s", lock_path, strerror(errno)));
	return (RC_OK);
}

enum rc
local_open(const char *path, struct local **ret, struct fail *fail)
{
	struct local *local = mem_zalloc(1, sizeof(*local));
	mode_t mask;
	int code;
	enum rc rc;

	if (local == NULL)
		return (fail_set(fail, FAIL_MEMORY, "out of memory"));
	local->lock_fd = -1;
	(void)snprintf(local->path, sizeof(local->path), "%.255s", path);
	rc = open_lock(local, path, fail);
	if (rc != RC_OK)
		goto undo_alloc;
	mask = umask(077);
	code = sqlite3_open_v2(path, &local->db,
	    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
	    NULL);
	if (code == SQLITE_OK)
		code =
		    sqlite3_exec(local->db, LOCAL_SQL_OPEN, NULL, NULL, NULL);
	(void)umask(mask);
	(void)flock(local->lock_fd, LOCK_UN);
	if (code != SQLITE_OK && local->db == NULL)
		rc = fail_set(fail, FAIL_MEMORY, "out of memory");
	else if (code == SQLITE_CANTOPEN)
		rc = fail_set(fail, FAIL_CANNOT_CREATE, "cannot open %.180s",
		    local->path);
	else if (code != SQLITE_OK)
		rc = failed(local, fail);
	else
		rc = make_ready(local, fail);
	if (rc != RC_OK)
		goto undo_alloc;
	*ret = local;
	return (RC_OK);

undo_alloc:
	local_close(local);
	return (rc);
}

void
local_close(struct local *local)
{
	int i;

	if (local == NULL)
		return;
	for (i = 0; i < LOCAL_SQL_COUNT; i++)
		(void)sqlite3_finalize(local->stmt[i]);
	/* Closing the last connection runs a checkpoint, so take the lock. */
	if (local->lock_fd >= 0)
		(void)flock(local->lock_fd, LOCK_EX);
	(void)sqlite3_close(local->db);
	if (local->lock_fd >= 0)
		(void)close(local->lock_fd);
	mem_free(local);
}

/* Copies text column ${i} of ${s} into ${ret}; SQL NULL becomes "". */
static void
column_copy(sqlite3_stmt *s, int i, char *ret, size_t size)
{
	const unsigned char *text = sqlite3_column_text(s, i);

	(void)snprintf(ret, size, "%s", text != NULL ? (const char *)text : "");
}

/* Parses the JSON in column ${i} of ${s} into *ret, which the caller decrefs,
 * with the limits that hold for a server's answers, because the file may be
 * damaged.  Returns RC_PEER, with *ret NULL, if the column is SQL NULL, is not
 * a JSON object or array, or exceeds these limits. */
static enum rc
column_json(sqlite3_stmt *s, int i, json_t **ret, struct fail *fail)
{
	const unsigned char *text = sqlite3_column_text(s, i);

	return (parse_json("a row", text != NULL ? (const char *)text : "",
	    (size_t)sqlite3_column_bytes(s, i), ret, fail));
}

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
		column_copy(s, 1, ret->ref, sizeof(ret->ref));
		column_copy(s, 2, ret->key, sizeof(ret->key));
		column_copy(s, 3, ret->recipient, sizeof(ret->recipient));
		rc = column_json(s, 4, &ret->request, fail);
		ret->created_at = sqlite3_column_int64(s, 5);
		ret->attempts = sqlite3_column_int(s, 6);
		column_copy(s, 7, ret->last_error, sizeof(ret->last_error));
		column_copy(s, 8, ret->state, sizeof(ret->state));
		if (rc == RC_PEER) {
			(void)fail_set(fail, FAIL_INPUT_OUTPUT,
			    "%.150s: a damaged draft", local->path);
			rc = fail->rc = RC_CORRUPT;
		}
	} else if (code != SQLITE_DONE)
		rc = failed(local, fail);
	if (s != NULL)
		(void)sqlite3_reset(s);
	return (rc);
}

enum rc
local_outbox_find(struct local *local, const char *ref, struct local_draft *ret,
    struct fail *fail)
{

	return (read_draft(local,
	    bound(local, LOCAL_OUTBOX_FIND, ref, NULL, NULL), ret, fail));
}

enum rc
local_outbox_next(struct local *local, int64_t row, struct local_draft *ret,
    struct fail *fail)
{
	sqlite3_stmt *s = statement(local, LOCAL_OUTBOX_NEXT);

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
 * waiting; otherwise returns RC_EXISTS. */
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
	return (run(local,
	    bound(local, LOCAL_OUTBOX_SETTLE, draft->ref, "waiting", NULL),
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
	rc = begin(local, fail);
	if (rc == RC_OK) {
		s = bound(local, LOCAL_OUTBOX_ADD, draft->ref,
		    draft->key[0] != '\0' ? draft->key : NULL,
		    draft->recipient);
		if (s != NULL) {
			(void)sqlite3_bind_text(s, 4, text, -1, SQLITE_STATIC);
			(void)sqlite3_bind_int64(s, 5, draft->created_at);
		}
		rc = run(local, s, fail);
		if (rc == RC_OK && sqlite3_changes(local->db) == 0)
			rc = wait_again(local, draft, fail);
		rc = finish(local, rc, fail);
	}
	mem_free(text);
	return (rc);
}

/* Runs one statement with up to three texts in its own transaction. */
static enum rc
write_one(struct local *local, enum local_sql which, const char *const text[3],
    struct fail *fail)
{
	enum rc rc = begin(local, fail);

	if (rc != RC_OK)
		return (rc);
	rc = run(local, bound(local, which, text[0], text[1], text[2]), fail);
	return (finish(local, rc, fail));
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

enum rc
local_cursor_get(struct local *local, const char *name,
    char ret_epoch[LOCAL_EPOCH_SIZE], int64_t *ret_seq, struct fail *fail)
{
	sqlite3_stmt *s = bound(local, LOCAL_CURSOR_GET, name, NULL, NULL);
	int code = s == NULL ? SQLITE_ERROR : sqlite3_step(s);
	enum rc rc = RC_OK;

	if (code == SQLITE_ROW) {
		column_copy(s, 0, ret_epoch, LOCAL_EPOCH_SIZE);
		*ret_seq = sqlite3_column_int64(s, 1);
	} else if (code == SQLITE_DONE) {
		ret_epoch[0] = '\0';
		*ret_seq = -1;
	} else
		rc = failed(local, fail);
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
	rc = run(local, bound(local, LOCAL_EVENT_ADD, key, conversation, text),
	    fail);
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

	rc = begin(local, fail);
	if (rc != RC_OK)
		return (rc);
	for (i = 0; i < json_array_size(events) && rc == RC_OK; i++)
		rc = add_event(local, json_array_get(events, i), fail);
	if (rc == RC_OK && name != NULL) {
		s = bound(local, LOCAL_CURSOR_SET, name, epoch, NULL);
		if (s != NULL)
			(void)sqlite3_bind_int64(s, 3, seq);
		rc = run(local, s, fail);
	}
	return (finish(local, rc, fail));
}

bool
local_has_shown(struct local *local, const json_t *event)
{
	char key[EVENT_KEY_SIZE];
	sqlite3_stmt *s;
	bool has;

	if (!event_key(event, key))
		return (false);
	s = bound(local, LOCAL_EVENT_HAS, key, NULL, NULL);
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
	enum rc rc = begin(local, fail);

	if (rc != RC_OK)
		return (rc);
	rc = run(
	    local, bound(local, LOCAL_META_SET, "epoch", epoch, NULL), fail);
	if (rc == RC_OK && !first)
		rc = run(local, statement(local, LOCAL_CURSOR_RESET), fail);
	if (rc == RC_OK && !first)
		rc = run(local, statement(local, LOCAL_OUTBOX_AGAIN), fail);
	return (finish(local, rc, fail));
}

enum rc
local_epoch_seen(struct local *local, const char *epoch, bool *ret_changed,
    struct fail *fail)
{
	sqlite3_stmt *s = bound(local, LOCAL_META_GET, "epoch", NULL, NULL);
	char stored[LOCAL_EPOCH_SIZE] = "";
	int code = s == NULL ? SQLITE_ERROR : sqlite3_step(s);
	enum rc rc;

	if (code == SQLITE_ROW)
		column_copy(s, 0, stored, sizeof(stored));
	if (s != NULL)
		(void)sqlite3_reset(s);
	if (code != SQLITE_ROW && code != SQLITE_DONE)
		return (failed(local, fail));
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
		rc = failed(local, fail);
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
	sqlite3_stmt *s = statement(local, LOCAL_EVENT_RECENT);
	json_t *array, *event;
	enum rc rc = RC_OK;
	int code = SQLITE_ROW;

	if (s == NULL)
		return (failed(local, fail));
	array = json_array();
	if (array == NULL)
		return (fail_set(fail, FAIL_MEMORY, "out of memory"));
	while (rc == RC_OK && (int)json_array_size(array) < limit &&
	       (code = sqlite3_step(s)) == SQLITE_ROW) {
		rc = column_json(s, 0, &event, fail);
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
	sqlite3_stmt *s = statement(local, LOCAL_NAMES);
	json_t *array;
	struct uuid conversation;
	const char *name;
	enum rc rc = RC_OK;
	int code = SQLITE_ROW;

	if (s == NULL)
		return (failed(local, fail));
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
