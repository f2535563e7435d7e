/* SPDX-License-Identifier: MIT */
/*
 * People and their clients: they send, cancel, ack, read and look into their
 * inboxes.  They repeat requests without an answer, and record what the server
 * answered and showed.
 */
#ifndef SIM_CLIENT_H
#define SIM_CLIENT_H

#include "sim/marks.h"
#include "sim/sim.h"

#define CLIENT_DEVICES 2
#define CLIENT_SEEN 1024

/* An event of an inbox as the server showed it. */
struct seen {
	struct uuid event_id;
	int kind;
	bool own;
	int64_t mid;
	int64_t conversation, conversation_seq, actor;
};

struct client {
	int64_t user_id;
	int64_t devices[CLIENT_DEVICES];
	struct seen seen[CLIENT_SEEN]; /* seq 1 and on */
	int64_t nseen;
	int64_t acked[CLIENT_DEVICES]; /* as answered */
	struct talk talks[MARK_TALKS];
	size_t ntalks;
	bool look_ahead; /* a look is scheduled */
};

extern const char *const client_names[SIM_CLIENTS];

/* Makes the people of a run. */
struct client *clients_new(void);
void clients_free(struct sim *s);

/* ${client} does one thing of their own will: a send, an ack, a cancel … */
void client_acts(struct sim *s, size_t client);

/* One person sends ${n} messages to another one on this server. */
void client_piles_up(struct sim *s, int64_t n);

/* An event has come for ${user_id}, who may look soon. */
void client_hears(struct sim *s, int64_t user_id);

/* The server has died: requests under way get no answer, and clients repeat
 * them. */
void clients_lose(struct sim *s);

/* The server has another epoch, which ends all requests: people are back at
 * what they were shown and answered when ${then} was copied.  The server is
 * down. */
void clients_go_back(struct sim *s, const struct client *then);

/* Requests that the caller has chosen: ${client} sends ${m}, cancels it, acks
 * or reads, or looks into the inbox. */
void client_send(struct sim *s, struct message *m);
void client_cancel(struct sim *s, struct message *m);
void client_mark(struct sim *s, size_t client, const struct mark *m);
void client_looks(struct sim *s, size_t client);

/* Draws what ${c} acks or reads.  Returns false if there is nothing to ack or
 * to read. */
bool client_draw_mark(
    struct sim *s, const struct client *c, bool ack, struct mark *ret);

/* Everybody looks and acks everything. */
void clients_catch_up(struct sim *s);

/* Returns the number of requests under way. */
size_t clients_busy(const struct sim *s);

#endif
