/* SPDX-License-Identifier: MIT */
/*
 * See played_admin.h.
 */
#include "played_admin.h"

#include <string.h>

#include "chat/account.h"
#include "crypt/crypt.h"
#include "delivery/operator.h"
#include "store/account.h"
#include "store/lane.h"

struct played_admin admin_store;

static struct uuid
id_of(const char *text)
{
	struct uuid id;

	assert_true(uuid_parse(text, strlen(text), &id));
	return (id);
}

__typeof__(pool_submit) __wrap_pool_submit;
__typeof__(crypt_password_hash) __wrap_crypt_password_hash;
__typeof__(store_user_by_name) __wrap_store_user_by_name;
__typeof__(inspect_destination) __wrap_inspect_destination;
__typeof__(inspect_destinations) __wrap_inspect_destinations;
__typeof__(inspect_backlog) __wrap_inspect_backlog;
__typeof__(inspect_outbox) __wrap_inspect_outbox;
__typeof__(inspect_outbox_row) __wrap_inspect_outbox_row;
__typeof__(inspect_message) __wrap_inspect_message;
__typeof__(store_message_rows) __wrap_store_message_rows;
__typeof__(inspect_attempts) __wrap_inspect_attempts;
__typeof__(inspect_dead_letters) __wrap_inspect_dead_letters;
__typeof__(inspect_dead_letters_of) __wrap_inspect_dead_letters_of;
__typeof__(inspect_stats) __wrap_inspect_stats;
__typeof__(inspect_lanes) __wrap_inspect_lanes;
__typeof__(inspect_lane) __wrap_inspect_lane;
__typeof__(inspect_lane_sent_since) __wrap_inspect_lane_sent_since;
__typeof__(inspect_dead_letter_ids) __wrap_inspect_dead_letter_ids;
__typeof__(inspect_dead_letters_left) __wrap_inspect_dead_letters_left;
__typeof__(inspect_user) __wrap_inspect_user;
__typeof__(inspect_users) __wrap_inspect_users;
__typeof__(inspect_senders) __wrap_inspect_senders;
__typeof__(inspect_audit) __wrap_inspect_audit;
__typeof__(relay_stats) __wrap_relay_stats;
__typeof__(writer_stats_get) __wrap_writer_stats_get;
__typeof__(writer_waiting) __wrap_writer_waiting;

enum rc
__wrap_store_user_by_name(struct db *db, const char *name, size_t n,
    struct store_user *ret, struct err *err)
{

	(void)db;
	played_note("user %.*s", (int)n, name);
	if (strcmp(name, "nobody") == 0)
		return (RC_NOT_FOUND);
	ret->user_id = 3;
	(void)snprintf(ret->name, sizeof(ret->name), "%.*s", (int)n, name);
	return (played_store(err));
}

enum rc
__wrap_inspect_destination(struct db *db, const char *name,
    inspect_destination_fn each, void *arg, struct err *err)
{
	const struct inspect_destination d = {
	    .destination_id = strcmp(name, "*") == 0 ? 0 : 9, .name = name};
	enum rc rc;

	(void)db;
	played_note("destination %s", name);
	if (strcmp(name, "nowhere") == 0)
		return (RC_NOT_FOUND);
	if ((rc = played_store(err)) != RC_OK)
		return (rc);
	return (each(arg, &d, err));
}

static const struct inspect_destination far = {.destination_id = 9,
    .name = "far.example",
    .breaker = "open",
    .failures = 4,
    .successes = 5,
    .next_probe_at = NOW + 1,
    .failing_since = NOW + 2,
    .last_success_at = NOW + 3,
    .last_failure_at = NOW + 4,
    .last_error = "refused",
    .paused_at = NOW + 5,
    .paused_by = "ann",
    .pause_reason = "moving",
    .per_second = 6};
static const struct inspect_destination near = {
    .destination_id = 10, .name = "near", .breaker = "closed"};

