/* SPDX-License-Identifier: MIT */
/*
 * Typing: the frame is passed on to the other members of the conversation, to
 * each of their open sessions on this node whose socket takes it now, and is
 * never stored.  Only the LIMIT_TYPING_MEMBERS other members with the lowest
 * user ids, connected or not, are considered.  A sender who is not a member
 * gets the same answer as a member, and nobody gets the frame, so that the
 * answer reveals nothing about the conversation.
 */
#include <string.h>

#include "base/container.h"
#include "base/mem.h"
#include "push/push_internal.h"
#include "store/conversation.h"
#include "wire/json.h"

struct typing_request {
	struct session_request request; /* first */
	struct read_job job;
	struct uuid conversation;
	int64_t user_id;
	char user[LIMIT_NAME_LEN + 1];
	int64_t others[LIMIT_TYPING_MEMBERS];
	int n;
	bool member;
};

static enum rc
typing_member(void *arg, const struct store_participant *p, struct err *err)
{
	struct typing_request *r = arg;

	(void)err;
	if (p->user_id == r->user_id)
		r->member = true;
	else if (r->n < LIMIT_TYPING_MEMBERS)
		r->others[r->n++] = p->user_id;
	return (RC_OK);
}

static void
read_typing(struct read_job *job, struct db *db, struct err *err)
{
	struct typing_request *r =
	    CONTAINER_OF(job, struct typing_request, job);
	struct store_conversation c;

	if (db == NULL ||
	    store_conversation_by_public(db, &r->conversation, &c, err) !=
		RC_OK ||
	    store_participants(db, c.conversation_id, typing_member, r, err) !=
		RC_OK)
		r->member = false;
	session_request_back(&r->request);
}

static void
typing_known(struct push *p, struct push_task *task)
{
	struct typing_request *r = (struct typing_request *)(void *)task;
	const struct refusal none = REFUSAL_INIT;
	struct buf b = BUF_INIT, *ok;
	struct session *s;
	int i;

	s = push_session(p, r->request.no);
	if (s != NULL)
		s->requests.reads--;
	if (s != NULL && session_is_open(s) &&
	    (ok = session_ok_begin(s, &r->request, &none)) != NULL) {
		buf_addc(ok, '}');
		session_reply(s);
	}
	buf_adds(&b, "{\"type\":\"typing\"");
	jw_uuid(&b, "conversation", &r->conversation);
	jw_str(&b, "from", r->user);
	buf_addc(&b, '}');
	/* Typing of a user who is not a member reaches nobody. */
	for (i = 0; i < r->n && r->member && buf_ok(&b); i++)
		hub_whisper(p->hub, r->others[i], b.data, b.len);
	buf_fini(&b);
	mem_free(r);
}

void
session_typing(struct session *s, const struct frame *f)
{
	struct typing_request *r;
	enum rc rc;

	/* Typing is ephemeral: when READS_MAX requests of the session are under
	 * way, or the readers refuse the job, the frame is dropped.  Then only
	 * a frame with an id gets an error. */
	if (s->requests.reads >= READS_MAX) {
		if (f->has_re)
			session_refuse_busy(s, f, READS_MAX);
		return;
	}
	r = session_request_new(s, sizeof(*r), typing_known);
	if (r == NULL)
		return;
	r->request.has_re = f->has_re;
	r->request.re = f->re;
	r->conversation = f->conversation;
	r->user_id = s->member.user_id;
	memcpy(r->user, s->user, sizeof(r->user));
	if ((rc = session_read(s, &r->job, read_typing)) != RC_OK) {
		mem_free(r);
		if (f->has_re)
			session_refuse_rc(s, f, rc);
		return;
	}
	s->requests.reads++;
}
