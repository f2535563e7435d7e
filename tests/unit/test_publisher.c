/* SPDX-License-Identifier: MIT */
/*
 * The subscribers inside the server: those that have subscribed are called in
 * order, once, for committed effects and for nothing else.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "contract/rig.h"

#define DAYS_MS(n) (INT64_C(86400000) * (n))

/* The calls of a subscriber: a letter for each event, with its message. */
struct heard {
	char events[16];
	int64_t mids[16];
	int n;
};

static void
hear(void *arg, const struct effect_change *change)
{
	static const char letters[OUTBOX_EVENTS + 1] = "osarf";
	struct heard *h = arg;

	assert_true(h->n < 15);
	h->mids[h->n] = change->mid;
	h->events[h->n++] = letters[change->event];
}

#define HEARS(heard_, events_)                                                 \
	{                                                                      \
		.arg = (heard_), .on_change = hear, .events = (events_)        \
	}

/* The effects of these tests are not on the heap. */
static void
keep(void *arg, struct effects *effects)
{

	(void)arg;
	(void)effects;
}

static void
test_who_is_told(void **state)
{
	struct effect_change changes[] = {{1, 10, CHANGE_SENT},
	    {1, 11, CHANGE_OTHER}, {2, 12, CHANGE_RETRY},
	    {2, 12, CHANGE_FAILED}, {1, 10, CHANGE_ACKED},
	    {3, 13, CHANGE_SENT}};
	struct effects effects = {.changes = changes, .nchanges = 6};
	struct effects nothing = {.nchanges = 0};
	struct heard all = {.n = 0}, four = all, one = all, none = all;
	const struct subscriber wants[] = {HEARS(&all, EVENTS_ALL),
	    HEARS(&four, EVENTS_OF_ENTRIES),
	    HEARS(&one, EVENT_BIT(CHANGE_RETRY)), HEARS(&none, 0)};
	struct publisher s = {.n = 0};
	struct err err = ERR_INIT;
	size_t i;

	(void)state;
	s.list[s.n++] = (struct subscriber){.take_effects = keep};
	publisher_effects(&s, &effects); /* no other subscriber yet */
	for (i = 0; i < 4; i++)
		assert_int_equal(publisher_add(&s, &wants[i], &err), RC_OK);
	publisher_effects(&s, &nothing);
	publisher_effects(&s, &effects);
	assert_string_equal(all.events, "sorfas");
	assert_string_equal(four.events, "srfas");
	assert_string_equal(one.events, "r");
	assert_string_equal(none.events, "");
	assert_int_equal(one.mids[0], 12);
	assert_int_equal(all.mids[5], 13);
}

static void
test_bounded(void **state)
{
	struct heard h = {.n = 0};
	const struct subscriber wants =
	    HEARS(&h, EVENT_BIT(CHANGE_SENT) | EVENT_BIT(CHANGE_ACKED));
	struct effect_change change = {1, 1, CHANGE_SENT};
	struct effects effects = {.changes = &change, .nchanges = 1};
	struct publisher s = {.n = 0};
	struct err err = ERR_INIT;
	int i;

	(void)state;
	s.list[s.n++] = (struct subscriber){.take_effects = keep};
	for (i = 1; i < SUBSCRIBERS_MAX; i++)
		assert_int_equal(publisher_add(&s, &wants, &err), RC_OK);
	assert_int_equal(publisher_add(&s, &wants, &err), RC_LIMIT);
	assert_true(err.text[0] != '\0');
	publisher_effects(&s, &effects);
	assert_int_equal(h.n, SUBSCRIBERS_MAX - 1);
}

/* The calls in order, a letter each. */
static char called[8];

static void
call(char letter)
{

	called[strlen(called)] = letter;
}

static void
woken(void *arg, const struct wake *wake)
{

	assert_int_equal(wake->nlanes, 1);
	call(*(const char *)arg);
}

static void
told(void *arg, const struct effects *effects)
{

	assert_int_equal(effects->nacked, 1);
	call(*(const char *)arg);
}

static void
take_wake(void *arg, struct wake *wake)
{

	call(*(const char *)arg);
	wake_free(wake);
}

static void
take_effects(void *arg, struct effects *effects)
{

	call(*(const char *)arg);
	effects_free(effects);
}

static void
publish_both(const struct publisher *p)
{
	const struct effect_acked acked = {1, 2, 3};
	struct wake *wake = wake_new();
	struct effects *effects = effects_new();
	struct err err = ERR_INIT;

	memset(called, 0, sizeof(called));
	assert_int_equal(wake_add(wake, 7, 0, &err), RC_OK);
	assert_int_equal(effects_add_acked(effects, &acked, &err), RC_OK);
	publisher_wake(p, wake);
	call('-');
	publisher_effects(p, effects);
}

/* One subscriber takes over each object, after all others have seen it.
 * Without such a subscriber the object is freed (the leak checker verifies
 * this). */
