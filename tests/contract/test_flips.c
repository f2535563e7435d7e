/* SPDX-License-Identifier: MIT */
/*
 * fsck finds altered fields.  The database of a crowd is sound.  Then the test
 * alters one field at a time behind the server's back, at a row and to a value
 * that a seed draws.  Each column of inboxes, outbox and marks is altered the
 * same number of times.
 *
 * In an event or an outbox row each change of these columns must be found:
 * sender, conversation, its number, own, kind and outbox id.  Of all other
 * changes that alter what a user is shown (shown.h renders it before and
 * after), 95 of 100 are found.  The others are listed by column.
 *
 * TWINBOX_FLIPS=N alters each column N times.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "contract/crowd.h"
#include "contract/shown.h"
#include "upkeep/fsck.h"

#define SEED 20
#define STEPS 700
#define SQL_SIZE 1024
#define VALUE_SIZE 160
/* How many values are drawn for one change until the database accepts one. */
#define TRIES 200

enum type { NUMBER, WORD, EVENT_ID };

/* A column.  Its values are numbers, words of a list, or ids. */
struct column {
	const char *name;
	enum type type;
	bool strict;       /* each change must be found */
	const char *words; /* "'a','b'" */
};

#define STATES                                                                 \
	"'pending','sending','sent','acked','failed','expired','canceled'"
#define REASONS                                                                \
	"'max_retries','rejected','too_large','poison','expired','discarded'"

static const struct column inbox[] = {
    {"user_id", NUMBER, true, NULL},
    {"seq", NUMBER, true, NULL},
    {"kind", NUMBER, true, NULL},
    {"own", NUMBER, true, NULL},
    {"event_id", EVENT_ID, false, NULL},
    {"origin", NUMBER, false, NULL},
    {"mid", NUMBER, false, NULL},
    {"conversation_id", NUMBER, true, NULL},
    {"conversation_seq", NUMBER, true, NULL},
    {"actor_id", NUMBER, true, NULL},
    {"outbox_id", NUMBER, true, NULL},
    {"event_time", NUMBER, false, NULL},
    {"delivered_at", NUMBER, false, NULL},
    {"attempt", NUMBER, false, NULL},
    {NULL, NUMBER, false, NULL},
};

static const struct column outbox[] = {
    {"id", NUMBER, false, NULL},
    {"event_id", EVENT_ID, false, NULL},
    {"kind", NUMBER, true, NULL},
    {"mid", NUMBER, false, NULL},
    {"conversation_id", NUMBER, true, NULL},
    {"conversation_seq", NUMBER, true, NULL},
    {"sender_id", NUMBER, true, NULL},
    {"lane_id", NUMBER, false, NULL},
    {"lane_seq", NUMBER, false, NULL},
    {"dest_kind", WORD, false, "'user','server','group','push'"},
    {"dest_id", NUMBER, false, NULL},
    {"priority", NUMBER, false, NULL},
    {"state", WORD, false, STATES},
    {"attempts", NUMBER, false, NULL},
    {"retry_count", NUMBER, false, NULL},
    {"rescue_count", NUMBER, false, NULL},
    {"next_retry_at", NUMBER, false, NULL},
    {"deliver_at", NUMBER, false, NULL},
    {"expires_at", NUMBER, false, NULL},
    {"event_time", NUMBER, false, NULL},
    {"created_at", NUMBER, false, NULL},
    {"last_attempt_at", NUMBER, false, NULL},
    {"last_status_at", NUMBER, false, NULL},
    {"sent_at", NUMBER, false, NULL},
    {"acked_at", NUMBER, false, NULL},
    {"last_error", WORD, false, "'no route','busy',NULL"},
    {"ack_deadline", NUMBER, false, NULL},
    {"reason", WORD, false, REASONS ",NULL"},
    {"requeues", NUMBER, false, NULL},
    {NULL, NUMBER, false, NULL},
};

static const struct column participants[] = {
    {"conversation_id", NUMBER, true, NULL},
    {"user_id", NUMBER, true, NULL},
    {"role", WORD, false, "'member','admin','owner'"},
    {"joined_seq", NUMBER, false, NULL},
    {"left_seq", NUMBER, false, NULL},
    {"delivered_upto", NUMBER, false, NULL},
    {"acked_upto", NUMBER, false, NULL},
    {"read_upto", NUMBER, false, NULL},
    {"shown_upto", NUMBER, false, NULL},
    {"acked_at", NUMBER, false, NULL},
    {"read_at", NUMBER, false, NULL},
    {"shown_at", NUMBER, false, NULL},
    {NULL, NUMBER, false, NULL},
};