enum rc
__wrap_inspect_destinations(struct db *db, const char *after, int64_t limit,
    inspect_destination_fn each, void *arg, struct err *err)
{
	enum rc rc;

	(void)db;
	played_note(
	    "destinations after=%s limit=%lld", after, (long long)limit);
	if ((rc = played_store(err)) != RC_OK || admin_store.empty)
		return (rc);
	if ((rc = each(arg, &far, err)) == RC_OK)
		rc = each(arg, &near, err);
	return (rc);
}

enum rc
__wrap_inspect_backlog(struct db *db, int64_t destination_id, int64_t now_ms,
    int64_t budget, struct inspect_backlog *ret, struct err *err)
{

	(void)db;
	played_note("waiting of %lld at %lld, budget %lld",
	    (long long)destination_id, (long long)now_ms, (long long)budget);
	*ret = (struct inspect_backlog){.pending = 0};
	if (destination_id == 9)
		*ret = (struct inspect_backlog){11, 12,
		    now_ms - 13 + admin_store.shift_ms,
		    {1, 2, 3, 4, 5, 6, 7, 8}, true};
	return (played_store(err));
}

struct inspect_outbox_row
admin_row_full(void)
{

	return ((struct inspect_outbox_row){.id = 1,
	    .message_id = id_of(UUID_A),
	    .kind = EVENT_MESSAGE,
	    .from = "ann",
	    .to = "bob@far.example",
	    .destination = "far.example",
	    .state = "sending",
	    .reason = "max_retries",
	    .priority = PRIORITY_HIGH,
	    .attempts = 2,
	    .retry_count = 3,
	    .rescue_count = 4,
	    .event_time = NOW + 1,
	    .created_at = NOW + 2,
	    .last_attempt_at = NOW + 3,
	    .last_status_at = NOW + 4,
	    .next_retry_at = NOW + 5,
	    .deliver_at = NOW + 6,
	    .expires_at = NOW + 7,
	    .sent_at = NOW + 8,
	    .acked_at = NOW + 9,
	    .read_at = NOW + 10,
	    .last_error = "timeout",
	    .lane_id = 5,
	    .lane_seq = 6});
}

static struct inspect_outbox_row
bare_row(const char *state)
{

	return ((struct inspect_outbox_row){.id = 2,
	    .message_id = id_of(UUID_B),
	    .kind = EVENT_MESSAGE,
	    .from = "ann",
	    .to = "bob",
	    .destination = "",
	    .state = state,
	    .created_at = NOW + 2});
}

static void
note_page(int64_t before, int64_t limit, int64_t *ret_next)
{

	played_note(
	    "before=%lld limit=%lld", (long long)before, (long long)limit);
	*ret_next = admin_store.more ? 2 : 0;
}

enum rc
__wrap_inspect_outbox(struct db *db, const struct inspect_outbox_filter *f,
    int64_t before, int64_t limit, inspect_outbox_row_fn each, void *arg,
    int64_t *ret_next, struct err *err)
{
	struct inspect_outbox_row rows[4] = {admin_row_full(),
	    bare_row("pending"), bare_row("pending"), bare_row("sent")};
	enum rc rc;
	int i;

	(void)db;
	played_note("outbox state=%d scheduled=%d destination=%lld sender=%lld "
		    "unchanged=%lld retried=%lld",
	    f->state, f->scheduled, (long long)f->destination_id,
	    (long long)f->sender_id, (long long)f->unchanged_since,
	    (long long)f->retry_count);
	note_page(before, limit, ret_next);
	/* The answer names a retry that waits, but not the retry of a row that
	 * is done. */
	rows[2].retry_count = 1;
	rows[2].lane_seq = 1;
	rows[3].retry_count = 1;
	rc = played_store(err);
	for (i = 0; i < 4 && rc == RC_OK && !admin_store.empty; i++)
		rc = each(arg, &rows[i], err);
	return (rc);
}

