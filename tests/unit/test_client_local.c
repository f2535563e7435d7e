/* SPDX-License-Identifier: MIT */
/*
 * The client's own database: drafts stay until they are answered, cursors only
 * move forward within an epoch, and a new epoch makes own messages drafts
 * again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sqlite3.h>

#include "lib/local.h"
#include "lib/sender.h"

struct fixture {
	char folder[64];
	char path[80];
	struct local *local;
	struct fail fail;
};

static int
setup(void **state)
{
	struct fixture *f = test_calloc(1, sizeof(*f));

	(void)snprintf(f->folder, sizeof(f->folder), "/tmp/twinbox-XXXXXX");
	if (mkdtemp(f->folder) == NULL)
		return (-1);
	(void)snprintf(f->path, sizeof(f->path), "%s/a.db", f->folder);
	if (local_open(f->path, &f->local, &f->fail) != RC_OK)
		return (-1);
	*state = f;
	return (0);
}

static int
teardown(void **state)
{
	struct fixture *f = *state;
	char path[96];
	static const char *const suffixes[] = {
	    "", "-wal", "-shm", "-journal", ".lock"};
	size_t i;

	local_close(f->local);
	for (i = 0; i < 5; i++) {
		(void)snprintf(
		    path, sizeof(path), "%s%s", f->path, suffixes[i]);
		(void)unlink(path);
	}
	(void)rmdir(f->folder);
	test_free(f);
	return (0);
}

static void
reopen(struct fixture *f)
{

	local_close(f->local);
	f->local = NULL;
	assert_int_equal(local_open(f->path, &f->local, &f->fail), RC_OK);
}

/* Stores a message to ${to} under ${id}. */
static enum rc
submit(struct fixture *f, const char *id, const char *to, const char *body)
{
	json_t *message =
	    json_pack("{ss ss ss}", "id", id, "to", to, "body", body);
	char ref[LOCAL_REF_SIZE];
	enum rc rc;

	rc = sender_submit(f->local, message, NULL, ref, &f->fail);
	if (rc == RC_OK)
		assert_string_equal(ref, id);
	json_decref(message);
	return (rc);
}

/* Returns the refs of the drafts that wait, in order, each followed by a
 * space. */
static const char *
waiting(struct fixture *f)
{
	static char all[256];
	struct local_draft draft;
	int64_t row = 0;
	enum rc rc;

	all[0] = '\0';
	while ((rc = local_outbox_next(f->local, row, &draft, &f->fail)) ==
	       RC_OK) {
		row = draft.row;
		(void)snprintf(all + strlen(all), sizeof(all) - strlen(all),
		    "%.20s ", draft.ref);
		local_draft_fini(&draft);
	}
	assert_int_equal(rc, RC_NOT_FOUND);
	return (all);
}

static void
test_waits_until_answered(void **state)
{
	struct fixture *f = *state;
	struct local_draft draft;

	assert_int_equal(submit(f, "a", "bob", "1"), RC_OK);
	assert_int_equal(submit(f, "b", "eve", "2"), RC_OK);
	assert_int_equal(submit(f, "c", "bob", "3"), RC_OK);
	reopen(f);
	assert_string_equal(waiting(f), "a b c ");
	assert_int_equal(
	    local_outbox_tried(f->local, "a", "no server", &f->fail), RC_OK);
	assert_int_equal(local_outbox_answered(f->local, "b", &f->fail), RC_OK);
	assert_int_equal(
	    local_outbox_refused(f->local, "c", "no", &f->fail), RC_OK);
	reopen(f);
	assert_string_equal(waiting(f), "a ");
	assert_int_equal(
	    local_outbox_find(f->local, "a", &draft, &f->fail), RC_OK);
	assert_int_equal(draft.attempts, 1);
	assert_string_equal(draft.last_error, "no server");
	assert_string_equal(draft.recipient, "bob");
	assert_string_equal(
	    json_string_value(json_object_get(draft.request, "body")), "1");
	local_draft_fini(&draft);
	assert_int_equal(local_outbox_remove(f->local, "a", &f->fail), RC_OK);
	assert_string_equal(waiting(f), "");
}