static const struct column devices[] = {
    {"acked_seq", NUMBER, false, NULL},
    {NULL, NUMBER, false, NULL},
};

static const struct column inboxes[] = {
    {"trimmed", NUMBER, false, NULL},
    {"read_seq", NUMBER, false, NULL},
    {NULL, NUMBER, false, NULL},
};

static const struct table {
	const char *name;
	const char *keys[2]; /* of a row; the second may be NULL */
	const struct column *columns;
} tables[] = {
    {"inbox", {"user_id", "seq"}, inbox},
    {"outbox", {"id", NULL}, outbox},
    {"participants", {"conversation_id", "user_id"}, participants},
    {"devices", {"device_id", NULL}, devices},
    {"inboxes", {"user_id", NULL}, inboxes},
};

/* One change of a field. */
struct flip {
	const struct table *table;
	const struct column *column;
	int64_t keys[2];
	char before[VALUE_SIZE], after[VALUE_SIZE]; /* as SQL */
};

/* The results of the changes of one column, or of several. */
struct count {
	int altered, found, shown, unseen; /* unseen: shown, but not found */
};

static struct crowd crowd;
static struct rnd_seeded draws;
static struct db *eyes;

static uint64_t
below(uint64_t bound)
{

	return (rnd_below(&draws.rnd, bound));
}

/* ---- values ---- */

/* Writes the field of ${f} as an SQL literal. */
static void
read_value(const struct flip *f, char ret[VALUE_SIZE])
{
	const bool pg = crowd.rig.pg != NULL;
	const char *name = f->column->name;
	char sql[SQL_SIZE], value[128], second[64] = "";

	switch (f->column->type) {
	case WORD:
		(void)snprintf(
		    value, sizeof(value), "'''' || %s || ''''", name);
		break;
	case EVENT_ID:
		(void)snprintf(value, sizeof(value),
		    pg ? "'CAST(''' || %s || ''' AS UUID)'"
		       : "'X''' || hex(%s) || ''''",
		    name);
		break;
	case NUMBER:
	default:
		(void)snprintf(value, sizeof(value), "CAST(%s AS TEXT)", name);
	}
	if (f->table->keys[1] != NULL)
		(void)snprintf(second, sizeof(second), " AND %s = %" PRId64,
		    f->table->keys[1], f->keys[1]);
	(void)snprintf(sql, sizeof(sql),
	    "SELECT coalesce(%s, 'NULL') FROM %s WHERE %s = %" PRId64 "%s",
	    value, f->table->name, f->table->keys[0], f->keys[0], second);
	(void)snprintf(ret, VALUE_SIZE, "%s", rig_text(&crowd.rig, sql));
}

/* Draws a row of the table. */
static void
draw_row(struct flip *f)
{
	const char *key = f->table->keys[1];
	char sql[SQL_SIZE];
	int64_t n, at;
	int i;

	(void)snprintf(
	    sql, sizeof(sql), "SELECT count(*) FROM %s", f->table->name);
	n = rig_number(&crowd.rig, sql);
	at = (int64_t)below((uint64_t)n);
	for (i = 0; i < 2; i++) {
		if (f->table->keys[i] == NULL)
			continue;
		(void)snprintf(sql, sizeof(sql),
		    "SELECT %s FROM %s ORDER BY %s%s%s LIMIT 1 OFFSET %" PRId64,
		    f->table->keys[i], f->table->name, f->table->keys[0],
		    key != NULL ? ", " : "", key != NULL ? key : "", at);
		f->keys[i] = rig_number(&crowd.rig, sql);
	}
}

/* Takes the value that another row has there. */
static void
draw_other(struct flip *f)
{
	struct flip other = *f;

	draw_row(&other);
	read_value(&other, f->after);
}

static void
draw_word(struct flip *f)
{
	const char *word = f->column->words;
	size_t n = 1, i;
	const char *p;

	for (p = word; *p != '\0'; p++)
		n += *p == ',';
	for (i = (size_t)below(n); i > 0; i--)
		word = strchr(word, ',') + 1;
	(void)snprintf(
	    f->after, sizeof(f->after), "%.*s", (int)strcspn(word, ","), word);
}

