/* SPDX-License-Identifier: MIT */
/*
 * The notes that nodes send to each other: everything that is put in is
 * received once, in notes of a length that PostgreSQL accepts; too much is
 * replaced by a mark that says so; and a note that no node has written changes
 * nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "cluster/cluster_internal.h"

/* PostgreSQL refuses longer ones (NOTIFY: "shorter than 8000 bytes"). */
#define POSTGRES_MOST 7999
#define NODE 12
#define SENT_MOST 64
/* The beginning of a note that reports a revoked token. */
#define REVOKED "N12 R"

struct channel {
	char *notes[SENT_MOST];
	size_t n;
	size_t fails_at; /* the note that cannot be sent; 0: all can */
};

static enum rc
put(void *arg, const char *note, struct err *err)
{
	struct channel *ch = arg;

	assert_true(ch->n < SENT_MOST);
	assert_true(strlen(note) <= POSTGRES_MOST);
	if (ch->n + 1 == ch->fails_at)
		return (err_set(err, RC_BUSY, "away"));
	/* Not mem_alloc(), whose failures the test orders. */
	ch->notes[ch->n] = strdup(note);
	assert_non_null(ch->notes[ch->n++]);
	return (RC_OK);
}

static void
clear(struct channel *ch)
{

	while (ch->n > 0)
		free(ch->notes[--ch->n]);
}

static void
change(struct effects *effects, int64_t user_id, int64_t mid)
{
	struct err err = ERR_INIT;
	const struct effect_change c = {user_id, mid, CHANGE_ACKED};

	assert_int_equal(effects_add_change(effects, &c, &err), RC_OK);
}

static void
head(struct effects *effects, int64_t user_id, int64_t seq)
{
	struct err err = ERR_INIT;
	const struct effect_event e = {.user_id = user_id, .seq = seq};

	assert_int_equal(effects_add_event(effects, &e, &err), RC_OK);
}

/* Adds ${n} changes for user 7, with mids from 1 on. */
static void
tell_changes(struct notes_out *o, int n)
{
	struct effects *effects = effects_new();
	int i;

	assert_non_null(effects);
	for (i = 1; i <= n; i++)
		change(effects, 7, i);
	notes_out_effects(o, effects);
	effects_free(effects);
}

static void
test_all_is_heard(void **state)
{
	const struct effect_acked acked = {7, 3, 30};
	struct channel ch = {.n = 0};
	struct err err = ERR_INIT;
	struct notes_out o;
	struct notes_in in;
	struct effects *effects = effects_new();
	uint8_t hash[32];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(hash); i++)
		hash[i] = (uint8_t)(i * 11);
	assert_non_null(effects);
	head(effects, 7, 31);
	head(effects, 8, 2);
	head(effects, 7, 33);
	head(effects, 7, 32);
	change(effects, 9, 90);
	assert_int_equal(effects_add_acked(effects, &acked, &err), RC_OK);
	assert_int_equal(effects_add_revoked(effects, 5, hash, &err), RC_OK);
	assert_int_equal(effects_add_kept(effects, 6, hash, &err), RC_OK);
	assert_true(notes_out_init(&o));
	assert_true(notes_out_empty(&o));
	notes_out_effects(&o, effects);
	effects_free(effects);
	assert_false(notes_out_empty(&o));
	assert_int_equal(notes_out_send(&o, NODE, put, &ch, &err), RC_OK);
	assert_true(notes_out_empty(&o));
	assert_int_equal(ch.n, 1);

	notes_in_read(ch.notes[0], &in);
	assert_int_equal(in.node, NODE);
	assert_false(
	    in.missed || in.destinations_changed || in.began || in.epoch);
	assert_non_null(in.effects);
	/* A note has only the last event of each inbox. */
	assert_int_equal(in.effects->nevents, 2);
	for (i = 0; i < 2; i++)
		assert_int_equal(in.effects->events[i].seq,
		    in.effects->events[i].user_id == 7 ? 33 : 2);
	assert_int_equal(in.effects->nchanges, 1);
	assert_int_equal(in.effects->changes[0].user_id, 9);
	assert_int_equal(in.effects->changes[0].mid, 90);
	assert_int_equal(in.effects->changes[0].event, CHANGE_ACKED);
	assert_int_equal(in.effects->nacked, 1);
	assert_int_equal(in.effects->acked[0].user_id, 7);
	assert_int_equal(in.effects->acked[0].device_id, 3);
	assert_int_equal(in.effects->acked[0].seq, 30);
	assert_int_equal(in.effects->nrevoked, 2);
	for (i = 0; i < 2; i++) {
		assert_int_equal(in.effects->revoked[i].device_id, 5 + i);
		assert_int_equal(in.effects->revoked[i].kept, i == 1);
		assert_memory_equal(
		    in.effects->revoked[i].token_hash, hash, sizeof(hash));
	}
	effects_free(in.effects);
	clear(&ch);
	notes_out_fini(&o);
}

