/* SPDX-License-Identifier: MIT */
/*
 * The actions that people choose themselves.  See client.h.
 */
#include <stdio.h>
#include <string.h>

#include "sim/client.h"
#include "sim/fed.h"

static const char *const elsewhere[SIM_PEERS] = {
    "a.fault.test", "b.fault.test"};

/* ---- sends and cancels ---- */

static struct message *
message_new(struct sim *s, size_t client)
{
	struct message *m = &s->messages[s->nmessages++];

	memset(m, 0, sizeof(*m));
	m->client = client;
	m->id = uuid_gen_next(&s->ids);
	m->peer = -1;
	m->asked_us = s->clk.mono_us;
	(void)snprintf(m->body, sizeof(m->body), "message %zu", s->nmessages);
	s->counts.sends++;
	return (m);
}

void
client_piles_up(struct sim *s, int64_t n)
{
	struct message *m;

	for (; n > 0 && s->nmessages < SIM_MESSAGES; n--) {
		m = message_new(s, 0);
		(void)snprintf(m->to, sizeof(m->to), "%s", client_names[1]);
		s->counts.piled++;
		client_send(s, m);
	}
}

/* Draws a recipient for ${m} among those to whom ${client} writes. */
static void
draw_recipient(struct sim *s, size_t client, struct message *m)
{
	size_t to;

	/* Some pairs talk more, so that their messages meet in a lane. */
	to = sim_chance(s, 600) ? (client + 1) % SIM_CLIENTS
				: (size_t)sim_dice(s, SIM_CLIENTS);
	if (sim_chance(s, s->weather.remote)) {
		if (s->w->fed != NULL) {
			fed_draw_recipient(s, m);
			return;
		}
		m->peer = sim_chance(s, 650) ? 0 : 1;
		(void)snprintf(m->to, sizeof(m->to), "%s@%s",
		    sim_chance(s, 700) ? "zoe" : "yan", elsewhere[m->peer]);
	} else {
		(void)snprintf(m->to, sizeof(m->to), "%s", client_names[to]);
	}
}

/* Sends ${m} to its recipient. */
static void
act_send_one(struct sim *s, struct message *m)
{

	if (sim_chance(s, 100))
		m->deliver_at =
		    s->clk.wall_ms + 1 +
		    (int64_t)sim_dice(
			s, sim_chance(s, 300) ? 20 * SIM_MINUTE_MS : 5000);
	if (sim_chance(s, 150))
		m->expires_in = 1000 * (1 + (int64_t)sim_dice(s, 300));
	m->priority = sim_chance(s, 300) ? (int)sim_dice(s, 3) - 1 : 0;
	s->counts.scheduled += m->deliver_at != 0;
	sim_tell(s, "client: %s sends #%zd to %s%s", client_names[m->client],
	    m - s->messages, m->to, m->deliver_at != 0 ? ", later" : "");
	/* Sometimes sends it twice at the same time. */
	do
		client_send(s, m);
	while (sim_chance(s, 80));
}

/* Sends one message, or several, one after the other. */
static void
act_send(struct sim *s, size_t client)
{
	uint64_t n = sim_chance(s, 250) ? 2 + sim_dice(s, 3) : 1;
	struct message *m, *before = NULL;

	for (; n > 0 && s->nmessages < SIM_MESSAGES; n--, before = m) {
		m = message_new(s, client);
		if (before == NULL) {
			draw_recipient(s, client, m);
		} else {
			m->peer = before->peer;
			memcpy(m->to, before->to, sizeof(m->to));
		}
		act_send_one(s, m);
	}
}

static void
act_cancel(struct sim *s, size_t client)
{
	struct message *m;

	if (s->nmessages == 0)
		return;
	/* Takes one of the newest messages, because it may still be pending. */
	m = &s->messages[s->nmessages - 1 -
			 sim_dice(s, s->nmessages < 6 ? s->nmessages : 6)];
	if (m->client == client && !m->cancel_asked)
		client_cancel(s, m);
}

/* ---- acks and reads ---- */

static void
act_mark(struct sim *s, size_t client, bool ack)
{
	const struct client *c = &s->clients[client];
	struct mark m;

	if (!client_draw_mark(s, c, ack, &m))
		return;
	client_mark(s, client, &m);
	/* A person who reads a conversation may ack less than that. */
	if (!ack && sim_chance(s, 300) && client_draw_mark(s, c, true, &m)) {
		m.upto = 1 + (int64_t)sim_dice(s, (uint64_t)m.upto);
		client_mark(s, client, &m);
	}
}

/* ---- one thing ---- */

void
client_acts(struct sim *s, size_t client)
{
	uint64_t what = sim_dice(s, 100);

	if (what < 41)
		act_send(s, client);
	else if (what < 51)
		act_cancel(s, client);
	else if (what < 64)
		act_mark(s, client, true);
	else if (what < 83)
		act_mark(s, client, false);
	else
		client_looks(s, client);
}
