/* SPDX-License-Identifier: MIT */
/*
 * Defects on purpose, which the seeds have to find.
 *
 * The product reads and writes its store through named SQL statements, and the
 * simulator opens the store with its own copy of their texts.  So it can remove
 * a guard from a statement without any code in the product.  The program ends
 * if an edit finds no text to replace.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/sql.h"
#include "sim/sim.h"

/* Replaces each ${from} with ${to} in the statement ${name}. */
struct edit {
	const char *broken;
	const char *name;
	const char *from, *to;
};

static const struct edit edits[] = {
    {"fence", "lane_fence", "lease_token = $2 AND state = 'leased'", "$2 >= 0"},
    {"rescue", "lanes_stale", "state = 'leased'", "state = 'never'"},
    {"confirm", "remote_confirm", "SET ack_deadline = NULL",
	"SET ack_deadline = ack_deadline"},
    {"rate", "destinations_after", "per_second", "0"},
    {"rate", "destination_by_id", "per_second", "0"},
    {"rate", "destinations_ready", "d.per_second", "0"},
    {"priority", "lanes_ready", "priority = $2", "priority = -$2"},
    {"renew", "lane_renew", "SET lease_until = $3",
	"SET lease_until = $3 - $3 + lease_until"},
    {"outage", "remote_back", "retry_count = $3",
	"retry_count = $3 + ($4 IS NULL)"},
    {"restart", "remote_rescue", "rescue_count + $3",
	"rescue_count + 1 + 0 * $3"},
    {"receipt", "message_last_of_others", "m.conversation_seq > $4", "$4 >= 0"},
    {"receipt-order", "outbox_receipt_pending", "o.kind <= $2", "o.kind = $2"},
    {"mark", "participant_set", "read_upto = $5", "read_upto = min($5, $4)"},
    {"private", "participant_set", "shown_upto = $8",
	"shown_upto = max($8, $5)"},
    {"turn", "lanes_ready", "lane_id > $5", "lane_id > 0 * $5"},
    {"together", "remote_claim", "o.retry_count", "0"},
    {"order", "remote_claim", "ORDER BY o.lane_seq",
	"ORDER BY o.lane_seq DESC"},
    {"order-here", "outbox_claim", "ORDER BY lane_seq",
	"ORDER BY lane_seq DESC"},
    /* Times before 1970 come from fed_broken_note(). */
    {"dedup-here", "processed_insert", "VALUES ($1, $2, $3, $4, $5)",
	"SELECT $1, $2, abs($3), $4, $5 WHERE $3 < 0"},
    {"nonce", "nonce_find", "WHERE destination_id",
	"WHERE 0 AND destination_id"},
    {"nonce", "nonce_insert", "DO NOTHING",
	"DO UPDATE SET keep_until = excluded.keep_until"},
    {"promise", "promised_find", "u.destination_id = $2",
	"u.destination_id <> $2"},
    {"hasten", "remote_hasten", "SET ack_deadline = $2",
	"SET ack_deadline = ack_deadline + 0 * $2"},
    {"replay", "remote_replay", "(o.state = 'sent' OR o.state = 'acked')",
	"o.state = 'sent'"},
    {"replay-first", "remote_replay", "o.lane_seq >= $2", "o.lane_seq > $2"},
    {"epoch", "peer_set", "epoch = $4", "epoch = substr($4, 1, 0)"},
};

/* The defects above, and these, which are not edits of a statement:
 *  - dedup: a peer's memory is written after its inbox
 *  - sync: the log is not synced at each commit
 *
 * Defects of a server that receives (fed_broken.h):
 *  - ack-early: the server answers before its commit
 *  - dedup-here: its memory is written after its inbox
 *  - back: it refuses envelopes that go back in their sequence
 *  - nonce: it accepts a request twice
 *  - origin: it finds a key by its id alone
 *  - sequence: it takes envelopes in the order in which they are written
 *  - stranger: it accepts a receipt from anyone
 *
 * Other defects:
 *  - reconnect: a request counts as answered although its answer asks the
 *    sender to come back later
 *  - unpaused: operators do not pause a server that is to be restored */
const char *const sim_breakable[] = {"ack-early", "back", "confirm", "dedup",
    "dedup-here", "epoch", "fence", "hasten", "mark", "nonce", "order",
    "order-here", "origin", "outage", "priority", "private", "promise", "rate",
    "receipt", "receipt-order", "reconnect", "renew", "replay", "replay-first",
    "rescue", "restart", "sequence", "stranger", "sync", "together", "turn",
    "unpaused", NULL};

static const char *const several[] = {"ack-early", "back", "dedup-here",
    "epoch", "hasten", "nonce", "origin", "promise", "reconnect", "replay",
    "replay-first", "sequence", "stranger", "unpaused", NULL};

bool
sim_breaks_several(const char *what)
{
	size_t i;

	for (i = 0; several[i] != NULL && strcmp(several[i], what) != 0; i++)
		continue;
	return (several[i] != NULL);
}

bool
sim_is_broken(const struct sim *s, const char *what)
{

	return (s->w->broken != NULL && strcmp(s->w->broken, what) == 0);
}

static void
die(const struct edit *e, const char *why)
{

	(void)fprintf(
	    stderr, "sim: cannot break %s: %s %s\n", e->broken, e->name, why);
	abort();
}

/* Returns ${text} with all ${e}->from replaced. */
static char *
edited(const struct edit *e, const char *text)
{
	size_t from = strlen(e->from), to = strlen(e->to), n;
	const char *p, *q;
	char *made, *w;

	for (n = 0, p = text; (p = strstr(p, e->from)) != NULL; p += from)
		n++;
	if (n == 0)
		die(e, "does not say what is to be changed");
	made = w = malloc(strlen(text) + n * to + 1);
	if (made == NULL)
		abort();
	for (p = text; (q = strstr(p, e->from)) != NULL; p = q + from) {
		memcpy(w, p, (size_t)(q - p));
		w += q - p;
		memcpy(w, e->to, to);
		w += to;
	}
	memcpy(w, p, strlen(p) + 1);
	return (made);
}

static void
apply(struct sql_text *statements, const struct edit *e)
{
	int i;

	for (i = 0; i < SQL_STMT_COUNT; i++)
		if (strcmp(statements[i].name, e->name) == 0) {
			statements[i].text = edited(e, statements[i].text);
			return;
		}
	die(e, "is not a statement");
}

const struct db_schema *
sim_schema(const struct sim *s)
{
	static struct sql_text statements[SQL_STMT_COUNT + 1];
	static struct db_schema schema;
	static const char *made;
	size_t i;

	if (s->w->broken == NULL)
		return (&sql_sqlite_schema);
	if (made == s->w->broken)
		return (&schema);
	memcpy(statements, sql_sqlite, sizeof(statements));
	for (i = 0; i < sizeof(edits) / sizeof(edits[0]); i++)
		if (sim_is_broken(s, edits[i].broken))
			apply(statements, &edits[i]);
	schema = sql_sqlite_schema;
	schema.statements = statements;
	made = s->w->broken;
	return (&schema);
}
