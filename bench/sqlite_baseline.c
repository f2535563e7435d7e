/* SPDX-License-Identifier: MIT */
/*
 * sqlite-baseline: the speed of SQLite itself with the rows that the server
 * writes.  One thread, with the server's schema, statements and connection
 * settings (WAL, synchronous=FULL), but no network, no validation and no reads.
 * The server's figures are given as ratios to these.
 *
 * A transaction has the same contents as a batch of the server's writer: N
 * messages are accepted (message, outbox row, own inbox copy), the N of the
 * transaction before are delivered, those delivered before that are acked with
 * a receipt, and the receipts before that are delivered, up to the step that is
 * measured.  The counters of a user, lane or conversation and the totals of the
 * outbox are written once in each transaction.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/uuid.h"
#include "db/db.h"
#include "model/event.h"
#include "schema/sql.h"
#include "store/totals.h"

#include "bench.h"
#include "util.h"

#define USERS 64
#define BATCH_MAX 512
#define CHECKPOINT_BYTES (8 << 20)

enum step { ACCEPT, DELIVER, ACK, RECEIPT, STEPS };

static const char *const step_names[STEPS] = {"accept", "accept_deliver",
    "accept_deliver_ack", "accept_deliver_ack_receipt"};

/* A message or a receipt on its way. */
struct item {
	int conv;
	int64_t mid;
	int64_t outbox_id;
	int64_t seq; /* in its conversation */
	struct uuid event_id;
};

struct user {
	int64_t id, device, head, acked;
	bool dirty;
};

struct lane {
	int64_t id, tail, next;
	bool dirty;
};

/* Conversation i: user i writes to user i + 1. */
struct conversation {
	int64_t id, last_seq, delivered, acked;
	struct lane lane, receipts;
	bool dirty;
};

static const char body[] =
    "The lamps along the quay were lit one after another, and the ferry that "
    "had been late all week came in on time; nobody remarked on it, though "
    "everyone had seen, and the rain held off until supper was over.";
_Static_assert(sizeof(body) > BENCH_BODY_LEN, "a whole text");

struct chain {
	struct db *db;
	struct uuid_gen ids;
	int64_t now_ms, mid, outbox_id;
	struct user users[USERS];
	struct conversation convs[USERS];
	struct item items[STEPS][BATCH_MAX]; /* the output of each step */
	int n[STEPS];
	int next_conv;
	int64_t log_bytes; /* bytes written to the log so far */
	int64_t log_at;    /* end of the log at the last commit */
};

static void
must(enum rc rc, const struct err *err)
{

	if (rc != RC_OK)
		bench_die("%s", err->text);
}

static enum rc
each_id(void *ret, const struct db_row *row, struct err *err)
{

	(void)err;
	*(int64_t *)ret = db_row_i64(row, 0);
	return (RC_OK);
}

/* Runs statement SQL_${STMT} with the values that initialise its parameters. */
#define RUN(c, STMT, stmt, each, arg, ...)                                     \
	do {                                                                   \
		const struct sql_##stmt params_ = {__VA_ARGS__};               \
		struct err err_ = ERR_INIT;                                    \
                                                                               \
		must(db_run((c)->db, SQL_##STMT, DB_PARAMS(params_), each,     \
			 arg, NULL, &err_),                                    \
		    &err_);                                                    \
	} while (0)
#define INT(v) db_v_i64(v)

static void
insert_inbox(struct chain *c, struct user *u, int kind, bool own,
    const struct item *it, int64_t actor)
{

	RUN(c, INBOX_INSERT, inbox_insert, NULL, NULL, .user_id = INT(u->id),
	    .seq = INT(++u->head), .kind = INT(kind), .own = INT(own),
	    .event_id = db_v_uuid(&it->event_id), .origin = INT(0),
	    .mid = INT(it->mid), .conversation_id = INT(c->convs[it->conv].id),
	    .conversation_seq = INT(it->seq), .actor_id = INT(actor),
	    .outbox_id = db_v_i64_or_null(own ? 0 : it->outbox_id, 0),
	    .event_time = INT(c->now_ms), .delivered_at = INT(c->now_ms),
	    .attempt = INT(1));
}

