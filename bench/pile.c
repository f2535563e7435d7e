/* SPDX-License-Identifier: MIT */
/*
 * Writes a pile; see pile.h.  The rows are written by the statements of the
 * schema, with what a server would have written: chained digests, the senders'
 * copies, the lanes' tails, the totals, but no attempts and no receipts.
 * twinboxd fsck finds no violation.
 *
 * Messages of the lanes alternate, as in real traffic.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "chat/send.h"
#include "crypt/crypt.h"
#include "crypt/digest.h"
#include "model/event.h"
#include "schema/sql.h"
#include "store/account.h"
#include "store/conversation.h"
#include "store/destination.h"
#include "store/lane.h"
#include "store/outbox.h"
#include "store/totals.h"

#include "bench.h"
#include "pile.h"
#include "util.h"

#define COMMIT_EVERY 50000
#define EXPIRY_MS (INT64_C(5) * 24 * 3600 * 1000)

struct sender {
	int64_t user_id;
	int64_t head;
	char name[40];
};

struct lane {
	struct store_lane row;
	uint8_t digest[DIGEST_LEN];
	char to[80];
	int64_t at_ms; /* of the last message */
};

struct heap {
	const struct pile *pile;
	struct db *db;
	struct uuid_gen ids;
	struct sender *senders;
	struct lane *lanes;
	int64_t now_ms;
	int64_t mid, outbox_id; /* the last ones used */
	int64_t destination_id;
};

/* One message, and the values that its rows refer to. */
struct item {
	struct sender *from;
	struct lane *lane;
	struct uuid id, event_id;
	int64_t seq;
	int64_t at_ms;
};

static void
must(enum rc rc, const struct err *err)
{

	if (rc != RC_OK)
		bench_die("pile: %s: %s", rc_text(rc), err->text);
}

static void
run(struct heap *h, int stmt, const struct db_val *v, size_t n)
{
	struct err err = ERR_INIT;

	must(db_run(h->db, stmt, v, n, NULL, NULL, NULL, &err), &err);
}

/* ---- who writes to whom ---- */

static void
find_sender(struct heap *h, int i)
{
	struct sender *s = &h->senders[i];
	struct err err = ERR_INIT;
	struct store_counter counter;
	struct store_user user;

	snprintf(s->name, sizeof(s->name), "u%d", i);
	must(store_user_by_name(h->db, s->name, strlen(s->name), &user, &err),
	    &err);
	must(store_counter_get(h->db, user.user_id, &counter, &err), &err);
	s->user_id = user.user_id;
	s->head = counter.head;
}

static void
find_destination(struct heap *h)
{
	struct store_destination_row row;
	struct err err = ERR_INIT;
	enum rc rc;

	rc = store_destination_by_name(h->db, h->pile->domain, &row, &err);
	if (rc == RC_OK) {
		h->destination_id = row.destination_id;
		return;
	}
	must(store_destination_insert(h->db, h->pile->domain, true, h->now_ms,
		 &h->destination_id, &err),
	    &err);
}

static void
make_lane(struct heap *h, int i)
{
	struct sender *from = &h->senders[i % h->pile->senders];
	char key[STORE_DIRECT_KEY_SIZE];
	struct lane *l = &h->lanes[i];
	struct store_remote_user to = {.address = l->to};
	struct store_new_conversation c = {
	    .public_id = uuid_gen_next(&h->ids), .direct_key = key};
	struct err err = ERR_INIT;

	snprintf(l->to, sizeof(l->to), "d%d@%s", i, h->pile->domain);
	must(store_users_remote_insert(
		 h->db, &to, 1, h->destination_id, h->now_ms, &err),
	    &err);
	l->row.dest_user = to.user_id;
	store_direct_key(from->name, l->to, key);
	must(store_conversations_insert(h->db, &c, 1, h->now_ms, &err), &err);
	l->row.conversation_id = c.conversation_id;
	must(store_members_insert(h->db,
		 (const struct store_new_member[]){
		     {c.conversation_id, from->user_id},
		     {c.conversation_id, to.user_id}},
		 2, &err),
	    &err);
	l->row.destination_id = h->destination_id;
	l->row.class = LANE_MESSAGES;
	l->row.state = LANE_IDLE;
	must(store_lane_insert(h->db, &l->row, h->now_ms, &err), &err);
	l->row.next_seq = 1;
}

