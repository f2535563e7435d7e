/* SPDX-License-Identifier: MIT */
/*
 * How a session opens.  The steps: the client's frame hello, the look-up of the
 * token's user, the limit of instances of a device, the check of the cursor in
 * hello, the frame welcome.
 *
 * The session joins the hub before a reader thread reads the head of the
 * session's inbox and the ack of its device from the store, so that the hub
 * gives the session the events that commit after the read.
 */
#include <stdio.h>
#include <string.h>

#include "base/container.h"
#include "base/mem.h"
#include "push/push_internal.h"
#include "store/conversation.h"
#include "wire/json.h"

/* A job of a reader for a session that opens. */
struct opening_job {
	struct session_request request; /* first */
	struct read_job job;
	enum rc rc;

	uint8_t token_hash[STORE_HASH_LEN];
	bool need_principal;
	bool shared; /* other nodes may serve the same database */
	uint64_t generation;
	struct principal principal;
	struct store_counter counter;
	int64_t acked, unread;
};

/* Submits ${j} to the reader threads; one of them calls ${run}.  If ${j} is
 * refused, because the readers' queue is full or the readers are stopping,
 * frees ${j} and closes the session. */
static void
read_for(struct session *s, struct opening_job *j,
    void (*run)(struct read_job *job, struct db *db, struct err *err))
{

	if (session_read(s, &j->job, run) == RC_OK)
		return;
	mem_free(j);
	session_close(s, 1013, "busy");
}

static bool
same_place(const struct session *a, const struct session *b)
{

	return (a->device_id == b->device_id &&
		strcmp(a->instance, b->instance) == 0);
}

/* Closes the session that the same instance of the device has on this node.
 * Returns whether the device may have one more instance here
 * (LIMIT_INSTANCES_PER_DEVICE). */
static bool
make_room(struct session *s)
{
	struct session *other;
	int n;

	n = 0;
	TAILQ_FOREACH (other, &s->push->all, all) {
		if (other == s || other->device_id != s->device_id ||
		    session_state_over(other->state))
			continue;
		if (same_place(other, s))
			session_close(other, 4409, "replaced");
		else
			n++;
	}
	return (n < LIMIT_INSTANCES_PER_DEVICE);
}

static void
read_opening(struct read_job *job, struct db *db, struct err *err)
{
	struct opening_job *j = CONTAINER_OF(job, struct opening_job, job);

	j->rc = db == NULL ? err->rc : RC_OK;
	j->shared = db != NULL && db_multi_writer(db);
	if (j->rc == RC_OK && j->need_principal)
		j->rc = auth_load(db, j->token_hash, &j->principal, err);
	if (j->rc == RC_OK)
		j->rc = store_counter_get(
		    db, j->principal.user_id, &j->counter, err);
	if (j->rc == RC_OK)
		j->rc = store_device_acked_get(
		    db, j->principal.device_id, &j->acked, err);
	if (j->rc == RC_OK)
		j->rc = store_unread_total(
		    db, j->principal.user_id, &j->unread, err);
	session_request_back(&j->request);
}

static void
write_welcome(struct session *s, const struct opening_job *j, bool recovered)
{
	char name[32];
	struct buf *b;

	b = push_frame_begin(s->push);
	buf_addc(b, '{');
	jw_str(b, "type", "welcome");
	if (s->hello.has_re)
		jw_int(b, "re", s->hello.re);
	(void)snprintf(name, sizeof(name), "s%lld", (long long)s->no);
	jw_str(b, "session", name);
	jw_str(b, "user", s->user);
	jw_str(b, "epoch", s->push->options.epoch);
	jw_int(b, "head", j->counter.head);
	jw_int(b, "oldest", j->counter.oldest);
	jw_int(b, "acked", j->acked);
	jw_int(b, "unread", j->unread);
	jw_bool(b, "recovered", recovered);
	jw_int(b, "ping_ms", s->push->options.timing->push_ping_ms);
	jw_int(b, "window", s->inbox.window);
	buf_addc(b, '}');
	session_reply(s);
}