/* Sends the notes that wait: there must be ${n}, the last of them ${last}. */
static void
check_sends(struct notes_out *o, struct channel *ch, size_t n, const char *last)
{
	struct err err = ERR_INIT;

	assert_int_equal(notes_out_send(o, NODE, put, ch, &err), RC_OK);
	assert_int_equal(ch->n, n);
	assert_string_equal(ch->notes[n - 1], last);
}

static void
test_words(void **state)
{
	struct channel ch = {.n = 0};
	struct notes_out o;
	struct notes_in in;

	(void)state;
	assert_true(notes_out_init(&o));
	notes_out_word(&o, "D");
	notes_out_word(&o, "J");
	notes_out_word(&o, "E");
	notes_out_word(&o, "Pb.example");
	notes_out_word(&o, "Pa.b.example");
	check_sends(&o, &ch, 1, "N12 D J E Pb.example Pa.b.example");
	notes_in_read(ch.notes[0], &in);
	assert_true(
	    in.destinations_changed && in.began && in.epoch && !in.missed);
	assert_null(in.effects);
	assert_int_equal(in.npeers, 2);
	assert_string_equal(in.peers[0], "b.example");
	assert_string_equal(in.peers[1], "a.b.example");
	clear(&ch);
	notes_out_fini(&o);
}

/* A note with too many servers, or with words that are not names. */
static void
test_many_peers(void **state)
{
	char note[4096] = "N12";
	struct notes_in in;
	size_t n, i;

	(void)state;
	for (i = 0; i < NOTES_PEERS + 3; i++) {
		n = strlen(note);
		(void)snprintf(note + n, sizeof(note) - n, " Ps%zu.example", i);
	}
	notes_in_read(note, &in);
	assert_int_equal(in.npeers, NOTES_PEERS);
	assert_string_equal(in.peers[NOTES_PEERS - 1], "s7.example");
	(void)snprintf(note, sizeof(note), "N12 P%0*d Pb.example",
	    LIMIT_DOMAIN_LEN + 1, 7);
	notes_in_read(note, &in);
	assert_int_equal(in.npeers, 1);
	assert_string_equal(in.peers[0], "b.example");
}

/* More than one note can hold: the rest follows in the next notes, in order. */
static void
test_splits(void **state)
{
	struct channel ch = {.n = 0};
	struct err err = ERR_INIT;
	struct notes_out o;
	struct notes_in in;
	int64_t next = 1;
	size_t i, k;

	(void)state;
	assert_true(notes_out_init(&o));
	tell_changes(&o, 3000);
	assert_int_equal(notes_out_send(&o, INT64_MAX, put, &ch, &err), RC_OK);
	assert_true(ch.n > 1 && ch.n <= NOTES_MAX);
	for (i = 0; i < ch.n; i++) {
		notes_in_read(ch.notes[i], &in);
		assert_true(in.node == INT64_MAX);
		assert_false(in.missed);
		assert_non_null(in.effects);
		for (k = 0; k < in.effects->nchanges; k++)
			assert_int_equal(in.effects->changes[k].mid, next++);
		effects_free(in.effects);
	}
	assert_int_equal(next, 3001);
	clear(&ch);
	notes_out_fini(&o);
}