static void
insert_outbox(struct chain *c, struct item *it, int kind, struct lane *lane,
    int64_t sender, int64_t dest)
{

	it->outbox_id = ++c->outbox_id;
	RUN(c, OUTBOX_INSERT, outbox_insert, NULL, NULL,
	    .id = INT(it->outbox_id), .event_id = db_v_uuid(&it->event_id),
	    .kind = INT(kind), .mid = INT(it->mid),
	    .conversation_id = INT(c->convs[it->conv].id),
	    .conversation_seq = INT(it->seq), .sender_id = INT(sender),
	    .lane_id = INT(lane->id), .lane_seq = INT(++lane->tail),
	    .dest_kind = db_v_str("user"), .dest_id = INT(dest),
	    .priority = INT(0), .state = db_v_str("pending"),
	    .attempts = INT(0),
	    .expires_at = INT(c->now_ms + INT64_C(432000000)),
	    .event_time = INT(c->now_ms), .now = INT(c->now_ms));
}

static void
accept_one(struct chain *c)
{
	struct item *it = &c->items[ACCEPT][c->n[ACCEPT]++];
	struct conversation *conv = &c->convs[c->next_conv];
	struct user *from = &c->users[c->next_conv];
	struct user *to = &c->users[(c->next_conv + 1) % USERS];
	uint8_t noise[32];
	struct uuid id = uuid_gen_next(&c->ids);

	it->conv = c->next_conv;
	it->mid = ++c->mid;
	it->event_id = uuid_gen_next(&c->ids);
	it->seq = ++conv->last_seq;
	rnd_fill(rnd_system(), noise, sizeof(noise));
	RUN(c, MESSAGE_INSERT, message_insert, NULL, NULL, .mid = INT(it->mid),
	    .message_id = db_v_uuid(&id), .event_id = db_v_uuid(&it->event_id),
	    .conversation_id = INT(conv->id), .conversation_seq = INT(it->seq),
	    .sender_id = INT(from->id), .body = db_v_text(body, BENCH_BODY_LEN),
	    .content_type = db_v_str("text/plain"), .priority = INT(0),
	    .event_time = INT(c->now_ms), .now = INT(c->now_ms),
	    .fingerprint = db_v_blob(noise, 16),
	    .salt = db_v_blob(noise + 16, 16), .digest = db_v_blob(noise, 32));
	insert_outbox(c, it, EVENT_MESSAGE, &conv->lane, from->id, to->id);
	insert_inbox(c, from, EVENT_MESSAGE, true, it, from->id);
	c->next_conv = (c->next_conv + 1) % USERS;
}

static void
settle_sent(struct chain *c, const struct item *it, struct lane *lane)
{

	lane->next++;
	lane->dirty = true;
	RUN(c, OUTBOX_SETTLE_SENT, outbox_settle_sent, NULL, NULL,
	    .id = INT(it->outbox_id), .now = INT(c->now_ms));
}

static void
deliver_one(struct chain *c, const struct item *it)
{
	struct conversation *conv = &c->convs[it->conv];

	insert_inbox(c, &c->users[(it->conv + 1) % USERS], EVENT_MESSAGE, false,
	    it, c->users[it->conv].id);
	settle_sent(c, it, &conv->lane);
	conv->delivered = it->seq;
	conv->dirty = true;
	c->items[DELIVER][c->n[DELIVER]++] = *it;
}