static void
draw_id(struct flip *f)
{
	static const char digits[] = "0123456789ABCDEF";
	char *digit;

	if (below(3) == 0) {
		draw_other(f);
		return;
	}
	/* Changes one bit of one of the last digits, which are random in each
	 * id. */
	memcpy(f->after, f->before, sizeof(f->after));
	digit = strrchr(f->after, '\'') - 1;
	if (crowd.rig.pg != NULL)
		digit = strstr(f->after, "' AS") - 1;
	digit -= below(8);
	*digit = digits[(strtoll((char[]){*digit, '\0'}, NULL, 16) ^
			    (1 << below(4))) &
			15];
}

/* Changes one of the bits that the column has room for, or adds a step, or
 * takes another row's value. */
static void
draw_number(struct flip *f)
{
	int64_t value;

	if (below(4) == 0) {
		draw_other(f);
		return;
	}
	value = strtoll(f->before, NULL, 10);
	if (strcmp(f->before, "NULL") == 0)
		value = below(2) == 0
			    ? (int64_t)below(100)
			    : crowd.rig.clk.wall_ms - (int64_t)below(1000000);
	else if (below(3) == 0)
		value += below(2) == 0 ? 1 : -1;
	else
		value ^= INT64_C(1) << below(value < 128 ? 7 : 42);
	(void)snprintf(f->after, sizeof(f->after), "%" PRId64, value);
}

static void
draw_value(struct flip *f)
{

	read_value(f, f->before);
	if (f->column->type == WORD)
		draw_word(f);
	else if (f->column->type == EVENT_ID)
		draw_id(f);
	else
		draw_number(f);
}

/* ---- altering ---- */

/* Sets the field of ${f} in the row with ${keys} to ${value}.  Returns false if
 * the database refuses that. */
static bool
write_value(const struct flip *f, const int64_t keys[2], const char *value)
{
	char sql[SQL_SIZE], second[64] = "";

	if (f->table->keys[1] != NULL)
		(void)snprintf(second, sizeof(second), " AND %s = %" PRId64,
		    f->table->keys[1], keys[1]);
	(void)snprintf(sql, sizeof(sql),
	    "UPDATE %s SET %s = %s WHERE %s = %" PRId64 "%s", f->table->name,
	    f->column->name, value, f->table->keys[0], keys[0], second);
	return (!rig_refuses(&crowd.rig, sql));
}

static void
alter_back(const struct flip *f)
{
	int64_t keys[2] = {f->keys[0], f->keys[1]};
	char now[VALUE_SIZE];
	int i;

	for (i = 0; i < 2; i++)
		if (f->table->keys[i] != NULL &&
		    strcmp(f->table->keys[i], f->column->name) == 0)
			keys[i] = strtoll(f->after, NULL, 10);
	assert_true(write_value(f, keys, f->before));
	read_value(f, now);
	assert_string_equal(now, f->before);
}

static void
draw_flip(struct flip *f)
{
	int i;

	for (i = 0; i < TRIES; i++) {
		draw_row(f);
		draw_value(f);
		if (strcmp(f->before, f->after) != 0 &&
		    write_value(f, f->keys, f->after))
			return;
	}
	fail_msg("%s.%s cannot be altered", f->table->name, f->column->name);
}

/* ---- checks ---- */

static void
count_found(void *arg, const char *what, const char *place)
{

	(*(int *)arg)++;
	if (getenv("TWINBOX_FLIPS_SHOW") != NULL)
		print_message("#   found: %s: %s\n", what, place);
}

static bool
is_found(void)
{
	struct fsck_report report;
	struct err err = ERR_INIT;
	int n = 0;

	if (fsck_run(eyes, count_found, &n, &report, &err) != RC_OK)
		fail_msg("fsck: %s", err.text);
	return (n > 0);
}

static void
show(struct buf *out)
{

	buf_reset(out);
	shown_write(eyes, crowd.users, CROWD_PEOPLE, out);
	assert_true(buf_ok(out));
}