/* ---- a message ---- */

static void
add_message(struct heap *h, const struct item *m)
{
	uint8_t salt[DIGEST_SALT_LEN], hash[DIGEST_LEN];
	uint8_t fingerprint[STORE_FINGERPRINT_LEN];
	struct message_draft draft;
	char text[BENCH_BODY_LEN + 1];
	struct sql_message_insert v = {0};

	letter_text(text, m->at_ms);
	memset(&draft, 0, sizeof(draft));
	draft.id = m->id;
	draft.body = (struct span){text, BENCH_BODY_LEN};
	send_fingerprint(&draft, m->lane->to, fingerprint);
	rnd_fill(rnd_system(), salt, sizeof(salt));
	digest_body(salt, text, BENCH_BODY_LEN, hash);
	digest_next(m->lane->digest, m->seq, &m->id, m->from->name, hash);
	v.mid = db_v_i64(h->mid);
	v.message_id = db_v_uuid(&m->id);
	v.event_id = db_v_uuid(&m->event_id);
	v.conversation_id = db_v_i64(m->lane->row.conversation_id);
	v.conversation_seq = db_v_i64(m->seq);
	v.sender_id = db_v_i64(m->from->user_id);
	v.body = db_v_text(text, BENCH_BODY_LEN);
	v.priority = db_v_i64(0);
	v.event_time = db_v_i64(m->at_ms);
	v.now = db_v_i64(m->at_ms);
	v.fingerprint = db_v_blob(fingerprint, sizeof(fingerprint));
	v.salt = db_v_blob(salt, sizeof(salt));
	v.digest = db_v_blob(m->lane->digest, DIGEST_LEN);
	run(h, SQL_MESSAGE_INSERT, DB_PARAMS(v));
}

static void
add_outbox(struct heap *h, const struct item *m)
{
	const bool settled = h->pile->settled;
	struct sql_outbox_insert v = {0};

	v.id = db_v_i64(h->outbox_id);
	v.event_id = db_v_uuid(&m->event_id);
	v.kind = db_v_i64(EVENT_MESSAGE);
	v.mid = db_v_i64(h->mid);
	v.conversation_id = db_v_i64(m->lane->row.conversation_id);
	v.conversation_seq = db_v_i64(m->seq);
	v.sender_id = db_v_i64(m->from->user_id);
	v.lane_id = db_v_i64(m->lane->row.lane_id);
	v.lane_seq = db_v_i64(m->seq);
	v.dest_kind = db_v_str("server");
	v.dest_id = db_v_i64(m->lane->row.dest_user);
	v.priority = db_v_i64(0);
	v.state = db_v_str(settled ? "acked" : "pending");
	v.expires_at = db_v_i64(m->at_ms + EXPIRY_MS);
	v.event_time = db_v_i64(m->at_ms);
	v.now = db_v_i64(m->at_ms);
	v.attempts = db_v_i64(0);
	v.attempt_at = DB_V_NULL;
	v.acked_at = settled ? db_v_i64(m->at_ms) : DB_V_NULL;
	v.sent_at = v.acked_at;
	run(h, SQL_OUTBOX_INSERT, DB_PARAMS(v));
}

static void
add_own_copy(struct heap *h, const struct item *m)
{
	struct sql_inbox_insert v = {0};

	v.user_id = db_v_i64(m->from->user_id);
	v.seq = db_v_i64(++m->from->head);
	v.kind = db_v_i64(EVENT_MESSAGE);
	v.own = db_v_i64(1);
	v.event_id = db_v_uuid(&m->event_id);
	v.origin = db_v_i64(0);
	v.mid = db_v_i64(h->mid);
	v.conversation_id = db_v_i64(m->lane->row.conversation_id);
	v.conversation_seq = db_v_i64(m->seq);
	v.actor_id = db_v_i64(m->from->user_id);
	v.event_time = db_v_i64(m->at_ms);
	v.delivered_at = db_v_i64(m->at_ms);
	v.attempt = db_v_i64(1);
	run(h, SQL_INBOX_INSERT, DB_PARAMS(v));
}