/* Acks ${items}: each row, and one receipt for each conversation. */
static void
ack_all(struct chain *c, const struct item *items, int n)
{
	bool seen[USERS] = {false};

	for (int i = n - 1; i >= 0; i--) {
		const struct item *it = &items[i];
		struct conversation *conv = &c->convs[it->conv];
		struct user *u = &c->users[(it->conv + 1) % USERS];
		struct item *receipt;

		RUN(c, OUTBOX_SETTLE_ACKED, outbox_settle_acked, NULL, NULL,
		    .id = INT(it->outbox_id), .now = INT(c->now_ms));
		if (seen[it->conv])
			continue;
		seen[it->conv] = true;
		u->acked = u->head;
		conv->acked = it->seq;
		u->dirty = conv->dirty = true;
		receipt = &c->items[ACK][c->n[ACK]++];
		*receipt = *it;
		receipt->event_id = uuid_gen_next(&c->ids);
		insert_outbox(c, receipt, EVENT_DELIVERED, &conv->receipts,
		    u->id, c->users[it->conv].id);
	}
}

static void
deliver_receipt(struct chain *c, const struct item *it)
{

	insert_inbox(c, &c->users[it->conv], EVENT_DELIVERED, false, it,
	    c->users[(it->conv + 1) % USERS].id);
	settle_sent(c, it, &c->convs[it->conv].receipts);
}

static void
flush_lane(struct chain *c, struct lane *lane)
{

	if (!lane->dirty)
		return;
	lane->dirty = false;
	RUN(c, LANE_SET, lane_set, NULL, NULL, .lane_id = INT(lane->id),
	    .next_seq = INT(lane->next),
	    .last_published_seq = INT(lane->next - 1), .due_at = INT(0),
	    .now = INT(c->now_ms));
}

/* Writes the counters that have changed. */
static void
flush(struct chain *c)
{
	for (int i = 0; i < USERS; i++) {
		struct conversation *conv = &c->convs[i];
		struct user *u = &c->users[i];

		flush_lane(c, &conv->lane);
		flush_lane(c, &conv->receipts);
		if (conv->dirty) {
			RUN(c, PARTICIPANT_SET, participant_set, NULL, NULL,
			    .conversation_id = INT(conv->id),
			    .user_id = INT(c->users[(i + 1) % USERS].id),
			    .delivered_upto = INT(conv->delivered),
			    .acked_upto = INT(conv->acked), .read_upto = INT(0),
			    .acked_at = INT(c->now_ms), .shown_upto = INT(0));
		}
		if (u->dirty)
			RUN(c, DEVICE_ACKED_SET, device_acked_set, NULL, NULL,
			    .device_id = INT(u->device),
			    .acked_seq = INT(u->acked), .now = INT(c->now_ms));
		conv->dirty = u->dirty = false;
	}
}

/* Adds the changes of this transaction to the totals: ${n}[ACCEPT] messages
 * were accepted, ${n}[DELIVER] delivered and ${n}[ACK] acked. */
static void
add_totals(struct chain *c, const int n[STEPS])
{
	struct store_totals t = {{0}};
	struct err err = ERR_INIT;

	t.n[TOTAL_PENDING] = n[ACCEPT] - n[DELIVER];
	t.n[TOTAL_SENT] = n[DELIVER] - n[ACK];
	t.n[TOTAL_EVER_ACCEPTED] = n[ACCEPT];
	t.n[TOTAL_EVER_SENT] = n[DELIVER];
	t.n[TOTAL_EVER_ACKED] = n[ACK];
	must(store_totals_add(c->db, &t, &err), &err);
}

/* Ends the program unless the totals match the work done; otherwise the figures
 * would be of different work than the server's. */
static void
check_totals(struct chain *c)
{
	struct store_totals t;
	struct err err = ERR_INIT;

	must(store_totals_get(c->db, &t, &err), &err);
	if (t.n[TOTAL_EVER_ACCEPTED] != c->mid ||
	    t.n[TOTAL_PENDING] + t.n[TOTAL_EVER_SENT] != c->mid ||
	    t.n[TOTAL_SENT] + t.n[TOTAL_EVER_ACKED] != t.n[TOTAL_EVER_SENT])
		bench_die("the totals of the outbox are not what was written");
}