static void
look_at(const struct flip *f, const struct buf *sound, struct count *count)
{
	static struct buf now = BUF_INIT;
	bool found, changed;

	found = is_found();
	show(&now);
	changed = now.len != sound->len ||
		  memcmp(now.data, sound->data, now.len) != 0;
	count->altered++;
	count->found += found;
	count->shown += changed;
	count->unseen += changed && !found;
	if (!found && (changed || f->column->strict))
		print_message("# unseen: %s.%s of row %" PRId64 " %" PRId64
			      ": %s -> %s%s\n",
		    f->table->name, f->column->name, f->keys[0], f->keys[1],
		    f->before, f->after, changed ? "" : " (not shown)");
}

static void
alter_column(const struct table *table, const struct column *column, int n,
    const struct buf *sound, struct count *ret)
{
	struct flip f = {.table = table, .column = column};
	int i;

	memset(ret, 0, sizeof(*ret));
	for (i = 0; i < n; i++) {
		draw_flip(&f);
		look_at(&f, sound, ret);
		alter_back(&f);
	}
	print_message("# %s.%s: %d altered, %d found, %d shown, %d unseen\n",
	    table->name, column->name, ret->altered, ret->found, ret->shown,
	    ret->unseen);
}

static void
drop_triggers(void)
{
	static const char *const triggers[][2] = {
	    {"outbox_immutable", "outbox"}, {"outbox_event_time", "outbox"}};
	char sql[96];
	size_t i;

	for (i = 0; i < sizeof(triggers) / sizeof(triggers[0]); i++) {
		(void)snprintf(sql, sizeof(sql), "DROP TRIGGER %s%s%s",
		    triggers[i][0], crowd.rig.pg != NULL ? " ON " : "",
		    crowd.rig.pg != NULL ? triggers[i][1] : "");
		(void)rig_exec(&crowd.rig, sql);
	}
}

static void
add(struct count *sum, const struct count *one)
{

	sum->altered += one->altered;
	sum->found += one->found;
	sum->shown += one->shown;
	sum->unseen += one->unseen;
}

static int
flips_each(void)
{
	const char *tier = getenv("TWINBOX_TIER");
	const char *given = getenv("TWINBOX_FLIPS");

	if (given != NULL)
		return ((int)strtoll(given, NULL, 10));
	if (tier == NULL || strcmp(tier, "full") != 0)
		return (2);
	/* On PostgreSQL each check takes many round trips. */
	return (rig_is_postgres() ? 20 : 40);
}

/* Alters every column.  *${ret_strict} and *${ret_rest} count the results. */
static void
alter_all(bool purged, struct count *ret_strict, struct count *ret_rest)
{
	const struct column *column;
	struct buf sound = BUF_INIT;
	struct count one;
	size_t i;

	memset(ret_strict, 0, sizeof(*ret_strict));
	memset(ret_rest, 0, sizeof(*ret_rest));
	crowd_play(&crowd, SEED, STEPS, purged);
	rnd_seeded_init(&draws, SEED);
	drop_triggers();
	eyes = rig_reader(&crowd.rig);
	show(&sound);
	for (i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		for (column = tables[i].columns; column->name != NULL;
		     column++) {
			alter_column(
			    &tables[i], column, flips_each(), &sound, &one);
			add(column->strict ? ret_strict : ret_rest, &one);
		}
	}
	print_message("# strict: %d of %d found; rest: %d altered, %d shown, "
		      "%d of them unseen\n",
	    ret_strict->found, ret_strict->altered, ret_rest->altered,
	    ret_rest->shown, ret_rest->unseen);
	buf_fini(&sound);
	db_close(eyes);
	rig_close(&crowd.rig);
}

/* At most one of ${each} shown changes may be unseen.  A short run alters few
 * fields, so chance allows four more. */
static void
check_rest(const struct count *rest, int each)
{
	int chance = flips_each() < 20 ? 4 : 0;

	assert_true((rest->unseen - chance) * each <= rest->shown);
}

static void
test_flips(void **state)
{
	struct count strict, rest;

	(void)state;
	alter_all(false, &strict, &rest);
	assert_int_equal(strict.found, strict.altered);
	check_rest(&rest, 20);
}

/* For an event whose outbox row is purged, fewer rows are left to compare: for
 * example, no other row says whether a receipt was delivered or read. */
static void
test_purged(void **state)
{
	struct count strict, rest;

	(void)state;
	alter_all(true, &strict, &rest);
	assert_true((strict.altered - strict.found) * 50 <= strict.altered);
	check_rest(&rest, 10);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_flips),
	    cmocka_unit_test(test_purged),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