/* Returns true if hello has no cursor, or one up to the end of the inbox that
 * names the present epoch of the database or no epoch.  With any other cursor
 * the client would miss events without noticing: closes the session and returns
 * false.  The code is 1013 (come again) if the cursor names the present epoch
 * and other nodes may serve the same database (PostgreSQL, even with one node);
 * otherwise it is 4410, after an error frame.  A cursor before the oldest event
 * is not refused: the frame welcome then says that the session has not
 * recovered. */
static bool
check_cursor(struct session *s, const struct opening_job *j)
{
	const bool own_epoch =
	    strcmp(s->hello.after_epoch, s->push->options.epoch) == 0;
	struct refusal r = REFUSAL_INIT;

	if (!s->hello.has_after)
		return (true);
	if ((s->hello.after_epoch[0] == '\0' || own_epoch) &&
	    s->hello.after <= j->counter.head)
		return (true);
	if (j->shared && own_epoch) {
		/* Another node may have given the client this cursor: after a
		 * failover of the database, this node may still read from the
		 * old leader until the next heartbeat of this node.  So let
		 * the client come again with the same cursor. */
		session_close(
		    s, 1013, "this node does not see the event of `after` yet");
		return (false);
	}
	refusal_set(&r, PROBLEM_CURSOR_EXPIRED, "/after",
	    s->hello.after > j->counter.head
		? "the inbox ends before this cursor"
		: "the cursor belongs to another epoch of the database");
	r.head = j->counter.head;
	r.oldest = j->counter.oldest;
	(void)snprintf(r.epoch, sizeof(r.epoch), "%s", s->push->options.epoch);
	session_refuse(s, s->hello.has_re, s->hello.re, &r);
	session_close(s, 4410, "cursor expired");
	return (false);
}

static void
open_session(struct session *s, const struct opening_job *j)
{
	bool recovered;

	if (!check_cursor(s, j))
		return;
	s->inbox.cursor = s->hello.has_after ? s->hello.after : j->acked;
	recovered = s->inbox.cursor >= j->counter.oldest - 1;
	if (!recovered)
		s->inbox.cursor = j->counter.oldest - 1;
	s->inbox.base = s->inbox.cursor > j->acked ? s->inbox.cursor : j->acked;
	session_move(s, SESSION_BEHIND);
	ws_reader_admit(&s->rx.reader);
	write_welcome(s, j, recovered);
	/* Read a page even if there are no events: the end of an empty page,
	 * too, sends the frame caught_up. */
	session_resume(s);
}

/* Closes a session whose token or inbox could not be read. */
static void
close_unopened(struct session *s, enum rc rc)
{
	struct refusal r = REFUSAL_INIT;

	if (rc != RC_NOT_FOUND) {
		session_close(s, rc_ws_close(rc), rc_text(rc));
		return;
	}
	refusal_set(&r, PROBLEM_UNAUTHENTICATED, "/token",
	    "the token is unknown or revoked");
	session_refuse(s, s->hello.has_re, s->hello.re, &r);
	session_close(s, 4401, "unauthenticated");
}

static void
opened(struct push *p, struct push_task *task)
{
	struct opening_job *j = (struct opening_job *)(void *)task;
	struct session *s;

	s = push_session(p, j->request.no);
	if (s == NULL || s->state != SESSION_OPENING) {
		mem_free(j);
		return;
	}
	if (j->rc == RC_OK && j->need_principal)
		auth_put(p->options.auth, j->token_hash, &j->principal,
		    j->generation);
	if (j->rc == RC_OK)
		open_session(s, j);
	else
		close_unopened(s, j->rc);
	mem_free(j);
}