static void
test_same_id(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(submit(f, "a", "bob", "1"), RC_OK);
	assert_int_equal(local_outbox_answered(f->local, "a", &f->fail), RC_OK);
	/* The same text under the same id becomes a draft again; another text
	 * is refused here. */
	assert_int_equal(submit(f, "a", "bob", "1"), RC_OK);
	assert_string_equal(waiting(f), "a ");
	assert_int_equal(submit(f, "a", "bob", "2"), RC_INVALID);
}

static void
test_key(void **state)
{
	struct fixture *f = *state;
	json_t *message = json_pack("{ss ss}", "to", "bob", "body", "x");
	struct local_draft draft;
	char ref[LOCAL_REF_SIZE];

	assert_int_equal(
	    sender_submit(f->local, message, "k 1", ref, &f->fail), RC_OK);
	assert_string_equal(ref, "key:k 1");
	assert_int_equal(
	    local_outbox_find(f->local, ref, &draft, &f->fail), RC_OK);
	assert_string_equal(draft.key, "k 1");
	local_draft_fini(&draft);
	json_decref(message);
}

static void
assert_cursor(struct fixture *f, const char *epoch, int64_t seq)
{
	char got[LOCAL_EPOCH_SIZE];
	int64_t got_seq;

	assert_int_equal(
	    local_cursor_get(f->local, "tail", got, &got_seq, &f->fail), RC_OK);
	assert_string_equal(got, epoch);
	assert_int_equal(got_seq, seq);
}

/* Returns whether an event of a user of this server with this id was
 * displayed. */
static bool
has_shown(struct local *local, const char *id)
{
	json_t *event = json_pack("{ss ss}", "event_id", id, "from", "bob");
	const bool has = local_has_shown(local, event);

	json_decref(event);
	return (has);
}

/* Another server may use the same id: its events do not hide other events. */
static void
test_ids_of_servers(void **state)
{
	struct fixture *f = *state;
	json_t *list = json_pack("[{ss ss} {ss ss} {ss ss} {ss}]", "event_id",
	    "e1", "from", "eve@far.example", "event_id", "e2", "by",
	    "eve@far.example", "event_id", "e3", "from", "bob", "kind", "x");
	json_t *other =
	    json_pack("{ss ss}", "event_id", "e1", "from", "eve@b.example");

	assert_int_equal(
	    local_shown(f->local, list, NULL, "E", 0, &f->fail), RC_OK);
	assert_true(local_has_shown(f->local, json_array_get(list, 0)));
	assert_true(local_has_shown(f->local, json_array_get(list, 1)));
	assert_false(local_has_shown(f->local, json_array_get(list, 3)));
	assert_false(local_has_shown(f->local, other));
	assert_false(has_shown(f->local, "e1"));
	assert_false(has_shown(f->local, "e2"));
	assert_true(has_shown(f->local, "e3"));
	json_decref(list);
	json_decref(other);
}

static void
test_cursor(void **state)
{
	struct fixture *f = *state;
	json_t *events = json_pack(
	    "[{ss ss si}]", "event_id", "e1", "conversation", "c", "seq", 7);

	assert_cursor(f, "", -1);
	assert_false(has_shown(f->local, "e1"));
	assert_int_equal(
	    local_shown(f->local, events, "tail", "E", 7, &f->fail), RC_OK);
	reopen(f);
	assert_cursor(f, "E", 7);
	assert_true(has_shown(f->local, "e1"));
	assert_false(has_shown(f->local, "e2"));
	/* An event that is stored twice counts once.  The cursor never goes
	 * back in the same epoch; in another epoch it may have any value. */
	assert_int_equal(
	    local_shown(f->local, events, "tail", "E", 3, &f->fail), RC_OK);
	assert_cursor(f, "E", 7);
	assert_int_equal(
	    local_shown(f->local, events, "tail", "F", 2, &f->fail), RC_OK);
	assert_cursor(f, "F", 2);
	json_decref(events);
}