enum rc
__wrap_inspect_outbox_row(struct db *db, int64_t id, inspect_outbox_row_fn each,
    void *arg, struct err *err)
{
	struct inspect_outbox_row bare = bare_row("canceled");
	enum rc rc;

	(void)db;
	bare.last_status_at = NOW + 20;
	if ((rc = played_store(err)) != RC_OK)
		return (rc);
	return (each(arg, id == 1 ? &admin_store.shown : &bare, err));
}

enum rc
__wrap_inspect_message(struct db *db, const struct uuid *id,
    enum rc (*each)(
	void *arg, const struct inspect_message *m, struct err *err),
    void *arg, struct err *err)
{
	const struct inspect_message m = {*id, id_of(UUID_B), "ann",
	    admin_store.conversation_seq == 0 ? NULL : "c1",
	    admin_store.conversation_seq, NOW + 1, NOW + 2};
	enum rc rc;

	(void)db;
	if (admin_store.message_rc != RC_OK)
		return (admin_store.message_rc);
	if ((rc = played_store(err)) != RC_OK)
		return (rc);
	return (each(arg, &m, err));
}

enum rc
__wrap_store_message_rows(struct db *db, const struct uuid *id, int64_t *ret,
    size_t max, size_t *ret_n, struct err *err)
{

	(void)db;
	(void)id;
	assert_int_equal(max, 256);
	ret[0] = 1;
	ret[1] = 2;
	*ret_n = admin_store.bare ? 0 : 2;
	return (played_store(err));
}

enum rc
__wrap_inspect_attempts(struct db *db, int64_t outbox_id, int64_t limit,
    enum rc (*each)(
	void *arg, const struct inspect_attempt *a, struct err *err),
    void *arg, struct err *err)
{
	static const struct inspect_attempt attempts[] = {
	    {2, NOW + 8, 0, NULL, NULL, "r2", 0},
	    {1, NOW + 4, NOW + 4, "retry", "slow", "r1", 503},
	    {0, NOW + 3, NOW + 4, NULL, NULL, "r0", 0}};
	enum rc rc = played_store(err);
	int i;

	(void)db;
	assert_int_equal(limit, 200);
	for (i = 0; i < 3 && rc == RC_OK && outbox_id == 1; i++)
		rc = each(arg, &attempts[i], err);
	return (rc);
}

static struct inspect_dead_letter
full_dead(void)
{

	return ((struct inspect_dead_letter){21, 22, id_of(UUID_A), "ann",
	    "bob", "far.example", "failed", "max_retries", "refused", 3, 2,
	    NOW + 1, NOW + 2, NOW + 3, "requeued", "eve", NOW + 4});
}

static const struct inspect_dead_letter bare_dead = {.dead_id = 20,
    .outbox_id = 2,
    .from = "ann",
    .to = "bob",
    .destination = "",
    .state = "expired",
    .reason = "expired",
    .dead_at = NOW + 3};

enum rc
__wrap_inspect_dead_letters(struct db *db,
    const struct inspect_dead_letter_filter *f, int64_t before, int64_t limit,
    inspect_dead_letter_fn each, void *arg, int64_t *ret_next, struct err *err)
{
	const struct inspect_dead_letter full = full_dead();
	enum rc rc = played_store(err);

	(void)db;
	played_note("dead resolved=%d reason=%s destination=%lld sender=%lld",
	    (int)f->resolved, f->reason, (long long)f->destination_id,
	    (long long)f->sender_id);
	note_page(before, limit, ret_next);
	if (admin_store.dead_pages > 0)
		*ret_next = 100 + --admin_store.dead_pages;
	if (rc != RC_OK || admin_store.empty)
		return (rc);
	rc = each(arg, &full, err);
	return (rc == RC_OK ? each(arg, &bare_dead, err) : rc);
}

