/* SPDX-License-Identifier: MIT */
/*
 * See usage.h.
 */
#include "chat/usage.h"
#include "base/lock.h"

#include <stddef.h>

#include "base/container.h"
#include "base/htab.h"
#include "base/mem.h"
#include "base/owner.h"
#include "store/message.h"

#define DAY_MS INT64_C(86400000)
/* Time between two reads of a user's numbers if other nodes accept messages. */
#define READ_EVERY_MS 60000
/* Number of users in the table at which it is emptied before a further user is
 * added.  While a reader job is running, the table is not emptied and grows
 * further, because the job uses the entry of its user.  The numbers of a
 * removed user are read from the store again at the user's next message. */
#define USERS_MAX 65536

struct user {
	int64_t id;
	int64_t day;
	struct usage_amount sent;
	struct usage_amount since; /* added since the last read started */
	/* monotonic time at which the last read started */
	int64_t read_ms;
	/* a read is running; a read was started and has not failed */
	bool reading, known;
};

struct usage {
	struct usage_options o;
	struct lock lock; /* protects the members below */
	struct htab *users;
	size_t reading;
};

/* A reader job that counts the messages of one user. */
struct reading {
	struct read_job job; /* first */
	struct usage *usage;
	int64_t day;
	struct store_sizes_query query;
};

struct usage *
usage_new(const struct usage_options *options)
{
	struct usage *u;

	if ((u = mem_zalloc(1, sizeof(*u))) == NULL)
		return (NULL);
	if ((u->users = htab_new(sizeof(int64_t))) == NULL) {
		mem_free(u);
		return (NULL);
	}
	u->o = *options;
	lock_init(&u->lock, LOCK_USAGE);
	return (u);
}

/* The lock is held, and no reader job is running. */
static void
forget_all(struct usage *u)
{
	struct user *user;
	size_t pos = 0;

	while ((user = htab_next(u->users, &pos)) != NULL)
		mem_free(user);
	htab_clear(u->users);
}

void
usage_free(struct usage *u)
{

	if (u == NULL)
		return;
	forget_all(u);
	htab_free(u->users);
	lock_fini(&u->lock);
	mem_free(u);
}

/* ---- reading ---- */

/* Thread: reader. */
static void
read_sent(struct read_job *job, struct db *db, struct err *err)
{
	struct reading *r = CONTAINER_OF(job, struct reading, job);
	struct usage *u = r->usage;
	atomic_size_t *under_way = u->o.under_way;
	struct store_sizes sizes = {0, 0};
	struct user *user;
	enum rc rc;

	rc = db == NULL ? err->rc : store_sizes_get(db, &r->query, &sizes, err);
	lock_take(&u->lock);
	user = htab_find(u->users, &r->query.sender_id);
	u->reading--;
	user->reading = false;
	if (rc == RC_OK && user->day == r->day) {
		user->sent.messages = sizes.messages + user->since.messages;
		user->sent.bytes = sizes.bytes + user->since.bytes;
	} else if (rc != RC_OK) {
		user->known = false; /* the next message tries again */
	}
	lock_drop(&u->lock);
	mem_free(r);
	atomic_fetch_sub(under_way, 1);
}

/* Returns true if the numbers of ${user} must be read from the store now.  The
 * lock is held. */
static bool
is_due(const struct usage *u, const struct user *user, int64_t now_ms)
{

	return (!user->reading &&
		(!user->known ||
		    (u->o.shared && now_ms - user->read_ms >= READ_EVERY_MS)));
}

/* Makes a job that adds up the messages of ${user} in the store that were
 * created on ${user}->day and before now; NULL: no memory.  A message that
 * usage_take() counts after this call is created later, so the job does not
 * count it a second time.  A message that usage_take() has counted before this
 * call, but that the writer creates after now, is missing from the numbers
 * until the next read. */