static void
test_taken_over(void **state)
{
	const struct subscriber taker = {.arg = (char[]){"T"},
	    .take_wake = take_wake,
	    .take_effects = take_effects};
	const struct subscriber seer = {
	    .arg = (char[]){"s"}, .on_wake = woken, .on_effects = told};
	const struct subscriber second = {
	    .arg = (char[]){"x"}, .take_effects = take_effects};
	const struct subscriber third = {
	    .arg = (char[]){"x"}, .take_wake = take_wake};
	struct publisher p = {.n = 0};
	struct err err = ERR_INIT;

	(void)state;
	publish_both(&p);
	assert_string_equal(called, "-");
	assert_int_equal(publisher_add(&p, &taker, &err), RC_OK);
	assert_int_equal(publisher_add(&p, &seer, &err), RC_OK);
	assert_int_equal(publisher_add(&p, &second, &err), RC_LIMIT);
	assert_int_equal(publisher_add(&p, &third, &err), RC_LIMIT);
	publish_both(&p);
	assert_string_equal(called, "sT-sT");
}

/* The events since the last call, as names, must be ${want}, all for messages
 * of user ${sender}. */
static void
assert_told(struct rig *r, int64_t sender, const char *want)
{
	char have[160];
	int i;

	have[0] = '\0';
	for (i = 0; i < r->nchanges; i++) {
		assert_int_equal(r->changes[i].user_id, sender);
		(void)snprintf(have + strlen(have), sizeof(have) - strlen(have),
		    "%s ", effects_outbox_event_name(r->changes[i].event));
	}
	rig_forget(r);
	assert_string_equal(have, want);
}

/* R63 R64 R65: the events of a message from acceptance to the inbox, to the
 * device and to the person; and the event of a message that expires. */
static void
test_a_life(void **state)
{
	struct rig r;
	int64_t ann, ben, device;

	(void)state;
	rig_open(&r);
	ann = rig_user(&r, "ann", NULL);
	ben = rig_user(&r, "ben", &device);
	(void)rig_send(&r, ann, "ben", "hello", NULL);
	assert_told(&r, ann, "");
	assert_int_equal(rig_deliver(&r), 1);
	assert_told(&r, ann, "sent ");
	(void)rig_ack(&r, ben, device, 1);
	assert_told(&r, ann, "acked ");
	/* Sessions of the device learn of the ack by this effect alone. */
	assert_int_equal(r.acked.user_id, ben);
	assert_int_equal(r.acked.device_id, device);
	assert_int_equal(r.acked.seq, 1);
	(void)rig_ack(&r, ben, device, 1);
	assert_told(&r, ann, "");
	(void)rig_read(&r, ben, device, 1, false);
	assert_told(&r, ann, "changed ");
	(void)rig_deliver(&r); /* the receipts, which have no events */
	assert_told(&r, ann, "");

	(void)rig_send(&r, ann, "ben", "too late", NULL);
	clk_fake_advance(&r.clk, DAYS_MS(6));
	(void)rig_deliver(&r); /* the clock seems to have leapt */
	clk_fake_advance(&r.clk, 120000);
	(void)rig_deliver(&r);
	assert_int_equal(
	    rig_number(
		&r, "SELECT count(*) FROM outbox WHERE state = 'expired'"),
	    1);
	assert_told(&r, ann, "failed ");
	rig_close(&r);
}

/* The release of a scheduled message is a "changed" event.  A note to oneself
 * is then in its inbox. */
static void
test_released(void **state)
{
	struct rig r;
	int64_t ann;

	(void)state;
	rig_open(&r);
	ann = rig_user(&r, "ann", NULL);
	(void)rig_user(&r, "ben", NULL);
	(void)rig_send_at(&r, ann, "ben", "later", RIG_START_MS + 1000);
	(void)rig_send_at(&r, ann, "ann", "tea", RIG_START_MS + 2000);
	assert_told(&r, ann, "");
	clk_fake_advance(&r.clk, 1000);
	assert_int_equal(rig_release(&r), 1);
	assert_told(&r, ann, "changed ");
	clk_fake_advance(&r.clk, 1000);
	assert_int_equal(rig_release(&r), 1);
	assert_told(&r, ann, "acked ");
	rig_close(&r);
}

/* Any allocation of a delivery may fail: the transaction is abandoned and
 * repeated, and only the committed effects are published, once. */
static void
test_told_when_committed(void **state)
{
	struct rig r;
	int64_t ann, k;
	size_t n;
	bool all;

	(void)state;
	rig_open(&r);
	ann = rig_user(&r, "ann", NULL);
	(void)rig_user(&r, "ben", NULL);
	for (k = 1, all = false; !all; k++) {
		assert_true(k < 500);
		(void)rig_send(&r, ann, "ben", "hello", NULL);
		rig_forget(&r);
		mem_fail_at(k);
		assert_int_equal(rig_deliver_try(&r, &n), RC_OK);
		all = mem_fail_pending();
		mem_fail_at(0);
		assert_int_equal(r.nchanges,
		    rig_number(&r, "SELECT state = 'sent' FROM outbox "
				   "ORDER BY id DESC LIMIT 1"));
		(void)rig_deliver(&r);
		assert_told(&r, ann, "sent ");
		assert_int_equal(rig_number(&r, "SELECT count(*) FROM outbox "
						"WHERE state = 'pending'"),
		    0);
	}
	assert_true(k > 4); /* some allocations did fail */
	rig_close(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_who_is_told),
	    cmocka_unit_test(test_bounded),
	    cmocka_unit_test(test_taken_over),
	    cmocka_unit_test(test_a_life),
	    cmocka_unit_test(test_released),
	    cmocka_unit_test(test_told_when_committed),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