enum rc
__wrap_inspect_dead_letters_of(struct db *db, int64_t outbox_id, int64_t limit,
    inspect_dead_letter_fn each, void *arg, struct err *err)
{
	const struct inspect_dead_letter second = {.dead_id = 2,
	    .state = "failed",
	    .reason = "rejected",
	    .dead_at = NOW + 30,
	    .resolved_at = NOW + 30};
	const struct inspect_dead_letter first = {.dead_id = 1,
	    .state = "expired",
	    .reason = "expired",
	    .dead_at = NOW + 12,
	    .resolution = "requeued",
	    .resolved_by = "eve",
	    .resolved_at = NOW + 13};
	enum rc rc = played_store(err);

	(void)db;
	assert_int_equal(limit, 50);
	if (rc != RC_OK || !admin_store.died || outbox_id != 1)
		return (rc);
	if ((rc = each(arg, &second, err)) == RC_OK)
		rc = each(arg, &first, err);
	return (rc);
}

enum rc
__wrap_inspect_stats(struct db *db, int64_t stuck_before, int64_t retry_count,
    int64_t since, struct inspect_stats *ret, struct err *err)
{
	int i;

	(void)db;
	played_note("stats stuck=%lld retried=%lld since=%lld",
	    (long long)(stuck_before - NOW), (long long)retry_count,
	    (long long)(since - NOW));
	memset(ret, 0, sizeof(*ret));
	for (i = 0; i < (int)STORE_TOTALS && admin_store.counted; i++)
		ret->totals.n[i] = 100 + i;
	ret->dead_open = 5;
	ret->oldest_at = admin_store.old ? NOW + admin_store.shift_ms : 0;
	ret->stuck_sending = 6;
	ret->near_failure = 7;
	ret->latency_count = admin_store.counted ? 4 : 0;
	ret->latency_ms = 4010;
	return (played_store(err));
}

enum rc
__wrap_inspect_lanes(struct db *db, const struct inspect_lane_filter *f,
    int64_t after, int64_t limit, inspect_lane_fn each, void *arg,
    int64_t *ret_next, struct err *err)
{
	const struct inspect_lane lanes[2] = {
	    {31, id_of(UUID_A), "bob", "far.example", "leased", "r1",
		LANE_RECEIPTS, 1, 4, 3, 8, NOW + 1, NOW + 2, 9, NOW + 3, 10},
	    {.lane_id = 32,
		.conversation = id_of(UUID_B),
		.to = "cy",
		.destination = "",
		.state = "idle",
		.class = LANE_MESSAGES,
		.next_seq = 1}};
	enum rc rc = played_store(err);

	(void)db;
	played_note("lanes destination=%lld state=%s",
	    (long long)f->destination_id, f->state == NULL ? "-" : f->state);
	note_page(after, limit, ret_next);
	if (rc != RC_OK || admin_store.empty)
		return (rc);
	rc = each(arg, &lanes[0], err);
	return (rc == RC_OK ? each(arg, &lanes[1], err) : rc);
}

enum rc
__wrap_inspect_users(struct db *db, const char *after, int64_t limit,
    enum rc (*each)(void *arg, const struct inspect_user *u, struct err *err),
    void *arg, struct err *err)
{
	/* The order of the ids differs from that of the names. */
	static const struct inspect_user users[] = {
	    {8, "ann", "Ann", true, true, NOW + 1, NOW + 2, 3},
	    {9, "bob@far.example", NULL, false, false, 0, NOW, 0},
	    {7, "cy", NULL, false, true, 0, NOW + 3, 0},
	    {6, "dan", NULL, false, true, 0, NOW + 4, 1}};
	enum rc rc = played_store(err);
	int i;

	(void)db;
	played_note("users after=%s limit=%lld", after, (long long)limit);
	for (i = 0; i < 4 && rc == RC_OK && !admin_store.empty; i++)
		rc = each(arg, &users[i], err);
	return (rc);
}