/* Runs one transaction with ${batch} new messages. */
static void
run_batch(struct chain *c, enum step last, int batch)
{
	static struct item before[STEPS][BATCH_MAX];
	struct err err = ERR_INIT;
	struct db_checkpoint seen;
	int64_t end;
	int n[STEPS], done[STEPS] = {0};

	memcpy(before, c->items, sizeof(before));
	memcpy(n, c->n, sizeof(n));
	memset(c->n, 0, sizeof(c->n));
	c->now_ms = clk_wall_ms(clk_system());
	must(db_begin(c->db, &err), &err);
	for (int i = 0; i < batch; i++)
		accept_one(c);
	for (int i = 0; last >= DELIVER && i < n[ACCEPT]; i++)
		deliver_one(c, &before[ACCEPT][i]);
	if (last >= ACK)
		ack_all(c, before[DELIVER], n[DELIVER]);
	for (int i = 0; last >= RECEIPT && i < n[ACK]; i++)
		deliver_receipt(c, &before[ACK][i]);
	flush(c);
	done[ACCEPT] = batch;
	done[DELIVER] = last >= DELIVER ? n[ACCEPT] : 0;
	done[ACK] = last >= ACK ? n[DELIVER] : 0;
	add_totals(c, done);
	must(db_commit(c->db, &err), &err);
	/* A log that is shorter than before was restarted. */
	end = db_log_bytes(c->db);
	c->log_bytes += end >= c->log_at ? end - c->log_at : end;
	c->log_at = end;
	if (end > CHECKPOINT_BYTES)
		must(db_checkpoint(c->db, false, &seen, &err), &err);
}

static void
add_lane(
    struct chain *c, struct lane *lane, int64_t conv, int64_t dest, int class)
{

	lane->next = 1;
	RUN(c, LANE_INSERT, lane_insert, each_id, &lane->id,
	    .conversation_id = INT(conv), .dest_kind = db_v_str("user"),
	    .dest_id = INT(dest), .class = INT(class), .now = INT(c->now_ms),
	    .destination_id = INT(1), .state = db_v_str("local"));
}

static void
add_user(struct chain *c, int i)
{
	struct user *u = &c->users[i];
	struct uuid id = uuid_gen_next(&c->ids);
	uint8_t hash[32];
	char name[16];

	snprintf(name, sizeof(name), "u%d", i);
	rnd_fill(rnd_system(), hash, sizeof(hash));
	RUN(c, USER_INSERT, user_insert, each_id, &u->id,
	    .name = db_v_str(name), .admin = INT(0), .now = INT(c->now_ms));
	RUN(c, COUNTER_INSERT, counter_insert, NULL, NULL,
	    .user_id = INT(u->id));
	RUN(c, DEVICE_INSERT, device_insert, each_id, &u->device,
	    .public_id = db_v_uuid(&id), .user_id = INT(u->id),
	    .name = db_v_str("bench"), .token_hash = db_v_blob(hash, 32),
	    .acked_seq = INT(0), .now = INT(c->now_ms));
}

static void
add_conversation(struct chain *c, int i)
{
	struct conversation *conv = &c->convs[i];
	int64_t a = c->users[i].id, b = c->users[(i + 1) % USERS].id;
	struct uuid id = uuid_gen_next(&c->ids);
	char key[32];

	snprintf(key, sizeof(key), "u%d u%d", i, (i + 1) % USERS);
	RUN(c, CONVERSATION_INSERT, conversation_insert, each_id, &conv->id,
	    .public_id = db_v_uuid(&id), .kind = db_v_str("direct"),
	    .direct_key = db_v_str(key), .now = INT(c->now_ms));
	RUN(c, PARTICIPANT_INSERT, participant_insert, NULL, NULL,
	    .conversation_id = INT(conv->id), .user_id = INT(a),
	    .role = db_v_str("member"));
	RUN(c, PARTICIPANT_INSERT, participant_insert, NULL, NULL,
	    .conversation_id = INT(conv->id), .user_id = INT(b),
	    .role = db_v_str("member"));
	add_lane(c, &conv->lane, conv->id, b, 0);
	add_lane(c, &conv->receipts, conv->id, a, 1);
}