static struct reading *
reading_new(struct usage *u, const struct user *user)
{
	struct reading *r;

	if ((r = mem_zalloc(1, sizeof(*r))) == NULL)
		return (NULL);
	r->job.run = read_sent;
	r->job.owner = owner_user(user->id);
	r->usage = u;
	r->day = user->day;
	r->query.sender_id = user->id;
	r->query.from_ms = user->day * DAY_MS;
	r->query.before_ms = clk_wall_ms(u->o.clk);
	return (r);
}

/* Submits a reader job that reads the numbers of ${user}.  If there is no
 * memory, or the readers do not accept the job, the user's next message tries
 * again.  The lock is held. */
static void
start_reading(struct usage *u, struct user *user, int64_t now_ms)
{
	struct reading *r = reading_new(u, user);

	if (r == NULL)
		return;
	atomic_fetch_add(u->o.under_way, 1);
	if (readers_submit(u->o.readers, &r->job) != RC_OK) {
		atomic_fetch_sub(u->o.under_way, 1);
		mem_free(r);
		return;
	}
	u->reading++;
	user->reading = true;
	user->known = true;
	user->read_ms = now_ms;
	user->since = (struct usage_amount){0, 0};
}

/* ---- taking ---- */

/* Returns the entry of ${user_id} in the table; NULL: no memory.  Adds the
 * entry if it is missing, after emptying a full table (USERS_MAX users) if no
 * reader job is running.  Sets the numbers of the entry to 0 if they are not of
 * ${day}.  The lock is held. */
static struct user *
user_get(struct usage *u, int64_t user_id, int64_t day)
{
	struct user *user = htab_find(u->users, &user_id);

	if (user == NULL) {
		if (htab_count(u->users) >= USERS_MAX && u->reading == 0)
			forget_all(u);
		if ((user = mem_zalloc(1, sizeof(*user))) == NULL)
			return (NULL);
		user->id = user_id;
		user->day = day;
		if (htab_set(u->users, &user_id, user) != RC_OK) {
			mem_free(user);
			return (NULL);
		}
	}
	if (user->day != day) {
		user->day = day;
		user->sent = user->since = (struct usage_amount){0, 0};
		user->known = false;
	}
	return (user);
}

static bool
exceeds(int64_t most, int64_t sent, int64_t n)
{

	return (most != 0 && sent + n > most);
}

bool
usage_take(struct usage *u, int64_t user_id, const struct usage_amount *amount,
    int *ret_wait_s)
{
	const int64_t wall_ms = clk_wall_ms(u->o.clk);
	const int64_t now_ms = clk_mono_ms(u->o.clk);
	struct user *user;
	bool ok = true;

	if (u->o.messages_most == 0 && u->o.bytes_most == 0)
		return (true);
	lock_take(&u->lock);
	user = user_get(u, user_id, wall_ms / DAY_MS);
	if (user != NULL) {
		if (is_due(u, user, now_ms))
			start_reading(u, user, now_ms);
		ok = !exceeds(u->o.messages_most, user->sent.messages,
			 amount->messages) &&
		     !exceeds(u->o.bytes_most, user->sent.bytes, amount->bytes);
	}
	if (user != NULL && ok) {
		user->sent.messages += amount->messages;
		user->sent.bytes += amount->bytes;
		user->since.messages += amount->messages;
		user->since.bytes += amount->bytes;
	}
	lock_drop(&u->lock);
	if (!ok)
		*ret_wait_s = (int)((DAY_MS - wall_ms % DAY_MS + 999) / 1000);
	return (ok);
}

/* Subtracts ${n} from *number, but not below 0.  *number may be less than ${n}:
 * it was set anew, by a new day or a read from the store, after the amount had
 * been added. */
static void
lower(int64_t *number, int64_t n)
{

	*number = *number > n ? *number - n : 0;
}

void
usage_return(
    struct usage *u, int64_t user_id, const struct usage_amount *amount)
{
	struct user *user;

	lock_take(&u->lock);
	if ((user = htab_find(u->users, &user_id)) != NULL) {
		lower(&user->sent.messages, amount->messages);
		lower(&user->sent.bytes, amount->bytes);
		lower(&user->since.messages, amount->messages);
		lower(&user->since.bytes, amount->bytes);
	}
	lock_drop(&u->lock);
}