enum rc
__wrap_inspect_user(struct db *db, int64_t user_id,
    enum rc (*each)(void *arg, const struct inspect_user *u, struct err *err),
    void *arg, struct err *err)
{
	const struct inspect_user u = {
	    user_id, "ann", "Ann", true, true, NOW + 1, NOW + 2, 3};
	enum rc rc;

	(void)db;
	played_note("user %lld", (long long)user_id);
	if ((rc = played_store(err)) != RC_OK)
		return (rc);
	return (each(arg, &u, err));
}

enum rc
__wrap_inspect_senders(struct db *db,
    void (*each)(void *arg, int64_t sender_id), void *arg, bool *ret_all,
    struct err *err)
{
	static const int64_t senders[] = {7, 8, 9, 7, 7, 5, 100, 6};
	size_t i;

	(void)db;
	for (i = 0; i < sizeof(senders) / sizeof(senders[0]); i++)
		each(arg, senders[i]);
	*ret_all = !admin_store.more;
	return (played_store(err));
}

enum rc
__wrap_inspect_audit(struct db *db, int64_t before, int64_t limit,
    enum rc (*each)(void *arg, const struct inspect_audit *a, struct err *err),
    void *arg, struct err *err)
{
	static const struct inspect_audit rows[] = {
	    {42, NOW + 1, "ann", "pause", "far.example", "moving"},
	    {41, NOW, "bob", "retry", "x", NULL}};
	enum rc rc = played_store(err);

	(void)db;
	played_note("audit before=%lld limit=%lld", (long long)before,
	    (long long)limit);
	if (rc != RC_OK || admin_store.empty)
		return (rc);
	rc = each(arg, &rows[0], err);
	return (rc == RC_OK ? each(arg, &rows[1], err) : rc);
}

void
__wrap_relay_stats(struct relay *r, struct relay_stats *ret)
{

	(void)r;
	ret->last_turn_ms = 4800;
	ret->in_flight = 2;
	ret->n = 2;
	ret->destinations[0].destination_id = 8;
	ret->destinations[1].destination_id = 9;
	ret->destinations[1].window = 4;
	ret->destinations[1].in_flight = 3;
}

struct writer_stats
__wrap_writer_stats_get(const struct writer *w)
{

	(void)w;
	return ((struct writer_stats){.log_bytes = 777});
}

size_t
__wrap_writer_waiting(const struct writer *w)
{

	(void)w;
	return (8);
}

enum rc
__wrap_inspect_lane(struct db *db, int64_t lane_id, inspect_lane_fn each,
    void *arg, struct err *err)
{
	const struct inspect_lane lane = {.lane_id = lane_id,
	    .to = "cy",
	    .destination = "",
	    .state = "idle",
	    .next_seq = 1};
	enum rc rc;

	(void)db;
	played_note("lane %lld", (long long)lane_id);
	if (lane_id == 404)
		return (RC_NOT_FOUND);
	if ((rc = played_store(err)) != RC_OK)
		return (rc);
	return (each(arg, &lane, err));
}

/* True for an even ${since_ms}. */
enum rc
__wrap_inspect_lane_sent_since(struct db *db, int64_t lane_id, int64_t since_ms,
    int64_t *ret_seq, struct err *err)
{
	enum rc rc;

	(void)db;
	played_note(
	    "lane %lld since %lld", (long long)lane_id, (long long)since_ms);
	if ((rc = played_store(err)) != RC_OK)
		return (rc);
	if (since_ms % 2 != 0)
		return (RC_NOT_FOUND);
	*ret_seq = 17;
	return (RC_OK);
}

/* Dead letters 1 to admin_store.letters; one call reads at most
 * admin_store.looked of them. */
