/* SPDX-License-Identifier: MIT */
/*
 * See scrub.h.  After a row that cannot be read, the scrubber skips the rest of
 * its conversation or inbox or, in other tables, the rest of the table.  After
 * FAILURES failures without a row read in between, it skips all conversations
 * or all inboxes that are left.  The next round tries to read the skipped rows
 * again.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "log/log.h"
#include "upkeep/fsck.h"
#include "upkeep/scrub.h"
#include "upkeep/scrub_rows.h"

/* Findings that are logged in a round at most.  All are counted. */
#define TOLD 20
/* Read failures, with no row read in between, after which the rest of
 * SCRUB_CHAIN or SCRUB_INBOX is skipped in this round.  The rest of any other
 * table is skipped after the first failure. */
#define FAILURES 20

struct scrub {
	struct scrub_options options;
	struct scrub_at at;
	int64_t next_ms;
	int64_t rounds;

	/* Of the current round. */
	int64_t rows;
	int64_t found;
	int failures; /* consecutive, in this table */

	/* The previous row, from which the next one must follow. */
	int64_t owner; /* conversation or user; 0: none yet */
	int64_t seq;
	uint8_t digest[DIGEST_LEN];
};

static const char changed[] = "not what was accepted: its digest does not "
			      "follow from the one before";
static const char hole[] = "a hole";
static const char unreadable[] = "cannot be read";

static void
find(struct scrub *s, const char *what, const char *place)
{

	metrics_add(s->options.metrics, METRIC_SCRUB_ERRORS, 1);
	if (s->found++ < TOLD)
		log_event(LOG_EV_SCRUB_FOUND, "place=%s what=%s", place, what);
	if (s->options.found != NULL)
		s->options.found(s->options.arg, what, place);
}

static void
find_number(
    struct scrub *s, const char *what, const char *fmt, int64_t a, int64_t b)
{
	char place[128];

	(void)snprintf(place, sizeof(place), "%s %" PRId64 " of %s %" PRId64,
	    fmt, a, fmt[0] == 'm' ? "conversation" : "user", b);
	find(s, what, place);
}

/* Returns whether the row with number ${seq} of ${owner} (a conversation or a
 * user) follows the previous row without a hole: it has the next number of the
 * same owner, or ${first}, the number with which the rows of ${owner} must
 * begin.  In every case this row becomes the previous one. */
static bool
follows(struct scrub *s, int64_t owner, int64_t seq, int64_t first)
{
	bool right;

	if (owner != s->owner) {
		s->owner = owner;
		s->seq = 0;
		memset(s->digest, 0, sizeof(s->digest));
	}
	/* An inbox that was trimmed since the previous piece has no hole. */
	right = seq == (s->seq == 0 ? first : s->seq + 1) ||
		(seq > s->seq && seq == first);
	s->seq = seq;
	return (right);
}

static enum rc
on_link(void *arg, const struct check_link *link, struct err *err)
{
	struct scrub *s = arg;

	(void)err;
	if (!follows(s, link->conversation_id, link->conversation_seq, 1))
		find_number(s, hole, "message before", link->conversation_seq,
		    link->conversation_id);
	if (!fsck_link_holds(link, s->digest))
		find_number(s, changed, "message", link->conversation_seq,
		    link->conversation_id);
	if (link->digest_len == DIGEST_LEN)
		memcpy(s->digest, link->digest, DIGEST_LEN);
	return (RC_OK);
}

static void
on_event(void *arg, int64_t user_id, int64_t seq, int64_t trimmed)
{
	struct scrub *s = arg;

	if (!follows(s, user_id, seq, trimmed + 1))
		find_number(s, hole, "event before", seq, user_id);
}

static void
begin_table(struct scrub *s, enum scrub_table table)
{

	scrub_rows_begin(&s->at, table);
	s->failures = 0;
	s->owner = 0;
}

static void
end_table(struct scrub *s, int64_t now)
{

	if (s->at.table + 1 < SCRUB_TABLES) {
		begin_table(s, s->at.table + 1);
		return;
	}
	s->rounds++;
	log_event(LOG_EV_SCRUB_ROUND, "rows=%" PRId64 " found=%" PRId64,
	    s->rows, s->found);
	s->rows = s->found = 0;
	begin_table(s, SCRUB_CHAIN);
	s->next_ms = now + s->options.rest_ms;
}

/* Handles a row that cannot be read.  Reports it, unless the previous read of
 * this table failed, too, and no row was read since.  Then skips the rest of
 * the conversation, the inbox or the table, as the head of this file says. */
static void
pass_over(struct scrub *s, int64_t now, const struct err *err)
{
	char place[256];

	(void)snprintf(place, sizeof(place),
	    "%s behind %" PRId64 "/%" PRId64 ": %.150s",
	    scrub_rows_name(s->at.table), s->at.key[0], s->at.key[1],
	    err->text);
	if (s->failures++ == 0)
		find(s, unreadable, place);
	if (s->at.table > SCRUB_INBOX || s->failures >= FAILURES) {
		end_table(s, now);
		return;
	}
	/* The next conversation or inbox may be readable, from its
	 * beginning. */
	s->at.key[0]++;
	s->at.key[1] = -1;
	s->owner = 0;
}

static void
piece(struct scrub *s, int64_t now)
{
	const struct scrub_each each = {s, on_link, on_event};
	struct err err = ERR_INIT;
	int64_t limit, n = 0;
	enum rc rc;

	limit = s->options.rate < SCRUB_ROWS ? s->options.rate : SCRUB_ROWS;
	rc = db_begin(s->options.db, &err);
	if (rc == RC_OK)
		rc = scrub_rows_read(
		    s->options.db, &s->at, limit, &each, &n, &err);
	db_rollback(s->options.db);
	s->rows += n;
	if (n > 0)
		s->failures = 0;
	metrics_add(s->options.metrics, METRIC_SCRUBBED_ROWS, n);
	s->next_ms = now + (n > 0 ? n * 1000 / s->options.rate : 0) + 1;
	if (rc == RC_CORRUPT || rc == RC_IO)
		pass_over(s, now, &err);
	else if (rc != RC_OK)
		s->next_ms = now + 1000; /* short of memory, or busy */
	else if (n < limit)
		end_table(s, now);
}

int64_t
scrub_turn(struct scrub *s)
{
	int64_t now = clk_mono_ms(s->options.clk);

	if (now >= s->next_ms)
		piece(s, now);
	return (s->next_ms);
}

int64_t
scrub_rounds(const struct scrub *s)
{

	return (s->rounds);
}

enum rc
scrub_new(
    const struct scrub_options *options, struct scrub **ret, struct err *err)
{
	struct scrub *s;

	assert(options->rate > 0);
	if ((s = mem_zalloc(1, sizeof(*s))) == NULL)
		return (err_set(err, RC_NO_MEMORY, "scrub"));
	s->options = *options;
	begin_table(s, SCRUB_CHAIN);
	*ret = s;
	return (RC_OK);
}

void
scrub_free(struct scrub *s)
{

	mem_free(s);
}