/* More than may wait: what fits is sent, and a mark that there was more.  After
 * that the mark is cleared. */
static void
test_too_much(void **state)
{
	struct channel ch = {.n = 0};
	struct notes_out o;
	struct notes_in in;

	(void)state;
	assert_true(notes_out_init(&o));
	tell_changes(&o, 60000);
	check_sends(&o, &ch, NOTES_MAX + 1, "N12 *");
	notes_in_read(ch.notes[NOTES_MAX], &in);
	assert_true(in.missed);
	assert_null(in.effects);
	clear(&ch);

	assert_true(notes_out_empty(&o));
	tell_changes(&o, 1);
	check_sends(&o, &ch, 1, "N12 C7:1:2");
	clear(&ch);
	notes_out_fini(&o);
}

/* Notes that cannot be sent are dropped: the other nodes query the database
 * anyway. */
static void
test_not_sent(void **state)
{
	struct channel ch = {.n = 0, .fails_at = 2};
	struct err err = ERR_INIT;
	struct notes_out o;

	(void)state;
	assert_true(notes_out_init(&o));
	tell_changes(&o, 3000);
	assert_int_equal(notes_out_send(&o, NODE, put, &ch, &err), RC_BUSY);
	assert_int_equal(ch.n, 1);
	assert_true(notes_out_empty(&o));
	clear(&ch);
	notes_out_fini(&o);
}

/* A note that is exactly full is sent as one; with a byte more there are
 * two. */
static void
test_full_note(void **state)
{
	struct channel ch = {.n = 0};
	struct err err = ERR_INIT;
	char word[NOTE_BYTES];
	struct notes_out o;
	size_t more;

	(void)state;
	for (more = 0; more < 2; more++) {
		assert_true(notes_out_init(&o));
		notes_out_word(&o, "D");
		memset(word, 'x', sizeof(word));
		/* " D", a blank, and a word that fills the rest */
		word[NOTE_BYTES - 32 - 3 + more] = '\0';
		notes_out_word(&o, word);
		assert_int_equal(
		    notes_out_send(&o, NODE, put, &ch, &err), RC_OK);
		assert_int_equal(ch.n, 1 + more);
		assert_int_equal(
		    strlen(ch.notes[0]), more == 0 ? NOTE_BYTES - 32 + 3 : 5);
		clear(&ch);
		notes_out_fini(&o);
	}
}

/* Whichever allocation fails: either the content is sent, or the mark that it
 * is lost. */
static void
test_no_memory(void **state)
{
	struct channel ch = {.n = 0};
	struct err err = ERR_INIT;
	struct notes_out o;
	struct effects *effects;
	bool pending;
	int k, lost = 0;

	(void)state;
	mem_fail_at(1);
	assert_false(notes_out_init(&o));
	notes_out_fini(&o);
	for (k = 1;; k++) {
		assert_true(k < 50);
		assert_true(notes_out_init(&o));
		effects = effects_new();
		assert_non_null(effects);
		head(effects, 7, 31);
		change(effects, 9, 90);
		mem_fail_at(k);
		notes_out_effects(&o, effects);
		assert_int_equal(
		    notes_out_send(&o, NODE, put, &ch, &err), RC_OK);
		pending = mem_fail_pending();
		mem_fail_at(0);
		if (strcmp(ch.notes[ch.n - 1], "N12 *") == 0)
			lost++;
		else
			assert_string_equal(ch.notes[0], "N12 C9:90:2 H7:31");
		/* After that the mark is cleared. */
		clear(&ch);
		notes_out_effects(&o, effects);
		check_sends(&o, &ch, 1, "N12 C9:90:2 H7:31");
		clear(&ch);
		effects_free(effects);
		notes_out_fini(&o);
		if (pending)
			break;
	}
	assert_int_equal(lost, k - 1);
	assert_true(lost > 2);
	mem_fail_at(1);
	notes_in_read("N12 H7:31", &(struct notes_in){.node = 0});
	assert_false(mem_fail_pending());
}