static void
add(struct heap *h, int64_t i)
{
	int l = (int)(i % h->pile->lanes);
	struct item m = {.from = &h->senders[l % h->pile->senders],
	    .lane = &h->lanes[l],
	    .id = uuid_gen_next(&h->ids),
	    .event_id = uuid_gen_next(&h->ids),
	    .at_ms = h->now_ms - (h->pile->messages - i)};

	m.seq = ++m.lane->row.tail_seq;
	h->mid++;
	h->outbox_id++;
	add_message(h, &m);
	add_outbox(h, &m);
	add_own_copy(h, &m);
	m.lane->at_ms = m.at_ms;
}

/* ---- the ends ---- */

static void
end_lane(struct heap *h, struct lane *l)
{
	struct store_lane *row = &l->row;
	struct sql_lane_remote_set lane;
	struct sql_participant_set marks;

	if (row->tail_seq == 0)
		return;
	if (h->pile->settled) {
		row->next_seq = row->tail_seq + 1;
		row->last_published_seq = row->tail_seq;
	} else {
		row->state = LANE_READY;
	}
	store_lane_remote_row(row, h->now_ms, &lane);
	run(h, SQL_LANE_REMOTE_SET, DB_PARAMS(lane));
	if (!h->pile->settled)
		return;
	/* The recipient has acked and read all that their server accepted. */
	marks.conversation_id = db_v_i64(row->conversation_id);
	marks.user_id = db_v_i64(row->dest_user);
	marks.delivered_upto = db_v_i64(row->tail_seq);
	marks.acked_upto = marks.read_upto = marks.shown_upto =
	    marks.delivered_upto;
	marks.acked_at = marks.read_at = marks.shown_at = db_v_i64(l->at_ms);
	run(h, SQL_PARTICIPANT_SET, DB_PARAMS(marks));
}

static void
add_totals(struct heap *h)
{
	const int64_t n = h->pile->messages;
	struct store_totals t = {{0}};
	struct err err = ERR_INIT;

	t.n[TOTAL_EVER_ACCEPTED] = n;
	if (h->pile->settled)
		t.n[TOTAL_EVER_SENT] = t.n[TOTAL_EVER_ACKED] = n;
	else
		t.n[TOTAL_PENDING] = n;
	must(store_totals_add(h->db, &t, &err), &err);
}

static void
commit(struct heap *h)
{
	struct db_checkpoint seen;
	struct err err = ERR_INIT;

	must(db_commit(h->db, &err), &err);
	must(db_checkpoint(h->db, true, &seen, &err), &err);
	must(db_begin(h->db, &err), &err);
}

void
pile_write(struct db *db, const struct pile *pile)
{
	struct heap h = {.pile = pile, .db = db};
	struct err err = ERR_INIT;

	uuid_gen_init(&h.ids, clk_system(), rnd_system());
	h.now_ms = clk_wall_ms(clk_system());
	h.senders = bench_zalloc((size_t)pile->senders, sizeof(*h.senders));
	h.lanes = bench_zalloc((size_t)pile->lanes, sizeof(*h.lanes));
	must(store_message_last_id(db, &h.mid, &err), &err);
	must(store_outbox_last_id(db, &h.outbox_id, &err), &err);
	must(db_begin(db, &err), &err);
	find_destination(&h);
	for (int i = 0; i < pile->senders; i++)
		find_sender(&h, i);
	for (int i = 0; i < pile->lanes; i++)
		make_lane(&h, i);
	for (int64_t i = 0; i < pile->messages; i++) {
		add(&h, i);
		if ((i + 1) % COMMIT_EVERY == 0)
			commit(&h);
	}
	for (int i = 0; i < pile->lanes; i++)
		end_lane(&h, &h.lanes[i]);
	add_totals(&h);
	must(db_commit(db, &err), &err);
	mem_free(h.senders);
	mem_free(h.lanes);
}