/* The token is verified: take the place, join the hub, then read. */
static void
begin_opening(struct session *s, struct opening_job *j)
{
	const struct principal *who = &j->principal;

	session_move(s, SESSION_OPENING);
	if (!session_has_place(s->push)) {
		session_close(s, 1013,
		    "as many WebSockets are open as there "
		    "may be");
		mem_free(j);
		return;
	}
	s->device_id = who->device_id;
	s->device = who->device;
	(void)snprintf(
	    s->user, sizeof(s->user), "%.*s", LIMIT_NAME_LEN, who->name);
	s->member.user_id = who->user_id;
	newcomers_remove(s);
	s->owner = owner_user(who->user_id);
	if (!make_room(s)) {
		session_close(s, 4429, "too many instances of this device");
		mem_free(j);
		return;
	}
	if (hub_join(s->push->hub, &s->member) != RC_OK) {
		session_close(s, 1013, "out of memory");
		mem_free(j);
		return;
	}
	j->request.task.run = opened;
	read_for(s, j, read_opening);
}

/* Called in push's thread when a reader thread has looked up the owner of the
 * token (the principal).  Begins to open the session, or closes it if the token
 * is not valid or the look-up failed.  If the session has ended or is closing,
 * only frees the job. */
static void
identified(struct push *p, struct push_task *task)
{
	struct opening_job *j = (struct opening_job *)(void *)task;
	struct session *s;

	s = push_session(p, j->request.no);
	if (s == NULL || s->state != SESSION_IDENTIFYING) {
		mem_free(j);
		return;
	}
	if (j->rc != RC_OK) {
		close_unopened(s, j->rc);
		mem_free(j);
		return;
	}
	auth_put(p->options.auth, j->token_hash, &j->principal, j->generation);
	/* A revocation finds this session only by its device, which
	 * begin_opening() sets.  The principal was read before that, so it is
	 * read once more afterwards (need_principal), in case the token was
	 * revoked in between. */
	j->need_principal = true;
	begin_opening(s, j);
}

static void
read_principal(struct read_job *job, struct db *db, struct err *err)
{
	struct opening_job *j = CONTAINER_OF(job, struct opening_job, job);

	j->rc = db == NULL ? err->rc
			   : auth_load(db, j->token_hash, &j->principal, err);
	session_request_back(&j->request);
}

void
session_set_token(struct session *s, const char *text, size_t n)
{

	s->hello.has_token = auth_token_hash(text, n, s->hello.token_hash);
}

void
session_hello(struct session *s, const struct frame *f)
{
	struct refusal r = REFUSAL_INIT;
	struct opening_job *j;

	s->hello.has_re = f->has_re;
	s->hello.re = f->re;
	s->inbox.window = f->window;
	s->hello.wants_outbox = f->outbox;
	(void)snprintf(s->instance, sizeof(s->instance), "%.*s",
	    (int)f->instance.n, f->instance.p != NULL ? f->instance.p : "");
	s->hello.has_after =
	    f->after.p != NULL && wire_cursor_parse(f->after.p, f->after.n,
				      s->hello.after_epoch, &s->hello.after);
	if (f->token.p != NULL)
		session_set_token(s, f->token.p, f->token.n);
	if (!s->hello.has_token) {
		refusal_set(&r, PROBLEM_UNAUTHENTICATED, "/token",
		    "hello carries no valid token, nor did the upgrade");
		session_refuse(s, s->hello.has_re, s->hello.re, &r);
		session_close(s, 4401, "unauthenticated");
		return;
	}
	j = session_request_new(s, sizeof(*j), identified);
	if (j == NULL)
		return;
	memcpy(j->token_hash, s->hello.token_hash, sizeof(j->token_hash));
	j->generation = auth_generation(s->push->options.auth);
	if (auth_find(s->push->options.auth, j->token_hash, &j->principal)) {
		begin_opening(s, j);
		return;
	}
	session_move(s, SESSION_IDENTIFYING);
	read_for(s, j, read_principal);
}
