/* SPDX-License-Identifier: MIT */
/*
 * Many messages in one transaction.  See rig.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "contract/rig.h"

static void
finish_send(struct unit *base)
{
	struct send_unit *u = CONTAINER_OF(base, struct send_unit, unit);

	(*(int *)u->arg)++;
}

void
rig_send_many(struct rig *r, int64_t from, const char *to, int n,
    int64_t (*deliver_at)(int i))
{
	static struct message_draft drafts[300];
	static struct send_unit units[300];
	int i, sent = 0;

	assert_true(n <= 300);
	memset(drafts, 0, sizeof(drafts));
	memset(units, 0, sizeof(units));
	for (i = 0; i < n; i++) {
		drafts[i].has_id = true;
		drafts[i].id = uuid_gen_next(&r->ids);
		drafts[i].to = (struct span){to, strlen(to)};
		drafts[i].body = (struct span){"x", 1};
		drafts[i].deliver_at_ms = deliver_at(i);
		send_unit_init(&units[i]);
		assert_true(send_unit_ask(
		    &units[i], from, &drafts[i], &rig_addressing));
		units[i].unit.finish = finish_send;
		units[i].arg = &sent;
		assert_int_equal(
		    writer_submit(r->writer, &units[i].unit), RC_OK);
	}
	assert_int_equal(writer_run_once(r->writer), n);
	assert_int_equal(sent, n);
	for (i = 0; i < n; i++)
		assert_int_equal(units[i].refusal.problem, PROBLEM_NONE);
}
