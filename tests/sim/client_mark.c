/* SPDX-License-Identifier: MIT */
/*
 * The acks and reads of people: by inbox number, in a conversation up to a
 * message of either side, or some messages by their ids.  See client.h.
 */
#include <string.h>

#include "model/event.h"
#include "sim/client.h"
#include "sim/server.h"

/* Returns the seq of a message in ${c}'s inbox, more often of one of the
 * newest.  Returns 0 if there is none. */
static int64_t
some_message(struct sim *s, const struct client *c)
{
	int64_t seq, i;

	seq = sim_chance(s, 600) ? c->nseen
				 : 1 + (int64_t)sim_dice(s, (uint64_t)c->nseen);
	for (i = seq; i > 0; i--)
		if (c->seen[i - 1].kind == EVENT_MESSAGE)
			return (i);
	return (0);
}

static bool
uuid_of(struct sim *s, const char *sql, int64_t id, struct uuid *ret)
{
	sqlite3_stmt *st = server_ask(s, sql);
	bool there;

	if (st == NULL)
		return (false);
	(void)sqlite3_bind_int64(st, 1, id);
	there = sqlite3_step(st) == SQLITE_ROW;
	if (there)
		memcpy(ret->b, sqlite3_column_blob(st, 0), sizeof(ret->b));
	server_asked(st);
	return (there);
}

static bool
draw_conversation(struct sim *s, const struct client *c, struct mark *m)
{
	const struct seen *e;
	int64_t seq = some_message(s, c);

	if (seq == 0)
		return (false);
	e = &c->seen[seq - 1];
	m->form = READ_CONVERSATION;
	m->conversation = e->conversation;
	m->upto = e->conversation_seq;
	return (uuid_of(s,
	    "SELECT public_id FROM conversations WHERE conversation_id = ?1",
	    e->conversation, &m->public_id));
}

static bool
draw_ids(struct sim *s, const struct client *c, struct mark *m)
{
	uint64_t n = 1 + sim_dice(s, MARK_IDS);
	int64_t seq;

	m->form = READ_IDS;
	m->upto = 0;
	while (n-- > 0) {
		seq = some_message(s, c);
		if (seq == 0 ||
		    !uuid_of(s,
			"SELECT message_id FROM messages WHERE mid = ?1",
			c->seen[seq - 1].mid, &m->ids[m->upto]))
			break;
		m->at[m->upto++] = seq;
	}
	return (m->upto > 0);
}

static bool
draw_number(struct sim *s, const struct client *c, struct mark *m)
{

	m->form = READ_UPTO;
	m->upto = sim_chance(s, 700)
		      ? c->nseen
		      : 1 + (int64_t)sim_dice(s, (uint64_t)c->nseen);
	return (true);
}

bool
client_draw_mark(
    struct sim *s, const struct client *c, bool ack, struct mark *ret)
{
	uint64_t form;

	memset(ret, 0, sizeof(*ret));
	ret->ack = ack;
	if (c->nseen == 0 || !s->server->up)
		return (false);
	if (ack)
		return (draw_number(s, c, ret));
	ret->is_private = sim_chance(s, 300);
	form = sim_dice(s, 100);
	if (form < 35)
		return (draw_number(s, c, ret));
	return (form < 85 ? draw_conversation(s, c, ret) : draw_ids(s, c, ret));
}