/* Runs ${sql} on a connection of its own. */
static void
outside(struct fixture *f, const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* Events and the cursor after them are stored together or not at all: with the
 * cursor alone, the events would never be displayed again. */
static void
test_cursor_stays_without_its_events(void **state)
{
	struct fixture *f = *state;
	json_t *first = json_pack("[{ss si}]", "event_id", "e1", "seq", 1);
	json_t *next = json_pack("[{ss si} {ss si} {ss si}]", "event_id", "e2",
	    "seq", 2, "event_id", "e3", "seq", 3, "event_id", "e4", "seq", 4);
	struct fail fail = FAIL_INIT;

	assert_int_equal(
	    local_shown(f->local, first, "tail", "E", 1, &f->fail), RC_OK);
	outside(f, "CREATE TRIGGER no BEFORE INSERT ON event WHEN"
		   " NEW.event_id = 'e3' BEGIN SELECT RAISE(ABORT, 'no'); END");
	assert_int_equal(
	    local_shown(f->local, next, "tail", "E", 4, &fail), RC_IO);
	assert_non_null(strstr(fail.what, "no"));
	assert_cursor(f, "E", 1);
	assert_false(has_shown(f->local, "e2"));
	reopen(f);
	assert_cursor(f, "E", 1);
	assert_true(has_shown(f->local, "e1"));
	assert_false(has_shown(f->local, "e2"));
	assert_false(has_shown(f->local, "e4"));
	/* The reverse: with the events alone, they would be displayed as new
	 * ones again. */
	outside(f, "DROP TRIGGER no; CREATE TRIGGER no BEFORE UPDATE ON cursor"
		   " BEGIN SELECT RAISE(ABORT, 'no'); END");
	assert_int_equal(
	    local_shown(f->local, next, "tail", "E", 4, &fail), RC_IO);
	assert_false(has_shown(f->local, "e2"));
	outside(f, "DROP TRIGGER no");
	assert_int_equal(
	    local_shown(f->local, next, "tail", "E", 4, &f->fail), RC_OK);
	assert_cursor(f, "E", 4);
	assert_true(has_shown(f->local, "e3"));
	json_decref(first);
	json_decref(next);
}

/* A new epoch is stored with all its consequences, or not at all. */
static void
test_new_epoch_fails(void **state)
{
	struct fixture *f = *state;
	json_t *none = json_array();
	struct fail fail = FAIL_INIT;
	bool changed = true;

	assert_int_equal(submit(f, "a", "bob", "1"), RC_OK);
	assert_int_equal(local_outbox_answered(f->local, "a", &f->fail), RC_OK);
	assert_int_equal(
	    local_epoch_seen(f->local, "E", &changed, &f->fail), RC_OK);
	assert_int_equal(
	    local_shown(f->local, none, "tail", "E", 9, &f->fail), RC_OK);
	outside(f, "CREATE TRIGGER no BEFORE UPDATE ON outbox"
		   " BEGIN SELECT RAISE(ABORT, 'no'); END");
	assert_int_equal(
	    local_epoch_seen(f->local, "F", &changed, &fail), RC_IO);
	assert_false(changed);
	assert_cursor(f, "E", 9);
	assert_string_equal(waiting(f), "");
	outside(f, "DROP TRIGGER no");
	assert_int_equal(
	    local_epoch_seen(f->local, "F", &changed, &f->fail), RC_OK);
	assert_true(changed);
	assert_cursor(f, "", -1);
	assert_string_equal(waiting(f), "a ");
	json_decref(none);
}

static void
test_new_epoch(void **state)
{
	struct fixture *f = *state;
	json_t *none = json_array();
	bool changed = true;

	assert_int_equal(submit(f, "a", "bob", "1"), RC_OK);
	assert_int_equal(submit(f, "b", "bob", "2"), RC_OK);
	assert_int_equal(submit(f, "c", "bob", "3"), RC_OK);
	assert_int_equal(
	    local_epoch_seen(f->local, "E", &changed, &f->fail), RC_OK);
	assert_false(changed); /* the first epoch is not a change */
	assert_int_equal(local_outbox_answered(f->local, "a", &f->fail), RC_OK);
	assert_int_equal(
	    local_outbox_refused(f->local, "b", "no", &f->fail), RC_OK);
	assert_int_equal(
	    local_shown(f->local, none, "tail", "E", 9, &f->fail), RC_OK);
	assert_int_equal(
	    local_epoch_seen(f->local, "E", &changed, &f->fail), RC_OK);
	assert_false(changed);
	assert_string_equal(waiting(f), "c ");
	assert_int_equal(
	    local_epoch_seen(f->local, "F", &changed, &f->fail), RC_OK);
	assert_true(changed);
	/* Own messages come back in their old order, refused ones do not. */
	assert_string_equal(waiting(f), "a c ");
	assert_cursor(f, "", -1);
	json_decref(none);
}

static bool
from_bob(const json_t *event, void *arg)
{
	const char *from = json_string_value(json_object_get(event, "from"));

	return (from != NULL && strcmp(from, arg) == 0);
}

static void
test_history(void **state)
{
	struct fixture *f = *state;
	char bob[] = "bob";
	json_t *events = json_array(), *found;
	char id[16];
	int i;

	for (i = 0; i < 9; i++) {
		(void)snprintf(id, sizeof(id), "e%d", i);
		(void)json_array_append_new(
		    events, json_pack("{ss ss si}", "event_id", id, "from",
				i % 2 ? "bob" : "eve", "n", i));
	}
	assert_int_equal(
	    local_shown(f->local, events, NULL, NULL, 0, &f->fail), RC_OK);
	assert_int_equal(
	    local_history(f->local, from_bob, bob, 3, &found, &f->fail), RC_OK);
	assert_int_equal(json_array_size(found), 3);
	for (i = 0; i < 3; i++)
		assert_int_equal(json_integer_value(json_object_get(
				     json_array_get(found, (size_t)i), "n")),
		    3 + 2 * i);
	json_decref(found);
	json_decref(events);
}

/* The names are those of drafts and displayed events, each once.  A refused
 * draft, the id of a conversation and text that is not JSON add none. */
static void
test_names(void **state)
{
	struct fixture *f = *state;
	json_t *names, *events;
	char *text;

	events = json_pack("[{ss ss ss} {ss ss ss} {ss ss}]", "event_id", "e1",
	    "from", "eve", "to", "ann", "event_id", "e2", "from", "ann", "to",
	    "bob", "event_id", "e3", "kind", "read");
	assert_non_null(events);
	assert_int_equal(
	    local_shown(f->local, events, NULL, NULL, 0, &f->fail), RC_OK);
	json_decref(events);
	assert_int_equal(submit(f, "x1", "zoe@far.example", "hi"), RC_OK);
	assert_int_equal(
	    submit(f, "x2", "01987a1c-0000-7000-8000-0000000000ab", "hi"),
	    RC_OK);
	assert_int_equal(submit(f, "x3", "zo@far.example", "hi"), RC_OK);
	assert_int_equal(
	    local_outbox_refused(f->local, "x3", "No such recipient", &f->fail),
	    RC_OK);
	outside(f, "INSERT INTO event (event_id, event)"
		   " VALUES ('e9', 'broken')");
	assert_int_equal(local_names(f->local, &names, &f->fail), RC_OK);
	text = json_dumps(names, JSON_COMPACT);
	assert_string_equal(
	    text, "[\"ann\",\"bob\",\"eve\",\"zoe@far.example\"]");
	free(text); /* jansson's own memory */
	json_decref(names);
}

/* Four processes write at once: each row is stored, and the file is intact. */
static void
test_processes(void **state)
{
	struct fixture *f = *state;
	struct local *local;
	struct local_draft draft;
	struct fail fail;
	char ref[LOCAL_REF_SIZE], id[32];
	json_t *message;
	int64_t row = 0;
	int i, j, status, n = 0;

	for (i = 0; i < 4; i++) {
		if (fork() != 0)
			continue;
		if (local_open(f->path, &local, &fail) != RC_OK)
			_exit(1);
		for (j = 0; j < 25; j++) {
			(void)snprintf(id, sizeof(id), "p%d-%d", i, j);
			message = json_pack(
			    "{ss ss ss}", "id", id, "to", "bob", "body", "x");
			if (sender_submit(local, message, NULL, ref, &fail) !=
			    RC_OK)
				_exit(2);
			json_decref(message);
		}
		local_close(local);
		_exit(0);
	}
	for (i = 0; i < 4; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	while (local_outbox_next(f->local, row, &draft, &f->fail) == RC_OK) {
		row = draft.row;
		local_draft_fini(&draft);
		n++;
	}
	assert_int_equal(n, 100);
}

static void
test_permissions_and_damage(void **state)
{
	struct fixture *f = *state;
	struct stat st;
	FILE *file;

	assert_int_equal(stat(f->path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	local_close(f->local);
	f->local = NULL;
	file = fopen(f->path, "w");
	assert_non_null(file);
	(void)fputs("this is not a database, however long it may be ........"
		    "........................................................",
	    file);
	(void)fclose(file);
	assert_int_not_equal(local_open(f->path, &f->local, &f->fail), RC_OK);
	assert_null(f->local);
	assert_non_null(strstr(f->fail.cure, "move the file away"));
}

/* ---- old, newer and damaged files ---- */

/* Returns the number that ${sql} gives on a connection of its own. */
static int
number(struct fixture *f, const char *sql)
{
	sqlite3_stmt *s;
	sqlite3 *db;
	int n;

	assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(s), SQLITE_ROW);
	n = sqlite3_column_int(s, 0);
	(void)sqlite3_finalize(s);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	return (n);
}

/* Drafts that were answered or refused are kept for 14 days, drafts that wait
 * for ever, and the last 20,000 events. */
static void
test_old(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(submit(f, "a", "bob", "1"), RC_OK);
	assert_int_equal(submit(f, "b", "bob", "2"), RC_OK);
	assert_int_equal(submit(f, "c", "bob", "3"), RC_OK);
	assert_int_equal(submit(f, "d", "bob", "4"), RC_OK);
	assert_int_equal(local_outbox_answered(f->local, "a", &f->fail), RC_OK);
	assert_int_equal(local_outbox_answered(f->local, "b", &f->fail), RC_OK);
	assert_int_equal(
	    local_outbox_refused(f->local, "c", "no", &f->fail), RC_OK);
	outside(f, "UPDATE outbox SET created_at = (strftime('%s') - 14 * 86400"
		   " + CASE ref WHEN 'b' THEN 600 ELSE -600 END) * 1000;"
		   "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL"
		   " SELECT i + 1 FROM n WHERE i < 20001)"
		   " INSERT INTO event (event_id, event)"
		   " SELECT 'e' || i, '{}' FROM n");
	reopen(f);
	assert_int_equal(number(f, "SELECT count(*) FROM outbox"), 2);
	assert_int_equal(
	    number(f, "SELECT count(*) FROM outbox WHERE ref IN ('b', 'd')"),
	    2);
	assert_int_equal(number(f, "SELECT count(*) FROM event"), 20000);
	assert_false(has_shown(f->local, "e1"));
	assert_true(has_shown(f->local, "e2"));
	assert_true(has_shown(f->local, "e20001"));
}

static void
test_newer_version(void **state)
{
	struct fixture *f = *state;
	char what[200];

	local_close(f->local);
	f->local = NULL;
	outside(f, "PRAGMA user_version = 2");
	assert_int_equal(local_open(f->path, &f->local, &f->fail), RC_INVALID);
	(void)snprintf(
	    what, sizeof(what), "%s was made by a newer twinbox", f->path);
	assert_string_equal(f->fail.what, what);
	assert_string_equal(f->fail.cure, "use that one");
}

/* An epoch has up to 39 characters; a longer text is not an epoch. */
static void
test_long_epoch(void **state)
{
	struct fixture *f = *state;
	json_t *none = json_array();
	char epoch[LOCAL_EPOCH_SIZE + 1];
	bool changed = true;

	memset(epoch, 'e', sizeof(epoch));
	epoch[LOCAL_EPOCH_SIZE] = '\0';
	assert_int_equal(
	    local_epoch_seen(f->local, "E", &changed, &f->fail), RC_OK);
	assert_int_equal(
	    local_shown(f->local, none, "tail", "E", 9, &f->fail), RC_OK);
	changed = true;
	assert_int_equal(
	    local_epoch_seen(f->local, epoch, &changed, &f->fail), RC_OK);
	assert_false(changed);
	assert_cursor(f, "E", 9);
	epoch[LOCAL_EPOCH_SIZE - 1] = '\0';
	assert_int_equal(
	    local_epoch_seen(f->local, epoch, &changed, &f->fail), RC_OK);
	assert_true(changed);
	assert_cursor(f, "", -1);
	assert_int_equal(
	    local_epoch_seen(f->local, epoch, &changed, &f->fail), RC_OK);
	assert_false(changed);
	json_decref(none);
}

static void
test_damaged_rows(void **state)
{
	struct fixture *f = *state;
	struct local_draft draft;
	char bob[] = "bob", what[200];
	json_t *found;

	assert_int_equal(submit(f, "a", "bob", "1"), RC_OK);
	outside(f, "UPDATE outbox SET request = '{';"
		   "INSERT INTO event (event_id, event) VALUES"
		   " ('e1', '{\"from\": \"bob\"}'), ('e2', '{')");
	assert_int_equal(
	    local_outbox_next(f->local, 0, &draft, &f->fail), RC_CORRUPT);
	/* The fields that are not damaged are there. */
	assert_null(draft.request);
	assert_string_equal(draft.ref, "a");
	assert_string_equal(draft.recipient, "bob");
	assert_string_equal(draft.state, "waiting");
	assert_int_equal(f->fail.rc, RC_CORRUPT);
	assert_int_equal(f->fail.exit, EX_IOERR);
	(void)snprintf(what, sizeof(what), "%s: a damaged draft", f->path);
	assert_string_equal(f->fail.what, what);
	/* Texts that are valid but for a NUL byte at the end, and JSON with
	 * more depth than a server's may have. */
	outside(f,
	    "UPDATE outbox SET request = CAST(x'7b7d00' AS TEXT);"
	    "INSERT INTO event (event_id, event) VALUES"
	    " ('e3', CAST(x'7b2266726f6d223a22626f62227d00' AS TEXT)),"
	    " ('e4', '{\"from\": \"bob\", \"x\": [[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
	    "[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}')");
	assert_int_equal(
	    local_outbox_next(f->local, 0, &draft, &f->fail), RC_CORRUPT);
	assert_string_equal(f->fail.what, what);
	assert_int_equal(
	    local_history(f->local, from_bob, bob, 9, &found, &f->fail), RC_OK);
	assert_int_equal(json_array_size(found), 1);
	json_decref(found);
	assert_int_equal(
	    local_history(f->local, from_bob, bob, 0, &found, &f->fail), RC_OK);
	assert_int_equal(json_array_size(found), 0);
	json_decref(found);
}

static void
test_cannot_open(void **state)
{
	struct fixture *f = *state;
	struct local *local = NULL;
	char what[200], path[100], lock[110];

	assert_int_equal(local_open("/nowhere/a.db", &local, &f->fail), RC_IO);
	assert_string_equal(f->fail.what,
	    "cannot lock /nowhere/a.db.lock: No such file or directory");
	(void)snprintf(path, sizeof(path), "%s/dir", f->folder);
	(void)snprintf(lock, sizeof(lock), "%s.lock", path);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(local_open(path, &local, &f->fail), RC_IO);
	(void)snprintf(what, sizeof(what), "cannot open %s", path);
	assert_string_equal(f->fail.what, what);
	assert_null(local);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(unlink(lock), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_waits_until_answered),
	    TEST(test_same_id),
	    TEST(test_key),
	    TEST(test_cursor),
	    TEST(test_ids_of_servers),
	    TEST(test_cursor_stays_without_its_events),
	    TEST(test_new_epoch),
	    TEST(test_new_epoch_fails),
	    TEST(test_history),
	    TEST(test_names),
	    TEST(test_processes),
	    TEST(test_permissions_and_damage),
	    TEST(test_old),
	    TEST(test_newer_version),
	    TEST(test_long_epoch),
	    TEST(test_damaged_rows),
	    TEST(test_cannot_open),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