enum rc
__wrap_inspect_dead_letter_ids(struct db *db,
    const struct inspect_dead_letter_filter *f, int64_t after, int64_t *ret,
    size_t max, size_t *ret_n, int64_t *ret_last, struct err *err)
{
	int64_t id;

	(void)db;
	played_note("ids after %lld, %zu at most, resolved=%d reason=%s "
		    "destination=%lld sender=%lld",
	    (long long)after, max, (int)f->resolved, f->reason,
	    (long long)f->destination_id, (long long)f->sender_id);
	*ret_n = 0;
	for (id = after + 1; id <= admin_store.letters && *ret_n < max; id++) {
		if (admin_store.looked != 0 && id > after + admin_store.looked)
			break;
		if (id > admin_store.apart)
			ret[(*ret_n)++] = id;
	}
	*ret_last = id <= admin_store.letters ? id - 1 : 0;
	return (played_store(err));
}

enum rc
__wrap_inspect_dead_letters_left(struct db *db,
    const struct inspect_dead_letter_filter *f, int64_t after, int64_t *ret,
    bool *ret_all, struct err *err)
{

	(void)db;
	played_note("left after %lld, reason=%s", (long long)after, f->reason);
	*ret = admin_store.letters - after;
	*ret_all = !admin_store.more;
	return (played_store(err));
}

/* Plays an operator's change.  Every tenth dead letter, from 3 on, is
 * refused. */
void
operator_apply(struct unit *unit)
{
	struct operator_unit *u = (struct operator_unit *)(void *)unit;
	struct operator_dead_letter *l;
	char id[UUID_TEXT_LEN + 1];
	size_t i;

	uuid_format(&u->message, id);
	played_note("unit %d by %s: sender=%lld message=%s name=%s reason=%s "
		    "number=%lld lane=%lld letters=%zu",
	    (int)u->op, u->by, (long long)u->sender_id, id, u->name, u->reason,
	    (long long)u->number, (long long)u->lane_id, u->ndead_letters);
	if (admin_store.refused) {
		refusal_set(&u->refusal, PROBLEM_NOT_FOUND, "/p", "not here");
		return;
	}
	for (i = 0; i < u->ndead_letters; i++) {
		l = &u->dead_letters[i];
		if (i == 0 || i + 1 == u->ndead_letters)
			played_note("letter %lld", (long long)l->dead_id);
		l->refused = l->dead_id % 10 == 3;
		if (l->refused)
			memcpy(l->detail, "is \"open\"", 10);
		else
			u->done++;
	}
}

static void
account_apply(struct unit *unit)
{
	struct account_unit *u = (struct account_unit *)(void *)unit;

	played_note("account unit %d by %s: user=%lld name=%s", (int)u->op,
	    u->operator,(long long) u->user.user_id, u->user.name);
	if (u->op == ACCOUNT_PASSWORD_ONCE) {
		played_note("password %s", u->user.password_hash);
		u->user.password_once_until = NOW + 6;
	}
	if (admin_store.refused)
		refusal_set(&u->refusal, PROBLEM_CONFLICT, "", "it is so");
}

enum rc
__wrap_pool_submit(struct pool *pool, struct pool_job *job)
{

	(void)pool;
	played_note("pool class %d", (int)job->class);
	if (admin_store.pool_rc == RC_OK)
		job->run(job);
	return (admin_store.pool_rc);
}

enum rc
__wrap_crypt_password_hash(const char *password, size_t n,
    char ret[CRYPT_PASSWORD_SIZE], struct err *err)
{

	played_note("hash %.*s", (int)n, password);
	memcpy(ret, "hashed", 7);
	return (played_store(err));
}

static void
apply(struct unit *unit)
{

	if (strcmp(unit->kind->name, "account") == 0)
		account_apply(unit);
	else if (strcmp(unit->kind->name, "peer") == 0)
		peer_apply(unit);
	else
		operator_apply(unit);
}

int
admin_setup(void **state)
{

	admin_store = (struct played_admin){.conversation_seq = 12};
	admin_store.shown = admin_row_full();
	if (played_setup(state) != 0)
		return (-1);
	played.apply = apply;
	return (0);
}