/* The first and the last kind of event, and one that does not exist. */
static void
test_events(void **state)
{
	struct notes_in in;
	char note[40];
	int event;

	(void)state;
	for (event = 0; event <= OUTBOX_EVENTS; event++) {
		(void)snprintf(note, sizeof(note), "N12 C7:90:%d", event);
		notes_in_read(note, &in);
		assert_int_equal(in.effects != NULL, event < OUTBOX_EVENTS);
		if (in.effects == NULL)
			continue;
		assert_int_equal(in.effects->nchanges, 1);
		assert_int_equal(in.effects->changes[0].event, event);
		effects_free(in.effects);
	}
}

/* Notes of another version or another program, or notes that are cut: the words
 * that can be read count, and the others are skipped. */
static void
test_strange(void **state)
{
	static const struct {
		const char *note;
		size_t events, changes, acked, revoked;
	} rows[] = {
	    {"", 0, 0, 0, 0},
	    {" ", 0, 0, 0, 0},
	    {"hello", 0, 0, 0, 0},
	    {"N", 0, 0, 0, 0},
	    {"N12 ", 0, 0, 0, 0},
	    {"N12 H", 0, 0, 0, 0},
	    {"N12 H7", 0, 0, 0, 0},
	    {"N12 H7:", 0, 0, 0, 0},
	    {"N12 H7:x", 0, 0, 0, 0},
	    {"N12 H-7:3", 0, 0, 0, 0},
	    {"N12 Z9:9 H7:3", 1, 0, 0, 0},
	    {"N12  H7:3  H8:4 ", 2, 0, 0, 0},
	    {"N12 C7:90", 0, 0, 0, 0},
	    {"N12 C7:90:99", 0, 0, 0, 0},
	    {"N12 C7:90:-1", 0, 0, 0, 0},
	    {"N12 C7:90:1 C", 0, 1, 0, 0},
	    {"N12 A7:3", 0, 0, 0, 0},
	    {"N12 A7:3:30:40", 0, 0, 1, 0},
	    {"N12 R", 0, 0, 0, 0},
	    {REVOKED "3", 0, 0, 0, 0},
	    {REVOKED "3:", 0, 0, 0, 0},
	    {REVOKED "3:abcd", 0, 0, 0, 0},
	    {REVOKED
		"3:zz00000000000000000000000000000000000000000000000000000000"
		"00000000",
		0, 0, 0, 0},
	    {REVOKED
		"3:0000000000000000000000000000000000000000000000000000000000"
		"000000",
		0, 0, 0, 1},
	    {"H99999999999999999999:99999999999999999999", 1, 0, 0, 0},
	};
	struct notes_in in;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		notes_in_read(rows[i].note, &in);
		assert_false(in.missed);
		assert_int_equal(in.effects != NULL,
		    rows[i].events + rows[i].changes + rows[i].acked +
			    rows[i].revoked >
			0);
		if (in.effects == NULL)
			continue;
		assert_int_equal(in.effects->nevents, rows[i].events);
		assert_int_equal(in.effects->nchanges, rows[i].changes);
		assert_int_equal(in.effects->nacked, rows[i].acked);
		assert_int_equal(in.effects->nrevoked, rows[i].revoked);
		effects_free(in.effects);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_many_peers),
	    cmocka_unit_test(test_all_is_heard),
	    cmocka_unit_test(test_words),
	    cmocka_unit_test(test_splits),
	    cmocka_unit_test(test_too_much),
	    cmocka_unit_test(test_not_sent),
	    cmocka_unit_test(test_full_note),
	    cmocka_unit_test(test_no_memory),
	    cmocka_unit_test(test_events),
	    cmocka_unit_test(test_strange),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