static void
remove_files(const char *path)
{
	static const char *const endings[] = {"", "-wal", "-shm"};
	char name[512];

	for (size_t i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "%s%s", path, endings[i]);
		(void)unlink(name);
	}
}

static struct chain *
open_chain(const char *path)
{
	struct chain *c = bench_zalloc(1, sizeof(*c));
	struct db_options options = {.mode = DB_WRITER,
	    .sync = DB_SYNC_FULL,
	    .schema = &sql_sqlite_schema};
	struct err err = ERR_INIT;
	char url[512];
	int from, to;

	remove_files(path);
	snprintf(url, sizeof(url), "sqlite:%s", path);
	options.url = url;
	c->now_ms = clk_wall_ms(clk_system());
	must(db_open(&options, &c->db, &err), &err);
	must(db_migrate(c->db, c->now_ms, &from, &to, &err), &err);
	uuid_gen_init(&c->ids, clk_system(), rnd_system());
	must(db_begin(c->db, &err), &err);
	for (int i = 0; i < USERS; i++)
		add_user(c, i);
	for (int i = 0; i < USERS; i++)
		add_conversation(c, i);
	must(db_commit(c->db, &err), &err);
	return (c);
}

/* Runs for ${run_ns} on a new file, after eight transactions that do not count.
 * Reports messages per second, and bytes written to the log per message. */
static void
measure(const char *path, enum step last, int batch, int64_t run_ns)
{
	struct chain *c = open_chain(path);
	int64_t begin, end, first;
	char key[64];

	for (int i = 0; i < 8; i++)
		run_batch(c, last, batch);
	first = c->mid;
	c->log_bytes = 0;
	begin = mono_ns();
	while (mono_ns() - begin < run_ns)
		run_batch(c, last, batch);
	end = mono_ns();
	snprintf(key, sizeof(key), "%s_%d", step_names[last], batch);
	report_f64(key, (double)(c->mid - first) * 1e9 / (double)(end - begin));
	snprintf(key, sizeof(key), "%s_%d_log_bytes", step_names[last], batch);
	report_f64(key, (double)c->log_bytes / (double)(c->mid - first));
	check_totals(c);
	db_close(c->db);
	mem_free(c);
	remove_files(path);
}

int
main(int argc, char **argv)
{
	static const int batches[] = {1, 64, 256};
	static const struct option options[] = {
	    {"db", required_argument, NULL, 'd'},
	    {"ms", required_argument, NULL, 'm'},
	    {NULL, 0, NULL, 0},
	};
	const char *path = NULL;
	int64_t run_ns = NS_PER_S;
	int key;

	while ((key = getopt_long(argc, argv, "", options, NULL)) != -1)
		if (key == 'd')
			path = optarg;
		else if (key == 'm')
			run_ns = bench_number("--ms", optarg, 1) * NS_PER_MS;
		else
			path = NULL;
	if (path == NULL || optind < argc) {
		fputs("usage: sqlite-baseline --db FILE (is made and removed)"
		      " [--ms MS for each figure]\n",
		    stderr);
		return (64);
	}
	report_begin("sqlite-baseline");
	for (int step = 0; step < STEPS; step++)
		for (size_t i = 0; i < 3; i++)
			if (step == ACCEPT || step == DELIVER ||
			    step == RECEIPT)
				measure(
				    path, (enum step)step, batches[i], run_ns);
	report_end();
	return (0);
}
